"""Compiled loops over blocks of coefficients (penalty value, prox, dual scale, distance to the
subdifferential, screening) and over rows (losses, gradients, conjugates, products by task).

Coefficients are *stacked*: those of a block are adjacent, block after block, and a column in
several blocks has a copy in each. `Blocks.members` has the column of each stacked coordinate; with
several outputs, a coordinate holds `n_outputs` numbers.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import compiled
from tamis.terms.methods import (
    conjugate,
    dual_scale,
    gradient,
    hessian,
    inverse_link,
    prox,
    soft_threshold,
    subdiff_distance,
    support_gradient,
    support_hessian,
    value,
)

ONE = np.uint64(1)


class CoefBlocks(NamedTuple):
    """Groups of columns, with the weights of their norms and of L1 inside them."""

    members: np.ndarray  # column of each stacked coordinate, uint64
    starts: np.ndarray  # first stacked coordinate of each group, and their number, uint64
    weights: np.ndarray  # of the Euclidean norm, one a group
    l1_weights: np.ndarray  # of L1, one a group
    n_columns: int

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.weights)

    @property
    def overlap(self) -> int:
        """Largest number of groups that share a column."""
        if not len(self.members):
            return 1
        return int(np.bincount(self.members.astype(np.int64)).max())

    def to_stacked(self, columns: np.ndarray) -> np.ndarray:
        """Copy values of columns (first axis) to the stacked coordinates."""
        return columns[self.members.astype(np.int64)]

    def sum_copies(self, stacked_values: np.ndarray) -> np.ndarray:
        """Sum stacked values over the copies of each column."""
        columns = np.zeros((self.n_columns, *stacked_values.shape[1:]))
        members = self.members.astype(np.int64)
        # `np.add.at` is slow, and most coordinates are 0.
        is_nonzero = np.flatnonzero(stacked_values.reshape(len(stacked_values), -1).any(axis=1))
        np.add.at(columns, members[is_nonzero], stacked_values[is_nonzero])
        return columns


@compiled
def value_blocks(w, starts, weights, l1_weights, penalty, n_outputs):
    """Return the penalty of stacked coefficients."""
    total = 0.0
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * n_outputs, starts[g + ONE] * n_outputs
        total += value(penalty, w[low:high], weights[g], l1_weights[g])
    return total


@compiled
def prox_blocks(v, scale, starts, weights, l1_weights, penalty, n_outputs, out):
    """Write the prox of stacked coefficients into `out`, which may be `v` itself."""
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * n_outputs, starts[g + ONE] * n_outputs
        prox(penalty, v[low:high], scale, weights[g], l1_weights[g], out[low:high])


@compiled
def dual_blocks(gradient, starts, weights, l1_weights, penalty, n_outputs):
    """Return the dual norm of a stacked gradient, the largest over the blocks. At the gradient of
    the zero model it is `alpha_max`.

    Blocks without weights are not penalized, and do not count.
    """
    largest = 0.0
    for g in range(np.uint64(weights.shape[0])):
        if weights[g] > 0.0 or l1_weights[g] > 0.0:
            low, high = starts[g] * n_outputs, starts[g + ONE] * n_outputs
            scale = dual_scale(penalty, gradient[low:high], weights[g], l1_weights[g])
            largest = max(largest, scale)
    return largest


@compiled
def conjugate_blocks(gradient, starts, weights, l1_weights, penalty, n_outputs):
    """Return the conjugate of the penalty at a stacked gradient."""
    total = 0.0
    for g in range(np.uint64(weights.shape[0])):
        if weights[g] > 0.0 or l1_weights[g] > 0.0:
            low, high = starts[g] * n_outputs, starts[g + ONE] * n_outputs
            total += conjugate(penalty, gradient[low:high], weights[g], l1_weights[g])
    return total


@compiled
def excess_blocks(gradient, starts, weights, l1_weights, penalty, n_outputs, excess):
    """Fill `excess` with the distance of each block, at 0, to its subdifferential."""
    zeros = np.zeros(gradient.shape[0])
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * n_outputs, starts[g + ONE] * n_outputs
        excess[g] = subdiff_distance(
            penalty, zeros[low:high], gradient[low:high], weights[g], l1_weights[g]
        )


@compiled
def support_derivatives(
    w, model_gradient, starts, weights, l1_weights, penalty, gradient, hessian_across, hessian_along
):
    """Fill `gradient` with that of model and penalty on the support, and the second derivatives of
    each block's penalty across and along its coefficients (one output).
    """
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g], starts[g + ONE]
        square = 0.0
        for k in range(low, high):
            square += w[k] * w[k]
        hessian_across[g], hessian_along[g] = 0.0, 0.0
        if square > 0.0:
            norm = math.sqrt(square)
            support_gradient(
                penalty,
                w[low:high],
                model_gradient[low:high],
                weights[g],
                l1_weights[g],
                gradient[low:high],
            )
            hessian_across[g], hessian_along[g] = support_hessian(
                penalty, norm, weights[g], l1_weights[g]
            )


@compiled
def distance_blocks(w, gradient, starts, weights, l1_weights, penalty, n_outputs):
    """Return the largest distance of a block to its subdifferential, which is 0 exactly at an
    optimum.
    """
    largest = 0.0
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * n_outputs, starts[g + ONE] * n_outputs
        distance = subdiff_distance(
            penalty, w[low:high], gradient[low:high], weights[g], l1_weights[g]
        )
        largest = max(largest, distance)
    return largest


@compiled
def screen_blocks(
    gradient, starts, weights, l1_weights, column_norms, radius, penalty, n_outputs, excess, is_zero
):
    """Fill `excess`, by how much the gradient norm of each block at 0 exceeds its threshold, and
    `is_zero`, 1 if the block is 0 at the optimum.

    `column_norms` are those of the columns, and `radius` bounds the distance of the row gradients
    from the optimal ones: a coefficient's gradient changes by at most ``norm * radius`` (the
    gap-safe sphere).
    """
    for g in range(np.uint64(weights.shape[0])):
        norm_threshold, l1_threshold = penalty.alpha * weights[g], penalty.alpha * l1_weights[g]
        norm, sphere_square, largest, has_zero_coords = 0.0, 0.0, 0.0, True
        for k in range(starts[g], starts[g + ONE]):
            coord_square, radius_j = 0.0, column_norms[k] * radius
            for c in range(n_outputs):
                cell = -gradient[k * n_outputs + c]
                coord_square += soft_threshold(penalty, cell, l1_threshold) ** 2
                upper = soft_threshold(penalty, cell + radius_j, l1_threshold)
                lower = soft_threshold(penalty, cell - radius_j, l1_threshold)
                largest = max(abs(upper), abs(lower))
                has_zero_coords = has_zero_coords and largest == 0.0
            norm += coord_square
            sphere_square += (
                largest * largest if n_outputs == ONE else (math.sqrt(coord_square) + radius_j) ** 2
            )
        excess[g] = math.sqrt(norm) - norm_threshold
        is_zero[g] = (
            1
            if (norm_threshold > 0.0 and math.sqrt(sphere_square) < norm_threshold)
            or (l1_threshold > 0.0 and has_zero_coords)
            else 0
        )


# ---------------------------------------------------------------- rows
@compiled
def sum_values(loss, scores, targets, weights):
    """Return the weighted sum of the losses of scores (rows, outputs)."""
    total = 0.0
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            total += weights[i] * value(loss, scores[i, c], targets[i, c])
    return total


@compiled
def write_gradients(loss, scores, targets, gradients):
    """Fill `gradients` (rows, outputs)."""
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            gradients[i, c] = gradient(loss, scores[i, c], targets[i, c])


@compiled
def write_hessians(loss, scores, targets, hessians):
    """Fill `hessians` (rows, outputs), the second derivatives of the losses."""
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            hessians[i, c] = hessian(loss, scores[i, c], targets[i, c])


@compiled
def write_inverse_links(loss, scores, means):
    """Fill `means` (rows, outputs) with the inverse link of the scores."""
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            means[i, c] = inverse_link(loss, scores[i, c])


@compiled
def sum_conjugates(loss, gradients, targets, weights):
    """Return the weighted sum of the conjugates of the losses at `gradients` (rows, outputs)."""
    total = 0.0
    for i in range(np.uint64(gradients.shape[0])):
        for c in range(np.uint64(gradients.shape[1])):
            total += weights[i] * conjugate(loss, gradients[i, c], targets[i, c])
    return total


@compiled
def score_by_task(data, indices, indptr, task, weights, scores):
    """Fill `scores` (rows, outputs of a task): each row by the weights (columns, outputs of all
    tasks) of its task.
    """
    task_outputs = np.uint64(scores.shape[1])
    for i in range(np.uint64(scores.shape[0])):
        for c in range(task_outputs):
            total, output = 0.0, task[i] * task_outputs + c
            for k in range(indptr[i], indptr[i + ONE]):
                total += data[k] * weights[indices[k], output]
            scores[i, c] = total


@compiled
def add_task_gradients(data, indices, indptr, task, row_gradients, coef_gradients):
    """Add to `coef_gradients` (columns, outputs of all tasks) the gradients of rows, each for its
    task; `row_gradients` is (rows, outputs of a task).
    """
    task_outputs = np.uint64(row_gradients.shape[1])
    for i in range(np.uint64(row_gradients.shape[0])):
        for c in range(task_outputs):
            output, row_gradient = task[i] * task_outputs + c, row_gradients[i, c]
            for k in range(indptr[i], indptr[i + ONE]):
                coef_gradients[indices[k], output] += data[k] * row_gradient
