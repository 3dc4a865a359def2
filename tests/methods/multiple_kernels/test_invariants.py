"""What must hold of the learnt weights: the value of a cone solver, bounds, symmetry, closed forms,
and the machines of scikit-learn.
"""

import numpy as np
import pytest
from methods.multiple_kernels import conic
from methods.multiple_kernels.data import N, X, Y, gaussian, machines_of, some_kernels, store_of
from sklearn.svm import SVC, SVR

from tamis.methods.multiple_kernels.level.method import fixed_weights, level_method
from tamis.methods.multiple_kernels.level.weight_set import WeightSet
from tamis.methods.multiple_kernels.machines import Machines, learn_weights, tube_entries

pytestmark = pytest.mark.delicate

KERNELS = some_kernels()
CAPS = np.full(N, 20.0)


def solve(l1_ratio, kernels=KERNELS, tol=1e-4, p=2.0, **options):
    return learn_weights(machines_of(kernels, **options), l1_ratio, p, tol, 500)


@pytest.mark.parametrize("v", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_the_optimum_is_that_of_a_cone_solver(v):
    solution = solve(v)
    optimum = conic.optimum(KERNELS, Y, np.ones(N), CAPS, v)
    assert solution.converged
    assert solution.lower <= optimum * (1 + 1e-6)
    assert solution.upper >= optimum * (1 - 1e-6)
    assert solution.upper - solution.lower <= 1e-4 * solution.upper
    assert solution.upper == pytest.approx(optimum, rel=2e-4)


def test_regression_against_a_cone_solver():
    targets = np.sin(2 * X[:, 0])
    entries = tube_entries(targets, np.full(N, 5.0), 0.1)
    solution = learn_weights(Machines(store_of(KERNELS), [entries]), 0.5, 2.0, 1e-4, 500)
    optimum = conic.optimum(KERNELS, entries.signs, entries.linear, entries.caps, 0.5, entries.rows)
    assert solution.upper == pytest.approx(optimum, rel=3e-4)
    assert solution.lower <= optimum * (1 + 1e-6)


@pytest.mark.parametrize("v", [0.0, 0.5, 1.0])
def test_bounds_close_and_weights_stay_on_the_boundary(v):
    solution = solve(v, tol=1e-5)
    upper, lower = ([line[name] for line in solution.history] for name in ("upper", "lower"))
    assert (np.diff(upper) <= 0.0).all()
    assert (np.diff(lower) >= 0.0).all()
    assert (solution.theta >= 0.0).all()
    assert v * solution.theta.sum() + (1 - v) * (solution.theta**2).sum() == pytest.approx(
        1.0, abs=1e-8
    )


def test_equal_kernels_get_equal_weights():
    solution = solve(0.5, [*KERNELS, KERNELS[2]], tol=1e-6)
    assert solution.theta[2] > 0.01
    assert solution.theta[-1] == pytest.approx(solution.theta[2], rel=1e-9)


def test_permuted_kernels_have_permuted_weights():
    order = np.random.default_rng(0).permutation(len(KERNELS))
    a, b = solve(0.5, tol=1e-6), solve(0.5, [KERNELS[k] for k in order], tol=1e-6)
    assert b.theta == pytest.approx(a.theta[order], abs=2e-3)
    assert b.upper == pytest.approx(a.upper, rel=1e-5)


def test_the_optimum_rises_with_mix_and_the_kernels_fall():
    solutions = [solve(v) for v in (0.0, 0.2, 0.5, 0.8, 1.0)]
    values, counts = (
        [s.upper for s in solutions],
        [np.count_nonzero(s.theta > 1e-6) for s in solutions],
    )
    assert (np.diff(values) >= -1e-4 * np.array(values[1:])).all()
    assert counts[0] == len(KERNELS)
    assert counts[-1] < counts[0]


@pytest.mark.parametrize("v", [0.0, 0.5, 1.0])
def test_another_kernel_never_raises_the_optimum(v):
    extra_kernel = gaussian([0], 0.3) / N
    assert solve(v, [*KERNELS, extra_kernel]).lower <= solve(v).upper


@pytest.mark.parametrize("v", [0.2, 0.5, 0.8])
def test_weights_follow_from_the_machine_in_closed_form(v):
    machines = machines_of(KERNELS)
    solution = level_method(machines, WeightSet(v), len(KERNELS), 1e-7, 500)
    forms = machines.store.forms(np.array([machine.beta for machine in solution.machine]))
    assert WeightSet(v).support(forms)[1] == pytest.approx(solution.theta, abs=2e-3)


@pytest.mark.parametrize("p", [1.2, 1.5, 2.0, 4.0, 16.0])
def test_norm_balls(p):
    solution = solve(0.0, p=p, tol=1e-4)
    assert solution.converged
    assert (solution.theta**p).sum() == pytest.approx(1.0)


def test_both_ways_to_the_ball_agree():
    assert solve(0.0, tol=1e-5).upper == pytest.approx(
        level_method(machines_of(KERNELS), WeightSet(0.0), len(KERNELS), 1e-5, 500).upper, rel=2e-5
    )


def test_one_kernel_is_a_support_vector_machine():
    solution = solve(1.0, [KERNELS[0]], tol=1e-7)
    reference = SVC(kernel="precomputed", C=20.0, tol=1e-8).fit(KERNELS[0], Y)
    machine = solution.machine[0]
    assert solution.theta.tolist() == [1.0]
    assert KERNELS[0] @ machine.beta + machine.intercept == pytest.approx(
        reference.decision_function(KERNELS[0]), abs=2e-4
    )


def test_equal_weights_are_a_machine_on_the_mean_kernel():
    solution = learn_weights(machines_of(KERNELS), 0.5, 2.0, 1e-7, 500, uniform=True)
    mean = np.mean(KERNELS, axis=0)
    reference = SVC(kernel="precomputed", C=20.0, tol=1e-8).fit(mean, Y)
    assert mean @ solution.machine[0].beta + solution.machine[0].intercept == pytest.approx(
        reference.decision_function(mean), abs=2e-4
    )
    assert set(solution.theta) == {1 / len(KERNELS)}
    assert solution.gap <= 1e-7


def test_one_kernel_regression_is_that_of_scikit_learn():
    targets = X[:, 0] ** 2
    machines = Machines(store_of([KERNELS[1]]), [tube_entries(targets, np.full(N, 30.0), 0.1)])
    solution = learn_weights(machines, 1.0, 2.0, 1e-7, 100)
    reference = SVR(kernel="precomputed", C=30.0, epsilon=0.1, tol=1e-8).fit(KERNELS[1], targets)
    scores = KERNELS[1] @ solution.machine[0].beta + solution.machine[0].intercept
    assert scores == pytest.approx(reference.predict(KERNELS[1]), abs=2e-4)


def test_a_loose_machine_still_bounds_the_optimum_from_both_sides():
    machines = machines_of(KERNELS)
    theta = np.full(len(KERNELS), 1 / len(KERNELS))
    exact = fixed_weights(machines, theta, 1e-8)
    loose = machines_of(KERNELS)
    loose.tol = 0.5
    rough = fixed_weights(loose, theta, np.inf)
    assert rough.lower < exact.lower - 1e-6 * exact.lower  # its value alone lies below
    assert rough.upper >= exact.lower
    assert rough.gap > exact.gap


def test_several_machines_share_their_weights():
    """Two copies of one problem are that problem: same weights, twice the value."""
    one = machines_of(KERNELS)
    two = Machines(one.store, one.problems * 2)
    a, b = learn_weights(one, 0.5, 2.0, 1e-6, 500), learn_weights(two, 0.5, 2.0, 1e-6, 500)
    assert b.upper == pytest.approx(2 * a.upper, rel=1e-5)
    assert b.theta == pytest.approx(a.theta, abs=2e-3)
