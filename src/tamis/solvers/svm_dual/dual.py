"""The support vector dual over entries: each has a row, a sign, a linear term and a cap."""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf

from tamis.numerics.csr import readonly_view
from tamis.solvers.svm_dual.loop import Entries, descend, newton_steps, score_rows
from tamis.solvers.svm_dual.loop_active_set import exchange

# Default limit of pair steps: this many, or so many an entry if that is more.
MAX_STEPS, MAX_STEPS_PER_ENTRY = 1_000_000, 100
MAX_IDLE_ROUNDS = 10  # rounds in a row that do not raise the dual
STEPS_PER_ENTRY = 2  # pair steps an entry before the first Newton steps of all free entries
STEPS_PER_FREE_ENTRY = 1  # pair steps a free entry between two rounds of Newton steps
MAX_FREE_ENTRIES = 500  # free entries up to which their linear system is solved
MAX_EXCHANGES, MAX_INVERSES = 1000, 5  # active set steps with one inverse, and inverses of a round
# Fraction of a row outside of the span of the others, from which it counts as independent.
MIN_INDEPENDENT_FRACTION = 1e-9
MAX_RESTARTS = 4  # solutions whose scores are recomputed, in case they have drifted
MAX_EXACT_ROUNDS = 6  # rounds of Newton steps with `exact=True`
ROUNDING = 1e-12  # relative rounding error of the dual, and tolerance with `exact=True`


class SVMSolution(NamedTuple):
    """Solution of a support vector dual."""

    alpha: np.ndarray
    """Dual variable of every entry."""
    beta: np.ndarray
    """Weight of every row of the kernel."""
    scores: np.ndarray
    """The kernel times `beta`: scores of the rows without the intercept."""
    intercept: float
    objective: float
    """Value of the dual, which is maximised."""
    gap: float
    """Primal minus dual value: `objective` is at most this far below the optimum."""
    n_iter: int
    converged: bool
    """Whether the optimality conditions hold up to the tolerance, with scores recomputed from
    `alpha`.
    """


def solve_svm(
    kernel, signs, linear, caps, *, rows=None, start=None, tol=1e-3, max_iter=None, exact=False
) -> SVMSolution:
    r"""Solve one support vector problem over a kernel matrix by sequential minimal optimisation,
    with active set steps where that is slow.

    .. math:: \max_\alpha \; p \cdot \alpha - \tfrac12 \beta^T K \beta,
       \quad \beta_i = \sum_{e \text{ of row } i} s_e \alpha_e,
       \quad 0 \le \alpha_e \le c_e, \quad \sum_e s_e \alpha_e = 0

    An entry e stands for the loss :math:`c_e \max(0, p_e - s_e f)` of the score f of its row. A
    hinge row of label y is the entry (y, 1, c); a tube around 0 is the entries (+1, -eps, c) and
    (-1, -eps, c) of one row; regression has (+1, y - eps, c) and (-1, -y - eps, c). An infinite cap
    is a hard constraint.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Symmetric matrix of float64 or float32; sums are of float64.
    signs : ndarray of shape (entries,)
        +1 or -1.
    linear : ndarray of shape (entries,)
        The linear terms p.
    caps : ndarray of shape (entries,)
        Upper bounds, 0 or more. An entry of cap 0 is ignored.
    rows : ndarray of int, default=None
        Row of the kernel that each entry belongs to; None means one entry a row, in order.
    start : ndarray of shape (entries,), default=None
        Dual variables to start from; they are made feasible.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the score.
    max_iter : int, default=None
        Largest number of steps; `converged` says whether they were enough. None means 1,000,000, or
        100 an entry if that is more.
    exact : bool, default=False
        Whether to go on with a few Newton steps, which mostly end at rounding errors: the solution
        then hardly depends on the start.

    Returns
    -------
    outcome : SvmOutcome
        Solution, scores of the rows, value and duality gap.
    """
    kernel = readonly_view(np.require(kernel, requirements=["C", "A"]))
    signs, linear, caps = (
        np.ascontiguousarray(array, dtype=np.float64) for array in (signs, linear, caps)
    )
    rows = np.arange(len(signs)) if rows is None else np.ascontiguousarray(rows)
    entries = Entries(rows.astype(np.uint64), signs, signs * linear, caps)
    alpha = np.zeros(len(signs)) if start is None else make_feasible(start, signs, caps)
    scores = np.zeros(len(kernel))
    if start is not None:
        score_rows(kernel, row_weights(alpha, entries, len(kernel)), scores)
    max_iter = (
        max(MAX_STEPS, MAX_STEPS_PER_ENTRY * len(signs)) if max_iter is None else int(max_iter)
    )
    steps, step_limit, best_value, idle_rounds = 0, STEPS_PER_ENTRY * len(signs), -np.inf, 0
    exact_rounds, restarts_left = MAX_EXACT_ROUNDS if exact else 0, MAX_RESTARTS
    while True:
        pair_tol = float(tol if exact_rounds == MAX_EXACT_ROUNDS or not exact else ROUNDING)
        beta = row_weights(alpha, entries, len(kernel))
        allowed = min(step_limit, max_iter - steps)
        n_pair_steps, max_gradient, min_gradient = descend(
            kernel, entries, alpha, beta, scores, pair_tol, allowed
        )
        steps += n_pair_steps
        is_close = not max_gradient - min_gradient > tol
        value = float(linear @ alpha - 0.5 * beta @ scores)
        idle_rounds = 0 if value > best_value + ROUNDING * abs(best_value) else idle_rounds + 1
        best_value = max(best_value, value)
        # Stuck: all remaining steps are below the precision of float64.
        is_stuck = not is_close and (n_pair_steps < allowed or idle_rounds == MAX_IDLE_ROUNDS)
        is_refined = is_close and not (exact_rounds and max_gradient - min_gradient > ROUNDING)
        if steps >= max_iter or is_stuck or is_refined:
            # Recompute the scores: sums of many steps have drifted in their last bits.
            alpha = make_feasible(alpha, signs, caps)
            beta = row_weights(alpha, entries, len(kernel))
            score_rows(kernel, beta, scores)
            max_gradient, min_gradient = gradient_range(entries, alpha, scores)
            restarts_left -= 1
            is_close = not max_gradient - min_gradient > tol
            if steps >= max_iter or is_stuck or is_close or not restarts_left:
                break
            continue
        exact_rounds -= is_close
        step_limit = STEPS_PER_FREE_ENTRY * solve_free_entries(kernel, entries, alpha, scores) + 10
        if not is_close:
            steps += run_active_set(kernel, entries, alpha, scores, float(tol))
    converged = not max_gradient - min_gradient > tol
    intercept = _intercept(max_gradient, min_gradient)
    quadratic, gain = float(beta @ scores), float(linear @ alpha)
    gap = _gap(linear - signs * (scores[entries.rows] + intercept), alpha, caps)
    return SVMSolution(
        alpha, beta, scores, intercept, gain - 0.5 * quadratic, gap, steps, converged
    )


def solve_free_entries(kernel, entries: Entries, alpha, scores) -> int:
    """Make the free entries (strictly between their bounds) optimal together by Newton steps; an
    entry that reaches a bound stays there.

    Pair steps are slow where the kernel has low rank and the caps are high: thousands of them do
    what one linear system does. Changes `alpha` and the scores; returns the number of free entries
    at the start.
    """
    rows, signs, targets, caps = entries
    free = free_entries(alpha, caps)
    initial_free, old_alpha = free, alpha[free]
    gradients = targets - scores[rows]
    while 2 <= len(free) <= MAX_FREE_ENTRIES:
        independent, sub_kernel, inverse, _ = independent_entries(kernel, rows, free)
        sub_alpha, sub_gradients = alpha[independent], gradients[independent]
        is_optimal = newton_steps(
            sub_kernel, inverse, signs[independent], caps[independent], sub_alpha, sub_gradients
        )
        alpha[independent], gradients[independent] = sub_alpha, sub_gradients
        still_free = free[(alpha[free] > 0.0) & (alpha[free] < caps[free])]
        if is_optimal and len(still_free) == len(free):
            break
        free = still_free  # repeat with a new inverse: removed entries cost it digits
    change = signs[initial_free] * (alpha[initial_free] - old_alpha)
    scores += change @ kernel[rows[initial_free].astype(np.intp)]
    return len(initial_free)


def run_active_set(kernel, entries: Entries, alpha, scores, tol: float) -> int:
    """Run active set steps from free entries that are optimal together, until no entry violates the
    optimality conditions.

    Where the kernel has low rank, each step costs little more than a pair step and goes all the
    way. Their inverse loses digits with every step, so that it is recomputed as long as this raises
    the dual. Changes `alpha` and the scores unless rounding errors would lower the dual; returns
    the number of steps.
    """
    steps, capacity = 0, min(len(entries.caps), MAX_FREE_ENTRIES)
    for _ in range(MAX_INVERSES):
        free = free_entries(alpha, entries.caps)
        if len(free) > MAX_FREE_ENTRIES:
            break
        independent, _, base_inverse, shift = independent_entries(kernel, entries.rows, free)
        members, inverse = np.zeros(capacity, dtype=np.uint64), np.zeros((capacity, capacity))
        count = len(independent)
        members[:count], inverse[:count, :count] = independent, base_inverse
        new_alpha, new_scores = alpha.copy(), scores.copy()
        steps += exchange(
            kernel,
            entries,
            new_alpha,
            new_scores,
            members,
            inverse,
            np.uint64(count),
            shift,
            0.25 * tol,
            MAX_EXCHANGES,
        )
        new_alpha = make_feasible(new_alpha, entries.signs, entries.caps)
        score_rows(kernel, row_weights(new_alpha, entries, len(kernel)), new_scores)
        values = [
            entries.targets @ (entries.signs * a) - 0.5 * row_weights(a, entries, len(kernel)) @ f
            for a, f in ((alpha, scores), (new_alpha, new_scores))
        ]
        if not values[1] > values[0]:
            break
        alpha[:], scores[:] = new_alpha, new_scores
        max_gradient, min_gradient = gradient_range(entries, alpha, scores)
        if not max_gradient - min_gradient > tol:
            break
        solve_free_entries(kernel, entries, alpha, scores)
    return steps


def free_entries(alpha, caps) -> np.ndarray:
    """Return the entries strictly between their bounds."""
    return np.flatnonzero((alpha > 0.0) & (alpha < caps))


def independent_entries(kernel, rows, entries) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return some of the entries whose rows are linearly independent, the kernel of their rows plus
    a constant, its inverse, and the constant.

    The constant changes no step, since steps keep the sum of the weights; without it, a kernel of
    low rank has one free entry more than its rank. A system of dependent rows has no inverse.
    """
    kernel_rows = rows[entries].astype(np.intp)
    sub_kernel = kernel[np.ix_(kernel_rows, kernel_rows)].astype(np.float64)
    diagonal = sub_kernel.diagonal() if len(kernel_rows) else kernel.diagonal()
    shift = float(diagonal.mean(dtype=np.float64)) or 1.0
    sub_kernel += shift
    if len(kernel_rows):
        _, pivots, rank, _ = dpstrf(
            sub_kernel, tol=MIN_INDEPENDENT_FRACTION * float(sub_kernel.diagonal().max())
        )
        if rank < len(kernel_rows):
            independent = np.sort(pivots[:rank] - 1)
            entries, sub_kernel = entries[independent], sub_kernel[np.ix_(independent, independent)]
    return entries, sub_kernel, np.linalg.inv(sub_kernel), shift


def gradient_range(entries: Entries, alpha, scores) -> tuple[float, float]:
    """Return the largest gradient of entries through which the weight of a row may rise, and the
    smallest of those through which it may fall.
    """
    rows, signs, targets, caps = entries
    gradients, below_cap, above_zero = targets - scores[rows], alpha < caps, alpha > 0.0
    can_rise = np.where(signs > 0.0, below_cap, above_zero) & (caps > 0.0)
    can_fall = np.where(signs > 0.0, above_zero, below_cap) & (caps > 0.0)
    max_gradient = float(gradients[can_rise].max(initial=-np.inf))
    return max_gradient, float(gradients[can_fall].min(initial=np.inf))


def row_weights(alpha, entries: Entries, n_rows: int) -> np.ndarray:
    """Return the weights of the rows: signed sums over their entries."""
    return np.bincount(entries.rows.astype(np.intp), entries.signs * alpha, n_rows)


def make_feasible(start, signs, caps) -> np.ndarray:
    """Return a copy of `start` clipped to the caps, with the entries of one sign scaled down so
    that both signs have the same sum.
    """
    alpha = np.clip(np.nan_to_num(np.asarray(start, dtype=np.float64)), 0.0, caps)
    is_positive = signs > 0
    positive_sum, negative_sum = alpha[is_positive].sum(), alpha[~is_positive].sum()
    # A smaller difference is rounding, and scaling would move entries off their caps.
    if abs(positive_sum - negative_sum) > ROUNDING * max(positive_sum, negative_sum):
        larger = is_positive if positive_sum > negative_sum else ~is_positive
        alpha[larger] *= min(positive_sum, negative_sum) / max(positive_sum, negative_sum)
    return alpha


def _intercept(max_gradient: float, min_gradient: float) -> float:
    """Return the intercept halfway between the two gradients; if only one is finite, that one."""
    if np.isfinite(max_gradient) and np.isfinite(min_gradient):
        return 0.5 * (max_gradient + min_gradient)
    if np.isfinite(max_gradient):
        return float(max_gradient)
    return float(min_gradient) if np.isfinite(min_gradient) else 0.0


def _gap(shortfall, alpha, caps) -> float:
    """Return the duality gap: the sum over entries of the violation of complementary slackness. A
    hard constraint costs twice its dual variable plus one.
    """
    costs = np.where(np.isfinite(caps), caps, 2.0 * alpha + 1.0)
    return float(costs @ np.maximum(shortfall, 0.0) - alpha @ shortfall)
