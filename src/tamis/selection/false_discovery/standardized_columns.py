"""Columns in units of their spread, dense or sparse, under row weights that count repeats."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.numerics.moments import centred_moments, standard_deviations

MIN_NONZEROS = 5  # nonzeros of a column that is looked at


class StandardizedColumns:
    """A table whose columns have mean 0 and deviation 1; a sparse one is centred in its products.

    Columns that are constant, or have fewer than `MIN_NONZEROS` nonzeros, are all 0.
    """

    def __init__(self, X, weights: np.ndarray):
        self.weights, self.total = weights, float(weights.sum())
        self.sparse = sp.issparse(X)
        if self.sparse:
            X = X.tocsc().astype(np.float64, copy=False)
        self.n_rows, self.n_columns = X.shape
        self.ones = np.diff(X.indptr) if self.sparse else np.count_nonzero(X, axis=0)
        moments = centred_moments(X, weights)
        deviations = standard_deviations(moments)
        self.means, self.live = moments[1], (deviations > 0.0) & (self.ones >= MIN_NONZEROS)
        self.units = np.where(self.live, 1.0 / np.where(self.live, deviations, 1.0), 0.0)
        self.X: Any = X if self.sparse else self._standard(X)

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
