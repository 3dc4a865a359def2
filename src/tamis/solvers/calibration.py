"""Platt scaling: a sigmoid fitted to scores of held-out rows, which makes them probabilities."""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import compiled, compiled_helper


class SigmoidFit(NamedTuple):
    """Slope and offset of the sigmoid, and the Fisher information of the offset at a fixed slope
    (the inverse of its variance).
    """

    slope: float
    offset: float
    information: float


def fit_sigmoid(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> SigmoidFit:
    """Return the sigmoid of maximum likelihood for Platt's smoothed labels.

    Negated scores with swapped labels give the same slope and the negated offset, to the bit.
    """
    positive_weight = float(weights[positive].sum())
    negative_weight = float(weights[~positive].sum())
    scale = max(float(np.abs(scores).max(initial=0.0)), 1e-300)
    signs = np.where(positive, 1.0, -1.0)
    smoothing = np.where(positive, 1.0 / (positive_weight + 2.0), 1.0 / (negative_weight + 2.0))
    initial_offset = np.log(positive_weight + 1.0) - np.log(negative_weight + 1.0)
    slope, offset, information = minimize_cross_entropy(
        scores / scale, signs, smoothing, weights, initial_offset
    )
    return SigmoidFit(slope / scale, offset, information)


@compiled
def minimize_cross_entropy(scores, signs, smoothing, weights, offset):
    """Minimise the cross-entropy by Newton's method with halved steps, from slope 0 and `offset`.

    Return the slope, the offset and the information on the offset.
    """
    slope = 0.0
    terms = cross_entropy_terms(scores, signs, smoothing, weights, slope, offset)
    for _ in range(100):
        loss, slope_gradient, offset_gradient, slope_hessian, cross_hessian, information = terms
        determinant = slope_hessian * information - cross_hessian * cross_hessian
        if determinant > 1e-12 * slope_hessian * information:
            slope_step = (
                information * slope_gradient - cross_hessian * offset_gradient
            ) / determinant
            offset_step = (
                slope_hessian * offset_gradient - cross_hessian * slope_gradient
            ) / determinant
        elif information > 0.0:
            # All scores are equal, so that the slope is not identified.
            slope_step, offset_step = 0.0, offset_gradient / information
        else:
            break
        step_fraction = 1.0
        predicted_decrease = slope_gradient * slope_step + offset_gradient * offset_step
        candidate = cross_entropy_terms(
            scores, signs, smoothing, weights, slope - slope_step, offset - offset_step
        )
        while (
            not candidate[0] <= loss - 1e-4 * step_fraction * predicted_decrease
            and step_fraction > 1e-10
        ):
            step_fraction *= 0.5
            candidate = cross_entropy_terms(
                scores,
                signs,
                smoothing,
                weights,
                slope - step_fraction * slope_step,
                offset - step_fraction * offset_step,
            )
        if step_fraction <= 1e-10:
            break
        slope = slope - step_fraction * slope_step
        offset = offset - step_fraction * offset_step
        terms = candidate
        if loss - candidate[0] <= 1e-10 * abs(candidate[0]):
            break
    return slope, offset, terms[5]


@compiled_helper
def cross_entropy_terms(scores, signs, smoothing, weights, slope, offset):
    """Return the cross-entropy of the smoothed labels, its derivatives in slope and offset, and
    its second derivatives (slope, mixed, offset).
    """
    loss, slope_gradient, offset_gradient = 0.0, 0.0, 0.0
    slope_hessian, cross_hessian, information = 0.0, 0.0, 0.0
    for i in range(np.uint64(scores.shape[0])):
        score, weight = scores[i], weights[i]
        margin = signs[i] * (slope * score + offset)
        exp_margin = math.exp(-abs(margin))
        tail_probability = exp_margin / (1.0 + exp_margin)
        error_probability = tail_probability if margin > 0.0 else 1.0 - tail_probability
        loss += weight * (math.log1p(exp_margin) - min(margin, 0.0) + smoothing[i] * margin)
        gradient = weight * signs[i] * (smoothing[i] - error_probability)
        hessian = weight * tail_probability * (1.0 - tail_probability)
        slope_gradient += gradient * score
        offset_gradient += gradient
        slope_hessian += hessian * score * score
        cross_hessian += hessian * score
        information += hessian
    return loss, slope_gradient, offset_gradient, slope_hessian, cross_hessian, information


def sigmoid(score: np.ndarray) -> np.ndarray:
    """Return the logistic function of scores, without overflow for large ones."""
    return 0.5 * (1.0 + np.tanh(0.5 * score))
