"""Hashes of rows and duplicate rows, against Python's own integers and dictionaries."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tamis.base.validation import csr_from_matrix
from tamis.numerics.hashing import (
    GOLDEN,
    count_duplicates,
    group_duplicates,
    merge_duplicates,
    mix64,
    mix64_array,
    row_hashes,
)

WORD = 2**64
SMALL = arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(-1, 1)
)


def splitmix64(seed, count):
    """The first outputs of SplitMix64 (Steele, Lea and Flood, 2014), by Python's integers."""
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) % WORD
        z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
        yield z ^ (z >> 31)


def test_published_outputs_of_seed_1234567():
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert list(splitmix64(1234567, 3)) == published
    states = np.uint64(1234567) + np.arange(1, 4, dtype=np.uint64) * GOLDEN
    assert mix64_array(states).tolist() == published


@given(st.integers(0, WORD - 1))
def test_a_word_and_an_array_are_mixed_alike(seed):
    ((expected,), state) = splitmix64(seed, 1), np.uint64((seed + 0x9E3779B97F4A7C15) % WORD)
    assert int(mix64(state)) == expected
    assert int(mix64_array(np.array([state]))[0]) == expected


@given(SMALL)
def test_all_forms_of_rows_have_one_hash(X):
    csr = sp.csr_array(X)
    expected = row_hashes(X)
    for form in (
        csr,
        csr.tocsc(),
        sp.csr_array(X.astype(np.float32)),
        csr_from_matrix(csr),
        np.asfortranarray(X),
    ):
        assert np.array_equal(row_hashes(form), expected)


def test_the_order_of_the_entries_does_not_change_a_hash():
    one = sp.csr_array(([1.0, 2.0], [0, 3], [0, 2]), shape=(1, 4))
    other = sp.csr_array(([2.0, 1.0], [3, 0], [0, 2]), shape=(1, 4))
    swapped = sp.csr_array(([2.0, 1.0], [0, 3], [0, 2]), shape=(1, 4))
    assert row_hashes(one) == row_hashes(other)
    assert row_hashes(one) != row_hashes(swapped)


def test_dense_rows_are_hashed_in_pieces(monkeypatch):
    X = np.random.default_rng(0).integers(0, 2, (50, 7)).astype(float)
    whole = row_hashes(X)
    monkeypatch.setattr("tamis.numerics.hashing.CHUNK_ENTRIES", 20)
    assert np.array_equal(row_hashes(X), whole)


@given(SMALL)
def test_duplicates_are_counted(X):
    assert count_duplicates(row_hashes(X)) == len(X) - len(np.unique(X, axis=0))


@given(SMALL, st.data())
def test_groups_are_those_of_a_dictionary(X, data):
    labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(X), max_size=len(X))))
    expected = {}
    for i, row in enumerate(X):
        expected.setdefault((*row, labels[i]), set()).add(i)
    for form in (X, sp.csr_array(X)):
        order, starts = group_duplicates(form, labels)
        groups = [set(part.tolist()) for part in np.split(order, starts[1:])]
        assert sorted(map(sorted, groups)) == sorted(map(sorted, expected.values()))


def test_rows_of_one_hash_are_compared_by_their_numbers(monkeypatch):
    monkeypatch.setattr(
        "tamis.numerics.hashing.row_hashes", lambda X: np.zeros(X.shape[0], np.uint64)
    )
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for form in (X, sp.csr_array(X)):
        order, starts = group_duplicates(form, np.zeros(3, np.int64))
        assert (order.tolist(), starts.tolist()) == ([0, 1, 2], [0, 2])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@given(SMALL, st.randoms())
def test_merged_rows_do_not_depend_on_the_order(form, X, random):
    signs = np.where(X[:, :1] > 0, 1.0, -1.0)
    weights = 0.1 + np.arange(len(X)) % 3
    shuffled = np.array(random.sample(range(len(X)), len(X)))
    both = []
    for rows in (np.arange(len(X)), shuffled):
        merged, sides, summed, order = merge_duplicates(form(X[rows]), signs[rows], weights[rows])
        merged = merged.toarray() if sp.issparse(merged) else merged
        both.append((merged[order], sides[order], summed[order]))
    for one, other in zip(*both, strict=True):
        assert np.array_equal(one, other)
    assert len(both[0][0]) == len(np.unique(X, axis=0))
    assert both[0][2].sum() == pytest.approx(weights.sum())


def test_weights_of_equal_rows_are_added_in_one_order():
    X, weights = np.ones((4, 2)), np.array([1e16, 1.0, 1.0, 1.0])
    totals = {merge_duplicates(X, X[:, :1], np.roll(weights, k))[2].item() for k in range(4)}
    assert totals == {3.0 + 1e16}  # the small ones first
