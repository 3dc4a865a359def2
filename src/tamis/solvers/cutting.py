"""Cutting planes: one engine for ``min 1/2 ||w||^2 + cost * R(w)``, with R behind an oracle, and an exact gap.

The oracle's R is convex, and already minimised over the intercept. Every turn adds a plane below R, and the best weights for all planes so far are a
quadratic program over a simplex, whose value bounds the optimum from below.
"""

from typing import NamedTuple

import numpy as np

from tamis.loops.cutting import climb_simplex

NEAR = 1e-10  # of the value: how well the intercept is found
TRIES = 100


class Outcome(NamedTuple):
    """The best weights met, their objective, what no weights can be below, and each turn's figures."""

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


class Touch(NamedTuple):
    """R at one intercept: its value, its slopes in the scores, and its slope in the norm of the weights."""

    bias: float
    value: float
    pulls: np.ndarray
    mass: float

    @property
    def tilt(self) -> float:
        """Slope in the intercept."""
        return float(self.pulls.sum())


def minimise(oracle, width: int, cost: float, tol: float, max_iter: int) -> Outcome:
    """Add planes until the best objective is within `tol` of the lower bound, as a share of it."""
    stack = _Planes(width, cost)
    weights, bias, lower = np.zeros(width), 0.0, 0.0
    best, history = (np.inf, weights, bias), []
    for turn in range(1, max_iter + 1):
        value, bias, slope, offset = touch(oracle, weights, bias)
        level = 0.5 * float(weights @ weights) + cost * value
        if level < best[0]:
            best = (level, weights, bias)
        if not np.isfinite(level):
            raise FloatingPointError("the objective became infinite or nan: the numbers in X are too large for double precision. Scale the columns.")
        if best[0] - lower > tol * best[0]:
            stack.add(slope, offset)
            weights, bound = stack.solve(0.1 * max(best[0] - lower, tol * best[0]), 0.02 * tol * best[0])
            lower = max(lower, bound)
        history.append({"turn": turn, "objective": best[0], "lower": lower})
        if best[0] - lower <= tol * best[0]:
            return Outcome(best[1], best[2], best[0], lower, True, history)
    return Outcome(best[1], best[2], best[0], lower, False, history)


class _Planes:
    """Planes below R, the first of them 0, and how much each bears."""

    def __init__(self, width: int, cost: float):
        self.cost, self.count = cost, 1
        self.slopes, self.offsets = np.zeros((16, width)), np.zeros(16)
        self.gram, self.shares = np.zeros((16, 16)), np.zeros(16)
        self.shares[0] = 1.0

    def add(self, slope, offset: float) -> None:
        """One more plane."""
        if self.count == len(self.offsets):
            self.slopes = np.concatenate((self.slopes, np.zeros_like(self.slopes)))
            self.offsets, self.shares = (np.concatenate((old, np.zeros_like(old))) for old in (self.offsets, self.shares))
            self.gram = np.pad(self.gram, (0, self.count))
        k = self.count
        self.slopes[k], self.offsets[k] = slope, offset
        self.gram[k, : k + 1] = self.gram[: k + 1, k] = self.slopes[: k + 1] @ slope
        self.count += 1

    def solve(self, rough: float, fine: float) -> tuple[np.ndarray, float]:
        """The weights that are best for the planes, nearly, and a lower bound of the optimum."""
        k = self.count
        gram, offsets, shares = np.ascontiguousarray(self.gram[:k, :k]), self.offsets[:k].copy(), self.shares[:k].copy()
        climb_simplex(gram, offsets, self.cost, shares, 100 * k + 1000, min(rough, 10.0 * fine))
        shares = np.maximum(shares, 0.0) / np.maximum(shares, 0.0).sum()
        self.shares[:k] = shares
        weights = -self.cost * (shares @ self.slopes[:k])
        return weights, self.cost * float(offsets @ shares) - 0.5 * float(weights @ weights)


def touch(oracle, weights, start: float):
    """Value of R, the best intercept, and a plane below R that touches it there: slope and offset."""
    oracle.move(weights)
    if not oracle.intercept:
        point = oracle.at(0.0)
        slope = oracle.push(point.pulls, point.mass)
        return point.value, 0.0, slope, point.value - float(slope @ weights)
    low, high, best = _around(oracle, start)
    # A mixture of two tangents that is level in the intercept bounds R from below whatever the intercept is.
    part = 1.0 if low is high else high.tilt / (high.tilt - low.tilt)
    mix = [(part, low), (1.0 - part, high)]
    slope = oracle.push(sum(p * one.pulls for p, one in mix), sum(p * one.mass for p, one in mix))
    level = sum(p * (one.value - one.tilt * one.bias) for p, one in mix)
    return best.value, best.bias, slope, level - float(slope @ weights)


def _around(oracle, start: float) -> tuple[Touch, Touch, Touch]:
    """Two tangents that fall and rise, meeting at the least value over the intercept, and the best point met."""
    first = oracle.at(start)
    if _level(first):
        return first, first, first
    step, last = (1.0 if first.tilt < 0.0 else -1.0), first
    for _ in range(TRIES):
        other = oracle.at(last.bias + step)
        if _level(other):
            return other, other, other
        if (other.tilt < 0.0) != (first.tilt < 0.0):
            break
        last, step = other, 2.0 * step
    low, high = (last, other) if last.tilt < 0.0 else (other, last)
    best = low if low.value <= high.value else high
    for _ in range(TRIES):
        bias = (low.value - low.tilt * low.bias - high.value + high.tilt * high.bias) / (high.tilt - low.tilt)
        least = low.value + low.tilt * (bias - low.bias)
        if best.value - least <= NEAR * abs(best.value) or not low.bias < bias < high.bias:
            break
        point = oracle.at(bias)
        best = point if point.value < best.value else best
        if _level(point):
            return point, point, point
        low, high = (point, high) if point.tilt < 0.0 else (low, point)
    return low, high, best


def _level(point: Touch) -> bool:
    return abs(point.tilt) <= 1e-13 * float(np.abs(point.pulls).sum())
