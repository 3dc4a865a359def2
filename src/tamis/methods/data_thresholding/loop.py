"""Newton steps of L1 logistic regression on a working set of columns."""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import compiled, helper

SWEEPS = 50  # of a quadratic model, at most
HALVINGS = 30  # of a step, at most
FARTHEST = 10.0  # that a score moves in one step: a quadratic model says little beyond
ROUNDING = 1e-15  # near the optimum a step is worth less than the last digit of the objective


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


# --------------------------------------------------------------------------- few columns
@helper
def fill_gram(rows, signs, row_weights, scores, slopes, gram):
    """Slopes and second derivatives of the loss along columns, and in the last place along the
    intercept.
    """
    values, columns, pointers = rows
    one, last = np.uint64(1), np.uint64(slopes.shape[0] - 1)
    slopes[:], gram[:] = 0.0, 0.0
    for i in range(np.uint64(scores.shape[0])):
        share = 1.0 / (1.0 + math.exp(min(signs[i] * scores[i], 700.0)))
        slope, curvature = -row_weights[i] * signs[i] * share, row_weights[i] * share * (1 - share)
        slopes[last] += slope
        gram[last, last] += curvature
        for k in range(pointers[i], pointers[i + one]):
            column, bent = columns[k], curvature * values[k]
            slopes[column] += slope * values[k]
            gram[last, column] += bent
            for other in range(pointers[i], k + one):
                gram[column, columns[other]] += bent * values[other]
    for a in range(gram.shape[0]):  # of each pair one place was filled
        for b in range(a):
            gram[a, b] += gram[b, a]
            gram[b, a] = gram[a, b]


@helper
def solve_gram(gram, slopes, strength, weights, steps, slacks, enough):
    """Coordinate descent on a quadratic model given by its matrix."""
    last = steps.shape[0] - 1
    for j in range(steps.shape[0]):  # a slice takes Numba two seconds to compile
        steps[j], slacks[j] = 0.0, slopes[j]
    for _ in range(SWEEPS):
        worst = 0.0
        for j in range(steps.shape[0]):
            curvature = gram[j, j]
            if curvature <= 0.0:
                continue
            change = -slacks[j] / curvature
            if j < last:
                here = weights[j] + steps[j]
                change = soft_threshold(here + change, strength / curvature) - here
            if change != 0.0:
                steps[j] += change
                for other in range(steps.shape[0]):
                    slacks[other] += change * gram[j, other]
                worst = max(worst, abs(change) * curvature)
        if worst <= enough:
            break


@compiled
def gram_steps(rows, signs, row_weights, strength, weights, scores, intercept, turns):
    """So many Newton steps on few columns, given by their entries row by row; `weights` and
    `scores` are changed in place. An `intercept` of 0 means that there is none.

    No step is judged by the objective, which takes as long as the step: what comes of it is judged
    as a bound.
    """
    values, columns, pointers = rows
    one, size = np.uint64(1), weights.shape[0] + 1
    every, last = np.arange(size - 1), np.uint64(size - 1)
    slopes, steps, slacks = np.empty(size), np.empty(size), np.empty(size)
    gram, shift = np.empty((size, size)), np.empty(scores.shape[0])
    for _ in range(turns):
        fill_gram(rows, signs, row_weights, scores, slopes, gram)
        if intercept == 0.0:
            slopes[last], gram[last, :], gram[:, last] = 0.0, 0.0, 0.0
        off = violation(every, slopes, slopes[last], strength, weights)
        solve_gram(gram, slopes, strength, weights, steps, slacks, 0.1 * off)
        farthest = 0.0
        for i in range(np.uint64(scores.shape[0])):
            shift[i] = steps[last]
            for k in range(pointers[i], pointers[i + one]):
                shift[i] += steps[columns[k]] * values[k]
            farthest = max(farthest, abs(shift[i]))
        share = min(1.0, FARTHEST / farthest) if farthest > 0.0 else 0.0
        for j in range(size - 1):
            weights[j] += share * steps[j]
        for i in range(scores.shape[0]):
            scores[i] += share * shift[i]
