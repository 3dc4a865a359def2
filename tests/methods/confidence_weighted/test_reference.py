"""Models against the formulas written out, for every member, variant, covariance and kind of
weight; compiled against plain Python.
"""

import numpy as np
import pytest
import tiny
from methods.confidence_weighted import reference
from plain import Interpreter
from registry import CONFIDENT
from sklearn.base import is_classifier
from tiny import one_pass, quiet

import tamis
from tamis import SOFSClassifier
from tamis.numerics import numba as _jit

N = 60
X = tiny.matrix(N, 6)
Y = tiny.signs(X)
MEMBERS = [
    ("PAClassifier", {"variant": "PA"}),
    ("PAClassifier", {"C": 0.3}),
    ("PAClassifier", {"variant": "PA-II", "C": 0.3}),
    ("SecondOrderPerceptron", {"a": 2.0}),
    ("AROWClassifier", {"r": 0.5}),
    ("NAROWClassifier", {"b": 2.0}),
    ("CWClassifier", {}),
    ("CWClassifier", {"form": "std", "confidence": 0.8}),
    ("SCWClassifier", {"C": 0.4}),
    ("SCWClassifier", {"variant": "II", "C": 0.4}),
]


def covariances(name):
    """The forms of the covariance that a model has, as parameters; PA has no such parameter."""
    forms = [{"covariance": "diagonal"}, {"covariance": "full"}]
    return forms if hasattr(getattr(tamis, name)(), "covariance") else [{}]


@pytest.mark.parametrize(
    ("name", "parameters", "covariance"),
    [(name, given, form) for name, given in MEMBERS for form in covariances(name)],
    ids=repr,
)
@pytest.mark.parametrize("intercept", [False, True], ids=["through 0", "intercept"])
@pytest.mark.parametrize("weighed", [False, True], ids=["plain", "weighed"])
def test_one_output(interpreted, name, parameters, covariance, intercept, weighed):
    cls = getattr(tamis, name)
    row_weights = tiny.weights(N) if weighed else np.ones(N)
    if not cls(**parameters)._model().terms[1].weighs():
        row_weights = (row_weights > 0) * 1.0
    given = {"sample_weight": row_weights} if weighed else {}
    model = quiet(
        one_pass(cls, fit_intercept=intercept, **covariance, **parameters).fit,
        X,
        Y,
        **given,
    )
    mean, sigma, moved = reference.run_pass(
        name, X, Y, row_weights, intercept=intercept, **covariance, **parameters
    )
    assert len(moved) > 5
    assert model.coef_[0] == pytest.approx(mean[:-1], rel=1e-9, abs=1e-11)
    assert model.intercept_[0] == pytest.approx(mean[-1] if intercept else 0.0, rel=1e-9, abs=1e-11)
    assert model.variance_[0] == pytest.approx(np.diag(sigma)[:-1], rel=1e-9)
    rows = np.hstack([X, np.full((N, 1), float(intercept))])
    margin, deviation = model.predict_margin(X)
    assert margin == pytest.approx(rows @ mean, rel=1e-9, abs=1e-10)
    assert deviation**2 == pytest.approx(
        np.einsum("ij,jk,ik->i", rows, sigma, rows), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize(
    ("name", "covariance"),
    [(name, form) for name in reference.UPDATES for form in covariances(name)],
    ids=repr,
)
def test_several_classes_are_one_against_the_rest_to_the_bit(interpreted, name, covariance):
    cls, classes = getattr(tamis, name), tiny.classes(N)
    model = quiet(one_pass(cls, **covariance).fit, X, classes)
    labels = quiet(one_pass(cls, **covariance).fit, X, np.eye(3, dtype=int)[classes])
    assert np.array_equal(model.coef_, labels.coef_)
    for c in range(3):
        alone = quiet(one_pass(cls, **covariance).fit, X, classes == c)
        assert np.array_equal(model.coef_[c], alone.coef_[0])
        assert np.array_equal(model.variance_[c], alone.variance_[0])
        assert model.intercept_[c] == alone.intercept_[0]
        assert np.array_equal(model.predict_margin(X)[1][:, c], alone.predict_margin(X)[1])


@pytest.mark.parametrize(("variant", "C"), [("PA", 1.0), ("PA-I", 0.2), ("PA-II", 0.2)])
def test_passive_aggressive_regression(interpreted, variant, C):
    targets = tiny.numbers(X)
    model = quiet(one_pass(tamis.PARegressor, variant=variant, C=C, epsilon=0.2).fit, X, targets)
    rows, w = np.hstack([X, np.ones((N, 1))]), np.zeros(7)
    for x, y in zip(rows, targets, strict=True):
        short, sqnorm = abs(y - w @ x) - 0.2, x @ x
        if short > 0:
            w = w + np.sign(y - w @ x) * reference.pa(1 - short, sqnorm, 1.0, C, variant)[0] * x
    assert np.r_[model.coef_, model.intercept_] == pytest.approx(w, rel=1e-9, abs=1e-12)
    assert model.predict_margin(X)[0] == pytest.approx(model.predict(X))
    two = quiet(
        one_pass(tamis.PARegressor, variant=variant, C=C, epsilon=0.2).fit,
        X,
        np.c_[targets, -targets],
    )
    assert np.array_equal(two.coef_[0], model.coef_)
    assert two.predict_margin(X)[1].shape == (N, 2)


def test_running_losses_are_what_the_margins_lacked(interpreted):
    model = quiet(one_pass(tamis.AROWClassifier).fit, X, Y)
    stream, losses = tamis.AROWClassifier(), [1.0]
    for i in range(N - 1):
        quiet(stream.partial_fit, X[i : i + 1], Y[i : i + 1], classes=[-1, 1])
        losses.append(max(0.0, 1.0 - Y[i + 1] * stream.decision_function(X[i + 1 : i + 2])[0]))
    assert model.history_[0]["loss"] == pytest.approx(np.mean(losses), rel=1e-12)


# --------------------------------------------------------------------------- machine code
@pytest.mark.parametrize("cls", CONFIDENT)
@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_compiled_equals_plain_python(cls, many, covariance, monkeypatch):
    if covariance == "full" and (many or not hasattr(cls(), "covariance")):
        return  # the same loop; or no such form
    y = (
        (tiny.classes(N) if many else Y)
        if is_classifier(cls())
        else tiny.numbers(X, 3 if many else 1)
    )
    given = {"random_state": 1, "max_iter": 2, "tol": None}
    given |= {"n_features_to_select": 2} if cls is SOFSClassifier else {}
    given |= {"covariance": covariance} if hasattr(cls(), "covariance") else {}
    compiled = quiet(cls(**given).fit, X, y, sample_weight=tiny.weights(N))
    with monkeypatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(_jit.Loop, "__call__", Interpreter().method())
        source = quiet(cls(**given).fit, X, y, sample_weight=tiny.weights(N))
        tiny.assert_same(compiled, source, X)
    for name in ("state", "kept", "places", "costs"):
        assert np.array_equal(
            getattr(compiled._solver_state, name), getattr(source._solver_state, name)
        ), name
    assert compiled._solver_state.clock == source._solver_state.clock
    assert compiled.history_ == source.history_
