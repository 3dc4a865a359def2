"""sDist by its definitions: sums over rows and neighbours, written out."""

from itertools import combinations

import numpy as np


def brute_neighbours(X, codes, k):
    """Own and other neighbours of every row, by all distances."""
    same, other = [], []
    for i in range(len(X)):
        distance = ((X - X[i]) ** 2).sum(axis=1)
        distance[i] = np.inf
        same_rows = np.flatnonzero((codes == codes[i]) & (np.arange(len(X)) != i))
        other_rows = np.flatnonzero(codes != codes[i])
        same.append(same_rows[np.argsort(distance[same_rows], kind="stable")[:k]])
        other.append(other_rows[np.argsort(distance[other_rows], kind="stable")[:k]])
    return same, other


def explicit_form(X, edges, row_weights):
    """Sum over rows of mass times (mean over others - mean over own) of outer products."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for i, (near, share) in enumerate(zip(*edges, strict=True)):
        for j, s in zip(near, share, strict=True):
            total += row_weights[i] * s * np.outer(X[i] - X[j], X[i] - X[j])
    return total


def best_of_all(A, cardinality):
    """The largest eigenvalue over all supports."""
    return max(
        np.linalg.eigvalsh(A[np.ix_(s, s)])[-1] for s in combinations(range(len(A)), cardinality)
    )


def fixed2(shape, n, p, seed):
    """The clean design: two unit-variance columns that matter, the rest noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    if shape == "xor":
        s = rng.choice([-1.0, 1.0], n)
        t = np.c_[s, s * (2 * y - 1)] + 0.705 * rng.normal(size=(n, 2))
    else:
        angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(y == 1, 1.0, 2.0)
        t = np.c_[radius * np.cos(angle), radius * np.sin(angle)] + 0.455 * rng.normal(size=(n, 2))
    X = rng.normal(size=(n, p))
    X[:, :2] = t / t.std(axis=0)
    return X, y
