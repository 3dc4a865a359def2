"""Stabilized truncated descent: paths of bursts in parallel, votes at the end of each stage,
columns that leave.

A path has a weight for each feature, and in `meets` two bytes (so that they stay in the cache) that
count the rows of the open burst that had it, or say that it was purged. Its pool lists the features
met in the open stage, burst by burst: beside each stands its weight at the start of the burst while
that is open, then its displacement a row.
"""

import math

import numpy as np

from tamis.base.jit import (
    claim,
    compiled,
    compiled_parallel,
    copied,
    helper,
    prange,
    prefetch,
)
from tamis.base.random import GOLDEN, mixed, shuffled
from tamis.base.verbs import slope, value
from tamis.methods.stabilized.loop_stage import (
    DEAD,
    ONE,
    anyone_left,
    end_stage,
    forget,
    judge,
    meet,
    open_stage,
    resume,
    send,
    tally,
    vote,
)

TWO, EIGHT, ELEVEN, SIXTEEN = np.uint64(2), np.uint64(8), np.uint64(11), np.uint64(16)
# automatic steps of the intercept, against those of a row: it is in every row, and would swing
CALM = 0.0625


# --------------------------------------------------------------------------- random numbers
@copied
def key_of(seed, path, turn):
    """Key of a path's shuffle in a pass; never 0."""
    return mixed(mixed(seed + path * GOLDEN) + turn * GOLDEN) | ONE


@copied
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
@copied
def close_burst(m, share, fill, done, bundle, count, course, plan):
    """Truncate what the burst has met, in proportion to how often; count votes and displacements
    for the thread that walks.
    """
    state, meets, _, pool_at, pool_value, _ = bundle
    clock = course[0]
    gravity, voting, adaptive = clock.gravity, clock.stage >= plan.burn, plan.gravity < 0.0
    listed, found = np.uint64(count.voted[share, 0]), count.tallies[share, 0]
    for e in range(done, fill):
        j = np.uint64(pool_at[m, e])
        weight, met = state[m, j], float(meets[m, j])
        pool_value[m, e] = abs(weight - pool_value[m, e]) / met
        weight -= min(max(weight, -gravity * met), gravity * met)
        state[m, j], meets[m, j] = weight, 0
        if voting:
            listed = vote(share, listed, j, weight != 0.0, count)
        if adaptive:
            found = tally(share, found, m, e, bundle, count)
    count.voted[share, 0], count.tallies[share, 0] = listed, found
    count.tallies[share, 1] += fill - done


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


@copied
def walk(m, share, span, rows, bundle, count, course, loss, plan, source):
    """Take path m over the rows `span`, which end at the latest with the stage; the thread counts
    for its share.
    """
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
                    met, now = meets[m, j], state[m, j]
                    pool_at[m, fill], pool_value[m, fill] = j, now
                    # No branch: it would be mispredicted every other time. Dead weights are 0.
                    fill += np.uint64(met == 0)
                    meets[m, j] = met + np.uint16(met != DEAD)
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
                        moved = state[m, indices[k]] - pace * np.float64(data[k])
                        state[m, indices[k]] = moved if meets[m, indices[k]] != DEAD else 0.0
                if plan.intercept:
                    bias -= bias_eta * s
        if left == 0.0:
            left = clock.burst
            close_burst(m, share, fill, done, bundle, count, course, plan)
            done = fill
        i, following = following, later
    path.bias, path.norm, path.steps, path.cost, path.mass = bias, norm, steps, cost, mass
    path.pooled, path.done = float(fill), float(done)


# --------------------------------------------------------------------------- all paths
@helper
def take_turns(share, span, rows, bundle, count, course, loss, plan, source):
    """What a thread does with a span: it walks the paths of its share, then helps the others; at
    the end of a stage that is voted on, it hands over the votes that others judge.
    """
    clock, shares = course[0], np.uint64(count.bins.shape[0])
    many = np.uint64(bundle.paths.shape[0])
    if clock.inside == 0.0:
        open_stage(share, count)
    for turn in range(shares):
        helped = (share + turn) % shares
        m = claim(count.claimed, helped * EIGHT)
        while m < (helped + ONE) * many // shares:
            walk(m, share, span, rows, bundle, count, course, loss, plan, source)
            m = claim(count.claimed, helped * EIGHT)
    ends = clock.inside + float(span[1] - span[0]) >= clock.length
    if shares > ONE and ends and clock.stage >= plan.burn:
        send(share, count)


@copied
def allot(at, stop, bundle, count, course):
    """Rows that all paths walk next, at most to the end of the stage; every path is to be had."""
    many, shares = np.uint64(bundle.paths.shape[0]), np.uint64(count.bins.shape[0])
    for share in range(shares):
        count.claimed[share * EIGHT] = share * many // shares
    return at, min(stop, at + np.uint64(course[0].length - course[0].inside))


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
    at, full, shares = start, False, np.uint64(count.bins.shape[0])
    resume(bundle, count)
    while at < stop and not full:
        span = allot(at, stop, bundle, count, course)
        for share in range(shares):
            take_turns(share, span, rows, bundle, count, course, loss, plan, source)
        at = span[1]
        if advance(span, rows, shared, course):
            if course[0].stage > plan.burn:
                for share in range(shares):
                    judge(share, shared, count, plan)
                if anyone_left(count):
                    for share in range(shares):
                        forget(share, bundle, shared, count, plan)
            end_stage(bundle, shared, count, course, history, plan)
            full = course[0].empty > plan.compaction * float(rows.data.shape[0])
    return at


@compiled_parallel
def run_parallel(rows, start, stop, bundle, shared, count, course, history, loss, plan, source):
    """The same on threads; the same bits, as paths share nothing, and what is counted are whole
    numbers.
    """
    at, full, shares = start, False, np.uint64(count.bins.shape[0])
    resume(bundle, count)
    while at < stop and not full:
        span = allot(at, stop, bundle, count, course)
        for g in prange(shares):
            take_turns(np.uint64(g), span, rows, bundle, count, course, loss, plan, source)
        at = span[1]
        if advance(span, rows, shared, course):
            if course[0].stage > plan.burn:
                for g in prange(shares):
                    judge(np.uint64(g), shared, count, plan)
                if anyone_left(count):
                    for g in prange(shares):
                        forget(np.uint64(g), bundle, shared, count, plan)
            end_stage(bundle, shared, count, course, history, plan)
            full = course[0].empty > plan.compaction * float(rows.data.shape[0])
    return at
