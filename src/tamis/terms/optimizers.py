"""Optimizers: how a cell turns gradients into a weight.

A cell is one output of one feature. An optimizer stores one or more numbers for each cell, in the
columns of the state, ``state[column, cell]``. `columns` says how many, `signs` how they change when
a model is negated, `objection` why a penalty does not go with the optimizer, `adapts` whether each
cell has its own rate, `takes_any_step` whether step sizes may depend on the loss of a row. `lazy`
is a `LazyState`.
"""

import math
from typing import Annotated, Any, NamedTuple

from tamis.numerics.numba import term
from tamis.terms.methods import (
    Flag,
    LazyState,
    NonNegative,
    PositiveOrInfinite,
    adapts,
    affine_weight,
    apply_gradient,
    caches_weights,
    charge_step,
    clip_step,
    columns,
    current_weight,
    final_weight,
    flush_cell,
    flush_urgency,
    from_stored,
    rates,
    step_scale,
    subgradient_sign,
    to_stored,
    weighted_lazy,
)
from tamis.terms.penalties import Signed


@term
class Descent(NamedTuple):
    """Gradient descent, then the penalty's prox every `period` steps (FOBOS; truncated gradient).

    `priced` = 1 charges eta * l1 (FOBOS), 0 charges l1 as it stands, in units of the weights.
    """

    period: Annotated[float, ">= 1", "< inf"] = 1.0
    priced: Flag = 1.0

    def columns(self):
        return 1

    def adapts(self):
        return False

    def takes_any_step(self):
        return True

    def signs(self, sign):
        return (sign,)

    def objection(self, penalty, averaged):
        return ""

    def current_weight(self, state, penalty, cell, lazy):
        return from_stored(penalty, state[0, cell], lazy.cumulative_l1)

    def apply_gradient(self, state, penalty, cell, weight, s, x, pace, lazy):
        moved = to_stored(penalty, weight - pace * x, lazy.cumulative_l1)
        state[0, cell] = moved if pace != 0.0 else state[0, cell]  # no step, no rounding

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        scale, cumulative_l1, base = lazy.scale, lazy.cumulative_l1, lazy.base + 1.0
        if base >= self.period:
            l1, l2 = rates(penalty)
            price = self.period * (eta if self.priced else 1.0)
            if l1 != 0.0:  # known at compile time where a penalty has none
                cumulative_l1 += price * l1 * penalty_scales[0] / scale
            if l2 != 0.0:
                scale /= 1.0 + price * l2 * penalty_scales[1]
            base = 0.0
        return scale, cumulative_l1, base

    def flush_urgency(self):
        return True

    def flush_cell(self, state, penalty, cell, lazy):
        state[0, cell] = to_stored(
            penalty, lazy.scale * from_stored(penalty, state[0, cell], lazy.cumulative_l1), 0.0
        )

    def weighted_lazy(self, lazy, weight):
        # All columns share one scale, which only a ridge lowers: of a weight 0 or 1 then.
        rest = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
        scale = lazy.scale if weight != 0.0 else 1.0
        return LazyState(lazy.steps, scale, weight * lazy.cumulative_l1, *rest)

    def step_scale(self, norm, gradient):
        return 1.0 / (norm * norm)

    def clip_step(self, eta, hessian_bound, sqnorm):
        return (
            min(eta, 1.0 / (hessian_bound * sqnorm))
            if hessian_bound * sqnorm > 0.0 and hessian_bound < math.inf
            else eta
        )

    def affine_weight(self, state, penalty, cell, lazy):
        weight = from_stored(penalty, state[0, cell], lazy.cumulative_l1)
        if weight == 0.0:
            return 0.0, 0.0
        return to_stored(penalty, weight, lazy.cumulative_l1), subgradient_sign(penalty, weight)

    def final_weight(self, state, penalty, cell, lazy):
        return lazy.scale * from_stored(penalty, state[0, cell], lazy.cumulative_l1)


@term
class CappedDescent(NamedTuple):
    """Truncated gradient that shrinks only weights of at most `theta` (Langford et al. 2009).

    A weight above theta is charged nothing, so each cell remembers what it has paid.
    """

    period: Annotated[float, ">= 1", "< inf"] = 1.0
    theta: PositiveOrInfinite = 1.0
    priced: Flag = 0.0

    def columns(self):
        return 2

    def adapts(self):
        return False

    def takes_any_step(self):
        return False

    def signs(self, sign):
        return sign, 1.0

    def objection(self, penalty, averaged):
        if rates(penalty)[1]:
            return "theta exempts large weights from L1; a ridge has no such form"
        return ""

    def current_weight(self, state, penalty, cell, lazy):
        weight = state[0, cell]
        return from_stored(
            penalty,
            weight,
            0.0 if abs(weight) > self.theta else lazy.cumulative_l1 - state[1, cell],
        )

    def apply_gradient(self, state, penalty, cell, weight, s, x, pace, lazy):
        if pace != 0.0:
            state[0, cell] = weight - pace * x
            state[1, cell] = lazy.cumulative_l1

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        cumulative_l1, base = lazy.cumulative_l1, lazy.base + 1.0
        if base >= self.period:
            cumulative_l1 += (
                self.period * (eta if self.priced else 1.0) * rates(penalty)[0] * penalty_scales[0]
            )
            base = 0.0
        return 1.0, cumulative_l1, base

    def flush_urgency(self):
        return True

    def flush_cell(self, state, penalty, cell, lazy):
        state[0, cell] = current_weight(self, state, penalty, cell, lazy)
        state[1, cell] = 0.0

    def step_scale(self, norm, gradient):
        return 1.0 / (norm * norm)

    def clip_step(self, eta, hessian_bound, sqnorm):
        return (
            min(eta, 1.0 / (hessian_bound * sqnorm))
            if hessian_bound * sqnorm > 0.0 and hessian_bound < math.inf
            else eta
        )

    def affine_weight(self, state, penalty, cell, lazy):
        weight = current_weight(self, state, penalty, cell, lazy)
        if weight == 0.0:
            return 0.0, 0.0
        if abs(state[0, cell]) > self.theta:
            return weight, 0.0
        return to_stored(penalty, weight, lazy.cumulative_l1), subgradient_sign(penalty, weight)

    def final_weight(self, state, penalty, cell, lazy):
        return current_weight(self, state, penalty, cell, lazy)


@term
class DualAveraging(NamedTuple):
    """Dual averaging: w = -scale * soft(G, cumulative_l1), G the sum of all gradients
    (Xiao 2010).

    With step eta_t: cumulative_l1 = l1 t + rho / eta_t and scale = 1 / (l2 t + 1 / eta_t).
    """

    rho: NonNegative = 0.0

    def columns(self):
        return 1

    def adapts(self):
        return False

    def takes_any_step(self):
        return False

    def signs(self, sign):
        return (sign,)

    def objection(self, penalty, averaged):
        return ""

    def current_weight(self, state, penalty, cell, lazy):
        return from_stored(penalty, state[0, cell], lazy.cumulative_l1)

    def apply_gradient(self, state, penalty, cell, weight, s, x, pace, lazy):
        state[0, cell] -= s * x

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        l1, l2 = rates(penalty)
        base = lazy.base + l1 * penalty_scales[0]
        # It never falls, even where an automatic eta grows: a weight that has become 0 must not
        # become nonzero without a gradient.
        scale = 1.0 / (l2 * penalty_scales[1] * lazy.steps + 1.0 / eta)
        return scale, max(lazy.cumulative_l1, base + self.rho / eta), base

    def weighted_lazy(self, lazy, weight):
        # 1 / scale = ridge + 1 / eta, of which the weight multiplies the ridge.
        scale = lazy.scale / (1.0 + (weight - 1.0) * lazy.ridge * lazy.scale)
        rest = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
        return LazyState(lazy.steps, scale, weight * lazy.cumulative_l1, *rest)

    def flush_urgency(self):
        return False

    def flush_cell(self, state, penalty, cell, lazy):
        pass

    def step_scale(self, norm, gradient):
        return 1.0 / (norm * norm)

    def clip_step(self, eta, hessian_bound, sqnorm):
        return eta

    def affine_weight(self, state, penalty, cell, lazy):
        weight = from_stored(penalty, state[0, cell], lazy.cumulative_l1)
        if weight == 0.0:
            return 0.0, 0.0
        return state[0, cell], subgradient_sign(penalty, weight)

    def final_weight(self, state, penalty, cell, lazy):
        return lazy.scale * from_stored(penalty, state[0, cell], lazy.cumulative_l1)


@term
class FTRL(NamedTuple):
    """Follow the regularized leader, proximal, one rate a coordinate (McMahan 2011).

    w = soft(z, cumulative_l1) / (beta + m + base), m the root of the coordinate's summed squared
    gradients, cumulative_l1 = sum of eta l1 and base = sum of eta l2 over all steps. (1e-300 keeps
    0 / 0 away where nothing was seen.)
    """

    beta: NonNegative = 0.0

    def columns(self):
        return 2

    def adapts(self):
        return True

    def takes_any_step(self):
        return False

    def signs(self, sign):
        return sign, 1.0

    def objection(self, penalty, averaged):
        if averaged and rates(penalty)[1]:
            return (
                "under a ridge its weights move between visits by no common law, so their "
                "average cannot be kept lazily"
            )
        return ""

    def current_weight(self, state, penalty, cell, lazy):
        return from_stored(penalty, state[0, cell], lazy.cumulative_l1) / (
            self.beta + state[1, cell] + lazy.base + 1e-300
        )

    def caches_weights(self):  # a division a cell
        return True

    def apply_gradient(self, state, penalty, cell, weight, s, x, pace, lazy):
        g = s * x
        m = state[1, cell]
        grown = math.sqrt(m * m + g * g)
        # A choice, not a branch: many outputs go together. Nothing is added where the square of a
        # tiny gradient is 0.
        state[0, cell] += (grown - m) * weight - pace * x if grown > 0.0 else 0.0
        state[1, cell] = grown

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        l1, l2 = rates(penalty)
        return (
            1.0,
            lazy.cumulative_l1 + eta * l1 * penalty_scales[0],
            lazy.base + eta * l2 * penalty_scales[1],
        )

    def weighted_lazy(self, lazy, weight):
        rest = (lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
        charged = weight * lazy.cumulative_l1, weight * lazy.base
        return LazyState(lazy.steps, lazy.scale, *charged, *rest)

    def flush_urgency(self):
        return False

    def flush_cell(self, state, penalty, cell, lazy):
        pass

    def step_scale(self, norm, gradient):
        return gradient / norm

    def clip_step(self, eta, hessian_bound, sqnorm):
        return eta

    def affine_weight(self, state, penalty, cell, lazy):
        weight = from_stored(penalty, state[0, cell], lazy.cumulative_l1)
        if weight == 0.0:
            return 0.0, 0.0
        below = self.beta + state[1, cell] + lazy.base + 1e-300
        return state[0, cell] / below, subgradient_sign(penalty, weight) / below

    def final_weight(self, state, penalty, cell, lazy):
        return current_weight(self, state, penalty, cell, lazy)


@term
class AdaGrad(NamedTuple):
    """Descent at a rate eta / (delta + m) a coordinate, then the prox (Duchi et al. 2011).

    The cell stores (delta + m) u + sign(u) S: the charge of a coordinate is the cumulative L1 over
    its own divisor, so the lazy state is exact for L1. A ridge would divide each coordinate by
    another number at each step.
    """

    delta: NonNegative = 0.0

    def columns(self):
        return 2

    def adapts(self):
        return True

    def takes_any_step(self):
        return False

    def signs(self, sign):
        return sign, 1.0

    def objection(self, penalty, averaged):
        if rates(penalty)[1]:
            why = (
                "a ridge would divide each coordinate by another number at each step, which the "
                "common lazy state cannot hold"
            )
            return why + "; use optimizer='ftrl' or 'descent'"
        return ""

    def current_weight(self, state, penalty, cell, lazy):
        return from_stored(penalty, state[0, cell], lazy.cumulative_l1) / (
            self.delta + state[1, cell] + 1e-300
        )

    def caches_weights(self):  # a division a cell
        return True

    def apply_gradient(self, state, penalty, cell, weight, s, x, pace, lazy):
        g = s * x
        m = math.sqrt(state[1, cell] * state[1, cell] + g * g)
        stored = state[0, cell]
        moved = to_stored(penalty, (self.delta + m) * weight - pace * x, lazy.cumulative_l1)
        # Not where the square of a tiny gradient is 0.
        state[0, cell] = moved if pace != 0.0 and m > 0.0 else stored
        state[1, cell] = m

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        return 1.0, lazy.cumulative_l1 + eta * rates(penalty)[0] * penalty_scales[0], 0.0

    def flush_urgency(self):
        return True

    def flush_cell(self, state, penalty, cell, lazy):
        state[0, cell] = to_stored(
            penalty, from_stored(penalty, state[0, cell], lazy.cumulative_l1), 0.0
        )

    def step_scale(self, norm, gradient):
        return gradient / norm

    def clip_step(self, eta, hessian_bound, sqnorm):
        return eta

    def affine_weight(self, state, penalty, cell, lazy):
        weight = from_stored(penalty, state[0, cell], lazy.cumulative_l1)
        if weight == 0.0:
            return 0.0, 0.0
        below = self.delta + state[1, cell]
        return to_stored(penalty, weight, lazy.cumulative_l1) / below, subgradient_sign(
            penalty, weight
        ) / below

    def final_weight(self, state, penalty, cell, lazy):
        return current_weight(self, state, penalty, cell, lazy)


@term
class ByColumn(NamedTuple):
    """Any optimizer under penalties with a weight and a sign of each column.

    Two more numbers of a cell hold them: what multiplies the penalty, and whether the cell's weight
    must not be negative (1) or positive (-1).
    """

    optimizer: Any

    def columns(self):
        return columns(self.optimizer) + 2

    def adapts(self):
        return adapts(self.optimizer)

    def takes_any_step(self):
        return self.optimizer.takes_any_step()

    def signs(self, sign):
        return *self.optimizer.signs(sign), 1.0, 1.0

    def objection(self, penalty, averaged):
        return "an estimator makes it itself, of its penalty_weights and positive"

    def current_weight(self, state, penalty, cell, lazy):
        row = columns(self.optimizer)
        signed = Signed(penalty, state[row + 1, cell])
        own = weighted_lazy(self.optimizer, lazy, state[row, cell])
        return current_weight(self.optimizer, state, signed, cell, own) * (own.scale / lazy.scale)

    def caches_weights(self):  # a division a cell
        return True

    def apply_gradient(self, state, penalty, cell, weight, s, x, pace, lazy):
        row = columns(self.optimizer)
        signed = Signed(penalty, state[row + 1, cell])
        own = weighted_lazy(self.optimizer, lazy, state[row, cell])
        ratio = lazy.scale / own.scale
        numbers = weight * ratio, s, x, pace * ratio
        apply_gradient(self.optimizer, state, signed, cell, *numbers, own)

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        return charge_step(self.optimizer, penalty, eta, lazy, penalty_scales)

    def flush_urgency(self):
        return flush_urgency(self.optimizer)

    def flush_cell(self, state, penalty, cell, lazy):
        row = columns(self.optimizer)
        signed = Signed(penalty, state[row + 1, cell])
        own = weighted_lazy(self.optimizer, lazy, state[row, cell])
        flush_cell(self.optimizer, state, signed, cell, own)

    def step_scale(self, norm, gradient):
        return step_scale(self.optimizer, norm, gradient)

    def clip_step(self, eta, hessian_bound, sqnorm):
        return clip_step(self.optimizer, eta, hessian_bound, sqnorm)

    def affine_weight(self, state, penalty, cell, lazy):
        row = columns(self.optimizer)
        signed = Signed(penalty, state[row + 1, cell])
        own = weighted_lazy(self.optimizer, lazy, state[row, cell])
        c, d = affine_weight(self.optimizer, state, signed, cell, own)
        return c, d * state[row, cell]

    def final_weight(self, state, penalty, cell, lazy):
        row = columns(self.optimizer)
        signed = Signed(penalty, state[row + 1, cell])
        own = weighted_lazy(self.optimizer, lazy, state[row, cell])
        return final_weight(self.optimizer, state, signed, cell, own)


@term
class Averaged(NamedTuple):
    """Any optimizer, its weights averaged over the steps of each feature's present stay in the
    support.

    Between touches a weight is ``scale * (c - d * cumulative_l1)``, so its sum over steps is ``c *
    sum_scales - d * sum_scaled_l1`` less one number a cell, stored in the last column. A feature
    that leaves the support starts again from nothing.
    """

    optimizer: Any

    def columns(self):
        return self.optimizer.columns() + 1

    def adapts(self):
        return adapts(self.optimizer)

    def takes_any_step(self):
        return self.optimizer.takes_any_step()

    def signs(self, sign):
        return *self.optimizer.signs(sign), sign

    def objection(self, penalty, averaged):
        return self.optimizer.objection(penalty, True)

    def current_weight(self, state, penalty, cell, lazy):
        return current_weight(self.optimizer, state, penalty, cell, lazy)

    def apply_gradient(self, state, penalty, cell, weight, s, x, pace, lazy):
        c0, d0 = affine_weight(self.optimizer, state, penalty, cell, lazy)
        apply_gradient(self.optimizer, state, penalty, cell, weight, s, x, pace, lazy)
        c1, d1 = affine_weight(self.optimizer, state, penalty, cell, lazy)
        paid = 0.0 if c0 == 0.0 else state[state.shape[0] - 1, cell]
        state[state.shape[0] - 1, cell] = (
            paid + (c1 - c0) * lazy.sum_scales - (d1 - d0) * lazy.sum_scaled_l1
        )

    def caches_weights(self):
        return caches_weights(self.optimizer)

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        return charge_step(self.optimizer, penalty, eta, lazy, penalty_scales)

    def flush_urgency(self):
        # A sum over steps is a difference of numbers that grow as 1 / scale: flushed at a scale of
        # 1e-3 it loses three digits, at 1e-60 all.
        return flush_urgency(self.optimizer) * 1e57

    def flush_cell(self, state, penalty, cell, lazy):
        c0, d0 = affine_weight(self.optimizer, state, penalty, cell, lazy)
        flush_cell(self.optimizer, state, penalty, cell, lazy)
        rest = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
        opened = LazyState(lazy.steps, 1.0, 0.0, *rest)
        c1, d1 = affine_weight(self.optimizer, state, penalty, cell, opened)
        state[state.shape[0] - 1, cell] += (c1 - c0) * lazy.sum_scales - (
            d1 - d0
        ) * lazy.sum_scaled_l1

    def step_scale(self, norm, gradient):
        return step_scale(self.optimizer, norm, gradient)

    def clip_step(self, eta, hessian_bound, sqnorm):
        return clip_step(self.optimizer, eta, hessian_bound, sqnorm)

    def final_weight(self, state, penalty, cell, lazy):
        c, d = affine_weight(self.optimizer, state, penalty, cell, lazy)
        if c == 0.0:
            return 0.0
        return (
            c * lazy.sum_scales - d * lazy.sum_scaled_l1 - state[state.shape[0] - 1, cell]
        ) / lazy.steps


OPTIMIZERS = {
    "descent": Descent(),
    "dual_averaging": DualAveraging(),
    "ftrl": FTRL(),
    "adagrad": AdaGrad(),
}
