"""The end of a stage of stabilized descent: votes are counted, features leave, gravity and bursts
are set anew.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.methods.stabilized_sgd.loop_columns import BINS, DEAD, bin_holding, bin_of, select
from tamis.numerics.numba import copied, helper

ONE = np.uint64(1)
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
NONE = np.uint64(0)
# Threads count features in blocks of 8, so that no cache line of votes is written by two.
BLOCK, SPREAD, SIXTEEN = np.uint64(3), np.uint64(40503), np.uint64(16)
LOW_HALF = np.uint64(0xFFFF)
SIGN = np.uint64(63)
UNSEEN, PRESENT, PURGED = np.uint8(0), np.uint8(1), np.uint8(2)
# A path's own numbers, one cache line a path: intercept, mean norm and number of its rows, entries
# of its pool and those of ended bursts, sum and weight of its losses in the stage.
PATH = np.dtype(
    (
        np.record,
        [
            (name, "f8")
            for name in ("bias", "norm", "steps", "pooled", "done", "cost", "mass", "unused")
        ],
    )
)
# What all paths share: clocks, what is in force, and counts of features and of records.
COURSE = np.dtype(
    (
        np.record,
        [
            (name, "f8")
            for name in (
                "rows", "inside", "stage", "gravity", "rejection", "kept", "seen", "burst",
                "length", "empty", "stride", "records",
            )
        ],
    )
)  # fmt: skip
LARGEST_BURST = 20.0  # an adaptive burst grows to at most this many times the first one


class Rows(NamedTuple):
    """Rows as a bundle of paths reads them."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    norms: np.ndarray


class State(NamedTuple):
    """The paths of a bundle: weights and meetings of the columns, the paths' own numbers, and their
    pools.
    """

    weights: np.ndarray
    meets: np.ndarray
    paths: np.ndarray
    pool_at: np.ndarray
    pool_value: np.ndarray
    pool_bits: np.ndarray  # the same memory as `pool_value`


class Shared(NamedTuple):
    """What the paths share of each column: status, ballots, and stored entries (in a fit)."""

    status: np.ndarray
    ballots: np.ndarray
    counts: np.ndarray


class Count(NamedTuple):
    """What threads count at the end of a stage, each for its share of the features."""

    votes: np.ndarray  # bursts that met and, in the upper half, kept a column
    since: np.ndarray  # first entry of each pool that is not yet among the votes
    lists: np.ndarray  # (paths, shares, ...) entries of the pools, after their number
    voted: np.ndarray  # (shares, ...) columns that have votes, after their number
    bins: np.ndarray  # (shares, BINS) displacements
    near: np.ndarray  # those near the last gravity, each share in a part of its own
    near_bits: np.ndarray  # the same memory
    near_many: np.ndarray  # (shares, 8) their number
    wanted: np.ndarray  # bin of the last gravity
    gone: np.ndarray  # (shares, 8) features that left, and their stored entries
    claimed: np.ndarray  # the next path of each share, in every eighth cell


class Source(NamedTuple):
    """Where the order of the rows comes from."""

    seed: np.uint64
    turn: np.uint64
    permuted: bool


class Plan(NamedTuple):
    """Settings of a run, all of them floats."""

    burst: float
    bursts: float
    rejection: float
    annealing: float
    purge: float
    burn: float  # stages
    min_votes: float
    adaptive: float  # 0: off
    gravity: float  # below 0: adaptive
    eta: float  # automatic: in units of 1 / (norm of a row)^2
    automatic: float
    intercept: float
    resampled: float  # whether paths differ by Poisson weights of the rows
    compaction: float  # share of stored entries that may belong to purged features


@copied
def meet(span, rows, status, course):
    """Let features of a stream's rows join at their first sight."""
    clock, indices, indptr = course[0], rows.indices, rows.indptr
    for k in range(indptr[span[0]], indptr[span[1]]):
        if status[indices[k]] == UNSEEN:
            status[indices[k]] = PRESENT
            clock.kept += 1.0
            clock.seen += 1.0


@copied
def remove(j, bundle, shared, gone):
    """Purge a feature for ever, in every path."""
    weights, meets = bundle.weights, bundle.meets
    for m in range(np.uint64(weights.shape[0])):
        weights[m, j], meets[m, j] = 0.0, DEAD
    shared.status[j] = PURGED
    gone[0] += 1.0
    gone[1] += float(shared.counts[j]) if shared.counts.shape[0] else 1.0


def owner(j, shares):
    """The share that a feature belongs to, for a number or an array."""
    return (((j >> BLOCK) * SPREAD & LOW_HALF) * shares) >> SIXTEEN


share_of = copied(owner)


@helper
def settle(share, bundle, shared, count, course, plan):
    """For a thread's share of the features: the votes of the stage, what leaves, and how the
    displacements of the others are spread.
    """
    if course[0].stage > plan.burn:
        count_votes(share, bundle, count)
        judge(share, bundle, shared, count, plan)
    if plan.gravity < 0.0:
        count_displacements(share, bundle, shared, count)


@copied
def count_votes(share, bundle, count):
    """Add up the votes of all paths: entries with a minus met the feature, the others kept it
    too.
    """
    votes, voted, pool_at, pool_bits = count.votes, count.voted, bundle.pool_at, bundle.pool_bits
    listed = np.uint64(voted[share, 0])
    for m in range(np.uint64(pool_at.shape[0])):
        for k in range(ONE, np.uint64(count.lists[m, share, 0]) + ONE):
            e = np.uint64(count.lists[m, share, k])
            if e >= count.since[m]:
                j = np.uint64(pool_at[m, e])
                vote = votes[j]
                voted[share, listed + ONE] = j
                listed += np.uint64(vote == NONE)
                votes[j] = vote + ONE + ((pool_bits[m, e] >> SIGN ^ ONE) << HALF)
    voted[share, 0] = listed


@copied
def judge(share, bundle, shared, count, plan):
    """Purge what too few bursts kept."""
    ballots, votes, least = shared.ballots, count.votes, max(plan.min_votes, 1.0)
    for e in range(ONE, np.uint64(count.voted[share, 0]) + ONE):
        j = np.uint64(count.voted[share, e])
        met, kept = float(votes[j] & LOW), float(votes[j] >> HALF)
        votes[j] = NONE
        ballots[j, 2] += met
        ballots[j, 3] += kept
        met += ballots[j, 0]
        kept += ballots[j, 1]
        judged = met >= least
        ballots[j, 0], ballots[j, 1] = (0.0, 0.0) if judged else (met, kept)
        if judged and kept < plan.purge * met:
            remove(j, bundle, shared, count.gone[share])
    count.voted[share, 0] = 0


@copied
def part_of(share, count):
    """Where a share's part of the displacements laid aside begins."""
    return share * (np.uint64(count.near.shape[0]) // np.uint64(count.bins.shape[0]))


@copied
def is_near(b, wanted):
    """Whether a bin, not that of the zeros, is the wanted one or beside it."""
    return (abs(np.int64(b) - wanted) <= 1) & (b > NONE)


@copied
def count_displacements(share, bundle, shared, count):
    """Count the displacements of features that remain by their first binary digits; lay those
    aside from which the gravity will come if it hardly changes.
    """
    bins, near, wanted = count.bins, count.near, count.wanted[0]
    found = start = part_of(share, count)
    for b in range(np.uint64(BINS)):
        bins[share, b] = 0
    for m in range(np.uint64(count.lists.shape[0])):
        for k in range(ONE, np.uint64(count.lists[m, share, 0]) + ONE):
            e = np.uint64(count.lists[m, share, k])
            if shared.status[bundle.pool_at[m, e]] != PURGED:
                b = bin_of(bundle.pool_bits[m, e])
                bins[share, b] += np.uint32(1)
                near[found] = bundle.pool_value[m, e]
                found += np.uint64(is_near(b, wanted))
    count.near_many[share, 0] = found - start


@copied
def annealed(plan, removed):
    """Rejection rate once that share of the features is removed (the paper's phi)."""
    if plan.annealing >= 0.0:
        return plan.rejection * (
            math.exp(-plan.annealing * removed) - removed * math.exp(-plan.annealing)
        )
    return (
        plan.rejection
        * math.log(1.0 - plan.annealing * (1.0 - removed))
        / math.log(1.0 - plan.annealing)
    )


@copied
def set_burst(course, plan):
    """Length of the next bursts: the fewer features remain, the longer."""
    clock, burst = course[0], plan.burst
    if plan.adaptive > 0.0:
        share = plan.adaptive * clock.kept / max(clock.seen, 1.0)
        grown = math.ceil(plan.burst * math.log(1.0 / share)) if share > 0.0 else math.inf
        burst = min(max(grown, 1.0), LARGEST_BURST * plan.burst)
    clock.burst, clock.length = burst, burst * plan.bursts


@copied
def record(history, bundle, course):
    """Write the stage down; once the pages are full, every second one is thrown out and every
    second stage written.
    """
    clock, paths = course[0], bundle.paths
    cost = mass = 0.0
    for m in range(paths.shape[0]):
        cost += paths[m].cost
        mass += paths[m].mass
        paths[m].cost = paths[m].mass = 0.0
    if clock.stage % clock.stride != 0.0:
        return
    at = int(clock.records)
    if at == history.shape[0]:
        at //= 2
        for e in range(at):
            for field in range(history.shape[1]):
                history[e, field] = history[2 * e + 1, field]
        clock.stride *= 2.0
        if clock.stage % clock.stride != 0.0:
            clock.records = float(at)
            return
    history[at, 0], history[at, 1], history[at, 2] = clock.stage, clock.rows, clock.kept
    history[at, 3], history[at, 4] = clock.gravity, clock.rejection
    history[at, 5], history[at, 6] = (cost / mass if mass > 0.0 else 0.0), clock.burst
    clock.records = at + 1.0


@copied
def smallest(rank, bundle, shared, count):
    """The displacement of that rank, from 1, among those counted; exact, without sorting."""
    wanted, below = bin_holding(rank, count.bins)
    aside = is_near(wanted, count.wanted[0])
    count.wanted[0] = np.int64(wanted)
    if wanted == NONE:
        return 0.0
    values, found = count.near, NONE  # each is written where it, or one before it, was read
    bits, value = bundle.pool_bits, bundle.pool_value
    if aside:
        for share in range(np.uint64(count.bins.shape[0])):
            start = part_of(share, count)
            for e in range(start, start + count.near_many[share, 0]):
                if bin_of(count.near_bits[e]) == wanted:
                    values[found] = abs(values[e])
                    found += ONE
    else:
        for m in range(np.uint64(value.shape[0])):
            for e in range(np.uint64(bundle.paths[m].pooled)):
                if bin_of(bits[m, e]) == wanted and shared.status[bundle.pool_at[m, e]] != PURGED:
                    values[found] = abs(value[m, e])
                    found += ONE
    return select(values, np.int64(found), rank - below - 1)


@helper
def end_stage(bundle, shared, count, course, history, plan):
    """Once the shares are settled: add up what left, write the stage down, set rejection, gravity
    and bursts of the next one, and empty the pools.
    """
    clock, paths = course[0], bundle.paths
    remain = np.int64(0)
    for share in range(np.uint64(count.gone.shape[0])):
        clock.kept -= count.gone[share, 0]
        clock.empty += count.gone[share, 1]
        count.gone[share, 0] = count.gone[share, 1] = 0.0
        for b in range(np.uint64(BINS)):
            remain += np.int64(count.bins[share, b])
    record(history, bundle, course)
    clock.rejection = annealed(plan, 1.0 - clock.kept / max(clock.seen, 1.0))
    clock.gravity = 0.0
    if clock.stage >= plan.burn:
        clock.gravity = plan.gravity
        if plan.gravity < 0.0:
            rank = np.int64(math.ceil(clock.rejection * remain))
            clock.gravity = smallest(rank, bundle, shared, count) if rank > 0 else 0.0
    for m in range(np.uint64(paths.shape[0])):
        paths[m].pooled = paths[m].done = 0.0
        count.since[m] = NONE
        for share in range(np.uint64(count.lists.shape[1])):
            count.lists[m, share, 0] = 0
    clock.inside = 0.0
    set_burst(course, plan)
