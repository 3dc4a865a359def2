"""Penalties: prox against a grid, distance 0 at its fixed points, lazy form against eager form."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from registry import PENALTIES

pytestmark = pytest.mark.quick

GRID = np.linspace(-3.0, 3.0, 6001)
finite = st.floats(-50.0, 50.0)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0, 7.0])
def test_prox_is_the_grid_argmin(penalty, scale):
    costs = np.array([penalty.value(w) for w in GRID])
    for v in np.linspace(-2.5, 2.5, 41):
        with np.errstate(invalid="ignore"):
            objective = 0.5 * (GRID - v) ** 2 + (
                scale * costs if scale else np.where(np.isinf(costs), np.inf, 0.0)
            )
        best = penalty.prox(v, scale)
        assert abs(best - GRID[objective.argmin()]) <= 1e-3 + 1e-12
        exact = 0.5 * (best - v) ** 2 + (scale * penalty.value(best) if scale else 0.0)
        assert exact <= objective.min() + 1e-12


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_distance_is_0_exactly_at_fixed_points_of_the_prox(penalty):
    """The distance of -slope to the subdifferential at w is 0 iff w = prox(w - slope)."""
    checked = 0
    for w in (-1.5, -0.2, 0.0, 0.1, 2.0):
        if math.isinf(penalty.value(w)):
            continue
        l1, l2 = penalty.rates()
        for gradient in (-2.0, -l1, -l1 / 2, 0.0, l1 / 2, l1, -math.copysign(l1, w) - l2 * w, 0.7):
            distance_moved = abs(penalty.prox(w - gradient, 1.0) - w)
            distance = penalty.subdiff_distance(w, gradient)
            assert distance >= 0.0
            assert (distance <= 1e-15) == (distance_moved <= 1e-15), (
                w,
                gradient,
                distance,
                distance_moved,
            )
            checked += distance <= 1e-15
    assert checked >= 3


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_distance_is_the_least_subgradient(penalty):
    """Against one-sided differences of the penalty: the nearest point between them."""
    h = 1e-7
    for w in (-1.5, 0.0, 0.8):
        if math.isinf(penalty.value(w)):
            continue
        right = (penalty.value(w + h) - penalty.value(w)) / h
        left = (
            (penalty.value(w) - penalty.value(w - h)) / h
            if not math.isinf(penalty.value(w - h))
            else -math.inf
        )
        for gradient in (-1.0, -0.05, 0.0, 0.05, 1.0):
            nearest = np.clip(0.0, left + gradient, right + gradient)
            assert penalty.subdiff_distance(w, gradient) == pytest.approx(abs(nearest), abs=1e-5), (
                w,
                gradient,
            )


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@given(weight=finite, cumulative_l1=st.floats(0.0, 1e3))
def test_collect_undoes_carry(penalty, weight, cumulative_l1):
    weight = penalty.prox(weight, 0.0)  # an allowed weight
    back = penalty.from_stored(penalty.to_stored(weight, cumulative_l1), cumulative_l1)
    assert back == pytest.approx(weight, rel=0.0, abs=2.0**-52 * (abs(weight) + cumulative_l1))
    assert penalty.from_stored(penalty.to_stored(0.0, cumulative_l1), cumulative_l1) == 0.0
    assert penalty.from_stored(penalty.to_stored(weight, 0.0), 0.0) == weight


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@given(weight=finite, start=st.floats(0.0, 5.0), steps=st.lists(st.floats(0.0, 2.0), max_size=12))
def test_one_collection_equals_every_prox(penalty, weight, start, steps):
    """`collect` after many charges is the composition of the proxes, scale and toll being those of
    the ledger.
    """
    l1, l2 = penalty.rates()
    scale, cumulative_l1 = 1.0, start
    weight = penalty.prox(weight, 0.0)
    stored = penalty.to_stored(weight, cumulative_l1)
    eager = weight
    for step in steps:
        eager = penalty.prox(eager, step)
        cumulative_l1 += step * l1 / scale
        scale /= 1.0 + step * l2
    lazy = scale * penalty.from_stored(stored, cumulative_l1)
    assert lazy == pytest.approx(eager, rel=0.0, abs=1e-12 * max(1.0, abs(weight) + start))


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@given(stored=finite, first=st.floats(0.0, 3.0), more=st.floats(0.0, 3.0))
def test_reading_is_free_of_order_and_never_turns_a_sign(penalty, stored, first, more):
    before, after = penalty.from_stored(stored, first), penalty.from_stored(stored, first + more)
    assert abs(after) <= abs(before)
    assert before * after >= 0.0
    assert before == 0.0 or math.copysign(1.0, before) == math.copysign(1.0, stored)


def test_positive_penalties_allow_no_negative_weight():
    positive = [p for p in PENALTIES if getattr(p, "positive", 0.0)]
    assert len(positive) >= 3
    for penalty in positive:
        assert math.isinf(penalty.value(-1e-9))
        assert penalty.value(1.0) == type(penalty)(*penalty[:-1], 0.0).value(1.0)
        assert penalty.prox(-2.0, 0.5) == 0.0
        assert penalty.from_stored(-2.0, 0.5) == 0.0
        assert penalty.subdiff_distance(0.0, 5.0) == 0.0


def test_rates_are_the_slope_and_the_curvature():
    for penalty in PENALTIES:
        l1, l2 = penalty.rates()
        assert penalty.value(1.0) == pytest.approx(l1 + l2 / 2)
        assert penalty.value(2.0) == pytest.approx(2 * l1 + 2 * l2)
