"""Batch solver for group penalties by working sets. It stops by the duality gap or, where there is
none, by the optimality conditions.
"""

import numpy as np

from tamis.solvers.path.inner.fista import fista
from tamis.solvers.path.inner.models import block_arrays
from tamis.solvers.path.inner.newton import (
    MAX_GRAM_COORDS,
    MAX_JOINT_COORDS,
    proximal_newton,
    shares_gram,
)
from tamis.solvers.path.loop import CoefBlocks, dual_blocks
from tamis.solvers.path.problem import (
    GroupProblem,
    GroupSolution,
    is_penalized,
    nonzero_blocks,
    select_blocks,
)
from tamis.solvers.path.screening import (
    GAP_ROUNDING,
    PointEvaluation,
    center_and_gradient,
    evaluate_point,
    null_deviance,
)

MIN_WORKING_SET = 10  # blocks in the first working set
# At most 1 of so many blocks joins a working set at once or, for a quadratic loss, blocks of half
# as many coordinates as there are rows.
GROWTH_DIVISOR = 10
FISTA_ITERATIONS = 200  # iterations of FISTA between two evaluations of all columns
# Iterations in a row that reduce the gap by less than 1 %; each has a smaller inner tolerance.
MAX_STALLED_ITERATIONS = 10


def compute_alpha_max(problem: GroupProblem, penalty) -> float:
    """Return alpha_max, the smallest factor of the penalty whose solution has no nonzero penalized
    coefficient; nan if the penalty has no `dual_scale`.
    """
    if not hasattr(penalty, "dual_scale"):
        return np.nan
    w, bias = problem.zeros()
    bias, scores, _, gradient = center_and_gradient(problem, w, bias)
    unpenalized = np.flatnonzero(~is_penalized(problem.blocks))
    if len(unpenalized):
        point = (bias, scores, gradient)
        w, bias, scores = _solve_working_set(problem, penalty, unpenalized, w, 1e-10, *point)
        bias, scores, _, gradient = center_and_gradient(problem, w, bias, scores)
    n_outputs = np.uint64(problem.design.outputs)
    dual_norm = dual_blocks(gradient.ravel(), *block_arrays(problem.blocks), penalty, n_outputs)
    return float(dual_norm) / penalty.alpha


def scale_penalty(penalty, alpha: float):
    """Return the penalty with alpha times its strength."""
    return penalty._replace(alpha=alpha * penalty.alpha)


def solve_problem(
    problem: GroupProblem, penalty, tol: float, max_iter: int, start=None, largest: float = 0.0
) -> GroupSolution:
    """Minimise by working sets, from the weights and intercepts `start`.

    Stops when the duality gap is at most `tol` times the null deviance or, if the problem is not
    certified, when no block is farther than sqrt(tol) times the largest strength from its
    subdifferential. It also stops when iterations make no progress, which is rounding, or when
    numbers overflow; then it returns the last finite point. `largest` is the smallest strength
    whose solution is 0, if it is known; a much smaller penalty counts as none.
    """
    weights = problem.blocks.weights, problem.blocks.l1_weights
    largest = 0.0 if np.isnan(largest) else largest
    max_weight = max(values.max(initial=0.0) for values in weights)
    strength = max(penalty.alpha, 1e-3 * largest) * max_weight
    if penalty.alpha <= GAP_ROUNDING * largest or penalty.alpha == 0.0:
        problem = _without_penalty(problem)
    blocks, certified = problem.blocks, problem.certified
    is_free = ~is_penalized(blocks)
    deviance = null_deviance(problem) if certified else np.nan
    limit = tol * deviance if certified else max(np.sqrt(tol) * strength, 1e-300)
    w, bias = problem.zeros() if start is None else (start[0].copy(), start[1].copy())
    scores, history = None, list[dict]()
    is_candidate = np.ones(blocks.n_groups, dtype=bool)  # not screened
    set_size, max_growth = MIN_WORKING_SET, _max_growth(problem)
    best_dual, tol_factor, previous = -np.inf, 1.0, np.inf
    n_stalled, lowest_objective, lowest_remaining = 0, np.inf, np.inf
    gap_and_violation = (np.inf, np.nan) if certified else (np.nan, np.inf)
    solution = GroupSolution(w, bias, *gap_and_violation, np.inf, history, limit)
    for iteration in range(1, max_iter + 1):
        # 1. Evaluate objective, gap and gradient of all columns.
        point = evaluate_point(problem, penalty, limit, deviance, w, bias, scores)
        bias, best_dual, objective = point.bias, max(best_dual, point.dual), point.objective
        if certified:
            gap_to_best = max(objective - best_dual, 0.0) + point.gap - (objective - point.dual)
            remaining = min(point.gap, gap_to_best)
            min_decrease = 0.01 * remaining  # of the objective, to count as progress
        else:
            remaining, min_decrease = point.violation, 1e-14 * abs(objective)
        if not np.isfinite(objective + remaining):
            return solution._replace(stalled=True)
        is_candidate &= ~(point.is_zero > 0) | is_free
        is_nonzero = nonzero_blocks(blocks, w)
        history.append(
            _history_entry(iteration, objective, remaining, certified, is_nonzero, is_candidate)
        )
        gap_and_violation = (remaining, np.nan) if certified else (np.nan, remaining)
        solution = GroupSolution(w, bias, *gap_and_violation, objective, history, limit)
        # 2. Stop at the limit, or after iterations without progress.
        is_stalled = (
            lowest_objective - objective <= min_decrease and remaining >= 0.99 * lowest_remaining
        )
        n_stalled = n_stalled + 1 if is_stalled else 0
        lowest_objective = min(lowest_objective, objective)
        lowest_remaining = min(lowest_remaining, remaining)
        has_stalled = n_stalled == MAX_STALLED_ITERATIONS
        if remaining <= limit or iteration == max_iter or has_stalled:
            return solution._replace(stalled=remaining > limit and has_stalled)
        # 3. Choose a working set, and solve for it. The inner solver gets a smaller tolerance after
        # an iteration in which it did not lower the objective.
        tol_factor = 0.1 * tol_factor if previous - objective <= min_decrease else 1.0
        previous = objective
        if (is_nonzero & ~is_candidate).any():
            w, is_nonzero = _zero_blocks(blocks, w, ~is_candidate), is_nonzero & is_candidate
            point = evaluate_point(problem, penalty, np.inf, 0.0, w, bias)
        n_violating, n_nonzero = int((point.excess > 0.0).sum()), int(is_nonzero.sum())
        set_size = max(set_size, 2 * n_nonzero, min(n_nonzero + n_violating, max_growth))
        if problem.solver == "fista":
            working_set = np.flatnonzero(is_candidate)
        else:
            working_set = _select_working_set(
                point.excess, is_nonzero | is_free, is_candidate, set_size
            )
        if certified:
            is_last = problem.bound_loss.is_quadratic and n_violating <= set_size
            inner_tol = _inner_tolerance(point, is_candidate, w, remaining, limit, tol, is_last)
        else:
            inner_tol = max(0.3 * limit, 0.1 * remaining)
        w, bias, scores = _solve_working_set(
            problem,
            penalty,
            working_set,
            w,
            tol_factor * inner_tol,
            point.bias,
            point.scores,
            point.gradient,
        )
    raise AssertionError("unreachable")


def _without_penalty(problem: GroupProblem) -> GroupProblem:
    """Return the problem without penalty weights, so that nothing is screened: the gradient of its
    solution is 0.
    """
    blocks = problem.blocks
    return problem._replace(
        blocks=blocks._replace(weights=0.0 * blocks.weights, l1_weights=0.0 * blocks.l1_weights)
    )


def _max_growth(problem: GroupProblem) -> int:
    """Return the largest number of blocks that may join a working set at once."""
    blocks = problem.blocks
    max_growth = blocks.n_groups // GROWTH_DIVISOR
    if problem.bound_loss.is_quadratic:
        max_growth = max(
            max_growth, problem.design.n_rows * blocks.n_groups // max(2 * len(blocks.members), 1)
        )
    return max_growth


def _history_entry(
    iteration: int, objective: float, remaining: float, certified: bool, is_nonzero, is_candidate
) -> dict:
    """Return the entry of one iteration for `history_`."""
    return {
        "iteration": iteration,
        "objective": objective,
        "gap" if certified else "violation": remaining,
        "groups": int(is_nonzero.sum()),
        "screened": int((~is_candidate).sum()),
    }


def _inner_tolerance(
    point: PointEvaluation,
    is_candidate,
    w,
    gap: float,
    gap_limit: float,
    tol: float,
    is_last_set: bool,
) -> float:
    """Return the tolerance of the inner solver, a largest distance to the subdifferential: a
    fraction of the present one.

    From coefficients of 0, an `is_last` set, which contains all violating blocks, is solved to the
    end. The gap is about the distance times the L1 norm of the coefficients.
    """
    max_excess = max(float(point.excess[is_candidate].max(initial=0.0)), 0.0)
    weight_norm = float(np.abs(w).sum())
    if weight_norm == 0.0:
        return (tol if is_last_set else 0.1) * max_excess
    tolerance = 0.2 * max(gap, gap_limit) / weight_norm
    return max(
        min(0.1 * max_excess, tolerance) if max_excess > 0.0 else tolerance,
        0.05 * gap_limit / weight_norm,
    )


def _zero_blocks(blocks: CoefBlocks, w, is_zeroed) -> np.ndarray:
    """Return the stacked coefficients with some blocks set to 0."""
    return np.where(np.repeat(is_zeroed, np.diff(blocks.starts).astype(np.int64))[:, None], 0.0, w)


def _select_working_set(excess, is_required, is_candidate, size: int) -> np.ndarray:
    """Return the blocks that are required (nonzero or not penalized), and of the others those of
    the largest excess over their thresholds.
    """
    priorities = np.where(is_candidate & ~is_required, excess, -np.inf)
    n_more = max(size - int(is_required.sum()), 0)
    if n_more < len(priorities):
        top_blocks = (
            np.argpartition(-priorities, n_more)[:n_more] if n_more else np.zeros(0, dtype=np.int64)
        )
    else:
        top_blocks = np.arange(len(priorities))
    is_selected = is_required.copy()
    is_selected[top_blocks] = True
    return np.flatnonzero(is_selected & is_candidate)


def _solve_working_set(
    problem: GroupProblem, penalty, working_set, w, tol: float, bias, scores, gradient
):
    """Minimise over some blocks, the others at 0, from a point with these scores and this stacked
    gradient.

    Return the stacked coefficients, the intercepts, and the scores or None.
    """
    set_blocks, columns, coords = select_blocks(problem.blocks, working_set)
    new_w = np.zeros_like(w)
    if not len(coords):
        return new_w, bias, None
    set_w = np.ascontiguousarray(w[coords])
    if problem.solver != "fista" and _uses_newton(problem, len(coords)):
        new_w[coords], bias, scores = proximal_newton(
            problem,
            set_blocks,
            columns,
            working_set,
            penalty,
            set_w,
            bias,
            tol,
            scores,
            gradient[coords],
        )
        return new_w, bias, scores
    design = problem.design
    if len(columns) < len(design.means):
        design = design.select_columns(columns)
    new_w[coords], bias = fista(
        design,
        problem.bound_loss,
        set_blocks,
        penalty,
        set_w,
        bias,
        tol,
        FISTA_ITERATIONS,
        problem.fit_intercept,
    )
    return new_w, bias, None


def _uses_newton(problem: GroupProblem, n_coords: int) -> bool:
    """Return whether proximal Newton is worth its Gram matrix; with one output it can do without
    one.
    """
    if shares_gram(problem):
        return problem.design.outputs == 1 or n_coords <= MAX_GRAM_COORDS
    return n_coords * problem.design.outputs <= MAX_JOINT_COORDS
