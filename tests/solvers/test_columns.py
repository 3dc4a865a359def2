"""The path solver of single columns, against an independent check of optimality."""

import math
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.numerics.numba import term
from tamis.solvers.path.column_solver import ColumnProblem, MultinomialProblem, solve_path
from tamis.solvers.path.columns import ColumnTable
from tamis.solvers.path.losses import BoundMultinomialLoss, BoundRowLoss
from tamis.terms import L1, ElasticNet
from tamis.terms.losses import LOSSES


def violation(X, y, w, b, gradient, alpha, weights, low, high, l2, row_weights, offset):
    """Largest distance from the optimality conditions of a penalty alpha a_j (|w_j| + l2/2 w_j^2)
    with bounds, and of the intercept.
    """
    slopes = row_weights * gradient(X @ w + b + offset, y)
    worst = abs(slopes.sum())
    for j, g in enumerate(X.T @ slopes):
        g += alpha * weights[j] * l2 * w[j]
        strength = alpha * weights[j]
        lowest, highest = (
            (g - strength, g + strength) if w[j] == 0.0 else 2 * (g + strength * np.sign(w[j]),)
        )
        if w[j] >= high[j]:
            highest = np.inf
        if w[j] <= low[j]:
            lowest = -np.inf
        worst = max(worst, lowest, -highest)
    return worst


GRADIENTS = {
    "squared_error": lambda f, y: f - y,
    "logistic": lambda f, y: -y / (1.0 + np.exp(y * f)),
    "poisson": lambda f, y: np.exp(f) - y,
}


def rows(loss, n, p, seed, sparse):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    if sparse:
        X *= rng.random((n, p)) < 0.3
    scores = X[:, :5] @ rng.normal(size=5) + 0.3 * rng.normal(size=n)
    scores = (scores - scores.mean()) / max(scores.std(), 1e-9)
    y = {
        "squared_error": scores,
        "logistic": np.where(scores > 0, 1.0, -1.0),
        "poisson": rng.poisson(np.exp(scores)).astype(float),
    }[loss]
    return X, y, rng


@pytest.mark.parametrize("shape", [(150, 30), (60, 200)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "kind", ["plain", "elastic", "weights", "signs", "box", "rows", "positive"]
)
@pytest.mark.parametrize("loss", list(GRADIENTS))
def test_solutions_meet_the_optimality_conditions(loss, kind, sparse, shape):
    n, p = shape
    X, y, rng = rows(loss, n, p, 3, sparse)
    weights, low, high = np.ones(p), np.full(p, -np.inf), np.full(p, np.inf)
    row_weights, offset, l2 = np.full(n, 1.0 / n), np.zeros(n), 0.0
    if kind == "elastic":
        l2 = 0.5
    if kind == "weights":
        weights = rng.uniform(0.5, 2.0, p)
        weights[[3, 7]] = 0.0
    if kind == "signs":
        signs = rng.integers(-1, 2, p)
        low[signs > 0], high[signs < 0] = 0.0, 0.0
    if kind == "box":
        low[:], high[:] = -0.05, 0.1
    if kind == "rows":
        row_weights = rng.uniform(0.2, 2.0, n)
        row_weights /= row_weights.sum()
        offset = 0.5 * rng.normal(size=n)
    if kind == "positive":  # said by the penalty, not by bounds
        low[:] = 0.0
    penalty = ElasticNet(1.0, l2) if l2 else L1(1.0, float(kind == "positive"))
    table = ColumnTable(
        sp.csc_array(X) if sparse else np.asfortranarray(X), row_weights, True, False
    )
    bound = BoundRowLoss(LOSSES[loss], y[:, None], row_weights, offset if kind == "rows" else None)
    problem = ColumnProblem(
        table,
        bound,
        penalty,
        column_weights=weights,
        bounds=None if kind == "positive" else np.array([low, high]),
        tol=1e-9,
    )
    largest = problem.largest_alpha()
    assert largest > 0
    for solution in solve_path(problem, largest * np.geomspace(1.0, 0.05, 8)):
        w = np.zeros(p)
        coef, shift = table.to_original_units(solution.indices, solution.weights)
        w[solution.indices] = coef
        got = violation(
            X,
            y,
            w,
            solution.intercept + shift,
            GRADIENTS[loss],
            solution.alpha,
            weights,
            low,
            high,
            l2,
            row_weights,
            offset,
        )
        assert solution.is_solved
        assert (low <= w).all()
        assert (w <= high).all()
        assert got < 1e-4 * largest, (solution.alpha, got / largest)
    assert (w != 0).sum() > 2


@pytest.mark.parametrize("kind", ["plain", "elastic", "box"])
@pytest.mark.parametrize("loss", ["squared_error", "logistic"])
def test_no_objective_is_further_from_the_least_than_its_gap(loss, kind):
    X, y, _ = rows(loss, 100, 60, 5, False)
    weights = np.full(100, 0.01)
    table = ColumnTable(np.asfortranarray(X), weights, True, True)
    bound = BoundRowLoss(LOSSES[loss], y[:, None], weights)
    penalty = ElasticNet(1.0, 0.5) if kind == "elastic" else L1(1.0)
    bounds = np.repeat([[-0.05], [0.1]], 60, axis=1) if kind == "box" else None
    solutions = []
    for tol in (1e-1, 1e-11):
        problem = ColumnProblem(table, bound, penalty, bounds=bounds, tol=tol)
        solutions.append(problem.solve(0.1 * problem.largest_alpha()))
    loose, tight = solutions
    excess = loose.objective - tight.objective
    assert -1e-13 < excess <= loose.gap + 1e-13
    assert tight.gap < 1e-9


@term
class ConcaveL1(NamedTuple):
    """Minimax concave penalty of one weight."""

    gamma: float = 3.0

    def value(self, w):
        size = min(abs(w), self.gamma)
        return size - 0.5 * size * size / self.gamma

    def prox(self, v, step):
        shrunk = max(abs(v) - step, 0.0) / (1.0 - step / self.gamma)
        return math.copysign(shrunk, v) if abs(v) <= self.gamma else v

    def subdiff_distance(self, w, gradient):
        if w == 0.0:
            return max(abs(gradient) - 1.0, 0.0)
        slope = max(1.0 - abs(w) / self.gamma, 0.0)
        return abs(gradient + math.copysign(slope, w))

    def largest_step(self):
        return 0.5 * self.gamma


def test_a_penalty_that_is_not_convex_ends_by_the_optimality_conditions():
    X, y, _ = rows("squared_error", 150, 30, 3, False)
    weights = np.full(150, 1.0 / 150)
    table = ColumnTable(np.asfortranarray(X), weights, True, True)
    penalty = ConcaveL1()
    problem = ColumnProblem(
        table, BoundRowLoss(LOSSES["squared_error"], y[:, None], weights), penalty, tol=1e-10
    )
    alpha = 0.2 * problem.largest_alpha()
    solution = problem.solve(alpha)
    assert np.isnan(solution.gap)
    assert solution.is_solved
    coef, shift = table.to_original_units(solution.indices, solution.weights)
    residuals = X[:, solution.indices] @ coef + solution.intercept + shift - y
    w = np.zeros(30)
    w[solution.indices] = solution.weights
    gradients = table.gradients(weights * residuals) / alpha
    distances = [penalty.subdiff_distance(v, g) for v, g in zip(w, gradients, strict=True)]
    assert max(distances) < 1e-4
    assert 0 < (w != 0.0).sum() < 30


def test_classes_share_one_multinomial_loss():
    """The certificate of all classes, and the gradients of each from the probabilities."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30)) + 1.0
    y = np.argmax(X[:, :4] + rng.gumbel(size=(200, 4)), axis=1)
    weights = np.full(200, 1.0 / 200)
    for rows in (np.asfortranarray(X), sp.csc_array(X * (rng.random(X.shape) < 0.4))):
        table = ColumnTable(rows, weights, True, True)
        problem = MultinomialProblem(table, BoundMultinomialLoss(y, 4, weights), L1(1.0), tol=1e-9)
        alpha = 0.1 * problem.largest_alpha()
        solutions = problem.solve(alpha)
        assert all(solution.is_solved for solution in solutions)
        coef, intercept = np.zeros((30, 4)), np.zeros(4)
        for k, solution in enumerate(solutions):
            coef[solution.indices, k], shift = table.to_original_units(
                solution.indices, solution.weights
            )
            intercept[k] = solution.intercept + shift
        scores = rows @ coef + intercept
        probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        raw_gradient = weights[:, None] * (probabilities - np.eye(4)[y])
        gradients = np.column_stack([table.gradients(column) for column in raw_gradient.T])
        assert np.abs(raw_gradient.sum(axis=0)).max() < 1e-4 * alpha
        assert np.abs(gradients).max() < alpha * (1.0 + 1e-4)
        nonzero = coef != 0.0
        assert 4 < nonzero.sum() < 120
        expected = -alpha * np.sign(coef[nonzero])
        np.testing.assert_allclose(gradients[nonzero], expected, atol=1e-4 * alpha)


def test_it_keeps_nothing_at_the_largest_alpha():
    X, y, _ = rows("logistic", 100, 50, 0, False)
    v = np.full(100, 0.01)
    for factor, kept in ((1.0001, False), (0.99, True)):
        problem = ColumnProblem(
            ColumnTable(X, v, True, True), BoundRowLoss(LOSSES["logistic"], y[:, None], v), L1(1.0)
        )
        solution = problem.solve(factor * problem.largest_alpha())
        assert solution.weights.any() == kept
