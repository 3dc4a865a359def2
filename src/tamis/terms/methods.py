"""Methods of terms, as functions that compiled loops call."""

import math
from typing import Annotated, NamedTuple

from tamis.numerics.numba import term_method

# Values that fields of terms accept: comparisons, or a tuple of all values. `base/parameters.py`
# checks them when a parameter becomes a term. Infinite numbers are allowed where they have a
# meaning.
Finite = Annotated[float, "> -inf", "< inf"]
NonNegative = Annotated[float, ">= 0", "< inf"]
Positive = Annotated[float, "> 0", "< inf"]
PositiveOrInfinite = Annotated[float, "> 0"]
Flag = Annotated[float, (0.0, 1.0)]


class LazyState(NamedTuple):
    """State that all cells of a model with lazy penalties share."""

    steps: float = 0.0
    scale: float = 1.0  # unit of the stored weights
    cumulative_l1: float = 0.0  # what L1 has taken from each weight so far, in that unit
    base: float = 0.0  # a number that each optimizer defines (FTRL: the sum of eta l2)
    sum_scales: float = 0.0  # sum of the scale over all steps
    sum_scaled_l1: float = 0.0  # sum of scale times cumulative_l1 over all steps
    ridge: float = 0.0  # strength of the ridge at the last step, times all steps


@term_method
def value(self, *arguments):
    """Return the loss at a score and a target, or the penalty of a weight or of a group."""
    return self.value(*arguments)


@term_method
def gradient(self, score, target):
    """Return the derivative of a loss in the score; 0 at a kink that is the minimum."""
    return self.gradient(score, target)


def _gradient_and_loss(self, score, target):
    return gradient(self, score, target), value(self, score, target), 1.0


@term_method(otherwise=_gradient_and_loss)
def gradient_and_log_terms(self, score, target):
    """Return the gradient of a loss and two parts of its value: a number, and a factor.

    The value is the number plus the logarithm of the factor. A loop multiplies the factors and
    takes one logarithm of their product.
    """
    return self.gradient_and_log_terms(score, target)


def _default_gradient_at_zero(self, target):
    return gradient(self, 0.0, target)


@term_method(otherwise=_default_gradient_at_zero)
def gradient_at_zero(self, target):
    """Return the gradient of a loss at score 0."""
    return self.gradient_at_zero(target)


def _explicit_gradient(self, score, target, rate, explicit):
    return explicit


@term_method(otherwise=_explicit_gradient)
def implicit_gradient(self, score, target, rate, explicit):
    """Return the gradient of a loss at the score ``f`` after the step.

    ``f`` solves ``f = score - rate * gradient(f, target)``. A loss without a bound of its second
    derivative needs this: a step along `explicit`, the gradient at the score before the step, could
    be far too long.
    """
    return self.implicit_gradient(score, target, rate, explicit)


def _mean_gradient_unit(self, mean_gradient):
    return mean_gradient


@term_method(otherwise=_mean_gradient_unit)
def gradient_unit(self, mean_gradient):
    """Return the unit of gradients for automatic step sizes per coordinate.

    It is the mean absolute gradient at score 0, except for a loss whose scores do not scale with
    it.
    """
    return self.gradient_unit(mean_gradient)


@term_method
def hessian(self, score, target):
    """Return the second derivative of a loss in the score."""
    return self.hessian(score, target)


@term_method
def conjugate(self, gradient, *arguments):
    """Return the convex conjugate at a gradient, inf outside its domain.

    For a loss it is the conjugate in the score, and the argument is the target. For a group penalty
    the arguments are `weight` and `l1_weight`.
    """
    return self.conjugate(gradient, *arguments)


@term_method
def inverse_link(self, score):
    """Return the mean of the target at a score; for classes the probability of class 1."""
    return self.inverse_link(score)


@term_method
def hessian_bound(self):
    """Return an upper bound of the second derivative of a loss (inf if there is none)."""
    return self.hessian_bound()


@term_method
def prox(self, v, step, *arguments):
    """Return the minimizer of ``0.5 * (w - v)**2 + step * penalty(w)``.

    A group penalty also takes `weight`, `l1_weight` and `out`, and writes the minimizer into `out`.
    """
    return self.prox(v, step, *arguments)


@term_method
def rates(self):
    """Return the two strengths of a penalty, ``(l1, l2)``."""
    return self.rates()


@term_method
def from_stored(self, stored, cumulative_l1):
    """Return the weight of a stored number after L1 has taken `cumulative_l1`."""
    return self.from_stored(stored, cumulative_l1)


@term_method
def to_stored(self, weight, cumulative_l1):
    """Return the stored number of a weight: ``from_stored(to_stored(w)) == w``."""
    return self.to_stored(weight, cumulative_l1)


@term_method
def subgradient_sign(self, weight):
    """Return the rate at which a weight falls as `cumulative_l1` rises: its sign, 0 without L1."""
    return self.subgradient_sign(weight)


@term_method
def step_size(self, t, loss, sqnorm):
    """Return the step size at step ``t`` for a row with this loss and squared norm."""
    return self.step_size(t, loss, sqnorm)


def _return_true(self):
    return True


@term_method(otherwise=_return_true)
def depends_on_row(self):
    """Return whether the step size depends on the loss or the norm of the row."""
    return self.depends_on_row()


@term_method
def columns(self):
    """Return how many numbers an optimizer stores per cell."""
    return self.columns()


def _weighted_l1_only(self, lazy, weight):
    return LazyState(
        lazy.steps,
        lazy.scale,
        weight * lazy.cumulative_l1,
        lazy.base,
        lazy.sum_scales,
        lazy.sum_scaled_l1,
        lazy.ridge,
    )


@term_method(otherwise=_weighted_l1_only)
def weighted_lazy(self, lazy, weight):
    """Return the lazy state for a column with a penalty weight.

    An optimizer without this method supports weights of L1 only.
    """
    return self.weighted_lazy(lazy, weight)


@term_method
def adapts(self):
    """Return whether each coordinate has its own learning rate, from its past gradients."""
    return self.adapts()


@term_method
def current_weight(self, state, penalty, cell, lazy):
    """Return the weight of a cell, in units of the scale, after all pending penalties.

    It writes nothing.
    """
    return self.current_weight(state, penalty, cell, lazy)


def _return_false(self):
    return False


@term_method(otherwise=_return_false)
def caches_weights(self):
    """Return whether `current_weight` is slow, so that loops store the weights of a row."""
    return self.caches_weights()


@term_method
def apply_gradient(self, state, penalty, cell, weight, s, x, scaled_step, lazy):
    """Apply the gradient ``s * x`` to a cell with this current weight.

    ``scaled_step`` is ``s`` times the step size, divided by the scale.
    """
    self.apply_gradient(state, penalty, cell, weight, s, x, scaled_step, lazy)


@term_method
def charge_step(self, penalty, eta, lazy, penalty_scales):
    """Return ``(scale, cumulative_l1, base)`` after a step of size ``eta``.

    The step charges ``penalty_scales`` times the strengths of the penalty.
    """
    return self.charge_step(penalty, eta, lazy, penalty_scales)


@term_method
def flush_urgency(self):
    """Return 0 if cells never need `flush_cell`, else a positive number.

    The larger the number, the earlier a loop flushes all cells.
    """
    return self.flush_urgency()


@term_method
def flush_cell(self, state, penalty, cell, lazy):
    """Apply all pending penalties to a cell: rewrite it for scale 1 and cumulative L1 0."""
    self.flush_cell(state, penalty, cell, lazy)


@term_method
def step_scale(self, norm, gradient):
    """Return the factor of an automatic step size, from the mean norm of the rows and the mean
    gradient at score 0.

    It makes the step independent of the scale of the data.
    """
    return self.step_scale(norm, gradient)


@term_method
def clip_step(self, eta, hessian_bound, sqnorm):
    """Return an automatic step size, reduced for a row so long that the step would overshoot."""
    return self.clip_step(eta, hessian_bound, sqnorm)


@term_method
def affine_weight(self, state, penalty, cell, lazy):
    """Return ``(c, d)``: the weight is ``scale * (c - d * cumulative_l1)`` until an update."""
    return self.affine_weight(state, penalty, cell, lazy)


@term_method
def final_weight(self, state, penalty, cell, lazy):
    """Return the weight for `coef_`."""
    return self.final_weight(state, penalty, cell, lazy)


@term_method
def direction_and_margin(self, score, target):
    """Return the direction in which the score must move, and the margin, 1 minus the loss."""
    return self.direction_and_margin(score, target)


@term_method
def confidence_update(self, margin, variance, weight):
    """Return the updates of mean and precision, from the margin, variance and weight of a row."""
    return self.confidence_update(margin, variance, weight)


@term_method
def soft_threshold(self, v, threshold):
    """Return a weight after L1 has taken `threshold` from it."""
    return self.soft_threshold(v, threshold)


@term_method
def shrinkage_factor(self, norm, threshold):
    """Return the factor that shrinks a group of this norm by `threshold`, at least 0."""
    return self.shrinkage_factor(norm, threshold)


@term_method
def dual_scale(self, gradient, weight, l1_weight):
    """Return the smallest alpha at which a group with this gradient at 0 stays 0.

    It is the dual norm of the penalty of strength 1.
    """
    return self.dual_scale(gradient, weight, l1_weight)


def _unlimited_step(self):
    return math.inf


@term_method(otherwise=_unlimited_step)
def largest_step(self):
    """Return the longest step for a penalty that is not convex.

    It is half of 1 over the fastest decrease of the derivative. The prox has a unique minimum up to
    twice that step; the half leaves a margin for a curvature of the loss that is underestimated by
    half.
    """
    return self.largest_step()


@term_method
def support_gradient(self, w, gradient, weight, l1_weight, out):
    """Write gradient plus derivative of the group penalty into `out`, for cells that are not 0."""
    self.support_gradient(w, gradient, weight, l1_weight, out)


@term_method
def support_hessian(self, norm, weight, l1_weight):
    """Return the second derivatives of the penalty p(r) of a group at its norm r.

    They are p'(r) / r perpendicular to the weights, and p''(r) along them.
    """
    return self.support_hessian(norm, weight, l1_weight)


@term_method
def subdiff_distance(self, w, gradient, *group_weights):
    """Return the distance of ``-gradient`` to the subdifferential of the penalty at `w`.

    `w` is a weight, or a group; a group also takes `weight` and `l1_weight`.
    """
    return self.subdiff_distance(w, gradient, *group_weights)
