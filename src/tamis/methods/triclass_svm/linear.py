"""The support vector dual of `tamis.solvers.svm_dual.dual` for a linear kernel over sparse
rows: nothing of rows by rows is made.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.triclass_svm.loop import Centred, Entries, sweep_entries
from tamis.numerics.csr import Csr
from tamis.solvers.svm_dual.dual import feasible

AT_ONCE = 10  # sweeps between two moves of the intercept's centre
FLOOR = 1e-12


class LinearOutcome(NamedTuple):
    """What the solver found."""

    alpha: np.ndarray
    """Dual variable of every entry."""
    coef: np.ndarray
    intercept: float
    gap: float
    """Primal less dual value: the objective is at most this far from the optimum."""
    n_iter: int
    converged: bool


def solve_linear_svm(
    matrix: Csr,
    entries: Entries,
    *,
    start=None,
    tol=1e-3,
    max_iter=2000,
    seed=0,
    centre=None,
    level=0.0,
) -> LinearOutcome:
    """Solve the problem of `tamis.solvers.svm_dual.dual.solve_svm` for the inner products of
    sparse rows, by dual coordinate descent.

    The intercept is free, as there: it starts as a column that pays, and its centre moves to where
    it is until that costs nothing (the proximal point method). With a `centre`, a dense row, the
    score of that row is held at `level`: then there is no intercept to find, the rows are centred.
    Other parameters are those of `solve_svm`; `tol` is in units of the score, `max_iter` counts
    sweeps over the entries.
    """
    signs, linear, caps, at = entries
    plain = matrix.scipy()
    free = centre is None
    leans = np.zeros(matrix.n_rows) if free else np.asarray(plain @ centre, dtype=np.float64)
    lengths = np.asarray(plain.multiply(plain).sum(axis=1), dtype=np.float64).ravel()
    constant = (float(lengths.mean()) or 1.0) if free else float(centre @ centre)
    norms = np.maximum(lengths + constant - 2.0 * leans, FLOOR)
    alpha, bias = np.zeros(len(signs)), 0.0
    if start is not None:
        alpha = feasible(start, signs, caps) if free else np.clip(start, 0.0, caps)
    coef, total = _weights(plain, alpha, signs, at), float(signs @ alpha)
    if not free:
        bias = level - float(coef @ centre) + total * constant
    elif start is not None:
        bias = _middle(plain @ coef, alpha, signs * linear, caps, at)
    entries = Entries(signs, linear, caps, at.astype(np.uint64))
    fixed = (matrix, entries, Centred(norms, leans, constant), alpha, coef)
    swept, worst, shift = 0, np.inf, np.inf
    while swept < max_iter:
        most = min(AT_ONCE, max_iter - swept)
        taken, worst, bias, total = sweep_entries(
            *fixed, bias, total, float(tol), most, np.uint64(seed + swept)
        )
        swept += max(taken, 1)
        shift = constant * total if free else 0.0
        if max(worst, abs(shift)) <= tol:
            break
        bias += shift
    coef = _weights(plain, alpha, signs, at)  # anew: sums of many steps drift in their last bits
    if not free:
        coef = coef - float(signs @ alpha) * centre
        bias = level - float(coef @ centre)
    near = feasible(alpha, signs, caps) if free else alpha
    other = _weights(plain, near, signs, at) - (0.0 if free else float(signs @ near) * centre)
    short = linear - signs * (plain @ coef + bias)[at]
    dual = float(linear @ near) - level * float(signs @ near) - 0.5 * float(other @ other)
    gap = 0.5 * float(coef @ coef) + float(caps @ np.maximum(short, 0.0)) - dual
    return LinearOutcome(alpha, coef, float(bias), gap, swept, max(worst, abs(shift)) <= tol)


def _weights(plain, alpha, signs, rows) -> np.ndarray:
    """Weights of the columns that belong to dual variables."""
    return np.bincount(rows, signs * alpha, plain.shape[0]) @ plain


def _middle(scores, alpha, targets, caps, rows) -> float:
    """Intercept that the entries between their bounds ask for, in the middle."""
    free = (alpha > 0.0) & (alpha < caps)
    return float(np.median((targets - scores[rows])[free])) if free.any() else 0.0
