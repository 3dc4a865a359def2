"""Compiled descent of stabilized SGD: bursts of the paths in parallel, votes at the end of each
stage, purged columns.

A path has a weight for each feature, and in `burst_counts` two bytes (so that they stay in the
cache) with the number of rows of the present burst that had the feature, or a mark that it is
purged. The pool of a path lists the features of the present stage, burst by burst, each with a
value: during the burst its weight at the start, afterwards its displacement for each row, with a
minus sign if the truncation set the weight to 0.
"""

import math

import numpy as np

from tamis.methods.stabilized_sgd.loop_stage import (
    ONE,
    PURGED_MARK,
    add_new_features,
    end_stage,
    process_shard,
    shard_of,
)
from tamis.numerics.hashing import GOLDEN, mix64
from tamis.numerics.numba import (
    compiled,
    compiled_helper,
    compiled_parallel,
    fetch_and_add,
    prange,
    prefetch,
    source_inlined,
)
from tamis.numerics.random import permuted_index
from tamis.terms.methods import gradient, value

TWO, EIGHT, ELEVEN, SIXTEEN = np.uint64(2), np.uint64(8), np.uint64(11), np.uint64(16)
# Automatic steps of the intercept, relative to those of a row. It is in every row, and would
# oscillate with the full step.
INTERCEPT_STEP_RATIO = 0.0625


# --------------------------------------------------------------------------- random numbers
@source_inlined
def shuffle_key(seed, path, rows_before):
    """Return the key of a path's shuffle in a pass; never 0."""
    return mix64(mix64(seed + path * GOLDEN) + rows_before * GOLDEN) | ONE


@source_inlined
def poisson(seed, path, row):
    """Return a Poisson(1) number for a path and a row of the stream."""
    u = float(mix64(mix64(seed + path * GOLDEN) ^ mix64(row + GOLDEN)) >> ELEVEN) * 2.0**-53
    probability = math.exp(-1.0)
    cumulative, number = probability, 0.0
    while u >= cumulative and number < 20.0:
        number += 1.0
        probability /= number
        cumulative += probability
    return number


# --------------------------------------------------------------------------- one path
@source_inlined
def truncate_burst(m, n_pooled, n_truncated, gravity, arrays, shard_entries):
    """Truncate the features of a burst in proportion to their row counts, and store their
    displacements; a displacement gets a minus sign if the weight became 0.

    The entries of the pool are listed by the shard of their column.
    """
    state, burst_counts, _, pool_columns, pool_values, _ = arrays
    n_shards = np.uint64(shard_entries.shape[1])
    for e in range(n_truncated, n_pooled):
        j = np.uint64(pool_columns[m, e])
        weight, n_rows = state[m, j], float(burst_counts[m, j])
        displacement = abs(weight - pool_values[m, e]) / n_rows
        weight -= min(max(weight, -gravity * n_rows), gravity * n_rows)
        state[m, j], burst_counts[m, j] = weight, 0
        pool_values[m, e] = displacement if weight != 0.0 else -displacement
        shard = shard_of(j, n_shards)
        n_listed = shard_entries[m, shard, 0] + np.uint32(1)
        shard_entries[m, shard, 0], shard_entries[m, shard, n_listed] = n_listed, e


@source_inlined
def prefetch_row(i, data, indices, indptr):
    """Prefetch a row ahead of its turn: the hardware cannot predict the random row order."""
    for k in range(indptr[i], indptr[i + ONE], SIXTEEN):
        prefetch(indices, k)
        prefetch(data, k)
        prefetch(data, k + EIGHT)


@source_inlined
def row_at(position, n, key, permuted):
    """Return the row that a path takes at a position of its order."""
    return permuted_index(position, n, key) if permuted else position


@compiled_helper
def run_path(m, span, rows, arrays, shard_entries, stage_array, loss, plan, order):
    """Take path m over the rows `span`, which end at the latest with the stage."""
    data, indices, indptr, targets, weights, norms = rows
    state, burst_counts, path_states, pool_columns, pool_values, _ = arrays
    seed, rows_before, permuted = order
    n, key = np.uint64(targets.shape[0]), shuffle_key(seed, m, rows_before)
    path, stage = path_states[m], stage_array[0]
    bias, mean_norm, n_rows = path.bias, path.mean_norm, path.n_rows
    loss_sum, loss_weight = path.loss_sum, path.loss_weight
    n_pooled, n_truncated = np.uint64(path.n_pooled), np.uint64(path.n_truncated)
    is_pooled = stage.number + 1.0 >= plan.burn_in_stages
    rows_left = stage.burst - stage.rows_in_stage % stage.burst
    row_number, none_purged = np.uint64(stage.rows), stage.purged_entries == 0.0
    end = span[1] - ONE
    i = row_at(span[0], n, key, permuted)
    next_row = row_at(min(span[0] + ONE, end), n, key, permuted)
    for position in range(span[0], span[1]):
        after_next = row_at(min(position + TWO, end), n, key, permuted)
        prefetch(indptr, after_next)
        prefetch(targets, after_next)
        prefetch(norms, after_next)
        prefetch_row(next_row, data, indices, indptr)
        weight = weights[i] if weights.shape[0] else 1.0
        if plan.resampled:
            weight *= poisson(seed, m, row_number + (position - span[0]))
        rows_left -= 1.0
        if weight != 0.0:
            first, last = indptr[i], indptr[i + ONE]
            score = 0.0
            if is_pooled:
                for k in range(first, last):
                    j = np.uint64(indices[k])
                    burst_count = burst_counts[m, j]
                    if burst_count != PURGED_MARK:
                        weight_now = state[m, j]
                        pool_columns[m, n_pooled], pool_values[m, n_pooled] = j, weight_now
                        # No branch: it would be mispredicted every other time.
                        n_pooled += np.uint64(burst_count == 0)
                        burst_counts[m, j] = burst_count + 1
                        score += weight_now * np.float64(data[k])
            else:
                for k in range(first, last):
                    score += state[m, indices[k]] * np.float64(data[k])
            score += bias
            y = targets[i]
            loss_gradient = gradient(loss, score, y) * weight
            loss_sum += value(loss, score, y) * weight
            loss_weight += weight
            n_rows += 1.0
            mean_norm += (norms[i] - mean_norm) / n_rows
            eta = plan.eta
            bias_eta = eta
            if plan.is_automatic:
                norm_bound = max(mean_norm, norms[i])  # a row beyond the mean would overshoot
                eta /= norm_bound * norm_bound if norm_bound > 0.0 else 1.0
                bias_eta *= INTERCEPT_STEP_RATIO
            if loss_gradient != 0.0:
                scaled_step = eta * loss_gradient
                if none_purged:
                    for k in range(first, last):
                        state[m, indices[k]] -= scaled_step * np.float64(data[k])
                else:
                    for k in range(first, last):
                        if burst_counts[m, indices[k]] != PURGED_MARK:
                            state[m, indices[k]] -= scaled_step * np.float64(data[k])
                if plan.intercept:
                    bias -= bias_eta * loss_gradient
        if rows_left == 0.0:
            rows_left = stage.burst
            truncate_burst(m, n_pooled, n_truncated, stage.gravity, arrays, shard_entries)
            n_truncated = n_pooled
        i, next_row = next_row, after_next
    path.bias, path.mean_norm, path.n_rows = bias, mean_norm, n_rows
    path.loss_sum, path.loss_weight = loss_sum, loss_weight
    path.n_pooled, path.n_truncated = float(n_pooled), float(n_truncated)


# --------------------------------------------------------------------------- all paths
@source_inlined
def end_span(span, rows, shared, stage_array):
    """Update the state that all paths share after a span, and return whether the stage ends."""
    stage, n_rows = stage_array[0], float(span[1] - span[0])
    stage.rows += n_rows
    stage.rows_in_stage += n_rows
    if not shared.entry_counts.shape[0]:
        add_new_features(span, rows, shared.status, stage_array)
    ended = stage.rows_in_stage >= stage.length
    stage.number += 1.0 if ended else 0.0
    return ended


@compiled
def run_paths_serially(
    rows, start, stop, arrays, shared, counts, stage_array, history, loss, plan, order
):
    """Take every path over the rows from start to stop, or to the end of a stage after which the
    columns should be compacted; return the position.
    """
    position, needs_compaction = start, False
    n_paths, n_shards = np.uint64(arrays.path_states.shape[0]), np.uint64(counts.bins.shape[0])
    while position < stop and not needs_compaction:
        rows_left = np.uint64(stage_array[0].length - stage_array[0].rows_in_stage)
        span = position, min(stop, position + rows_left)
        for m in range(n_paths):
            run_path(m, span, rows, arrays, counts.shard_entries, stage_array, loss, plan, order)
        position = span[1]
        if end_span(span, rows, shared, stage_array):
            if stage_array[0].number >= plan.burn_in_stages:
                for shard in range(n_shards):
                    process_shard(shard, arrays, shared, counts, stage_array, plan)
            end_stage(arrays, shared, counts, stage_array, history, plan)
            max_purged_entries = plan.max_purged_fraction * float(rows.data.shape[0])
            needs_compaction = stage_array[0].purged_entries > max_purged_entries
    return position


@compiled_parallel
def run_paths_in_parallel(
    rows, start, stop, arrays, shared, counts, stage_array, history, loss, plan, order
):
    """Do the same on threads, with bitwise equal results: paths share no weights, and all counts
    are integers.
    """
    position, needs_compaction = start, False
    n_paths, n_shards = np.uint64(arrays.path_states.shape[0]), np.uint64(counts.bins.shape[0])
    while position < stop and not needs_compaction:
        rows_left = np.uint64(stage_array[0].length - stage_array[0].rows_in_stage)
        span = position, min(stop, position + rows_left)
        for shard in range(n_shards):
            counts.next_path[shard * EIGHT] = shard * n_paths // n_shards
        for g in prange(n_shards):
            for offset in range(n_shards):  # after its shard, a thread helps with the others
                helped_shard = (np.uint64(g) + offset) % n_shards
                m = fetch_and_add(counts.next_path, helped_shard * EIGHT)
                while m < (helped_shard + ONE) * n_paths // n_shards:
                    run_path(
                        m, span, rows, arrays, counts.shard_entries, stage_array, loss, plan, order
                    )
                    m = fetch_and_add(counts.next_path, helped_shard * EIGHT)
        position = span[1]
        if end_span(span, rows, shared, stage_array):
            if stage_array[0].number >= plan.burn_in_stages:
                for g in prange(n_shards):
                    process_shard(np.uint64(g), arrays, shared, counts, stage_array, plan)
            end_stage(arrays, shared, counts, stage_array, history, plan)
            max_purged_entries = plan.max_purged_fraction * float(rows.data.shape[0])
            needs_compaction = stage_array[0].purged_entries > max_purged_entries
    return position
