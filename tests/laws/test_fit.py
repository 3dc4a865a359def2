"""Fits of streams: warnings, passes, warm starts, early stopping, probabilities, resolved
constants.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from registry import CLASSIFIERS, MODELS, STREAMS
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from tiny import one_pass, quiet

from tamis import (
    FOBOSClassifier,
    FOBOSRegressor,
    FTRLClassifier,
    OnlineClassifier,
    OnlineRegressor,
    RDAClassifier,
    TruncatedGradientClassifier,
)

N = 40
X = tiny.matrix(N, 7)
Y = (tiny.signs(X) > 0).astype(int)
THREE = tiny.classes(N)


def targets(model):
    return Y if is_classifier(model) else tiny.numbers(X)


def strength(cls):
    return "gravity" if "gravity" in cls().get_params() else "alpha"


# --------------------------------------------------------------------------- warnings
@pytest.mark.parametrize("cls", MODELS)
def test_an_empty_model_warns_and_names_the_way_out(cls):
    name = strength(cls)
    with pytest.warns(UserWarning, match=f"{cls.__name__} kept no feature.*{name}.*{name}='auto'"):
        model = cls(**{name: 1e9}, max_iter=2, tol=None).fit(X, targets(cls()))
    assert not model.coef_.any()
    assert len(model.support_) == 0
    assert np.isfinite(model.predict(X)).all()


def test_an_empty_stream_warns_once_it_is_long(interpreted):
    model = FOBOSClassifier(alpha=1e9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, Y, classes=[0, 1])
    rows = np.tile(X, (30, 1))
    with pytest.warns(UserWarning, match="kept no feature"):
        model.partial_fit(rows, np.tile(Y, 30))


@pytest.mark.parametrize("cls", STREAMS)
def test_a_model_that_keeps_features_is_quiet(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cls(max_iter=3, tol=None).fit(X, targets(cls()))
        cls(max_iter=1).fit(X, targets(cls()))


@pytest.mark.parametrize("cls", STREAMS)
def test_a_fit_cut_short_warns_once_with_figures_and_advice(cls):
    with pytest.warns(ConvergenceWarning, match=r"all 2 passes .* max_iter") as caught:
        model = cls(max_iter=2, tol=1e-12, random_state=0).fit(X, targets(cls()))
    assert len([w for w in caught if issubclass(w.category, ConvergenceWarning)]) == 1
    assert model.n_iter_ == 2


def test_warnings_point_at_the_line_of_the_user(interpreted):
    with pytest.warns(ConvergenceWarning) as caught:
        FOBOSClassifier(max_iter=2, tol=1e-12).fit(X, Y)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="kept no feature") as caught:
        FOBOSClassifier(alpha=1e9, max_iter=2, tol=None).fit(X, Y)
    assert caught[0].filename == __file__


def test_divergence_is_an_error_that_says_what_to_do(interpreted):
    model = OnlineRegressor(penalty=None, learning_rate="constant", eta=1e6, max_iter=50)
    with (
        np.errstate(all="ignore"),
        pytest.raises(FloatingPointError, match=r"steps are too long.*eta='auto'"),
    ):
        model.fit(1e3 * X, tiny.numbers(X))


# --------------------------------------------------------------------------- passes
@pytest.mark.parametrize("cls", STREAMS)
def test_history_tells_every_pass(cls):
    model = quiet(cls(random_state=0, max_iter=4, tol=None).fit, X, targets(cls()))
    assert [record["pass"] for record in model.history_] == [1, 2, 3, 4]
    assert [record["rows"] for record in model.history_] == [N, 2 * N, 3 * N, 4 * N]
    assert model.history_[-1]["nonzeros"] == np.count_nonzero(model.coef_)
    assert model.n_iter_ == 4
    assert model.t_ == 4 * N
    assert all(np.isfinite(record["loss"]) for record in model.history_)


def test_the_loss_in_the_history_is_that_of_each_row_before_it_was_learnt(interpreted):
    model = quiet(FOBOSClassifier(shuffle=False, max_iter=1, tol=None).fit, X, Y)
    stream, losses = FOBOSClassifier(), [np.log(2.0)]
    for i in range(N - 1):
        quiet(stream.partial_fit, X[i : i + 1], Y[i : i + 1], classes=[0, 1])
        losses.append(
            np.logaddexp(0.0, -(2 * Y[i + 1] - 1) * stream.decision_function(X[i + 1 : i + 2])[0])
        )
    assert model.history_[0]["loss"] == pytest.approx(np.mean(losses), rel=1e-12)


def test_tol_ends_the_fit_and_none_does_not(interpreted):
    long = quiet(FOBOSClassifier(max_iter=60, tol=None, random_state=0).fit, X, Y)
    short = quiet(
        FOBOSClassifier(max_iter=60, tol=0.05, n_iter_no_change=2, random_state=0).fit, X, Y
    )
    assert long.n_iter_ == 60
    assert short.n_iter_ < 60
    min_gain, best, n_stale = 0.05 * long.history_[0]["loss"], np.inf, 0
    for record in long.history_:  # the rule, by hand
        n_stale = 0 if record["loss"] < best - min_gain else n_stale + 1
        best = min(best, record["loss"])
        if n_stale == 2:
            break
    assert short.n_iter_ == record["pass"]
    assert short.history_ == long.history_[: short.n_iter_]


def test_a_fit_is_its_passes_one_by_one(interpreted):
    """Without shuffling, three passes are three calls of partial_fit."""
    model = quiet(FTRLClassifier(shuffle=False, max_iter=3, tol=None).fit, X, Y)
    stream = FTRLClassifier()
    for _ in range(3):
        quiet(stream.partial_fit, X, Y, classes=[0, 1])
    tiny.assert_same(stream, model, X)


# --------------------------------------------------------------------------- warm starts
@pytest.mark.parametrize("cls", STREAMS)
def test_warm_start_goes_on_and_a_cold_one_begins_anew(cls):
    y = targets(cls())
    parameters = {"shuffle": False, "tol": None}
    warm = cls(max_iter=2, warm_start=True, **parameters)
    quiet(quiet(warm.fit, X, y).fit, X, y)
    tiny.assert_same(quiet(cls(max_iter=4, **parameters).fit, X, y), warm, X)
    assert warm.t_ == 4 * N
    cold = cls(max_iter=2, **parameters)
    quiet(quiet(cold.fit, X, y).fit, X, y)
    tiny.assert_same(quiet(cls(max_iter=2, **parameters).fit, X, y), cold, X)
    assert len(cold.history_) == 2


def test_warm_start_takes_todays_parameters_and_refuses_another_state(interpreted):
    model = quiet(one_pass(OnlineClassifier, warm_start=True).fit, X, Y)
    before = np.abs(model.coef_).sum()
    quiet(model.set_params(alpha=10.0).fit, X, Y)
    assert np.abs(model.coef_).sum() < before
    with pytest.raises(ValueError, match="warm_start=False"):
        model.set_params(average=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"y holds \[2\], not among classes_"):
        model.set_params(average=False).fit(X, Y + 1)


def test_partial_fit_goes_on_from_a_fit(interpreted):
    model = quiet(quiet(one_pass(FOBOSClassifier).fit, X, Y).partial_fit, X, Y)
    tiny.assert_same(quiet(one_pass(FOBOSClassifier, max_iter=2).fit, X, Y), model, X)


# --------------------------------------------------------------------------- early stopping
@pytest.mark.parametrize("cls", [FOBOSClassifier, FOBOSRegressor])
@pytest.mark.parametrize("weights", [None, tiny.weights(200)], ids=["plain", "weighed"])
def test_early_stopping_holds_rows_out(cls, weights):
    rows = tiny.matrix(200, 7)
    y = (tiny.signs(rows) > 0).astype(int) if is_classifier(cls()) else tiny.numbers(rows)
    model = quiet(
        cls(early_stopping=True, validation_fraction=0.25, random_state=0, max_iter=50).fit,
        rows,
        y,
        sample_weight=weights,
    )
    present = 200 if weights is None else np.count_nonzero(weights)
    assert 1 <= model.n_iter_ < 50
    assert model.t_ == model.n_iter_ * (present - int(np.ceil(0.25 * present)))
    scores = [record["validation_score"] for record in model.history_]
    assert len(scores) == model.n_iter_
    assert max(scores) <= 1.0
    again = quiet(
        cls(early_stopping=True, validation_fraction=0.25, random_state=0, max_iter=50).fit,
        rows,
        y,
        sample_weight=weights,
    )
    tiny.assert_same(model, again, rows)


def test_early_stopping_of_several_classes_and_labels(interpreted):
    for y in (THREE, np.c_[Y, THREE > 0]):
        model = quiet(FOBOSClassifier(early_stopping=True, random_state=0, max_iter=5).fit, X, y)
        assert 0.0 <= model.history_[-1]["validation_score"] <= 1.0


# --------------------------------------------------------------------------- probabilities
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_probabilities_sum_to_one_and_agree_with_predictions(cls):
    for y in (Y, THREE):
        model = quiet(cls(random_state=0, max_iter=5, tol=None).fit, X, y)
        P = model.predict_proba(X)
        assert P.shape == (N, len(model.classes_))
        assert P.min() >= 0.0
        assert P.sum(axis=1) == pytest.approx(np.ones(N), abs=1e-12)
        assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
        assert np.exp(model.predict_log_proba(X)) == pytest.approx(P)
    scores = quiet(cls(random_state=0).fit, X, Y)
    assert scores.predict_proba(X)[:, 1] == pytest.approx(
        1 / (1 + np.exp(-scores.decision_function(X))), rel=1e-9
    )


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_probabilities_exist_only_for_the_logistic_loss(cls):
    for loss in ("hinge", "squared_hinge", "squared_error", "huber", "epsilon_insensitive"):
        assert not hasattr(cls(loss=loss), "predict_proba")
        assert not hasattr(cls(loss=loss), "predict_log_proba")
    assert hasattr(cls(loss="logistic"), "predict_proba")
    assert hasattr(cls(loss="log_loss"), "predict_proba")


def test_probabilities_of_far_scores_and_of_labels(interpreted):
    model = quiet(
        one_pass(OnlineClassifier, penalty=None, learning_rate="constant", eta=1e3).fit, X, Y
    )
    for P in (
        model.predict_proba(1e6 * X),
        quiet(one_pass(OnlineClassifier).fit, X, np.c_[Y, 1 - Y]).predict_proba(X),
    ):
        assert np.isfinite(P).all()
        assert P.shape == (N, 2)
        assert P.min() >= 0.0
        assert P.max() <= 1.0


# --------------------------------------------------------------------------- constants
def test_resolved_constants_are_running_means_of_the_rows(interpreted):
    for cls in (FOBOSClassifier, RDAClassifier, FTRLClassifier, TruncatedGradientClassifier):
        resolved = quiet(one_pass(cls).fit, X, Y).resolved_params_
        doubled = quiet(one_pass(cls).fit, 2 * X, Y).resolved_params_
        assert all(value >= 0 and np.isfinite(value) for value in resolved.values())
        for name in resolved:
            power = {
                "l1": 1,
                "l2": 2,
                "eta": -1 if cls is FTRLClassifier else -2,
                "gamma": 2,
                "gravity": -1,
            }[name]
            assert doubled[name] == pytest.approx(2.0**power * resolved[name]), (cls, name)
    model = quiet(one_pass(FOBOSClassifier).fit, X, Y)
    norms = np.linalg.norm(X, axis=1).mean()
    assert model.resolved_params_["l1"] == pytest.approx(1e-4 * 0.5 * norms)


@pytest.mark.parametrize("cls", STREAMS)
def test_a_model_that_is_not_fitted_says_so(cls):
    with pytest.raises(NotFittedError):
        cls().predict(X)
    for name in ("coef_", "intercept_", "support_", "resolved_params_", "t_"):
        assert not hasattr(cls(), name)
    with pytest.raises(NotFittedError):
        cls().sparsify()


@pytest.mark.parametrize("shown", [True, 1])
def test_verbose_writes_to_stderr_only(interpreted, capsys, shown):
    quiet(FOBOSClassifier(verbose=shown, max_iter=2, tol=None).fit, X, Y)
    assert capsys.readouterr().out == ""
    quiet(FOBOSClassifier(verbose=False, max_iter=2, tol=None).fit, X, Y)
    assert capsys.readouterr().err == ""


def test_ten_million_columns_are_no_trouble():
    """State grows with the columns, time with the entries; nothing else is made of that width."""
    rows = sp.csr_array(
        (np.ones(4), [0, 9_999_999, 5, 9_999_999], [0, 2, 4]), shape=(2, 10_000_000)
    )
    model = FOBOSClassifier(max_iter=1, tol=None, alpha=1e-4, eta=0.5).fit(rows, [0, 1])
    assert model.support_.tolist() == [0, 5, 9_999_999]
    assert model.sparsify().coef_.shape == (1, 10_000_000)
