"""The points of the size path that a fitted sieve stores, for other sizes from the same fit."""

from typing import ClassVar

import numpy as np

from tamis.methods.sieve.paths import Candidate, PathPoint, importance_of
from tamis.methods.sieve.table.standard_units import (
    ColumnScaling,
    Sample,
    TargetUnits,
    group_ranks,
    to_original_units,
)
from tamis.system.schema import array, count, flag, indices, list_of, nested_object, statistic


class SizePath:
    """Points of the paths over all rows at the stored sizes.

    `columns` are those of the largest stored point, numbered as in X; points number columns by
    their positions there. Sizes count feature groups.
    """

    _contents: ClassVar[dict] = {
        "columns": indices("candidates", below="columns", distinct=True),
        "groups": array("u4", "candidates"),
        "is_grouped": flag(),
        "always": count(),
        "scale": array("f8", "candidates", minimum=0.0),
        "shift": array("f8", "candidates"),
        "density": array("f8", "candidates", minimum=0.0),
        "density_exponent": statistic(),
        "column_std": array("f8", "candidates", minimum=0.0),
        "last_level": array("u1", "fits", "candidates"),
        "levels": array("i8", "points", minimum=0),
        "points": list_of(nested_object(PathPoint, "outputs", columns="candidates"), "points"),
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
        """Store points by level, whose columns are numbered as in the sample; `prior` are the
        intercepts of the model without columns, in the units of y.
        """
        table, (self.unit, self.center) = sample.table, sample.units
        levels = sorted(points)
        self.levels = np.array(levels, dtype=np.int64)
        columns = np.zeros(0, dtype=np.int64)
        if levels:
            columns = points[levels[0]].columns.astype(np.int64)
        self.points = []
        for point in (points[level] for level in levels):
            positions = np.searchsorted(columns, point.columns)
            self.points.append(PathPoint(positions, point.weights, point.bias, point.passes))
        stored_calibrations = np.array([calibrations[level] for level in levels], dtype=float)
        self.calibrations = stored_calibrations.reshape(-1, len(prior), 2)
        self.groups = table.group_numbers(columns).astype(np.uint32)
        self.is_grouped = table.groups is not None
        self.always, self.prior = table.n_unpenalized, prior
        self.density = table.density[columns]
        self.density_exponent = float(candidate.density_exponent)
        self.scale, self.shift = sample.scaling.scale[columns], sample.scaling.shift[columns]
        self.column_std, self.columns = column_std[columns], sample.scaling.retained[columns]
        self.last_level = np.ascontiguousarray(last_level[:, columns])

    @property
    def sizes(self) -> np.ndarray:
        """Number of penalized feature groups of each point."""
        sizes = [len(np.unique(self.groups[point.columns])) for point in self.points]
        return np.array(sizes, dtype=np.int64) - (self.always > 0)

    @property
    def max_size(self) -> int:
        """The largest stored size."""
        return int(self.sizes[0]) if len(self.points) else 0

    def point_index(self, k: int) -> int:
        """Return the index of the last point that is not smaller than `k`."""
        return int(np.flatnonzero(self.sizes >= k)[-1])

    def calibration(self, k: int) -> np.ndarray:
        """Return the calibration of the held-out scores at size `k`."""
        return self.calibrations[self.point_index(k)]

    def selection_frequency(self, k: int) -> np.ndarray:
        """Return the fraction of the fold fits that select each of the columns at size `k`."""
        if not len(self.last_level):
            return np.zeros(len(self.columns))
        return (self.last_level >= self.levels[self.point_index(k)]).mean(axis=0)

    def select_point(self, k: int) -> PathPoint:
        """Return the point with its `k` most important groups and the unpenalized columns."""
        point = self.points[self.point_index(k)]
        density, has_unpenalized = self.density[point.columns], self.always > 0
        importance = importance_of(point.weights, density, self.density_exponent)
        ranks = group_ranks(
            self.groups[point.columns], importance, self.is_grouped, has_unpenalized
        )
        is_selected = ranks < k + has_unpenalized
        return PathPoint(
            point.columns[is_selected], point.weights[is_selected], point.bias, point.passes
        )

    def model_fields(self, k: int, n_columns: int) -> dict:
        """Return the fields of the model of the `k` most important feature groups, without a final
        phase.
        """
        if not k and not self.always:
            no_columns, no_weights = np.zeros(0, dtype=np.int64), np.zeros((0, len(self.prior)))
            return {
                "n_columns": n_columns,
                "columns": no_columns,
                "weights": no_weights,
                "bias": self.prior,
                "column_std": np.zeros(0),
                "ever_selected": no_columns,
                "selection_frequency": no_weights,
            }
        point = self.select_point(k)
        return to_original_units(
            ColumnScaling(n_columns, self.columns, self.scale, self.shift),
            TargetUnits(self.unit, self.center), point.columns, point.weights.astype(float),
            point.bias, self.calibration(k), self.column_std[point.columns],
            self.selection_frequency(k),
        )  # fmt: skip
