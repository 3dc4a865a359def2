"""Compiled stages of stabilized SGD on partitions: paths learn from rows of one partition and set
their own gravity; their votes are added up over all partitions, and purged columns are broadcast.
"""

import math

import numpy as np

from tamis.methods.stabilized_sgd.loop import run_path, truncate_burst
from tamis.methods.stabilized_sgd.loop_columns import quickselect
from tamis.methods.stabilized_sgd.loop_stage import (
    ONE,
    SIGN,
    annealed_rejection,
    record_stage,
    set_burst_length,
)
from tamis.numerics.numba import compiled, compiled_helper


@compiled
def run_partition_stage(
    rows, start, stop, arrays, shard_entries, buffer, votes, stage_array, loss, plan, order
):
    """Take every path over some rows of a partition, stage by stage, and count for each column the
    bursts that met it and those that it survived, in `votes` (columns, 2). The last burst ends with
    the rows.
    """
    stage, n, position = stage_array[0], stop, start
    n_paths = np.uint64(arrays.path_states.shape[0])
    is_truncated = stage.number >= plan.burn_in_stages
    while position < n:
        span = position, min(n, position + np.uint64(stage.length))
        for m in range(n_paths):
            path = arrays.path_states[m]
            shard_entries[m, 0, 0] = 0
            run_path(m, span, rows, arrays, shard_entries, stage_array, loss, plan, order)
            if path.n_pooled > path.n_truncated:
                n_filled, n_truncated = np.uint64(path.n_pooled), np.uint64(path.n_truncated)
                truncate_burst(m, n_filled, n_truncated, stage.gravity, arrays, shard_entries)
        stage.rows += float(span[1] - span[0])
        position = span[1]
        if is_truncated or (position == n and stage.number + 1.0 >= plan.burn_in_stages):
            stage.gravity = plan.gravity
            if plan.gravity < 0.0:
                stage.gravity = displacement_quantile(stage.rejection, arrays, buffer)
        for m in range(n_paths):
            count_pool(m, arrays, votes)


@compiled_helper
def displacement_quantile(fraction, arrays, buffer):
    """Return the quantile of the displacements of all paths at a fraction."""
    n_values = np.int64(0)
    for m in range(np.uint64(arrays.path_states.shape[0])):
        for e in range(np.uint64(arrays.path_states[m].n_pooled)):
            buffer[n_values] = abs(arrays.pool_values[m, e])
            n_values += 1
    rank = np.int64(math.ceil(fraction * n_values))
    return quickselect(buffer, n_values, rank - 1) if rank > 0 else 0.0


@compiled_helper
def count_pool(m, arrays, votes):
    """Add the pool of a path to the votes, and empty it."""
    path = arrays.path_states[m]
    for e in range(np.uint64(path.n_pooled)):
        j = np.uint64(arrays.pool_columns[m, e])
        votes[j, 0] += 1
        votes[j, 1] += np.int64(arrays.pool_bits[m, e] >> SIGN ^ ONE)
    path.n_pooled = path.n_truncated = 0.0


@compiled
def end_partition_stage(arrays, stage_array, history, plan):
    """Write the stage to the history after the purge, and set rejection and burst length of the
    next stages.
    """
    stage = stage_array[0]
    record_stage(history, arrays, stage_array)
    stage.rejection = annealed_rejection(plan, 1.0 - stage.n_present / max(stage.n_seen, 1.0))
    set_burst_length(stage_array, plan)
