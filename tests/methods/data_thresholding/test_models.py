"""ThresholdedClassifier and DataThresholder meet the requested error on all kinds of data."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from methods.data_thresholding.problems import optimum
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from spelling import L1

import tamis
from tamis import DataThresholder, ThresholdDisplay, ThresholdedClassifier
from tamis.datasets import make_text
from tamis.methods.data_thresholding.bounds import ThresholdProblem
from tamis.methods.data_thresholding.thresholds import apply_threshold

X, Y, _ = make_text(n_samples=400, n_features=300, n_informative=10, random_state=0)
DENSE = X.toarray()
THREE = np.random.default_rng(0).integers(0, 3, 400) * (Y > 0)
KEYS = {
    "primal_thresholded",
    "primal_original",
    "dual_bound",
    "gap",
    "rel_gap",
    "apriori_abs",
    "apriori_rel",
    "vacuous",
}


def model(**params):
    return ThresholdedClassifier(**{"alpha": 3e-3, **params})


def best_value(alpha=3e-3, loss="logistic", y=Y):
    signs = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    return optimum(DENSE, ThresholdProblem(signs, np.full(len(y), 1 / len(y)), loss, alpha, True))[
        0
    ]


# --------------------------------------------------------------------------- fit
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("mode", ["relative", "absolute"])
@pytest.mark.parametrize("max_error", [0.3, 0.02, 1e-3])
def test_the_error_is_at_most_max_error(loss, mode, max_error):
    fitted = model(loss=loss, max_error=max_error, mode=mode).fit(X, Y)
    best = best_value(loss=loss)
    error = fitted.certificate_["primal_original"] - best
    assert error <= max_error * (best if mode == "relative" else 1.0) + 1e-7
    assert not KEYS - set(fitted.certificate_)
    thresholds = [record["threshold"] for record in fitted.history_]
    assert all(after <= 0.5 * before for before, after in pairwise(thresholds))
    assert fitted.threshold_ == thresholds[-1]
    fractions = [record["kept_fraction"] for record in fitted.history_]
    assert fractions == sorted(fractions)
    assert fitted.kept_fraction_ == fractions[-1]


def test_a_threshold_without_max_error_is_not_lowered():
    fitted = model(threshold=0.2).fit(X, Y)
    assert fitted.threshold_ == 0.2
    assert len(fitted.history_) == 1
    assert fitted.kept_fraction_ == np.mean(X.data > 0.2)
    assert fitted.certificate_["gap"] > 0.0
    thresholded = np.where(DENSE > 0.2, DENSE, 0.0)
    refitted = model(threshold=0.0).fit(thresholded, Y)
    assert fitted.coef_ == pytest.approx(refitted.coef_, abs=1e-12)
    assert refitted.certificate_["primal_original"] == pytest.approx(
        fitted.certificate_["primal_thresholded"]
    )


def test_auto_without_max_error_guarantees_a_hundredth():
    fitted = model().fit(X, Y)
    assert fitted.certificate_["rel_gap"] <= 0.01
    assert fitted.certificate_["primal_original"] <= 1.01 * best_value()


def test_no_threshold_is_plain_l1():
    fitted = model(threshold=0.0, tol=1e-9).fit(X, Y)
    assert fitted.certificate_["gap"] <= 1e-8
    assert fitted.certificate_["primal_original"] == pytest.approx(best_value(), abs=1e-7)
    assert fitted.kept_fraction_ == 1.0
    assert not fitted.certificate_["vacuous"]
    assert np.array_equal(fitted.support_, np.flatnonzero(fitted.coef_[0]))
    assert 0 < len(fitted.support_) < 300


def test_an_error_that_no_solver_reaches_warns():
    with pytest.warns(ConvergenceWarning, match="max_error=1e-12"):
        model(estimator=LogisticRegression(**L1, solver="liblinear"), max_error=1e-12).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or tol"):
        model(max_iter=1, tol=1e-12).fit(X, Y)


@pytest.mark.parametrize(
    "form",
    [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array, lambda A: A.astype(np.float32)],
    ids=["dense", "csr", "csc", "coo", "f4"],
)
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_every_container_gives_the_same_model_and_is_not_changed(form, loss):
    rows = form(DENSE.copy())
    before = rows.copy()
    fitted = model(loss=loss, threshold=0.15).fit(rows, Y)
    assert fitted.coef_ == pytest.approx(model(loss=loss, threshold=0.15).fit(X, Y).coef_, abs=1e-4)
    assert np.array_equal(
        rows.toarray() if sp.issparse(rows) else rows,
        before.toarray() if sp.issparse(before) else before,
    )
    assert fitted.decision_function(rows) == pytest.approx(
        (rows @ fitted.coef_.T + fitted.intercept_)[:, 0]
    )


def test_wide_indices():
    wide = sp.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )
    assert np.array_equal(
        model(threshold=0.15).fit(wide, Y).coef_, model(threshold=0.15).fit(X, Y).coef_
    )


def test_several_classes_and_labels():
    fitted = model(max_error=0.05).fit(X, THREE)
    assert fitted.coef_.shape == (3, 300)
    assert fitted.certificate_["rel_gap"].shape == (3,)
    assert (fitted.certificate_["rel_gap"] <= 0.05).all()
    assert fitted.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    labels = np.eye(3, dtype=int)[THREE]
    assert model(max_error=0.05).fit(X, labels).coef_ == pytest.approx(fitted.coef_)
    binary = model(threshold=fitted.threshold_).fit(X, THREE == 1)
    assert binary.coef_[0] == pytest.approx(fitted.coef_[1], abs=2e-3)


def test_weights_are_repetitions():
    counts = np.random.default_rng(1).integers(0, 3, 400)
    weighted = model(threshold=0.1, tol=1e-9).fit(X, Y, sample_weight=counts)
    rows = np.repeat(np.arange(400), counts)
    repeated = model(threshold=0.1, tol=1e-9).fit(X[rows], Y[rows])
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-5)
    assert weighted.certificate_["gap"] == pytest.approx(repeated.certificate_["gap"], abs=1e-6)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(**L1, solver="liblinear", tol=1e-8),
        LogisticRegression(**L1, solver="saga", tol=1e-6),
    ],
)
def test_other_solvers(estimator):
    fitted = model(estimator=estimator, threshold=0.1, fit_intercept=False).fit(X, Y)
    assert fitted.coef_ == pytest.approx(
        model(threshold=0.1, fit_intercept=False, tol=1e-9).fit(X, Y).coef_, abs=2e-3
    )
    assert fitted.certificate_["solver_gap"] < 1e-3
    weights = np.arange(400) % 3
    weighted = model(estimator=estimator, threshold=0.1, fit_intercept=False).fit(
        X, Y, sample_weight=weights
    )
    assert weighted.certificate_["solver_gap"] < 1e-3
    assert estimator.C == 1.0


def test_the_certificate_is_about_the_requested_loss():
    """The gap shows that a squared hinge is not the hinge and that liblinear penalises the
    intercept.
    """
    exact = model(loss="hinge", threshold=0.0).fit(X, Y)
    other = model(estimator=LinearSVC(penalty="l1", dual=False), loss="hinge", threshold=0.0).fit(
        X, Y
    )
    assert (
        other.certificate_["primal_original"] - exact.certificate_["primal_original"]
        <= other.certificate_["gap"]
    )
    assert other.certificate_["gap"] > 1e-3


def test_unsuitable_estimators_are_refused():
    with pytest.raises(ValueError, match="neither a parameter C nor alpha"):
        model(estimator=tamis.DataThresholder()).fit(X, Y)
    with pytest.raises(ValueError, match="'alpha' parameter"):
        model(alpha=0.0).fit(X, Y)
    with pytest.raises(AttributeError, match="partial_fit"):
        model().partial_fit(X, Y)
    with pytest.raises(AttributeError, match="predict_proba"):
        model(loss="hinge").fit(X, Y).predict_proba(X)


# --------------------------------------------------------------------------- path
@pytest.mark.parametrize("mode", ["relative", "absolute"])
@pytest.mark.parametrize("max_error", [0.2, 0.01])
def test_every_step_of_a_path_meets_max_error(mode, max_error):
    alphas = np.geomspace(1e-2, 1e-3, 6)
    path = model(mode=mode, tol=1e-7).path(X, Y, alphas, max_error)
    assert path["coef"].shape == (6, 1, 300)
    assert (np.diff(path["threshold"]) <= 0.0).all()
    assert (np.diff(path["kept_fraction"]) >= 0.0).all()
    for k, alpha in enumerate(alphas):
        best = best_value(alpha)
        assert (
            path["primal"][k, 0] - best <= max_error * (best if mode == "relative" else 1.0) + 1e-7
        )
    assert not hasattr(model(), "coef_")


def test_thresholds_of_a_path_never_rise(monkeypatch):
    from tamis.methods.data_thresholding import search

    tried = []
    monkeypatch.setattr(
        search,
        "apply_threshold",
        lambda matrix, threshold: tried.append(threshold) or apply_threshold(matrix, threshold),
    )
    model().path(X, Y, np.geomspace(1e-2, 1e-3, 6), 0.01)
    assert len(tried) > 6
    assert tried == sorted(tried, reverse=True)


def test_the_last_model_of_a_path_is_a_fit():
    path = model(tol=1e-9).path(X, Y, [1e-2, 3e-3], 0.02)
    fitted = model(tol=1e-9, threshold=path["threshold"][-1]).fit(X, Y)
    assert fitted.coef_ == pytest.approx(path["coef"][-1], abs=1e-5)
    assert fitted.certificate_["primal_original"] == pytest.approx(path["primal"][-1, 0], abs=1e-8)


@pytest.mark.parametrize("alphas", [[1e-3, 1e-2], [1e-3, 1e-3], [], [[1e-2]], [1e-2, -1.0]])
def test_alphas_of_a_path_must_decrease(alphas):
    with pytest.raises(ValueError, match="alphas must be above 0 and fall"):
        model().path(X, Y, alphas, 0.1)
    with pytest.raises(ValueError, match="max_error must be above 0"):
        model().path(X, Y, [1e-2], 0.0)


# ---------------------------------------------------------------------- transformer, display, files
def test_the_transformer():
    thresholder = DataThresholder(fraction=0.4).fit(X)
    assert thresholder.kept_fraction_ == pytest.approx(0.4, abs=0.01)
    assert thresholder.dropped_ == thresholder.threshold_
    sparse = thresholder.transform(X)
    assert sp.issparse(sparse)
    assert sparse.nnz == round(thresholder.kept_fraction_ * X.nnz)
    assert np.array_equal(thresholder.transform(DENSE), sparse.toarray())
    frame = (
        thresholder.fit(pd.DataFrame(DENSE).add_prefix("word "))
        .set_output(transform="pandas")
        .transform(pd.DataFrame(DENSE).add_prefix("word "))
    )
    assert frame.columns[3] == "word 3"
    chain = make_pipeline(DataThresholder(0.1), LogisticRegression()).fit(X, Y)
    assert chain.score(X, Y) > 0.8
    identity = DataThresholder(0.0).fit(X)
    assert identity.transform(X) is not X
    assert identity.kept_fraction_ == 1.0


def test_files(tmp_path):
    fitted = model(max_error=0.1).fit(X, THREE)
    tamis.save(fitted, tmp_path / "model.tamis")
    loaded = tamis.load(tmp_path / "model.tamis")
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.certificate_.keys() == fitted.certificate_.keys()
    assert np.array_equal(loaded.certificate_["gap"], fitted.certificate_["gap"])
    tamis.save(DataThresholder().fit(X), tmp_path / "cut.tamis")
    assert np.array_equal(
        tamis.load(tmp_path / "cut.tamis").transform(DENSE),
        DataThresholder().fit_transform(X).toarray(),
    )


def test_the_display():
    import matplotlib.pyplot as plt

    display = ThresholdDisplay.from_estimator(
        model(max_error=0.1), X[:300], Y[:300], [0.0, 0.1, 0.3], X_test=X[300:], y_test=Y[300:]
    )
    assert len(display.axes_) == 4
    assert display.kept_fraction[0] == 1.0
    assert (np.diff(display.megabytes) < 0.0).all()
    assert display.gap[0] <= 1e-4 < display.gap[-1]
    fitted = model(threshold=0.3).fit(X[:300], Y[:300])
    assert display.accuracy[-1] == fitted.score(X[300:], Y[300:])
    assert display.gap[-1] == pytest.approx(fitted.certificate_["rel_gap"])
    _, axes = plt.subplots(1, 4)
    assert display.plot(axes).ax_ is axes[0]
    with pytest.raises(ValueError, match="axes must be four"):
        display.plot(axes[:2])
    with pytest.raises(TypeError, match="Pass a ThresholdedClassifier"):
        ThresholdDisplay.from_estimator(LogisticRegression(), X, Y, [0.0])
    with pytest.raises(ValueError, match="X_test and y_test go together"):
        ThresholdDisplay.from_estimator(model(), X, Y, [0.0], X_test=X)
    plt.close("all")
