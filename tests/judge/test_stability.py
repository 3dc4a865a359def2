"""Stability measures: closed forms, other formulas, invariances, the coverage of the interval."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score

from tamis import selection_kappa, selection_stability

pytestmark = pytest.mark.quick

MATRICES = st.tuples(st.integers(2, 7), st.integers(2, 9)).flatmap(
    lambda shape: arrays(bool, shape)
)


def nogueira_by_loops(Z):
    """Definition 4 and theorem 7 of Nogueira, Sechidis and Brown, written as they stand there."""
    M, d = Z.shape
    p, k = Z.mean(axis=0), Z.sum(axis=1)
    mean = k.mean()
    top = sum(M / (M - 1) * p[f] * (1 - p[f]) for f in range(d)) / d
    bottom = mean / d * (1 - mean / d)
    value = 1 - top / bottom
    influence = [
        (
            sum(Z[i, f] * p[f] for f in range(d)) / d
            - k[i] * mean / d**2
            + value / 2 * (2 * mean * k[i] / d**2 - k[i] / d - mean / d + 1)
        )
        / bottom
        for i in range(M)
    ]
    return value, 4 / M**2 * sum((x - np.mean(influence)) ** 2 for x in influence)


@given(MATRICES)
def test_kappa_is_cohens(Z):
    wanted = []
    for a, b in itertools.combinations(Z, 2):
        trivial = (not a.any() and not b.any()) or (a.all() and b.all())
        wanted.append(1.0 if trivial else cohen_kappa_score(a, b))
    assert selection_kappa(Z) == pytest.approx(np.mean(wanted))


@given(MATRICES)
def test_nogueira_is_the_papers_formula(Z):
    if not 0 < Z.mean() < 1:
        assert selection_stability(Z).value == 1.0
        return
    value, variance = nogueira_by_loops(Z)
    found = selection_stability(Z, confidence=0.9)
    assert found.value == pytest.approx(value)
    if len(Z) > 2:
        reach = 1.6448536269514722 * np.sqrt(variance)
        assert found.low == pytest.approx(max(-1.0, value - reach))
        assert found.high == pytest.approx(min(1.0, value + reach))


@given(MATRICES)
def test_jaccard_by_sets(Z):
    wanted = [
        len(a & b) / len(a | b) if a | b else 1.0
        for a, b in itertools.combinations([set(np.flatnonzero(z)) for z in Z], 2)
    ]
    assert selection_stability(Z, measure="jaccard").value == pytest.approx(np.mean(wanted))


def test_kuncheva_by_its_formula_and_as_the_equal_sized_case_of_the_others():
    random = np.random.default_rng(0)
    sets = [random.choice(40, 6, replace=False) for _ in range(7)]
    wanted = np.mean(
        [(len(set(a) & set(b)) * 40 - 36) / (6 * 34) for a, b in itertools.combinations(sets, 2)]
    )
    assert selection_stability(sets, 40, measure="kuncheva").value == pytest.approx(wanted)
    assert selection_stability(sets, 40).value == pytest.approx(wanted)
    assert selection_kappa(sets, 40) == pytest.approx(wanted)


@pytest.mark.parametrize("measure", ["nogueira", "jaccard", "kuncheva"])
def test_limits(measure):
    equal = selection_stability([[1, 3]] * 4, 9, measure=measure)
    assert equal[:3] == (1.0, 1.0, 1.0)
    assert selection_stability([[], [], []], 9, measure=measure).value == 1.0
    assert selection_stability([range(9)] * 3, 9, measure=measure).value == 1.0
    apart = selection_stability([[0, 1], [2, 3], [4, 5], [6, 7]], 8, measure=measure)
    # -1 / (M - 1), the least there is.
    assert apart.value == pytest.approx(0.0 if measure == "jaccard" else -1 / 3)


def test_empty_against_full_and_against_some_is_chance():
    assert selection_kappa([[], range(5)], 5) == 0.0
    assert selection_kappa([[], [1, 2]], 5) == 0.0
    assert selection_kappa([[], []], 5) == selection_kappa([range(5), range(5)], 5) == 1.0
    assert selection_kappa([[0, 1], [2, 3]], 4) == -1.0


def test_random_sets_are_near_zero_whatever_their_sizes():
    random = np.random.default_rng(1)
    shares = random.uniform(0.05, 0.6, 60)
    Z = np.array([random.random(400) < share for share in shares])
    assert abs(selection_stability(Z).value) < 0.01
    assert abs(selection_kappa(Z)) < 0.01
    a, b = shares[:, None], shares[None, :]
    by_chance = (a * b / (a + b - a * b))[~np.eye(60, dtype=bool)].mean()
    # Jaccard is not corrected for chance.
    assert selection_stability(Z, measure="jaccard").value == pytest.approx(by_chance, abs=0.02)


@given(MATRICES, st.integers(0, 100))
def test_order_of_runs_and_features_and_complements_do_not_matter(Z, seed):
    random = np.random.default_rng(seed)
    other = Z[random.permutation(len(Z))][:, random.permutation(Z.shape[1])]
    assert selection_kappa(other) == pytest.approx(selection_kappa(Z))
    assert selection_kappa(~Z) == pytest.approx(selection_kappa(Z))
    assert selection_stability(other)[:3] == pytest.approx(selection_stability(Z)[:3], nan_ok=True)
    assert selection_stability(~Z).value == pytest.approx(selection_stability(Z).value)


def test_two_runs_give_no_interval_and_confidence_widens_it():
    assert np.isnan(selection_stability([[0], [1]], 5).low)
    Z = np.random.default_rng(0).random((12, 30)) < 0.3
    narrow, wide = selection_stability(Z, confidence=0.5), selection_stability(Z, confidence=0.99)
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
    assert narrow.n_runs == 12


@pytest.mark.parametrize(("measure", "least"), [("nogueira", 0.9), ("jaccard", 0.9)])
def test_the_interval_covers_the_truth(measure, least):
    """Runs that differ in size as well as in features: 30 of them, 95 % intervals; without theorem
    7's last term coverage is lost.
    """
    random = np.random.default_rng(5)
    shares = np.where(np.arange(150) < 12, 0.7, 0.03)

    def draw(runs):
        return random.random((runs, 150)) < np.clip(
            shares * random.choice([0.4, 1.4], size=(runs, 1)), 0, 1
        )

    many = sp.csr_array(draw(2000))
    truth = selection_stability(many, measure=measure).value
    found = [selection_stability(draw(30), measure=measure) for _ in range(400)]
    covered = np.mean([f.low <= truth <= f.high for f in found])
    assert least <= covered <= 0.985


def test_ten_million_features_are_no_matter():
    found = selection_stability([[0, 5, 9_999_999], [0, 5, 77], [0, 5]], 10_000_000)
    assert 0.6 < found.value < 0.8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measure": "dice"}, "'nogueira', 'jaccard', 'kuncheva'"),
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"measure": "kuncheva"}, "keep 1 to 2"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ValueError, match=words):
        selection_stability([[0], [0, 1], [2]], 5, **options)
