"""Projection of kernel weights onto a level set: the nearest weights at which no cutting plane lies
above the level, or a proof that there are none.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.multiple_kernels.level.loop import evaluate_dual
from tamis.methods.multiple_kernels.level.weight_set import WeightSet


class PlaneModel(NamedTuple):
    """Cutting planes ``constants - 0.5 * forms @ theta`` below the value of the kernel machine."""

    constants: np.ndarray
    forms: np.ndarray

    def value(self, theta: np.ndarray) -> float:
        """Return the largest value of a plane at these weights."""
        return float((self.constants - 0.5 * self.forms @ theta).max())

    def lower_bound(self, weight_set: WeightSet, multipliers: np.ndarray) -> float:
        """Return a lower bound on `value` over the set, from nonnegative multipliers of the
        planes.
        """
        total = multipliers.sum()
        if total <= 0.0:
            return -np.inf
        mixture = multipliers / total
        return float(mixture @ self.constants) - 0.5 * weight_set.support(mixture @ self.forms)[0]


class LevelProjection(NamedTuple):
    """Weights in the level set, or None where it is proved empty; the best lower bound on the model
    seen; the multipliers of the planes.
    """

    theta: np.ndarray | None
    lower_bound: float
    multipliers: np.ndarray | None = None
    used_cone_solver: bool = False


def project_to_level(
    weight_set: WeightSet,
    planes: PlaneModel,
    center: np.ndarray,
    level: float,
    start=None,
    max_iter: int = 60,
) -> LevelProjection:
    """Project `center` onto the level set by projected Newton steps on the dual, which has one
    multiplier for each plane.

    Where the line search fails, weights within 1e-8 of the level are accepted, since rounding keeps
    the dual value from rising further; otherwise the cone solver takes over. Bounds are certified
    in both cases.
    """
    half_forms = 0.5 * planes.forms
    tolerance = 1e-9 * max(abs(level), 1e-12)
    multipliers = np.zeros(len(half_forms)) if start is None else start
    point = _DualPoint.evaluate(weight_set, planes, half_forms, center, level, multipliers)
    bound, step_size = -np.inf, 1.0
    for _ in range(max_iter):
        bound = max(bound, planes.lower_bound(weight_set, multipliers))
        if bound >= level:
            return LevelProjection(None, bound)
        if point.is_optimal(multipliers, tolerance, 1e3 * tolerance):
            return LevelProjection(point.theta, bound, multipliers)
        direction = _newton_direction(weight_set, half_forms, point, multipliers)
        step_size, trial_point = min(8.0 * step_size, 1.0), None
        while step_size > 1e-12:
            trial = np.maximum(multipliers + step_size * direction, 0.0)
            trial_point = _DualPoint.evaluate(weight_set, planes, half_forms, center, level, trial)
            predicted_gain = float(point.violations @ (trial - multipliers))
            if trial_point.value >= point.value + 1e-4 * predicted_gain:
                break
            step_size, trial_point = 0.5 * step_size, None
        if trial_point is None or np.array_equal(trial, multipliers):
            break
        multipliers, point = trial, trial_point
    if point.is_optimal(multipliers, 10.0 * tolerance, 1e3 * tolerance):
        return LevelProjection(point.theta, bound, multipliers)
    return project_with_cone_solver(weight_set, planes, center, level, bound)


class _DualPoint(NamedTuple):
    """The weights for some multipliers of the planes, the multiplier of the boundary of the set,
    how far each plane lies above the level, and the dual value.
    """

    theta: np.ndarray
    boundary_multiplier: float
    violations: np.ndarray
    value: float

    @classmethod
    def evaluate(cls, weight_set, planes, half_forms, center, level, multipliers):
        theta, violations = np.empty(len(center)), np.empty(len(half_forms))
        boundary_multiplier, value = evaluate_dual(
            center,
            half_forms,
            planes.constants,
            level,
            multipliers,
            float(weight_set.v),
            theta,
            violations,
        )
        return cls(theta, boundary_multiplier, violations, value)

    def is_optimal(
        self, multipliers, violation_tolerance: float, complementarity_tolerance: float
    ) -> bool:
        """Return whether no plane lies above the level and all planes with a multiplier lie at it,
        up to these tolerances.
        """
        distance = np.abs(self.violations[multipliers > 0.0]).max(initial=0.0)
        return bool(
            self.violations.max() <= violation_tolerance and distance <= complementarity_tolerance
        )


def _newton_direction(weight_set, half_forms, point: _DualPoint, multipliers):
    """Return the Newton direction of the multipliers that are positive or have a positive
    gradient.
    """
    theta, boundary_multiplier, violations = (
        point.theta,
        point.boundary_multiplier,
        point.violations,
    )
    direction = np.zeros(len(multipliers))
    free, positive = (multipliers > 0.0) | (violations > 0.0), theta > 0.0
    rows = half_forms[np.ix_(free, positive)]
    shrinkage = 1.0 + 2.0 * boundary_multiplier * (1.0 - weight_set.v)
    hessian = rows @ rows.T / shrinkage
    ridge = 1e-10 * max(float(np.trace(hessian)), 1e-30)
    if boundary_multiplier > 0.0:
        normal = weight_set.v + 2.0 * (1.0 - weight_set.v) * theta[positive]
        along_normal = rows @ normal
        hessian -= np.outer(along_normal, along_normal) / (shrinkage * float(normal @ normal))
    direction[free] = np.linalg.solve(hessian + ridge * np.eye(len(hessian)), violations[free])
    return direction


def project_with_cone_solver(
    weight_set: WeightSet,
    planes: PlaneModel,
    center: np.ndarray,
    level: float,
    bound: float = -np.inf,
) -> LevelProjection:
    """Project by Clarabel, as a cone program: slower, but reliable."""
    try:
        import clarabel
    except ImportError:
        raise ImportError(
            "GMKL: Newton's method did not find the next kernel weights, and a cone program needs "
            "the package clarabel: pip install 'tamis[conic]'. Or pass a smaller l1_ratio, or a "
            "larger tol."
        ) from None
    n_planes, n_kernels = planes.forms.shape
    scale = max(abs(level), 1e-12)  # of the planes
    blocks = [sp.csc_array(-0.5 * planes.forms / scale), -sp.eye_array(n_kernels, format="csc")]
    rhs = [(level - planes.constants) / scale, np.zeros(n_kernels)]
    cones = [clarabel.NonnegativeConeT(n_planes + n_kernels)]
    ones = np.full((1, n_kernels), weight_set.v)
    if weight_set.v < 1.0:
        blocks += [
            sp.csc_array(np.vstack([ones, ones])),
            -2.0 * np.sqrt(1.0 - weight_set.v) * sp.eye_array(n_kernels, format="csc"),
        ]
        rhs += [np.array([2.0, 0.0]), np.zeros(n_kernels)]
        cones.append(clarabel.SecondOrderConeT(n_kernels + 2))
    else:
        blocks.append(sp.csc_array(ones))
        rhs.append(np.ones(1))
        cones.append(clarabel.NonnegativeConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.eye(n_kernels, format="csc")),
        -center,
        sp.csc_matrix(sp.vstack(blocks)),
        np.concatenate(rhs),
        cones,
        settings,
    )
    solution = solver.solve()
    bound = max(
        bound, planes.lower_bound(weight_set, np.maximum(np.asarray(solution.z)[:n_planes], 0.0))
    )
    # The level set is proved empty, or there is no answer; the bound holds in both cases.
    if "Solved" not in str(solution.status) or bound >= level:
        return LevelProjection(None, bound, used_cone_solver=True)
    theta = np.maximum(np.asarray(solution.x), 0.0)
    theta[theta < 1e-9 * theta.max(initial=0.0)] = 0.0
    return LevelProjection(
        theta / max(weight_set.constraint_value(theta), 1.0), bound, used_cone_solver=True
    )
