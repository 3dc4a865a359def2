"""One chain over sparse random frequencies: run, thinned, and what it left."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.sparse_fourier.loop import Chain, Draft, Prior, begin, move

LONGEST = 32  # columns of a walk; the prior halves with each further one


class Rows(NamedTuple):
    """What the likelihood looks at: columns, the nearest row of the own class and of another one,
    weights.
    """

    columns: tuple
    own: np.ndarray
    other: np.ndarray
    weights: np.ndarray
    n_columns: int


class Course(NamedTuple):
    """How long a chain runs, and at which of its moves it is looked at."""

    max_frequencies: int
    max_iter: int
    burn_in: float
    thin: int

    def looks(self) -> int:
        """Number of looks."""
        return max(1, self.max_iter // self.thin)

    def first_kept(self) -> int:
        """The first look after the burn-in."""
        return min(self.looks() - 1, int(self.burn_in * self.looks()))


class Sample(NamedTuple):
    """What one chain left: frequencies met, the weight of each in the mean kernel, and the course
    of the chain.
    """

    frequencies: sp.csr_array
    weights: np.ndarray
    counts: np.ndarray  # frequencies at each look
    likelihoods: np.ndarray  # at each look
    kept: int  # looks after the burn-in
    used: np.ndarray  # by column: share of kept looks at which some frequency uses it
    share: np.ndarray  # by column: mean share of the frequencies that use it
    tried: np.ndarray
    taken: np.ndarray


def run_chain(rows: Rows, prior: Prior, course: Course, seed: int, tell) -> Sample:
    """One chain from a draw of the prior; `tell(moves)` after each look."""
    n, key, thin = len(rows.own), np.uint64(seed), course.thin
    chain, draft = _new_chain(course.max_frequencies, n), _new_draft(n)
    start = max(1, min(course.max_frequencies, round(prior.mean)))
    first = key ^ np.uint64(1 << 63)
    begin(chain, draft, start, *rows[:3], rows.n_columns, prior, first)
    looks, first_kept = course.looks(), course.first_kept()
    counts, likelihoods = np.zeros(looks, np.int64), np.zeros(looks)
    used, share = np.zeros(rows.n_columns), np.zeros(rows.n_columns)
    # A frequency stays over many looks: keep it once, and add up its weight.
    found: dict[bytes, list] = {}
    for look in range(looks):
        if look == first_kept:
            chain.tried[:] = chain.taken[:] = 0
        likelihoods[look] = move(
            chain, draft, *rows[:3], rows.weights, rows.n_columns, prior, key, look * thin, thin
        )
        counts[look] = chain.alive[0]
        tell(thin)
        if look >= first_kept:
            _note(chain, found, used, share)
    kept = looks - first_kept
    frequencies = _as_rows(found, rows.n_columns)
    weights = np.array([entry[0] for entry in found.values()]) / kept
    return Sample(
        frequencies,
        weights,
        counts,
        likelihoods,
        kept,
        used / kept,
        share / kept,
        chain.tried.copy(),
        chain.taken.copy(),
    )


def _new_chain(most: int, n: int) -> Chain:
    """Room for a chain, without frequencies."""
    whole, single = (most, LONGEST), np.zeros(most, np.int64)
    return Chain(
        np.zeros(whole, np.int64),
        single,
        np.zeros(whole, np.int64),
        single.copy(),
        np.zeros(whole),
        np.zeros((most, n)),
        np.zeros(n),
        np.zeros(1, np.int64),
        np.zeros(4, np.int64),
        np.zeros(4, np.int64),
    )


def _new_draft(n: int) -> Draft:
    """Room for a frequency that is tried."""
    return Draft(
        np.zeros(LONGEST, np.int64),
        np.zeros(LONGEST, np.int64),
        np.zeros(LONGEST),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
    )


def _note(chain: Chain, found: dict, used, share) -> None:
    """Count what the chain holds at this look."""
    count = int(chain.alive[0])
    met = set()
    for l in range(count):
        size = chain.sizes[l]
        columns, waves = chain.columns[l, :size], chain.waves[l, :size]
        name = columns.tobytes() + waves.tobytes()
        entry = found.get(name)
        if entry is None:
            entry = found[name] = [0.0, columns.copy(), waves.copy()]
        entry[0] += 1.0 / count
        share[columns] += 1.0 / count
        met.update(columns.tolist())
    used[list(met)] += 1.0


def _as_rows(found: dict, n_columns: int) -> sp.csr_array:
    """The frequencies as sparse rows."""
    sizes = [len(entry[1]) for entry in found.values()]
    ends = np.concatenate(([0], np.cumsum(sizes)))
    columns = np.concatenate([entry[1] for entry in found.values()])
    rows = sp.csr_array(
        (np.concatenate([entry[2] for entry in found.values()]), columns, ends),
        shape=(len(sizes), n_columns),
    )
    rows.sort_indices()
    return rows
