"""Stabilized truncated descent: paths of bursts in parallel, votes at the end of each stage,
columns that leave.

A path has a weight for each feature, and in `meets` two bytes (so that they stay in the cache) that
count the rows of the open burst that had it, or say that it was purged. Its pool lists the features
met in the open stage, burst by burst: beside each stands its weight at the start of the burst while
that is open, then its displacement a row, with a minus if the truncation made the weight 0.
"""

import math

import numpy as np

from tamis.methods.stabilized_sgd.loop_stage import DEAD, ONE, end_stage, meet, settle, share_of
from tamis.numerics.hashing import GOLDEN, mix64
from tamis.numerics.numba import (
    claim,
    compiled,
    compiled_parallel,
    copied,
    helper,
    prange,
    prefetch,
)
from tamis.numerics.random import shuffled
from tamis.terms.methods import gradient, value

TWO, EIGHT, ELEVEN, SIXTEEN = np.uint64(2), np.uint64(8), np.uint64(11), np.uint64(16)
# automatic steps of the intercept, against those of a row: it is in every row, and would swing
INTERCEPT_STEP_RATIO = 0.0625


# --------------------------------------------------------------------------- random numbers
@copied
def key_of(seed, path, turn):
    """Key of a path's shuffle in a pass; never 0."""
    return mix64(mix64(seed + path * GOLDEN) + turn * GOLDEN) | ONE


@copied
def poisson(seed, path, row):
    """Poisson(1) number of a path and a row of the stream."""
    u = float(mix64(mix64(seed + path * GOLDEN) ^ mix64(row + GOLDEN)) >> ELEVEN) * 2.0**-53
    chance = math.exp(-1.0)
    total, times = chance, 0.0
    while u >= total and times < 20.0:
        times += 1.0
        chance /= times
        total += chance
    return times


# --------------------------------------------------------------------------- one path
@copied
def close_burst(m, fill, done, gravity, bundle, lists):
    """Truncate what the burst has met, in proportion to how often; an entry whose weight became 0
    gets a minus. List the entries by the thread that will count them.
    """
    state, meets, _, pool_at, pool_value, _ = bundle
    shares = np.uint64(lists.shape[1])
    for e in range(done, fill):
        j = np.uint64(pool_at[m, e])
        weight, met = state[m, j], float(meets[m, j])
        moved = abs(weight - pool_value[m, e]) / met
        weight -= min(max(weight, -gravity * met), gravity * met)
        state[m, j], meets[m, j] = weight, 0
        pool_value[m, e] = moved if weight != 0.0 else -moved
        share = share_of(j, shares)
        listed = lists[m, share, 0] + np.uint32(1)
        lists[m, share, 0], lists[m, share, listed] = listed, e


@copied
def ask(i, data, indices, indptr):
    """Ask for a row ahead of its turn: paths walk in random order, which no hardware foresees."""
    for k in range(indptr[i], indptr[i + ONE], SIXTEEN):
        prefetch(indices, k)
        prefetch(data, k)
        prefetch(data, k + EIGHT)


@copied
def row_at(position, n, key, permuted):
    """The row that a path takes at a position of its walk."""
    return shuffled(position, n, key) if permuted else position


@helper
def walk(m, span, rows, bundle, lists, course, loss, plan, source):
    """Take path m over the rows `span`, which end at the latest with the stage."""
    data, indices, indptr, targets, weights, norms = rows
    state, meets, paths, pool_at, pool_value, _ = bundle
    seed, turn, permuted = source
    n, key = np.uint64(targets.shape[0]), key_of(seed, m, turn)
    path, clock = paths[m], course[0]
    bias, norm, steps, cost, mass = path.bias, path.norm, path.steps, path.cost, path.mass
    fill, done = np.uint64(path.pooled), np.uint64(path.done)
    watched = clock.stage + 1.0 >= plan.burn
    left = clock.burst - clock.inside % clock.burst
    number, clean = np.uint64(clock.rows), clock.empty == 0.0
    end = span[1] - ONE
    i = row_at(span[0], n, key, permuted)
    following = row_at(min(span[0] + ONE, end), n, key, permuted)
    for q in range(span[0], span[1]):
        later = row_at(min(q + TWO, end), n, key, permuted)
        prefetch(indptr, later)
        prefetch(targets, later)
        prefetch(norms, later)
        ask(following, data, indices, indptr)
        weight = weights[i] if weights.shape[0] else 1.0
        if plan.resampled:
            weight *= poisson(seed, m, number + (q - span[0]))
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
            s = gradient(loss, score, y) * weight
            cost += value(loss, score, y) * weight
            mass += weight
            steps += 1.0
            norm += (norms[i] - norm) / steps
            eta = plan.eta
            bias_eta = eta
            if plan.automatic:
                longer = max(norm, norms[i])  # a row beyond the mean would overshoot
                eta /= longer * longer if longer > 0.0 else 1.0
                bias_eta *= INTERCEPT_STEP_RATIO
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
            close_burst(m, fill, done, clock.gravity, bundle, lists)
            done = fill
        i, following = following, later
    path.bias, path.norm, path.steps, path.cost, path.mass = bias, norm, steps, cost, mass
    path.pooled, path.done = float(fill), float(done)


# --------------------------------------------------------------------------- all paths
@copied
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
def run_serial(rows, start, stop, bundle, shared, count, course, history, loss, plan, source):
    """Take every path over rows start to stop, or to the end of a stage that calls for compaction;
    return where.
    """
    at, full = start, False
    many, shares = np.uint64(bundle.paths.shape[0]), np.uint64(count.bins.shape[0])
    while at < stop and not full:
        span = at, min(stop, at + np.uint64(course[0].length - course[0].inside))
        for m in range(many):
            walk(m, span, rows, bundle, count.lists, course, loss, plan, source)
        at = span[1]
        if advance(span, rows, shared, course):
            if course[0].stage >= plan.burn:
                for share in range(shares):
                    settle(share, bundle, shared, count, course, plan)
            end_stage(bundle, shared, count, course, history, plan)
            full = course[0].empty > plan.compaction * float(rows.data.shape[0])
    return at


@compiled_parallel
def run_parallel(rows, start, stop, bundle, shared, count, course, history, loss, plan, source):
    """The same on threads; the same bits, as paths share nothing, and what is counted are whole
    numbers.
    """
    at, full = start, False
    many, shares = np.uint64(bundle.paths.shape[0]), np.uint64(count.bins.shape[0])
    while at < stop and not full:
        span = at, min(stop, at + np.uint64(course[0].length - course[0].inside))
        for share in range(shares):
            count.claimed[share * EIGHT] = share * many // shares
        for g in prange(shares):
            for turn in range(shares):  # once its own paths are done, a thread helps the others
                helped = (np.uint64(g) + turn) % shares
                m = claim(count.claimed, helped * EIGHT)
                while m < (helped + ONE) * many // shares:
                    walk(m, span, rows, bundle, count.lists, course, loss, plan, source)
                    m = claim(count.claimed, helped * EIGHT)
        at = span[1]
        if advance(span, rows, shared, course):
            if course[0].stage >= plan.burn:
                for g in prange(shares):
                    settle(np.uint64(g), bundle, shared, count, course, plan)
            end_stage(bundle, shared, count, course, history, plan)
            full = course[0].empty > plan.compaction * float(rows.data.shape[0])
    return at
