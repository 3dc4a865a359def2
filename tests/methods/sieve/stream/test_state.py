"""The sieve on a stream: chunks, the sample, `refine`, files."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.sieve import reference_pass
from sklearn.metrics import r2_score

from tamis import SieveClassifier, SieveRegressor, load, save
from tamis.methods.sieve import fit
from tamis.methods.sieve.stream import state

N = 300
X, Y = reference_pass.make_text(N)
THREE = X.toarray()[:, :3].argmax(axis=1)
NUMBERS = (
    X.toarray()[:, :5] @ [3.0, -2.0, 1.0, 0.0, 0.5]
    + 7.0
    + 0.1 * np.random.default_rng(0).normal(size=N)
)
W = np.random.default_rng(3).integers(0, 3, N) / 2.0
cuts = st.sets(st.integers(1, N - 1), max_size=12).map(sorted)
TARGETS = {"two": Y, "three": THREE, "numbers": NUMBERS}


def stream(model, y, chunk_ends=(), weights=None, X=X):
    class_argument = {} if isinstance(model, SieveRegressor) else {"classes": np.unique(y)}
    for initial, stop in zip([0, *chunk_ends], [*chunk_ends, X.shape[0]], strict=True):
        model.partial_fit(
            X[initial:stop],
            y[initial:stop],
            sample_weight=None if weights is None else weights[initial:stop],
            **class_argument,
        )
    return model


def make(y, **options):
    return (SieveRegressor if y is NUMBERS else SieveClassifier)(random_state=0, **options)


def same(a, b):
    assert np.array_equal(a.coef_, b.coef_)
    assert np.array_equal(a.intercept_, b.intercept_)
    assert np.array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(("n_sample", "weights"), [(100, W), (1000, None)])
def test_any_chunks_give_the_same_bits(name, n_sample, weights):
    y = TARGETS[name]
    unchunked = stream(make(y, n_sample=n_sample), y, weights=weights).refine()

    @settings(max_examples=2)  # in each of six cases, beside row by row
    @given(chunk_ends=cuts)
    def law(chunk_ends):
        same(unchunked, stream(make(y, n_sample=n_sample), y, chunk_ends, weights).refine())

    law()
    same(unchunked, stream(make(y, n_sample=n_sample), y, range(1, N), weights).refine())


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_stream_is_a_fit(name):
    y = TARGETS[name]
    distinct = np.unique(X.toarray(), axis=0, return_index=True)[1]
    model = stream(make(y), y[distinct], X=X[distinct])
    same(model, make(y).fit(X[distinct], y[distinct]))


def test_rows_of_weight_0_change_nothing():
    is_positive = W > 0
    a = stream(SieveClassifier(random_state=0, n_sample=80), Y, weights=W)
    b = stream(
        SieveClassifier(random_state=0, n_sample=80),
        Y[is_positive],
        weights=W[is_positive],
        X=X[is_positive],
    )
    same(a, b)


@pytest.mark.parametrize("name", TARGETS)
def test_a_long_stream_learns_from_all_rows(name):
    big, y = reference_pass.make_text(3000, seed=5)
    if name == "three":
        y = big.toarray()[:, :3].argmax(axis=1)
    if name == "numbers":
        y = big.toarray()[:, :5] @ [3.0, -2.0, 1.0, 0.0, 0.5] + 7.0
    cls = SieveRegressor if name == "numbers" else SieveClassifier
    model = stream(cls(random_state=0, n_sample=500), y[:2500], range(100, 2500, 100), X=big[:2500])
    assert model._stream.rows.shape[0] <= 500
    assert model._stream.n_rows == 2500
    score = (
        r2_score(y[2500:], model.predict(big[2500:]))
        if name == "numbers"
        else model.score(big[2500:], y[2500:])
    )
    assert score > 0.85
    assert len(model.support_) < 60


def test_the_sample_does_not_depend_on_the_order_and_counts_repeated_rows():
    order = np.random.default_rng(0).permutation(N)
    a = stream(SieveClassifier(n_sample=100), Y)._stream.merge_waiting()
    b = stream(
        SieveClassifier(n_sample=100), Y[order], X=sp.csr_array(X[order])
    )._stream.merge_waiting()
    assert np.array_equal(a.keys, b.keys)
    assert np.array_equal(a.rows.toarray(), b.rows.toarray())
    assert np.array_equal(a.targets, b.targets)
    assert len(a.keys) == 100
    twice = stream(
        SieveClassifier(n_sample=100), np.r_[Y, Y], X=sp.csr_array(sp.vstack([X, X]))
    )._stream.merge_waiting()
    assert np.array_equal(twice.weights, 2 * a.weights)


def test_a_model_is_fitted_when_the_number_of_rows_passes_a_power_of_two():
    model = SieveClassifier(random_state=0).partial_fit(X[:130], Y[:130], classes=[0, 1])
    first = model.coef_
    assert first.any()
    model.partial_fit(X[130:200], Y[130:200])
    assert np.array_equal(model.coef_, first)
    forced = copy.deepcopy(model).refine()
    assert not np.array_equal(forced.coef_, first)
    for m in (model, forced):
        m.partial_fit(X[200:], Y[200:])
    assert not np.array_equal(model.coef_, first)
    same(model, forced)
    before = pickle.dumps(model._stream)
    same(model, model.refine())
    assert pickle.dumps(model._stream) == before


@pytest.mark.parametrize("name", TARGETS)
def test_when_a_model_is_fitted_depends_on_the_number_of_rows_alone(name):
    y = TARGETS[name]
    models = [
        stream(make(y), y[:280], chunk_ends, X=X[:280]) for chunk_ends in ([256], range(8, 257, 8))
    ]
    same(*models)
    same(models[0], stream(make(y), y[:256], X=X[:256]))


@pytest.mark.parametrize("name", TARGETS)
def test_prediction_and_attributes_change_nothing(name):
    model = stream(make(TARGETS[name], n_sample=100), TARGETS[name], [130, 290])
    attributes, before = dict(vars(model)), pickle.dumps(model)
    model.predict(X)
    model.transform(X)
    for attribute_name in (
        "coef_",
        "intercept_",
        "support_",
        "sizes_",
        "history_",
        "resolved_params_",
    ):
        getattr(model, attribute_name)
    assert vars(model).keys() == attributes.keys()
    assert all(value is attributes[attribute] for attribute, value in vars(model).items())
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.filterwarnings("error")
def test_a_first_call_without_weight_gives_a_model(name, tmp_path):
    y = TARGETS[name]
    weights = np.r_[np.zeros(9), np.ones(N)]
    twice, both = sp.csr_array(sp.vstack([X[:9], X])), np.r_[y[:9], y]
    model = stream(make(y), both[:9], weights=weights[:9], X=twice[:9])
    assert not model.coef_.any()
    assert not model.predict(X).any()
    save(model, tmp_path / "model")
    same(model, load(tmp_path / "model"))
    same(stream(make(y), both, [9], weights, twice), stream(make(y), y))


def test_saved_in_mid_stream(tmp_path):
    for n_sample in (50, 1000):
        model = SieveClassifier(random_state=0, n_sample=n_sample).partial_fit(
            X[:120], Y[:120], classes=[0, 1]
        )
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        for m in (model, again):
            m.partial_fit(X[120:], Y[120:]).refine()
        same(model, again)


def test_a_stream_restarts_after_fit_and_ends_with_it():
    model = SieveClassifier(random_state=0).fit(X, Y)
    model.partial_fit(X[:150], Y[:150])
    same(model, SieveClassifier(random_state=0).partial_fit(X[:150], Y[:150], classes=[0, 1]))
    same(model.fit(X, Y), SieveClassifier(random_state=0).fit(X, Y))


def test_one_class_so_far():
    model = SieveClassifier(random_state=0).partial_fit(X[:20], np.ones(20, int), classes=[0, 1])
    assert set(model.predict(X)) == {1}


@pytest.mark.filterwarnings("ignore:nothing in these .* columns predicts y")
def test_folds_of_a_stream_are_those_of_its_first_call():
    """Other parameters may change in mid-stream; the rows already have their folds."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(60, 5)), np.arange(60) % 2
    model = SieveClassifier(n_paths=2, n_folds=2, n_sample=20, random_state=0).partial_fit(
        rows, y, classes=[0, 1]
    )
    before = model.refine().coef_
    assert np.array_equal(model.set_params(n_folds=7).refine().coef_, before)


def test_a_model_has_columns_that_its_sample_lacks_and_a_size_for_all_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X_words = sp.random_array((2000, 3000), density=0.003, rng=rng, format="csr")
    X_words.data[:] = 1.0
    y = (X_words @ np.where(np.arange(3000) % 2, 1.0, -1.0) > 0).astype(int)
    calls, run = [], state.fit_in_memory
    monkeypatch.setattr(state, "fit_in_memory", lambda *given: calls.append(given) or run(*given))
    model = SieveClassifier(random_state=0, n_sample=400, se=2.0)
    model.partial_fit(X_words, y, classes=[0, 1])
    sampled = np.unique(model._stream.merge_waiting().rows.indices)
    assert len(np.setdiff1d(model.support_, sampled)) > 50
    sample, _, options, initial = calls[-1]
    assert len(sample.scaling.retained) == np.unique(X_words.indices).size > len(sampled)
    assert len(initial["conservative"][0].states) == len(sample.scaling.retained)
    fraction = model._stream.merge_waiting().weights.sum() / 2000
    assert options.se == pytest.approx(2.0 * np.sqrt(fraction))
    assert np.allclose(
        sample.table.density, np.bincount(X_words.indices)[sample.scaling.retained] / 2000
    )


# --------------------------------------------------------------------------- dense rows
DENSE = np.random.default_rng(6).normal(size=(N, 8)) + np.arange(8) / 4.0
LABELS = (DENSE[:, 0] - DENSE[:, 1] > 0.0).astype(int)
STRENGTHS = {
    "dense": (0.1, 0.005),
    "sparse": (0.1, 0.02),
}  # conservative and aggressive, as in `fit`


@pytest.mark.parametrize("kind", STRENGTHS)
def test_a_stream_uses_the_settings_of_fit(kind):
    rows, y = (DENSE, LABELS) if kind == "dense" else (X, Y)
    stream_states = stream(SieveClassifier(n_sample=50), y, X=rows)._stream.states
    for at, strength in enumerate(STRENGTHS[kind]):
        given = SieveClassifier(n_sample=50, strength=strength)
        assert np.array_equal(stream_states[at], stream(given, y, X=rows)._stream.states[at])


@pytest.mark.filterwarnings("ignore:nothing in these .* columns predicts y")
def test_a_stream_and_fit_have_equal_candidates_on_dense_rows(monkeypatch):
    """Also for columns with zeros and common values, and with a sample of the rows."""
    tables, run = [], fit.make_candidates
    monkeypatch.setattr(
        fit, "make_candidates", lambda *given: tables.append(run(*given)) or tables[-1]
    )
    rng = np.random.default_rng(7)
    rows = np.where(rng.random((600, 8)) < 0.12, rng.normal(size=(600, 8)), 5.0)
    for X, y in ((np.repeat(DENSE, 2, axis=0) + rng.normal(size=(600, 8)), LABELS.repeat(2)),
                 (rows, (rows.sum(axis=1) < 38.0).astype(int))):  # fmt: skip
        model = stream(SieveClassifier(n_sample=300, n_paths=2), y, X=X)
        assert model._stream.merge_waiting().evicted
        SieveClassifier(n_paths=2).fit(X, y)
        stream_candidates, fit_candidates = tables[-2:]
        assert [s._replace(step_constants=(), strengths=()) for s in stream_candidates] == [
            s._replace(step_constants=(), strengths=()) for s in fit_candidates
        ]
        assert np.allclose(
            [s.strengths for s in stream_candidates],
            [s.strengths for s in fit_candidates],
            rtol=0.1,
        )
