"""The weights of kernels by the level method, or by closed-form steps on a norm ball; both end with
a certified gap.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tamis.methods.multiple_kernels.level.level_set import PlaneModel, project_to_level
from tamis.methods.multiple_kernels.level.weight_set import WeightSet

TAU = 0.5  # position of the level between the bounds; 0.9 and above stalls
MAX_PROBES = 12  # levels tried in one bisection
STALL_ITERATIONS = 50  # in which the gap must narrow by one percent
MAX_FAILED_MACHINES = 3  # machines that do not converge, after which the search ends


class CuttingPlane(NamedTuple):
    """The cutting plane ``constant - 0.5 * forms @ theta`` of a kernel machine at fixed weights,
    the duality gap of the machine, and the machine.
    """

    constant: float
    forms: np.ndarray
    svm_gap: float
    machine: Any
    converged: bool = True
    """Whether the machine converged."""


class MKLSolution(NamedTuple):
    """Weights of the kernels, bounds on the optimum, the machine at these weights, the bounds of
    each iteration, and whether the gap reached the tolerance.
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


# Maps weights of the kernels and a relative tolerance to the cutting plane there.
Evaluate = Callable[[np.ndarray, float], CuttingPlane]


class _Bounds:
    """Bounds on the optimum, and the weights and machine of the upper one."""

    def __init__(self):
        self.upper, self.lower = np.inf, -np.inf
        self.theta, self.machine = np.zeros(0), None
        self.history, self.n_failed = [], 0

    def add(self, theta, plane: CuttingPlane) -> float:
        """Lower the upper bound by a machine; return its value plus its duality gap, which bounds
        the optimum from above.
        """
        value = plane.constant - 0.5 * float(plane.forms @ theta) + plane.svm_gap
        self.n_failed += not plane.converged
        if value < self.upper:
            self.upper, self.theta, self.machine = value, theta, plane.machine
        return value

    def record(self) -> None:
        """Append the bounds and the number of kernels of the best weights to the history."""
        n_kernels = int(np.count_nonzero(self.theta > 1e-6 * self.theta.max(initial=0.0)))
        self.history.append(
            {
                "iteration": len(self.history) + 1,
                "upper": self.upper,
                "lower": self.lower,
                "kernels": n_kernels,
            }
        )

    def has_converged(self, tol: float) -> bool:
        """Return whether the relative gap is at most `tol`."""
        return self.upper - self.lower <= tol * abs(self.upper)

    def is_stalled(self) -> bool:
        """Return whether machines do not converge or the gap no longer narrows."""
        if self.n_failed >= MAX_FAILED_MACHINES or not self.upper < np.inf:
            return True
        gaps = [
            record["upper"] - record["lower"] for record in self.history[-1 - STALL_ITERATIONS :]
        ]
        return len(gaps) > STALL_ITERATIONS and gaps[-1] > 0.99 * gaps[0]

    def solution(self, tol: float) -> MKLSolution:
        """Return the best weights with their bounds."""
        if self.machine is None:
            raise FloatingPointError(
                "the objective became infinite or nan: the numbers in X or the weights are too "
                "large. Scale them."
            )
        return MKLSolution(
            self.theta, self.upper, self.lower, self.machine, self.history, self.has_converged(tol)
        )


def level_method(
    evaluate: Evaluate, weight_set: WeightSet, n_kernels: int, tol: float, max_iter: int
) -> MKLSolution:
    """Minimise over the set of weights: each iteration adds a cutting plane and projects the
    weights onto a level set of all planes.
    """
    bounds, theta = _Bounds(), weight_set.uniform(n_kernels)
    constants, forms = np.zeros(0), np.zeros((0, n_kernels))
    for _ in range(max_iter):
        plane = evaluate(theta, 0.1 * tol)
        bounds.add(theta, plane)
        constants, forms = np.append(constants, plane.constant), np.vstack([forms, plane.forms])
        planes = PlaneModel(constants, forms)
        lower = plane.constant - 0.5 * weight_set.support(plane.forms)[0]
        bounds.lower = max(bounds.lower, lower)
        if not bounds.has_converged(tol):
            multipliers = _raise_lower_bound(bounds, weight_set, planes, theta)
        bounds.record()
        if bounds.has_converged(tol) or bounds.is_stalled():
            break
        next_theta = _next_weights(bounds, weight_set, planes, theta, multipliers)
        if next_theta is None or np.array_equal(next_theta, theta):
            break
        theta = next_theta
    return bounds.solution(tol)


def _raise_lower_bound(bounds: _Bounds, weight_set: WeightSet, planes: PlaneModel, theta):
    """Raise the lower bound by bisection to within a tenth of the gap of the minimum of the planes;
    return multipliers to start the next projection from.
    """
    high, multipliers = bounds.upper, None
    for _ in range(MAX_PROBES):
        if high - bounds.lower <= 0.1 * (bounds.upper - bounds.lower):
            break
        level = 0.5 * (bounds.lower + high)
        projection = project_to_level(weight_set, planes, theta, level, multipliers)
        bounds.lower = max(bounds.lower, projection.lower_bound)
        if projection.theta is not None:
            high = min(high, max(planes.value(projection.theta), bounds.lower))
            multipliers = projection.multipliers
    return multipliers


def _next_weights(
    bounds: _Bounds, weight_set: WeightSet, planes: PlaneModel, theta, multipliers
) -> np.ndarray | None:
    """Return the projection of the weights onto the level set. Where the set is empty, the lower
    bound rises and the next level is tried.
    """
    for _ in range(MAX_PROBES):
        level = bounds.lower + TAU * (bounds.upper - bounds.lower)
        projection = project_to_level(weight_set, planes, theta, level, multipliers)
        bounds.lower = max(bounds.lower, projection.lower_bound)
        if projection.theta is not None:
            # On the boundary already, up to the tolerance of the cone solver.
            return weight_set.scale_to_boundary(projection.theta)
    return None


def norm_method(
    evaluate: Evaluate, p: float, n_kernels: int, tol: float, max_iter: int
) -> MKLSolution:
    """Minimise over the weights of p-norm 1 by the closed form for a fixed machine."""
    bounds, theta = _Bounds(), np.full(n_kernels, n_kernels ** (-1.0 / p))
    for _ in range(max_iter):
        plane = evaluate(theta, 0.1 * tol)
        bounds.add(theta, plane)
        # The dual norm of the forms, without overflow.
        largest = max(float(plane.forms.max()), 1e-300)
        powers = (plane.forms.clip(0.0) / largest) ** (p / (p - 1.0))
        dual_norm = largest * float(powers.sum() ** (1.0 - 1.0 / p))
        bounds.lower = max(bounds.lower, plane.constant - 0.5 * dual_norm)
        bounds.record()
        if bounds.has_converged(tol) or bounds.is_stalled():
            break
        # Squared norms of the machine in the space of each kernel.
        squared_norms = theta**2 * plane.forms.clip(0.0)
        if not squared_norms.any():
            break
        theta = (squared_norms / squared_norms.max()) ** (1.0 / (p + 1.0))
        theta /= (theta**p).sum() ** (1.0 / p)
    return bounds.solution(tol)


def fixed_weights(evaluate: Evaluate, theta: np.ndarray, tol: float) -> MKLSolution:
    """Return the solution at fixed weights; its gap is the duality gap of the machine."""
    bounds = _Bounds()
    plane = evaluate(theta, tol)
    bounds.lower = bounds.add(theta, plane) - plane.svm_gap
    bounds.record()
    return bounds.solution(tol)
