"""Rows of a batch with a constant column, and their products: BLAS for dense rows; sparse rows are
converted to dense arrays in chunks only.
"""

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk

from tamis.system.memory import check_memory

CHUNK_SIZE = 1 << 20  # numbers in a dense chunk of rows: 8 MiB
SPARSE_GRAM_DENSITY = 0.05  # above this density BLAS on dense chunks makes the Gram matrix faster


class BatchRows:
    """Rows as a dense array or SciPy CSR array, and the value of a constant last column (0: no such
    column).
    """

    def __init__(self, matrix, constant: float):
        self.matrix, self.constant = matrix, float(constant)
        self.sparse = sp.issparse(matrix)
        self.count, self.columns = matrix.shape
        self.width = self.columns + (self.constant != 0.0)

    def chunk_slices(self):
        """Return slices that split the rows into chunks of about `CHUNK_SIZE` numbers."""
        chunk_rows = max(64, CHUNK_SIZE // self.width)
        return [
            slice(start, min(start + chunk_rows, self.count))
            for start in range(0, self.count, chunk_rows)
        ]

    def to_dense(self, rows) -> np.ndarray:
        """Return selected rows with the constant column, as a new dense array of float64."""
        selected = self.matrix[rows]
        dense = np.empty((selected.shape[0], self.width))
        dense[:, : self.columns] = selected.toarray() if self.sparse else selected
        dense[:, self.columns :] = self.constant
        return dense

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the inner products with weights (outputs, width), of shape (rows, outputs)."""
        coef = np.ascontiguousarray(weights[:, : self.columns].T)
        scores = np.concatenate([chunk @ coef for _, chunk in self._float64_chunks()])
        return scores + self.constant * weights[:, -1] if self.constant else scores

    def weighted_sum(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the sums of coefficient x for coefficients (rows, outputs), of shape (outputs,
        width).
        """
        total = np.zeros((coefficients.shape[1], self.width))
        for rows, chunk in self._float64_chunks():
            total[:, : self.columns] += (chunk.T @ coefficients[rows]).T
        total[:, self.columns :] = self.constant * coefficients.sum(axis=0)[:, None]
        return total

    def _float64_chunks(self):
        """Return pairs of a slice and its rows without the constant, in float64: all rows at once,
        or chunks of dense float32 rows, since NumPy would convert a copy of all of them.
        """
        if self.sparse or self.matrix.dtype == np.float64:
            return [(slice(None), self.matrix)]
        return ((rows, self.matrix[rows].astype(np.float64)) for rows in self.chunk_slices())

    def gram(self, row_weights: np.ndarray) -> np.ndarray:
        """Return the lower triangle of the sum of weight x x' over the rows, in Fortran order."""
        check_memory(
            f"the covariance of {self.width:,} columns",
            8 * self.width * self.width,
            "Select columns first, or take fewer rows a batch than there are columns.",
        )
        if not self.constant:
            return self._gram(row_weights)
        total = np.empty((self.width, self.width), order="F")
        total[:-1, :-1] = self._gram(row_weights)
        total[-1] = self.constant * self.weighted_sum(row_weights[:, None])[0]
        total[:-1, -1] = 0.0
        return total

    def _gram(self, row_weights):
        """Return the same without the constant column."""
        if self.sparse and self.matrix.nnz < SPARSE_GRAM_DENSITY * self.count * self.columns:
            scaled = BatchRows(self.matrix, 0.0).scale_rows(np.sqrt(row_weights))
            return np.asfortranarray((scaled.T @ scaled).toarray())
        return self._gram_dense(row_weights)

    def _gram_dense(self, row_weights):
        """Return the same without the constant column, by BLAS: in one call if all weights are
        equal, else in chunks of scaled rows.
        """
        equal_weights = len(row_weights) and row_weights.min() == row_weights.max()
        if equal_weights and not self.sparse and self.matrix.dtype == np.float64:
            return dsyrk(row_weights[0], self.matrix.T, lower=1)
        total = np.zeros((self.columns, self.columns), order="F")
        for rows in self.chunk_slices():
            chunk = self.to_dense(rows)[:, : self.columns] * np.sqrt(row_weights[rows])[:, None]
            total = dsyrk(1.0, chunk.T, beta=1.0, c=total, lower=1, overwrite_c=1)
        return total

    def scale_rows(self, factors: np.ndarray | None = None):
        """Return the rows with the constant column in float64, each times its factor."""
        if not self.sparse:
            scaled = self.to_dense(slice(None))
            return scaled if factors is None else scaled * factors[:, None]
        scaled = self.matrix.astype(np.float64)
        if self.constant:
            scaled = sp.csr_array(
                sp.hstack([scaled, sp.csr_array(np.full((self.count, 1), self.constant))])
            )
        if factors is not None:
            scaled.data *= np.repeat(factors, np.diff(scaled.indptr))
        return scaled


def inner_products(a, b) -> np.ndarray:
    """Return the dense array a b' for dense or sparse `a` and `b`, computed in chunks."""
    if not sp.issparse(a):
        return np.asarray(a @ b.T)
    products = np.empty((a.shape[0], b.shape[0]))
    chunk_rows = max(1, CHUNK_SIZE // max(1, b.shape[0]))
    for start in range(0, a.shape[0], chunk_rows):
        chunk = a[start : start + chunk_rows] @ b.T
        products[start : start + chunk_rows] = chunk.toarray() if sp.issparse(chunk) else chunk
    return products
