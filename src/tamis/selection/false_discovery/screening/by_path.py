"""Screening by an L1 path: candidates to test, and controls of every test."""

from typing import NamedTuple

import numpy as np

from tamis.selection.false_discovery.screening.path import L1Path, PathPoint
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns

# Penalty that selects the controls, over the largest correlation with noise.
NOISE_PENALTY_RATIO = 0.8
# Penalties of a path: number, first, and last. For numbers the first and the last are ratios to
# the smallest penalty with an empty model; for classes the last is one to the controls' penalty.
REGRESSION_GRID = (40, 1.02, 0.08)
CLASSIFICATION_GRID = (25, 1.02, 0.5)
# Of the noise deviation, each from the path at the penalty of the one before.
MAX_NOISE_ESTIMATES = 6
NOISE_TOL = 1e-3  # relative change of the noise deviation at which the estimates stop
ROWS_PER_CONTROL = 4  # at most one control per so many rows


class ScreenResult(NamedTuple):
    """Columns to test, in the order in which they entered, and the controls of every test."""

    candidates: np.ndarray
    controls: np.ndarray

    def with_candidates(self, columns) -> "ScreenResult":
        """Return the result with more columns to test, after the others."""
        additional = np.setdiff1d(np.asarray(columns, dtype=np.int64), self.candidates)
        return self._replace(candidates=np.concatenate([self.candidates, additional]))


def noise_correlation(n_columns: int, total_weight: float) -> float:
    """Return about the largest correlation of a target with `n_columns` columns of noise."""
    return float(np.sqrt(2.0 * np.log(max(n_columns, 2)) / total_weight))


def screen_path(
    columns: StandardizedColumns, target: np.ndarray, logistic: bool, n_candidates: int
) -> ScreenResult:
    """Screen the columns for one target by a path on all rows."""
    mean = columns.weights @ target / columns.total_weight
    deviation = float(np.sqrt(columns.weights @ np.square(target - mean) / columns.total_weight))
    noise = noise_correlation(columns.n_columns, columns.total_weight)
    empty = ScreenResult(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    if deviation == 0.0:
        return empty
    path = L1Path(columns, target, logistic)
    if path.max_penalty <= 1e-12 * deviation:
        return empty
    if logistic:
        count, first, last = CLASSIFICATION_GRID
        last_penalty = last * min(NOISE_PENALTY_RATIO * deviation * noise, path.max_penalty)
    else:
        count, first, last = REGRESSION_GRID
        last_penalty = last * path.max_penalty
    grid = np.geomspace(first * path.max_penalty, last_penalty, count)
    index = _path_index(path, grid, NOISE_PENALTY_RATIO * deviation * noise)
    for _ in range(0 if logistic else MAX_NOISE_ESTIMATES):
        previous, deviation = deviation, _residual_deviation(columns, path.points[index])
        index = _path_index(path, grid, NOISE_PENALTY_RATIO * deviation * noise)
        if abs(deviation - previous) < NOISE_TOL * previous:
            break
    order = _entry_order(path, grid, n_candidates)
    point = path.points[index]
    by_size = point.columns[np.argsort(-np.abs(point.weights), kind="stable")]
    additional = by_size[~np.isin(by_size, order[:n_candidates])]
    candidates = np.concatenate([order[:n_candidates], additional])
    return ScreenResult(candidates, by_size[: int(columns.total_weight / ROWS_PER_CONTROL)])


def _path_index(path: L1Path, grid: np.ndarray, penalty: float) -> int:
    """Return the index of the first grid penalty not above `penalty`, or of the last one.

    The path is solved up to this index.
    """
    reached = np.flatnonzero(grid <= penalty)
    index = int(reached[0]) if len(reached) else len(grid) - 1
    while len(path.points) <= index:
        path.solve_next(grid[len(path.points)])
    return index


def _residual_deviation(columns: StandardizedColumns, point: PathPoint) -> float:
    """Return the standard deviation of the residuals of a lasso solution.

    A least squares refit would take noise for signal, lower the penalty, and select more noise, up
    to a quarter of the rows.
    """
    degrees_of_freedom = max(
        columns.total_weight - len(point.columns) - 1.0, columns.total_weight / ROWS_PER_CONTROL
    )
    return float(np.sqrt(point.squared_residuals / degrees_of_freedom))


def _entry_order(path: L1Path, grid: np.ndarray, n_wanted: int) -> np.ndarray:
    """Return columns in the order in which they enter the path, at one penalty by |weight|.

    The path is solved until `n_wanted` columns have entered.
    """
    order: list[int] = []
    seen: set[int] = set()
    for k, penalty in enumerate(grid):
        if k >= len(path.points):
            if len(order) >= n_wanted:
                break
            path.solve_next(penalty)
        point = path.points[k]
        by_size = point.columns[np.argsort(-np.abs(point.weights), kind="stable")]
        new = [int(j) for j in by_size if j not in seen]
        order += new
        seen.update(new)
    return np.array(order, dtype=np.int64)
