"""Compiled end of a stage of stabilized SGD: count the votes, purge features, set gravity and the
length of bursts.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.methods.stabilized_sgd.loop_columns import (
    N_BINS,
    PURGED_MARK,
    bin_of_rank,
    displacement_bin,
    quickselect,
)
from tamis.numerics.numba import compiled_helper, source_inlined

ZERO, ONE, HALF, SIXTEEN = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(16)
LOW_WORD, LOW_HALF, SIGN = np.uint64(0xFFFFFFFF), np.uint64(0xFFFF), np.uint64(63)
# Blocks of 8 columns are hashed to shards, so that no two threads write to a cache line of votes.
BLOCK_SHIFT, HASH_MULTIPLIER = np.uint64(3), np.uint64(40503)
UNSEEN, PRESENT, PURGED = np.uint8(0), np.uint8(1), np.uint8(2)  # status of a column
# State of a path, one cache line each: intercept, mean norm and number of its rows, entries of its
# pool, those of finished bursts, and sum and weight of its losses in the stage.
PATH_STATE = np.dtype(
    (
        np.record,
        [
            (name, "f8")
            for name in (
                "bias", "mean_norm", "n_rows", "n_pooled", "n_truncated", "loss_sum",
                "loss_weight", "unused",
            )
        ],
    )
)  # fmt: skip
# State that all paths share: rows so far and in the stage, number of the stage, gravity and
# rejection in force, numbers of columns, lengths of burst and stage in rows, stored entries of
# purged columns, and stages between two records of the history.
STAGE_STATE = np.dtype(
    (
        np.record,
        [
            (name, "f8")
            for name in (
                "rows", "rows_in_stage", "number", "gravity", "rejection", "n_present", "n_seen",
                "burst", "length", "purged_entries", "record_stride", "n_records",
            )
        ],
    )
)  # fmt: skip
MAX_BURST_GROWTH = 20.0  # an adaptive burst is at most this many times as long as `burst`


class RowArrays(NamedTuple):
    """Rows, targets, weights and norms for the loops."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    norms: np.ndarray


class PathArrays(NamedTuple):
    """Arrays of the paths of one output: weights and burst counts of the columns, the states of the
    paths, and their pools.
    """

    weights: np.ndarray
    burst_counts: np.ndarray
    path_states: np.ndarray
    pool_columns: np.ndarray
    pool_values: np.ndarray
    pool_bits: np.ndarray  # the same memory as `pool_values`


class SharedColumns(NamedTuple):
    """Arrays by column that the paths share: status, vote counts (carried over, and since the
    burn-in), and stored entries (in a fit).
    """

    status: np.ndarray
    vote_counts: np.ndarray
    entry_counts: np.ndarray


class StageCounts(NamedTuple):
    """Counts at the end of a stage, by shard: each thread counts its shard of the columns."""

    votes: np.ndarray  # bursts that met a column and, in the upper half, those that it survived
    n_voted: np.ndarray  # entries of each pool that are already among the votes
    shard_entries: np.ndarray  # (paths, shards, ...) number of pool entries, then the entries
    voted_columns: np.ndarray  # (shards, ...) number of columns with votes, then the columns
    bins: np.ndarray  # (shards, N_BINS) number of displacements in each bin
    near_gravity: np.ndarray  # displacements near the last gravity, shard after shard
    near_gravity_bits: np.ndarray  # the same memory
    n_near_gravity: np.ndarray  # (shards, 8) their number
    gravity_bin: np.ndarray  # bin of the last gravity
    purged: np.ndarray  # (shards, 8) number of purged features, and their stored entries
    next_path: np.ndarray  # the next path of each shard, in every eighth cell


class RowOrder(NamedTuple):
    """Seed and position of the row orders, and whether the rows are shuffled."""

    seed: np.uint64
    rows_before: np.uint64
    permuted: bool


class RunPlan(NamedTuple):
    """Parameters of a run, all of them floats."""

    burst: float
    bursts_per_stage: float
    rejection: float
    annealing: float
    purge: float
    burn_in_stages: float
    min_votes: float
    burst_alpha: float  # of adaptive bursts; 0: off
    gravity: float  # below 0: adaptive
    eta: float  # if automatic, in units of 1 / (norm of a row)^2
    is_automatic: float
    intercept: float
    resampled: float  # whether paths differ by Poisson weights of the rows
    max_purged_fraction: float  # of stored entries, above which the columns are compacted


@source_inlined
def add_new_features(span, rows, status, stage_array):
    """Mark the new features of a stream's rows as present."""
    stage, indices, indptr = stage_array[0], rows.indices, rows.indptr
    for k in range(indptr[span[0]], indptr[span[1]]):
        if status[indices[k]] == UNSEEN:
            status[indices[k]] = PRESENT
            stage.n_present += 1.0
            stage.n_seen += 1.0


@source_inlined
def purge_feature(j, arrays, shared, purged):
    """Purge a feature from every path, for good."""
    weights, burst_counts = arrays.weights, arrays.burst_counts
    for m in range(np.uint64(weights.shape[0])):
        weights[m, j], burst_counts[m, j] = 0.0, PURGED_MARK
    shared.status[j] = PURGED
    purged[0] += 1.0
    purged[1] += float(shared.entry_counts[j]) if shared.entry_counts.shape[0] else 1.0


def shard_index(j, n_shards):
    """Return the shard of a column, for a number or an array."""
    return (((j >> BLOCK_SHIFT) * HASH_MULTIPLIER & LOW_HALF) * n_shards) >> SIXTEEN


shard_of = source_inlined(shard_index)


@compiled_helper
def process_shard(shard, arrays, shared, counts, stage_array, plan):
    """Count the votes of a shard, purge its unstable features, and count the displacements of the
    others.
    """
    if stage_array[0].number > plan.burn_in_stages:
        count_votes(shard, arrays, counts)
        purge_unstable(shard, arrays, shared, counts, plan)
    if plan.gravity < 0.0:
        count_displacements(shard, arrays, shared, counts)


@source_inlined
def count_votes(shard, arrays, counts):
    """Add up the votes of all paths: each entry is a burst that met the feature, each one without a
    minus sign a burst that the feature survived.
    """
    votes, voted_columns = counts.votes, counts.voted_columns
    pool_columns, pool_bits = arrays.pool_columns, arrays.pool_bits
    n_listed = np.uint64(voted_columns[shard, 0])
    for m in range(np.uint64(pool_columns.shape[0])):
        for k in range(ONE, np.uint64(counts.shard_entries[m, shard, 0]) + ONE):
            e = np.uint64(counts.shard_entries[m, shard, k])
            if e >= counts.n_voted[m]:
                j = np.uint64(pool_columns[m, e])
                vote = votes[j]
                voted_columns[shard, n_listed + ONE] = j
                n_listed += np.uint64(vote == ZERO)
                votes[j] = vote + ONE + ((pool_bits[m, e] >> SIGN ^ ONE) << HALF)
    voted_columns[shard, 0] = n_listed


@source_inlined
def purge_unstable(shard, arrays, shared, counts, plan):
    """Purge the features that survived too few of their bursts."""
    vote_counts, votes = shared.vote_counts, counts.votes
    min_votes = max(plan.min_votes, 1.0)
    for e in range(ONE, np.uint64(counts.voted_columns[shard, 0]) + ONE):
        j = np.uint64(counts.voted_columns[shard, e])
        n_bursts, n_survived = float(votes[j] & LOW_WORD), float(votes[j] >> HALF)
        votes[j] = ZERO
        vote_counts[j, 2] += n_bursts
        vote_counts[j, 3] += n_survived
        n_bursts += vote_counts[j, 0]
        n_survived += vote_counts[j, 1]
        is_judged = n_bursts >= min_votes
        vote_counts[j, 0], vote_counts[j, 1] = (0.0, 0.0) if is_judged else (n_bursts, n_survived)
        if is_judged and n_survived < plan.purge * n_bursts:
            purge_feature(j, arrays, shared, counts.purged[shard])
    counts.voted_columns[shard, 0] = 0


@source_inlined
def shard_begin(shard, counts):
    """Return the position in `near_gravity` where a shard begins."""
    return shard * (np.uint64(counts.near_gravity.shape[0]) // np.uint64(counts.bins.shape[0]))


@source_inlined
def is_near_bin(bin_number, gravity_bin):
    """Return whether a bin is the gravity bin or adjacent to it, and not the bin of zeros."""
    return (abs(np.int64(bin_number) - gravity_bin) <= 1) & (bin_number > ZERO)


@source_inlined
def count_displacements(shard, arrays, shared, counts):
    """Count the displacements of the present features of a shard by bin, and store those near the
    last gravity, among which the next one probably lies.
    """
    bins, near_gravity, gravity_bin = counts.bins, counts.near_gravity, counts.gravity_bin[0]
    position = start = shard_begin(shard, counts)
    for b in range(np.uint64(N_BINS)):
        bins[shard, b] = 0
    for m in range(np.uint64(counts.shard_entries.shape[0])):
        for k in range(ONE, np.uint64(counts.shard_entries[m, shard, 0]) + ONE):
            e = np.uint64(counts.shard_entries[m, shard, k])
            if shared.status[arrays.pool_columns[m, e]] != PURGED:
                b = displacement_bin(arrays.pool_bits[m, e])
                bins[shard, b] += np.uint32(1)
                near_gravity[position] = arrays.pool_values[m, e]
                position += np.uint64(is_near_bin(b, gravity_bin))
    counts.n_near_gravity[shard, 0] = position - start


@source_inlined
def annealed_rejection(plan, purged_fraction):
    """Return the rejection rate after a fraction of the features is purged (the paper's phi)."""
    if plan.annealing >= 0.0:
        return plan.rejection * (
            math.exp(-plan.annealing * purged_fraction)
            - purged_fraction * math.exp(-plan.annealing)
        )
    return (
        plan.rejection
        * math.log(1.0 - plan.annealing * (1.0 - purged_fraction))
        / math.log(1.0 - plan.annealing)
    )


@source_inlined
def set_burst_length(stage_array, plan):
    """Set the length of the next bursts: it grows as fewer features remain."""
    stage, burst = stage_array[0], plan.burst
    if plan.burst_alpha > 0.0:
        fraction = plan.burst_alpha * stage.n_present / max(stage.n_seen, 1.0)
        adapted = math.ceil(plan.burst * math.log(1.0 / fraction)) if fraction > 0.0 else math.inf
        burst = min(max(adapted, 1.0), MAX_BURST_GROWTH * plan.burst)
    stage.burst, stage.length = burst, burst * plan.bursts_per_stage


@source_inlined
def record_stage(history, arrays, stage_array):
    """Write the stage to the history. When the history is full, drop every second record and write
    only every second stage from then on.
    """
    stage, path_states = stage_array[0], arrays.path_states
    loss_sum = loss_weight = 0.0
    for m in range(path_states.shape[0]):
        loss_sum += path_states[m].loss_sum
        loss_weight += path_states[m].loss_weight
        path_states[m].loss_sum = path_states[m].loss_weight = 0.0
    if stage.number % stage.record_stride != 0.0:
        return
    position = int(stage.n_records)
    if position == history.shape[0]:
        position //= 2
        for e in range(position):
            for field in range(history.shape[1]):
                history[e, field] = history[2 * e + 1, field]
        stage.record_stride *= 2.0
        if stage.number % stage.record_stride != 0.0:
            stage.n_records = float(position)
            return
    entry = history[position]
    entry[0], entry[1], entry[2] = stage.number, stage.rows, stage.n_present
    entry[3], entry[4] = stage.gravity, stage.rejection
    entry[5], entry[6] = (loss_sum / loss_weight if loss_weight > 0.0 else 0.0), stage.burst
    stage.n_records = position + 1.0


@source_inlined
def displacement_of_rank(rank, arrays, shared, counts):
    """Return the counted displacement of that rank, from 1, without sorting."""
    rank_bin, n_below = bin_of_rank(rank, counts.bins)
    is_stored = is_near_bin(rank_bin, counts.gravity_bin[0])
    counts.gravity_bin[0] = np.int64(rank_bin)
    if rank_bin == ZERO:
        return 0.0
    # Each candidate is written at or before the position where it is read.
    candidates, n_values = counts.near_gravity, ZERO
    bits, values = arrays.pool_bits, arrays.pool_values
    if is_stored:
        for shard in range(np.uint64(counts.bins.shape[0])):
            start = shard_begin(shard, counts)
            for e in range(start, start + counts.n_near_gravity[shard, 0]):
                if displacement_bin(counts.near_gravity_bits[e]) == rank_bin:
                    candidates[n_values] = abs(candidates[e])
                    n_values += ONE
    else:
        for m in range(np.uint64(values.shape[0])):
            for e in range(np.uint64(arrays.path_states[m].n_pooled)):
                j = arrays.pool_columns[m, e]
                if displacement_bin(bits[m, e]) == rank_bin and shared.status[j] != PURGED:
                    candidates[n_values] = abs(values[m, e])
                    n_values += ONE
    return quickselect(candidates, np.int64(n_values), rank - n_below - 1)


@compiled_helper
def end_stage(arrays, shared, counts, stage_array, history, plan):
    """Finish a stage after all shards are processed: add up what was purged, write the history, set
    rejection, gravity and burst length of the next stage, and empty the pools.
    """
    stage, path_states = stage_array[0], arrays.path_states
    n_displacements = np.int64(0)
    for shard in range(np.uint64(counts.purged.shape[0])):
        stage.n_present -= counts.purged[shard, 0]
        stage.purged_entries += counts.purged[shard, 1]
        counts.purged[shard, 0] = counts.purged[shard, 1] = 0.0
        for b in range(np.uint64(N_BINS)):
            n_displacements += np.int64(counts.bins[shard, b])
    record_stage(history, arrays, stage_array)
    stage.rejection = annealed_rejection(plan, 1.0 - stage.n_present / max(stage.n_seen, 1.0))
    stage.gravity = 0.0
    if stage.number >= plan.burn_in_stages:
        stage.gravity = plan.gravity
        if plan.gravity < 0.0:
            rank = np.int64(math.ceil(stage.rejection * n_displacements))
            stage.gravity = displacement_of_rank(rank, arrays, shared, counts) if rank > 0 else 0.0
    for m in range(np.uint64(path_states.shape[0])):
        path_states[m].n_pooled = path_states[m].n_truncated = 0.0
        counts.n_voted[m] = ZERO
        for shard in range(np.uint64(counts.shard_entries.shape[1])):
            counts.shard_entries[m, shard, 0] = 0
    stage.rows_in_stage = 0.0
    set_burst_length(stage_array, plan)
