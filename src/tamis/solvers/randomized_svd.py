"""Randomized singular value decomposition of a linear map, and bounds of its error.

scikit-learn's `randomized_svd` takes only arrays, so that it cannot centre sparse rows. Rows in
partitions (`methods.low_rank_lasso.partitions`) order the products differently, since each product
is a pass over all rows; they share Lanczos' method and the bounds of this file.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh_tridiagonal, qr, svd

from tamis.system.memory import check_memory


class CenteredOperator:
    """Centred and weighted rows as a linear map; a sparse matrix stays sparse.

    `roots` are the square roots of the row weights. Columns are centred by `mean` if it is given,
    else by their weighted means if `center` is True.
    """

    def __init__(self, matrix, roots=None, center: bool = True, dtype=np.float64, mean=None):
        self.matrix = matrix if matrix.dtype == dtype else matrix.astype(dtype)
        self.transpose = self.matrix.T
        self.roots = np.ones(matrix.shape[0], dtype) if roots is None else roots.astype(dtype)
        self.shape, self.dtype = matrix.shape, np.dtype(dtype)
        weights = np.square(self.roots, dtype=np.float64)
        self.mean = np.zeros(self.shape[1]) if mean is None else mean
        if center and mean is None:
            sums = self.transpose @ weights.astype(dtype)
            self.mean = sums.astype(np.float64) / weights.sum()
        self._mean, self.weighted = self.mean.astype(dtype), roots is not None

    def matmat(self, block: np.ndarray) -> np.ndarray:
        """Return the product of the rows with a vector or with the columns of a block."""
        product = self.matrix @ block
        product -= self._mean @ block
        if self.weighted:
            product *= self.roots if product.ndim == 1 else self.roots[:, None]
        return product

    def rmatmat(self, block: np.ndarray) -> np.ndarray:
        """Return the product of the transpose with a vector or with the columns of a block."""
        if self.weighted:
            block = block * (self.roots if block.ndim == 1 else self.roots[:, None])
        product = self.transpose @ block
        sums = block.sum(axis=0)
        product -= self._mean * sums if block.ndim == 1 else np.outer(self._mean, sums)
        return product

    def centring_norm(self) -> float:
        """Return the norm of the matrix that centring subtracts."""
        return float(np.linalg.norm(self.roots) * np.linalg.norm(self.mean))

    def column_squares(self) -> np.ndarray:
        """Return the squared norms of the centred and weighted columns."""
        weights = np.square(self.roots, dtype=np.float64)
        if sp.issparse(self.matrix):
            squared = self.matrix.copy()
            np.square(squared.data, out=squared.data)
            raw = squared.T @ weights.astype(self.dtype)
        else:
            raw = np.einsum("ij,ij,i->j", self.matrix, self.matrix, weights)
        return np.maximum(raw.astype(np.float64) - weights.sum() * self.mean**2, 0.0)


class Factors(NamedTuple):
    """Approximation ``U diag(S) W'`` of the rows; lower and upper bound of the spectral norm of
    its error, and the Frobenius norm of its error.
    """

    U: np.ndarray
    S: np.ndarray
    W: np.ndarray
    lower: float
    upper: float
    frobenius: float


def orthonormal_basis(block: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns of a block."""
    return qr(block, mode="economic", overwrite_a=True, check_finite=False)[0]


def truncated_svd(
    operator: CenteredOperator, rank: int, oversamples: int, n_power_iterations: int, random
):
    """Return U, S and W of a randomized singular value decomposition, of at most `rank` columns,
    without singular values that are rounding.
    """
    n_rows, n_columns = operator.shape
    n_directions = min(rank + oversamples, n_rows, n_columns)
    check_memory(
        f"the factors of {n_rows:,} rows and {n_columns:,} columns at rank {n_directions:,}",
        2 * operator.dtype.itemsize * n_directions * (n_rows + n_columns),
        "Lower n_components, or take fewer rows.",
    )
    basis = orthonormal_basis(
        operator.matmat(random.normal(size=(n_columns, n_directions)).astype(operator.dtype))
    )
    for _ in range(n_power_iterations):
        basis = orthonormal_basis(operator.matmat(orthonormal_basis(operator.rmatmat(basis))))
    left, values, right = svd(
        operator.rmatmat(basis), full_matrices=False, overwrite_a=True, check_finite=False
    )
    return drop_rounding(
        basis @ right[:rank].T,
        values[:rank],
        left[:, :rank],
        max(n_rows, n_columns),
        operator.centring_norm(),
    )


def drop_rounding(U, S, W, longest_side: int, centring_norm: float):
    """Drop singular values that are rounding errors of the largest one or of centring, and fix the
    signs of the others: the largest entry of each column of W is positive.
    """
    scale = max(S[0] if len(S) else 0.0, centring_norm)
    rank = int(np.count_nonzero(scale * longest_side * np.finfo(S.dtype).eps < S))
    largest = W[np.abs(W[:, :rank]).argmax(axis=0), np.arange(rank)]
    signs = np.where(largest < 0.0, -1.0, 1.0).astype(S.dtype)
    return (
        np.ascontiguousarray(U[:, :rank] * signs),
        S[:rank].astype(np.float64),
        np.ascontiguousarray(W[:, :rank] * signs),
    )


def spectral_error(
    operator: CenteredOperator, U, S, W, n_steps: int, failure: float, random
) -> tuple[float, float]:
    """Return a lower and an upper bound of the spectral norm of the error; the upper bound fails
    with probability `failure`.
    """
    scale = S.astype(operator.dtype)

    def error(v):
        image = operator.matmat(v) - U @ (scale * (W.T @ v))
        adjoint_image = operator.rmatmat(image) - W @ (scale * (U.T @ image))
        return float(np.dot(image, image)), adjoint_image

    return bound_largest_singular_value(
        error, operator.shape[1], operator.dtype, n_steps, failure, random
    )


def bound_largest_singular_value(
    error, n_columns: int, dtype, n_steps: int, failure: float, random
) -> tuple[float, float]:
    """Return a lower and an upper bound of the largest singular value of a matrix E, where
    ``error(v)`` returns ``||E v||^2`` and ``E'E v``.

    Lanczos' method on E'E from a random start; the upper bound is that of Kuczynski and
    Wozniakowski.
    """
    start = random.normal(size=n_columns).astype(dtype)
    basis = [start / np.linalg.norm(start)]
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    tolerance = 1e3 * np.finfo(dtype).eps
    for _ in range(min(n_steps, n_columns)):
        square_norm, image = error(basis[-1])
        diagonal.append(square_norm)
        basis_matrix = np.array(basis)
        for _ in range(2):  # Gram-Schmidt, twice for full precision
            image -= basis_matrix.T @ (basis_matrix @ image)
        residual_norm = float(np.linalg.norm(image))
        if residual_norm <= tolerance * max(diagonal):
            value = math.sqrt(_ritz(diagonal, off_diagonal))
            return value, value * (1.0 + tolerance)
        off_diagonal.append(residual_norm)
        basis.append(image / residual_norm)
    xi = _ritz(diagonal, off_diagonal[:-1])
    relative_error = (
        math.log(1.648 * math.sqrt(n_columns) / failure) / (2.0 * len(diagonal) - 1.0)
    ) ** 2
    return math.sqrt(xi), math.sqrt(
        xi / (1.0 - relative_error)
    ) if relative_error < 1.0 else math.inf


def _ritz(diagonal, off_diagonal) -> float:
    """Return the largest eigenvalue of a symmetric tridiagonal matrix (the largest Ritz value)."""
    values = eigh_tridiagonal(diagonal, off_diagonal[: len(diagonal) - 1], eigvals_only=True)
    return max(float(values[-1]), 0.0)


def factors_with_bounds(
    operator: CenteredOperator, factors, n_steps: int, failure: float, random
) -> Factors:
    """Return the factors with bounds of their error."""
    U, S, W = factors
    total_squares = float(operator.column_squares().sum())
    bounds = spectral_error(operator, U, S, W, n_steps, failure, random)
    return Factors(U, S, W, *error_bounds(total_squares, S, *bounds))


def error_bounds(total_squares: float, S, lower: float, upper: float) -> tuple[float, float, float]:
    """Return a lower and an upper bound of the spectral error, and the Frobenius error.

    `lower` and `upper` are the bounds of Lanczos' method, `total_squares` the sum of all squared
    entries. The Frobenius error, which follows from U'X = S W', is a certain upper bound of the
    spectral one; it is used where it is more than rounding.
    """
    error_squares = max(total_squares - float(S @ S), 0.0)
    frobenius_bound = math.sqrt(error_squares) if error_squares > 1e-6 * total_squares else math.inf
    return lower, max(lower, min(upper, frobenius_bound)), math.sqrt(error_squares)
