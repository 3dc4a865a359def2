"""The methods of terms, as functions that compiled loops call."""

import math
from typing import Annotated, NamedTuple

from tamis.numerics.numba import term_method

# What fields of terms take, read where a parameter becomes a term (`base/parameters.py`): a
# comparison in words, or all values. Infinite numbers are allowed where they have a meaning.
Finite = Annotated[float, "> -inf", "< inf"]
NonNegative = Annotated[float, ">= 0", "< inf"]
Positive = Annotated[float, "> 0", "< inf"]
PositiveOrInfinite = Annotated[float, "> 0"]
Flag = Annotated[float, (0.0, 1.0)]


class LazyState(NamedTuple):
    """What is common to all cells of a model whose penalty is charged lazily."""

    steps: float = 0.0
    scale: float = 1.0  # weights are stored in units of it
    cumulative_l1: float = 0.0  # that L1 has taken from each weight so far, in those units
    base: float = 0.0  # a number of the optimizer's own
    sum_scales: float = 0.0  # sum of the scale over all steps
    sum_scaled_l1: float = 0.0  # sum of scale times cumulative_l1 over all steps
    ridge: float = 0.0  # strength of the ridge at the last step, times all steps


@term_method
def value(self, *numbers):
    """Loss of a score and a target; penalty of a weight, or of a group and its two weights."""
    return self.value(*numbers)


@term_method
def gradient(self, score, target):
    """Derivative of a loss in the score; 0 at a kink that holds the minimum."""
    return self.gradient(score, target)


def _gradient_and_value(self, score, target):
    return gradient(self, score, target), value(self, score, target), 1.0


@term_method(otherwise=_gradient_and_value)
def gradient_and_log_terms(self, score, target):
    """Gradient of a loss, and its value in two parts: a number, and a factor whose logarithm is
    added. A loop sums logarithms as the logarithm of a running product.
    """
    return self.gradient_and_log_terms(score, target)


def _gradient_at_score_zero(self, target):
    return gradient(self, 0.0, target)


@term_method(otherwise=_gradient_at_score_zero)
def gradient_at_zero(self, target):
    """Gradient of a loss at score 0."""
    return self.gradient_at_zero(target)


def _explicit(self, score, target, rate, explicit):
    return explicit


@term_method(otherwise=_explicit)
def implicit_gradient(self, score, target, rate, explicit):
    """Gradient of a loss at the score ``f`` that a step leads to, ``f = score - rate * gradient(f,
    target)``, where the second derivative has no bound and a step along the `explicit` gradient, at
    the score itself, could lead anywhere.
    """
    return self.implicit_gradient(score, target, rate, explicit)


def _as_it_is(self, mean_gradient):
    return mean_gradient


@term_method(otherwise=_as_it_is)
def gradient_unit(self, mean_gradient):
    """Unit of gradients by which automatic step sizes of coordinates go: the mean size at score 0,
    unless scores do not grow with it.
    """
    return self.gradient_unit(mean_gradient)


@term_method
def hessian(self, score, target):
    """Second derivative of a loss in the score."""
    return self.hessian(score, target)


@term_method
def conjugate(self, gradient, *beside):
    """Convex conjugate at a gradient, inf outside its domain: of a loss in the score, at a target;
    of a penalty of a group, with its `weight` and `l1_weight`.
    """
    return self.conjugate(gradient, *beside)


@term_method
def inverse_link(self, score):
    """Mean of the target at a score; of a loss of classes the probability of class 1."""
    return self.inverse_link(score)


@term_method
def hessian_bound(self):
    """Upper bound of a loss's second derivative in the score (inf where there is none)."""
    return self.hessian_bound()


@term_method
def prox(self, v, step, *group):
    """Minimiser of ``0.5 * (w - v)**2 + step * penalty(w)``. Of a group, whose penalty also takes
    `weight`, `l1_weight` and `out`, it is written into `out`.
    """
    return self.prox(v, step, *group)


@term_method
def rates(self):
    """The two strengths of a penalty, ``(l1, l2)``."""
    return self.rates()


@term_method
def from_stored(self, stored, cumulative_l1):
    """Weight of a stored number, after L1 has taken `cumulative_l1`."""
    return self.from_stored(stored, cumulative_l1)


@term_method
def to_stored(self, weight, cumulative_l1):
    """Stored number of a weight: ``from_stored(to_stored(w)) == w`` at one `cumulative_l1`."""
    return self.to_stored(weight, cumulative_l1)


@term_method
def subgradient_sign(self, weight):
    """How fast a weight falls as `cumulative_l1` rises: its sign, or 0 without L1."""
    return self.subgradient_sign(weight)


@term_method
def step_size(self, t, loss, sqnorm):
    """Step size at step ``t`` for a row with this loss and squared norm."""
    return self.step_size(t, loss, sqnorm)


def _always(self):
    return True


@term_method(otherwise=_always)
def depends_on_row(self):
    """Whether a step size depends on the loss or the norm of the row."""
    return self.depends_on_row()


@term_method
def columns(self):
    """How many numbers an optimizer stores for each cell."""
    return self.columns()


def _weighted_l1(self, lazy, weight):
    return LazyState(
        lazy.steps,
        lazy.scale,
        weight * lazy.cumulative_l1,
        lazy.base,
        lazy.sum_scales,
        lazy.sum_scaled_l1,
        lazy.ridge,
    )


@term_method(otherwise=_weighted_l1)
def weighted_lazy(self, lazy, weight):
    """The lazy state as a column reads it whose penalty is multiplied by `weight`. Without the
    method an optimizer takes weights of L1 alone.
    """
    return self.weighted_lazy(lazy, weight)


@term_method
def adapts(self):
    """Whether each coordinate has a rate of its own, by its past gradients."""
    return self.adapts()


@term_method
def current_weight(self, state, penalty, cell, lazy):
    """Weight of a cell in units of the scale, after all pending penalties; writes nothing."""
    return self.current_weight(state, penalty, cell, lazy)


def _never(self):
    return False


@term_method(otherwise=_never)
def caches_weights(self):
    """Whether `current_weight` is slow, so that a loop stores the weights of a row."""
    return self.caches_weights()


@term_method
def apply_gradient(self, state, penalty, cell, weight, s, x, pace, lazy):
    """Apply the gradient ``s * x`` to a cell with this current weight; ``pace`` is ``s`` times the
    step size over the scale.
    """
    self.apply_gradient(state, penalty, cell, weight, s, x, pace, lazy)


@term_method
def charge_step(self, penalty, eta, lazy, penalty_scales):
    """``(scale, cumulative_l1, base)`` after a step of size ``eta`` that charges
    ``penalty_scales`` times the strengths of the penalty.
    """
    return self.charge_step(penalty, eta, lazy, penalty_scales)


@term_method
def flush_urgency(self):
    """0 where cells never need `flush_cell`; else a number: the larger, the earlier a loop flushes
    all cells.
    """
    return self.flush_urgency()


@term_method
def flush_cell(self, state, penalty, cell, lazy):
    """Apply all pending penalties to a cell: rewrite it for scale 1 and cumulative L1 0."""
    self.flush_cell(state, penalty, cell, lazy)


@term_method
def step_scale(self, norm, gradient):
    """Factor of an automatic step size, from the mean norm of the rows and the mean gradient at
    score 0, so that it does not depend on the scale of the data.
    """
    return self.step_scale(norm, gradient)


@term_method
def clip_step(self, eta, hessian_bound, sqnorm):
    """An automatic step size, made smaller for a row so long that the step would overshoot."""
    return self.clip_step(eta, hessian_bound, sqnorm)


@term_method
def affine_weight(self, state, penalty, cell, lazy):
    """``(c, d)`` such that until the next update the weight is
    ``scale * (c - d * cumulative_l1)``.
    """
    return self.affine_weight(state, penalty, cell, lazy)


@term_method
def final_weight(self, state, penalty, cell, lazy):
    """The weight that `coef_` shows."""
    return self.final_weight(state, penalty, cell, lazy)


@term_method
def direction_and_margin(self, score, target):
    """Direction in which the score must move for a target, and the margin, 1 minus the loss."""
    return self.direction_and_margin(score, target)


@term_method
def confidence_update(self, margin, variance, weight):
    """Updates of mean and precision, from the margin, variance and weight of a row."""
    return self.confidence_update(margin, variance, weight)


@term_method
def soft_threshold(self, v, threshold):
    """A weight after L1 has taken `threshold` from it."""
    return self.soft_threshold(v, threshold)


@term_method
def shrinkage_factor(self, norm, threshold):
    """Factor that shrinks a group of this norm by `threshold`; 0 where the norm is smaller."""
    return self.shrinkage_factor(norm, threshold)


@term_method
def dual_scale(self, gradient, weight, l1_weight):
    """Smallest alpha at which a group with this gradient at 0 stays 0: the dual norm of the penalty
    of strength 1.
    """
    return self.dual_scale(gradient, weight, l1_weight)


def _any_step(self):
    return math.inf


@term_method(otherwise=_any_step)
def largest_step(self):
    """Longest step of a penalty that is not convex: half of 1 over the fastest fall of its
    derivative. The prox has one minimum up to twice as long a step; half of it leaves room for a
    curvature of the loss that is underestimated by half.
    """
    return self.largest_step()


@term_method
def support_gradient(self, w, gradient, weight, l1_weight, out):
    """Write into `out` a gradient plus that of the penalty of a group, at its cells that are not
    0.
    """
    self.support_gradient(w, gradient, weight, l1_weight, out)


@term_method
def support_hessian(self, norm, weight, l1_weight):
    """Second derivatives of the penalty p(r) of a group at its norm r: p'(r) / r across its
    weights, and p''(r) along them.
    """
    return self.support_hessian(norm, weight, l1_weight)


@term_method
def subdiff_distance(self, w, gradient, *group):
    """Distance of ``-gradient`` to the subdifferential of the penalty at `w`: a weight, or a group
    and its `weight` and `l1_weight`.
    """
    return self.subdiff_distance(w, gradient, *group)
