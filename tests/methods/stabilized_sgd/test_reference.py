"""The compiled algorithm against the reference in plain Python."""

import math

import numpy as np
import pytest
import tiny
from methods.stabilized_sgd.reference import Reference, permutation, poisson
from tiny import quiet

from tamis import StabilizedSGDClassifier, StabilizedSGDRegressor

pytestmark = pytest.mark.quick

N, P = 60, 12
X = tiny.matrix(N, P)
Y = tiny.signs(X)
ROWS = [{j: float(v) for j, v in enumerate(row) if v != 0.0} for row in X]
GRADIENTS = {
    "hinge": lambda f, y: -y if f * y < 1.0 else 0.0,
    "logistic": lambda f, y: -y / (1.0 + math.exp(f * y)),
    "squared_error": lambda f, y: f - y,
}
SETTINGS = [
    {},
    {"loss": "hinge", "rejection": 0.9, "purge": 0.5},
    {"annealing": -3.0, "min_votes": 40, "burst": 3, "bursts_per_stage": 2},
    {"annealing": 2.0, "n_paths": 1, "purge": 0.3},
    {"adaptive_burst": 0.3, "burst": 2, "bursts_per_stage": 3, "purge": 0.6},
    {"gravity": 0.02, "burn_in": 0.0, "purge": 0.8, "fit_intercept": True},
    {"burn_in": 0.0, "max_iter": 7, "loss": "hinge", "eta": 0.05},
]


def reference(model, rows, targets, gradient, n_pass):
    """Return the reference with the parameters of a model."""
    adaptive = model.gravity == "adaptive"
    burn_in_stages = round(model.burn_in * n_pass / (model.burst * model.bursts_per_stage))
    names = {
        "burst": model.burst,
        "bursts_per_stage": model.bursts_per_stage,
        "rejection": model.rejection,
        "annealing": model.annealing,
    }
    names |= {
        "purge": model.purge,
        "burn_in_stages": max(1, burn_in_stages) if adaptive else burn_in_stages,
        "eta": model.eta,
        "min_votes": model.min_votes,
        "alpha": model.adaptive_burst,
    }
    return Reference(
        rows,
        targets,
        gradient,
        **names,
        gravity=None if adaptive else model.gravity,
        intercept=model.fit_intercept,
    )


def assert_agrees(model, expected):
    paths = np.array([expected.weights(m, P) for m in range(model.n_paths)])
    assert model.paths_[:, 0] == pytest.approx(paths, rel=1e-12, abs=1e-14)
    assert model.coef_.ravel() == pytest.approx(paths.mean(axis=0), rel=1e-12, abs=1e-14)
    assert model.intercept_[0] == pytest.approx(np.mean(expected.b), rel=1e-12, abs=1e-14)
    assert [(h["stage"], h["kept"]) for h in model.history_] == [h[:2] for h in expected.history]
    assert [h["gravity"] for h in model.history_] == pytest.approx(
        [h[2] for h in expected.history], rel=1e-9
    )
    assert np.array_equal(
        np.flatnonzero(model.selection_probability_.ravel()), sorted(expected.present_features)
    )


@pytest.mark.parametrize("params", SETTINGS, ids=repr)
def test_fit(params):
    model = StabilizedSGDClassifier(
        **{
            "n_paths": 3,
            "eta": 0.3,
            "fit_intercept": False,
            "max_iter": 4,
            "tol": None,
            "random_state": 0,
            **params,
        }
    )
    quiet(model.fit, X, Y)
    seed = model._solver_state.seed
    row_orders = [
        [
            (i, 1.0)
            for pass_number in range(model.max_iter)
            for i in permutation(N, seed, m, pass_number * N)
        ]
        for m in range(model.n_paths)
    ]
    expected = reference(model, ROWS, Y, GRADIENTS[model.loss], N).run(
        row_orders, known_features={j for row in ROWS for j in row}
    )
    assert_agrees(model, expected)
    assert model.t_ == N * model.max_iter


@pytest.mark.parametrize("params", SETTINGS, ids=repr)
def test_stream(params):
    model = StabilizedSGDClassifier(
        **{
            "n_paths": 3,
            "eta": 0.3,
            "fit_intercept": False,
            "random_state": 0,
            "burn_in": 0.03,
            **params,
        }
    )
    rows, y, row_weights = (
        np.vstack([X, X]),
        np.r_[Y, Y],
        np.r_[tiny.weights(N), tiny.weights(N, seed=9)],
    )
    quiet(model.partial_fit, rows, y, classes=[-1, 1], sample_weight=row_weights)
    positive = np.flatnonzero(row_weights)
    draw = poisson if model.n_paths > 1 else lambda *_: 1.0
    row_orders = [
        [
            (i % N, row_weights[i] * draw(model._solver_state.seed, m, t))
            for t, i in enumerate(positive)
        ]
        for m in range(model.n_paths)
    ]
    expected = reference(model, ROWS, Y, GRADIENTS[model.loss], 1000).run(row_orders)
    assert_agrees(model, expected)


def test_fit_of_a_regressor_with_row_weights():
    y, row_weights = tiny.numbers(X), tiny.weights(N)
    model = StabilizedSGDRegressor(n_paths=2, eta=0.02, max_iter=5, tol=None, random_state=0)
    quiet(model.fit, X, y, sample_weight=row_weights)
    positive = np.flatnonzero(row_weights)
    orders = [
        [
            positive[i]
            for pass_number in range(5)
            for i in permutation(
                len(positive), model._solver_state.seed, m, pass_number * len(positive)
            )
        ]
        for m in range(2)
    ]
    expected = reference(model, ROWS, y, GRADIENTS["squared_error"], len(positive))
    assert_agrees(
        model,
        expected.run(
            [[(i, row_weights[i]) for i in order] for order in orders],
            known_features={j for i in positive for j in ROWS[i]},
        ),
    )


def test_poisson_weights_have_mean_and_variance_1():
    draws = np.array([poisson(7, m, t) for m in range(4) for t in range(2000)])
    assert draws.mean() == pytest.approx(1.0, abs=0.05)
    assert draws.var() == pytest.approx(1.0, abs=0.1)
