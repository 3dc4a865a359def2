"""StabilitySelector: scikit-learn's checks, the same answer whatever the backend, sparse input,
names, paths and refusals.
"""

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import FOBOSClassifier, FTRLClassifier, RDAClassifier, RDARegressor, StabilitySelector
from tamis.base.splits import complementary_halves
from tamis.datasets import make_text
from tamis.selection.half_samples import strongest_penalty

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 40))
REGRESSION_GRID = X[:, :3] @ [3.0, -2.0, 2.0] + 0.5 * RANDOM.normal(size=120)
CLASSES = (REGRESSION_GRID > 0).astype(int)
FAST = RDAClassifier(max_iter=3, tol=None)


def quick(estimator=FAST, **options):
    return StabilitySelector(
        estimator, **{"n_pairs": 5, "param_values": 4, "random_state": 0, **options}
    )


@parametrize_with_checks(
    [quick(None), quick(Lasso(), assumption="r-concave"), quick(FAST, threshold=0.6)]
)
@pytest.mark.filterwarnings("ignore")
def test_common_checks_of_scikit_learn(estimator, check):
    check(estimator)


# --------------------------------------------------------------------------- what is found
@pytest.mark.parametrize(
    "estimator",
    [
        None,
        FTRLClassifier(max_iter=5, tol=None),
        LinearSVC(penalty="l1", dual=False),
        FOBOSClassifier(max_iter=3, tol=None),
    ],
)
def test_planted_features_are_found(estimator):
    selector = quick(estimator, n_pairs=10, max_false=0.5).fit(X, CLASSES)
    assert set(selector.support_) <= {0, 1, 2}
    assert 0 in selector.support_
    assert selector.expected_false_selections_ <= 0.5
    assert selector.selection_probability_[0] == 1.0


def test_regression_and_several_outputs():
    for y in (REGRESSION_GRID, np.c_[REGRESSION_GRID, -X[:, 3]]):
        selector = quick(RDARegressor(max_iter=5, tol=None), n_selected=5).fit(X, y)
        assert {0, 1, 2} <= set(selector.support_)
    assert 3 in selector.support_


def test_several_classes_are_a_union():
    y = np.where(X[:, 5] > 0.7, "c", np.where(REGRESSION_GRID > 0, "b", "a"))
    selector = quick(RDAClassifier(max_iter=5, tol=None), n_selected=6, threshold=0.6).fit(X, y)
    assert {0, 5} <= set(selector.support_)


def test_frequencies_are_those_of_the_runs_counted_by_hand():
    selector = quick(Lasso(), n_selected=4, param_values=[0.5, 0.1], threshold=0.7).fit(
        X, REGRESSION_GRID
    )
    frequencies = np.rint(selector.selection_probability_ * 10)
    assert selector.selection_probability_ * 10 == pytest.approx(frequencies)
    assert frequencies.sum() <= 40
    base = int(check_random_state(0).randint(2**31 - 1))
    counts = np.zeros(40)
    for pair in range(5):
        for rows in complementary_halves(120, None, np.random.SeedSequence((base, pair))):
            first = np.flatnonzero(Lasso(0.5).fit(X[rows], REGRESSION_GRID[rows]).coef_)
            weights = np.abs(Lasso(0.1).fit(X[rows], REGRESSION_GRID[rows]).coef_)
            weights[first] = 0.0
            counts[first] += 1
            assert len(first) <= 4
            capacity = min(4 - len(first), np.count_nonzero(weights))
            counts[np.argsort(-weights)[:capacity]] += 1
    assert np.array_equal(frequencies, counts)
    assert np.array_equal(selector.support_, np.flatnonzero(counts >= 7))


def test_the_path_of_frequencies_rises_to_the_selection_probability():
    selector = quick(Lasso(), n_selected=12, param_values=8).fit(X, REGRESSION_GRID)
    path = selector.stability_path_.toarray()
    assert path.shape == (8, 40)
    assert (np.diff(path, axis=0) >= 0).all()
    assert path[0].sum() < path[-1].sum()
    assert np.array_equal(path[-1], selector.selection_probability_)
    assert (path.sum(axis=1) <= 12 + 1e-9).all()
    assert len(selector.path_) == 8
    assert (np.diff(selector.path_) < 0).all()


def test_without_a_limit_q_is_the_mean_number_that_came_in():
    selector = quick(Lasso(), threshold=0.8, param_values=[0.3, 0.1]).fit(X, REGRESSION_GRID)
    assert selector.n_selected_ == pytest.approx(selector.selection_probability_.sum())
    assert selector.expected_false_selections_ == pytest.approx(
        selector.n_selected_**2 / (0.6 * 40)
    )


def test_independent_halves():
    selector = quick(Lasso(), complementary=False, threshold=0.8, n_selected=4).fit(
        X, REGRESSION_GRID
    )
    assert np.allclose(
        selector.selection_probability_ * 10, np.rint(selector.selection_probability_ * 10)
    )
    assert {0, 1, 2} <= set(selector.support_)
    with pytest.raises(ValueError, match="complementary=True"):
        quick(complementary=False, assumption="unimodal").fit(X, CLASSES)


def test_selectors_without_weights_and_models_without_a_path():
    selector = quick(SelectKBest(k=3), n_selected=3, threshold=0.6).fit(X, CLASSES)
    assert selector.param_name_ is None
    assert 0 in selector.support_
    crowded = quick(SelectKBest(k=8), n_selected=3, threshold=0.6).fit(X, CLASSES)
    assert len(crowded.support_) == 0  # nothing to rank eight by: none comes in
    dense = quick(LinearRegression(), n_selected=3, threshold=0.6).fit(X, REGRESSION_GRID)
    assert set(dense.support_) == {0, 1, 2}  # the largest weights


def test_pipelines():
    piped = make_pipeline(MaxAbsScaler(), Lasso())
    selector = quick(piped, n_selected=3).fit(X, REGRESSION_GRID)
    assert selector.param_name_ == "lasso__alpha"
    assert set(selector.support_) == {0, 1, 2}


def test_the_automatic_path_begins_where_the_first_feature_comes_in():
    top = strongest_penalty(Lasso(), "alpha", X, REGRESSION_GRID)
    assert not Lasso(1.001 * top).fit(X, REGRESSION_GRID).coef_.any()
    assert Lasso(0.98 * top).fit(X, REGRESSION_GRID).coef_.any()
    machine = LinearSVC(penalty="l1", dual=False, tol=1e-8)
    least = strongest_penalty(machine, "C", X, CLASSES)
    assert not machine.set_params(C=0.99 * least).fit(X, CLASSES).coef_.any()
    assert machine.set_params(C=1.05 * least).fit(X, CLASSES).coef_.any()


# --------------------------------------------------------------------------- same answer
def same(a, b):
    assert np.array_equal(a.selection_probability_, b.selection_probability_)
    assert (a.stability_path_ != b.stability_path_).nnz == 0
    assert np.array_equal(a.support_, b.support_)


def test_jobs_backends_and_memory_layout_do_not_change_it():
    one = quick(max_false=0.5).fit(X, CLASSES)
    with joblib.parallel_backend("threading"):
        same(one, quick(max_false=0.5, n_jobs=2).fit(X, CLASSES))
    same(one, quick(max_false=0.5, n_jobs=2).fit(np.asfortranarray(X), CLASSES))
    same(one, quick(max_false=0.5, random_state=check_random_state(0)).fit(X, CLASSES))
    # Clear data is selected alike whatever the halves.
    noise = np.random.default_rng(1).permutation(CLASSES)
    a, b = (quick(max_false=0.5, random_state=seed).fit(X, noise) for seed in (0, 1))
    assert (a.stability_path_ != b.stability_path_).nnz


def test_the_estimators_own_seed_is_replaced_and_the_estimator_left_alone():
    estimator = RDAClassifier(max_iter=3, tol=None, random_state=7)
    same(quick(estimator).fit(X, CLASSES), quick(FAST).fit(X, CLASSES))
    assert estimator.random_state == 7
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_rows_are_the_same_and_stay_sparse(kind, monkeypatch):
    rows, y, planted = make_text(n_samples=1000, n_features=200, random_state=0)
    dense = quick().fit(rows.toarray(), y)
    for cls in (sp.csr_array, sp.csr_matrix, sp.csc_matrix, sp.coo_array):
        monkeypatch.setattr(cls, "toarray", refuse_large(cls.toarray))
    actual = quick().fit(kind(rows), y)
    same(dense, actual)
    assert sp.issparse(actual.transform(kind(rows)))
    assert set(actual.support_) <= set(planted)


def refuse_large(toarray):
    def guarded(self, *arguments, **options):
        assert self.shape[0] < 20, "the rows were made dense"
        return toarray(self, *arguments, **options)

    return guarded


# --------------------------------------------------------------------------- manners
def test_names_and_output_formats():
    names = [f"word {k}" for k in range(40)]
    frame = pd.DataFrame(X, columns=names)
    selector = quick(Lasso(), n_selected=3).fit(frame, REGRESSION_GRID)
    assert selector.get_feature_names_out().tolist() == ["word 0", "word 1", "word 2"]
    out = selector.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == ["word 0", "word 1", "word 2"]
    polars = pl.DataFrame(X, schema=names)
    assert (
        quick(Lasso(), n_selected=3)
        .set_output(transform="polars")
        .fit(polars, REGRESSION_GRID)
        .transform(polars)
        .columns
        == out.columns.tolist()
    )
    assert np.array_equal(selector.get_support(indices=True), selector.support_)


def test_an_empty_selection_is_told():
    selector = quick(Lasso(), n_selected=1, threshold=1.0).fit(X, RANDOM.normal(size=120))
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (120, 0)


def test_unfinished_fits_are_told_once():
    with pytest.warns(ConvergenceWarning, match=r"StabilitySelector .*passes") as warned:
        quick(RDAClassifier(max_iter=2)).fit(X, CLASSES)
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Empty fits at the strong end are as they should be.
        quick(FAST, param_values=[1e3, 1e-3]).fit(X, CLASSES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 0.5}, "'threshold' parameter"),
        ({"threshold": 0.6, "n_selected": 3, "max_false": 1.0}, "give at most two"),
        ({"param_name": "wrong"}, "no parameter of RDAClassifier"),
        ({"param_values": [[1.0]]}, "one row of numbers"),
        ({"estimator": SelectKBest(), "param_values": [1.0]}, "name the parameter of the path"),
        ({"n_pairs": 0}, "'n_pairs' parameter"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ValueError, match=words):
        quick(options.pop("estimator", FAST), **options).fit(X, CLASSES)


def test_targets_that_cannot_be_halved():
    with pytest.raises(ValueError, match="class 2 has only 1"):
        quick().fit(X, np.r_[2, CLASSES[1:]])
    with pytest.raises(ValueError, match="only one class"):
        quick().fit(X, np.ones(120, int))
