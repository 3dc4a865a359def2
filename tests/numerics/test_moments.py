"""Moments of columns, against fractions without rounding."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tamis.numerics.moments import (
    MIN_RELATIVE_STD,
    add_raw_moments,
    centred_moments,
    merge_moments,
    standard_deviations,
)

SHAPES = st.tuples(st.integers(1, 12), st.integers(1, 3))
NUMBERS = st.one_of(st.just(0.0), st.floats(-100.0, 100.0), st.integers(-2, 2).map(float))
TABLES = arrays(np.float64, SHAPES, elements=NUMBERS)
FORMS = [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array]
NO_WEIGHTS = np.zeros(0)


def weights_of(data, rows):
    """A weight for each row, some of them 0, not all."""
    numbers = st.one_of(st.just(0.0), st.just(1.0), st.floats(0.01, 10.0))
    weights = np.array(data.draw(st.lists(numbers, min_size=rows, max_size=rows)))
    weights[0] = max(weights[0], 0.5)
    return weights


def weighted_sum(weights, numbers):
    """A weighted sum, rounded once."""
    pairs = zip(weights.tolist(), numbers.tolist(), strict=True)
    return float(sum(Fraction(w) * Fraction(x) for w, x in pairs))


def exact_moments(X, weights):
    """Total, means and sums of squares about them, without rounding."""
    weights = [Fraction(float(w)) for w in weights]
    total = sum(weights)
    columns = [[Fraction(float(x)) for x in column] for column in X.T]
    means = [sum(w * x for w, x in zip(weights, one, strict=True)) / total for one in columns]
    squares = [
        sum(w * (x - mean) ** 2 for w, x in zip(weights, one, strict=True))
        for one, mean in zip(columns, means, strict=True)
    ]
    return float(total), np.array(means, dtype=float), np.array(squares, dtype=float)


def assert_close(moments, exact, size):
    """Equal but for rounding of numbers of that size; squares to the square of that."""
    total, means, squares = moments
    assert total == pytest.approx(exact[0], rel=1e-14)
    np.testing.assert_allclose(means, exact[1], rtol=0, atol=1e-14 * size)
    np.testing.assert_allclose(squares, exact[2], rtol=1e-13, atol=1e-26 * total * size**2)


@given(TABLES, st.data())
def test_moments_are_those_without_rounding(X, data):
    weights = weights_of(data, len(X))
    exact, size = exact_moments(X, weights), 1.0 + np.abs(X).max()
    for form in FORMS:
        assert_close(centred_moments(form(X), weights), exact, size)
    assert_close(centred_moments(sp.csr_array(X)), exact_moments(X, np.ones(len(X))), size)


@pytest.mark.parametrize("form", FORMS)
def test_columns_far_from_0_lose_no_digits(form):
    X = 1e9 + np.random.default_rng(0).normal(size=(500, 3))
    _, _, squares = centred_moments(form(X))
    np.testing.assert_allclose(squares, exact_moments(X, np.ones(500))[2], rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_single_precision_is_summed_in_double(form):
    X = np.random.default_rng(0).normal(3.0, 1.0, (3000, 2)).astype(np.float32)
    total, means, squares = centred_moments(form(X))
    assert means.dtype == squares.dtype == np.float64
    assert_close((total, means, squares), exact_moments(X, np.ones(3000)), 10.0)


def test_dense_rows_are_read_in_pieces(monkeypatch):
    X, weights = np.random.default_rng(0).random((2, 50, 4)), np.random.default_rng(1).random(50)
    whole = centred_moments(X[0], weights)
    monkeypatch.setattr("tamis.numerics.moments.CHUNK_ENTRIES", 30)
    for one, other in zip(whole, centred_moments(X[0], weights), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@given(TABLES, st.data())
def test_merged_moments_are_those_of_all_rows(X, data):
    weights, cut = weights_of(data, len(X)), data.draw(st.integers(0, len(X)))
    parts = [centred_moments(X[rows], weights[rows]) for rows in (slice(cut), slice(cut, None))]
    exact, size = exact_moments(X, weights), 1.0 + np.abs(X).max()
    assert_close(merge_moments(*parts), exact, size)
    assert_close(merge_moments(*parts[::-1]), exact, size)


def test_no_rows_have_no_moments():
    nothing = centred_moments(np.ones((2, 3)), np.zeros(2))
    assert nothing[0] == 0.0
    assert not np.any(nothing[1:])
    assert not np.any(merge_moments(nothing, nothing)[1:])
    assert not np.any(standard_deviations(nothing))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [0.0, 0.1, -3e7])
def test_constant_columns_have_no_deviation(form, value):
    X = np.column_stack([np.full(3000, value), value + np.arange(3000) % 2])
    deviations = standard_deviations(centred_moments(form(X)))
    assert deviations[0] == 0.0
    assert deviations[1] == pytest.approx(0.5)


def test_what_varies_by_more_than_rounding_has_a_deviation():
    for ratio, varies in ((0.1 * MIN_RELATIVE_STD, False), (10.0 * MIN_RELATIVE_STD, True)):
        X = 1.0 + ratio * np.array([[-1.0], [1.0]])
        assert (standard_deviations(centred_moments(X))[0] > 0.0) == varies


@given(TABLES, st.data())
def test_raw_sums_grow_block_by_block(X, data):
    weights, cut = weights_of(data, len(X)), data.draw(st.integers(0, len(X)))
    rows, whole, parts = sp.csr_array(X), np.zeros((2, 2, X.shape[1])), np.zeros((2, X.shape[1]))
    add_raw_moments(rows.data, rows.indices, rows.indptr, weights, whole[0])
    add_raw_moments(rows.data, rows.indices, rows.indptr, NO_WEIGHTS, whole[1])
    for block in (slice(cut), slice(cut, None)):
        some = sp.csr_array(X[block])
        add_raw_moments(some.data, some.indices, some.indptr, weights[block], parts)
    assert np.array_equal(parts, whole[0])
    for sums, each in zip(whole, (weights, np.ones(len(X))), strict=True):
        exact = [[weighted_sum(each, column**power) for column in X.T] for power in (1, 2)]
        np.testing.assert_allclose(sums, exact, rtol=1e-13, atol=1e-11)
