"""Walks under block penalties: rows as they come, rounds of all tasks, scores and weights.

See `tamis.solvers.online_blocks.loop`.
"""

import math

import numpy as np

from tamis.base.jit import compiled
from tamis.base.verbs import keep, trim
from tamis.solvers.first_order.loop import ONE, fetch_row, place
from tamis.solvers.online_blocks.loop import (
    block_norm,
    clock_of,
    count_row,
    judge_row,
    outputs_of,
    read_row,
    renew,
    toll_of,
    write_row,
)

RENEW_EVERY = (
    2.0**20
)  # steps after which the kept squares are summed anew, so that rounding does not pile up


@compiled
def learn_groups(
    data,
    indices,
    indptr,
    targets,
    weights,
    rows,
    tasks,
    state,
    bias,
    costs,
    squares,
    scratch,
    blocks,
    loss,
    penalty,
    rule,
    step,
    ledger,
    stats,
    flags,
    form,
):
    """Walk rows once; `tasks` (length 0: none) names the task whose outputs a row is about.

    `rows` is (start, stop, key of the shuffle or 0), `flags` (intercept, automatic gamma, automatic
    alpha). Returns the ledger, whose fourth number is the squared norm of the longest row, and the
    statistics.
    """
    start, stop, key = rows
    n, many = np.uint64(targets.shape[0]), np.uint64(bias.shape[1])
    scores, slopes = np.zeros(many), np.zeros(many)
    ahead = place(start, stop, n, key)
    for r in range(start, stop):
        i, ahead = ahead, place(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        low, high = outputs_of(tasks, i, form, many)
        clock = clock_of(penalty, rule, step, ledger, stats, flags, form)
        about = (
            state,
            bias,
            squares,
            scratch,
            ledger[0] + 1.0,
            blocks,
            penalty,
            clock,
            flags[0],
            low,
            high,
            many,
        )
        sqnorm = read_row(data, indices, indptr, i, *about, scores)
        null = judge_row(targets, i, weight, scores, low, high, loss, form[0], costs, slopes)
        ledger, stats = count_row(ledger, stats, sqnorm, weight, null, sqnorm, form[1])
        write_row(
            data,
            indices,
            indptr,
            i,
            state,
            bias,
            squares,
            blocks,
            flags[0],
            low,
            high,
            many,
            slopes,
        )
        if squares.shape[0] and ledger[0] % RENEW_EVERY == 0.0:
            renew(state, squares, blocks[0], blocks[1], penalty, many)
    return ledger, stats


@compiled
def learn_rounds(
    data,
    indices,
    indptr,
    targets,
    weights,
    rounds,
    state,
    bias,
    costs,
    squares,
    scratch,
    blocks,
    loss,
    penalty,
    rule,
    step,
    ledger,
    stats,
    flags,
    form,
):
    """Walk rounds of one row of every task, ``rounds[r, task]`` being its number, or that of no
    row: all rows of a round see the same weights.
    """
    n, many, width = np.uint64(targets.shape[0]), np.uint64(bias.shape[1]), np.uint64(form[3])
    scores, slopes = np.zeros(many), np.zeros(many)
    for r in range(np.uint64(rounds.shape[0])):
        clock = clock_of(penalty, rule, step, ledger, stats, flags, form)
        longest, norms, nulls = 0.0, 0.0, 0.0
        for q in range(np.uint64(rounds.shape[1])):
            i, low = rounds[r, q], q * width
            if i == n:
                continue
            about = (
                state,
                bias,
                squares,
                scratch,
                ledger[0] + 1.0,
                blocks,
                penalty,
                clock,
                flags[0],
                low,
                low + width,
                many,
            )
            sqnorm = read_row(data, indices, indptr, i, *about, scores)
            longest, norms = max(longest, sqnorm), norms + math.sqrt(sqnorm) / rounds.shape[1]
            weight = weights[i] if weights.shape[0] else 1.0
            nulls += (
                judge_row(
                    targets, i, weight, scores, low, low + width, loss, form[0], costs, slopes
                )
                / rounds.shape[1]
            )
        ledger, stats = count_row(ledger, stats, norms * norms, 1.0, nulls, longest, form[1])
        for q in range(np.uint64(rounds.shape[1])):
            low = q * width
            if rounds[r, q] != n:
                write_row(
                    data,
                    indices,
                    indptr,
                    rounds[r, q],
                    state,
                    bias,
                    squares,
                    blocks,
                    flags[0],
                    low,
                    low + width,
                    many,
                    slopes,
                )
        if squares.shape[0] and ledger[0] % RENEW_EVERY == 0.0:
            renew(state, squares, blocks[0], blocks[1], penalty, many)
    return ledger, stats


@compiled
def score_groups(
    data,
    indices,
    indptr,
    tasks,
    state,
    bias,
    scratch,
    blocks,
    penalty,
    rule,
    step,
    ledger,
    stats,
    flags,
    form,
    scores,
):
    """Fill `scores` (rows, outputs), or with `tasks` (rows, outputs of a task)."""
    many, none, found = np.uint64(bias.shape[1]), np.zeros(0), np.zeros(bias.shape[1])
    clock = clock_of(penalty, rule, step, ledger, stats, flags, form)
    for i in range(np.uint64(scores.shape[0])):
        low, high = outputs_of(tasks, i, form, many)
        # One stamp for all rows: nothing moves between them.
        about = (state, bias, none, scratch, 1.0, blocks, penalty, clock, flags[0], low, high, many)
        read_row(data, indices, indptr, i, *about, found)
        for c in range(low, high):
            scores[i, c - low] = found[c]


@compiled
def write_group_weights(
    state, blocks, penalty, rule, step, ledger, stats, flags, form, weights, factors
):
    """Add the weights of all groups to `weights` (outputs, features), which must be 0, and say what
    is left of each group.
    """
    many = np.uint64(weights.shape[0])
    clock = clock_of(penalty, rule, step, ledger, stats, flags, form)
    members, starts, prices = blocks[0], blocks[1], blocks[2]
    for g in range(np.uint64(prices.shape[0])):
        toll = toll_of(prices[g, 0], prices[g, 1], clock)
        factor = keep(
            penalty,
            block_norm(members, starts[g], starts[g + ONE], state, penalty, toll, many),
            clock[0] * prices[g, 0],
        )
        factors[g] = factor
        for k in range(starts[g], starts[g + ONE]):
            j = np.uint64(members[k]) if members.shape[0] else k
            for c in range(many):
                weights[c, j] += clock[2] * factor * trim(penalty, state[0, j * many + c], toll)


@compiled
def sum_squares(state, squares, blocks, penalty, many):
    """Fill the kept squares of all groups."""
    renew(state, squares, blocks[0], blocks[1], penalty, many)
