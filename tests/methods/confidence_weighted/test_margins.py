"""Margins, confidences and variances of the family, and its errors and warnings."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from registry import CONFIDENT
from scipy.stats import norm
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from tiny import one_pass, quiet

import tamis
from tamis import AROWClassifier, CWClassifier, NAROWClassifier, PAClassifier, SCWClassifier
from tamis.base.estimators.margins import MarginMixin

N = 60
X = tiny.matrix(N, 6)
Y = tiny.signs(X)
THREE = tiny.classes(N)


# -------------------------------------------------------------------------- margins and confidences
@pytest.mark.parametrize("cls", CONFIDENT)
def test_margins_deviations_and_confidences_agree(interpreted, cls):
    for many in (False, True):
        y = (THREE if many else Y) if is_classifier(cls()) else tiny.numbers(X, 3 if many else 1)
        model = quiet(one_pass(cls).fit, X, y)
        margin, deviation = model.predict_margin(X)
        sure = model.predict_confidence(X)
        assert margin.shape == deviation.shape == sure.shape == ((N, 3) if many else (N,))
        assert np.array_equal(
            margin, model.decision_function(X) if is_classifier(cls()) else model.predict(X)
        )
        assert sure == pytest.approx(norm.cdf(np.abs(margin) / deviation))
        assert sure.min() >= 0.5
        assert sure.max() <= 1.0
        assert model.variance_.shape == model.coef_.shape
        assert deviation.reshape(N, -1) ** 2 == pytest.approx(
            X**2 @ np.atleast_2d(model.variance_).T
            + np.ravel(model.predict_margin(np.zeros((1, 6)))[1] ** 2)
        )
        with pytest.raises(NotFittedError):
            cls().predict_margin(X)
        with pytest.raises(ValueError, match="features"):
            model.predict_confidence(X[:, :3])
    assert not hasattr(cls(), "variance_")


def test_there_are_no_probabilities_of_classes(interpreted):
    model = quiet(AROWClassifier().fit, X, Y)
    assert not hasattr(model, "predict_proba")
    assert hasattr(model, "predict_confidence")


def test_confidence_where_nothing_is_uncertain():
    class Fixed(MarginMixin):
        def _margin_variance(self, X):
            return np.array([0.0, 2.0, -2.0, 1.0]), np.array([0.0, 0.0, 0.0, 4.0])

    assert Fixed().predict_confidence(None) == pytest.approx([0.5, 1.0, 1.0, norm.cdf(0.5)])


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_unseen_columns_have_the_variance_of_the_start(interpreted, covariance):
    model = quiet(one_pass(AROWClassifier, covariance=covariance).fit, X, Y)
    assert model.variance_[0, 3] == 1.0  # an empty column
    assert (model.variance_[0, [0, 1, 2, 4, 5]] < 1.0).all()
    unseen, seen = np.eye(6)[[3]], np.eye(6)[[5]]
    assert model.predict_margin(unseen)[1] > model.predict_margin(seen)[1]


@pytest.mark.parametrize("cls", [AROWClassifier, SCWClassifier, CWClassifier])
def test_confidence_tracks_error(cls):
    """Rows that a learner is surer of are right more often: each quarter of the rows, by
    confidence, errs less than the one before.
    """
    X, y, _ = tamis.datasets.make_text(n_samples=8000, n_features=1000, random_state=0)
    model = cls(random_state=0).fit(X[:4000], y[:4000])
    right = (model.predict(X[4000:]) == y[4000:])[np.argsort(model.predict_confidence(X[4000:]))]
    quarters = right.reshape(4, -1).mean(axis=1)
    assert (np.diff(quarters) > 0.02).all()
    assert quarters[3] - quarters[0] > 0.2


# --------------------------------------------------------------------------- weights
@pytest.mark.parametrize(
    "model",
    [CWClassifier(), CWClassifier(form="std"), NAROWClassifier(), PAClassifier(variant="PA")],
    ids=repr,
)
def test_learners_without_a_loss_say_that_weights_do_nothing(interpreted, model):
    model.set_params(shuffle=False)
    plain = quiet(model.fit, X, Y).coef_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.fit(X, Y, sample_weight=np.ones(N)).coef_, plain)
        zeros = model.fit(X, Y, sample_weight=np.r_[np.zeros(20), np.ones(40)]).coef_
    assert np.array_equal(quiet(model.fit, X[20:], Y[20:]).coef_, zeros)
    with pytest.warns(UserWarning, match=r"weights .* 3\b.*AROWClassifier"):
        assert np.array_equal(model.fit(X, Y, sample_weight=np.full(N, 3.0)).coef_, plain)


def test_class_weights_are_row_weights(interpreted):
    for cls in (AROWClassifier, SCWClassifier, PAClassifier):
        model = quiet(one_pass(cls, class_weight={-1: 0.5, 1: 2.0}).fit, X, Y)
        tiny.assert_same(
            quiet(one_pass(cls).fit, X, Y, sample_weight=np.where(Y > 0, 2.0, 0.5)), model, X
        )
    assert "class_weight" not in CWClassifier().get_params()
    with pytest.warns(UserWarning, match="no loss that weights could scale"):
        PAClassifier(variant="PA", class_weight="balanced").fit(
            X, np.where(np.arange(N) < 10, 1, -1)
        )


# --------------------------------------------------------------------------- refusals
def test_full_covariances_beyond_memory_are_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr("tamis.system.memory.free_memory", lambda: 2**33)
    wide = sp.csr_array((np.ones(2), [0, 99_999], [0, 1, 2]), shape=(2, 100_000))
    with pytest.raises(MemoryError, match=r"100,000 .* 74\.5 GiB.*covariance='diagonal'"):
        AROWClassifier(covariance="full").fit(wide, [0, 1])


def test_the_covariance_cannot_change_in_mid_stream(interpreted):
    model = quiet(AROWClassifier().partial_fit, X, Y, classes=[-1, 1])
    with pytest.raises(ValueError, match=r"`covariance` .*changed"):
        model.set_params(covariance="full").partial_fit(X, Y)
    model = quiet(tamis.SecondOrderPerceptron(warm_start=True).fit, X, Y)
    with pytest.raises(ValueError, match="`covariance` or its start changed"):
        model.set_params(a=2.0).fit(X, Y)
    quiet(model.set_params(a=1.0).fit, X, Y)


def test_numbers_beyond_floats_are_an_error_and_no_nan(unlimited):
    rows = np.full((4, 2), 1e-160)
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match=r"infinite or nan"):
        PAClassifier(variant="PA", fit_intercept=False).fit(rows, [0, 1, 0, 1])


def test_rows_without_columns_warn(interpreted):
    with pytest.warns(UserWarning, match="learnt no weight"):
        AROWClassifier().fit(np.zeros((4, 2)), [0, 1, 0, 1])


def test_ten_million_columns_cost_what_was_touched():
    """Sixteen bytes a column, and only where a row has been."""
    rows = sp.csr_array(
        (np.array([1.0, 1.0, 1.0, 3.0]), [0, 9_999_999, 5, 9_999_999], [0, 2, 4]),
        shape=(2, 10_000_000),
    )
    model = one_pass(AROWClassifier).fit(rows, [0, 1])
    assert model._solver_state.state.nbytes == 16 * 10_000_001
    assert model.support_.tolist() == [0, 5, 9_999_999]


def test_a_wide_model_is_a_small_file(tmp_path):
    rows = sp.csr_array((np.ones(3), [0, 99_999, 5], [0, 2, 3]), shape=(2, 100_000))
    model = one_pass(AROWClassifier).fit(rows, [0, 1])
    tamis.save(model, tmp_path / "model.tamis")
    assert (tmp_path / "model.tamis").stat().st_size < 10_000
    again = tamis.load(tmp_path / "model.tamis")
    assert np.array_equal(again.variance_, model.variance_)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_saved_and_continued(interpreted, tmp_path, covariance, many):
    y = THREE if many else Y
    uninterrupted = quiet(
        AROWClassifier(covariance=covariance).partial_fit, X, y, classes=np.unique(y)
    )
    stopped = quiet(
        AROWClassifier(covariance=covariance).partial_fit, X[:20], y[:20], classes=np.unique(y)
    )
    tamis.save(stopped, tmp_path / "model.tamis")
    resumed = quiet(tamis.load(tmp_path / "model.tamis").partial_fit, X[20:], y[20:])
    tiny.assert_same(uninterrupted, resumed, X)
    assert np.array_equal(uninterrupted.variance_, resumed.variance_)
    stopped._solver_state.state = stopped._solver_state.state[:-1].copy()
    tamis.save(stopped, tmp_path / "forged.tamis")
    with pytest.raises(ValueError, match=r"Classifier._solver_state.state, axis 0 of"):
        tamis.load(tmp_path / "forged.tamis")


def test_a_mean_of_several_paths_refuses_variances():
    X = np.random.default_rng(0).normal(size=(60, 5))
    y = (X[:, 0] > 0).astype(int)
    blocks = [(X[:30], y[:30]), (X[30:], y[30:])]
    model = tamis.distributed.fit(tamis.AROWClassifier(), blocks, paths=2, progress=False)
    with pytest.raises(ValueError, match=r"AROWClassifier: .* `paths_`"):
        model.predict_confidence(X)
