"""Compiled Newton steps of L1 logistic regression on a working set of columns."""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import compiled, compiled_helper

MAX_SWEEPS = 50  # sweeps of coordinate descent on a quadratic model
MAX_HALVINGS = 30  # halvings of a Newton step
MAX_SCORE_STEP = 10.0  # change of a score in one step: the quadratic model is poor beyond
# Relative rounding error of the objective; near the optimum a step changes it by less than that.
ROUNDING = 1e-15


class QuadraticModel(NamedTuple):
    """Gradients and curvatures of the loss along the columns and the intercept, and curvatures of
    the rows.
    """

    gradients: np.ndarray
    curvatures: np.ndarray
    row_curvatures: np.ndarray
    gradient: float
    curvature: float


@compiled_helper
def log_loss(signs, row_weights, scores, shift, step):
    """Return the weighted logistic loss of the scores plus `step` times `shift`."""
    total = 0.0
    for i in range(scores.shape[0]):
        margin = signs[i] * (scores[i] + step * shift[i])
        total += row_weights[i] * (
            math.log1p(math.exp(-margin)) if margin > 0.0 else math.log1p(math.exp(margin)) - margin
        )
    return total


@compiled_helper
def soft_threshold(value, threshold):
    """Return the proximal map of `threshold` times the absolute value."""
    return math.copysign(max(abs(value) - threshold, 0.0), value)


@compiled_helper
def fill_row_derivatives(signs, row_weights, scores, row_gradients, row_curvatures):
    """Compute gradient and curvature of the loss of each row; return their sums."""
    gradient, curvature = 0.0, 0.0
    for i in range(scores.shape[0]):
        probability = 1.0 / (1.0 + math.exp(min(signs[i] * scores[i], 700.0)))
        row_gradients[i] = -row_weights[i] * signs[i] * probability
        row_curvatures[i] = row_weights[i] * probability * (1.0 - probability)
        gradient += row_gradients[i]
        curvature += row_curvatures[i]
    return gradient, curvature


@compiled_helper
def solve_model(csc, columns, model, strength, weights, steps, shift, tol):
    """Run coordinate descent on a quadratic model of the loss; return the step of the intercept.

    `steps` are the steps of the weights, and `shift` the change of the scores by them.
    """
    data, indices, indptr = csc
    one, intercept_step, row_curvatures = np.uint64(1), 0.0, model.row_curvatures
    for _ in range(MAX_SWEEPS):
        max_change = 0.0
        for c in range(columns.shape[0]):
            j, curvature = columns[c], model.curvatures[c]
            if curvature <= 0.0:
                continue
            derivative, old = model.gradients[c], weights[j] + steps[c]
            for k in range(indptr[j], indptr[j + one]):
                derivative += row_curvatures[indices[k]] * data[k] * shift[indices[k]]
            change = soft_threshold(old - derivative / curvature, strength / curvature) - old
            if change != 0.0:
                steps[c] += change
                for k in range(indptr[j], indptr[j + one]):
                    shift[indices[k]] += change * data[k]
                max_change = max(max_change, abs(change) * curvature)
        if model.curvature > 0.0:
            derivative = model.gradient
            for i in range(shift.shape[0]):
                derivative += row_curvatures[i] * shift[i]
            change = -derivative / model.curvature
            intercept_step += change
            for i in range(shift.shape[0]):
                shift[i] += change
            max_change = max(max_change, abs(change) * model.curvature)
        if max_change <= tol:
            break
    return intercept_step


@compiled_helper
def fill_model(csc, columns, row_gradients, row_curvatures, gradients, curvatures):
    """Compute gradient and curvature of the loss along each of the columns."""
    data, indices, indptr = csc
    one = np.uint64(1)
    for c in range(columns.shape[0]):
        j, first_derivative, second_derivative = columns[c], 0.0, 0.0
        for k in range(indptr[j], indptr[j + one]):
            first_derivative += row_gradients[indices[k]] * data[k]
            second_derivative += row_curvatures[indices[k]] * data[k] * data[k]
        gradients[c], curvatures[c] = first_derivative, second_derivative


@compiled_helper
def violation(columns, gradients, gradient, strength, weights):
    """Return the largest violation of the optimality conditions."""
    max_violation = abs(gradient)
    for c in range(columns.shape[0]):
        weight = weights[columns[c]]
        if weight == 0.0:
            max_violation = max(max_violation, max(abs(gradients[c]) - strength, 0.0))
        else:
            max_violation = max(max_violation, abs(gradients[c] + math.copysign(strength, weight)))
    return max_violation


@compiled
def newton_steps(
    csc, columns, signs, row_weights, strength, weights, scores, intercept, max_steps, tol
):
    """Run at most `max_steps` Newton steps on some columns, until the optimality conditions hold
    within `tol`; return the change of the intercept.

    `weights` and `scores` are changed in place. An `intercept` of 0 means that there is none.
    """
    n, m = scores.shape[0], columns.shape[0]
    row_gradients, row_curvatures, shift = np.empty(n), np.empty(n), np.empty(n)
    gradients, curvatures, steps = np.empty(m), np.empty(m), np.empty(m)
    intercept_change = 0.0
    for _ in range(max_steps):
        gradient, curvature = fill_row_derivatives(
            signs, row_weights, scores, row_gradients, row_curvatures
        )
        if intercept == 0.0:
            gradient, curvature = 0.0, 0.0
        fill_model(csc, columns, row_gradients, row_curvatures, gradients, curvatures)
        max_violation = violation(columns, gradients, gradient, strength, weights)
        if max_violation <= tol:
            break
        steps[:], shift[:] = 0.0, 0.0
        model = QuadraticModel(gradients, curvatures, row_curvatures, gradient, curvature)
        model_tol = max(0.1 * max_violation, 0.3 * tol)
        intercept_step = solve_model(
            csc, columns, model, strength, weights, steps, shift, model_tol
        )
        predicted_change = gradient * intercept_step
        for c in range(m):
            old = weights[columns[c]]
            predicted_change += gradients[c] * steps[c] + strength * (
                abs(old + steps[c]) - abs(old)
            )
        if predicted_change >= 0.0:
            break
        old_objective, step_size = log_loss(signs, row_weights, scores, shift, 0.0), 1.0
        for c in range(m):
            old_objective += strength * abs(weights[columns[c]])
        for _ in range(MAX_HALVINGS):
            new_objective = log_loss(signs, row_weights, scores, shift, step_size)
            for c in range(m):
                new_objective += strength * abs(weights[columns[c]] + step_size * steps[c])
            if (
                new_objective
                <= old_objective + 1e-4 * step_size * predicted_change + ROUNDING * old_objective
            ):
                break
            step_size *= 0.5
        intercept_change += step_size * intercept_step
        for c in range(m):
            weights[columns[c]] += step_size * steps[c]
        for i in range(n):
            scores[i] += step_size * shift[i]
    return intercept_change


# --------------------------------------------------------------------------- few columns
@compiled_helper
def fill_gram(rows, signs, row_weights, scores, gradients, gram):
    """Compute gradient and Hessian of the loss in the weights of the columns and, as the last
    entry, in the intercept.
    """
    values, columns, indptr = rows
    one, last = np.uint64(1), np.uint64(gradients.shape[0] - 1)
    gradients[:], gram[:] = 0.0, 0.0
    for i in range(np.uint64(scores.shape[0])):
        probability = 1.0 / (1.0 + math.exp(min(signs[i] * scores[i], 700.0)))
        gradient = -row_weights[i] * signs[i] * probability
        curvature = row_weights[i] * probability * (1 - probability)
        gradients[last] += gradient
        gram[last, last] += curvature
        for k in range(indptr[i], indptr[i + one]):
            column, weighted_value = columns[k], curvature * values[k]
            gradients[column] += gradient * values[k]
            gram[last, column] += weighted_value
            for other in range(indptr[i], k + one):
                gram[column, columns[other]] += weighted_value * values[other]
    for a in range(gram.shape[0]):  # only one of (a, b) and (b, a) has been filled
        for b in range(a):
            gram[a, b] += gram[b, a]
            gram[b, a] = gram[a, b]


@compiled_helper
def solve_gram(gram, gradients, strength, weights, steps, residuals, tol):
    """Run coordinate descent on a quadratic model with the Hessian `gram`."""
    last = steps.shape[0] - 1
    for j in range(steps.shape[0]):  # slice assignment takes Numba two seconds to compile
        steps[j], residuals[j] = 0.0, gradients[j]
    for _ in range(MAX_SWEEPS):
        max_change = 0.0
        for j in range(steps.shape[0]):
            curvature = gram[j, j]
            if curvature <= 0.0:
                continue
            change = -residuals[j] / curvature
            if j < last:
                old = weights[j] + steps[j]
                change = soft_threshold(old + change, strength / curvature) - old
            if change != 0.0:
                steps[j] += change
                for other in range(steps.shape[0]):
                    residuals[other] += change * gram[j, other]
                max_change = max(max_change, abs(change) * curvature)
        if max_change <= tol:
            break


@compiled
def gram_steps(rows, signs, row_weights, strength, weights, scores, intercept, max_steps):
    """Run up to `max_steps` Newton steps on few columns, given as CSR rows; `weights` and `scores`
    are changed in place. An `intercept` of 0 means that there is none.

    There is no line search: the objective costs as much as a step, and the caller uses the result
    only as a dual point, of which the bound is valid in any case.
    """
    values, columns, indptr = rows
    one, size = np.uint64(1), weights.shape[0] + 1
    all_columns, last = np.arange(size - 1), np.uint64(size - 1)
    gradients, steps, residuals = np.empty(size), np.empty(size), np.empty(size)
    gram, shift = np.empty((size, size)), np.empty(scores.shape[0])
    for _ in range(max_steps):
        fill_gram(rows, signs, row_weights, scores, gradients, gram)
        if intercept == 0.0:
            gradients[last], gram[last, :], gram[:, last] = 0.0, 0.0, 0.0
        max_violation = violation(all_columns, gradients, gradients[last], strength, weights)
        solve_gram(gram, gradients, strength, weights, steps, residuals, 0.1 * max_violation)
        max_score_step = 0.0
        for i in range(np.uint64(scores.shape[0])):
            shift[i] = steps[last]
            for k in range(indptr[i], indptr[i + one]):
                shift[i] += steps[columns[k]] * values[k]
            max_score_step = max(max_score_step, abs(shift[i]))
        step_size = min(1.0, MAX_SCORE_STEP / max_score_step) if max_score_step > 0.0 else 0.0
        for j in range(size - 1):
            weights[j] += step_size * steps[j]
        for i in range(scores.shape[0]):
            scores[i] += step_size * shift[i]
