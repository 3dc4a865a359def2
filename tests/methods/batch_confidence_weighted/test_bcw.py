"""BCW against plain NumPy and other libraries, and the invariants of the method."""

import numpy as np
import pytest
import scipy.sparse as sp
from methods.batch_confidence_weighted import reference
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from tamis import BCWClassifier

pytestmark = pytest.mark.delicate

X, Y = reference.make_data()
N, D = X.shape
WEIGHTS = np.random.default_rng(3).integers(0, 4, N) / 2.0
SOLVERS = ("cholesky", "kernel", "raw")
LOSSES = ("hinge", "squared_hinge")
IN_ORDER = {"shuffle": False, "fit_intercept": False}


def ordered_model(**params):
    return BCWClassifier(**{**IN_ORDER, **params})


def converged_model(**params):
    """Return an unfitted model that runs to the optimum."""
    return BCWClassifier(
        **{"max_iter": 3000, "tol": 1e-13, "fit_intercept": False, "random_state": 0, **params}
    )


# -------------------------------------------------------------------------- one mean by all solvers
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighed"])
def test_every_solver_gives_the_mean_of_the_eigenvectors(form, solver, loss, weights):
    has_weight = slice(None) if weights is None else weights > 0
    positive_weights = None if weights is None else weights[has_weight]
    mean, precision, _ = reference.bcw_batch(
        X[has_weight],
        Y[has_weight],
        0.8,
        0.3,
        loss == "squared_hinge",
        np.zeros(D),
        np.eye(D),
        2,
        positive_weights,
    )
    model = ordered_model(C=0.8, cov_C=0.3, loss=loss, solver=solver, max_iter=2, tol=None).fit(
        form(X), Y, sample_weight=weights
    )
    assert model.coef_[0] == pytest.approx(mean, abs=1e-10)
    covariance = np.linalg.inv(precision)
    assert model.variance_[0] == pytest.approx(covariance.diagonal(), rel=1e-10)
    margin, deviation = model.predict_margin(form(X[:7]))
    assert margin == pytest.approx(X[:7] @ mean, abs=1e-10)
    assert deviation**2 == pytest.approx(
        np.einsum("ij,jk,ik->i", X[:7], covariance, X[:7]), rel=1e-9
    )


@pytest.mark.parametrize("prior_mean", ["last", "dual"])
@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_solvers_agree_over_batches(prior_mean, solver):
    mean, precision, dual_sum = np.zeros(D), np.eye(D), np.zeros(D)
    model = ordered_model(
        C=0.8, cov_C=0.3, loss="squared_hinge", solver=solver, prior_mean=prior_mean
    )
    for rows in (slice(0, 6), slice(6, 30), slice(30, 80)):
        new_precision = precision + 0.3 * X[rows].T @ X[rows]
        start = mean if prior_mean == "last" else np.linalg.solve(new_precision, dual_sum)
        mean, precision, alpha = reference.bcw_batch(
            X[rows], Y[rows], 0.8, 0.3, True, start, precision
        )
        dual_sum = dual_sum + X[rows].T @ (alpha * Y[rows])
        model.partial_fit(
            sp.csr_array(X[rows]) if solver == "raw" else X[rows], Y[rows], classes=[-1, 1]
        )
        assert model.coef_[0] == pytest.approx(mean, abs=1e-10)
        assert model.variance_[0] == pytest.approx(np.linalg.inv(precision).diagonal(), rel=1e-9)


def test_auto_uses_the_kernel_while_rows_are_fewer_than_columns():
    model = ordered_model()
    model.partial_fit(X[:6], Y[:6], classes=[-1, 1])
    assert model._belief.factor is None
    assert model._belief.scaled_rows.shape == (6, D)
    model.partial_fit(X[6:30], Y[6:30])
    assert model._belief.scaled_rows is None
    assert model._belief.factor.shape == (D, D)
    with pytest.raises(ValueError, match="solver='kernel' cannot learn this batch"):
        model.set_params(solver="kernel").partial_fit(X[30:], Y[30:])


def test_fewer_rows_than_columns_need_no_array_of_columns_by_columns():
    """The square of 200,000 columns would be 320 GB."""
    wide = sp.random_array((40, 200_000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    y = np.arange(40) % 2
    model = BCWClassifier(random_state=0).fit(wide, y)
    assert model.score(wide, y) == 1.0
    model.partial_fit(wide[:10], y[:10])
    assert model._belief.scaled_rows.shape == (50, 200_001)
    assert model.predict_margin(wide)[1].shape == (40,)
    assert (model.variance_ <= 1.0).all()


@pytest.mark.parametrize("solver", ["auto", "kernel"])
def test_dense_and_sparse_rows_may_follow_each_other(solver):
    forms = (sp.csr_array, np.asarray)
    reference_model = ordered_model(solver=solver, loss="squared_hinge")
    for rows in (slice(0, 4), slice(4, 7), slice(7, 30)):
        reference_model.partial_fit(X[rows], Y[rows], classes=[-1, 1])
    for first in range(2):
        model = ordered_model(solver=solver, loss="squared_hinge")
        for k, rows in enumerate((slice(0, 4), slice(4, 7), slice(7, 30))):
            model.partial_fit(forms[(first + k) % 2](X[rows]), Y[rows], classes=[-1, 1])
            for form in forms:
                assert model.predict_margin(form(X))[1][0] > 0
        assert model.coef_ == pytest.approx(reference_model.coef_, abs=1e-12)
        for form in forms:
            assert model.predict_margin(form(X))[1] == pytest.approx(
                reference_model.predict_margin(X)[1], abs=1e-12
            )


def test_a_covariance_too_large_for_memory_is_refused():
    with pytest.raises(MemoryError, match=r"2,000,001 columns .*SparseBCWClassifier"):
        BCWClassifier(solver="cholesky").fit(sp.eye_array(3, 2_000_000, format="csr"), [0, 1, 1])


# --------------------------------------------------------------------------- special cases
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_without_covariance_a_pass_is_passive_aggressive(form):
    """PA-I and PA-II from zero (Crammer et al. 2006) are one sweep of the dual of the SVM; an empty
    row does not change them.
    """
    for loss, squared in (("hinge", False), ("squared_hinge", True)):
        w = np.zeros(D)
        for x, y in zip(X, Y, strict=True):
            slack = max(0.0, 1.0 - y * (w @ x))
            if x.any():
                w += (
                    y
                    * x
                    * (slack / (x @ x + 1.0 / (2 * 0.5)) if squared else min(0.5, slack / (x @ x)))
                )
        assert ordered_model(C=0.5, cov_C=0, loss=loss).fit(form(X), Y).coef_[0] == pytest.approx(
            w, abs=1e-12
        )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shuffle", [False, True])
def test_below_the_margin_a_pass_is_ridge_regression(solver, shuffle):
    """With small C every step reaches its bound, and the order of the rows has no effect."""
    C = 1e-3
    model = BCWClassifier(
        C=C, solver=solver, fit_intercept=False, shuffle=shuffle, random_state=0
    ).fit(X, Y)
    assert model.coef_[0] == pytest.approx(
        Ridge(alpha=1 / C, fit_intercept=False).fit(X, Y).coef_, abs=1e-12
    )


@pytest.mark.parametrize("prior_mean", ["dual", "last"])
def test_batches_below_the_margin_equal_one_batch_with_prior_mean_dual(prior_mean):
    one_batch, batches = (ordered_model(C=1e-3, prior_mean=prior_mean) for _ in range(2))
    one_batch.fit(X, Y)
    for rows in np.array_split(np.arange(N), 5):
        batches.partial_fit(X[rows], Y[rows], classes=[-1, 1])
    difference = np.abs(one_batch.coef_ - batches.coef_).max()
    assert (difference < 1e-12) == (prior_mean == "dual")


@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_liblinears_on_whitened_rows(loss):
    precision = np.eye(D) + 0.4 * X.T @ X
    L = np.linalg.cholesky(np.linalg.inv(precision))
    svm = LinearSVC(
        C=0.7, loss=loss, dual=True, fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(X @ L, Y)
    model = converged_model(C=0.7, cov_C=0.4, loss=loss, tol=1e-12).fit(X, Y)
    assert model.coef_[0] == pytest.approx(L @ svm.coef_[0], abs=1e-5)


def test_the_intercept_is_liblinears():
    svm = LinearSVC(
        C=0.7, loss="squared_hinge", dual=True, intercept_scaling=2.0, tol=1e-10, max_iter=1_000_000
    ).fit(X, Y)
    for form in (np.asarray, sp.csr_array):
        model = converged_model(
            C=0.7, cov_C=0, loss="squared_hinge", fit_intercept=True, intercept_scaling=2.0
        ).fit(form(X), Y)
        assert model.intercept_ == pytest.approx(svm.intercept_, abs=1e-6)
        assert model.coef_ == pytest.approx(svm.coef_, abs=1e-6)


# --------------------------------------------------------------------------- the dual
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("cov_C", [None, 0.01, 0.0])
def test_the_dual_rises_and_the_gap_closes_with_empty_rows_too(loss, solver, cov_C):
    rows = X.copy()
    rows[::4] = 0.0
    model = converged_model(loss=loss, solver=solver, cov_C=cov_C, tol=1e-9).fit(rows, Y)
    dual = np.array([record["dual"] for record in model.history_])
    gaps = np.array([record["gap"] for record in model.history_])
    assert (np.diff(dual) >= -1e-12 * np.abs(dual[1:])).all()
    assert gaps.min() >= -1e-9
    assert model.gap_ <= 1e-9
    assert len(model.history_) == model.n_iter_ < 3000


def test_the_gap_of_later_batches_closes_too():
    model = converged_model(loss="squared_hinge", tol=1e-10)
    for prior_mean in ("last", "dual"):
        model.set_params(prior_mean=prior_mean).fit(X[:40], Y[:40])
        model.partial_fit(X[40:], Y[40:])
        assert -1e-9 <= model.gap_ <= 1e-10


def test_too_few_sweeps_warn():
    with pytest.warns(ConvergenceWarning, match=r" 2 sweeps.*gap.*max_iter"):
        BCWClassifier(max_iter=2, tol=1e-12, random_state=0).fit(X, Y)
    model = BCWClassifier(random_state=0).fit(X, Y)  # one sweep is the method, not a failure
    assert model.n_iter_ == 1
    assert model.gap_ > 0


# --------------------------------------------------------------------------- symmetries and weights
@pytest.mark.parametrize("solver", SOLVERS)
def test_flipped_labels_negate_the_mean_exactly(solver):
    a, b = (BCWClassifier(solver=solver, random_state=0).fit(X, sign * Y) for sign in (1, -1))
    assert np.array_equal(a.coef_, -b.coef_)
    assert np.array_equal(a.intercept_, -b.intercept_)


@pytest.mark.parametrize("loss", LOSSES)
def test_weight_equals_repetition_at_the_optimum_and_0_deletes_a_row(loss):
    counts = np.random.default_rng(1).integers(0, 4, N)
    weighted = converged_model(loss=loss, tol=1e-12).fit(X, Y, sample_weight=counts)
    repeated = converged_model(loss=loss, tol=1e-12).fit(
        np.repeat(X, counts, axis=0), np.repeat(Y, counts)
    )
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-5)
    masked, without = (ordered_model(loss=loss) for _ in range(2))
    masked.fit(X, Y, sample_weight=counts > 0)
    without.fit(X[counts > 0], Y[counts > 0])
    assert np.array_equal(masked.coef_, without.coef_)


def test_several_classes_are_one_vs_rest_with_one_covariance():
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model = BCWClassifier(shuffle=False).fit(X, y)
    for c in range(3):
        binary = BCWClassifier(shuffle=False).fit(X, y == c)
        assert model.coef_[c] == pytest.approx(binary.coef_[0], abs=1e-13)
        assert model.intercept_[c] == pytest.approx(binary.intercept_[0], abs=1e-13)
    margin, deviation = model.predict_margin(X)
    assert margin.shape == deviation.shape == model.predict_confidence(X).shape == (N, 3)
    assert np.array_equal(model.predict(X), margin.argmax(axis=1))


def test_rows_of_the_same_numbers_in_single_precision_give_the_same_mean():
    exact = X.astype(np.float32)
    for form in (np.asarray, sp.csr_array):
        a, b = (
            BCWClassifier(random_state=0).fit(form(exact), Y),
            BCWClassifier(random_state=0).fit(form(exact.astype(float)), Y),
        )
        assert a.coef_ == pytest.approx(b.coef_, abs=1e-13)
        assert a.decision_function(form(exact)) == pytest.approx(
            b.decision_function(form(exact.astype(float))), abs=1e-13
        )


# --------------------------------------------------------------------------- accuracy and speed
def test_on_digits_one_pass_equals_ridge_and_the_accurate_mode_an_svm():
    """Even against odd digits: the errors differ by less than their standard error, and by less
    than half of it between orders of the rows.
    """
    rows, digits = load_digits(return_X_y=True)
    rows, y = np.column_stack([rows / 16.0, np.ones(len(rows))]), digits % 2
    split = train_test_split(rows, y, test_size=0.5, random_state=0, stratify=digits)

    def error(model):
        return np.mean(model.fit(split[0], split[2]).predict(split[1]) != split[3])

    ridge = error(RidgeClassifier(alpha=1.0, fit_intercept=False))
    one_pass = [
        error(BCWClassifier(loss="squared_hinge", fit_intercept=False, random_state=seed))
        for seed in range(5)
    ]
    standard_error = np.sqrt(ridge * (1.0 - ridge) / len(split[3]))
    assert abs(np.mean(one_pass) - ridge) <= standard_error
    assert np.std(one_pass) <= 0.5 * standard_error
    svm = error(LinearSVC(C=1.0, fit_intercept=False, max_iter=10_000))
    accurate = error(
        BCWClassifier(
            cov_C=0.01, loss="squared_hinge", max_iter=100, fit_intercept=False, random_state=0
        )
    )
    assert abs(accurate - svm) <= standard_error


def test_less_covariance_needs_more_sweeps():
    """The covariance is a preconditioner: with a hundredth of it, or without it, the same gap needs
    more sweeps.
    """
    sweeps = [
        converged_model(C=4.0, cov_C=ratio * 4.0, loss="squared_hinge", tol=1e-3).fit(X, Y).n_iter_
        for ratio in (1.0, 0.01, 0.0)
    ]
    assert sweeps[0] < sweeps[1] <= sweeps[2]
