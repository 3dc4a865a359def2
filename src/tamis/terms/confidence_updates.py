"""Updates of confidence-weighted learners: the step of the mean of the weights, and the increase of
their precision.

A confidence-weighted learner keeps a mean m and a covariance S of the weights. A row x of class y
(-1 or +1) has the margin ``y m.x`` and the variance ``v = x'S x``. All learners share this step and
differ only in `confidence_update`, which returns (a, g) of

``m += a y S x`` and ``S^-1 += g x x'`` (only its diagonal if the covariance is diagonal).

A row of weight w counts w times in the loss. `weighs` tells whether the learner has a loss that row
weights can multiply. `direction_and_margin` returns the direction in which the score of a row must
move, and a margin equal to 1 minus the loss.
"""

import math
from typing import Annotated, NamedTuple

from tamis.numerics.numba import term
from tamis.terms.methods import NonNegative, Positive, PositiveOrInfinite


@term
class Sides(NamedTuple):
    """Classification: move the score towards its target, -1 or +1."""

    unused: float = 0.0

    def direction_and_margin(self, score, target):
        return target, target * score


@term
class Tube(NamedTuple):
    """Regression: move the score towards the target where they differ by more than epsilon."""

    epsilon: NonNegative = 0.1

    def direction_and_margin(self, score, target):
        return (1.0 if target > score else -1.0), 1.0 + self.epsilon - abs(target - score)


@term
class PAGain(NamedTuple):
    """Passive-aggressive: smallest step to margin 1 (variant 0), capped (1) or softened (2)."""

    C: PositiveOrInfinite = 1.0
    variant: Annotated[float, (0.0, 1.0, 2.0)] = 1.0

    def weighs(self):
        return self.variant > 0.0

    def confidence_update(self, margin, variance, weight):
        if margin >= 1.0 or variance <= 0.0:
            return 0.0, 0.0
        if self.variant == 2.0:
            return (1.0 - margin) / (variance + 0.5 / (self.C * weight)), 0.0
        full_step = (1.0 - margin) / variance
        return (min(self.C * weight, full_step) if self.variant == 1.0 else full_step), 0.0


@term
class AROWGain(NamedTuple):
    """Adaptive regularization of weights: squared hinge loss, weighted by 1 / r."""

    r: Positive = 1.0

    def weighs(self):
        return True

    def confidence_update(self, margin, variance, weight):
        if margin >= 1.0 or variance <= 0.0:
            return 0.0, 0.0
        return (1.0 - margin) / (variance + self.r / weight), weight / self.r


@term
class SOPGain(NamedTuple):
    """Second-order perceptron: the AROW step, only for misclassified rows."""

    r: Positive = 1.0

    def weighs(self):
        return True

    def confidence_update(self, margin, variance, weight):
        if margin > 0.0 or variance <= 0.0:
            return 0.0, 0.0
        return (1.0 - margin) / (variance + self.r / weight), weight / self.r


@term
class NAROWGain(NamedTuple):
    """Narrow adaptive regularization: r such that no row lowers its variance below 1 / b."""

    b: Positive = 1.0

    def weighs(self):
        return False

    def confidence_update(self, margin, variance, weight):
        excess = self.b * variance - 1.0
        if excess <= 0.0:  # the variance is below 1 / b already: r is infinite
            return (1.0 if margin < 1.0 and variance > 0.0 else 0.0), 0.0
        r = variance / excess
        if margin * r >= variance + r:
            return 0.0, 0.0
        return (r - margin) / (variance + r), 1.0 / r


@term
class CWGain(NamedTuple):
    """Confidence-weighted: smallest step to a margin of phi variances (`SCWGain`: deviations)."""

    phi: Positive = 0.5244005127080409

    def weighs(self):
        return False

    def confidence_update(self, margin, variance, weight):
        phi = self.phi
        if variance < 1e-280 or margin >= phi * variance:  # below, quotients would overflow
            return 0.0, 0.0
        linear = 1.0 + 2.0 * phi * margin
        root = math.sqrt(linear * linear + 8.0 * phi * (phi * variance - margin))
        if linear > 0.0:  # the same root of the same square, without cancellation
            alpha = 2.0 * (phi - margin / variance) / (linear + root)
        else:
            alpha = (root - linear) / (4.0 * phi * variance)
        return alpha, min(2.0 * alpha * phi, 1e300)


@term
class SCWGain(NamedTuple):
    """Soft confidence-weighted: step to a margin of phi standard deviations, or less at a cost.

    A margin below the limit costs C times the difference (variant 1) or C times its square (variant
    2). C = inf in variant 1 is CW with standard deviations.
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
        phi_squared = phi * phi
        if self.variant == 1.0:
            root = math.sqrt(
                0.25 * margin * margin * phi_squared * phi_squared
                + variance * phi_squared * (1.0 + phi_squared)
            )
            linear = margin * (1.0 + 0.5 * phi_squared)
            if linear > 0.0:
                alpha = (phi_squared - margin / variance * margin) / (root + linear)
            else:
                alpha = (root - linear) / (variance * (1.0 + phi_squared))
            alpha = min(self.C * weight, alpha)
        else:
            softened_variance = variance + 0.5 / (self.C * weight)
            root = phi * math.sqrt(
                phi_squared * margin * margin * variance * variance
                + 4.0 * softened_variance * variance * (softened_variance + variance * phi_squared)
            )
            alpha = max(
                0.0,
                (root - margin * (2.0 * softened_variance + phi_squared * variance))
                / (
                    2.0
                    * (
                        softened_variance * softened_variance
                        + softened_variance * variance * phi_squared
                    )
                ),
            )
        alpha_v_phi = alpha * variance * phi
        return alpha, min(
            alpha
            * phi
            * (alpha_v_phi + math.sqrt(alpha_v_phi * alpha_v_phi + 4.0 * variance))
            / (2.0 * variance),
            1e300,
        )
