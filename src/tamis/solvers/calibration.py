"""Probabilities from scores: a sigmoid fitted to scores of rows that were held out (Platt's
method).
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import compiled, helper


class Line(NamedTuple):
    """A sigmoid's slope and offset, and how much the rows tell of the offset: the inverse of its
    variance, the slope held.
    """

    slope: float
    offset: float
    information: float


def fit_sigmoid(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Line:
    """The sigmoid that makes the smoothed labels most likely, by Newton's method with halved steps.

    The other labels of negated scores give the same slope and the negated offset, to the bit.
    """
    plus, minus = float(weights[positive].sum()), float(weights[~positive].sum())
    unit = max(float(np.abs(scores).max(initial=0.0)), 1e-300)
    signs = np.where(positive, 1.0, -1.0)
    doubt = np.where(positive, 1.0 / (plus + 2.0), 1.0 / (minus + 2.0))
    start = np.log(plus + 1.0) - np.log(minus + 1.0)
    slope, offset, information = newton(scores / unit, signs, doubt, weights, start)
    return Line(slope / unit, offset, information)


@compiled
def newton(scores, signs, doubt, weights, offset):
    """Slope and offset from a first offset, and the information on the offset."""
    slope = 0.0
    at = likelihood(scores, signs, doubt, weights, slope, offset)
    for _ in range(100):
        loss, first, second, steep, shared, information = at
        room = steep * information - shared * shared
        if room > 1e-12 * steep * information:
            across = (information * first - shared * second) / room
            along = (steep * second - shared * first) / room
        elif information > 0.0:
            # All scores are one: nothing tells the slope from the offset.
            across, along = 0.0, second / information
        else:
            break
        size, down = 1.0, first * across + second * along
        after = likelihood(scores, signs, doubt, weights, slope - across, offset - along)
        while not after[0] <= loss - 1e-4 * size * down and size > 1e-10:
            size *= 0.5
            after = likelihood(
                scores, signs, doubt, weights, slope - size * across, offset - size * along
            )
        if size <= 1e-10:
            break
        slope, offset, at = slope - size * across, offset - size * along, after
        if loss - after[0] <= 1e-10 * abs(after[0]):
            break
    return slope, offset, at[5]


@helper
def likelihood(scores, signs, doubt, weights, slope, offset):
    """Cross-entropy of labels of which a little is doubted, its two slopes, and its curvature in
    the slope, in both, and in the offset.
    """
    loss, first, second, steep, shared, information = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(np.uint64(scores.shape[0])):
        s, weight = scores[i], weights[i]
        margin = signs[i] * (slope * s + offset)
        fade = math.exp(-abs(margin))
        small = fade / (1.0 + fade)
        wrong = small if margin > 0.0 else 1.0 - small
        loss += weight * (math.log1p(fade) - min(margin, 0.0) + doubt[i] * margin)
        pull, bend = weight * signs[i] * (doubt[i] - wrong), weight * small * (1.0 - small)
        first += pull * s
        second += pull
        steep += bend * s * s
        shared += bend * s
        information += bend
    return loss, first, second, steep, shared, information


def sigmoid(score: np.ndarray) -> np.ndarray:
    """Logistic function, safe for large scores."""
    return 0.5 * (1.0 + np.tanh(0.5 * score))
