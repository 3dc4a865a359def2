"""A quadratic model with a block penalty, solved by extrapolated sweeps over the blocks and Newton
steps on the support.
"""

from itertools import pairwise

import numpy as np

from tamis.solvers.path.inner.models import parts_of
from tamis.solvers.path.loop import Blocks, distance_blocks, support_blocks, value_blocks
from tamis.terms.methods import largest_step

SWEEPS = 5  # over the blocks in use, after one over all; they are extrapolated
SETTLED = 0.2  # of the distance wanted: a sweep that moves less ends them
CONJUGATE = 60  # most conjugate gradient iterations of a Newton step
PATIENCE = 50  # turns that may come no nearer to optimality: beyond them is rounding


def solve_quadratic(model, w, blocks: Blocks, penalty, enough: float, turns: int = 400) -> bool:
    """Minimise the model in place until the distance to optimality is `enough`; whether it came so
    far.
    """
    parts, many = parts_of(blocks), np.uint64(w.shape[1])
    steps = model.blocks.lipschitz  # 1 over each
    if largest_step(penalty) < np.inf:
        np.maximum(steps, 1.0 / largest_step(penalty), out=steps, where=steps > 0.0)
    curved = hasattr(penalty, "support_hessian")
    everywhere, group = np.arange(blocks.n_groups, dtype=np.uint64), group_of(blocks)
    steepest, nearest, since = float(model.blocks.lipschitz.max(initial=0.0)), np.inf, 0
    for turn in range(1, turns + 1):
        model.sweep(w, everywhere, penalty, 1)
        used = np.unique(group[w.any(axis=1)]).astype(np.uint64)
        trail, last = [(w.copy(), model.state())], 0.0
        for _ in range(SWEEPS):
            model.sweep(w, used, penalty, 1)
            trail.append((w.copy(), model.state()))
            move = steepest * np.abs(trail[-1][0] - trail[-2][0]).max(initial=0.0)
            # Moves fall by a factor a sweep: the next one is what is left.
            if move <= SETTLED * enough or (model.dear and move * move <= SETTLED * enough * last):
                break
            last = move
        if len(trail) > SWEEPS:
            _extrapolate(model, w, trail, parts, penalty)
        slope = np.ascontiguousarray(model.slopes())
        distance = distance_blocks(w.ravel(), slope.ravel(), *parts, penalty, many)
        if distance <= enough:
            return True
        nearest, since = (distance, turn) if distance < 0.99 * nearest else (nearest, since)
        if turn - since >= PATIENCE:
            return False
        if curved and many == 1 and turn % model.patience == 0:
            _newton(model, slope[:, 0], w, blocks, group, penalty)
    return False


def _extrapolate(model, w, trail, parts, penalty) -> None:
    """Anderson's extrapolation of the last sweeps, where it lowers the objective: the state of a
    model is linear in the weights.
    """
    steps = np.array([(after[0] - before[0]).ravel() for before, after in pairwise(trail)])
    products = steps @ steps.T
    largest = float(np.trace(products))
    if largest == 0.0:
        return
    shares = np.linalg.solve(products + 1e-10 * largest * np.eye(SWEEPS), np.ones(SWEEPS))
    shares /= shares.sum()
    many, now = np.uint64(w.shape[1]), model.state()
    before = model.value(w) + value_blocks(w.ravel(), *parts, penalty, many)
    ahead = sum(share * place for share, (place, _) in zip(shares, trail[1:], strict=True))
    model.restore(sum(share * state for share, (_, state) in zip(shares, trail[1:], strict=True)))
    if model.value(ahead) + value_blocks(ahead.ravel(), *parts, penalty, many) < before:
        w[:] = ahead
    else:
        model.restore(now)


def group_of(blocks: Blocks) -> np.ndarray:
    """Group of each place."""
    return np.repeat(np.arange(blocks.n_groups), np.diff(blocks.starts).astype(np.int64))


def _newton(model, slope, w, blocks: Blocks, group, penalty) -> None:
    """A Newton step on the cells that are not 0, where it lowers the objective."""
    at = np.flatnonzero(w[:, 0])
    if not len(at):
        return
    now, mine = w[at, 0], group[at]
    norms = np.sqrt(np.bincount(mine, weights=now**2, minlength=blocks.n_groups))
    unit = now / norms[mine]
    gradient, (across, along) = np.empty(len(w)), np.empty((2, blocks.n_groups))
    support_blocks(w[:, 0].copy(), slope, *parts_of(blocks), penalty, gradient, across, along)
    gradient, across, along = gradient[at], across[mine], along[mine]
    curve = model.hessian(at)

    def hessian(v):
        ahead = np.bincount(mine, weights=unit * v, minlength=blocks.n_groups)[mine]
        return curve(v) + across * (v - unit * ahead) + along * unit * ahead

    step = model.solve(at, mine, unit, across, along, -gradient)
    step = _conjugate(hessian, -gradient) if step is None else step
    parts = (*parts_of(blocks), penalty, np.uint64(1))
    before = value_blocks(w.ravel(), *parts)
    signed = blocks.l1_weights[mine].any() or getattr(penalty, "positive", 0.0)
    for length in (1.0, 0.5, 0.25, 0.1, 0.02):
        moved = now + length * step
        if signed:
            moved = np.where(moved * now > 0.0, moved, 0.0)
        trial, change = w.copy(), moved - now
        trial[at, 0] = moved
        image, bent = model.image(at, change)
        after = value_blocks(trial.ravel(), *parts)
        if slope[at] @ change + 0.5 * bent + after - before < 0.0:
            w[:] = trial
            model.move(image)
            return


def _conjugate(hessian, wanted: np.ndarray) -> np.ndarray:
    """Conjugate gradients, ended early: any number of iterations gives a direction downhill."""
    step, rest = np.zeros_like(wanted), wanted.copy()
    ahead, square = rest.copy(), float(rest @ rest)
    goal = 1e-4 * square
    for _ in range(CONJUGATE):
        if square <= goal:
            break
        image = hessian(ahead)
        curve = float(ahead @ image)
        if curve <= 1e-14 * float(ahead @ ahead):
            break
        step += square / curve * ahead
        rest -= square / curve * image
        square, before = float(rest @ rest), square
        ahead = rest + square / before * ahead
    return step
