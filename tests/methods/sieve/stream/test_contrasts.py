"""Contrasts are correlations, whatever the chunks; samples do not depend on the order of rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.base.splits import hash_folds
from tamis.base.validation import csr_from_matrix
from tamis.data.rows import Labels, Rows
from tamis.methods.sieve.stream.contrasts import Contrasts
from tamis.methods.sieve.stream.first_reading import FirstReading
from tamis.methods.sieve.stream.targets import MAX_LABEL_CODES, LabelEncoder
from tamis.numerics.hashing import row_hashes

pytestmark = pytest.mark.quick

N, P = 200, 30
RNG = np.random.default_rng(0)
X = sp.csr_array(RNG.normal(size=(N, P)) * (RNG.random((N, P)) < 0.3))
W = RNG.integers(0, 3, N).astype(float)
TWO = np.where(X.toarray()[:, 3] + 0.1 * RNG.normal(size=N) > 0, "yes", "no")
MANY = np.arange(N) % 40
NUMBERS = X.toarray()[:, 5] + 0.1 * RNG.normal(size=N)


def correlations(indicators, weights):
    """Return the strongest weighted correlation of each column with any indicator."""
    dense = X.toarray() - np.average(X.toarray(), axis=0, weights=weights)
    centered_indicators = indicators - np.average(indicators, axis=0, weights=weights)
    joint = dense.T @ (centered_indicators * weights[:, None])
    sizes = [
        np.sqrt((matrix**2 * weights[:, None]).sum(axis=0))
        for matrix in (dense, centered_indicators)
    ]
    return np.abs(joint / sizes[0][:, None] / sizes[1]).max(axis=1)


def first_reading(y, weights=None, task=None, cuts=()):
    first = FirstReading(50, 5, 10**6, task)
    for a, b in zip([0, *cuts], [*cuts, N], strict=True):
        first.add(Rows(X[a:b], y[a:b], 1, None if weights is None else weights[a:b]))
    return first


@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighed"])
@pytest.mark.parametrize("name", ["two", "three", "numbers"])
def test_deviations_are_correlations(name, weights):
    y = {"two": TWO, "three": MANY % 3, "numbers": NUMBERS}[name]
    target_columns = (
        y[:, None] if name == "numbers" else np.equal.outer(y, np.unique(y)).astype(float)
    )
    task = "regress" if name == "numbers" else "classify"
    contrasts = first_reading(y, weights, task).contrasts
    row_weights = np.ones(N) if weights is None else weights
    expected = correlations(target_columns, row_weights) * np.sqrt(np.count_nonzero(row_weights))
    assert np.allclose(contrasts.deviations(P), expected)
    n_entries = (X.toarray()[row_weights > 0] != 0).sum(axis=0)
    assert np.array_equal(contrasts.entries()[:P], n_entries)
    weighted = expected / np.sqrt(contrasts.n_rows) / (n_entries / contrasts.n_rows) ** 0.125
    assert np.allclose(contrasts.strengths(P), weighted)


@pytest.mark.parametrize("fold", range(5))
def test_targets_of_a_left_out_fold_do_not_matter(fold):
    in_fold = hash_folds(row_hashes(csr_from_matrix(X)), 5) == fold
    flipped = np.where(in_fold, np.where(TWO == "no", "yes", "no"), TWO)
    a, b = first_reading(TWO).contrasts, first_reading(flipped).contrasts
    assert np.array_equal(a.strengths(P, fold), b.strengths(P, fold))
    assert not np.array_equal(a.strengths(P), b.strengths(P))
    without_fold = FirstReading(50, 5, 10**6)
    without_fold.add(Rows(X[~in_fold], TWO[~in_fold], 1))
    fewer = a.entries()[:P] - without_fold.contrasts.entries()[:P]
    assert fewer.sum() == X[in_fold].nnz
    ratio = a.strengths(P, fold) / without_fold.contrasts.strengths(P)
    assert 0.5 < ratio[without_fold.contrasts.entries()[:P] > 0].min() < 2.0


def test_a_column_without_entries_and_one_that_determines_y():
    contrasts = first_reading(TWO).contrasts
    assert contrasts.strengths(P + 5)[P:].tolist() == [0.0] * 5
    assert contrasts.deviations(P).argmax() == 3


@pytest.mark.parametrize("y", [TWO, MANY, NUMBERS], ids=["two", "many", "numbers"])
def test_any_chunks_give_the_same_bits(y):
    unchunked, chunked = first_reading(y), first_reading(y, cuts=[1, 7, 90, 91])
    assert np.array_equal(unchunked.contrasts.strengths(P), chunked.contrasts.strengths(P))
    a, b = unchunked.merge_sample(), chunked.merge_sample()
    assert np.array_equal(a.keys, b.keys)
    assert np.array_equal(a.rows.toarray(), b.rows.toarray())
    assert len(a.keys) == 50


def test_the_sample_does_not_depend_on_the_order():
    order = np.random.default_rng(1).permutation(N)
    first = FirstReading(50, 5, 10**6)
    first.add(Rows(X[order], TWO[order], 1))
    a, b = first.merge_sample(), first_reading(TWO).merge_sample()
    assert np.array_equal(a.rows.toarray(), b.rows.toarray())
    assert np.array_equal(a.targets, b.targets)


def test_the_sample_has_a_limited_number_of_entries():
    first = FirstReading(N, 5, 8 * 12 * 100)
    for row in range(N):
        first.add(Rows(X[row : row + 1], TWO[row : row + 1], 1))
    sample = first.merge_sample()
    assert sample.rows.nnz <= 100 < sample.rows.nnz + P
    unchunked = FirstReading(N, 5, 8 * 12 * 100)
    unchunked.add(Rows(X, TWO, 1))
    assert np.array_equal(unchunked.merge_sample().keys, sample.keys)


def test_numeric_targets_are_detected():
    encoder = LabelEncoder()
    first = encoder.encode(np.array([1.0, 2.0, 1.0]), 3)
    assert first.for_contrasts.codes.tolist() == [0, 1, 0]
    assert encoder.encode(np.array([0.5, 2.0]), 2).for_contrasts.codes.tolist() == []
    assert encoder.task == "regress"
    mixed = np.r_[np.ones(100), NUMBERS[100:]]
    contrasts = first_reading(mixed, cuts=[100]).contrasts
    assert np.array_equal(
        contrasts.strengths(P), first_reading(mixed, task="regress").contrasts.strengths(P)
    )


def test_many_classes_share_codes():
    contrasts = first_reading(MANY).contrasts
    assert contrasts.products.shape[1:] == (5, 1 + 1 + MAX_LABEL_CODES)
    assert contrasts.constant_products[:, 2:].sum() == N


def test_labels_of_rows():
    labels = Labels(np.array([0, 2, 2, 3]), np.array(["b", "a", "b"]))
    encoded = LabelEncoder().encode(labels, 3)
    assert encoded.for_sample.toarray().tolist() == [[1, 1], [0, 0], [1, 0]]
    counts = Contrasts(2)
    counts.add(csr_from_matrix(X[:3]), np.zeros(0), np.array([0, 1, 1]), encoded.for_contrasts)
    assert counts.constant_products.tolist() == [[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]]
    again = LabelEncoder().encode(sp.csr_array(encoded.for_sample), 3)
    assert again.for_sample.toarray().tolist() == encoded.for_sample.toarray().tolist()
