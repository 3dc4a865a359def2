"""Design matrices of the batch solver: scores, gradients and Gram matrices of centred columns, of
which sparse ones stay sparse.
"""

from copy import copy

import numpy as np
import scipy.sparse as sp

from tamis.solvers.path.loop import add_task_gradients, score_by_task

BLOCK_ROWS = 8192  # rows of a dense table that are multiplied by weights at a time
# Columns are copied if they are at most 1 of so many; a product with all columns costs more then.
COPY_RATIO = 8
# Range of a column relative to its values, below which it is constant: centring leaves rounding.
CONSTANT_TOLERANCE = 1e-12


def constant_columns(X) -> np.ndarray:
    """Return the columns of a dense or CSC table that are constant up to rounding, but not 0."""
    if sp.issparse(X):
        is_full = np.diff(X.indptr) == X.shape[0]
        candidates = np.flatnonzero(is_full) if X.shape[0] else np.zeros(0, dtype=np.int64)
    else:  # three rows exclude nearly all varying columns
        sampled_rows = X[[0, X.shape[0] // 2, -1]] if X.shape[0] else np.zeros((1, X.shape[1]))
        is_near_constant = np.abs(sampled_rows - sampled_rows[0]).max(
            axis=0
        ) <= 2.0 * CONSTANT_TOLERANCE * np.abs(sampled_rows[0])
        candidates = np.flatnonzero((sampled_rows[0] != 0.0) & is_near_constant)
    if not len(candidates):
        return candidates
    block = X[:, candidates]
    low, high = block.min(axis=0), block.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return candidates[high - low <= CONSTANT_TOLERANCE * np.maximum(np.abs(low), np.abs(high))]


def _zero_constant_columns(X):
    """Return the table with its constant columns set to 0: centred they are 0, and their rounding
    errors must not count as signal.
    """
    constant = constant_columns(X)
    if not len(constant):
        return X
    if not sp.issparse(X):
        X = X.copy(order="A")
        X[:, constant] = 0.0
        return X
    is_constant = np.zeros(X.shape[1], dtype=bool)
    is_constant[constant] = True
    data = np.where(np.repeat(is_constant, np.diff(X.indptr)), 0.0, X.data)
    return sp.csc_array((data, X.indices, X.indptr), shape=X.shape)


def _zero_constant_task_columns(rows, task: np.ndarray):
    """Return the rows with cells set to 0 where their column is constant within the task."""
    task_sizes = np.bincount(task)
    column_counts = np.bincount(rows.indices.astype(np.intp), minlength=rows.n_features)
    if column_counts.max(initial=0) < task_sizes[task_sizes > 0].min(initial=1):
        return rows
    matrix, is_constant = rows.to_scipy(), np.zeros((len(task_sizes), rows.n_features), dtype=bool)
    for q in np.flatnonzero(task_sizes):
        is_constant[q, constant_columns(matrix[np.flatnonzero(task == q)].tocsc())] = True
    if not is_constant.any():
        return rows
    cell_tasks = np.repeat(task, np.diff(rows.indptr.astype(np.int64)))
    is_zeroed = is_constant[cell_tasks, rows.indices.astype(np.int64)]
    return rows._replace(data=np.where(is_zeroed, 0.0, rows.data).astype(rows.data.dtype))


class Design:
    """Design matrix that all outputs share, dense or CSC, with row weights that sum to 1."""

    shares_rows = True

    def __init__(self, X, weights: np.ndarray, outputs: int, centred: bool):
        X = _zero_constant_columns(X) if centred else X
        self.X, self.weights, self.outputs, self.centred = X, weights, outputs, centred
        self.sparse = sp.issparse(X)
        self.means = np.asarray(X.T @ weights).ravel() if centred else np.zeros(X.shape[1])
        self.has_equal_weights = bool(len(weights)) and weights.min() == weights.max()
        self.gradient_cache: tuple = (None, None)
        self.cached_norms: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def has_contiguous_columns(self) -> bool:
        """Whether the table is dense in column-major order and all rows have the same weight, so
        that loops can read its columns in place.
        """
        return not self.sparse and self.has_equal_weights and self.X.flags.f_contiguous

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return the scores (rows, outputs) of coefficients (columns, outputs); it multiplies only
        the nonzero columns if they are few.
        """
        nonzero_columns = np.flatnonzero(w.any(axis=1))
        column_runs: list = []
        if not self.sparse and self.X.flags.f_contiguous and len(nonzero_columns):
            column_runs = np.split(
                nonzero_columns, np.flatnonzero(np.diff(nonzero_columns) > 1) + 1
            )
        # Runs of adjacent columns are multiplied without a copy.
        if (
            column_runs
            and len(column_runs) * COPY_RATIO <= len(nonzero_columns)
            and 2 * len(nonzero_columns) < len(w)
        ):
            sum_by_output = np.zeros((self.n_rows, w.shape[1]))
            for run in column_runs:
                sum_by_output += self.X[:, run[0] : run[-1] + 1] @ w[run]
            return sum_by_output - self.means[nonzero_columns] @ w[nonzero_columns]
        if len(nonzero_columns) * COPY_RATIO < len(w):
            return (
                np.asarray(self.X[:, nonzero_columns] @ w[nonzero_columns])
                - self.means[nonzero_columns] @ w[nonzero_columns]
            )
        return np.asarray(self.X @ w) - self.means @ w

    def coef_gradient(self, weighted_gradients: np.ndarray) -> np.ndarray:
        """Return the gradient (columns, outputs) of row gradients times row weights. The last
        result is cached, since the zero model needs it twice.
        """
        if self.gradient_cache[0] is None or not np.array_equal(
            self.gradient_cache[0], weighted_gradients
        ):
            coef_gradient = np.asarray(self.X.T @ weighted_gradients)
            if self.centred:
                coef_gradient = coef_gradient - np.outer(self.means, weighted_gradients.sum(axis=0))
            self.gradient_cache = (weighted_gradients, coef_gradient)
        return self.gradient_cache[1]

    def intercept_scores(self, bias: np.ndarray) -> np.ndarray:
        """Return what intercepts add to the scores."""
        return bias[None, :]

    def sum_by_output(self, weighted_gradients: np.ndarray) -> np.ndarray:
        """Return the sums over the rows for each output."""
        return weighted_gradients.sum(axis=0)

    def column_norms(self) -> np.ndarray:
        """Return the norms of the columns under the row weights (cached)."""
        if self.cached_norms is None:
            self.cached_norms = self._compute_norms()
        return self.cached_norms

    def _compute_norms(self) -> np.ndarray:
        if self.sparse:
            squared_csc = (self.X.data**2, self.X.indices, self.X.indptr)
            square = sp.csc_array(squared_csc, shape=self.X.shape).T @ self.weights
        elif self.has_equal_weights:
            square = np.einsum("ij,ij->j", self.X, self.X) * self.weights[0]
        elif self.X.flags.f_contiguous:
            square = np.array([column @ (self.weights * column) for column in self.X.T])
        else:
            row_blocks = (
                slice(start, start + BLOCK_ROWS) for start in range(0, self.n_rows, BLOCK_ROWS)
            )
            square = sum(np.square(self.X[rows]).T @ self.weights[rows] for rows in row_blocks)
        return np.sqrt(np.maximum(np.asarray(square).ravel() - self.means**2, 0.0))

    def intercept_shift(self, w: np.ndarray) -> np.ndarray:
        """Return the intercept for centred columns minus the intercept for the columns
        themselves.
        """
        return self.means @ w

    def select_columns(self, columns: np.ndarray) -> "Design":
        """Return a design of some of the columns."""
        subset = copy(self)
        subset.X, subset.means, subset.gradient_cache = (
            self.X[:, columns],
            self.means[columns],
            (None, None),
        )
        subset.cached_norms = None
        return subset

    def task_designs(self):
        """Yield (design, rows, first output) of each task; here one task."""
        yield self, slice(None), 0

    def select_rows(self, rows: np.ndarray, weights: np.ndarray) -> "Design":
        """Return a design of some of the rows with other weights."""
        X = self.X.tocsr()[rows].tocsc() if self.sparse else self.X[rows]
        return Design(X, weights, self.outputs, self.centred)

    def gram(self, curvature: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return inner products of two sets of columns under row weights `curvature`, centred under
        them.
        """
        products, weighted_sums = self.weighted_products(curvature, left, right)
        return products - np.outer(*weighted_sums) / curvature.sum() if self.centred else products

    def weighted_products(
        self, curvature: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Return the inner products without centring, and the weighted sums of both sets of
        columns.
        """
        if self.sparse:
            A, B = self.X[:, left], self.X[:, right]
            products = A.T @ B.multiply(curvature[:, None]).tocsc()
            return products.toarray(), (A.T @ curvature, B.T @ curvature)
        is_same = left is right
        weighted_sums = np.zeros(len(left)), np.zeros(len(right))
        if self.has_contiguous_columns and curvature.min() == curvature.max():
            # One BLAS product; a symmetric one if both sets are the same.
            A = self.X.T[left]
            B = A if is_same else self.X.T[right]
            weight = curvature[0] * np.ones(self.n_rows)
            return curvature[0] * (A @ B.T), (
                A @ weight,
                B @ weight,
            ) if self.centred else weighted_sums
        products = np.zeros((len(left), len(right)))
        for start in range(0, self.n_rows, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            A = self.X[rows][:, left]
            B = A if is_same else self.X[rows][:, right]
            weighted = A.T * curvature[rows]
            products += weighted @ B
            weighted_sums[0][:] += weighted.sum(axis=1)
            if not is_same:
                weighted_sums[1][:] += B.T @ curvature[rows]
        return products, (weighted_sums[0], weighted_sums[0]) if is_same else weighted_sums


class TaskDesign:
    """Rows that each belong to one task, as validated CSR. Every task has `task_outputs` outputs,
    and its row weights sum to 1.
    """

    sparse, shares_rows = True, False

    def __init__(
        self,
        rows,
        task: np.ndarray,
        weights: np.ndarray,
        tasks: int,
        task_outputs: int,
        centred: bool,
    ):
        rows = _zero_constant_task_columns(rows, task.astype(np.int64)) if centred else rows
        self.rows, self.task, self.weights = rows, task.astype(np.uint64), weights
        self.outputs, self.task_outputs, self.centred = tasks * task_outputs, task_outputs, centred
        self.columns: np.ndarray | None = None
        self.means = np.zeros((rows.n_features, self.outputs))
        if centred:
            add_task_gradients(*rows[:3], self.task, self._repeat_outputs(weights), self.means)

    def _repeat_outputs(self, row_values: np.ndarray) -> np.ndarray:
        """Repeat one number a row for all outputs of a task."""
        return np.repeat(row_values[:, None], self.task_outputs, axis=1)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return the scores (rows, outputs of a task) of coefficients (columns, all outputs), each
        row by those of its task.
        """
        all_weights = w
        if self.columns is not None:
            all_weights = np.zeros((self.rows.n_features, self.outputs))
            all_weights[self.columns] = w
        scores = np.empty((self.n_rows, self.task_outputs))
        score_by_task(*self.rows[:3], self.task, np.ascontiguousarray(all_weights), scores)
        return scores - self.intercept_scores(self.intercept_shift(w))

    def coef_gradient(self, weighted_gradients: np.ndarray) -> np.ndarray:
        """Return the gradient (columns, all outputs) of row gradients times row weights."""
        coef_gradient = np.zeros((self.rows.n_features, self.outputs))
        add_task_gradients(
            *self.rows[:3], self.task, np.ascontiguousarray(weighted_gradients), coef_gradient
        )
        coef_gradient = coef_gradient if self.columns is None else coef_gradient[self.columns]
        return coef_gradient - self.means * self.sum_by_output(weighted_gradients)

    def intercept_scores(self, bias: np.ndarray) -> np.ndarray:
        """Return what the tasks' intercepts add to the scores."""
        return bias.reshape(-1, self.task_outputs)[self.task]

    def sum_by_output(self, weighted_gradients: np.ndarray) -> np.ndarray:
        """Return the sums over the rows of each task for each of its outputs."""
        n_tasks = self.outputs // self.task_outputs
        task = self.task.view(np.int64)  # bincount of NumPy 2.0 refuses uint64
        sums = [
            np.bincount(task, weights=weighted_gradients[:, c], minlength=n_tasks)
            for c in range(self.task_outputs)
        ]
        return np.stack(sums, axis=1).ravel()

    def column_norms(self) -> np.ndarray:
        """Return the largest norm of each column over the tasks."""
        square = np.zeros((self.rows.n_features, self.outputs))
        data = self.rows.data.astype(float) ** 2
        add_task_gradients(
            data, *self.rows[1:3], self.task, self._repeat_outputs(self.weights), square
        )
        square = square if self.columns is None else square[self.columns]
        return np.sqrt(np.maximum(square - self.means**2, 0.0).max(axis=1))

    def intercept_shift(self, w: np.ndarray) -> np.ndarray:
        """Return the intercepts for centred columns minus those for the columns themselves."""
        return np.einsum("jq,jq->q", self.means, w)

    def select_columns(self, columns: np.ndarray) -> "TaskDesign":
        """Return a design of the same rows in which only some columns have coefficients."""
        subset = copy(self)
        subset.columns = columns if self.columns is None else self.columns[columns]
        subset.means = self.means[columns]
        return subset

    def select_rows(self, rows: np.ndarray, weights: np.ndarray) -> "TaskDesign":
        """Not available: tasks have no folds."""
        raise NotImplementedError

    def task_designs(self):
        """Yield (design, rows, first output) of each task."""
        matrix = self.rows.to_scipy()
        matrix = (matrix if self.columns is None else matrix[:, self.columns]).astype(np.float64)
        for task in range(self.outputs // self.task_outputs):
            task_rows = np.flatnonzero(self.task == task)
            table = Design(
                matrix[task_rows].tocsc(), self.weights[task_rows], self.task_outputs, self.centred
            )
            yield table, task_rows, task * self.task_outputs
