"""The compiled passes against plain Python, and columns in standard units."""

import numpy as np
import pytest
import scipy.sparse as sp
from methods.sieve import reference_pass

from tamis.base.splits import hash_folds
from tamis.base.validation import csr_from_matrix
from tamis.methods.sieve.loop import (
    PassOrder,
    PassRows,
    StepSettings,
    run_multi_output_passes,
    run_single_output_passes,
    shuffle_rows,
)
from tamis.methods.sieve.paths import Candidate, Objective, PathGroup, descend, run_serially
from tamis.methods.sieve.table.standard_units import content_order, standardize_table
from tamis.numerics.csr import EMPTY
from tamis.numerics.hashing import GOLDEN, mix64, row_hashes
from tamis.terms import Hinge, Logistic, Squared

X, Y = reference_pass.make_text(60, 12)
SIGNS = np.where(Y > 0, 1.0, -1.0)[:, None]
ALL = np.arange(60, dtype=np.uint64)


def orders(n, key, n_passes):
    row_orders = np.empty((n_passes, n), np.uint64)
    for t, order in enumerate(row_orders):
        pass_key = np.uint64((int(key) + (t + 1) * int(GOLDEN)) % 2**64)
        shuffle_rows(np.arange(n, dtype=np.uint64), np.uint64(mix64(pass_key)), np.uint64(0), order)
    return row_orders.astype(int)


def test_row_orders_are_uniform_shuffles_and_can_be_reversed():
    rows, counts = np.arange(5, 17, dtype=np.uint64), np.zeros((12, 12))
    for key in range(2000):
        order, reversed_order = np.empty((2, 12), np.uint64)
        shuffle_rows(rows, np.uint64(mix64(np.uint64(key))), np.uint64(0), order)
        shuffle_rows(rows, np.uint64(mix64(np.uint64(key))), np.uint64(1), reversed_order)
        assert np.array_equal(order, reversed_order[::-1])
        assert np.array_equal(np.sort(order), rows)
        counts[np.arange(12), order.astype(int) - 5] += 1
    # Every row is equally often at every position: chi squared with 121 degrees of freedom.
    assert ((counts - 2000 / 12) ** 2 / (2000 / 12)).sum() < 185.0


def pass_rows(X, targets, weights=EMPTY):
    return PassRows(*csr_from_matrix(X)[:3], targets, weights, ALL)


def step_settings(rates, strengths, curvature=0.0, intercept=1.0, first_unpenalized=12):
    return StepSettings(
        np.array(rates),
        np.array(strengths),
        curvature,
        intercept,
        0.0,
        np.uint64(first_unpenalized),
    )


def test_passes_in_one_call_or_in_several_are_the_same():
    states, biases = np.zeros((2, 12, 3)), np.zeros((2, 3))
    states[:, :, 0] = 1e-300
    settings, loop_rows = step_settings([0.3], [0.05]), pass_rows(X, SIGNS)
    run_single_output_passes(
        loop_rows, states[0], biases[0], Logistic(), settings, pass_order(3, 7)
    )
    for t in range(3):
        key = (7 + t * int(GOLDEN)) % 2**64
        run_single_output_passes(
            loop_rows,
            states[1],
            biases[1],
            Logistic(),
            settings._replace(effective_passes=float(t)),
            pass_order(1, key),
        )
    assert np.array_equal(states[0], states[1])
    assert np.array_equal(biases[0], biases[1])


def pass_order(number, key, backwards=0):
    return PassOrder(np.uint64(number), np.uint64(key), np.uint64(backwards))


GRADIENTS = {
    Logistic(): reference_pass.logistic_gradient,
    Hinge(): lambda f, y: -y if f * y < 1.0 else 0.0,
    Squared(): lambda f, y: f - y,
}


@pytest.mark.parametrize("loss", GRADIENTS, ids=repr)
@pytest.mark.parametrize("intercept", [0.0, 1.0])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize(("is_reversed", "first_unpenalized"), [(0, 12), (1, 12), (0, 8)])
def test_passes_equal_the_reference(loss, intercept, weighed, is_reversed, first_unpenalized):
    weights = np.random.default_rng(1).random(60) + 0.5 if weighed else EMPTY
    bound = 1.0 if loss == Squared() else 0.0
    state, bias = np.zeros((12, 3)), np.zeros(3)
    state[:, 0] = 1e-300
    settings = step_settings([0.3], [0.05], bound, intercept, first_unpenalized)
    run_single_output_passes(
        pass_rows(X, SIGNS, weights), state, bias, loss, settings, pass_order(3, 7, is_reversed)
    )
    backwards = [order[::-1] if is_reversed else order for order in orders(60, 7, 3)]
    w, b, mean, bias_mean = reference_pass.run_passes(
        X.toarray(),
        SIGNS[:, 0],
        backwards,
        GRADIENTS[loss],
        0.3,
        0.05,
        weights if weighed else None,
        bool(intercept),
        bound,
        first_unpenalized,
    )
    assert np.abs(state[:, 1] - w).max() <= 1e-13
    assert np.abs(state[:, 1] - state[:, 2] / 60 - mean).max() <= 1e-13
    assert bias[1] == pytest.approx(b, abs=1e-13)
    assert bias[1] - bias[2] / 60 == pytest.approx(bias_mean, abs=1e-13)


def test_passes_of_several_outputs_equal_single_ones():
    codes = np.random.default_rng(0).integers(0, 3, 60).astype(float)[:, None]
    rates, strengths = np.array([0.3, 0.2, 0.5]), np.array([0.05, 0.0, 0.1])
    state, bias = np.zeros((12, 7)), np.zeros(7)
    state[:, 0] = 1e-300
    settings = step_settings(rates, strengths, first_unpenalized=9)
    run_multi_output_passes(
        pass_rows(X, codes), state, bias, Logistic(), settings, pass_order(3, 9)
    )
    for c in range(3):
        output_state, output_bias = np.zeros((12, 3)), np.zeros(3)
        output_state[:, 0] = 1e-300
        loop_rows = pass_rows(X, np.where(codes == c, 1.0, -1.0))
        settings = step_settings(rates[c : c + 1], strengths[c : c + 1], first_unpenalized=9)
        run_single_output_passes(
            loop_rows, output_state, output_bias, Logistic(), settings, pass_order(3, 9)
        )
        assert state[:, [0, 1 + c, 4 + c]] == pytest.approx(output_state, rel=1e-9, abs=1e-12)
        assert bias[[0, 1 + c, 4 + c]] == pytest.approx(output_bias, rel=1e-9, abs=1e-12)


def make_table(X, y=SIGNS, weights=EMPTY, centred=True):
    rows = csr_from_matrix(sp.csr_array(X))
    hashes = row_hashes(rows)
    return standardize_table(rows, y, weights, content_order(hashes, y, weights), 1, centred)


def to_dense(table):
    p = len(table.density)
    return sp.csr_array(
        (table.data, table.indices.astype(np.int32), table.indptr.astype(np.int64)),
        shape=(table.n_rows, p),
    ).toarray()


def test_columns_have_unit_root_mean_square_over_their_entries():
    table, scaling = make_table(X)
    Z = to_dense(table)
    assert np.sqrt((Z**2).sum(axis=0) / (Z != 0).sum(axis=0)) == pytest.approx(1.0)
    density = (X.toarray() != 0).mean(axis=0)[scaling.retained]
    assert np.array_equal(scaling.shift != 0.0, density >= 0.5)
    assert table.density == pytest.approx(np.where(density >= 0.5, 1.0, density))


def test_a_column_is_shifted_by_its_majority_value():
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(60) < 0.2, rng.normal(size=60), 0.0)
    D = np.c_[rare, 7.0 - 3.0 * rare, (rare == 0.0).astype(float)]
    table, scaling = make_table(D)
    Z = to_dense(table)
    fraction = (rare != 0.0).mean()
    assert scaling.shift.tolist() == [0.0, 7.0, 1.0]
    assert Z[:, 1] == pytest.approx(-Z[:, 0])
    assert np.array_equal(Z[:, 2], -(Z[:, 0] != 0.0).astype(float))
    assert table.density == pytest.approx(fraction)


def test_dense_columns_are_centred_and_constant_ones_dropped():
    rng = np.random.default_rng(0)
    D = np.c_[
        rng.normal(3, 2, 60),
        np.full(60, 5.0),
        rng.normal(size=60) * (rng.random(60) < 0.5),
        np.where(np.arange(60) < 2, 0.0, rng.random(60) + 1),
    ]
    table, scaling = make_table(D)
    assert scaling.retained.tolist() == [0, 2, 3]
    Z = to_dense(table)
    assert Z[:, [0, 2]].mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert Z[:, [0, 2]].std(axis=0) == pytest.approx(1.0)
    assert not make_table(D, centred=False)[1].shift.any()


def test_hashes_folds_and_tables_do_not_depend_on_the_order_of_rows():
    order = np.random.default_rng(0).permutation(60)
    a, b = row_hashes(csr_from_matrix(X)), row_hashes(csr_from_matrix(X[order]))
    assert np.array_equal(a[order], b)
    assert np.array_equal(hash_folds(a, 5)[order], hash_folds(b, 5))
    assert np.array_equal(row_hashes(csr_from_matrix(X.astype(np.float32))), a)
    for k in range(3):
        first, second = make_table(X)[0][k], make_table(X[order], SIGNS[order])[0][k]
        assert np.array_equal(first, second)


def test_equal_rows_have_one_fold_and_explicit_zeros_do_not_count():
    twice = sp.vstack([X, X], format="csr")
    hashes = row_hashes(csr_from_matrix(sp.csr_array(twice)))
    assert np.array_equal(hashes[:60], hashes[60:])
    assert len(np.unique(hashes)) > 50
    folds = hash_folds(row_hashes(csr_from_matrix(reference_pass.make_text(2000, 50)[0])), 5)
    assert np.bincount(folds, minlength=5).min() > 200


def test_unpenalized_columns_are_neither_shrunk_nor_eliminated():
    table = make_table(X)[0]
    objective, strong = Objective(Logistic(), 0.0, 1.0), 50.0
    candidate = Candidate("conservative", (0.5,), (strong,), 5, 1, 2, 2, 0.25, True, 1)
    keys, none = np.ones(2, np.uint64), ALL[:0]
    group = PathGroup(table._replace(n_unpenalized=2), objective, candidate, ALL, none, keys)
    descend(group, np.array([12, 8, 3]), run_serially)
    assert group.columns[-2:].tolist() == [10, 11]
    assert (group.weights[-2:] != 0.0).all()
    assert not group.weights[:-2].any()
