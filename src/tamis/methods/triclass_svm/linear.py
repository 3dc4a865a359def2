"""The dual problem of `tamis.solvers.svm_dual.dual` for a linear kernel over sparse rows, without a
matrix of rows by rows.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.triclass_svm.loop import DualEntries, KernelShift, sweep_entries
from tamis.numerics.csr import Csr
from tamis.solvers.svm_dual.dual import make_feasible

SWEEPS_PER_CENTRE = 10  # sweeps between two moves of the intercept's centre
MIN_SQUARED_NORM = 1e-12  # of a row, to divide by


class LinearSolution(NamedTuple):
    """Solution of a linear machine."""

    alpha: np.ndarray
    """Dual variable of every entry."""
    coef: np.ndarray
    intercept: float
    gap: float
    """Primal minus dual value: the objective is at most this far from the optimum."""
    n_iter: int
    converged: bool


def solve_linear_svm(
    matrix: Csr,
    entries: DualEntries,
    *,
    start=None,
    tol=1e-3,
    max_iter=2000,
    seed=0,
    centre=None,
    level=0.0,
) -> LinearSolution:
    """Solve the problem of `tamis.solvers.svm_dual.dual.solve_svm` for the inner products of
    sparse rows, by dual coordinate descent.

    The intercept is free, as there: it is a penalised column, and the centre of its penalty moves
    to its value until the penalty is 0 (the proximal point method). With a `centre`, a dense row,
    the score of that row is fixed at `level`: then the rows are centred and there is no intercept
    to find. Other parameters are those of `solve_svm`; `tol` is in units of the score, `max_iter`
    counts sweeps over the entries.
    """
    signs, linear, caps, entry_rows = entries
    rows = matrix.to_scipy()
    free = centre is None
    products = np.zeros(matrix.n_rows) if free else np.asarray(rows @ centre, dtype=np.float64)
    squared_norms = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    constant = (float(squared_norms.mean()) or 1.0) if free else float(centre @ centre)
    norms = np.maximum(squared_norms + constant - 2.0 * products, MIN_SQUARED_NORM)
    alpha, bias = np.zeros(len(signs)), 0.0
    if start is not None:
        alpha = make_feasible(start, signs, caps) if free else np.clip(start, 0.0, caps)
    coef, signed_sum = _column_weights(rows, alpha, signs, entry_rows), float(signs @ alpha)
    if not free:
        bias = level - float(coef @ centre) + signed_sum * constant
    elif start is not None:
        bias = _median_intercept(rows @ coef, alpha, signs * linear, caps, entry_rows)
    entries = DualEntries(signs, linear, caps, entry_rows.astype(np.uint64))
    state = (matrix, entries, KernelShift(norms, products, constant), alpha, coef)
    n_sweeps, violation, move = 0, np.inf, np.inf
    while n_sweeps < max_iter:
        max_sweeps = min(SWEEPS_PER_CENTRE, max_iter - n_sweeps)
        n_new, violation, bias, signed_sum = sweep_entries(
            *state, bias, signed_sum, float(tol), max_sweeps, np.uint64(seed + n_sweeps)
        )
        n_sweeps += max(n_new, 1)
        move = constant * signed_sum if free else 0.0
        if max(violation, abs(move)) <= tol:
            break
        bias += move
    # Computed again, since the sums of many steps drift in their last bits.
    coef = _column_weights(rows, alpha, signs, entry_rows)
    if not free:
        coef = coef - float(signs @ alpha) * centre
        bias = level - float(coef @ centre)
    dual_alpha = make_feasible(alpha, signs, caps) if free else alpha
    dual_coef = _column_weights(rows, dual_alpha, signs, entry_rows) - (
        0.0 if free else float(signs @ dual_alpha) * centre
    )
    shortfall = linear - signs * (rows @ coef + bias)[entry_rows]
    dual = (
        float(linear @ dual_alpha)
        - level * float(signs @ dual_alpha)
        - 0.5 * float(dual_coef @ dual_coef)
    )
    gap = 0.5 * float(coef @ coef) + float(caps @ np.maximum(shortfall, 0.0)) - dual
    converged = max(violation, abs(move)) <= tol
    return LinearSolution(alpha, coef, float(bias), gap, n_sweeps, converged)


def _column_weights(matrix, alpha, signs, entry_rows) -> np.ndarray:
    """Return the weights of the columns for dual variables."""
    return np.bincount(entry_rows, signs * alpha, matrix.shape[0]) @ matrix


def _median_intercept(scores, alpha, targets, caps, entry_rows) -> float:
    """Return the median of the intercepts that the entries between their bounds require."""
    free = (alpha > 0.0) & (alpha < caps)
    return float(np.median((targets - scores[entry_rows])[free])) if free.any() else 0.0
