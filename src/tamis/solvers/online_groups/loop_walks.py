"""Walks under block penalties: rows as they come, rounds of all tasks, scores and weights.

`rows` are (data, indices, indptr). Walks return the ledger, whose third number is what the penalty
has charged and whose fourth is the squared norm of the longest row, and the statistics.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled
from tamis.solvers.first_order.loop import ONE, fetch_row, row_at
from tamis.solvers.online_groups.loop import (
    block_norm,
    clock_of,
    count_row,
    judge_row,
    outputs_of,
    read_row,
    renew,
    row_reach,
    threshold_of,
    write_row,
)
from tamis.terms.methods import shrinkage_factor, soft_threshold

# steps after which the kept squares are summed anew, so that rounding does not pile up
RENEW_EVERY = 2.0**20


@compiled
def learn_groups(
    rows,
    coded,
    weights,
    span,
    memory,
    groups,
    loss,
    penalty,
    optimizer,
    learning_rate,
    lazy,
    stats,
    form,
):
    """Walk rows once; `coded.tasks` (length 0: none) names the task whose outputs a row is about.

    `span` is (start, stop, key of the shuffle or 0).
    """
    data, indices, indptr = rows
    targets, tasks = coded.columns, coded.tasks
    start, stop, key = span
    n, many = np.uint64(targets.shape[0]), np.uint64(memory.bias.shape[1])
    scores, slopes = np.zeros(many), np.zeros(many)
    ahead = row_at(start, stop, n, key)
    for r in range(start, stop):
        i, ahead = ahead, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        low, high = outputs_of(tasks, i, form, many)
        clock = clock_of(penalty, optimizer, learning_rate, lazy, stats, form)
        about = (groups, penalty, clock, form.intercept, low, high, many)
        sqnorm = read_row(rows, i, ahead, memory, lazy[0] + 1.0, *about, scores)
        reach = row_reach(clock, form, sqnorm)
        judged = (loss, form.softmax, memory.costs, slopes, reach)
        gradient_at_zero = judge_row(targets, i, weight, scores, low, high, *judged)
        lazy, stats = count_row(lazy, stats, sqnorm, weight, gradient_at_zero, sqnorm, form.share)
        write_row(rows, i, ahead, memory, groups, form.intercept, low, high, many, slopes)
        if memory.squares.shape[0] and lazy[0] % RENEW_EVERY == 0.0:
            renew(memory, groups, penalty, many)
    return lazy, stats


@compiled
def learn_rounds(
    rows,
    coded,
    weights,
    order,
    memory,
    groups,
    loss,
    penalty,
    optimizer,
    learning_rate,
    lazy,
    stats,
    form,
):
    """Walk rounds of one row of every task, ``order[r, task]`` being its number, or that of no
    row: all rows of a round see the same weights.
    """
    targets, costs = coded.columns, memory.costs
    n, many = np.uint64(targets.shape[0]), np.uint64(memory.bias.shape[1])
    tasks, width = np.uint64(order.shape[1]), np.uint64(form.width)
    scores, slopes = np.zeros(many), np.zeros(many)
    for r in range(np.uint64(order.shape[0])):
        clock = clock_of(penalty, optimizer, learning_rate, lazy, stats, form)
        longest, norms, nulls = 0.0, 0.0, 0.0
        for q in range(tasks):
            i, low = order[r, q], q * width
            if i == n:
                continue
            high = low + width
            about = (groups, penalty, clock, form.intercept, low, high, many)
            sqnorm = read_row(rows, i, i, memory, lazy[0] + 1.0, *about, scores)
            longest, norms = max(longest, sqnorm), norms + math.sqrt(sqnorm) / order.shape[1]
            weight = weights[i] if weights.shape[0] else 1.0
            reach = row_reach(clock, form, sqnorm)
            judged = (loss, form.softmax, costs, slopes, reach)
            gradient_at_zero = judge_row(targets, i, weight, scores, low, high, *judged)
            nulls += gradient_at_zero / order.shape[1]
        lazy, stats = count_row(lazy, stats, norms * norms, 1.0, nulls, longest, form.share)
        for q in range(tasks):
            i, low = order[r, q], q * width
            if i != n:
                write_row(
                    rows, i, i, memory, groups, form.intercept, low, low + width, many, slopes
                )
        if memory.squares.shape[0] and lazy[0] % RENEW_EVERY == 0.0:
            renew(memory, groups, penalty, many)
    return lazy, stats


@compiled
def score_groups(
    rows, tasks, memory, groups, penalty, optimizer, learning_rate, lazy, stats, form, scores
):
    """Fill `scores` (rows, outputs), or with `tasks` (rows, outputs of a task)."""
    many, found = np.uint64(memory.bias.shape[1]), np.zeros(memory.bias.shape[1])
    clock = clock_of(penalty, optimizer, learning_rate, lazy, stats, form)
    n = np.uint64(scores.shape[0])
    for i in range(n):
        low, high = outputs_of(tasks, i, form, many)
        # One stamp for all rows: nothing moves between them.
        about = (groups, penalty, clock, form.intercept, low, high, many)
        read_row(rows, i, min(i + ONE, n - ONE), memory, 1.0, *about, found)
        for c in range(low, high):
            scores[i, c - low] = found[c]


@compiled
def write_group_weights(
    state, groups, penalty, optimizer, learning_rate, lazy, stats, form, weights, factors
):
    """Add the weights of all groups to `weights` (outputs, features), which must be 0, and say what
    is left of each group.
    """
    many = np.uint64(weights.shape[0])
    clock = clock_of(penalty, optimizer, learning_rate, lazy, stats, form)
    members, starts, prices = groups.members, groups.starts, groups.prices
    for g in range(np.uint64(prices.shape[0])):
        threshold = threshold_of(prices[g, 0], prices[g, 1], clock)
        norm = block_norm(members, starts[g], starts[g + ONE], state, penalty, threshold, many)
        factor = shrinkage_factor(penalty, norm, clock.threshold * prices[g, 0])
        factors[g] = factor
        for k in range(starts[g], starts[g + ONE]):
            j = np.uint64(members[k]) if members.shape[0] else k
            for c in range(many):
                cell = soft_threshold(penalty, state[0, j * many + c], threshold)
                weights[c, j] += clock.pace * factor * cell


@compiled
def count_group_weights(
    memory, groups, penalty, optimizer, learning_rate, lazy, stats, form, columns
):
    """Number of nonzero weights of some columns; what is left of a group is computed once, and
    remembered in the room for a row, which must be 0.
    """
    state, scratch, many = memory.state, memory.scratch, np.uint64(memory.bias.shape[1])
    clock, found = clock_of(penalty, optimizer, learning_rate, lazy, stats, form), 0
    members, starts, prices = groups.members, groups.starts, groups.prices
    owners, owner_starts = groups.owners, groups.owner_starts
    for k in range(np.uint64(columns.shape[0])):
        j = np.uint64(columns[k])
        begin, end = j, j + ONE
        if owner_starts.shape[0]:
            begin, end = owner_starts[j], owner_starts[j + ONE]
        for c in range(many):
            weight = 0.0
            for o in range(begin, end):
                g = np.uint64(owners[o])
                threshold = threshold_of(prices[g, 0], prices[g, 1], clock)
                if scratch[g, 1] == 0.0:
                    norm = block_norm(
                        members, starts[g], starts[g + ONE], state, penalty, threshold, many
                    )
                    scratch[g, 0] = shrinkage_factor(penalty, norm, clock.threshold * prices[g, 0])
                    scratch[g, 1] = 1.0
                cell = soft_threshold(penalty, state[0, j * many + c], threshold)
                weight += clock.pace * scratch[g, 0] * cell
            found += weight != 0.0
    return found


@compiled
def sum_squares(memory, groups, penalty, many):
    """Fill the kept squares of all groups."""
    renew(memory, groups, penalty, many)
