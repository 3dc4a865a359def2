"""Every linear model explains its scores and can be exported.

Contributions and intercept add up to the score; JSON, Python and SQL agree with `predict_proba`.
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

from tamis.exporting.export import export_bytes

N, P = 40, 7
X = tiny.matrix(N, P)
# Their scores are no sums over columns, but over kernels and over terms of a metric.
OTHERS = ("GMKLClassifier", "GMKLRegressor", "SDistClassifier")
EXPLAINING = [cls for cls in ESTIMATORS if hasattr(cls, "explain")]
LINEAR = [cls for cls in EXPLAINING if cls.__name__ not in OTHERS]
BOTH = pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
# One machine a class, for one a pair of classes is no sum; with probabilities, to export them.
CHOSEN = {"TriClassSVC": {"multi_class": "ovr", "probability": True}}


@functools.cache
def fitted(cls, multi_output):
    """A model of two classes or one number; or of three."""
    model = small(cls).set_params(**CHOSEN.get(cls.__name__, {}))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if is_classifier(model):
        y = tiny.classes(N) if multi_output else (tiny.signs(X) > 0).astype(int)
    else:
        y = tiny.numbers(X, 3 if multi_output else 1)
    return quiet(model.fit, X, y)


def scores_of(model):
    """Scores, a column an output."""
    result = model.decision_function(X) if is_classifier(model) else model.predict(X)
    return result.reshape(N, -1)


def answers_of(model):
    """What an export must say: probabilities where there are some, else scores."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else scores_of(model)


@BOTH
@pytest.mark.parametrize("cls", EXPLAINING)
def test_contributions_and_intercept_are_the_score(cls, multi_output):
    model = fitted(cls, multi_output)
    result, scores = model.explain(sp.csr_array(X)), scores_of(model)
    total = (
        np.stack([output_matrix.sum(axis=1) for output_matrix in result.contributions], axis=1)
        + result.intercept
    )
    np.testing.assert_allclose(total, scores, rtol=0, atol=1e-12 * max(1, np.abs(scores).max()))
    np.testing.assert_allclose(
        result.score.reshape(N, -1), scores, rtol=0, atol=1e-12 * max(1, np.abs(scores).max())
    )
    assert all(
        output_matrix.shape == (N, len(result.names)) for output_matrix in result.contributions
    )


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
        sizes = [abs(contribution) for _, contribution in alone.contributions]
        assert sizes == sorted(sizes, reverse=True)


@BOTH
@pytest.mark.parametrize("cls", LINEAR)
def test_python_says_the_same(cls, multi_output):
    model = fitted(cls, multi_output)
    alone = {}
    exec(export_bytes(model, "python"), alone)
    predict_row = alone["predict_proba" if hasattr(model, "predict_proba") else "score"]
    by_position = [np.ravel(predict_row(row)) for row in X.tolist()]
    by_name = [
        np.ravel(predict_row({f"x{k}": v for k, v in enumerate(row) if v})) for row in X.tolist()
    ]
    np.testing.assert_allclose(by_position, answers_of(model), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_name, answers_of(model), rtol=1e-12, atol=1e-12)
    if is_classifier(model):
        assert [alone["predict"](row) for row in X.tolist()] == model.predict(X).tolist()


@BOTH
@pytest.mark.parametrize("cls", LINEAR)
def test_json_says_the_same(cls, multi_output):
    model = fitted(cls, multi_output)
    document = json.loads(export_bytes(model, "json"))
    columns = [feature["column"] for feature in document["features"]]
    weights = np.array([feature["weights"] for feature in document["features"]])
    scores = (
        X[:, columns] @ weights.reshape(len(columns), len(document["intercepts"]))
        + document["intercepts"]
    )
    lines = np.array(document["calibration"] or [[1.0, 0.0]] * scores.shape[1])
    result, calibrated = scores, scores * lines[:, 0] + lines[:, 1]
    if document["link"] == "softmax":
        result = np.exp(calibrated) / np.exp(calibrated).sum(axis=1, keepdims=True)
    elif document["link"] != "identity":
        result = 1 / (1 + np.exp(-calibrated))
        if document["link"] == "one-vs-rest":
            result = result / result.sum(axis=1, keepdims=True)
        elif scores.shape[1] == 1:
            result = np.column_stack((1 - result, result))
    np.testing.assert_allclose(result, answers_of(model), rtol=0, atol=1e-9)
    assert document["classes"] == (model.classes_.tolist() if is_classifier(model) else None)
    assert weights.reshape(len(columns), -1 if len(columns) else 1).any(axis=1).all()


@BOTH
@pytest.mark.parametrize("cls", LINEAR)
def test_sql_says_the_same(cls, multi_output):
    model = fitted(cls, multi_output)
    query = export_bytes(model, "sql").decode()
    result = run_query(query, [f"x{k}" for k in range(P)], X.tolist())
    expected = answers_of(model)
    prefix = "tamis_probability" if hasattr(model, "predict_proba") else "tamis_score"
    exported_scores = np.stack(
        [column for name, column in result.items() if name.startswith(prefix)], axis=1
    )
    np.testing.assert_allclose(
        exported_scores, expected[:, -exported_scores.shape[1] :], rtol=0, atol=1e-11
    )
    if is_classifier(model):
        assert list(result["tamis_prediction"]) == model.predict(X).tolist()


def test_the_registry_is_whole():
    """A guard: no estimator that predicts is without an explanation."""
    assert {cls for cls in ESTIMATORS if hasattr(cls, "predict")} == set(EXPLAINING)
    assert len(LINEAR) > 30
