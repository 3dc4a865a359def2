"""Tables as batch solvers of groups see them: scores, slopes and Gram matrices, centred without
becoming dense.
"""

from copy import copy

import numpy as np
import scipy.sparse as sp

from tamis.solvers.path.loop import score_own, slope_own

ROWS = 8192  # of a dense table at a time, where a weighted copy is needed
FEW = 8  # a copy of one column in so many costs less than a pass over all
# of its numbers: a column that varies by less is constant, and holds nothing but rounding once it
# is centred
FLAT = 1e-12


def flat_columns(X) -> np.ndarray:
    """Columns of a dense or CSC table that hold one number other than 0, but for rounding."""
    if sp.issparse(X):
        full = np.diff(X.indptr) == X.shape[0]
        near = np.flatnonzero(full) if X.shape[0] else np.zeros(0, dtype=np.int64)
    else:  # three rows tell nearly all others apart
        few = X[[0, X.shape[0] // 2, -1]] if X.shape[0] else np.zeros((1, X.shape[1]))
        flat = np.abs(few - few[0]).max(axis=0) <= 2.0 * FLAT * np.abs(few[0])
        near = np.flatnonzero((few[0] != 0.0) & flat)
    if not len(near):
        return near
    part = X[:, near]
    low, high = part.min(axis=0), part.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return near[high - low <= FLAT * np.maximum(np.abs(low), np.abs(high))]


def _without_flat(X):
    """The table with 0 for its constant columns: centred they are 0, and what rounding leaves of
    them must not be taken for a signal.
    """
    flat = flat_columns(X)
    if not len(flat):
        return X
    if not sp.issparse(X):
        X = X.copy(order="A")
        X[:, flat] = 0.0
        return X
    gone = np.zeros(X.shape[1], dtype=bool)
    gone[flat] = True
    data = np.where(np.repeat(gone, np.diff(X.indptr)), 0.0, X.data)
    return sp.csc_array((data, X.indices, X.indptr), shape=X.shape)


def _without_flat_tasks(rows, task: np.ndarray):
    """The same for rows that each belong to one task: 0 where a column is constant in the task."""
    sizes = np.bincount(task)
    filled = np.bincount(rows.indices.astype(np.intp), minlength=rows.n_features)
    if filled.max(initial=0) < sizes[sizes > 0].min(initial=1):
        return rows
    whole, gone = rows.scipy(), np.zeros((len(sizes), rows.n_features), dtype=bool)
    for one in np.flatnonzero(sizes):
        gone[one, flat_columns(whole[np.flatnonzero(task == one)].tocsc())] = True
    if not gone.any():
        return rows
    of_cells = np.repeat(task, np.diff(rows.indptr.astype(np.int64)))
    lost = gone[of_cells, rows.indices.astype(np.int64)]
    return rows._replace(data=np.where(lost, 0.0, rows.data).astype(rows.data.dtype))


class Design:
    """Columns of one table that all outputs share, dense or CSC, and row weights that sum to 1."""

    one_table = True

    def __init__(self, X, weights: np.ndarray, outputs: int, centred: bool):
        X = _without_flat(X) if centred else X
        self.X, self.weights, self.outputs, self.centred = X, weights, outputs, centred
        self.sparse = sp.issparse(X)
        self.means = np.asarray(X.T @ weights).ravel() if centred else np.zeros(X.shape[1])
        self.even = bool(len(weights)) and weights.min() == weights.max()
        self.asked: tuple = (None, None)
        self.lengths: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def by_columns(self) -> bool:
        """Whether the columns of a dense table lie one after the other, and all rows weigh the
        same: loops may then read them in place.
        """
        return not self.sparse and self.even and self.X.flags.f_contiguous

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Scores (rows, outputs) of weights (columns, outputs); few nonzero columns are picked
        first.
        """
        filled = np.flatnonzero(w.any(axis=1))
        runs: list = []
        if not self.sparse and self.X.flags.f_contiguous and len(filled):
            runs = np.split(filled, np.flatnonzero(np.diff(filled) > 1) + 1)
        # Neighbours are read in place.
        if runs and len(runs) * FEW <= len(filled) and 2 * len(filled) < len(w):
            total = np.zeros((self.n_rows, w.shape[1]))
            for run in runs:
                total += self.X[:, run[0] : run[-1] + 1] @ w[run]
            return total - self.means[filled] @ w[filled]
        if len(filled) * FEW < len(w):
            return np.asarray(self.X[:, filled] @ w[filled]) - self.means[filled] @ w[filled]
        return np.asarray(self.X @ w) - self.means @ w

    def slopes(self, residuals: np.ndarray) -> np.ndarray:
        """Slopes (columns, outputs) of weighted slopes of the rows; the last answer is kept, since
        the empty model is asked about twice.
        """
        if self.asked[0] is None or not np.array_equal(self.asked[0], residuals):
            slopes = np.asarray(self.X.T @ residuals)
            if self.centred:
                slopes = slopes - np.outer(self.means, residuals.sum(axis=0))
            self.asked = (residuals, slopes)
        return self.asked[1]

    def level(self, bias: np.ndarray) -> np.ndarray:
        """What intercepts add to the scores."""
        return bias[None, :]

    def total(self, residuals: np.ndarray) -> np.ndarray:
        """Sums over the rows of each output."""
        return residuals.sum(axis=0)

    def norms(self) -> np.ndarray:
        """Norms of the columns under the row weights, once they are asked for."""
        if self.lengths is None:
            self.lengths = self._norms()
        return self.lengths

    def _norms(self) -> np.ndarray:
        if self.sparse:
            cells = (self.X.data**2, self.X.indices, self.X.indptr)
            square = sp.csc_array(cells, shape=self.X.shape).T @ self.weights
        elif self.even:
            square = np.einsum("ij,ij->j", self.X, self.X) * self.weights[0]
        elif self.X.flags.f_contiguous:
            square = np.array([column @ (self.weights * column) for column in self.X.T])
        else:
            cuts = (slice(start, start + ROWS) for start in range(0, self.n_rows, ROWS))
            square = sum(np.square(self.X[rows]).T @ self.weights[rows] for rows in cuts)
        return np.sqrt(np.maximum(np.asarray(square).ravel() - self.means**2, 0.0))

    def shift(self, w: np.ndarray) -> np.ndarray:
        """What to take from an intercept of centred columns to have that of the columns as they
        are.
        """
        return self.means @ w

    def picked(self, columns: np.ndarray) -> "Design":
        """A copy of some columns."""
        part = copy(self)
        part.X, part.means, part.asked = self.X[:, columns], self.means[columns], (None, None)
        part.lengths = None
        return part

    def shares(self):
        """Tables with outputs of their own, here one: the table, its rows, and its first output."""
        yield self, slice(None), 0

    def cut(self, rows: np.ndarray, weights: np.ndarray) -> "Design":
        """Some rows, under weights of their own."""
        X = self.X.tocsr()[rows].tocsc() if self.sparse else self.X[rows]
        return Design(X, weights, self.outputs, self.centred)

    def gram(self, curvature: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Products of two sets of columns under a weight of each row, centred under it."""
        product, sums = self.products(curvature, left, right)
        return product - np.outer(*sums) / curvature.sum() if self.centred else product

    def products(
        self, curvature: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """The same without centring, and the weighted sums of both sets."""
        if self.sparse:
            A, B = self.X[:, left], self.X[:, right]
            product = A.T @ B.multiply(curvature[:, None]).tocsc()
            return product.toarray(), (A.T @ curvature, B.T @ curvature)
        same = left is right
        sums = np.zeros(len(left)), np.zeros(len(right))
        if self.by_columns and curvature.min() == curvature.max():
            # One product of BLAS, of a matrix with itself where both sets are one.
            A = self.X.T[left]
            B = A if same else self.X.T[right]
            weight = curvature[0] * np.ones(self.n_rows)
            return curvature[0] * (A @ B.T), (A @ weight, B @ weight) if self.centred else sums
        product = np.zeros((len(left), len(right)))
        for start in range(0, self.n_rows, ROWS):
            rows = slice(start, start + ROWS)
            A = self.X[rows][:, left]
            B = A if same else self.X[rows][:, right]
            weighted = A.T * curvature[rows]
            product += weighted @ B
            sums[0][:] += weighted.sum(axis=1)
            if not same:
                sums[1][:] += B.T @ curvature[rows]
        return product, (sums[0], sums[0]) if same else sums


class TaskDesign:
    """Rows that each belong to one task, as trusted CSR; every task has `width` outputs, and its
    weights sum to 1.
    """

    sparse, one_table = True, False

    def __init__(
        self, rows, task: np.ndarray, weights: np.ndarray, tasks: int, width: int, centred: bool
    ):
        rows = _without_flat_tasks(rows, task.astype(np.int64)) if centred else rows
        self.rows, self.task, self.weights = rows, task.astype(np.uint64), weights
        self.outputs, self.width, self.centred = tasks * width, width, centred
        self.columns: np.ndarray | None = None
        self.means = np.zeros((rows.n_features, self.outputs))
        if centred:
            slope_own(*rows[:3], self.task, self._spread(weights), self.means)

    def _spread(self, of_rows: np.ndarray) -> np.ndarray:
        """One number a row for all its outputs."""
        return np.repeat(of_rows[:, None], self.width, axis=1)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Scores (rows, width) of weights (columns, outputs), each row by those of its task."""
        whole = w
        if self.columns is not None:
            whole = np.zeros((self.rows.n_features, self.outputs))
            whole[self.columns] = w
        scores = np.empty((self.n_rows, self.width))
        score_own(*self.rows[:3], self.task, np.ascontiguousarray(whole), scores)
        return scores - self.level(self.shift(w))

    def slopes(self, residuals: np.ndarray) -> np.ndarray:
        """Slopes (columns, outputs) of weighted slopes of the rows."""
        slopes = np.zeros((self.rows.n_features, self.outputs))
        slope_own(*self.rows[:3], self.task, np.ascontiguousarray(residuals), slopes)
        slopes = slopes if self.columns is None else slopes[self.columns]
        return slopes - self.means * self.total(residuals)

    def level(self, bias: np.ndarray) -> np.ndarray:
        """What the tasks' intercepts add to the scores."""
        return bias.reshape(-1, self.width)[self.task]

    def total(self, residuals: np.ndarray) -> np.ndarray:
        """Sums over the rows of each task, for each of its outputs."""
        tasks = self.outputs // self.width
        task = self.task.view(np.int64)  # NumPy 2.0 does not count unsigned numbers of that width
        sums = [
            np.bincount(task, weights=residuals[:, c], minlength=tasks) for c in range(self.width)
        ]
        return np.stack(sums, axis=1).ravel()

    def norms(self) -> np.ndarray:
        """Largest norm of each column over the tasks."""
        square = np.zeros((self.rows.n_features, self.outputs))
        data = self.rows.data.astype(float) ** 2
        slope_own(data, *self.rows[1:3], self.task, self._spread(self.weights), square)
        square = square if self.columns is None else square[self.columns]
        return np.sqrt(np.maximum(square - self.means**2, 0.0).max(axis=1))

    def shift(self, w: np.ndarray) -> np.ndarray:
        """What to take from the intercepts of centred columns to have those of the columns as they
        are.
        """
        return np.einsum("jq,jq->q", self.means, w)

    def picked(self, columns: np.ndarray) -> "TaskDesign":
        """The same rows, of which only some columns have weights."""
        part = copy(self)
        part.columns = columns if self.columns is None else self.columns[columns]
        part.means = self.means[columns]
        return part

    def cut(self, rows: np.ndarray, weights: np.ndarray) -> "TaskDesign":
        """Tasks are not cut into folds."""
        raise NotImplementedError

    def shares(self):
        """Tables with outputs of their own, one a task: table, rows, and first output."""
        whole = self.rows.scipy()
        whole = (whole if self.columns is None else whole[:, self.columns]).astype(np.float64)
        for task in range(self.outputs // self.width):
            mine = np.flatnonzero(self.task == task)
            table = Design(whole[mine].tocsc(), self.weights[mine], self.width, self.centred)
            yield table, mine, task * self.width
