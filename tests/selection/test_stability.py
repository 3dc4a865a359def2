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


def nogueira_by_loops(Z, C=None):
    """Definition 4 of Nogueira, Sechidis and Brown, and the measure with similarities of Sechidis
    et al., written as they stand there; 1 where chance has no choice.
    """
    d = Z.shape[1]
    k = Z.sum(axis=1)
    mean = k.mean() / d
    null = np.full((d, d), (k * (k - 1)).mean() / (d * (d - 1)) - mean**2)
    np.fill_diagonal(null, mean * (1 - mean))
    C = np.eye(d) if C is None else C
    S = np.cov(Z.T.astype(float), ddof=1)
    chance = (C * null).sum()
    return 1 - (C * S).sum() / chance if chance > 1e-12 else 1.0


def interval_by_loops(function, Z, quantile):
    """Jackknife of the root of 1 - stability, one run left out after the other, and at least what
    least squares leave of the pairs' overlaps.
    """
    M, d = Z.shape
    root = np.sqrt(1 - function(Z))
    roots = np.array([np.sqrt(max(0.0, 1 - function(np.delete(Z, i, axis=0)))) for i in range(M)])
    variance = (M - 1) / M * ((roots - roots.mean()) ** 2).sum()
    pairs = list(itertools.combinations(range(M), 2))
    overlaps = [Z[i] @ Z[j].astype(float) / (d * Z.mean() * (1 - Z.mean())) for i, j in pairs]
    effects = np.array([[run in pair for run in range(M)] for pair in pairs], float)
    residuals = overlaps - effects @ np.linalg.lstsq(effects, overlaps, rcond=None)[0]
    peculiar = (residuals**2).sum() / (len(pairs) - M) / len(pairs)
    reach = quantile * np.sqrt(max(variance, peculiar / 4 / root**2))
    return 1 - (root + reach) ** 2, 1 - max(0, root - reach) ** 2


@given(MATRICES)
def test_kappa_is_cohens(Z):
    expected = []
    for a, b in itertools.combinations(Z, 2):
        trivial = (not a.any() and not b.any()) or (a.all() and b.all())
        expected.append(1.0 if trivial else cohen_kappa_score(a, b))
    assert selection_kappa(Z) == pytest.approx(np.mean(expected))


@given(MATRICES)
def test_nogueira_is_the_papers_formula(Z):
    value = nogueira_by_loops(Z)
    actual = selection_stability(Z, confidence=0.9)
    assert actual.value == pytest.approx(value)
    if len(Z) == 5 and value < 1.0:
        low, high = interval_by_loops(nogueira_by_loops, Z, 2.131846786326649)  # t, 4 degrees
        assert actual.low == pytest.approx(max(-1.0, low), abs=1e-6)
        assert actual.high == pytest.approx(high, abs=1e-6)


@st.composite
def with_similarities(draw):
    """Runs, and correlations of columns that a few rows gave, as their absolute values."""
    Z = draw(MATRICES)
    rows = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(4, Z.shape[1]))
    return Z, np.abs(np.corrcoef(rows.T))


@given(with_similarities())
def test_similarities_by_the_papers_formula_dense_and_sparse(given):
    Z, C = given
    expected = min(1.0, nogueira_by_loops(Z, C))
    actual = selection_stability(Z, similarity=C)
    assert actual.value == pytest.approx(expected)
    thin = sp.coo_array(C * (1 - np.eye(len(C))))  # what the diagonal holds does not matter
    assert selection_stability(Z, similarity=thin) == pytest.approx(actual, nan_ok=True)
    alone = selection_stability(Z, similarity=np.eye(len(C)))
    assert alone == pytest.approx(selection_stability(Z), nan_ok=True)


def test_swapped_twins_are_credited_by_how_alike_they_are():
    runs = [[0, 1, 2], [0, 1, 3]] * 5

    def credit(alike):
        twins = sp.coo_array(([alike, alike], ([2, 3], [3, 2])), shape=(50, 50))
        return selection_stability(runs, 50, similarity=twins).value

    plain = selection_stability(runs, 50)
    assert plain.low < plain.value - 0.05  # half and half: the jackknife alone would see no spread
    assert credit(0.0) == plain.value
    values = [credit(alike) for alike in (0.0, 0.5, 0.9, 1.0)]
    assert np.all(np.diff(values) > 0.015)
    assert credit(1.0) == pytest.approx(1.0)
    same = np.full((50, 50), 0.3)
    assert selection_stability([[4, 7, 9]] * 6, 50, similarity=same)[:3] == (1.0, 1.0, 1.0)
    # Columns that are all one and the same leave no choice.
    assert selection_stability(runs, 50, similarity=np.ones((50, 50))).value == 1.0


def test_random_sets_are_near_zero_with_similarities_too():
    random = np.random.default_rng(3)
    blocks = np.kron(np.eye(40), np.full((5, 5), 0.8)) * 0.7 + 0.3
    sizes = random.integers(5, 60, 80)
    actual = [random.choice(200, size, replace=False) for size in sizes]
    assert abs(selection_stability(actual, 200, similarity=blocks).value) < 0.015
    # Without the correction for what columns have in common anyway it would be far from that.
    assert (blocks.sum() - 200 * blocks[0, 0]) / (200 * 199) > 0.3


@given(MATRICES)
def test_jaccard_by_sets(Z):
    expected = [
        len(a & b) / len(a | b) if a | b else 1.0
        for a, b in itertools.combinations([set(np.flatnonzero(z)) for z in Z], 2)
    ]
    assert selection_stability(Z, measure="jaccard").value == pytest.approx(np.mean(expected))


def test_kuncheva_by_its_formula_and_as_the_equal_sized_case_of_the_others():
    random = np.random.default_rng(0)
    sets = [random.choice(40, 6, replace=False) for _ in range(7)]
    expected = np.mean(
        [(len(set(a) & set(b)) * 40 - 36) / (6 * 34) for a, b in itertools.combinations(sets, 2)]
    )
    assert selection_stability(sets, 40, measure="kuncheva").value == pytest.approx(expected)
    assert selection_stability(sets, 40).value == pytest.approx(expected)
    assert selection_kappa(sets, 40) == pytest.approx(expected)


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
    probabilities = random.uniform(0.05, 0.6, 60)
    Z = np.array([random.random(400) < probability for probability in probabilities])
    assert abs(selection_stability(Z).value) < 0.01
    assert abs(selection_kappa(Z)) < 0.01
    a, b = probabilities[:, None], probabilities[None, :]
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


@pytest.mark.parametrize("measure", ["nogueira", "jaccard"])
@pytest.mark.parametrize("runs", [10, 30])
def test_the_interval_covers_the_truth(measure, runs):
    """Features kept more or less often; 95 % intervals."""
    random = np.random.default_rng(5)
    probabilities = np.concatenate([np.linspace(1.0, 0.2, 24), np.full(126, 0.01)])

    def draw(runs):
        return random.random((runs, 150)) < probabilities

    truth = selection_stability(sp.csr_array(draw(2000)), measure=measure).value
    actual = [selection_stability(draw(runs), measure=measure) for _ in range(600)]
    covered = np.mean([f.low <= truth <= f.high for f in actual])
    assert 0.93 <= covered <= 0.98


def test_the_interval_covers_the_truth_where_swaps_of_twins_are_credited():
    """Ten runs, each of which takes one by chance of the four columns of a module."""
    random = np.random.default_rng(5)
    probabilities = np.concatenate([np.linspace(1.0, 0.2, 12), np.full(28, 0.01)])
    alike = sp.csr_array(np.kron(np.eye(40), np.where(np.eye(4), 1.0, 0.8)))

    def draw(runs):
        kept = np.zeros((runs, 160), dtype=bool)
        run, module = np.nonzero(random.random((runs, 40)) < probabilities)
        kept[run, 4 * module + random.integers(0, 4, len(run))] = True
        return sp.csr_array(kept)

    truth = selection_stability(draw(2000), similarity=alike).value
    actual = [selection_stability(draw(10), similarity=alike) for _ in range(200)]
    assert truth > selection_stability(draw(2000)).value + 0.3
    assert 0.91 <= np.mean([f.low <= truth <= f.high for f in actual]) <= 0.99


def test_ten_million_features_are_no_matter():
    actual = selection_stability([[0, 5, 9_999_999], [0, 5, 77], [0, 5]], 10_000_000)
    assert 0.6 < actual.value < 0.8
    twins = sp.coo_array(([0.9, 0.9], ([77, 9_999_999], [9_999_999, 77])), shape=(10_000_000,) * 2)
    runs = [[0, 5, 9_999_999], [0, 5, 77], [0, 5]]
    assert selection_stability(runs, 10_000_000, similarity=twins).value > actual.value + 0.08


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measure": "dice"}, "'nogueira', 'jaccard', 'kuncheva'"),
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"measure": "kuncheva"}, "keep 1 to 2"),
        ({"measure": "jaccard", "similarity": np.eye(5)}, "measure='nogueira' only"),
        ({"similarity": np.eye(4)}, r"shape \(5, 5\)"),
        ({"similarity": -np.eye(5)}, "absolute values"),
        ({"similarity": np.full((5, 5), np.nan)}, "constant"),
        ({"similarity": np.triu(np.ones((5, 5)))}, "symmetric"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ValueError, match=words):
        selection_stability([[0], [0, 1], [2]], 5, **options)
