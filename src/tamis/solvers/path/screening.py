"""Evaluation of a point over all columns: scores, gradient, duality gap, and the blocks that are 0
at the optimum (gap-safe screening).
"""

from typing import NamedTuple

import numpy as np

from tamis.solvers.path.inner.models import block_arrays
from tamis.solvers.path.loop import (
    conjugate_blocks,
    distance_blocks,
    dual_blocks,
    excess_blocks,
    screen_blocks,
    value_blocks,
)
from tamis.solvers.path.problem import GroupProblem, is_penalized

MAX_SCREENING_GAP = 0.05  # gap over the null deviance above which screening rarely finds blocks
# Gap over the objective that is rounding: below it, a block at its threshold is not proved to be 0.
GAP_ROUNDING = 1e-12


class PointEvaluation(NamedTuple):
    """Intercepts, scores and stacked gradient of a point; its objective and dual value, and their
    gap or, without a gap, the largest distance of a block to its subdifferential; by how much each
    block exceeds its threshold, and whether it is 0 at the optimum.
    """

    bias: np.ndarray
    scores: np.ndarray
    gradient: np.ndarray
    objective: float
    dual: float
    gap: float
    violation: float
    excess: np.ndarray
    is_zero: np.ndarray


def compute_scores(problem: GroupProblem, w, bias) -> np.ndarray:
    """Return the scores of the rows."""
    return problem.design.scores(problem.blocks.sum_copies(w)) + problem.design.intercept_scores(
        bias
    )


def center_and_gradient(problem: GroupProblem, w, bias, scores=None):
    """Return the best intercepts for some coefficients, the scores, the row gradients and the
    stacked gradient; `scores` avoids their computation where they are known.
    """
    design, bound_loss = problem.design, problem.bound_loss
    scores = compute_scores(problem, w, bias) if scores is None else scores
    if problem.fit_intercept:
        bias, scores = bound_loss.center(design, scores, bias)
    raw_gradient = bound_loss.gradient(scores)
    stacked_gradient = problem.blocks.to_stacked(
        design.coef_gradient(bound_loss.weights[:, None] * raw_gradient)
    )
    return bias, scores, raw_gradient, stacked_gradient


def null_deviance(problem: GroupProblem) -> float:
    """Return twice the difference between the loss of the best intercepts alone and the smallest
    possible loss, at least rounding.
    """
    bound_loss = problem.bound_loss
    best_loss = bound_loss.best_loss()
    null_loss = bound_loss.null_loss(problem.design, problem.fit_intercept)
    return max(2.0 * (null_loss - best_loss), 1e-9 * abs(best_loss), 1e-300)


def evaluate_point(
    problem: GroupProblem, penalty, gap_limit: float, deviance: float, w, bias, scores=None
) -> PointEvaluation:
    """Evaluate a point with one pass over all columns.

    Blocks are screened only while the gap is between `gap_limit` and a fraction of the null
    deviance, above which it proves nothing. Screening needs a gap, a bounded second derivative of
    the loss, and `soft_threshold` of the penalty.
    """
    design, bound_loss, blocks = problem.design, problem.bound_loss, problem.blocks
    arrays, n_outputs = block_arrays(blocks), np.uint64(design.outputs)
    bias, scores, raw_gradient, gradient = center_and_gradient(problem, w, bias, scores)
    flat_gradient = np.ascontiguousarray(gradient).ravel()
    objective = bound_loss.value(scores) + value_blocks(w.ravel(), *arrays, penalty, n_outputs)
    excess, is_zero = np.empty(blocks.n_groups), np.zeros(blocks.n_groups, dtype=np.int64)
    has_soft_threshold = hasattr(penalty, "soft_threshold")
    dual_value, gap, violation = -np.inf, np.inf, np.inf
    if problem.certified:
        dual_norm = dual_blocks(flat_gradient, *arrays, penalty, n_outputs)
        # The conjugate is 0 while all blocks stay 0. Beyond that, the conjugate of a norm is inf,
        # so that the dual point is scaled down.
        dual_scaling, conjugate = 1.0, 0.0
        if dual_norm > penalty.alpha:
            if hasattr(penalty, "is_norm") and penalty.is_norm():
                conjugate = np.inf
            else:
                conjugate = conjugate_blocks(flat_gradient, *arrays, penalty, n_outputs)
            if conjugate in (0.0, np.inf):
                dual_scaling, conjugate = penalty.alpha / dual_norm, 0.0
        feasible = dual_scaling * flat_gradient
        dual_value = bound_loss.dual_value(dual_scaling * raw_gradient) - conjugate
        gap = max(objective - dual_value, 0.0) + _unpenalized_gap(problem, penalty, w, gradient)
        can_screen = has_soft_threshold and np.isfinite(bound_loss.lipschitz)
        if can_screen and gap_limit < gap <= MAX_SCREENING_GAP * deviance:
            radius = np.sqrt(2.0 * bound_loss.lipschitz * (gap + GAP_ROUNDING * abs(objective)))
            column_norms = blocks.to_stacked(design.column_norms())
            screen_blocks(
                feasible, *arrays, column_norms, radius, penalty, n_outputs, excess, is_zero
            )
    else:
        violation = distance_blocks(w.ravel(), flat_gradient, *arrays, penalty, n_outputs)
    if has_soft_threshold:
        zero_norms = np.zeros(len(gradient))
        screen_blocks(
            flat_gradient,
            *arrays,
            zero_norms,
            0.0,
            penalty,
            n_outputs,
            excess,
            np.empty_like(is_zero),
        )
    else:
        excess_blocks(flat_gradient, *arrays, penalty, n_outputs, excess)
    return PointEvaluation(
        bias, scores, gradient, objective, dual_value, gap, violation, excess, is_zero
    )


def _unpenalized_gap(problem: GroupProblem, penalty, w, gradient) -> float:
    """Return the possible decrease in coordinates that are not penalized, whose gradient is 0 at a
    dual feasible point.
    """
    blocks = problem.blocks
    is_free = ~is_penalized(blocks)
    if not is_free.any():
        return 0.0
    is_free = np.repeat(is_free, np.diff(blocks.starts).astype(np.int64))
    free_gradient, column_norms = (
        gradient[is_free],
        blocks.to_stacked(problem.design.column_norms()),
    )
    if getattr(penalty, "positive", 0.0):
        free_gradient = np.where(w[is_free] > 0.0, free_gradient, np.minimum(free_gradient, 0.0))
    free_norms = column_norms[is_free, None]
    newton_step = np.abs(free_gradient) / np.maximum(free_norms, 1e-150) ** 2
    max_change = np.maximum(np.abs(w[is_free]), newton_step)
    return float((np.abs(free_gradient) * np.where(free_norms > 0.0, max_change, 0.0)).sum())
