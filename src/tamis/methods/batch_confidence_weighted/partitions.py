"""`BCWClassifier` on rows that lie in partitions: one Gram matrix of all rows is a sum, then sweeps
of dual coordinate ascent take the means from partition to partition.
"""

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from tamis.base.estimators.estimator import validate_training
from tamis.base.partition_sums import (
    PartitionBlocks,
    PartitionSums,
    PreparedPartitions,
    class_weights,
    first_targets,
    with_columns,
)
from tamis.methods.batch_confidence_weighted.dual import (
    RAW_MAX_DENSITY,
    RawSweeps,
    WhitenedSweeps,
    check_finite,
)
from tamis.methods.batch_confidence_weighted.posterior import (
    GaussianPosterior,
    check_covariance_memory,
)
from tamis.methods.batch_confidence_weighted.rows import BatchRows

MAX_SEED = 2**31 - 1


def refuse_sums(model: Any) -> str:
    """Why the parameters rule sums out; empty where they do not."""
    if model.solver == "kernel":
        return "solver='kernel' holds the rows themselves; pass solver='auto'"
    return ""


# --------------------------------------------------------------------------- tasks
def _training_rows(
    blocks: PartitionBlocks, model: Any, targets: Any
) -> tuple[BatchRows, np.ndarray, np.ndarray]:
    """Rows of weight above 0 of a partition, their signs and weights."""
    rows, signs, weights = [], [], []
    for block in blocks:
        taken = validate_training(
            model, block.X, block.y, block.weights, is_fit=False, known=targets
        )
        rows.append(taken.rows)
        signs.append(targets.signs(taken.columns))
        weights.append(taken.weights)
    if len(rows) > 1 and any(map(sp.issparse, rows)):
        matrix: Any = sp.csr_array(sp.vstack([sp.csr_array(one) for one in rows], format="csr"))
    else:
        matrix = np.concatenate(rows) if len(rows) > 1 else rows[0]
    return BatchRows(matrix, model._constant()), np.concatenate(signs), np.concatenate(weights)


def _gram(blocks: PartitionBlocks, model: Any, targets: Any) -> tuple:
    """Sum of weight x x', and the counts that choose the solver: rows, entries, dense rows."""
    rows, _, weights = _training_rows(blocks, model, targets)
    cost = float(model.C if model.cov_C is None else model.cov_C)
    gram = rows.gram(weights * cost) if cost else np.zeros((0, 0))
    entries = rows.matrix.nnz if rows.sparse else rows.matrix.size
    return gram, float(rows.count), float(entries), 0.0 if rows.sparse else float(rows.count)


def _dual_solver(
    blocks: PartitionBlocks, model: Any, targets: Any, posterior: GaussianPosterior, solver: str
) -> RawSweeps | WhitenedSweeps:
    """The solver of a partition, its dual variables 0."""
    rows, signs, weights = _training_rows(blocks, model, targets)
    dual = model._dual(signs, weights)
    if solver == "raw":
        return RawSweeps(posterior, rows, dual, posterior.mean)
    return WhitenedSweeps(posterior, rows, dual, posterior.mean, store_rows=model.max_iter > 1)


def _sweep(
    solver: RawSweeps | WhitenedSweeps, weights: np.ndarray, seed: int | None
) -> tuple[RawSweeps | WhitenedSweeps, np.ndarray]:
    """The solver after a sweep that starts from these weights, and the weights after it."""
    after, count = copy.copy(solver), solver.rows.count
    after.alpha = solver.alpha.copy()
    after.weights = weights.copy()
    order = np.arange(count) if seed is None else np.random.RandomState(seed).permutation(count)
    after.sweep(order)
    return after, after.weights


def _objective_sums(
    solver: RawSweeps | WhitenedSweeps, weights: np.ndarray, mean: np.ndarray
) -> tuple:
    """Losses and dual gains of a partition after a sweep, and its sums of alpha y x."""
    solver = copy.copy(solver)
    solver.weights = weights
    losses, gains = solver.dual.losses(solver.scores(mean)), solver.dual.alpha_terms(solver.alpha)
    return losses, gains, solver.dual_sum() if isinstance(solver, RawSweeps) else np.zeros(0)


# --------------------------------------------------------------------------- the fit
def fit_sums(model: Any, sums: PartitionSums) -> None:
    """Learn the rows of all partitions as one batch."""
    worker_model = with_columns(model, sums.n_features)
    worker_model._validate_params()
    targets = sums.first(first_targets, worker_model)
    worker_model.class_weight = class_weights(worker_model, targets, sums)
    posterior = GaussianPosterior(targets.outputs, sums.n_features, worker_model._constant())
    check_covariance_memory(posterior.width)
    gram, n_rows, entries, n_dense = sums.total(_gram, worker_model, targets)
    if len(gram):
        posterior.add_gram(gram)
    is_sparse = not n_dense and entries < RAW_MAX_DENSITY * n_rows * sums.n_features
    solver = model.solver if model.solver != "auto" else "raw" if is_sparse else "cholesky"
    if not len(gram) and not n_dense:
        solver = "raw"
    history = sums.with_prepared(
        _dual_solver,
        (worker_model, targets, posterior, solver),
        lambda prepared: _sweeps(worker_model, prepared, posterior, solver == "raw"),
    )
    gap = history[-1]["gap"]
    model._targets, model._belief, model.n_features_in_ = targets, posterior, sums.n_features
    model.n_iter_, model.gap_, model.history_ = len(history), gap, history
    if model.max_iter > 1 and not (model.tol is None or gap <= model.tol):
        model._warn_unfinished(gap)


def _sweeps(
    model: Any, prepared: PreparedPartitions, posterior: GaussianPosterior, is_raw: bool
) -> list[dict]:
    """Sweep until the gap is small; set the means of the posterior, and return the history."""
    random, count = check_random_state(copy.deepcopy(model.random_state)), len(prepared)
    weights, history = np.zeros_like(posterior.mean), list[dict]()
    for sweep in range(1, model.max_iter + 1):
        order, seeds = list(range(count)), list[int | None]([None] * count)
        if model.shuffle:
            order = random.permutation(count).tolist()
            seeds = random.randint(MAX_SEED, size=count).tolist()
        weights = prepared.relay(_sweep, weights, order, [(seed,) for seed in seeds])
        mean = weights if is_raw else posterior.unwhiten(weights)
        losses, gains, dual_sum = prepared.total(_objective_sums, weights, mean)
        if not is_raw:
            dual_sum = weights if posterior.factor is None else weights @ posterior.factor.T
        history.append({"pass": sweep, **_figures(losses, gains, dual_sum, mean)})
        if model.tol is not None and history[-1]["gap"] <= model.tol:
            break
    posterior.mean, posterior.dual_sum = mean.copy(), dual_sum
    return history


def _figures(losses, gains, dual_sum, mean) -> dict:
    """Objective, dual and relative gap of a batch that started from means of 0."""
    half = 0.5 * np.einsum("ij,ij->i", dual_sum, mean)
    primal, dual = half + losses, gains - half
    check_finite(float(primal.sum()))
    gap = (primal - dual) / np.maximum(np.abs(primal), np.finfo(float).tiny)
    return {"objective": float(primal.sum()), "dual": float(dual.sum()), "gap": float(gap.max())}
