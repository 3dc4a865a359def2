"""Randomised singular value decomposition of rows that are known by products with them, and how far
off it is at most.

scikit-learn's `randomized_svd` takes arrays alone, so that sparse rows could not be centred. Rows
that lie in partitions have an order of products of their own (`methods.low_rank_lasso.partitions`),
since each product is a pass over all of them; Lanczos' method and the bounds are these.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh_tridiagonal, qr, svd

from tamis.system.memory import check_memory


class Operator:
    """Rows as a linear map: centred and weighted, without making a sparse matrix dense.

    They are centred by the columns' `mean` where it is known, else, with `center`, by their own.
    """

    def __init__(self, matrix, roots=None, center: bool = True, dtype=np.float64, mean=None):
        self.matrix = matrix if matrix.dtype == dtype else matrix.astype(dtype)
        self.turned = self.matrix.T
        self.roots = np.ones(matrix.shape[0], dtype) if roots is None else roots.astype(dtype)
        self.shape, self.dtype = matrix.shape, np.dtype(dtype)
        weights = np.square(self.roots, dtype=np.float64)
        self.mean = np.zeros(self.shape[1]) if mean is None else mean
        if center and mean is None:
            sums = self.turned @ weights.astype(dtype)
            self.mean = sums.astype(np.float64) / weights.sum()
        self._mean, self.weighted = self.mean.astype(dtype), roots is not None

    def times(self, block: np.ndarray) -> np.ndarray:
        """The rows times a vector or the columns of a block."""
        product = self.matrix @ block
        product -= self._mean @ block
        if self.weighted:
            product *= self.roots if product.ndim == 1 else self.roots[:, None]
        return product

    def turned_times(self, block: np.ndarray) -> np.ndarray:
        """The columns times a vector or the columns of a block."""
        if self.weighted:
            block = block * (self.roots if block.ndim == 1 else self.roots[:, None])
        product = self.turned @ block
        sums = block.sum(axis=0)
        product -= self._mean * sums if block.ndim == 1 else np.outer(self._mean, sums)
        return product

    def taken(self) -> float:
        """Norm of what centring takes away."""
        return float(np.linalg.norm(self.roots) * np.linalg.norm(self.mean))

    def column_squares(self) -> np.ndarray:
        """Squared norms of the centred and weighted columns."""
        weights = np.square(self.roots, dtype=np.float64)
        if sp.issparse(self.matrix):
            squared = self.matrix.copy()
            np.square(squared.data, out=squared.data)
            raw = squared.T @ weights.astype(self.dtype)
        else:
            raw = np.einsum("ij,ij,i->j", self.matrix, self.matrix, weights)
        return np.maximum(raw.astype(np.float64) - weights.sum() * self.mean**2, 0.0)


class Factors(NamedTuple):
    """``U diag(S) W'`` near the rows, with a bound from below, one from above, and the Frobenius
    norm of the error.
    """

    U: np.ndarray
    S: np.ndarray
    W: np.ndarray
    lower: float
    upper: float
    frobenius: float


def orthonormal(block: np.ndarray) -> np.ndarray:
    """A basis of the columns."""
    return qr(block, mode="economic", overwrite_a=True, check_finite=False)[0]


def truncated_svd(operator: Operator, rank: int, oversamples: int, power: int, random):
    """Randomised singular value decomposition: U, S, W of at most `rank` columns, values of no size
    left out.
    """
    n, d = operator.shape
    width = min(rank + oversamples, n, d)
    check_memory(
        f"the factors of {n:,} rows and {d:,} columns at rank {width:,}",
        2 * operator.dtype.itemsize * width * (n + d),
        "Lower n_components, or take fewer rows.",
    )
    basis = orthonormal(operator.times(random.normal(size=(d, width)).astype(operator.dtype)))
    for _ in range(power):
        basis = orthonormal(operator.times(orthonormal(operator.turned_times(basis))))
    left, values, right = svd(
        operator.turned_times(basis), full_matrices=False, overwrite_a=True, check_finite=False
    )
    return trimmed(
        basis @ right[:rank].T, values[:rank], left[:, :rank], max(n, d), operator.taken()
    )


def trimmed(U, S, W, longer: int, taken: float):
    """The same without directions that are rounding alone: of the largest, or of the size that
    centring has `taken` away.
    """
    size = max(S[0] if len(S) else 0.0, taken)
    kept = int(np.count_nonzero(size * longer * np.finfo(S.dtype).eps < S))
    largest = W[np.abs(W[:, :kept]).argmax(axis=0), np.arange(kept)]
    signs = np.where(largest < 0.0, -1.0, 1.0).astype(S.dtype)
    return (
        np.ascontiguousarray(U[:, :kept] * signs),
        S[:kept].astype(np.float64),
        np.ascontiguousarray(W[:, :kept] * signs),
    )


def spectral_error(
    operator: Operator, U, S, W, steps: int, failure: float, random
) -> tuple[float, float]:
    """Largest singular value of the error: a bound from below, and one from above that fails with
    probability `failure`.
    """
    scale = S.astype(operator.dtype)

    def error(v):
        image = operator.times(v) - U @ (scale * (W.T @ v))
        back = operator.turned_times(image) - W @ (scale * (U.T @ image))
        return float(np.dot(image, image)), back

    return largest_value(error, operator.shape[1], operator.dtype, steps, failure, random)


def largest_value(error, d: int, dtype, steps: int, failure: float, random) -> tuple[float, float]:
    """Bounds of the largest singular value of a matrix E of d columns; ``error(v)`` gives
    ``||E v||^2`` and ``E'E v``.

    Lanczos' method on E'E from a random start; the bound from above is that of Kuczynski and
    Wozniakowski.
    """
    start = random.normal(size=d).astype(dtype)
    basis = [start / np.linalg.norm(start)]
    diagonal: list[float] = []
    beside: list[float] = []
    tiny = 1e3 * np.finfo(dtype).eps
    for _ in range(min(steps, d)):
        square, back = error(basis[-1])
        diagonal.append(square)
        known = np.array(basis)
        for _ in range(2):  # twice is enough
            back -= known.T @ (known @ back)
        size = float(np.linalg.norm(back))
        if size <= tiny * max(diagonal):
            found = math.sqrt(_ritz(diagonal, beside))
            return found, found * (1.0 + tiny)
        beside.append(size)
        basis.append(back / size)
    xi = _ritz(diagonal, beside[:-1])
    share = (math.log(1.648 * math.sqrt(d) / failure) / (2.0 * len(diagonal) - 1.0)) ** 2
    return math.sqrt(xi), math.sqrt(xi / (1.0 - share)) if share < 1.0 else math.inf


def _ritz(diagonal, beside) -> float:
    """Largest eigenvalue of a tridiagonal matrix."""
    values = eigh_tridiagonal(diagonal, beside[: len(diagonal) - 1], eigvals_only=True)
    return max(float(values[-1]), 0.0)


def certified(operator: Operator, parts, steps: int, failure: float, random) -> Factors:
    """The factors with their errors.

    The Frobenius norm, which follows from U'X = S W', bounds the spectral one for sure, where it is
    more than rounding.
    """
    U, S, W = parts
    whole = float(operator.column_squares().sum())
    bounds = spectral_error(operator, U, S, W, steps, failure, random)
    return Factors(U, S, W, *bounded(whole, S, *bounds))


def bounded(whole: float, S, lower: float, upper: float) -> tuple[float, float, float]:
    """Bounds of the error from below and above, and its Frobenius norm, from the sum of all squares
    and what Lanczos' method has found.
    """
    square = max(whole - float(S @ S), 0.0)
    sure = math.sqrt(square) if square > 1e-6 * whole else math.inf
    return lower, max(lower, min(upper, sure)), math.sqrt(square)
