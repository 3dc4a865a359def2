"""Rounds of chains, each with neighbours of its own: the mean over chains, how far they agree, and
the features that frequencies make.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.sparse_fourier.chain import Course, Rows, Sample, run_chain
from tamis.methods.sparse_fourier.loop import Prior
from tamis.solvers.neighbors import class_edges

REFRESH = 512  # frequencies that a search for neighbours in the learnt kernel looks at
MOVES = ("birth", "death", "walk", "replacement")


class Posterior(NamedTuple):
    """The mean over the chains of the last round: frequencies and their weights, what columns share
    in them, the courses of the chains, and how far they agree.
    """

    frequencies: sp.csr_array
    weights: np.ndarray
    used: np.ndarray
    share: np.ndarray
    trace: dict
    diagnostics: dict


def posterior_of(
    scaled,
    codes: np.ndarray,
    prior: Prior,
    course: Course,
    seeds: np.ndarray,
    n_threads: int,
    tell: Callable[[int], None],
) -> Posterior:
    """Run all rounds; `seeds` has a row for each, with a seed for each chain."""
    place = scaled
    for turn in range(len(seeds)):
        rows = _rows(scaled, place, codes)
        with ThreadPoolExecutor(min(len(seeds[turn]), n_threads)) as pool:
            chains = [
                pool.submit(run_chain, rows, prior, course, int(seed), tell) for seed in seeds[turn]
            ]
            samples = [chain.result() for chain in chains]
        frequencies = sp.vstack([sample.frequencies for sample in samples], format="csr")
        weights = np.concatenate([sample.weights for sample in samples]) / len(samples)
        if turn + 1 < len(seeds):
            place = features(scaled, frequencies, weights, REFRESH)
    trace = {
        "n_frequencies": np.array([sample.counts for sample in samples]),
        "log_likelihood": np.array([sample.likelihoods for sample in samples]),
    }
    used = np.mean([sample.used for sample in samples], axis=0)
    share = np.mean([sample.share for sample in samples], axis=0)
    return Posterior(frequencies, weights, used, share, trace, _judge(samples, trace))


def _rows(scaled, place, codes: np.ndarray) -> Rows:
    """Neighbours in `place`, columns of `scaled`; rows alone in their class have no neighbour and
    no say.
    """
    edges = class_edges(place, codes, 1)
    own, other = edges.nearest[:, 0], edges.nearest[:, 1]
    columns = sp.csc_array(scaled, dtype=np.float64)
    alone = own == np.arange(len(own))
    if alone.all():
        raise ValueError(
            "SparseFourierFeatures needs a class of at least 2 rows; every row is alone in its "
            "class."
        )
    parts = (columns.data, columns.indices.astype(np.int64), columns.indptr.astype(np.int64))
    return Rows(parts, own, other, 1.0 - alone, scaled.shape[1])


# --------------------------------------------------------------------------- judging
def _judge(samples: list[Sample], trace: dict) -> dict:
    """Shares of accepted moves, and the agreement of the chains after the burn-in."""
    kept = samples[0].kept
    tried = np.sum([sample.tried for sample in samples], axis=0)
    taken = np.sum([sample.taken for sample in samples], axis=0)
    courses = {name: course[:, -kept:].astype(float) for name, course in trace.items()}
    return {
        "acceptance": {
            move: float(taken[k] / tried[k]) if tried[k] else 0.0 for k, move in enumerate(MOVES)
        },
        "r_hat": {name: split_r_hat(course) for name, course in courses.items()},
        "effective_size": {name: effective_size(course) for name, course in courses.items()},
    }


def split_r_hat(courses: np.ndarray) -> float:
    """Gelman and Rubin's ratio over the halves of all courses (rows); 1 where the chains agree, nan
    for too few looks.
    """
    half = courses.shape[1] // 2
    if half < 2:
        return float("nan")
    halves = np.concatenate([courses[:, :half], courses[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt((half - 1) / half + between / within))


def effective_size(courses: np.ndarray) -> float:
    """Number of independent looks that all courses are worth, by Geyer's initial positive sums of
    autocovariances.
    """
    n = courses.shape[1]
    centred = courses - courses.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n].mean(axis=0)
    if covariance[0] <= 0.0:
        return float(courses.size)
    rho = covariance / covariance[0]
    pairs = rho[0 : n - 1 : 2] + rho[1:n:2]
    stop = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    return float(courses.size / max(1.0, 2.0 * pairs[:stop].sum() - 1.0))


# --------------------------------------------------------------------------- features
def evenly_drawn(weights: np.ndarray, n: int | None) -> tuple[np.ndarray, np.ndarray]:
    """At most n frequencies, drawn evenly by weight, and their weights.

    (The heaviest would be those that the chain got stuck at.)
    """
    if n is None or n >= len(weights):
        return np.arange(len(weights)), weights
    reached = np.cumsum(weights)
    places = np.searchsorted(reached, (np.arange(n) + 0.5) / n * reached[-1])
    drawn, times = np.unique(places, return_counts=True)
    return drawn, times / n


def features(X, frequencies, weights: np.ndarray, n: int | None) -> np.ndarray:
    """Cosines and sines of at most n frequencies, side by side; each row has length 1."""
    drawn, shares = evenly_drawn(weights, n)
    angles = X @ frequencies[drawn].T
    angles = angles.toarray() if sp.issparse(angles) else angles
    heights = np.sqrt(shares)
    return np.hstack([np.cos(angles) * heights, np.sin(angles) * heights])


def scaled(X, deviations):
    """Columns divided by their deviations; not centred, since differences of rows are all that
    matters.
    """
    return sp.csr_array(X @ sp.diags_array(1.0 / deviations)) if sp.issparse(X) else X / deviations
