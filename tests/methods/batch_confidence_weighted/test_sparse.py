"""SBCW against plain NumPy, a convex optimum and BCW, and the invariants of the method."""

import numpy as np
import pytest
import scipy.sparse as sp
from methods.batch_confidence_weighted import reference
from sklearn.exceptions import ConvergenceWarning

from tamis import BCWClassifier, SparseBCWClassifier
from tamis.datasets import make_text
from tamis.methods.batch_confidence_weighted.blocks import BlockPosterior, SelectedRows
from tamis.methods.batch_confidence_weighted.cutting_planes import (
    BlockDualAscent,
    SBCWOptions,
    conjugate,
)
from tamis.methods.batch_confidence_weighted.dual import make_dual

pytestmark = pytest.mark.delicate

X, Y = reference.make_data(200, 12, seed=1)
N, D = X.shape
LOSSES = ("hinge", "squared_hinge")
DEFAULTS = {"fit_intercept": False, "random_state": 0, "theta_tol": 0.0}
TIGHT = {"max_iter": 5000, "tol": 1e-11}


def fit(rows=X, y=Y, **params):
    return SparseBCWClassifier(
        **{**DEFAULTS, "n_features_to_select": D, "block_size": 3, **params}
    ).fit(rows, y)


# --------------------------------------------------------------------------- the conjugate
@pytest.mark.parametrize("sigma", [1.0, 0.1, 0.01])
def test_the_conjugate_and_its_gradient(sigma):
    """Optimality of the maximiser, the formula with sorting, and finite differences."""
    rng = np.random.default_rng(0)
    for case in range(60):
        a = rng.exponential(size=1 + case % 7) * (rng.random(1 + case % 7) < 0.9)
        value, t = conjugate(a, sigma)
        slack = a - sigma * t - t.sum()
        assert np.abs(slack[t > 0]).max(initial=0.0) <= 1e-10
        assert slack[t == 0].max(initial=-1.0) <= 1e-10
        assert value == pytest.approx(a @ t - 0.5 * sigma * t @ t - 0.5 * t.sum() ** 2, abs=1e-10)
        assert t == pytest.approx(reference.conjugate_gradient_norms(a, sigma)[0], abs=1e-10)
        for k in range(len(a)):
            step = 1e-6 * np.eye(len(a))[k]
            if a[k] > 1e-3:
                assert (
                    conjugate(a + step, sigma)[0] - conjugate(a - step, sigma)[0]
                ) / 2e-6 == pytest.approx(t[k], abs=2e-4 / sigma * 0.1)


# --------------------------------------------------------------------------- known optima
@pytest.mark.parametrize("solver", ["mkl", "exact"])
@pytest.mark.parametrize("sigma", [0.5, 0.01])
def test_one_block_of_all_columns_is_a_linear_svm(solver, sigma):
    model = fit(
        block_size=D,
        covariance="identity",
        sigma=sigma,
        solver=solver,
        C=0.7,
        max_iter=5000,
        tol=3e-16,
    )
    assert model.coef_[0] == pytest.approx(reference.newton_svm(X, Y, 0.7, sigma), abs=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_block_of_all_columns_with_covariance_is_bcw(loss):
    wide = BCWClassifier(
        C=0.7, cov_C=0.3, loss=loss, fit_intercept=False, max_iter=5000, tol=1e-12, random_state=0
    ).fit(X, Y)
    model = fit(block_size=D, loss=loss, C=0.7, cov_C=0.3, sigma=1e-6, max_iter=5000, tol=1e-12)
    assert model.coef_ == pytest.approx(wide.coef_, abs=1e-5)
    assert model.variance_ == pytest.approx(wide.variance_, rel=1e-10)
    assert model.predict_margin(X)[1][X.any(axis=1)] == pytest.approx(
        wide.predict_margin(X)[1][X.any(axis=1)], rel=1e-8
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sigma", [1.0, 0.1])
def test_the_solvers_agree(loss, sigma):
    params = {"loss": loss, "sigma": sigma, "cov_C": 0.05, "n_features_to_select": 9}
    a, b = (
        fit(solver="mkl", max_iter=3000, tol=1e-9, **params),
        fit(solver="exact", max_iter=3000, tol=1e-7, **params),
    )
    assert [block.tolist() for block in a.blocks_] == [block.tolist() for block in b.blocks_]
    assert a.history_[-1]["objective"] == pytest.approx(b.history_[-1]["objective"], rel=1e-6)
    assert a.coef_ == pytest.approx(b.coef_, abs=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sigma", [1.0, 0.01])
def test_the_printed_pass_is_reachable(loss, sigma):
    """Without shuffling (partial_fit) each round is algorithm 3."""
    model = SparseBCWClassifier(
        n_features_to_select=9,
        block_size=3,
        solver="online",
        loss=loss,
        sigma=sigma,
        C=0.7,
        cov_C=0.7,
        fit_intercept=False,
        theta_tol=0.0,
    )
    model.partial_fit(X, Y, classes=[-1, 1])
    sigmas = [
        np.linalg.inv(np.eye(3) + 0.7 * X[:, block].T @ X[:, block]) for block in model.blocks_
    ]
    mean = reference.printed_pass(X, Y, 0.7, model.blocks_, loss == "squared_hinge", sigma, sigmas)
    active = np.concatenate([block for block in model.blocks_ if model.coef_[0, block].any()])
    assert model.coef_[0, active] == pytest.approx(mean[active], abs=1e-10)
    assert np.abs(mean).sum() - np.abs(mean[active]).sum() <= 1e-5 * np.abs(mean).sum()


def test_the_printed_step_is_wrong_for_a_small_sigma_and_mkl_is_not():
    """The curvature of the conjugate is |x|^2 / sigma, but the printed step uses |x|^2."""
    gaps = {}
    for sigma in (1.0, 0.01):
        model = fit(sigma=sigma, n_features_to_select=12, cov_C=0.01, max_iter=100, tol=1e-4)
        printed = fit(sigma=sigma, n_features_to_select=12, cov_C=0.01, solver="online")
        gaps[sigma] = model.gap_, printed.gap_
    assert gaps[0.01][0] <= 1e-4
    assert gaps[0.01][1] > 0.5
    assert gaps[1.0][1] < gaps[0.01][1]


# --------------------------------------------------------------------------- the dual
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["mkl", "exact"])
@pytest.mark.parametrize("covariance", ["block", "identity"])
def test_the_gap_closes_with_empty_rows_and_rows_without_selected_features(
    loss, solver, covariance
):
    rows = X.copy()
    rows[::5] = 0.0
    rows[1::5, :9] = 0.0
    model = fit(
        rows,
        loss=loss,
        solver=solver,
        covariance=covariance,
        sigma=0.5,
        n_features_to_select=6,
        max_iter=3000,
        tol=1e-7,
    )
    assert not rows[:, np.concatenate(model.blocks_)].any(axis=1).all()
    assert -1e-9 <= model.gap_ <= 1e-7


def test_the_exact_line_search_never_lowers_the_dual():
    for squared in (True, False):
        options = SBCWOptions(9, 3, "exact", 0.05, "plain", False, 1, None, 0.0)
        ascent = BlockDualAscent(
            SelectedRows(X, np.full(N, 0.1), BlockPosterior(1.0), False),
            make_dual(Y[:, None], np.ones(N), squared),
            options,
        )
        for start in (0, 3, 6):
            ascent.add_block(np.arange(start, start + 3))
        duals = [ascent.run(lambda turn: np.arange(N), None)["theta"] for _ in range(30)]
        assert (np.diff(duals) >= -1e-9 * np.abs(duals[1:])).all()
        assert duals[-1] > duals[0]


def test_theta_never_rises_over_rounds():
    for loss in LOSSES:
        theta = [
            record["theta"]
            for record in fit(loss=loss, max_iter=5000, tol=1e-9, block_size=2).history_
        ]
        assert len(theta) == 6
        assert (np.diff(theta) <= 1e-7 * np.abs(theta[1:])).all()


def test_too_few_sweeps_warn_and_one_printed_pass_does_not():
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        fit(max_iter=1, tol=1e-9)
    fit(solver="online")


# --------------------------------------------------------------------------- selection
def test_blocks_are_disjoint_of_block_size_and_ordered_by_score():
    model = fit(n_features_to_select=8)
    assert [len(block) for block in model.blocks_] == [3, 3, 2]
    assert len(np.unique(np.concatenate(model.blocks_))) == model.n_selected_ == 8
    score = np.abs(X.T @ Y)
    assert set(model.blocks_[0]) == set(np.argsort(-score)[:3])
    assert model.n_active_ == len(model.support_)
    assert np.array_equal(model.get_support(indices=True), model.support_)
    assert model.transform(X).shape == (N, len(model.support_))


def test_criterion_cov_divides_the_score_by_the_precision():
    scaled = X * np.where(np.arange(D) % 2, 0.1, 5.0)
    score = (scaled.T @ Y) ** 2 / (1.0 + 10.0 * (scaled**2).sum(axis=0))
    model = fit(scaled, criterion="cov", cov_C=10.0, n_features_to_select=3)
    assert set(model.blocks_[0]) == set(np.argsort(-score)[:3])
    assert set(fit(scaled, n_features_to_select=3).blocks_[0]) != set(model.blocks_[0])
    assert set(
        fit(sp.csr_array(scaled), criterion="cov", cov_C=10.0, n_features_to_select=3).blocks_[0]
    ) == set(model.blocks_[0])


def test_useless_blocks_are_selected_but_inactive():
    rng = np.random.default_rng(0)
    strong = np.column_stack([3.0 * Y, 0.01 * rng.normal(size=(N, 6))])
    model = fit(strong, n_features_to_select=4, block_size=1, C=0.1)
    assert model.n_active_ < model.n_selected_ == 4
    assert (model.coef_ != 0).sum() == model.n_active_


def test_rounds_end_when_theta_converges():
    assert fit(n_features_to_select=12, block_size=1, theta_tol=0.5).n_selected_ == 2
    assert fit(n_features_to_select=12, block_size=1, theta_tol=0.0).n_selected_ == 12


def test_a_refit_is_a_linear_svm_on_the_selected_columns():
    model = fit(n_features_to_select=6, refit=True, max_iter=5000, tol=1e-13, C=0.7)
    selected = np.concatenate(model.blocks_)
    assert model.coef_[0, selected] == pytest.approx(
        reference.newton_svm(X[:, selected], Y, 0.7), abs=1e-6
    )
    with pytest.raises(ValueError, match="refit=True needs all rows at once"):
        SparseBCWClassifier(refit=True).partial_fit(X, Y, classes=[-1, 1])


# ----------------------------------------------------------------------- symmetries, weights, order
def test_flipped_labels_negate_the_mean_exactly():
    for solver in ("mkl", "exact", "online"):
        a, b = fit(solver=solver, sigma=0.5), fit(y=-Y, solver=solver, sigma=0.5)
        assert np.array_equal(a.coef_, -b.coef_)


@pytest.mark.parametrize("loss", LOSSES)
def test_weight_equals_repetition_and_row_order_does_not_matter(loss):
    counts = np.random.default_rng(1).integers(0, 4, N)
    weighted = SparseBCWClassifier(n_features_to_select=6, loss=loss, random_state=0).fit(
        X, Y, sample_weight=counts
    )
    order = np.random.default_rng(2).permutation(counts.sum())
    for form in (np.asarray, sp.csr_array):
        repeated = SparseBCWClassifier(n_features_to_select=6, loss=loss, random_state=0)
        repeated.fit(form(np.repeat(X, counts, axis=0)[order]), np.repeat(Y, counts)[order])
        assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-10)


def test_dense_and_sparse_rows_give_the_same_mean():
    model = SparseBCWClassifier(n_features_to_select=6, random_state=0).fit(X, Y)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (sp.csr_array(X), sp.csc_array(X), wide):
        other = SparseBCWClassifier(n_features_to_select=6, random_state=0).fit(rows, Y)
        assert other.coef_ == pytest.approx(model.coef_, abs=1e-12)
        assert other.decision_function(rows) == pytest.approx(model.decision_function(X), abs=1e-12)
        assert other.predict_margin(rows)[1] == pytest.approx(model.predict_margin(X)[1], abs=1e-12)


# --------------------------------------------------------------------------- batches
def test_one_block_in_batches_is_bcw_with_prior_mean_dual():
    params = {
        "C": 0.7,
        "cov_C": 0.3,
        "loss": "squared_hinge",
        "fit_intercept": False,
        "max_iter": 5000,
        "tol": 1e-12,
    }
    wide, model = (
        BCWClassifier(prior_mean="dual", **params),
        SparseBCWClassifier(n_features_to_select=D, block_size=D, sigma=1e-6, **params),
    )
    for rows in (slice(0, 80), slice(80, 200)):
        wide.partial_fit(X[rows], Y[rows], classes=[-1, 1])
        model.partial_fit(X[rows], Y[rows], classes=[-1, 1])
        assert model.coef_ == pytest.approx(wide.coef_, abs=1e-5)
        assert -1e-9 <= model.gap_ <= 1e-11
    assert model.variance_ == pytest.approx(wide.variance_, rel=1e-9)


@pytest.mark.long
def test_batches_select_at_most_n_features_to_select():
    rows, y, _ = make_text(n_samples=3000, n_features=2000, random_state=0)
    model = SparseBCWClassifier(n_features_to_select=60, C=10.0, sigma=0.1)
    for batch in np.array_split(np.arange(2000), 4):
        model.partial_fit(rows[batch], y[batch], classes=[0, 1])
        assert model.n_selected_ <= 60
        assert model.gap_ <= 1e-3
    assert model.score(rows[2000:], y[2000:]) > 0.8


# --------------------------------------------------------------------------- on text
def test_it_finds_planted_words_and_never_makes_rows_dense():
    rows, y, planted = make_text(
        n_samples=2000, n_features=200_000, n_informative=10, random_state=0
    )
    model = SparseBCWClassifier(n_features_to_select=30, C=10.0, random_state=0).fit(rows, y)
    assert model.n_selected_ == 30
    assert model.score(rows, y) > 0.8
    assert len(np.intersect1d(model.support_, planted)) >= 5
    fgm = SparseBCWClassifier(
        n_features_to_select=30, C=10.0, covariance="identity", random_state=0
    ).fit(rows, y)
    assert (fgm.variance_ == 1.0).all()
    assert fgm.score(rows, y) > 0.8


# --------------------------------------------------------------------------- the constant column
@pytest.mark.parametrize("solver", ["mkl", "exact", "online"])
@pytest.mark.parametrize("identity", [False, True])
def test_the_constant_of_each_block_is_a_column_of_ones_in_it(solver, identity):
    """A sweep treats the constant column, which no row stores, as it treats a stored column."""
    options = SBCWOptions(9, 3, solver, 0.5, "plain", identity, 1, None, 0.0)
    wide, row_weights, dual = (
        np.column_stack([X, 2.0 * np.ones((N, 2))]),
        np.full(N, 0.1),
        make_dual(Y[:, None], np.ones(N), True),
    )
    implicit = BlockDualAscent(
        SelectedRows(X, row_weights, BlockPosterior(2.0), identity), dual, options
    )
    explicit = BlockDualAscent(
        SelectedRows(wide, row_weights, BlockPosterior(0.0), identity), dual, options
    )
    for k, block in enumerate(([0, 1, 2], [3, 4])):
        implicit.add_block(np.array(block))
        explicit.add_block(np.array([*block, D + k]))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(N)
        a, b = (
            implicit.run(lambda t, order=order: order, None),
            explicit.run(lambda t, order=order: order, None),
        )
        assert implicit.alpha == pytest.approx(explicit.alpha, abs=1e-10)
        assert implicit.dual_sum == pytest.approx(explicit.dual_sum, abs=1e-10)
        assert implicit.unscaled == pytest.approx(explicit.unscaled, abs=1e-10)
        assert a["objective"] == pytest.approx(b["objective"], rel=1e-10)
