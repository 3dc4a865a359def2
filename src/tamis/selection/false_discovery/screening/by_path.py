"""Screening: which columns are worth a test, and which ones every test is held against."""

from typing import NamedTuple

import numpy as np

from tamis.selection.false_discovery.screening.path import Path, PathPoint
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns

SHARE = 0.8  # of the largest slope that noise has: the penalty of the controls
REGRESSION_GRID = (40, 1.02, 0.08)  # penalties for numbers: how many, first and last over the largest slope
CLASSES = (25, 1.02, 0.5)  # for classes; the last over the penalty of the controls
MAX_NOISE_ESTIMATES = 6  # most estimates of the noise
NOISE_TOL = 1e-3  # a relative change of the noise that ends them
ROWS_PER_CONTROL = 4  # a row in so many may be a control


class ScreenResult(NamedTuple):
    """Columns to test, in the order in which they came in, and those that every test is held
    against.
    """

    candidates: np.ndarray
    controls: np.ndarray

    def with_candidates(self, columns) -> "Screened":
        """More columns to test, behind the others."""
        more = np.setdiff1d(np.asarray(columns, dtype=np.int64), self.candidates)
        return self._replace(candidates=np.concatenate([self.candidates, more]))


def noise_correlation(n_columns: int, total: float) -> float:
    """About the largest correlation of a target with that many columns of noise."""
    return float(np.sqrt(2.0 * np.log(max(n_columns, 2)) / total))


def screen_path(
    columns: StandardizedColumns, target: np.ndarray, logistic: bool, n_candidates: int
) -> ScreenResult:
    """By a path of all rows."""
    level = columns.weights @ target / columns.total
    spread = float(np.sqrt(columns.weights @ np.square(target - level) / columns.total))
    noise = noise_correlation(columns.n_columns, columns.total)
    nothing = ScreenResult(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    if spread == 0.0:
        return nothing
    path = Path(columns, target, logistic)
    if path.largest <= 1e-12 * spread:
        return nothing
    if logistic:
        count, first, last = CLASSES
        lowest = last * min(SHARE * spread * noise, path.largest)
    else:
        count, first, last = REGRESSION_GRID
        lowest = last * path.largest
    grid = np.geomspace(first * path.largest, lowest, count)
    at = _at(path, grid, SHARE * spread * noise)
    for _ in range(0 if logistic else MAX_NOISE_ESTIMATES):
        before, spread = spread, _residual_deviation(columns, path.steps[at])
        at = _at(path, grid, SHARE * spread * noise)
        if abs(spread - before) < NOISE_TOL * before:
            break
    order = _entry_order(path, grid, n_candidates)
    step = path.steps[at]
    chosen = step.columns[np.argsort(-np.abs(step.weights), kind="stable")]
    more = chosen[~np.isin(chosen, order[:n_candidates])]
    candidates = np.concatenate([order[:n_candidates], more])
    return ScreenResult(candidates, chosen[: int(columns.total / ROWS_PER_CONTROL)])


def _at(path: Path, grid: np.ndarray, penalty: float) -> int:
    """Place of the first penalty of the grid that is not above another, or of the last one; the
    path is followed so far.
    """
    below = np.flatnonzero(grid <= penalty)
    at = int(below[0]) if len(below) else len(grid) - 1
    while len(path.steps) <= at:
        path.go(grid[len(path.steps)])
    return at


def _residual_deviation(columns: StandardizedColumns, step: PathPoint) -> float:
    """Deviation of what a solution leaves of the target.

    That of the lasso itself: least squares on its columns would take noise for signal, lower the
    penalty, and let in more noise, up to a quarter of the rows.
    """
    free = max(columns.total - len(step.columns) - 1.0, columns.total / ROWS_PER_CONTROL)
    return float(np.sqrt(step.left / free))


def _entry_order(path: Path, grid: np.ndarray, wanted: int) -> np.ndarray:
    """Columns in the order in which they came in, within a step by the size of their weights; the
    path is followed until there are as many as wanted.
    """
    order: list[int] = []
    met: set[int] = set()
    for k, penalty in enumerate(grid):
        if k >= len(path.steps):
            if len(order) >= wanted:
                break
            path.go(penalty)
        step = path.steps[k]
        by_size = step.columns[np.argsort(-np.abs(step.weights), kind="stable")]
        new = [int(j) for j in by_size if j not in met]
        order += new
        met.update(new)
    return np.array(order, dtype=np.int64)
