"""Coordinate descent on a quadratic model of a loss, with a penalty of single columns.

Column j has a strength, which multiplies the penalty, and bounds. A descent ends when no step of a
sweep would change a gradient by more than `tol`.
"""

import numpy as np

from tamis.numerics.numba import compiled
from tamis.terms.methods import prox, subdiff_distance, value

ONE = np.uint64(1)


@compiled
def descend_gram(
    gram, gradient, w, active, strengths, bounds, penalty, min_convexity, max_sweeps, tol
):
    """Descend on 0.5 w'Gw + b'w, with G the Gram matrix of all columns; update `w` and the gradient
    Gw + b of all columns, and return the number of sweeps.

    `bounds` is (2, columns). `min_convexity` times its strength is the least curvature that a step
    of a column assumes: a penalty that is not convex needs it.
    """
    n_columns = gram.shape[0]
    for sweep in range(max_sweeps):
        largest = 0.0
        for k in range(active.shape[0]):
            j = active[k]
            curvature = max(gram[j, j], min_convexity * strengths[j])
            if gram[j, j] <= 0.0:
                continue
            moved = prox(penalty, w[j] - gradient[j] / curvature, strengths[j] / curvature)
            moved = min(max(moved, bounds[0, j]), bounds[1, j])
            step = moved - w[j]
            if step != 0.0:
                w[j] = moved
                largest = max(largest, abs(step) * curvature)
                for i in range(n_columns):
                    gradient[i] += step * gram[j, i]
        if largest <= tol:
            return sweep + 1
    return max_sweeps


@compiled
def descend_sparse(
    data,
    indices,
    indptr,
    row_curvature,
    raw_gradient,
    intercept_step,
    sums,
    centers,
    curvatures,
    w,
    active,
    strengths,
    bounds,
    penalty,
    min_convexity,
    max_sweeps,
    tol,
):
    """Descend on a model with second derivatives `row_curvature`, on sparse columns (each a row of
    CSR); update `w` and the gradient of the rows, and return the step of the intercept.

    Columns count as centred: `raw_gradient` leaves out the step of the intercept, which is always
    the best one. `sums` are those of second derivatives times column, `centers` what the intercept
    moves by for one unit of a weight, `curvatures` the second derivatives of the centred columns.
    """
    for _ in range(max_sweeps):
        largest = 0.0
        for k in range(active.shape[0]):
            j = active[k]
            if curvatures[j] <= 0.0:
                continue
            curvature = max(curvatures[j], min_convexity * strengths[j])
            gradient = intercept_step * sums[j]
            for at in range(indptr[j], indptr[j + ONE]):
                gradient += data[at] * raw_gradient[indices[at]]
            moved = prox(penalty, w[j] - gradient / curvature, strengths[j] / curvature)
            moved = min(max(moved, bounds[0, j]), bounds[1, j])
            step = moved - w[j]
            if step != 0.0:
                w[j] = moved
                largest = max(largest, abs(step) * curvature)
                for at in range(indptr[j], indptr[j + ONE]):
                    i = indices[at]
                    raw_gradient[i] += step * row_curvature[i] * data[at]
                intercept_step -= step * centers[j]
        if largest <= tol:
            break
    return intercept_step


@compiled
def sum_penalty(w, strengths, penalty):
    """Return the penalty of the weights."""
    total = 0.0
    for j in range(w.shape[0]):
        if strengths[j] > 0.0 and w[j] != 0.0:
            total += strengths[j] * value(penalty, w[j])
    return total


@compiled
def write_violations(w, gradient, strengths, bounds, penalty, violations):
    """Fill `violations` with the distance of each column from its optimality condition."""
    for j in range(w.shape[0]):
        violation = abs(gradient[j])
        if strengths[j] > 0.0:
            violation = strengths[j] * subdiff_distance(penalty, w[j], gradient[j] / strengths[j])
        # At a bound, a gradient that pushes the weight outwards is no violation.
        if violation > 0.0 and (w[j] <= bounds[0, j] or w[j] >= bounds[1, j]):
            size = 1e-6 * max(abs(w[j]), 1.0) / abs(gradient[j]) if gradient[j] != 0.0 else 1.0
            moved = prox(penalty, w[j] - size * gradient[j], size * strengths[j])
            if min(max(moved, bounds[0, j]), bounds[1, j]) == w[j]:
                violation = 0.0
        violations[j] = violation
