"""Eager reference: dense weights, every coordinate updated at every step, no lazy state. Slow on
purpose.

It shares with tamis only scalars that other laws test or that are choices: gradients of losses
(also implicit ones), step sizes, and the units of automatic steps.
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

    def project(self, w):
        """Projection on the allowed weights."""
        return np.clip(w, self.low, self.high)

    def shrink(self, v, a, b):
        """Minimiser of (w - v)^2 / 2 + a |w| + b w^2 / 2 over the allowed weights."""
        return soft(self.project(v), a) / (1.0 + b)


class Descent:
    """Gradient step, then every `period` steps the prox (FOBOS, truncated gradient)."""

    def __init__(self, term, penalty, p):
        self.term, self.penalty, self.w = term, penalty, np.zeros(p)

    def step(self, g, step_length, eta, penalty_scales, t):
        self.w = self.penalty.project(self.w - step_length * g)
        if t % self.term.period == 0:
            prox_step = self.term.period * (eta if self.term.priced else 1.0)
            self.truncate(
                prox_step * self.penalty.l1 * penalty_scales[0],
                prox_step * self.penalty.l2 * penalty_scales[1],
            )

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
        self.w, self.total, self.cumulative_l1, self.threshold = np.zeros(p), np.zeros(p), 0.0, 0.0

    def step(self, g, step_length, eta, penalty_scales, t):
        self.total += g
        self.cumulative_l1 += self.penalty.l1 * penalty_scales[0]
        # It never falls, even where eta grows with the data.
        rho = self.penalty.weights * self.term.rho
        self.threshold = np.maximum(self.threshold, self.cumulative_l1 + rho / eta)
        cumulative_l1 = (
            self.threshold if self.penalty.shrinks else 0.0
        )  # rho is for penalties with zeros
        self.w = self.penalty.project(
            -soft(self.total, cumulative_l1) / (self.penalty.l2 * penalty_scales[1] * t + 1.0 / eta)
        )


class FTRL:
    """Minimizer of the linearized losses plus proximal terms, summed again at each step (McMahan
    2011).
    """

    def __init__(self, term, penalty, p):
        self.term, self.penalty, self.w = term, penalty, np.zeros(p)
        self.gradients, self.past_weights, self.sums = [], [], [np.zeros(p)]
        self.a = self.b = 0.0

    def step(self, g, step_length, eta, penalty_scales, t):
        self.gradients.append(step_length * g)
        self.sums.append(self.sums[-1] + g * g)
        self.past_weights.append(self.w)
        rates = np.sqrt(self.sums)
        self.a += eta * self.penalty.l1 * penalty_scales[0]
        self.b += eta * self.penalty.l2 * penalty_scales[1]
        z = np.sum(np.diff(rates, axis=0) * self.past_weights, axis=0) - np.sum(
            self.gradients, axis=0
        )
        denominator = self.term.beta + rates[-1] + self.b
        self.w = self.penalty.project(soft(z, self.a) / np.where(denominator > 0, denominator, 1.0))


class AdaGrad:
    """Descent and prox in the metric of summed squared gradients (Duchi et al. 2011, eq. 24)."""

    def __init__(self, term, penalty, p):
        self.term, self.penalty, self.w, self.squares = term, penalty, np.zeros(p), np.zeros(p)

    def step(self, g, step_length, eta, penalty_scales, t):
        self.squares += g * g
        metric = self.term.delta + np.sqrt(self.squares)
        metric = np.where(metric > 0, metric, 1.0)  # nothing seen: the weight is 0 and stays so
        assert not np.any(self.penalty.l2)
        self.w = soft(
            self.penalty.project(self.w - step_length * g / metric),
            eta * self.penalty.l1 * penalty_scales[0] / metric,
        )


OPTIMIZERS = {cls.__name__: cls for cls in (Descent, CappedDescent, DualAveraging, FTRL, AdaGrad)}


def stay_mean(iterates):
    """Return the sum of each weight since it last became nonzero, divided by the number of all
    steps.
    """
    iterates = np.asarray(iterates)
    mean = np.zeros(iterates.shape[1])
    for j, path in enumerate(iterates.T):
        zeros = np.flatnonzero(path == 0.0)
        mean[j] = path[zeros[-1] + 1 if len(zeros) else 0 :].sum() / len(path)
    return mean


def learn(
    X,
    targets,
    weights,
    loss,
    penalty,
    optimizer,
    step,
    flags,
    average=False,
    offset=None,
    columns=(),
):
    """Return weights (outputs, features) and intercepts after one pass over dense rows.

    `columns` has penalty weights and signs of the columns.
    """
    intercept, auto_eta, auto_alpha = flags
    kind = OPTIMIZERS[type(optimizer).__qualname__]
    models = [kind(optimizer, Penalty(penalty, *columns), X.shape[1]) for _ in targets.T]
    biases = [kind(optimizer, Penalty(), 1) for _ in targets.T]
    weight_paths, bias_paths = [[] for _ in models], [[] for _ in models]
    norms, zero_gradients = [], []
    offset = np.zeros(len(X)) if offset is None else offset
    for x, y, weight, shift in zip(X, targets, weights, offset, strict=True):
        if weight == 0.0:
            continue
        sqnorm = float(x @ x)
        norms.append(np.sqrt(sqnorm))
        zero_gradients.append(np.mean([abs(loss.gradient(shift, target)) for target in y]))
        t, norm, mean_gradient = len(norms), np.mean(norms), np.mean(zero_gradients)
        penalty_scales = (mean_gradient * norm, norm**2) if auto_alpha else (1.0, 1.0)
        gradient_scale = gradient_unit(loss, mean_gradient)
        step_factor = optimizer.step_scale(norm, gradient_scale) if auto_eta and norm > 0 else 1.0
        bias_step_ratio = (
            online.INTERCEPT_STEP_RATIO * optimizer.step_scale(1.0, gradient_scale)
            if auto_eta
            else 1.0
        )
        for model, bias, target, weight_path, bias_path in zip(
            models, biases, y, weight_paths, bias_paths, strict=True
        ):
            score = model.w @ x + (bias.w[0] if intercept else 0.0) + shift
            size = step.step_size(float(t), loss.value(score, target), sqnorm)
            eta = step_factor * size
            reach = eta * sqnorm + intercept * bias_step_ratio * size
            if optimizer.adapts():
                reach = (sqnorm / norm**2 + 1.0 if norm > 0 else 1.0) / t
            s = loss.gradient(score, target)
            s = weight * implicit_gradient(loss, score, target, weight * reach, s)
            step_length = (
                optimizer.clip_step(eta, loss.hessian_bound(), sqnorm) if auto_eta else eta
            )
            model.step(s * x, step_length, eta, penalty_scales, t)
            bias.step(np.array([s]), bias_step_ratio * size, bias_step_ratio * size, (1.0, 1.0), t)
            weight_path.append(model.w.copy())
            bias_path.append(bias.w.copy())
    summarize = stay_mean if average else (lambda path: path[-1])
    return np.array([summarize(w) for w in weight_paths]), np.array(
        [summarize(d)[0] if intercept else 0.0 for d in bias_paths]
    )
