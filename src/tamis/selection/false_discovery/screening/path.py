"""Lasso and L1-logistic paths over columns in units of their spread, as far as they are asked for.

Working sets of violating columns; on them Newton steps, whose quadratic model is solved by
coordinate descent on its Gram matrix. The intercept is free.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tamis.numerics.numba import compiled
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns

NEAR = 0.95  # of a penalty: columns whose slope exceeds it join a working set
CLOSE = 1e-6  # of a penalty: how far a slope may exceed it, and a weight's slope miss it
NEWTON = 50  # most Newton steps at a penalty
ROUNDS = 50  # most working sets at a penalty
SWEEPS = 1000  # most sweeps of a quadratic model
MIN_CURVATURE = 1e-6  # of the largest curvature of a row


@compiled
def coordinate_descent(gram, slope, weights, penalty, enough, sweeps):
    """Minimise slope'd + d'gram d / 2 + penalty |weights + d|_1 in place: `slope` follows."""
    count = weights.shape[0]
    whole = True
    for _ in range(sweeps):
        most = 0.0
        for j in range(count):
            bend, old = gram[j, j], weights[j]
            if bend <= 0.0 or (old == 0.0 and not whole):
                continue
            goal = old - slope[j] / bend
            toll = penalty / bend
            new = goal - toll if goal > toll else (goal + toll if goal < -toll else 0.0)
            move = new - old
            if move != 0.0:
                weights[j] = new
                most = max(most, abs(move) * bend)
                for k in range(count):
                    slope[k] += move * gram[j, k]
        if most <= enough:
            if whole:
                return
            whole = True
        else:
            whole = False


class PathPoint(NamedTuple):
    """A solution: its penalty, the columns that have a weight, these weights, and the squares of
    what it leaves of the target.
    """

    penalty: float
    columns: np.ndarray
    weights: np.ndarray
    left: float


class Path:
    """Solutions of one target along falling penalties, each begun where the last one ended."""

    def __init__(self, columns: StandardizedColumns, target: np.ndarray, logistic: bool):
        self.columns, self.target, self.logistic = columns, target, logistic
        self.steps: list[PathPoint] = []
        self.held = np.zeros(0, dtype=np.int64)  # columns met so far
        self.table = np.zeros((columns.n_rows, 0), order="F")
        self.gram = np.zeros((0, 0))
        self.weights = np.zeros(0)
        level = float(columns.weights @ target) / columns.total
        self.bias = float(np.log(level / (1.0 - level))) if logistic else level
        self.slope = self._slopes(self._residuals(self._scores()))
        self.largest = float(np.abs(self.slope).max(initial=0.0))

    def go(self, penalty: float) -> PathPoint:
        """The next solution."""
        for _ in range(ROUNDS):
            self._meet(np.flatnonzero(np.abs(self.slope) > NEAR * penalty))
            scores = self._solve(penalty)
            residuals = self._residuals(scores)
            self.slope = self._slopes(residuals)
            if np.abs(self.slope).max(initial=0.0) <= (1.0 + CLOSE) * penalty:
                break
        kept = np.flatnonzero(self.weights)
        left = float(residuals @ (residuals / self.columns.weights))
        self.steps.append(PathPoint(penalty, self.held[kept], self.weights[kept].copy(), left))
        return self.steps[-1]

    def _scores(self) -> np.ndarray:
        used = np.flatnonzero(self.weights)
        return self.table[:, used] @ self.weights[used] + self.bias

    def _residuals(self, scores: np.ndarray) -> np.ndarray:
        """What is left of the target, under the row weights."""
        fitted = expit(scores) if self.logistic else scores
        return self.columns.weights * (self.target - fitted)

    def _slopes(self, residuals: np.ndarray) -> np.ndarray:
        """Slopes of the mean loss, downhill."""
        return self.columns.slopes(residuals) / self.columns.total

    def _meet(self, near: np.ndarray) -> None:
        """Columns that were not met before."""
        new = np.setdiff1d(near, self.held)
        if not len(new):
            return
        fresh, old = self.columns.picked(new), len(self.held)
        if not self.logistic:
            gram = np.empty((old + len(new), old + len(new)))
            weighted = fresh * (self.columns.weights / self.columns.total)[:, None]
            gram[:old, :old] = self.gram
            gram[:old, old:] = self.table.T @ weighted
            gram[old:, :old] = gram[:old, old:].T
            gram[old:, old:] = fresh.T @ weighted
            self.gram = gram
        self.table = np.hstack([self.table, fresh])
        self.held = np.concatenate([self.held, new])
        self.weights = np.concatenate([self.weights, np.zeros(len(new))])

    def _solve(self, penalty: float) -> np.ndarray:
        """The solution on the columns met; its scores."""
        if not self.logistic:  # the columns are centred: the bias stays
            slope = self.gram @ self.weights - self._linear()
            coordinate_descent(self.gram, slope, self.weights, penalty, CLOSE * penalty, SWEEPS)
            return self._scores()
        return self._newton(penalty)

    def _linear(self) -> np.ndarray:
        rest = self.columns.weights * (self.target - self.bias)
        return self.table.T @ rest / self.columns.total

    def _newton(self, penalty: float) -> np.ndarray:
        """Newton steps of the logistic loss, on the columns that have a weight or want one."""
        total, of_rows = self.columns.total, self.columns.weights
        scores = self._scores()
        value = self._value(scores, penalty)
        for _ in range(NEWTON):
            fitted = expit(scores)
            bend = of_rows * np.maximum(fitted * (1.0 - fitted), MIN_CURVATURE)
            rest = of_rows * (fitted - self.target)
            slope = self.table.T @ rest / total
            on = np.flatnonzero((self.weights != 0.0) | (np.abs(slope) > NEAR * penalty))
            part = self.table[:, on] if len(on) < len(self.held) else self.table
            weighted = part * bend[:, None]
            sums = weighted.sum(axis=0)
            gram = (part.T @ weighted - np.outer(sums, sums / bend.sum())) / total
            # The bias is moved along with the weights: its own slope is taken out of theirs.
            off = rest.sum() / bend.sum()
            inner = slope[on] - off * sums / total
            before = self.weights[on]
            after = before.copy()
            coordinate_descent(gram, inner, after, penalty, 0.1 * CLOSE * penalty, SWEEPS)
            move = after - before
            lift = -off - float(sums @ move) / bend.sum()
            change, share = part @ move + lift, 1.0
            for _ in range(20):
                self.weights[on] = before + share * move
                trial = self._value(scores + share * change, penalty)
                if trial <= value + 1e-12 * abs(value):
                    break
                share *= 0.5
            self.bias += share * lift
            scores, value = scores + share * change, trial
            if np.abs(move * np.diagonal(gram)).max(initial=0.0) <= CLOSE * penalty:
                break
        return scores

    def _value(self, scores: np.ndarray, penalty: float) -> float:
        loss = np.logaddexp(0.0, scores) - self.target * scores
        mean = float(self.columns.weights @ loss) / self.columns.total
        return mean + penalty * float(np.abs(self.weights).sum())
