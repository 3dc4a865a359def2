"""Losses of a score f and a target y: value, gradient and second derivative in f.

`smooth` is False for a loss with a kink. A loss without a kink can still have an unbounded second
derivative (`hessian_bound` is inf). `accepts` tells for each target whether the loss takes it
(without it, all numbers), and `domain` describes these targets. `inverse_link` is the mean of the
target, or the probability of class 1, at a score. The minimum of a loss is ``-conjugate(0,
target)``.
"""

import math
from typing import NamedTuple

from tamis.numerics.numba import term
from tamis.terms.methods import Finite, NonNegative, Positive, PositiveOrInfinite, gradient


@term
class Hinge(NamedTuple):
    """Hinge loss, max(0, margin - y f)."""

    margin: NonNegative = 1.0

    @property
    def smooth(self):
        return False

    @property
    def domain(self):
        return "classes, as -1 and 1"

    def accepts(self, targets):
        return abs(targets) == 1.0

    def value(self, score, target):
        return max(0.0, self.margin - target * score)

    def gradient(self, score, target):
        return -target if score * target < self.margin else 0.0

    def hessian_bound(self):
        return math.inf


@term
class SquaredHinge(NamedTuple):
    """Squared hinge loss, max(0, margin - y f)^2 / 2."""

    margin: NonNegative = 1.0

    @property
    def domain(self):
        return "classes, as -1 and 1"

    def accepts(self, targets):
        return abs(targets) == 1.0

    def value(self, score, target):
        deficit = max(0.0, self.margin - target * score)
        return 0.5 * deficit * deficit

    def gradient(self, score, target):
        return -target * max(0.0, self.margin - target * score)

    def hessian(self, score, target):
        return 1.0 if target * score < self.margin else 0.0

    def conjugate(self, gradient, target):
        dual = -target * gradient
        return 0.5 * dual * dual - self.margin * dual if dual >= 0.0 else math.inf

    def hessian_bound(self):
        return 1.0


@term
class Logistic(NamedTuple):
    """Logistic loss, log(1 + exp(margin - y f)), by exponentials of non-positive numbers only."""

    margin: Finite = 0.0

    @property
    def domain(self):
        return "classes, as -1 and 1"

    def accepts(self, targets):
        return abs(targets) == 1.0

    def inverse_link(self, score):
        return 0.5 * (1.0 + math.tanh(0.5 * score))

    def value(self, score, target):
        m = target * score - self.margin
        return max(0.0, -m) + math.log1p(math.exp(-abs(m)))

    def gradient(self, score, target):
        m = target * score - self.margin
        e = math.exp(-abs(m))
        return -target * (e if m > 0.0 else 1.0) / (1.0 + e)

    def gradient_and_log_terms(self, score, target):
        m = target * score - self.margin
        e = math.exp(-abs(m))
        return -target * (e if m > 0.0 else 1.0) / (1.0 + e), max(0.0, -m), 1.0 + e

    def gradient_at_zero(self, target):
        return -0.5 * target if self.margin == 0.0 else gradient(self, 0.0, target)

    def hessian(self, score, target):
        e = math.exp(-abs(target * score - self.margin))
        return e / ((1.0 + e) * (1.0 + e))

    def conjugate(self, gradient, target):
        p = -target * gradient
        if p < 0.0 or p > 1.0:
            return math.inf
        negative_entropy = (p * math.log(p) if p > 0.0 else 0.0) + (
            (1.0 - p) * math.log(1.0 - p) if p < 1.0 else 0.0
        )
        return negative_entropy - self.margin * p

    def hessian_bound(self):
        return 0.25


@term
class Squared(NamedTuple):
    """Squared loss, scale (f - y)^2 / 2."""

    scale: Positive = 1.0

    def is_quadratic(self):  # it equals its quadratic model
        return True

    def value(self, score, target):
        return 0.5 * self.scale * (score - target) * (score - target)

    def gradient(self, score, target):
        return self.scale * (score - target)

    def hessian(self, score, target):
        return self.scale

    def conjugate(self, gradient, target):
        return 0.5 * gradient * gradient / self.scale + gradient * target

    def hessian_bound(self):
        return self.scale


@term
class Huber(NamedTuple):
    """Huber loss: squared within `delta` of the target, linear beyond."""

    delta: PositiveOrInfinite = 1.35

    def value(self, score, target):
        r = abs(score - target)
        return 0.5 * r * r if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    def gradient(self, score, target):
        return min(max(score - target, -self.delta), self.delta)

    def hessian(self, score, target):
        return 1.0 if abs(score - target) <= self.delta else 0.0

    def conjugate(self, gradient, target):
        return (
            0.5 * gradient * gradient + gradient * target
            if abs(gradient) <= self.delta
            else math.inf
        )

    def hessian_bound(self):
        return 1.0


@term
class EpsilonInsensitive(NamedTuple):
    """Epsilon-insensitive loss, max(0, |f - y| - epsilon)."""

    epsilon: NonNegative = 0.1

    @property
    def smooth(self):
        return False

    def value(self, score, target):
        return max(0.0, abs(score - target) - self.epsilon)

    def gradient(self, score, target):
        r = score - target
        if r > self.epsilon:
            return 1.0
        return -1.0 if r < -self.epsilon else 0.0

    def hessian_bound(self):
        return math.inf


@term
class Poisson(NamedTuple):
    """Poisson loss under the log link, exp(f) - y f.

    It is linear beyond `largest_score`, so that no score overflows.
    """

    largest_score: PositiveOrInfinite = 30.0

    @property
    def domain(self):
        return "counts and rates, from 0 to exp(largest_score)"

    def accepts(self, targets):
        return (targets >= 0.0) & (targets <= math.exp(self.largest_score))

    def value(self, score, target):
        bounded = min(score, self.largest_score)
        return math.exp(bounded) * (1.0 + score - bounded) - target * score

    def gradient(self, score, target):
        return math.exp(min(score, self.largest_score)) - target

    def hessian(self, score, target):
        return math.exp(score) if score < self.largest_score else 0.0

    def conjugate(self, gradient, target):
        mean = gradient + target
        if mean < 0.0 or mean > math.exp(self.largest_score):
            return math.inf
        return mean * math.log(mean) - mean if mean > 0.0 else 0.0

    def implicit_gradient(self, score, target, rate, explicit):
        if rate <= 0.0:
            return explicit
        # f = score - rate (exp(f) - target): w = rate exp(f) solves w + log(w) = z (Lambert's W).
        # Newton steps from below increase to it and converge quadratically.
        z = score + rate * target + math.log(rate)
        w = z - math.log(z) if z > 1.0 else math.exp(z) / (1.0 + math.exp(z))
        for _ in range(6):
            w = w * (1.0 + z - math.log(w)) / (1.0 + w) if w > 0.0 else w
        return min(w / rate, math.exp(self.largest_score)) - target

    def gradient_unit(self, mean_gradient):
        return min(mean_gradient, 1.0)  # scores are logarithms: ten times the counts add 2.3

    def hessian_bound(self):
        return math.inf

    def inverse_link(self, score):
        return math.exp(min(score, self.largest_score))


LOSSES = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
    "log_loss": Logistic(),
    "squared_error": Squared(),
    "huber": Huber(),
    "epsilon_insensitive": EpsilonInsensitive(),
    "poisson": Poisson(),
}


def accepts_numbers(loss) -> bool:
    """Return whether a loss takes numbers as targets.

    A loss without `accepts` takes them if it is symmetric in the residual.
    """
    if hasattr(loss, "accepts"):
        return bool(loss.accepts(0.5))
    return loss.gradient(2.0, 1.0) == -loss.gradient(0.0, 1.0)


def accepts_classes(loss) -> bool:
    """Return whether a loss takes classes, encoded as -1 and 1."""
    return not hasattr(loss, "accepts") or bool(loss.accepts(-1.0) and loss.accepts(1.0))
