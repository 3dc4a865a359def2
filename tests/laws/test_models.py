"""All public models: scikit-learn's checks, purity, repeatability, threads, symmetry, outputs."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from registry import CHECKED, CLASSIFIERS, ESTIMATORS, MODELS, REGRESSORS, STREAMS, small
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks
from tiny import one_pass, quiet

from tamis import FOBOSClassifier, OnlineClassifier, OnlineRegressor, RDAClassifier
from tamis.terms import EpsilonInsensitive
from tamis.testing import expected_failed_checks

N = 40
X = tiny.matrix(N, 7)
Y = (tiny.signs(X) > 0).astype(int)
THREE = tiny.classes(N)


def targets(model, multi_output=False):
    if is_classifier(model):
        return THREE if multi_output else Y
    return tiny.numbers(X, 3 if multi_output else 1)


# --------------------------------------------------------------------------- scikit-learn
@parametrize_with_checks(
    [small(cls) for cls in CHECKED], expected_failed_checks=expected_failed_checks
)
@pytest.mark.filterwarnings("ignore")
def test_common_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_only_the_two_weight_equivalence_checks_may_fail():
    import sklearn.utils.estimator_checks as checks

    for cls in ESTIMATORS:
        reasons = expected_failed_checks(cls())
        assert set(reasons) <= {
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        }
        assert all(hasattr(checks, name) and reason for name, reason in reasons.items())
    assert expected_failed_checks(object()) == {}


# --------------------------------------------------------------------------- purity
@pytest.mark.parametrize("cls", STREAMS)
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
def test_predictions_are_pure(cls, multi_output):
    model = quiet(cls(random_state=0, max_iter=2, tol=None).fit, X, targets(cls(), multi_output))
    before = pickle.dumps(model)
    for name in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(model, name):
            first, second = getattr(model, name)(X), getattr(model, name)(X)
            assert np.array_equal(first, second)
            rows = np.concatenate([getattr(model, name)(X[i : i + 1]) for i in range(N)])
            assert np.array_equal(first, rows), "a row's prediction depends on its neighbours"
    _ = model.coef_, model.intercept_, model.support_, model.resolved_params_, model.t_, repr(model)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("name", ["predict", "decision_function", "transform", "predict_margin"])
def test_an_unfitted_model_says_so(cls, name):
    if hasattr(cls, name):
        with pytest.raises(NotFittedError):
            getattr(cls(), name)(X)


@pytest.mark.parametrize("cls", STREAMS)
def test_parameters_are_kept_as_given(cls):
    model = cls()
    before = copy.deepcopy(model.get_params())
    quiet(model.fit, X, targets(model))
    assert model.get_params() == before
    assert clone(model).get_params() == before
    for name, value in before.items():
        assert (
            getattr(clone(model).set_params(**{name: value}), name) is value
            or getattr(model, name) == value
        )


@pytest.mark.parametrize("cls", STREAMS)
def test_predictions_come_from_the_weights_shown(cls):
    for multi_output in (False, True):
        model = quiet(
            cls(random_state=0, max_iter=3, tol=None).fit, X, targets(cls(), multi_output)
        )
        scores = model.decision_function(X) if is_classifier(model) else model.predict(X)
        by_hand = X @ np.atleast_2d(model.coef_).T + model.intercept_
        assert scores.reshape(N, -1) == pytest.approx(by_hand, rel=1e-12, abs=1e-12)
        assert np.array_equal(
            model.support_, np.flatnonzero(np.atleast_2d(model.coef_).any(axis=0))
        )
        if is_classifier(model):
            wanted = (
                model.classes_[scores.argmax(axis=1)]
                if multi_output
                else model.classes_[(scores > 0).astype(int)]
            )
            assert np.array_equal(model.predict(X), wanted)


def test_a_score_of_0_is_the_first_class():
    model = quiet(FOBOSClassifier(alpha=1e6, fit_intercept=False).fit, X, np.where(Y, "yes", "no"))
    assert not model.coef_.any()
    assert set(model.predict(X)) == {"no"}
    model = quiet(FOBOSClassifier(alpha=1e6, fit_intercept=False).fit, X, THREE + 5)
    assert set(model.predict(X)) == {5}


# --------------------------------------------------------------------------- repeatability
@pytest.mark.parametrize("cls", STREAMS)
def test_the_same_seed_gives_the_same_bits_and_another_another_order(cls):
    y = targets(cls())
    a, b, c = (quiet(cls(random_state=seed, max_iter=3, tol=None).fit, X, y) for seed in (3, 3, 4))
    tiny.assert_same(a, b, X)
    assert not np.array_equal(a.coef_, c.coef_)
    fixed = [
        quiet(cls(random_state=seed, max_iter=3, tol=None, shuffle=False).fit, X, y)
        for seed in (3, 4)
    ]
    tiny.assert_same(*fixed, X)
    tiny.assert_same(
        a, quiet(cls(random_state=check_random_state(3), max_iter=3, tol=None).fit, X, y), X
    )


@pytest.mark.parametrize("cls", MODELS)
def test_threads_do_not_change_the_bits(cls):
    if "n_jobs" not in cls().get_params():
        return
    y = targets(cls(), multi_output=True)
    one = quiet(cls(random_state=0, max_iter=3, tol=None).fit, X, y)
    for n_jobs in (1, 2, 3, 7, -1):
        tiny.assert_same(
            one, quiet(cls(random_state=0, max_iter=3, tol=None, n_jobs=n_jobs).fit, X, y), X
        )


def test_threads_and_labels(interpreted):
    labels = np.c_[Y, THREE == 1, THREE > 0, Y]
    one = quiet(one_pass(OnlineClassifier, average=True).fit, X, labels)
    for n_jobs in (2, 3):
        tiny.assert_same(
            one, quiet(one_pass(OnlineClassifier, average=True, n_jobs=n_jobs).fit, X, labels), X
        )


# --------------------------------------------------------------------------- symmetry
@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize("factor", [2.0, 0.5, 2.0**20, 2.0**-20])
def test_automatic_constants_are_free_of_the_scale_of_the_rows(cls, factor):
    """Powers of two scale without rounding: the weights are divided by the factor, to the bit;
    scores and intercepts stay.
    """
    y = targets(cls())
    model = quiet(cls(random_state=0, max_iter=3, tol=None).fit, X, y)
    scaled = quiet(cls(random_state=0, max_iter=3, tol=None).fit, X * factor, y)
    assert np.array_equal(scaled.coef_, model.coef_ / factor)
    assert np.array_equal(scaled.intercept_, model.intercept_)
    assert np.array_equal(scaled.predict(X * factor), model.predict(X))
    assert model.coef_.any()


@pytest.mark.parametrize("cls", [cls for cls in STREAMS if is_classifier(cls())])
def test_swapped_classes_negate_the_weights(cls):
    a = quiet(cls(random_state=0, max_iter=3, tol=None).fit, X, Y)
    b = quiet(cls(random_state=0, max_iter=3, tol=None).fit, X, 1 - Y)
    assert np.array_equal(a.coef_, -b.coef_)
    assert np.array_equal(a.intercept_, -b.intercept_)


@pytest.mark.parametrize("cls", STREAMS)
def test_permuted_columns_permute_the_weights(cls):
    order = np.random.default_rng(0).permutation(X.shape[1])
    a = quiet(cls(random_state=0, max_iter=2, tol=None).fit, X, targets(cls()))
    b = quiet(cls(random_state=0, max_iter=2, tol=None).fit, X[:, order], targets(cls()))
    assert np.ravel(a.coef_)[order] == pytest.approx(np.ravel(b.coef_), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
def test_positive_models_have_no_negative_weight(interpreted, cls, multi_output, average):
    if average and "average" not in cls().get_params():
        return
    options, y = (
        {"positive": True, **({"average": True} if average else {})},
        targets(cls(), multi_output),
    )
    models = [quiet(one_pass(cls, **options).fit, rows, y) for rows in (X, -X)]
    assert all((model.coef_ >= 0.0).all() for model in models)
    assert any(model.coef_.any() for model in models)  # whichever way the columns point


def test_positive_truncated_gradient_with_theta_has_no_negative_weight(interpreted):
    from tamis import TruncatedGradientClassifier

    for seed in range(3):
        rows = tiny.matrix(N, 7, seed)
        model = one_pass(
            TruncatedGradientClassifier, theta=0.05, gravity=0.001, eta=0.5, positive=True
        )
        assert (quiet(model.fit, rows, (tiny.signs(rows, seed) > 0).astype(int)).coef_ >= 0.0).all()


# --------------------------------------------------------------------------- outputs
@pytest.mark.parametrize(
    "cls", [cls for cls in REGRESSORS if not getattr(cls, "_couples_outputs", False)]
)
def test_several_targets_are_separate_regressions(cls):
    """To the bit, once the penalty is a number: the automatic one is in units of all targets
    together.
    """
    strength = "gravity" if "gravity" in cls().get_params() else "alpha"
    options = {
        strength: 0.01,
        **({"eta": 0.05} if "eta" in cls().get_params() else {"gamma": 20.0}),
    }
    targets_3 = tiny.numbers(X, 3)
    together = quiet(one_pass(cls, **options).fit, X, targets_3)
    for k in range(3):
        alone = quiet(one_pass(cls, **options).fit, X, targets_3[:, k])
        assert np.array_equal(together.coef_[k], alone.coef_)
        assert together.intercept_[k] == alone.intercept_[0]
        assert np.array_equal(together.predict(X)[:, k], alone.predict(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"optimizer": "descent"},
        {"optimizer": "dual_averaging"},
        {"optimizer": "ftrl"},
        {"optimizer": "adagrad"},
        {"average": True},
    ],
    ids=repr,
)
@pytest.mark.parametrize("loss", ["squared_error", EpsilonInsensitive(1.0)], ids=repr)
def test_several_targets_are_separate_regressions_whatever_the_rule(interpreted, parameters, loss):
    """Under an insensitive loss some outputs take a step at a row and others do not."""
    rows = tiny.matrix(200, 7, seed=5)
    targets_3 = tiny.numbers(rows, 3, seed=5)
    options = {"loss": loss, "alpha": 0.01, "eta": 0.05, **parameters}
    together = quiet(one_pass(OnlineRegressor, **options).fit, rows, targets_3)
    for k in range(3):
        alone = quiet(one_pass(OnlineRegressor, **options).fit, rows, targets_3[:, k])
        assert np.array_equal(together.coef_[k], alone.coef_)
        assert together.intercept_[k] == alone.intercept_[0]


@pytest.mark.parametrize("cls", [FOBOSClassifier, RDAClassifier])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_several_classes_are_one_against_the_rest(interpreted, cls, loss):
    model = quiet(one_pass(cls, loss=loss).fit, X, THREE)
    labels = quiet(one_pass(cls, loss=loss).fit, X, np.eye(3, dtype=int)[THREE])
    assert np.array_equal(model.coef_, labels.coef_)
    for c in range(3):
        alone = quiet(one_pass(cls, loss=loss).fit, X, c == THREE)
        assert np.array_equal(model.coef_[c], alone.coef_[0])
        assert np.array_equal(model.intercept_[c], alone.intercept_[0])


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_labels_of_every_kind(cls):
    labels = np.c_[Y, THREE > 0]
    model = quiet(one_pass(cls).fit, X, labels)
    assert model.coef_.shape == (2, 7)
    assert model.predict(X).shape == (N, 2)
    assert set(np.unique(model.predict(X))) <= {0, 1}
    for same in (
        labels.astype(bool),
        labels.astype(float),
        labels.tolist(),
        sp.csr_array(labels),
        sp.csc_matrix(labels),
    ):
        tiny.assert_same(model, quiet(one_pass(cls).fit, X, same), X)
    with pytest.raises(ValueError, match="labels, 0 or 1"):
        cls().fit(X, labels + 1)
    with pytest.raises(ValueError, match=r"3 labels .* 2"):
        model.partial_fit(X, np.eye(3, dtype=int)[THREE])
    with pytest.raises(ValueError, match="one-dimensional"):
        model.partial_fit(X, Y)
