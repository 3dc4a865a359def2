"""The set of kernel weights, v sum(theta) + (1 - v) sum(theta^2) <= 1 and theta >= 0: its support
function, projection and boundary.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.multiple_kernels.level.loop import project


class WeightSet(NamedTuple):
    """The set of weights for one `v`: a ball of radius 1 at 0, a simplex at 1, sparse corners
    rounded off between.
    """

    v: float

    def used(self, theta: np.ndarray) -> float:
        """How much of the budget of 1 the weights use."""
        return float(self.v * theta.sum() + (1.0 - self.v) * (theta @ theta))

    def lifted(self, theta: np.ndarray) -> np.ndarray:
        """The weights scaled to the boundary; no kernel machine does worse for it."""
        total, square = self.v * theta.sum(), (1.0 - self.v) * (theta @ theta)
        if total + square <= 0.0:
            return self.uniform(len(theta))
        return theta * (2.0 / (total + np.sqrt(total * total + 4.0 * square)))

    def uniform(self, count: int) -> np.ndarray:
        """Equal weights on the boundary."""
        return self.lifted(np.ones(count))

    def support(self, slopes: np.ndarray) -> tuple[float, np.ndarray]:
        """The largest inner product with the slopes over the set, and where it is reached."""
        if slopes.max() <= 0.0:
            return 0.0, self.uniform(len(slopes))
        theta = np.zeros(len(slopes))
        if self.v == 1.0:
            best = slopes.argmax()
            theta[best] = 1.0
            return float(slopes[best]), theta
        sizes = slopes / slopes.max()
        falling = np.sort(sizes[sizes > 0.0])[::-1]
        units = np.sqrt(
            (4.0 * (1.0 - self.v) + np.arange(1, len(falling) + 1) * self.v**2)
            / np.cumsum(falling**2)
        )
        inside = falling * units > self.v
        unit = units[len(inside) - 1 if inside.all() else inside.argmin() - 1]
        theta = np.maximum(sizes * unit - self.v, 0.0) / (2.0 * (1.0 - self.v))
        return float(slopes @ theta), theta

    def project(self, point: np.ndarray) -> tuple[np.ndarray, float]:
        """The nearest weights of the set, and the multiplier of its boundary (0 inside)."""
        theta = np.empty(len(point))
        multiplier = project(np.ascontiguousarray(point, dtype=np.float64), float(self.v), theta)
        return theta, multiplier
