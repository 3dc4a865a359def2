"""Mercer kernels by name, as support vector machines take them: matrices of rows by rows, and the
automatic width.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

Rows = Any  # a NumPy or SciPy array
KERNELS = frozenset({"linear", "rbf", "poly", "sigmoid", "cosine", "precomputed"})


def alike(rows: Rows, others: Rows) -> Rows:
    """The rows in float64, dense or sparse as the others are: no kernel, a user's least of all, has
    to join one kind with the other.
    """
    if sp.issparse(others):
        return sp.csr_array(rows, dtype=np.float64)
    return (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64, copy=False)


def kernel_matrix(
    X: Rows, Y: Rows, kind: str | Callable, gamma: float, degree: float, coef0: float
) -> np.ndarray:
    """Kernel values of the rows of X and those of Y, dense and of float64; a precomputed kernel is
    X itself.
    """
    if kind == "precomputed":
        return np.asarray(X, dtype=np.float64)
    X, Y = alike(X, Y), Y.astype(np.float64, copy=False)
    if callable(kind):
        values = np.asarray(kind(X, Y), dtype=np.float64)
        if values.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"kernel={kind!r} gave values of shape {values.shape} for {X.shape[0]} and "
                f"{Y.shape[0]} rows; it must give one a pair."
            )
        return values
    values = pairwise_kernels(
        X, Y, metric=kind, filter_params=True, gamma=gamma, degree=degree, coef0=coef0
    )
    return np.ascontiguousarray(values.toarray() if sp.issparse(values) else values)


def kernel_width(X: Rows, weights: np.ndarray, gamma: str | float) -> float:
    """The number behind gamma: "scale" is one over columns times the variance of all cells, "auto"
    one over columns.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    shares = weights / weights.sum() / X.shape[1]
    X = X.astype(np.float64, copy=False)
    squares = X.multiply(X) if sp.issparse(X) else np.square(X)
    mean, square = float((shares @ X).sum()), float((shares @ squares).sum())
    variance = square - mean * mean
    return 1.0 / (X.shape[1] * variance) if variance > 1e-12 * square else 1.0
