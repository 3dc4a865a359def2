"""Rank one: the primal equals the dual in all degenerate cases, and agrees with a cone program."""

import math

import numpy as np
import pytest
from methods.low_rank_lasso.cone import solve_cone

from tamis import RankOneLasso, load, save
from tamis.methods.low_rank_lasso.rank_one_solver import max_alpha, solve_rank_one

pytestmark = pytest.mark.delicate


def value(p, q, y, eps, alpha, b):
    return np.linalg.norm(q * (p @ b) - y) + eps * np.linalg.norm(b) + alpha * np.abs(b).sum()


def cases():
    random = np.random.default_rng(0)
    for k in range(300):
        n, d = random.integers(1, 8), random.integers(1, 8)
        p, q, y = random.normal(size=d), random.normal(size=n), random.normal(size=n)
        if k % 7 == 0:
            y = q * random.normal()  # parallel
        if k % 11 == 0 and n > 1:
            y = y - q * (q @ y) / (q @ q)  # orthogonal
        if k % 5 == 0:
            p = np.round(p)  # ties and zeros
        if k % 97 == 0:
            p, q, y = [(p * 0, q, y), (p, q * 0, y), (p, q, y * 0)][k // 97 % 3]
        yield (
            p,
            q,
            y,
            float(random.choice([0.0, 0.01, 0.3, 3.0])),
            float(random.choice([0.0, 0.01, 0.3, 3.0])),
        )


def test_invariants_in_300_problems():
    for p, q, y, eps, alpha in cases():
        solution = solve_rank_one(p, q, y, eps, alpha)
        size = np.linalg.norm(y)
        assert solution.value == pytest.approx(
            value(p, q, y, eps, alpha, solution.weights), abs=1e-12 * (1 + size)
        )
        assert abs(solution.value - solution.dual) <= 1e-12 * max(size, 1e-300)
        assert solution.value <= size * (1.0 + 1e-12)
        cosine = q @ y
        if abs(cosine) > 1e-14 * np.linalg.norm(q) * size:
            assert (solution.weights * p * cosine >= 0.0).all()
        if eps > 0.0 and solution.weights.any():
            assert np.array_equal(
                solution.weights != 0.0,
                solution.mu * np.abs(p) * np.linalg.norm(q) > alpha * (1.0 + 1e-12),
            )
        doubled = solve_rank_one(p, q, 2.0 * y, eps, alpha)
        assert doubled.value == pytest.approx(2.0 * solution.value, rel=1e-9, abs=1e-12)
        assert doubled.weights == pytest.approx(2.0 * solution.weights, rel=1e-9, abs=1e-12)


def test_agrees_with_a_cone_program():
    for k, (p, q, y, eps, alpha) in enumerate(cases()):
        if k % 10 or not p.any() or not q.any() or not y.any():
            continue
        best, _ = solve_cone(np.outer(q, p), y, eps, None, alpha)
        solution = solve_rank_one(p, q, y, eps, alpha)
        assert solution.value <= best + 1e-7 * np.linalg.norm(y)
        assert best <= solution.value + 1e-6 * np.linalg.norm(y)


def test_zero_exactly_where_the_criterion_says_so():
    p, q, y = np.array([3.0, 4.0]), np.array([1.0, 1.0]), np.array([1.0, 0.0])
    # unit vectors: cosine 1/sqrt 2, p/|p| = (0.6, 0.8), penalties over 5 sqrt 2
    top = 0.8 * math.sqrt(0.5) * 5.0 * math.sqrt(2.0)
    assert not solve_rank_one(p, q, y, 0.0, top * 1.0001).weights.any()
    assert solve_rank_one(p, q, y, 0.0, top * 0.9999).weights.any()
    for eps in (0.0, 0.5, 3.0):
        limit = max_alpha(p, q, y, eps)
        assert not solve_rank_one(p, q, y, eps, limit * 1.0001).weights.any()
        assert solve_rank_one(p, q, y, eps, limit * 0.9999).weights.any()
    assert max_alpha(p, q, y, 0.0) == pytest.approx(top)
    assert max_alpha(p, q, y, 6.0) == 0.0
    assert not solve_rank_one(p, q, y, 5.0 * 1.0001, 0.0).weights.any()
    assert solve_rank_one(p, q, y, 5.0 * 0.9999, 0.0).weights.any()


def test_the_first_of_tied_columns_has_the_weight():
    solution = solve_rank_one(np.array([1.0, -2.0, 2.0]), np.ones(3), np.ones(3), 0.0, 0.1)
    assert np.flatnonzero(solution.weights).tolist() == [1]
    assert solution.weights[1] < 0.0
    shortest = solve_rank_one(np.array([3.0, 4.0]), np.ones(2), np.ones(2), 0.0, 0.0)
    assert shortest.weights == pytest.approx(np.array([3.0, 4.0]) / 25.0)


def test_the_constrained_form_without_robustness():
    """For unit vectors value^2 is 1 - (r |p|_inf |gamma| + (c + gamma / 2)^2), with a weight for
    one column.
    """
    random = np.random.default_rng(3)
    for _ in range(20):
        p, q, y = (
            v / np.linalg.norm(v)
            for v in (random.normal(size=5), random.normal(size=4), random.normal(size=4))
        )
        c = q @ y
        top = np.abs(p).max()
        radius = float(random.uniform(0.1, 0.9) * abs(c) / top)
        gamma = -2.0 * np.sign(c) * max(0.0, abs(c) - radius * top)
        expected = 1.0 - (radius * top * abs(gamma) + (c + gamma / 2.0) ** 2)
        best, _ = solve_cone(np.outer(q, p), y, 0.0, radius)
        assert best**2 == pytest.approx(expected, abs=1e-7)


# --------------------------------------------------------------------------- the model
def rows(seed=0):
    random = np.random.default_rng(seed)
    X = (
        np.outer(random.normal(size=120), [3.0, -2.0, 1.0, 0.0, 0.2])
        + 0.1 * random.normal(size=(120, 5))
        + 1.0
    )
    return X, X[:, 0] + 0.1 * random.normal(size=120)


def test_the_model_solves_its_problem(tmp_path):
    X, y = rows()
    model = RankOneLasso(alpha=2.0, robustness=0.5, random_state=0).fit(X, y)
    p, q = model.factorization_.W_[:, 0], model.factorization_.U_[:, 0] * model.factorization_.S_[0]
    best, _ = solve_cone(np.outer(q, p), y - y.mean(), model.perturbation_, None, 2.0)
    assert model.value_[0] == pytest.approx(best, rel=1e-7)
    assert model.dual_[0] == pytest.approx(model.value_[0], rel=1e-12)
    assert model.predict(X) == pytest.approx(X @ model.coef_ + model.intercept_[0])
    assert model.score(X, y) > 0.8
    save(model, tmp_path / "one.tamis")
    assert np.array_equal(load(tmp_path / "one.tamis").predict(X), model.predict(X))


def test_the_path_starts_at_zero_and_columns_enter_by_loading():
    X, y = rows()
    model = RankOneLasso(robustness=0.3, random_state=0)
    alphas, weights, values = model.path(X, y)
    assert not weights[0].any()
    assert (np.diff(alphas) < 0.0).all()
    assert (np.diff(values) <= 1e-9).all()
    first_nonzero = [
        int(np.flatnonzero(weights[:, j])[0]) if weights[:, j].any() else 10**6 for j in range(5)
    ]
    loading = np.abs(model.fit(X, y).factorization_.W_[:, 0])
    assert (
        np.argsort(first_nonzero, kind="stable")[:2].tolist() == np.argsort(-loading)[:2].tolist()
    )
    with pytest.raises(ValueError, match="path takes one target, but y has 2"):
        model.path(X, np.column_stack([y, y]))


def test_several_targets_are_separate():
    X, y = rows()
    both = RankOneLasso(random_state=0).fit(X, np.column_stack([y, -2.0 * y]))
    one = RankOneLasso(random_state=0).fit(X, y)
    assert both.coef_[0] == pytest.approx(one.coef_)
    assert both.coef_[1] == pytest.approx(-2.0 * one.coef_)
    assert both.predict(X).shape == (120, 2)
