"""The one support vector dual against scikit-learn, a cone program and its own optimality
conditions.
"""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR
from solvers import cone

from tamis.solvers.svm_dual import dual as svm
from tamis.solvers.svm_dual.dual import make_feasible, solve_svm

pytestmark = pytest.mark.delicate

RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 4))
SIGNS = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * RNG.normal(size=N) > 0.3, 1.0, -1.0)
NUMBERS = np.sin(X[:, 0]) + 0.2 * RNG.normal(size=N)
KERNEL = rbf_kernel(X, gamma=0.3)
CAPS = RNG.integers(0, 4, N) / 2.0
TWICE = np.r_[np.arange(N), np.arange(N)]


def tube(eps, cap):
    """Entries of a tube around 0 on every row."""
    return np.repeat([1.0, -1.0], N), np.full(2 * N, -eps), np.full(2 * N, cap), TWICE


def regression(eps, cap):
    return (
        np.repeat([1.0, -1.0], N),
        np.r_[NUMBERS - eps, -NUMBERS - eps],
        np.full(2 * N, cap),
        TWICE,
    )


def mixed(cap=0.7):
    """Hinge rows, tube rows, and one row held at a score by entries without a cap."""
    hinge, band = np.arange(40), np.arange(40, N - 1)
    signs = np.r_[SIGNS[hinge], np.ones(len(band)), -np.ones(len(band)), 1.0, -1.0]
    linear = np.r_[np.ones(40), np.full(2 * len(band), -0.1), 0.3, -0.3]
    caps = np.r_[np.full(40, cap), np.full(2 * len(band), 0.2), np.inf, np.inf]
    return signs, linear, caps, np.r_[hinge, band, band, N - 1, N - 1]


# --------------------------------------------------------------------------- against others
@pytest.mark.parametrize("C", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("weights", [None, CAPS], ids=["plain", "weighed"])
def test_hinge_rows_are_svc(C, weights):
    caps = C * (np.ones(N) if weights is None else weights)
    # scikit-learn mistakes the rows of a precomputed kernel where some weigh 0.
    nonzero_caps = np.flatnonzero(caps)
    ours = solve_svm(KERNEL, SIGNS, np.ones(N), caps, tol=1e-8)
    theirs = SVC(C=C, kernel="precomputed", tol=1e-8).fit(
        KERNEL[np.ix_(nonzero_caps, nonzero_caps)],
        SIGNS[nonzero_caps],
        sample_weight=caps[nonzero_caps] / C,
    )
    their_scores = theirs.decision_function(KERNEL[:, nonzero_caps]) - theirs.intercept_
    assert ours.scores == pytest.approx(their_scores, abs=2e-5)  # theirs is of single precision
    loss = [
        caps @ np.maximum(0.0, 1.0 - SIGNS * (ours.scores + b))
        for b in (ours.intercept, theirs.intercept_[0])
    ]
    # Where every entry lies at a bound, many intercepts are optimal.
    assert loss[0] == pytest.approx(loss[1], abs=2e-5 * caps.sum())
    assert ours.beta[nonzero_caps[theirs.support_]] == pytest.approx(
        theirs.dual_coef_[0], abs=2e-5 * C
    )
    assert ours.converged


@pytest.mark.parametrize(("C", "eps"), [(1.0, 0.1), (50.0, 0.05), (1.0, 0.0)])
def test_tubes_around_numbers_are_svr(C, eps):
    signs, linear, caps, rows = regression(eps, C)
    ours = solve_svm(KERNEL, signs, linear, caps, rows=rows, tol=1e-8)
    theirs = SVR(C=C, epsilon=eps, kernel="precomputed", tol=1e-8).fit(KERNEL, NUMBERS)
    assert ours.scores + ours.intercept == pytest.approx(theirs.predict(KERNEL), abs=2e-5)


@pytest.mark.parametrize(
    "problem",
    [mixed(), mixed(20.0), regression(0.1, 2.0), tube(0.2, 1.0)],
    ids=["mixed", "hard", "svr", "tube"],
)
def test_values_of_a_cone_program(problem):
    signs, linear, caps, rows = problem
    ours = solve_svm(KERNEL, signs, linear, caps, rows=rows, tol=1e-9)
    _, value, _ = cone.solve(KERNEL, signs, linear, caps, rows)
    assert ours.objective == pytest.approx(value, rel=1e-6, abs=1e-7)
    assert 0.0 <= ours.gap + 1e-12 < 1e-5
    if np.isinf(caps).any():
        assert ours.scores[-1] + ours.intercept == pytest.approx(0.3, abs=1e-7)


def test_single_precision_kernels_are_summed_in_double():
    single = KERNEL.astype(np.float32)
    ours = solve_svm(single, SIGNS, np.ones(N), np.full(N, 3.0), tol=1e-8)
    same = solve_svm(single.astype(np.float64), SIGNS, np.ones(N), np.full(N, 3.0), tol=1e-8)
    assert ours.scores.dtype == np.float64
    assert ours.scores == pytest.approx(same.scores, abs=1e-9)


# --------------------------------------------------------------------------- optimality
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-6])
def test_the_gap_is_a_certificate(tol):
    signs, linear, caps, rows = mixed()
    caps = np.minimum(caps, 50.0)
    loose = solve_svm(KERNEL, signs, linear, caps, rows=rows, tol=tol)
    tight = solve_svm(KERNEL, signs, linear, caps, rows=rows, tol=1e-10)
    scores = loose.scores + loose.intercept
    primal = 0.5 * loose.beta @ KERNEL @ loose.beta + caps @ np.maximum(
        0.0, linear - signs * scores[rows]
    )
    assert loose.gap == pytest.approx(primal - loose.objective, abs=1e-9)
    assert 0.0 <= tight.objective - loose.objective + 1e-9 <= loose.gap + 1e-9
    assert loose.gap <= tol * caps.sum()
    assert loose.alpha.min() >= 0.0
    assert (loose.alpha <= caps).all()
    assert abs(signs @ loose.alpha) < 1e-9
    assert loose.scores == pytest.approx(KERNEL @ loose.beta, abs=1e-10)


def test_steps_end_at_max_iter_and_say_so():
    short = solve_svm(KERNEL, SIGNS, np.ones(N), np.full(N, 3.0), max_iter=5)
    assert (short.n_iter, short.converged) == (5, False)
    assert short.gap > 1.0
    assert short.objective < solve_svm(KERNEL, SIGNS, np.ones(N), np.full(N, 3.0)).objective


@pytest.mark.parametrize("scale", [1e45, 1e90, 1e-90])
def test_numbers_too_far_apart_for_one_float_end_and_say_so(scale):
    """Scores of 1 made of kernels of 1e90 are rounding errors: nothing gets better after a few
    turns.
    """
    rng = np.random.default_rng(0)
    points = rng.normal(size=(24, 6))
    kernel, signs = scale * points @ points.T, np.where(rng.random(24) > 0.5, 1.0, -1.0)
    ours = solve_svm(kernel, signs, np.ones(24), np.ones(24))
    assert ours.n_iter < 1_100_000
    assert np.isfinite(ours.gap)
    assert ours.converged == (scale < 1.0)


def test_many_steps_shrink_and_come_back(monkeypatch):
    """More entries than a shrinking period, and far more steps: excluded entries are
    checked again.
    """
    monkeypatch.setattr(svm, "STEPS_PER_ENTRY", 1000)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 5))
    signs = np.where(rows[:, 0] + rng.normal(size=300) > 0, 1.0, -1.0)
    kernel = rows @ rows.T
    ours = solve_svm(kernel, signs, np.ones(300), np.full(300, 50.0), tol=1e-5)
    theirs = SVC(C=50.0, kernel="precomputed", tol=1e-5).fit(kernel, signs)
    assert ours.n_iter > 2000
    assert ours.converged
    beta = np.zeros(300)
    beta[theirs.support_] = theirs.dual_coef_[0]
    reached = np.abs(beta).sum() - 0.5 * beta @ kernel @ beta
    # Both end within tol, at scores that may differ more.
    assert ours.objective == pytest.approx(reached, abs=ours.gap + 1e-6 * reached)


@pytest.mark.parametrize("cap", [0.1, 10.0])
def test_free_entries_leap_where_pairs_creep(cap, monkeypatch):
    """A linear kernel of rank 4 with high caps: pair steps alone take many times the steps."""
    kernel = (5.0 * X) @ (5.0 * X).T
    signs, linear = np.r_[SIGNS, np.repeat([1.0, -1.0], N)], np.r_[np.ones(N), np.full(2 * N, -0.1)]
    caps, rows = np.r_[np.full(N, 1.0), np.full(2 * N, cap)], np.r_[np.arange(N), TWICE]
    quick = solve_svm(kernel, signs, linear, caps, rows=rows, tol=1e-5)
    monkeypatch.setattr(svm, "solve_free_entries", lambda *arguments: 100)
    monkeypatch.setattr(svm, "run_active_set", lambda *arguments: 0)
    slow = solve_svm(kernel, signs, linear, caps, rows=rows, tol=1e-5)
    assert quick.converged
    assert slow.n_iter > 3 * quick.n_iter
    assert quick.objective == pytest.approx(slow.objective, abs=max(slow.gap, quick.gap))
    assert quick.gap < 1e-3
    assert abs(signs @ quick.alpha) < 1e-9


@pytest.mark.parametrize("rank", [1, 2, 4, 15, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("steps", [1, 20, 100])
def test_active_set_steps_alone_end_at_the_optimum(rank, dtype, steps):
    """From a few pair steps: free entries made optimal, then exchanged one by one, and no pair step
    after that.

    Many draws, since rounding decides whether the free rows depend on one another and whether all
    of them end at bounds.
    """
    signs, linear = np.r_[SIGNS, np.repeat([1.0, -1.0], N)], np.r_[np.ones(N), np.full(2 * N, -0.1)]
    caps = np.r_[np.full(N, 2.0), np.full(2 * N, 0.3)]
    rows = np.r_[np.arange(N), TWICE].astype(np.uint64)
    for seed in range(6):
        directions = np.random.default_rng(seed).normal(size=(N, rank))
        kernel = (directions @ directions.T).astype(dtype)
        rough, best = (
            solve_svm(kernel, signs, linear, caps, rows=rows, tol=1e-8, max_iter=max_iter)
            for max_iter in (steps, 10**6)
        )
        alpha, scores = rough.alpha.copy(), rough.scores.copy()
        entries = svm.Entries(rows, signs, signs * linear, caps)
        svm.solve_free_entries(kernel, entries, alpha, scores)
        svm.run_active_set(kernel, entries, alpha, scores, 1e-6)
        max_gradient, min_gradient = svm.gradient_range(entries, alpha, scores)
        assert max_gradient - min_gradient < 1e-6
        assert ((alpha >= 0) & (alpha <= caps)).all()
        assert abs(signs @ alpha) < 1e-10
        assert np.bincount(rows.astype(int), signs * alpha, N) @ kernel == pytest.approx(
            scores, abs=1e-8
        )
        assert linear @ alpha - 0.5 * np.bincount(
            rows.astype(int), signs * alpha, N
        ) @ scores == pytest.approx(best.objective, rel=1e-9)
        assert rough.objective < best.objective - 0.1 or steps > 20


@pytest.mark.parametrize("kind", ["linear", "rbf", "cubic", "twins"])
def test_the_stated_gap_is_the_real_one(kind):
    """Kernels of low rank and with equal rows; low and high caps, some of them 0; stopped early and
    run to the end.
    """
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, scale = int(rng.integers(2, 90)), 10.0 ** rng.integers(-2, 4)
        points = scale * rng.normal(size=(n, int(rng.integers(1, 8))))
        indices = np.arange(n) // 2 if kind == "twins" else np.arange(n)
        kernel = {
            "rbf": rbf_kernel(points, gamma=0.1),
            "cubic": (1.0 + points @ points.T) ** 3,
        }.get(kind, points @ points.T)[np.ix_(indices, indices)]
        signs = np.where(rng.random(n) > 0.4, 1.0, -1.0)
        caps = 10.0 ** rng.integers(-2, 4) * rng.integers(0, 3, n)
        for max_iter in (3, 50, 10_000):
            ours = solve_svm(kernel, signs, np.ones(n), caps, tol=1e-4, max_iter=max_iter)
            scores = kernel @ ours.beta + ours.intercept
            primal = 0.5 * ours.beta @ kernel @ ours.beta + caps @ np.maximum(
                0.0, 1.0 - signs * scores
            )
            dual = ours.alpha.sum() - 0.5 * ours.beta @ kernel @ ours.beta
            rounding = 1e-13 * (1.0 + caps.sum()) * (1.0 + np.abs(kernel) @ np.abs(ours.beta)).max()
            assert ours.gap == pytest.approx(primal - dual, abs=rounding)
            assert abs(signs @ ours.alpha) <= 1e-11 * (1.0 + ours.alpha.sum())
            assert ours.gap <= 1e-4 * caps.sum() + rounding or not ours.converged


def test_active_set_steps_never_lower_the_dual(monkeypatch):
    """Where they would, by an inverse that is all wrong, nothing moves."""
    start = solve_svm(KERNEL, SIGNS, np.ones(N), CAPS, max_iter=40)
    rows, alpha, scores = np.arange(N, dtype=np.uint64), start.alpha.copy(), start.scores.copy()

    def lowers(kernel, entries, alpha, scores, *rest):
        alpha[:], scores[:] = 0.0, 0.0
        return 1

    monkeypatch.setattr(svm, "exchange", lowers)
    svm.run_active_set(KERNEL, svm.Entries(rows, SIGNS, SIGNS, CAPS), alpha, scores, 1e-3)
    assert np.array_equal(alpha, start.alpha)
    assert np.array_equal(scores, start.scores)


# --------------------------------------------------------------------------- starts
@pytest.mark.parametrize(
    "start",
    [np.full(N, 9.0), RNG.random(N), -np.ones(N), np.full(N, np.nan)],
    ids=["far", "random", "negative", "nan"],
)
def test_any_start_leads_to_the_same_place(start):
    cold = solve_svm(KERNEL, SIGNS, np.ones(N), CAPS, tol=1e-7)
    warm = solve_svm(KERNEL, SIGNS, np.ones(N), CAPS, start=start, tol=1e-7)
    assert warm.objective == pytest.approx(cold.objective, abs=1e-6)
    assert warm.scores + warm.intercept == pytest.approx(cold.scores + cold.intercept, abs=1e-5)


def test_a_warm_start_at_the_solution_takes_no_step():
    cold = solve_svm(KERNEL, SIGNS, np.ones(N), CAPS)
    again = solve_svm(KERNEL, SIGNS, np.ones(N), CAPS, start=cold.alpha)
    assert again.n_iter == 0
    assert again.alpha == pytest.approx(cold.alpha, abs=1e-12)
    assert np.array_equal(solve_svm(KERNEL, SIGNS, np.ones(N), CAPS).alpha, cold.alpha)


def test_starts_are_mended():
    signs, caps = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, 2.0, 1.0, 0.0])
    mended = make_feasible([5.0, 1.0, 1.0, 7.0], signs, caps)
    assert mended == pytest.approx([0.5, 0.5, 1.0, 0.0])
    assert make_feasible([0.0, 0.0, 1.0, 0.0], signs, caps) == pytest.approx(np.zeros(4))


@pytest.mark.parametrize("signs", [SIGNS, np.ones(N)], ids=["no caps", "one side"])
def test_problems_where_nothing_can_move(signs):
    caps = np.zeros(N) if signs is SIGNS else np.ones(N)
    still = solve_svm(KERNEL, signs, np.ones(N), caps)
    assert not still.alpha.any()
    assert still.converged
    assert still.intercept == (0.0 if signs is SIGNS else 1.0)
    assert still.gap == pytest.approx(0.0)


def test_compiled_steps_are_the_plain_ones(interpreted):
    signs, linear, caps, rows = mixed()
    few = np.ix_(range(N), range(N))
    plain = solve_svm(KERNEL[few], signs, linear, caps, rows=rows, tol=1e-2)
    assert plain.converged
    _, value, _ = cone.solve(KERNEL, signs, linear, caps, rows)
    assert 0.0 <= value - plain.objective + 1e-9 <= plain.gap
