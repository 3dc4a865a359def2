"""Oracles of robust least squares: the norm of the worst-case residuals over an uncertainty set,
with its gradient.
"""

import numpy as np

from tamis.methods.robust.cutting_planes import Tangent
from tamis.methods.robust.rows import FeatureDeletion, RowMatrix, dual_norm


class _ResidualOracle:
    """Base class: rows with targets and weights."""

    def __init__(self, matrix, targets, row_weights, fit_intercept: bool):
        self.row_matrix, self.fit_intercept = RowMatrix(matrix), fit_intercept
        self.targets, self.row_weights = targets, row_weights

    def set_weights(self, weights) -> None:
        """Set the weights."""
        self.weights = weights
        self.targets_minus_scores = self.targets - self.row_matrix.scores(weights)

    def _norm(self, sizes) -> tuple[float, np.ndarray]:
        """Return the weighted norm of the residuals, and its gradient in them."""
        norm = float(np.sqrt(self.row_weights @ (sizes * sizes)))
        return norm, self.row_weights * sizes / norm if norm > 0.0 else np.zeros_like(sizes)


class BallResiduals(_ResidualOracle):
    """Perturbations of each row in a ball or an ellipsoid, which raise its absolute residual by
    radius times the dual norm of the weights.
    """

    def __init__(
        self, matrix, targets, row_weights, fit_intercept, kind: str, radius: float, ellipsoid
    ):
        super().__init__(matrix, targets, row_weights, fit_intercept)
        self.kind, self.radius, self.ellipsoid = kind, radius, ellipsoid

    def set_weights(self, weights) -> None:
        """Set the weights."""
        super().set_weights(weights)
        norm, self.norm_gradient = dual_norm(self.kind, weights, self.ellipsoid)
        self.growth = self.radius * norm

    def tangent_at(self, intercept: float) -> Tangent:
        """Return the tangent of R."""
        residuals = self.targets_minus_scores - intercept
        value, score_gradient = self._norm(np.abs(residuals) + self.growth)
        return Tangent(
            intercept,
            value,
            -score_gradient * np.sign(residuals),
            self.radius * float(score_gradient.sum()),
        )

    def gradient(self, score_gradient, norm_derivative: float):
        """Return the gradient in the weights."""
        return self.row_matrix.weighted_sum(score_gradient) + norm_derivative * self.norm_gradient


class SpectralResiduals(_ResidualOracle):
    """A perturbation matrix of all rows, of spectral (or Frobenius) norm at most `radius`."""

    def __init__(self, matrix, targets, row_weights, fit_intercept, radius: float):
        super().__init__(matrix, targets, row_weights, fit_intercept)
        self.radius = radius

    def set_weights(self, weights) -> None:
        """Set the weights."""
        super().set_weights(weights)
        self.norm, self.norm_gradient = dual_norm("spectral", weights)

    def tangent_at(self, intercept: float) -> Tangent:
        """Return the tangent of R."""
        residuals = self.targets_minus_scores - intercept
        value, score_gradient = self._norm(residuals)
        return Tangent(intercept, value + self.radius * self.norm, -score_gradient, self.radius)

    def gradient(self, score_gradient, norm_derivative: float):
        """Return the gradient in the weights."""
        return self.row_matrix.weighted_sum(score_gradient) + norm_derivative * self.norm_gradient


class DeletedResiduals(_ResidualOracle):
    """Deletion of up to `max_deleted` features of each row, which raises its residual in the worse
    of both directions.
    """

    def __init__(self, matrix, targets, row_weights, fit_intercept, max_deleted: int):
        super().__init__(matrix, targets, row_weights, fit_intercept)
        self.above = FeatureDeletion(matrix, max_deleted)
        self.below = FeatureDeletion(matrix, max_deleted)

    def set_weights(self, weights) -> None:
        """Set the weights."""
        super().set_weights(weights)
        ones = np.ones(len(self.targets))
        self.rises = self.above.set_weights(ones, weights)
        self.falls = self.below.set_weights(-ones, weights)

    def tangent_at(self, intercept: float) -> Tangent:
        """Return the tangent of R; its score gradient has the positive worst-case residuals in the
        first half, the negative ones in the second.
        """
        up = self.targets_minus_scores - intercept + self.rises
        down = intercept - self.targets_minus_scores + self.falls
        value, score_gradient = self._norm(np.maximum(up, down))
        is_above = up >= down
        gradients = (
            np.where(is_above, -score_gradient, 0.0),
            np.where(is_above, 0.0, score_gradient),
        )
        return Tangent(intercept, value, np.concatenate(gradients), 0.0)

    def gradient(self, score_gradient, norm_derivative: float):
        """Return the gradient in the weights."""
        half = len(self.targets)
        return self.above.weighted_sum(score_gradient[:half]) + self.below.weighted_sum(
            score_gradient[half:]
        )


def residual_oracle(
    kind: str, radius: float, ellipsoid, matrix, targets, row_weights, fit_intercept: bool
):
    """Return the oracle of an uncertainty set by its name."""
    arguments = (matrix, targets, row_weights, fit_intercept)
    if kind == "spectral":
        return SpectralResiduals(*arguments, radius)
    if kind == "deletion":
        return DeletedResiduals(*arguments, int(radius))
    return BallResiduals(*arguments, kind, radius, ellipsoid)
