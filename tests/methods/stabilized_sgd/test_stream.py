"""Streams: any chunks, any interruption, same bits."""

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
GIVEN = {"n_paths": 3, "burst": 3, "bursts_per_stage": 4, "burn_in": 0.02, "random_state": 0}
cuts = st.one_of(st.sets(st.integers(1, N - 1)).map(sorted), st.just(list(range(1, N))))


def begin(kind, **more):
    return (
        StabilizedSGDRegressor(**GIVEN, **more)
        if kind == "numbers"
        else StabilizedSGDClassifier(**GIVEN, **more)
    )


def walk(model, kind, start, stop, weights=None):
    y = {"three": THREE, "two": TWO, "numbers": NUMBERS}[kind]
    named = {} if y is NUMBERS else {"classes": np.unique(y)}
    if weights is not None:
        named["sample_weight"] = weights[start:stop]
    return quiet(model.partial_fit, X[start:stop], y[start:stop], **named)


def stream(kind, places, weights=None, **more):
    model = begin(kind, **more)
    for start, stop in zip([0, *places], [*places, N], strict=True):
        walk(model, kind, start, stop, weights)
    return model


def assert_same(a, b):
    for name in ("coef_", "intercept_", "selection_probability_", "paths_", "support_"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.history_ == b.history_
    assert (a.t_, a.n_stages_) == (b.t_, b.n_stages_)


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_chunks(kind):
    whole, weighed = stream(kind, []), stream(kind, [], tiny.weights(N))
    assert whole.history_[-1]["kept"] < whole.history_[0]["kept"] or kind == "numbers"

    @given(places=cuts)
    def law(places):
        assert_same(whole, stream(kind, places))
        assert_same(weighed, stream(kind, places, tiny.weights(N), n_jobs=2))

    law()


def test_chunks_with_balanced_classes_and_adaptive_bursts():
    whole = stream("two", [], class_weight="balanced", adaptive_burst=0.3, min_votes=20)
    assert_same(
        whole,
        stream("two", list(range(1, N)), class_weight="balanced", adaptive_burst=0.3, min_votes=20),
    )


@pytest.mark.parametrize("way", ["save", "pickle", "deepcopy"])
@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
@pytest.mark.parametrize("place", [12, 40, 59], ids=["end of a stage", "mid-burst", "mid-stage"])
def test_interrupted_and_continued(way, kind, place, tmp_path):
    whole = stream(kind, [])
    broken = begin(kind)
    walk(broken, kind, 0, place)
    if way == "save":
        tamis.save(broken, tmp_path / "model.tamis")
        again = tamis.load(tmp_path / "model.tamis")
    else:
        again = pickle.loads(pickle.dumps(broken)) if way == "pickle" else copy.deepcopy(broken)
    assert_same(broken, again)
    assert np.array_equal(broken.predict(X), again.predict(X))
    assert_same(whole, walk(again, kind, place, N))


def test_a_fitted_model_goes_on_in_a_stream_and_after_loading(tmp_path):
    """From the compact columns of a fit, in mid-stage, to all columns."""
    model = quiet(StabilizedSGDClassifier(**GIVEN, max_iter=3).fit, X[:50, :], TWO[:50])
    shown = model.coef_.copy()
    tamis.save(model, tmp_path / "model.tamis")
    again = tamis.load(tmp_path / "model.tamis")
    a, b = (quiet(m.partial_fit, X[50:], TWO[50:]) for m in (model, again))
    assert_same(a, b)
    assert not np.array_equal(shown, a.coef_)


def test_reading_between_chunks_changes_nothing():
    model = stream("two", [])
    other = begin("two")
    for start in range(0, N, 5):
        walk(other, "two", start, start + 5)
        _ = (
            other.coef_,
            other.paths_,
            other.history_,
            other.selection_probability_,
            other.predict(X),
            other.resolved_params_,
        )
    assert_same(model, other)


def test_one_walk_of_fit_in_order_is_a_stream_while_burning_in():
    model = quiet(
        StabilizedSGDClassifier(n_paths=3, max_iter=1, shuffle=False, random_state=0).fit, X, TWO
    )
    other = quiet(
        StabilizedSGDClassifier(n_paths=3, random_state=0).partial_fit, X, TWO, classes=[0, 1]
    )
    assert np.array_equal(model.coef_, other.coef_)


def test_scores_come_from_the_weights_shown():
    for kind in ("two", "three", "numbers"):
        model = stream(kind, [])
        by_hand = X @ np.atleast_2d(model.coef_).T + model.intercept_
        scores = model.predict(X) if kind == "numbers" else model.decision_function(X)
        assert scores.reshape(N, -1) == pytest.approx(by_hand, rel=1e-12, abs=1e-12)
        for i in range(5):  # few rows take another way to the same bits
            one = (
                model.predict(X[i : i + 1])
                if kind == "numbers"
                else model.decision_function(X[i : i + 1])
            )
            assert np.array_equal(one[0], scores[i])


def test_changed_lengths_in_mid_stage():
    """A stage begun under one plan ends under it: no pool runs over."""
    model = begin("two")
    walk(model, "two", 0, 20)
    model.set_params(burst=1, bursts_per_stage=1)
    walk(model, "two", 20, 50)
    model.set_params(burst=20, bursts_per_stage=5)
    walk(model, "two", 50, N)
    assert np.isfinite(model.coef_).all()
    model.set_params(n_paths=4)
    with pytest.raises(ValueError, match="n_paths"):
        walk(model, "two", 0, 5)


def test_the_history_of_a_long_stream_is_thinned():
    model = StabilizedSGDClassifier(n_paths=1, burst=1, bursts_per_stage=1, random_state=0)
    rows, y = np.tile(X, (40, 1)), np.tile(TWO, 40)
    quiet(model.partial_fit, rows, y, classes=[0, 1])
    stages = [h["stage"] for h in model.history_]
    assert model.n_stages_ == 3600
    assert stages == list(range(4, 3601, 4))


@pytest.mark.parametrize("break_it", ["pool", "fills", "burst", "columns", "state"])
def test_forged_states_are_refused(break_it, tmp_path):
    model = stream("two", [])
    quiet(model.partial_fit, X[:5], TWO[:5])
    bundle = model._engine.bundles[0]
    tamis.save(model, tmp_path / "m")
    tamis.load(tmp_path / "m")
    if break_it == "pool":
        bundle.pool_at[0, 0] = 10**6
    elif break_it == "fills":
        bundle.paths[0, 3] = 1e6
    elif break_it == "burst":
        bundle.course[7] = 2.5
    elif break_it == "columns":
        bundle.columns[1] = 0
    else:
        bundle.state = bundle.state[:, :-2]
    tamis.save(model, tmp_path / "m")
    with pytest.raises(
        tamis.model_files.ModelFileError, match=r"StabilizedSGDClassifier._engine.bundles\[0\]"
    ):
        tamis.load(tmp_path / "m")
