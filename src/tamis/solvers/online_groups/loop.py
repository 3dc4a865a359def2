"""Dual averaging under a block penalty: exact and lazy, a step costs O(nonzeros of the row +
members of touched groups).

A cell holds the sum of its negative slopes, and a weight is a function of that sum and of the
clock, so cells that a row does not touch need no care. With `Memory.squares`, the squared norms of
the groups are kept by each step (only where no cell is trimmed); else `Memory.scratch` remembers
what was computed for a row, with the stamp of that row.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import copied, helper, inlined, prefetch
from tamis.solvers.first_order.loop import (
    EIGHT,
    INTERCEPT_STEP_RATIO,
    ONE,
    update_gradient_stats,
    update_row_stats,
)
from tamis.terms.methods import (
    gradient,
    implicit_gradient,
    shrinkage_factor,
    soft_threshold,
    step_size,
    value,
)

WIDE = 1 << 14  # cells beyond which the groups of the next row are fetched before they are read


class Groups(NamedTuple):
    """Which columns each group holds, and which groups hold each column."""

    members: np.ndarray  # columns, group after group; none where group g's are those from starts[g]
    starts: np.ndarray
    prices: np.ndarray  # weights of the norm and of L1, a row a group
    owners: np.ndarray  # groups of each column, column after column
    owner_starts: np.ndarray  # none where column j has the one group owners[j]


class Memory(NamedTuple):
    """What a walk changes: cells, intercepts, losses, squared norms of the groups, and room for a
    row.
    """

    state: np.ndarray
    bias: np.ndarray
    costs: np.ndarray
    squares: np.ndarray
    scratch: np.ndarray


class Form(NamedTuple):
    """The form of a model, in floats."""

    intercept: float
    auto_eta: float
    auto_alpha: float
    softmax: float  # whether outputs are classes that exclude each other
    share: float  # of alpha that a step charges
    overlap: float  # most groups of a column
    width: float  # outputs of a task


class Clock(NamedTuple):
    """What turns sums into weights after some steps."""

    threshold: float  # what each unit of a group's weight takes from its norm
    fading: float  # what L1 takes beside its own weight (the enhanced variant)
    pace: float  # from sums to weights
    bias_pace: float


@helper
def clock_of(penalty, optimizer, learning_rate, lazy, stats, form):
    """The clock after ``ledger[0]`` steps."""
    t, total, longest = lazy[0], stats[2], lazy[3]
    if t == 0.0 or total == 0.0:
        return Clock(0.0, 0.0, 0.0, 0.0)
    pace = step_size(learning_rate, t, 0.0, 0.0) / (total / t)  # in units of the mean row weight
    bias_pace = pace
    if form.auto_eta:
        # Copies of a cell add up, so that steps grow with the overlap; the intercept is a column of
        # a 16th of the longest row's square.
        room = 1.0 + INTERCEPT_STEP_RATIO * form.intercept
        bias_pace = pace * INTERCEPT_STEP_RATIO / room
        pace = pace / (longest * form.overlap * room) if longest > 0.0 else 0.0
    alpha = penalty.alpha * (stats[1] * stats[0] if form.auto_alpha else 1.0)
    return Clock(alpha * lazy[2], optimizer.rho / pace if pace > 0.0 else 0.0, pace, bias_pace)


@copied
def row_reach(clock, form, sqnorm):
    """How far a step moves the score of its row for each unit of the slope; of the first row, whose
    step is not known, a unit.
    """
    return clock.pace * sqnorm + form.intercept * clock.bias_pace if clock.pace > 0.0 else 1.0


@helper
def threshold_of(weight, l1_weight, clock):
    """What L1 takes from each cell of a group; nothing where the group is not penalised."""
    priced = weight > 0.0 or l1_weight > 0.0
    return clock.threshold * l1_weight + clock.fading if priced else 0.0


@helper
def block_norm(members, first, last, state, penalty, threshold, many):
    """Euclidean norm of a group's trimmed cells."""
    square = 0.0
    for k in range(first, last):
        cell = (np.uint64(members[k]) if members.shape[0] else k) * many
        for c in range(many):
            held = soft_threshold(penalty, state[0, cell + c], threshold)
            square += held * held
    return math.sqrt(square)


# ---------------------------------------------------------------- reading a row
@inlined
def fetched(indptr, i, ahead, cells, groups):
    """Whether the groups of the next row are worth fetching, between the nonzeros of this row, so
    that memory answers while the row is computed (a burst of requests before a row would fill the
    queue to memory, and the row would wait); how far apart the two rows are; and the last nonzero
    of the next one.
    """
    fetches = cells > WIDE and not groups.owner_starts.shape[0]
    return fetches, indptr[ahead] - indptr[i], indptr[ahead + ONE] - ONE


@inlined
def read_row(
    rows, i, ahead, memory, stamp, groups, penalty, clock, intercept, low, high, many, scores
):
    """Fill the row's scores of outputs low to high, and fetch the cells of the row `ahead`; returns
    the squared norm.

    All is done in place: a call for each nonzero would count references to all these arrays.
    """
    data, indices, indptr = rows
    state, bias, _, squares, scratch = memory
    members, starts, prices, owners, owner_starts = groups
    first, last = indptr[i], indptr[i + ONE]
    sqnorm = 0.0
    for c in range(low, high):
        scores[c] = clock.bias_pace * bias[0, c] if intercept else 0.0
    fetches, gap, most = fetched(indptr, i, ahead, state.shape[1], groups)
    for k in range(first, last):
        if fetches:
            following = np.uint64(indices[min(k + gap, most)])
            cell = following * many
            prefetch(owners, following)
            prefetch(state, cell)
            if not squares.shape[0]:  # all of its group, as far as they lie around it
                prefetch(state, cell - EIGHT)
                prefetch(state, cell + EIGHT)
        x, j = np.float64(data[k]), np.uint64(indices[k])
        sqnorm += x * x
        begin, end = j, j + ONE
        if owner_starts.shape[0]:
            begin, end = owner_starts[j], owner_starts[j + ONE]
        for o in range(begin, end):
            g = np.uint64(owners[o])
            weight, threshold = prices[g, 0], 0.0
            price = clock.threshold * weight
            if squares.shape[0]:
                factor = shrinkage_factor(penalty, math.sqrt(max(squares[g], 0.0)), price)
            else:
                threshold = threshold_of(weight, prices[g, 1], clock)
                factor = scratch[g, 0]
                if weight == 0.0:
                    factor = 1.0
                elif scratch[g, 1] != stamp:
                    begun, done = starts[g], starts[g + ONE]
                    norm = block_norm(members, begun, done, state, penalty, threshold, many)
                    factor = shrinkage_factor(penalty, norm, price)
                    scratch[g, 0], scratch[g, 1] = factor, stamp
            if factor > 0.0:
                for c in range(low, high):
                    cell = soft_threshold(penalty, state[0, j * many + c], threshold)
                    scores[c] += clock.pace * factor * cell * x
    return sqnorm


# ---------------------------------------------------------------- learning from it
@inlined
def write_row(rows, i, ahead, memory, groups, intercept, low, high, many, slopes):
    """Take the row's slopes into cells and intercepts of outputs low to high, and fetch the groups
    of the row `ahead`, whose owners are there by now.
    """
    data, indices, indptr = rows
    state, bias, _, squares, scratch = memory
    _, starts, prices, owners, owner_starts = groups
    fetches, gap, most = fetched(indptr, i, ahead, state.shape[1], groups)
    for k in range(indptr[i], indptr[i + ONE]):
        if fetches:
            g = np.uint64(owners[indices[min(k + gap, most)]])
            prefetch(prices, g + g)
            if squares.shape[0]:
                prefetch(squares, g)
            else:
                prefetch(scratch, g + g)
                prefetch(starts, g)
        x, j = np.float64(data[k]), np.uint64(indices[k])
        grown = 0.0
        for c in range(low, high):
            old = state[0, j * many + c]
            new = old - slopes[c] * x
            state[0, j * many + c] = new
            grown += (new - old) * (new + old)
        if squares.shape[0]:
            begin, end = j, j + ONE
            if owner_starts.shape[0]:
                begin, end = owner_starts[j], owner_starts[j + ONE]
            for o in range(begin, end):
                squares[owners[o]] += grown
    if intercept:
        for c in range(low, high):
            bias[0, c] -= slopes[c]


@helper
def renew(memory, groups, penalty, many):
    """Sum the squares of every group anew."""
    state, squares, starts = memory.state, memory.squares, groups.starts
    for g in range(np.uint64(squares.shape[0])):
        norm = block_norm(groups.members, starts[g], starts[g + ONE], state, penalty, 0.0, many)
        squares[g] = norm * norm


@helper
def class_slopes(scores, right, low, high, slopes):
    """Slopes of the softmax loss, whose value is returned."""
    top = scores[low]
    for c in range(low, high):
        top = max(top, scores[c])
    total = 0.0
    for c in range(low, high):
        slopes[c] = math.exp(scores[c] - top)
        total += slopes[c]
    for c in range(low, high):
        slopes[c] = slopes[c] / total - (1.0 if right == c - low else 0.0)
    return math.log(total) + top - scores[low + np.uint64(right)]


@helper
def wanted(targets, i, c):
    """Target of output c of a row: its own column, or whether it is the row's class."""
    if targets.shape[1] == 1:
        return 1.0 if targets[i, 0] == c else -1.0
    return targets[i, c]


@inlined
def judge_row(targets, i, weight, scores, low, high, loss, softmax, costs, slopes, reach):
    """Fill the row's slopes, charge its loss, and return the mean absolute slope at score 0;
    `reach` is how far a score moves for each unit of its slope.
    """
    gradient_at_zero, cost = 0.0, 0.0
    if softmax:
        cost = class_slopes(scores, targets[i, 0], low, high, slopes)
        gradient_at_zero = 2.0 * (1.0 - 1.0 / (high - low)) / (high - low)
    for c in range(low, high):
        if not softmax:
            y = targets[i, 0] if high - low == ONE else wanted(targets, i, c - low)
            explicit = gradient(loss, scores[c], y)
            slopes[c] = implicit_gradient(loss, scores[c], y, reach * weight, explicit)
            cost = value(loss, scores[c], y)
            gradient_at_zero += abs(gradient(loss, 0.0, y)) / (high - low)
        slopes[c] *= weight
        costs[c] += cost * weight
    return gradient_at_zero


@helper
def outputs_of(tasks, i, form, many):
    """First output that a row is about, and the one after the last: all, or those of its task."""
    if tasks.shape[0]:
        low = tasks[i] * np.uint64(form.width)
        return low, low + np.uint64(form.width)
    return np.uint64(0), many


@helper
def count_row(lazy, stats, sqnorm, weight, gradient_at_zero, longest, share):
    """Ledger, with what the penalty has charged and the squared norm of the longest row, and
    statistics, with one more step.
    """
    t, charged, longest = lazy[0] + 1.0, lazy[2] + share * weight, max(lazy[3], longest)
    stats = update_gradient_stats(
        update_row_stats(stats, 1.0 / t, sqnorm, weight), 1.0 / t, gradient_at_zero
    )
    return (t, lazy[1], charged, longest, *lazy[4:]), stats
