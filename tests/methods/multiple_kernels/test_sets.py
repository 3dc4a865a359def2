"""The set of weights and its level sets: closed forms against a cone solver, bounds that are
bounds.
"""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from tamis import GMKLClassifier
from tamis.methods.multiple_kernels.level.level_set import (
    Planes,
    conic_nearest_below,
    nearest_below,
)
from tamis.methods.multiple_kernels.level.weight_set import WeightSet

pytestmark = pytest.mark.delicate

MIXES = (0.0, 0.2, 0.5, 0.9, 1.0)
FREE = Planes(np.array([-10.0]), np.zeros((1, 12)))  # a plane that is never in the way


def random_planes(seed, planes=5, kernels=12):
    rng = np.random.default_rng(seed)
    forms = rng.gamma(1.0, 20.0, size=(planes, kernels))
    return Planes(40.0 + 5.0 * rng.random(planes), forms), rng


def points_of(allowed, rng, count=200, kernels=12):
    """Random weights of the set."""
    for _ in range(count):
        yield allowed.lifted(rng.gamma(0.3, size=kernels)) * rng.random() ** 0.1


@pytest.mark.parametrize("v", MIXES)
def test_projection_is_that_of_a_cone_solver(v):
    allowed, rng = WeightSet(v), np.random.default_rng(1)
    for scale in (0.05, 1.0, 30.0):
        point = scale * rng.normal(size=12)
        theta, multiplier = allowed.project(point)
        theirs = conic_nearest_below(allowed, FREE, point, 1.0).theta
        # An inner point method: nearer in the distance than in the place, which is off by the root
        # of the error of the distance.
        assert np.sum((theta - point) ** 2) <= np.sum((theirs - point) ** 2) * (1.0 + 1e-6)
        assert theta == pytest.approx(theirs, abs=1e-3)
        assert allowed.used(theta) <= 1.0 + 1e-12
        assert (theta >= 0.0).all()
        assert (multiplier > 0.0) == (allowed.used(np.maximum(point, 0.0)) > 1.0)


def test_projection_without_compilation(interpreted):
    point = np.random.default_rng(2).normal(size=9)
    theta, _ = WeightSet(0.5).project(point)
    assert WeightSet(0.5).used(theta) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("v", MIXES)
def test_support_function_is_reached_and_never_passed(v):
    allowed, rng = WeightSet(v), np.random.default_rng(3)
    for slopes in (rng.random(12), rng.gamma(0.2, 100.0, size=12), np.r_[1.0, np.zeros(11)]):
        value, theta = allowed.support(slopes)
        assert value == pytest.approx(slopes @ theta)
        assert allowed.used(theta) == pytest.approx(1.0, abs=1e-12)
        assert max(slopes @ other for other in points_of(allowed, rng)) <= value * (1 + 1e-12)
    assert allowed.support(np.zeros(4))[0] == 0.0


@pytest.mark.parametrize("v", MIXES)
def test_weights_are_lifted_to_the_boundary(v):
    rng = np.random.default_rng(4)
    theta = WeightSet(v).lifted(rng.random(7))
    assert WeightSet(v).used(theta) == pytest.approx(1.0, abs=1e-14)
    assert WeightSet(v).used(WeightSet(v).uniform(273)) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("v", MIXES)
@pytest.mark.parametrize("seed", range(4))
def test_level_sets_against_a_cone_solver(v, seed):
    allowed = WeightSet(v)
    planes, rng = random_planes(seed)
    center = allowed.uniform(12)
    high = planes.height(center)
    low = max(planes.bound(allowed, shares) for shares in rng.random((300, 5)))
    for share in (-0.5, 0.3, 0.7):
        level = low + share * (high - low)
        mine, theirs = (
            nearest_below(allowed, planes, center, level),
            conic_nearest_below(allowed, planes, center, level),
        )
        assert (mine.theta is None) == (theirs.theta is None)
        if mine.theta is None:
            assert mine.bound >= level
        else:
            assert (
                np.sum((mine.theta - center) ** 2)
                <= np.sum((theirs.theta - center) ** 2) * (1.0 + 1e-6) + 1e-12
            )
            assert mine.theta == pytest.approx(theirs.theta, abs=1e-3)
            assert planes.height(mine.theta) <= level * (1 + 1e-8)
            assert allowed.used(mine.theta) <= 1 + 1e-9
        for bound in (mine.bound, theirs.bound):
            assert all(
                planes.height(theta) >= bound - 1e-9 for theta in points_of(allowed, rng, 50)
            )


def test_without_clarabel_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"tamis\[conic\]"):
        conic_nearest_below(WeightSet(0.5), FREE, np.ones(3), 1.0)


def test_a_usual_fit_needs_no_cone_solver(monkeypatch):
    """Newton's method ends 1.5e-9 above a level here, which no step can mend in floats."""
    X, y = load_wine(return_X_y=True)
    monkeypatch.setitem(sys.modules, "clarabel", None)
    model = GMKLClassifier(tol=1e-2).fit(StandardScaler().fit_transform(X), y)
    assert model.gap_ <= 1e-2


def test_newton_seldom_needs_the_cone_solver():
    asked = [
        nearest_below(
            WeightSet(v),
            planes,
            WeightSet(v).uniform(12),
            0.9 * planes.height(WeightSet(v).uniform(12)),
        ).conic
        for v in (0.2, 0.5)
        for planes in [random_planes(seed)[0] for seed in range(10)]
    ]
    assert np.mean(asked) <= 0.2
