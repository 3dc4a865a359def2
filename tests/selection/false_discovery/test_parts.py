"""Paths, common factors and claims against what others compute."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from scipy.stats import false_discovery_control
from sklearn.linear_model import Lasso, LogisticRegression
from spelling import L1

from tamis import FDRSelector
from tamis.selection.false_discovery.conditional_test import (
    ConditionalTest,
    DesignBlocks,
    fit_target_logistic,
)
from tamis.selection.false_discovery.controls import (
    _gram_components,
    _krylov_components,
    correlated_columns,
    leading_components,
)
from tamis.selection.false_discovery.multiple_testing import benjamini_hochberg
from tamis.selection.false_discovery.screening.path import L1Path
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 60)) + 0.7 * rng.normal(size=(80, 1))
    return X, X[:, :3].sum(axis=1) + rng.normal(size=80)


def columns_of(X, sparse=False, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    return StandardizedColumns(sp.csc_array(X) if sparse else X, weights)


@pytest.mark.parametrize("sparse", [False, True])
def test_paths_of_numbers_are_the_lasso(table, sparse):
    X, y = table
    columns = columns_of(X, sparse)
    path = L1Path(columns, y, False)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for ratio in (0.9, 0.5, 0.2, 0.05):
        step = path.solve_next(ratio * path.max_penalty)
        lasso = Lasso(alpha=ratio * path.max_penalty, tol=1e-12, max_iter=100_000).fit(Z, y)
        actual = np.zeros(60)
        actual[step.columns] = step.weights
        assert actual == pytest.approx(lasso.coef_, abs=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
def test_paths_of_classes_are_the_l1_logistic_model(table, sparse):
    X, y = table
    y = (y > 1.0).astype(float)
    path = L1Path(columns_of(X, sparse), y, True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for ratio in (0.9, 0.5, 0.2):
        step = path.solve_next(ratio * path.max_penalty)
        C = 1.0 / (ratio * path.max_penalty * len(y))
        model = LogisticRegression(C=C, **L1, solver="saga", tol=1e-9, max_iter=20_000).fit(Z, y)
        actual = np.zeros(60)
        actual[step.columns] = step.weights
        assert actual == pytest.approx(model.coef_[0], abs=2e-3)


def test_paths_start_where_nothing_is_kept(table):
    X, y = table
    for target, logistic in ((y, False), ((y > 0).astype(float), True)):
        path = L1Path(columns_of(X), target, logistic)
        assert len(path.solve_next(1.001 * path.max_penalty).columns) == 0
        assert len(path.solve_next(0.98 * path.max_penalty).columns) >= 1


def test_columns_have_mean_0_and_deviation_1_under_their_weights(table):
    X, _ = table
    X = np.where(np.abs(X) > 0.8, X + 5.0, 0.0)
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    rows = np.repeat(X, weights.astype(int), axis=0)
    for sparse in (False, True):
        columns = columns_of(X, sparse, weights)
        Z = columns.dense_columns(np.arange(60))
        assert weights @ Z == pytest.approx(0.0, abs=1e-9)
        assert weights @ Z**2 / weights.sum() == pytest.approx(1.0)
        assert columns.means == pytest.approx(rows.mean(axis=0))
        v = np.random.default_rng(2).normal(size=(len(X), 3))
        assert columns.cross_products(v) == pytest.approx(Z.T @ v)
        assert columns.cross_products(v[:, 0]) == pytest.approx(Z.T @ v[:, 0])
        assert columns.scores(np.eye(60)[:, :4]) == pytest.approx(Z[:, :4])


def test_columns_without_spread_or_of_few_entries_are_0():
    X = np.zeros((50, 4))
    X[:, 0], X[:4, 1], X[:5, 2] = 1e6 + 1e-9, 1.0, 1.0
    X[:, 3] = np.arange(50)
    for sparse in (False, True):
        assert columns_of(X, sparse).is_live.tolist() == [False, False, True, True]


@pytest.mark.parametrize("find", [_gram_components, _krylov_components])
def test_common_factors_are_leading_singular_vectors(find):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 90)) + rng.normal(size=(120, 2)) @ rng.normal(size=(2, 90))
    columns = columns_of(X)
    edge = 1.1 * (np.sqrt(120) + np.sqrt(90))
    values, right = np.linalg.svd(columns.X)[1:]
    expected = right[: int((values > edge).sum())]
    assert len(expected) == 2
    for sparse in (False, True):
        actual = find(columns_of(X, sparse), edge)
        assert actual.shape == (90, 2)
        assert np.abs(expected @ actual).max(axis=0) == pytest.approx(1.0, abs=1e-8)


def test_noise_has_no_common_factor():
    X = np.random.default_rng(0).normal(size=(150, 400))
    assert leading_components(columns_of(X)).shape == (400, 0)


def test_company_is_by_correlation(table):
    X, _ = table
    R = np.abs(np.corrcoef(X.T))
    for sparse in (False, True):
        correlated = correlated_columns(columns_of(X, sparse), np.array([4, 7]), 0.4, 6, 0.2)
        for j, related in zip((4, 7), correlated, strict=True):
            others = np.setdiff1d(np.flatnonzero(R[j] > 0.4), [j])
            assert related.substitutes.tolist() == others.tolist()
            assert np.abs(related.correlations) == pytest.approx(R[j, others])
            rest = [k for k in np.argsort(-R[j]) if k != j and k not in others and R[j, k] > 0.2]
            assert related.correlates.tolist() == rest[:6]


@pytest.mark.parametrize("correction", ["bh", "by"])
@pytest.mark.parametrize("family", [30, 31, 100, 5000])
def test_qvalues_are_scipys_of_pvalues_padded_with_ones(family, correction):
    for seed in range(20):
        p = np.random.default_rng(seed).uniform(size=30) ** (1 + seed % 5)
        p[3], p[4], p[5] = p[7], 1.0, 0.0
        padded = np.concatenate([p, np.ones(family - 30)])
        expected = false_discovery_control(padded, method=correction)[:30]
        assert benjamini_hochberg(p, family, correction) == pytest.approx(expected, rel=1e-13)


def test_regressions_of_classes_reach_their_optimum():
    """From a start that undamped Newton steps never return from, and where classes are apart."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(120, 9)), np.ones(120)])
    y = (table[:, 0] * 3.0 + table[:, 1] + rng.logistic(size=120) > 0).astype(float)[:, None]
    design = DesignBlocks(lambda: [(table, y, np.ones(120))], 120.0, 10)
    test = ConditionalTest(0, 8, np.arange(8))
    at = np.append(np.arange(8), 9)
    for start in (0.0, 6.0, -6.0):
        starts = np.full((1, 10), start)
        weights = fit_target_logistic(design, [test], starts)[0]
        slope = table[:, at].T @ (y[:, 0] - expit(table[:, at] @ weights))
        assert slope == pytest.approx(0.0, abs=1e-4)
    y = (table[:, 0] > 0).astype(float)[:, None]
    design = DesignBlocks(lambda: [(table, y, np.ones(120))], 120.0, 10)
    apart = fit_target_logistic(design, [test], starts)
    assert np.isfinite(apart[0]).all()


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_rows_change_their_form_once(form, monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.3, size=(90, 40)).astype(float)).asformat(form)
    y = X[:, [3]].toarray().ravel() + 0.3 * rng.normal(size=90)
    conversions = []

    def counted(name, convert):
        def count(matrix, *options, **named):
            if matrix.shape == X.shape:
                conversions.append(name)
            return convert(matrix, *options, **named)

        return count

    for kind, name in ((sp.csr_array, "tocsc"), (sp.csc_array, "tocsr")):
        monkeypatch.setattr(kind, name, counted(name, getattr(kind, name)))
    selector = FDRSelector(targets="numbers").fit(X, y)
    assert 3 in selector.support_
    assert conversions == ["tocsc" if form == "csr" else "tocsr"]
