"""Invariants of stabilized SGD: special cases of its parameters, and changes that must not
matter.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from methods.stabilized_sgd.reference import permutation
from tiny import quiet

from tamis import StabilizedSGDClassifier, StabilizedSGDRegressor, TruncatedGradientClassifier
from tamis.datasets import make_text
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd import stream as stabilized_linear
from tamis.methods.stabilized_sgd.loop_columns import quickselect
from tamis.methods.stabilized_sgd.paths import PathBundle
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.first_order.state import FirstOrderState
from tamis.terms import Constant, Descent, Free, Hinge, Logistic

X, Y, PLANTED = make_text(n_samples=400, n_features=600, words=30, random_state=1)
DENSE = np.random.default_rng(0).normal(size=(80, 6))
SIGNS = tiny.signs(DENSE)
PARAMS = {"n_paths": 5, "max_iter": 4, "tol": None, "random_state": 0, "loss": "logistic"}


def fit_model(rows=X, y=Y, **params):
    return quiet(StabilizedSGDClassifier(**{**PARAMS, **params}).fit, rows, y)


def test_the_parameters_of_these_tests_purge_features():
    model = fit_model()
    sizes = [h["kept"] for h in model.history_]
    assert 0 < sizes[-1] < 0.8 * sizes[0]
    assert model.n_stages_ == len(sizes) == 4 * 400 // 25
    assert model.n_iter_ == 4


# --------------------------------------------------------------------------- special cases
@pytest.mark.parametrize(("name", "loss"), [("hinge", Hinge()), ("logistic", Logistic())])
@pytest.mark.parametrize("n_paths", [1, 4])
def test_without_rejection_and_purge_it_is_the_mean_of_plain_descents(name, loss, n_paths):
    params = {
        "n_paths": n_paths,
        "loss": name,
        "eta": 0.7,
        "max_iter": 3,
        "tol": None,
        "random_state": 0,
    }
    model = fit_model(rejection=0.0, purge=0.0, burn_in=0.0, **params)
    signs, rows = np.where(Y > 0, 1.0, -1.0)[:, None], sp.csr_array(X)
    weights, intercepts = [], []
    for m in range(n_paths):
        engine = FirstOrderState(
            (loss, Free(), Descent(), Constant(0.7)), (1.0, 0.0, 0.0), X.shape[1], 1
        )
        for pass_number in range(3):
            order = permutation(400, model._solver_state.seed, m, pass_number * 400)
            permuted = rows[order]
            csr = type(tiny.trusted(DENSE))(
                permuted.data,
                permuted.indices.astype(np.uint32),
                permuted.indptr.astype(np.uint64),
                X.shape[1],
            )
            engine.learn(csr, EncodedTargets(signs[order]), np.zeros(0))
        weights.append(engine.weights()[0])
        intercepts.append(engine.intercepts()[0])
    assert np.abs(model.paths_[:, 0] - weights).max() == 0.0
    assert model.coef_[0] == pytest.approx(np.mean(weights, axis=0), abs=1e-14)
    assert model.intercept_[0] == pytest.approx(np.mean(intercepts), abs=1e-14)


@pytest.mark.parametrize("rows", [80, 78], ids=["complete bursts", "an unfinished burst"])
def test_fixed_gravity_on_dense_rows_is_truncated_gradient(rows):
    """An unfinished burst is truncated in the weights: of 78 rows the last three count, which
    truncated gradient does not apply yet.
    """
    params = {
        "loss": "hinge",
        "eta": 0.1,
        "max_iter": 1,
        "tol": None,
        "shuffle": False,
        "fit_intercept": False,
    }
    model = StabilizedSGDClassifier(n_paths=1, gravity=0.01, purge=0.0, burn_in=0.0, **params)
    other = TruncatedGradientClassifier(gravity=0.01, burst=5, learning_rate="constant", **params)
    a, b = (
        quiet(model.fit, DENSE[:rows], SIGNS[:rows]).coef_,
        quiet(other.fit, DENSE[:rows], SIGNS[:rows]).coef_,
    )
    open_rows = rows % 5
    assert a == pytest.approx(np.sign(b) * np.maximum(0.0, np.abs(b) - 0.01 * open_rows), abs=1e-13)
    assert a.any()


# --------------------------------------------------------------------------- equal bits
def assert_same(a, b):
    for name in ("coef_", "intercept_", "selection_probability_", "paths_"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.history_ == b.history_


def test_threads():
    one = fit_model(n_jobs=1)
    for n_jobs in (2, 3, -1):
        assert_same(one, fit_model(n_jobs=n_jobs))


def test_compaction(monkeypatch):
    expected = fit_model()
    for threshold in (0.0, 0.05, 0.9, 2.0):
        monkeypatch.setattr(stabilized_linear, "MAX_PURGED_FRACTION", threshold)
        assert_same(expected, fit_model())
        assert_same(fit_model(n_jobs=2), fit_model())


def test_dtypes_and_empty_columns():
    expected = fit_model()
    assert_same(expected, fit_model(rows=X.toarray()))
    wide = sp.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=(400, 5000)
    )
    model = fit_model(rows=wide)
    assert np.array_equal(model.coef_[:, :600], expected.coef_)
    assert model.history_ == expected.history_


def test_rows_of_weight_0_change_nothing():
    row_weights = tiny.weights(400)
    is_positive = row_weights > 0
    a = quiet(StabilizedSGDClassifier(**PARAMS).fit, X, Y, sample_weight=row_weights)
    assert_same(
        a,
        quiet(
            StabilizedSGDClassifier(**PARAMS).fit,
            X[is_positive],
            Y[is_positive],
            sample_weight=row_weights[is_positive],
        ),
    )
    assert a.t_ == 4 * is_positive.sum()


# --------------------------------------------------------------------------- features
def test_purged_features_never_return_and_are_0_in_every_path():
    model = StabilizedSGDClassifier(**{**PARAMS, "max_iter": 1, "warm_start": True})
    present = None
    for _ in range(4):
        quiet(model.fit, X, Y)
        selected = np.flatnonzero(model.selection_probability_[0])
        assert present is None or set(selected) <= set(present)
        present = selected
        purged = np.setdiff1d(np.arange(600), present)
        assert not model.paths_[:, 0, purged].any()
        assert set(model.support_) <= set(present)
    assert (np.diff([h["kept"] for h in model.history_]) <= 0).all()
    assert model.history_[-1]["kept"] == len(present) < 600


def test_selection_probabilities_are_fractions():
    model = fit_model()
    probabilities = model.selection_probability_
    assert probabilities.shape == model.coef_.shape
    assert ((probabilities >= 0.0) & (probabilities <= 1.0)).all()
    assert (probabilities[0, model.support_] > 0.0).all()


def test_permuted_columns_permute_the_weights():
    order = np.random.default_rng(0).permutation(600)
    a, b = fit_model(), fit_model(rows=sp.csr_array(X[:, order]))
    assert a.coef_[:, order] == pytest.approx(b.coef_, rel=1e-9, abs=1e-12)
    assert np.array_equal(np.sort(order[b.support_]), a.support_)


def test_swapped_classes_negate_the_weights():
    a, b = fit_model(), fit_model(y=1 - Y)
    assert np.array_equal(a.coef_, -b.coef_)
    assert np.array_equal(a.intercept_, -b.intercept_)


@pytest.mark.parametrize("factor", [2.0**20, 2.0**-20])
def test_automatic_steps_do_not_depend_on_scale(factor):
    a, b = fit_model(), fit_model(rows=X * factor)
    assert np.array_equal(a.coef_, b.coef_ * factor)
    assert np.array_equal(a.intercept_, b.intercept_)
    y = X @ np.arange(600.0)
    c, d = (
        quiet(StabilizedSGDRegressor(n_paths=2, random_state=0).fit, X * f, y)
        for f in (1.0, factor)
    )
    assert np.array_equal(c.coef_, d.coef_ * factor)


def test_an_empty_model_warns_and_predicts_the_first_class():
    model = StabilizedSGDClassifier(
        gravity=1e6, purge=1.0, fit_intercept=False, max_iter=3, random_state=0
    )
    with pytest.warns(UserWarning, match="kept no feature"):
        model.fit(X, np.where(Y, "yes", "no"))
    assert set(model.predict(X)) == {"no"}
    assert not model.coef_.any()
    assert len(model.support_) == 0
    assert not model.selection_probability_.any()
    quiet(model.partial_fit, X, np.where(Y, "yes", "no"))
    assert not model.coef_.any()


# --------------------------------------------------------------------------- order statistics
@pytest.mark.parametrize("kind", ["continuous", "ties", "zeros", "one bin"])
def test_the_order_statistic_equals_sorting(kind):
    rng = np.random.default_rng(0)
    values = {
        "continuous": np.exp(rng.normal(size=(3, 50), scale=5.0)),
        "ties": rng.integers(0, 4, (3, 50)) / 4.0,
        "zeros": np.zeros((3, 50)),
        "one bin": 1.0 + rng.random((3, 50)) / 8.0,
    }[kind]
    pool_columns, status = rng.integers(0, 20, (3, 50)).astype(np.uint32), np.ones(20, np.uint8)
    status[:5] = 2
    n_pooled = np.array([50.0, 0.0, 33.0])
    pool = np.sort(
        [
            v
            for m in range(3)
            for v, j in zip(values[m, : int(n_pooled[m])], pool_columns[m], strict=False)
            if status[j] != 2
        ]
    )
    bundle = PathBundle(3, 20)
    bundle.columns = np.arange(20, dtype=np.uint32)
    bundle.path_states["n_pooled"] = bundle.path_states["n_truncated"] = n_pooled
    bundle.pool_at, bundle.pool_value = pool_columns, values
    counts = bundle._stage_counts(50, 2)
    signed = np.where(
        rng.random((3, 50)) < 0.5, values, -values
    )  # a minus sign: the weight became 0
    arrays = loop.PathArrays(
        None, None, bundle.path_states, pool_columns, signed, signed.view(np.uint64)
    )
    shared = loop.SharedColumns(status, None, None)
    for fraction in (0.0, 1e-9, 0.3, 0.5, 0.7, 0.71, 1.0):
        rank = int(np.ceil(fraction * len(pool)))
        for shard in (np.uint64(0), np.uint64(1)):
            loop.count_displacements(shard, arrays, shared, counts)
        assert counts.bins.sum() == len(pool)
        if rank:
            assert loop.displacement_of_rank(rank, arrays, shared, counts) == pool[rank - 1]
    for k in range(40):
        assert quickselect(values.ravel()[:40].copy(), 40, k) == np.sort(values.ravel()[:40])[k]
