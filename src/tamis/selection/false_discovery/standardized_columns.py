"""Columns in units of their spread, dense or sparse, under row weights that count repeats."""

from typing import Any

import numpy as np
import scipy.sparse as sp

LEAST = 5  # nonzeros of a column that is looked at
# of its size: a column that varies by less is constant, and holds nothing but rounding
FLAT = 1e-10
ROWS = 4096  # of a dense table at a time


class Columns:
    """A table whose columns have mean 0 and deviation 1; a sparse one is centred in its products.

    Columns that are constant, or have fewer than `LEAST` nonzeros, are all 0.
    """

    def __init__(self, X, weights: np.ndarray):
        self.weights, self.total = weights, float(weights.sum())
        self.sparse = sp.issparse(X)
        if self.sparse:
            X = X.tocsc().astype(np.float64, copy=False)
        self.n_rows, self.n_columns = X.shape
        self.ones = np.diff(X.indptr) if self.sparse else np.count_nonzero(X, axis=0)
        self.means = np.asarray(X.T @ weights).ravel() / self.total
        square = self._squares(X) / self.total
        size = np.maximum(np.abs(self.means), np.sqrt(square))
        flat = (np.sqrt(square) <= FLAT * size) | (self.ones < LEAST)
        self.units = np.where(flat, 0.0, 1.0 / np.sqrt(np.where(flat, 1.0, square)))
        self.live = ~flat
        self.X: Any = X if self.sparse else self._standard(X)

    def _squares(self, X) -> np.ndarray:
        """Weighted squares of the columns about their means."""
        if not self.sparse:
            blocks = range(0, self.n_rows, ROWS)
            cuts = (slice(start, start + ROWS) for start in blocks)
            return sum(self.weights[cut] @ np.square(X[cut] - self.means) for cut in cuts)
        held = np.repeat(self.means, np.diff(X.indptr))
        weights = self.weights[X.indices]
        of_cells = sp.csc_array((weights * np.square(X.data - held), X.indices, X.indptr), X.shape)
        empty = self.total - sp.csc_array((weights, X.indices, X.indptr), X.shape).sum(axis=0)
        return np.asarray(of_cells.sum(axis=0) + empty * self.means**2)

    def _standard(self, X) -> np.ndarray:
        table = np.asfortranarray(X - self.means)
        table *= self.units
        return table

    def slopes(self, of_rows: np.ndarray) -> np.ndarray:
        """Products of all columns with one or several numbers of the rows."""
        product = np.asarray(self.X.T @ of_rows)
        if not self.sparse:
            return product
        if of_rows.ndim == 1:
            return self.units * (product - self.means * of_rows.sum())
        product -= np.outer(self.means, of_rows.sum(axis=0))
        product *= self.units[:, None]
        return product

    def picked(self, columns: np.ndarray) -> np.ndarray:
        """Some columns as a dense array (rows, columns)."""
        if not self.sparse:
            return self.X[:, columns]
        part = self.X[:, columns].toarray()
        part -= self.means[columns]
        part *= self.units[columns]
        return part

    def scores(self, loadings: np.ndarray) -> np.ndarray:
        """Rows times loadings (columns, few)."""
        if not self.sparse:
            return self.X @ loadings
        scaled = self.units[:, None] * loadings
        return np.asarray(self.X @ scaled) - self.means @ scaled
