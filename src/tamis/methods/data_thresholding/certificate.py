"""The certificate of a model of thresholded data: how far it is, at most, from the optimum on the
data themselves.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.methods.data_thresholding.bounds import (
    AT_ZERO,
    Problem,
    absolute_bound,
    balance,
    dual_limit,
    dual_value,
    mean_loss,
    relative_bound,
)
from tamis.methods.data_thresholding.solver import Fit, repaired
from tamis.methods.data_thresholding.thresholds import Kept, columns_of, pulls_of


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
    there, lower, dual = fit.correlation, fit.level, fit.dual
    if there is None:
        there = float(np.abs(kept.matrix.T @ (problem.signs * own)).max(initial=0.0))
    if lower is None:
        lower = mean_loss(problem, fit.scores) + problem.strength * norm
    off = max(lower - (dual_value(problem, own, there) if dual is None else dual), 0.0)
    blind = dual_value(problem, own, there + kept.dropped * float(own.sum()))
    upper, bound = lower, blind
    if kept.dropped > 0.0:
        scores, seen = _look(problem, matrix, fit, own)
        upper, bound = mean_loss(problem, scores) + problem.strength * norm, max(blind, seen)
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


def _look(problem: Problem, matrix, fit: Fit, own) -> tuple[np.ndarray, float]:
    """Scores on all entries, and the largest dual value of two points: that of the fit, shrunk
    until it is feasible, and the same repaired where it was not.

    Shrinking pays for the worst column with all rows, and that is dear. So the columns whose
    condition is broken join those in use for a few steps on the data themselves, as in a warm
    start; what these give is shrunk in turn, by much less. Three passes over the data do it: one
    for the columns under the first point, one that takes out the few columns, from which the scores
    are made too, and one for the columns under the second point.
    """
    pulls = np.abs(pulls_of(matrix, problem.signs * own))
    worst = float(pulls.max(initial=0.0))
    columns = np.flatnonzero((pulls > problem.strength) | (fit.weights != 0.0))
    if not len(columns):
        return np.full(len(own), fit.intercept), dual_value(problem, own, worst)
    rows, weights = columns_of(matrix, columns), fit.weights[columns]
    scores = rows @ weights + fit.intercept
    better = repaired(problem, rows, weights, scores)
    largest = float(np.abs(pulls_of(matrix, problem.signs * better)).max(initial=0.0))
    found = dual_value(problem, better, largest)
    if found >= dual_limit(problem, own, worst):
        return scores, found
    return scores, max(found, dual_value(problem, own, worst))
