"""The certificate of a model of thresholded data: how far it is, at most, from the optimum on the
data themselves.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.methods.thresholding.bounds import (
    AT_ZERO,
    Problem,
    absolute_bound,
    balance,
    dual_start,
    dual_value,
    mean_loss,
    relative_bound,
    settle_intercept,
)
from tamis.methods.thresholding.solver import Fit, repaired
from tamis.methods.thresholding.thresholds import Kept


class Certificate(NamedTuple):
    """What is known of a model of thresholded data, on the data themselves."""

    primal_thresholded: float
    primal_original: float
    dual_bound: float
    gap: float
    rel_gap: float
    apriori_abs: float
    apriori_rel: float
    vacuous: bool
    aposteriori: float
    upper_thresholded: float
    dual_thresholded: float
    solver_gap: float

    def holds(self, max_error: float, mode: str) -> bool:
        """Whether one of the bounds is at most `max_error`."""
        if mode == "relative":
            after = share(self.aposteriori, self.dual_bound)
            return min(self.rel_gap, self.apriori_rel, after) <= max_error
        return min(self.gap, self.apriori_abs, self.aposteriori) <= max_error


def share(part: float, whole: float) -> float:
    """A share of something that may be 0."""
    if part <= 0.0:
        return 0.0
    return part / whole if whole > 0.0 else math.inf


def certify(problem: Problem, matrix, kept: Kept, fit: Fit) -> Certificate:
    """The certificate of a fit on the kept entries: its scores on all entries, and the best lower
    bound that a few passes over them give.
    """
    norm = float(np.abs(fit.weights).sum())
    own = balance(problem, fit.alphas)
    there = fit.correlation
    if there is None:
        there = float(np.abs(kept.matrix.T @ (problem.signs * own)).max(initial=0.0))
    lower = mean_loss(problem, fit.scores) + problem.strength * norm
    off = max(lower - dual_value(problem, own, there), 0.0)
    blind = dual_value(problem, own, there + kept.dropped * float(own.sum()))
    if kept.dropped == 0.0:
        upper, bound = lower, blind
    else:
        scores = matrix @ fit.weights + fit.intercept
        upper = mean_loss(problem, scores) + problem.strength * norm
        bound = max(blind, _bound(problem, matrix, fit, own, scores))
    gap, at_zero = max(upper - bound, 0.0), AT_ZERO[problem.loss]
    ratio = 1.0 + kept.dropped / problem.strength
    before = absolute_bound(kept.dropped, problem.strength, at_zero, off)
    return Certificate(
        primal_thresholded=lower,
        primal_original=upper,
        dual_bound=bound,
        gap=gap,
        rel_gap=share(gap, bound),
        apriori_abs=before,
        apriori_rel=relative_bound(kept.dropped, problem.strength, share(off, bound)),
        vacuous=kept.dropped > 0.0 and before >= at_zero,
        aposteriori=max(upper - (lower - off) / ratio, 0.0),
        upper_thresholded=lower + kept.dropped * norm,
        dual_thresholded=blind,
        solver_gap=off,
    )


def _bound(problem: Problem, matrix, fit: Fit, own, scores) -> float:
    """The largest dual value of two points: that of the fit, shrunk until it is feasible, and the
    same repaired where it was not.

    Shrinking pays for the worst column with all rows, and that is dear. So the columns whose
    condition is broken join those in use for a few steps on the data themselves, as in a warm
    start; what these give is shrunk in turn, by much less.
    """
    if problem.loss == "logistic":
        own = balance(problem, dual_start(problem, settle_intercept(problem, scores)))
    correlations = np.abs(matrix.T @ (problem.signs * own))
    first = dual_value(problem, own, float(correlations.max(initial=0.0)))
    columns = np.flatnonzero((correlations > problem.strength) | (fit.weights != 0.0))
    if not len(columns):
        return first
    better = balance(problem, repaired(problem, matrix[:, columns], fit.weights[columns], scores))
    largest = float(np.abs(matrix.T @ (problem.signs * better)).max(initial=0.0))
    return max(first, dual_value(problem, better, largest))
