"""What a model of thresholded data is worth on the data themselves: bounds before the fit, and a
certificate after it.

The objective is ``sum_i c_i f(y_i (x_i'w + b)) + alpha ||w||_1`` with weights c that add up to 1
and a loss f of slope at most 1. Dropping entries of size at most t moves a margin by at most
``t ||w||_1``: all bounds come from that.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, xlogy

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
    shrunk = alphas * min(1.0, problem.strength / correlation) if correlation > 0.0 else alphas
    if problem.loss == "hinge":
        return float(shrunk.sum())
    shares = np.divide(
        shrunk, problem.row_weights, out=np.zeros_like(shrunk), where=problem.row_weights > 0.0
    )
    return float(
        -(problem.row_weights @ (xlogy(shares, shares) + xlogy(1.0 - shares, 1.0 - shares)))
    )


def balance(problem: Problem, alphas) -> np.ndarray:
    """The heavier class scaled down, so that the intercept's condition holds."""
    if not problem.intercept:
        return alphas
    ahead, behind = float(alphas[problem.signs > 0].sum()), float(alphas[problem.signs < 0].sum())
    if ahead == behind:
        return alphas
    scale = np.where(
        problem.signs > 0,
        min(1.0, behind / ahead if ahead else 1.0),
        min(1.0, ahead / behind if behind else 1.0),
    )
    return alphas * scale


def settle_intercept(problem: Problem, scores) -> np.ndarray:
    """The scores moved by the best constant, for dual variables that are in balance; a few Newton
    steps of the logistic loss.
    """
    if not problem.intercept or problem.loss != "logistic":
        return scores
    moved = 0.0
    for _ in range(20):
        share = expit(-problem.signs * (scores + moved))
        slope = -float((problem.row_weights * problem.signs) @ share)
        curvature = float(problem.row_weights @ (share * (1.0 - share)))
        if abs(slope) < 1e-9 or curvature <= 0.0:
            break
        moved += float(np.clip(-slope / curvature, -1.0, 1.0))
    return scores + moved
