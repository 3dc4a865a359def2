"""One chain over sparse random frequencies: its run, with records of every `thin`-th state."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.sparse_fourier.loop import (
    Chain,
    PriorConstants,
    Proposal,
    initialize_chain,
    run_moves,
)

MAX_WALK_LENGTH = 32  # columns of a walk; with stop=0.5 each column halves the prior probability


class FourierData(NamedTuple):
    """Data of the likelihood: columns in CSC form, the nearest row of the same class and of another
    class for each row, and weights of the rows.
    """

    columns: tuple
    nearest_same: np.ndarray
    nearest_other: np.ndarray
    weights: np.ndarray
    n_columns: int


class ChainSchedule(NamedTuple):
    """Largest number of frequencies, number of moves, fraction of the records in the burn-in, and
    number of moves between records.
    """

    max_frequencies: int
    max_iter: int
    burn_in: float
    thin: int

    def n_records(self) -> int:
        """Return the number of records."""
        return max(1, self.max_iter // self.thin)

    def n_burn_in(self) -> int:
        """Return the number of records in the burn-in."""
        return min(self.n_records() - 1, int(self.burn_in * self.n_records()))


class ChainResult(NamedTuple):
    """Result of one chain: distinct frequencies, the weight of each in the mean kernel, and the
    trace of the chain.
    """

    frequencies: sp.csr_array
    weights: np.ndarray
    counts: np.ndarray  # number of frequencies at each record
    likelihoods: np.ndarray  # log-likelihood at each record
    n_draws: int  # records after the burn-in
    inclusion_probability: np.ndarray  # fraction of draws with a frequency that uses the column
    inclusion_share: np.ndarray  # mean fraction of frequencies that use the column
    n_proposed: np.ndarray  # by kind of move
    n_accepted: np.ndarray  # by kind of move


def run_chain(
    data: FourierData, prior: PriorConstants, schedule: ChainSchedule, seed: int, report_moves
) -> ChainResult:
    """Run one chain from a draw of the prior; call `report_moves(thin)` after each record."""
    n, key, thin = len(data.nearest_same), np.uint64(seed), schedule.thin
    chain, proposal = _new_chain(schedule.max_frequencies, n), _new_proposal(n)
    n_start = max(1, min(schedule.max_frequencies, round(prior.mean)))
    start_key = key ^ np.uint64(1 << 63)
    initialize_chain(chain, proposal, n_start, *data[:3], data.n_columns, prior, start_key)
    n_records, n_burn_in = schedule.n_records(), schedule.n_burn_in()
    counts, likelihoods = np.zeros(n_records, np.int64), np.zeros(n_records)
    inclusion_probability, inclusion_share = np.zeros(data.n_columns), np.zeros(data.n_columns)
    # A frequency usually stays for many records: store it once, and add up its weight.
    weighted_frequencies: dict[bytes, list] = {}
    for record in range(n_records):
        if record == n_burn_in:
            chain.n_proposed[:] = chain.n_accepted[:] = 0
        likelihoods[record] = run_moves(
            chain,
            proposal,
            *data[:3],
            data.weights,
            data.n_columns,
            prior,
            key,
            record * thin,
            thin,
        )
        counts[record] = chain.n_frequencies[0]
        report_moves(thin)
        if record >= n_burn_in:
            _record_frequencies(chain, weighted_frequencies, inclusion_probability, inclusion_share)
    n_draws = n_records - n_burn_in
    frequencies = _sparse_frequencies(weighted_frequencies, data.n_columns)
    weights = np.array([entry[0] for entry in weighted_frequencies.values()]) / n_draws
    return ChainResult(
        frequencies,
        weights,
        counts,
        likelihoods,
        n_draws,
        inclusion_probability / n_draws,
        inclusion_share / n_draws,
        chain.n_proposed.copy(),
        chain.n_accepted.copy(),
    )


def _new_chain(max_frequencies: int, n: int) -> Chain:
    """Return an empty chain."""
    shape, integers = (max_frequencies, MAX_WALK_LENGTH), np.zeros(max_frequencies, np.int64)
    return Chain(
        np.zeros(shape, np.int64),
        integers,
        np.zeros(shape, np.int64),
        integers.copy(),
        np.zeros(shape),
        np.zeros((max_frequencies, n)),
        np.zeros(n),
        np.zeros(1, np.int64),
        np.zeros(4, np.int64),
        np.zeros(4, np.int64),
    )


def _new_proposal(n: int) -> Proposal:
    """Return the arrays of a proposed frequency."""
    return Proposal(
        np.zeros(MAX_WALK_LENGTH, np.int64),
        np.zeros(MAX_WALK_LENGTH, np.int64),
        np.zeros(MAX_WALK_LENGTH),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
    )


def _record_frequencies(
    chain: Chain, weighted_frequencies: dict, inclusion_probability, inclusion_share
) -> None:
    """Add the present frequencies of the chain, and the columns that they use, to sums over draws.

    The last three arguments are changed.
    """
    count = int(chain.n_frequencies[0])
    used_columns = set()
    for l in range(count):
        size = chain.sizes[l]
        columns, values = chain.columns[l, :size], chain.values[l, :size]
        key = columns.tobytes() + values.tobytes()
        entry = weighted_frequencies.get(key)
        if entry is None:
            entry = weighted_frequencies[key] = [0.0, columns.copy(), values.copy()]
        entry[0] += 1.0 / count
        inclusion_share[columns] += 1.0 / count
        used_columns.update(columns.tolist())
    inclusion_probability[list(used_columns)] += 1.0


def _sparse_frequencies(weighted_frequencies: dict, n_columns: int) -> sp.csr_array:
    """Return the frequencies as sparse rows."""
    sizes = [len(entry[1]) for entry in weighted_frequencies.values()]
    ends = np.concatenate(([0], np.cumsum(sizes)))
    columns = np.concatenate([entry[1] for entry in weighted_frequencies.values()])
    frequencies = sp.csr_array(
        (np.concatenate([entry[2] for entry in weighted_frequencies.values()]), columns, ends),
        shape=(len(sizes), n_columns),
    )
    frequencies.sort_indices()
    return frequencies
