"""LowRankLasso and LowRankClassifier: dense and sparse rows and targets, weights, files and
threads.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.metrics import f1_score, precision_score, recall_score

from tamis import LowRankClassifier, LowRankFactorization, LowRankLasso, load, save
from tamis.methods.low_rank_lasso.classifier import best_threshold


def make_data(n=200, d=60, rank=8, targets=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, rank)) @ random.normal(size=(rank, d)) + 0.2 * random.normal(
        size=(n, d)
    )
    X[np.abs(X) < 1.0] = 0.0
    Y = X[:, :targets] + 0.5 * random.normal(size=(n, targets)) + 1.0
    return X, Y


X, Y = make_data()


# --------------------------------------------------------------------------- numbers
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("radius", ["auto", 0.5, np.inf])
def test_every_form_of_rows_and_targets_gives_the_same_model(dtype, radius):
    params = {
        "n_components": 8,
        "radius": radius,
        "dtype": dtype,
        "random_state": 0,
        "tol": 1e-9 if dtype == "float64" else 1e-4,
        "max_iter": 5000,
    }
    model = LowRankLasso(**params).fit(X, Y)
    tolerance = (
        1e-4 if dtype == "float64" else 2e-2
    )  # the error of the weights is of the order of the square root of the gap
    for rows in (sp.csr_array(X), sp.csc_matrix(X)):
        for targets in (Y, sp.csr_array(Y), sp.coo_matrix(Y)):
            other = LowRankLasso(**params).fit(rows, targets)
            assert other.coef_ == pytest.approx(model.coef_, abs=tolerance)
            assert other.intercept_ == pytest.approx(model.intercept_, abs=tolerance)
            assert other.predict(rows) == pytest.approx(other.predict(X))
    assert model.predict(X) == pytest.approx(X @ model.coef_.T + model.intercept_)
    assert model.coef_.shape == (5, 60)
    assert np.array_equal(model.support_, np.flatnonzero(model.coef_.any(axis=0)))
    assert (np.abs(model.coef_).sum(axis=1) <= model.radius_ * (1.0 + 1e-6)).all()
    assert model.bounded_.all() != (radius == np.inf)


def test_sparse_rows_are_never_made_dense(monkeypatch):
    rows = sp.csr_array(X)
    model = LowRankLasso(8, random_state=0)
    original = sp.csr_array.toarray

    def checked_toarray(self, *arguments, **named):
        assert self.shape != rows.shape, "X made dense"
        return original(self, *arguments, **named)

    monkeypatch.setattr(sp.csr_array, "toarray", checked_toarray)
    model.fit(rows, Y).predict(rows)


def test_a_full_rank_without_robustness_is_the_lasso_on_the_data():
    model = LowRankLasso(60, radius=0.7, robustness=0.0, tol=1e-8, random_state=0).fit(X, Y[:, 0])
    lasso = Lasso(alpha=float(model.alpha_[0]), tol=1e-12, max_iter=100_000).fit(X, Y[:, 0])
    assert model.coef_ == pytest.approx(lasso.coef_, abs=1e-5)
    assert model.intercept_[0] == pytest.approx(lasso.intercept_, abs=1e-5)
    bounds = model.certificate(X, Y[:, 0])
    assert bounds["gap"][0] <= 1e-6 * bounds["residual"][0]


def test_no_bound_and_no_robustness_is_least_squares():
    model = LowRankLasso(60, radius=np.inf, robustness=0.0, random_state=0).fit(X, Y)
    peer = LinearRegression().fit(X, Y)
    assert model.predict(X) == pytest.approx(peer.predict(X), abs=1e-8)


@pytest.mark.filterwarnings("ignore:.*targets are 0 at every radius")
@pytest.mark.parametrize("rows", [X, np.abs(X)], ids=["signed", "positive"])
def test_the_bound_and_the_gap_of_the_certificate_hold(rows):
    for robustness in (0.0, 0.1, 1.0):
        model = LowRankLasso(6, radius=0.6, robustness=robustness, random_state=0).fit(rows, Y)
        bounds = model.certificate(rows, Y)
        assert bounds["residual"] == pytest.approx(np.linalg.norm(Y - model.predict(rows), axis=0))
        factors, centred = model.factorization_, Y - Y.mean(axis=0)
        residual_low_rank = np.linalg.norm(
            centred - factors.U_ * factors.S_ @ factors.W_.T @ model.coef_.T, axis=0
        )
        assert bounds["bound"] == pytest.approx(
            residual_low_rank + factors.error_upper_ * np.linalg.norm(model.coef_, axis=1), rel=1e-6
        )
        assert (bounds["residual"] <= bounds["bound"] * (1.0 + 1e-12)).all()
        if robustness == 1.0:
            assert (bounds["residual"] <= model.objective_ * (1.0 + 1e-9)).all()
        for j in range(Y.shape[1]):
            exact = LowRankLasso(60, radius=0.6, robustness=0.0, random_state=0).fit(rows, Y[:, j])
            best = np.linalg.norm(Y[:, j] - exact.predict(rows))
            assert bounds["residual"][j] - best <= bounds["gap"][j] + 1e-6
    assert np.isinf(
        LowRankLasso(6, radius=np.inf, random_state=0)
        .fit(X, Y)
        .certificate(X, sp.csr_array(Y))["gap"]
    ).all()


def test_weights_equal_repetition():
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    a = LowRankLasso(8, radius=0.5, robustness=0.05, random_state=0).fit(
        X, Y, sample_weight=weights
    )
    repeated = X.repeat(weights.astype(int), axis=0), Y.repeat(weights.astype(int), axis=0)
    b = LowRankLasso(8, radius=0.5, robustness=0.05, random_state=0).fit(*repeated)
    assert a.coef_ == pytest.approx(b.coef_, abs=2e-3)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-4)
    assert a.fit(X, Y, sample_weight=7.0).coef_ == pytest.approx(
        LowRankLasso(8, radius=0.5, robustness=0.05, random_state=0).fit(X, Y).coef_, abs=1e-5
    )
    with pytest.raises(ValueError, match="at least one non-zero"):
        a.fit(X, Y, sample_weight=np.zeros(len(X)))


def test_collapsed_targets_warn():
    noise = np.random.default_rng(1).normal(size=(200, 3))
    with pytest.warns(UserWarning, match=r" 6 components .*robustness") as warned:
        model = LowRankLasso(6, robustness=0.7, random_state=0).fit(X, np.column_stack([Y, noise]))
    assert f"LowRankLasso: {model.collapsed_.sum()} of 8 " in str(warned[0].message)
    assert model.collapsed_[5:].all()
    assert not model.collapsed_[:5].all()
    assert np.array_equal(model.collapsed_, ~model.coef_.any(axis=1))
    assert model.predict(X)[:, 5:] == pytest.approx(np.tile(noise.mean(axis=0), (200, 1)))
    assert model.history_[1] == {"stage": "zero test", "targets": int(model.collapsed_.sum())}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constant = LowRankLasso(4, random_state=0).fit(
            X, np.column_stack([Y[:, 0], np.full(200, 2.0)])
        )
    assert constant.collapsed_.tolist() == [False, False]
    assert constant.predict(X)[:, 1] == pytest.approx(np.full(200, 2.0))


def test_unconverged_targets_warn():
    with pytest.warns(ConvergenceWarning, match=r"\d of 5 targets .*tol=1e-12 .* 1 iter"):
        model = LowRankLasso(
            8, radius=0.5, robustness=0.0, tol=1e-12, max_iter=1, random_state=0
        ).fit(X, Y)
    assert not model.converged_.all()
    assert (model.gap_[~model.converged_] > 1e-12).all()


def test_a_factorisation_can_be_reused():
    factors = LowRankFactorization(8, random_state=0).fit(X)
    one = LowRankLasso(8, radius=0.5, random_state=0).fit(X, Y)
    two = LowRankLasso(8, radius=0.5).fit(X, Y, factorization=factors)
    assert np.array_equal(one.coef_, two.coef_)
    assert two.factorization_ is factors
    with pytest.raises(ValueError, match=r"factorization .*\(200, 60\).*\(100, 60\)"):
        two.fit(X[:100], Y[:100], factorization=factors)
    with pytest.raises(ValueError, match="center=True, but fit_intercept=False"):
        LowRankLasso(8, fit_intercept=False).fit(X, Y, factorization=factors)
    with pytest.raises(ValueError, match="of other rows or weights"):
        two.fit(X + 5.0, Y, factorization=factors)


def test_a_path_shares_its_factorisation_and_objectives_fall():
    models = LowRankLasso(8, random_state=0).path(X, Y, [0.1, 0.5, 2.0, np.inf])
    assert len({id(model.factorization_) for model in models}) == 1
    values = np.array([model.objective_ for model in models])
    assert (np.diff(values, axis=0) <= 1e-6).all()
    assert (np.diff([model.alpha_ for model in models], axis=0) <= 1e-9).all()
    assert models[-1].alpha_ == pytest.approx(np.zeros(5))


def test_threads_give_the_same_bits():
    wide = np.tile(Y, 40) + np.arange(200)
    one, two = (LowRankLasso(8, random_state=0, n_jobs=jobs).fit(X, wide) for jobs in (None, 2))
    assert np.array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("radius", [[0.5, 0.1, 0.2, 0.3, 0.4], 0.5])
def test_one_radius_a_target(radius):
    model = LowRankLasso(8, radius=radius, random_state=0).fit(X, Y)
    assert np.abs(model.coef_).sum(axis=1) == pytest.approx(np.broadcast_to(radius, 5), rel=1e-6)


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match=r"radius .*\(2,\).* 5 targets"):
        LowRankLasso(radius=[1.0, 2.0]).fit(X, Y)
    with pytest.raises(ValueError, match="radius must be above 0; the least is -1"):
        LowRankLasso(radius=[1.0, 2.0, -1.0, 1.0, 1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="tol=1e-08 is finer than float32 resolves"):
        LowRankLasso(dtype="float32", tol=1e-8).fit(X, Y)
    with pytest.raises(ValueError, match="'robustness' parameter"):
        LowRankLasso(robustness=1.5).fit(X, Y)
    assert not hasattr(LowRankLasso(), "partial_fit")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LowRankLasso().fit(X, sp.csr_array(Y[:50]))


def test_saved_and_loaded(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(60)])
    model = LowRankLasso(8, random_state=0).fit(frame, Y)
    save(model, tmp_path / "m.tamis")
    loaded = load(tmp_path / "m.tamis")
    assert np.array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    labels = LowRankClassifier(8, random_state=0).fit(X, (Y > 1.0).astype(int))
    save(labels, tmp_path / "l.tamis")
    assert np.array_equal(load(tmp_path / "l.tamis").predict(X), labels.predict(X))


# --------------------------------------------------------------------------- labels
LABELS = (Y > 2.5).astype(int)


def test_labels_of_every_kind_agree():
    model = LowRankClassifier(8, random_state=0).fit(X, LABELS)
    assert set(np.unique(model.predict(X))) <= {0, 1}
    for same in (sp.csr_array(LABELS), sp.csc_matrix(LABELS), LABELS.astype(bool), LABELS.tolist()):
        other = LowRankClassifier(8, random_state=0).fit(X, same)
        assert other.coef_ == pytest.approx(model.coef_, abs=1e-7)
        assert np.array_equal(other.predict(X), model.predict(X))
    regressor = LowRankLasso(8, random_state=0).fit(X, 2.0 * LABELS - 1.0)
    assert model.coef_ == pytest.approx(regressor.coef_, abs=1e-6)
    assert model.decision_function(X) == pytest.approx(
        regressor.predict(X) - model.thresholds_, abs=1e-6
    )
    without = LowRankClassifier(8, fit_intercept=False, random_state=0).fit(X, sp.csr_array(LABELS))
    assert not without.intercept_.any()
    with pytest.raises(ValueError, match=r"matrix of labels.* 3"):
        model.fit(X, sp.csr_array(3.0 * LABELS))


def test_thresholds_have_the_best_f1_on_the_training_rows():
    random = np.random.default_rng(0)
    for _ in range(15):
        scores, truth = np.round(random.normal(size=30), 1), random.random(30) < 0.3
        best = best_threshold(scores, truth, np.ones(30))
        f1_scores = [
            f1_score(truth, scores > c, zero_division=0)
            for c in [*np.unique(scores).tolist(), -10.0]
        ]
        assert (
            f1_score(truth, scores > best, zero_division=0) == pytest.approx(max(f1_scores))
            or not truth.any()
        )
    tuned = LowRankClassifier(8, random_state=0).fit(X, LABELS)
    fixed = LowRankClassifier(8, threshold=0.0, random_state=0).fit(X, LABELS)
    assert tuned.thresholds_.any()
    assert not fixed.thresholds_.any()
    assert tuned.macro_f1(X, LABELS)["mean_of_f1"] >= fixed.macro_f1(X, LABELS)["mean_of_f1"]


def test_both_definitions_of_macro_f1():
    model = LowRankClassifier(8, threshold=0.0, random_state=0).fit(X, LABELS)
    macro, predicted = model.macro_f1(X, LABELS), model.predict(X)
    assert macro["mean_of_f1"] == pytest.approx(
        f1_score(LABELS, predicted, average="macro", zero_division=0)
    )
    precision, recall = (
        score(LABELS, predicted, average="macro", zero_division=0)
        for score in (precision_score, recall_score)
    )
    assert macro["f1_of_means"] == pytest.approx(2 * precision * recall / (precision + recall))
    classes = np.array(["a", "b", "c"])[np.clip(Y[:, 0], 0, 2.9).astype(int)]
    several = LowRankClassifier(8, random_state=0).fit(X, classes)
    assert several.macro_f1(X, classes)["mean_of_f1"] == pytest.approx(
        f1_score(classes, several.predict(X), average="macro")
    )
    assert several.classes_.tolist() == ["a", "b", "c"]


def test_classes_and_their_weights():
    y = LABELS[:, 0]
    model = LowRankClassifier(8, random_state=0).fit(X, np.where(y, "yes", "no"))
    assert model.score(X, np.where(y, "yes", "no")) > 0.8
    assert not model.thresholds_.any()
    balanced = LowRankClassifier(8, class_weight="balanced", random_state=0).fit(X, y)
    by_hand = LowRankClassifier(8, random_state=0).fit(
        X, y, sample_weight=np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    )
    assert balanced.coef_ == pytest.approx(by_hand.coef_, abs=1e-6)
    assert recall_score(y, balanced.predict(X)) > recall_score(
        y, (model.predict(X) == "yes").astype(int)
    )
    with pytest.raises(ValueError, match=r"class_weight .*labels"):
        LowRankClassifier(class_weight="balanced").fit(X, sp.csr_array(LABELS))
