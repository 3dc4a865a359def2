"""The textbook: dense weights, every coordinate updated at every step, no ledger. Slow on purpose.

Nothing here is shared with tamis but scalars that other laws test or that are choices, not
mathematics: the losses' slopes, implicit ones among them, the steps' sizes, and the units of
automatic steps.
"""

import numpy as np

from tamis.solvers.first_order import loop as online
from tamis.terms.methods import gradient_unit, implicit_gradient


def soft(v, a):
    """Soft threshold."""
    return np.sign(v) * np.maximum(np.abs(v) - a, 0.0)


class Penalty:
    """l1 |w| + l2 w^2 / 2, perhaps w >= 0, from a term of tamis; of each column with a weight and a
    sign.
    """

    def __init__(self, term=None, weights=1.0, signs=0.0):
        l1, l2 = term.rates() if term is not None else (0.0, 0.0)
        self.l1, self.l2, self.weights = l1 * weights, l2 * weights, weights
        positive = np.full(np.shape(signs), bool(getattr(term, "positive", 0.0)))
        self.low = np.where(positive | (np.asarray(signs) > 0.0), 0.0, -np.inf)
        self.high = np.where(np.asarray(signs) < 0.0, 0.0, np.inf)
        self.shrinks = hasattr(term, "l1")

    def keep(self, w):
        """Projection on the allowed weights."""
        return np.clip(w, self.low, self.high)

    def shrink(self, v, a, b):
        """Minimiser of (w - v)^2 / 2 + a |w| + b w^2 / 2 over the allowed weights."""
        return soft(self.keep(v), a) / (1.0 + b)


class Descent:
    """Gradient step, then every `period` steps the prox (FOBOS, truncated gradient)."""

    def __init__(self, term, penalty, p):
        self.term, self.penalty, self.w = term, penalty, np.zeros(p)

    def step(self, g, pace, eta, lifts, t):
        self.w = self.penalty.keep(self.w - pace * g)
        if t % self.term.period == 0:
            price = self.term.period * (eta if self.term.priced else 1.0)
            self.truncate(price * self.penalty.l1 * lifts[0], price * self.penalty.l2 * lifts[1])

    def truncate(self, a, b):
        self.w = self.penalty.shrink(self.w, a, b)


class CappedDescent(Descent):
    """Truncated gradient that spares weights above theta (Langford et al. 2009, eq. 4)."""

    def truncate(self, a, b):
        assert not np.any(b)
        self.w = np.where(np.abs(self.w) <= self.term.theta, soft(self.w, a), self.w)


class DualAveraging:
    """w minimises G w + psi-terms (Xiao 2010, eq. 24), with the rho enhancement."""

    def __init__(self, term, penalty, p):
        self.term, self.penalty = term, penalty
        self.w, self.total, self.toll, self.highest = np.zeros(p), np.zeros(p), 0.0, 0.0

    def step(self, g, pace, eta, lifts, t):
        self.total += g
        self.toll += self.penalty.l1 * lifts[0]
        # It never falls, even where eta grows with the data.
        rho = self.penalty.weights * self.term.rho
        self.highest = np.maximum(self.highest, self.toll + rho / eta)
        toll = self.highest if self.penalty.shrinks else 0.0  # rho is for penalties with zeros
        self.w = self.penalty.keep(
            -soft(self.total, toll) / (self.penalty.l2 * lifts[1] * t + 1.0 / eta)
        )


class FTRL:
    """Leader of the linearised losses plus proximal terms, all of them summed afresh at each step
    (McMahan 2011).
    """

    def __init__(self, term, penalty, p):
        self.term, self.penalty, self.w = term, penalty, np.zeros(p)
        self.gradients, self.centres, self.sums = [], [], [np.zeros(p)]
        self.a = self.b = 0.0

    def step(self, g, pace, eta, lifts, t):
        self.gradients.append(pace * g)
        self.sums.append(self.sums[-1] + g * g)
        self.centres.append(self.w)
        rates = np.sqrt(self.sums)
        self.a += eta * self.penalty.l1 * lifts[0]
        self.b += eta * self.penalty.l2 * lifts[1]
        pull = np.sum(np.diff(rates, axis=0) * self.centres, axis=0) - np.sum(
            self.gradients, axis=0
        )
        below = self.term.beta + rates[-1] + self.b
        self.w = self.penalty.keep(soft(pull, self.a) / np.where(below > 0, below, 1.0))


class AdaGrad:
    """Descent and prox in the metric of the summed squared gradients (Duchi et al.

    2011, eq. 24).
    """

    def __init__(self, term, penalty, p):
        self.term, self.penalty, self.w, self.squares = term, penalty, np.zeros(p), np.zeros(p)

    def step(self, g, pace, eta, lifts, t):
        self.squares += g * g
        metric = self.term.delta + np.sqrt(self.squares)
        metric = np.where(metric > 0, metric, 1.0)  # nothing seen: the weight is 0 and stays so
        assert not np.any(self.penalty.l2)
        self.w = soft(
            self.penalty.keep(self.w - pace * g / metric), eta * self.penalty.l1 * lifts[0] / metric
        )


RULES = {cls.__name__: cls for cls in (Descent, CappedDescent, DualAveraging, FTRL, AdaGrad)}


def stay_mean(iterates):
    """Sum of each weight over its present unbroken stay in the support, over the number of all
    steps.
    """
    iterates = np.asarray(iterates)
    mean = np.zeros(iterates.shape[1])
    for j, path in enumerate(iterates.T):
        zeros = np.flatnonzero(path == 0.0)
        mean[j] = path[zeros[-1] + 1 if len(zeros) else 0 :].sum() / len(path)
    return mean


def learn(
    X, targets, weights, loss, penalty, rule, step, flags, average=False, offset=None, columns=()
):
    """Weights (outputs, features) and intercepts after one walk over dense rows; `columns` are the
    weights and signs of their penalties.
    """
    intercept, auto_eta, auto_alpha = flags
    kind = RULES[type(rule).__qualname__]
    models = [kind(rule, Penalty(penalty, *columns), X.shape[1]) for _ in targets.T]
    biases = [kind(rule, Penalty(), 1) for _ in targets.T]
    walks, drifts = [[] for _ in models], [[] for _ in models]
    norms, nulls = [], []
    offset = np.zeros(len(X)) if offset is None else offset
    for x, y, weight, shift in zip(X, targets, weights, offset, strict=True):
        if weight == 0.0:
            continue
        sqnorm = float(x @ x)
        norms.append(np.sqrt(sqnorm))
        nulls.append(np.mean([abs(loss.gradient(shift, target)) for target in y]))
        t, norm, null = len(norms), np.mean(norms), np.mean(nulls)
        lifts = (null * norm, norm**2) if auto_alpha else (1.0, 1.0)
        unit = gradient_unit(loss, null)
        lift = rule.step_scale(norm, unit) if auto_eta and norm > 0 else 1.0
        calm = online.INTERCEPT_STEP_RATIO * rule.step_scale(1.0, unit) if auto_eta else 1.0
        for model, bias, target, walk, drift in zip(models, biases, y, walks, drifts, strict=True):
            score = model.w @ x + (bias.w[0] if intercept else 0.0) + shift
            size = step.step_size(float(t), loss.value(score, target), sqnorm)
            eta = lift * size
            reach = eta * sqnorm + intercept * calm * size
            if rule.adapts():
                reach = (sqnorm / norm**2 + 1.0 if norm > 0 else 1.0) / t
            s = loss.gradient(score, target)
            s = weight * implicit_gradient(loss, score, target, weight * reach, s)
            pace = rule.clip_step(eta, loss.hessian_bound(), sqnorm) if auto_eta else eta
            model.step(s * x, pace, eta, lifts, t)
            bias.step(np.array([s]), calm * size, calm * size, (1.0, 1.0), t)
            walk.append(model.w.copy())
            drift.append(bias.w.copy())
    end = stay_mean if average else (lambda path: path[-1])
    return np.array([end(w) for w in walks]), np.array(
        [end(d)[0] if intercept else 0.0 for d in drifts]
    )
