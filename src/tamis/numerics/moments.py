"""Weighted moments of columns, dense or sparse, summed in float64; sparse matrices stay sparse.

Rows that can be read twice are centered first, so that columns far from 0 keep their digits.
Moments of several sets of rows can be merged (T. F. Chan, G. H. Golub and R. J. LeVeque, The
American Statistician 1983). Raw sums serve rows that are read once, in any number of blocks.
"""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.numba import compiled

CHUNK_ENTRIES, CHUNK_ROWS = 1 << 21, 4096  # largest chunk of dense rows
MIN_RELATIVE_STD = 1e-10  # of the mean; a column that varies by less varies by rounding only
ONE = np.uint64(1)

Moments = tuple[float, np.ndarray, np.ndarray]


def centred_moments(X, weights: np.ndarray | None = None) -> Moments:
    """Return the total weight of the rows, the means of the columns, and their weighted sums of
    squared deviations, by two passes over X.

    X is dense, or CSR or CSC without duplicates.
    """
    weights = np.ones(X.shape[0]) if weights is None else weights
    total = float(weights.sum())
    if not total:
        return total, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if sp.issparse(X):
        return total, *_sparse_moments(X, weights, total)
    step = max(1, min(CHUNK_ROWS, CHUNK_ENTRIES // max(1, X.shape[1])))
    chunks = [slice(start, start + step) for start in range(0, X.shape[0], step)]
    means = sum(weights[chunk] @ X[chunk] for chunk in chunks) / total
    squares = sum(weights[chunk] @ np.square(X[chunk] - means) for chunk in chunks)
    return total, means, squares


def _sparse_moments(X, weights, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Return means and sums of squared deviations; each implicit zero deviates by the mean."""
    means = X.T @ weights / total
    stored, format_class = np.diff(X.indptr), sp.csr_array
    if X.format == "csr":
        weights, centers = np.repeat(weights, stored), means[X.indices]
    else:
        weights, centers, format_class = weights[X.indices], np.repeat(means, stored), sp.csc_array
    weighted_squares = X.data - centers
    weighted_squares *= weighted_squares
    weighted_squares *= weights
    squares, stored_weights = (
        format_class((values, X.indices, X.indptr), X.shape).sum(axis=0)
        for values in (weighted_squares, weights)
    )
    return means, squares + np.maximum(total - stored_weights, 0.0) * means**2


def merge_moments(first: Moments, second: Moments) -> Moments:
    """Return the moments of the union of two sets of rows."""
    total = first[0] + second[0]
    fraction, difference = second[0] / total if total else 0.0, second[1] - first[1]
    means = first[1] + fraction * difference
    return total, means, first[2] + second[2] + first[0] * fraction * difference**2


def standard_deviations(moments: Moments) -> np.ndarray:
    """Return the standard deviations of columns, 0 for columns that vary by rounding only."""
    total, means, squares = moments
    stds = np.sqrt(squares / total) if total else np.sqrt(squares)
    return np.where(stds > MIN_RELATIVE_STD * np.abs(means), stds, 0.0)


@compiled
def add_raw_moments(data, indices, indptr, weights, moments):
    """Add weighted sums and sums of squares of columns over CSR rows to `moments` (2, columns).

    Empty `weights` mean weight 1 for each row.
    """
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        weight = weights[i] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            j, x = indices[k], float(data[k])
            moments[0, j] += weight * x
            moments[1, j] += weight * (x * x)
