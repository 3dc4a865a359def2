"""The verbs that terms answer to."""

from typing import NamedTuple

from tamis.numerics.numba import verb


class Ledger(NamedTuple):
    """What all cells of a lazily charged model owe, as running numbers."""

    steps: float = 0.0
    scale: float = 1.0  # weights are stored in units of it
    toll: float = 0.0  # taken by L1 so far, in those units
    base: float = 0.0  # a number of the rule's own
    scales: float = 0.0  # sum of the scale over all steps
    tolls: float = 0.0  # sum of scale times toll over all steps


@verb
def value(self, *numbers):
    """Loss of a score and a target, or penalty of a weight."""
    return self.value(*numbers)


@verb
def slope(self, score, target):
    """Derivative of a loss in the score; 0 at a kink that holds the minimum."""
    return self.slope(score, target)


def _slope_and_value(self, score, target):
    return slope(self, score, target), value(self, score, target), 1.0


@verb(otherwise=_slope_and_value)
def pull(self, score, target):
    """Slope of a loss, and its value as a number and a factor whose logarithm is to be added: a sum
    of logarithms is the logarithm of a running product.
    """
    return self.pull(score, target)


def _slope_at_zero(self, target):
    return slope(self, 0.0, target)


@verb(otherwise=_slope_at_zero)
def null(self, target):
    """Slope of a loss at score 0."""
    return self.null(target)


@verb
def curve(self, score, target):
    """Second derivative of a loss in the score."""
    return self.curve(score, target)


@verb
def conjugate(self, slope, target):
    """Convex conjugate of a loss in the score, at a slope; inf where there is none."""
    return self.conjugate(slope, target)


@verb
def bend(self):
    """Upper bound of a loss's second derivative in the score (inf where there is none)."""
    return self.bend()


@verb
def prox(self, v, scale):
    """Minimiser of ``0.5 * (w - v)**2 + scale * penalty(w)``."""
    return self.prox(v, scale)


@verb
def rates(self):
    """A penalty's two prices, ``(l1, l2)``."""
    return self.rates()


@verb
def collect(self, stored, toll):
    """Weight behind a stored number once the running toll is paid."""
    return self.collect(stored, toll)


@verb
def carry(self, weight, toll):
    """Stored number of a weight that has paid the running toll: ``collect(carry(w)) == w``."""
    return self.carry(weight, toll)


@verb
def lean(self, weight):
    """How fast a weight falls as the toll rises: its sign, or 0 where no toll is taken."""
    return self.lean(weight)


@verb
def size(self, t, loss, sqnorm):
    """Step size at step ``t`` for a row of that loss and squared norm."""
    return self.size(t, loss, sqnorm)


def _waits(self):
    return True


@verb(otherwise=_waits)
def waits(self):
    """Whether a step size depends on the row's loss or norm, so that it must wait for them."""
    return self.waits()


@verb
def settle(self, state, penalty, cell, ledger):
    """Weight of a cell in units of the ledger's scale, all debts paid; reads only."""
    return self.settle(state, penalty, cell, ledger)


def _settles_fast(self):
    return False


@verb(otherwise=_settles_fast)
def settles_slowly(self):
    """Whether weights are so dear to settle that those of a row are kept for its update."""
    return self.settles_slowly()


@verb
def absorb(self, state, penalty, cell, weight, s, x, pace, ledger):
    """Take the gradient ``s * x`` into a cell of a settled weight; ``pace`` is ``s`` times the step
    size over the ledger's scale.
    """
    self.absorb(state, penalty, cell, weight, s, x, pace, ledger)


@verb
def accrue(self, penalty, eta, ledger, lifts):
    """The ledger's ``(scale, toll, base)`` once a step of size ``eta`` is charged at ``lifts``
    times the penalty's rates.
    """
    return self.accrue(penalty, eta, ledger, lifts)


@verb
def owes(self):
    """Whether cells hold debts that must be settled from time to time, by `rebase`; a number above
    1 asks for that sooner.
    """
    return self.owes()


@verb
def rebase(self, state, penalty, cell, ledger):
    """Rewrite a cell for a ledger of scale 1 and toll 0."""
    self.rebase(state, penalty, cell, ledger)


@verb
def unit(self, norm, slope):
    """Factor that makes a step size free of the scale of the data, from the rows' mean norm and
    mean slope at score 0.
    """
    return self.unit(norm, slope)


@verb
def tame(self, eta, bend, sqnorm):
    """An automatic step size, held back for a row so long that the step would overshoot."""
    return self.tame(eta, bend, sqnorm)


@verb
def line(self, state, penalty, cell, ledger):
    """``(c, d)`` such that until the next touch the weight is ``scale * (c - d * toll)``."""
    return self.line(state, penalty, cell, ledger)


@verb
def final(self, state, penalty, cell, ledger):
    """The weight that a finished model shows."""
    return self.final(state, penalty, cell, ledger)


@verb
def aim(self, score, target):
    """Direction in which a target pulls the score, and the margin, which falls short of 1 by the
    loss.
    """
    return self.aim(score, target)


@verb
def gains(self, margin, variance, weight):
    """Gains of the mean and of the precision, from a row's margin, variance and weight."""
    return self.gains(margin, variance, weight)


@verb
def trim(self, v, toll):
    """A cell of a block once L1 has taken `toll` from it."""
    return self.trim(v, toll)


@verb
def keep(self, norm, price):
    """What is left of a block of that norm, as a factor, once its norm has paid `price`."""
    return self.keep(norm, price)


@verb
def block_value(self, w, weight, l1_weight):
    """Penalty of a block of cells."""
    return self.block_value(w, weight, l1_weight)


@verb
def block_prox(self, v, scale, weight, l1_weight, out):
    """Write into `out` the minimiser of ``0.5 * ||w - v||**2 + scale * penalty(w)``."""
    self.block_prox(v, scale, weight, l1_weight, out)


@verb
def block_dual(self, slope, weight, l1_weight):
    """Smallest alpha at which a block with that slope at 0 stays 0 (the dual norm of the penalty of
    strength 1).
    """
    return self.block_dual(slope, weight, l1_weight)


@verb
def block_distance(self, w, slope, weight, l1_weight):
    """Distance of ``-slope`` to the penalty's subdifferential at the block ``w``."""
    return self.block_distance(w, slope, weight, l1_weight)
