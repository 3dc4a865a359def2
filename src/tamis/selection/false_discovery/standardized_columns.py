"""Columns with mean 0 and deviation 1, dense or sparse; row weights count repeated rows."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.numerics.moments import centred_moments, standard_deviations

MIN_NONZEROS = 5  # a column with fewer nonzeros is not tested


class StandardizedColumns:
    """A table with standardized columns; a sparse one is centred in its products only.

    Columns that are constant, or have fewer than `MIN_NONZEROS` nonzeros, are all 0.
    """

    def __init__(self, X, weights: np.ndarray):
        self.weights, self.total_weight = weights, float(weights.sum())
        self.sparse = sp.issparse(X)
        if self.sparse:
            X = X.tocsc().astype(np.float64, copy=False)
        self.n_rows, self.n_columns = X.shape
        self.n_nonzeros = np.diff(X.indptr) if self.sparse else np.count_nonzero(X, axis=0)
        moments = centred_moments(X, weights)
        deviations = standard_deviations(moments)
        self.means, self.is_live = (
            moments[1],
            (deviations > 0.0) & (self.n_nonzeros >= MIN_NONZEROS),
        )
        self.units = np.where(self.is_live, 1.0 / np.where(self.is_live, deviations, 1.0), 0.0)
        self.X: Any = X if self.sparse else self._standardize(X)

    def _standardize(self, X) -> np.ndarray:
        standardized = np.asfortranarray(X - self.means)
        standardized *= self.units
        return standardized

    def cross_products(self, row_values: np.ndarray) -> np.ndarray:
        """Return the products of all columns with one vector or several vectors over the rows."""
        product = np.asarray(self.X.T @ row_values)
        if not self.sparse:
            return product
        if row_values.ndim == 1:
            return self.units * (product - self.means * row_values.sum())
        product -= np.outer(self.means, row_values.sum(axis=0))
        product *= self.units[:, None]
        return product

    def dense_columns(self, columns: np.ndarray) -> np.ndarray:
        """Return some columns as a dense array (rows, columns)."""
        if not self.sparse:
            return self.X[:, columns]
        selected = self.X[:, columns].toarray()
        selected -= self.means[columns]
        selected *= self.units[columns]
        return selected

    def scores(self, loadings: np.ndarray) -> np.ndarray:
        """Return the scores of the rows: rows times loadings (columns, factors)."""
        if not self.sparse:
            return self.X @ loadings
        scaled = self.units[:, None] * loadings
        return np.asarray(self.X @ scaled) - self.means @ scaled
