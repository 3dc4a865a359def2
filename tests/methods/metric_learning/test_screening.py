"""Screening of columns: contrasts are Welch's, nothing real is lost, all rows count."""

import numpy as np
import pytest
import scipy.sparse as sp
from methods.metric_learning.textbook import fixed2
from scipy.stats import ttest_ind

from tamis import SDist
from tamis.methods.metric_learning import screening
from tamis.methods.metric_learning.candidates import Scaling
from tamis.methods.metric_learning.screening import ClassWeights, pair_extent, screen_columns

pytestmark = pytest.mark.delicate


def passing(X, y, seed=0, weights=None, order=None):
    weights = np.ones(len(y)) if weights is None else weights
    order = np.arange(len(y)) if order is None else order
    scaling = Scaling(X, weights, True)
    selected = screen_columns(X, y, weights, order, scaling, np.random.default_rng(seed))
    return selected.tolist()


def noise(rows, columns, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), np.arange(rows) % classes


def correlate(X, y, first, second, strength):
    """A column that follows another in one class, and its opposite in the other."""
    sign = np.where(y == 1, strength, -strength)
    X[:, second] = sign * X[:, first] + np.sqrt(1.0 - strength**2) * X[:, second]


def welch_t(values, y):
    return abs(ttest_ind(values[y == 0], values[y == 1], equal_var=False).statistic)


# --------------------------------------------------------------------------- what is found
@pytest.mark.parametrize("shape", ["xor", "rings"])
def test_it_finds_what_no_single_mean_shows(shape):
    X, y = fixed2(shape, 500, 200, 0)
    assert passing(X, y) == passing(sp.csr_array(X), y) == [0, 1]
    passed = len(passing(X, np.random.default_rng(1).permutation(y)))
    assert passed == 200 or passed <= 5  # none, which means all, or a few by chance


def test_noise_rarely_passes():
    """5 % of sets at most; three of fifty is the mean."""
    sets = [noise(60, 30, seed) for seed in range(50)]
    assert sum(len(passing(X, y)) < 30 for X, y in sets) <= 6


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("work", [screening.PAIR_WORK_PER_ROW, 20.0])
def test_a_class_among_three_is_found_whatever_the_work(monkeypatch, work, form):
    X, y = noise(300, 50, classes=3)
    X[:, 4] += y
    monkeypatch.setattr(screening, "PAIR_WORK_PER_ROW", work)
    assert passing(form(X), y) == [4]


def test_a_weak_column_of_three_is_not_lost_where_pairs_see_few_rows(monkeypatch):
    """A tenth of the rows shows two of the three; all rows show the third, at the price of one
    reading.
    """
    X, y = noise(4000, 60, 1)
    for column, shift in enumerate((1.0, 1.0, 0.2)):
        X[:, column] += shift * y
    monkeypatch.setattr(screening, "PAIR_WORK_PER_ROW", 360.0)
    monkeypatch.setattr(screening, "MIN_PAIR_ROWS", 50)
    assert pair_extent(60, 4000) == (60, 400)
    assert passing(X, y) == [0, 1, 2]
    first_rows = slice(0, 400)
    assert 2 not in passing(X[first_rows], y[first_rows])


def test_a_column_alone_does_not_pay_for_all_pairs():
    X, y = noise(100, 400, 4)
    X[:, 9] += (5.0 * np.sqrt(4 / 100) - X[y == 1, 9].mean() + X[y == 0, 9].mean()) * y
    classes = ClassWeights.from_codes(y, np.ones(100))
    limits = [screening._score_threshold(tests, y, classes) for tests in (800, 400 * 399 // 2)]
    assert limits[0] < welch_t(X[:, 9], y) < limits[1]
    assert passing(X, y) == [9]


def test_the_pairs_of_too_many_columns_are_those_that_differ_most_alone(monkeypatch):
    X, y = noise(400, 60, 5)
    correlate(X, y, 20, 40, 0.8)
    X[:, [20, 40]] += 0.25 * y[:, None]
    monkeypatch.setattr(screening, "PAIR_WORK_PER_ROW", 40.0)
    assert pair_extent(60, 400) == (10, 400)
    assert passing(X, y) == [20, 40]
    X[:, [20, 40]] -= 0.25 * y[:, None]
    assert len(passing(X, y)) == 60


def test_a_weak_pair_is_judged_on_all_rows(monkeypatch):
    """The drawn rows only say which pairs to look at."""
    X, y = noise(4000, 60, 2)
    correlate(X, y, 7, 30, 0.1)
    monkeypatch.setattr(screening, "PAIR_WORK_PER_ROW", 1440.0)
    assert pair_extent(60, 4000) == (60, 1600)
    selected = [passing(X, y, seed) for seed in range(5)]
    assert selected.count([7, 30]) >= 4
    assert passing(X[:1600], y[:1600]) != [7, 30]


def selected_columns(X, y, standardize=True):
    weights = np.ones(len(y))
    scaling = Scaling(X, weights, standardize)
    rng = np.random.default_rng(0)
    return screen_columns(X, y, weights, np.arange(len(y)), scaling, rng).tolist()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_columns_of_pairs_stay_out_where_neighbours_are_worse_with_them(form):
    """As frequent words do: large, and together in another way in each class."""
    X, y = noise(1200, 30, 6)
    X[:, :3] += 1.5 * y[:, None]
    correlate(X, y, 8, 9, 0.3)
    frequent = X * np.where(np.isin(np.arange(30), (8, 9)), 9.0, 1.0)
    assert selected_columns(form(frequent), y, standardize=False) == [0, 1, 2]
    assert selected_columns(form(X), y) in ([0, 1, 2], [0, 1, 2, 8, 9])


def test_columns_of_pairs_join_where_neighbours_gain_by_them():
    X, y = noise(600, 30, 7)
    X[:, 2] += 0.5 * y
    correlate(X, y, 8, 9, 0.9)
    assert selected_columns(X, y) == [2, 8, 9]


def test_harm_is_to_have_worse_neighbours_by_more_columns():
    X, y = noise(400, 4, 8)
    X[:, 0] += 3.0 * y
    X[:, 1] *= 20.0
    scaling = Scaling(X, np.ones(400), False)
    args = X, y, np.ones(400), scaling
    assert screening._do_harm(*args, np.array([0]), np.array([0, 1]))
    assert not screening._do_harm(*args, np.array([1]), np.array([0, 1]))
    assert not screening._do_harm(*args, np.array([0]), np.array([0]))
    assert not screening._do_harm(*args, np.array([], int), np.array([0, 1]))


# --------------------------------------------------------------------------- rows and columns used
def test_rows_of_pairs_grow_with_the_rows_and_nothing_jumps():
    used = [pair_extent(5000, rows)[1] for rows in (500, 2000, 8000, 32000, 128000)]
    assert used == [500, 1000, 1600, 6400, 25600]
    assert pair_extent(2000, 10**6) == (2000, 10**6)  # all rows, however many
    for rows in (300, 8000, 50000):
        extents = [pair_extent(columns, rows) for columns in range(100, 30000, 10)]
        extent_array = np.array(extents, dtype=float)
        assert (np.diff(extent_array[:, 1]) <= 0).all()
        assert (np.diff(extent_array[:, 0]) >= 0).all()
        assert extent_array[:, 1].min() == min(rows, screening.MIN_PAIR_ROWS)
        steps = np.abs(np.diff(np.log(extent_array), axis=0))
        assert steps[100:].max() < 0.03


def test_work_is_bounded_a_row():
    for columns in (10, 1000, 5000, 10**6):
        for rows in (50, 1000, 30000):
            width, used = pair_extent(columns, rows)
            assert width**2 * used <= 1.01 * screening.PAIR_WORK_PER_ROW * max(
                rows, screening.MIN_PAIR_ROWS
            )
            assert 0 < used <= rows
            assert 0 < width <= columns


def test_drawn_rows_have_every_class_and_do_not_hang_on_the_order_of_rows():
    codes = np.r_[np.zeros(90, int), np.full(8, 1), np.full(2, 2)]
    drawn = screening._draw_rows(codes, np.arange(100), 20, np.random.default_rng(0))
    assert np.bincount(codes[drawn]).tolist() == [18, 2, 1]
    shuffled = np.random.default_rng(1).permutation(100)  # row i was row shuffled[i]
    drawn_again = screening._draw_rows(
        codes[shuffled], np.argsort(shuffled), 20, np.random.default_rng(0)
    )
    assert np.array_equal(np.sort(shuffled[drawn_again]), drawn)


def test_auto_screens_few_rows_or_many_columns():
    def is_screened(rows, columns, **args):
        return SDist(**args)._options(rows, columns).screen

    assert [is_screened(*size) for size in ((500, 50), (499, 50), (5000, 200), (5000, 201))] == [
        False,
        True,
        False,
        True,
    ]
    assert not is_screened(100, 5000, screen=None)
    assert is_screened(5000, 5, screen="moments")


# --------------------------------------------------------------------------- scores
@pytest.mark.parametrize("numbers", [screening.BLOCK_ENTRIES, 24], ids=["whole", "pieces"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_scores_are_welchs(monkeypatch, form, numbers):
    monkeypatch.setattr(screening, "BLOCK_ENTRIES", numbers)
    X, y = fixed2("rings", 80, 4, 0)
    X = X + 3.0
    classes, center, scale = ClassWeights.from_codes(y, np.ones(80)), X.mean(axis=0), X.std(axis=0)
    single_scores, _ = screening._single_scores(form(X), center, scale, classes)
    first, second = np.triu_indices(4, 1)
    pairs = screening._product_scores(form(X), center, scale, first, second, classes)
    V = X - center
    expected = [max(welch_t(V[:, j], y), welch_t(V[:, j] ** 2, y)) for j in range(4)]
    assert single_scores == pytest.approx(expected, rel=0.03)  # Welch divides by n - 1
    expected = [welch_t(V[:, j] * V[:, k], y) for j, k in zip(first, second, strict=True)]
    assert pairs == pytest.approx(expected, rel=0.03)


def test_weights_are_repeats():
    X, y = fixed2("xor", 60, 6, 0)
    counts = np.random.default_rng(0).integers(1, 3, 60)
    a = ClassWeights.from_codes(y, counts.astype(float))
    b = ClassWeights.from_codes(np.repeat(y, counts), np.ones(counts.sum()))
    zero, one = np.zeros(6), np.ones(6)
    means = [
        screening._single_scores(values, zero, one, classes)[1]
        for values, classes in ((X, a), (np.repeat(X, counts, axis=0), b))
    ]
    assert means[0] == pytest.approx(means[1])


def test_the_best_partners_are_those_of_all_pairs(monkeypatch):
    """Block by block as at once; a twin column, alike in both classes, takes no partner's place."""
    X, y = noise(400, 12, 3)
    correlate(X, y, 2, 9, 0.6)
    correlate(X, y, 5, 6, 0.4)
    X[:, 11] = X[:, 5] + 0.1 * X[:, 11]
    values, classes = X.astype(np.float32), ClassWeights.from_codes(y, np.ones(400))
    first, second = screening._best_partners(values, classes)
    assert (first < second).all()
    assert np.bincount(first).tolist() == [4] * 8 + [3, 2, 1]
    monkeypatch.setattr(screening, "PARTNERS_PER_COLUMN", 1)
    all_pairs = screening._best_partners(values, classes)
    partner = dict(zip(*(side.tolist() for side in all_pairs), strict=True))
    assert (partner[2], partner[5]) == (9, 6)
    assert sorted(partner) == list(range(11))
    monkeypatch.setattr(screening, "BLOCK_ENTRIES", 100)
    assert np.array_equal(all_pairs, screening._best_partners(values, classes))
    assert passing(X, y) == [2, 5, 6, 9, 11]
