"""Learning rates: step sizes by step number, and passive-aggressive steps."""

import math
from typing import Annotated, NamedTuple

from tamis.numerics.numba import term
from tamis.terms.methods import Positive, PositiveOrInfinite


@term
class Constant(NamedTuple):
    """The same step size at every step."""

    eta: Positive = 0.1

    def depends_on_row(self):
        return False

    def step_size(self, t, loss, sqnorm):
        return self.eta


@term
class InverseSqrt(NamedTuple):
    """eta / sqrt(1 + (t - 1) / delay): near eta for `delay` steps, then like 1 / sqrt(t)."""

    eta: Positive = 1.0
    delay: Positive = 100.0

    def depends_on_row(self):
        return False

    def step_size(self, t, loss, sqnorm):
        return self.eta / math.sqrt(1.0 + (t - 1.0) / self.delay)


@term
class InverseTime(NamedTuple):
    """eta / (1 + (t - 1) / delay): near eta for `delay` steps, then like 1 / t."""

    eta: Positive = 1.0
    delay: Positive = 1000.0

    def depends_on_row(self):
        return False

    def step_size(self, t, loss, sqnorm):
        return self.eta / (1.0 + (t - 1.0) / self.delay)


@term
class PassiveAggressive(NamedTuple):
    """Smallest step to the margin: PA (variant 0), capped at C (1) or softened by C (2)."""

    C: PositiveOrInfinite = 1.0
    variant: Annotated[float, (0.0, 1.0, 2.0)] = 1.0

    def step_size(self, t, loss, sqnorm):
        if self.variant == 2.0:
            return loss / (sqnorm + 0.5 / self.C)
        if sqnorm == 0.0:
            return 0.0
        return min(self.C, loss / sqnorm) if self.variant == 1.0 else loss / sqnorm


LEARNING_RATES = {
    "constant": Constant(),
    "inverse_sqrt": InverseSqrt(),
    "inverse_time": InverseTime(),
    "pa1": PassiveAggressive(),
    "pa2": PassiveAggressive(variant=2.0),
}


def descent_eta(loss) -> float:
    """Return the automatic step size of descent, in units of 1 / (norm of a row)^2.

    It is 1 over the bound of the second derivative. Without a bound it is 4 for a loss with a kink,
    which has a bounded gradient, and 1 for implicit steps.
    """
    bound = loss.hessian_bound()
    if not math.isfinite(bound):
        return 1.0 if hasattr(loss, "implicit_gradient") else 4.0
    return 1.0 / min(max(bound, 0.25), 1e6)
