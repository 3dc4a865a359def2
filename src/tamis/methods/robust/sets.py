"""Oracles of the robust support vector machine: the worst hinge loss over an uncertainty set, and
its slopes.

Each answers `move` (new weights), `at` (a `Touch` at an intercept) and `push` (slopes in the scores
and in the norm into a slope in the weights).
"""

import numpy as np

from tamis.methods.robust.planes import Touch
from tamis.methods.robust.rows import Deleted, Table, dual_norm

BALLS = ("l1", "l2", "linf", "ellipsoid")


class _Hinge:
    """Rows with signs and loads, and what all sets share."""

    def __init__(self, matrix, signs, loads, intercept: bool):
        self.table, self.signs, self.loads, self.intercept = Table(matrix), signs, loads, intercept

    def move(self, weights) -> None:
        """Take new weights."""
        self.weights, self.scores = weights, self.table.scores(weights)
        self._drops: float | np.ndarray = 0.0

    def at(self, bias: float) -> Touch:
        """R and its slopes: the hinge of margins that lose what the set takes from them."""
        short = 1.0 - self.signs * (self.scores + bias) + self._drops
        loads = np.where(short > 0.0, self.loads, 0.0)
        return Touch(bias, float(loads @ short), -loads * self.signs, self._mass(loads))

    def _mass(self, loads) -> float:
        return 0.0

    def push(self, pulls, mass: float):
        """Slope in the weights."""
        return self.table.push(pulls)


class BallHinge(_Hinge):
    """Every row may move inside a ball or an ellipsoid: its margin loses radius times the dual norm
    of the weights.
    """

    def __init__(self, matrix, signs, loads, intercept, kind: str, radius: float, covariance):
        super().__init__(matrix, signs, loads, intercept)
        self.kind, self.radius, self.covariance = kind, radius, covariance

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        norm, self.steep = dual_norm(self.kind, weights, self.covariance)
        self._drops = self.radius * norm

    def _mass(self, loads) -> float:
        return self.radius * float(loads.sum())

    def push(self, pulls, mass: float):
        """Slope in the weights."""
        return self.table.push(pulls) + mass * self.steep


class DeletionHinge(_Hinge):
    """Up to so many features of every row vanish: its margin loses those that spoke most for its
    class.
    """

    def __init__(self, matrix, signs, loads, intercept, most: int):
        super().__init__(matrix, signs, loads, intercept)
        self.deleted = Deleted(matrix, most)

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        self._drops = self.deleted.move(self.signs, weights)

    def push(self, pulls, mass: float):
        """Slope in the weights."""
        return self.deleted.push(pulls)


class LabelHinge(_Hinge):
    """Rows of a total weight of at most `flips` have the other label."""

    def __init__(self, matrix, signs, loads, intercept, flips: float):
        super().__init__(matrix, signs, loads, intercept)
        self.flips = flips

    def at(self, bias: float) -> Touch:
        """R and its slopes: the rows that gain most by it are flipped, the last one in part."""
        margins = self.signs * (self.scores + bias)
        gains = np.maximum(1.0 + margins, 0.0) - np.maximum(1.0 - margins, 0.0)
        order = np.argsort(-gains, kind="stable")
        before = np.concatenate(([0.0], np.cumsum(self.loads[order])))[:-1]
        flipped = np.zeros_like(self.loads)
        flipped[order] = np.clip(self.flips - before, 0.0, self.loads[order])
        flipped[gains <= 0.0] = 0.0
        value = float(self.loads @ np.maximum(1.0 - margins, 0.0) + flipped @ gains)
        slopes = flipped * (margins > -1.0) - (self.loads - flipped) * (margins < 1.0)
        return Touch(bias, value, slopes * self.signs, 0.0)


class SpectralHinge(_Hinge):
    """The rows together may move by a matrix of a largest singular value of at most `radius`; loads
    are numbers of copies of a row.
    """

    def __init__(self, matrix, signs, loads, intercept, radius: float):
        super().__init__(matrix, signs, loads, intercept)
        self.radius = radius
        self.copies = np.repeat(np.arange(len(loads)), np.rint(loads).astype(np.int64))

    def move(self, weights) -> None:
        """Take new weights."""
        super().move(weights)
        self.norm, self.steep = dual_norm("spectral", weights)

    def at(self, bias: float) -> Touch:
        """R and its slopes: the best number of rows that share the movement, those of least margin
        first.
        """
        short = (1.0 - self.signs * (self.scores + bias))[self.copies]
        order = np.argsort(-short, kind="stable")
        roots = np.sqrt(np.arange(1, len(order) + 1))
        sums = np.cumsum(short[order]) + self.radius * self.norm * roots
        last = int(sums.argmax())
        if sums[last] <= 0.0:
            return Touch(bias, 0.0, np.zeros_like(self.loads), 0.0)
        hit = np.bincount(self.copies[order[: last + 1]], minlength=len(self.loads))
        return Touch(bias, float(sums[last]), -hit * self.signs, self.radius * float(roots[last]))

    def push(self, pulls, mass: float):
        """Slope in the weights."""
        return self.table.push(pulls) + mass * self.steep


def hinge_oracle(kind: str, radius: float, covariance, matrix, signs, loads, intercept: bool):
    """The oracle of an uncertainty set by its name."""
    given = (matrix, signs, loads, intercept)
    if kind in BALLS:
        return BallHinge(*given, kind, radius, covariance)
    if kind == "deletion":
        return DeletionHinge(*given, int(radius))
    return LabelHinge(*given, radius) if kind == "labels" else SpectralHinge(*given, radius)
