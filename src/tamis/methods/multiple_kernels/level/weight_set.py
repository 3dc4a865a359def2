"""The set of kernel weights, v sum(theta) + (1 - v) sum(theta^2) <= 1 and theta >= 0: its support
function, projection and boundary.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.multiple_kernels.level.loop import project


class WeightSet(NamedTuple):
    """The set of weights for one `v`: the unit ball at 0, the simplex at 1, and between them a set
    with rounded edges near sparse weights.
    """

    v: float

    def constraint_value(self, theta: np.ndarray) -> float:
        """Return v sum(theta) + (1 - v) sum(theta^2); it is at most 1 in the set."""
        return float(self.v * theta.sum() + (1.0 - self.v) * (theta @ theta))

    def scale_to_boundary(self, theta: np.ndarray) -> np.ndarray:
        """Return the weights scaled to the boundary, which never raises the value of the kernel
        machine.
        """
        linear, square = self.v * theta.sum(), (1.0 - self.v) * (theta @ theta)
        if linear + square <= 0.0:
            return self.uniform(len(theta))
        return theta * (2.0 / (linear + np.sqrt(linear * linear + 4.0 * square)))

    def uniform(self, n_kernels: int) -> np.ndarray:
        """Return equal weights on the boundary."""
        return self.scale_to_boundary(np.ones(n_kernels))

    def support(self, direction: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the largest inner product with `direction` over the set, and its maximiser."""
        if direction.max() <= 0.0:
            return 0.0, self.uniform(len(direction))
        theta = np.zeros(len(direction))
        if self.v == 1.0:
            best = direction.argmax()
            theta[best] = 1.0
            return float(direction[best]), theta
        scaled = direction / direction.max()
        descending = np.sort(scaled[scaled > 0.0])[::-1]
        # The factor u of the closed form theta = [s u - v]_+ / (2 (1 - v)), for each number of
        # positive weights.
        factors = np.sqrt(
            (4.0 * (1.0 - self.v) + np.arange(1, len(descending) + 1) * self.v**2)
            / np.cumsum(descending**2)
        )
        is_active = descending * factors > self.v
        factor = factors[len(is_active) - 1 if is_active.all() else is_active.argmin() - 1]
        theta = np.maximum(scaled * factor - self.v, 0.0) / (2.0 * (1.0 - self.v))
        return float(direction @ theta), theta

    def project(self, point: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the nearest weights of the set and the multiplier of its boundary (0 inside)."""
        theta = np.empty(len(point))
        multiplier = project(np.ascontiguousarray(point, dtype=np.float64), float(self.v), theta)
        return theta, multiplier
