"""Dual averaging under group penalties as the equations say it: dense, with all weights computed
again before every row.
"""

import numpy as np


class EagerDualAveraging:
    """Textbook state: the gradient sums U (columns, outputs) and Ub; weights are a function of
    them.
    """

    def __init__(
        self, groups, weights, l1_weights, shape, alpha, rho=0.0, eta=None, t0=3e4, intercept=True
    ):
        self.groups, self.weights, self.l1_weights = groups, weights, l1_weights
        self.U, self.Ub = np.zeros(shape), np.zeros(shape[1])
        self.alpha, self.rho, self.eta, self.t0, self.intercept = alpha, rho, eta, t0, intercept
        self.t, self.total, self.charged_alpha, self.max_sqnorm = 0, 0.0, 0.0, 0.0
        counts = np.bincount(np.concatenate(groups))
        self.overlap = counts.max()

    def beta(self):
        """Divisors of the weights and of the intercepts."""
        mean = self.total / self.t
        if self.eta is not None:
            return 2 * (np.sqrt(self.t + self.t0) / self.eta * mean,)
        intercept_factor, growth = 1.0 + self.intercept / 16, 0.5 * np.sqrt(1.0 + self.t / self.t0)
        return (
            self.max_sqnorm * self.overlap * intercept_factor * growth * mean,
            16 * intercept_factor * growth * mean,
        )

    def weights_and_intercepts(self):
        """Return the weights (columns, outputs) and intercepts."""
        W, b = np.zeros_like(self.U), np.zeros_like(self.Ub)
        if self.t == 0:
            return W, b
        beta, bias_beta = self.beta()
        for g, a, r in zip(self.groups, self.weights, self.l1_weights, strict=True):
            l1_threshold = self.alpha * r * self.charged_alpha + (
                self.rho * beta if a or r else 0.0
            )
            c = np.sign(self.U[g]) * np.maximum(np.abs(self.U[g]) - l1_threshold, 0.0)
            norm = np.linalg.norm(c)
            if norm > self.alpha * a * self.charged_alpha:
                W[g] -= (1.0 - self.alpha * a * self.charged_alpha / norm) * c / beta
        return W, (-self.Ub / bias_beta if self.intercept else b)

    def step(self, x, gradient, weight=1.0, outputs=slice(None), alpha_fraction=1.0):
        """Take one row; `gradient` is a function of its scores."""
        W, b = self.weights_and_intercepts()
        s = weight * gradient(x @ W[:, outputs] + b[outputs])
        self.add_gradients([(x, s, outputs)], weight, alpha_fraction)

    def add_gradients(self, rows, weight=1.0, alpha_fraction=1.0):
        """Add the gradients of rows that saw the same weights."""
        for x, s, outputs in rows:
            self.U[:, outputs] += np.outer(x, s)
            self.Ub[outputs] += s
            self.max_sqnorm = max(self.max_sqnorm, x @ x)
        self.t, self.total, self.charged_alpha = (
            self.t + 1,
            self.total + weight,
            self.charged_alpha + weight * alpha_fraction,
        )


def softmax_gradient(code, count):
    """Return the gradient of the multinomial loss of a row of class `code`."""

    def gradient(scores):
        powers = np.exp(scores - scores.max())
        return powers / powers.sum() - (np.arange(count) == code)

    return gradient
