"""Laws of columns. A law, given a generator and a number of columns, settles what two samples of
one design share, and returns two functions: one draws rows, the other tells the correlations of
some columns with all in the population (nothing where only the sample can tell). All columns have
variance 1.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.signal import lfilter
from scipy.special import ndtri


def _unrelated(p: int) -> Callable:
    """Correlations of columns that have none."""
    return lambda places: (places[:, None] == np.arange(p)).astype(float)


def independent(rng, p: int):
    """Standard normal columns."""
    return lambda rng, n: rng.standard_normal((n, p)), _unrelated(p)


def heavy(rng, p: int):
    """Independent columns from Student's t with three degrees of freedom."""
    return lambda rng, n: rng.standard_t(3, (n, p)) / np.sqrt(3.0), _unrelated(p)


def chain(r: float) -> Callable:
    """Each column leans on the one before: correlations r to the power of the distance."""

    def law(rng, p):
        def draw(rng, n):
            Z = rng.standard_normal((n, p))
            Z[:, 1:] *= np.sqrt(1.0 - r * r)
            return lfilter([1.0], [1.0, -r], Z, axis=1)

        return draw, lambda places: r ** np.abs(places[:, None] - np.arange(p))

    return law


def blocks(size: int, r: float) -> Callable:
    """Blocks of columns that correlate at r, and with no others."""

    def law(rng, p):
        block = np.arange(p) // size

        def draw(rng, n):
            common = rng.standard_normal((n, block[-1] + 1))
            return np.sqrt(r) * common[:, block] + np.sqrt(1 - r) * rng.standard_normal((n, p))

        def correlations(places):
            same = r * (block[places][:, None] == block)
            same[np.arange(len(places)), places] = 1.0
            return same

        return draw, correlations

    return law


def equal(r: float) -> Callable:
    """All pairs of columns correlate at r."""

    def law(rng, p):
        return blocks(p, r)(rng, p)

    return law


def factors(count: int, most: float) -> Callable:
    """Columns that lean on a few common factors with loadings uniform on 0 to `most` (a batch
    effect); with several factors on each by a share.
    """

    def law(rng, p):
        loadings = rng.uniform(0.0, most, (count, p)) / np.sqrt(count)
        if count > 1:
            loadings *= rng.choice([-1.0, 1.0], (count, p))
        spread = np.sqrt(1.0 + (loadings**2).sum(axis=0))

        def draw(rng, n):
            common = rng.standard_normal((n, count)) @ loadings
            return (common + rng.standard_normal((n, p))) / spread

        def correlations(places):
            shared = loadings[:, places].T @ loadings / np.outer(spread[places], spread)
            shared[np.arange(len(places)), places] = 1.0
            return shared

        return draw, correlations

    return law


def products(rng, p: int):
    """The second half of the columns are products of two of the first half."""
    half = p // 2
    pairs = np.array([rng.choice(half, 2, replace=False) for _ in range(p - half)])

    def draw(rng, n):
        Z = rng.standard_normal((n, half))
        return np.hstack([Z, Z[:, pairs[:, 0]] * Z[:, pairs[:, 1]]])

    return draw, _unrelated(p)


def genotypes(rng, p: int):
    """Counts 0, 1, 2 of a rare letter, neighbours in blocks of ten alike (sample correlations)."""
    frequency = rng.uniform(0.1, 0.5, p)
    block = np.arange(p) // 10

    def draw(rng, n):
        total = np.zeros((n, p))
        for _ in range(2):
            common = rng.standard_normal((n, block[-1] + 1))[:, block]
            total += 0.9 * common + 0.436 * rng.standard_normal((n, p)) < ndtri(frequency)
        return total / np.sqrt(2 * frequency * (1 - frequency))

    return draw, None


def zipf(most: float, power: float) -> Callable:
    """Sparse binary columns, the k-th most frequent in a share `most` / k^power of the rows, but in
    at most half of them; in units of their deviation.
    """

    def law(rng, p):
        share = np.minimum(0.5, most / (1.0 + np.arange(p)) ** power)
        unit = np.sqrt(share * (1.0 - share))

        def draw(rng, n):
            counts = rng.binomial(n, share)
            rows = [rng.choice(n, count, replace=False) for count in counts]
            indptr = np.concatenate([[0], np.cumsum(counts)])
            data = np.repeat(1.0 / unit, counts)
            return sp.csc_array((data, np.concatenate(rows), indptr), shape=(n, p)).tocsr()

        return draw, _unrelated(p)

    return law


def words(folder: Path, name: str) -> Callable:
    """Rows of a real set of word counts, as they are; sample correlations. `p` is ignored."""

    def law(rng, p):
        with np.load(folder / f"{name}.npz") as stored:
            parts = tuple(stored[part] for part in ("data", "indices", "indptr"))
            X = sp.csr_array(parts, shape=tuple(stored["shape"])).astype(float)
        X.data[:] = 1.0
        often = np.bincount(X.indices, minlength=X.shape[1])
        X = sp.csr_array(X[:, np.flatnonzero(often >= 5)])
        share = np.bincount(X.indices, minlength=X.shape[1]) / X.shape[0]
        unit = np.sqrt(share * (1.0 - share))
        unit[unit == 0.0] = 1.0
        X = sp.csr_array(X @ sp.diags_array(1.0 / unit))
        return lambda rng, n: X, None

    return law
