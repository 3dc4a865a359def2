"""Many small logistic regressions that share passes over blocks of rows, by Newton's method."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy.special import expit

MAX_ITERATIONS = 50  # Newton steps of one regression
MAX_STEP = 3.0  # largest change of a weight in one step
MIN_STEP = 1e-8  # a regression ends when no weight changes by more
# ... or when a step with a new Hessian lowers the loss by less than this fraction.
MIN_RELATIVE_DECREASE = 1e-10
# A Hessian is used again while each step is at most this fraction of the step before.
MAX_STEP_RATIO = 0.25
RELATIVE_RIDGE = 1e-8  # added to the diagonal of the Hessian, times the total weight


def logistic_newton(
    blocks: Callable[[], Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]],
    outputs: Sequence[int],
    columns: Sequence[np.ndarray],
    starts: Sequence[np.ndarray],
    total_weight: float,
    prior_row_values: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Return the weights of every regression.

    ``blocks()`` iterates over the rows: columns, targets (0 or 1, one output a column) and row
    weights, whose sum is `total_weight`. Regression k fits target ``outputs[k]`` on ``columns[k]``
    from the weights ``starts[k]``. `prior_row_values` adds one row to each regression: its last
    column has this value, its other columns are 0, and half of it is in each class. It keeps
    weights finite where a column separates the classes.
    """
    weights = list(starts)
    previous = [start.copy() for start in starts]
    hessians: dict[int, np.ndarray] = {}
    n_regressions = len(weights)
    best_loss, last_step = np.full(n_regressions, np.inf), np.full(n_regressions, np.inf)
    n_iterations = np.zeros(n_regressions, dtype=int)
    active = list(range(n_regressions))
    while active:
        # A Hessian costs as many products as it has columns, so that it is used again as long as
        # the steps shrink fast.
        with_new_hessian = [k for k in active if k not in hessians]
        hessians |= {k: np.zeros((len(weights[k]), len(weights[k]))) for k in with_new_hessian}
        gradients = {k: np.zeros(len(weights[k])) for k in active}
        losses = dict.fromkeys(active, 0.0)
        for X_block, targets, row_weights in blocks():
            for k in active:
                X, y = X_block[:, columns[k]], targets[:, outputs[k]]
                scores = X @ weights[k]
                probabilities = expit(scores)
                losses[k] += float(row_weights @ (np.logaddexp(0.0, scores) - y * scores))
                gradients[k] += X.T @ (row_weights * (y - probabilities))
                if k in with_new_hessian:
                    curvature = row_weights * probabilities * (1.0 - probabilities)
                    hessians[k] += X.T @ (X * curvature[:, None])
        if prior_row_values is not None:
            for k in active:
                prior_value = prior_row_values[k]
                probability = expit(prior_value * weights[k][-1])
                variance = probability * (1.0 - probability)
                losses[k] -= 0.5 * float(np.log(np.maximum(variance, 1e-300)))
                gradients[k][-1] += prior_value * (0.5 - probability)
                if k in with_new_hessian:
                    hessians[k][-1, -1] += prior_value**2 * probability * (1.0 - probability)
        for k in list(active):
            n_iterations[k] += 1
            if n_iterations[k] > MAX_ITERATIONS:
                active.remove(k)
            elif losses[k] > best_loss[k] + 1e-12 * abs(best_loss[k]):  # overshoot: halve the step
                weights[k] = 0.5 * (weights[k] + previous[k])
                del hessians[k]
            else:
                step = solve_ridge(hessians[k], gradients[k], RELATIVE_RIDGE * total_weight)
                step_size, decrease = float(np.abs(step).max()), best_loss[k] - losses[k]
                best_loss[k], previous[k] = losses[k], weights[k]
                weights[k] = weights[k] + step * min(1.0, MAX_STEP / max(step_size, 1e-300))
                # The weight of a column that separates the classes grows without end, but does
                # not lower the loss.
                has_stalled = k in with_new_hessian and decrease < MIN_RELATIVE_DECREASE * abs(
                    losses[k]
                )
                if step_size < MIN_STEP or has_stalled:
                    active.remove(k)
                elif step_size > MAX_STEP_RATIO * last_step[k] or step_size > 1.0:
                    del hessians[k]
                last_step[k] = step_size
    return weights


def solve_ridge(gram: np.ndarray, right_side: np.ndarray, ridge: float) -> np.ndarray:
    """Solve a symmetric system after adding `ridge` to its diagonal."""
    gram = gram.copy()
    gram.flat[:: len(gram) + 1] += ridge
    try:
        return np.linalg.solve(gram, right_side)
    except np.linalg.LinAlgError:  # singular after rounding
        return np.linalg.lstsq(gram, right_side, rcond=None)[0]
