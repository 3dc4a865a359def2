"""The end of a stage of stabilized descent: votes are counted, features leave, gravity and bursts
are set anew.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.base.jit import copied, helper
from tamis.methods.stabilized.loop_columns import BINS, DEAD, bin_holding, bin_of, select

ONE = np.uint64(1)
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
NONE = np.uint64(0)
# Threads count features in blocks of 8, so that no cache line of votes is written by two.
BLOCK, SPREAD, SIXTEEN = np.uint64(3), np.uint64(40503), np.uint64(16)
LOW_HALF = np.uint64(0xFFFF)
NEAR = 6  # bins, of a 32nd of an octave, by which the gravity may change without a look at all
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
    """What threads count in a stage: each for the paths it walks, then for its share of the
    features.
    """

    votes: np.ndarray  # (shares, columns) bursts that met and, in the upper half, kept a column
    voted: np.ndarray  # (shares, ...) columns that have votes, after their number
    sent: np.ndarray  # (shares, ...) those of them that other shares judge, after their number
    sent_votes: np.ndarray  # (shares, ...) their votes
    bins: np.ndarray  # (shares, BINS) displacements
    near: np.ndarray  # (shares, ...) those near the last gravity
    near_bits: np.ndarray  # the same memory
    near_at: np.ndarray  # (shares, ...) their columns
    tallies: np.ndarray  # (shares, 8) how many are near, and how many there are
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


def owner(j, shares):
    """The share that a feature belongs to, for a number or an array."""
    return (((j >> BLOCK) * SPREAD & LOW_HALF) * shares) >> SIXTEEN


share_of = copied(owner)


# --------------------------------------------------------------------------- while paths walk
@copied
def is_near(b, wanted):
    """Whether a bin, not that of the zeros, is the wanted one or near it."""
    return (abs(np.int64(b) - wanted) <= NEAR) & (b > NONE)


@copied
def vote(share, listed, j, kept, count):
    """Write down that a burst met a feature, and whether it kept it; return how many columns are
    listed.
    """
    before = count.votes[share, j]
    count.voted[share, listed + ONE] = j
    count.votes[share, j] = before + ONE + (np.uint64(kept) << HALF)
    return listed + np.uint64(before == NONE)


@copied
def tally(share, found, m, e, bundle, count):
    """Count a displacement by its first binary digits, and lay it aside if the gravity will come
    from there unless it changes much; return how many lie there.
    """
    b = bin_of(bundle.pool_bits[m, e])
    count.bins[share, b] += np.int32(1)
    count.near[share, found] = bundle.pool_value[m, e]
    count.near_at[share, found] = bundle.pool_at[m, e]
    return found + np.uint64(is_near(b, count.wanted[0]))


@copied
def open_stage(share, count):
    """Forget the displacements of the stage before."""
    for b in range(np.uint64(BINS)):
        count.bins[share, b] = 0
    count.tallies[share, 0] = count.tallies[share, 1] = 0


@helper
def resume(bundle, count):
    """Count the displacements that the open stage has from earlier calls."""
    found = NONE
    for m in range(np.uint64(bundle.pool_at.shape[0])):
        done = np.uint64(bundle.paths[m].done)
        for e in range(done):
            found = tally(NONE, found, m, e, bundle, count)
        count.tallies[0, 1] += done
    count.tallies[0, 0] = found


@copied
def send(share, count):
    """Hand the votes that other shares judge over in a list: to read them where they were counted
    would move far more memory from core to core.
    """
    shares, stay, away = np.uint64(count.bins.shape[0]), ONE, ONE
    for e in range(ONE, np.uint64(count.voted[share, 0]) + ONE):
        j = np.uint64(count.voted[share, e])
        own = share_of(j, shares) == share
        count.voted[share, stay] = j
        count.sent[share, away], count.sent_votes[share, away] = j, count.votes[share, j]
        if not own:
            count.votes[share, j] = NONE
        stay += np.uint64(own)
        away += np.uint64(not own)
    count.voted[share, 0], count.sent[share, 0] = stay - ONE, away - ONE


# --------------------------------------------------------------------------- once all have walked
@helper
def judge(share, shared, count, plan):
    """For a share of the features: add up the votes of all threads, and purge what too few bursts
    kept. What left stands where the votes stood.
    """
    shares, votes, voted = np.uint64(count.bins.shape[0]), count.votes, count.voted
    listed = np.uint64(voted[share, 0])
    for other in range(shares):
        if other != share:
            for e in range(ONE, np.uint64(count.sent[other, 0]) + ONE):
                j = np.uint64(count.sent[other, e])
                if share_of(j, shares) == share:
                    before = votes[share, j]
                    voted[share, listed + ONE] = j
                    listed += np.uint64(before == NONE)
                    votes[share, j] = before + count.sent_votes[other, e]
    ballots, gone, least = shared.ballots, count.gone[share], max(plan.min_votes, 1.0)
    left = ONE
    for e in range(ONE, listed + ONE):
        j = np.uint64(voted[share, e])
        met, kept = float(votes[share, j] & LOW), float(votes[share, j] >> HALF)
        votes[share, j] = NONE
        ballots[j, 2] += met
        ballots[j, 3] += kept
        met += ballots[j, 0]
        kept += ballots[j, 1]
        judged = met >= least
        ballots[j, 0], ballots[j, 1] = (0.0, 0.0) if judged else (met, kept)
        if judged and kept < plan.purge * met:
            shared.status[j] = PURGED
            gone[0] += 1.0
            gone[1] += float(shared.counts[j]) if shared.counts.shape[0] else 1.0
            voted[share, left] = j
            left += ONE
    voted[share, 0] = 0


@helper
def forget(share, bundle, shared, count, plan):
    """In a share of the paths: purge what left for ever, and take its displacements back."""
    weights, meets, voted = bundle.weights, bundle.meets, count.voted
    many, shares = np.uint64(weights.shape[0]), np.uint64(count.bins.shape[0])
    for m in range(share * many // shares, (share + ONE) * many // shares):
        for other in range(shares):
            for e in range(ONE, np.uint64(count.gone[other, 0]) + ONE):
                j = np.uint64(voted[other, e])
                weights[m, j], meets[m, j] = 0.0, DEAD
        if plan.gravity < 0.0:
            for e in range(np.uint64(bundle.paths[m].pooled)):
                if shared.status[bundle.pool_at[m, e]] == PURGED:
                    count.bins[share, bin_of(bundle.pool_bits[m, e])] -= np.int32(1)
                    count.tallies[share, 1] -= ONE


@copied
def anyone_left(count):
    """Whether the votes of the stage purged a feature."""
    total = 0.0
    for share in range(np.uint64(count.gone.shape[0])):
        total += count.gone[share, 0]
    return total > 0.0


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
    values, found = count.near[0], NONE  # each is written where it, or one before it, was read
    bits, value = bundle.pool_bits, bundle.pool_value
    if aside:
        for share in range(np.uint64(count.bins.shape[0])):
            for e in range(count.tallies[share, 0]):
                if bin_of(count.near_bits[share, e]) == wanted:
                    values[found] = count.near[share, e]
                    found += np.uint64(shared.status[count.near_at[share, e]] != PURGED)
    else:
        for m in range(np.uint64(value.shape[0])):
            for e in range(np.uint64(bundle.paths[m].pooled)):
                if bin_of(bits[m, e]) == wanted and shared.status[bundle.pool_at[m, e]] != PURGED:
                    values[found] = value[m, e]
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
        remain += np.int64(count.tallies[share, 1])
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
    clock.inside = 0.0
    set_burst(course, plan)
