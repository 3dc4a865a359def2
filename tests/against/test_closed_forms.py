"""Against hand-worked cases and short references: RDA, FTRL, truncated gradient, and what large
penalties do.
"""

import math
import warnings

import numpy as np
import pytest

from tamis import (
    FOBOSClassifier,
    FTRLClassifier,
    OnlineRegressor,
    RDAClassifier,
    RDARegressor,
    TruncatedGradientClassifier,
    TruncatedGradientRegressor,
)
from tamis.terms import FTRL, L1, Constant, DualAveraging, InverseSqrt

pytestmark = pytest.mark.usefixtures("interpreted")
ONCE = {"shuffle": False, "max_iter": 1, "tol": None, "fit_intercept": False}
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.6)
Y = (X @ rng.normal(size=6) > 0).astype(int)


def soft(v, a):
    return np.sign(v) * np.maximum(np.abs(v) - a, 0.0)


# --------------------------------------------------------------------------- RDA by hand
def test_rda_after_one_step_and_after_two():
    """Xiao 2010, equation 24: w = -(sqrt(t) / gamma) T(G / t, lambda + gamma rho / sqrt(t))."""
    rows, y = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([1.0, 2.0])
    alpha, gamma, rho = 0.3, 2.0, 0.05
    model = RDARegressor(alpha=alpha, eta=1.0 / gamma, fading_threshold=rho, **ONCE)
    # Step 1: w = 0, slope 0 - 1, gradient -(1, -2).
    model.partial_fit(rows[:1], y[:1])
    first = -(1.0 / gamma) * soft(np.array([-1.0, 2.0]), alpha + gamma * rho)
    assert model.coef_ == pytest.approx(first, rel=1e-14)
    assert first == pytest.approx([0.3, -0.8])
    # Step 2: score 0.3 * 0.5 - 0.8 * 3 = -2.25, slope -4.25, gradient (-2.125, -12.75), sum
    # (-3.125, -10.75).
    model.partial_fit(rows[1:], y[1:])
    assert model.coef_ == pytest.approx(
        -(math.sqrt(2) / gamma)
        * soft(np.array([-1.5625, -5.375]), alpha + gamma * rho / math.sqrt(2)),
        rel=1e-14,
    )


def test_published_rda_constants_empty_the_model_on_unit_rows():
    """gamma = 5000, rho = 0.005 on rows of norm 1: the model stays empty, and warns."""
    rows = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    with pytest.warns(UserWarning, match="kept no feature"):
        model = RDAClassifier(alpha=0.01, eta=1 / 5000, fading_threshold=0.005, **ONCE).fit(rows, Y)
    assert not model.coef_.any()
    assert RDAClassifier(**ONCE).fit(rows, Y).coef_.any()


@pytest.mark.parametrize("rho", [0.0, 0.02])
def test_the_composed_model_makes_rda(rho):
    composed = OnlineRegressor(
        optimizer=DualAveraging(rho), penalty=L1(0.05), learning_rate=InverseSqrt(0.25, 1.0), **ONCE
    ).fit(X, X[:, 0])
    recipe = RDARegressor(alpha=0.05, eta=0.25, fading_threshold=rho, **ONCE).fit(X, X[:, 0])
    assert np.array_equal(composed.coef_, recipe.coef_)


# --------------------------------------------------------------------------- FTRL
def test_ftrl_is_mcmahans_algorithm():
    """McMahan et al.

    2013, algorithm 1, ten lines; its lambdas are totals, ours are charged once a step.
    """
    eta, beta, l1, l2 = 0.3, 0.7, 0.02, 0.01
    z, n, w = np.zeros(6), np.zeros(6), np.zeros(6)
    for t, (x, y) in enumerate(zip(X, 2 * Y - 1, strict=True), 1):
        g = -y / (1 + math.exp(y * (w @ x))) * x
        sigma = (np.sqrt(n + g * g) - np.sqrt(n)) / eta
        z += g - sigma * w
        n += g * g
        w = -soft(z, t * l1) / ((beta + np.sqrt(n)) / eta + t * l2)
    given = {"alpha": l1 + l2, "l1_ratio": l1 / (l1 + l2), "eta": eta, "beta": beta}
    assert FTRLClassifier(**given, **ONCE).fit(X, Y).coef_[0] == pytest.approx(
        w, rel=1e-11, abs=1e-13
    )
    assert np.count_nonzero(w) > 0


@pytest.mark.parametrize("rule", [FTRL(), "adagrad"], ids=repr)
@pytest.mark.parametrize("margin", [-50.0, -200.0, -370.0, -500.0, -700.0])
def test_first_steps_of_adaptive_rates_are_at_most_eta(rule, margin):
    """A feature first met in a row that is far on the right side: its gradient is tiny, and so its
    square may underflow.
    """
    from tamis import OnlineClassifier

    model = OnlineClassifier(
        penalty=None, optimizer=rule, learning_rate=Constant(0.1), fit_intercept=False
    )
    for _ in range(20):
        model.partial_fit([[-1.0, 0.0], [1.0, 0.0]], [0, 1], classes=[0, 1])
    model.partial_fit([[margin / model.coef_[0, 0], 1.0]], [0])
    assert np.abs(model.coef_[0, 1]) <= 0.1 + 1e-12


# --------------------------------------------------------------------------- truncated gradient
def test_truncated_gradient_by_hand():
    """Every second step all weights of at most theta move 2 * gravity towards 0."""
    rows, y = (
        np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0], [1.0, 1.0, 0.0]]),
        np.array([1.0, 1.0, 1.0]),
    )
    given = {"gravity": 0.04, "burst": 2, "learning_rate": "constant", "eta": 0.5}
    plain = TruncatedGradientRegressor(**given, **ONCE)
    assert plain.partial_fit(rows[:1], y[:1]).coef_ == pytest.approx([0.5, 0.0, 0.25])
    assert plain.partial_fit(rows[1:2], y[1:2]).coef_ == pytest.approx([0.42, 0.92, 0.17])
    spared = TruncatedGradientRegressor(theta=0.6, **given, **ONCE).fit(rows[:2], y[:2])
    assert spared.coef_ == pytest.approx([0.42, 1.0, 0.17])


def test_gravity_is_in_units_of_the_weights():
    """No factor eta (methods/online.md, section 2.2): another step size, the same charge."""
    for eta in (0.5, 0.25):
        model = TruncatedGradientRegressor(
            gravity=0.04, burst=1, learning_rate="constant", eta=eta, **ONCE
        ).fit([[1.0]], [1.0])
        assert model.coef_ == pytest.approx([eta - 0.04])


# --------------------------------------------------------------------------- large penalties
@pytest.mark.parametrize(
    "cls", [FOBOSClassifier, RDAClassifier, FTRLClassifier, TruncatedGradientClassifier]
)
def test_growing_penalties_empty_the_model(cls):
    """Strengths from none to huge: the number of features falls to 0, and every zero is an exact
    one.
    """
    name = "gravity" if cls is TruncatedGradientClassifier else "alpha"
    counts = []
    for strength in (0.0, 0.01, 0.1, 1.0, 100.0):
        given = {name: strength, "eta": 0.1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counts.append(len(cls(**given, **ONCE).fit(X, Y).support_))
    assert counts[0] == 6
    assert counts[-1] == 0
    assert counts == sorted(counts, reverse=True)


def test_ridge_shrinks_and_empties_nothing():
    norms = []
    for alpha in (0.0, 0.1, 1.0, 10.0):
        model = OnlineRegressor(
            penalty="l2", alpha=alpha, learning_rate="constant", eta=0.05, **ONCE
        ).fit(X, X[:, 0])
        norms.append(np.linalg.norm(model.coef_))
        assert len(model.support_) == 6
    assert norms == sorted(norms, reverse=True)
