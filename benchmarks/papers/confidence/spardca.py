"""sparDCA, a comparator that no package has: proximal dual coordinate ascent for an L1 term beside
a ridge term.

Minimises lam / 2 |w|^2 + tau |w|_1 + C sum max(0, 1 - y w.x)^2 (S. Shalev-Shwartz and T. Zhang,
"Proximal Stochastic Dual Coordinate Ascent", 2012). The state is z = sum alpha y x; weights are
soft(z, tau) / lam, and are never stored.
"""

import numpy as np

from tamis.numerics.numba import compiled, compiled_helper

ONE = np.uint64(1)


@compiled_helper
def soft(z, tau):
    """z moved towards 0 by at most tau."""
    return z - min(max(z, -tau), tau)


@compiled
def ascend(data, indices, indptr, order, signs, lam, tau, ridge, squares, alpha, z):
    """One epoch."""
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        first, last = indptr[i], indptr[i + ONE]
        score = 0.0
        for k in range(first, last):
            score += soft(z[indices[k]], tau) * data[k]
        short = 1.0 - signs[i] * score / lam - ridge * alpha[i]
        new = max(alpha[i] + short / (squares[i] / lam + ridge), 0.0)
        move = signs[i] * (new - alpha[i])
        alpha[i] = new
        for k in range(first, last):
            z[indices[k]] += move * data[k]


class SparDCA:
    """A model with `fit`, `coef_` and `predict`, as the figure needs it; classes are 0 and 1."""

    def __init__(self, C=1.0, tau=1.0, lam=0.1, max_iter=50, tol=1e-2):
        self.C, self.tau, self.lam, self.max_iter, self.tol = C, tau, lam, max_iter, tol

    def fit(self, X, y):
        """Epochs until the duality gap is `tol` times the objective."""
        signs = np.where(y > 0, 1.0, -1.0)
        csr = (X.data, X.indices.view(np.uint32), X.indptr.astype(np.uint64))
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        alpha, z = np.zeros(len(y)), np.zeros(X.shape[1])
        random, ridge = np.random.default_rng(0), 0.5 / self.C
        self.gaps_, self.duals_ = [], []
        for _ in range(self.max_iter):
            ascend(
                *csr,
                random.permutation(len(y)),
                signs,
                self.lam,
                self.tau,
                ridge,
                squares,
                alpha,
                z,
            )
            w = (z - np.clip(z, -self.tau, self.tau)) / self.lam
            loss = self.C * (np.maximum(1.0 - signs * (X @ w), 0.0) ** 2).sum()
            bent = 0.5 * self.lam * w @ w
            primal, dual = (
                bent + self.tau * np.abs(w).sum() + loss,
                -bent + alpha.sum() - 0.5 * ridge * alpha @ alpha,
            )
            self.gaps_.append((primal - dual) / primal)
            self.duals_.append(dual)
            if self.gaps_[-1] <= self.tol:
                break
        self.coef_ = w[None]
        return self

    def predict(self, X):
        """Classes of the rows."""
        return (X @ self.coef_[0] > 0).astype(int)
