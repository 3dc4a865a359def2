"""Random problems for the tests of thresholding, and their optimum by a linear program."""

import numpy as np
from scipy.optimize import linprog

from tamis.methods.data_thresholding.bounds import ThresholdProblem
from tamis.methods.data_thresholding.certificate import certify
from tamis.methods.data_thresholding.solver import solve
from tamis.methods.data_thresholding.thresholds import apply_threshold


def random_problem(seed, loss, n=60, d=12):
    """Return heavy-tailed rows with different weights and unbalanced classes, with or without an
    intercept.
    """
    rng = np.random.default_rng(seed)
    X = (
        rng.standard_t(3, size=(n, d))
        * rng.uniform(0.2, 2.0, d)
        * (rng.random((n, d)) < rng.uniform(0.3, 1.0))
    )
    signs = np.where(X[:, 0] - X[:, 1] + rng.normal(size=n) + rng.normal() > 0, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    row_weights = rng.uniform(0.2, 1.0, n)
    strength = float(10 ** rng.uniform(-2.5, -0.8))
    return X, ThresholdProblem(
        signs, row_weights / row_weights.sum(), loss, strength, bool(seed % 3)
    )


def fit_thresholded(X, problem, threshold, tol=1e-7):
    """Return the thresholded data, the fit on them, and its certificate."""
    thresholded = apply_threshold(X, threshold)
    fit = solve(problem, thresholded.matrix, tol, 300)
    return thresholded, fit, certify(problem, X, thresholded, fit)


def optimum(X, problem):
    """Return the optimum on the original data, and the gap of the solver."""
    _, _, certificate = fit_thresholded(X, problem, 0.0)
    return certificate.primal_original, certificate.gap


def hinge_program(X, problem):
    """Return the optimum of the hinge problem as a linear program in the weights."""
    n, d = X.shape
    costs = np.concatenate((np.full(2 * d, problem.strength), problem.row_weights, [0.0]))
    signed = problem.signs[:, None] * X
    intercept_column = problem.signs[:, None] * float(problem.intercept)
    rows = -np.hstack((signed, -signed, np.eye(n), intercept_column))
    bounds = [(0, None)] * (2 * d + n) + [(None, None)]
    return linprog(costs, A_ub=rows, b_ub=-np.ones(n), bounds=bounds).fun
