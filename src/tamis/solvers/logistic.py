"""Logistic regressions on few columns each, side by side over the same blocks of rows, by Newton's
method.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy.special import expit

MAX_STEPS = 50
MAX_MOVE = 3.0  # of a weight in a step
MIN_MOVE = 1e-8  # ends the steps
MIN_GAIN = 1e-10  # of the loss, by a step with a fresh Hessian: less ends them too
FAST_SHRINKAGE = 0.25  # a move over the last one, up to which a Hessian is good enough
RIDGE = 1e-8  # of the rows, on the diagonal of the Hessian


def logistic_newton(
    blocks: Callable[[], Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]],
    outputs: Sequence[int],
    columns: Sequence[np.ndarray],
    starts: Sequence[np.ndarray],
    total_weight: float,
    prior_sizes: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Return the weights of regressions of a target on some columns each.

    `blocks()` goes over the rows: columns, targets (0 and 1; an output a column) and row weights,
    which have the sum `total_weight`. Regression k is that of target ``outputs[k]`` on
    ``columns[k]``, from the weights ``starts[k]``. With `prior_sizes` it has one more row, in which
    its last column alone has this value, half in each class: weights stay finite where a column
    parts the classes.
    """
    weights = list(starts)
    previous = [start.copy() for start in starts]
    hessians: dict[int, np.ndarray] = {}
    count = len(weights)
    best_loss, last_move = np.full(count, np.inf), np.full(count, np.inf)
    n_steps = np.zeros(count, dtype=int)
    active = list(range(count))
    while active:
        # A Hessian costs as much as all its columns: one is kept as long as moves shrink well.
        fresh = [k for k in active if k not in hessians]
        hessians |= {k: np.zeros((len(weights[k]), len(weights[k]))) for k in fresh}
        gradients = {k: np.zeros(len(weights[k])) for k in active}
        losses = dict.fromkeys(active, 0.0)
        for table, targets, row_weights in blocks():
            for k in active:
                X, y = table[:, columns[k]], targets[:, outputs[k]]
                scores = X @ weights[k]
                probabilities = expit(scores)
                losses[k] += float(row_weights @ (np.logaddexp(0.0, scores) - y * scores))
                gradients[k] += X.T @ (row_weights * (y - probabilities))
                if k in fresh:
                    curvature = row_weights * probabilities * (1.0 - probabilities)
                    hessians[k] += X.T @ (X * curvature[:, None])
        if prior_sizes is not None:
            for k in active:
                size = prior_sizes[k]
                probability = expit(size * weights[k][-1])
                variance = probability * (1.0 - probability)
                losses[k] -= 0.5 * float(np.log(np.maximum(variance, 1e-300)))
                gradients[k][-1] += size * (0.5 - probability)
                if k in fresh:
                    hessians[k][-1, -1] += size**2 * probability * (1.0 - probability)
        for k in list(active):
            n_steps[k] += 1
            if n_steps[k] > MAX_STEPS:
                active.remove(k)
            elif losses[k] > best_loss[k] + 1e-12 * abs(best_loss[k]):  # too far: half of the way
                weights[k] = 0.5 * (weights[k] + previous[k])
                del hessians[k]
            else:
                step = solve_ridge(hessians[k], gradients[k], RIDGE * total_weight)
                move, gain = float(np.abs(step).max()), best_loss[k] - losses[k]
                best_loss[k], previous[k] = losses[k], weights[k]
                weights[k] = weights[k] + step * min(1.0, MAX_MOVE / max(move, 1e-300))
                # A weight that goes on and on, for its column parts the classes, gains nothing.
                is_idle = k in fresh and gain < MIN_GAIN * abs(losses[k])
                if move < MIN_MOVE or is_idle:
                    active.remove(k)
                elif move > FAST_SHRINKAGE * last_move[k] or move > 1.0:
                    del hessians[k]
                last_move[k] = move
    return weights


def solve_ridge(gram: np.ndarray, wanted: np.ndarray, ridge: float) -> np.ndarray:
    """Solve a symmetric system with a little on its diagonal."""
    gram = gram.copy()
    gram.flat[:: len(gram) + 1] += ridge
    try:
        return np.linalg.solve(gram, wanted)
    except np.linalg.LinAlgError:  # rounding has left nothing on the diagonal
        return np.linalg.lstsq(gram, wanted, rcond=None)[0]
