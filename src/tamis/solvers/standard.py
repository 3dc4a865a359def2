"""Standardized rows, dense or sparse, and their inner products. Sparse rows stay sparse: their
column means are kept as a separate vector.
"""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.moments import centred_moments, standard_deviations


def mean_and_std(matrix, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted mean and standard deviation of the columns, 1 for a constant column."""
    moments = centred_moments(matrix, weights)
    deviations = standard_deviations(moments)
    return moments[1], np.where(deviations > 0.0, deviations, 1.0)


class StandardizedRows:
    """Standardized rows. For sparse rows `shift` holds the scaled column means, which `rows` still
    contain; for dense rows it is None.
    """

    def __init__(self, rows, shift=None):
        self.rows, self.shift = rows, shift

    @classmethod
    def of(cls, matrix, mean: np.ndarray, scale: np.ndarray) -> "StandardizedRows":
        """Standardize the rows of a matrix by column means and scales."""
        if sp.issparse(matrix):
            rows = sp.csr_array(matrix).astype(np.float64)
            return cls(rows.multiply(1.0 / scale).tocsr(), mean / scale)
        return cls((np.asarray(matrix, dtype=np.float64) - mean) / scale)

    def __len__(self) -> int:
        return self.rows.shape[0]

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.rows.shape[1]

    def columns(self, column_indices) -> "StandardizedRows":
        """Return some of the columns; up to 64 sparse ones become dense."""
        if self.shift is None:
            return StandardizedRows(np.ascontiguousarray(self.rows[:, column_indices]))
        selected = self.rows[:, column_indices]
        if len(column_indices) <= 64:
            return StandardizedRows(selected.toarray() - self.shift[column_indices])
        return StandardizedRows(selected, self.shift[column_indices])

    def cut(self, first: int, last: int) -> "StandardizedRows":
        """Return the rows from `first` to `last` - 1."""
        return StandardizedRows(self.rows[first:last], self.shift)

    def products(self, other: "StandardizedRows") -> np.ndarray:
        """Return the inner products with other rows of the same means and scales."""
        if self.shift is None:
            return self.rows @ other.rows.T
        inner_products = (self.rows @ other.rows.T).toarray()
        inner_products -= (self.rows @ self.shift)[:, None]
        inner_products -= other.rows @ self.shift
        return inner_products + self.shift @ self.shift

    def squares(self) -> np.ndarray:
        """Return the squared norm of each row."""
        if self.shift is None:
            return np.einsum("ij,ij->i", self.rows, self.rows)
        norms = np.asarray(self.rows.power(2).sum(axis=1)).ravel()
        return np.maximum(norms - 2.0 * (self.rows @ self.shift) + self.shift @ self.shift, 0.0)
