"""Optimizers: how the state of a cell becomes a weight, and how gradients change it.

A cell is one output of one feature. An optimizer stores one or more numbers per cell, in the
columns of the state, ``state[column, cell]``. `columns` returns how many; `signs` how they change
when a model is negated; `objection` why the optimizer does not support a penalty; `adapts` whether
each cell has its own learning rate; `takes_any_step` whether step sizes can depend on the loss of a
row. `lazy` is a `LazyState`.
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
    """Gradient descent, with a prox of the penalty every `period` steps (FOBOS; truncated
    gradient).

    `priced` = 1 charges eta * l1 (FOBOS); 0 charges l1 itself, in units of the weights.
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

    def apply_gradient(self, state, penalty, cell, weight, s, x, scaled_step, lazy):
        stored = to_stored(penalty, weight - scaled_step * x, lazy.cumulative_l1)
        # Without a step the stored number keeps its bits.
        state[0, cell] = stored if scaled_step != 0.0 else state[0, cell]

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        scale, cumulative_l1, base = lazy.scale, lazy.cumulative_l1, lazy.base + 1.0
        if base >= self.period:
            l1, l2 = rates(penalty)
            prox_step = self.period * (eta if self.priced else 1.0)
            if l1 != 0.0:  # a constant at compile time if the penalty has no L1
                cumulative_l1 += prox_step * l1 * penalty_scales[0] / scale
            if l2 != 0.0:
                scale /= 1.0 + prox_step * l2 * penalty_scales[1]
            base = 0.0
        return scale, cumulative_l1, base

    def flush_urgency(self):
        return True

    def flush_cell(self, state, penalty, cell, lazy):
        state[0, cell] = to_stored(
            penalty, lazy.scale * from_stored(penalty, state[0, cell], lazy.cumulative_l1), 0.0
        )

    def weighted_lazy(self, lazy, weight):
        # All columns share one scale, which only a ridge lowers; the weight is then 0 or 1.
        other_fields = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
        scale = lazy.scale if weight != 0.0 else 1.0
        return LazyState(lazy.steps, scale, weight * lazy.cumulative_l1, *other_fields)

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
    """Truncated gradient that shrinks only weights up to `theta` (Langford et al. 2009).

    Weights above theta are not charged, so each cell stores the cumulative L1 that it has paid.
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

    def apply_gradient(self, state, penalty, cell, weight, s, x, scaled_step, lazy):
        if scaled_step != 0.0:
            state[0, cell] = weight - scaled_step * x
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
    """Dual averaging: w = -scale * soft(G, cumulative_l1), G the sum of all gradients (Xiao 2010).

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

    def apply_gradient(self, state, penalty, cell, weight, s, x, scaled_step, lazy):
        state[0, cell] -= s * x

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        l1, l2 = rates(penalty)
        base = lazy.base + l1 * penalty_scales[0]
        # cumulative_l1 never falls, even if an automatic eta grows: a weight that has become 0
        # must not become nonzero without a gradient.
        scale = 1.0 / (l2 * penalty_scales[1] * lazy.steps + 1.0 / eta)
        return scale, max(lazy.cumulative_l1, base + self.rho / eta), base

    def weighted_lazy(self, lazy, weight):
        # 1 / scale = ridge + 1 / eta, of which the weight multiplies the ridge.
        scale = lazy.scale / (1.0 + (weight - 1.0) * lazy.ridge * lazy.scale)
        other_fields = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
        return LazyState(lazy.steps, scale, weight * lazy.cumulative_l1, *other_fields)

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
    """Follow the regularized leader, proximal, with learning rates per coordinate (McMahan 2011).

    w = soft(z, cumulative_l1) / (beta + m + base), where m is the root of the summed squared
    gradients of the coordinate, and cumulative_l1 = sum of eta l1 and base = sum of eta l2 over all
    steps. (1e-300 prevents 0 / 0 before the first gradient.)
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
                "with a ridge the weights of its columns change by different factors between "
                "updates, so their averages have no lazy form"
            )
        return ""

    def current_weight(self, state, penalty, cell, lazy):
        return from_stored(penalty, state[0, cell], lazy.cumulative_l1) / (
            self.beta + state[1, cell] + lazy.base + 1e-300
        )

    def caches_weights(self):  # one division per cell
        return True

    def apply_gradient(self, state, penalty, cell, weight, s, x, scaled_step, lazy):
        g = s * x
        m = state[1, cell]
        updated_m = math.sqrt(m * m + g * g)
        # A conditional expression, which LLVM vectorizes over outputs. It adds nothing where the
        # square of a tiny gradient is 0.
        state[0, cell] += (updated_m - m) * weight - scaled_step * x if updated_m > 0.0 else 0.0
        state[1, cell] = updated_m

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        l1, l2 = rates(penalty)
        return (
            1.0,
            lazy.cumulative_l1 + eta * l1 * penalty_scales[0],
            lazy.base + eta * l2 * penalty_scales[1],
        )

    def weighted_lazy(self, lazy, weight):
        other_fields = (lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
        weighted = weight * lazy.cumulative_l1, weight * lazy.base
        return LazyState(lazy.steps, lazy.scale, *weighted, *other_fields)

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
        denominator = self.beta + state[1, cell] + lazy.base + 1e-300
        return state[0, cell] / denominator, subgradient_sign(penalty, weight) / denominator

    def final_weight(self, state, penalty, cell, lazy):
        return current_weight(self, state, penalty, cell, lazy)


@term
class AdaGrad(NamedTuple):
    """Descent with the learning rate eta / (delta + m) per coordinate, then the prox (Duchi et al.
    2011).

    The cell stores (delta + m) u + sign(u) S: the charge of a coordinate is the cumulative L1
    divided by its own delta + m, so the lazy state is exact for L1. A ridge would divide each
    coordinate by another number at each step.
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
            reason = (
                "a ridge would divide each coordinate by another number at each step, which the "
                "shared lazy state cannot hold"
            )
            return reason + "; use optimizer='ftrl' or 'descent'"
        return ""

    def current_weight(self, state, penalty, cell, lazy):
        return from_stored(penalty, state[0, cell], lazy.cumulative_l1) / (
            self.delta + state[1, cell] + 1e-300
        )

    def caches_weights(self):  # one division per cell
        return True

    def apply_gradient(self, state, penalty, cell, weight, s, x, scaled_step, lazy):
        g = s * x
        m = math.sqrt(state[1, cell] * state[1, cell] + g * g)
        stored = state[0, cell]
        updated = to_stored(
            penalty, (self.delta + m) * weight - scaled_step * x, lazy.cumulative_l1
        )
        # No update where the square of a tiny gradient is 0.
        state[0, cell] = updated if scaled_step != 0.0 and m > 0.0 else stored
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
        denominator = self.delta + state[1, cell]
        return to_stored(penalty, weight, lazy.cumulative_l1) / denominator, subgradient_sign(
            penalty, weight
        ) / denominator

    def final_weight(self, state, penalty, cell, lazy):
        return current_weight(self, state, penalty, cell, lazy)


@term
class ByColumn(NamedTuple):
    """Any optimizer, with a penalty weight and a sign constraint per column.

    Two more numbers per cell hold them: the factor of the penalty, and the sign (1: weight >= 0,
    -1: weight <= 0, 0: any).
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
        return "estimators make it from their parameters penalty_weights and positive"

    def current_weight(self, state, penalty, cell, lazy):
        weight_index = columns(self.optimizer)
        signed = Signed(penalty, state[weight_index + 1, cell])
        column_lazy = weighted_lazy(self.optimizer, lazy, state[weight_index, cell])
        return current_weight(self.optimizer, state, signed, cell, column_lazy) * (
            column_lazy.scale / lazy.scale
        )

    def caches_weights(self):  # one division per cell
        return True

    def apply_gradient(self, state, penalty, cell, weight, s, x, scaled_step, lazy):
        weight_index = columns(self.optimizer)
        signed = Signed(penalty, state[weight_index + 1, cell])
        column_lazy = weighted_lazy(self.optimizer, lazy, state[weight_index, cell])
        ratio = lazy.scale / column_lazy.scale
        arguments = weight * ratio, s, x, scaled_step * ratio
        apply_gradient(self.optimizer, state, signed, cell, *arguments, column_lazy)

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        return charge_step(self.optimizer, penalty, eta, lazy, penalty_scales)

    def flush_urgency(self):
        return flush_urgency(self.optimizer)

    def flush_cell(self, state, penalty, cell, lazy):
        weight_index = columns(self.optimizer)
        signed = Signed(penalty, state[weight_index + 1, cell])
        column_lazy = weighted_lazy(self.optimizer, lazy, state[weight_index, cell])
        flush_cell(self.optimizer, state, signed, cell, column_lazy)

    def step_scale(self, norm, gradient):
        return step_scale(self.optimizer, norm, gradient)

    def clip_step(self, eta, hessian_bound, sqnorm):
        return clip_step(self.optimizer, eta, hessian_bound, sqnorm)

    def affine_weight(self, state, penalty, cell, lazy):
        weight_index = columns(self.optimizer)
        signed = Signed(penalty, state[weight_index + 1, cell])
        column_lazy = weighted_lazy(self.optimizer, lazy, state[weight_index, cell])
        c, d = affine_weight(self.optimizer, state, signed, cell, column_lazy)
        return c, d * state[weight_index, cell]

    def final_weight(self, state, penalty, cell, lazy):
        weight_index = columns(self.optimizer)
        signed = Signed(penalty, state[weight_index + 1, cell])
        column_lazy = weighted_lazy(self.optimizer, lazy, state[weight_index, cell])
        return final_weight(self.optimizer, state, signed, cell, column_lazy)


@term
class Averaged(NamedTuple):
    """Any optimizer, with weights averaged over the steps since the feature last entered the
    support.

    Between updates a weight is ``scale * (c - d * cumulative_l1)``, so its sum over steps is ``c *
    sum_scales - d * sum_scaled_l1`` minus one number per cell, stored in the last column. A feature
    that leaves the support starts from 0 again.
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

    def apply_gradient(self, state, penalty, cell, weight, s, x, scaled_step, lazy):
        c0, d0 = affine_weight(self.optimizer, state, penalty, cell, lazy)
        apply_gradient(self.optimizer, state, penalty, cell, weight, s, x, scaled_step, lazy)
        c1, d1 = affine_weight(self.optimizer, state, penalty, cell, lazy)
        correction = 0.0 if c0 == 0.0 else state[state.shape[0] - 1, cell]
        state[state.shape[0] - 1, cell] = (
            correction + (c1 - c0) * lazy.sum_scales - (d1 - d0) * lazy.sum_scaled_l1
        )

    def caches_weights(self):
        return caches_weights(self.optimizer)

    def charge_step(self, penalty, eta, lazy, penalty_scales):
        return charge_step(self.optimizer, penalty, eta, lazy, penalty_scales)

    def flush_urgency(self):
        # A sum over steps is a difference of numbers that grow like 1 / scale: a flush at scale
        # 1e-3 costs three digits, at 1e-60 all of them.
        return flush_urgency(self.optimizer) * 1e57

    def flush_cell(self, state, penalty, cell, lazy):
        c0, d0 = affine_weight(self.optimizer, state, penalty, cell, lazy)
        flush_cell(self.optimizer, state, penalty, cell, lazy)
        other_fields = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
        flushed_lazy = LazyState(lazy.steps, 1.0, 0.0, *other_fields)
        c1, d1 = affine_weight(self.optimizer, state, penalty, cell, flushed_lazy)
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
