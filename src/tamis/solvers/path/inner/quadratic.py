"""Minimise a quadratic model plus a block penalty by block coordinate descent with Anderson
extrapolation, and Newton steps on the support.
"""

from itertools import pairwise

import numpy as np

from tamis.solvers.path.inner.models import block_arrays
from tamis.solvers.path.loop import CoefBlocks, distance_blocks, support_derivatives, value_blocks
from tamis.terms.methods import largest_step

SWEEPS_PER_CYCLE = 5  # sweeps over the nonzero blocks after one over all blocks
MIN_MOVE_RATIO = 0.2  # move of a sweep over the tolerance, below which a cycle ends
MAX_CG_ITERATIONS = 60  # conjugate gradient iterations of a Newton step
MAX_CYCLES_WITHOUT_PROGRESS = 50  # after so many cycles, what remains is rounding


def solve_quadratic(
    model, w, blocks: CoefBlocks, penalty, tol: float, max_cycles: int = 400
) -> bool:
    """Minimise the model in place until the distance to the subdifferential is at most `tol`;
    return whether it was reached.
    """
    arrays, n_outputs = block_arrays(blocks), np.uint64(w.shape[1])
    lipschitz = model.blocks.lipschitz
    if largest_step(penalty) < np.inf:
        np.maximum(lipschitz, 1.0 / largest_step(penalty), out=lipschitz, where=lipschitz > 0.0)
    has_support_hessian = hasattr(penalty, "support_hessian")
    all_blocks = np.arange(blocks.n_groups, dtype=np.uint64)
    coord_blocks = block_of_coords(blocks)
    max_lipschitz = float(model.blocks.lipschitz.max(initial=0.0))
    best_distance, best_cycle = np.inf, 0
    for cycle in range(1, max_cycles + 1):
        model.sweep(w, all_blocks, penalty, 1)
        nonzero = np.unique(coord_blocks[w.any(axis=1)]).astype(np.uint64)
        points, previous_move = [(w.copy(), model.state())], 0.0
        for _ in range(SWEEPS_PER_CYCLE):
            model.sweep(w, nonzero, penalty, 1)
            points.append((w.copy(), model.state()))
            move = max_lipschitz * np.abs(points[-1][0] - points[-2][0]).max(initial=0.0)
            if move <= MIN_MOVE_RATIO * tol:
                break
            # Moves shrink by a constant factor a sweep, which predicts the next one.
            can_predict = model.has_costly_sweeps
            if can_predict and move * move <= MIN_MOVE_RATIO * tol * previous_move:
                break
            previous_move = move
        if len(points) > SWEEPS_PER_CYCLE:
            _extrapolate(model, w, points, arrays, penalty)
        gradient = np.ascontiguousarray(model.coef_gradient())
        distance = distance_blocks(w.ravel(), gradient.ravel(), *arrays, penalty, n_outputs)
        if distance <= tol:
            return True
        if distance < 0.99 * best_distance:
            best_distance, best_cycle = distance, cycle
        if cycle - best_cycle >= MAX_CYCLES_WITHOUT_PROGRESS:
            return False
        if has_support_hessian and n_outputs == 1 and cycle % model.newton_interval == 0:
            _newton_step(model, gradient[:, 0], w, blocks, coord_blocks, penalty)
    return False


def _extrapolate(model, w, points, arrays, penalty) -> None:
    """Take the Anderson extrapolation of the last sweeps if it lowers the objective; the state of a
    model is linear in the coefficients.
    """
    steps = np.array([(new[0] - old[0]).ravel() for old, new in pairwise(points)])
    products = steps @ steps.T
    largest = float(np.trace(products))
    if largest == 0.0:
        return
    ridge = 1e-10 * largest * np.eye(SWEEPS_PER_CYCLE)
    coefficients = np.linalg.solve(products + ridge, np.ones(SWEEPS_PER_CYCLE))
    coefficients /= coefficients.sum()
    n_outputs, old_state = np.uint64(w.shape[1]), model.state()
    objective = model.value(w) + value_blocks(w.ravel(), *arrays, penalty, n_outputs)
    new_w = sum(c * point for c, (point, _) in zip(coefficients, points[1:], strict=True))
    model.restore(sum(c * state for c, (_, state) in zip(coefficients, points[1:], strict=True)))
    if model.value(new_w) + value_blocks(new_w.ravel(), *arrays, penalty, n_outputs) < objective:
        w[:] = new_w
    else:
        model.restore(old_state)


def block_of_coords(blocks: CoefBlocks) -> np.ndarray:
    """Return the block of each stacked coordinate."""
    return np.repeat(np.arange(blocks.n_groups), np.diff(blocks.starts).astype(np.int64))


def _newton_step(model, model_gradient, w, blocks: CoefBlocks, coord_blocks, penalty) -> None:
    """Take a Newton step on the nonzero coordinates if it lowers the objective."""
    coords = np.flatnonzero(w[:, 0])
    if not len(coords):
        return
    nonzero, block = w[coords, 0], coord_blocks[coords]
    norms = np.sqrt(np.bincount(block, weights=nonzero**2, minlength=blocks.n_groups))
    direction = nonzero / norms[block]
    gradient, (hessian_across, hessian_along) = np.empty(len(w)), np.empty((2, blocks.n_groups))
    support_derivatives(
        w[:, 0].copy(),
        model_gradient,
        *block_arrays(blocks),
        penalty,
        gradient,
        hessian_across,
        hessian_along,
    )
    gradient = gradient[coords]
    hessian_across, hessian_along = hessian_across[block], hessian_along[block]
    model_hessian = model.hessian_operator(coords)

    def hessian(v):
        projections = np.bincount(block, weights=direction * v, minlength=blocks.n_groups)
        projection = projections[block]
        across = hessian_across * (v - direction * projection)
        return model_hessian(v) + across + hessian_along * direction * projection

    step = model.solve(coords, block, direction, hessian_across, hessian_along, -gradient)
    step = _conjugate_gradients(hessian, -gradient) if step is None else step
    penalty_args = (*block_arrays(blocks), penalty, np.uint64(1))
    penalty_value = value_blocks(w.ravel(), *penalty_args)
    keeps_signs = blocks.l1_weights[block].any() or getattr(penalty, "positive", 0.0)
    for length in (1.0, 0.5, 0.25, 0.1, 0.02):
        new_nonzero = nonzero + length * step
        if keeps_signs:
            new_nonzero = np.where(new_nonzero * nonzero > 0.0, new_nonzero, 0.0)
        trial, change = w.copy(), new_nonzero - nonzero
        trial[coords, 0] = new_nonzero
        effect, curvature = model.change_effect(coords, change)
        new_penalty_value = value_blocks(trial.ravel(), *penalty_args)
        model_change = model_gradient[coords] @ change + 0.5 * curvature
        if model_change + new_penalty_value - penalty_value < 0.0:
            w[:] = trial
            model.apply_change(effect)
            return


def _conjugate_gradients(hessian, rhs: np.ndarray) -> np.ndarray:
    """Return an approximate solution by conjugate gradients; after any number of iterations it is a
    descent direction.
    """
    step, residual = np.zeros_like(rhs), rhs.copy()
    direction, square = residual.copy(), float(residual @ residual)
    stop_square = 1e-4 * square
    for _ in range(MAX_CG_ITERATIONS):
        if square <= stop_square:
            break
        image = hessian(direction)
        curvature = float(direction @ image)
        if curvature <= 1e-14 * float(direction @ direction):
            break
        step += square / curvature * direction
        residual -= square / curvature * image
        square, previous_square = float(residual @ residual), square
        direction = residual + square / previous_square * direction
    return step
