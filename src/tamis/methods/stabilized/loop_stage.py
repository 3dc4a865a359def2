"""The end of a stage of stabilized descent: votes are counted, features leave, gravity and bursts
are set anew.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.base.jit import helper
from tamis.methods.stabilized.loop_columns import DEAD, smallest, tally

ONE = np.uint64(1)
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
NONE = np.uint64(0)
# Features are counted by threads in blocks of 64, so that no cache line is written by two.
SHARE = np.uint64(6)
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


class Shared(NamedTuple):
    """What the paths share of each column: status, ballots, and stored entries (in a fit)."""

    status: np.ndarray
    ballots: np.ndarray
    counts: np.ndarray


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


@helper
def meet(span, rows, status, course):
    """Let features of a stream's rows join at their first sight."""
    clock, indices, indptr = course[0], rows.indices, rows.indptr
    for k in range(indptr[span[0]], indptr[span[1]]):
        if status[indices[k]] == UNSEEN:
            status[indices[k]] = PRESENT
            clock.kept += 1.0
            clock.seen += 1.0


@helper
def remove(j, bundle, shared, gone):
    """Purge a feature for ever, in every path."""
    weights, meets = bundle.weights, bundle.meets
    for m in range(np.uint64(weights.shape[0])):
        weights[m, j], meets[m, j] = 0.0, DEAD
    shared.status[j] = PURGED
    gone[0] += 1.0
    gone[1] += float(shared.counts[j]) if shared.counts.shape[0] else 1.0


@helper
def count_votes(group, bundle, shared, votes, lists, gone, course, plan):
    """Sum the votes over the groups of paths for this group's share of the features, and purge what
    too few bursts kept.
    """
    if course[0].stage <= plan.burn:
        return
    ballots, groups = shared.ballots, np.uint64(votes.shape[0])
    for listed in range(groups):
        for e in range(ONE, np.uint64(lists[listed, 0]) + ONE):
            j = np.uint64(lists[listed, e])
            if groups > ONE and (j >> SHARE) % groups != group:  # another group's
                continue
            total = NONE
            for other in range(groups):
                total += votes[other, j]
                votes[other, j] = NONE
            if total == NONE:  # listed before
                continue
            met, kept = float(total & LOW), float(total >> HALF)
            ballots[j, 2] += met
            ballots[j, 3] += kept
            met += ballots[j, 0]
            kept += ballots[j, 1]
            judged = met >= max(plan.min_votes, 1.0)
            ballots[j, 0], ballots[j, 1] = (0.0, 0.0) if judged else (met, kept)
            if judged and kept < plan.purge * met:
                remove(j, bundle, shared, gone[group])


@helper
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


@helper
def set_burst(course, plan):
    """Length of the next bursts: the fewer features remain, the longer."""
    clock, burst = course[0], plan.burst
    if plan.adaptive > 0.0:
        share = plan.adaptive * clock.kept / max(clock.seen, 1.0)
        grown = math.ceil(plan.burst * math.log(1.0 / share)) if share > 0.0 else math.inf
        burst = min(max(grown, 1.0), LARGEST_BURST * plan.burst)
    clock.burst, clock.length = burst, burst * plan.bursts


@helper
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
            history[e] = history[2 * e + 1]
        clock.stride *= 2.0
        if clock.stage % clock.stride != 0.0:
            clock.records = float(at)
            return
    history[at, 0], history[at, 1], history[at, 2] = clock.stage, clock.rows, clock.kept
    history[at, 3], history[at, 4] = clock.gravity, clock.rejection
    history[at, 5], history[at, 6] = (cost / mass if mass > 0.0 else 0.0), clock.burst
    clock.records = at + 1.0


@helper
def end_stage(bundle, lists, gone, course, history, plan):
    """Once the votes are counted: add up what left, write the stage down, anneal."""
    clock = course[0]
    for group in range(np.uint64(lists.shape[0])):
        lists[group, 0] = 0
        clock.kept -= gone[group, 0]
        clock.empty += gone[group, 1]
        gone[group, 0] = gone[group, 1] = 0.0
    record(history, bundle, course)
    clock.rejection = annealed(plan, 1.0 - clock.kept / max(clock.seen, 1.0))


@helper
def count_displacements(group, bins, bundle, shared, course, plan):
    """A group's share of the histogram from which the gravity comes."""
    if course[0].stage >= plan.burn and plan.gravity < 0.0:
        many, groups = np.uint64(bundle.paths.shape[0]), np.uint64(bins.shape[0])
        low, high = group * many // groups, (group + ONE) * many // groups
        fills, at, value = bundle.paths["pooled"], bundle.pool_at, bundle.pool_value
        tally(bins[group], low, high, fills, at, value, shared.status, PURGED)


@helper
def begin_stage(bins, bundle, shared, course, plan):
    """Set the gravity of the next stage from the displacements of the last one, and empty the
    pools.
    """
    clock, paths = course[0], bundle.paths
    clock.gravity = 0.0
    if clock.stage >= plan.burn:
        clock.gravity = plan.gravity
        if plan.gravity < 0.0:
            fills, at, value = paths["pooled"], bundle.pool_at, bundle.pool_value
            clock.gravity = smallest(clock.rejection, bins, fills, at, value, shared.status, PURGED)
    for m in range(paths.shape[0]):
        paths[m].pooled = paths[m].done = 0.0
    clock.inside = 0.0
    set_burst(course, plan)
