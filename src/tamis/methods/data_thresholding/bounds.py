"""What a model of thresholded data is worth on the data themselves: bounds before the fit, and a
certificate after it.

The objective is ``sum_i c_i f(y_i (x_i'w + b)) + alpha ||w||_1`` with weights c that add up to 1
and a loss f of slope at most 1. Dropping entries of size at most t moves a margin by at most
``t ||w||_1``: all bounds come from that.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tamis.methods.data_thresholding.loop_rows import class_sums, entropy, settle_duals

AT_ZERO = {"logistic": math.log(2.0), "hinge": 1.0}


class Problem(NamedTuple):
    """Signs and weights of the rows, the loss's name, the strength of the penalty, and whether
    there is an intercept.
    """

    signs: np.ndarray
    row_weights: np.ndarray
    loss: str
    strength: float
    intercept: bool


def mean_loss(problem: Problem, scores) -> float:
    """Weighted loss of the scores."""
    margins = problem.signs * scores
    each = (
        np.logaddexp(0.0, -margins)
        if problem.loss == "logistic"
        else np.maximum(1.0 - margins, 0.0)
    )
    return float(problem.row_weights @ each)


def objective(problem: Problem, weights, scores) -> float:
    """The objective from the weights and the scores of the rows."""
    return mean_loss(problem, scores) + problem.strength * float(np.abs(weights).sum())


# --------------------------------------------------------------------------- before a fit
def absolute_bound(dropped: float, strength: float, at_zero: float, off: float = 0.0) -> float:
    """How far, at most, the model of thresholded data is from the optimum; `off` is its own
    optimisation gap there.
    """
    ratio = dropped / strength
    return 2.0 * ratio * at_zero + (1.0 + ratio) * off


def relative_bound(dropped: float, strength: float, off: float = 0.0) -> float:
    """The same as a share of the optimum; `off` likewise."""
    ratio = 1.0 + dropped / strength
    return ratio * ratio - 1.0 + ratio * off


def constrained_bound(dropped: float, radius: float) -> float:
    """The same for a model whose weights have an L1 norm of at most `radius`, in place of a
    penalty.
    """
    return 2.0 * dropped * radius


def safe_threshold(
    max_error: float, mode: str, strength: float, at_zero: float, reached: float | None = None
) -> float:
    """The largest threshold that the bounds above allow for `max_error`.

    `reached` is the objective at a larger strength, on the data themselves: the optimum cannot be
    above it.
    """
    if mode == "relative":
        return strength * (math.sqrt(1.0 + max_error) - 1.0)
    plain = 0.5 * strength * max_error / at_zero
    known = at_zero if reached is None else reached
    if known <= 0.0:
        return plain
    return max(plain, strength * (math.sqrt(1.0 + max_error / known) - 1.0))


# --------------------------------------------------------------------------- after a fit
def dual_start(problem: Problem, scores) -> np.ndarray:
    """Dual variables of the rows from their scores: minus the slopes of the losses."""
    margins = problem.signs * scores
    return problem.row_weights * (
        expit(-margins) if problem.loss == "logistic" else (margins < 1.0)
    )


def dual_value(problem: Problem, alphas, correlation: float) -> float:
    """The dual at `alphas`, shrunk until they are feasible; `correlation` is the largest of
    ``|sum_i alpha_i y_i x_ij|``.
    """
    shrunk = min(1.0, problem.strength / correlation) if correlation > 0.0 else 1.0
    if problem.loss == "hinge":
        return shrunk * float(alphas.sum())
    return entropy(alphas, problem.row_weights, shrunk)


def dual_limit(problem: Problem, alphas, correlation: float) -> float:
    """What the dual value is at most: by concavity that of the mean, at the cost of a sum."""
    shrunk = min(1.0, problem.strength / correlation) if correlation > 0.0 else 1.0
    mean = shrunk * float(alphas.sum())
    if problem.loss == "hinge" or not 0.0 < mean < 1.0:
        return mean if problem.loss == "hinge" else AT_ZERO["logistic"]
    return -mean * math.log(mean) - (1.0 - mean) * math.log1p(-mean)


def balance(problem: Problem, alphas) -> np.ndarray:
    """The heavier class scaled down, so that the intercept's condition holds."""
    if not problem.intercept:
        return alphas
    ahead, behind = class_sums(problem.signs, alphas)
    if ahead == behind:
        return alphas
    scale = np.where(
        problem.signs > 0,
        min(1.0, behind / ahead if ahead else 1.0),
        min(1.0, ahead / behind if behind else 1.0),
    )
    return alphas * scale


def settled_duals(problem: Problem, scores) -> np.ndarray:
    """Dual variables in balance: those of the logistic loss at the scores moved by the best
    constant.
    """
    if problem.loss != "logistic":
        return balance(problem, dual_start(problem, scores))
    found = np.empty_like(scores)
    turns = 20 if problem.intercept else 0
    settle_duals(problem.signs, problem.row_weights, scores, turns, found)
    return balance(problem, found)
