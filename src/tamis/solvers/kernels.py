"""Kernel matrices for support vector machines, by the name of the kernel or by a function."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

Matrix = Any  # a NumPy or SciPy array
KERNEL_NAMES = frozenset({"linear", "rbf", "poly", "sigmoid", "cosine", "precomputed"})


def match_storage(rows: Matrix, others: Matrix) -> Matrix:
    """Return rows as float64, dense or CSR like `others`, so that no kernel (a user's function
    least of all) gets one dense and one sparse argument.
    """
    if sp.issparse(others):
        return sp.csr_array(rows, dtype=np.float64)
    return (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64, copy=False)


def kernel_matrix(
    X: Matrix, Y: Matrix, kernel: str | Callable, gamma: float, degree: float, coef0: float
) -> np.ndarray:
    """Return the dense float64 kernel matrix of the rows of X and the rows of Y; for a precomputed
    kernel, X itself.
    """
    if kernel == "precomputed":
        return np.asarray(X, dtype=np.float64)
    X, Y = match_storage(X, Y), Y.astype(np.float64, copy=False)
    if callable(kernel):
        values = np.asarray(kernel(X, Y), dtype=np.float64)
        if values.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"kernel={kernel!r} returned values of shape {values.shape} for {X.shape[0]} and "
                f"{Y.shape[0]} rows; it must return one value for each pair of rows."
            )
        return values
    values = pairwise_kernels(
        X, Y, metric=kernel, filter_params=True, gamma=gamma, degree=degree, coef0=coef0
    )
    return np.ascontiguousarray(values.toarray() if sp.issparse(values) else values)


def resolve_gamma(X: Matrix, weights: np.ndarray, gamma: str | float) -> float:
    """Return gamma as a number: "scale" is 1 / (n_features * variance of all cells), "auto" is
    1 / n_features.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    cell_weights = weights / weights.sum() / X.shape[1]
    X = X.astype(np.float64, copy=False)
    squared_cells = X.multiply(X) if sp.issparse(X) else np.square(X)
    mean, mean_square = float((cell_weights @ X).sum()), float((cell_weights @ squared_cells).sum())
    variance = mean_square - mean * mean
    return 1.0 / (X.shape[1] * variance) if variance > 1e-12 * mean_square else 1.0
