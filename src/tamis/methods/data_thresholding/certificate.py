"""The certificate of a model of thresholded data: bounds on its distance from the optimum."""

import math
from typing import NamedTuple

import numpy as np

from tamis.methods.data_thresholding.bounds import (
    LOSS_AT_ZERO,
    ThresholdProblem,
    absolute_bound,
    balance,
    dual_limit,
    dual_value,
    mean_loss,
    relative_bound,
)
from tamis.methods.data_thresholding.solver import Fit, refine_duals
from tamis.methods.data_thresholding.thresholds import (
    ThresholdedMatrix,
    correlate_columns,
    select_columns,
)


class Certificate(NamedTuple):
    """Objectives and bounds of a model of thresholded data; see `certificate_` of
    `ThresholdedClassifier`.
    """

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

    def is_within(self, max_error: float, mode: str) -> bool:
        """Return whether one of the bounds is at most `max_error`."""
        if mode == "relative":
            aposteriori_rel = divide(self.aposteriori, self.dual_bound)
            return min(self.rel_gap, self.apriori_rel, aposteriori_rel) <= max_error
        return min(self.gap, self.apriori_abs, self.aposteriori) <= max_error


def divide(numerator: float, denominator: float) -> float:
    """Return the ratio of two nonnegative numbers; 0 / 0 is 0."""
    if numerator <= 0.0:
        return 0.0
    return numerator / denominator if denominator > 0.0 else math.inf


def certify(
    problem: ThresholdProblem, matrix, thresholded: ThresholdedMatrix, fit: Fit
) -> Certificate:
    """Return the certificate of a fit on thresholded data, from its objective and a dual lower
    bound on the original data.
    """
    max_dropped = thresholded.max_dropped
    norm = float(np.abs(fit.weights).sum())
    duals = balance(problem, fit.alphas)
    correlation, primal, dual = fit.correlation, fit.objective, fit.dual
    if correlation is None:
        correlation = float(np.abs(thresholded.matrix.T @ (problem.signs * duals)).max(initial=0.0))
    if primal is None:
        primal = mean_loss(problem, fit.scores) + problem.strength * norm
    if dual is None:
        dual = dual_value(problem, duals, correlation)
    solver_gap = max(primal - dual, 0.0)
    dual_thresholded = dual_value(problem, duals, correlation + max_dropped * float(duals.sum()))
    primal_original, dual_bound = primal, dual_thresholded
    if max_dropped > 0.0:
        scores, dual_on_data = _evaluate_on_data(problem, matrix, fit, duals)
        primal_original = mean_loss(problem, scores) + problem.strength * norm
        dual_bound = max(dual_thresholded, dual_on_data)
    gap, at_zero = max(primal_original - dual_bound, 0.0), LOSS_AT_ZERO[problem.loss]
    ratio = 1.0 + max_dropped / problem.strength
    apriori_abs = absolute_bound(max_dropped, problem.strength, at_zero, solver_gap)
    return Certificate(
        primal_thresholded=primal,
        primal_original=primal_original,
        dual_bound=dual_bound,
        gap=gap,
        rel_gap=divide(gap, dual_bound),
        apriori_abs=apriori_abs,
        apriori_rel=relative_bound(max_dropped, problem.strength, divide(solver_gap, dual_bound)),
        vacuous=max_dropped > 0.0 and apriori_abs >= at_zero,
        aposteriori=max(primal_original - (primal - solver_gap) / ratio, 0.0),
        upper_thresholded=primal + max_dropped * norm,
        dual_thresholded=dual_thresholded,
        solver_gap=solver_gap,
    )


def _evaluate_on_data(
    problem: ThresholdProblem, matrix, fit: Fit, duals
) -> tuple[np.ndarray, float]:
    """Return the scores on the original data, and the larger dual value of two feasible points: the
    dual variables of the fit scaled down, and refined dual variables.

    Scaling down lowers all dual variables because of the worst column, which makes a loose bound.
    So some solver steps on the original data refine the dual variables, restricted to the columns
    that violate their dual condition or have a weight; the refined ones need far less scaling.
    This takes three passes over the data: the correlations at the first point, the selection of
    the columns (which also give the scores), and the correlations at the second point.
    """
    correlations = np.abs(correlate_columns(matrix, problem.signs * duals))
    max_correlation = float(correlations.max(initial=0.0))
    columns = np.flatnonzero((correlations > problem.strength) | (fit.weights != 0.0))
    if not len(columns):
        return np.full(len(duals), fit.intercept), dual_value(problem, duals, max_correlation)
    rows, weights = select_columns(matrix, columns), fit.weights[columns]
    scores = rows @ weights + fit.intercept
    refined = refine_duals(problem, rows, weights, scores)
    refined_correlation = float(
        np.abs(correlate_columns(matrix, problem.signs * refined)).max(initial=0.0)
    )
    dual = dual_value(problem, refined, refined_correlation)
    if dual >= dual_limit(problem, duals, max_correlation):
        return scores, dual
    return scores, max(dual, dual_value(problem, duals, max_correlation))
