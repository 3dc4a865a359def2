"""Sparse batch confidence-weighted learning (algorithm 2): each round selects a block of columns,
then solves for all blocks by dual ascent.

A cutting plane is a constraint of the dual here, one for each block; there is no bundle of
subgradients.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.batch_confidence_weighted.blocks import BlockPosterior, SelectedRows
from tamis.methods.batch_confidence_weighted.dual import BatchResult, Dual, check_finite
from tamis.methods.batch_confidence_weighted.loop_blocks import (
    BlockRows,
    DualBox,
    DualState,
    compute_gradient_norms,
    sweep_joint,
    sweep_scaled,
)
from tamis.methods.batch_confidence_weighted.rows import BatchRows
from tamis.numerics.csr import decision_scores, largest_indices

MIN_BLOCK_WEIGHT = 1e-8  # lower bound on the multiple-kernel weight d of a block
INACTIVE_FRACTION = 1e-6  # a block with at most this fraction of the sum of norms gets weights of 0
# Rounds before the last one end at this many times `tol`: the scores of columns need no more.
INTERMEDIATE_TOL_FACTOR = 10.0
RECOMPUTE_INTERVAL = 5  # sweeps between computations of the state from the dual variables


class SBCWOptions(NamedTuple):
    """Parameters of sparse BCW."""

    n_features: int
    block_size: int
    solver: str
    sigma: float
    criterion: str
    identity: bool
    max_iter: int
    tol: float | None
    theta_tol: float  # 0: rounds do not end early


def conjugate(block_norms: np.ndarray, sigma: float) -> tuple[float, np.ndarray]:
    """Return the conjugate of sigma |w|^2 / 2 + (sum |w_k|)^2 / 2 at the block norms of z, and the
    norms of the blocks of its gradient.
    """
    gradient_norms = np.empty(len(block_norms))
    total_norm = compute_gradient_norms(
        np.ascontiguousarray(block_norms, dtype=float), float(sigma), gradient_norms
    )
    return 0.5 * (sigma * float(gradient_norms @ gradient_norms) + total_norm**2), gradient_norms


class BlockDualAscent:
    """Dual ascent on the blocks selected so far; a new block starts from the present dual
    variables.
    """

    def __init__(self, selected_rows: SelectedRows, dual: Dual, options: SBCWOptions):
        self.selected_rows = selected_rows
        self.posterior = selected_rows.posterior
        self.dual = dual
        self.options = options
        self.signs = np.ascontiguousarray(dual.signs[:, 0])
        self.box = DualBox(self.signs, dual.bounds, dual.ridges)
        self.alpha = np.zeros(len(self.signs))
        n_blocks = len(self.posterior.blocks)
        self.block_weights = np.full(n_blocks, 1.0 / max(n_blocks, 1))
        self.sweeps = 0
        self.recompute_state()

    def add_block(self, block: np.ndarray) -> None:
        """Add a block of columns."""
        self.selected_rows.add(block)
        n_blocks = len(self.posterior.blocks)
        self.block_weights = np.append(
            self.block_weights * (n_blocks - 1) / n_blocks, 1.0 / n_blocks
        )
        self.recompute_state()

    def recompute_state(self) -> None:
        """Compute the state from the dual variables, which removes accumulated rounding errors."""
        self.dual_sum = self.posterior.dual_sum + self.selected_rows.weighted_sum(
            self.alpha * self.signs
        )
        self.unscaled = self.selected_rows.apply_covariance(self.dual_sum)

    def run(self, sweep_order, tol: float | None) -> dict:
        """Run sweeps until the gap is at most `tol`; the mean is that of the lowest objective."""
        options, layout = self.options, self.selected_rows.layout()
        if options.solver == "online":
            self.alpha[:] = 0.0
            self.recompute_state()
        best, theta, sweep = np.inf, -np.inf, 0
        for sweep in range(1, (1 if options.solver == "online" else options.max_iter) + 1):
            self._sweep(sweep_order(self.sweeps + sweep), layout)
            if sweep % RECOMPUTE_INTERVAL == 0:
                self.recompute_state()
            primal, penalized_loss, dual, block_norms, mean = self._evaluate()
            check_finite(primal)
            theta = max(theta, dual)
            if primal < best:
                best = primal
                gap_scale = penalized_loss
                self.posterior.mean = self._zero_inactive(mean, block_norms)
            gap = (best - theta) / max(gap_scale, np.finfo(float).tiny)
            if tol is not None and gap <= tol:
                break
            if block_norms.sum() > 0.0:
                self.block_weights = np.maximum(block_norms / block_norms.sum(), MIN_BLOCK_WEIGHT)
                self.block_weights /= self.block_weights.sum()
        self.sweeps += sweep
        return {"theta": theta, "objective": best, "gap": gap, "sweeps": sweep}

    def _sweep(self, order, layout: BlockRows) -> None:
        box, state = self.box, DualState(self.alpha, self.dual_sum, self.unscaled)
        squares = self.selected_rows.squared_norms
        if self.options.solver == "mkl":
            block_scales = self._block_scales()
            sweep_scaled(layout, order, block_scales, squares @ block_scales, box, state)
        else:
            sigma, exact = self.options.sigma, self.options.solver == "exact"
            sweep_joint(layout, order, sigma, exact, squares, box, state, self._squared_norms())

    def _block_scales(self) -> np.ndarray:
        """Return the scale eta of each block in the multiple-kernel form."""
        return 1.0 / (self.options.sigma + 1.0 / self.block_weights)

    def _squared_norms(self) -> np.ndarray:
        """Return the squared norm of each block of z."""
        starts = self.posterior.starts[:-1].astype(np.int64)
        return np.maximum(np.add.reduceat(self.dual_sum * self.unscaled, starts), 0.0)

    def _evaluate(self):
        """Return the objective, penalty plus loss (the objective without the term of earlier
        batches, which may make it 0), the dual, the norms of the weights of each block, the mean.
        """
        sigma, block_norms = self.options.sigma, np.sqrt(self._squared_norms())
        value, weight_norms = conjugate(block_norms, sigma)
        if self.options.solver == "mkl":
            block_scales = self._block_scales()
            weight_norms = block_scales * block_norms
        else:
            block_scales = np.divide(
                weight_norms, block_norms, out=np.zeros(len(weight_norms)), where=block_norms > 0.0
            )
        mean = np.repeat(block_scales, self.posterior.sizes) * self.unscaled
        penalty = (
            0.5 * sigma * float(weight_norms @ weight_norms) + 0.5 * float(weight_norms.sum()) ** 2
        )
        penalized_loss = penalty + float(
            self.dual.losses(batch_scores(self.selected_rows, mean))[0]
        )
        dual = float(self.dual.alpha_terms(self.alpha[:, None])[0]) - value
        return (
            penalized_loss - float(self.posterior.dual_sum @ mean),
            penalized_loss,
            dual,
            weight_norms,
            mean,
        )

    def _zero_inactive(self, mean, block_norms):
        """Return the mean with exact zeros for inactive blocks."""
        inactive = block_norms <= INACTIVE_FRACTION * block_norms.sum()
        return np.where(np.repeat(inactive, self.posterior.sizes), 0.0, mean)


def batch_scores(selected_rows: SelectedRows, mean: np.ndarray) -> np.ndarray:
    """Return the scores of the rows of the batch, of shape (rows, 1)."""
    posterior = selected_rows.posterior
    scores = np.zeros((selected_rows.matrix.shape[0], 1))
    intercept = 0.0
    if posterior.constant and len(mean):
        intercept = posterior.constant * mean[posterior.starts[1:].astype(np.int64) - 1].sum()
    decision_scores(
        *selected_rows.csr, np.arange(len(scores)), mean[:, None], np.array([intercept]), scores
    )
    return scores


def learn_sparse(
    posterior: BlockPosterior, matrix, dual: Dual, row_weights, options: SBCWOptions, sweep_order
) -> BatchResult:
    """Update the Gaussian of one output by one batch, by rounds that select a block and solve for
    all blocks.
    """
    posterior.drop_inactive()
    selected_rows = SelectedRows(matrix, row_weights, posterior, options.identity)
    ascent = BlockDualAscent(selected_rows, dual, options)
    column_energies = _column_energies(matrix, row_weights) if options.criterion == "cov" else None
    alpha = _initial_alpha(dual, batch_scores(selected_rows, posterior.mean))
    history: list[dict] = []
    continue_rounds = True
    while continue_rounds:
        block = _next_block(
            matrix, alpha * ascent.signs, posterior.columns, column_energies, options
        )
        if len(block):
            ascent.add_block(block)
        continue_rounds = (
            len(block) == options.block_size and len(posterior.columns) < options.n_features
        )
        if posterior.blocks:
            history.append(_solve_round(ascent, sweep_order, history, continue_rounds))
            alpha = ascent.alpha
            continue_rounds = continue_rounds and not _theta_converged(history, options.theta_tol)
    if history and not history[-1]["final"]:
        history[-1] = _solve_round(ascent, sweep_order, history[:-1], False)
    posterior.dual_sum = ascent.dual_sum
    gap = history[-1]["gap"] if history else 0.0
    converged = options.tol is None or options.solver == "online" or gap <= options.tol
    return BatchResult(ascent.sweeps, gap, converged, history)


def _solve_round(ascent: BlockDualAscent, sweep_order, history, continue_rounds: bool) -> dict:
    """Solve for the blocks selected so far, to a larger gap if another round follows."""
    tol = ascent.options.tol
    record = ascent.run(
        sweep_order, tol if tol is None or not continue_rounds else INTERMEDIATE_TOL_FACTOR * tol
    )
    return {
        "round": len(history) + 1,
        "selected": len(ascent.posterior.columns),
        "final": not continue_rounds,
        **record,
    }


def _theta_converged(history, theta_tol: float) -> bool:
    """Return whether the last round changed the dual by at most `theta_tol`, relatively."""
    if theta_tol <= 0.0 or len(history) < 2:
        return False
    previous, current = history[-2]["theta"], history[-1]["theta"]
    return abs(current - previous) <= theta_tol * abs(current)


def _initial_alpha(dual: Dual, scores) -> np.ndarray:
    """Return the dual variables that the loss has at the scores of the present model."""
    slack = np.maximum(1.0 - dual.signs[:, 0] * scores[:, 0], 0.0)
    return slack / dual.ridges if dual.squared else dual.bounds * (slack > 0.0)


def _next_block(
    matrix, coefficients, selected, column_energies, options: SBCWOptions
) -> np.ndarray:
    """Return the columns of largest score that are not selected yet: equation (14), or (12) with a
    diagonal covariance.
    """
    size = min(options.block_size, options.n_features - len(selected))
    if size <= 0:
        return np.zeros(0, dtype=np.int64)
    scores = BatchRows(matrix, 0.0).weighted_sum(coefficients[:, None])[0] ** 2
    if column_energies is not None:
        scores /= 1.0 + column_energies
    scores[selected] = 0.0
    candidates = np.flatnonzero(scores)  # a partition among many equal numbers is slow
    return candidates[largest_indices(scores[candidates], size)]


def _column_energies(matrix, row_weights) -> np.ndarray:
    """Return the sum of weight x^2 of each column."""
    if sp.issparse(matrix):
        entry_weights = np.repeat(row_weights, np.diff(matrix.indptr))
        weighed = np.square(matrix.data, dtype=np.float64) * entry_weights
        return np.bincount(matrix.indices, weights=weighed, minlength=matrix.shape[1])
    return row_weights @ np.square(matrix, dtype=np.float64)
