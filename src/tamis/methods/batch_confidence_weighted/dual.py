"""Update of the Gaussian by one batch: add its rows to the precision, then run sweeps of dual
coordinate ascent on the means.

Three solvers compute the same means, from whitened rows (`cholesky`), from the Gram matrix of the
rows (`kernel`), or from sparse rows without whitening (`raw`).
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.batch_confidence_weighted.loop import sweep_kernel, sweep_raw, sweep_whitened
from tamis.methods.batch_confidence_weighted.posterior import GaussianPosterior
from tamis.methods.batch_confidence_weighted.rows import BatchRows

RAW_MAX_DENSITY = 0.25  # density of sparse rows below which "auto" chooses "raw"


class Dual(NamedTuple):
    """The dual of the hinge losses: signs (rows, outputs), and for each row the upper bound U and
    ridge D of its dual variable.
    """

    signs: np.ndarray
    bounds: np.ndarray
    ridges: np.ndarray
    squared: bool

    def losses(self, scores: np.ndarray) -> np.ndarray:
        """Return the loss of each output, summed over the rows."""
        slack = np.maximum(1.0 - self.signs * scores, 0.0)
        if self.squared:
            return (0.5 / self.ridges) @ slack**2
        return self.bounds @ slack

    def alpha_terms(self, alpha: np.ndarray) -> np.ndarray:
        """Return the terms of the dual objective that depend on alpha only: sum alpha - D alpha^2 /
        2, for each output.
        """
        return alpha.sum(axis=0) - 0.5 * self.ridges @ alpha**2


def make_dual(signs: np.ndarray, costs: np.ndarray, squared: bool) -> Dual:
    """Return the dual of the hinge or squared hinge loss with a cost C for each row."""
    if squared:
        return Dual(signs, np.full(len(costs), np.inf), 0.5 / costs, True)
    return Dual(signs, costs, np.zeros(len(costs)), False)


class BatchResult(NamedTuple):
    """Result of the sweeps over a batch: their number, the largest relative duality gap of the
    outputs, whether it is at most `tol`, and a record of each sweep or round.
    """

    sweeps: int
    gap: float
    converged: bool
    history: list


class SweepOptions(NamedTuple):
    """Parameters of the sweeps over a batch."""

    solver: str
    prior_mean: str
    max_iter: int
    tol: float | None


class WhitenedSweeps:
    """Sweeps over whitened rows: coordinates in which the precision is I."""

    def __init__(
        self, posterior: GaussianPosterior, rows: BatchRows, dual: Dual, start, store_rows: bool
    ):
        self.posterior, self.rows, self.dual, self.start = posterior, rows, dual, start
        self.start_weights = start if posterior.factor is None else start @ posterior.factor
        self.weights = self.start_weights.copy()
        self.alpha = np.zeros(dual.signs.shape)
        self.whiten, self.whitened_rows = posterior.whitening(rows.count), None
        if store_rows:
            self.whitened_rows = np.empty((rows.count, rows.width))
            for rows_slice in rows.chunk_slices():
                self.whitened_rows[rows_slice] = self.whiten(rows.to_dense(rows_slice))

    def sweep(self, order) -> None:
        """Run one sweep over the rows in `order`."""
        dual_arrays = (
            self.dual.signs,
            self.dual.bounds,
            self.dual.ridges,
            self.alpha,
            self.weights,
        )
        if self.whitened_rows is not None:
            sweep_whitened(self.whitened_rows, order, np.arange(self.rows.count), *dual_arrays)
            return
        in_order = np.array_equal(order, np.arange(len(order)))
        for rows_slice in self.rows.chunk_slices():
            chunk = self.whiten(self.rows.to_dense(rows_slice if in_order else order[rows_slice]))
            sweep_whitened(chunk, np.arange(len(chunk)), order[rows_slice], *dual_arrays)

    def mean(self):
        """Means of the outputs."""
        return self.posterior.unwhiten(self.weights)

    def dual_sum(self):
        """Sums of alpha y x."""
        change = self.weights - self.start_weights
        return change if self.posterior.factor is None else change @ self.posterior.factor.T

    def scores(self, mean):
        """Scores of all rows."""
        return (
            self.rows.scores(mean)
            if self.whitened_rows is None
            else self.whitened_rows @ self.weights.T
        )


class Kernel:
    """Sweeps with the Gram matrix X Sigma X' of the rows, without an array of width squared."""

    def __init__(
        self, posterior: GaussianPosterior, rows: BatchRows, dual: Dual, start, gram, row_weights
    ):
        self.posterior, self.rows, self.dual, self.start = posterior, rows, dual, start
        self.weight_roots = np.sqrt(row_weights)
        self.gram = np.ascontiguousarray(
            gram[-rows.count :] / np.outer(self.weight_roots, self.weight_roots)
        )
        self.alpha = np.zeros(dual.signs.shape)
        self.current_scores = np.ascontiguousarray(rows.scores(start).T)

    def sweep(self, order) -> None:
        """Run one sweep over the rows in `order`."""
        dual = self.dual
        sweep_kernel(
            self.gram, order, dual.signs, dual.bounds, dual.ridges, self.alpha, self.current_scores
        )

    def mean(self):
        """Return the means of the outputs, by Sigma Z' = Z' (I + Z Z')^-1."""
        coefficients = np.zeros((self.posterior.n_scaled_rows, self.dual.signs.shape[1]))
        coefficients[-self.rows.count :] = self.alpha * self.dual.signs / self.weight_roots[:, None]
        return self.start + self.posterior.apply_covariance_to_rows(coefficients)

    def dual_sum(self):
        """Sums of alpha y x."""
        return self.rows.weighted_sum(self.alpha * self.dual.signs)

    def scores(self, mean):
        """Scores of all rows."""
        return self.current_scores.T


class RawSweeps:
    """Sweeps over sparse rows without whitening, with a full covariance matrix or the identity."""

    def __init__(self, posterior: GaussianPosterior, rows: BatchRows, dual: Dual, start):
        self.rows, self.dual, self.start = rows, dual, start
        self.sparse = rows.scale_rows() if rows.sparse else sp.csr_array(rows.to_dense(slice(None)))
        self.sparse.sum_duplicates()
        self.sigma = posterior.covariance()
        self.squared_norms = np.full(rows.count, np.nan)
        self.alpha, self.weights = np.zeros(dual.signs.shape), start.copy()

    def sweep(self, order) -> None:
        """Run one sweep over the rows in `order`."""
        index_dtype = np.uint64 if self.sparse.indices.itemsize == 8 else np.uint32
        rows, dual = self.sparse, self.dual
        csr = (rows.data, rows.indices.view(index_dtype), rows.indptr.astype(np.uint64))
        box = (dual.signs, dual.bounds, dual.ridges)
        sweep_raw(*csr, order, self.sigma, *box, self.alpha, self.squared_norms, self.weights)

    def mean(self):
        """Means of the outputs."""
        return self.weights.copy()

    def dual_sum(self):
        """Sums of alpha y x."""
        return self.rows.weighted_sum(self.alpha * self.dual.signs)

    def scores(self, mean):
        """Scores of all rows."""
        return self.rows.scores(mean)


def choose_solver(posterior: GaussianPosterior, rows: BatchRows, solver: str) -> str:
    """Return the solver for a batch: the one of least memory, then the one of least work."""
    if solver != "auto":
        return solver
    if posterior.factor is None and posterior.n_scaled_rows + rows.count < rows.width:
        return "kernel"
    is_sparse = rows.sparse and rows.matrix.nnz < RAW_MAX_DENSITY * rows.count * rows.columns
    return "raw" if is_sparse else "cholesky"


def _start_sweeps(
    posterior: GaussianPosterior, rows: BatchRows, dual: Dual, row_weights, options: SweepOptions
):
    """Add the rows to the precision, and return the sweeps of the chosen solver."""
    solver_name = choose_solver(posterior, rows, options.solver)
    is_identity = (
        not row_weights.any() and posterior.factor is None and posterior.scaled_rows is None
    )
    if solver_name == "kernel" and not is_identity:
        if posterior.factor is not None or not row_weights.all():
            raise ValueError(
                "solver='kernel' cannot learn this batch: earlier batches made a full covariance, "
                "or cov_C changed to 0 between batches. "
                "Use solver='auto', or do not change cov_C."
            )
        gram = posterior.add_scaled_rows(rows, row_weights)
        start = _prior_mean(posterior, options)
        return Kernel(posterior, rows, dual, start, gram, row_weights)
    if not is_identity:
        posterior.add_rows(rows, row_weights)
    start = _prior_mean(posterior, options)
    if solver_name == "raw" or (is_identity and rows.sparse):
        return RawSweeps(posterior, rows, dual, start)
    return WhitenedSweeps(posterior, rows, dual, start, store_rows=options.max_iter > 1)


def _prior_mean(posterior: GaussianPosterior, options: SweepOptions) -> np.ndarray:
    """Return the prior mean of a batch."""
    return (
        posterior.mean
        if options.prior_mean == "last"
        else posterior.apply_covariance(posterior.dual_sum)
    )


def learn_batch(
    posterior: GaussianPosterior,
    rows: BatchRows,
    dual: Dual,
    row_weights,
    options: SweepOptions,
    sweep_order,
) -> BatchResult:
    """Update the Gaussian by one batch: run sweeps until the gap is at most `tol` times the
    objective.

    `row_weights` are the weights of the rows in the precision; ``sweep_order(t)`` is the order of
    the rows in sweep t.
    """
    way, tol = _start_sweeps(posterior, rows, dual, row_weights, options), options.tol
    history: list[dict] = []
    for sweep_number in range(1, options.max_iter + 1):
        way.sweep(sweep_order(sweep_number))
        mean, dual_sum = way.mean(), way.dual_sum()
        record = _evaluate(way, mean, dual_sum)
        check_finite(record["objective"])
        history.append({"pass": sweep_number, **record})
        if tol is not None and record["gap"] <= tol:
            break
    posterior.mean, posterior.dual_sum = mean, posterior.dual_sum + dual_sum
    gap = history[-1]["gap"]
    return BatchResult(len(history), gap, tol is None or gap <= tol, history)


def check_finite(objective: float) -> None:
    """Raise a FloatingPointError if the objective has overflowed."""
    if not np.isfinite(objective):
        raise FloatingPointError(
            "the objective became infinite or nan: the numbers in X are too large for double "
            "precision. Scale the columns."
        )


def _evaluate(sweeps, mean, dual_sum) -> dict:
    """Return the objective and dual, summed over the outputs, and the largest relative gap."""
    half = 0.5 * np.einsum("ij,ij->i", dual_sum, mean - sweeps.start)
    primal = half + sweeps.dual.losses(sweeps.scores(mean))
    dual = (
        -half
        + sweeps.dual.alpha_terms(sweeps.alpha)
        - np.einsum("ij,ij->i", dual_sum, sweeps.start)
    )
    gap = (primal - dual) / np.maximum(np.abs(primal), np.finfo(float).tiny)
    return {"objective": float(primal.sum()), "dual": float(dual.sum()), "gap": float(gap.max())}
