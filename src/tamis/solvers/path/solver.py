"""Batch solver for block penalties: working sets, gap-safe screening, and the duality gap as the
rule for stopping, or, where there is none, the optimality conditions.
"""

import numpy as np

from tamis.solvers.path.inner.fista import fista
from tamis.solvers.path.inner.models import parts_of
from tamis.solvers.path.inner.newton import JOINT, LARGEST, newton, shares_gram
from tamis.solvers.path.loop import Blocks, dual_blocks
from tamis.solvers.path.problem import Outcome, Problem, part_blocks, penalised, used
from tamis.solvers.path.screening import ROUNDING, Look, look, null_deviance, seen

FIRST = 10  # groups in the first working set at least
# one in so many groups may join a working set at once, or, under the squared loss, groups of half
# as many places as there are rows
FIRST_SHARE = 10
TURNS = 200  # most iterations of FISTA between two looks at all columns
# iterations in a row that may win no hundredth of the gap: each asks more of the inner solver than
# the last
PATIENCE = 10


def largest_alpha(problem: Problem, penalty) -> float:
    """The smallest factor of the penalty's strength whose solution holds no penalised weight; nan
    where the penalty has no `dual_scale`.
    """
    if not hasattr(penalty, "dual_scale"):
        return np.nan
    w, bias = problem.empty()
    bias, scores, _, slope = seen(problem, w, bias)
    free = np.flatnonzero(~penalised(problem.blocks))
    if len(free):
        w, bias, scores = _inner(problem, penalty, free, w, bias, 1e-10, scores, slope)
        bias, scores, _, slope = seen(problem, w, bias, scores)
    many = np.uint64(problem.design.outputs)
    reach = dual_blocks(slope.ravel(), *parts_of(problem.blocks), penalty, many)
    return float(reach) / penalty.alpha


def multiply_strength(penalty, alpha: float):
    """A penalty of alpha times the strength."""
    return penalty._replace(alpha=alpha * penalty.alpha)


def solve(
    problem: Problem, penalty, tol: float, max_iter: int, start=None, largest: float = 0.0
) -> Outcome:
    """Minimise from `start` until the duality gap is at most `tol` times the null deviance, or,
    where the problem is not certified, until no block is further from its subdifferential than
    sqrt(tol) times the largest strength.

    `largest` is the strength that keeps nothing, where it is known: one that is lost beside it in
    rounding is none. Where iterations come to nothing it ends: what is left is rounding. Where they
    leave the finite numbers, the last point before stays.
    """
    weights = problem.blocks.weights, problem.blocks.l1_weights
    largest = 0.0 if np.isnan(largest) else largest
    strength = max(penalty.alpha, 1e-3 * largest) * max(each.max(initial=0.0) for each in weights)
    if penalty.alpha <= ROUNDING * largest or penalty.alpha == 0.0:
        problem = _unpriced(problem)
    blocks, priced, certified = problem.blocks, penalised(problem.blocks), problem.certified
    deviance = null_deviance(problem) if certified else np.nan
    limit = tol * deviance if certified else max(np.sqrt(tol) * strength, 1e-300)
    w, bias = problem.empty() if start is None else (start[0].copy(), start[1].copy())
    scores, history = None, list[dict]()
    alive, size, most = np.ones(blocks.n_groups, dtype=bool), FIRST, _most(problem)
    best, care, before, idle, lowest = -np.inf, 1.0, np.inf, 0, (np.inf, np.inf)
    pair = (np.inf, np.nan) if certified else (np.nan, np.inf)
    found = Outcome(w, bias, *pair, np.inf, history, limit)
    for turn in range(1, max_iter + 1):
        now = look(problem, penalty, limit, deviance, w, bias, scores)
        bias, best, value = now.bias, max(best, now.dual), now.objective
        if certified:
            remaining = min(now.gap, max(value - best, 0.0) + now.gap - (value - now.dual))
            fall = 0.01 * remaining  # of the objective that counts as one
        else:
            remaining, fall = now.violation, 1e-14 * abs(value)
        if not np.isfinite(value + remaining):
            return found._replace(stalled=True)
        alive &= ~(now.safe > 0) | ~priced
        held = used(blocks, w)
        history.append(_record(turn, value, remaining, certified, held, alive))
        pair = (remaining, np.nan) if certified else (np.nan, remaining)
        found = Outcome(w, bias, *pair, value, history, limit)
        vain = lowest[0] - value <= fall and remaining >= 0.99 * lowest[1]
        idle, lowest = idle + 1 if vain else 0, (min(lowest[0], value), min(lowest[1], remaining))
        if remaining <= limit or turn == max_iter or idle == PATIENCE:
            return found._replace(stalled=remaining > limit and idle == PATIENCE)
        # The inner solver thought itself done, and is not.
        care, before = 0.1 * care if before - value <= fall else 1.0, value
        if (held & ~alive).any():
            w, held = _without(blocks, w, ~alive), held & alive
            now = look(problem, penalty, np.inf, 0.0, w, bias)
        beyond, many = int((now.excess > 0.0).sum()), int(held.sum())
        size = max(size, 2 * many, min(many + beyond, most))
        if problem.solver == "fista":
            kept = np.flatnonzero(alive)
        else:
            kept = _working_set(now.excess, held | ~priced, alive, size)
        whole = problem.smooth.quadratic and beyond <= size
        if certified:
            near = care * _near(now, alive, w, remaining, limit, tol, whole)
        else:
            near = care * max(0.3 * limit, 0.1 * remaining)
        w, bias, scores = _inner(problem, penalty, kept, w, now.bias, near, now.scores, now.slope)
    raise AssertionError("unreachable")


def _unpriced(problem: Problem) -> Problem:
    """Nothing is screened or scaled where nothing has a price: the slopes of a solution are 0."""
    blocks = problem.blocks
    return problem._replace(
        blocks=blocks._replace(weights=0.0 * blocks.weights, l1_weights=0.0 * blocks.l1_weights)
    )


def _most(problem: Problem) -> int:
    """Groups that may join a working set at once."""
    blocks = problem.blocks
    most = blocks.n_groups // FIRST_SHARE
    if problem.smooth.quadratic:
        most = max(most, problem.design.n_rows * blocks.n_groups // max(2 * len(blocks.members), 1))
    return most


def _record(turn: int, objective: float, remaining: float, certified: bool, held, alive) -> dict:
    return {
        "iteration": turn,
        "objective": objective,
        "gap" if certified else "violation": remaining,
        "groups": int(held.sum()),
        "screened": int((~alive).sum()),
    }


def _near(now: Look, alive, w, gap: float, enough: float, goal: float, whole: bool) -> float:
    """Distance to optimality that an inner solver goes to: a fraction of the present one, in
    slopes.

    From 0 it goes all the way where the working set is `whole`, with all groups that exceed their
    price. A distance times the length of the weights is about the gap that it leaves.
    """
    worst, length = max(float(now.excess[alive].max(initial=0.0)), 0.0), float(np.abs(w).sum())
    if length == 0.0:
        return (goal if whole else 0.1) * worst
    near = 0.2 * max(gap, enough) / length
    return max(min(0.1 * worst, near) if worst > 0.0 else near, 0.05 * enough / length)


def _without(blocks: Blocks, w, gone) -> np.ndarray:
    """Weights with some groups set to 0."""
    return np.where(np.repeat(gone, np.diff(blocks.starts).astype(np.int64))[:, None], 0.0, w)


def _working_set(excess, held, alive, size: int) -> np.ndarray:
    """Groups that have a weight or no price, and of the others those that exceed their price most,
    or come nearest to it.
    """
    order = np.where(alive & ~held, excess, -np.inf)
    more = max(size - int(held.sum()), 0)
    if more < len(order):
        top = np.argpartition(-order, more)[:more] if more else np.zeros(0, dtype=np.int64)
    else:
        top = np.arange(len(order))
    chosen = held.copy()
    chosen[top] = True
    return np.flatnonzero(chosen & alive)


def _inner(problem: Problem, penalty, kept, w, bias, enough: float, scores, slope):
    """Solve for some groups, the others at 0, from a point of that scores and slope; the new scores
    too, where they are known.
    """
    part, columns, places = part_blocks(problem.blocks, kept)
    small = np.zeros_like(w)
    if not len(places):
        return small, bias, None
    mine = np.ascontiguousarray(w[places])
    if problem.solver != "fista" and _has_model(problem, len(places)):
        small[places], bias, scores = newton(
            problem, part, columns, kept, penalty, mine, bias, enough, scores, slope[places]
        )
        return small, bias, scores
    design = problem.design
    if len(columns) < len(design.means):
        design = design.picked(columns)
    small[places], bias = fista(
        design, problem.smooth, part, penalty, mine, bias, enough, TURNS, problem.fit_intercept
    )
    return small, bias, None


def _has_model(problem: Problem, places: int) -> bool:
    """Whether Newton steps are worth their Gram matrix; with one output they can do without."""
    if shares_gram(problem):
        return problem.design.outputs == 1 or places <= LARGEST
    return places * problem.design.outputs <= JOINT
