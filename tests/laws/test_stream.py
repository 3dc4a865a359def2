"""Streams: the same rows in any chunks give the same bits.

This also holds if a stream is interrupted, saved, loaded and continued.
"""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from hypothesis import given
from hypothesis import strategies as st
from registry import CLASSIFIERS, STREAMS
from sklearn.base import is_classifier
from tiny import one_pass, quiet

import tamis
from tamis import (
    FOBOSClassifier,
    FTRLClassifier,
    OnlineClassifier,
    OnlineRegressor,
    RDAClassifier,
    TruncatedGradientClassifier,
)

N = 40
X = tiny.matrix(N, 7)
TWO, THREE = (tiny.signs(X) > 0).astype(int), tiny.classes(N)
LABELS = np.c_[TWO, THREE > 0, np.arange(N) % 2]
W = tiny.weights(N)

cuts = st.one_of(
    st.sets(st.integers(1, N - 1)).map(sorted), st.just(list(range(1, N))), st.just([])
)


def chunks(cut_points):
    return zip([0, *cut_points], [*cut_points, N], strict=True)


def stream(model, cut_points, y, sample_weight=None, rows=X, classes=None):
    """The model after partial_fit on the pieces of the rows."""
    for start, stop in chunks(cut_points):
        named = {} if sample_weight is None else {"sample_weight": sample_weight[start:stop]}
        if is_classifier(model) and np.ndim(y) == 1:
            named["classes"] = np.unique(y) if classes is None else classes
        quiet(model.partial_fit, rows[start:stop], y[start:stop], **named)
    return model


def targets(model, multi_output=False):
    if is_classifier(model):
        return THREE if multi_output else TWO
    return tiny.numbers(X, 3 if multi_output else 1)


# Settings beyond the recipes' own: none of them is compiled for this, the loops run as Python.
SETTINGS = [
    (OnlineClassifier, {"average": True}),
    (OnlineClassifier, {"average": True, "penalty": "elasticnet", "alpha": 0.05, "eta": 0.3}),
    (OnlineClassifier, {"positive": True, "alpha": 0.02}),
    (OnlineClassifier, {"penalty": None, "loss": "hinge", "learning_rate": "pa1"}),
    (OnlineClassifier, {"optimizer": "adagrad", "average": True}),
    (
        OnlineClassifier,
        {"fit_intercept": False, "learning_rate": "constant", "penalty": "l2", "alpha": 0.1},
    ),
    (TruncatedGradientClassifier, {"gravity": 0.02, "burst": 3, "theta": 0.5}),
    (TruncatedGradientClassifier, {"burst": 7, "average": True}),
    (RDAClassifier, {"fading_threshold": 0.01, "eta": 0.5, "alpha": 0.01}),
    (FTRLClassifier, {"l1_ratio": 0.5, "beta": 0.5, "positive": True}),
    (OnlineRegressor, {"loss": "huber", "average": True}),
    (OnlineRegressor, {"loss": "epsilon_insensitive", "optimizer": "dual_averaging"}),
]


# --------------------------------------------------------------------------- chunks
@pytest.mark.parametrize("cls", STREAMS)
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
def test_fit_equals_partial_fit_equals_any_chunks(cls, multi_output):
    y = targets(cls(), multi_output)

    @given(cut_points=cuts)
    def law(cut_points):
        tiny.assert_same(full, stream(cls(), cut_points, y), X)
        tiny.assert_same(weighted, stream(cls(), cut_points, y, W), X)

    full, weighted = quiet(one_pass(cls).fit, X, y), quiet(one_pass(cls).fit, X, y, sample_weight=W)
    assert full.t_ == N
    assert weighted.t_ == np.count_nonzero(W)
    law()


@pytest.mark.parametrize(
    ("cls", "parameters"), SETTINGS, ids=lambda v: repr(v) if isinstance(v, dict) else v.__name__
)
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
def test_chunks_under_every_setting(interpreted, cls, parameters, multi_output):
    y = targets(cls(), multi_output)

    @given(cut_points=cuts)
    def law(cut_points):
        tiny.assert_same(full, stream(cls(**parameters), cut_points, y, W), X)

    full = quiet(one_pass(cls, **parameters).fit, X, y, sample_weight=W)
    law()


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighed"])
@pytest.mark.parametrize("cls", [FOBOSClassifier, RDAClassifier])
def test_balanced_classes_in_a_stream(interpreted, cls, y, weights):
    """Running counts that include the current row, in any chunks; and against the definition."""

    @given(cut_points=cuts)
    def law(cut_points):
        tiny.assert_same(full, stream(cls(class_weight="balanced"), cut_points, y, weights), X)

    full = stream(cls(class_weight="balanced"), [], y, weights)
    law()
    row_weights = np.ones(N) if weights is None else weights
    counts, k, factors = np.zeros(3), len(np.unique(y)), []
    for c, w in zip(y, row_weights, strict=True):
        counts[c] += w > 0
        factors.append(w * (counts.sum() / (k * max(counts[c], 1))))
    tiny.assert_same(full, stream(cls(), [], y, np.array(factors)), X)


@given(cut_points=cuts)
def test_labels_in_chunks(cut_points):
    full = quiet(one_pass(FOBOSClassifier).fit, X, LABELS)
    tiny.assert_same(full, stream(FOBOSClassifier(), cut_points, LABELS), X)
    tiny.assert_same(full, stream(FOBOSClassifier(), cut_points, sp.csr_array(LABELS)), X)


def test_chunks_of_sparse_rows(interpreted):
    rows = sp.csr_array(X)
    full = quiet(one_pass(FOBOSClassifier).fit, rows, TWO)
    tiny.assert_same(full, stream(FOBOSClassifier(), [3, 4, 20], TWO, rows=rows), X)


def test_sparsity_does_not_melt_with_the_number_of_calls():
    """What scikit-learn's SGD loses: forty calls keep as few features as one."""
    rng = np.random.default_rng(0)
    rows = sp.random_array((400, 2000), density=0.01, rng=rng, format="csr")
    y = (rng.random(400) < 0.5).astype(int)
    one = FOBOSClassifier(alpha=0.01, eta=0.1).partial_fit(rows, y, classes=[0, 1])
    forty = FOBOSClassifier(alpha=0.01, eta=0.1)
    for k in range(40):
        forty.partial_fit(rows[10 * k : 10 * k + 10], y[10 * k : 10 * k + 10], classes=[0, 1])
    tiny.assert_same(one, forty, rows)
    assert 0 < len(one.support_) < 1900


# --------------------------------------------------------------------------- interruptions
@pytest.mark.parametrize("cls", STREAMS)
@pytest.mark.parametrize("copy_method", ["save", "pickle", "deepcopy"])
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
def test_interrupted_and_continued(cls, copy_method, multi_output, tmp_path):
    y = targets(cls(), multi_output)
    model = stream(cls(), [], y)
    interrupted = (
        stream(cls(), [], y[:13], rows=X[:13], classes=np.unique(y))
        if is_classifier(cls())
        else quiet(cls().partial_fit, X[:13], y[:13])
    )
    if copy_method == "save":
        tamis.save(interrupted, tmp_path / "model.tamis")
        again = tamis.load(tmp_path / "model.tamis")
    else:
        again = (
            pickle.loads(pickle.dumps(interrupted))
            if copy_method == "pickle"
            else copy.deepcopy(interrupted)
        )
    tiny.assert_same(interrupted, again, X)
    quiet(again.partial_fit, X[13:], y[13:])
    tiny.assert_same(model, again, X)
    assert again.history_[-1]["rows"] <= again.t_ == N


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_balanced_counts_survive_saving(cls, tmp_path):
    full = stream(cls(class_weight="balanced"), [], THREE)
    partial = quiet(cls(class_weight="balanced").partial_fit, X[:11], THREE[:11], classes=[0, 1, 2])
    tamis.save(partial, tmp_path / "model.tamis")
    again = quiet(tamis.load(tmp_path / "model.tamis").partial_fit, X[11:], THREE[11:])
    tiny.assert_same(full, again, X)


def test_reading_between_chunks_changes_nothing(interpreted):
    """`coef_`, `support_`, scores and sparsify are looks, not steps."""
    model = OnlineClassifier(penalty="elasticnet", average=True)
    for start in range(0, N, 5):
        quiet(model.partial_fit, X[start : start + 5], TWO[start : start + 5], classes=[0, 1])
        (
            model.coef_,
            model.support_,
            model.intercept_,
            model.resolved_params_,
            model.decision_function(X),
            model.predict_proba(X),
        )
        model.sparsify() if start % 2 else model.densify()
    tiny.assert_same(
        model, quiet(one_pass(OnlineClassifier, penalty="elasticnet", average=True).fit, X, TWO), X
    )


@pytest.mark.parametrize("cls", STREAMS)
def test_sparsify_shows_a_sparse_matrix_and_lets_training_go_on(cls):
    y = targets(cls(), multi_output=True)
    model = stream(cls(), [], y)
    dense = model.coef_
    assert model.sparsify() is model
    assert sp.issparse(model.coef_)
    assert np.array_equal(model.coef_.toarray(), dense)
    assert model.coef_.nnz == np.count_nonzero(dense)
    quiet(model.partial_fit, X, y)
    twice = quiet(stream(cls(), [], y).partial_fit, X, y)
    tiny.assert_same(twice, model, X)
    assert not sp.issparse(model.densify().coef_)


# --------------------------------------------------------------------------- debts
def test_no_weight_shows_an_unpaid_debt(interpreted):
    """A feature seen once and never again is charged to the end, whoever looks, and ends at an
    exact 0.
    """
    rows = np.zeros((60, 3))
    rows[0], rows[1:, 1] = [1.0, 0.0, 0.0], 1.0
    y = np.arange(60) % 2
    model = FOBOSClassifier(alpha=0.05, eta=0.1, learning_rate="constant", fit_intercept=False)
    sizes = []
    for i in range(60):
        quiet(model.partial_fit, rows[i : i + 1], y[i : i + 1], classes=[0, 1])
        sizes.append(abs(model.coef_[0, 0]))
    falls = np.diff(sizes)
    assert sizes[0] == pytest.approx(0.1 * 0.5 - 0.1 * 0.05)
    assert sizes[-1] == 0.0
    assert falls[:5] == pytest.approx(-0.1 * 0.05)
    assert 0 not in model.support_
    assert model.decision_function([[1.0, 0.0, 0.0]]) == 0.0
