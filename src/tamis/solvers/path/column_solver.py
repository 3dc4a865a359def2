r"""Path solver for penalties of single columns.

Minimises, over weights w and an intercept b,

.. math:: \sum_i v_i \ell(b + o_i + z_i^T w, y_i) + \alpha \sum_j a_j p(w_j),
   \quad l_j \le w_j \le u_j,

with z the columns of a `ColumnTable`, row weights v that sum to 1 and offsets o.

1. The working set holds the columns that the sequential strong rule names (Tibshirani et al. 2012),
   and then those that violate their optimality condition.
2. On the working set Newton's method minimises the objective: coordinate descent on a quadratic
   model of the loss, then a line search. Models of dense columns use a Gram matrix, which is kept
   while the second derivatives change little, and those of sparse columns use residuals. A
   quadratic loss needs no scores at all, only the Gram matrix.
3. The gradients of the columns outside are bounded: since a gradient was last computed, it has
   changed by at most the norm of the column times the distance that the gradients of the rows have
   moved. Only those that may have reached their strength are computed.
4. A strength is solved when the duality gap is at most `tol` times the null deviance or, for losses
   and penalties without a gap, when no violation exceeds sqrt(tol) times the largest strength.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tamis.solvers.path.columns import ColumnTable, DenseColumns, GramColumns, SparseColumns
from tamis.solvers.path.loop_columns import (
    descend_gram,
    descend_sparse,
    sum_penalty,
    write_violations,
)
from tamis.solvers.path.losses import InterceptDesign

# Share of the columns beyond which one product with the whole table computes all gradients.
FULL_PRODUCT_SHARE = 0.3
# Most columns of which a quadratic loss makes the Gram matrix at once.
MAX_GRAM_COLUMNS = 4000
# Sweeps of coordinate descent before the exact solution for the present signs is tried.
SWEEPS_PER_EXACT_STEP = 20
MAX_SWEEPS = 2000
# First violations that a strength is solved to, as a share of it; the gap may ask for less.
FIRST_TOLERANCE = 1e-3
# A strength at which no penalised column gets a weight.
EMPTY_ALPHA = 1e100
# Halvings of a step before the line search gives up: what is left is rounding.
MAX_HALVINGS = 20
# Newton steps for one class before the next one has its turn.
STEPS_PER_CLASS = 2
# Least second derivative of a row in the score of a class: a class that is sure of a row has none.
MIN_CLASS_CURVATURE = 1e-5


class ColumnSolution(NamedTuple):
    """Solution for one strength: weights of some columns of the table, and the certificate."""

    alpha: float
    indices: np.ndarray
    weights: np.ndarray
    intercept: float
    objective: float
    gap: float  # nan where there is none
    violation: float
    limit: float  # of the gap or, without one, of the violation
    n_iter: int

    @property
    def is_solved(self) -> bool:
        """Whether the gap (or the violation) is within its limit."""
        return not (self.violation if math.isnan(self.gap) else self.gap) > self.limit


def zero_threshold(penalty) -> float:
    """Return the largest size of a gradient at which a weight stays 0, at strength 1."""
    low, high = 0.0, 1.0
    while penalty.subdiff_distance(0.0, -high) <= 0.0 and high < 1e100:
        low, high = high, 2.0 * high
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if penalty.subdiff_distance(0.0, -middle) <= 0.0:
            low = middle
        else:
            high = middle
    return low


class ColumnProblem:
    """A loss of one output, a penalty of single columns, and the state of the solver.

    Parameters
    ----------
    table : ColumnTable
        Columns.
    loss : bound loss of one output
        Smooth, with `curvature`; scores are (rows, 1).
    penalty : term
        Penalty of one weight, of strength 1: `value`, `prox`, `subdiff_distance`. With `rates` (L1
        and elastic net) there is a duality gap; with `largest_step` it need not be convex.
    column_weights : ndarray of shape (n_columns,), default=None
        What multiplies the penalty of each column. 0: never penalised.
    bounds : ndarray of shape (2, n_columns), default=None
        Least (0 at most) and largest (0 at least) weight of each column.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    tol, max_iter : float, int
        When a strength is solved, and the most rounds of working sets and of Newton steps.
    stop : {"auto", "kkt"}, default="auto"
        "kkt" stops by the largest violation even where there is a duality gap.
    start : tuple of float and ndarray of shape (n_rows,), default=None
        Intercept and scores to start from; None is the best intercept.
    """

    def __init__(
        self,
        table: ColumnTable,
        loss: Any,
        penalty: Any,
        *,
        column_weights: np.ndarray | None = None,
        bounds: np.ndarray | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 100,
        stop: str = "auto",
        start: tuple[float, np.ndarray] | None = None,
    ):
        n_columns = table.n_columns
        self.table, self.loss, self.penalty = table, loss, penalty
        self.fit_intercept, self.tol, self.max_iter = fit_intercept, tol, max_iter
        self.column_weights = np.ones(n_columns) if column_weights is None else column_weights
        free = np.repeat([[-np.inf], [np.inf]], n_columns, axis=1)
        self.bounds = free if bounds is None else bounds
        if getattr(penalty, "positive", 0.0):  # the certificate needs it as a bound
            self.bounds = np.stack([np.maximum(self.bounds[0], 0.0), self.bounds[1]])
        self.has_gap = stop != "kkt" and hasattr(penalty, "rates") and hasattr(loss, "dual_value")
        step = penalty.largest_step() if hasattr(penalty, "largest_step") else math.inf
        self.min_convexity = 1.0 / step
        self.threshold = zero_threshold(penalty)
        # Of all columns: gradients, as they were when the raw gradient had moved by `distance_at`.
        self.distance, self.previous_alpha = 0.0, math.inf
        self.is_in_working_set = np.zeros(n_columns, dtype=bool)
        self.intercept, scores = start if start is not None else (0.0, np.zeros(table.n_rows))
        self._set_scores(scores)
        if fit_intercept and start is None:
            self._center()
        self.gradients = table.gradients(self.raw_gradient)
        self.distance_at = np.full(n_columns, self.distance)
        self.null_deviance = max(2.0 * (self.value - loss.best_loss()), 1e-300)
        self._choose_form()
        never_penalised = (self.column_weights == 0.0) & (table.norms > 0.0)
        self._add(np.flatnonzero(never_penalised & ~self.is_in_working_set))

    def _choose_form(self) -> None:
        """Gram, Newton or residual form, by the loss and the shape of the table."""
        table = self.table
        is_small = table.n_columns <= min(table.n_rows, MAX_GRAM_COLUMNS)
        self.is_quadratic = self.loss.is_quadratic and (is_small or not table.is_sparse)
        self.weights = np.zeros(0)
        self.working_set: Any = None
        if self.is_quadratic:
            # Value, dual value and gradients of all weights follow from those of no weights.
            self.null_scores, self.null_value = self.scores, self.value
            self.null_gradients = self.gradients.copy()
            self.null_dual = self.loss.dual_value(self.row_gradients[:, None])
            if is_small:
                self.working_set = GramColumns(table)
                self.weights = np.zeros(table.n_columns)
                self.is_in_working_set[:] = True
        if self.working_set is None:
            self.working_set = SparseColumns(table) if table.is_sparse else DenseColumns(table)

    # ------------------------------------------------------------------ rows
    def _set_scores(self, scores: np.ndarray) -> None:
        """Set the scores of the rows, and the loss with its gradient there."""
        column = scores[:, None]
        before = getattr(self, "row_gradients", None)
        self.scores, self.value = scores, self.loss.value(column)
        self.row_gradients = self.loss.gradient(column)[:, 0]
        self.raw_gradient = self.table.weights * self.row_gradients
        if before is not None:
            change = self.row_gradients - before
            self.distance += math.sqrt(float(self.table.weights @ change**2))

    def _center(self) -> None:
        """Set the best intercept for the present weights: the dual needs gradients of sum 0."""
        bias, scores = self.loss.center(InterceptDesign(), self.scores[:, None], np.zeros(1))
        self.intercept += float(bias[0])
        self._set_scores(scores[:, 0])

    def refresh(self) -> None:
        """Compute the loss at the present scores again: other outputs have changed it."""
        self._set_scores(self.scores)

    # ------------------------------------------------------------------ working set
    def _add(self, new: np.ndarray) -> None:
        if len(new):
            self.working_set.add(new)
            self.is_in_working_set[new] = True
            self.weights = np.concatenate([self.weights, np.zeros(len(new))])

    def add_violating(self, alpha: float) -> int:
        """Add columns that violate their optimality condition; return how many."""
        limits = alpha * self.column_weights * self.threshold
        reach = np.abs(self.gradients) + self.table.norms * (self.distance - self.distance_at)
        unverified = np.flatnonzero((reach > limits) & ~self.is_in_working_set)
        if len(unverified) and self.is_quadratic:
            distance = self.distance
            self._set_scores(self.null_scores + self.working_set.scores(self.weights))
            self.distance = distance  # it has been counted when the weights moved
        if len(unverified) > FULL_PRODUCT_SHARE * self.table.n_columns:
            self.gradients = self.table.gradients(self.raw_gradient)
            self.distance_at[:] = self.distance
        elif len(unverified):
            self.gradients[unverified] = self.table.gradients(self.raw_gradient, unverified)
            self.distance_at[unverified] = self.distance
        self.checked = unverified
        violations = self._violations(unverified, np.zeros(len(unverified)), alpha)
        new = unverified[violations > 1e-4 * limits[unverified]]
        self._add(new)
        return len(new)

    def _violations(self, indices: np.ndarray, w: np.ndarray, alpha: float) -> np.ndarray:
        violations = np.empty(len(indices))
        strengths, bounds = alpha * self.column_weights[indices], self.bounds[:, indices]
        gradients = self.gradients[indices]
        write_violations(
            w, gradients, strengths, np.ascontiguousarray(bounds), self.penalty, violations
        )
        return violations

    # ------------------------------------------------------------------ one strength
    def largest_alpha(self) -> float:
        """Return the smallest alpha that keeps no penalised column; nan where there is none."""
        if self.threshold == 0.0:
            return math.nan
        if not self.column_weights.all():
            self.minimize(EMPTY_ALPHA, 1e-8 * float(np.abs(self.gradients).max(initial=0.0)))
            self._update_gradients()
        self.previous_alpha = self.ratio_to_threshold()
        return self.previous_alpha

    def ratio_to_threshold(self) -> float:
        """Return the largest gradient of a penalised column, over its strength at alpha 1."""
        negative_gradients = -self.gradients
        can_move = np.where(negative_gradients > 0.0, self.bounds[1] > 0.0, self.bounds[0] < 0.0)
        moves = can_move & (self.column_weights > 0.0)
        ratios = np.abs(negative_gradients[moves]) / self.column_weights[moves]
        return float(ratios.max(initial=0.0)) / self.threshold

    def _update_gradients(self) -> None:
        """Compute the gradients of all columns."""
        if self.is_quadratic:
            if isinstance(self.working_set, GramColumns):
                self.gradients = self.working_set.gram @ self.weights + self.null_gradients
                return
            self._set_scores(self.null_scores + self.working_set.scores(self.weights))
        self.gradients = self.table.gradients(self.raw_gradient)
        self.distance_at[:] = self.distance

    def begin(self, alpha: float) -> float:
        """Add the columns that the sequential strong rule names; return the largest strength."""
        previous, self.previous_alpha = self.previous_alpha, alpha
        if previous < math.inf and self.threshold > 0.0:
            reach = max(2.0 * alpha - previous, 0.0) * self.threshold
            is_strong = np.abs(self.gradients) >= reach * self.column_weights
            is_strong &= ~self.is_in_working_set & (self.table.norms > 0.0)
            self._add(np.flatnonzero(is_strong))
        return alpha * float(self.column_weights.max(initial=0.0))

    def solve(self, alpha: float) -> ColumnSolution:
        """Solve for one strength, from the weights of the last one."""
        largest = self.begin(alpha)
        limit = self.tol * self.null_deviance if self.has_gap else math.sqrt(self.tol) * largest
        tolerance = min(FIRST_TOLERANCE, 10.0 * self.tol) * max(largest, 1e-12)
        n_iter = 0
        while n_iter < self.max_iter:
            n_iter += 1
            self.minimize(alpha, tolerance)
            if self.fit_intercept and not self.is_quadratic:
                self._center()
                self.update_working_set_gradients()
            if self.add_violating(alpha):
                continue
            objective, gap, violation = self._certificate(alpha)
            if (gap if self.has_gap else violation) <= limit:
                break
            tolerance *= 0.1
        else:
            objective, gap, violation = self._certificate(alpha)
        return ColumnSolution(
            alpha, self.working_set.indices, self.weights.copy(), self.intercept, objective,
            gap, violation, limit, n_iter,
        )  # fmt: skip

    def _certificate(self, alpha: float) -> tuple[float, float, float]:
        """Return objective, duality gap (nan without one) and the largest violation."""
        indices, w = self.working_set.indices, self.weights
        strengths = alpha * self.column_weights[indices]
        objective = self.value + sum_penalty(w, strengths, self.penalty)
        violation = float(self._violations(indices, w, alpha).max(initial=0.0))
        if not self.has_gap:
            return objective, math.nan, violation
        shrink = self.dual_shrinkage(alpha)
        return (
            objective,
            max(objective - self._dual(shrink) + self.conjugate(alpha, shrink), 0.0),
            violation,
        )

    def _gap_columns(self) -> np.ndarray:
        """Columns that a duality gap depends on: of the others no gradient reaches its strength."""
        return np.concatenate([self.working_set.indices, self.checked])

    def dual_shrinkage(self, alpha: float) -> float:
        """Return the largest factor up to 1 that makes the raw gradient feasible for the dual."""
        l1, l2 = self.penalty.rates()
        if l2 > 0.0:
            return 1.0
        indices = self._gap_columns()
        negative_gradients = -self.gradients[indices]
        strengths = alpha * l1 * self.column_weights[indices]
        bound = np.where(
            negative_gradients > 0.0, self.bounds[1, indices], -self.bounds[0, indices]
        )
        is_open = np.isinf(bound) & (strengths > 0.0)
        ratios = np.abs(negative_gradients[is_open]) / strengths[is_open]
        return 1.0 / max(1.0, float(ratios.max(initial=0.0)))

    def conjugate(self, alpha: float, shrink: float) -> float:
        """Return the conjugate of the penalty with its bounds at the shrunk gradients.

        For a column that is not penalised, return a bound of what it adds to the gap instead.
        """
        l1, l2 = self.penalty.rates()
        indices = self._gap_columns()
        negative_gradients = -shrink * self.gradients[indices]
        weights = alpha * self.column_weights[indices]
        bound = np.where(
            negative_gradients > 0.0, self.bounds[1, indices], -self.bounds[0, indices]
        )
        excess = np.maximum(np.abs(negative_gradients) - l1 * weights, 0.0)
        # Rounding is no excess where there is nothing that could bound it.
        excess = np.where((weights > 0.0) & np.isinf(bound) & (l2 == 0.0), 0.0, excess)
        ridge = np.where(weights > 0.0, l2 * weights, 0.0)
        best = np.minimum(bound, excess / np.where(ridge > 0.0, ridge, 1e-300))
        is_free = (weights == 0.0) & np.isinf(bound)
        w = np.concatenate([np.abs(self.weights), np.zeros(len(self.checked))])
        norms = np.maximum(self.table.norms[indices], 1e-150)
        reach = np.maximum(w, np.abs(negative_gradients) / norms**2)
        best = np.where(is_free, reach, np.where(excess > 0.0, best, 0.0))
        return float((excess * best - 0.5 * ridge * best**2).sum())

    def _dual(self, shrink: float) -> float:
        """Return the dual value of the loss at the shrunk derivatives of the rows."""
        if not self.is_quadratic:
            return self.loss.dual_value(shrink * self.row_gradients[:, None])
        linear = float(self.null_gradients[self.working_set.indices] @ self.weights)
        return shrink * (linear + self.null_value + self.null_dual) - shrink**2 * self.value

    # ------------------------------------------------------------------ the working set
    def minimize(self, alpha: float, tolerance: float, max_steps: int | None = None) -> bool:
        """Minimise over the working set until no violation exceeds `tolerance`; return whether any
        weight moved.
        """
        indices = self.working_set.indices
        strengths = alpha * self.column_weights[indices]
        bounds = np.ascontiguousarray(self.bounds[:, indices])
        if self.is_quadratic:
            return self._minimize_quadratic(alpha, strengths, bounds, tolerance)
        has_moved = False
        for _ in range(max_steps or self.max_iter):
            self.update_working_set_gradients()
            gradient = self.gradients[indices]
            violations = self._violations(indices, self.weights, alpha)
            total = float(self.raw_gradient.sum()) if self.fit_intercept else 0.0
            largest = max(float(violations.max(initial=0.0)), abs(total))
            if largest <= tolerance:
                break
            has_moved = True
            active = self._active(strengths, gradient, violations)
            curvature = self.loss.curvature(self.scores[:, None], 0, 0)
            step = self._step_sparse if self.table.is_sparse else self._step_dense
            goal = max(0.1 * largest, 0.3 * tolerance)
            w, intercept_step = step(gradient, total, curvature, active, strengths, bounds, goal)
            self._search_line(w, intercept_step, strengths, gradient, total)
        return has_moved

    def update_working_set_gradients(self) -> None:
        """Compute the gradients of the columns of the working set."""
        indices = self.working_set.indices
        self.gradients[indices] = self.working_set.gradients(self.raw_gradient)
        self.distance_at[indices] = self.distance

    def _active(self, strengths, gradient, violations) -> np.ndarray:
        """Columns that a descent visits: those with a weight or near their strength."""
        near = np.abs(gradient) > 0.8 * self.threshold * strengths
        return np.flatnonzero((self.weights != 0.0) | (violations > 0.0) | near).astype(np.uint64)

    def _minimize_quadratic(self, alpha, strengths, bounds, tolerance: float) -> bool:
        """The same for a quadratic loss, by the Gram matrix and the gradients at no weights."""
        indices, w = self.working_set.indices, self.weights.copy()
        self.working_set.update_gram(self.table.weights, self.fit_intercept)
        linear = self.null_gradients[indices]
        gradient = self.working_set.gram @ w + linear
        self.gradients[indices] = gradient
        violations = self._violations(indices, w, alpha)
        has_moved = bool(violations.max(initial=0.0) > tolerance)
        if has_moved:
            before = gradient.copy()
            active = self._active(strengths, gradient, violations)
            self._descend_gram(gradient, w, active, strengths, bounds, 0.3 * tolerance)
            self.distance += math.sqrt(max(float((w - self.weights) @ (gradient - before)), 0.0))
            self.weights = w
            self.value = self.null_value + 0.5 * float(w @ (gradient + linear))
            self.gradients[indices] = gradient
        self.distance_at[indices] = self.distance
        return has_moved

    def _step_dense(self, gradient, total, curvature, active, strengths, bounds, goal: float):
        """Return weights and a step of the intercept that minimise the quadratic model."""
        working_set, w = self.working_set, self.weights.copy()
        working_set.update_gram(curvature, self.fit_intercept)
        centers = working_set.centers
        self._descend_gram(gradient - centers * total, w, active, strengths, bounds, goal)
        if not self.fit_intercept:
            return w, 0.0
        return w, -total / working_set.row_curvature.sum() - float(centers @ (w - self.weights))

    def _step_sparse(self, gradient, total, curvature, active, strengths, bounds, goal: float):
        """The same for sparse columns."""
        working_set, w = self.working_set, self.weights.copy()
        total_curvature, shifts = curvature.sum(), working_set.shifts
        sums, squares = working_set.columns @ curvature, working_set.squares @ curvature
        centers = sums / total_curvature if self.fit_intercept else shifts
        curvatures = squares - 2.0 * centers * sums + centers**2 * total_curvature
        curvatures = np.where(curvatures > 1e-14 * squares, curvatures, 0.0)
        step = descend_sparse(
            *working_set.arrays, curvature, self.raw_gradient.copy(),
            -total / total_curvature if self.fit_intercept else 0.0,
            sums, centers, curvatures, w, active, strengths, bounds,
            self.penalty, self.min_convexity, MAX_SWEEPS, goal,
        )  # fmt: skip
        # `step` goes with columns centred under the curvature, the scores with the row weights.
        return w, step + float(shifts @ (w - self.weights)) if self.fit_intercept else 0.0

    def _descend_gram(self, gradient, w, active, strengths, bounds, goal: float) -> None:
        """Coordinate descent, and the exact solution for the present signs where it is slow."""
        gram = self.working_set.gram
        for _ in range(MAX_SWEEPS // SWEEPS_PER_EXACT_STEP):
            sweeps = descend_gram(
                gram, gradient, w, active, strengths, bounds, self.penalty,
                self.min_convexity, SWEEPS_PER_EXACT_STEP, goal,
            )  # fmt: skip
            if sweeps < SWEEPS_PER_EXACT_STEP:
                return
            if hasattr(self.penalty, "rates"):
                self._solve_signs(gram, gradient, w, strengths, bounds)

    def _solve_signs(self, gram, gradient, w, strengths, bounds) -> None:
        """Move towards the exact solution for the present signs, until the first sign changes."""
        l1, l2 = self.penalty.rates()
        at = np.flatnonzero((w != 0.0) & (w > bounds[0]) & (w < bounds[1]))
        if not len(at):
            return
        now, strength = w[at], strengths[at]
        hessian = gram[np.ix_(at, at)]
        hessian[np.diag_indices_from(hessian)] += l2 * strength
        try:
            factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return
        slope = gradient[at] + strength * (l1 * np.sign(now) + l2 * now)
        step = -cho_solve(factor, slope, check_finite=False)
        # No weight crosses 0, where its penalty has a kink, or leaves its bounds.
        crosses = (strength > 0.0) & (step * now < 0.0)
        end = np.where(crosses, 0.0, np.where(step > 0.0, bounds[1, at], bounds[0, at]))
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.where(step == 0.0, np.inf, (end - now) / step)
        length = min(1.0, float(lengths.min()))
        moved = np.where(lengths <= length, end, now + length * step)
        w[at] = moved
        gradient += gram[:, at] @ (moved - now)

    def _search_line(self, w, intercept_step: float, strengths, gradient, total: float) -> None:
        """Take a step, halved until the objective falls as it should (Armijo's rule)."""
        change, start, old = w - self.weights, self.scores, self.weights
        penalty = sum_penalty(old, strengths, self.penalty)
        score_change = self.working_set.scores(change) + intercept_step
        before = self.value + penalty
        slope = float(gradient @ change) + total * intercept_step
        slope += sum_penalty(w, strengths, self.penalty) - penalty
        row_gradients, distance, length = self.row_gradients, self.distance, 1.0
        for _ in range(MAX_HALVINGS):
            self.row_gradients, self.distance = row_gradients, distance
            self._set_scores(start + length * score_change)
            self.weights = old + length * change
            after = self.value + sum_penalty(self.weights, strengths, self.penalty)
            enough = before + 0.01 * length * min(slope, 0.0) + 1e-15 * abs(before)
            if self.loss.is_quadratic or after <= enough:
                break
            length *= 0.5
        self.intercept += length * intercept_step


class OneClassLoss:
    """The multinomial loss as a function of the scores of one class, those of the others fixed."""

    is_quadratic = False

    def __init__(self, softmax: Any, scores: np.ndarray, index: int):
        self.softmax, self.scores, self.index = softmax, scores, index

    def _joint_scores(self, column: np.ndarray) -> np.ndarray:
        scores = self.scores.copy()
        scores[:, self.index] = column[:, 0]
        return scores

    def value(self, column: np.ndarray) -> float:
        """Weighted loss."""
        return self.softmax.value(self._joint_scores(column))

    def gradient(self, column: np.ndarray) -> np.ndarray:
        """Derivatives of the rows in the scores of the class, without their weights."""
        return self.softmax.gradient(self._joint_scores(column))[:, [self.index]]

    def curvature(self, column: np.ndarray, first: int, second: int) -> np.ndarray:
        """Weighted second derivatives of the rows in the scores of the class."""
        curvature = self.softmax.curvature(self._joint_scores(column), self.index, self.index)
        return np.maximum(curvature, MIN_CLASS_CURVATURE * self.softmax.weights)

    def best_loss(self) -> float:
        """The least loss that any scores have."""
        return self.softmax.best_loss()

    def dual_value(self, row_gradients: np.ndarray) -> float:
        """Dual value of derivatives of the rows in the scores of all classes."""
        return self.softmax.dual_value(row_gradients)


class MultinomialProblem:
    """Several classes under one multinomial loss: Newton steps class after class.

    Each class has its own weights and intercept. Options are those of `ColumnProblem`.
    """

    def __init__(self, table: ColumnTable, softmax: Any, penalty: Any, **options: Any):
        n_classes = softmax.one_hot.shape[1]
        intercepts, self.scores = np.zeros(n_classes), np.zeros((table.n_rows, n_classes))
        self.fit_intercept = options.get("fit_intercept", True)
        if self.fit_intercept:
            intercepts, self.scores = softmax.center(InterceptDesign(), self.scores, intercepts)
        self.classes = [
            ColumnProblem(
                table, OneClassLoss(softmax, self.scores, k), penalty, **options,
                start=(float(intercepts[k]), self.scores[:, k].copy()),
            )
            for k in range(n_classes)
        ]  # fmt: skip
        self.softmax, first = softmax, self.classes[0]
        self.tol, self.max_iter, self.has_gap = first.tol, first.max_iter, first.has_gap
        self.null_deviance = first.null_deviance

    def largest_alpha(self) -> float:
        """Return the smallest alpha that keeps no penalised column; nan where there is none."""
        if not self.classes[0].column_weights.all():
            self._minimize(EMPTY_ALPHA, 1e-8 * max(np.abs(p.gradients).max() for p in self.classes))
        for problem in self.classes:
            problem.refresh()
            problem._update_gradients()
        largest = max(problem.ratio_to_threshold() for problem in self.classes)
        for problem in self.classes:
            problem.previous_alpha = largest
        return largest

    def _minimize(self, alpha: float, tolerance: float) -> None:
        """Minimise over all working sets until no violation exceeds `tolerance`."""
        for _ in range(10 * self.max_iter):
            has_moved = False
            for k, problem in enumerate(self.classes):
                problem.refresh()
                has_moved |= problem.minimize(alpha, tolerance, STEPS_PER_CLASS)
                self.scores[:, k] = problem.scores
            if not has_moved:
                return

    def _center(self) -> None:
        """Set the best intercepts for the present weights."""
        if not self.fit_intercept:
            return
        intercepts = np.zeros(len(self.classes))
        bias, scores = self.softmax.center(InterceptDesign(), self.scores, intercepts)
        self.scores[:] = scores  # the losses of the classes share this array
        for k, problem in enumerate(self.classes):
            problem.intercept += float(bias[k])
            problem.scores = self.scores[:, k].copy()

    def solve(self, alpha: float) -> list[ColumnSolution]:
        """Solve for one strength, from the weights of the last one: a solution for each class."""
        largest = max(problem.begin(alpha) for problem in self.classes)
        limit = self.tol * self.null_deviance if self.has_gap else math.sqrt(self.tol) * largest
        tolerance = min(FIRST_TOLERANCE, 10.0 * self.tol) * max(largest, 1e-12)
        n_iter = 0
        while n_iter < self.max_iter:
            n_iter += 1
            self._minimize(alpha, tolerance)
            self._center()
            n_added = 0
            for problem in self.classes:
                problem.refresh()
                n_added += problem.add_violating(alpha)
            objective, gap, violation = self._certificate(alpha)
            if n_added:
                continue
            if (gap if self.has_gap else violation) <= limit:
                break
            tolerance *= 0.1
        return [
            ColumnSolution(
                alpha, problem.working_set.indices, problem.weights.copy(), problem.intercept,
                objective, gap, violation, limit, n_iter,
            )
            for problem in self.classes
        ]  # fmt: skip

    def _certificate(self, alpha: float) -> tuple[float, float, float]:
        """Return objective, duality gap (nan without one) and the largest violation."""
        objective, violation = self.classes[0].value, 0.0
        for problem in self.classes:
            indices = problem.working_set.indices
            problem.update_working_set_gradients()
            strengths = alpha * problem.column_weights[indices]
            objective += sum_penalty(problem.weights, strengths, problem.penalty)
            violations = problem._violations(indices, problem.weights, alpha)
            violation = max(violation, float(violations.max(initial=0.0)))
        if not self.has_gap:
            return objective, math.nan, violation
        shrink = min(problem.dual_shrinkage(alpha) for problem in self.classes)
        row_gradients = np.column_stack([problem.row_gradients for problem in self.classes])
        conjugates = sum(problem.conjugate(alpha, shrink) for problem in self.classes)
        gap = objective - self.softmax.dual_value(shrink * row_gradients) + conjugates
        return objective, max(gap, 0.0), violation


def solve_path(problem, alphas: Iterable[float]) -> Iterator[ColumnSolution]:
    """Yield solutions for strengths in falling order, each begun at the last; a strength is taken
    from `alphas` only when its solution is asked for.
    """
    for alpha in alphas:
        yield problem.solve(float(alpha))
