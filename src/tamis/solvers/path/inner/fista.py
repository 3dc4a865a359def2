"""FISTA with adaptive restart for a smooth loss and a block penalty."""

import numpy as np

from tamis.solvers.path.loop import Blocks, distance_blocks, prox_blocks
from tamis.terms.methods import largest_step

# of the bound on a loss's curvature, to begin with: near the solution it may be far below
EASY = 2.0**-16
LOOK = 10  # iterations between two looks at the optimality
# of the curvature in one iteration; where so many do not help the numbers are beyond double
# precision
DOUBLINGS = 100


def spectral_bound(design, turns: int = 20) -> float:
    """Largest eigenvalue of the weighted Gram matrix by the power method, a little raised; steps
    that are too long are found out later.
    """
    v = np.random.default_rng(0).normal(size=(len(design.means), design.outputs))
    value = 1.0
    for _ in range(turns):
        v = design.slopes(design.weights[:, None] * design.scores(v))
        value = float(np.sqrt((v**2).sum()))
        if value == 0.0:
            return 1.0
        v = v / value
    return 1.02 * value


def fista(
    design, smooth, blocks: Blocks, penalty, w, bias, enough: float, turns: int, fit_intercept: bool
):
    """Weights (places, outputs) and intercepts of a problem, at most `turns` iterations from where
    it stands.

    The step is 1 over the curvature of the whole; columns are centred, so that the intercept has a
    share of its own. Where the quadratic bound fails the curvature is doubled (so is a first guess
    that was too low). Momentum is dropped when it points uphill (O'Donoghue and Candes).
    """
    parts, many = (blocks.starts, blocks.weights, blocks.l1_weights), np.uint64(w.shape[1])
    lipschitz = smooth.scale * max(
        spectral_bound(design) * blocks.overlap, 1.0 if fit_intercept else 0.0
    )
    if not smooth.quadratic:
        lipschitz *= EASY
    lipschitz = max(lipschitz, 1.0 / largest_step(penalty))
    ahead, level, speed = w.copy(), bias.copy(), 1.0
    # At w, and ahead of it; they are linear in the weights.
    here = scores = design.scores(blocks.gathered(w)) + design.level(bias)
    for turn in range(1, turns + 1):
        value = smooth.value(scores)
        residuals = smooth.weights[:, None] * smooth.gradient(scores)
        slope, gradient = blocks.stacked(design.slopes(residuals)), design.total(residuals)
        for _ in range(DOUBLINGS):
            moved = np.ascontiguousarray(ahead - slope / lipschitz)
            prox_blocks(moved.ravel(), 1.0 / lipschitz, *parts, penalty, many, moved.ravel())
            raised = level - gradient / lipschitz if fit_intercept else level
            step, lift = moved - ahead, raised - level
            rise = (slope * step).sum() + gradient @ lift
            bound = value + rise + 0.5 * lipschitz * ((step**2).sum() + lift @ lift)
            there = design.scores(blocks.gathered(moved)) + design.level(raised)
            if smooth.value(there) <= bound + 1e-12 * abs(value):
                break
            lipschitz *= 2.0
        else:
            return w, bias
        if turn % LOOK == 0:
            distance = distance_blocks(ahead.ravel(), slope.ravel(), *parts, penalty, many)
            if distance <= enough:
                return ahead, level
        if (-step * (moved - w)).sum() - lift @ (raised - bias) > 0.0:
            speed = 1.0
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed * speed))
        push = (speed - 1.0) / after
        ahead, level = moved + push * (moved - w), raised + push * (raised - bias)
        scores = there + push * (there - here)
        w, bias, here, speed = moved, raised, there, after
    return w, bias
