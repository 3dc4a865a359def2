"""The sieve's pass as a few lines of plain Python: eager, dense, one row after the other; and small
data.
"""

import numpy as np
import scipy.sparse as sp


def text(n=300, p=200, seed=0, noise=0.3):
    """Sparse counts with a few columns that matter, and two classes."""
    rng = np.random.default_rng(seed)
    frequency = np.clip(1.0 / np.arange(1, p + 1) ** 0.7, 0.02, 0.6)
    X = rng.poisson(frequency, size=(n, p)).astype(float)
    truth = np.zeros(p)
    truth[rng.permutation(12)[:8]] = rng.normal(size=8) * 2
    score = X @ truth
    return sp.csr_array(X), (score - np.median(score) + noise * rng.normal(size=n) > 0).astype(int)


def logistic_slope(score, y):
    return -y / (1.0 + np.exp(y * score))


def walk(Z, y, orders, slope, rate, strength, weights=None, intercept=True, pull=0.0, free=None):
    """Weights, intercept and their mean iterates over the last pass; Z dense.

    Steps go with the root of a column's sum of squares: up to the present row in the first pass,
    and to the middle of the pass in later ones. Columns from `free` on are not shrunk.
    """
    n, p = Z.shape
    weights = np.ones(n) if weights is None else weights
    w, q, b, qb = np.zeros(p), np.full(p, 1e-300), 0.0, 0.0
    total, shrinks = weights @ Z**2, np.arange(p) < (p if free is None else free)
    for turn, order in enumerate(orders):
        iterates, biases = [], []
        if turn:
            q, qb = total * (turn + 0.5), weights.sum() * (turn + 0.5)
        for i in order:
            z, weight = Z[i], weights[i]
            on = z != 0.0
            g = weight * slope(w @ z + b, y[i])
            if turn == 0:
                q[on] += weight * z[on] ** 2
                qb += weight
            h, own = rate / np.sqrt(q[on]), rate / np.sqrt(qb)
            if pull:
                reach = weight * (h @ z[on] ** 2 + (own if intercept else 0.0))
                g /= 1.0 + pull * reach
            v = w[on] - h * g * z[on]
            toll = h * strength * weight * np.abs(z[on]) * shrinks[on]
            w[on] = np.sign(v) * np.maximum(np.abs(v) - toll, 0.0)
            if intercept:
                b -= own * g
            iterates.append(w.copy())
            biases.append(b)
    return w, b, np.mean(iterates, axis=0), np.mean(biases)
