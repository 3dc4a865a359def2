"""Lasso and L1-logistic paths over standardized columns, solved one penalty at a time.

The solver keeps a working set of columns that violate the optimality conditions. Newton steps on
this set solve their quadratic model by coordinate descent on its Gram matrix. The intercept is not
penalized.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tamis.numerics.numba import compiled
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns

# A column joins the working set where its |gradient| exceeds this times the penalty.
WORKING_SET_RATIO = 0.95
KKT_TOL = 1e-6  # accepted violation of the optimality conditions, over the penalty
MAX_NEWTON_STEPS = 50  # at one penalty and working set
MAX_WORKING_SETS = 50  # at one penalty
MAX_SWEEPS = 1000  # of coordinate descent on one quadratic model
MIN_CURVATURE_RATIO = 1e-6  # smallest curvature of a row that Newton steps use


@compiled
def coordinate_descent(gram, gradient, weights, penalty, tol, max_sweeps):
    """Minimize gradient'd + d'gram d / 2 + penalty |weights + d|_1, both vectors in place."""
    count = weights.shape[0]
    is_full_sweep = True
    for _ in range(max_sweeps):
        max_change = 0.0
        for j in range(count):
            hessian, old = gram[j, j], weights[j]
            if hessian <= 0.0 or (old == 0.0 and not is_full_sweep):
                continue
            minimum = old - gradient[j] / hessian
            threshold = penalty / hessian
            new = (
                minimum - threshold
                if minimum > threshold
                else (minimum + threshold if minimum < -threshold else 0.0)
            )
            step = new - old
            if step != 0.0:
                weights[j] = new
                max_change = max(max_change, abs(step) * hessian)
                for k in range(count):
                    gradient[k] += step * gram[j, k]
        if max_change <= tol:
            if is_full_sweep:
                return
            is_full_sweep = True
        else:
            is_full_sweep = False


class PathPoint(NamedTuple):
    """A solution: penalty, columns with nonzero weights, these weights, and the sum of squared
    residuals (`squared_residuals`).
    """

    penalty: float
    columns: np.ndarray
    weights: np.ndarray
    squared_residuals: float


class L1Path:
    """Solutions for one target at falling penalties, each with a warm start."""

    def __init__(self, columns: StandardizedColumns, target: np.ndarray, logistic: bool):
        self.columns, self.target, self.logistic = columns, target, logistic
        self.points: list[PathPoint] = []
        self.working_set = np.zeros(0, dtype=np.int64)  # columns of `table`, in its order
        self.table = np.zeros((columns.n_rows, 0), order="F")
        self.gram = np.zeros((0, 0))
        self.weights = np.zeros(0)
        level = float(columns.weights @ target) / columns.total_weight
        self.bias = float(np.log(level / (1.0 - level))) if logistic else level
        self.gradient = self._gradient(self._residuals(self._scores()))
        self.max_penalty = float(np.abs(self.gradient).max(initial=0.0))

    def solve_next(self, penalty: float) -> PathPoint:
        """Solve at the next penalty and return the solution."""
        for _ in range(MAX_WORKING_SETS):
            self._add_to_working_set(
                np.flatnonzero(np.abs(self.gradient) > WORKING_SET_RATIO * penalty)
            )
            scores = self._solve(penalty)
            residuals = self._residuals(scores)
            self.gradient = self._gradient(residuals)
            if np.abs(self.gradient).max(initial=0.0) <= (1.0 + KKT_TOL) * penalty:
                break
        nonzero = np.flatnonzero(self.weights)
        left = float(residuals @ (residuals / self.columns.weights))
        self.points.append(
            PathPoint(penalty, self.working_set[nonzero], self.weights[nonzero].copy(), left)
        )
        return self.points[-1]

    def _scores(self) -> np.ndarray:
        used = np.flatnonzero(self.weights)
        return self.table[:, used] @ self.weights[used] + self.bias

    def _residuals(self, scores: np.ndarray) -> np.ndarray:
        """Return the residuals of the target times the row weights."""
        fitted = expit(scores) if self.logistic else scores
        return self.columns.weights * (self.target - fitted)

    def _gradient(self, residuals: np.ndarray) -> np.ndarray:
        """Return the negative gradient of the mean loss."""
        return self.columns.cross_products(residuals) / self.columns.total_weight

    def _add_to_working_set(self, candidates: np.ndarray) -> None:
        """Add the columns that are not in the working set yet."""
        new = np.setdiff1d(candidates, self.working_set)
        if not len(new):
            return
        new_columns, n_old = self.columns.dense_columns(new), len(self.working_set)
        if not self.logistic:
            gram = np.empty((n_old + len(new), n_old + len(new)))
            weighted = new_columns * (self.columns.weights / self.columns.total_weight)[:, None]
            gram[:n_old, :n_old] = self.gram
            gram[:n_old, n_old:] = self.table.T @ weighted
            gram[n_old:, :n_old] = gram[:n_old, n_old:].T
            gram[n_old:, n_old:] = new_columns.T @ weighted
            self.gram = gram
        self.table = np.hstack([self.table, new_columns])
        self.working_set = np.concatenate([self.working_set, new])
        self.weights = np.concatenate([self.weights, np.zeros(len(new))])

    def _solve(self, penalty: float) -> np.ndarray:
        """Solve on the working set and return the scores of the rows."""
        if not self.logistic:  # the columns are centred, so the bias does not change
            gradient = self.gram @ self.weights - self._linear()
            coordinate_descent(
                self.gram, gradient, self.weights, penalty, KKT_TOL * penalty, MAX_SWEEPS
            )
            return self._scores()
        return self._newton(penalty)

    def _linear(self) -> np.ndarray:
        residuals = self.columns.weights * (self.target - self.bias)
        return self.table.T @ residuals / self.columns.total_weight

    def _newton(self, penalty: float) -> np.ndarray:
        """Minimize the penalized logistic loss by Newton steps; return the scores of the rows."""
        total_weight, row_weights = self.columns.total_weight, self.columns.weights
        scores = self._scores()
        value = self._value(scores, penalty)
        for _ in range(MAX_NEWTON_STEPS):
            fitted = expit(scores)
            curvature = row_weights * np.maximum(fitted * (1.0 - fitted), MIN_CURVATURE_RATIO)
            residuals = row_weights * (fitted - self.target)
            gradient = self.table.T @ residuals / total_weight
            active = np.flatnonzero(
                (self.weights != 0.0) | (np.abs(gradient) > WORKING_SET_RATIO * penalty)
            )
            active_table = (
                self.table[:, active] if len(active) < len(self.working_set) else self.table
            )
            curved = active_table * curvature[:, None]
            column_sums = curved.sum(axis=0)
            gram = (
                active_table.T @ curved - np.outer(column_sums, column_sums / curvature.sum())
            ) / total_weight
            # The bias is eliminated: its gradient is subtracted from that of the weights.
            bias_gradient = residuals.sum() / curvature.sum()
            active_gradient = gradient[active] - bias_gradient * column_sums / total_weight
            before = self.weights[active]
            after = before.copy()
            coordinate_descent(
                gram, active_gradient, after, penalty, 0.1 * KKT_TOL * penalty, MAX_SWEEPS
            )
            direction = after - before
            bias_direction = -bias_gradient - float(column_sums @ direction) / curvature.sum()
            score_direction, step_size = active_table @ direction + bias_direction, 1.0
            for _ in range(20):
                self.weights[active] = before + step_size * direction
                new_value = self._value(scores + step_size * score_direction, penalty)
                if new_value <= value + 1e-12 * abs(value):
                    break
                step_size *= 0.5
            self.bias += step_size * bias_direction
            scores, value = scores + step_size * score_direction, new_value
            if np.abs(direction * np.diagonal(gram)).max(initial=0.0) <= KKT_TOL * penalty:
                break
        return scores

    def _value(self, scores: np.ndarray, penalty: float) -> float:
        loss = np.logaddexp(0.0, scores) - self.target * scores
        mean = float(self.columns.weights @ loss) / self.columns.total_weight
        return mean + penalty * float(np.abs(self.weights).sum())
