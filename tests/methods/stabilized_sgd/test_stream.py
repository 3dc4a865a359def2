"""Streams: chunks and interruptions do not change the bits."""

import copy
import pickle

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from tiny import quiet

import tamis
from tamis import StabilizedSGDClassifier, StabilizedSGDRegressor

N, P = 90, 14
X = tiny.matrix(N, P)
TWO, THREE, NUMBERS = (tiny.signs(X) > 0).astype(int), tiny.classes(N), tiny.numbers(X)
PARAMS = {"n_paths": 3, "burst": 3, "bursts_per_stage": 4, "burn_in": 0.02, "random_state": 0}
cuts = st.one_of(st.sets(st.integers(1, N - 1)).map(sorted), st.just(list(range(1, N))))


def make_model(kind, **params):
    return (
        StabilizedSGDRegressor(**PARAMS, **params)
        if kind == "numbers"
        else StabilizedSGDClassifier(**PARAMS, **params)
    )


def learn(model, kind, start, stop, weights=None):
    y = {"three": THREE, "two": TWO, "numbers": NUMBERS}[kind]
    arguments = {} if y is NUMBERS else {"classes": np.unique(y)}
    if weights is not None:
        arguments["sample_weight"] = weights[start:stop]
    return quiet(model.partial_fit, X[start:stop], y[start:stop], **arguments)


def stream(kind, chunk_ends, weights=None, **params):
    model = make_model(kind, **params)
    for start, stop in zip([0, *chunk_ends], [*chunk_ends, N], strict=True):
        learn(model, kind, start, stop, weights)
    return model


def assert_same(a, b):
    for name in ("coef_", "intercept_", "selection_probability_", "paths_", "support_"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.history_ == b.history_
    assert (a.t_, a.n_stages_) == (b.t_, b.n_stages_)


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_chunks(kind):
    expected, weighted = stream(kind, []), stream(kind, [], tiny.weights(N))
    assert expected.history_[-1]["kept"] < expected.history_[0]["kept"] or kind == "numbers"

    @given(chunk_ends=cuts)
    def law(chunk_ends):
        assert_same(expected, stream(kind, chunk_ends))
        assert_same(weighted, stream(kind, chunk_ends, tiny.weights(N), n_jobs=2))

    law()


def test_chunks_with_balanced_classes_and_adaptive_bursts():
    expected = stream("two", [], class_weight="balanced", adaptive_burst=0.3, min_votes=20)
    assert_same(
        expected,
        stream("two", list(range(1, N)), class_weight="balanced", adaptive_burst=0.3, min_votes=20),
    )


@pytest.mark.parametrize("copy_method", ["save", "pickle", "deepcopy"])
@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
@pytest.mark.parametrize("end", [12, 40, 59], ids=["end of a stage", "mid-burst", "mid-stage"])
def test_interrupted_and_continued(copy_method, kind, end, tmp_path):
    expected = stream(kind, [])
    interrupted = make_model(kind)
    learn(interrupted, kind, 0, end)
    if copy_method == "save":
        tamis.save(interrupted, tmp_path / "model.tamis")
        again = tamis.load(tmp_path / "model.tamis")
    else:
        again = (
            pickle.loads(pickle.dumps(interrupted))
            if copy_method == "pickle"
            else copy.deepcopy(interrupted)
        )
    assert_same(interrupted, again)
    assert np.array_equal(interrupted.predict(X), again.predict(X))
    assert_same(expected, learn(again, kind, end, N))


def test_a_fitted_model_goes_on_in_a_stream_and_after_loading(tmp_path):
    """A stream continues from the compacted columns of a fit, in mid-stage, with all columns."""
    model = quiet(StabilizedSGDClassifier(**PARAMS, max_iter=3).fit, X[:50, :], TWO[:50])
    coef = model.coef_.copy()
    tamis.save(model, tmp_path / "model.tamis")
    again = tamis.load(tmp_path / "model.tamis")
    a, b = (quiet(m.partial_fit, X[50:], TWO[50:]) for m in (model, again))
    assert_same(a, b)
    assert not np.array_equal(coef, a.coef_)


def test_attributes_between_chunks_change_nothing():
    model = stream("two", [])
    other = make_model("two")
    for start in range(0, N, 5):
        learn(other, "two", start, start + 5)
        _ = (
            other.coef_,
            other.paths_,
            other.history_,
            other.selection_probability_,
            other.predict(X),
            other.resolved_params_,
        )
    assert_same(model, other)


def test_one_pass_of_fit_in_order_equals_a_stream_during_the_burn_in():
    model = quiet(
        StabilizedSGDClassifier(n_paths=3, max_iter=1, shuffle=False, random_state=0).fit, X, TWO
    )
    other = quiet(
        StabilizedSGDClassifier(n_paths=3, random_state=0).partial_fit, X, TWO, classes=[0, 1]
    )
    assert np.array_equal(model.coef_, other.coef_)


def test_scores_equal_those_of_the_public_weights():
    for kind in ("two", "three", "numbers"):
        model = stream(kind, [])
        expected_scores = X @ np.atleast_2d(model.coef_).T + model.intercept_
        scores = model.predict(X) if kind == "numbers" else model.decision_function(X)
        assert scores.reshape(N, -1) == pytest.approx(expected_scores, rel=1e-12, abs=1e-12)
        for i in range(5):  # few rows use another loop with the same bits
            row_score = (
                model.predict(X[i : i + 1])
                if kind == "numbers"
                else model.decision_function(X[i : i + 1])
            )
            assert np.array_equal(row_score[0], scores[i])


def test_changed_lengths_in_mid_stage():
    """A stage ends under the plan it began with, so that no pool overflows."""
    model = make_model("two")
    learn(model, "two", 0, 20)
    model.set_params(burst=1, bursts_per_stage=1)
    learn(model, "two", 20, 50)
    model.set_params(burst=20, bursts_per_stage=5)
    learn(model, "two", 50, N)
    assert np.isfinite(model.coef_).all()
    model.set_params(n_paths=4)
    with pytest.raises(ValueError, match="n_paths"):
        learn(model, "two", 0, 5)


def test_the_history_of_a_long_stream_is_thinned():
    model = StabilizedSGDClassifier(n_paths=1, burst=1, bursts_per_stage=1, random_state=0)
    rows, y = np.tile(X, (40, 1)), np.tile(TWO, 40)
    quiet(model.partial_fit, rows, y, classes=[0, 1])
    stages = [h["stage"] for h in model.history_]
    assert model.n_stages_ == 3600
    assert stages == list(range(4, 3601, 4))


@pytest.mark.parametrize("field", ["pool", "fills", "burst", "columns", "state"])
def test_forged_states_are_refused(field, tmp_path):
    model = stream("two", [])
    quiet(model.partial_fit, X[:5], TWO[:5])
    bundle = model._solver_state.bundles[0]
    tamis.save(model, tmp_path / "m")
    tamis.load(tmp_path / "m")
    if field == "pool":
        bundle.pool_at[0, 0] = 10**6
    elif field == "fills":
        bundle.paths[0, 3] = 1e6
    elif field == "burst":
        bundle.course[7] = 2.5
    elif field == "columns":
        bundle.columns[1] = 0
    else:
        bundle.state = bundle.state[:, :-2]
    tamis.save(model, tmp_path / "m")
    with pytest.raises(
        tamis.model_files.ModelFileError,
        match=r"StabilizedSGDClassifier._solver_state.bundles\[0\]",
    ):
        tamis.load(tmp_path / "m")
