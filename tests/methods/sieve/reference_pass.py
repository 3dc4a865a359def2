"""The passes of the sieve in plain Python, dense and row by row; and small data."""

import numpy as np
import scipy.sparse as sp


def make_text(n=300, p=200, seed=0, noise=0.3):
    """Return sparse counts with a few relevant columns, and two classes."""
    rng = np.random.default_rng(seed)
    frequency = np.clip(1.0 / np.arange(1, p + 1) ** 0.7, 0.02, 0.6)
    X = rng.poisson(frequency, size=(n, p)).astype(float)
    truth = np.zeros(p)
    truth[rng.permutation(12)[:8]] = rng.normal(size=8) * 2
    score = X @ truth
    return sp.csr_array(X), (score - np.median(score) + noise * rng.normal(size=n) > 0).astype(int)


def logistic_gradient(score, y):
    return -y / (1.0 + np.exp(y * score))


def run_passes(
    Z,
    y,
    row_orders,
    gradient,
    step_size,
    strength,
    weights=None,
    intercept=True,
    curvature=0.0,
    first_unpenalized=None,
):
    """Weights, intercept and their mean iterates over the last pass; Z dense.

    Steps go with the root of a column's sum of squares: up to the present row in the first pass,
    and to the middle of the pass in later ones. Columns from `first_unpenalized` on are not shrunk.
    """
    n, p = Z.shape
    weights = np.ones(n) if weights is None else weights
    w, q, b, qb = np.zeros(p), np.full(p, 1e-300), 0.0, 0.0
    total, is_penalized = (
        weights @ Z**2,
        np.arange(p) < (p if first_unpenalized is None else first_unpenalized),
    )
    for pass_number, order in enumerate(row_orders):
        iterates, biases = [], []
        if pass_number:
            q, qb = total * (pass_number + 0.5), weights.sum() * (pass_number + 0.5)
        for i in order:
            z, weight = Z[i], weights[i]
            is_stored = z != 0.0
            g = weight * gradient(w @ z + b, y[i])
            if pass_number == 0:
                q[is_stored] += weight * z[is_stored] ** 2
                qb += weight
            h, intercept_step = step_size / np.sqrt(q[is_stored]), step_size / np.sqrt(qb)
            if curvature:
                scaled_norm = weight * (
                    h @ z[is_stored] ** 2 + (intercept_step if intercept else 0.0)
                )
                g /= 1.0 + curvature * scaled_norm
            v = w[is_stored] - h * g * z[is_stored]
            threshold = h * strength * weight * np.abs(z[is_stored]) * is_penalized[is_stored]
            w[is_stored] = np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)
            if intercept:
                b -= intercept_step * g
            iterates.append(w.copy())
            biases.append(b)
    return w, b, np.mean(iterates, axis=0), np.mean(biases)
