"""Dual averaging by batches: gradients of many rows at common weights, then one step.

O. Dekel, R. Gilad-Bachrach, O. Shamir and L. Xiao, "Optimal Distributed Online Prediction Using
Mini-Batches", Journal of Machine Learning Research 13, 2012, algorithm 4 and section 4.
"""

from copy import copy
from typing import NamedTuple

import numpy as np

from tamis.numerics.csr import Csr
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.first_order.loop import FREE, INTERCEPT_STEP_RATIO
from tamis.solvers.first_order.loop_batch import sum_slopes
from tamis.solvers.first_order.state import Engine
from tamis.terms.learning_rates import descent_eta
from tamis.terms.methods import LazyState


class Slopes(NamedTuple):
    """Sums over rows: gradient, that of the intercepts, losses, and (rows, norms, gradients at
    score 0, weights).
    """

    gradient: np.ndarray
    bias: np.ndarray
    costs: np.ndarray
    figures: np.ndarray

    @classmethod
    def none(cls, engine: Engine) -> "Slopes":
        """Of no rows."""
        outputs = engine.outputs
        return cls(
            np.zeros(engine.state.shape[1]), np.zeros(outputs), np.zeros(outputs), np.zeros(4)
        )

    def take(self, engine: Engine, rows: Csr, coded: EncodedTargets, weights) -> None:
        """Add rows, at the weights of the engine."""
        lazies, (loss, penalty, optimizer, _) = (engine.lazy, engine.bias_lazy), engine.terms
        given = (*rows[:3], coded.columns, weights)
        cells = (engine.state, engine.bias)
        sum_slopes(given, cells, loss, penalty, optimizer, lazies, engine.flags[0], tuple(self))

    def added(self, other: "Slopes") -> "Slopes":
        """Of both rows."""
        return Slopes(*(mine + others for mine, others in zip(self, other, strict=True)))


def stepped(engine: Engine, sums: Slopes, stretch: float) -> Engine:
    """The engine after one step of dual averaging by all these rows at once.

    A row counts as in the pass, but a step by b rows that all saw the same weights would overshoot:
    their curvature, b times the loss's times `stretch`, the largest mean square of rows along one
    direction, is added to 1 / eta.
    """
    rows, norms, slopes, weight = sums.figures.tolist()
    if not rows:
        return engine
    (loss, penalty, optimizer, learning_rate), (_, auto_eta, auto_alpha) = (
        engine.terms,
        engine.flags,
    )
    before, after = engine.lazy[0], engine.lazy[0] + rows
    norm = (engine.stats[0] * before + norms) / after
    gradient = (engine.stats[1] * before + slopes) / after
    penalty_scales = (gradient * norm, norm * norm) if auto_alpha else (1.0, 1.0)
    step_scaling, intercept_ratio, size = 1.0, 1.0, learning_rate.step_size(after, 1.0, 1.0)
    if auto_eta:
        step_scaling = optimizer.step_scale(norm, gradient) if norm else 1.0
        intercept_ratio = INTERCEPT_STEP_RATIO * optimizer.step_scale(1.0, gradient)
    hessian_bound = weight / descent_eta(loss)
    found = copy(engine)
    found.state, found.bias = engine.state.copy(order="K"), engine.bias.copy(order="K")
    found.state[0] -= sums.gradient
    found.bias[0] -= sums.bias
    eta = 1.0 / (1.0 / (step_scaling * size) + hessian_bound * stretch)
    found.lazy = _charged(optimizer, penalty, eta, engine.lazy, rows, penalty_scales)
    if engine.flags[0]:
        eta = 1.0 / (1.0 / (intercept_ratio * size) + hessian_bound)
        found.bias_lazy = _charged(optimizer, FREE, eta, engine.bias_lazy, rows, penalty_scales)
    found.costs = np.stack([engine.costs[0] + sums.costs, engine.costs[1]])
    found.stats = (norm, gradient if auto_eta or auto_alpha else 0.0, engine.stats[2] + weight)
    return found


def _charged(
    optimizer, penalty, eta: float, lazy, rows: float, penalty_scales
) -> tuple[float, ...]:
    """The lazy state after so many rows at once: each is charged L1 as in the pass."""
    old = LazyState(*lazy)
    paid = (
        old.base + (rows - 1.0) * penalty.rates()[0] * penalty_scales[0]
    )  # the last row's comes now
    begun = old._replace(steps=old.steps + rows, base=paid)
    scale, cumulative_l1, base = optimizer.charge_step(penalty, eta, begun, penalty_scales)
    sums = old.sum_scales + scale, old.sum_scaled_l1 + scale * cumulative_l1
    ridge = penalty.rates()[1] * penalty_scales[1] * begun.steps
    return tuple(map(float, (begun.steps, scale, cumulative_l1, base, *sums, ridge)))
