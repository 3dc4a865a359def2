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
    PlaneModel,
    project_to_level,
    project_with_cone_solver,
)
from tamis.methods.multiple_kernels.level.weight_set import WeightSet

pytestmark = pytest.mark.delicate

RATIOS = (0.0, 0.2, 0.5, 0.9, 1.0)
# A plane below every level.
INACTIVE_PLANE = PlaneModel(np.array([-10.0]), np.zeros((1, 12)))


def random_planes(seed, planes=5, kernels=12):
    rng = np.random.default_rng(seed)
    forms = rng.gamma(1.0, 20.0, size=(planes, kernels))
    return PlaneModel(40.0 + 5.0 * rng.random(planes), forms), rng


def random_weights(weight_set, rng, count=200, kernels=12):
    """Random weights of the set."""
    for _ in range(count):
        yield weight_set.scale_to_boundary(rng.gamma(0.3, size=kernels)) * rng.random() ** 0.1


@pytest.mark.parametrize("v", RATIOS)
def test_projection_is_that_of_a_cone_solver(v):
    weight_set, rng = WeightSet(v), np.random.default_rng(1)
    for scale in (0.05, 1.0, 30.0):
        point = scale * rng.normal(size=12)
        theta, multiplier = weight_set.project(point)
        conic_solution = project_with_cone_solver(weight_set, INACTIVE_PLANE, point, 1.0).theta
        # An inner point method: nearer in the distance than in the place, which is off by the root
        # of the error of the distance.
        assert np.sum((theta - point) ** 2) <= np.sum((conic_solution - point) ** 2) * (1.0 + 1e-6)
        assert theta == pytest.approx(conic_solution, abs=1e-3)
        assert weight_set.constraint_value(theta) <= 1.0 + 1e-12
        assert (theta >= 0.0).all()
        assert (multiplier > 0.0) == (weight_set.constraint_value(np.maximum(point, 0.0)) > 1.0)


def test_projection_without_compilation(interpreted):
    point = np.random.default_rng(2).normal(size=9)
    theta, _ = WeightSet(0.5).project(point)
    assert WeightSet(0.5).constraint_value(theta) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("v", RATIOS)
def test_support_function_is_reached_and_never_passed(v):
    weight_set, rng = WeightSet(v), np.random.default_rng(3)
    for direction in (rng.random(12), rng.gamma(0.2, 100.0, size=12), np.r_[1.0, np.zeros(11)]):
        value, theta = weight_set.support(direction)
        assert value == pytest.approx(direction @ theta)
        assert weight_set.constraint_value(theta) == pytest.approx(1.0, abs=1e-12)
        assert max(direction @ other for other in random_weights(weight_set, rng)) <= value * (
            1 + 1e-12
        )
    assert weight_set.support(np.zeros(4))[0] == 0.0


@pytest.mark.parametrize("v", RATIOS)
def test_weights_are_lifted_to_the_boundary(v):
    rng = np.random.default_rng(4)
    theta = WeightSet(v).scale_to_boundary(rng.random(7))
    assert WeightSet(v).constraint_value(theta) == pytest.approx(1.0, abs=1e-14)
    assert WeightSet(v).constraint_value(WeightSet(v).uniform(273)) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("v", RATIOS)
@pytest.mark.parametrize("seed", range(4))
def test_level_sets_against_a_cone_solver(v, seed):
    weight_set = WeightSet(v)
    planes, rng = random_planes(seed)
    center = weight_set.uniform(12)
    high = planes.value(center)
    low = max(planes.lower_bound(weight_set, multipliers) for multipliers in rng.random((300, 5)))
    for fraction in (-0.5, 0.3, 0.7):
        level = low + fraction * (high - low)
        solution, conic_solution = (
            project_to_level(weight_set, planes, center, level),
            project_with_cone_solver(weight_set, planes, center, level),
        )
        assert (solution.theta is None) == (conic_solution.theta is None)
        if solution.theta is None:
            assert solution.lower_bound >= level
        else:
            assert (
                np.sum((solution.theta - center) ** 2)
                <= np.sum((conic_solution.theta - center) ** 2) * (1.0 + 1e-6) + 1e-12
            )
            assert solution.theta == pytest.approx(conic_solution.theta, abs=1e-3)
            assert planes.value(solution.theta) <= level * (1 + 1e-8)
            assert weight_set.constraint_value(solution.theta) <= 1 + 1e-9
        for bound in (solution.lower_bound, conic_solution.lower_bound):
            assert all(
                planes.value(theta) >= bound - 1e-9 for theta in random_weights(weight_set, rng, 50)
            )


def test_without_clarabel_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"tamis\[conic\]"):
        project_with_cone_solver(WeightSet(0.5), INACTIVE_PLANE, np.ones(3), 1.0)


def test_a_usual_fit_needs_no_cone_solver(monkeypatch):
    """Newton's method ends 1.5e-9 above a level here, which no step can mend in floats."""
    X, y = load_wine(return_X_y=True)
    monkeypatch.setitem(sys.modules, "clarabel", None)
    model = GMKLClassifier(tol=1e-2).fit(StandardScaler().fit_transform(X), y)
    assert model.gap_ <= 1e-2


def test_newton_seldom_needs_the_cone_solver():
    used_cone_solver = [
        project_to_level(
            WeightSet(v),
            planes,
            WeightSet(v).uniform(12),
            0.9 * planes.value(WeightSet(v).uniform(12)),
        ).used_cone_solver
        for v in (0.2, 0.5)
        for planes in [random_planes(seed)[0] for seed in range(10)]
    ]
    assert np.mean(used_cone_solver) <= 0.2
