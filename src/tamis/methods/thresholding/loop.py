"""Passes of thresholding: a matrix without its small entries, and L1 logistic regression on a
working set of columns.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.base.jit import compiled, helper

SWEEPS = 50  # of a quadratic model, at most
HALVINGS = 30  # of a step, at most
ROUNDING = 1e-15  # near the optimum a step is worth less than the last digit of the objective


@compiled
def count_large(data, indptr, threshold, pointers):
    """Fill the row pointers of a matrix without its entries up to `threshold`; returns how many are
    dropped, and the largest of them.
    """
    one, kept, gone, largest = np.uint64(1), np.uint64(0), 0, 0.0
    pointers[0] = kept
    for i in range(np.uint64(pointers.shape[0]) - one):
        for k in range(indptr[i], indptr[i + one]):
            size = abs(data[k])
            kept += np.uint64(size > threshold)
            gone += (size > 0.0) & (size <= threshold)
            largest = max(largest, size if size <= threshold else 0.0)
        pointers[i + one] = kept
    return gone, largest


@compiled
def copy_large(data, indices, threshold, fewer, where):
    """Copy the entries above `threshold`, and their columns; `fewer` and `where` have room for one
    more.

    An entry that does not stay is written over by the next: without branches that is three times as
    fast.
    """
    at = np.uint64(0)
    for k in range(np.uint64(data.shape[0])):
        fewer[at], where[at] = data[k], indices[k]
        at += np.uint64(abs(data[k]) > threshold)


class Quadratic(NamedTuple):
    """Slopes and curvatures of the loss: of columns, of rows, and of the intercept."""

    slopes: np.ndarray
    curvatures: np.ndarray
    row_curvatures: np.ndarray
    slope: float
    curvature: float


@helper
def log_loss(signs, row_weights, scores, shift, step):
    """Weighted logistic loss of the scores moved by `step` times `shift`."""
    total = 0.0
    for i in range(scores.shape[0]):
        margin = signs[i] * (scores[i] + step * shift[i])
        total += row_weights[i] * (
            math.log1p(math.exp(-margin)) if margin > 0.0 else math.log1p(math.exp(margin)) - margin
        )
    return total


@helper
def soft_threshold(value, threshold):
    """Soft threshold."""
    return math.copysign(max(abs(value) - threshold, 0.0), value)


@helper
def expand(signs, row_weights, scores, row_slopes, row_curvatures):
    """Slope and curvature of every row's loss; their sums come back."""
    slope, curvature = 0.0, 0.0
    for i in range(scores.shape[0]):
        share = 1.0 / (1.0 + math.exp(min(signs[i] * scores[i], 700.0)))
        row_slopes[i] = -row_weights[i] * signs[i] * share
        row_curvatures[i] = row_weights[i] * share * (1.0 - share)
        slope += row_slopes[i]
        curvature += row_curvatures[i]
    return slope, curvature


@helper
def solve_model(csc, columns, model, strength, weights, steps, shift, enough):
    """Coordinate descent on a quadratic model of the loss; returns the intercept's step.

    `shift` is what the scores move by.
    """
    data, indices, indptr = csc
    one, moved, row_curvatures = np.uint64(1), 0.0, model.row_curvatures
    for _ in range(SWEEPS):
        worst = 0.0
        for c in range(columns.shape[0]):
            j, curvature = columns[c], model.curvatures[c]
            if curvature <= 0.0:
                continue
            now, here = model.slopes[c], weights[j] + steps[c]
            for k in range(indptr[j], indptr[j + one]):
                now += row_curvatures[indices[k]] * data[k] * shift[indices[k]]
            change = soft_threshold(here - now / curvature, strength / curvature) - here
            if change != 0.0:
                steps[c] += change
                for k in range(indptr[j], indptr[j + one]):
                    shift[indices[k]] += change * data[k]
                worst = max(worst, abs(change) * curvature)
        if model.curvature > 0.0:
            now = model.slope
            for i in range(shift.shape[0]):
                now += row_curvatures[i] * shift[i]
            change = -now / model.curvature
            moved += change
            for i in range(shift.shape[0]):
                shift[i] += change
            worst = max(worst, abs(change) * model.curvature)
        if worst <= enough:
            break
    return moved


@helper
def fill_model(csc, columns, row_slopes, row_curvatures, slopes, curvatures):
    """Slope and curvature of the loss along each of the columns."""
    data, indices, indptr = csc
    one = np.uint64(1)
    for c in range(columns.shape[0]):
        j, first, second = columns[c], 0.0, 0.0
        for k in range(indptr[j], indptr[j + one]):
            first += row_slopes[indices[k]] * data[k]
            second += row_curvatures[indices[k]] * data[k] * data[k]
        slopes[c], curvatures[c] = first, second


@helper
def violation(columns, slopes, slope, strength, weights):
    """How far the slopes are, at most, from those of an optimum."""
    off = abs(slope)
    for c in range(columns.shape[0]):
        weight = weights[columns[c]]
        if weight == 0.0:
            off = max(off, max(abs(slopes[c]) - strength, 0.0))
        else:
            off = max(off, abs(slopes[c] + math.copysign(strength, weight)))
    return off


@compiled
def newton_steps(
    csc, columns, signs, row_weights, strength, weights, scores, intercept, turns, enough
):
    """At most so many Newton steps on the named columns, until no slope is off by more than
    `enough`; returns the intercept's move.

    `weights` and `scores` are changed in place. An `intercept` of 0 means that there is none.
    """
    n, m = scores.shape[0], columns.shape[0]
    row_slopes, row_curvatures, shift = np.empty(n), np.empty(n), np.empty(n)
    slopes, curvatures, steps = np.empty(m), np.empty(m), np.empty(m)
    bias = 0.0
    for _ in range(turns):
        slope, curvature = expand(signs, row_weights, scores, row_slopes, row_curvatures)
        if intercept == 0.0:
            slope, curvature = 0.0, 0.0
        fill_model(csc, columns, row_slopes, row_curvatures, slopes, curvatures)
        off = violation(columns, slopes, slope, strength, weights)
        if off <= enough:
            break
        steps[:], shift[:] = 0.0, 0.0
        model = Quadratic(slopes, curvatures, row_curvatures, slope, curvature)
        near = max(0.1 * off, 0.3 * enough)
        moved = solve_model(csc, columns, model, strength, weights, steps, shift, near)
        promise = slope * moved
        for c in range(m):
            was = weights[columns[c]]
            promise += slopes[c] * steps[c] + strength * (abs(was + steps[c]) - abs(was))
        if promise >= 0.0:
            break
        before, size = log_loss(signs, row_weights, scores, shift, 0.0), 1.0
        for c in range(m):
            before += strength * abs(weights[columns[c]])
        for _ in range(HALVINGS):
            after = log_loss(signs, row_weights, scores, shift, size)
            for c in range(m):
                after += strength * abs(weights[columns[c]] + size * steps[c])
            if after <= before + 1e-4 * size * promise + ROUNDING * before:
                break
            size *= 0.5
        bias += size * moved
        for c in range(m):
            weights[columns[c]] += size * steps[c]
        for i in range(n):
            scores[i] += size * shift[i]
    return bias
