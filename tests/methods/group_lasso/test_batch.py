"""Batch group lasso against other libraries, closed forms and its own optimality conditions."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression, MultiTaskLasso

from tamis import (
    GroupLassoClassifier,
    GroupLassoClassifierCV,
    GroupLassoRegressor,
    GroupLassoRegressorCV,
    load,
    save,
)
from tamis.terms import Huber

pytestmark = pytest.mark.delicate

GROUPS = np.repeat(np.arange(10), 3)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30)) + 1.0
    y = X[:, :3] @ [2.0, -1.0, 1.0] + X[:, 9] + 0.5 * rng.normal(size=80)
    return X, y


def gradient_at(model, X, y, s=None):
    """Return the gradient of the mean loss at the model, (features, outputs), and that of the
    intercepts.
    """
    s = np.full(len(X), 1.0 / len(X)) if s is None else s / s.sum()
    scores = X @ np.atleast_2d(model.coef_).T + model.intercept_
    if isinstance(model, GroupLassoRegressor):
        row_gradients = scores - y.reshape(len(X), -1)
        row_gradients = (
            np.clip(row_gradients, -model.loss.delta, model.loss.delta)
            if isinstance(model.loss, Huber)
            else row_gradients
        )
    elif len(model.classes_) == 2:
        signs = np.where(y == model.classes_[1], 1.0, -1.0)[:, None]
        row_gradients = -signs / (1.0 + np.exp(signs * scores))
    else:
        probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
        row_gradients = probabilities / probabilities.sum(axis=1, keepdims=True) - (
            y[:, None] == model.classes_
        )
    return X.T @ (s[:, None] * row_gradients), (s[:, None] * row_gradients).sum(axis=0)


def assert_optimal(model, X, y, weight, l1, tol, s=None):
    """Check the conditions of A.7: zero groups within their threshold, others at it, coefficient by
    coefficient.
    """
    slope, free = gradient_at(model, X, y, s)
    assert np.abs(free).max() < 1e-9
    coef = np.atleast_2d(model.coef_).T
    for group in model.feature_groups_:
        g, w, a, r = slope[group], coef[group], model.alpha_ * weight(len(group)), model.alpha_ * l1
        shrunk = np.sign(g) * np.maximum(np.abs(g) - r, 0.0)
        if not w.any():
            assert np.linalg.norm(shrunk) <= a + tol
            continue
        full = g + a * w / np.linalg.norm(w) + r * np.sign(w)
        assert np.abs(full[w != 0]).max() < tol
        assert (np.abs(g[w == 0]) <= r + tol).all()


@pytest.mark.filterwarnings("ignore:GroupLassoRegressor stopped after .* This is rounding")
@pytest.mark.parametrize("solver", ["blocks", "fista"])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_optimality_of_regressors(data, solver, ratio, kind):
    X, y = data
    X = np.where(X > 0.5, X, 0.0) if kind == "sparse" else X
    given = sp.csr_array(X) if kind == "sparse" else X
    for loss in ("squared_error", Huber(1.0)):
        model = GroupLassoRegressor(
            GROUPS, 0.1, ratio, solver=solver, loss=loss, tol=1e-12, max_iter=200
        ).fit(given, y)
        assert_optimal(model, X, y, lambda d: (1.0 - ratio) * np.sqrt(d), ratio, 2e-5)
        assert 0 < len(model.support_) < 30


@pytest.mark.parametrize("solver", ["blocks", "fista"])
@pytest.mark.parametrize("classes", [2, 3])
def test_optimality_of_classifiers(data, solver, classes):
    X, y = data
    labels = np.array(["a", "b", "c"])[
        np.digitize(y, [np.median(y)] if classes == 2 else np.quantile(y, [0.3, 0.6]))
    ]
    s = np.random.default_rng(1).uniform(0.5, 2.0, 80)
    model = GroupLassoClassifier(GROUPS, 0.02, 0.2, solver=solver, tol=1e-11, max_iter=200).fit(
        X, labels, s
    )
    assert_optimal(model, X, labels, lambda d: 0.8 * np.sqrt(d), 0.2, 2e-5, s)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(80))
    assert (
        model.predict_proba(X).argmax(axis=1) == np.searchsorted(model.classes_, model.predict(X))
    ).all()


def test_against_scikit_learn(data):
    X, y = data
    ours = GroupLassoRegressor(alpha=0.1, tol=1e-13).fit(X, y)
    assert ours.coef_ == pytest.approx(Lasso(alpha=0.1, tol=1e-12).fit(X, y).coef_, abs=1e-7)
    Y = np.c_[y, X[:, 0] - X[:, 20]]
    theirs = MultiTaskLasso(alpha=0.1, tol=1e-12).fit(X, Y)
    ours = GroupLassoRegressor(alpha=0.1, tol=1e-13).fit(X, Y)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
    labels = y > np.median(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = LogisticRegression(
            penalty="l1", solver="saga", C=1 / (80 * 0.02), tol=1e-9, max_iter=20000
        ).fit(X, labels)
    ours = GroupLassoClassifier(alpha=0.02, tol=1e-10).fit(X, labels)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-3)


def test_orthonormal_columns_have_a_closed_form():
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.normal(size=(40, 9)))[0] * np.sqrt(40)
    y = rng.normal(size=40)
    model = GroupLassoRegressor(np.repeat([0, 1, 2], 3), 0.05, fit_intercept=False, tol=1e-14).fit(
        X, y
    )
    correlations = (X.T @ y / 40).reshape(3, 3)
    norms = np.linalg.norm(correlations, axis=1, keepdims=True)
    expected = correlations * np.maximum(1.0 - 0.05 * np.sqrt(3) / norms, 0.0)
    assert model.coef_ == pytest.approx(expected.ravel(), abs=1e-9)


@pytest.mark.parametrize("cls", [GroupLassoClassifier, GroupLassoRegressor])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_alpha_max_is_where_the_first_group_comes_in(data, cls, ratio):
    X, y = data
    y = y > np.median(y) if cls is GroupLassoClassifier else y
    top = cls(GROUPS, 1.0, ratio).fit(X, y).alpha_max_
    assert not cls(GROUPS, top * (1 + 1e-6), ratio, tol=1e-12).fit(X, y).coef_.any()
    below = cls(GROUPS, top * 0.99, ratio, tol=1e-12).fit(X, y)
    assert len(below.group_support_) == 1
    assert below.coef_.any()


def test_the_gap_is_a_bound_and_screened_groups_stay_out(data):
    X, y = data
    exact = GroupLassoRegressor(GROUPS, 0.3, tol=1e-14, max_iter=500).fit(X, y)
    for tol in (1e-1, 1e-3, 1e-6):
        rough = GroupLassoRegressor(GROUPS, 0.3, tol=tol).fit(X, y)
        assert rough.dual_gap_ <= tol * y.var() * (1 + 1e-9)  # the null deviance
        assert -1e-12 <= rough.objective_ - exact.objective_ <= rough.dual_gap_ + 1e-12
    # From near the solution, where the gap proves something.
    again = GroupLassoRegressor(GROUPS, 0.3, tol=1e-3, warm_start=True).fit(X, y)
    again.set_params(tol=1e-14, max_iter=500).fit(X, y)
    assert again.history_[-1]["screened"] > 0
    assert again.history_[-1]["screened"] + len(exact.group_support_) <= 10
    assert again.objective_ == pytest.approx(exact.objective_, rel=1e-13)


def test_special_cases_are_one_model(data):
    X, y = data
    lasso = GroupLassoRegressor(alpha=0.1, tol=1e-13).fit(X, y).coef_
    assert GroupLassoRegressor(GROUPS, 0.1, 1.0, tol=1e-13).fit(X, y).coef_ == pytest.approx(
        lasso, abs=1e-7
    )
    assert GroupLassoRegressor(GROUPS, 0.1, group_weights=0.0, l1_weights=1.0, tol=1e-13).fit(
        X, y
    ).coef_ == pytest.approx(lasso, abs=1e-7)
    group = GroupLassoRegressor(GROUPS, 0.1, tol=1e-13).fit(X, y)
    listed = GroupLassoRegressor(
        [np.flatnonzero(g == GROUPS) for g in range(10)], 0.1, l1_weights=0.0, tol=1e-13
    ).fit(X, y)
    assert listed.coef_ == pytest.approx(group.coef_, abs=1e-7)
    scaled = GroupLassoRegressor(GROUPS, 0.1 * 8, tol=1e-13).fit(X * 8, y)
    assert scaled.coef_ * 8 == pytest.approx(group.coef_, abs=1e-7)


def test_overlapping_groups_are_the_duplicated_columns(data):
    X, y = data
    groups = [[0, 1, 2, 3], [3, 4, 5], [5, 6, 7, 8], [9, 0]]
    order = np.concatenate(groups)
    copies = GroupLassoRegressor(
        np.repeat(np.arange(4), [len(g) for g in groups]), 0.2, tol=1e-13
    ).fit(X[:, order], y)
    latent = GroupLassoRegressor(groups, 0.2, tol=1e-13).fit(X[:, :10], y)
    wanted = np.zeros(10)
    np.add.at(wanted, order, copies.coef_)
    assert latent.objective_ == pytest.approx(copies.objective_, rel=1e-9)
    assert X[:, :10] @ latent.coef_ == pytest.approx(X[:, :10] @ wanted, abs=1e-5)
    assert set(latent.support_) == {
        j for g in latent.group_support_ for j in latent.feature_groups_[g]
    }
    labels = y > np.median(y)
    for solver in ("blocks", "fista"):
        model = GroupLassoClassifier(groups, 0.01, solver=solver, tol=1e-10).fit(
            sp.csc_array(X[:, :10]), labels
        )
        assert model.dual_gap_ <= 1e-10 * 2.0 * np.log(2.0)  # the null deviance


def test_free_columns_and_positive_weights(data):
    X, y = data
    labels = [None, None, *GROUPS[2:].tolist()]
    for solver in ("blocks", "fista"):
        model = GroupLassoRegressor(labels, 0.4, tol=1e-11, max_iter=300, solver=solver).fit(X, y)
        slope, _ = gradient_at(model, X, y)
        assert np.abs(slope[:2]).max() < 1e-5
        assert model.coef_[0] != 0.0
        strong = GroupLassoRegressor(labels, 1e3, tol=1e-11, max_iter=300, solver=solver).fit(X, y)
        ordinary = np.linalg.lstsq(np.c_[X[:, :2], np.ones(80)], y, rcond=None)[0]
        assert strong.coef_[:2] == pytest.approx(ordinary[:2], abs=1e-4)
        assert not strong.coef_[2:].any()
        positive = GroupLassoRegressor(
            GROUPS, 0.05, 0.2, positive=True, tol=1e-11, max_iter=300, solver=solver
        ).fit(X, y)
        assert (positive.coef_ >= 0.0).all()
        slope, _ = gradient_at(positive, X, y)
        assert (slope[:, 0] > -0.05 * (0.8 * np.sqrt(3) + 0.2) - 1e-6).all()


def test_weights_are_repeats_and_zero_weights_are_nothing(data):
    X, y = data
    s = np.random.default_rng(0).integers(0, 4, 80)
    weighed = GroupLassoRegressor(GROUPS, 0.1, tol=1e-12).fit(X, y, s)
    repeated = GroupLassoRegressor(GROUPS, 0.1, tol=1e-12).fit(
        np.repeat(X, s, axis=0), np.repeat(y, s)
    )
    assert weighed.coef_ == pytest.approx(repeated.coef_, abs=1e-6)
    again = GroupLassoRegressor(GROUPS, 0.1, tol=1e-12).fit(X[s > 0], y[s > 0], s[s > 0])
    assert np.array_equal(weighed.coef_, again.coef_)


def test_many_sparse_columns_and_a_wide_working_set():
    """Sweeps over columns, dense and sparse, where no Gram matrix is made."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 300)) * (rng.random((40, 300)) < 0.2)
    y = X[:, :10].sum(axis=1) + 0.1 * rng.normal(size=40)
    groups = np.arange(300) // 3
    dense, sparse, fista = (
        GroupLassoRegressor(groups, 0.01, tol=1e-10, max_iter=300, solver=solver).fit(given, y)
        for given, solver in ((X, "auto"), (sp.csr_array(X), "auto"), (X, "fista"))
    )
    assert dense.objective_ == pytest.approx(fista.objective_, rel=1e-8)
    assert sparse.objective_ == pytest.approx(fista.objective_, rel=1e-8)


@pytest.mark.long
def test_sparse_tables_stay_sparse():
    X = sp.random_array((400, 60_000), density=2e-4, rng=np.random.default_rng(0), format="csr")
    y = np.asarray(X[:, :2000].sum(axis=1)).ravel()
    tracemalloc.start()
    try:
        model = GroupLassoRegressor(np.arange(60_000) // 3, tol=1e-4).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400 * 60_000 * 8 / 4
    assert 0 < len(model.support_) < 60_000


# ----------------------------------------------------------------- paths, cross-validation, manners
def test_a_path_is_a_row_of_fits(data):
    X, y = data
    model = GroupLassoRegressor(GROUPS, tol=1e-10)
    path = model.path(X, y, alphas=5)
    assert not path["coef"][0].any()
    assert path["alpha"][-1] == pytest.approx(0.01 * path["alpha"][0])
    for k, alpha in enumerate(path["alpha"]):
        alone = GroupLassoRegressor(GROUPS, alpha, tol=1e-10).fit(X, y)
        assert path["coef"][k, 0] == pytest.approx(alone.coef_, abs=1e-4)
        assert path["intercept"][k] == pytest.approx(alone.intercept_, abs=1e-3)
    assert not hasattr(model, "coef_")


def test_the_one_standard_error_rule(data):
    X, y = data
    model = GroupLassoRegressorCV(GROUPS, alphas=12, cv=4).fit(X, y)
    found = model.cv_results_
    means, best = found["mean_test_loss"], model.best_index_
    assert means[best] <= found["limit"]
    assert best == 0 or means[best - 1] > found["limit"]
    low = means.argmin()
    assert found["limit"] == pytest.approx(
        means[low] + found["split_test_loss"][low].std(ddof=1) / 2.0
    )
    least = GroupLassoRegressorCV(GROUPS, alphas=12, cv=4, se=0.0).fit(X, y)
    assert least.best_index_ == low
    assert len(model.group_support_) <= len(least.group_support_)
    assert model.coef_ == pytest.approx(
        GroupLassoRegressor(GROUPS, model.alpha_).fit(X, y).coef_, abs=1e-2
    )
    folds = [(np.arange(40), np.arange(40, 80))]
    assert GroupLassoRegressorCV(GROUPS, alphas=[0.5, 0.1], cv=folds).fit(X, y).alpha_ in (0.5, 0.1)
    three = GroupLassoClassifierCV(GROUPS, alphas=4, cv=3).fit(
        X, np.digitize(y, np.quantile(y, [0.3, 0.6]))
    )
    assert three.coef_.shape == (3, 30)


def test_too_few_iterations_warn_with_the_gap(data):
    with pytest.warns(ConvergenceWarning, match="duality gap.*Raise max_iter or tol"):
        GroupLassoRegressor(GROUPS, 0.01, tol=1e-12, max_iter=1).fit(*data)


def test_warm_start_begins_at_the_last_solution(data):
    X, y = data
    model = GroupLassoRegressor(GROUPS, 0.1, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ == 1
    cold = GroupLassoRegressor(GROUPS, 0.05).fit(X, y)
    assert model.set_params(alpha=0.05).fit(X, y).objective_ == pytest.approx(
        cold.objective_, rel=1e-5
    )


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_losses_with_kinks_are_refused(data, loss):
    X, y = data
    model = GroupLassoClassifier(loss=loss) if loss == "hinge" else GroupLassoRegressor(loss=loss)
    with pytest.raises((TypeError, ValueError), match=r"kink|lacks the method"):
        model.fit(X, y > 0 if loss == "hinge" else y)


def test_files_keep_the_model(data, tmp_path):
    X, y = data
    model = GroupLassoRegressorCV(GROUPS, alphas=4, cv=2).fit(X, y)
    save(model, tmp_path / "m.tamis")
    assert np.array_equal(load(tmp_path / "m.tamis").predict(X), model.predict(X))


def test_column_names(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=[f"{'ab'[j // 15]}_{j}" for j in range(30)])
    model = GroupLassoRegressor(["a_", "b_"], 0.1).fit(frame, y)
    assert [len(g) for g in model.feature_groups_] == [15, 15]


@pytest.mark.long
@pytest.mark.parametrize("rows", [60, 700])
def test_columns_that_are_read_in_place_give_the_same_model(rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 640)) + rng.normal(size=640)
    y = X[:, :20] @ rng.normal(size=20) + rng.normal(size=rows)
    groups = np.arange(640) // 5
    alpha = 0.02 * GroupLassoRegressor(groups).fit(X, y).alpha_max_
    by_rows = GroupLassoRegressor(groups, alpha, tol=1e-10).fit(X, y)
    by_columns = GroupLassoRegressor(groups, alpha, tol=1e-10).fit(np.asfortranarray(X), y)
    sparse = GroupLassoRegressor(groups, alpha, tol=1e-10).fit(sp.csc_matrix(X), y)
    assert len(by_rows.support_) > 60
    for other in (by_columns, sparse):
        assert other.objective_ == pytest.approx(by_rows.objective_, rel=1e-9)
        assert other.coef_ == pytest.approx(by_rows.coef_, abs=1e-3)
        slope = X.T @ (other.predict(X) - y) / rows
        value = (
            0.5 * np.mean((y - other.predict(X)) ** 2)
            + alpha * np.sqrt(5) * np.sqrt((other.coef_.reshape(-1, 5) ** 2).sum(axis=1)).sum()
        )
        assert value == pytest.approx(other.objective_, rel=1e-10)  # as near as was asked for
        assert np.sqrt((slope.reshape(-1, 5) ** 2).sum(axis=1)).max() <= alpha * np.sqrt(5) * (
            1 + 1e-4
        )
