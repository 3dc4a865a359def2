"""The bounds of thresholding hold, and the certificate is between the true gap and the a-priori
bound.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from methods.data_thresholding.problems import (
    fit_thresholded,
    hinge_program,
    optimum,
    random_problem,
)
from scipy.optimize import brentq
from scipy.special import entr, expit
from sklearn.linear_model import LogisticRegression
from spelling import L1

from tamis.methods.data_thresholding import solver
from tamis.methods.data_thresholding.bounds import (
    LOSS_AT_ZERO,
    absolute_bound,
    constrained_bound,
    dual_limit,
    dual_value,
    objective,
    relative_bound,
    safe_threshold,
)
from tamis.methods.data_thresholding.certificate import Certificate
from tamis.methods.data_thresholding.loop_rows import logistic_duals
from tamis.methods.data_thresholding.solver import refine_duals, solve
from tamis.methods.data_thresholding.thresholds import (
    apply_threshold,
    correlate_columns,
    halving_thresholds,
    select_columns,
    threshold_for_fraction,
)

pytestmark = pytest.mark.delicate

LOSSES = ("logistic", "hinge")
TOL = 1e-9


# --------------------------------------------------------------------------- solvers
@pytest.mark.parametrize("intercept", [True, False])
def test_the_logistic_solver_reaches_the_optimum_of_scikit_learn(intercept):
    X, problem = random_problem(1, "logistic")
    problem = problem._replace(
        intercept=intercept, row_weights=np.full(len(X), 1 / len(X)), strength=0.02
    )
    fit = solve(problem, X, 1e-10, 300)
    other = LogisticRegression(
        **L1,
        solver="saga",
        C=1 / (0.02 * len(X)),
        fit_intercept=intercept,
        tol=1e-10,
        max_iter=100000,
    )
    other.fit(X, problem.signs)
    assert fit.converged
    assert fit.weights == pytest.approx(other.coef_[0], abs=1e-5)
    assert fit.intercept == pytest.approx(other.intercept_[0] if intercept else 0.0, abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_the_hinge_solver_reaches_the_optimum_of_the_program(seed):
    X, problem = random_problem(seed, "hinge")
    value, gap = optimum(X, problem)
    assert gap <= 1e-7
    assert value == pytest.approx(hinge_program(X, problem), abs=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_wide_data_need_several_working_sets(loss):
    """With more columns than the first working set has, the optimum is over all of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 400))
    problem = random_problem(1, loss)[1]._replace(strength=0.01)
    fit = solve(problem, X, 1e-8, 300)
    assert fit.converged
    assert fit.n_iter > 1
    assert objective(problem, fit.weights, X @ fit.weights + fit.intercept) == pytest.approx(
        optimum(X, problem)[0], rel=1e-6
    )


# --------------------------------------------------------------------------- duals
@pytest.mark.parametrize("far", [0.5, 6.0, -12.0])
def test_logistic_duals_at_the_best_intercept(far):
    """Newton steps of at most 1, which converge quadratically near the root."""
    _, problem = random_problem(3, "logistic")
    signs, scores = problem.signs, np.random.default_rng(0).normal(size=len(problem.signs)) + far

    def gradient(intercept):
        return signs @ (problem.row_weights * expit(-signs * (scores + intercept)))

    root, duals = brentq(gradient, -30.0, 30.0), np.empty_like(scores)
    logistic_duals(problem.signs, problem.row_weights, scores, int(abs(root)) + 5, duals)
    margins = problem.signs * (scores + root)
    assert duals == pytest.approx(problem.row_weights * expit(-margins), abs=1e-7)
    logistic_duals(problem.signs, problem.row_weights, scores, 0, duals)
    margins = problem.signs * scores
    assert duals == pytest.approx(problem.row_weights * expit(-margins), abs=1e-15)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_limit_of_the_dual_is_that_of_equal_rows(loss):
    _, problem = random_problem(2, loss)
    fractions = np.random.default_rng(0).random(len(problem.signs))
    for correlation in (0.0, 0.5 * problem.strength, 3.0 * problem.strength):
        alphas = problem.row_weights * fractions
        assert dual_value(problem, alphas, correlation) <= (
            dual_limit(problem, alphas, correlation) + 1e-12
        )
        scale = 1.0 / 3.0 if correlation > problem.strength else 1.0
        for fraction in (0.0, 0.3, 1.0):
            value = dual_value(problem, fraction * problem.row_weights, correlation)
            limit = dual_limit(problem, fraction * problem.row_weights, correlation)
            mean = scale * fraction
            expected = mean if loss == "hinge" else float(entr(mean) + entr(1.0 - mean))
            assert value == pytest.approx(expected)
            assert limit == pytest.approx(expected) or (loss == "logistic" and mean in (0.0, 1.0))
            assert limit >= value - 1e-12


# --------------------------------------------------------------------------- bounds
@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES)
def test_no_bound_is_violated(loss):
    """0 <= true gap <= gap; true gap <= aposteriori <= apriori; the bounds from the thresholded
    data hold on both sides.
    """
    for seed in range(25):
        X, problem = random_problem(seed, loss)
        best, gap = optimum(X, problem)
        for threshold in (0.02, 0.2, 0.8):
            thresholded, _, certificate = fit_thresholded(X, problem, threshold)
            truth = certificate.primal_original - best
            assert truth >= -TOL - gap
            assert truth <= certificate.gap + TOL + gap
            assert truth <= certificate.aposteriori + TOL + gap
            assert (
                certificate.aposteriori
                <= certificate.apriori_rel * best + TOL + gap + certificate.solver_gap * 2
            )
            assert truth <= certificate.apriori_abs + TOL + gap
            assert certificate.dual_bound <= best + TOL
            assert certificate.dual_thresholded <= certificate.dual_bound + TOL
            assert certificate.upper_thresholded >= certificate.primal_original - TOL
            assert certificate.rel_gap == pytest.approx(certificate.gap / certificate.dual_bound)
            assert certificate.vacuous == (
                certificate.apriori_abs >= LOSS_AT_ZERO[loss] and thresholded.max_dropped > 0
            )


@pytest.mark.parametrize("loss", LOSSES)
def test_the_sandwich(loss):
    for seed in range(8):
        X, problem = random_problem(seed, loss)
        thresholded = apply_threshold(X, 0.3 * problem.strength)
        best, gap = optimum(X, problem)
        below = optimum(
            thresholded.matrix,
            problem._replace(strength=problem.strength - thresholded.max_dropped),
        )
        above = optimum(
            thresholded.matrix,
            problem._replace(strength=problem.strength + thresholded.max_dropped),
        )
        assert below[0] - below[1] <= best + TOL
        assert best - gap <= above[0] + TOL


def test_the_certificate_is_far_tighter_than_the_apriori_bound():
    """The a-priori bounds are loose by orders of magnitude."""
    ratios = []
    for seed in range(10):
        X, problem = random_problem(seed, "logistic")
        certificate = fit_thresholded(X, problem, 0.2)[2]
        ratios.append(certificate.gap / certificate.apriori_abs)
    assert np.median(ratios) < 0.01


@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_dropped_is_the_plain_problem(loss):
    X, problem = random_problem(4, loss)
    thresholded, _, certificate = fit_thresholded(X, problem, 0.0)
    assert thresholded.matrix is X
    assert (thresholded.max_dropped, thresholded.share) == (0.0, 1.0)
    assert certificate.primal_original == certificate.primal_thresholded
    assert certificate.gap <= 1e-6
    assert certificate.apriori_abs == pytest.approx(certificate.solver_gap)
    assert not certificate.vacuous


def test_safe_thresholds_invert_the_bounds():
    for strength, max_error in ((0.01, 0.1), (0.3, 0.02)):
        t = safe_threshold(max_error, "relative", strength, 1.0)
        assert relative_bound(t, strength) == pytest.approx(max_error)
        t = safe_threshold(max_error, "absolute", strength, 0.7)
        assert absolute_bound(t, strength, 0.7) == pytest.approx(max_error)
        # Along a path a small objective at a larger strength allows a larger threshold.
        assert safe_threshold(max_error, "absolute", strength, 0.7, 0.01) > safe_threshold(
            max_error, "absolute", strength, 0.7
        )
    # The rule of the report would give 0.00488.
    assert safe_threshold(0.1, "absolute", 0.1, 1.0, 1.0) == pytest.approx(0.005)


@pytest.mark.parametrize(("radius", "gap"), [(0.3, 0.6), (1.5, 2.5)])
def test_the_constrained_bound_is_tight_for_small_radii_only(radius, gap):
    """X = [x, -x], x = t e_1 with t = 1: all entries are dropped, and the worst of all optimal
    solutions is w = -c e_1.
    """
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    assert apply_threshold(X, 1.0).max_dropped == 1.0

    def loss(w):
        return np.maximum(1.0 - y * (X[:, 0] * w), 0.0).mean()

    best = min(loss(w) for w in np.linspace(-radius, radius, 3001))
    assert loss(-radius) - best == pytest.approx(gap)
    assert loss(-radius) - best <= constrained_bound(1.0, radius) + 1e-12
    assert loss(0.0) - best == pytest.approx(min(radius, 1.0))


# --------------------------------------------------------------------------- matrices
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_and_dense_drop_the_same(dtype, index):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 11)) * (rng.random((30, 11)) < 0.6)).astype(dtype)
    rows = sp.csr_array(X)
    rows = sp.csr_array(
        (rows.data, rows.indices.astype(index), rows.indptr.astype(index)), shape=X.shape
    )
    before, fractions = rows.copy(), []
    for threshold in (0.0, 0.1, 0.5, 1.3, 9.0):
        dense, sparse = apply_threshold(X, threshold), apply_threshold(rows, threshold)
        expected = np.where(np.abs(X) > threshold, X, 0)
        as_dense = dense.matrix.toarray() if sp.issparse(dense.matrix) else dense.matrix
        assert np.array_equal(as_dense, expected)
        assert np.array_equal(sparse.matrix.toarray(), expected)
        assert dense[1:] == sparse[1:]
        assert sp.issparse(dense.matrix) == (dense.share < 0.25)
        assert dense.share == np.count_nonzero(expected) / np.count_nonzero(X)
        assert sparse.max_dropped <= threshold
        assert sparse.matrix.dtype == dtype
        fractions.append(dense.share)
    assert fractions == sorted(fractions, reverse=True)
    assert fractions[-1] == 0.0
    assert (before != rows).nnz == 0


def test_thresholds_by_fraction_and_by_halving():
    X = np.array([[1.0, -2.0, 0.0, 3.0, 4.0]])
    assert apply_threshold(X, threshold_for_fraction(X, 0.5)).share == 0.5
    assert threshold_for_fraction(X, 1.0) == 0.0
    assert apply_threshold(X, threshold_for_fraction(X, 0.0)).share == 0.0
    assert threshold_for_fraction(np.zeros((2, 2)), 0.5) == 0.0
    assert list(halving_thresholds(X, 5.0)) == [5.0, 2.5, 1.25, 0.0]
    assert list(halving_thresholds(X, 5.0, floor=1.5)) == [5.0, 2.5, 1.5]
    assert list(halving_thresholds(X, 0.5)) == [0.0]


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_products_and_columns_are_equal_for_sparse_and_dense(index):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 13)) * (rng.random((40, 13)) < 0.4)
    X[[0, 7, 39]] = 0.0  # empty rows, also the first and the last one
    rows, coefficients = sp.csr_array(X), rng.normal(size=40)
    rows = sp.csr_array(
        (rows.data, rows.indices.astype(index), rows.indptr.astype(index)), shape=X.shape
    )
    for matrix in (X, rows):
        assert correlate_columns(matrix, coefficients) == pytest.approx(
            X.T @ coefficients, abs=1e-12
        )
        for columns in ([4], [0, 5, 12], list(range(13))):
            selected = select_columns(matrix, np.array(columns))
            assert np.array_equal(selected.toarray(), X[:, columns])
            assert selected.nnz == np.count_nonzero(X[:, columns])


@pytest.mark.parametrize("intercept", [True, False])
def test_refined_duals_by_gram_steps_equal_those_by_newton_steps(intercept, monkeypatch):
    """Near the optimum no step is shortened, and both methods take the same steps."""
    X, problem = random_problem(2, "logistic")
    problem = problem._replace(intercept=intercept, strength=0.02)
    rough_fit = solve(problem, X, 1e-3, 300)
    duals = []
    for sweeps in (1e9, -1.0):
        monkeypatch.setattr(solver, "MAX_GRAM_WORK", sweeps)
        duals.append(refine_duals(problem, sp.csr_array(X), rough_fit.weights, rough_fit.scores))
    best = solve(problem, X, 1e-10, 300)
    assert duals[0] == pytest.approx(duals[1], abs=1e-6)
    assert duals[0] == pytest.approx(best.alphas, abs=1e-5)


def test_a_certificate_holds_if_one_of_its_bounds_does():
    """Up to equality, and in the units of `mode`."""
    base = dict.fromkeys(Certificate.__annotations__, 9.0) | {"dual_bound": 2.0}
    for name, mode, limit in (
        ("rel_gap", "relative", 0.5),
        ("apriori_rel", "relative", 0.5),
        ("aposteriori", "relative", 0.25),
        ("gap", "absolute", 0.5),
        ("apriori_abs", "absolute", 0.5),
        ("aposteriori", "absolute", 0.5),
    ):
        certificate = Certificate(**(base | {name: 0.5}))
        assert certificate.is_within(limit, mode)
        assert certificate.is_within(2.0 * limit, mode)
        assert not certificate.is_within(0.99 * limit, mode)
