"""The rows of a batch with their constant column: dense ones for BLAS, sparse ones never made dense
as a whole.
"""

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk

from tamis.system.memory import check_memory

CHUNK = 1 << 20  # numbers of a dense piece of rows
FILLED = 0.05  # share of entries above which a Gram matrix is faster through dense pieces


class Rows:
    """A dense array or SciPy CSR array, and the value of the constant column at its right (0:
    none).
    """

    def __init__(self, matrix, constant: float):
        self.matrix, self.constant = matrix, float(constant)
        self.sparse = sp.issparse(matrix)
        self.count, self.columns = matrix.shape
        self.width = self.columns + (self.constant != 0.0)

    def spans(self):
        """Cuts of the rows into pieces that are small as dense arrays."""
        step = max(64, CHUNK // self.width)
        return [slice(start, min(start + step, self.count)) for start in range(0, self.count, step)]

    def dense(self, rows) -> np.ndarray:
        """Some rows with their constant as a new dense array of float64."""
        part = self.matrix[rows]
        filled = np.empty((part.shape[0], self.width))
        filled[:, : self.columns] = part.toarray() if self.sparse else part
        filled[:, self.columns :] = self.constant
        return filled

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Inner products with weight vectors (outputs, width), as (rows, outputs)."""
        own = np.ascontiguousarray(weights[:, : self.columns].T)
        found = np.concatenate([part @ own for _, part in self._wide()])
        return found + self.constant * weights[:, -1] if self.constant else found

    def combined(self, coefficients: np.ndarray) -> np.ndarray:
        """Sums of the rows by coefficients (rows, outputs), as (outputs, width)."""
        total = np.zeros((coefficients.shape[1], self.width))
        for rows, part in self._wide():
            total[:, : self.columns] += (part.T @ coefficients[rows]).T
        total[:, self.columns :] = self.constant * coefficients.sum(axis=0)[:, None]
        return total

    def _wide(self):
        """The rows without the constant, for products in float64: at once, or dense float32 in
        pieces, since NumPy would copy it whole.
        """
        if self.sparse or self.matrix.dtype == np.float64:
            return [(slice(None), self.matrix)]
        return ((rows, self.matrix[rows].astype(np.float64)) for rows in self.spans())

    def gram(self, row_weights: np.ndarray) -> np.ndarray:
        """Sum of weight x x' over the rows: its lower triangle, in Fortran's order."""
        check_memory(
            f"the covariance of {self.width:,} columns",
            8 * self.width * self.width,
            "Select columns first, or take fewer rows a batch than there are columns.",
        )
        if not self.constant:
            return self._gram(row_weights)
        total = np.empty((self.width, self.width), order="F")
        total[:-1, :-1] = self._gram(row_weights)
        total[-1] = self.constant * self.combined(row_weights[:, None])[0]
        total[:-1, -1] = 0.0
        return total

    def _gram(self, row_weights):
        """The part without the constant."""
        if self.sparse and self.matrix.nnz < FILLED * self.count * self.columns:
            half = Rows(self.matrix, 0.0).scaled(np.sqrt(row_weights))
            return np.asfortranarray((half.T @ half).toarray())
        return self._gram_dense(row_weights)

    def _gram_dense(self, row_weights):
        """The part without the constant, by BLAS: at once where the weights are equal, else in
        pieces of scaled rows.
        """
        same = len(row_weights) and row_weights.min() == row_weights.max()
        if same and not self.sparse and self.matrix.dtype == np.float64:
            return dsyrk(row_weights[0], self.matrix.T, lower=1)
        total = np.zeros((self.columns, self.columns), order="F")
        for rows in self.spans():
            part = self.dense(rows)[:, : self.columns] * np.sqrt(row_weights[rows])[:, None]
            total = dsyrk(1.0, part.T, beta=1.0, c=total, lower=1, overwrite_c=1)
        return total

    def scaled(self, factors: np.ndarray | None = None):
        """The rows with their constant as float64, each times its factor."""
        if not self.sparse:
            whole = self.dense(slice(None))
            return whole if factors is None else whole * factors[:, None]
        whole = self.matrix.astype(np.float64)
        if self.constant:
            whole = sp.csr_array(
                sp.hstack([whole, sp.csr_array(np.full((self.count, 1), self.constant))])
            )
        if factors is not None:
            whole.data *= np.repeat(factors, np.diff(whole.indptr))
        return whole


def inner_products(a, b) -> np.ndarray:
    """Inner products of all rows of `a` with all of `b`, each dense or sparse, in pieces."""
    if not sp.issparse(a):
        return np.asarray(a @ b.T)
    found = np.empty((a.shape[0], b.shape[0]))
    step = max(1, CHUNK // max(1, b.shape[0]))
    for start in range(0, a.shape[0], step):
        part = a[start : start + step] @ b.T
        found[start : start + step] = part.toarray() if sp.issparse(part) else part
    return found
