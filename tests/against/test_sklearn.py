"""Against scikit-learn: passive-aggressive and plain SGD step by step, optima at small steps."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from spelling import L1

from tamis import FOBOSClassifier, FOBOSRegressor, OnlineClassifier, OnlineRegressor, RDARegressor
from tamis.terms import EpsilonInsensitive, PassiveAggressive

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 9)) * (rng.random((120, 9)) < 0.6)
TRUTH = rng.normal(size=9)
Y = (X @ TRUTH + 0.4 * rng.normal(size=120) > 0.2).astype(int)
REAL = X @ TRUTH + 0.4 * rng.normal(size=120) + 0.7
ONCE = {"shuffle": False, "max_iter": 1, "tol": None}


# --------------------------------------------------------------------------- passive-aggressive
@pytest.mark.parametrize(
    ("form", "intercept"), [(np.asarray, True), (np.asarray, False), (sp.csr_array, False)]
)
@pytest.mark.parametrize(("variant", "rate"), [(1.0, "pa1"), (2.0, "pa2")])
@pytest.mark.parametrize("C", [0.03, 1.0, 50.0])
def test_passive_aggressive_classifiers(interpreted, form, intercept, variant, rate, C):
    """Definitions agree but for one, which is left out: on sparse input scikit-learn moves the
    intercept by 0.01 of the step.
    """
    theirs = SGDClassifier(
        loss="hinge", penalty=None, learning_rate=rate, eta0=C, fit_intercept=intercept, **ONCE
    ).fit(form(X), Y)
    step = PassiveAggressive(C, variant)
    ours = OnlineClassifier(
        loss="hinge", penalty=None, learning_rate=step, fit_intercept=intercept, **ONCE
    ).fit(form(X), Y)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-12, abs=1e-13)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-12, abs=1e-13)
    assert np.abs(theirs.coef_).max() > 0.01


def test_passive_aggressive_by_name_is_the_first_variant(interpreted):
    by_name = OnlineClassifier(
        loss="hinge", penalty=None, learning_rate="pa1", eta=0.3, **ONCE
    ).fit(X, Y)
    theirs = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=0.3, **ONCE).fit(
        X, Y
    )
    assert by_name.coef_ == pytest.approx(theirs.coef_, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(("variant", "rate"), [(1.0, "pa1"), (2.0, "pa2")])
def test_passive_aggressive_regressors(interpreted, variant, rate):
    theirs = SGDRegressor(
        loss="epsilon_insensitive", penalty=None, learning_rate=rate, eta0=0.4, epsilon=0.2, **ONCE
    ).fit(X, REAL)
    ours = OnlineRegressor(
        loss=EpsilonInsensitive(0.2),
        penalty=None,
        learning_rate=PassiveAggressive(0.4, variant),
        **ONCE,
    ).fit(X, REAL)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-12, abs=1e-13)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-12, abs=1e-13)


def test_several_classes_of_passive_aggressive(interpreted):
    """One model against the rest each, with its own step at every row."""
    three = np.arange(120) % 3
    theirs = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=0.5, **ONCE).fit(
        X, three
    )
    ours = OnlineClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta=0.5, **ONCE).fit(
        X, three
    )
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-11, abs=1e-13)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-11, abs=1e-13)


# --------------------------------------------------------------------------- plain SGD
@pytest.mark.parametrize(("loss", "term"), [("hinge", "hinge"), ("log_loss", "logistic")])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_plain_sgd_with_a_constant_step(interpreted, loss, term, form):
    intercept = form is np.asarray
    weights = rng.random(120) + 0.5
    theirs = SGDClassifier(
        loss=loss,
        penalty=None,
        learning_rate="constant",
        eta0=0.07,
        fit_intercept=intercept,
        **ONCE,
    )
    ours = OnlineClassifier(
        loss=term, penalty=None, learning_rate="constant", eta=0.07, fit_intercept=intercept, **ONCE
    )
    theirs.fit(form(X), Y, sample_weight=weights)
    ours.fit(form(X), Y, sample_weight=weights)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-11, abs=1e-13)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize(
    ("loss", "term"),
    [
        ("squared_error", "squared_error"),
        ("huber", "huber"),
        ("epsilon_insensitive", "epsilon_insensitive"),
    ],
)
def test_plain_sgd_regression(interpreted, loss, term):
    epsilon = {"huber": 1.35, "epsilon_insensitive": 0.1}.get(loss, 0.1)
    theirs = SGDRegressor(
        loss=loss, penalty=None, learning_rate="constant", eta0=0.03, epsilon=epsilon, **ONCE
    ).fit(X, REAL)
    ours = OnlineRegressor(loss=term, penalty=None, learning_rate="constant", eta=0.03, **ONCE).fit(
        X, REAL
    )
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-11, abs=1e-13)


def test_averaged_sgd_is_the_mean_of_all_iterates(interpreted):
    """scikit-learn's average=True without penalty: nothing leaves the support, so the two means are
    one.
    """
    theirs = SGDRegressor(
        penalty=None, learning_rate="constant", eta0=0.03, average=True, **ONCE
    ).fit(X, REAL)
    ours = OnlineRegressor(
        penalty=None, learning_rate="constant", eta=0.03, average=True, **ONCE
    ).fit(X, REAL)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-10, abs=1e-12)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-10, abs=1e-12)


# --------------------------------------------------------------------------- optima
def test_small_steps_approach_ridge():
    """Mean squared loss / 2 + alpha |w|^2 / 2: scikit-learn's Ridge with n alpha.

    Steps fall as 1 / t; 2000 passes reach 1e-3.
    """
    alpha = 0.1
    theirs = Ridge(alpha=alpha * 120).fit(X, REAL)
    given = {
        "penalty": "l2",
        "alpha": alpha,
        "learning_rate": "inverse_time",
        "eta": 0.1,
        "random_state": 0,
    }
    ours = OnlineRegressor(**given, max_iter=2000, tol=None).fit(X, REAL)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=2e-3)
    assert ours.intercept_ == pytest.approx([theirs.intercept_], abs=2e-2)


def objective(coef, intercept, alpha, y):
    margins = (2 * y - 1) * (X @ np.ravel(coef) + intercept)
    return np.logaddexp(0.0, -margins).mean() + alpha * np.abs(coef).sum()


def test_fobos_approaches_the_l1_optimum():
    """To 1e-4 of the least objective, as saga finds it; weights that are 0 there are 0 or tiny."""
    alpha = 0.05
    theirs = LogisticRegression(
        **L1, C=1 / (120 * alpha), solver="saga", tol=1e-10, max_iter=20000
    ).fit(X, Y)
    ours = FOBOSClassifier(
        alpha=alpha, learning_rate="inverse_time", eta=0.5, max_iter=12000, tol=None, random_state=0
    ).fit(X, Y)
    least = objective(theirs.coef_, theirs.intercept_, alpha, Y)
    assert least - 1e-9 <= objective(ours.coef_, ours.intercept_, alpha, Y) <= least + 1e-4
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=5e-3)
    assert (theirs.coef_ == 0.0).any()


@pytest.mark.parametrize("cls", [FOBOSRegressor, RDARegressor])
def test_defaults_find_a_planted_model_of_any_scale(cls):
    """Defaults alone, rows scaled by a million up or down: the planted columns come out, most
    others do not.
    """
    local = np.random.default_rng(3)
    rows = local.normal(size=(2000, 60))
    planted = np.zeros(60)
    planted[[3, 17, 40]] = [2.0, -3.0, 1.5]
    y = rows @ planted + 0.1 * local.normal(size=2000)
    for scale in (1e-6, 1.0, 1e6):
        model = cls(random_state=0, alpha="auto", max_iter=20, tol=None).fit(scale * rows, y)
        assert model.score(scale * rows, y) > 0.97
        assert {3, 17, 40} == set(np.argsort(-np.abs(model.coef_))[:3].tolist())
