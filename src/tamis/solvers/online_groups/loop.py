"""Exact lazy dual averaging under a group penalty; a step costs O(nonzeros of the row + columns of
its groups).

A cell holds the negative sum of its gradients. A weight is a function of that sum and of constants
of the step, so that columns that a row lacks need no update. If L1 and signs are absent, each step
updates the squared norms of the groups in `GroupArrays.squares`; else `GroupArrays.scratch` caches
the shrinkage factors of groups for one row, with the number of that row as a stamp.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import compiled_helper, force_inlined, prefetch, source_inlined
from tamis.solvers.first_order.loop import (
    FLOATS_PER_CACHE_LINE,
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

# Above so many cells the state does not fit into the cache, and prefetching the groups of the next
# row pays.
MIN_PREFETCHED_CELLS = 1 << 14


class GroupIndex(NamedTuple):
    """Columns of each group, and groups of each column."""

    members: np.ndarray  # columns, group after group; empty if that order is that of the columns
    starts: np.ndarray
    penalty_weights: np.ndarray  # of the norm and of L1, one row a group
    owners: np.ndarray  # groups, column after column
    owner_starts: np.ndarray  # empty if each column j is in the one group owners[j]


class GroupArrays(NamedTuple):
    """Arrays that a pass changes: cells, intercepts, losses, squared norms of the groups, and
    a cache of group factors with stamps.
    """

    state: np.ndarray
    bias: np.ndarray
    costs: np.ndarray
    squares: np.ndarray
    scratch: np.ndarray


class GroupOptions(NamedTuple):
    """Options of a model, as floats."""

    intercept: float
    auto_eta: float
    auto_alpha: float
    softmax: float  # whether outputs are the classes of one multinomial loss
    alpha_fraction: float  # fraction of alpha that a step charges
    overlap: float  # largest number of groups of a column
    task_outputs: float  # outputs of a task


class StepConstants(NamedTuple):
    """Constants that turn gradient sums into weights at one step."""

    threshold: float  # of the norm of a group of penalty weight 1
    fading_threshold: float  # extra L1 threshold (the enhanced variant)
    step: float  # weight of a gradient sum of 1
    intercept_step: float


@compiled_helper
def step_constants(penalty, optimizer, learning_rate, lazy, stats, options):
    """Return the constants after ``lazy[0]`` steps."""
    t, total_weight, max_sqnorm = lazy[0], stats[2], lazy[3]
    if t == 0.0 or total_weight == 0.0:
        return StepConstants(0.0, 0.0, 0.0, 0.0)
    step = step_size(learning_rate, t, 0.0, 0.0) / (
        total_weight / t
    )  # in units of the mean row weight
    intercept_step = step
    if options.auto_eta:
        # Copies of a column in several groups add up, so that steps shrink with the overlap. The
        # intercept counts as a column whose square is 1/16 of that of the longest row.
        intercept_factor = 1.0 + INTERCEPT_STEP_RATIO * options.intercept
        intercept_step = step * INTERCEPT_STEP_RATIO / intercept_factor
        step = step / (max_sqnorm * options.overlap * intercept_factor) if max_sqnorm > 0.0 else 0.0
    alpha = penalty.alpha * (stats[1] * stats[0] if options.auto_alpha else 1.0)
    return StepConstants(
        alpha * lazy[2], optimizer.rho / step if step > 0.0 else 0.0, step, intercept_step
    )


@source_inlined
def row_reach(constants, options, sqnorm):
    """Return how far a step moves the score of its row for a raw gradient of 1; 1 for the first
    row, whose step size is not known.
    """
    return (
        constants.step * sqnorm + options.intercept * constants.intercept_step
        if constants.step > 0.0
        else 1.0
    )


@compiled_helper
def l1_threshold(weight, l1_weight, constants):
    """Return the soft threshold of the cells of a group; 0 if the group is not penalised."""
    is_penalized = weight > 0.0 or l1_weight > 0.0
    return constants.threshold * l1_weight + constants.fading_threshold if is_penalized else 0.0


@compiled_helper
def block_norm(members, first, last, state, penalty, threshold, n_outputs):
    """Return the Euclidean norm of a group's cells after the soft threshold."""
    square = 0.0
    for k in range(first, last):
        cell = (np.uint64(members[k]) if members.shape[0] else k) * n_outputs
        for c in range(n_outputs):
            shrunk = soft_threshold(penalty, state[0, cell + c], threshold)
            square += shrunk * shrunk
    return math.sqrt(square)


# ---------------------------------------------------------------- score of a row
@force_inlined
def prefetch_plan(indptr, i, next_row, cells, groups):
    """Return whether to prefetch the groups of the next row, the distance between the two rows in
    `indices`, and the last nonzero of the next row.

    Prefetches are issued between the nonzeros of this row: a burst of them would fill the memory
    queue and stall the row.
    """
    prefetches = cells > MIN_PREFETCHED_CELLS and not groups.owner_starts.shape[0]
    return prefetches, indptr[next_row] - indptr[i], indptr[next_row + ONE] - ONE


@force_inlined
def score_row(
    rows,
    i,
    next_row,
    arrays,
    stamp,
    groups,
    penalty,
    constants,
    intercept,
    first_output,
    end_output,
    n_outputs,
    scores,
):
    """Fill the scores of a row for a range of outputs, prefetch the cells of the next row, and
    return the squared norm of the row.

    This is one function, since a call for each nonzero would count references to all these arrays.
    """
    data, indices, indptr = rows
    state, bias, _, squares, scratch = arrays
    members, starts, penalty_weights, owners, owner_starts = groups
    first, last = indptr[i], indptr[i + ONE]
    sqnorm = 0.0
    for c in range(first_output, end_output):
        scores[c] = constants.intercept_step * bias[0, c] if intercept else 0.0
    prefetches, distance, last_ahead = prefetch_plan(indptr, i, next_row, state.shape[1], groups)
    for k in range(first, last):
        if prefetches:
            next_column = np.uint64(indices[min(k + distance, last_ahead)])
            cell = next_column * n_outputs
            prefetch(owners, next_column)
            prefetch(state, cell)
            if not squares.shape[0]:  # neighbouring cells, which are mostly of its group
                prefetch(state, cell - FLOATS_PER_CACHE_LINE)
                prefetch(state, cell + FLOATS_PER_CACHE_LINE)
        x, j = np.float64(data[k]), np.uint64(indices[k])
        sqnorm += x * x
        first_owner, end_owner = j, j + ONE
        if owner_starts.shape[0]:
            first_owner, end_owner = owner_starts[j], owner_starts[j + ONE]
        for o in range(first_owner, end_owner):
            g = np.uint64(owners[o])
            weight, threshold = penalty_weights[g, 0], 0.0
            group_threshold = constants.threshold * weight
            if squares.shape[0]:
                factor = shrinkage_factor(penalty, math.sqrt(max(squares[g], 0.0)), group_threshold)
            else:
                threshold = l1_threshold(weight, penalty_weights[g, 1], constants)
                factor = scratch[g, 0]
                if weight == 0.0:
                    factor = 1.0
                elif scratch[g, 1] != stamp:
                    first_member, end_member = starts[g], starts[g + ONE]
                    norm = block_norm(
                        members, first_member, end_member, state, penalty, threshold, n_outputs
                    )
                    factor = shrinkage_factor(penalty, norm, group_threshold)
                    scratch[g, 0], scratch[g, 1] = factor, stamp
            if factor > 0.0:
                for c in range(first_output, end_output):
                    cell = soft_threshold(penalty, state[0, j * n_outputs + c], threshold)
                    scores[c] += constants.step * factor * cell * x
    return sqnorm


# ---------------------------------------------------------------- update by a row
@force_inlined
def update_row(
    rows, i, next_row, arrays, groups, intercept, first_output, end_output, n_outputs, raw_gradients
):
    """Add the gradients of a row to cells and intercepts of a range of outputs, and prefetch the
    groups of the next row, whose `owners` were prefetched by `score_row`.
    """
    data, indices, indptr = rows
    state, bias, _, squares, scratch = arrays
    _, starts, penalty_weights, owners, owner_starts = groups
    prefetches, distance, last_ahead = prefetch_plan(indptr, i, next_row, state.shape[1], groups)
    for k in range(indptr[i], indptr[i + ONE]):
        if prefetches:
            g = np.uint64(owners[indices[min(k + distance, last_ahead)]])
            prefetch(penalty_weights, g + g)
            if squares.shape[0]:
                prefetch(squares, g)
            else:
                prefetch(scratch, g + g)
                prefetch(starts, g)
        x, j = np.float64(data[k]), np.uint64(indices[k])
        growth = 0.0
        for c in range(first_output, end_output):
            old = state[0, j * n_outputs + c]
            new = old - raw_gradients[c] * x
            state[0, j * n_outputs + c] = new
            growth += (new - old) * (new + old)
        if squares.shape[0]:
            first_owner, end_owner = j, j + ONE
            if owner_starts.shape[0]:
                first_owner, end_owner = owner_starts[j], owner_starts[j + ONE]
            for o in range(first_owner, end_owner):
                squares[owners[o]] += growth
    if intercept:
        for c in range(first_output, end_output):
            bias[0, c] -= raw_gradients[c]


@compiled_helper
def sum_squares(arrays, groups, penalty, n_outputs):
    """Compute the squared norm of every group from its cells."""
    state, squares, starts = arrays.state, arrays.squares, groups.starts
    for g in range(np.uint64(squares.shape[0])):
        norm = block_norm(
            groups.members, starts[g], starts[g + ONE], state, penalty, 0.0, n_outputs
        )
        squares[g] = norm * norm


@compiled_helper
def softmax_gradient(scores, code, first_output, end_output, raw_gradients):
    """Fill the gradient of the multinomial loss of a row in its scores; return the loss."""
    max_score = scores[first_output]
    for c in range(first_output, end_output):
        max_score = max(max_score, scores[c])
    total = 0.0
    for c in range(first_output, end_output):
        raw_gradients[c] = math.exp(scores[c] - max_score)
        total += raw_gradients[c]
    for c in range(first_output, end_output):
        raw_gradients[c] = raw_gradients[c] / total - (1.0 if code == c - first_output else 0.0)
    return math.log(total) + max_score - scores[first_output + np.uint64(code)]


@compiled_helper
def output_target(targets, i, c):
    """Return the target of output c of a row: its own column, or 1 or -1 for class codes."""
    if targets.shape[1] == 1:
        return 1.0 if targets[i, 0] == c else -1.0
    return targets[i, c]


@force_inlined
def row_gradients(
    targets, i, weight, scores, first_output, end_output, loss, softmax, costs, raw_gradients, reach
):
    """Fill the raw gradients of a row, add its loss to `costs`, and return the mean absolute
    gradient at score 0; `reach` is how far a score moves for a raw gradient of 1.
    """
    gradient_at_zero, cost = 0.0, 0.0
    if softmax:
        cost = softmax_gradient(scores, targets[i, 0], first_output, end_output, raw_gradients)
        gradient_at_zero = (
            2.0 * (1.0 - 1.0 / (end_output - first_output)) / (end_output - first_output)
        )
    for c in range(first_output, end_output):
        if not softmax:
            y = (
                targets[i, 0]
                if end_output - first_output == ONE
                else output_target(targets, i, c - first_output)
            )
            explicit_gradient = gradient(loss, scores[c], y)
            raw_gradients[c] = implicit_gradient(
                loss, scores[c], y, reach * weight, explicit_gradient
            )
            cost = value(loss, scores[c], y)
            gradient_at_zero += abs(gradient(loss, 0.0, y)) / (end_output - first_output)
        raw_gradients[c] *= weight
        costs[c] += cost * weight
    return gradient_at_zero


@compiled_helper
def row_outputs(tasks, i, options, n_outputs):
    """Return the range (first, end) of the outputs of a row: all outputs, or those of its task."""
    if tasks.shape[0]:
        first_output = tasks[i] * np.uint64(options.task_outputs)
        return first_output, first_output + np.uint64(options.task_outputs)
    return np.uint64(0), n_outputs


@compiled_helper
def advance(lazy, stats, sqnorm, weight, gradient_at_zero, max_sqnorm, alpha_fraction):
    """Return lazy state and statistics after one more step. Entries 2 and 3 of the lazy state are
    the alpha charged so far and the squared norm of the longest row.
    """
    t = lazy[0] + 1.0
    charged = lazy[2] + alpha_fraction * weight
    max_sqnorm = max(lazy[3], max_sqnorm)
    stats = update_gradient_stats(
        update_row_stats(stats, 1.0 / t, sqnorm, weight), 1.0 / t, gradient_at_zero
    )
    return (t, lazy[1], charged, max_sqnorm, *lazy[4:]), stats
