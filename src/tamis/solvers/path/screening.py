"""A point seen from all columns: scores, slopes, duality gap, and which blocks are safely 0."""

from typing import NamedTuple

import numpy as np

from tamis.solvers.path.inner.models import parts_of
from tamis.solvers.path.loop import dual_blocks, value_blocks, weigh_blocks
from tamis.solvers.path.problem import Problem, penalised

NEAR = 0.1  # of the loss of the empty model: a gap above it screens nothing, as a rule
# of the objective: a gap below it is noise, and no proof that a group at its price is 0
ROUNDING = 1e-12


class Look(NamedTuple):
    """Scores and slopes of a point, primal and dual value, gap, and how each block stands: how far
    its slope exceeds its price, and whether it is 0 at the optimum.
    """

    bias: np.ndarray
    scores: np.ndarray
    slope: np.ndarray
    objective: float
    dual: float
    gap: float
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


def empty_loss(problem: Problem) -> float:
    """Loss of the best intercept alone (without one, of scores 0)."""
    w, bias = problem.empty()
    scores = scores_of(problem, w, bias)
    if problem.fit_intercept:
        _, scores = problem.smooth.center(problem.design, scores, bias)
    return max(problem.smooth.value(scores), 1e-300)


def look(problem: Problem, penalty, done: float, loss: float, w, bias, scores=None) -> Look:
    """All that one pass over the table tells.

    Nothing is screened while the gap is near the loss of the empty model, where it proves nothing,
    nor once the gap is `done`.
    """
    design, smooth, blocks = problem.design, problem.smooth, problem.blocks
    parts, many = parts_of(blocks), np.uint64(design.outputs)
    bias, scores, slopes, slope = seen(problem, w, bias, scores)
    objective = smooth.value(scores) + value_blocks(w.ravel(), *parts, penalty, many)
    reach = dual_blocks(slope.ravel(), *parts, penalty, many)
    shrink = min(1.0, penalty.alpha / reach) if reach > 0.0 else 1.0
    dual = smooth.dual(shrink * slopes)
    gap = max(objective - dual, 0.0) + _free_slack(problem, penalty, w, slope)
    excess, safe = np.empty(blocks.n_groups), np.zeros(blocks.n_groups, dtype=np.int64)
    if done < gap <= NEAR * loss:
        radius = np.sqrt(2.0 * smooth.lipschitz * (gap + ROUNDING * abs(objective)))
        norms, feasible = blocks.stacked(design.norms()), (shrink * slope).ravel()
        weigh_blocks(feasible, *parts, norms, radius, penalty, many, excess, safe)
    none = np.zeros(len(slope))
    weigh_blocks(slope.ravel(), *parts, none, 0.0, penalty, many, excess, np.empty_like(safe))
    return Look(bias, scores, slope, objective, dual, gap, excess, safe)


def _free_slack(problem: Problem, penalty, w, slope) -> float:
    """What is left to gain in places that are not penalised, whose slope the dual wants to be 0."""
    blocks = problem.blocks
    free = ~penalised(blocks)
    if not free.any():
        return 0.0
    free = np.repeat(free, np.diff(blocks.starts).astype(np.int64))
    off, norms = slope[free], blocks.stacked(problem.design.norms())
    if penalty.positive:
        off = np.where(w[free] > 0.0, off, np.minimum(off, 0.0))
    reach = np.maximum(np.abs(w[free]), np.abs(off) / np.maximum(norms[free, None], 1e-150) ** 2)
    return float((np.abs(off) * np.where(norms[free, None] > 0.0, reach, 0.0)).sum())
