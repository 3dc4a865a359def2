"""Oracles of robust least squares: the norm of the worst residuals over an uncertainty set, and its
slopes.
"""

import numpy as np

from tamis.methods.robust.planes import Touch
from tamis.methods.robust.rows import Deleted, Table, dual_norm


class _Residuals:
    """Rows with targets and loads, and what all sets share."""

    def __init__(self, matrix, targets, loads, intercept: bool):
        self.table, self.targets, self.loads, self.intercept = (
            Table(matrix),
            targets,
            loads,
            intercept,
        )

    def move(self, weights) -> None:
        """Take new weights."""
        self.weights, self.rest = weights, self.targets - self.table.scores(weights)

    def _norm(self, sizes) -> tuple[float, np.ndarray]:
        """Norm of the worst residuals, and its slopes in them."""
        norm = float(np.sqrt(self.loads @ (sizes * sizes)))
        return norm, self.loads * sizes / norm if norm > 0.0 else np.zeros_like(sizes)


class BallResiduals(_Residuals):
    """Every row may move inside a ball or an ellipsoid: its residual grows by radius times the dual
    norm of the weights.
    """

    def __init__(self, matrix, targets, loads, intercept, kind: str, radius: float, covariance):
        super().__init__(matrix, targets, loads, intercept)
        self.kind, self.radius, self.covariance = kind, radius, covariance

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        norm, self.steep = dual_norm(self.kind, weights, self.covariance)
        self.growth = self.radius * norm

    def at(self, bias: float) -> Touch:
        """R and its slopes."""
        residuals = self.rest - bias
        value, slopes = self._norm(np.abs(residuals) + self.growth)
        return Touch(bias, value, -slopes * np.sign(residuals), self.radius * float(slopes.sum()))

    def push(self, pulls, mass: float):
        """Slope in the weights."""
        return self.table.push(pulls) + mass * self.steep


class SpectralResiduals(_Residuals):
    """The rows together may move by a matrix of a largest singular value (or a Frobenius norm) of
    at most `radius`.
    """

    def __init__(self, matrix, targets, loads, intercept, radius: float):
        super().__init__(matrix, targets, loads, intercept)
        self.radius = radius

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        self.norm, self.steep = dual_norm("spectral", weights)

    def at(self, bias: float) -> Touch:
        """R and its slopes."""
        residuals = self.rest - bias
        value, slopes = self._norm(residuals)
        return Touch(bias, value + self.radius * self.norm, -slopes, self.radius)

    def push(self, pulls, mass: float):
        """Slope in the weights."""
        return self.table.push(pulls) + mass * self.steep


class DeletedResiduals(_Residuals):
    """Up to so many features of every row vanish: its residual grows on the side where that is
    worse.
    """

    def __init__(self, matrix, targets, loads, intercept, most: int):
        super().__init__(matrix, targets, loads, intercept)
        self.above, self.below = Deleted(matrix, most), Deleted(matrix, most)

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        ones = np.ones(len(self.targets))
        self.rises, self.falls = self.above.move(ones, weights), self.below.move(-ones, weights)

    def at(self, bias: float) -> Touch:
        """R and its slopes, those of residuals above 0 first, then those below."""
        up, down = self.rest - bias + self.rises, bias - self.rest + self.falls
        value, slopes = self._norm(np.maximum(up, down))
        return Touch(
            bias,
            value,
            np.concatenate((np.where(up >= down, -slopes, 0.0), np.where(up >= down, 0.0, slopes))),
            0.0,
        )

    def push(self, pulls, mass: float):
        """Slope in the weights."""
        half = len(self.targets)
        return self.above.push(pulls[:half]) + self.below.push(pulls[half:])

    def sizes(self, bias: float) -> np.ndarray:
        """The worst residuals."""
        return np.maximum(self.rest - bias + self.rises, bias - self.rest + self.falls)


def residual_oracle(kind: str, radius: float, covariance, matrix, targets, loads, intercept: bool):
    """The oracle of an uncertainty set by its name."""
    given = (matrix, targets, loads, intercept)
    if kind == "spectral":
        return SpectralResiduals(*given, radius)
    return (
        DeletedResiduals(*given, int(radius))
        if kind == "deletion"
        else BallResiduals(*given, kind, radius, covariance)
    )
