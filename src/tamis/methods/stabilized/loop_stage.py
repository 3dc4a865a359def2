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
# Columns of a path's own numbers, one cache line a path.
BIAS, NORM, STEPS, FILL, DONE, COST, MASS = range(7)
# Places of the numbers that all paths share.
ROWS, INSIDE, STAGE, GRAVITY, REJECTION, KEPT = range(6)
SEEN, BURST, LENGTH, EMPTY, STRIDE, RECORDS = range(6, 12)
LARGEST_BURST = 20.0  # an adaptive burst grows to at most this many times the first one


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
    indices, indptr = rows[1], rows[2]
    for k in range(indptr[span[0]], indptr[span[1]]):
        if status[indices[k]] == UNSEEN:
            status[indices[k]] = PRESENT
            course[KEPT] += 1.0
            course[SEEN] += 1.0


@helper
def remove(j, bundle, shared, gone):
    """Purge a feature for ever, in every path."""
    state, meets = bundle[0], bundle[1]
    status, _, counts = shared
    for m in range(np.uint64(state.shape[0])):
        state[m, j], meets[m, j] = 0.0, DEAD
    status[j] = PURGED
    gone[0] += 1.0
    gone[1] += float(counts[j]) if counts.shape[0] else 1.0


@helper
def count_votes(group, bundle, shared, votes, lists, gone, course, plan):
    """Sum the votes over the groups of paths for this group's share of the features, and purge what
    too few bursts kept.
    """
    if course[STAGE] <= plan.burn:
        return
    ballots, groups = shared[1], np.uint64(votes.shape[0])
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
    burst = plan.burst
    if plan.adaptive > 0.0:
        share = plan.adaptive * course[KEPT] / max(course[SEEN], 1.0)
        grown = math.ceil(plan.burst * math.log(1.0 / share)) if share > 0.0 else math.inf
        burst = min(max(grown, 1.0), LARGEST_BURST * plan.burst)
    course[BURST], course[LENGTH] = burst, burst * plan.bursts


@helper
def record(history, bundle, course):
    """Write the stage down; once the pages are full, every second one is thrown out and every
    second stage written.
    """
    paths = bundle[2]
    cost = mass = 0.0
    for m in range(paths.shape[0]):
        cost += paths[m, COST]
        mass += paths[m, MASS]
        paths[m, COST] = paths[m, MASS] = 0.0
    if course[STAGE] % course[STRIDE] != 0.0:
        return
    at = int(course[RECORDS])
    if at == history.shape[0]:
        at //= 2
        for e in range(at):
            history[e] = history[2 * e + 1]
        course[STRIDE] *= 2.0
        if course[STAGE] % course[STRIDE] != 0.0:
            course[RECORDS] = float(at)
            return
    history[at, 0], history[at, 1], history[at, 2] = course[STAGE], course[ROWS], course[KEPT]
    history[at, 3], history[at, 4] = course[GRAVITY], course[REJECTION]
    history[at, 5], history[at, 6] = (cost / mass if mass > 0.0 else 0.0), course[BURST]
    course[RECORDS] = at + 1.0


@helper
def end_stage(bundle, lists, gone, course, history, plan):
    """Once the votes are counted: add up what left, write the stage down, anneal."""
    for group in range(np.uint64(lists.shape[0])):
        lists[group, 0] = 0
        course[KEPT] -= gone[group, 0]
        course[EMPTY] += gone[group, 1]
        gone[group, 0] = gone[group, 1] = 0.0
    record(history, bundle, course)
    course[REJECTION] = annealed(plan, 1.0 - course[KEPT] / max(course[SEEN], 1.0))


@helper
def count_displacements(group, bins, bundle, shared, course, plan):
    """A group's share of the histogram from which the gravity comes."""
    if course[STAGE] >= plan.burn and plan.gravity < 0.0:
        many, groups = np.uint64(bundle[0].shape[0]), np.uint64(bins.shape[0])
        low, high = group * many // groups, (group + ONE) * many // groups
        tally(bins[group], low, high, bundle[2][:, FILL], bundle[3], bundle[4], shared[0], PURGED)


@helper
def begin_stage(bins, bundle, shared, course, plan):
    """Set the gravity of the next stage from the displacements of the last one, and empty the
    pools.
    """
    paths = bundle[2]
    course[GRAVITY] = 0.0
    if course[STAGE] >= plan.burn:
        course[GRAVITY] = plan.gravity
        if plan.gravity < 0.0:
            course[GRAVITY] = smallest(
                course[REJECTION], bins, paths[:, FILL], bundle[3], bundle[4], shared[0], PURGED
            )
    for m in range(paths.shape[0]):
        paths[m, FILL] = paths[m, DONE] = 0.0
    course[INSIDE] = 0.0
    set_burst(course, plan)
