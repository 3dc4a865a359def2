"""Dual averaging under block penalties as the equations say it: dense, every weight made anew
before every row.
"""

import numpy as np


class Eager:
    """Textbook state: U (columns, outputs), the sum of slopes, and Ub; weights are a function of
    it.
    """

    def __init__(
        self, groups, weights, l1_weights, shape, alpha, rho=0.0, eta=None, t0=3e4, intercept=True
    ):
        self.groups, self.weights, self.l1_weights = groups, weights, l1_weights
        self.U, self.Ub = np.zeros(shape), np.zeros(shape[1])
        self.alpha, self.rho, self.eta, self.t0, self.intercept = alpha, rho, eta, t0, intercept
        self.t, self.total, self.charge, self.longest = 0, 0.0, 0.0, 0.0
        counts = np.bincount(np.concatenate(groups))
        self.overlap = counts.max()

    def beta(self):
        """Divisors of the weights and of the intercepts."""
        mean = self.total / self.t
        if self.eta is not None:
            return 2 * (np.sqrt(self.t + self.t0) / self.eta * mean,)
        room, growth = 1.0 + self.intercept / 16, 0.5 * np.sqrt(1.0 + self.t / self.t0)
        return self.longest * self.overlap * room * growth * mean, 16 * room * growth * mean

    def shown(self):
        """Weights (columns, outputs) and intercepts."""
        W, b = np.zeros_like(self.U), np.zeros_like(self.Ub)
        if self.t == 0:
            return W, b
        beta, bias_beta = self.beta()
        for g, a, r in zip(self.groups, self.weights, self.l1_weights, strict=True):
            toll = self.alpha * r * self.charge + (self.rho * beta if a or r else 0.0)
            c = np.sign(self.U[g]) * np.maximum(np.abs(self.U[g]) - toll, 0.0)
            norm = np.linalg.norm(c)
            if norm > self.alpha * a * self.charge:
                W[g] -= (1.0 - self.alpha * a * self.charge / norm) * c / beta
        return W, (-self.Ub / bias_beta if self.intercept else b)

    def step(self, x, slope, weight=1.0, outputs=slice(None), share=1.0):
        """One row, `slope` a function of its scores."""
        W, b = self.shown()
        s = weight * slope(x @ W[:, outputs] + b[outputs])
        self.absorb([(x, s, outputs)], weight, share)

    def absorb(self, rows, weight=1.0, share=1.0):
        """Take slopes of rows that saw the same weights."""
        for x, s, outputs in rows:
            self.U[:, outputs] += np.outer(x, s)
            self.Ub[outputs] += s
            self.longest = max(self.longest, x @ x)
        self.t, self.total, self.charge = (
            self.t + 1,
            self.total + weight,
            self.charge + weight * share,
        )


def softmax_slope(code, count):
    """Slope of the softmax loss of a row of that class."""

    def slope(scores):
        powers = np.exp(scores - scores.max())
        return powers / powers.sum() - (np.arange(count) == code)

    return slope
