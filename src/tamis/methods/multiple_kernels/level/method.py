"""Weights of kernels by the level method, or by closed-form steps on a norm ball; both end with a
certified gap.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tamis.methods.multiple_kernels.level.level_set import Planes, nearest_below
from tamis.methods.multiple_kernels.level.weight_set import WeightSet

TAU = 0.5  # place of the level between the bounds; 0.9 and above stalls
PROBES = 12
STALLED = 50  # iterations that must narrow the gap by a hundredth
FAILED = 3  # machines that do not converge before the weights are let be


class Cut(NamedTuple):
    """What a kernel machine at fixed weights tells: its linear part, the form of each kernel, its
    own gap, and the machine.
    """

    constant: float
    forms: np.ndarray
    slack: float
    machine: Any
    settled: bool = True
    """Whether the machine converged."""


class Weighing(NamedTuple):
    """Weights, bounds on the optimum, the machine at these weights, what happened, and whether the
    gap was reached.
    """

    theta: np.ndarray
    upper: float
    lower: float
    machine: Any
    history: list
    converged: bool

    @property
    def gap(self) -> float:
        """Relative gap."""
        return max(self.upper - self.lower, 0.0) / max(abs(self.upper), 1e-300)


Evaluate = Callable[[np.ndarray, float], Cut]


class _Best:
    """The bounds so far, and the weights of the upper one."""

    def __init__(self):
        self.upper, self.lower = np.inf, -np.inf
        self.theta, self.machine = np.zeros(0), None
        self.history, self.failures = [], 0

    def take(self, theta, cut: Cut) -> float:
        """Note a machine; its value, its own gap included, bounds the optimum from above."""
        value = cut.constant - 0.5 * float(cut.forms @ theta) + cut.slack
        self.failures += not cut.settled
        if value < self.upper:
            self.upper, self.theta, self.machine = value, theta, cut.machine
        return value

    def note(self) -> None:
        """One line of history: the bounds, and the kernels of the best weights so far."""
        kept = int(np.count_nonzero(self.theta > 1e-6 * self.theta.max(initial=0.0)))
        self.history.append(
            {
                "iteration": len(self.history) + 1,
                "upper": self.upper,
                "lower": self.lower,
                "kernels": kept,
            }
        )

    def closed(self, tol: float) -> bool:
        """Whether the bounds have met."""
        return self.upper - self.lower <= tol * abs(self.upper)

    def stuck(self) -> bool:
        """Whether going on is of no use: machines do not converge, or the bounds hardly move."""
        if self.failures >= FAILED or not self.upper < np.inf:
            return True
        gaps = [line["upper"] - line["lower"] for line in self.history[-1 - STALLED :]]
        return len(gaps) > STALLED and gaps[-1] > 0.99 * gaps[0]

    def outcome(self, tol: float) -> Weighing:
        """All of it."""
        if self.machine is None:
            raise FloatingPointError(
                "the objective became infinite or nan: the numbers in X or the weights are too "
                "large. Scale them."
            )
        return Weighing(
            self.theta, self.upper, self.lower, self.machine, self.history, self.closed(tol)
        )


def level_method(
    evaluate: Evaluate, allowed: WeightSet, count: int, tol: float, max_iter: int
) -> Weighing:
    """Minimise over the weights by projections onto level sets of the highest cutting plane."""
    best, theta = _Best(), allowed.uniform(count)
    constants, forms = np.zeros(0), np.zeros((0, count))
    for _ in range(max_iter):
        cut = evaluate(theta, 0.1 * tol)
        best.take(theta, cut)
        constants, forms = np.append(constants, cut.constant), np.vstack([forms, cut.forms])
        planes = Planes(constants, forms)
        best.lower = max(best.lower, cut.constant - 0.5 * allowed.support(cut.forms)[0])
        if not best.closed(tol):
            shares = _raise_lower(best, allowed, planes, theta)
        best.note()
        if best.closed(tol) or best.stuck():
            break
        after = _next_weights(best, allowed, planes, theta, shares)
        if after is None or np.array_equal(after, theta):
            break
        theta = after
    return best.outcome(tol)


def _raise_lower(best: _Best, allowed: WeightSet, planes: Planes, theta):
    """Bring the lower bound to within a tenth of the gap of what the planes allow, by bisection;
    multipliers to start the next search from.
    """
    high, shares = best.upper, None
    for _ in range(PROBES):
        if high - best.lower <= 0.1 * (best.upper - best.lower):
            break
        point = nearest_below(allowed, planes, theta, 0.5 * (best.lower + high), shares)
        best.lower = max(best.lower, point.bound)
        if point.theta is not None:
            high, shares = min(high, max(planes.height(point.theta), best.lower)), point.shares
    return shares


def _next_weights(best: _Best, allowed: WeightSet, planes: Planes, theta, shares):
    """The projection onto the level set; where that is empty, the lower bound has risen, and
    another level is tried.
    """
    for _ in range(PROBES):
        point = nearest_below(
            allowed, planes, theta, best.lower + TAU * (best.upper - best.lower), shares
        )
        best.lower = max(best.lower, point.bound)
        if point.theta is not None:
            return allowed.lifted(point.theta)  # already there, but for the cone solver's tolerance
    return None


def norm_method(evaluate: Evaluate, p: float, count: int, tol: float, max_iter: int) -> Weighing:
    """Minimise over the weights of p-norm 1 by the closed form for a fixed machine."""
    best, theta = _Best(), np.full(count, count ** (-1.0 / p))
    for _ in range(max_iter):
        cut = evaluate(theta, 0.1 * tol)
        best.take(theta, cut)
        top = max(float(cut.forms.max()), 1e-300)
        shares = (cut.forms.clip(0.0) / top) ** (p / (p - 1.0))
        dual = top * float(shares.sum() ** (1.0 - 1.0 / p))
        best.lower = max(best.lower, cut.constant - 0.5 * dual)
        best.note()
        if best.closed(tol) or best.stuck():
            break
        norms = theta**2 * cut.forms.clip(0.0)  # squared, of the machine in each kernel's space
        if not norms.any():
            break
        theta = (norms / norms.max()) ** (1.0 / (p + 1.0))
        theta /= (theta**p).sum() ** (1.0 / p)
    return best.outcome(tol)


def fixed_weights(evaluate: Evaluate, theta: np.ndarray, tol: float) -> Weighing:
    """One machine at given weights; the gap is the machine's own."""
    best = _Best()
    cut = evaluate(theta, tol)
    best.lower = best.take(theta, cut) - cut.slack
    best.note()
    return best.outcome(tol)
