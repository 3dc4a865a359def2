"""The batched solver against an interior-point method, and the invariants of its mathematics."""

import numpy as np
import pytest
from methods.low_rank_lasso.cone import solve_cone
from sklearn.utils import check_random_state

from tamis.methods.low_rank_lasso.compression import CompressedTargets, compress
from tamis.methods.low_rank_lasso.spg.loop import project_rows
from tamis.methods.low_rank_lasso.spg.solver import SPGOptions, solve
from tamis.solvers.randomized_svd import CenteredOperator, factors_with_bounds, truncated_svd

pytestmark = pytest.mark.delicate


def random_problem(seed, n=40, d=30, rank=6, targets=4, noise=0.5):
    """Return centred rows, centred targets, the factorisation, and the compressed targets."""
    random = check_random_state(seed)
    X = random.normal(size=(n, d)) @ np.diag(np.linspace(1.0, 0.05, d))
    Y = X @ (
        random.normal(size=(d, targets)) * (random.rand(d, targets) < 0.3)
    ) + noise * random.normal(size=(n, targets))
    operator = CenteredOperator(X)
    factors = factors_with_bounds(
        operator, truncated_svd(operator, rank, 10, 2, random), 24, 1e-3, random
    )
    compressed, mean = compress(factors.U, Y, np.ones(n), True)
    return X - X.mean(axis=0), Y - mean, factors, compressed


def solve_targets(factors, compressed, radius, eta, tol=1e-9, **options):
    return solve(
        factors.W,
        factors.S,
        compressed,
        np.full(len(compressed.C), float(radius)),
        SPGOptions(eta, tol, 5000),
        **options,
    )


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("radius", [0.3, 2.0, 6.0])
def test_against_a_cone_program(fraction, radius):
    for seed in range(3):
        _, Y, factors, compressed = random_problem(seed)
        low_rank, eta = factors.U * factors.S @ factors.W.T, fraction * factors.upper
        result = solve_targets(factors, compressed, radius, eta)
        for j in range(Y.shape[1]):
            best, _ = solve_cone(low_rank, Y[:, j], eta, radius)
            weights = result.weights[[j]].toarray().ravel()
            value = np.linalg.norm(Y[:, j] - low_rank @ weights) + eta * np.linalg.norm(weights)
            size = np.linalg.norm(Y[:, j])
            assert value == pytest.approx(result.figures["objective"][j], rel=1e-9)
            assert result.figures["objective"][j] - result.figures["gap"][j] <= best + 1e-7 * size
            assert best <= value + 1e-7 * size
            assert value <= best + 1e-7 * size
            assert np.abs(weights).sum() <= radius * (1.0 + 1e-9)
            assert result.figures["gap"][j] >= -1e-12 * size


def test_the_gap_of_a_loose_tol_is_a_bound():
    for seed in range(5):
        _, _, factors, compressed = random_problem(seed)
        for fraction in (0.0, 0.1, 0.5):
            exact = solve_targets(factors, compressed, 1.0, fraction * factors.upper).figures[
                "objective"
            ]
            rough = solve_targets(factors, compressed, 1.0, fraction * factors.upper, tol=1e-2)
            assert (
                rough.figures["objective"] - exact <= rough.figures["gap"] + 1e-8 * compressed.norm
            ).all()
            assert (rough.figures["gap"] <= 1e-2 * compressed.norm).all()


def test_full_rank_and_no_robustness_is_the_lasso():
    X, Y, factors, compressed = random_problem(0, rank=30)
    assert factors.upper < 1e-12
    for radius in (0.5, 3.0):
        result = solve_targets(factors, compressed, radius, 0.0)
        for j in range(Y.shape[1]):
            best, weights = solve_cone(X, Y[:, j], 0.0, radius)
            assert result.figures["objective"][j] == pytest.approx(best, rel=1e-7)
            assert result.weights[[j]].toarray().ravel() == pytest.approx(weights, abs=1e-4)


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.6])
def test_without_a_bound_the_closed_form_is_the_answer(fraction):
    _, Y, factors, compressed = random_problem(1)
    low_rank, eta = factors.U * factors.S @ factors.W.T, fraction * factors.upper
    result = solve_targets(factors, compressed, np.inf, eta)
    assert (result.closed | result.zero).all()
    assert not result.figures["iterations"].any()
    for j in range(Y.shape[1]):
        best, _ = solve_cone(low_rank, Y[:, j], eta)
        assert result.figures["objective"][j] == pytest.approx(
            best, abs=5e-8 * np.linalg.norm(Y[:, j])
        )


def test_zero_is_optimal_exactly_where_the_test_says_so():
    _, Y, factors, compressed = random_problem(2)
    low_rank = factors.U * factors.S @ factors.W.T
    limit = np.linalg.norm(low_rank.T @ Y, axis=0) / np.linalg.norm(Y, axis=0)
    for j in range(Y.shape[1]):
        single = compressed.select([j])
        assert solve_targets(factors, single, 5.0, limit[j] * 1.0001).zero.all()
        below = solve_targets(factors, single, 5.0, limit[j] * 0.999)
        assert not below.zero.any()
        assert below.figures["objective"][0] < compressed.norm[j]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 64])
def test_a_batch_is_a_loop_and_order_does_not_matter(batch_size):
    _, _, factors, compressed = random_problem(3, targets=9)
    for fraction in (0.0, 0.2):
        eta = fraction * factors.upper
        default = solve_targets(factors, compressed, 1.0, eta, tol=1e-10)
        batched = solve_targets(factors, compressed, 1.0, eta, tol=1e-10, batch_size=batch_size)
        order = np.random.default_rng(0).permutation(9)
        permuted = solve_targets(
            factors, compressed.select(order), 1.0, eta, tol=1e-10, batch_size=batch_size
        )
        assert batched.weights.toarray() == pytest.approx(default.weights.toarray(), abs=1e-6)
        assert permuted.weights.toarray() == pytest.approx(
            default.weights.toarray()[order], abs=1e-6
        )
        assert batched.figures["objective"] == pytest.approx(default.figures["objective"], rel=1e-9)


def test_threads_do_not_change_the_bits(monkeypatch):
    from tamis.methods.low_rank_lasso.spg import solver as spg

    monkeypatch.setattr(spg, "BATCHES_PER_TASK", 1)
    _, _, factors, compressed = random_problem(4, targets=12)
    one, two = (
        solve_targets(factors, compressed, 1.0, 0.1 * factors.upper, batch_size=3, threads=threads)
        for threads in (1, 3)
    )
    assert np.array_equal(one.weights.toarray(), two.weights.toarray())


def test_scaling_the_target_and_the_radius_scales_the_weights():
    _, _, factors, compressed = random_problem(5)
    larger = CompressedTargets(
        8.0 * compressed.C, 8.0 * compressed.rest, 8.0 * compressed.norm, compressed.masked
    )
    one, eight = (
        solve_targets(factors, compressed, 1.0, 0.1, tol=1e-12),
        solve_targets(factors, larger, 8.0, 0.1, tol=1e-12),
    )
    assert eight.weights.toarray() == pytest.approx(8.0 * one.weights.toarray(), abs=1e-6)


def test_float32_is_near():
    _, _, factors, compressed = random_problem(6)
    for fraction in (0.0, 0.1, 0.5):
        one = solve_targets(factors, compressed, 1.0, fraction * factors.upper, tol=1e-4)
        low = solve_targets(
            factors, compressed, 1.0, fraction * factors.upper, tol=1e-4, dtype=np.float32
        )
        assert low.weights.dtype == np.float32
        assert low.figures["converged"].all()
        assert (
            np.abs(low.figures["objective"] - one.figures["objective"]) <= 1e-3 * compressed.norm
        ).all()


def test_a_masked_column_gets_no_weight():
    """The masked problem is that of the matrix without the column, and needs only V and norms."""
    X, _, factors, _ = random_problem(7)
    low_rank, V = factors.U * factors.S @ factors.W.T, factors.W * factors.S
    for i in (0, 3, 11):
        c = V[i]
        assert factors.U.T @ X[:, i] == pytest.approx(c, abs=1e-10)
        residual = np.sqrt(max(X[:, i] @ X[:, i] - c @ c, 0.0))
        single = CompressedTargets(
            c[None], np.array([residual]), np.array([np.linalg.norm(X[:, i])]), np.array([i])
        )
        others = np.delete(np.arange(X.shape[1]), i)
        assert np.linalg.norm((X - low_rank)[:, others], 2) <= factors.upper
        limit = np.linalg.norm(np.delete(V, i, axis=0) @ c) / np.linalg.norm(X[:, i])
        assert solve_targets(factors, single, 0.5, 1.0001 * limit).zero.all()
        assert not solve_targets(factors, single, 0.5, 0.999 * limit).zero.any()
        for fraction in (0.0, 0.1):
            eta = fraction * factors.upper
            result = solve_targets(factors, single, 0.5, eta)
            best, _ = solve_cone(low_rank[:, others], X[:, i], eta, 0.5)
            assert result.weights[[0]].toarray()[0, i] == 0.0
            assert result.figures["objective"][0] == pytest.approx(
                best, abs=5e-7 * np.linalg.norm(X[:, i])
            )


def test_guarantee_against_the_lasso_on_the_data():
    """The excess residual is at most (eps + eta) |bbar| + (eps - eta) |bhat|, and this is at most 2
    eps radius.
    """
    for seed in range(4):
        X, Y, factors, compressed = random_problem(seed)
        for fraction in (0.0, 0.3, 1.0):
            eta = fraction * factors.upper
            result = solve_targets(factors, compressed, 1.0, eta)
            for j in range(Y.shape[1]):
                best, weights = solve_cone(X, Y[:, j], 0.0, 1.0)
                weights_low_rank = result.weights[[j]].toarray().ravel()
                excess = np.linalg.norm(Y[:, j] - X @ weights_low_rank) - best
                bound = (factors.upper + eta) * np.linalg.norm(weights) + (
                    factors.upper - eta
                ) * np.linalg.norm(weights_low_rank)
                assert -1e-6 <= excess <= bound + 1e-6
                assert bound <= 2.0 * factors.upper * 1.0 + 1e-6


@pytest.mark.long
def test_bounds_hold_on_a_thousand_targets():
    """Bounds on the residual on X, on its distance from that of the lasso, and on the dual."""
    random = check_random_state(0)
    for seed in range(250):
        n, d = random.randint(5, 30), random.randint(3, 25)
        X, Y, factors, compressed = random_problem(
            seed, n, d, rank=random.randint(1, 6), noise=random.rand()
        )
        full_svd = truncated_svd(CenteredOperator(X), d, 10, 2, random)
        radius, eta = 2.0 * random.rand() + 0.05, factors.upper * random.choice([0.0, 0.1, 1.0])
        result = solve_targets(factors, compressed, radius, eta, tol=1e-6)
        lasso = solve(
            full_svd[2],
            full_svd[1],
            compress(full_svd[0], Y, np.ones(n), False)[0],
            np.full(4, radius),
            SPGOptions(0.0, 1e-7, 5000),
        )
        tolerance = 1e-5 * compressed.norm
        residual = np.linalg.norm(Y - X @ result.weights.toarray().T, axis=0)
        best = lasso.figures["objective"] - lasso.figures["gap"]
        assert (
            residual <= result.figures["rho"] + factors.upper * result.figures["length"] + tolerance
        ).all()
        assert (
            residual - lasso.figures["objective"]
            <= 2.0 * factors.upper * radius + result.figures["gap"] + tolerance
        ).all()
        if eta == 0.0:
            assert (
                lasso.figures["objective"]
                >= result.figures["objective"]
                - result.figures["gap"]
                - factors.upper * radius
                - tolerance
            ).all()
        assert (best <= residual + tolerance).all()


def test_a_solution_is_that_of_an_elastic_net():
    from sklearn.linear_model import ElasticNet

    _, Y, factors, compressed = random_problem(8)
    low_rank, eta, n = factors.U * factors.S @ factors.W.T, 0.2 * factors.upper, len(Y)
    result = solve_targets(factors, compressed, 1.0, eta, tol=1e-12)
    for j in range(Y.shape[1]):
        rho, length = result.figures["rho"][j], result.figures["length"][j]
        first, second = rho * result.figures["nu"][j] / n, eta * rho / length / n
        net = ElasticNet(
            alpha=first + second,
            l1_ratio=first / (first + second),
            fit_intercept=False,
            tol=1e-12,
            max_iter=100_000,
        ).fit(low_rank, Y[:, j])
        assert result.weights[[j]].toarray().ravel() == pytest.approx(net.coef_, abs=1e-5)


def test_unconverged_targets_are_marked():
    _, _, factors, compressed = random_problem(9)
    result = solve(factors.W, factors.S, compressed, np.ones(4), SPGOptions(0.0, 1e-12, 2))
    assert not result.figures["converged"].all()
    assert (result.figures["iterations"] <= 2).all()
    assert np.isfinite(result.weights.data).all()


def test_degenerate_targets():
    """A constant target, a target in the range of U, and a rank of zero."""
    _X, _, factors, _ = random_problem(10, n=40)
    inside = (factors.U @ (factors.S * (factors.W.T @ np.eye(30)[:, 0])))[:, None]
    compressed, _ = compress(
        factors.U, np.column_stack([np.full(40, 3.0), inside]), np.ones(40), True
    )
    assert compressed.norm[0] == 0.0
    assert compressed.rest[1] <= 1e-7 * compressed.norm[1]
    result = solve_targets(factors, compressed, 0.4, 0.0, tol=1e-6)
    assert result.zero.tolist() == [True, False]
    low_rank = factors.U * factors.S @ factors.W.T
    assert result.figures["objective"][1] == pytest.approx(
        solve_cone(low_rank, inside[:, 0], 0.0, 0.4)[0], abs=2e-6 * compressed.norm[1]
    )
    none = solve(
        np.zeros((5, 0)),
        np.zeros(0),
        CompressedTargets(np.zeros((2, 0)), np.ones(2), np.ones(2), np.full(2, -1)),
        np.ones(2),
        SPGOptions(0.1, 1e-4, 10),
    )
    assert none.zero.all()
    assert none.weights.shape == (2, 5)


# ---------------------------------------------------------------------- projections and multipliers
def test_compiled_loops_equal_interpreted_ones(request):
    _, _, factors, compressed = random_problem(11, n=20, d=12, targets=3)
    masked_targets = compressed._replace(masked=np.array([-1, 4, 0]))
    compiled = [
        solve_targets(
            factors, masked_targets, 0.7, fraction * factors.upper, tol=1e-6
        ).weights.toarray()
        for fraction in (0.0, 0.2)
    ]
    request.getfixturevalue("interpreted")
    interpreted = [
        solve_targets(
            factors, masked_targets, 0.7, fraction * factors.upper, tol=1e-6
        ).weights.toarray()
        for fraction in (0.0, 0.2)
    ]
    assert np.array(interpreted) == pytest.approx(np.array(compiled), abs=1e-9)


def plain_projection(z, radius):
    """Return the projection by sorting."""
    if np.abs(z).sum() <= radius:
        return z
    sizes = np.sort(np.abs(z))[::-1]
    means = (np.cumsum(sizes) - radius) / np.arange(1, len(z) + 1)
    theta = means[np.flatnonzero(sizes > means)[-1]] if radius > 0 else sizes[0]
    return np.sign(z) * np.maximum(np.abs(z) - theta, 0.0)


def test_projection_on_the_l1_ball():
    random = np.random.default_rng(0)
    for _ in range(300):
        z = random.normal(size=random.integers(1, 40)) * 10.0 ** random.integers(-3, 4)
        z[random.random(len(z)) < 0.3] = z[0]  # ties
        radius = float(np.abs(z).sum() * random.choice([0.0, 1e-6, 0.1, 0.9, 1.0, 2.0]))
        out = z[None].copy()
        project_rows(out, np.array([radius]), np.array([-1]))
        assert out[0] == pytest.approx(plain_projection(z, radius), abs=1e-13 * np.abs(z).max())
    out = np.array([[-3.0, 1.0, 0.5], [0.1, 0.2, 0.05], [3.0, 1.0, 1.0]])
    project_rows(out, np.ones(3), np.array([-1, -1, 0]))
    assert out == pytest.approx(np.array([[-1.0, 0.0, 0.0], [0.1, 0.2, 0.05], [0.0, 0.5, 0.5]]))


def test_the_l1_multiplier_is_the_support_function():
    """max a'b - eta |b| over |b|_1 <= r is r nu, where nu solves |(|a| - nu)_+| = eta."""
    from tamis.methods.low_rank_lasso.spg.loop import update_and_measure_rows

    random = np.random.default_rng(1)
    for _ in range(200):
        a = random.normal(size=(1, random.integers(1, 30))) * 10.0 ** random.integers(-3, 3)
        eta = float(np.linalg.norm(a) * random.choice([0.0, 1e-3, 0.3, 0.99, 1.0, 2.0]))
        measures, zeros = np.zeros((1, 3)), np.zeros_like(a)
        update_and_measure_rows(
            a.copy(), zeros.copy(), zeros.copy(), np.zeros(1), eta, np.array([-1]), measures
        )
        nu, excess = measures[0, 0], np.maximum(np.abs(a[0]) - measures[0, 0], 0.0)
        if eta == 0.0:
            assert nu == np.abs(a).max()
        elif eta >= np.linalg.norm(a):
            assert nu <= 1e-15 * np.abs(a).max()
        else:
            assert np.linalg.norm(excess) == pytest.approx(eta, rel=1e-9)
            best = np.sign(a[0]) * excess / excess.sum()  # on the unit ball
            assert a[0] @ best - eta * np.linalg.norm(best) == pytest.approx(nu, rel=1e-9)


def test_columns_that_vary_by_rounding_alone_have_no_direction(bounded):
    """Centring leaves rounding errors, which must not become singular vectors."""
    random = np.random.RandomState(0)
    for batch_size in (3.0 + 1e-14 * random.normal(size=(80, 10)), np.full((80, 10), 0.1)):
        _, sizes, _ = truncated_svd(CenteredOperator(batch_size), 5, 10, 2, random)
        assert not len(sizes)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [2.0**133, 2.0**-133])
@pytest.mark.parametrize("fraction", [None, 0.5])
def test_singular_values_far_from_1_only_scale_the_solution(scale, fraction, dtype, bounded):
    _, _, factors, compressed = random_problem(0)
    radius, tol = np.full(len(compressed.C), 2.0), 1e-6 if dtype is np.float64 else 1e-3
    plain = solve(
        factors.W,
        factors.S,
        compressed,
        radius,
        SPGOptions(0.05, tol, 5000),
        radius_fraction=fraction,
        dtype=dtype,
    )
    other = solve(
        factors.W,
        scale * factors.S,
        compressed,
        radius / scale,
        SPGOptions(0.05 * scale, tol, 5000),
        radius_fraction=fraction,
        dtype=dtype,
    )
    assert other.figures["converged"].all()
    assert np.allclose(scale * other.weights.toarray(), plain.weights.toarray(), atol=1e-2)
    assert np.allclose(other.figures["objective"], plain.figures["objective"], rtol=2.0 * tol)
    assert np.allclose(scale * other.figures["radius"], plain.figures["radius"], rtol=1e-3)
    # The multipliers near 0 converge last.
    assert np.allclose(
        other.figures["nu"] / scale,
        plain.figures["nu"],
        rtol=0.1,
        atol=0.02 * plain.figures["nu"].max(),
    )
