"""Every linear model explains its scores and leaves Python: contributions and intercept are the
score, and JSON, Python and SQL say what `predict_proba` says.
"""

import functools
import json

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from exporting.queries import run_query
from registry import ESTIMATORS, small
from sklearn.base import is_classifier
from tiny import quiet

from tamis.exporting.export import exported

N, P = 40, 7
X = tiny.matrix(N, P)
# Their scores are no sums over columns, but over kernels and over terms of a metric.
OTHERS = ("GMKLClassifier", "GMKLRegressor", "SDistClassifier")
EXPLAINING = [cls for cls in ESTIMATORS if hasattr(cls, "explain")]
LINEAR = [cls for cls in EXPLAINING if cls.__name__ not in OTHERS]
BOTH = pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
# One machine a class, for one a pair of classes is no sum; with probabilities, to export them.
CHOSEN = {"TriClassSVC": {"multi_class": "ovr", "probability": True}}


@functools.cache
def fitted(cls, many):
    """A model of two classes or one number; or of three."""
    model = small(cls).set_params(**CHOSEN.get(cls.__name__, {}))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if is_classifier(model):
        y = tiny.classes(N) if many else (tiny.signs(X) > 0).astype(int)
    else:
        y = tiny.numbers(X, 3 if many else 1)
    return quiet(model.fit, X, y)


def scores_of(model):
    """Scores, a column an output."""
    found = model.decision_function(X) if is_classifier(model) else model.predict(X)
    return found.reshape(N, -1)


def answers_of(model):
    """What an export must say: probabilities where there are some, else scores."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else scores_of(model)


@BOTH
@pytest.mark.parametrize("cls", EXPLAINING)
def test_contributions_and_intercept_are_the_score(cls, many):
    model = fitted(cls, many)
    found, scores = model.explain(sp.csr_array(X)), scores_of(model)
    total = np.stack([part.sum(axis=1) for part in found.contributions], axis=1) + found.intercept
    np.testing.assert_allclose(total, scores, rtol=0, atol=1e-12 * max(1, np.abs(scores).max()))
    np.testing.assert_allclose(
        found.score.reshape(N, -1), scores, rtol=0, atol=1e-12 * max(1, np.abs(scores).max())
    )
    assert all(part.shape == (N, len(found.names)) for part in found.contributions)


@pytest.mark.parametrize("cls", LINEAR)
def test_sparse_rows_have_few_contributions(cls):
    model = fitted(cls, True)
    sparse, dense = model.explain(sp.csr_array(X)), model.explain(X)
    for one, other in zip(sparse.contributions, dense.contributions, strict=True):
        assert sp.issparse(one)
        assert one.nnz <= np.count_nonzero(X[:, sparse.columns])
        assert np.array_equal(one.toarray(), other.toarray())
    assert sparse.names == [f"x{c}" for c in sparse.columns]


@pytest.mark.parametrize("cls", LINEAR)
def test_rows_alone_and_together_are_explained_alike(cls):
    model = fitted(cls, True)
    together = model.explain(X)
    for row in (0, 7):
        alone = model.explain(X[[row]])[0]
        assert alone.label == together[row].label
        assert alone.contributions == together[row].contributions
        sizes = [abs(share) for _, share in alone.contributions]
        assert sizes == sorted(sizes, reverse=True)


@BOTH
@pytest.mark.parametrize("cls", LINEAR)
def test_python_says_the_same(cls, many):
    model = fitted(cls, many)
    alone = {}
    exec(exported(model, "python"), alone)
    ask = alone["predict_proba" if hasattr(model, "predict_proba") else "score"]
    by_place = [np.ravel(ask(row)) for row in X.tolist()]
    by_name = [np.ravel(ask({f"x{k}": v for k, v in enumerate(row) if v})) for row in X.tolist()]
    np.testing.assert_allclose(by_place, answers_of(model), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_name, answers_of(model), rtol=1e-12, atol=1e-12)
    if is_classifier(model):
        assert [alone["predict"](row) for row in X.tolist()] == model.predict(X).tolist()


@BOTH
@pytest.mark.parametrize("cls", LINEAR)
def test_json_says_the_same(cls, many):
    model = fitted(cls, many)
    told = json.loads(exported(model, "json"))
    columns = [feature["column"] for feature in told["features"]]
    weights = np.array([feature["weights"] for feature in told["features"]])
    scores = (
        X[:, columns] @ weights.reshape(len(columns), len(told["intercepts"])) + told["intercepts"]
    )
    lines = np.array(told["calibration"] or [[1.0, 0.0]] * scores.shape[1])
    found, bent = scores, scores * lines[:, 0] + lines[:, 1]
    if told["link"] == "softmax":
        found = np.exp(bent) / np.exp(bent).sum(axis=1, keepdims=True)
    elif told["link"] != "identity":
        found = 1 / (1 + np.exp(-bent))
        if told["link"] == "one-vs-rest":
            found = found / found.sum(axis=1, keepdims=True)
        elif scores.shape[1] == 1:
            found = np.column_stack((1 - found, found))
    np.testing.assert_allclose(found, answers_of(model), rtol=0, atol=1e-9)
    assert told["classes"] == (model.classes_.tolist() if is_classifier(model) else None)
    assert weights.reshape(len(columns), -1 if len(columns) else 1).any(axis=1).all()


@BOTH
@pytest.mark.parametrize("cls", LINEAR)
def test_sql_says_the_same(cls, many):
    model = fitted(cls, many)
    query = exported(model, "sql").decode()
    found = run_query(query, [f"x{k}" for k in range(P)], X.tolist())
    want = answers_of(model)
    what = "tamis_probability" if hasattr(model, "predict_proba") else "tamis_score"
    got = np.stack([column for name, column in found.items() if name.startswith(what)], axis=1)
    np.testing.assert_allclose(got, want[:, -got.shape[1] :], rtol=0, atol=1e-11)
    if is_classifier(model):
        assert list(found["tamis_prediction"]) == model.predict(X).tolist()


def test_the_registry_is_whole():
    """A guard: no estimator that predicts is without an explanation."""
    assert {cls for cls in ESTIMATORS if hasattr(cls, "predict")} == set(EXPLAINING)
    assert len(LINEAR) > 30
