"""Compiled sweeps of dual coordinate ascent over a batch: on whitened rows, on the Gram matrix of
the rows, or on sparse rows without whitening.

A sweep updates all outputs at each row, so that it reads a row once. `alpha` is (rows, outputs).
`bounds` and `ridges` are the upper bound and the quadratic coefficient of the dual variable of each
row: (C, 0) for the hinge loss, (inf, 1 / 2C) for the squared hinge.
"""

import numpy as np

from tamis.numerics.csr import dot
from tamis.numerics.numba import compiled, compiled_helper

ONE = np.uint64(1)


@compiled_helper
def maximize_coordinate(alpha, slack, curvature, ridge, bound):
    """Return the value of one dual variable that maximises the dual; `slack` is 1 - margin.

    The maximiser for a row of zeros is its bound.
    """
    curvature += ridge
    if curvature <= 0.0:
        return bound
    return min(max(alpha + (slack - ridge * alpha) / curvature, 0.0), bound)


@compiled
def sweep_whitened(rows, order, batch_index, signs, bounds, ridges, alpha, weights):
    """Run one sweep over dense whitened rows in `order`; row k of `rows` is row `batch_index[k]` of
    the batch.

    `weights` (outputs, columns) is updated.
    """
    for r in range(np.uint64(order.shape[0])):
        k = np.uint64(order[r])
        i = np.uint64(batch_index[k])
        row = rows[k]
        squared_norm = dot(row, row)
        for c in range(np.uint64(weights.shape[0])):
            sign, old = signs[i, c], alpha[i, c]
            new = maximize_coordinate(
                old, 1.0 - sign * dot(row, weights[c]), squared_norm, ridges[i], bounds[i]
            )
            if new != old:
                alpha[i, c] = new
                change = sign * (new - old)
                for j in range(np.uint64(row.shape[0])):
                    weights[c, j] += change * row[j]


@compiled
def sweep_kernel(gram, order, signs, bounds, ridges, alpha, scores):
    """Run one sweep with the Gram matrix of the rows; `scores` (outputs, rows) is updated."""
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        for c in range(np.uint64(scores.shape[0])):
            sign, old = signs[i, c], alpha[i, c]
            new = maximize_coordinate(
                old, 1.0 - sign * scores[c, i], gram[i, i], ridges[i], bounds[i]
            )
            if new != old:
                alpha[i, c] = new
                change = sign * (new - old)
                for j in range(np.uint64(gram.shape[0])):
                    scores[c, j] += change * gram[i, j]


@compiled_helper
def add_covariance_product(data, indices, first, last, sigma, change, mean):
    """Add `change * Sigma x` to the mean for a sparse row x; an empty Sigma is the identity."""
    for k in range(first, last):
        scaled = change * data[k]
        if sigma.shape[0]:
            column = sigma[indices[k]]
            for j in range(np.uint64(mean.shape[0])):
                mean[j] += scaled * column[j]
        else:
            mean[indices[k]] += scaled


@compiled_helper
def quadratic_form(data, indices, first, last, sigma):
    """Return x' Sigma x of a sparse row."""
    total = 0.0
    for k in range(first, last):
        if sigma.shape[0]:
            column = sigma[indices[k]]
            product = 0.0
            for m in range(first, last):
                product += column[indices[m]] * data[m]
            total += product * data[k]
        else:
            total += data[k] * data[k]
    return total


@compiled
def sweep_raw(
    data, indices, indptr, order, sigma, signs, bounds, ridges, alpha, squared_norms, mean
):
    """Run one sweep over sparse rows; `mean` (outputs, columns) is updated.

    `squared_norms` caches x' Sigma x of the rows; it is nan until the first step of a row needs it.
    """
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        first, last = indptr[i], indptr[i + ONE]
        for c in range(np.uint64(mean.shape[0])):
            score = 0.0
            for k in range(first, last):
                score += mean[c, indices[k]] * data[k]
            sign, old = signs[i, c], alpha[i, c]
            slack = 1.0 - sign * score
            if old == 0.0 and slack <= 0.0:
                continue
            if np.isnan(squared_norms[i]):
                squared_norms[i] = quadratic_form(data, indices, first, last, sigma)
            new = maximize_coordinate(old, slack, squared_norms[i], ridges[i], bounds[i])
            if new != old:
                alpha[i, c] = new
                add_covariance_product(
                    data, indices, first, last, sigma, sign * (new - old), mean[c]
                )
