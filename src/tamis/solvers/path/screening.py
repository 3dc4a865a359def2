"""A point seen from all columns: scores, slopes, duality gap, and which blocks are safely 0."""

from typing import NamedTuple

import numpy as np

from tamis.solvers.path.inner.models import parts_of
from tamis.solvers.path.loop import (
    conjugate_blocks,
    distance_blocks,
    dual_blocks,
    excess_blocks,
    value_blocks,
    weigh_blocks,
)
from tamis.solvers.path.problem import Problem, penalised

NEAR = 0.05  # of the null deviance: a gap above it screens nothing, as a rule
# of the objective: a gap below it is noise, and no proof that a group at its price is 0
ROUNDING = 1e-12


class Look(NamedTuple):
    """Scores and slopes of a point, primal and dual value, their gap or, without one, the largest
    distance of a block to its subdifferential; and how each block stands: how far its slope exceeds
    its price, and whether it is 0 at the optimum.
    """

    bias: np.ndarray
    scores: np.ndarray
    slope: np.ndarray
    objective: float
    dual: float
    gap: float
    violation: float
    excess: np.ndarray
    safe: np.ndarray


def scores_of(problem: Problem, w, bias) -> np.ndarray:
    """Scores of the rows."""
    return problem.design.scores(problem.blocks.gathered(w)) + problem.design.level(bias)


def seen(problem: Problem, w, bias, scores=None):
    """Best intercepts at some weights, scores (given, where they are known), slopes of the rows,
    and slopes of the places.
    """
    design, smooth = problem.design, problem.smooth
    scores = scores_of(problem, w, bias) if scores is None else scores
    if problem.fit_intercept:
        bias, scores = smooth.center(design, scores, bias)
    slopes = smooth.gradient(scores)
    of_places = problem.blocks.stacked(design.slopes(smooth.weights[:, None] * slopes))
    return bias, scores, slopes, of_places


def null_deviance(problem: Problem) -> float:
    """Twice what the best intercepts alone lose beyond the least loss; never below rounding."""
    smooth = problem.smooth
    best = smooth.best_loss()
    null = smooth.null_loss(problem.design, problem.fit_intercept)
    return max(2.0 * (null - best), 1e-9 * abs(best), 1e-300)


def look(problem: Problem, penalty, done: float, deviance: float, w, bias, scores=None) -> Look:
    """All that one pass over the table tells.

    Nothing is screened while the gap is near the null deviance, where it proves nothing, nor once
    the gap is `done`. Screening needs a gap, a bounded second derivative, and `soft_threshold`.
    """
    design, smooth, blocks = problem.design, problem.smooth, problem.blocks
    parts, many = parts_of(blocks), np.uint64(design.outputs)
    bias, scores, slopes, slope = seen(problem, w, bias, scores)
    stacked = np.ascontiguousarray(slope).ravel()
    objective = smooth.value(scores) + value_blocks(w.ravel(), *parts, penalty, many)
    excess, safe = np.empty(blocks.n_groups), np.zeros(blocks.n_groups, dtype=np.int64)
    thresholds = hasattr(penalty, "soft_threshold")
    dual, gap, violation = -np.inf, np.inf, np.inf
    if problem.certified:
        reach = dual_blocks(stacked, *parts, penalty, many)
        # The conjugate is 0 where all blocks stay 0. Beyond, that of a norm is inf: slopes are
        # shrunk.
        shrink, conjugate = 1.0, 0.0
        if reach > penalty.alpha:
            norm = hasattr(penalty, "is_norm") and penalty.is_norm()
            conjugate = np.inf if norm else conjugate_blocks(stacked, *parts, penalty, many)
            if conjugate in (0.0, np.inf):
                shrink, conjugate = penalty.alpha / reach, 0.0
        feasible = shrink * stacked
        dual = smooth.dual(shrink * slopes) - conjugate
        gap = max(objective - dual, 0.0) + _free_slack(problem, penalty, w, slope)
        if thresholds and np.isfinite(smooth.lipschitz) and done < gap <= NEAR * deviance:
            radius = np.sqrt(2.0 * smooth.lipschitz * (gap + ROUNDING * abs(objective)))
            norms = blocks.stacked(design.norms())
            weigh_blocks(feasible, *parts, norms, radius, penalty, many, excess, safe)
    else:
        violation = distance_blocks(w.ravel(), stacked, *parts, penalty, many)
    if thresholds:
        none = np.zeros(len(slope))
        weigh_blocks(stacked, *parts, none, 0.0, penalty, many, excess, np.empty_like(safe))
    else:
        excess_blocks(stacked, *parts, penalty, many, excess)
    return Look(bias, scores, slope, objective, dual, gap, violation, excess, safe)


def _free_slack(problem: Problem, penalty, w, slope) -> float:
    """What is left to gain in places that are not penalised, whose slope the dual wants to be 0."""
    blocks = problem.blocks
    free = ~penalised(blocks)
    if not free.any():
        return 0.0
    free = np.repeat(free, np.diff(blocks.starts).astype(np.int64))
    off, norms = slope[free], blocks.stacked(problem.design.norms())
    if getattr(penalty, "positive", 0.0):
        off = np.where(w[free] > 0.0, off, np.minimum(off, 0.0))
    reach = np.maximum(np.abs(w[free]), np.abs(off) / np.maximum(norms[free, None], 1e-150) ** 2)
    return float((np.abs(off) * np.where(norms[free, None] > 0.0, reach, 0.0)).sum())
