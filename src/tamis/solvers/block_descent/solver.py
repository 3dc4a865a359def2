"""Batch solver for block penalties: working sets, gap-safe screening, and the duality gap as the
rule for stopping.
"""

from typing import NamedTuple

import numpy as np

from tamis.solvers.block_descent.design import Design, TaskDesign
from tamis.solvers.block_descent.fista import fista
from tamis.solvers.block_descent.loop import weigh_blocks
from tamis.solvers.block_descent.loop_blocks import Blocks, dual_blocks, value_blocks
from tamis.solvers.block_descent.losses import RowLosses, Softmax
from tamis.solvers.block_descent.models import GramStore, parts_of
from tamis.solvers.block_descent.newton import JOINT, LARGEST, newton, shares_gram

FIRST = 10  # groups in the first working set at least
# one in so many groups may join a working set at once, or, under the squared loss, groups of half
# as many places as there are rows
FIRST_SHARE = 10
NEAR = 0.1  # of the loss of the empty model: a gap above it screens nothing, as a rule
ROUNDING = (
    1e-12  # of the objective: a gap below it is noise, and no proof that a group at its price is 0
)
TURNS = 200  # most iterations of FISTA between two looks at all columns
# iterations in a row that may win no hundredth of the gap: each asks more of the inner solver than
# the last
PATIENCE = 10


class Problem(NamedTuple):
    """What is minimised: a table, a loss of its rows, groups of columns; and which inner solver
    works on them.
    """

    design: Design | TaskDesign
    smooth: RowLosses | Softmax
    blocks: Blocks
    fit_intercept: bool
    solver: str
    store: GramStore


class Outcome(NamedTuple):
    """Weights of the places and intercepts (of centred columns), the certificate, and what
    happened.
    """

    w: np.ndarray
    bias: np.ndarray
    gap: float
    objective: float
    history: list
    scale: float  # loss of the best intercept alone, which the gap is measured by
    stalled: bool = False  # whether it ended for rounding let the gap fall no further


class Look(NamedTuple):
    """A point seen from all columns: scores and slopes, primal value, gap, and how each block
    stands.
    """

    bias: np.ndarray
    scores: np.ndarray
    slope: np.ndarray
    objective: float
    gap: float
    excess: np.ndarray
    safe: np.ndarray


def empty(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Weights of 0 and no intercept."""
    return np.zeros((len(problem.blocks.members), problem.design.outputs)), np.zeros(
        problem.design.outputs
    )


def largest_alpha(problem: Problem, penalty) -> float:
    """The smallest alpha whose solution holds no penalised weight."""
    w, bias = empty(problem)
    bias, scores, _, slope = _seen(problem, w, bias)
    free = ~_penalised(problem.blocks)
    if free.any():
        w, bias, scores = _inner(
            problem,
            penalty._replace(alpha=1.0),
            np.flatnonzero(free),
            w,
            bias,
            1e-10,
            scores,
            slope,
        )
        bias, scores, _, slope = _seen(problem, w, bias, scores)
    return float(
        dual_blocks(
            slope.ravel(), *parts_of(problem.blocks), penalty, np.uint64(problem.design.outputs)
        )
    )


def solve(
    problem: Problem, penalty, tol: float, max_iter: int, start=None, largest: float = 0.0
) -> Outcome:
    """Minimise from `start` until the duality gap is at most `tol` times the loss of the best
    intercept alone.

    `largest` is the strength that keeps nothing, where it is known: one that is lost beside it in
    rounding is none. Where iterations come to nothing it ends: what is left of the gap is rounding.
    Where they leave the finite numbers, the last point before stays.
    """
    if penalty.alpha <= ROUNDING * largest or penalty.alpha == 0.0:
        # Nothing is screened or scaled where nothing has a price: the slopes of a solution are 0.
        problem = problem._replace(
            blocks=problem.blocks._replace(
                weights=0.0 * problem.blocks.weights, l1_weights=0.0 * problem.blocks.l1_weights
            )
        )
    blocks, penalised = problem.blocks, _penalised(problem.blocks)
    w, bias = empty(problem) if start is None else (start[0].copy(), start[1].copy())
    scale, scores = tol * _empty_loss(problem), None
    history: list[dict] = []
    alive, size, best, care, before = (
        np.ones(blocks.n_groups, dtype=bool),
        FIRST,
        -np.inf,
        1.0,
        np.inf,
    )
    idle, lowest, found = (
        0,
        (np.inf, np.inf),
        Outcome(w, bias, np.inf, np.inf, history, scale / tol),
    )
    most = blocks.n_groups // FIRST_SHARE
    if problem.smooth.quadratic:
        most = max(most, problem.design.n_rows * blocks.n_groups // max(2 * len(blocks.members), 1))
    for turn in range(1, max_iter + 1):
        look, dual = _look(problem, penalty, scale, scale / tol, w, bias, scores)
        bias, best = look.bias, max(best, dual)
        gap = min(look.gap, max(look.objective - best, 0.0) + look.gap - (look.objective - dual))
        if not np.isfinite(look.objective + gap):
            return found._replace(stalled=True)
        alive &= ~(look.safe > 0) | ~penalised
        used = _used(blocks, w)
        history.append(
            {
                "iteration": turn,
                "objective": look.objective,
                "gap": gap,
                "groups": int(used.sum()),
                "screened": int((~alive).sum()),
            }
        )
        found = Outcome(w, bias, gap, look.objective, history, scale / tol)
        idle = (
            idle + 1 if lowest[0] - look.objective <= 0.01 * gap and gap >= 0.99 * lowest[1] else 0
        )
        lowest = min(lowest[0], look.objective), min(lowest[1], gap)
        if gap <= scale or turn == max_iter or idle == PATIENCE:
            return found._replace(stalled=gap > scale and idle == PATIENCE)
        care = (
            0.1 * care if before - look.objective <= 0.01 * gap else 1.0
        )  # the inner solver thought itself done, and is not
        before = look.objective
        if (used & ~alive).any():
            w, used = _without(blocks, w, ~alive), used & alive
            look, _ = _look(problem, penalty, np.inf, 0.0, w, bias)
        beyond = int((look.excess > 0.0).sum())
        size = max(size, 2 * int(used.sum()), min(int(used.sum()) + beyond, most))
        if problem.solver == "fista":
            kept = np.flatnonzero(alive)
        else:
            kept = _working_set(look.excess, used | ~penalised, alive, size)
        enough = care * _enough(
            look, alive, w, gap, scale, tol, problem.smooth.quadratic and beyond <= size
        )
        w, bias, scores = _inner(
            problem, penalty, kept, w, look.bias, enough, look.scores, look.slope
        )
    raise AssertionError("unreachable")


def _penalised(blocks: Blocks) -> np.ndarray:
    return (blocks.weights > 0.0) | (blocks.l1_weights > 0.0)


def _enough(look: Look, alive, w, gap: float, scale: float, goal: float, whole: bool) -> float:
    """Distance to optimality that an inner solver goes to: a fraction of the present one, in
    slopes.

    From 0 it goes all the way where the working set is `whole`, with all groups that exceed their
    price. A distance times the length of the weights is about the gap that it leaves.
    """
    worst, length = max(float(look.excess[alive].max(initial=0.0)), 0.0), float(np.abs(w).sum())
    if length == 0.0:
        return (goal if whole else 0.1) * worst
    near = 0.2 * max(gap, scale) / length
    return max(min(0.1 * worst, near) if worst > 0.0 else near, 0.05 * scale / length)


def _scores(problem: Problem, w, bias) -> np.ndarray:
    return problem.design.scores(problem.blocks.gathered(w)) + problem.design.level(bias)


def _empty_loss(problem: Problem) -> float:
    """Loss of the best intercept alone (without one, of scores 0)."""
    w, bias = empty(problem)
    scores = _scores(problem, w, bias)
    if problem.fit_intercept:
        _, scores = problem.smooth.center(problem.design, scores, bias)
    return max(problem.smooth.value(scores), 1e-300)


def _seen(problem: Problem, w, bias, scores=None):
    """Best intercepts at some weights, scores (given, where they are known), slopes of the rows,
    and slopes of the places.
    """
    design, smooth = problem.design, problem.smooth
    scores = _scores(problem, w, bias) if scores is None else scores
    if problem.fit_intercept:
        bias, scores = smooth.center(design, scores, bias)
    slopes = smooth.slopes(scores)
    return (
        bias,
        scores,
        slopes,
        problem.blocks.stacked(design.slopes(smooth.weights[:, None] * slopes)),
    )


def _look(
    problem: Problem, penalty, done: float, loss: float, w, bias, scores=None
) -> tuple[Look, float]:
    """All that one pass over the table tells, and the dual value.

    Nothing is screened while the gap is near the loss of the empty model, where it proves nothing,
    nor once the gap is `done`.
    """
    design, smooth, blocks = problem.design, problem.smooth, problem.blocks
    parts, many = parts_of(blocks), np.uint64(design.outputs)
    bias, scores, slopes, slope = _seen(problem, w, bias, scores)
    objective = smooth.value(scores) + value_blocks(w.ravel(), *parts, penalty, many)
    reach = dual_blocks(slope.ravel(), *parts, penalty, many)
    shrink = min(1.0, penalty.alpha / reach) if reach > 0.0 else 1.0
    dual = smooth.dual(shrink * slopes)
    gap = max(objective - dual, 0.0) + _free_slack(problem, penalty, w, slope)
    excess, safe = np.empty(blocks.n_groups), np.zeros(blocks.n_groups, dtype=np.int64)
    if done < gap <= NEAR * loss:
        radius = np.sqrt(2.0 * smooth.bend * (gap + ROUNDING * abs(objective)))
        weigh_blocks(
            (shrink * slope).ravel(),
            *parts,
            blocks.stacked(design.norms()),
            radius,
            penalty,
            many,
            excess,
            safe,
        )
    weigh_blocks(
        slope.ravel(), *parts, np.zeros(len(slope)), 0.0, penalty, many, excess, np.empty_like(safe)
    )
    return Look(bias, scores, slope, objective, gap, excess, safe), dual


def _free_slack(problem: Problem, penalty, w, slope) -> float:
    """What is left to gain in places that are not penalised, whose slope the dual wants to be 0."""
    blocks = problem.blocks
    free = ~_penalised(blocks)
    if not free.any():
        return 0.0
    free = np.repeat(free, np.diff(blocks.starts).astype(np.int64))
    off, norms = slope[free], blocks.stacked(problem.design.norms())
    if penalty.positive:
        off = np.where(w[free] > 0.0, off, np.minimum(off, 0.0))
    reach = np.maximum(np.abs(w[free]), np.abs(off) / np.maximum(norms[free, None], 1e-150) ** 2)
    return float((np.abs(off) * np.where(norms[free, None] > 0.0, reach, 0.0)).sum())


def _used(blocks: Blocks, w) -> np.ndarray:
    """Which groups have a weight."""
    filled = np.concatenate([[0], np.cumsum(w.any(axis=1))])
    starts = blocks.starts.astype(np.int64)
    return filled[starts[1:]] > filled[starts[:-1]]


def _without(blocks: Blocks, w, gone) -> np.ndarray:
    """Weights with some groups set to 0."""
    return (
        np.where(np.repeat(gone, np.diff(blocks.starts).astype(np.int64))[:, None], 0.0, w)
        if gone.any()
        else w
    )


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


def part_blocks(blocks: Blocks, kept: np.ndarray) -> tuple[Blocks, np.ndarray, np.ndarray]:
    """Some groups as blocks of their own over the columns they hold; those columns, and the places
    they were at.
    """
    starts = blocks.starts.astype(np.int64)
    sizes = np.diff(starts)[kept]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(ends[-1]) + np.repeat(starts[kept] - ends[:-1], sizes)
    columns, members = np.unique(blocks.members[places].astype(np.int64), return_inverse=True)
    part = Blocks(
        members.astype(np.uint64),
        ends.astype(np.uint64),
        blocks.weights[kept],
        blocks.l1_weights[kept],
        len(columns),
    )
    return part, columns, places


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
    design = (
        problem.design
        if len(columns) == len(problem.design.means)
        else problem.design.picked(columns)
    )
    small[places], bias = fista(
        design, problem.smooth, part, penalty, mine, bias, enough, TURNS, problem.fit_intercept
    )
    return small, bias, None


def _has_model(problem: Problem, places: int) -> bool:
    """Whether Newton steps are worth their Gram matrix; with one output they can do without."""
    if shares_gram(problem):
        return problem.design.outputs == 1 or places <= LARGEST
    return places * problem.design.outputs <= JOINT
