"""The one support vector dual: entries of rows, each with a sign, a linear term and a cap."""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf

from tamis.numerics.csr import frozen
from tamis.solvers.svm_dual.loop import Entries, descend, leap_entries, score_rows
from tamis.solvers.svm_dual.loop_active_set import exchange

MOST_STEPS, MOST_EACH = 1_000_000, 100  # of a problem, and of every entry where that is more
IDLE = 10  # turns in a row that may leave the dual where it is
PATIENCE = 2  # steps an entry before all free entries are moved at once
REST = 1  # steps a free entry between two such moves
MOST_FREE = 500  # more of them make systems too large
SWAPS, ROUNDS = 1000, 5  # active set steps before their inverse is made anew, and how often
SPAN = 1e-9  # least share of a row that others do not span, for it to count as independent
LOOKS = 4  # at a solution with scores made anew, to mend it where they had drifted
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
    rows = np.arange(len(signs)) if rows is None else np.ascontiguousarray(rows)
    entries = Entries(rows.astype(np.uint64), signs, signs * linear, caps)
    alpha = np.zeros(len(signs)) if start is None else feasible(start, signs, caps)
    scores = np.zeros(len(kernel))
    if start is not None:
        score_rows(kernel, row_weights(alpha, entries, len(kernel)), scores)
    max_iter = max(MOST_STEPS, MOST_EACH * len(signs)) if max_iter is None else int(max_iter)
    steps, patience, leaps, looks = 0, PATIENCE * len(signs), EXACT_LEAPS if exact else 0, LOOKS
    best, idle = -np.inf, 0
    while True:
        goal = float(tol if leaps == EXACT_LEAPS or not exact else ROUNDING)
        beta = row_weights(alpha, entries, len(kernel))
        allowed = min(patience, max_iter - steps)
        taken, high, least = descend(kernel, entries, alpha, beta, scores, goal, allowed)
        steps += taken
        close = not high - least > tol
        value = float(linear @ alpha - 0.5 * beta @ scores)
        idle = 0 if value > best + ROUNDING * abs(best) else idle + 1
        best = max(best, value)
        # Stuck: no step is left that a float64 can show.
        stuck = not close and (taken < allowed or idle == IDLE)
        if steps >= max_iter or stuck or (close and not (leaps and high - least > ROUNDING)):
            # Anew: sums of many steps drift in their last bits.
            alpha = feasible(alpha, signs, caps)
            beta = row_weights(alpha, entries, len(kernel))
            score_rows(kernel, beta, scores)
            high, least = extremes(entries, alpha, scores)
            looks -= 1
            if steps >= max_iter or stuck or not (looks and high - least > tol):
                break
            continue
        leaps -= close
        patience = REST * leap(kernel, entries, alpha, scores) + 10
        if not close:
            steps += swap(kernel, entries, alpha, scores, float(tol))
    intercept = _middle(high, least)
    quadratic, gain = float(beta @ scores), float(linear @ alpha)
    gap = _gap(linear - signs * (scores[entries.rows] + intercept), alpha, caps)
    return SvmOutcome(
        alpha, beta, scores, intercept, gain - 0.5 * quadratic, gap, steps, not high - least > tol
    )


def leap(kernel, entries: Entries, alpha, scores) -> int:
    """Move entries between their bounds at once, by Newton steps, until they are optimal together;
    one that hits a bound stays there.

    Pairs of entries creep where the kernel has few directions and the caps are high: thousands of
    steps for what a linear system says. Changes `alpha` and the scores; returns how many entries
    were free.
    """
    rows, signs, targets, caps = entries
    free = between(alpha, caps)
    moved, before = free, alpha[free]
    gradients = targets - scores[rows]
    while 2 <= len(free) <= MOST_FREE:
        base, inside, inverse, _ = independent(kernel, rows, free)
        mine, own = alpha[base], gradients[base]
        done = leap_entries(inside, inverse, signs[base], caps[base], mine, own)
        alpha[base], gradients[base] = mine, own
        still = free[(alpha[free] > 0.0) & (alpha[free] < caps[free])]
        if done and len(still) == len(free):
            break
        free = still  # once more, for entries that left took digits from the inverse
    scores += (signs[moved] * (alpha[moved] - before)) @ kernel[rows[moved].astype(np.intp)]
    return len(moved)


def swap(kernel, entries: Entries, alpha, scores, tol: float) -> int:
    """Active set steps from free entries that are optimal together, until no entry is on the wrong
    side.

    A few hundred of them end where pairs creep on: where the kernel has few directions, each is
    nearly as cheap as a pair and goes all the way. The inverse that leads them loses digits with
    every step, so it is made anew while that still raises the dual. Changes `alpha` and the scores,
    but not where rounding errors would let the dual fall; returns the steps.
    """
    steps, room = 0, min(len(entries.caps), MOST_FREE)
    for _ in range(ROUNDS):
        free = between(alpha, entries.caps)
        if len(free) > MOST_FREE:
            break
        base, _, part, shift = independent(kernel, entries.rows, free)
        members, inverse = np.zeros(room, dtype=np.uint64), np.zeros((room, room))
        members[: len(base)], inverse[: len(base), : len(base)] = base, part
        after, scored, count = alpha.copy(), scores.copy(), np.uint64(len(base))
        steps += exchange(
            kernel, entries, after, scored, members, inverse, count, shift, 0.25 * tol, SWAPS
        )
        after = feasible(after, entries.signs, entries.caps)
        score_rows(kernel, row_weights(after, entries, len(kernel)), scored)
        values = [
            entries.targets @ (entries.signs * a) - 0.5 * row_weights(a, entries, len(kernel)) @ f
            for a, f in ((alpha, scores), (after, scored))
        ]
        if not values[1] > values[0]:
            break
        alpha[:], scores[:] = after, scored
        high, least = extremes(entries, alpha, scores)
        if not high - least > tol:
            break
        leap(kernel, entries, alpha, scores)
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


def extremes(entries: Entries, alpha, scores) -> tuple[float, float]:
    """Highest gradient of the entries through which the weight of a row may rise, and lowest of
    those through which it may fall.
    """
    rows, signs, targets, caps = entries
    gradients, below, above = targets - scores[rows], alpha < caps, alpha > 0.0
    up, low = np.where(signs > 0.0, below, above), np.where(signs > 0.0, above, below)
    up, low = up & (caps > 0.0), low & (caps > 0.0)
    return float(gradients[up].max(initial=-np.inf)), float(gradients[low].min(initial=np.inf))


def row_weights(alpha, entries: Entries, n_rows: int) -> np.ndarray:
    """Weights of the rows: signed sums over their entries."""
    return np.bincount(entries.rows.astype(np.intp), entries.signs * alpha, n_rows)


def feasible(start, signs, caps) -> np.ndarray:
    """A copy of `start` between 0 and the caps, the sign in excess scaled down so that both sides
    weigh the same.
    """
    alpha = np.clip(np.nan_to_num(np.asarray(start, dtype=np.float64)), 0.0, caps)
    side = signs > 0
    plus, minus = alpha[side].sum(), alpha[~side].sum()
    # Less than that would only move entries off their caps.
    if abs(plus - minus) > ROUNDING * max(plus, minus):
        alpha[side if plus > minus else ~side] *= min(plus, minus) / max(plus, minus)
    return alpha


def _middle(high: float, least: float) -> float:
    """Intercept between the two gradients; with one side only, that side's."""
    if np.isfinite(high) and np.isfinite(least):
        return 0.5 * (high + least)
    return float(high if np.isfinite(high) else least if np.isfinite(least) else 0.0)


def _gap(short, alpha, caps) -> float:
    """Sum over entries of what complementary slackness lacks; a hard constraint counts with twice
    its dual variable plus one.
    """
    price = np.where(np.isfinite(caps), caps, 2.0 * alpha + 1.0)
    return float(price @ np.maximum(short, 0.0) - alpha @ short)
