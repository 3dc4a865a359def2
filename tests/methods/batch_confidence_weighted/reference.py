"""Reference implementations of BCW and SBCW in plain NumPy, slow and simple."""

import numpy as np


def make_data(n=80, d=8, seed=0, filled=0.6):
    """Return sparse rows, one of them empty, and noisy labels -1 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < filled)
    X[n // 2] = 0.0
    y = np.where(X @ rng.normal(size=d) + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def symmetric_root(P):
    """Return the inverse square root of a precision, by its eigenvectors."""
    values, vectors = np.linalg.eigh(P)
    return vectors / np.sqrt(values) @ vectors.T


def dual_coordinate_ascent(X, y, C, squared, w, sweeps=1, weights=None):
    """Run sweeps of dual coordinate ascent (Hsieh et al. 2008) in row order, from w."""
    cost = C * (np.ones(len(y)) if weights is None else weights)
    alpha, w = np.zeros(len(y)), w.copy()
    for _ in range(sweeps):
        for i in range(len(y)):
            ridge, bound = (0.5 / cost[i], np.inf) if squared else (0.0, cost[i])
            curvature = X[i] @ X[i] + ridge
            new = (
                bound
                if curvature == 0.0
                else min(
                    max(alpha[i] - (y[i] * (w @ X[i]) - 1.0 + ridge * alpha[i]) / curvature, 0.0),
                    bound,
                )
            )
            w += (new - alpha[i]) * y[i] * X[i]
            alpha[i] = new
    return w, alpha


def bcw_batch(X, y, C, cov_C, squared, mean, precision, sweeps=1, weights=None):
    """Algorithm 1: return the new mean and precision."""
    row_weights = np.ones(len(y)) if weights is None else weights
    precision = precision + cov_C * (X.T * row_weights) @ X
    root = symmetric_root(precision)
    w, alpha = dual_coordinate_ascent(
        X @ root, y, C, squared, np.linalg.solve(root, mean), sweeps, weights
    )
    return root @ w, precision, alpha


def newton_svm(X, y, C, sigma=0.0, steps=60):
    """Return the optimum of (1 + sigma) |w|^2 / 2 + C sum max(0, 1 - y w.x)^2, to machine
    precision.
    """
    w = np.zeros(X.shape[1])
    for _ in range(steps):
        slack = 1.0 - y * (X @ w)
        violators = X[slack > 0]
        gradient = (1.0 + sigma) * w - 2.0 * C * violators.T @ (y[slack > 0] * slack[slack > 0])
        w = w - np.linalg.solve(
            (1.0 + sigma) * np.eye(len(w)) + 2.0 * C * violators.T @ violators, gradient
        )
    return w


def conjugate_gradient_norms(a, sigma):
    """Return the norms of the blocks of the gradient of the conjugate: sort, find the number of
    active blocks, threshold.
    """
    sorted_norms = np.sort(a)[::-1]
    cumulative = np.cumsum(sorted_norms)
    n_active = max(
        (
            m
            for m in range(1, len(a) + 1)
            if m == 1 or sorted_norms[m - 1] * (sigma + m - 1) > cumulative[m - 2]
        ),
        default=1,
    )
    threshold = cumulative[n_active - 1] / (sigma + n_active)
    return np.maximum(a - threshold, 0.0) / sigma, threshold


def printed_pass(X, y, C, blocks, squared, sigma, sigmas):
    """Algorithm 3 with corrected misprints: one pass with the printed step. Return the mean over
    all columns.
    """
    z = [np.zeros(len(block)) for block in blocks]
    roots = [np.linalg.cholesky(s) for s in sigmas]
    rows = [X[:, block] @ root for block, root in zip(blocks, roots, strict=True)]

    def weights():
        norms, _ = conjugate_gradient_norms(
            np.array([np.linalg.norm(block_z) for block_z in z]), sigma
        )
        return [
            s * block_z / max(np.linalg.norm(block_z), 1e-300)
            for s, block_z in zip(norms, z, strict=True)
        ]

    for i in range(len(y)):
        w = weights()
        slack = 1.0 - y[i] * sum(block_z @ row[i] for block_z, row in zip(w, rows, strict=True))
        if slack > 0:
            square = sum(row[i] @ row[i] for row in rows)
            step = (
                slack / (square + 0.5 / C) if squared else min(slack / square if square else C, C)
            )
            z = [block_z + step * y[i] * row[i] for block_z, row in zip(z, rows, strict=True)]
    mean = np.zeros(X.shape[1])
    for block, root, block_z in zip(blocks, roots, weights(), strict=True):
        mean[block] = root @ block_z
    return mean
