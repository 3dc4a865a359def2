"""One batch of confidence-weighted learning: the precision takes the rows in, then sweeps of dual
coordinate ascent move the means.

Three ways to the same means: whitened rows (`cholesky`), the Gram matrix of the rows (`kernel`),
sparse rows as they are (`raw`).
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.batch_confidence_weighted.belief import Belief
from tamis.methods.batch_confidence_weighted.loop import sweep_kernel, sweep_raw, sweep_whitened
from tamis.methods.batch_confidence_weighted.rows import Rows

SPARSE = 0.25  # share of entries below which sparse rows are swept as they are


class Dual(NamedTuple):
    """The box of the dual: signs (rows, outputs), and for each row its bound and its ridge."""

    signs: np.ndarray
    bounds: np.ndarray
    ridges: np.ndarray
    squared: bool

    def losses(self, scores: np.ndarray) -> np.ndarray:
        """Loss of each output, over all rows."""
        short = np.maximum(1.0 - self.signs * scores, 0.0)
        if self.squared:
            return (0.5 / self.ridges) @ short**2
        return self.bounds @ short

    def gains(self, alpha: np.ndarray) -> np.ndarray:
        """The part of the dual that depends on the dual variables alone, of each output."""
        return alpha.sum(axis=0) - 0.5 * self.ridges @ alpha**2


def make_dual(signs: np.ndarray, costs: np.ndarray, squared: bool) -> Dual:
    """The dual of the hinge or squared hinge loss with a cost C for each row."""
    if squared:
        return Dual(signs, np.full(len(costs), np.inf), 0.5 / costs, True)
    return Dual(signs, costs, np.zeros(len(costs)), False)


class Outcome(NamedTuple):
    """What a batch did: sweeps, the largest relative duality gap of the outputs, whether that is
    small enough, and the figures of each sweep or round.
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


class Whitened:
    """Sweeps over rows in coordinates in which the precision is I."""

    def __init__(self, belief: Belief, rows: Rows, dual: Dual, start, keep: bool):
        self.belief, self.rows, self.dual, self.start = belief, rows, dual, start
        self.begun = start if belief.factor is None else start @ belief.factor
        self.weights = self.begun.copy()
        self.alpha = np.zeros(dual.signs.shape)
        self.whiten, self.kept = belief.whitening(rows.count), None
        if keep:
            self.kept = np.empty((rows.count, rows.width))
            for span in rows.spans():
                self.kept[span] = self.whiten(rows.dense(span))

    def sweep(self, order) -> None:
        """Visit every row once."""
        given = (self.dual.signs, self.dual.bounds, self.dual.ridges, self.alpha, self.weights)
        if self.kept is not None:
            sweep_whitened(self.kept, order, np.arange(self.rows.count), *given)
            return
        straight = np.array_equal(order, np.arange(len(order)))
        for span in self.rows.spans():
            part = self.whiten(self.rows.dense(span if straight else order[span]))
            sweep_whitened(part, np.arange(len(part)), order[span], *given)

    def mean(self):
        """Means of the outputs."""
        return self.belief.unwhitened(self.weights)

    def dual_sum(self):
        """Sums of alpha y x."""
        moved = self.weights - self.begun
        return moved if self.belief.factor is None else moved @ self.belief.factor.T

    def scores(self, mean):
        """Scores of all rows."""
        return self.rows.scores(mean) if self.kept is None else self.kept @ self.weights.T


class Kernel:
    """Sweeps over the Gram matrix of the rows under the covariance: nothing of width squared."""

    def __init__(self, belief: Belief, rows: Rows, dual: Dual, start, gram, row_weights):
        self.belief, self.rows, self.dual, self.start = belief, rows, dual, start
        self.roots = np.sqrt(row_weights)
        self.gram = np.ascontiguousarray(gram[-rows.count :] / np.outer(self.roots, self.roots))
        self.alpha = np.zeros(dual.signs.shape)
        self.now = np.ascontiguousarray(rows.scores(start).T)

    def sweep(self, order) -> None:
        """Visit every row once."""
        dual = self.dual
        sweep_kernel(self.gram, order, dual.signs, dual.bounds, dual.ridges, self.alpha, self.now)

    def mean(self):
        """Means of the outputs: Sigma Z' = Z' (I + Z Z')^-1."""
        own = np.zeros((self.belief.stacked, self.dual.signs.shape[1]))
        own[-self.rows.count :] = self.alpha * self.dual.signs / self.roots[:, None]
        return self.start + self.belief.returned(own)

    def dual_sum(self):
        """Sums of alpha y x."""
        return self.rows.combined(self.alpha * self.dual.signs)

    def scores(self, mean):
        """Scores of all rows."""
        return self.now.T


class Raw:
    """Sweeps over sparse rows as they are, with the covariance in full or the identity."""

    def __init__(self, belief: Belief, rows: Rows, dual: Dual, start):
        self.rows, self.dual, self.start = rows, dual, start
        self.sparse = rows.scaled() if rows.sparse else sp.csr_array(rows.dense(slice(None)))
        self.sparse.sum_duplicates()
        self.sigma = belief.covariance()
        self.squares = np.full(rows.count, np.nan)
        self.alpha, self.now = np.zeros(dual.signs.shape), start.copy()

    def sweep(self, order) -> None:
        """Visit every row once."""
        index = np.uint64 if self.sparse.indices.itemsize == 8 else np.uint32
        rows, dual = self.sparse, self.dual
        csr = (rows.data, rows.indices.view(index), rows.indptr.astype(np.uint64))
        box = (dual.signs, dual.bounds, dual.ridges)
        sweep_raw(*csr, order, self.sigma, *box, self.alpha, self.squares, self.now)

    def mean(self):
        """Means of the outputs."""
        return self.now.copy()

    def dual_sum(self):
        """Sums of alpha y x."""
        return self.rows.combined(self.alpha * self.dual.signs)

    def scores(self, mean):
        """Scores of all rows."""
        return self.rows.scores(mean)


def choose(belief: Belief, rows: Rows, solver: str) -> str:
    """The way for a batch: that of least memory first, then that of least work."""
    if solver != "auto":
        return solver
    if belief.factor is None and belief.stacked + rows.count < rows.width:
        return "kernel"
    thin = rows.sparse and rows.matrix.nnz < SPARSE * rows.count * rows.columns
    return "raw" if thin else "cholesky"


def _prepare(belief: Belief, rows: Rows, dual: Dual, row_weights, options: SweepOptions):
    """Let the precision take the rows in, and set the sweeps up."""
    way = choose(belief, rows, options.solver)
    plain = not row_weights.any() and belief.factor is None and belief.stack is None
    if way == "kernel" and not plain:
        if belief.factor is not None or not row_weights.all():
            raise ValueError(
                "solver='kernel' has no way on from here: earlier batches left a full covariance, "
                "or cov_C became 0 in mid-stream. "
                "Use solver='auto', or keep cov_C."
            )
        gram = belief.absorb_stack(rows, row_weights)
        start = _prior_mean(belief, options)
        return Kernel(belief, rows, dual, start, gram, row_weights)
    if not plain:
        belief.absorb_factor(rows, row_weights)
    start = _prior_mean(belief, options)
    if way == "raw" or (plain and rows.sparse):
        return Raw(belief, rows, dual, start)
    return Whitened(belief, rows, dual, start, keep=options.max_iter > 1)


def _prior_mean(belief: Belief, options: SweepOptions) -> np.ndarray:
    """The means that a batch starts from."""
    return belief.mean if options.prior_mean == "last" else belief.covered(belief.dual_sum)


def learn_batch(
    belief: Belief, rows: Rows, dual: Dual, row_weights, options: SweepOptions, order_of
) -> Outcome:
    """Learn one batch: sweeps in the orders that `order_of` names, until the gap is at most `tol`
    times the objective. `row_weights` are those of the rows in the precision.
    """
    way, tol = _prepare(belief, rows, dual, row_weights, options), options.tol
    history: list[dict] = []
    for turn in range(1, options.max_iter + 1):
        way.sweep(order_of(turn))
        mean, dual_sum = way.mean(), way.dual_sum()
        record = _figures(way, mean, dual_sum)
        check_finite(record["objective"])
        history.append({"pass": turn, **record})
        if tol is not None and record["gap"] <= tol:
            break
    belief.mean, belief.dual_sum = mean, belief.dual_sum + dual_sum
    gap = history[-1]["gap"]
    return Outcome(len(history), gap, tol is None or gap <= tol, history)


def check_finite(objective: float) -> None:
    """Refuse to go on with numbers that have overflown."""
    if not np.isfinite(objective):
        raise FloatingPointError(
            "the objective became infinite or nan: the numbers in X are too large for double "
            "precision. Scale the columns."
        )


def _figures(way, mean, dual_sum) -> dict:
    """Objective, dual and relative gap, summed over the outputs (the gap: of the worst output)."""
    half = 0.5 * np.einsum("ij,ij->i", dual_sum, mean - way.start)
    primal = half + way.dual.losses(way.scores(mean))
    dual = -half + way.dual.gains(way.alpha) - np.einsum("ij,ij->i", dual_sum, way.start)
    gap = (primal - dual) / np.maximum(np.abs(primal), np.finfo(float).tiny)
    return {"objective": float(primal.sum()), "dual": float(dual.sum()), "gap": float(gap.max())}
