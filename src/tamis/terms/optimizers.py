"""Rules: how a cell turns gradients into a weight.

A cell is one output of one feature; a rule keeps one or two numbers a cell, in the columns of the
state, ``state[column, cell]``; `columns` says how many, `signs` how they turn when a model is
negated, `objection` why a penalty does not go with the rule, `adapts` whether it has one rate a
cell, `takes_any_step` whether step sizes may depend on the loss of a row. The ledger is a `Ledger`.
"""

import math
from typing import Any, NamedTuple

from tamis.numerics.numba import term
from tamis.terms.adaptive_optimizers import FTRL, AdaGrad
from tamis.terms.methods import (
    Ledger,
    absorb,
    accrue,
    carry,
    collect,
    lean,
    line,
    owes,
    rates,
    rebase,
    settle,
    settles_slowly,
    tame,
    unit,
)


@term
class Descent(NamedTuple):
    """Gradient descent, then the penalty's prox every `period` steps (FOBOS; truncated gradient).

    `priced` = 1 charges eta * l1 (FOBOS), 0 charges l1 as it stands, in units of the weights.
    """

    period: float = 1.0
    priced: float = 1.0

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

    def settle(self, state, penalty, cell, ledger):
        return collect(penalty, state[0, cell], ledger.toll)

    def absorb(self, state, penalty, cell, weight, s, x, pace, ledger):
        moved = carry(penalty, weight - pace * x, ledger.toll)
        state[0, cell] = moved if pace != 0.0 else state[0, cell]  # no step, no rounding

    def accrue(self, penalty, eta, ledger, lifts):
        scale, toll, base = ledger.scale, ledger.toll, ledger.base + 1.0
        if base >= self.period:
            l1, l2 = rates(penalty)
            price = self.period * (eta if self.priced else 1.0)
            if l1 != 0.0:  # known at compile time where a penalty has none
                toll += price * l1 * lifts[0] / scale
            if l2 != 0.0:
                scale /= 1.0 + price * l2 * lifts[1]
            base = 0.0
        return scale, toll, base

    def owes(self):
        return True

    def rebase(self, state, penalty, cell, ledger):
        state[0, cell] = carry(
            penalty, ledger.scale * collect(penalty, state[0, cell], ledger.toll), 0.0
        )

    def unit(self, norm, slope):
        return 1.0 / (norm * norm)

    def tame(self, eta, bend, sqnorm):
        return min(eta, 1.0 / (bend * sqnorm)) if bend * sqnorm > 0.0 and bend < math.inf else eta

    def line(self, state, penalty, cell, ledger):
        weight = collect(penalty, state[0, cell], ledger.toll)
        if weight == 0.0:
            return 0.0, 0.0
        return carry(penalty, weight, ledger.toll), lean(penalty, weight)

    def final(self, state, penalty, cell, ledger):
        return ledger.scale * collect(penalty, state[0, cell], ledger.toll)


@term
class CappedDescent(NamedTuple):
    """Truncated gradient that shrinks only weights of at most `theta` (Langford et al. 2009).

    A weight above theta is charged nothing, so each cell remembers what it has paid.
    """

    period: float = 1.0
    theta: float = 1.0
    priced: float = 0.0

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
            return "theta spares large weights from an L1 toll; a ridge has no such form"
        return ""

    def settle(self, state, penalty, cell, ledger):
        weight = state[0, cell]
        return collect(
            penalty, weight, 0.0 if abs(weight) > self.theta else ledger.toll - state[1, cell]
        )

    def absorb(self, state, penalty, cell, weight, s, x, pace, ledger):
        if pace != 0.0:
            state[0, cell] = weight - pace * x
            state[1, cell] = ledger.toll

    def accrue(self, penalty, eta, ledger, lifts):
        toll, base = ledger.toll, ledger.base + 1.0
        if base >= self.period:
            toll += self.period * (eta if self.priced else 1.0) * rates(penalty)[0] * lifts[0]
            base = 0.0
        return 1.0, toll, base

    def owes(self):
        return True

    def rebase(self, state, penalty, cell, ledger):
        state[0, cell] = settle(self, state, penalty, cell, ledger)
        state[1, cell] = 0.0

    def unit(self, norm, slope):
        return 1.0 / (norm * norm)

    def tame(self, eta, bend, sqnorm):
        return min(eta, 1.0 / (bend * sqnorm)) if bend * sqnorm > 0.0 and bend < math.inf else eta

    def line(self, state, penalty, cell, ledger):
        weight = settle(self, state, penalty, cell, ledger)
        if weight == 0.0:
            return 0.0, 0.0
        if abs(state[0, cell]) > self.theta:
            return weight, 0.0
        return carry(penalty, weight, ledger.toll), lean(penalty, weight)

    def final(self, state, penalty, cell, ledger):
        return settle(self, state, penalty, cell, ledger)


@term
class DualAveraging(NamedTuple):
    """Dual averaging: w = -scale * soft(G, toll), G the sum of all gradients (Xiao 2010).

    With step eta_t: toll = l1 t + rho / eta_t and scale = 1 / (l2 t + 1 / eta_t).
    """

    rho: float = 0.0

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

    def settle(self, state, penalty, cell, ledger):
        return collect(penalty, state[0, cell], ledger.toll)

    def absorb(self, state, penalty, cell, weight, s, x, pace, ledger):
        state[0, cell] -= s * x

    def accrue(self, penalty, eta, ledger, lifts):
        l1, l2 = rates(penalty)
        base = ledger.base + l1 * lifts[0]
        # The toll never falls, even where an automatic eta grows: a weight that left must not come
        # back untouched.
        scale = 1.0 / (l2 * lifts[1] * ledger.steps + 1.0 / eta)
        return scale, max(ledger.toll, base + self.rho / eta), base

    def owes(self):
        return False

    def rebase(self, state, penalty, cell, ledger):
        pass

    def unit(self, norm, slope):
        return 1.0 / (norm * norm)

    def tame(self, eta, bend, sqnorm):
        return eta

    def line(self, state, penalty, cell, ledger):
        weight = collect(penalty, state[0, cell], ledger.toll)
        if weight == 0.0:
            return 0.0, 0.0
        return state[0, cell], lean(penalty, weight)

    def final(self, state, penalty, cell, ledger):
        return ledger.scale * collect(penalty, state[0, cell], ledger.toll)


@term
class Averaged(NamedTuple):
    """Any rule, its weights averaged over the steps of each feature's present stay in the support.

    Between touches a weight is ``scale * (c - d * toll)``, so its sum over steps is
    ``c * scales - d * tolls`` less one number a cell, kept in the last column. A feature that
    leaves the support starts again from nothing.
    """

    rule: Any  # a rule

    def columns(self):
        return self.rule.columns() + 1

    def adapts(self):
        return self.rule.adapts()

    def takes_any_step(self):
        return self.rule.takes_any_step()

    def signs(self, sign):
        return *self.rule.signs(sign), sign

    def objection(self, penalty, averaged):
        return self.rule.objection(penalty, True)

    def settle(self, state, penalty, cell, ledger):
        return settle(self.rule, state, penalty, cell, ledger)

    def absorb(self, state, penalty, cell, weight, s, x, pace, ledger):
        c0, d0 = line(self.rule, state, penalty, cell, ledger)
        absorb(self.rule, state, penalty, cell, weight, s, x, pace, ledger)
        c1, d1 = line(self.rule, state, penalty, cell, ledger)
        paid = 0.0 if c0 == 0.0 else state[state.shape[0] - 1, cell]
        state[state.shape[0] - 1, cell] = (
            paid + (c1 - c0) * ledger.scales - (d1 - d0) * ledger.tolls
        )

    def settles_slowly(self):
        return settles_slowly(self.rule)

    def accrue(self, penalty, eta, ledger, lifts):
        return accrue(self.rule, penalty, eta, ledger, lifts)

    def owes(self):
        # A sum over steps is a difference of numbers that grow as 1 / scale: settled at a scale of
        # 1e-3 it loses three digits, at 1e-60 all.
        return owes(self.rule) * 1e57

    def rebase(self, state, penalty, cell, ledger):
        c0, d0 = line(self.rule, state, penalty, cell, ledger)
        rebase(self.rule, state, penalty, cell, ledger)
        opened = Ledger(ledger.steps, 1.0, 0.0, ledger.base, ledger.scales, ledger.tolls)
        c1, d1 = line(self.rule, state, penalty, cell, opened)
        state[state.shape[0] - 1, cell] += (c1 - c0) * ledger.scales - (d1 - d0) * ledger.tolls

    def unit(self, norm, slope):
        return unit(self.rule, norm, slope)

    def tame(self, eta, bend, sqnorm):
        return tame(self.rule, eta, bend, sqnorm)

    def final(self, state, penalty, cell, ledger):
        c, d = line(self.rule, state, penalty, cell, ledger)
        if c == 0.0:
            return 0.0
        return (
            c * ledger.scales - d * ledger.tolls - state[state.shape[0] - 1, cell]
        ) / ledger.steps


RULES = {
    "descent": Descent(),
    "dual_averaging": DualAveraging(),
    "ftrl": FTRL(),
    "adagrad": AdaGrad(),
}
