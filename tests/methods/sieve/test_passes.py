"""The compiled passes against plain Python, and columns in standard units."""

import numpy as np
import pytest
import scipy.sparse as sp
from methods.sieve import reference_pass

from tamis.base.splits import hash_folds
from tamis.base.validation import _from_csr
from tamis.methods.sieve.loop import PassOrder, PassRows, StepSettings, deal, walk_many, walk_one
from tamis.methods.sieve.paths import Candidate, PathGroup, Task, descend, in_turn
from tamis.methods.sieve.table.columns import settled_order, tabulate
from tamis.numerics.csr import NOTHING
from tamis.numerics.hashing import GOLDEN, mix64, row_hashes
from tamis.terms import Hinge, Logistic, Squared

X, Y = reference_pass.text(60, 12)
SIGNS = np.where(Y > 0, 1.0, -1.0)[:, None]
ALL = np.arange(60, dtype=np.uint64)


def orders(n, key, passes):
    found = np.empty((passes, n), np.uint64)
    for t, order in enumerate(found):
        turn = np.uint64((int(key) + (t + 1) * int(GOLDEN)) % 2**64)
        deal(np.arange(n, dtype=np.uint64), np.uint64(mix64(turn)), np.uint64(0), order)
    return found.astype(int)


def test_orders_are_shuffles_of_the_rows_and_go_backwards():
    rows, seen = np.arange(5, 17, dtype=np.uint64), np.zeros((12, 12))
    for key in range(2000):
        order, turned = np.empty((2, 12), np.uint64)
        deal(rows, np.uint64(mix64(np.uint64(key))), np.uint64(0), order)
        deal(rows, np.uint64(mix64(np.uint64(key))), np.uint64(1), turned)
        assert np.array_equal(order, turned[::-1])
        assert np.array_equal(np.sort(order), rows)
        seen[np.arange(12), order.astype(int) - 5] += 1
    # Every row is equally often at every place: chi squared of 121 degrees of freedom.
    assert ((seen - 2000 / 12) ** 2 / (2000 / 12)).sum() < 185.0


def walked(X, targets, weights=NOTHING):
    return PassRows(*_from_csr(X)[:3], targets, weights, ALL)


def paces(rates, strengths, curvature=0.0, intercept=1.0, free=12):
    return StepSettings(
        np.array(rates), np.array(strengths), curvature, intercept, 0.0, np.uint64(free)
    )


def test_passes_in_one_call_or_in_several_are_the_same():
    states, biases = np.zeros((2, 12, 3)), np.zeros((2, 3))
    states[:, :, 0] = 1e-300
    pace, given = paces([0.3], [0.05]), walked(X, SIGNS)
    walk_one(given, states[0], biases[0], Logistic(), pace, passes(3, 7))
    for t in range(3):
        key = (7 + t * int(GOLDEN)) % 2**64
        walk_one(
            given, states[1], biases[1], Logistic(), pace._replace(age=float(t)), passes(1, key)
        )
    assert np.array_equal(states[0], states[1])
    assert np.array_equal(biases[0], biases[1])


def passes(number, key, backwards=0):
    return PassOrder(np.uint64(number), np.uint64(key), np.uint64(backwards))


SLOPES = {
    Logistic(): reference_pass.logistic_slope,
    Hinge(): lambda f, y: -y if f * y < 1.0 else 0.0,
    Squared(): lambda f, y: f - y,
}


@pytest.mark.parametrize("loss", SLOPES, ids=repr)
@pytest.mark.parametrize("intercept", [0.0, 1.0])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize(("flip", "free"), [(0, 12), (1, 12), (0, 8)])
def test_the_pass_is_the_eager_one(loss, intercept, weighed, flip, free):
    weights = np.random.default_rng(1).random(60) + 0.5 if weighed else NOTHING
    pull = 1.0 if loss == Squared() else 0.0
    state, bias = np.zeros((12, 3)), np.zeros(3)
    state[:, 0] = 1e-300
    pace = paces([0.3], [0.05], pull, intercept, free)
    walk_one(walked(X, SIGNS, weights), state, bias, loss, pace, passes(3, 7, flip))
    backwards = [order[::-1] if flip else order for order in orders(60, 7, 3)]
    w, b, mean, bias_mean = reference_pass.walk(
        X.toarray(),
        SIGNS[:, 0],
        backwards,
        SLOPES[loss],
        0.3,
        0.05,
        weights if weighed else None,
        bool(intercept),
        pull,
        free,
    )
    assert np.abs(state[:, 1] - w).max() <= 1e-13
    assert np.abs(state[:, 1] - state[:, 2] / 60 - mean).max() <= 1e-13
    assert bias[1] == pytest.approx(b, abs=1e-13)
    assert bias[1] - bias[2] / 60 == pytest.approx(bias_mean, abs=1e-13)


def test_several_outputs_are_several_passes():
    codes = np.random.default_rng(0).integers(0, 3, 60).astype(float)[:, None]
    rates, strengths = np.array([0.3, 0.2, 0.5]), np.array([0.05, 0.0, 0.1])
    state, bias = np.zeros((12, 7)), np.zeros(7)
    state[:, 0] = 1e-300
    pace = paces(rates, strengths, free=9)
    walk_many(walked(X, codes), state, bias, Logistic(), pace, passes(3, 9))
    for c in range(3):
        one, own = np.zeros((12, 3)), np.zeros(3)
        one[:, 0] = 1e-300
        given = walked(X, np.where(codes == c, 1.0, -1.0))
        pace = paces(rates[c : c + 1], strengths[c : c + 1], free=9)
        walk_one(given, one, own, Logistic(), pace, passes(3, 9))
        assert state[:, [0, 1 + c, 4 + c]] == pytest.approx(one, rel=1e-9, abs=1e-12)
        assert bias[[0, 1 + c, 4 + c]] == pytest.approx(own, rel=1e-9, abs=1e-12)


def table_of(X, y=SIGNS, weights=NOTHING, centred=True):
    rows = _from_csr(sp.csr_array(X))
    hashes = row_hashes(rows)
    return tabulate(rows, y, weights, settled_order(hashes, y, weights), 1, centred)


def dense_of(table):
    p = len(table.density)
    return sp.csr_array(
        (table.data, table.indices.astype(np.int32), table.indptr.astype(np.int64)),
        shape=(table.n_rows, p),
    ).toarray()


def test_columns_have_unit_root_mean_square_over_their_entries():
    table, columns = table_of(X)
    Z = dense_of(table)
    assert np.sqrt((Z**2).sum(axis=0) / (Z != 0).sum(axis=0)) == pytest.approx(1.0)
    filled = (X.toarray() != 0).mean(axis=0)[columns.kept]
    assert np.array_equal(columns.shift != 0.0, filled >= 0.5)
    assert table.density == pytest.approx(np.where(filled >= 0.5, 1.0, filled))


def test_a_column_is_measured_from_the_value_that_most_rows_have():
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(60) < 0.2, rng.normal(size=60), 0.0)
    D = np.c_[rare, 7.0 - 3.0 * rare, (rare == 0.0).astype(float)]
    table, columns = table_of(D)
    Z = dense_of(table)
    share = (rare != 0.0).mean()
    assert columns.shift.tolist() == [0.0, 7.0, 1.0]
    assert Z[:, 1] == pytest.approx(-Z[:, 0])
    assert np.array_equal(Z[:, 2], -(Z[:, 0] != 0.0).astype(float))
    assert table.density == pytest.approx(share)


def test_dense_columns_are_centred_and_constant_ones_dropped():
    rng = np.random.default_rng(0)
    D = np.c_[
        rng.normal(3, 2, 60),
        np.full(60, 5.0),
        rng.normal(size=60) * (rng.random(60) < 0.5),
        np.where(np.arange(60) < 2, 0.0, rng.random(60) + 1),
    ]
    table, columns = table_of(D)
    assert columns.kept.tolist() == [0, 2, 3]
    Z = dense_of(table)
    assert Z[:, [0, 2]].mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert Z[:, [0, 2]].std(axis=0) == pytest.approx(1.0)
    assert not table_of(D, centred=False)[1].shift.any()


def test_folds_and_order_follow_the_rows():
    order = np.random.default_rng(0).permutation(60)
    a, b = row_hashes(_from_csr(X)), row_hashes(_from_csr(X[order]))
    assert np.array_equal(a[order], b)
    assert np.array_equal(hash_folds(a, 5)[order], hash_folds(b, 5))
    assert np.array_equal(row_hashes(_from_csr(X.astype(np.float32))), a)
    for k in range(3):
        first, second = table_of(X)[0][k], table_of(X[order], SIGNS[order])[0][k]
        assert np.array_equal(first, second)


def test_equal_rows_share_a_fold_and_explicit_zeros_do_not_count():
    twice = sp.vstack([X, X], format="csr")
    words = row_hashes(_from_csr(sp.csr_array(twice)))
    assert np.array_equal(words[:60], words[60:])
    assert len(np.unique(words)) > 50
    folds = hash_folds(row_hashes(_from_csr(reference_pass.text(2000, 50)[0])), 5)
    assert np.bincount(folds, minlength=5).min() > 200


def test_columns_that_always_stay_are_neither_shrunk_nor_dropped():
    table = table_of(X)[0]
    task, strong = Task(Logistic(), 0.0, 1.0), 50.0
    candidate = Candidate("conservative", (0.5,), (strong,), 5, 1, 2, 2, 0.25, True, 1)
    keys, none = np.ones(2, np.uint64), ALL[:0]
    group = PathGroup(table._replace(always=2), task, candidate, ALL, none, keys)
    descend(group, np.array([12, 8, 3]), in_turn)
    assert group.columns[-2:].tolist() == [10, 11]
    assert (group.weights[-2:] != 0.0).all()
    assert not group.weights[:-2].any()
