"""Cutting-plane method for ``min 1/2 ||w||^2 + cost * R(w)``, with R from an oracle and a bound on
the gap.

R is convex, and is minimised over the intercept. Every iteration adds a plane below R. The best
weights for all planes so far solve a quadratic program over a simplex, and its value is a lower
bound on the optimum. This is a bundle method with the penalty as its stabilising term: C. H. Teo,
S. Vishwanathan, A. Smola and Q. Le, "Bundle Methods for Regularized Risk Minimization", JMLR 11,
2010.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.robust.loop import maximize_on_simplex

INTERCEPT_TOL = 1e-10  # accuracy of the minimum over the intercept, relative to its value
MAX_INTERCEPT_STEPS = 100  # steps that narrow the bracket of the intercept
# Doublings of a step of 1: beyond the intercept of any targets that pass validation.
MAX_DOUBLINGS = 400
OVERFLOW_MESSAGE = (
    "the objective became infinite or nan: the numbers in X are too large for double "
    "precision. Scale the columns."
)
MAX_UNUSED_ITERATIONS = 30  # iterations with a multiplier of 0 after which a plane is dropped
# Iterations that must narrow the gap by a hundredth: otherwise double precision limits the planes.
STALL_ITERATIONS = 100


class CuttingPlaneResult(NamedTuple):
    """The best weights, their objective, a lower bound on the optimum, and a record of each
    iteration.
    """

    weights: np.ndarray
    intercept: float
    objective: float
    lower: float
    converged: bool
    history: list[dict]

    @property
    def gap(self) -> float:
        """Bound on the distance from the optimum, as a fraction of the objective."""
        return (self.objective - self.lower) / self.objective if self.objective > 0.0 else 0.0


class Tangent(NamedTuple):
    """R at one intercept: its value, its gradient in the scores, and its derivative in the dual
    norm of the weights.
    """

    intercept: float
    value: float
    score_gradient: np.ndarray
    norm_derivative: float

    @property
    def intercept_derivative(self) -> float:
        """Derivative of R in the intercept."""
        return float(self.score_gradient.sum())


def minimise(oracle, width: int, cost: float, tol: float, max_iter: int) -> CuttingPlaneResult:
    """Add planes until the gap is at most `tol` times the best objective."""
    planes = _Planes(width, cost)
    minimiser, intercept, lower = np.zeros(width), 0.0, 0.0
    best, history = (np.inf, minimiser, intercept), []
    for iteration in range(1, max_iter + 1):
        # Planes are tighter halfway between the best weights and the minimiser of the planes. If
        # such a plane does not exceed the others at the minimiser, add one there too.
        for weights in (best[1] + 0.5 * (minimiser - best[1]), minimiser):
            value, intercept, gradient, offset = tangent_plane(oracle, weights, intercept)
            objective = 0.5 * float(weights @ weights) + cost * value
            best = (objective, weights, intercept) if objective < best[0] else best
            planes.add(gradient, offset)
            if iteration == 1 or planes.last_is_highest(minimiser):
                break
        if not np.isfinite(objective + planes.gram[-1, -1]):
            raise FloatingPointError(OVERFLOW_MESSAGE)
        if best[0] - lower > tol * best[0]:
            minimiser, bound = planes.solve(0.1 * tol * best[0])
            lower = max(lower, bound)
        history.append({"turn": iteration, "objective": best[0], "lower": lower})
        if best[0] - lower <= tol * best[0] or _stalled(history):
            break
    return CuttingPlaneResult(
        best[1], best[2], best[0], lower, best[0] - lower <= tol * best[0], history
    )


def _stalled(history: list[dict]) -> bool:
    """Return whether the last `STALL_ITERATIONS` planes narrowed the relative gap by less than a
    hundredth.
    """
    if len(history) <= STALL_ITERATIONS:
        return False
    previous_gap, gap = (
        1.0 - record["lower"] / record["objective"]
        for record in (history[-1 - STALL_ITERATIONS], history[-1])
    )
    return gap > 0.99 * previous_gap


class _Planes:
    """Planes below R, starting with 0, and their multipliers; planes with a multiplier of 0 in the
    last `MAX_UNUSED_ITERATIONS` iterations are dropped.
    """

    def __init__(self, width: int, cost: float):
        self.cost = cost
        self.gradients = np.zeros((1, width))
        self.offsets = np.zeros(1)
        self.gram = np.zeros((1, 1))
        self.multipliers, self.n_unused = np.ones(1), np.zeros(1, dtype=np.int64)

    def add(self, gradient, offset: float) -> None:
        """Add a plane."""
        is_used = self.n_unused < MAX_UNUSED_ITERATIONS
        products = self.gradients[is_used] @ gradient
        self.gram = np.block(
            [
                [self.gram[np.ix_(is_used, is_used)], products[:, None]],
                [products[None, :], gradient @ gradient],
            ]
        )
        self.gradients = np.vstack((self.gradients[is_used], gradient))
        self.offsets, self.multipliers, self.n_unused = (
            np.append(values[is_used], new_value)
            for values, new_value in (
                (self.offsets, offset),
                (self.multipliers, 0.0),
                (self.n_unused, 0),
            )
        )

    def last_is_highest(self, weights) -> bool:
        """Return whether the last plane is the highest one at the weights."""
        values = self.gradients @ weights + self.offsets
        return values[-1] > values[:-1].max() * (1.0 + 1e-12)

    def solve(self, tol: float) -> tuple[np.ndarray, float]:
        """Return weights that minimise the objective of the planes within `tol`, and a lower bound
        on the optimum.
        """
        n_planes = len(self.multipliers)
        maximize_on_simplex(
            self.gram, self.offsets, self.cost, self.multipliers, 10 * n_planes + 1000, tol
        )
        self.multipliers = (
            np.maximum(self.multipliers, 0.0) / np.maximum(self.multipliers, 0.0).sum()
        )
        self.n_unused = np.where(self.multipliers > 0.0, 0, self.n_unused + 1)
        weights = -self.cost * (self.multipliers @ self.gradients)
        bound = self.cost * float(self.offsets @ self.multipliers) - 0.5 * float(weights @ weights)
        return weights, bound


def tangent_plane(oracle, weights, start: float):
    """Return the value of R at the weights, the best intercept, and the gradient and offset of a
    plane that touches R there.
    """
    oracle.set_weights(weights)
    if not oracle.fit_intercept:
        tangent = oracle.tangent_at(0.0)
        weight_gradient = oracle.gradient(tangent.score_gradient, tangent.norm_derivative)
        return tangent.value, 0.0, weight_gradient, tangent.value - float(weight_gradient @ weights)
    low, high, best = _bracket_intercept(oracle, start)
    # The convex combination of two tangents with a zero derivative in the intercept is below R for
    # every intercept.
    low_weight = (
        1.0
        if low is high
        else high.intercept_derivative / (high.intercept_derivative - low.intercept_derivative)
    )
    mixture = [(low_weight, low), (1.0 - low_weight, high)]
    score_gradient = sum(weight * tangent.score_gradient for weight, tangent in mixture)
    weight_gradient = oracle.gradient(
        score_gradient, sum(weight * tangent.norm_derivative for weight, tangent in mixture)
    )
    value_at_zero = sum(
        weight * (tangent.value - tangent.intercept_derivative * tangent.intercept)
        for weight, tangent in mixture
    )
    return (
        best.value,
        best.intercept,
        weight_gradient,
        value_at_zero - float(weight_gradient @ weights),
    )


def _bracket_intercept(oracle, start: float) -> tuple[Tangent, Tangent, Tangent]:
    """Return a decreasing and an increasing tangent that meet near the minimum over the intercept,
    and the tangent of lowest value.
    """
    first = oracle.tangent_at(start)
    if _is_flat(first):
        return first, first, first
    step, last = (1.0 if first.intercept_derivative < 0.0 else -1.0), first
    for _ in range(MAX_DOUBLINGS):
        other = oracle.tangent_at(last.intercept + step)
        if _is_flat(other):
            return other, other, other
        if (other.intercept_derivative < 0.0) != (first.intercept_derivative < 0.0):
            break
        last, step = other, 2.0 * step
    else:
        raise FloatingPointError(OVERFLOW_MESSAGE)
    low, high = (last, other) if last.intercept_derivative < 0.0 else (other, last)
    best = low if low.value <= high.value else high
    for _ in range(MAX_INTERCEPT_STEPS):
        intercept = (
            low.value
            - low.intercept_derivative * low.intercept
            - high.value
            + high.intercept_derivative * high.intercept
        ) / (high.intercept_derivative - low.intercept_derivative)
        lower_bound = low.value + low.intercept_derivative * (intercept - low.intercept)
        if (
            best.value - lower_bound <= INTERCEPT_TOL * abs(best.value)
            or not low.intercept < intercept < high.intercept
        ):
            break
        tangent = oracle.tangent_at(intercept)
        best = tangent if tangent.value < best.value else best
        if _is_flat(tangent):
            return tangent, tangent, tangent
        low, high = (tangent, high) if tangent.intercept_derivative < 0.0 else (low, tangent)
    return low, high, best


def _is_flat(tangent: Tangent) -> bool:
    return abs(tangent.intercept_derivative) <= 1e-13 * float(np.abs(tangent.score_gradient).sum())
