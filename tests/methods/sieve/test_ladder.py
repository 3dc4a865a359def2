"""Ladder, ranking, choice of size, held-out errors."""

import numpy as np
import pytest

from tamis.base.rows import NOTHING, largest
from tamis.methods.sieve.errors import beats, class_error, margins, number_error, soft_errors
from tamis.methods.sieve.ladder import choose_size, ladder, place_size
from tamis.terms import Huber, Squared


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 6, 7, 40, 123, 1000, 62061])
def test_ladder(n):
    sizes = ladder(n, 4)
    assert sizes[0] == n
    assert (np.diff(sizes) < 0).all()
    assert (sizes[1:] >= 4).all()
    if n > 10:
        assert sizes[-1] == 4
        assert sizes[1] <= 0.86 * n
        assert set(ladder(2 * n, 4)[2:]) >= set(sizes[2:])  # the sizes do not depend on n otherwise


def test_largest_by_a_full_sort():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.integers(0, 6, 30).astype(float)
        for k in (0, 1, 7, 29, 30, 40):
            assert np.array_equal(
                largest(values, k), np.sort(np.argsort(-values, kind="stable")[:k])
            )


SIZES = np.array([100, 64, 32, 16, 8])


def test_size_on_made_up_curves():
    choice = choose_size(SIZES, np.array([0.2, 0.1, 0.1, 0.3, 0.4]), 0.1)
    assert (choice.level, choice.threshold) == (2, pytest.approx(0.2))
    assert choice.size == round(np.sqrt(32 * 16))  # half-way, in logarithms
    assert choose_size(SIZES, np.full(5, 0.5), 0.0).size == 8
    assert choose_size(SIZES, np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 0.0)[:2] == (0, 100)
    assert choose_size(SIZES, np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 9.0)[:2] == (4, 8)
    # A bump beyond the threshold is pooled with the dip behind it.
    assert choose_size(SIZES, np.array([0.1, 0.1, 0.16, 0.1, 0.4]), 0.04).level == 3


def test_size_lies_between_its_levels():
    rng = np.random.default_rng(0)
    for _ in range(200):
        errors = rng.random(5)
        choice = choose_size(SIZES, errors, 0.2 * rng.random())
        assert choice.threshold >= errors.min()
        assert (
            (SIZES[choice.level + 1] if choice.level < 4 else 8)
            <= choice.size
            <= SIZES[choice.level]
        )


def test_wanted_sizes_have_a_place():
    assert place_size(SIZES, 20)[:2] == (2, 20)
    assert place_size(SIZES, 64)[:2] == (1, 64)
    assert place_size(SIZES, 1000)[:2] == (0, 100)


def test_soft_errors():
    margin = np.random.default_rng(0).normal(size=(50, 1))
    soft = soft_errors(margin)
    assert soft == pytest.approx(1.0 / (1.0 + np.exp(margin / (0.5 * np.abs(margin).mean()))))
    assert soft_errors(1e6 * margin) == pytest.approx(soft)
    assert (soft_errors(np.zeros((5, 1))) == 0.5).all()


def test_balanced_errors_are_means_of_class_errors():
    rng = np.random.default_rng(0)
    margin, y = rng.normal(size=(50, 1)), np.where(np.arange(50) < 5, 1.0, -1.0)[:, None]
    soft = soft_errors(margin)[:, 0]
    rare, rest = soft[:5], soft[5:]
    error = class_error(margin, y, NOTHING, True)
    assert error.soft == pytest.approx((rare.mean() + rest.mean()) / 2)
    assert error.spread == pytest.approx(0.5 * np.sqrt(rare.var() / 5 + rest.var() / 45))
    plain = class_error(margin, y, NOTHING, False)
    assert plain.soft == pytest.approx(soft.mean())
    assert plain.spread == pytest.approx(soft.std() / np.sqrt(50))
    twice = class_error(np.r_[margin, margin], np.r_[y, y], NOTHING, True)
    assert class_error(margin, y, np.full(50, 2.0), True).soft == pytest.approx(twice.soft)


def test_margins_of_classes_are_against_the_best_wrong_class():
    scores = np.array([[1.0, 3.0, 2.0], [0.0, -1.0, 5.0]])
    assert margins(scores, np.array([[1.0], [0.0]]))[:, 0].tolist() == [1.0, -5.0]


def test_number_errors():
    residual = np.array([[0.5], [-3.0]])
    assert number_error(residual, NOTHING, Squared(), np.array([2.0]))[:3] == pytest.approx(
        (2.3125, 2.1875 / np.sqrt(2), 3.5)
    )
    assert number_error(residual, NOTHING, Huber(1.0), np.array([1.0])).soft == pytest.approx(
        (0.125 + 2.5) / 2
    )


def test_one_beats_another_row_by_row():
    rng = np.random.default_rng(0)
    margin, y = rng.normal(size=(400, 1)), np.ones((400, 1))
    base = class_error(margin, y, NOTHING, False)
    better = class_error(margin + 0.3, y, NOTHING, False)
    assert beats(better, base, NOTHING, 1.0)
    assert not beats(base, better, NOTHING, 1.0)
    assert not beats(base, base, NOTHING, 0.0)
    mixed = better._replace(plain_rows=base.plain_rows)  # lower soft error alone does not do
    assert not beats(mixed, base, NOTHING, 1.0)
