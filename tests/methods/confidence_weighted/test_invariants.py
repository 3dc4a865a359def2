"""Properties of the family for all data: optimal steps, closed forms, equalities between members,
finite numbers.
"""

import math

import numpy as np
import pytest
import tiny
from methods.confidence_weighted import reference
from scipy.optimize import minimize
from sklearn.linear_model import SGDClassifier
from tiny import one_pass, quiet

import tamis
from tamis import AROWClassifier, CWClassifier, NAROWClassifier, PAClassifier, SecondOrderPerceptron
from tamis.terms import AROWGain, CWGain, PAGain, SCWGain, SOPGain

N = 80
X = tiny.matrix(N, 6, seed=3)
Y = tiny.signs(X, seed=3)
DIAGONAL = [
    ("SecondOrderPerceptron", {}),
    ("AROWClassifier", {}),
    ("NAROWClassifier", {"b": 3.0}),
    ("CWClassifier", {}),
    ("CWClassifier", {"form": "std"}),
    ("SCWClassifier", {}),
    ("SCWClassifier", {"variant": "II"}),
]
PHI = reference.phi_of(0.8)


# --------------------------------------------------------------------------- steps are optimal
def draw(seed):
    """A distribution over three weights and a row of side 1."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(3, 3))
    return random.normal(size=3), root @ root.T + 0.1 * np.eye(3), random.normal(size=3)


def divergence(mean, sigma, old, before):
    """KL divergence of two normal distributions."""
    apart, inverse = old - mean, np.linalg.inv(before)
    return 0.5 * (
        np.trace(inverse @ sigma)
        - len(mean)
        + apart @ inverse @ apart
        + np.log(np.linalg.det(before) / np.linalg.det(sigma))
    )


LOSSES = {
    AROWGain(0.7): lambda m, v: (max(0.0, 1.0 - m) ** 2 + v) / (2 * 0.7),
    SCWGain(PHI, 0.6, 1.0): lambda m, v: 0.6 * max(0.0, PHI * math.sqrt(v) - m),
    SCWGain(PHI, 0.6, 2.0): lambda m, v: 0.6 * max(0.0, PHI * math.sqrt(v) - m) ** 2,
}


@pytest.mark.parametrize("gain", LOSSES, ids=repr)
def test_steps_minimise_divergence_plus_loss(gain):
    learnt = 0
    for seed in range(60):
        mean, sigma, x = draw(seed)
        v = x @ sigma @ x
        a, g = gain.confidence_update(mean @ x, v, 1.0)
        if a == 0.0 and g == 0.0:
            continue
        learnt += 1

        def objective(numbers, mean=mean, sigma=sigma, x=x, v=v):
            a, g = numbers
            after = mean + a * sigma @ x
            narrower = sigma - g / (1 + g * v) * np.outer(sigma @ x, sigma @ x)
            return divergence(after, narrower, mean, sigma) + LOSSES[gain](
                after @ x, x @ narrower @ x
            )

        found = objective((a, g))
        search = minimize(
            objective,
            (a, g),
            method="Nelder-Mead",
            bounds=[(None, None), (0, None)],
            options={"xatol": 1e-10, "fatol": 1e-14},
        )
        assert found <= search.fun + 1e-10
        random = np.random.default_rng(seed)
        for _ in range(20):  # nor does any other distribution nearby
            shaken = np.eye(3) + 1e-3 * random.normal(size=(3, 3))
            narrower = sigma - g / (1 + g * v) * np.outer(sigma @ x, sigma @ x)
            narrower, after = (
                shaken @ narrower @ shaken.T,
                mean + a * sigma @ x + 1e-3 * random.normal(size=3),
            )
            assert (
                divergence(after, narrower, mean, sigma) + LOSSES[gain](after @ x, x @ narrower @ x)
                >= found - 1e-12
            )
    assert learnt > 20


@pytest.mark.parametrize("gain", [CWGain(PHI), SCWGain(PHI, math.inf, 1.0)], ids=repr)
def test_confidence_weighted_steps_meet_their_margin_exactly(gain):
    for margin in (-50.0, -1.0, -1e-6, 0.0, 1e-6, 0.3):
        for v in (1e-12, 1e-3, 0.7, 1.0, 30.0, 1e6):
            a, g = gain.confidence_update(margin, v, 1.0)
            after, narrower = margin + a * v, v / (1 + g * v)
            wanted = PHI * (narrower if isinstance(gain, CWGain) else math.sqrt(narrower))
            if a == 0.0:
                assert margin >= PHI * (v if isinstance(gain, CWGain) else math.sqrt(v))
            else:
                assert after == pytest.approx(wanted, rel=1e-9, abs=4e-15 * max(1.0, abs(margin)))


def test_gains_of_rows_without_variance_or_beyond_the_margin_are_nothing():
    for gain in (
        PAGain(),
        PAGain(variant=0.0),
        PAGain(variant=2.0),
        AROWGain(),
        SOPGain(),
        CWGain(),
        SCWGain(),
        SCWGain(variant=2.0),
    ):
        assert gain.confidence_update(0.0, 0.0, 1.0) == (0.0, 0.0)
        assert gain.confidence_update(-5.0, 0.0, 1.0) == (0.0, 0.0)
        assert gain.confidence_update(50.0, 2.0, 1.0) == (0.0, 0.0)
    assert SOPGain().confidence_update(1e-300, 1.0, 1.0) == (0.0, 0.0)
    assert SOPGain().confidence_update(0.0, 1.0, 1.0) == AROWGain().confidence_update(0.0, 1.0, 1.0)


# --------------------------------------------------------------------------- closed forms
def full(cls, **parameters):
    return quiet(one_pass(cls, covariance="full", fit_intercept=False, **parameters).fit, X, Y)


def moved(name, **parameters):
    """Rows that the model learnt from."""
    return reference.run_pass(name, X, Y, np.ones(N), "full", intercept=False, **parameters)[2]


def test_arow_is_ridge_regression_on_its_own_rows(interpreted):
    rows, sides = X[moved("AROWClassifier", r=0.4)], Y[moved("AROWClassifier", r=0.4)]
    by_hand = np.linalg.solve(np.eye(6) + rows.T @ rows / 0.4, rows.T @ sides / 0.4)
    assert full(AROWClassifier, r=0.4).coef_[0] == pytest.approx(by_hand, rel=1e-10, abs=1e-13)


def test_the_second_order_perceptron_in_its_textbook_form(interpreted):
    precision, theta = 1.5 * np.eye(6), np.zeros(6)
    for x, y in zip(X, Y, strict=True):
        if y * (np.linalg.solve(precision, theta) @ x) <= 0 and x.any():
            precision, theta = precision + np.outer(x, x), theta + y * x
    assert full(SecondOrderPerceptron, a=1.5).coef_[0] == pytest.approx(
        np.linalg.solve(precision, theta), rel=1e-10, abs=1e-13
    )


def test_narow_is_its_inverse_precision_times_the_sum_of_its_rows(interpreted):
    rows = moved("NAROWClassifier", b=2.0)
    _, sigma, _ = reference.run_pass(
        "NAROWClassifier", X, Y, np.ones(N), "full", intercept=False, b=2.0
    )
    assert full(NAROWClassifier, b=2.0).coef_[0] == pytest.approx(
        sigma[:-1, :-1] @ (X[rows].T @ Y[rows]), rel=1e-10, abs=1e-13
    )


@pytest.mark.parametrize("variant", ["PA-I", "PA-II"])
def test_passive_aggressive_from_zero_is_a_sweep_of_dual_coordinate_descent(interpreted, variant):
    C, w = 0.3, np.zeros(6)
    top, diagonal = (C, 0.0) if variant == "PA-I" else (np.inf, 1 / (2 * C))
    for x, y in zip(X, Y, strict=True):
        if x.any():
            w = w + np.clip((1 - y * (w @ x)) / (x @ x + diagonal), 0, top) * y * x
    model = quiet(one_pass(PAClassifier, variant=variant, C=C, fit_intercept=False).fit, X, Y)
    assert model.coef_[0] == pytest.approx(w, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("variant", "rate"), [("PA-I", "pa1"), ("PA-II", "pa2")])
def test_passive_aggressive_is_that_of_scikit_learn_to_the_bit(variant, rate):
    ours = quiet(one_pass(PAClassifier, variant=variant, C=0.3, fit_intercept=False).fit, X, Y)
    theirs = SGDClassifier(
        learning_rate=rate,
        penalty=None,
        eta0=0.3,
        fit_intercept=False,
        shuffle=False,
        max_iter=1,
        tol=None,
    ).fit(X, Y)
    assert np.array_equal(ours.coef_, theirs.coef_)


# --------------------------------------------------------------------------- covariances
@pytest.mark.parametrize(("name", "parameters"), DIAGONAL, ids=repr)
def test_full_is_diagonal_on_rows_of_one_column(interpreted, name, parameters):
    random = np.random.default_rng(0)
    rows = np.eye(5)[random.integers(0, 5, N)] * random.normal(size=(N, 1))
    models = [
        quiet(
            one_pass(getattr(tamis, name), covariance=kind, fit_intercept=False, **parameters).fit,
            rows,
            Y,
        )
        for kind in ("diagonal", "full")
    ]
    assert models[1].coef_ == pytest.approx(models[0].coef_, rel=1e-10, abs=1e-13)
    assert models[1].variance_ == pytest.approx(models[0].variance_, rel=1e-10)


def test_the_square_root_stays_positive_definite():
    """CW by deviation on noisy rows, columns of scales 1 to 1e-3, narrows some directions by many
    orders of magnitude.
    """
    random = np.random.default_rng(0)
    scales = np.geomspace(1.0, 1e-3, 60)
    rows = random.normal(size=(20_000, 60)) * scales
    scores = rows @ (random.normal(size=60) / scales)
    sides = np.where(scores + 0.01 * scores.std() * random.normal(size=20_000) > 0, 1, -1)
    model = quiet(
        one_pass(
            CWClassifier, form="std", confidence=0.95, covariance="full", fit_intercept=False
        ).fit,
        rows,
        sides,
    )
    root = model._solver_state.state[0, :-1]
    assert np.isfinite(root).all()
    assert np.linalg.eigvalsh(root @ root.T).min() > -1e-20
    assert np.linalg.eigvalsh(root @ root.T)[0] < 1e-10
    assert (model.predict_margin(rows)[1] > 0).all()
    assert model.score(rows, sides) > 0.98


@pytest.mark.parametrize("form", ["variance", "std"])
def test_contradicting_rows_do_not_end_in_nan(form):
    """Random labels on rows of one column narrow the variances without end; they stay positive, and
    the model finite.
    """
    random = np.random.default_rng(0)
    rows, sides = np.eye(4)[random.integers(0, 4, 20_000)] * 1e-3, random.choice([-1, 1], 20_000)
    model = quiet(one_pass(CWClassifier, form=form, confidence=0.95, max_iter=3).fit, rows, sides)
    assert np.isfinite(model.coef_).all()
    assert (model.variance_ > 0).all()
    assert np.isfinite(model.predict_confidence(rows)).all()
