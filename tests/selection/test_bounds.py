"""The bounds of stability selection: closed forms, exact cases, their order, and that no allowed
distribution escapes.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

from tamis.selection import error_bounds
from tamis.selection.error_bounds import (
    ASSUMPTIONS,
    concave_tail,
    effective_threshold,
    false_selections,
    max_features_per_run,
    min_threshold,
    resolve_error_control,
)


def test_closed_forms():
    assert false_selections(20, 1000, 0.9, 50) == pytest.approx(400 / (0.8 * 1000))
    assert false_selections(20, 1000, 0.75, 50, "unimodal") == pytest.approx(
        0.4 / (2 * (0.5 - 0.01))
    )
    assert false_selections(20, 1000, 0.9, 50, "unimodal") == pytest.approx(
        0.4 * 4 * (0.1 + 0.01) / 1.02
    )
    assert false_selections(0, 1000, 0.9, 50) == 0.0
    assert false_selections(1000, 1000, 0.51, 50) == 1000  # never more than there are


@pytest.mark.parametrize(
    ("share", "begin"), [(0.15, 0.5 + 0.15**2), (0.5, 0.5 + 0.01 + 0.75 * 0.5**2)]
)
def test_the_unimodal_bound_begins_where_theorem_2_says(share, begin):
    """The lesser of two thresholds; 50 pairs, so that 1/100 is one step of the grid."""
    lower, upper = (f(begin * 100) / 100 for f in (math.floor, math.ceil))
    without_assumption = false_selections(1000 * share, 1000, lower, 50)
    assert false_selections(1000 * share, 1000, lower, 50, "unimodal") == without_assumption
    expected = 1000 * share**2 * 0.5 / (2 * upper - 1 - 0.01)
    assert false_selections(1000 * share, 1000, upper, 50, "unimodal") == pytest.approx(
        min(expected, false_selections(1000 * share, 1000, upper, 50))
    )
    assert error_bounds._unimodal_factor(share, upper, 50) == pytest.approx(
        0.5 / (2 * upper - 1 - 0.01)
    )
    assert error_bounds._unimodal_factor(0.58, 1.0, 50) == math.inf  # more than 1 / sqrt(3)
    assert error_bounds._unimodal_factor(0.57, 1.0, 50) < math.inf


@pytest.mark.parametrize("power", [-0.5, -0.25])
@pytest.mark.parametrize(("mean", "first"), [(0.1, 5), (0.11, 6), (0.475, 20)])
def test_the_concave_bound_begins_above_twice_the_mean(mean, first, power):
    assert concave_tail(mean, first - 1, 20, power) == 1.0
    assert 0.0 < concave_tail(mean, first, 20, power) < 0.2


def test_one_pair_and_threshold_one_is_an_equality():
    """Both halves, independent of each other, pick a feature with probability q/p: q^2/p features
    are picked twice.
    """
    assert false_selections(7, 50, 1.0, 1) == pytest.approx(50 * (7 / 50) ** 2)


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
@pytest.mark.parametrize("q", [3, 20, 60])
@pytest.mark.parametrize("threshold", [0.55, 0.6, 0.75, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("n_pairs", [5, 25, 50])
def test_blind_drawing_stays_below_every_bound(assumption, q, threshold, n_pairs):
    """Halves that draw blindly: counts are binomial, so the expected number of selected features is
    known.
    """
    p = 300
    counted = round(effective_threshold(threshold, n_pairs) * 2 * n_pairs)
    truth = p * binom.sf(counted - 1, 2 * n_pairs, q / p)
    assert truth <= false_selections(q, p, threshold, n_pairs, assumption) * (1 + 1e-9)


def test_more_assumed_is_a_smaller_bound_and_more_kept_a_larger():
    for threshold in (0.6, 0.75, 0.9):
        none, unimodal, concave = (
            false_selections(28, 1000, threshold, 50, a) for a in ASSUMPTIONS
        )
        assert none > unimodal > concave > 0.0
    for assumption in ASSUMPTIONS:
        actual = [false_selections(q, 500, 0.8, 30, assumption) for q in range(1, 120, 7)]
        assert (np.diff(actual) > 0).all()


def random_mass(power, steps, random):
    """A random power-concave mass on 0..steps: its power is convex where it is positive."""
    last = random.integers(1, steps + 1)
    rises = np.sort(random.standard_cauchy(last)) * random.choice([0.1, 1.0, 10.0])
    convex = np.concatenate(([0.0], np.cumsum(rises)))
    convex += random.exponential() * random.choice([1e-3, 0.1, 1.0]) - convex.min()
    mass = np.zeros(steps + 1)
    mass[: last + 1] = convex ** (1.0 / power)
    return mass / mass.sum()


@pytest.mark.parametrize("power", [-0.5, -0.25])
def test_no_concave_mass_has_a_heavier_tail(power):
    random = np.random.default_rng(0)
    steps = 10
    for _ in range(400):
        mass = random_mass(power, steps, random)
        mean = (mass * np.arange(steps + 1)).sum() / steps
        for count in (5, 8, 10):
            assert mass[count:].sum() <= concave_tail(mean, count, steps, power) + 1e-9


def test_the_heaviest_tail_is_reached():
    """(a + i)^-2, cut off after k steps, is one of the masses allowed: with its mean the bound
    cannot be lower.
    """
    at = np.arange(21.0)
    for cut in (12, 16, 20):
        mass = np.where(at <= cut, (0.5 + at) ** -2.0, 0.0)
        mass /= mass.sum()
        actual = concave_tail((mass * at).sum() / 20, 12, 20, -0.5)
        assert mass[12:].sum() * (1 - 1e-9) <= actual <= 1.7 * mass[12:].sum() + 0.01
    assert concave_tail(0.4, 5, 20, -0.5) == 1.0  # nothing is known below twice the mean


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_solutions_keep_the_promise_and_no_larger_one_does(assumption):
    q = max_features_per_run(1.0, 800, 0.75, 50, assumption)
    assert (
        false_selections(q, 800, 0.75, 50, assumption)
        <= 1.0
        < false_selections(q + 1, 800, 0.75, 50, assumption)
    )
    threshold = min_threshold(1.0, 800, 20, 50, assumption)
    assert false_selections(20, 800, threshold, 50, assumption) <= 1.0
    assert (
        threshold == pytest.approx(0.51)
        or false_selections(20, 800, threshold - 0.01, 50, assumption) > 1.0
    )


def test_any_two_promises_give_the_third():
    assert resolve_error_control(0.9, 12, None, 500, 50, "none") == (0.9, 12)
    assert resolve_error_control(0.9, None, 2.0, 500, 50, "none") == (
        0.9,
        28,
    )  # sqrt(2 * 0.8 * 500)
    # 144 / 500 = 0.288 = 2 pi - 1.
    assert resolve_error_control(None, 12, 1.0, 500, 50, "none") == (pytest.approx(0.65), 12)
    assert resolve_error_control(None, None, None, 500, 50, "none") == (0.75, 15)
    assert resolve_error_control(0.6, None, None, 500, 50, "none") == (0.6, None)
    assert resolve_error_control(None, 900, None, 500, 50, "none") == (0.75, 500)
    with pytest.raises(ValueError, match="give at most two"):
        resolve_error_control(0.6, 5, 1.0, 500, 50, "none")
    with pytest.raises(ValueError, match="n_selected may be 22 at most"):
        resolve_error_control(None, 100, 1.0, 500, 50, "none")
    with pytest.warns(UserWarning, match=r"3 features .*0.1"):
        assert resolve_error_control(None, None, 0.1, 3, 50, "none") == (0.75, 1)


def test_thresholds_lie_on_the_grid_of_frequencies():
    assert effective_threshold(0.75, 50) == 0.75
    assert effective_threshold(0.6, 5) == 0.6
    assert effective_threshold(0.61, 5) == 0.7
