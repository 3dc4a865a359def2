"""What must not change a selection, and what must."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import shuffle

from tamis import FDRSelector, load, save
from tamis.selection.false_discovery.multiple_testing import harmonic

SHAPE = (150, 120)


@pytest.fixture(scope="module")
def table():
    """Correlated columns, of which six tell."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=SHAPE)
    for j in range(1, SHAPE[1]):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    score = X[:, [5, 20, 40, 60, 80, 100]] @ [2.0, -2.0, 1.5, 1.5, -1.5, 1.0]
    return X, score + rng.normal(size=len(X)), (score + rng.logistic(size=len(X)) > 0).astype(int)


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FDRSelector(**options).fit(X, y)


@pytest.fixture(scope="module", params=["numbers", "classes"])
def case(request, table):
    X, numbers, classes = table
    y = numbers if request.param == "numbers" else classes
    return X, y, fitted(X, y)


def close(actual, expected):
    assert actual == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_it_finds_what_tells(case):
    X, _, selector = case
    assert len(selector.support_) >= 2
    real = [5, 20, 40, 60, 80, 100]
    corr = np.abs(np.corrcoef(X.T))
    assert all(corr[j, real].max() > 0.5 for j in selector.support_)


def test_the_order_of_columns_means_nothing(case):
    X, y, selector = case
    order = np.random.default_rng(0).permutation(X.shape[1])
    other = fitted(X[:, order], y)
    close(other.qvalues_, selector.qvalues_[order])
    close(other.scores_, selector.scores_[order])


def test_the_order_of_rows_means_nothing(case):
    X, y, selector = case
    close(fitted(*shuffle(X, y, random_state=0)).scores_, selector.scores_)


def test_units_and_signs_and_levels_of_columns_mean_nothing(case):
    X, y, selector = case
    rng = np.random.default_rng(0)
    units = rng.choice([-1.0, 1.0], X.shape[1]) * 10.0 ** rng.integers(-3, 4, X.shape[1])
    other = fitted(X * units + rng.normal(size=X.shape[1]), y)
    close(other.qvalues_, selector.qvalues_)
    close(other.scores_, np.sign(units) * selector.scores_)
    effects = {row["column"]: row["estimate"] for row in other.table_}
    first = selector.table_[0]
    j = first["column"]
    assert effects[j] * units[j] == pytest.approx(first["estimate"], rel=1e-3)


def test_units_and_level_of_the_target_mean_nothing(table):
    X, y, _ = table
    close(fitted(X, 7.0 - 3.0 * y).scores_, -fitted(X, y).scores_)


def test_swapped_classes_swap_the_signs(table):
    X, _, y = table
    close(fitted(X, 1 - y).scores_, -fitted(X, y).scores_)
    named = fitted(X, np.where(y == 1, "up", "down"))
    assert named.classes_.tolist() == ["down", "up"]
    close(named.scores_, fitted(X, y).scores_)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix])
def test_sparse_and_dense_agree(case, kind):
    X, y, _ = case
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    dense, sparse = fitted(X, y), fitted(kind(X), y)
    assert sparse.scores_ == pytest.approx(dense.scores_, abs=1e-8)
    assert sparse.qvalues_ == pytest.approx(dense.qvalues_, abs=1e-8)
    assert sparse.effects_["halves"] == pytest.approx(dense.effects_["halves"], abs=1e-8)
    assert sparse.n_components_ == dense.n_components_


def test_a_constant_column_changes_the_number_of_columns_alone(table):
    X, y, _ = table
    with_constant = fitted(np.column_stack([X, np.full(len(X), 3.0)]), y, substitutes=None)
    assert with_constant.pvalues_[-1] == 1.0
    assert with_constant.qvalues_[-1] == 1.0
    # u = sqrt(2 log p / n) moves a little with p, and may move a control or two.
    assert with_constant.support_.tolist() == fitted(X, y, substitutes=None).support_.tolist()


def test_qvalues_lie_above_pvalues_and_rise_with_them(case):
    _, _, selector = case
    assert np.all(selector.qvalues_ >= selector.pvalues_)
    assert np.all(selector.qvalues_ <= 1.0)
    heads = np.flatnonzero(selector.head_ == np.arange(SHAPE[1]))
    order = heads[np.argsort(selector.pvalues_[heads], kind="stable")]
    assert np.all(np.diff(selector.qvalues_[order]) >= 0.0)
    untested = np.setdiff1d(np.arange(SHAPE[1]), selector.candidates_)
    assert np.all(selector.pvalues_[untested] == 1.0)


def test_a_larger_rate_only_adds(case):
    X, y, selector = case
    more = fitted(X, y, q=0.4)
    assert set(selector.support_) <= set(more.support_)
    assert np.array_equal(more.qvalues_, selector.qvalues_)


def test_no_substitutes_and_substitutes_of_correlation_one_are_alike(case):
    X, y, _ = case
    assert np.array_equal(
        fitted(X, y, substitutes=None).qvalues_, fitted(X, y, substitutes=1.0).qvalues_
    )


def test_a_head_is_no_substitute_of_an_earlier_one(case):
    _, _, selector = case
    order = sorted(selector.groups_, key=lambda j: selector.pvalues_[j])
    taken = set()
    for head in order:
        assert head not in taken
        taken |= {member for member, _ in selector.groups_[head]}
        assert all(abs(r) > 0.5 for _, r in selector.groups_[head])


def test_twins_are_one_claim_of_a_group_and_none_of_single_columns(table):
    X, y, _ = table
    X = X.copy()
    X[:, 110] = X[:, 5]
    exact, groups = fitted(X, y, substitutes=None), fitted(X, y)
    assert exact.pvalues_[[5, 110]].tolist() == [1.0, 1.0]
    head = int(groups.head_[5])
    assert groups.qvalues_[head] < 0.1
    assert {5, 110} <= {head, *(member for member, _ in groups.groups_[head])}


@pytest.mark.parametrize("substitutes", [None, 0.5])
def test_yekutieli_costs_the_harmonic_sum(case, substitutes):
    X, y, _ = case
    plain, safe = (fitted(X, y, substitutes=substitutes, correction=c) for c in ("bh", "by"))
    raised = plain.qvalues_ < 1.0 / harmonic(SHAPE[1])
    assert safe.qvalues_[raised] == pytest.approx(plain.qvalues_[raised] * harmonic(SHAPE[1]))
    assert harmonic(2_000_000) == pytest.approx((1.0 / np.arange(1, 2_000_001)).sum())


def test_weights_are_repeats(case):
    X, y, _ = case
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    repeated = fitted(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = FDRSelector().fit(X, y, sample_weight=counts.astype(float))
    assert weighted.scores_ == pytest.approx(repeated.scores_, abs=1e-6)
    assert weighted.qvalues_ == pytest.approx(repeated.qvalues_, rel=1e-4, abs=1e-9)


def test_threads_change_nothing(table):
    X, _, y = table
    one, two = fitted(X, y, n_jobs=1), fitted(X, y, n_jobs=2)
    assert np.array_equal(one.scores_, two.scores_)


def test_a_saved_selector_tells_the_same(case, tmp_path):
    X, _, selector = case
    save(selector, tmp_path / "one.tamis")
    again = load(tmp_path / "one.tamis")
    assert again.table_ == selector.table_
    assert again.groups_ == selector.groups_
    assert [c.tolist() for c in again.controls_] == [c.tolist() for c in selector.controls_]
    assert np.array_equal(again.transform(X), selector.transform(X))
