"""Rules with one rate a coordinate: the more a feature has moved, the shorter its steps.

See `tamis.terms.optimizers`.
"""

import math
from typing import NamedTuple

from tamis.numerics.numba import term
from tamis.terms.methods import carry, collect, lean, rates, settle


@term
class FTRL(NamedTuple):
    """Follow the regularized leader, proximal, one rate a coordinate (McMahan 2011).

    w = soft(z, toll) / (beta + m + base), m the root of the coordinate's summed squared gradients,
    toll = sum of eta l1 and base = sum of eta l2 over all steps. (1e-300 keeps 0 / 0 away where
    nothing was seen.)
    """

    beta: float = 0.0

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

    def settle(self, state, penalty, cell, ledger):
        return collect(penalty, state[0, cell], ledger.toll) / (
            self.beta + state[1, cell] + ledger.base + 1e-300
        )

    def settles_slowly(self):  # a division a cell
        return True

    def absorb(self, state, penalty, cell, weight, s, x, pace, ledger):
        g = s * x
        m = state[1, cell]
        grown = math.sqrt(m * m + g * g)
        # A choice, not a branch: many outputs go together. Nothing is added where the square of a
        # tiny gradient is 0.
        state[0, cell] += (grown - m) * weight - pace * x if grown > 0.0 else 0.0
        state[1, cell] = grown

    def accrue(self, penalty, eta, ledger, lifts):
        l1, l2 = rates(penalty)
        return 1.0, ledger.toll + eta * l1 * lifts[0], ledger.base + eta * l2 * lifts[1]

    def owes(self):
        return False

    def rebase(self, state, penalty, cell, ledger):
        pass

    def unit(self, norm, slope):
        return slope / norm

    def tame(self, eta, bend, sqnorm):
        return eta

    def line(self, state, penalty, cell, ledger):
        weight = collect(penalty, state[0, cell], ledger.toll)
        if weight == 0.0:
            return 0.0, 0.0
        below = self.beta + state[1, cell] + ledger.base + 1e-300
        return state[0, cell] / below, lean(penalty, weight) / below

    def final(self, state, penalty, cell, ledger):
        return settle(self, state, penalty, cell, ledger)


@term
class AdaGrad(NamedTuple):
    """Descent at a rate eta / (delta + m) a coordinate, then the prox (Duchi et al. 2011).

    The cell stores (delta + m) u + sign(u) S: a coordinate's charge is the common toll over its own
    divisor, so the ledger stays exact for L1. A ridge would divide each coordinate by another
    number at each step.
    """

    delta: float = 0.0

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
                "common ledger cannot hold"
            )
            return why + "; use rule='ftrl' or 'descent'"
        return ""

    def settle(self, state, penalty, cell, ledger):
        return collect(penalty, state[0, cell], ledger.toll) / (
            self.delta + state[1, cell] + 1e-300
        )

    def settles_slowly(self):  # a division a cell
        return True

    def absorb(self, state, penalty, cell, weight, s, x, pace, ledger):
        g = s * x
        m = math.sqrt(state[1, cell] * state[1, cell] + g * g)
        stored = state[0, cell]
        moved = carry(penalty, (self.delta + m) * weight - pace * x, ledger.toll)
        # Not where the square of a tiny gradient is 0.
        state[0, cell] = moved if pace != 0.0 and m > 0.0 else stored
        state[1, cell] = m

    def accrue(self, penalty, eta, ledger, lifts):
        return 1.0, ledger.toll + eta * rates(penalty)[0] * lifts[0], 0.0

    def owes(self):
        return True

    def rebase(self, state, penalty, cell, ledger):
        state[0, cell] = carry(penalty, collect(penalty, state[0, cell], ledger.toll), 0.0)

    def unit(self, norm, slope):
        return slope / norm

    def tame(self, eta, bend, sqnorm):
        return eta

    def line(self, state, penalty, cell, ledger):
        weight = collect(penalty, state[0, cell], ledger.toll)
        if weight == 0.0:
            return 0.0, 0.0
        below = self.delta + state[1, cell]
        return carry(penalty, weight, ledger.toll) / below, lean(penalty, weight) / below

    def final(self, state, penalty, cell, ledger):
        return settle(self, state, penalty, cell, ledger)
