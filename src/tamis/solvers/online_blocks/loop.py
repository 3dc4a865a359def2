"""Dual averaging under a block penalty: exact and lazy, a step costs O(nonzeros of the row +
members of touched groups).

A cell holds the sum of its negative slopes, and a weight is a function of that sum and of the
clock, so cells that a row does not touch need no care. ``clock = (pull, toll, pace, bias pace)``:
what each unit of a group's weight takes from its norm, what L1 takes beside its own weight (the
enhanced variant), and the factors from sums to weights and to intercepts.

`blocks` is (members, starts, prices, owners, owner_starts): the columns of each group, none where
they are those from ``starts[g]`` on; its two weights, of the norm and of L1; and for each column
the groups that hold it, without `owner_starts` the one group ``owners[j]``. With `squares`, the
squared norms of the groups are kept by each step (only where no cell is trimmed); else `scratch`
remembers what was computed for a row.
"""

import math

import numpy as np

from tamis.base.jit import helper, prefetch
from tamis.base.verbs import keep, size, slope, trim, value
from tamis.solvers.first_order.loop import CALM, EIGHT, ONE, observe, observe_null

WIDE = 1 << 14  # cells beyond which a row's groups are fetched before they are read


@helper
def clock_of(penalty, rule, step, ledger, stats, flags, form):
    """The clock after ``ledger[0]`` steps.

    `form` is (softmax, part of alpha charged a step, most groups of a column, outputs of a task).
    """
    t, total, longest = ledger[0], stats[2], ledger[3]
    if t == 0.0 or total == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    pace = size(step, t, 0.0, 0.0) / (total / t)  # in units of the mean row weight
    bias_pace = pace
    if flags[1]:
        # Copies of a cell add up, so that steps grow with the overlap; the intercept is a column of
        # a 16th of the longest row's square.
        room = 1.0 + CALM * flags[0]
        pace, bias_pace = (
            pace / (longest * form[2] * room) if longest > 0.0 else 0.0,
            pace * CALM / room,
        )
    alpha = penalty.alpha * (stats[1] * stats[0] if flags[2] else 1.0)
    return alpha * ledger[2], rule.rho / pace if pace > 0.0 else 0.0, pace, bias_pace


@helper
def toll_of(weight, l1_weight, clock):
    """What L1 takes from each cell of a group; nothing where the group is not penalised."""
    return clock[0] * l1_weight + clock[1] if weight > 0.0 or l1_weight > 0.0 else 0.0


@helper
def block_norm(members, first, last, state, penalty, toll, many):
    """Euclidean norm of a group's trimmed cells."""
    square = 0.0
    for k in range(first, last):
        cell = (np.uint64(members[k]) if members.shape[0] else k) * many
        for c in range(many):
            held = trim(penalty, state[0, cell + c], toll)
            square += held * held
    return math.sqrt(square)


@helper
def fetch_groups(indices, first, last, state, squares, scratch, prices, starts, owners, many):
    """Bring into the cache what a row of a wide model touches: all at once, where the walk would
    wait for each.
    """
    for k in range(first, last):
        cell = np.uint64(indices[k]) * many
        prefetch(owners, indices[k])
        prefetch(state, cell)
        if not squares.shape[0]:
            prefetch(state, cell - EIGHT)
            prefetch(state, cell + EIGHT)
    for k in range(first, last):
        g = np.uint64(owners[indices[k]])
        prefetch(prices, g + g)
        if squares.shape[0]:
            prefetch(squares, g)
        else:
            prefetch(scratch, g + g)
            prefetch(starts, g)


@helper
def add_scores(
    data,
    indices,
    first,
    last,
    state,
    squares,
    scratch,
    stamp,
    blocks,
    penalty,
    clock,
    low,
    high,
    many,
    scores,
):
    """Add a row's products with the weights of outputs low to high to `scores`; returns the row's
    squared norm.

    All is done in place: a call for each nonzero would count references to all these arrays.
    """
    members, starts, prices, owners, owner_starts = blocks
    sqnorm = 0.0
    if state.shape[1] > WIDE and not owner_starts.shape[0]:
        fetch_groups(indices, first, last, state, squares, scratch, prices, starts, owners, many)
    for k in range(first, last):
        x, j = np.float64(data[k]), np.uint64(indices[k])
        sqnorm += x * x
        begin, end = j, j + ONE
        if owner_starts.shape[0]:
            begin, end = owner_starts[j], owner_starts[j + ONE]
        for o in range(begin, end):
            g = np.uint64(owners[o])
            weight, toll = prices[g, 0], 0.0
            if squares.shape[0]:
                factor = keep(penalty, math.sqrt(max(squares[g], 0.0)), clock[0] * weight)
            else:
                toll = toll_of(weight, prices[g, 1], clock)
                factor = scratch[g, 0]
                if weight == 0.0:
                    factor = 1.0
                elif scratch[g, 1] != stamp:
                    factor = keep(
                        penalty,
                        block_norm(members, starts[g], starts[g + ONE], state, penalty, toll, many),
                        clock[0] * weight,
                    )
                    scratch[g, 0], scratch[g, 1] = factor, stamp
            if factor > 0.0:
                for c in range(low, high):
                    scores[c] += clock[2] * factor * trim(penalty, state[0, j * many + c], toll) * x
    return sqnorm


@helper
def absorb_row(
    data, indices, first, last, state, squares, owners, owner_starts, low, high, many, slopes
):
    """Take a row's slopes into the cells of outputs low to high."""
    for k in range(first, last):
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


@helper
def renew(state, squares, members, starts, penalty, many):
    """Sum the squares of every group anew."""
    for g in range(np.uint64(squares.shape[0])):
        norm = block_norm(members, starts[g], starts[g + ONE], state, penalty, 0.0, many)
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


@helper
def judge_row(targets, i, weight, scores, low, high, loss, softmax, costs, slopes):
    """Fill the row's slopes, charge its loss, and return the mean absolute slope at score 0."""
    null, cost = 0.0, 0.0
    if softmax:
        cost = class_slopes(scores, targets[i, 0], low, high, slopes)
        null = 2.0 * (1.0 - 1.0 / (high - low)) / (high - low)
    for c in range(low, high):
        if not softmax:
            y = targets[i, 0] if high - low == ONE else wanted(targets, i, c - low)
            slopes[c] = slope(loss, scores[c], y)
            cost = value(loss, scores[c], y)
            null += abs(slope(loss, 0.0, y)) / (high - low)
        slopes[c] *= weight
        costs[c] += cost * weight
    return null


@helper
def outputs_of(tasks, i, form, many):
    """First output that a row is about, and the one after the last: all, or those of its task."""
    if tasks.shape[0]:
        low = tasks[i] * np.uint64(form[3])
        return low, low + np.uint64(form[3])
    return np.uint64(0), many


@helper
def read_row(
    data,
    indices,
    indptr,
    i,
    state,
    bias,
    squares,
    scratch,
    stamp,
    blocks,
    penalty,
    clock,
    intercept,
    low,
    high,
    many,
    scores,
):
    """Fill the row's scores of outputs low to high; returns its squared norm."""
    for c in range(low, high):
        scores[c] = clock[3] * bias[0, c] if intercept else 0.0
    first, last = indptr[i], indptr[i + ONE]
    return add_scores(
        data,
        indices,
        first,
        last,
        state,
        squares,
        scratch,
        stamp,
        blocks,
        penalty,
        clock,
        low,
        high,
        many,
        scores,
    )


@helper
def write_row(
    data, indices, indptr, i, state, bias, squares, blocks, intercept, low, high, many, slopes
):
    """Take the row's slopes into cells and intercepts."""
    absorb_row(
        data,
        indices,
        indptr[i],
        indptr[i + ONE],
        state,
        squares,
        blocks[3],
        blocks[4],
        low,
        high,
        many,
        slopes,
    )
    if intercept:
        for c in range(low, high):
            bias[0, c] -= slopes[c]


@helper
def count_row(ledger, stats, sqnorm, weight, null, longest, share):
    """Ledger, with what the penalty has charged and the squared norm of the longest row, and
    statistics, with one more step.
    """
    t = ledger[0] + 1.0
    stats = observe_null(observe(stats, t, sqnorm, weight), t, null)
    return (
        t,
        ledger[1],
        ledger[2] + share * weight,
        max(ledger[3], longest),
        ledger[4],
        ledger[5],
    ), stats
