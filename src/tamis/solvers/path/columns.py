"""Tables as solvers of single columns see them: centred and scaled columns, without filling sparse
ones, and the columns of a working set.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

# Rows of a dense table at a time, where a centred copy of them is needed.
BLOCK_ROWS = 4096
# A variance below this share of the squared mean is rounding: the column is constant.
CONSTANT_TOL = 1e-14
# A Gram matrix is made anew when the second derivatives of the rows have changed by this share of
# their sum. With an older one a Newton step leaves about as large a share of the error.
MAX_CURVATURE_CHANGE = 0.1


class ColumnTable:
    """Columns of a dense or CSC table under row weights that sum to 1.

    Column j counts as ``(x_j - means[j]) * inverse_scales[j]``. Constant columns count as 0.

    Parameters
    ----------
    X : ndarray or CSC array of shape (n_rows, n_columns)
        Rows, of weight above 0.
    weights : ndarray of shape (n_rows,)
        Row weights.
    center : bool
        Whether columns are centred, as an intercept allows.
    standardize : bool
        Whether columns are divided by their standard deviation (without `center` by the root of
        their mean square).
    """

    def __init__(self, X, weights: np.ndarray, center: bool, standardize: bool):
        self.is_sparse = sp.issparse(X)
        self.columns: Any = X.T.tocsr() if self.is_sparse else X.T  # a row for each column
        self.weights, (self.n_rows, self.n_columns) = weights, X.shape
        self.even = bool(len(weights)) and weights.min() == weights.max()
        means, squares = self._means(), self._mean_squares()
        variances = squares - means**2 if center else squares
        variances = np.where(variances > CONSTANT_TOL * squares, variances, 0.0)
        self.means = means if center else np.zeros(self.n_columns)
        scales = np.sqrt(variances) if standardize else np.ones(self.n_columns)
        varies = variances > 0.0
        self.inverse_scales = np.where(varies, 1.0 / np.where(varies, scales, 1.0), 0.0)
        self.norms = np.sqrt(variances) * self.inverse_scales  # of the columns as they count

    def _means(self) -> np.ndarray:
        return np.asarray(self.columns @ self.weights).ravel()

    def _mean_squares(self) -> np.ndarray:
        if self.is_sparse:
            squares = self.columns.copy()
            squares.data **= 2
            return np.asarray(squares @ self.weights).ravel()
        if self.even:
            return np.einsum("ij,ij->i", self.columns, self.columns) * self.weights[0]
        return np.array([column @ (self.weights * column) for column in self.columns])

    def gradients(self, raw_gradient: np.ndarray, indices: np.ndarray | None = None) -> np.ndarray:
        """Return the gradients of all columns, or of some, from those of the rows."""
        total = raw_gradient.sum()
        if indices is None:
            products = np.asarray(self.columns @ raw_gradient).ravel()
            return (products - self.means * total) * self.inverse_scales
        products = np.asarray(self.columns[indices] @ raw_gradient).ravel()
        return (products - self.means[indices] * total) * self.inverse_scales[indices]

    def gram(self) -> np.ndarray:
        """Return the Gram matrix of all columns under the row weights."""
        scales = self.inverse_scales
        if self.is_sparse:
            products = (self.columns.multiply(self.weights).tocsr() @ self.columns.T).toarray()
            return (products - np.outer(self.means, self.means)) * scales * scales[:, None]
        gram = np.zeros((self.n_columns, self.n_columns))
        for start in range(0, self.n_rows, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            block = self.columns[:, rows]
            if self.means.any():
                block = block - self.means[:, None]
            if not self.even:
                block = block * np.sqrt(self.weights[rows])
            gram += block @ block.T
        gram *= scales * scales[:, None]
        if self.even:
            gram *= self.weights[0]
        return gram

    def to_original_units(self, indices: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the weights of some columns as they are in X, and what to add to the intercept."""
        coef = w * self.inverse_scales[indices]
        return coef, -float(coef @ self.means[indices])


class DenseColumns:
    """A working set of dense columns, centred and scaled, with its Gram matrix."""

    def __init__(self, table: ColumnTable):
        self.table, self.indices = table, np.zeros(0, dtype=np.int64)
        self._columns, self._gram = np.zeros((0, table.n_rows)), np.zeros((0, 0))
        self.row_curvature: np.ndarray | None = None  # that the Gram matrix is made with
        self.centers = np.zeros(0)  # means of the columns under it
        self._n_in_gram = 0

    @property
    def columns(self) -> np.ndarray:
        """The columns, one a row."""
        return self._columns[: len(self.indices)]

    @property
    def gram(self) -> np.ndarray:
        """The Gram matrix, as `update_gram` left it."""
        return self._gram[: self._n_in_gram, : self._n_in_gram]

    def add(self, new: np.ndarray) -> None:
        """Add columns by their indices."""
        n_old, size = len(self.indices), len(self.indices) + len(new)
        if size > len(self._columns):  # space doubles, so that few additions copy
            capacity = min(max(2 * size, 64), self.table.n_columns)
            columns, gram = np.empty((capacity, self.table.n_rows)), np.empty((capacity, capacity))
            columns[:n_old] = self.columns
            gram[: self._n_in_gram, : self._n_in_gram] = self.gram
            self._columns, self._gram = columns, gram
        block = self._columns[n_old:size]
        np.subtract(self.table.columns[new], self.table.means[new, None], out=block)
        block *= self.table.inverse_scales[new, None]
        self.indices = np.concatenate([self.indices, new])

    def update_gram(self, row_curvature: np.ndarray, center: bool) -> None:
        """Complete the Gram matrix, or make it anew where `row_curvature` has changed much."""
        known = self.row_curvature
        if known is None or (
            np.abs(row_curvature - known).sum() > MAX_CURVATURE_CHANGE * row_curvature.sum()
        ):
            self.row_curvature = known = row_curvature.copy()
            self._n_in_gram = 0
        n_old, size = self._n_in_gram, len(self.indices)
        if n_old == size:
            return
        new = self.columns[n_old:]
        gram = self._gram[n_old:size, :size]
        if known.min() == known.max():
            np.matmul(new, self.columns.T, out=gram)
            gram *= known[0]
        else:
            np.matmul(new * known, self.columns.T, out=gram)
        self.centers = np.zeros(size)
        if center:
            self.centers = self.columns @ known / known.sum()
            gram -= known.sum() * np.outer(self.centers[n_old:], self.centers)
        self._gram[:n_old, n_old:size] = gram[:, :n_old].T
        self._n_in_gram = size

    def gradients(self, raw_gradient: np.ndarray) -> np.ndarray:
        """Return the gradients of the columns from those of the rows."""
        return self.columns @ raw_gradient

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return the scores of the rows."""
        nonzero = np.flatnonzero(w)
        return w[nonzero] @ self.columns[nonzero]


class SparseColumns:
    """A working set of sparse columns: scaled, and centred by `shifts`."""

    def __init__(self, table: ColumnTable):
        self.table = table
        self._set(np.zeros(0, dtype=np.int64))

    def _set(self, indices: np.ndarray) -> None:
        table, rows = self.table, self.table.columns[indices]
        rows.data = rows.data * np.repeat(table.inverse_scales[indices], np.diff(rows.indptr))
        squares = rows.copy()
        squares.data **= 2
        self.indices, self.columns, self.squares = indices, rows, squares
        self.shifts = table.means[indices] * table.inverse_scales[indices]
        self.arrays = rows.data, rows.indices.astype(np.uint32), rows.indptr.astype(np.uint64)

    def add(self, new: np.ndarray) -> None:
        """Add columns by their indices."""
        self._set(np.concatenate([self.indices, new]))

    def gradients(self, raw_gradient: np.ndarray) -> np.ndarray:
        """Return the gradients of the columns from those of the rows."""
        return self.columns @ raw_gradient - self.shifts * raw_gradient.sum()

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return the scores of the rows."""
        return self.columns.T @ w - self.shifts @ w


class GramColumns:
    """All columns of a table, known by their Gram matrix alone: enough for a quadratic loss."""

    def __init__(self, table: ColumnTable):
        self.gram, self.indices = table.gram(), np.arange(table.n_columns)

    def update_gram(self, row_curvature: np.ndarray, center: bool) -> None:
        """Do nothing: the Gram matrix is complete."""
