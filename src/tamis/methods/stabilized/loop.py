"""Stabilized truncated descent: paths of bursts in parallel, votes at the end of each stage,
columns that leave.

A path has a weight for each feature, and in `meets` two bytes (so that they stay in the cache) that
count the rows of the open burst that had it, or say that it was purged. Its pool lists the features
met in the open stage, burst by burst: beside each stands its weight at the start of the burst while
that is open, then its displacement a row.
"""

import math

import numpy as np

from tamis.base.jit import compiled, compiled_parallel, helper, prange, prefetch
from tamis.base.random import GOLDEN, mixed, shuffled
from tamis.base.verbs import slope, value
from tamis.methods.stabilized.loop_stage import (
    DEAD,
    HALF,
    NONE,
    ONE,
    begin_stage,
    count_displacements,
    count_votes,
    end_stage,
    meet,
)

EIGHT, ELEVEN, SIXTEEN = np.uint64(8), np.uint64(11), np.uint64(16)
# automatic steps of the intercept, against those of a row: it is in every row, and would swing
CALM = 0.0625


# --------------------------------------------------------------------------- random numbers
@helper
def key_of(seed, path, turn):
    """Key of a path's shuffle in a pass; never 0."""
    return mixed(mixed(seed + path * GOLDEN) + turn * GOLDEN) | ONE


@helper
def poisson(seed, path, row):
    """Poisson(1) number of a path and a row of the stream."""
    u = float(mixed(mixed(seed + path * GOLDEN) ^ mixed(row + GOLDEN)) >> ELEVEN) * 2.0**-53
    chance = math.exp(-1.0)
    total, times = chance, 0.0
    while u >= total and times < 20.0:
        times += 1.0
        chance /= times
        total += chance
    return times


# --------------------------------------------------------------------------- one path
@helper
def close_burst(m, group, fill, done, gravity, voting, bundle, votes, lists):
    """Truncate what the burst has met, in proportion to how often, and vote for what survives."""
    state, meets, _, pool_at, pool_value = bundle
    listed = np.uint64(lists[group, 0])
    for e in range(done, fill):
        j = np.uint64(pool_at[m, e])
        weight, met = state[m, j], float(meets[m, j])
        pool_value[m, e] = abs(weight - pool_value[m, e]) / met
        weight -= min(max(weight, -gravity * met), gravity * met)
        state[m, j], meets[m, j] = weight, 0
        if voting:
            vote = votes[group, j]
            lists[group, listed + ONE] = j
            listed += np.uint64(vote == NONE)
            votes[group, j] = vote + ONE + (np.uint64(weight != 0.0) << HALF)
    lists[group, 0] = listed


@helper
def ask(i, data, indices, indptr):
    """Ask for a row ahead of its turn: paths walk in random order, which no hardware foresees."""
    for k in range(indptr[i], indptr[i + ONE], SIXTEEN):
        prefetch(indices, k)
        prefetch(data, k)
        prefetch(data, k + EIGHT)


@helper
def walk(m, group, span, rows, bundle, votes, lists, course, loss, plan, source):
    """Take path m over the rows `span`, which end at the latest with the stage."""
    data, indices, indptr, targets, weights, norms = rows
    state, meets, paths, pool_at, pool_value = bundle
    seed, turn, permuted = source
    n, key = np.uint64(targets.shape[0]), key_of(seed, m, turn)
    path, clock = paths[m], course[0]
    bias, norm, steps, cost, mass = path.bias, path.norm, path.steps, path.cost, path.mass
    fill, done = np.uint64(path.pooled), np.uint64(path.done)
    watched, voting = clock.stage + 1.0 >= plan.burn, clock.stage + 1.0 > plan.burn
    left = clock.burst - clock.inside % clock.burst
    number, clean = np.uint64(clock.rows), clock.empty == 0.0
    order = np.empty(span[1] - span[0], np.uint64)
    for q in range(np.uint64(order.shape[0])):
        order[q] = shuffled(span[0] + q, n, key) if permuted else span[0] + q
        prefetch(indptr, order[q])
        prefetch(targets, order[q])
        prefetch(norms, order[q])
    for q in range(np.uint64(order.shape[0])):
        i = order[q]
        if q + ONE < np.uint64(order.shape[0]):
            ask(order[q + ONE], data, indices, indptr)
        weight = weights[i] if weights.shape[0] else 1.0
        if plan.resampled:
            weight *= poisson(seed, m, number + q)
        left -= 1.0
        if weight != 0.0:
            first, last = indptr[i], indptr[i + ONE]
            score = 0.0
            if watched:
                for k in range(first, last):
                    j = np.uint64(indices[k])
                    met = meets[m, j]
                    if met != DEAD:
                        now = state[m, j]
                        pool_at[m, fill], pool_value[m, fill] = j, now
                        # No branch: it would be mispredicted every other time.
                        fill += np.uint64(met == 0)
                        meets[m, j] = met + 1
                        score += now * np.float64(data[k])
            else:
                for k in range(first, last):
                    score += state[m, indices[k]] * np.float64(data[k])
            score += bias
            y = targets[i]
            s = slope(loss, score, y) * weight
            cost += value(loss, score, y) * weight
            mass += weight
            steps += 1.0
            norm += (norms[i] - norm) / steps
            eta = plan.eta
            bias_eta = eta
            if plan.automatic:
                longer = max(norm, norms[i])  # a row beyond the mean would overshoot
                eta /= longer * longer if longer > 0.0 else 1.0
                bias_eta *= CALM
            if s != 0.0:
                pace = eta * s
                if clean:
                    for k in range(first, last):
                        state[m, indices[k]] -= pace * np.float64(data[k])
                else:
                    for k in range(first, last):
                        if meets[m, indices[k]] != DEAD:
                            state[m, indices[k]] -= pace * np.float64(data[k])
                if plan.intercept:
                    bias -= bias_eta * s
        if left == 0.0:
            left = clock.burst
            close_burst(m, group, fill, done, clock.gravity, voting, bundle, votes, lists)
            done = fill
    path.bias, path.norm, path.steps, path.cost, path.mass = bias, norm, steps, cost, mass
    path.pooled, path.done = float(fill), float(done)


# --------------------------------------------------------------------------- all paths
@helper
def next_span(at, stop, course):
    """The rows until the end of the stage or of the block."""
    return at, min(stop, at + np.uint64(course[0].length - course[0].inside))


@helper
def walk_group(group, span, rows, bundle, votes, lists, course, loss, plan, source):
    """Take a group of paths over the rows `span`."""
    many, groups = np.uint64(bundle.paths.shape[0]), np.uint64(votes.shape[0])
    for m in range(group * many // groups, (group + ONE) * many // groups):
        walk(m, group, span, rows, bundle, votes, lists, course, loss, plan, source)


@helper
def advance(span, rows, shared, course):
    """After all paths walked the span: the shared clocks; whether that was the end of the stage."""
    clock, taken = course[0], float(span[1] - span[0])
    clock.rows += taken
    clock.inside += taken
    if not shared.counts.shape[0]:
        meet(span, rows, shared.status, course)
    ended = clock.inside >= clock.length
    clock.stage += 1.0 if ended else 0.0
    return ended


@compiled
def run_serial(
    rows, start, stop, bundle, shared, votes, lists, bins, course, history, loss, plan, source
):
    """Take every path over rows start to stop, or to the end of a stage that calls for compaction;
    return where.
    """
    at, full, groups = start, False, np.uint64(votes.shape[0])
    gone = np.zeros((groups, EIGHT))
    while at < stop and not full:
        span = next_span(at, stop, course)
        for group in range(groups):
            walk_group(group, span, rows, bundle, votes, lists, course, loss, plan, source)
        at = span[1]
        if advance(span, rows, shared, course):
            for group in range(groups):
                count_votes(group, bundle, shared, votes, lists, gone, course, plan)
            end_stage(bundle, lists, gone, course, history, plan)
            for group in range(groups):
                count_displacements(group, bins, bundle, shared, course, plan)
            begin_stage(bins, bundle, shared, course, plan)
            full = course[0].empty > plan.compaction * float(rows.data.shape[0])
    return at


@compiled_parallel
def run_parallel(
    rows, start, stop, bundle, shared, votes, lists, bins, course, history, loss, plan, source
):
    """The same with the groups of paths on threads; the same bits, as groups share nothing but
    whole-number counts.
    """
    at, full, groups = start, False, np.uint64(votes.shape[0])
    gone = np.zeros((groups, EIGHT))
    while at < stop and not full:
        span = next_span(at, stop, course)
        for g in prange(groups):
            walk_group(np.uint64(g), span, rows, bundle, votes, lists, course, loss, plan, source)
        at = span[1]
        if advance(span, rows, shared, course):
            for g in prange(groups):
                count_votes(np.uint64(g), bundle, shared, votes, lists, gone, course, plan)
            end_stage(bundle, lists, gone, course, history, plan)
            for g in prange(groups):
                count_displacements(np.uint64(g), bins, bundle, shared, course, plan)
            begin_stage(bins, bundle, shared, course, plan)
            full = course[0].empty > plan.compaction * float(rows.data.shape[0])
    return at
