"""Solvers of L1 classification: logistic by Newton steps on a working set, hinge as a linear
program over a growing set of columns.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from tamis.methods.thresholding.bounds import (
    Problem,
    balance,
    dual_start,
    dual_value,
    objective,
    settle_intercept,
)
from tamis.methods.thresholding.loop import newton_steps

FIRST = 100  # columns of the first working set


class Fit(NamedTuple):
    """Weights, intercept, scores of the rows, dual variables, turns of the solver, and whether it
    reached its tolerance.

    `pull` is the largest pull of a column under the dual variables in balance, where the solver
    knows it.
    """

    weights: np.ndarray
    intercept: float
    scores: np.ndarray
    alphas: np.ndarray
    turns: int
    converged: bool
    pull: float | None = None


def solve(problem: Problem, matrix, tol: float, max_iter: int, start: Fit | None = None) -> Fit:
    """Minimise the objective until the duality gap is at most `tol` times the objective."""
    columns = _columns(matrix)
    weights = np.zeros(matrix.shape[1]) if start is None else start.weights.copy()
    if problem.loss == "logistic":
        return _solve_logistic(
            problem, columns, weights, 0.0 if start is None else start.intercept, tol, max_iter
        )
    return _solve_hinge(problem, columns, weights, tol, max_iter)


def _working_set(pulls, weights, size: int) -> np.ndarray:
    """The columns in use and those with the largest pulls, in order."""
    held = np.flatnonzero(weights)
    size = min(max(size, 2 * len(held)), len(weights))
    if size == len(weights):
        return np.arange(size)
    rank = np.abs(pulls)
    rank[held] = np.inf
    return np.sort(np.argpartition(rank, len(rank) - size)[len(rank) - size :])


def _columns(matrix):
    """The columns of a matrix in float64."""
    columns = sp.csc_array(matrix)
    return columns if columns.dtype == np.float64 else columns.astype(np.float64)


def _unsigned(columns):
    """The arrays of a CSC matrix as loops read them."""
    index = np.uint64 if columns.indices.itemsize == 8 else np.uint32
    return columns.data, columns.indices.view(index), columns.indptr.astype(np.uint64)


def repaired(problem: Problem, matrix, weights, scores) -> np.ndarray:
    """Dual variables nearer to the optimum on these columns: two Newton steps from the weights
    given, or the program itself.
    """
    columns = _columns(matrix)
    if problem.loss == "logistic":
        weights, scores, every = (
            weights.copy(),
            scores.copy(),
            np.arange(len(weights), dtype=np.uint64),
        )
        newton_steps(
            *_unsigned(columns),
            every,
            problem.signs,
            problem.loads,
            problem.strength,
            weights,
            scores,
            float(problem.intercept),
            2,
            0.0,
        )
        return dual_start(problem, settle_intercept(problem, scores))
    return _solve_program(
        problem, sp.diags_array(problem.signs) @ columns, np.arange(len(weights)), len(weights)
    )[2]


# --------------------------------------------------------------------------- logistic
def _solve_logistic(
    problem: Problem, columns, weights, intercept: float, tol: float, max_iter: int
) -> Fit:
    """Newton steps on a working set, until the gap over all columns is small."""
    csc = _unsigned(columns)
    scores, rows, size = columns @ weights + intercept, columns.T, FIRST
    for turn in range(max_iter + 1):
        alphas = dual_start(problem, scores)
        pulls = rows @ (alphas * problem.signs)
        level = objective(problem, weights, scores)
        steady = balance(problem, alphas)
        largest = float(
            np.abs(pulls if steady is alphas else rows @ (steady * problem.signs)).max(initial=0.0)
        )
        if level - dual_value(problem, steady, largest) <= tol * level:
            return Fit(weights, intercept, scores, alphas, turn, True, largest)
        if turn == max_iter:
            break
        picked = _working_set(pulls, weights, size)
        size = max(size, 2 * len(picked) if turn else size)
        off = np.where(
            weights == 0.0,
            np.maximum(np.abs(pulls) - problem.strength, 0.0),
            np.abs(problem.strength * np.sign(weights) - pulls),
        )
        tilt = abs(float(alphas @ problem.signs)) if problem.intercept else 0.0
        enough = 0.1 * max(float(off.max(initial=0.0)), tilt)
        given = (picked.astype(np.uint64), problem.signs, problem.loads, problem.strength)
        intercept += newton_steps(
            *csc, *given, weights, scores, float(problem.intercept), 10, enough
        )
    return Fit(weights, intercept, scores, alphas, max_iter, False)


# --------------------------------------------------------------------------- hinge
def _solve_hinge(problem: Problem, columns, weights, tol: float, max_iter: int) -> Fit:
    """The dual program over the columns that matter, which grow until no other one is violated."""
    signed = sp.csc_array(sp.diags_array(problem.signs) @ columns)
    alphas = balance(problem, problem.loads.copy())
    picked, size = _working_set(signed.T @ alphas, weights, FIRST), FIRST
    for turn in range(1, max_iter + 1):
        weights, intercept, alphas = _solve_program(
            problem, signed[:, picked], picked, columns.shape[1]
        )
        scores = columns @ weights + intercept
        pulls = signed.T @ alphas
        level = objective(problem, weights, scores)
        if (
            level - dual_value(problem, alphas, float(np.abs(pulls).max(initial=0.0)))
            <= tol * level
        ):
            return Fit(weights, intercept, scores, alphas, turn, True)
        size *= 2
        wider = np.union1d(picked, _working_set(pulls, weights, size))
        if len(wider) == len(picked):
            break
        picked = wider
    return Fit(weights, intercept, scores, alphas, turn, False)


def _solve_program(problem: Problem, signed, picked, width: int):
    """``max sum alpha`` over ``0 <= alpha <= load``, in balance, no column above lam: its
    multipliers are the weights.
    """
    box = np.column_stack((np.zeros_like(problem.loads), problem.loads))
    rows = sp.vstack((signed.T, -signed.T), format="csr")
    level = {"A_eq": problem.signs[None, :], "b_eq": [0.0]} if problem.intercept else {}
    found = linprog(
        -np.ones(len(problem.loads)),
        A_ub=rows,
        b_ub=np.full(rows.shape[0], problem.strength),
        bounds=box,
        method="highs",
        **level,
    )
    if not found.success:
        raise FloatingPointError(
            f"the linear program of the hinge loss was not solved ({found.message}) Scale the "
            "columns, or use loss='logistic'."
        )
    prices, weights = -found.ineqlin.marginals, np.zeros(width)
    weights[picked] = prices[: len(picked)] - prices[len(picked) :]
    intercept = -float(found.eqlin.marginals[0]) if problem.intercept else 0.0
    return weights, intercept, np.clip(found.x, 0.0, problem.loads)
