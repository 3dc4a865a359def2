"""Rows in standard units, dense or sparse, and their inner products; sparse rows are centred
without being filled.
"""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.moments import centred_moments, standard_deviations


def standard_units(matrix, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and deviation of the columns; a constant column has deviation 1."""
    moments = centred_moments(matrix, weights)
    deviations = standard_deviations(moments)
    return moments[1], np.where(deviations > 0.0, deviations, 1.0)


class StandardRows:
    """Rows less a mean, over a spread. Of sparse rows the mean is kept apart."""

    def __init__(self, rows, shift=None):
        self.rows, self.shift = rows, shift

    @classmethod
    def of(cls, matrix, mean: np.ndarray, spread: np.ndarray) -> "StandardRows":
        """Rows as the user gave them, in these units."""
        if sp.issparse(matrix):
            rows = sp.csr_array(matrix).astype(np.float64)
            return cls(rows.multiply(1.0 / spread).tocsr(), mean / spread)
        return cls((np.asarray(matrix, dtype=np.float64) - mean) / spread)

    def __len__(self) -> int:
        return self.rows.shape[0]

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.rows.shape[1]

    def columns(self, chosen) -> "StandardRows":
        """Only some columns; sparse ones become dense where they are few."""
        if self.shift is None:
            return StandardRows(np.ascontiguousarray(self.rows[:, chosen]))
        part = self.rows[:, chosen]
        if len(chosen) <= 64:
            return StandardRows(part.toarray() - self.shift[chosen])
        return StandardRows(part, self.shift[chosen])

    def cut(self, first: int, last: int) -> "StandardRows":
        """Some rows that lie together."""
        return StandardRows(self.rows[first:last], self.shift)

    def products(self, other: "StandardRows") -> np.ndarray:
        """Inner products with other rows of the same units."""
        if self.shift is None:
            return self.rows @ other.rows.T
        inner = (self.rows @ other.rows.T).toarray()
        inner -= (self.rows @ self.shift)[:, None]
        inner -= other.rows @ self.shift
        return inner + self.shift @ self.shift

    def squares(self) -> np.ndarray:
        """Squared norms."""
        if self.shift is None:
            return np.einsum("ij,ij->i", self.rows, self.rows)
        norms = np.asarray(self.rows.power(2).sum(axis=1)).ravel()
        return np.maximum(norms - 2.0 * (self.rows @ self.shift) + self.shift @ self.shift, 0.0)
