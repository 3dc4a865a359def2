"""Oracles of the robust support vector machine: the worst-case hinge loss over an uncertainty set,
with its gradient.

Each oracle has three methods: `set_weights`, `tangent_at` (a `Tangent` at an intercept) and
`gradient` (from the derivatives in scores and norm to the gradient in the weights).
"""

import numpy as np

from tamis.methods.robust.cutting_planes import Tangent
from tamis.methods.robust.rows import FeatureDeletion, RowMatrix, dual_norm

BALLS = ("l1", "l2", "linf", "ellipsoid")


class _HingeOracle:
    """Base class: rows with signs and weights, and the worst-case loss of lowered margins."""

    def __init__(self, matrix, signs, row_weights, fit_intercept: bool):
        self.row_matrix, self.fit_intercept = RowMatrix(matrix), fit_intercept
        self.signs, self.row_weights = signs, row_weights

    def set_weights(self, weights) -> None:
        """Set the weights."""
        self.weights, self.scores = weights, self.row_matrix.scores(weights)
        self.margin_losses: float | np.ndarray = 0.0

    def tangent_at(self, intercept: float) -> Tangent:
        """Return the tangent of R: the hinge loss of the lowered margins."""
        slacks = 1.0 - self.signs * (self.scores + intercept) + self.margin_losses
        active_weights = np.where(slacks > 0.0, self.row_weights, 0.0)
        return Tangent(
            intercept,
            float(active_weights @ slacks),
            -active_weights * self.signs,
            self._norm_derivative(active_weights),
        )

    def _norm_derivative(self, active_weights) -> float:
        return 0.0

    def gradient(self, score_gradient, norm_derivative: float):
        """Return the gradient in the weights."""
        return self.row_matrix.weighted_sum(score_gradient)


class BallHinge(_HingeOracle):
    """Perturbations of each row in a ball or an ellipsoid, which lower its margin by radius times
    the dual norm of the weights.
    """

    def __init__(
        self, matrix, signs, row_weights, fit_intercept, kind: str, radius: float, ellipsoid
    ):
        super().__init__(matrix, signs, row_weights, fit_intercept)
        self.kind, self.radius, self.ellipsoid = kind, radius, ellipsoid

    def set_weights(self, weights) -> None:
        """Set the weights."""
        super().set_weights(weights)
        norm, self.norm_gradient = dual_norm(self.kind, weights, self.ellipsoid)
        self.margin_losses = self.radius * norm

    def _norm_derivative(self, active_weights) -> float:
        return self.radius * float(active_weights.sum())

    def gradient(self, score_gradient, norm_derivative: float):
        """Return the gradient in the weights."""
        return self.row_matrix.weighted_sum(score_gradient) + norm_derivative * self.norm_gradient


class DeletionHinge(_HingeOracle):
    """Deletion of up to `max_deleted` features of each row; the worst ones contribute most to the
    margin.
    """

    def __init__(self, matrix, signs, row_weights, fit_intercept, max_deleted: int):
        super().__init__(matrix, signs, row_weights, fit_intercept)
        self.deletion = FeatureDeletion(matrix, max_deleted)

    def set_weights(self, weights) -> None:
        """Set the weights."""
        super().set_weights(weights)
        self.margin_losses = self.deletion.set_weights(self.signs, weights)

    def gradient(self, score_gradient, norm_derivative: float):
        """Return the gradient in the weights."""
        return self.deletion.weighted_sum(score_gradient)


class LabelHinge(_HingeOracle):
    """Flipped labels of rows with a total weight of at most `flips`."""

    def __init__(self, matrix, signs, row_weights, fit_intercept, flips: float):
        super().__init__(matrix, signs, row_weights, fit_intercept)
        self.flips = flips

    def tangent_at(self, intercept: float) -> Tangent:
        """Return the tangent of R: the labels with the largest loss increases are flipped, the last
        one partially.
        """
        margins = self.signs * (self.scores + intercept)
        loss_increases = np.maximum(1.0 + margins, 0.0) - np.maximum(1.0 - margins, 0.0)
        order = np.argsort(-loss_increases, kind="stable")
        preceding_weight = np.concatenate(([0.0], np.cumsum(self.row_weights[order])))[:-1]
        flipped = np.zeros_like(self.row_weights)
        flipped[order] = np.clip(self.flips - preceding_weight, 0.0, self.row_weights[order])
        flipped[loss_increases <= 0.0] = 0.0
        value = float(self.row_weights @ np.maximum(1.0 - margins, 0.0) + flipped @ loss_increases)
        score_gradient = flipped * (margins > -1.0) - (self.row_weights - flipped) * (margins < 1.0)
        return Tangent(intercept, value, score_gradient * self.signs, 0.0)


class SpectralHinge(_HingeOracle):
    """A perturbation matrix of all rows, of spectral norm at most `radius`; weights of rows are
    numbers of repetitions.
    """

    def __init__(self, matrix, signs, row_weights, fit_intercept, radius: float):
        super().__init__(matrix, signs, row_weights, fit_intercept)
        self.radius = radius
        self.row_indices = np.repeat(
            np.arange(len(row_weights)), np.rint(row_weights).astype(np.int64)
        )

    def set_weights(self, weights) -> None:
        """Set the weights."""
        super().set_weights(weights)
        self.norm, self.norm_gradient = dual_norm("spectral", weights)

    def tangent_at(self, intercept: float) -> Tangent:
        """Return the tangent of R: the perturbation acts on the rows of smallest margin, of a
        number that maximises the loss.
        """
        slacks = (1.0 - self.signs * (self.scores + intercept))[self.row_indices]
        order = np.argsort(-slacks, kind="stable")
        roots = np.sqrt(np.arange(1, len(order) + 1))
        sums = np.cumsum(slacks[order]) + self.radius * self.norm * roots
        last = int(sums.argmax())
        if sums[last] <= 0.0:
            return Tangent(intercept, 0.0, np.zeros_like(self.row_weights), 0.0)
        n_perturbed = np.bincount(
            self.row_indices[order[: last + 1]], minlength=len(self.row_weights)
        )
        return Tangent(
            intercept,
            float(sums[last]),
            -n_perturbed * self.signs,
            self.radius * float(roots[last]),
        )

    def gradient(self, score_gradient, norm_derivative: float):
        """Return the gradient in the weights."""
        return self.row_matrix.weighted_sum(score_gradient) + norm_derivative * self.norm_gradient


def hinge_oracle(
    kind: str, radius: float, ellipsoid, matrix, signs, row_weights, fit_intercept: bool
):
    """Return the oracle of an uncertainty set by its name."""
    arguments = (matrix, signs, row_weights, fit_intercept)
    if kind in BALLS:
        return BallHinge(*arguments, kind, radius, ellipsoid)
    if kind == "deletion":
        return DeletionHinge(*arguments, int(radius))
    return LabelHinge(*arguments, radius) if kind == "labels" else SpectralHinge(*arguments, radius)
