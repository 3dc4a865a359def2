"""Compiled sweeps of block coordinate descent on a quadratic model, from a Gram matrix or from
columns.

A block takes one proximal step of length 1 over its Lipschitz constant: the largest eigenvalue of
its Gram matrix, or a bound of it. For dense columns, whose block Gram matrices cost as much as
several sweeps, the constant is found by backtracking.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import compiled, compiled_helper
from tamis.terms.methods import prox

ZERO, ONE, TWO, THREE, FOUR = (np.uint64(number) for number in (0, 1, 2, 3, 4))
ROW_CHUNK = np.uint64(1024)  # rows of residuals that fit into the cache
# Curvature along a step over the Lipschitz constant. Steps of up to 2 over the curvature descend.
MAX_CURVATURE_RATIO = 1.5


class WeightedBlocks(NamedTuple):
    """Blocks of stacked coordinates: the start of each, the weights of its norm and of L1, and its
    Lipschitz constant.
    """

    starts: np.ndarray
    weights: np.ndarray
    l1_weights: np.ndarray
    lipschitz: np.ndarray


class DenseColumns(NamedTuple):
    """Dense columns as rows of `columns`, less their means. `coord_columns` has the column of each
    coordinate. All rows have one curvature, and the residuals sum to 0 if there are means.
    """

    columns: np.ndarray
    coord_columns: np.ndarray
    means: np.ndarray
    curvature: float
    residuals: np.ndarray


class SparseColumns(NamedTuple):
    """CSC columns, with the curvature of each row, and weighted means (0 without an intercept).
    `coord_columns` has the column of each coordinate. With the intercept at its optimum the
    weighted sum of the residuals is 0, so that a column's mean only shifts all residuals; the loop
    keeps this shift as one number.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    coord_columns: np.ndarray
    curvature: np.ndarray
    means: np.ndarray
    residuals: np.ndarray


@compiled
def sweep_gram(gram, gradient, w, active_blocks, blocks, penalty, n_sweeps):
    """Sweep over the blocks `active_blocks` with a Gram matrix; `gradient` (coordinates, outputs)
    stays that of the quadratic model at `w`.
    """
    starts, weights, l1_weights, lipschitz = blocks
    n_outputs, n_coords = np.uint64(w.shape[1]), np.uint64(w.shape[0])
    unshrunk, shrunk = np.empty(n_coords * n_outputs), np.empty(n_coords * n_outputs)
    for _ in range(n_sweeps):
        for g in active_blocks:
            low, size = starts[g], starts[g + ONE] - starts[g]
            if lipschitz[g] <= 0.0:
                continue
            for k in range(size):
                for c in range(n_outputs):
                    unshrunk[k * n_outputs + c] = (
                        w[low + k, c] - gradient[low + k, c] / lipschitz[g]
                    )
            block_unshrunk, block_shrunk = unshrunk[: size * n_outputs], shrunk[: size * n_outputs]
            prox(
                penalty, block_unshrunk, 1.0 / lipschitz[g], weights[g], l1_weights[g], block_shrunk
            )
            for k in range(size):
                for c in range(n_outputs):
                    change = shrunk[k * n_outputs + c] - w[low + k, c]
                    if change != 0.0:
                        w[low + k, c] = shrunk[k * n_outputs + c]
                        for j in range(n_coords):
                            gradient[j, c] += gram[low + k, j] * change


@compiled_helper
def _residual_change(design, low, size, changes, change):
    """Fill `change` with the change of the residuals by a block's coefficients, and return its sum
    of squares.

    Rows are processed in chunks that stay in the cache, four columns at a time.
    """
    columns, coord_columns, means = design[0], design[1], design[2]
    rows, square_sum = np.uint64(change.shape[0]), 0.0
    for first in range(ZERO, rows, ROW_CHUNK):
        last = min(first + ROW_CHUNK, rows)
        chunk, n_chunk_rows, k = change[first:last], last - first, ZERO
        chunk[:] = 0.0
        while k + FOUR <= size:
            a = coord_columns[low + k]
            b = coord_columns[low + k + ONE]
            c = coord_columns[low + k + TWO]
            d = coord_columns[low + k + THREE]
            x, y, z, u = changes[k], changes[k + ONE], changes[k + TWO], changes[k + THREE]
            mean_shift = means[a] * x + means[b] * y + means[c] * z + means[d] * u
            column_a, column_b = columns[a, first:last], columns[b, first:last]
            column_c, column_d = columns[c, first:last], columns[d, first:last]
            for i in range(n_chunk_rows):
                chunk[i] += (
                    column_a[i] * x
                    + column_b[i] * y
                    + column_c[i] * z
                    + column_d[i] * u
                    - mean_shift
                )
            k += FOUR
        while k < size:
            column, x = columns[coord_columns[low + k], first:last], changes[k]
            mean_shift = means[coord_columns[low + k]] * x
            for i in range(n_chunk_rows):
                chunk[i] += column[i] * x - mean_shift
            k += ONE
        square_sum += np.dot(chunk, chunk)
    return square_sum


@compiled
def sweep_dense(design, w, active_blocks, blocks, penalty, n_sweeps):
    """Sweep over the blocks `active_blocks` with dense columns, for one output; residuals stay
    current.

    A block's Lipschitz constant may be too small: if the curvature along a step is more than
    MAX_CURVATURE_RATIO times as large, the step is repeated with that curvature. So every step
    descends.
    """
    columns, coord_columns, _, curvature, residuals = design
    starts, weights, l1_weights, lipschitz = blocks
    gradients, unshrunk, shrunk = np.empty(w.shape[0]), np.empty(w.shape[0]), np.empty(w.shape[0])
    change = np.empty(residuals.shape[0])
    for _ in range(n_sweeps):
        for g in active_blocks:
            low, size = starts[g], starts[g + ONE] - starts[g]
            if lipschitz[g] <= 0.0:
                continue
            for k in range(size):
                gradients[k] = curvature * np.dot(columns[coord_columns[low + k]], residuals)
            block_unshrunk, block_shrunk = unshrunk[:size], shrunk[:size]
            while True:
                for k in range(size):
                    unshrunk[k] = w[low + k, 0] - gradients[k] / lipschitz[g]
                prox(
                    penalty,
                    block_unshrunk,
                    1.0 / lipschitz[g],
                    weights[g],
                    l1_weights[g],
                    block_shrunk,
                )
                square = 0.0
                for k in range(size):
                    unshrunk[k] = shrunk[k] - w[low + k, 0]
                    square += unshrunk[k] * unshrunk[k]
                if square == 0.0:
                    break
                change_curvature = curvature * _residual_change(
                    design, low, size, block_unshrunk, change
                )
                if not change_curvature > MAX_CURVATURE_RATIO * lipschitz[g] * square:
                    for k in range(size):
                        w[low + k, 0] = shrunk[k]
                    for i in range(np.uint64(residuals.shape[0])):
                        residuals[i] += change[i]
                    break
                lipschitz[g] = change_curvature / square


@compiled
def fill_mean_eigenvalues(design, starts, lipschitz):
    """Replace nan in `lipschitz` by the mean eigenvalue of the block's Gram matrix, computed from
    the norms of its columns.
    """
    columns, coord_columns, means, curvature, _ = design
    rows = columns.shape[1]
    for g in range(np.uint64(lipschitz.shape[0])):
        if math.isnan(lipschitz[g]):
            lipschitz[g] = 0.0
            for k in range(starts[g], starts[g + ONE]):
                j = coord_columns[k]
                square = np.dot(columns[j], columns[j]) - rows * means[j] * means[j]
                lipschitz[g] += curvature * max(square, 0.0) / (starts[g + ONE] - starts[g])


@compiled
def dense_gradient(design, gradient):
    """Fill `gradient` (coordinates, 1) for dense columns."""
    columns, coord_columns, _, curvature, residuals = design
    for k in range(np.uint64(gradient.shape[0])):
        gradient[k, 0] = curvature * np.dot(columns[coord_columns[k]], residuals)


@compiled
def sweep_sparse(design, shift, w, active_blocks, blocks, penalty, n_sweeps):
    """Sweep over the blocks `active_blocks` with sparse columns, for one output; residuals stay
    current but for `shift`, which is returned.
    """
    data, indices, indptr, coord_columns, curvature, means, residuals = design
    starts, weights, l1_weights, lipschitz = blocks
    unshrunk, shrunk = np.empty(w.shape[0]), np.empty(w.shape[0])
    total_curvature = curvature.sum()
    for _ in range(n_sweeps):
        for g in active_blocks:
            low, size = starts[g], starts[g + ONE] - starts[g]
            if lipschitz[g] <= 0.0:
                continue
            for k in range(size):
                j, gradient = coord_columns[low + k], 0.0
                for i in range(indptr[j], indptr[j + ONE]):
                    gradient += data[i] * curvature[indices[i]] * residuals[indices[i]]
                unshrunk[k] = (
                    w[low + k, 0] - (gradient + shift * means[j] * total_curvature) / lipschitz[g]
                )
            block_unshrunk, block_shrunk = unshrunk[:size], shrunk[:size]
            prox(
                penalty, block_unshrunk, 1.0 / lipschitz[g], weights[g], l1_weights[g], block_shrunk
            )
            for k in range(size):
                change = shrunk[k] - w[low + k, 0]
                if change != 0.0:
                    w[low + k, 0] = shrunk[k]
                    j = coord_columns[low + k]
                    for i in range(indptr[j], indptr[j + ONE]):
                        residuals[indices[i]] += data[i] * change
                    shift -= means[j] * change
    return shift


@compiled
def bound_lipschitz(design, starts, lipschitz):
    """Fill `lipschitz` with a bound of the largest eigenvalue of each block's Gram matrix: its
    largest absolute row sum.
    """
    data, indices, indptr, coord_columns, curvature, means, _ = design
    total_curvature = curvature.sum()
    for g in range(np.uint64(lipschitz.shape[0])):
        lipschitz[g] = 0.0
        for first in range(starts[g], starts[g + ONE]):
            a, total = coord_columns[first], 0.0
            for second in range(starts[g], starts[g + ONE]):
                b, product = coord_columns[second], 0.0
                i, k = indptr[a], indptr[b]
                while i < indptr[a + ONE] and k < indptr[b + ONE]:
                    if indices[i] == indices[k]:
                        product += data[i] * data[k] * curvature[indices[i]]
                        i, k = i + ONE, k + ONE
                    elif indices[i] < indices[k]:
                        i += ONE
                    else:
                        k += ONE
                total += abs(product - means[a] * means[b] * total_curvature)
            lipschitz[g] = max(lipschitz[g], total)
