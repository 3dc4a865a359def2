"""Oracles of the robust support vector machine: the worst hinge loss over an uncertainty set, and
its slopes.

Each answers `move` (new weights), `at` (a `Tangent` at an intercept) and `gradient` (slopes in the
scores and in the norm into a gradient in the weights).
"""

import numpy as np

from tamis.methods.robust.cutting_planes import Tangent
from tamis.methods.robust.rows import Deleted, Table, dual_norm

BALLS = ("l1", "l2", "linf", "ellipsoid")


class _Hinge:
    """Rows with signs and weights, and what all sets share."""

    def __init__(self, matrix, signs, row_weights, intercept: bool):
        self.table, self.intercept = Table(matrix), intercept
        self.signs, self.row_weights = signs, row_weights

    def move(self, weights) -> None:
        """Take new weights."""
        self.weights, self.scores = weights, self.table.scores(weights)
        self._drops: float | np.ndarray = 0.0

    def at(self, bias: float) -> Tangent:
        """R and its slopes: the hinge of margins that lose what the set takes from them."""
        short = 1.0 - self.signs * (self.scores + bias) + self._drops
        hurt = np.where(short > 0.0, self.row_weights, 0.0)
        return Tangent(bias, float(hurt @ short), -hurt * self.signs, self._norm_slope(hurt))

    def _norm_slope(self, hurt) -> float:
        return 0.0

    def gradient(self, slopes, norm_slope: float):
        """Gradient in the weights."""
        return self.table.combined(slopes)


class BallHinge(_Hinge):
    """Every row may move inside a ball or an ellipsoid: its margin loses radius times the dual norm
    of the weights.
    """

    def __init__(self, matrix, signs, row_weights, intercept, kind: str, radius: float, ellipsoid):
        super().__init__(matrix, signs, row_weights, intercept)
        self.kind, self.radius, self.ellipsoid = kind, radius, ellipsoid

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        norm, self.norm_gradient = dual_norm(self.kind, weights, self.ellipsoid)
        self._drops = self.radius * norm

    def _norm_slope(self, hurt) -> float:
        return self.radius * float(hurt.sum())

    def gradient(self, slopes, norm_slope: float):
        """Gradient in the weights."""
        return self.table.combined(slopes) + norm_slope * self.norm_gradient


class DeletionHinge(_Hinge):
    """Up to so many features of every row vanish: its margin loses those that spoke most for its
    class.
    """

    def __init__(self, matrix, signs, row_weights, intercept, most: int):
        super().__init__(matrix, signs, row_weights, intercept)
        self.deleted = Deleted(matrix, most)

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        self._drops = self.deleted.move(self.signs, weights)

    def gradient(self, slopes, norm_slope: float):
        """Gradient in the weights."""
        return self.deleted.combined(slopes)


class LabelHinge(_Hinge):
    """Rows of a total weight of at most `flips` have the other label."""

    def __init__(self, matrix, signs, row_weights, intercept, flips: float):
        super().__init__(matrix, signs, row_weights, intercept)
        self.flips = flips

    def at(self, bias: float) -> Tangent:
        """R and its slopes: the rows that gain most by it are flipped, the last one in part."""
        margins = self.signs * (self.scores + bias)
        gains = np.maximum(1.0 + margins, 0.0) - np.maximum(1.0 - margins, 0.0)
        order = np.argsort(-gains, kind="stable")
        before = np.concatenate(([0.0], np.cumsum(self.row_weights[order])))[:-1]
        flipped = np.zeros_like(self.row_weights)
        flipped[order] = np.clip(self.flips - before, 0.0, self.row_weights[order])
        flipped[gains <= 0.0] = 0.0
        value = float(self.row_weights @ np.maximum(1.0 - margins, 0.0) + flipped @ gains)
        slopes = flipped * (margins > -1.0) - (self.row_weights - flipped) * (margins < 1.0)
        return Tangent(bias, value, slopes * self.signs, 0.0)


class SpectralHinge(_Hinge):
    """The rows together may move by a matrix of a largest singular value of at most `radius`;
    weights are numbers of copies of a row.
    """

    def __init__(self, matrix, signs, row_weights, intercept, radius: float):
        super().__init__(matrix, signs, row_weights, intercept)
        self.radius = radius
        self.copies = np.repeat(np.arange(len(row_weights)), np.rint(row_weights).astype(np.int64))

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        self.norm, self.norm_gradient = dual_norm("spectral", weights)

    def at(self, bias: float) -> Tangent:
        """R and its slopes: the best number of rows that share the movement, those of least margin
        first.
        """
        short = (1.0 - self.signs * (self.scores + bias))[self.copies]
        order = np.argsort(-short, kind="stable")
        roots = np.sqrt(np.arange(1, len(order) + 1))
        sums = np.cumsum(short[order]) + self.radius * self.norm * roots
        last = int(sums.argmax())
        if sums[last] <= 0.0:
            return Tangent(bias, 0.0, np.zeros_like(self.row_weights), 0.0)
        hit = np.bincount(self.copies[order[: last + 1]], minlength=len(self.row_weights))
        return Tangent(bias, float(sums[last]), -hit * self.signs, self.radius * float(roots[last]))

    def gradient(self, slopes, norm_slope: float):
        """Gradient in the weights."""
        return self.table.combined(slopes) + norm_slope * self.norm_gradient


def hinge_oracle(kind: str, radius: float, ellipsoid, matrix, signs, row_weights, intercept: bool):
    """The oracle of an uncertainty set by its name."""
    given = (matrix, signs, row_weights, intercept)
    if kind in BALLS:
        return BallHinge(*given, kind, radius, ellipsoid)
    if kind == "deletion":
        return DeletionHinge(*given, int(radius))
    return LabelHinge(*given, radius) if kind == "labels" else SpectralHinge(*given, radius)
