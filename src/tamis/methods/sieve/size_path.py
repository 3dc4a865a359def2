"""The points of a size path that a fitted sieve keeps: other sizes from the same fit."""

from typing import ClassVar

import numpy as np

from tamis.methods.sieve.paths import Candidate, PathPoint, importance_of
from tamis.methods.sieve.table.columns import (
    Columns,
    Sample,
    Units,
    group_ranks,
    to_original_units,
)
from tamis.system.schema import array, count, figure, flag, indices, listing, part


class SizePath:
    """Where the paths over all rows stood at each stored size, for another size from the same fit.

    `columns` are those of the largest stored point, numbered as in X, and points count columns by
    their positions there. Sizes count groups.
    """

    _contents: ClassVar[dict] = {
        "columns": indices("candidates", below="columns", distinct=True),
        "groups": array("u4", "candidates"),
        "is_grouped": flag(),
        "always": count(),
        "scale": array("f8", "candidates", least=0.0),
        "shift": array("f8", "candidates"),
        "density": array("f8", "candidates", least=0.0),
        "density_exponent": figure(),
        "column_std": array("f8", "candidates", least=0.0),
        "last_level": array("u1", "fits", "candidates"),
        "levels": array("i8", "points", least=0),
        "points": listing(part(PathPoint, "outputs", columns="candidates"), "points"),
        "calibrations": array("f8", "points", "outputs", 2),
        "prior": array("f8", "outputs"),
        "unit": array("f8", "outputs"),
        "center": array("f8", "outputs"),
    }

    def __init__(
        self,
        points: dict[int, PathPoint],
        calibrations: dict[int, np.ndarray],
        candidate: Candidate,
        sample: Sample,
        column_std: np.ndarray,
        last_level: np.ndarray,
        prior: np.ndarray,
    ):
        """Points by level, their columns numbered as in the sample; `prior` are the intercepts of
        no column at all, in the units of y.
        """
        table, (self.unit, self.center) = sample.table, sample.units
        levels = sorted(points)
        self.levels = np.array(levels, dtype=np.int64)
        at = points[levels[0]].columns.astype(np.int64) if levels else np.zeros(0, dtype=np.int64)
        self.points = [
            PathPoint(np.searchsorted(at, one.columns), one.weights, one.bias, one.passes)
            for one in (points[level] for level in levels)
        ]
        found = np.array([calibrations[level] for level in levels], dtype=float)
        self.calibrations = found.reshape(-1, len(prior), 2)
        self.groups, self.is_grouped = table.numbers(at).astype(np.uint32), table.groups is not None
        self.always, self.prior = table.always, prior
        self.density, self.density_exponent = table.density[at], float(candidate.density_exponent)
        self.scale, self.shift = sample.columns.scale[at], sample.columns.shift[at]
        self.column_std, self.columns = column_std[at], sample.columns.kept[at]
        self.last_level = np.ascontiguousarray(last_level[:, at])

    @property
    def sizes(self) -> np.ndarray:
        """Number of groups that may leave, of each point."""
        sizes = [len(np.unique(self.groups[point.columns])) for point in self.points]
        return np.array(sizes, dtype=np.int64) - (self.always > 0)

    @property
    def largest(self) -> int:
        """The largest size that it holds."""
        return int(self.sizes[0]) if len(self.points) else 0

    def index(self, k: int) -> int:
        """The last point that is not smaller than `k`."""
        return int(np.flatnonzero(self.sizes >= k)[-1])

    def calibration(self, k: int) -> np.ndarray:
        """The calibration of held-out scores at the point of a size."""
        return self.calibrations[self.index(k)]

    def selection_frequency(self, k: int) -> np.ndarray:
        """Share of the fold fits that keep each of the columns at the point of a size."""
        if not len(self.last_level):
            return np.zeros(len(self.columns))
        return (self.last_level >= self.levels[self.index(k)]).mean(axis=0)

    def point_of(self, k: int) -> PathPoint:
        """The most important `k` groups of their point, and the columns that never leave."""
        point = self.points[self.index(k)]
        density, kept = self.density[point.columns], self.always > 0
        importance = importance_of(point.weights, density, self.density_exponent)
        ranks = group_ranks(self.groups[point.columns], importance, self.is_grouped, kept)
        stay = ranks < k + kept
        return PathPoint(point.columns[stay], point.weights[stay], point.bias, point.passes)

    def model(self, k: int, n_columns: int) -> dict:
        """Fields of the model of the most important `k` groups, as the paths left it."""
        if not k and not self.always:
            none, empty = np.zeros(0, dtype=np.int64), np.zeros((0, len(self.prior)))
            return {
                "n_columns": n_columns, "columns": none, "weights": empty, "bias": self.prior,
                "column_std": np.zeros(0), "ever_selected": none, "selection_frequency": empty,
            }  # fmt: skip
        point = self.point_of(k)
        return to_original_units(
            Columns(n_columns, self.columns, self.scale, self.shift),
            Units(self.unit, self.center), point.columns, point.weights.astype(float), point.bias,
            self.calibration(k), self.column_std[point.columns], self.selection_frequency(k),
        )  # fmt: skip
