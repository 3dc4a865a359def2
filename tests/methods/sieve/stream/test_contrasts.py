"""Contrasts are correlations, whatever the chunks; samples do not depend on the order of rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.base.splits import hash_folds
from tamis.base.validation import _from_csr
from tamis.data.rows import Labels, Rows
from tamis.methods.sieve.stream.contrasts import Contrasts
from tamis.methods.sieve.stream.first import FirstReading
from tamis.methods.sieve.stream.targets import MOST_MARKS, Meeting
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
    """Weighted correlations of all columns with each indicator, the strongest of each column."""
    dense = X.toarray() - np.average(X.toarray(), axis=0, weights=weights)
    aims = indicators - np.average(indicators, axis=0, weights=weights)
    joint = dense.T @ (aims * weights[:, None])
    sizes = [np.sqrt((part**2 * weights[:, None]).sum(axis=0)) for part in (dense, aims)]
    return np.abs(joint / sizes[0][:, None] / sizes[1]).max(axis=1)


def gathered(y, weights=None, task=None, cuts=()):
    first = FirstReading(50, 5, 10**6, task)
    for a, b in zip([0, *cuts], [*cuts, N], strict=True):
        first.add(Rows(X[a:b], y[a:b], 1, None if weights is None else weights[a:b]))
    return first


@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighed"])
@pytest.mark.parametrize("name", ["two", "three", "numbers"])
def test_deviations_are_correlations(name, weights):
    y = {"two": TWO, "three": MANY % 3, "numbers": NUMBERS}[name]
    own = y[:, None] if name == "numbers" else np.equal.outer(y, np.unique(y)).astype(float)
    task = "regress" if name == "numbers" else "classify"
    contrasts = gathered(y, weights, task).contrasts
    given = np.ones(N) if weights is None else weights
    wanted = correlations(own, given) * np.sqrt(np.count_nonzero(given))
    assert np.allclose(contrasts.deviations(P), wanted)
    filled = (X.toarray()[given > 0] != 0).sum(axis=0)
    assert np.array_equal(contrasts.entries()[:P], filled)
    tilted = wanted / np.sqrt(contrasts.n_rows) / (filled / contrasts.n_rows) ** 0.125
    assert np.allclose(contrasts.strengths(P), tilted)


@pytest.mark.parametrize("fold", range(5))
def test_a_fold_has_no_say_where_it_is_left_out(fold):
    inside = hash_folds(row_hashes(_from_csr(X)), 5) == fold
    turned = np.where(inside, np.where(TWO == "no", "yes", "no"), TWO)
    a, b = gathered(TWO).contrasts, gathered(turned).contrasts
    assert np.array_equal(a.strengths(P, fold), b.strengths(P, fold))
    assert not np.array_equal(a.strengths(P), b.strengths(P))
    alone = FirstReading(50, 5, 10**6)
    alone.add(Rows(X[~inside], TWO[~inside], 1))
    fewer = a.entries()[:P] - alone.contrasts.entries()[:P]
    assert fewer.sum() == X[inside].nnz
    apart = a.strengths(P, fold) / alone.contrasts.strengths(P)
    assert 0.5 < apart[alone.contrasts.entries()[:P] > 0].min() < 2.0


def test_a_column_without_entries_and_one_that_says_all():
    contrasts = gathered(TWO).contrasts
    assert contrasts.strengths(P + 5)[P:].tolist() == [0.0] * 5
    assert contrasts.deviations(P).argmax() == 3


@pytest.mark.parametrize("y", [TWO, MANY, NUMBERS], ids=["two", "many", "numbers"])
def test_any_chunks_give_the_same_bits(y):
    whole, pieces = gathered(y), gathered(y, cuts=[1, 7, 90, 91])
    assert np.array_equal(whole.contrasts.strengths(P), pieces.contrasts.strengths(P))
    a, b = whole.settle(), pieces.settle()
    assert np.array_equal(a.keys, b.keys)
    assert np.array_equal(a.rows.toarray(), b.rows.toarray())
    assert len(a.keys) == 50


def test_the_sample_does_not_depend_on_the_order():
    order = np.random.default_rng(1).permutation(N)
    first = FirstReading(50, 5, 10**6)
    first.add(Rows(X[order], TWO[order], 1))
    a, b = first.settle(), gathered(TWO).settle()
    assert np.array_equal(a.rows.toarray(), b.rows.toarray())
    assert np.array_equal(a.targets, b.targets)


def test_the_sample_keeps_to_its_entries():
    first = FirstReading(N, 5, 8 * 12 * 100)
    for row in range(N):
        first.add(Rows(X[row : row + 1], TWO[row : row + 1], 1))
    sample = first.settle()
    assert sample.rows.nnz <= 100 < sample.rows.nnz + P
    whole = FirstReading(N, 5, 8 * 12 * 100)
    whole.add(Rows(X, TWO, 1))
    assert np.array_equal(whole.settle().keys, sample.keys)


def test_numbers_are_found_out():
    meeting = Meeting()
    first = meeting.meet(np.array([1.0, 2.0, 1.0]), 3)
    assert first.marked.marks.tolist() == [0, 1, 0]
    assert meeting.meet(np.array([0.5, 2.0]), 2).marked.marks.tolist() == []
    assert meeting.task == "regress"
    mixed = np.r_[np.ones(100), NUMBERS[100:]]
    contrasts = gathered(mixed, cuts=[100]).contrasts
    assert np.array_equal(
        contrasts.strengths(P), gathered(mixed, task="regress").contrasts.strengths(P)
    )


def test_many_classes_share_marks():
    contrasts = gathered(MANY).contrasts
    assert contrasts.products.shape[1:] == (5, 1 + 1 + MOST_MARKS)
    assert contrasts.whole[:, 2:].sum() == N


def test_labels_of_rows():
    labels = Labels(np.array([0, 2, 2, 3]), np.array(["b", "a", "b"]))
    met = Meeting().meet(labels, 3)
    assert met.kept.toarray().tolist() == [[1, 1], [0, 0], [1, 0]]
    counts = Contrasts(2)
    counts.add(_from_csr(X[:3]), np.zeros(0), np.array([0, 1, 1]), met.marked)
    assert counts.whole.tolist() == [[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]]
    again = Meeting().meet(sp.csr_array(met.kept), 3)
    assert again.kept.toarray().tolist() == met.kept.toarray().tolist()
