"""E-values of a stream: for every test a self-normalised sum of products of residuals, mixed over
effects into a process that is valid after any block.

The residuals of a block come from fits to the rows before it, so that under the null hypothesis the
products have mean 0 given the past.
"""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from tamis.selection.false_discovery.conditional_test import (
    MIN_CURVATURE,
    MIN_RESIDUAL_FRACTION,
    fit_target_logistic,
    initial_coefs,
)
from tamis.selection.false_discovery.fit import DesignPlan, drop_collinear_controls, prepare_tests
from tamis.selection.false_discovery.multiple_testing import sparse_rows
from tamis.selection.false_discovery.screening.by_path import screen_path
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns
from tamis.system.schema import array, count, flag, indices, rows

BLOCK_ROWS = 100  # rows between two updates of the fits, however calls cut the stream
# The prior precision is the sum of squared products of the first rows over this. Then the e-values
# are largest, at levels about 1/600, when as many rows are tested as were screened.
PRIOR_DIVISOR = 12.0
RIDGE = 1e-8  # on the diagonal, over its mean: controls may be duplicates


class PendingRows:
    """The first rows of a stream, stored until there are enough for the screen."""

    _contents: ClassVar[dict] = {
        "rows": rows("waiting", "columns"),
        "targets": array("f8", "waiting", "outputs"),
    }

    def __init__(self, rows: sp.csr_array, targets: np.ndarray):
        self.rows, self.targets = rows, targets

    def appended(self, rows: sp.csr_array, targets: np.ndarray) -> "PendingRows":
        """Return the stored rows with more rows after them."""
        return PendingRows(_stack(self.rows, rows), np.vstack([self.targets, targets]))

    def __len__(self) -> int:
        return len(self.targets)


def _stack(first: sp.csr_array, second: sp.csr_array) -> sp.csr_array:
    return second if not first.shape[0] else sp.csr_array(sp.vstack([first, second], format="csr"))


class StreamEvidence:
    """Tests that the first rows fix, and the sums of the later rows for their e-values."""

    _contents: ClassVar[dict] = {
        "logistic": flag(),
        "means": array("f8", "columns"),
        "units": array("f8", "columns", minimum=0.0),
        "loadings": array("f8", "columns", "factors"),
        "union": indices("used", below="columns", increasing=True),
        "tests": indices("tests", below="columns"),
        "outputs": indices("tests", below="outputs"),
        "places": indices("tests", "controls", below="used+factors+2"),
        "substitutes": rows("tests", "columns", minimum=-1.0, maximum=1.0),
        "grams": array("f8", "tests", "controls", "controls"),
        "goals": array("f8", "tests", "controls"),
        "weights": array("f8", "tests", "controls"),
        "fits": array("f8", "tests", "controls"),
        "prior": array("f8", "tests", minimum=0.0),
        "sums": array("f8", "tests"),
        "squares": array("f8", "tests", minimum=0.0),
        "pending": rows("pending", "columns"),
        "pending_targets": array("f8", "pending", "outputs"),
        "n_tested": count(),
    }
    logistic: bool
    means: np.ndarray
    units: np.ndarray
    loadings: np.ndarray
    union: np.ndarray  # columns of the design
    tests: np.ndarray  # the tests' columns
    outputs: np.ndarray
    places: np.ndarray  # design indices of the controls
    substitutes: sp.csr_array
    grams: np.ndarray  # products of controls, weighted by the curvature of the rows
    goals: np.ndarray  # products of controls and the column
    weights: np.ndarray  # coefficients of the target on the controls
    fits: np.ndarray  # coefficients of the column on the controls
    prior: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    pending: sp.csr_array
    pending_targets: np.ndarray
    n_tested: int

    @classmethod
    def from_first_rows(
        cls,
        first: PendingRows,
        logistic: bool,
        substitutes: float | None,
        n_candidates: int,
        n_controls: int,
    ) -> "StreamEvidence":
        """Screen the first rows, choose controls, and fit on them; they count as no evidence."""
        made = cls()
        dense = first.rows.nnz > 0.5 * np.prod(first.rows.shape)
        columns = StandardizedColumns(
            first.rows.toarray() if dense else first.rows, np.ones(len(first))
        )
        screened = [
            screen_path(columns, target, logistic, n_candidates) for target in first.targets.T
        ]
        plan, loadings, design = prepare_tests(
            columns, first.targets, screened, substitutes, n_controls
        )
        plan = drop_collinear_controls(design, plan, loadings)
        tests = plan.tests(loadings)
        weights = (
            fit_target_logistic(design, tests, initial_coefs(design, tests)) if logistic else None
        )
        spread = np.sqrt(np.mean(columns.scores(loadings) ** 2, axis=0))
        made.logistic = logistic
        made.means, made.units, made.loadings = columns.means, columns.units, loadings / spread
        made.union, made.tests, made.outputs = plan.design_columns, plan.columns, plan.outputs
        made.substitutes = sparse_rows(
            [each.substitutes for each in plan.correlated],
            [each.correlations for each in plan.correlated],
            columns.n_columns,
        )
        made.places = _control_indices(plan, loadings)
        made.pending = sp.csr_array((0, columns.n_columns))
        made.pending_targets = np.zeros((0, first.targets.shape[1]))
        made.n_tested = 0
        made._fit_first_rows(made._design(first.rows), first.targets, weights)
        return made

    # ------------------------------------------------------------------ design
    def _design(self, rows: sp.csr_array) -> np.ndarray:
        """Return the design of rows: scaled columns, common factors, a constant and zeros."""
        values = (rows[:, self.union].toarray() - self.means[self.union]) * self.units[self.union]
        scaled_loadings = self.units[:, None] * self.loadings
        factors = np.asarray(rows @ scaled_loadings) - self.means @ scaled_loadings
        n_rows = rows.shape[0]
        return np.hstack([values, factors, np.ones((n_rows, 1)), np.zeros((n_rows, 1))])

    # ------------------------------------------------------------------ learning
    def _fit_first_rows(
        self, design: np.ndarray, targets: np.ndarray, weights: list | None
    ) -> None:
        """Fit on the first rows, and set the prior of the effects from them."""
        n_tests, n_controls = self.places.shape
        self.grams, self.goals = (
            np.zeros((n_tests, n_controls, n_controls)),
            np.zeros((n_tests, n_controls)),
        )
        self.weights, self.fits = np.zeros((n_tests, n_controls)), np.zeros((n_tests, n_controls))
        self.prior, self.sums, self.squares = (
            np.zeros(n_tests),
            np.zeros(n_tests),
            np.zeros(n_tests),
        )
        for k in range(n_tests):
            controls, x = design[:, self.places[k]], design[:, self._column_index(k)]
            y = targets[:, self.outputs[k]]
            if weights is None:
                self.weights[k] = _solve_ridge(controls.T @ controls, controls.T @ y)
            else:
                self.weights[k, : len(weights[k])] = weights[k]
            residuals, curvature = self._residuals(k, controls, y)
            weighted = controls * curvature[:, None]
            self.grams[k], self.goals[k] = controls.T @ weighted, weighted.T @ x
            self.fits[k] = _solve_ridge(self.grams[k], self.goals[k])
            column_residuals = x - controls @ self.fits[k]
            if column_residuals @ column_residuals >= MIN_RESIDUAL_FRACTION * (x @ x) > 0.0:
                self.prior[k] = ((column_residuals * residuals) ** 2).sum() / PRIOR_DIVISOR

    def _column_index(self, k: int) -> int:
        return int(np.searchsorted(self.union, self.tests[k]))

    def _residuals(
        self, k: int, controls: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals of a target given the controls, and the curvature of the rows."""
        score = controls @ self.weights[k]
        if not self.logistic:
            return y - score, np.ones(len(y))
        probabilities = expit(score)
        return y - probabilities, np.maximum(probabilities * (1.0 - probabilities), MIN_CURVATURE)

    def learn(self, rows: sp.csr_array, targets: np.ndarray):
        """Learn from rows; yields after every block."""
        rows, targets = _stack(self.pending, rows), np.vstack([self.pending_targets, targets])
        start = 0
        for start in range(BLOCK_ROWS, len(targets) + 1, BLOCK_ROWS):
            block = slice(start - BLOCK_ROWS, start)
            self._learn_block(self._design(rows[block]), targets[block])
            self.n_tested += BLOCK_ROWS
            yield
        self.pending, self.pending_targets = sp.csr_array(rows[start:]), targets[start:].copy()

    def _learn_block(self, design: np.ndarray, targets: np.ndarray) -> None:
        """Add the products of a block under the current fits, then update the fits.

        The update is exact least squares on all rows for numbers, and one Newton step with the
        curvature of all rows for classes.
        """
        right_sides = np.zeros((*self.goals.shape, 2))
        for k, places in enumerate(self.places):
            controls, x = design[:, places], design[:, self._column_index(k)]
            residuals, curvature = self._residuals(k, controls, targets[:, self.outputs[k]])
            products = (x - controls @ self.fits[k]) * residuals
            self.sums[k] += products.sum()
            self.squares[k] += (products**2).sum()
            weighted = controls * curvature[:, None]
            self.grams[k] += controls.T @ weighted
            self.goals[k] += weighted.T @ x
            right_sides[k, :, 0], right_sides[k, :, 1] = self.goals[k], controls.T @ residuals
        solutions = _solve_ridge(self.grams, right_sides)
        self.fits = np.ascontiguousarray(solutions[..., 0])
        self.weights = self.weights + solutions[..., 1]

    # ------------------------------------------------------------------ results
    def log_evalues(self) -> np.ndarray:
        """Return the logarithms of the mixture martingales (normal effects, variance 1 / prior)."""
        precision = np.where(self.prior > 0.0, self.prior, 1.0)
        total_precision = self.squares + precision
        values = 0.5 * np.log(precision / total_precision) + self.sums**2 / (2.0 * total_precision)
        return np.where(self.prior > 0.0, values, 0.0)

    def group(self, k: int) -> np.ndarray:
        """Return the substitutes of the column of test k."""
        part = self.substitutes
        return part.indices[part.indptr[k] : part.indptr[k + 1]]


def _control_indices(plan: DesignPlan, loadings: np.ndarray) -> np.ndarray:
    """Return the design indices of controls, factors and constant of each test.

    Shorter rows are padded with the index of the column of zeros.
    """
    constant = len(plan.design_columns) + loadings.shape[1]
    controls = [np.append(test.controls, constant) for test in plan.tests(loadings)]
    indices = np.full((len(controls), max(map(len, controls), default=1)), constant + 1)
    for row, test_controls in zip(indices, controls, strict=True):
        row[: len(test_controls)] = test_controls
    return indices


def _solve_ridge(gram: np.ndarray, right_side: np.ndarray) -> np.ndarray:
    """Solve one or several symmetric systems with a small ridge."""
    n_columns = gram.shape[-1]
    mean_diagonal = np.trace(gram, axis1=-2, axis2=-1) / n_columns
    ridge = RIDGE * np.maximum(mean_diagonal, 1e-30)
    return np.linalg.solve(gram + np.multiply.outer(ridge, np.eye(n_columns)), right_side)
