"""Cutting planes: one engine for ``min 1/2 ||w||^2 + cost * R(w)``, with R behind an oracle, and an
exact gap.

The oracle's R is convex, and already minimised over the intercept. Every turn adds a plane below R,
and the best weights for all planes so far are a quadratic program over a simplex, whose value
bounds the optimum from below. (A bundle method whose steady term is the penalty itself: C. H. Teo,
S. Vishwanathan, A. Smola and Q. Le, "Bundle Methods for Regularized Risk Minimization", JMLR 11,
2010.) The weights of kernels have no such term and lie in a bounded set: they are found by the
level method, by projections.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.robust.loop import climb_simplex

NEAR = 1e-10  # of the value: how well the intercept is found
TRIES = 100
# of a step of 1: farther than any intercept of targets and weights that the border lets through
DOUBLINGS = 400
TOO_LARGE = (
    "the objective became infinite or nan: the numbers in X are too large for double "
    "precision. Scale the columns."
)
PATIENCE = 30  # turns that a plane may be of no use
# turns that must narrow the gap by a hundredth: planes that do less hit the limits of double
# precision
STALLED = 100


class Outcome(NamedTuple):
    """The best weights met, their objective, what none can be below, and each turn's figures."""

    weights: np.ndarray
    intercept: float
    objective: float
    lower: float
    converged: bool
    history: list[dict]

    @property
    def gap(self) -> float:
        """Distance from the optimum, at most, as a share of the objective."""
        return (self.objective - self.lower) / self.objective if self.objective > 0.0 else 0.0


class Tangent(NamedTuple):
    """R at one intercept: its value, its slopes in the scores, and its slope in the norm of the
    weights.
    """

    bias: float
    value: float
    slopes: np.ndarray
    norm_slope: float

    @property
    def bias_slope(self) -> float:
        """Slope in the intercept."""
        return float(self.slopes.sum())


def minimise(oracle, width: int, cost: float, tol: float, max_iter: int) -> Outcome:
    """Add planes until the best objective is within `tol` of the lower bound, as a share of it."""
    stack = _Planes(width, cost)
    goal, bias, lower = np.zeros(width), 0.0, 0.0
    best, history = (np.inf, goal, bias), []
    for turn in range(1, max_iter + 1):
        # Halfway between the best weights and those that the planes ask for, planes cut deeper;
        # unless they do not cut at all.
        for weights in (best[1] + 0.5 * (goal - best[1]), goal):
            value, bias, slope, offset = tangent_plane(oracle, weights, bias)
            level = 0.5 * float(weights @ weights) + cost * value
            best = (level, weights, bias) if level < best[0] else best
            stack.add(slope, offset)
            if turn == 1 or stack.cuts(goal):
                break
        if not np.isfinite(level + stack.gram[-1, -1]):
            raise FloatingPointError(TOO_LARGE)
        if best[0] - lower > tol * best[0]:
            goal, bound = stack.solve(0.1 * tol * best[0])
            lower = max(lower, bound)
        history.append({"turn": turn, "objective": best[0], "lower": lower})
        if best[0] - lower <= tol * best[0] or _stalled(history):
            break
    return Outcome(best[1], best[2], best[0], lower, best[0] - lower <= tol * best[0], history)


def _stalled(history: list[dict]) -> bool:
    """Whether the last planes have hardly narrowed the gap, as a share of the objective."""
    if len(history) <= STALLED:
        return False
    before, now = (
        1.0 - turn["lower"] / turn["objective"] for turn in (history[-1 - STALLED], history[-1])
    )
    return now > 0.99 * before


class _Planes:
    """Planes below R, the first of them 0, and how much each bears; those that have borne nothing
    for long are dropped.
    """

    def __init__(self, width: int, cost: float):
        self.cost = cost
        self.slopes, self.offsets, self.gram = np.zeros((1, width)), np.zeros(1), np.zeros((1, 1))
        self.shares, self.idle = np.ones(1), np.zeros(1, dtype=np.int64)

    def add(self, slope, offset: float) -> None:
        """One more plane."""
        stay = self.idle < PATIENCE
        products = self.slopes[stay] @ slope
        self.gram = np.block(
            [[self.gram[np.ix_(stay, stay)], products[:, None]], [products[None, :], slope @ slope]]
        )
        self.slopes = np.vstack((self.slopes[stay], slope))
        self.offsets, self.shares, self.idle = (
            np.append(old[stay], new)
            for old, new in ((self.offsets, offset), (self.shares, 0.0), (self.idle, 0))
        )

    def cuts(self, weights) -> bool:
        """Whether the last plane is the highest at the weights."""
        heights = self.slopes @ weights + self.offsets
        return heights[-1] > heights[:-1].max() * (1.0 + 1e-12)

    def solve(self, enough: float) -> tuple[np.ndarray, float]:
        """The weights that are best for the planes, nearly, and a lower bound of the optimum."""
        count = len(self.shares)
        climb_simplex(self.gram, self.offsets, self.cost, self.shares, 10 * count + 1000, enough)
        self.shares = np.maximum(self.shares, 0.0) / np.maximum(self.shares, 0.0).sum()
        self.idle = np.where(self.shares > 0.0, 0, self.idle + 1)
        weights = -self.cost * (self.shares @ self.slopes)
        bound = self.cost * float(self.offsets @ self.shares) - 0.5 * float(weights @ weights)
        return weights, bound


def tangent_plane(oracle, weights, start: float):
    """Value of R, the best intercept, and the slope and offset of a plane that touches R there."""
    oracle.move(weights)
    if not oracle.intercept:
        point = oracle.at(0.0)
        slope = oracle.gradient(point.slopes, point.norm_slope)
        return point.value, 0.0, slope, point.value - float(slope @ weights)
    low, high, best = _around(oracle, start)
    # A mixture of two tangents that is level in the intercept bounds R from below whatever the
    # intercept is.
    part = 1.0 if low is high else high.bias_slope / (high.bias_slope - low.bias_slope)
    mix = [(part, low), (1.0 - part, high)]
    slopes = sum(p * one.slopes for p, one in mix)
    slope = oracle.gradient(slopes, sum(p * one.norm_slope for p, one in mix))
    level = sum(p * (one.value - one.bias_slope * one.bias) for p, one in mix)
    return best.value, best.bias, slope, level - float(slope @ weights)


def _around(oracle, start: float) -> tuple[Tangent, Tangent, Tangent]:
    """Two tangents that fall and rise, meeting at the least value over the intercept, and the best
    point met.
    """
    first = oracle.at(start)
    if _level(first):
        return first, first, first
    step, last = (1.0 if first.bias_slope < 0.0 else -1.0), first
    for _ in range(DOUBLINGS):
        other = oracle.at(last.bias + step)
        if _level(other):
            return other, other, other
        if (other.bias_slope < 0.0) != (first.bias_slope < 0.0):
            break
        last, step = other, 2.0 * step
    else:
        raise FloatingPointError(TOO_LARGE)
    low, high = (last, other) if last.bias_slope < 0.0 else (other, last)
    best = low if low.value <= high.value else high
    for _ in range(TRIES):
        bias = (
            low.value - low.bias_slope * low.bias - high.value + high.bias_slope * high.bias
        ) / (high.bias_slope - low.bias_slope)
        least = low.value + low.bias_slope * (bias - low.bias)
        if best.value - least <= NEAR * abs(best.value) or not low.bias < bias < high.bias:
            break
        point = oracle.at(bias)
        best = point if point.value < best.value else best
        if _level(point):
            return point, point, point
        low, high = (point, high) if point.bias_slope < 0.0 else (low, point)
    return low, high, best


def _level(point: Tangent) -> bool:
    return abs(point.bias_slope) <= 1e-13 * float(np.abs(point.slopes).sum())
