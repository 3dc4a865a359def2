"""Dual averaging with mini-batches: gradients of many rows at the same weights, then one step.

O. Dekel, R. Gilad-Bachrach, O. Shamir and L. Xiao, "Optimal Distributed Online Prediction Using
Mini-Batches", Journal of Machine Learning Research 13, 2012, algorithm 4 and section 4.
"""

from copy import copy
from typing import NamedTuple

import numpy as np

from tamis.numerics.csr import Csr
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.first_order.loop import FREE, INTERCEPT_STEP_RATIO
from tamis.solvers.first_order.loop_batch import sum_gradients
from tamis.solvers.first_order.state import FirstOrderState
from tamis.terms.learning_rates import descent_eta
from tamis.terms.methods import LazyState


class GradientSums(NamedTuple):
    """Sums over rows at fixed weights."""

    gradient: np.ndarray  # one number a cell
    intercept_gradient: np.ndarray  # one number an output
    losses: np.ndarray  # one number an output
    row_stats: np.ndarray  # rows, norms, gradients at score 0, weights

    @classmethod
    def zeros(cls, solver_state: FirstOrderState) -> "GradientSums":
        """Return the sums of no rows."""
        outputs = solver_state.outputs
        return cls(
            np.zeros(solver_state.state.shape[1]), np.zeros(outputs), np.zeros(outputs), np.zeros(4)
        )

    def add_rows(
        self, solver_state: FirstOrderState, rows: Csr, targets: EncodedTargets, weights
    ) -> None:
        """Add rows at the present weights of the model."""
        loss, penalty, optimizer, _ = solver_state.terms
        lazies = (solver_state.lazy, solver_state.bias_lazy)
        row_arrays = (*rows[:3], targets.columns, weights)
        cells = (solver_state.state, solver_state.bias)
        sum_gradients(
            row_arrays, cells, loss, penalty, optimizer, lazies, solver_state.flags[0], tuple(self)
        )

    def merged(self, other: "GradientSums") -> "GradientSums":
        """Return the sums of the rows of both."""
        return GradientSums(*(left + right for left, right in zip(self, other, strict=True)))


def dual_averaging_step(
    solver_state: FirstOrderState, sums: GradientSums, mean_square: float
) -> FirstOrderState:
    """Return the state after one step of dual averaging by all these rows at once.

    A row counts as in the pass, but a step by b rows at the same weights would overshoot. So the
    curvature of their loss is added to 1 / eta: b times the Hessian bound of the loss times
    `mean_square`, the largest mean square of the rows along one direction.
    """
    rows, norms, gradients_at_zero, weight = sums.row_stats.tolist()
    if not rows:
        return solver_state
    loss, penalty, optimizer, learning_rate = solver_state.terms
    _, auto_eta, auto_alpha = solver_state.flags
    old_count, new_count = solver_state.lazy[0], solver_state.lazy[0] + rows
    norm = (solver_state.stats[0] * old_count + norms) / new_count
    gradient = (solver_state.stats[1] * old_count + gradients_at_zero) / new_count
    penalty_scales = (gradient * norm, norm * norm) if auto_alpha else (1.0, 1.0)
    step_scaling, intercept_ratio, step = 1.0, 1.0, learning_rate.step_size(new_count, 1.0, 1.0)
    if auto_eta:
        step_scaling = optimizer.step_scale(norm, gradient) if norm else 1.0
        intercept_ratio = INTERCEPT_STEP_RATIO * optimizer.step_scale(1.0, gradient)
    hessian_bound = weight / descent_eta(loss)
    result = copy(solver_state)
    result.state = solver_state.state.copy(order="K")
    result.bias = solver_state.bias.copy(order="K")
    result.state[0] -= sums.gradient
    result.bias[0] -= sums.intercept_gradient
    eta = 1.0 / (1.0 / (step_scaling * step) + hessian_bound * mean_square)
    result.lazy = _charge_rows(optimizer, penalty, eta, solver_state.lazy, rows, penalty_scales)
    if solver_state.flags[0]:
        eta = 1.0 / (1.0 / (intercept_ratio * step) + hessian_bound)
        result.bias_lazy = _charge_rows(
            optimizer, FREE, eta, solver_state.bias_lazy, rows, penalty_scales
        )
    result.costs = np.stack([solver_state.costs[0] + sums.losses, solver_state.costs[1]])
    result.stats = (
        norm,
        gradient if auto_eta or auto_alpha else 0.0,
        solver_state.stats[2] + weight,
    )
    return result


def _charge_rows(
    optimizer, penalty, eta: float, old_lazy, rows: float, penalty_scales
) -> tuple[float, ...]:
    """Return the lazy state after `rows` rows at once; each is charged L1 as in the pass."""
    old = LazyState(*old_lazy)
    # `charge_step` charges the last row.
    charged_l1 = old.base + (rows - 1.0) * penalty.rates()[0] * penalty_scales[0]
    lazy = old._replace(steps=old.steps + rows, base=charged_l1)
    scale, cumulative_l1, base = optimizer.charge_step(penalty, eta, lazy, penalty_scales)
    sums = old.sum_scales + scale, old.sum_scaled_l1 + scale * cumulative_l1
    ridge = penalty.rates()[1] * penalty_scales[1] * lazy.steps
    return tuple(map(float, (lazy.steps, scale, cumulative_l1, base, *sums, ridge)))
