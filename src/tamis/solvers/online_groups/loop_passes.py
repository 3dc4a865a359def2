"""Compiled passes under group penalties: learning by rows or by rounds of tasks, scores, weights.

`rows` is (data, indices, indptr). Passes return the lazy state, whose entries 2 and 3 are the alpha
charged so far and the squared norm of the longest row, and the statistics.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled
from tamis.solvers.first_order.loop import ONE, fetch_row, row_at
from tamis.solvers.online_groups.loop import (
    advance,
    block_norm,
    l1_threshold,
    row_gradients,
    row_outputs,
    row_reach,
    score_row,
    step_constants,
    sum_squares,
    update_row,
)
from tamis.terms.methods import shrinkage_factor, soft_threshold

# Steps after which squared norms of groups are summed again, so that rounding does not accumulate.
RESUM_INTERVAL = 2.0**20


@compiled
def learn_groups(
    rows,
    encoded_targets,
    weights,
    span,
    arrays,
    groups,
    loss,
    penalty,
    optimizer,
    learning_rate,
    lazy,
    stats,
    options,
):
    """Learn from rows once. A row concerns all outputs or, with `encoded_targets.tasks`, those of
    its task; `span` is (start, stop, key of the shuffle or 0).
    """
    data, indices, indptr = rows
    targets, tasks = encoded_targets.columns, encoded_targets.tasks
    start, stop, key = span
    n, n_outputs = np.uint64(targets.shape[0]), np.uint64(arrays.bias.shape[1])
    scores, raw_gradients = np.zeros(n_outputs), np.zeros(n_outputs)
    next_row = row_at(start, stop, n, key)
    for r in range(start, stop):
        i, next_row = next_row, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[next_row], indptr[next_row + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first_output, end_output = row_outputs(tasks, i, options, n_outputs)
        constants = step_constants(penalty, optimizer, learning_rate, lazy, stats, options)
        group_args = (
            groups,
            penalty,
            constants,
            options.intercept,
            first_output,
            end_output,
            n_outputs,
        )
        sqnorm = score_row(rows, i, next_row, arrays, lazy[0] + 1.0, *group_args, scores)
        reach = row_reach(constants, options, sqnorm)
        loss_args = (loss, options.softmax, arrays.costs, raw_gradients, reach)
        gradient_at_zero = row_gradients(
            targets, i, weight, scores, first_output, end_output, *loss_args
        )
        lazy, stats = advance(
            lazy, stats, sqnorm, weight, gradient_at_zero, sqnorm, options.alpha_fraction
        )
        update_row(
            rows,
            i,
            next_row,
            arrays,
            groups,
            options.intercept,
            first_output,
            end_output,
            n_outputs,
            raw_gradients,
        )
        if arrays.squares.shape[0] and lazy[0] % RESUM_INTERVAL == 0.0:
            sum_squares(arrays, groups, penalty, n_outputs)
    return lazy, stats


@compiled
def learn_rounds(
    rows,
    encoded_targets,
    weights,
    order,
    arrays,
    groups,
    loss,
    penalty,
    optimizer,
    learning_rate,
    lazy,
    stats,
    options,
):
    """Learn from rounds of one row of every task; all rows of a round see the same weights.

    ``order[r, task]`` is the row of a task in round r, or the number of rows for none.
    """
    targets, costs = encoded_targets.columns, arrays.costs
    n, n_outputs = np.uint64(targets.shape[0]), np.uint64(arrays.bias.shape[1])
    n_tasks, width = np.uint64(order.shape[1]), np.uint64(options.task_outputs)
    scores, raw_gradients = np.zeros(n_outputs), np.zeros(n_outputs)
    for r in range(np.uint64(order.shape[0])):
        constants = step_constants(penalty, optimizer, learning_rate, lazy, stats, options)
        max_sqnorm, mean_norm, mean_gradient = 0.0, 0.0, 0.0
        for task in range(n_tasks):
            i, first_output = order[r, task], task * width
            if i == n:
                continue
            end_output = first_output + width
            group_args = (
                groups,
                penalty,
                constants,
                options.intercept,
                first_output,
                end_output,
                n_outputs,
            )
            sqnorm = score_row(rows, i, i, arrays, lazy[0] + 1.0, *group_args, scores)
            max_sqnorm = max(max_sqnorm, sqnorm)
            mean_norm = mean_norm + math.sqrt(sqnorm) / order.shape[1]
            weight = weights[i] if weights.shape[0] else 1.0
            reach = row_reach(constants, options, sqnorm)
            loss_args = (loss, options.softmax, costs, raw_gradients, reach)
            gradient_at_zero = row_gradients(
                targets, i, weight, scores, first_output, end_output, *loss_args
            )
            mean_gradient += gradient_at_zero / order.shape[1]
        lazy, stats = advance(
            lazy,
            stats,
            mean_norm * mean_norm,
            1.0,
            mean_gradient,
            max_sqnorm,
            options.alpha_fraction,
        )
        for task in range(n_tasks):
            i, first_output = order[r, task], task * width
            if i != n:
                update_row(
                    rows,
                    i,
                    i,
                    arrays,
                    groups,
                    options.intercept,
                    first_output,
                    first_output + width,
                    n_outputs,
                    raw_gradients,
                )
        if arrays.squares.shape[0] and lazy[0] % RESUM_INTERVAL == 0.0:
            sum_squares(arrays, groups, penalty, n_outputs)
    return lazy, stats


@compiled
def score_groups(
    rows, tasks, arrays, groups, penalty, optimizer, learning_rate, lazy, stats, options, scores
):
    """Fill `scores` (rows, outputs), or with `tasks` (rows, outputs of a task)."""
    n_outputs, row_scores = np.uint64(arrays.bias.shape[1]), np.zeros(arrays.bias.shape[1])
    constants = step_constants(penalty, optimizer, learning_rate, lazy, stats, options)
    n = np.uint64(scores.shape[0])
    for i in range(n):
        first_output, end_output = row_outputs(tasks, i, options, n_outputs)
        # One stamp for all rows: the weights do not change between them.
        group_args = (
            groups,
            penalty,
            constants,
            options.intercept,
            first_output,
            end_output,
            n_outputs,
        )
        score_row(rows, i, min(i + ONE, n - ONE), arrays, 1.0, *group_args, row_scores)
        for c in range(first_output, end_output):
            scores[i, c - first_output] = row_scores[c]


@compiled
def write_group_weights(
    state, groups, penalty, optimizer, learning_rate, lazy, stats, options, weights, factors
):
    """Add the weights of all groups to `weights` (outputs, features), which must be 0, and fill the
    shrinkage factor of each group.
    """
    n_outputs = np.uint64(weights.shape[0])
    constants = step_constants(penalty, optimizer, learning_rate, lazy, stats, options)
    members, starts, penalty_weights = groups.members, groups.starts, groups.penalty_weights
    for g in range(np.uint64(penalty_weights.shape[0])):
        threshold = l1_threshold(penalty_weights[g, 0], penalty_weights[g, 1], constants)
        norm = block_norm(members, starts[g], starts[g + ONE], state, penalty, threshold, n_outputs)
        factor = shrinkage_factor(penalty, norm, constants.threshold * penalty_weights[g, 0])
        factors[g] = factor
        for k in range(starts[g], starts[g + ONE]):
            j = np.uint64(members[k]) if members.shape[0] else k
            for c in range(n_outputs):
                cell = soft_threshold(penalty, state[0, j * n_outputs + c], threshold)
                weights[c, j] += constants.step * factor * cell


@compiled
def count_group_weights(
    arrays, groups, penalty, optimizer, learning_rate, lazy, stats, options, columns
):
    """Return the number of nonzero weights of some columns. `arrays.scratch`, which must be 0,
    caches the shrinkage factors of their groups.
    """
    state, scratch, n_outputs = arrays.state, arrays.scratch, np.uint64(arrays.bias.shape[1])
    constants = step_constants(penalty, optimizer, learning_rate, lazy, stats, options)
    n_nonzeros = 0
    members, starts, penalty_weights = groups.members, groups.starts, groups.penalty_weights
    owners, owner_starts = groups.owners, groups.owner_starts
    for k in range(np.uint64(columns.shape[0])):
        j = np.uint64(columns[k])
        first_owner, end_owner = j, j + ONE
        if owner_starts.shape[0]:
            first_owner, end_owner = owner_starts[j], owner_starts[j + ONE]
        for c in range(n_outputs):
            weight = 0.0
            for o in range(first_owner, end_owner):
                g = np.uint64(owners[o])
                threshold = l1_threshold(penalty_weights[g, 0], penalty_weights[g, 1], constants)
                if scratch[g, 1] == 0.0:
                    norm = block_norm(
                        members, starts[g], starts[g + ONE], state, penalty, threshold, n_outputs
                    )
                    scratch[g, 0] = shrinkage_factor(
                        penalty, norm, constants.threshold * penalty_weights[g, 0]
                    )
                    scratch[g, 1] = 1.0
                cell = soft_threshold(penalty, state[0, j * n_outputs + c], threshold)
                weight += constants.step * scratch[g, 0] * cell
            n_nonzeros += weight != 0.0
    return n_nonzeros


@compiled
def write_squares(arrays, groups, penalty, n_outputs):
    """Fill the squared norms of all groups."""
    sum_squares(arrays, groups, penalty, n_outputs)
