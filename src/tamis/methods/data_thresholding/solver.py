"""Solvers of L1 classification: logistic by Newton steps on a working set, hinge as a linear
program over a growing set of columns, or a classifier of the user's.

Newton steps on single columns take a tenth to eight tenths of the time of the solver for blocks,
which serves no hinge; and a few of the same steps repair the dual variables of a certificate.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import clone

from tamis.methods.data_thresholding.bounds import (
    Problem,
    balance,
    dual_start,
    dual_value,
    objective,
    settled_duals,
)
from tamis.methods.data_thresholding.loop import gram_steps, newton_steps
from tamis.methods.data_thresholding.thresholds import raw

FIRST = 100  # columns of the first working set
REPAIRS = 3  # Newton steps of a repair
SWEEPS = 20.0  # passes over the entries that a Newton step takes without the matrix of its model


class Fit(NamedTuple):
    """Weights, intercept, scores of the rows, dual variables, turns of the solver, and whether it
    reached its tolerance.

    Where the solver knows them: `correlation` is the largest one of a column under the dual
    variables in balance, `level` the objective and `dual` that of these variables.
    """

    weights: np.ndarray
    intercept: float
    scores: np.ndarray
    alphas: np.ndarray
    turns: int
    converged: bool
    correlation: float | None = None
    level: float | None = None
    dual: float | None = None


def solve(problem: Problem, matrix, tol: float, max_iter: int, start: Fit | None = None) -> Fit:
    """Minimise the objective until the duality gap is at most `tol` times the objective."""
    columns = _columns(matrix)
    weights = np.zeros(matrix.shape[1]) if start is None else start.weights.copy()
    if problem.loss == "logistic":
        return _solve_logistic(
            problem, columns, weights, 0.0 if start is None else start.intercept, tol, max_iter
        )
    return _solve_hinge(problem, columns, weights, tol, max_iter)


def _working_set(correlations, weights, size: int) -> np.ndarray:
    """The columns in use and those with the largest correlations, in order."""
    held = np.flatnonzero(weights)
    size = min(max(size, 2 * len(held)), len(weights))
    if size == len(weights):
        return np.arange(size)
    rank = np.abs(correlations)
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


def repaired(problem: Problem, rows: sp.csr_array, weights, scores) -> np.ndarray:
    """Dual variables in balance, nearer to the optimum on these columns: some Newton steps from the
    weights given, or the program itself.
    """
    if problem.loss == "hinge":
        every, signed = np.arange(len(weights)), sp.diags_array(problem.signs) @ _columns(rows)
        found = _solve_program(problem, signed, every, len(weights), "highs-ipm")
        return balance(problem, found[2])
    weights, scores = weights.copy(), scores.copy()
    given = (problem.signs, problem.row_weights, problem.strength, weights, scores)
    intercept, lengths = float(problem.intercept), np.diff(rows.indptr).astype(float)
    if len(weights) ** 2 + lengths @ lengths <= SWEEPS * rows.nnz:
        gram_steps(raw(rows), *given, intercept, REPAIRS)
    else:
        every = np.arange(len(weights), dtype=np.uint64)
        newton_steps(_unsigned(_columns(rows)), every, *given, intercept, REPAIRS, 0.0)
    return settled_duals(problem, scores)


# --------------------------------------------------------------------------- logistic
def _solve_logistic(
    problem: Problem, columns, weights, intercept: float, tol: float, max_iter: int
) -> Fit:
    """Newton steps on a working set, until the gap over all columns is small."""
    csc = _unsigned(columns)
    scores, rows, size = columns @ weights + intercept, columns.T, FIRST
    for turn in range(max_iter + 1):
        alphas = dual_start(problem, scores)
        correlations = rows @ (alphas * problem.signs)
        level = objective(problem, weights, scores)
        steady = balance(problem, alphas)
        there = correlations if steady is alphas else rows @ (steady * problem.signs)
        largest = float(np.abs(there).max(initial=0.0))
        dual = dual_value(problem, steady, largest)
        if level - dual <= tol * level:
            return Fit(weights, intercept, scores, alphas, turn, True, largest, level, dual)
        if turn == max_iter:
            break
        picked = _working_set(correlations, weights, size)
        size = max(size, 2 * len(picked) if turn else size)
        off = np.where(
            weights == 0.0,
            np.maximum(np.abs(correlations) - problem.strength, 0.0),
            np.abs(problem.strength * np.sign(weights) - correlations),
        )
        tilt = abs(float(alphas @ problem.signs)) if problem.intercept else 0.0
        enough = 0.1 * max(float(off.max(initial=0.0)), tilt)
        given = (picked.astype(np.uint64), problem.signs, problem.row_weights, problem.strength)
        intercept += newton_steps(
            csc, *given, weights, scores, float(problem.intercept), 10, enough
        )
    return Fit(weights, intercept, scores, alphas, max_iter, False)


# --------------------------------------------------------------------------- hinge
def _solve_hinge(problem: Problem, columns, weights, tol: float, max_iter: int) -> Fit:
    """The dual program over the columns that matter, which grow until no other one is violated."""
    signed = sp.csc_array(sp.diags_array(problem.signs) @ columns)
    alphas = balance(problem, problem.row_weights.copy())
    picked, size = _working_set(signed.T @ alphas, weights, FIRST), FIRST
    for turn in range(1, max_iter + 1):
        weights, intercept, alphas = _solve_program(
            problem, signed[:, picked], picked, columns.shape[1]
        )
        scores = columns @ weights + intercept
        correlations = signed.T @ alphas
        level = objective(problem, weights, scores)
        largest = float(np.abs(correlations).max(initial=0.0))
        if level - dual_value(problem, alphas, largest) <= tol * level:
            return Fit(weights, intercept, scores, alphas, turn, True)
        size *= 2
        wider = np.union1d(picked, _working_set(correlations, weights, size))
        if len(wider) == len(picked):
            break
        picked = wider
    return Fit(weights, intercept, scores, alphas, turn, False)


def _solve_program(problem: Problem, signed, picked, width: int, method: str = "highs"):
    """``max sum alpha`` over ``0 <= alpha <= weight``, in balance, no column above the strength:
    its multipliers are the weights.
    """
    box = np.column_stack((np.zeros_like(problem.row_weights), problem.row_weights))
    rows = sp.vstack((signed.T, -signed.T), format="csr")
    level = {"A_eq": problem.signs[None, :], "b_eq": [0.0]} if problem.intercept else {}
    found = linprog(
        -np.ones(len(problem.row_weights)),
        A_ub=rows,
        b_ub=np.full(rows.shape[0], problem.strength),
        bounds=box,
        method=method,
        **level,
    )
    if not found.success and method != "highs":
        return _solve_program(problem, signed, picked, width)
    if not found.success:
        raise FloatingPointError(
            f"the linear program of the hinge loss was not solved ({found.message}) Scale the "
            "columns, or use loss='logistic'."
        )
    prices, weights = -found.ineqlin.marginals, np.zeros(width)
    weights[picked] = prices[: len(picked)] - prices[len(picked) :]
    intercept = -float(found.eqlin.marginals[0]) if problem.intercept else 0.0
    return weights, intercept, np.clip(found.x, 0.0, problem.row_weights)


# --------------------------------------------------------------------------- of the user
def given_solver(estimator, matrix, problems: list[Problem], mass: float) -> list[Fit]:
    """A fit of every output by a clone of the estimator; the dual variables are by its scores."""
    matrix = _narrow(matrix)
    return [_fit_one(estimator, matrix, problem, mass) for problem in problems]


def _fit_one(estimator, matrix, problem: Problem, mass: float) -> Fit:
    known = estimator.get_params(deep=False)
    if not {"C", "alpha"} & set(known):
        raise ValueError(
            f"estimator={estimator!r} has neither a parameter C nor alpha for the strength of its "
            "penalty. Pass an L1 classifier that has one."
        )
    strength = (
        {"C": 1.0 / (problem.strength * mass)} if "C" in known else {"alpha": problem.strength}
    )
    intercept = {"fit_intercept": problem.intercept} if "fit_intercept" in known else {}
    model = clone(estimator).set_params(**strength, **intercept)
    even = np.ptp(problem.row_weights) == 0.0 and np.isclose(mass, len(problem.row_weights))
    model.fit(
        matrix,
        problem.signs.astype(int),
        **({} if even else {"sample_weight": problem.row_weights * mass}),
    )
    weights = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_)
    if weights.size != matrix.shape[1]:
        raise ValueError(
            f"estimator={estimator!r} has coef_ of shape {weights.shape} for two classes and "
            f"{matrix.shape[1]} columns; a linear model has one row."
        )
    weights, bias = np.ravel(weights).astype(float), float(np.ravel(model.intercept_)[0])
    scores = matrix @ weights + bias
    return Fit(weights, bias, scores, settled_duals(problem, scores), 1, True)


def _narrow(matrix):
    """Sparse data with 32-bit indices where that is enough: most solvers take no others."""
    if not sp.issparse(matrix) or max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max:
        return matrix
    return sp.csr_matrix(
        (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)),
        shape=matrix.shape,
    )
