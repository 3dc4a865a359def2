"""The L1 problem, its dual, and bounds on the effect of thresholding the data.

The objective is ``sum_i c_i f(y_i (x_i'w + b)) + alpha ||w||_1`` with weights c of sum 1 and a
1-Lipschitz loss f. Dropping entries of absolute value at most t changes a margin by at most ``t
||w||_1``; all bounds follow from that.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tamis.methods.data_thresholding.loop_rows import class_sums, entropy, logistic_duals

LOSS_AT_ZERO = {"logistic": math.log(2.0), "hinge": 1.0}


class ThresholdProblem(NamedTuple):
    """Signs and weights of the rows, name of the loss, strength of the L1 penalty, and whether to
    fit an intercept.
    """

    signs: np.ndarray
    row_weights: np.ndarray
    loss: str
    strength: float
    intercept: bool


def mean_loss(problem: ThresholdProblem, scores) -> float:
    """Return the weighted mean loss of the scores."""
    margins = problem.signs * scores
    losses = (
        np.logaddexp(0.0, -margins)
        if problem.loss == "logistic"
        else np.maximum(1.0 - margins, 0.0)
    )
    return float(problem.row_weights @ losses)


def objective(problem: ThresholdProblem, weights, scores) -> float:
    """Return the objective, from the weights and the scores of the rows."""
    return mean_loss(problem, scores) + problem.strength * float(np.abs(weights).sum())


# --------------------------------------------------------------------------- before a fit
def absolute_bound(
    max_dropped: float, strength: float, at_zero: float, solver_gap: float = 0.0
) -> float:
    """Return a bound on the suboptimality, on the original data, of a model of thresholded data.

    `solver_gap` is the suboptimality of the model on the thresholded data.
    """
    ratio = max_dropped / strength
    return 2.0 * ratio * at_zero + (1.0 + ratio) * solver_gap


def relative_bound(max_dropped: float, strength: float, solver_gap: float = 0.0) -> float:
    """Return `absolute_bound` as a fraction of the optimum; `solver_gap` is such a fraction too."""
    ratio = 1.0 + max_dropped / strength
    return ratio * ratio - 1.0 + ratio * solver_gap


def constrained_bound(max_dropped: float, radius: float) -> float:
    """Return `absolute_bound` of a model with the constraint that the L1 norm of the weights is at
    most `radius`, instead of a penalty.
    """
    return 2.0 * max_dropped * radius


def safe_threshold(
    max_error: float,
    mode: str,
    strength: float,
    at_zero: float,
    known_objective: float | None = None,
) -> float:
    """Return the largest threshold for which the bounds above guarantee `max_error`.

    `known_objective` is the objective on the original data at a larger strength, an upper bound on
    the optimum.
    """
    if mode == "relative":
        return strength * (math.sqrt(1.0 + max_error) - 1.0)
    absolute = 0.5 * strength * max_error / at_zero
    upper_bound = at_zero if known_objective is None else known_objective
    if upper_bound <= 0.0:
        return absolute
    return max(absolute, strength * (math.sqrt(1.0 + max_error / upper_bound) - 1.0))


# --------------------------------------------------------------------------- after a fit
def dual_start(problem: ThresholdProblem, scores) -> np.ndarray:
    """Return the dual variables of the rows at their scores: minus the gradients of the losses."""
    margins = problem.signs * scores
    return problem.row_weights * (
        expit(-margins) if problem.loss == "logistic" else (margins < 1.0)
    )


def dual_value(problem: ThresholdProblem, alphas, correlation: float) -> float:
    """Return the dual objective at `alphas`, scaled down to a feasible point; `correlation` is the
    largest ``|sum_i alpha_i y_i x_ij|`` of a column j.
    """
    scale = min(1.0, problem.strength / correlation) if correlation > 0.0 else 1.0
    if problem.loss == "hinge":
        return scale * float(alphas.sum())
    return entropy(alphas, problem.row_weights, scale)


def dual_limit(problem: ThresholdProblem, alphas, correlation: float) -> float:
    """Return an upper bound on `dual_value` that needs only the sum of `alphas`: by concavity, the
    dual at their mean.
    """
    scale = min(1.0, problem.strength / correlation) if correlation > 0.0 else 1.0
    mean = scale * float(alphas.sum())
    if problem.loss == "hinge" or not 0.0 < mean < 1.0:
        return mean if problem.loss == "hinge" else LOSS_AT_ZERO["logistic"]
    return -mean * math.log(mean) - (1.0 - mean) * math.log1p(-mean)


def balance(problem: ThresholdProblem, alphas) -> np.ndarray:
    """Scale down the dual variables of the class with the larger sum, so that ``sum_i alpha_i y_i =
    0``, the condition of the intercept.
    """
    if not problem.intercept:
        return alphas
    positive, negative = class_sums(problem.signs, alphas)
    if positive == negative:
        return alphas
    scale = np.where(
        problem.signs > 0,
        min(1.0, negative / positive if positive else 1.0),
        min(1.0, positive / negative if negative else 1.0),
    )
    return alphas * scale


def balanced_duals(problem: ThresholdProblem, scores) -> np.ndarray:
    """Return dual variables that satisfy the condition of the intercept; for the logistic loss, at
    the scores with the best intercept.
    """
    if problem.loss != "logistic":
        return balance(problem, dual_start(problem, scores))
    alphas = np.empty_like(scores)
    max_steps = 20 if problem.intercept else 0
    logistic_duals(problem.signs, problem.row_weights, scores, max_steps, alphas)
    return balance(problem, alphas)
