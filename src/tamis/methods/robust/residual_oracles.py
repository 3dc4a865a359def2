"""Oracles of robust least squares: the norm of the worst residuals over an uncertainty set, and its
slopes.
"""

import numpy as np

from tamis.methods.robust.cutting_planes import Tangent
from tamis.methods.robust.rows import Deleted, Table, dual_norm


class _Residuals:
    """Rows with targets and weights, and what all sets share."""

    def __init__(self, matrix, targets, row_weights, intercept: bool):
        self.table, self.intercept = Table(matrix), intercept
        self.targets, self.row_weights = targets, row_weights

    def move(self, weights) -> None:
        """Take new weights."""
        self.weights, self.rest = weights, self.targets - self.table.scores(weights)

    def _norm(self, sizes) -> tuple[float, np.ndarray]:
        """Norm of the worst residuals, and its slopes in them."""
        norm = float(np.sqrt(self.row_weights @ (sizes * sizes)))
        return norm, self.row_weights * sizes / norm if norm > 0.0 else np.zeros_like(sizes)


class BallResiduals(_Residuals):
    """Every row may move inside a ball or an ellipsoid: its residual grows by radius times the dual
    norm of the weights.
    """

    def __init__(
        self, matrix, targets, row_weights, intercept, kind: str, radius: float, ellipsoid
    ):
        super().__init__(matrix, targets, row_weights, intercept)
        self.kind, self.radius, self.ellipsoid = kind, radius, ellipsoid

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        norm, self.norm_gradient = dual_norm(self.kind, weights, self.ellipsoid)
        self.growth = self.radius * norm

    def at(self, bias: float) -> Tangent:
        """R and its slopes."""
        residuals = self.rest - bias
        value, slopes = self._norm(np.abs(residuals) + self.growth)
        return Tangent(bias, value, -slopes * np.sign(residuals), self.radius * float(slopes.sum()))

    def gradient(self, slopes, norm_slope: float):
        """Gradient in the weights."""
        return self.table.combined(slopes) + norm_slope * self.norm_gradient


class SpectralResiduals(_Residuals):
    """The rows together may move by a matrix of a largest singular value (or a Frobenius norm) of
    at most `radius`.
    """

    def __init__(self, matrix, targets, row_weights, intercept, radius: float):
        super().__init__(matrix, targets, row_weights, intercept)
        self.radius = radius

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        self.norm, self.norm_gradient = dual_norm("spectral", weights)

    def at(self, bias: float) -> Tangent:
        """R and its slopes."""
        residuals = self.rest - bias
        value, slopes = self._norm(residuals)
        return Tangent(bias, value + self.radius * self.norm, -slopes, self.radius)

    def gradient(self, slopes, norm_slope: float):
        """Gradient in the weights."""
        return self.table.combined(slopes) + norm_slope * self.norm_gradient


class DeletedResiduals(_Residuals):
    """Up to so many features of every row vanish: its residual grows on the side where that is
    worse.
    """

    def __init__(self, matrix, targets, row_weights, intercept, most: int):
        super().__init__(matrix, targets, row_weights, intercept)
        self.above, self.below = Deleted(matrix, most), Deleted(matrix, most)

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        ones = np.ones(len(self.targets))
        self.rises, self.falls = self.above.move(ones, weights), self.below.move(-ones, weights)

    def at(self, bias: float) -> Tangent:
        """R and its slopes, those of residuals above 0 first, then those below."""
        up, down = self.rest - bias + self.rises, bias - self.rest + self.falls
        value, slopes = self._norm(np.maximum(up, down))
        above = up >= down
        parts = (np.where(above, -slopes, 0.0), np.where(above, 0.0, slopes))
        return Tangent(bias, value, np.concatenate(parts), 0.0)

    def gradient(self, slopes, norm_slope: float):
        """Gradient in the weights."""
        half = len(self.targets)
        return self.above.combined(slopes[:half]) + self.below.combined(slopes[half:])

    def sizes(self, bias: float) -> np.ndarray:
        """The worst residuals."""
        return np.maximum(self.rest - bias + self.rises, bias - self.rest + self.falls)


def residual_oracle(
    kind: str, radius: float, ellipsoid, matrix, targets, row_weights, intercept: bool
):
    """The oracle of an uncertainty set by its name."""
    given = (matrix, targets, row_weights, intercept)
    if kind == "spectral":
        return SpectralResiduals(*given, radius)
    if kind == "deletion":
        return DeletedResiduals(*given, int(radius))
    return BallResiduals(*given, kind, radius, ellipsoid)
