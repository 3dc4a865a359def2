"""Penalties of single weights, and their lazy form.

The exact lazy form shares two running numbers among all features, a scale P and a cumulative L1 S.
A feature stores one number, ``c = u + sign(u) S`` with ``w = P u``. Until its next gradient its
weight is ``P sign(c) max(0, |c| - S)``, whatever P and S have become, so reading a weight writes
nothing. `from_stored` maps c to u, `to_stored` maps u to c.
"""

import math
from typing import Any, NamedTuple

from tamis.numerics.numba import term
from tamis.terms.methods import (
    Finite,
    Flag,
    NonNegative,
    from_stored,
    rates,
    subgradient_sign,
    to_stored,
)


@term
class Free(NamedTuple):
    """No penalty."""

    unused: float = 0.0

    def value(self, w):
        return 0.0 * w

    def prox(self, v, step):
        return v

    def subdiff_distance(self, w, gradient):
        return abs(gradient)

    def rates(self):
        return 0.0, 0.0

    def from_stored(self, stored, cumulative_l1):
        return stored

    def to_stored(self, weight, cumulative_l1):
        return weight

    def subgradient_sign(self, weight):
        return 0.0


@term
class L1(NamedTuple):
    """Lasso penalty l1 |w|; with `positive`, also w >= 0."""

    l1: NonNegative = 1e-4
    positive: Flag = 0.0

    def value(self, w):
        return self.l1 * abs(w) if w >= 0.0 or not self.positive else math.inf

    def prox(self, v, step):
        shrunk = max(abs(v) - step * self.l1, 0.0)
        return 0.0 if self.positive and v < 0.0 else math.copysign(shrunk, v)

    def subdiff_distance(self, w, gradient):
        if w != 0.0:
            return abs(gradient + math.copysign(self.l1, w))
        return max(0.0, -gradient - self.l1) if self.positive else max(0.0, abs(gradient) - self.l1)

    def rates(self):
        return self.l1, 0.0

    def from_stored(self, stored, cumulative_l1):
        negative_threshold = math.inf if self.positive else cumulative_l1
        return stored - min(max(stored, -negative_threshold), cumulative_l1)

    def to_stored(self, weight, cumulative_l1):
        return weight + math.copysign(cumulative_l1, weight)

    def subgradient_sign(self, weight):
        return math.copysign(1.0, weight)


@term
class Ridge(NamedTuple):
    """Ridge penalty l2 w^2 / 2; with `positive`, also w >= 0."""

    l2: NonNegative = 1e-4
    positive: Flag = 0.0

    def value(self, w):
        return 0.5 * self.l2 * w * w if w >= 0.0 or not self.positive else math.inf

    def prox(self, v, step):
        return 0.0 if self.positive and v < 0.0 else v / (1.0 + step * self.l2)

    def subdiff_distance(self, w, gradient):
        g = gradient + self.l2 * w
        return max(0.0, -g) if self.positive and w == 0.0 else abs(g)

    def rates(self):
        return 0.0, self.l2

    def from_stored(self, stored, cumulative_l1):
        return max(stored, 0.0 if self.positive else -math.inf)

    def to_stored(self, weight, cumulative_l1):
        return weight

    def subgradient_sign(self, weight):
        return 0.0


@term
class ElasticNet(NamedTuple):
    """Elastic net, l1 |w| + l2 w^2 / 2; with `positive`, also w >= 0."""

    l1: NonNegative = 1e-4
    l2: NonNegative = 1e-4
    positive: Flag = 0.0

    def value(self, w):
        return (
            self.l1 * abs(w) + 0.5 * self.l2 * w * w if w >= 0.0 or not self.positive else math.inf
        )

    def prox(self, v, step):
        shrunk = max(abs(v) - step * self.l1, 0.0) / (1.0 + step * self.l2)
        return 0.0 if self.positive and v < 0.0 else math.copysign(shrunk, v)

    def subdiff_distance(self, w, gradient):
        g = gradient + self.l2 * w
        if w != 0.0:
            return abs(g + math.copysign(self.l1, w))
        return max(0.0, -g - self.l1) if self.positive else max(0.0, abs(g) - self.l1)

    def rates(self):
        return self.l1, self.l2

    def from_stored(self, stored, cumulative_l1):
        negative_threshold = math.inf if self.positive else cumulative_l1
        return stored - min(max(stored, -negative_threshold), cumulative_l1)

    def to_stored(self, weight, cumulative_l1):
        return weight + math.copysign(cumulative_l1, weight)

    def subgradient_sign(self, weight):
        return math.copysign(1.0, weight)


@term
class Signed(NamedTuple):
    """A penalty with a sign constraint: weights >= 0 if `sign` > 0, <= 0 if `sign` < 0."""

    penalty: Any
    sign: Finite

    def rates(self):
        return rates(self.penalty)

    def from_stored(self, stored, cumulative_l1):
        weight = from_stored(self.penalty, stored, cumulative_l1)
        return 0.0 if weight * self.sign < 0.0 else weight

    def to_stored(self, weight, cumulative_l1):
        return to_stored(self.penalty, weight, cumulative_l1)

    def subgradient_sign(self, weight):
        return subgradient_sign(self.penalty, weight)
