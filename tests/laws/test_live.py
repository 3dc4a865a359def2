"""Single rows through `tamis.live` give the bits of `partial_fit`, for every online model.

A refused row changes nothing.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from registry import ESTIMATORS
from sklearn.base import is_classifier
from tiny import quiet

import tamis
from tamis.base.estimators.stream import OnlineLinearModel

N, P = 40, 7
X = tiny.matrix(N, P)
ROWS = sp.csr_array(X)
TWO, THREE = (tiny.signs(X) > 0).astype(int), tiny.classes(N)
W = tiny.weights(N)
SERVED = [
    cls
    for cls in ESTIMATORS
    if issubclass(cls, OnlineLinearModel) and cls._supports_live and hasattr(cls, "partial_fit")
]
SEED = {"random_state": 0}


def targets(cls, multi_output=False):
    if is_classifier(cls()):
        return THREE if multi_output else TWO
    return tiny.numbers(X, 3 if multi_output else 1)


def entries(i):
    """Indices and values of a row."""
    row = ROWS[[i]]
    return row.indices, row.data


def by_rows(model, y, weights=None, **more):
    """The model after `partial_fit` of one row after the other."""
    for i in range(N):
        weight_argument = {} if weights is None else {"sample_weight": weights[i : i + 1]}
        named = more if i == 0 else {}
        quiet(model.partial_fit, ROWS[[i]], y[i : i + 1], **weight_argument, **named)
    return model


def learn_by_service(service, y, weights=None, rows=range(N)):
    """The model after the same rows in service."""
    for i in rows:
        weight_argument = () if weights is None else (float(weights[i]),)
        quiet(service.learn, *entries(i), y[i], *weight_argument)
    return service.model


def assert_same(model, other):
    tiny.assert_same(model, other, X)
    assert model.history_ == other.history_
    assert model.n_iter_ == other.n_iter_


def test_the_law_sees_models():
    names = {cls.__name__ for cls in SERVED}
    assert {"FTRLClassifier", "AROWClassifier", "OnlineGroupLassoRegressor"} <= names
    assert {"StabilizedSGDClassifier", "PARegressor", "SOFSClassifier"} <= names
    assert "OnlineMultiTaskClassifier" not in names


@pytest.mark.parametrize("cls", SERVED)
@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighed"])
def test_one_output(cls, weights):
    y = targets(cls)
    more = {"classes": [0, 1]} if is_classifier(cls()) else {}
    service = quiet(tamis.live, cls(**SEED), n_features=P, **more)
    model = learn_by_service(service, y, weights)
    assert_same(by_rows(cls(**SEED), y, weights, **more), model)
    for i in (0, 3, N // 3):
        scores = model.decision_function if is_classifier(model) else model.predict
        assert service.score(*entries(i)) == scores(ROWS[[i]])[0]
        assert service.predict(*entries(i)) == model.predict(ROWS[[i]])[0]


@pytest.mark.parametrize("cls", SERVED)
def test_several_outputs(cls):
    """Classes; and targets a row, where a model that was begun knows how many."""
    y = targets(cls, multi_output=True)
    more = {"classes": [0, 1, 2]} if is_classifier(cls()) else {}
    started = quiet(cls(**SEED).partial_fit, ROWS[:1], y[:1], **more)
    service = tamis.live(started)
    model = learn_by_service(service, y, rows=range(1, N))
    assert_same(by_rows(cls(**SEED), y, **more), model)
    for i in (0, 3, N // 3):
        scores = model.decision_function if is_classifier(model) else model.predict
        assert np.array_equal(service.score(*entries(i)), scores(ROWS[[i]])[0])
        assert np.array_equal(service.predict(*entries(i)), model.predict(ROWS[[i]])[0])


@pytest.mark.parametrize("cls", [cls for cls in SERVED if "class_weight" in cls().get_params()])
@pytest.mark.parametrize("weights_of_classes", ["balanced", {1: 2.5}], ids=str)
@pytest.mark.parametrize("multi_output", [False, True], ids=["two", "three"])
def test_weights_of_classes(cls, weights_of_classes, multi_output):
    y = targets(cls, multi_output)
    more = {"classes": np.unique(y)}
    model = cls(class_weight=weights_of_classes, **SEED)
    model = learn_by_service(quiet(tamis.live, model, n_features=P, **more), y, W)
    assert_same(by_rows(cls(class_weight=weights_of_classes, **SEED), y, W, **more), model)


@pytest.mark.parametrize("cls", SERVED)
def test_without_intercept_and_after_a_fit(cls):
    y = targets(cls)
    weight_argument = {**SEED, "fit_intercept": False, "max_iter": 2, "tol": None}
    one, other = (quiet(cls(**weight_argument).fit, ROWS[:9], y[:9]) for _ in range(2))
    assert_same(by_rows(one, y), learn_by_service(tamis.live(other), y))


@pytest.mark.parametrize("cls", [cls for cls in SERVED if "grow" in cls().get_params()])
def test_growing_models(cls):
    """Columns, and classes, as they come; a model that nobody has begun."""
    y = targets(cls, multi_output=is_classifier(cls()))
    model, width = cls(grow=True, **SEED), 0
    service = tamis.live(cls(grow=True, **SEED))
    for i in range(N):
        indices, values = entries(i)
        if not width and not len(indices):
            continue
        width = max(width, 1 + max(indices.tolist(), default=0))
        quiet(model.partial_fit, ROWS[[i], :width], y[i : i + 1])
        quiet(service.learn, indices, values, y[i])
    assert service.model.n_features_in_ == P
    assert_same(model, service.model)


@pytest.mark.parametrize("cls", SERVED)
def test_the_order_of_a_row_is_kept(cls):
    """Loops need no order: they read what they are given."""
    y = targets(cls)
    more = {"classes": [0, 1]} if is_classifier(cls()) else {}
    service = quiet(tamis.live, cls(**SEED), n_features=P, **more)
    other = quiet(tamis.live, cls(**SEED), n_features=P, **more)
    for i in range(N):
        indices, values = entries(i)
        quiet(service.learn, indices[::-1], values[::-1], y[i])
        quiet(other.learn, indices[::-1].tolist(), values[::-1].tolist(), y[i])
    tiny.assert_same(service.model, other.model, X)
    shown, sorted_ = tiny.shown(service.model, X), tiny.shown(by_rows(cls(**SEED), y, **more), X)
    for name, value in shown.items():
        np.testing.assert_allclose(value, sorted_[name], rtol=1e-9, atol=1e-12, err_msg=name)


BAD = {
    "index 7 is outside 0..6": ([0, P], [1.0, 1.0]),
    "index -1 is outside 0..6": ([-1], [1.0]),
    "index 18446744073709551615 is outside": ([2**64 - 1], [1.0]),
    "the value of index 2 is nan": ([1, 2], [1.0, np.nan]),
    "the value of index 1 is inf": (np.array([1, 2]), np.array([np.inf, 1.0])),
    "the value of index 1 is 1e": ([1], [1e60]),
    "index 3 comes twice": ([3, 1, 3], [1.0, 2.0, 3.0]),
    "2 indices, but 3 values": ([3, 1], [1.0, 2.0, 3.0]),
    "indices must be whole numbers": ([1.5], [1.0]),
    "values must be numbers": ([1], ["red"]),
    "along one axis": (np.zeros((2, 2), int), np.zeros((2, 2))),
}


@pytest.mark.parametrize("cls", SERVED)
def test_what_is_refused_changes_nothing(cls):
    y = targets(cls)
    more = {"classes": [0, 1]} if is_classifier(cls()) else {}
    service = quiet(tamis.live, cls(**SEED), n_features=P, **more)
    for i in range(N):
        for message, row in BAD.items():
            with pytest.raises((ValueError, TypeError), match=message):
                service.learn(*row, y[i])
            with pytest.raises((ValueError, TypeError), match=message):
                service.score(*row)
        with pytest.raises(ValueError, match="sample_weight"):
            service.learn(*entries(i), y[i], -1.0)
        with pytest.raises((ValueError, TypeError), match=r"classes_|convert|string"):
            service.learn(*entries(i), "nobody")
        quiet(service.learn, *entries(i), y[i])
    assert_same(by_rows(cls(**SEED), y, **more), service.model)
