"""Supports in every form say the same, and bad ones are refused in words."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tamis import FOBOSClassifier, selection_kappa
from tamis.selection.supports import indicator_matrix, selected_features

MASKS = np.array([[1, 0, 1, 0, 0, 1], [1, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0]], dtype=bool)
WEIGHTS = MASKS * np.array([-0.5, 2.0, 3.0, 1.0, 1.0, -4.0])
FORMS = {
    "booleans": MASKS,
    "zeros and ones": MASKS.astype(int),
    "weights": WEIGHTS,
    "sparse weights": sp.csr_array(WEIGHTS),
    "sparse matrix": sp.csc_matrix(WEIGHTS),
    "list of masks": list(MASKS),
    "list of indices": [np.flatnonzero(m) for m in MASKS],
    "plain lists, unordered, repeated": [[5, 2, 0, 0], [1, 0, 5], []],
    "sets": [{0, 2, 5}, {0, 1, 5}, set()],
    "list of weights": list(WEIGHTS),
    "list of sparse rows": [sp.csr_array(w[None, :]) for w in WEIGHTS],
    "several outputs": [np.array([w, w * [0, 1, 1, 1, 1, 0]]) for w in WEIGHTS],
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_the_same_matrix(form):
    actual = indicator_matrix(FORMS[form], 6)
    assert actual.dtype == float
    assert np.array_equal(actual.toarray(), MASKS)


def test_stored_zeros_are_not_kept_and_input_is_not_changed():
    weights = sp.csr_array(WEIGHTS)
    weights.data[0] = 0.0
    before = weights.data.copy()
    assert indicator_matrix(weights).sum() == MASKS.sum() - 1
    assert np.array_equal(weights.data, before)


def test_fitted_models():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 6))
    y = (X[:, 1] > 0).astype(int)
    ours, three = (
        FOBOSClassifier(alpha=0.05, random_state=0).fit(X, y),
        FOBOSClassifier(alpha=0.05, random_state=0).fit(X, y + (X[:, 2] > 1)),
    )
    lasso = Lasso(0.1).fit(X, X[:, 1])
    piped = make_pipeline(StandardScaler(), Lasso(0.1)).fit(X, X[:, 1])
    chosen = SelectKBest(k=2).fit(X, y)
    machine = SVC(kernel="linear").fit(X, y)
    for model, expected in [
        (ours, np.flatnonzero(ours.coef_)),
        (three, np.flatnonzero(three.coef_.any(axis=0))),
        (ours.sparsify(), ours.support_),
        (lasso, [1]),
        (piped, [1]),
        (chosen, np.flatnonzero(chosen.get_support())),
        (machine, np.arange(6)),
    ]:
        assert np.array_equal(selected_features(model)[0], expected), model
    assert selected_features(lasso)[1] == pytest.approx(np.abs(lasso.coef_[[1]]))
    assert selected_features(chosen)[1] is None
    assert selection_kappa([lasso, piped]) == 1.0
    with pytest.raises(TypeError, match="StandardScaler does not say"):
        selected_features(StandardScaler().fit(X))


def test_pipelines_speak_of_the_columns_that_came_in():
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 9))
    y = (X[:, 4] + X[:, 7] > 0).astype(int)
    first = SelectKBest(k=3).fit(X, y)
    through = make_pipeline(SelectKBest(k=3), StandardScaler(), Lasso(0.1)).fit(X, y)
    assert set(selected_features(through)[0]) == {4, 7}
    twice = make_pipeline(SelectKBest(k=5), SelectKBest(k=2), Lasso(1e-6)).fit(X, y)
    assert set(selected_features(twice)[0]) == {4, 7}
    silent = make_pipeline(SelectKBest(k=3), KNeighborsClassifier()).fit(X, y)
    assert np.array_equal(selected_features(silent)[0], first.get_support(indices=True))
    with pytest.raises(TypeError, match="KNeighborsClassifier does not say"):
        selected_features(make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X, y))


@pytest.mark.parametrize(
    ("supports", "n_features", "words"),
    [
        ([[0, 1], [7]], 7, "run 1 keeps feature 7, outside 0..6"),
        ([[0], [-1]], 7, "keeps feature -1"),
        ([[0], [1]], None, "pass n_features"),
        ([[0]], 3, "at least 2 runs"),
        (np.zeros((1, 4), bool), None, "at least 2 runs"),
        ([[True, False], [True]], None, "equally many features"),
        (MASKS, 7, "6 features, but n_features is 7"),
        ([[0], [1]], 0, "n_features must be a whole number"),
        (np.array([[3, 4], [5, 6]]), None, "pass a list of index arrays"),
        (np.zeros(4, bool), None, "shape \\(runs, features\\)"),
    ],
)
def test_bad_supports(supports, n_features, words):
    with pytest.raises(ValueError, match=words):
        indicator_matrix(supports, n_features)


@pytest.mark.parametrize("supports", ["abc", {"a": 1}, 3, [["a"], ["b"]]])
def test_things_that_are_no_supports(supports):
    with pytest.raises(TypeError, match=r"indices|index arrays"):
        indicator_matrix(supports, 4)
