"""The nearest kernel weights at which no cutting plane lies above a level, or a proof that there
are none.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.multiple_kernels.level.loop import dual_point
from tamis.methods.multiple_kernels.level.weight_set import WeightSet


class Planes(NamedTuple):
    """Cutting planes ``constants - 0.5 * forms @ theta`` below the value of the kernel machine."""

    constants: np.ndarray
    forms: np.ndarray

    def height(self, theta: np.ndarray) -> float:
        """The highest plane at some weights."""
        return float((self.constants - 0.5 * self.forms @ theta).max())

    def bound(self, allowed: WeightSet, shares: np.ndarray) -> float:
        """A lower bound on the least height over the set, from any nonnegative shares of the
        planes.
        """
        total = shares.sum()
        if total <= 0.0:
            return -np.inf
        shares = shares / total
        return float(shares @ self.constants) - 0.5 * allowed.support(shares @ self.forms)[0]


class LevelPoint(NamedTuple):
    """Weights in the level set, or None where it was proved empty; the best lower bound met;
    multipliers; whether Clarabel was asked.
    """

    theta: np.ndarray | None
    bound: float
    shares: np.ndarray | None = None
    conic: bool = False


def nearest_below(
    allowed: WeightSet,
    planes: Planes,
    center: np.ndarray,
    level: float,
    start=None,
    steps: int = 60,
) -> LevelPoint:
    """Project `center` onto the level set by Newton's method on the dual, one multiplier a plane.

    Where the line search fails, weights within 1e-8 of the level are taken, for rounding keeps the
    dual value from rising further; else the cone solver takes over. Bounds are certified anyway.
    """
    half = 0.5 * planes.forms
    slack = 1e-9 * max(abs(level), 1e-12)
    shares = np.zeros(len(half)) if start is None else start
    here = _DualPoint.at(allowed, planes, half, center, level, shares)
    bound, size = -np.inf, 1.0
    for _ in range(steps):
        bound = max(bound, planes.bound(allowed, shares))
        if bound >= level:
            return LevelPoint(None, bound)
        if here.solves(shares, slack, 1e3 * slack):
            return LevelPoint(here.theta, bound, shares)
        move, size, found = _direction(allowed, half, here, shares), min(8.0 * size, 1.0), None
        while size > 1e-12:
            trial = np.maximum(shares + size * move, 0.0)
            found = _DualPoint.at(allowed, planes, half, center, level, trial)
            if found.value >= here.value + 1e-4 * float(here.over @ (trial - shares)):
                break
            size, found = 0.5 * size, None
        if found is None or np.array_equal(trial, shares):
            break
        shares, here = trial, found
    if here.solves(shares, 10.0 * slack, 1e3 * slack):
        return LevelPoint(here.theta, bound, shares)
    return conic_nearest_below(allowed, planes, center, level, bound)


class _DualPoint(NamedTuple):
    """Weights for some multipliers, the multiplier of the set, how far each plane is over the
    level, and the dual value.
    """

    theta: np.ndarray
    multiplier: float
    over: np.ndarray
    value: float

    @classmethod
    def at(cls, allowed, planes, half, center, level, shares):
        theta, over = np.empty(len(center)), np.empty(len(half))
        multiplier, value = dual_point(
            center, half, planes.constants, level, shares, float(allowed.v), theta, over
        )
        return cls(theta, multiplier, over, value)

    def solves(self, shares, above: float, apart: float) -> bool:
        """Whether no plane lies above the level, and those with a multiplier lie at it, up to these
        tolerances.
        """
        at_level = np.abs(self.over[shares > 0.0]).max(initial=0.0)
        return bool(self.over.max() <= above and at_level <= apart)


def _direction(allowed, half, here: _DualPoint, shares):
    """Newton's step on the multipliers that are positive or want to be."""
    theta, multiplier, over = here.theta, here.multiplier, here.over
    move, free, on = np.zeros(len(shares)), (shares > 0.0) | (over > 0.0), theta > 0.0
    rows = half[np.ix_(free, on)]
    shrink = 1.0 + 2.0 * multiplier * (1.0 - allowed.v)
    curve = rows @ rows.T / shrink
    ridge = 1e-10 * max(float(np.trace(curve)), 1e-30)
    if multiplier > 0.0:
        normal = allowed.v + 2.0 * (1.0 - allowed.v) * theta[on]
        leaning = rows @ normal
        curve -= np.outer(leaning, leaning) / (shrink * float(normal @ normal))
    move[free] = np.linalg.solve(curve + ridge * np.eye(len(curve)), over[free])
    return move


def conic_nearest_below(
    allowed: WeightSet, planes: Planes, center: np.ndarray, level: float, bound: float = -np.inf
) -> LevelPoint:
    """The same projection by Clarabel, as a cone program: slower, never stuck."""
    try:
        import clarabel
    except ImportError:
        raise ImportError(
            "GMKL: Newton's method did not find the next kernel weights, and a cone program needs "
            "the package clarabel: pip install 'tamis[conic]'. Or pass a smaller l1_ratio, or a "
            "larger tol."
        ) from None
    count, size = planes.forms.shape
    unit = max(abs(level), 1e-12)  # planes in units of the level
    blocks = [sp.csc_array(-0.5 * planes.forms / unit), -sp.eye_array(size, format="csc")]
    sides = [(level - planes.constants) / unit, np.zeros(size)]
    cones = [clarabel.NonnegativeConeT(count + size)]
    ones = np.full((1, size), allowed.v)
    if allowed.v < 1.0:
        blocks += [
            sp.csc_array(np.vstack([ones, ones])),
            -2.0 * np.sqrt(1.0 - allowed.v) * sp.eye_array(size, format="csc"),
        ]
        sides += [np.array([2.0, 0.0]), np.zeros(size)]
        cones.append(clarabel.SecondOrderConeT(size + 2))
    else:
        blocks.append(sp.csc_array(ones))
        sides.append(np.ones(1))
        cones.append(clarabel.NonnegativeConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.eye(size, format="csc")),
        -center,
        sp.csc_matrix(sp.vstack(blocks)),
        np.concatenate(sides),
        cones,
        settings,
    )
    found = solver.solve()
    bound = max(bound, planes.bound(allowed, np.maximum(np.asarray(found.z)[:count], 0.0)))
    # Proved empty, or no answer: the bound says no more than it can.
    if "Solved" not in str(found.status) or bound >= level:
        return LevelPoint(None, bound, conic=True)
    theta = np.maximum(np.asarray(found.x), 0.0)
    theta[theta < 1e-9 * theta.max(initial=0.0)] = 0.0
    return LevelPoint(theta / max(allowed.used(theta), 1.0), bound, conic=True)
