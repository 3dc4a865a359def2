"""Weighted moments of columns, dense or sparse, summed in float64; sparse ones are not made dense.

Where rows can be read twice they are centred first, so that a column far from 0 loses no digits.
Those of several sets of rows are merged (T. F. Chan, G. H. Golub and R. J. LeVeque, The American
Statistician 1983). Raw sums are for rows that are read once, in any number of blocks.
"""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.numba import compiled

CHUNK, ROWS = 1 << 21, 4096  # numbers and rows of a dense piece
FLAT = 1e-10  # of its size: a column that varies by less holds nothing but rounding
ONE = np.uint64(1)

Moments = tuple[float, np.ndarray, np.ndarray]


def centred_moments(X, weights: np.ndarray | None = None) -> Moments:
    """Return the total weight of the rows, the means of the columns, and their sums of weighted
    squared distances from the mean, by two passes over X: dense, or CSR or CSC without duplicates.
    """
    weights = np.ones(X.shape[0]) if weights is None else weights
    total = float(weights.sum())
    if not total:
        return total, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if sp.issparse(X):
        return total, *_sparse_moments(X, weights, total)
    step = max(1, min(ROWS, CHUNK // max(1, X.shape[1])))
    pieces = [slice(start, start + step) for start in range(0, X.shape[0], step)]
    means = sum(weights[piece] @ X[piece] for piece in pieces) / total
    squares = sum(weights[piece] @ np.square(X[piece] - means) for piece in pieces)
    return total, means, squares


def _sparse_moments(X, weights, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and squares; the zeros of a column lie at its mean from the mean."""
    means = X.T @ weights / total
    stored, kind = np.diff(X.indptr), sp.csr_array
    if X.format == "csr":
        weights, centers = np.repeat(weights, stored), means[X.indices]
    else:
        weights, centers, kind = weights[X.indices], np.repeat(means, stored), sp.csc_array
    cells = X.data - centers
    cells *= cells
    cells *= weights
    squares, filled = (
        kind((numbers, X.indices, X.indptr), X.shape).sum(axis=0) for numbers in (cells, weights)
    )
    return means, squares + np.maximum(total - filled, 0.0) * means**2


def merge_moments(one: Moments, other: Moments) -> Moments:
    """Return the moments of two sets of rows together."""
    total = one[0] + other[0]
    fraction, apart = other[0] / total if total else 0.0, other[1] - one[1]
    means = one[1] + fraction * apart
    return total, means, one[2] + other[2] + one[0] * fraction * apart**2


def standard_deviations(moments: Moments) -> np.ndarray:
    """Return the standard deviations of columns, 0 where there is nothing but rounding."""
    total, means, squares = moments
    deviations = np.sqrt(squares / total) if total else np.sqrt(squares)
    return np.where(deviations > FLAT * np.abs(means), deviations, 0.0)


@compiled
def add_raw_moments(data, indices, indptr, weights, moments):
    """Add each column's weighted sum and sum of squares over CSR rows to the rows of `moments`
    (2, columns); no weights mean 1 each.
    """
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        weight = weights[i] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            j, x = indices[k], float(data[k])
            moments[0, j] += weight * x
            moments[1, j] += weight * (x * x)
