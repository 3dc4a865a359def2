"""Second-order feature selection: the features in the heap, and the methods of a selector."""

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from tiny import one_pass, quiet

import tamis
from tamis import AROWClassifier, SOFSClassifier

N, P = 200, 12
X = tiny.matrix(N, P, seed=1)
Y = tiny.signs(X, seed=1)
THREE = tiny.classes(N)


def selected_by_sorting(rows, sides, n_features, r):
    """Return the same model without a heap: after each step the columns of smallest variance stay,
    with ties for those already selected.
    """
    mean, variances, selected = np.zeros(P), np.ones(P), set(range(n_features))
    for x, y in zip(rows, sides, strict=True):
        m, v = y * (mean @ x), (variances * x * x).sum()
        if m >= 1 or v <= 0:
            continue
        mean = mean + (1 - m) / (v + r) * y * variances * x
        variances = variances / (1 + variances * x * x / r)
        for j in np.flatnonzero(x):
            if j in selected:
                continue
            top = max(selected, key=lambda k: variances[k])
            if variances[j] < variances[top]:
                selected = selected - {top} | {j}
        mean[[j for j in range(P) if j not in selected]] = 0.0
    return mean, variances, selected


@pytest.mark.parametrize("n_features", [1, 3, 7])
def test_the_heap_keeps_what_sorting_keeps(interpreted, n_features):
    model = quiet(
        one_pass(SOFSClassifier, n_features_to_select=n_features, r=0.5, fit_intercept=False).fit,
        X,
        Y,
    )
    mean, variances, selected = selected_by_sorting(X, Y, n_features, 0.5)
    assert set(model._solver_state.kept[0].tolist()) == selected
    assert model.coef_[0] == pytest.approx(mean, rel=1e-10)
    assert model.variance_[0] == pytest.approx(variances, rel=1e-10)


def test_columns_of_equal_variance_stay_where_they_are(interpreted):
    model = quiet(
        one_pass(SOFSClassifier, n_features_to_select=2).fit, np.ones((6, 5)), [0, 1, 1, 0, 1, 1]
    )
    assert sorted(model._solver_state.kept[0].tolist()) == [0, 1]


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_with_room_for_all_it_is_arow_to_the_bit(interpreted, y):
    for n_features in (P, 10 * P):
        kept = quiet(one_pass(SOFSClassifier, n_features_to_select=n_features).fit, X, y)
        plain = quiet(one_pass(AROWClassifier).fit, X, y)
        tiny.assert_same(plain, kept, X)
        assert np.array_equal(plain.variance_, kept.variance_)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("n_features", [1, 2, 5, 11])
def test_the_least_variances_are_kept_all_along(interpreted, y, n_features):
    model = SOFSClassifier(n_features_to_select=n_features)
    for start in range(0, N, 20):
        quiet(model.partial_fit, X[start : start + 20], y[start : start + 20], classes=np.unique(y))
        engine = model._solver_state
        for c, heap in enumerate(engine.kept):
            assert np.array_equal(engine.places[heap, c], np.arange(1, len(heap) + 1))
            assert np.count_nonzero(engine.places[:, c]) == len(heap)
            variances = engine.variances()[c]
            others = np.setdiff1d(np.arange(P), heap)
            assert variances[heap].max() <= variances[others].min()
            assert not engine.weights()[c, others].any()
            parents = (np.arange(1, len(heap)) - 1) // 2
            assert (variances[heap[parents]] >= variances[heap[1:]]).all()
    assert (np.count_nonzero(model.coef_, axis=1) <= n_features).all()


def test_it_is_a_selector(interpreted):
    model = quiet(SOFSClassifier(n_features_to_select=4, random_state=0).fit, X, Y)
    assert model.get_support().sum() == len(model.support_) <= 4
    assert np.array_equal(model.get_support(indices=True), model.support_)
    assert np.array_equal(model.transform(X), X[:, model.support_])
    assert sp.issparse(model.transform(sp.csr_array(X)))
    assert model.get_feature_names_out().tolist() == [f"x{k}" for k in model.support_]
    three = quiet(SOFSClassifier(n_features_to_select=2, random_state=0).fit, X, THREE)
    assert np.array_equal(three.support_, np.flatnonzero(three.coef_.any(axis=0)))


def test_the_number_of_features_is_settled_at_the_start(interpreted):
    model = quiet(SOFSClassifier(n_features_to_select=4, warm_start=True).fit, X, Y)
    with pytest.raises(ValueError, match="`n_features_to_select` changed"):
        model.set_params(n_features_to_select=5).fit(X, Y)


@pytest.mark.parametrize("change", ["column", "twice", "type"])
def test_forged_heaps_are_refused(interpreted, tmp_path, change):
    """Their numbers index memory in compiled code."""
    model = quiet(SOFSClassifier(n_features_to_select=3).fit, X, Y)
    engine = model._solver_state
    if change == "column":
        engine.kept[0, 1] = P
    elif change == "twice":
        engine.kept[0, 1] = engine.kept[0, 0]
    else:
        engine.kept = engine.kept.astype(np.int64)
    tamis.save(model, tmp_path / "model.tamis")
    with pytest.raises(ValueError, match=r"a column twice|SOFSClassifier\._solver_state\.kept"):
        tamis.load(tmp_path / "model.tamis")
