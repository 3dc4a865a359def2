"""The one support vector dual: entries of rows, each with a sign, a linear term and a cap."""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf

from tamis.base.rows import frozen
from tamis.solvers.support_vector.active_set import exchange
from tamis.solvers.support_vector.loop import descend, leap_entries, score_rows

MOST_STEPS, MOST_EACH = (
    1_000_000,
    100,
)  # most steps of a problem, and of every entry where that is more
IDLE = 10  # turns in a row that may leave the dual where it is
PATIENCE = 2  # steps an entry before all free entries are moved at once
REST = 1  # steps a free entry between two such moves
MOST_FREE = 500  # more of them make systems too large
SWAPS, ROUNDS = (
    1000,
    5,
)  # most active set steps before their inverse is made anew, and how often it is
SPAN = 1e-9  # least share of a row that others do not span, for it to count as independent
LOOKS = (
    4  # times that a solution is looked at with scores made anew, and mended where they had drifted
)
EXACT_LEAPS, ROUNDING = 6, 1e-12


class SvmOutcome(NamedTuple):
    """What the solver found."""

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
    """Primal less dual value at this solution: the objective is at most this far from the optimum.
    """
    n_iter: int
    converged: bool
    """Whether the optimality conditions hold to the tolerance, by scores made anew from `alpha`."""


def solve_svm(
    kernel, signs, linear, caps, *, rows=None, start=None, tol=1e-3, max_iter=None, exact=False
) -> SvmOutcome:
    r"""Solve one support vector problem over a kernel matrix, by sequential minimal optimisation;
    active set steps end it where that creeps.

    .. math:: \max_\alpha \; p \cdot \alpha - \tfrac12 \beta^T K \beta, \quad \beta_i = \sum_{e
    \text{ of row } i} s_e \alpha_e,
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
        Upper bounds, 0 or more. An entry of cap 0 takes no part.
    rows : ndarray of int, default=None
        Row of the kernel that each entry belongs to; None means one entry a row, in order.
    start : ndarray of shape (entries,), default=None
        Dual variables to start from; what is not feasible in them is mended.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the score.
    max_iter : int, default=None
        Most steps; `converged` says whether they were enough. None means 1,000,000, or 100 an entry
        if that is more.
    exact : bool, default=False
        Whether to go on from there by a few Newton steps, which mostly end at rounding errors: the
        solution then hardly depends on the way there.

    Returns
    -------
    outcome : SvmOutcome
        Solution, scores of the rows, value and certified gap.
    """
    kernel = frozen(np.require(kernel, requirements=["C", "A"]))
    signs, linear, caps = (
        np.ascontiguousarray(part, dtype=np.float64) for part in (signs, linear, caps)
    )
    rows = (
        np.arange(len(signs), dtype=np.uint64)
        if rows is None
        else np.ascontiguousarray(rows).astype(np.uint64)
    )
    alpha = np.zeros(len(signs)) if start is None else feasible(start, signs, caps)
    targets, scores = signs * linear, np.zeros(len(kernel))
    if start is not None:
        score_rows(kernel, row_weights(alpha, signs, rows, len(kernel)), scores)
    max_iter = max(MOST_STEPS, MOST_EACH * len(signs)) if max_iter is None else int(max_iter)
    steps, patience, leaps, looks = 0, PATIENCE * len(signs), EXACT_LEAPS if exact else 0, LOOKS
    best, idle = -np.inf, 0
    while True:
        goal, beta = (
            float(tol if leaps == EXACT_LEAPS or not exact else ROUNDING),
            row_weights(alpha, signs, rows, len(kernel)),
        )
        allowed = min(patience, max_iter - steps)
        taken, high, least = descend(
            kernel, rows, signs, targets, caps, alpha, beta, scores, goal, allowed
        )
        steps += taken
        close = not high - least > tol
        value = float(linear @ alpha - 0.5 * beta @ scores)
        idle = 0 if value > best + ROUNDING * abs(best) else idle + 1
        best = max(best, value)
        stuck = not close and (
            taken < allowed or idle == IDLE
        )  # no step is left that a float64 can show
        if steps >= max_iter or stuck or (close and not (leaps and high - least > ROUNDING)):
            alpha = feasible(alpha, signs, caps)
            beta = row_weights(
                alpha, signs, rows, len(kernel)
            )  # anew: sums of many steps drift in their last bits
            score_rows(kernel, beta, scores)
            high, least = extremes(rows, signs, targets, caps, alpha, scores)
            looks -= 1
            if steps >= max_iter or stuck or not (looks and high - least > tol):
                break
            continue
        leaps -= close
        patience = REST * leap(kernel, rows, signs, targets, caps, alpha, scores) + 10
        if not close:
            steps += swap(kernel, rows, signs, targets, caps, alpha, scores, float(tol))
    intercept = _middle(high, least)
    quadratic, gain = float(beta @ scores), float(linear @ alpha)
    gap = _gap(linear - signs * (scores[rows] + intercept), alpha, caps)
    return SvmOutcome(
        alpha, beta, scores, intercept, gain - 0.5 * quadratic, gap, steps, not high - least > tol
    )


def leap(kernel, rows, signs, targets, caps, alpha, scores) -> int:
    """Move entries between their bounds at once, by Newton steps, until they are optimal together;
    one that hits a bound stays there.

    Pairs of entries creep where the kernel has few directions and the caps are high: thousands of
    steps for what a linear system says. Changes `alpha` and the scores; returns how many entries
    were free.
    """
    free = between(alpha, caps)
    moved, before = free, alpha[free]
    pull = targets - scores[rows]
    while 2 <= len(free) <= MOST_FREE:
        base, inside, inverse, _ = independent(kernel, rows, free)
        mine, own = alpha[base], pull[base]
        done = leap_entries(inside, inverse, signs[base], caps[base], mine, own)
        alpha[base], pull[base] = mine, own
        still = free[(alpha[free] > 0.0) & (alpha[free] < caps[free])]
        if done and len(still) == len(
            free
        ):  # else once more, for entries that left took digits from the inverse
            break
        free = still
    scores += (signs[moved] * (alpha[moved] - before)) @ kernel[rows[moved].astype(np.intp)]
    return len(moved)


def swap(kernel, rows, signs, targets, caps, alpha, scores, tol: float) -> int:
    """Active set steps from free entries that are optimal together, until no entry is on the wrong
    side.

    A few hundred of them end where pairs creep on: where the kernel has few directions, each is
    nearly as cheap as a pair and goes all the way. The inverse that leads them loses digits with
    every step, so it is made anew while that still raises the dual. Changes `alpha` and the scores,
    but not where rounding errors would let the dual fall; returns the steps.
    """
    steps = 0
    for _ in range(ROUNDS):
        free = between(alpha, caps)
        if len(free) > MOST_FREE:
            break
        base, _, part, shift = independent(kernel, rows, free)
        members, inverse = (
            np.zeros(min(len(caps), MOST_FREE), dtype=np.uint64),
            np.zeros((min(len(caps), MOST_FREE),) * 2),
        )
        members[: len(base)], inverse[: len(base), : len(base)] = base, part
        after, scored = alpha.copy(), scores.copy()
        steps += exchange(
            kernel,
            rows,
            signs,
            targets,
            caps,
            after,
            scored,
            members,
            inverse,
            np.uint64(len(base)),
            shift,
            0.25 * tol,
            SWAPS,
        )
        after = feasible(after, signs, caps)
        score_rows(kernel, row_weights(after, signs, rows, len(kernel)), scored)
        values = [
            targets @ (signs * a) - 0.5 * row_weights(a, signs, rows, len(kernel)) @ f
            for a, f in ((alpha, scores), (after, scored))
        ]
        if not values[1] > values[0]:
            break
        alpha[:], scores[:] = after, scored
        high, least = extremes(rows, signs, targets, caps, alpha, scores)
        if not high - least > tol:
            break
        leap(kernel, rows, signs, targets, caps, alpha, scores)
    return steps


def between(alpha, caps) -> np.ndarray:
    """Entries strictly between their bounds."""
    return np.flatnonzero((alpha > 0.0) & (alpha < caps))


def independent(kernel, rows, entries) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Those of some entries whose rows no others span, the kernel of their rows plus a constant,
    the inverse of that, and the constant.

    Weights keep their sum, so a constant changes no step; without it a kernel of few directions has
    one free entry more than it has rank. A system of dependent rows has no inverse: steps along
    what it lacks would be made of rounding errors.
    """
    at = rows[entries].astype(np.intp)
    inside = kernel[np.ix_(at, at)].astype(np.float64)
    diagonal = inside.diagonal() if len(at) else kernel.diagonal()
    shift = float(diagonal.mean(dtype=np.float64)) or 1.0
    inside += shift
    if len(at):
        _, pivots, rank, _ = dpstrf(inside, tol=SPAN * float(inside.diagonal().max()))
        if rank < len(at):
            kept = np.sort(pivots[:rank] - 1)
            entries, inside = entries[kept], inside[np.ix_(kept, kept)]
    return entries, inside, np.linalg.inv(inside), shift


def extremes(rows, signs, targets, caps, alpha, scores) -> tuple[float, float]:
    """Highest pull of the entries through which the weight of a row may rise, and lowest of those
    through which it may fall.
    """
    pull, below, above = targets - scores[rows], alpha < caps, alpha > 0.0
    up, low = np.where(signs > 0.0, below, above), np.where(signs > 0.0, above, below)
    live = caps > 0.0
    return float(pull[up & live].max(initial=-np.inf)), float(pull[low & live].min(initial=np.inf))


def row_weights(alpha, signs, rows, n_rows: int) -> np.ndarray:
    """Weights of the rows: signed sums over their entries."""
    return np.bincount(rows.astype(np.intp), signs * alpha, n_rows)


def feasible(start, signs, caps) -> np.ndarray:
    """A copy of `start` between 0 and the caps, the sign in excess scaled down so that both sides
    weigh the same.
    """
    alpha = np.clip(np.nan_to_num(np.asarray(start, dtype=np.float64)), 0.0, caps)
    side = signs > 0
    plus, minus = alpha[side].sum(), alpha[~side].sum()
    if abs(plus - minus) > ROUNDING * max(
        plus, minus
    ):  # less than that would only move entries off their caps
        alpha[side if plus > minus else ~side] *= min(plus, minus) / max(plus, minus)
    return alpha


def _middle(high: float, least: float) -> float:
    """Intercept between the two pulls; with one side only, that side's."""
    if np.isfinite(high) and np.isfinite(least):
        return 0.5 * (high + least)
    return float(high if np.isfinite(high) else least if np.isfinite(least) else 0.0)


def _gap(short, alpha, caps) -> float:
    """Sum over entries of what complementary slackness lacks; a hard constraint counts with twice
    its dual variable plus one.
    """
    price = np.where(np.isfinite(caps), caps, 2.0 * alpha + 1.0)
    return float(price @ np.maximum(short, 0.0) - alpha @ short)
