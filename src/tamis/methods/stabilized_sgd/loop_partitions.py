"""Stages of stabilized descent whose paths lie apart: they walk rows of their own and set their own
gravity; their votes are added up elsewhere, now and then, and what leaves is told to all of them.
"""

import math

import numpy as np

from tamis.methods.stabilized_sgd.loop import close_burst, walk
from tamis.methods.stabilized_sgd.loop_columns import select
from tamis.methods.stabilized_sgd.loop_stage import ONE, SIGN, annealed, record, set_burst
from tamis.numerics.numba import compiled, helper


@compiled
def walk_apart(rows, start, stop, bundle, lists, values, votes, course, loss, plan, source):
    """Take every path of a bundle over some rows of its order, stage by stage, and count for each
    column the bursts that met it and those that kept it, in `votes` (columns, 2). The last burst
    ends with the rows.
    """
    clock, n, at = course[0], stop, start
    many, pulled = np.uint64(bundle.paths.shape[0]), clock.stage >= plan.burn
    while at < n:
        span = at, min(n, at + np.uint64(clock.length))
        for m in range(many):
            path = bundle.paths[m]
            lists[m, 0, 0] = 0
            walk(m, span, rows, bundle, lists, course, loss, plan, source)
            if path.pooled > path.done:
                fill, done = np.uint64(path.pooled), np.uint64(path.done)
                close_burst(m, fill, done, clock.gravity, bundle, lists)
        clock.rows += float(span[1] - span[0])
        at = span[1]
        if pulled or (at == n and clock.stage + 1.0 >= plan.burn):
            clock.gravity = plan.gravity
            if plan.gravity < 0.0:
                clock.gravity = quantile(clock.rejection, bundle, values)
        for m in range(many):
            count(m, bundle, votes)


@helper
def quantile(share, bundle, values):
    """The displacement that so large a share of those of all paths do not exceed."""
    found = np.int64(0)
    for m in range(np.uint64(bundle.paths.shape[0])):
        for e in range(np.uint64(bundle.paths[m].pooled)):
            values[found] = abs(bundle.pool_value[m, e])
            found += 1
    rank = np.int64(math.ceil(share * found))
    return select(values, found, rank - 1) if rank > 0 else 0.0


@helper
def count(m, bundle, votes):
    """Count the pool of a path, and empty it."""
    path = bundle.paths[m]
    for e in range(np.uint64(path.pooled)):
        j = np.uint64(bundle.pool_at[m, e])
        votes[j, 0] += 1
        votes[j, 1] += np.int64(bundle.pool_bits[m, e] >> SIGN ^ ONE)
    path.pooled = path.done = 0.0


@compiled
def close_apart(bundle, course, history, plan):
    """Once what left is known: write it down, set rejection and bursts of the next stages."""
    clock = course[0]
    record(history, bundle, course)
    clock.rejection = annealed(plan, 1.0 - clock.kept / max(clock.seen, 1.0))
    set_burst(course, plan)
