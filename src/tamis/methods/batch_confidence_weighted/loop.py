"""Sweeps of dual coordinate ascent over a batch: rows in whitened coordinates, through their Gram
matrix, or as they are.

All outputs are visited at each row, so that a row is read once. `alpha` is (rows, outputs),
`bounds` and `ridges` are the box and the quadratic part of the dual of each row: (C, 0) for the
hinge loss, (inf, 1 / 2C) for the squared one.
"""

import numpy as np

from tamis.numerics.csr import product
from tamis.numerics.numba import compiled, helper

ONE = np.uint64(1)


@helper
def climbed(alpha, short, curvature, ridge, bound):
    """The dual variable after its step: `short` is how far the margin lies below 1.

    A row without length goes to its bound.
    """
    curvature += ridge
    if curvature <= 0.0:
        return bound
    return min(max(alpha + (short - ridge * alpha) / curvature, 0.0), bound)


@compiled
def sweep_whitened(rows, order, numbers, signs, bounds, ridges, alpha, weights):
    """Visit dense rows in `order`; row k of `rows` is row `numbers[k]` of the batch.

    `weights` is (outputs, columns).
    """
    for r in range(np.uint64(order.shape[0])):
        k = np.uint64(order[r])
        i = np.uint64(numbers[k])
        row = rows[k]
        square = product(row, row)
        for c in range(np.uint64(weights.shape[0])):
            sign, old = signs[i, c], alpha[i, c]
            new = climbed(old, 1.0 - sign * product(row, weights[c]), square, ridges[i], bounds[i])
            if new != old:
                alpha[i, c] = new
                move = sign * (new - old)
                for j in range(np.uint64(row.shape[0])):
                    weights[c, j] += move * row[j]


@compiled
def sweep_kernel(gram, order, signs, bounds, ridges, alpha, scores):
    """Visit the rows of a Gram matrix; `scores` (outputs, rows) are kept up to date."""
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        for c in range(np.uint64(scores.shape[0])):
            sign, old = signs[i, c], alpha[i, c]
            new = climbed(old, 1.0 - sign * scores[c, i], gram[i, i], ridges[i], bounds[i])
            if new != old:
                alpha[i, c] = new
                move = sign * (new - old)
                for j in range(np.uint64(gram.shape[0])):
                    scores[c, j] += move * gram[i, j]


@helper
def spread(data, indices, first, last, sigma, move, mean):
    """Add `move * Sigma x` to the mean; an empty Sigma is the identity."""
    for k in range(first, last):
        scaled = move * data[k]
        if sigma.shape[0]:
            column = sigma[indices[k]]
            for j in range(np.uint64(mean.shape[0])):
                mean[j] += scaled * column[j]
        else:
            mean[indices[k]] += scaled


@helper
def squared(data, indices, first, last, sigma):
    """x' Sigma x of a sparse row."""
    total = 0.0
    for k in range(first, last):
        if sigma.shape[0]:
            column = sigma[indices[k]]
            part = 0.0
            for m in range(first, last):
                part += column[indices[m]] * data[m]
            total += part * data[k]
        else:
            total += data[k] * data[k]
    return total


@compiled
def sweep_raw(data, indices, indptr, order, sigma, signs, bounds, ridges, alpha, squares, mean):
    """Visit sparse rows as they are; `squares` holds x' Sigma x of rows that needed it so far, nan
    for the others.
    """
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        first, last = indptr[i], indptr[i + ONE]
        for c in range(np.uint64(mean.shape[0])):
            score = 0.0
            for k in range(first, last):
                score += mean[c, indices[k]] * data[k]
            sign, old = signs[i, c], alpha[i, c]
            short = 1.0 - sign * score
            if old == 0.0 and short <= 0.0:
                continue
            if np.isnan(squares[i]):
                squares[i] = squared(data, indices, first, last, sigma)
            new = climbed(old, short, squares[i], ridges[i], bounds[i])
            if new != old:
                alpha[i, c] = new
                spread(data, indices, first, last, sigma, sign * (new - old), mean[c])
