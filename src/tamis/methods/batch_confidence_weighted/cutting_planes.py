"""Sparse batch confidence-weighted learning: cutting planes add blocks of columns, sweeps of dual
ascent solve for the blocks there are.

A plane is a constraint of the dual here, one a block, and no bundle of slopes is kept.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.batch_confidence_weighted.blocks import BlockBelief, Picked
from tamis.methods.batch_confidence_weighted.dual import Dual, Outcome, check_finite
from tamis.methods.batch_confidence_weighted.loop_blocks import (
    Blocks,
    Box,
    State,
    share_out,
    sweep_joint,
    sweep_scaled,
)
from tamis.methods.batch_confidence_weighted.rows import Rows
from tamis.numerics.csr import decide, largest

FLOOR = 1e-8  # least weight of a block while the weights are sought
IDLE = 1e-6  # share of the penalty below which a block is idle
# a round that another follows ends at so many times the gap: scores of columns need no more
ROUGH = 10.0
REFRESH = 5  # sweeps after which the state is made anew from the dual variables


class Options(NamedTuple):
    """Parameters of a fit."""

    n_features: int
    block_size: int
    solver: str
    sigma: float
    criterion: str
    identity: bool
    max_iter: int
    tol: float | None
    theta_tol: float  # 0: never


def conjugate(lengths: np.ndarray, sigma: float) -> tuple[float, np.ndarray]:
    """Conjugate of sigma |w|^2 / 2 + (sum |w_k|)^2 / 2 at block lengths of z, and the lengths of
    its gradient's blocks.
    """
    shares = np.empty(len(lengths))
    level = share_out(np.ascontiguousarray(lengths, dtype=float), float(sigma), shares)
    return 0.5 * (sigma * float(shares @ shares) + level**2), shares


class Ascent:
    """Dual ascent on the blocks selected so far; goes on where it was when a block is added."""

    def __init__(self, picked: Picked, dual: Dual, options: Options):
        self.picked, self.belief, self.dual, self.options = picked, picked.belief, dual, options
        self.signs = np.ascontiguousarray(dual.signs[:, 0])
        self.box = Box(self.signs, dual.bounds, dual.ridges)
        self.alpha = np.zeros(len(self.signs))
        blocks = len(self.belief.blocks)
        self.simplex = np.full(blocks, 1.0 / max(blocks, 1))
        self.sweeps = 0
        self.refresh()

    def enter(self, block: np.ndarray) -> None:
        """Select a block."""
        self.picked.add(block)
        blocks = len(self.belief.blocks)
        self.simplex = np.append(self.simplex * (blocks - 1) / blocks, 1.0 / blocks)
        self.refresh()

    def refresh(self) -> None:
        """Make the state anew from the dual variables: rounding adds up in it."""
        self.dual_sum = self.belief.dual_sum + self.picked.combined(self.alpha * self.signs)
        self.unscaled = self.picked.covered(self.dual_sum)

    def run(self, order_of, tol: float | None) -> dict:
        """Sweeps until the gap is small; the mean is that of the least objective met."""
        options, layout = self.options, self.picked.layout()
        if options.solver == "online":
            self.alpha[:] = 0.0
            self.refresh()
        best, theta, turn = np.inf, -np.inf, 0
        for turn in range(1, (1 if options.solver == "online" else options.max_iter) + 1):
            self._sweep(order_of(self.sweeps + turn), layout)
            if turn % REFRESH == 0:
                self.refresh()
            primal, scale, dual, shares, mean = self._figures()
            check_finite(primal)
            theta = max(theta, dual)
            if primal < best:
                best, unit, self.belief.mean = primal, scale, self._without_idle(mean, shares)
            gap = (best - theta) / max(unit, np.finfo(float).tiny)
            if tol is not None and gap <= tol:
                break
            if shares.sum() > 0.0:
                self.simplex = np.maximum(shares / shares.sum(), FLOOR)
                self.simplex /= self.simplex.sum()
        self.sweeps += turn
        return {"theta": theta, "objective": best, "gap": gap, "sweeps": turn}

    def _sweep(self, order, layout: Blocks) -> None:
        box, state = self.box, State(self.alpha, self.dual_sum, self.unscaled)
        squares = self.picked.squares
        if self.options.solver == "mkl":
            rates = self._rates()
            sweep_scaled(layout, order, rates, squares @ rates, box, state)
        else:
            strength, exact = self.options.sigma, self.options.solver == "exact"
            sweep_joint(layout, order, strength, exact, squares, box, state, self._lengths2())

    def _rates(self) -> np.ndarray:
        """Scale of each block in the multiple-kernel form."""
        return 1.0 / (self.options.sigma + 1.0 / self.simplex)

    def _lengths2(self) -> np.ndarray:
        """Squared length of each block of z."""
        starts = self.belief.starts[:-1].astype(np.int64)
        return np.maximum(np.add.reduceat(self.dual_sum * self.unscaled, starts), 0.0)

    def _figures(self):
        """Objective, the same without what earlier batches take off it (which may leave nothing),
        dual, lengths of the weights' blocks, mean.
        """
        sigma, lengths = self.options.sigma, np.sqrt(self._lengths2())
        value, shares = conjugate(lengths, sigma)
        if self.options.solver == "mkl":
            rates = self._rates()
            shares = rates * lengths
        else:
            rates = np.divide(shares, lengths, out=np.zeros(len(shares)), where=lengths > 0.0)
        mean = np.repeat(rates, self.belief.sizes) * self.unscaled
        penalty = 0.5 * sigma * float(shares @ shares) + 0.5 * float(shares.sum()) ** 2
        cost = penalty + float(self.dual.losses(scores_of(self.picked, mean))[0])
        dual = float(self.dual.gains(self.alpha[:, None])[0]) - value
        return cost - float(self.belief.dual_sum @ mean), cost, dual, shares, mean

    def _without_idle(self, mean, shares):
        """The mean with exact zeros for blocks that play no part."""
        idle = shares <= IDLE * shares.sum()
        return np.where(np.repeat(idle, self.belief.sizes), 0.0, mean)


def scores_of(picked: Picked, mean: np.ndarray) -> np.ndarray:
    """Scores of the batch's rows, (rows, 1)."""
    belief = picked.belief
    scores = np.zeros((picked.matrix.shape[0], 1))
    bias = 0.0
    if belief.constant and len(mean):
        bias = belief.constant * mean[belief.starts[1:].astype(np.int64) - 1].sum()
    decide(*picked.csr, np.arange(len(scores)), mean[:, None], np.array([bias]), scores)
    return scores


def learn_sparse(
    belief: BlockBelief, matrix, dual: Dual, row_weights, options: Options, order_of
) -> Outcome:
    """Learn one batch for one output: rounds that each select a block and solve for all blocks."""
    belief.drop_idle()
    picked = Picked(matrix, row_weights, belief, options.identity)
    ascent = Ascent(picked, dual, options)
    lengths = _column_squares(matrix, row_weights) if options.criterion == "cov" else None
    alpha = _first_alpha(dual, scores_of(picked, belief.mean))
    history: list[dict] = []
    more = True
    while more:
        block = _next_block(matrix, alpha * ascent.signs, belief.columns, lengths, options)
        if len(block):
            ascent.enter(block)
        more = len(block) == options.block_size and len(belief.columns) < options.n_features
        if belief.blocks:
            history.append(_round(ascent, order_of, history, more))
            alpha = ascent.alpha
            more = more and not _settled(history, options.theta_tol)
    if history and not history[-1]["final"]:
        history[-1] = _round(ascent, order_of, history[:-1], False)
    belief.dual_sum = ascent.dual_sum
    gap = history[-1]["gap"] if history else 0.0
    converged = options.tol is None or options.solver == "online" or gap <= options.tol
    return Outcome(ascent.sweeps, gap, converged, history)


def _round(ascent: Ascent, order_of, history, more: bool) -> dict:
    """Solve for the blocks there are: roughly if more are to come."""
    tol = ascent.options.tol
    record = ascent.run(order_of, tol if tol is None or not more else ROUGH * tol)
    return {
        "round": len(history) + 1,
        "selected": len(ascent.belief.columns),
        "final": not more,
        **record,
    }


def _settled(history, theta_tol: float) -> bool:
    """Whether the last block has hardly changed the dual."""
    if theta_tol <= 0.0 or len(history) < 2:
        return False
    before, now = history[-2]["theta"], history[-1]["theta"]
    return abs(now - before) <= theta_tol * abs(now)


def _first_alpha(dual: Dual, scores) -> np.ndarray:
    """Dual variables that the loss asks for under the model of earlier batches; scores of 0 at the
    first.
    """
    short = np.maximum(1.0 - dual.signs[:, 0] * scores[:, 0], 0.0)
    return short / dual.ridges if dual.squared else dual.bounds * (short > 0.0)


def _next_block(matrix, coefficients, chosen, lengths, options: Options) -> np.ndarray:
    """The columns of largest score that are not chosen yet: equation (14), or (12) with a diagonal
    covariance.
    """
    size = min(options.block_size, options.n_features - len(chosen))
    if size <= 0:
        return np.zeros(0, dtype=np.int64)
    score = Rows(matrix, 0.0).combined(coefficients[:, None])[0] ** 2
    if lengths is not None:
        score /= 1.0 + lengths
    score[chosen] = 0.0
    above = np.flatnonzero(score)  # a partition among many equal numbers is slow
    return above[largest(score[above], size)]


def _column_squares(matrix, row_weights) -> np.ndarray:
    """Sum of weight x^2 of each column."""
    if sp.issparse(matrix):
        each = np.repeat(row_weights, np.diff(matrix.indptr))
        weighed = np.square(matrix.data, dtype=np.float64) * each
        return np.bincount(matrix.indices, weights=weighed, minlength=matrix.shape[1])
    return row_weights @ np.square(matrix, dtype=np.float64)
