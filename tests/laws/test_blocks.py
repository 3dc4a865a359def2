"""Group penalties: prox against a search, dual norm and distance against their definitions,
compiled against Python.
"""

import math

import numpy as np
import pytest
from plain import plain
from registry import GROUP_PENALTIES
from scipy.optimize import brentq, minimize

from tamis.solvers.path import loop as blocks
from tamis.solvers.path.loop import CoefBlocks
from tamis.terms import L1, GroupL2, SparseGroup
from tamis.terms.methods import largest_step

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
WEIGHTS = [(math.sqrt(3.0), 1.0), (1.0, 0.0), (0.0, 1.0), (0.7, 0.4), (0.0, 0.0)]
POINTS = [
    np.zeros(3),
    np.array([2.0, -1.0, 0.1]),
    np.array([0.05, 0.3, -0.2]),
    np.array([-3.0, -2.0, -0.5]),
    RNG.normal(size=3),
]


def having(method):
    """The penalties that have a method."""
    return [penalty for penalty in GROUP_PENALTIES if hasattr(penalty, method)]


def prox(penalty, v, scale, pair):
    out = np.empty(len(v))
    penalty.prox(v, scale, *pair, out)
    return out


@pytest.mark.parametrize("penalty", GROUP_PENALTIES, ids=repr)
@pytest.mark.parametrize("pair", WEIGHTS)
def test_no_point_near_or_far_beats_the_prox(penalty, pair):
    rng = np.random.default_rng(1)
    for v in POINTS:
        for scale in (0.0, 0.5, min(2.0, largest_step(penalty))):

            def objective(w, v=v, scale=scale):
                value_at_w = penalty.value(w, *pair)
                return 0.5 * ((w - v) ** 2).sum() + (
                    scale * value_at_w if scale or math.isfinite(value_at_w) else value_at_w
                )

            best = prox(penalty, v, scale, pair)
            lowest = objective(best)
            for width in (1e-4, 1e-2, 1.0):
                behind = best + width * rng.normal(size=(50, 3))
                assert (
                    min(objective(w) for w in np.vstack((behind, np.maximum(behind, 0.0))))
                    >= lowest - 1e-13
                )
            found = minimize(
                objective, best + 0.1, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12}
            )
            assert found.fun >= lowest - 1e-9


@pytest.mark.parametrize("penalty", GROUP_PENALTIES, ids=repr)
@pytest.mark.parametrize("pair", WEIGHTS)
def test_distance_is_0_exactly_at_fixed_points_of_the_prox(penalty, pair):
    checked = 0
    for v in POINTS:
        w = prox(penalty, v, 1.0, pair)
        # Its own optimality.
        assert penalty.subdiff_distance(w, w - v, *pair) == pytest.approx(0.0, abs=1e-15)
        for gradient in (np.zeros(3), 0.3 * RNG.normal(size=3), 9.0 * RNG.normal(size=3)):
            distance_moved = np.linalg.norm(prox(penalty, w - gradient, 1.0, pair) - w)
            distance = penalty.subdiff_distance(w, gradient, *pair)
            assert (distance <= 1e-14) == (distance_moved <= 1e-14)
            # A step of the prox is never longer than the least subgradient; where the penalty is
            # not convex, by as much as it bends down.
            assert distance_moved * (1.0 - 0.5 / largest_step(penalty)) <= distance + 1e-12
            checked += distance > 1e-14
    assert checked >= 5


@pytest.mark.parametrize("penalty", GROUP_PENALTIES, ids=repr)
def test_distance_at_0_is_what_dual_says(penalty):
    for gradient in POINTS[1:]:
        for pair in WEIGHTS[:4]:
            alpha = penalty.dual_scale(gradient, *pair)
            if not 0.0 < alpha < math.inf:
                continue
            assert (
                penalty._replace(alpha=alpha * (1 + 1e-9)).subdiff_distance(
                    np.zeros(3), gradient, *pair
                )
                == 0.0
            )
            assert (
                penalty._replace(alpha=alpha * (1 - 1e-6)).subdiff_distance(
                    np.zeros(3), gradient, *pair
                )
                > 0.0
            )


def test_dual_of_the_sparse_group_is_the_root_of_its_equation():
    for gradient in RNG.normal(size=(20, 7)) * 10.0 ** RNG.uniform(-3, 3, size=(20, 1)):
        for weight, l1_weight in [(2.6, 1.0), (1.0, 0.01), (0.01, 1.0)]:

            def gap(alpha, gradient=gradient, weight=weight, l1_weight=l1_weight):
                return (
                    np.linalg.norm(np.maximum(np.abs(gradient) - alpha * l1_weight, 0.0))
                    - alpha * weight
                )

            root = brentq(gap, 0.0, np.abs(gradient).max() / l1_weight, xtol=1e-14, rtol=1e-14)
            assert SparseGroup().dual_scale(gradient, weight, l1_weight) == pytest.approx(
                root, rel=1e-12
            )
    assert SparseGroup().dual_scale(gradient, 0.0, 0.5) == np.abs(gradient).max() / 0.5
    assert SparseGroup().dual_scale(gradient, 0.5, 0.0) == pytest.approx(
        np.linalg.norm(gradient) / 0.5, rel=1e-15
    )
    assert GroupL2().dual_scale(gradient, 0.5, 3.0) == pytest.approx(
        np.linalg.norm(gradient) / 0.5, rel=1e-15
    )


@pytest.mark.parametrize("penalty", having("support_hessian"), ids=repr)
@pytest.mark.parametrize("pair", WEIGHTS[:3])
def test_support_methods_are_derivatives_of_the_value(penalty, pair):
    """Where no cell is 0; across and along the weights, as far as the norm is what bends."""
    out, h, second_h = np.empty(3), 1e-5, 1e-4  # rounding is divided by a square
    for w in (np.array([2.0, 1.0, 0.1]), np.array([0.3, 0.2, 0.2]), np.array([5.0, 2.0, 9.0])):
        penalty.support_gradient(w, np.zeros(3), *pair, out)
        norm = np.linalg.norm(w)
        along_direction, across_direction = w / norm, np.cross(w, [1.0, 0.0, 0.0])
        across, along = penalty.support_hessian(norm, *pair)
        for direction, second_derivative in (
            (along_direction, along),
            (across_direction / np.linalg.norm(across_direction), across),
        ):
            ahead, behind = (penalty.value(w + s * h * direction, *pair) for s in (1.0, -1.0))
            assert (ahead - behind) / (2 * h) == pytest.approx(out @ direction, abs=1e-8)
            ahead, behind = (
                penalty.value(w + s * second_h * direction, *pair) for s in (1.0, -1.0)
            )
            second = (ahead + behind - 2.0 * penalty.value(w, *pair)) / second_h**2
            assert second == pytest.approx(second_derivative, abs=1e-4)


@pytest.mark.parametrize("penalty", having("conjugate"), ids=repr)
def test_conjugate_is_0_where_the_dual_norm_allows_it(penalty):
    for gradient in POINTS[1:]:
        for pair in WEIGHTS[:4]:
            lowest = penalty.dual_scale(gradient, *pair)
            if 0.0 < lowest < math.inf:
                assert penalty._replace(alpha=lowest).conjugate(gradient, *pair) == 0.0
                assert penalty._replace(alpha=0.99 * lowest).conjugate(gradient, *pair) == math.inf


def test_special_cases():
    """No L1: the group lasso; no norm, or one cell a block: the lasso."""
    for v in POINTS:
        assert np.array_equal(
            prox(SparseGroup(0.3), v, 0.7, (1.5, 0.0)), prox(GroupL2(0.3), v, 0.7, (1.5, 0.0))
        )
        soft = np.array([L1(0.3).prox(x, 0.7) for x in v])
        assert np.allclose(prox(SparseGroup(0.3), v, 0.7, (0.0, 1.0)), soft, rtol=0, atol=1e-16)
        one = np.array([prox(GroupL2(0.3), v[k : k + 1], 0.7, (1.0, 0.0))[0] for k in range(3)])
        assert np.allclose(one, soft, rtol=0, atol=1e-15)


# --------------------------------------------------------------------------- whole vectors
STACK = CoefBlocks(
    np.array([0, 1, 1, 2, 3, 4], np.uint64),
    np.array([0, 2, 5, 6], np.uint64),
    np.array([1.4, 1.7, 1.0]),
    np.array([0.5, 0.0, 0.2]),
    5,
)


@pytest.mark.parametrize("penalty", GROUP_PENALTIES, ids=repr)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_passes_go_block_by_block_and_equal_their_source(penalty, n_outputs):
    rng = np.random.default_rng(2)
    v, gradient = rng.normal(size=(2, 6 * n_outputs))
    structure, outputs = STACK[1:4], np.uint64(n_outputs)
    slices = [
        slice(int(a) * n_outputs, int(b) * n_outputs)
        for a, b in zip(STACK.starts[:-1], STACK.starts[1:], strict=True)
    ]
    pairs = list(zip(slices, STACK.weights, STACK.l1_weights, strict=True))
    out, source = np.empty_like(v), np.empty_like(v)
    blocks.prox_blocks(v, 0.4, *structure, penalty, outputs, out)
    plain(blocks.prox_blocks.python_function)(v, 0.4, *structure, penalty, outputs, source)
    assert np.array_equal(out, source)
    assert np.array_equal(
        out, np.concatenate([prox(penalty, v[group], 0.4, (a, r)) for group, a, r in pairs])
    )
    expected = {
        "value_blocks": ((out,), sum(penalty.value(out[group], a, r) for group, a, r in pairs)),
        "dual_blocks": (
            (gradient,),
            max(penalty.dual_scale(gradient[group], a, r) for group, a, r in pairs),
        ),
        "distance_blocks": (
            (out, gradient),
            max(
                penalty.subdiff_distance(out[group], gradient[group], a, r) for group, a, r in pairs
            ),
        ),
    }
    for name, (arrays, value) in expected.items():
        loop = getattr(blocks, name)
        assert loop(*arrays, *structure, penalty, outputs) == plain(loop.python_function)(
            *arrays, *structure, penalty, outputs
        )
        assert loop(*arrays, *structure, penalty, outputs) == pytest.approx(value, rel=1e-15)


def test_copies_of_a_column_add_up():
    assert STACK.overlap == 2
    assert STACK.n_groups == 3
    cells = np.arange(6.0)
    assert STACK.sum_copies(cells).tolist() == [0.0, 3.0, 3.0, 4.0, 5.0]
    columns = np.random.default_rng(3).normal(size=5)
    # The two are adjoint.
    assert STACK.to_stacked(columns) @ cells == pytest.approx(columns @ STACK.sum_copies(cells))
    assert STACK.sum_copies(np.ones((6, 2))).shape == (5, 2)


def test_unpenalised_blocks_do_not_raise_the_dual_norm():
    partly_unpenalized = STACK._replace(
        weights=np.array([1.4, 0.0, 1.0]), l1_weights=np.array([0.5, 0.0, 0.2])
    )
    gradient = np.array([0.1, 0.1, 50.0, 50.0, 50.0, 0.1])
    assert blocks.dual_blocks(gradient, *partly_unpenalized[1:4], SparseGroup(), np.uint64(1)) < 1.0
