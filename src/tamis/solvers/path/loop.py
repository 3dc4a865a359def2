"""Passes over blocks and over rows: what a block penalty is worth, its prox, its dual norm, the
distance to its subdifferential and which blocks are safely zero; losses of scores, their slopes and
conjugates, and products where each row belongs to a task.

Cells are *stacked*: those of a block lie together, block after block, and a cell in several blocks
has a copy in each. `Blocks.members` says which column each stacked place stands for; with `many`
outputs a place holds that many cells.
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


class Blocks(NamedTuple):
    """Groups of columns, and the weights of their norms and of L1 inside them."""

    members: np.ndarray  # column of each stacked place, uint64
    starts: np.ndarray  # first stacked place of each group, and one more, uint64
    weights: np.ndarray  # of the Euclidean norm, one a group
    l1_weights: np.ndarray  # of L1, one a group
    n_columns: int

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.weights)

    @property
    def overlap(self) -> int:
        """Most groups that one column is in."""
        if not len(self.members):
            return 1
        return int(np.bincount(self.members.astype(np.int64)).max())

    def stacked(self, columns: np.ndarray) -> np.ndarray:
        """Values of columns (first axis) at the stacked places: how a slope goes to the copies."""
        return columns[self.members.astype(np.int64)]

    def gathered(self, places: np.ndarray) -> np.ndarray:
        """Sums over the copies of each column: how copies make weights."""
        columns = np.zeros((self.n_columns, *places.shape[1:]))
        members = self.members.astype(np.int64)
        # Adding at an index is slow, and most places are empty.
        held = np.flatnonzero(places.reshape(len(places), -1).any(axis=1))
        np.add.at(columns, members[held], places[held])
        return columns


@compiled
def value_blocks(w, starts, weights, l1_weights, penalty, many):
    """Penalty of stacked cells."""
    total = 0.0
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * many, starts[g + ONE] * many
        total += value(penalty, w[low:high], weights[g], l1_weights[g])
    return total


@compiled
def prox_blocks(v, scale, starts, weights, l1_weights, penalty, many, out):
    """Write the prox of stacked cells into `out`, which may be `v` itself."""
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * many, starts[g + ONE] * many
        prox(penalty, v[low:high], scale, weights[g], l1_weights[g], out[low:high])


@compiled
def dual_blocks(gradient, starts, weights, l1_weights, penalty, many):
    """Dual norm of a stacked slope: the largest of the blocks' own. At the slope of the empty model
    it is `alpha_max`.

    Blocks without any weight are not penalised, and are left out.
    """
    largest = 0.0
    for g in range(np.uint64(weights.shape[0])):
        if weights[g] > 0.0 or l1_weights[g] > 0.0:
            low, high = starts[g] * many, starts[g + ONE] * many
            dual = dual_scale(penalty, gradient[low:high], weights[g], l1_weights[g])
            largest = max(largest, dual)
    return largest


@compiled
def conjugate_blocks(gradient, starts, weights, l1_weights, penalty, many):
    """Conjugate of the penalty at a stacked slope."""
    total = 0.0
    for g in range(np.uint64(weights.shape[0])):
        if weights[g] > 0.0 or l1_weights[g] > 0.0:
            low, high = starts[g] * many, starts[g + ONE] * many
            total += conjugate(penalty, gradient[low:high], weights[g], l1_weights[g])
    return total


@compiled
def excess_blocks(gradient, starts, weights, l1_weights, penalty, many, excess):
    """Fill `excess` with how far each block, at 0, is from its optimum."""
    zeros = np.zeros(gradient.shape[0])
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * many, starts[g + ONE] * many
        excess[g] = subdiff_distance(
            penalty, zeros[low:high], gradient[low:high], weights[g], l1_weights[g]
        )


@compiled
def support_blocks(w, slope, starts, weights, l1_weights, penalty, gradient, across, along):
    """Fill `gradient` (cells) with that of model and penalty on the support, and the second
    derivatives of each block's penalty, across and along its weights; one output.
    """
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g], starts[g + ONE]
        square = 0.0
        for k in range(low, high):
            square += w[k] * w[k]
        across[g], along[g] = 0.0, 0.0
        if square > 0.0:
            norm = math.sqrt(square)
            support_gradient(
                penalty, w[low:high], slope[low:high], weights[g], l1_weights[g], gradient[low:high]
            )
            across[g], along[g] = support_hessian(penalty, norm, weights[g], l1_weights[g])


@compiled
def distance_blocks(w, gradient, starts, weights, l1_weights, penalty, many):
    """Largest distance of a block's ``-slope`` to its subdifferential: 0 exactly at an optimum."""
    largest = 0.0
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * many, starts[g + ONE] * many
        apart = subdiff_distance(
            penalty, w[low:high], gradient[low:high], weights[g], l1_weights[g]
        )
        largest = max(largest, apart)
    return largest


@compiled
def weigh_blocks(gradient, starts, weights, l1_weights, norms, radius, penalty, many, excess, safe):
    """Fill `excess`, how far each block's slope at 0 exceeds its price, and `safe`, 1 where the
    block is 0 at the optimum.

    `norms` are those of the columns and `radius` bounds how far the slopes of the rows are from the
    optimal ones: a cell's slope is at most ``norm * radius`` from its last one (the gap-safe
    sphere).
    """
    for g in range(np.uint64(weights.shape[0])):
        price, threshold = penalty.alpha * weights[g], penalty.alpha * l1_weights[g]
        norm, far, reach, lone = 0.0, 0.0, 0.0, True
        for place in range(starts[g], starts[g + ONE]):
            row, move = 0.0, norms[place] * radius
            for c in range(many):
                cell = -gradient[place * many + c]
                row += soft_threshold(penalty, cell, threshold) ** 2
                up, down = (
                    soft_threshold(penalty, cell + move, threshold),
                    soft_threshold(penalty, cell - move, threshold),
                )
                reach = max(abs(up), abs(down))
                lone = lone and reach == 0.0
            norm += row
            far += reach * reach if many == ONE else (math.sqrt(row) + move) ** 2
        excess[g] = math.sqrt(norm) - price
        safe[g] = 1 if (price > 0.0 and math.sqrt(far) < price) or (threshold > 0.0 and lone) else 0


# ---------------------------------------------------------------- rows
@compiled
def sum_values(loss, scores, targets, weights):
    """Weighted sum of the losses of scores (rows, outputs)."""
    total = 0.0
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            total += weights[i] * value(loss, scores[i, c], targets[i, c])
    return total


@compiled
def write_slopes(loss, scores, targets, slopes):
    """Fill `slopes` (rows, outputs)."""
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            slopes[i, c] = gradient(loss, scores[i, c], targets[i, c])


@compiled
def write_curves(loss, scores, targets, curves):
    """Fill `curves` (rows, outputs) with second derivatives."""
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            curves[i, c] = hessian(loss, scores[i, c], targets[i, c])


@compiled
def write_inverse_links(loss, scores, means):
    """Fill `means` (rows, outputs) with the inverse link of the scores."""
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            means[i, c] = inverse_link(loss, scores[i, c])


@compiled
def sum_conjugates(loss, slopes, targets, weights):
    """Weighted sum of the conjugates of slopes (rows, outputs)."""
    total = 0.0
    for i in range(np.uint64(slopes.shape[0])):
        for c in range(np.uint64(slopes.shape[1])):
            total += weights[i] * conjugate(loss, slopes[i, c], targets[i, c])
    return total


@compiled
def score_own(data, indices, indptr, task, weights, scores):
    """Fill `scores` (rows, outputs of a task): each row by the weights (columns, outputs of all
    tasks) of its own task.
    """
    width = np.uint64(scores.shape[1])
    for i in range(np.uint64(scores.shape[0])):
        for c in range(width):
            total, own = 0.0, task[i] * width + c
            for k in range(indptr[i], indptr[i + ONE]):
                total += data[k] * weights[indices[k], own]
            scores[i, c] = total


@compiled
def slope_own(data, indices, indptr, task, residuals, slopes):
    """Add to `slopes` (columns, outputs of all tasks) what each row's residuals (rows, outputs of a
    task) say about its own task.
    """
    width = np.uint64(residuals.shape[1])
    for i in range(np.uint64(residuals.shape[0])):
        for c in range(width):
            own, residual = task[i] * width + c, residuals[i, c]
            for k in range(indptr[i], indptr[i + ONE]):
                slopes[indices[k], own] += data[k] * residual
