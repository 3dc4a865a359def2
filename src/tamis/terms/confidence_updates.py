"""Confidence updates: how far a row moves the mean of the weights, and how much it adds to their
precision.

Confidence-weighted learners keep a mean m and a covariance S of the weights. A row x of side y has
the margin ``y m.x`` and the variance ``v = x'S x``. All learners take the same step and differ only
here: `confidence_update` gives (a, g) of

``m += a y S x`` and ``S^-1 += g x x'`` (its diagonal alone, where the covariance is diagonal).

A row of weight w counts w times in the loss; `weighs` says whether the learner has a loss that
could be weighed. `direction_and_margin` gives the direction in which the score must move
for a row, and a margin that is 1 minus the loss.
"""

import math
from typing import Annotated, NamedTuple

from tamis.numerics.numba import term
from tamis.terms.methods import NonNegative, Positive, PositiveOrInfinite


@term
class Sides(NamedTuple):
    """Classes: towards the side of the target, -1 or +1."""

    unused: float = 0.0

    def direction_and_margin(self, score, target):
        return target, target * score


@term
class Tube(NamedTuple):
    """Numbers: towards the target, as far as it is more than epsilon away."""

    epsilon: NonNegative = 0.1

    def direction_and_margin(self, score, target):
        return (1.0 if target > score else -1.0), 1.0 + self.epsilon - abs(target - score)


@term
class PAGain(NamedTuple):
    """Passive-aggressive: the least step to margin 1, capped (variant 1) or softened (2) by C."""

    C: PositiveOrInfinite = 1.0
    variant: Annotated[float, (0.0, 1.0, 2.0)] = 1.0

    def weighs(self):
        return self.variant > 0.0

    def confidence_update(self, margin, variance, weight):
        if margin >= 1.0 or variance <= 0.0:
            return 0.0, 0.0
        if self.variant == 2.0:
            return (1.0 - margin) / (variance + 0.5 / (self.C * weight)), 0.0
        whole = (1.0 - margin) / variance
        return (min(self.C * weight, whole) if self.variant == 1.0 else whole), 0.0


@term
class AROWGain(NamedTuple):
    """Adaptive regularization: a squared hinge of weight 1 / r against the distance moved."""

    r: Positive = 1.0

    def weighs(self):
        return True

    def confidence_update(self, margin, variance, weight):
        if margin >= 1.0 or variance <= 0.0:
            return 0.0, 0.0
        return (1.0 - margin) / (variance + self.r / weight), weight / self.r


@term
class SOPGain(NamedTuple):
    """Second-order perceptron: the step of AROW, at mistakes alone."""

    r: Positive = 1.0

    def weighs(self):
        return True

    def confidence_update(self, margin, variance, weight):
        if margin > 0.0 or variance <= 0.0:
            return 0.0, 0.0
        return (1.0 - margin) / (variance + self.r / weight), weight / self.r


@term
class NAROWGain(NamedTuple):
    """Narrow adaptive regularization: r such that no row narrows its variance below 1 / b."""

    b: Positive = 1.0

    def weighs(self):
        return False

    def confidence_update(self, margin, variance, weight):
        wide = self.b * variance - 1.0
        if wide <= 0.0:  # sure enough of this row: r is infinite
            return (1.0 if margin < 1.0 and variance > 0.0 else 0.0), 0.0
        r = variance / wide
        if margin * r >= variance + r:
            return 0.0, 0.0
        return (r - margin) / (variance + r), 1.0 / r


@term
class CWGain(NamedTuple):
    """Confidence-weighted: the least step to a margin of phi variances (deviations: `SCWGain`)."""

    phi: Positive = 0.5244005127080409

    def weighs(self):
        return False

    def confidence_update(self, margin, variance, weight):
        phi = self.phi
        if variance < 1e-280 or margin >= phi * variance:  # below, quotients would overflow
            return 0.0, 0.0
        line = 1.0 + 2.0 * phi * margin
        root = math.sqrt(line * line + 8.0 * phi * (phi * variance - margin))
        if line > 0.0:  # the same root of the same square, without cancellation
            gain = 2.0 * (phi - margin / variance) / (line + root)
        else:
            gain = (root - line) / (4.0 * phi * variance)
        return gain, min(2.0 * gain * phi, 1e300)


@term
class SCWGain(NamedTuple):
    """Soft confidence-weighted: a step to a margin of phi deviations, or short of it at a cost.

    Each unit costs C (variant 1), or its square does (variant 2). C = inf in variant 1
    is CW by the deviation.
    """

    phi: Positive = 0.6744897501960817
    C: PositiveOrInfinite = 1.0
    variant: Annotated[float, (1.0, 2.0)] = 1.0

    def weighs(self):
        return self.C < math.inf

    def confidence_update(self, margin, variance, weight):
        phi = self.phi
        # Below, quotients would overflow.
        if variance < 1e-280 or margin >= phi * math.sqrt(variance):
            return 0.0, 0.0
        square = phi * phi
        if self.variant == 1.0:
            root = math.sqrt(
                0.25 * margin * margin * square * square + variance * square * (1.0 + square)
            )
            half = margin * (1.0 + 0.5 * square)
            if half > 0.0:
                gain = (square - margin / variance * margin) / (root + half)
            else:
                gain = (root - half) / (variance * (1.0 + square))
            gain = min(self.C * weight, gain)
        else:
            n = variance + 0.5 / (self.C * weight)
            root = phi * math.sqrt(
                square * margin * margin * variance * variance
                + 4.0 * n * variance * (n + variance * square)
            )
            gain = max(
                0.0,
                (root - margin * (2.0 * n + square * variance))
                / (2.0 * (n * n + n * variance * square)),
            )
        spread = gain * variance * phi
        return gain, min(
            gain * phi * (spread + math.sqrt(spread * spread + 4.0 * variance)) / (2.0 * variance),
            1e300,
        )
