"""FISTA with adaptive restart for a smooth loss and a block penalty."""

import numpy as np

from tamis.solvers.path.loop import CoefBlocks, distance_blocks, prox_blocks
from tamis.terms.methods import largest_step

# Initial curvature over its upper bound: near the solution, the curvature may be far smaller.
INITIAL_CURVATURE_RATIO = 2.0**-16
CHECK_INTERVAL = 10  # iterations between two checks of optimality
# Doublings of the curvature in one iteration; if they do not suffice, numbers have overflowed.
DOUBLINGS = 100


def spectral_bound(design, n_iterations: int = 20) -> float:
    """Return the largest eigenvalue of the weighted Gram matrix by the power method, plus 2 %. It
    may be too small; FISTA notices steps that are too long.
    """
    v = np.random.default_rng(0).normal(size=(len(design.means), design.outputs))
    value = 1.0
    for _ in range(n_iterations):
        v = design.coef_gradient(design.weights[:, None] * design.scores(v))
        value = float(np.sqrt((v**2).sum()))
        if value == 0.0:
            return 1.0
        v = v / value
    return 1.02 * value


def fista(
    design,
    bound_loss,
    blocks: CoefBlocks,
    penalty,
    w,
    bias,
    tol: float,
    max_iter: int,
    fit_intercept: bool,
):
    """Return the stacked coefficients and intercepts after at most `max_iter` iterations from `w`
    and `bias`.

    The step is 1 over the curvature of the whole loss; columns are centred, so that the intercept
    adds its own curvature. Where the quadratic upper bound fails, the curvature is doubled; the
    first guess is too low on purpose. Momentum restarts when it points uphill (O'Donoghue and
    Candes).
    """
    arrays, n_outputs = (blocks.starts, blocks.weights, blocks.l1_weights), np.uint64(w.shape[1])
    lipschitz = bound_loss.hessian_scale * max(
        spectral_bound(design) * blocks.overlap, 1.0 if fit_intercept else 0.0
    )
    if not bound_loss.is_quadratic:
        lipschitz *= INITIAL_CURVATURE_RATIO
    lipschitz = max(lipschitz, 1.0 / largest_step(penalty))
    extrapolated_w, extrapolated_bias, momentum = w.copy(), bias.copy(), 1.0
    # Scores at w and at the extrapolated point; they are linear in the coefficients.
    w_scores = scores = design.scores(blocks.sum_copies(w)) + design.intercept_scores(bias)
    for iteration in range(1, max_iter + 1):
        value = bound_loss.value(scores)
        weighted_gradients = bound_loss.weights[:, None] * bound_loss.gradient(scores)
        w_gradient = blocks.to_stacked(design.coef_gradient(weighted_gradients))
        bias_gradient = design.sum_by_output(weighted_gradients)
        for _ in range(DOUBLINGS):
            new_w = np.ascontiguousarray(extrapolated_w - w_gradient / lipschitz)
            prox_blocks(new_w.ravel(), 1.0 / lipschitz, *arrays, penalty, n_outputs, new_w.ravel())
            new_bias = extrapolated_bias
            if fit_intercept:
                new_bias = extrapolated_bias - bias_gradient / lipschitz
            w_step, bias_step = new_w - extrapolated_w, new_bias - extrapolated_bias
            linear_term = (w_gradient * w_step).sum() + bias_gradient @ bias_step
            step_square = (w_step**2).sum() + bias_step @ bias_step
            bound = value + linear_term + 0.5 * lipschitz * step_square
            new_scores = design.scores(blocks.sum_copies(new_w)) + design.intercept_scores(new_bias)
            if bound_loss.value(new_scores) <= bound + 1e-12 * abs(value):
                break
            lipschitz *= 2.0
        else:
            return w, bias
        if iteration % CHECK_INTERVAL == 0:
            distance = distance_blocks(
                extrapolated_w.ravel(), w_gradient.ravel(), *arrays, penalty, n_outputs
            )
            if distance <= tol:
                return extrapolated_w, extrapolated_bias
        if (-w_step * (new_w - w)).sum() - bias_step @ (new_bias - bias) > 0.0:
            momentum = 1.0
        new_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        extrapolation = (momentum - 1.0) / new_momentum
        extrapolated_w = new_w + extrapolation * (new_w - w)
        extrapolated_bias = new_bias + extrapolation * (new_bias - bias)
        scores = new_scores + extrapolation * (new_scores - w_scores)
        w, bias, w_scores, momentum = new_w, new_bias, new_scores, new_momentum
    return w, bias
