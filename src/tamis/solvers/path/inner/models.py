"""Quadratic models of a loss on a working set: from a Gram matrix, from dense columns or from
sparse columns.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tamis.solvers.path.inner.loop import (
    DenseColumns,
    SparseColumns,
    WeightedBlocks,
    bound_lipschitz,
    dense_gradient,
    fill_mean_eigenvalues,
    sweep_dense,
    sweep_gram,
    sweep_sparse,
)
from tamis.solvers.path.loop import CoefBlocks

MAX_DIRECT_COORDS = 1500  # coordinates of a Newton step by a Cholesky factor
# Cycles between Newton steps by conjugate gradients, which cost as much as many sweeps.
SPARSE_NEWTON_INTERVAL = 12
MIN_CURVATURE_RATIO = 1e-14  # curvature of a block over the largest, below which it is rounding


class GramCache:
    """Gram matrix of the columns used so far, which grows, and Lipschitz constants of blocks that
    sweeps over dense columns have found; for row curvatures that never change.
    """

    def __init__(self):
        self.columns, self.gram = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
        self.lipschitz: dict[int, float] = {}

    def get_lipschitz(self, block_indices: np.ndarray) -> np.ndarray:
        """Return the Lipschitz constants of some blocks, nan where unknown."""
        return np.array([self.lipschitz.get(g, np.nan) for g in block_indices.tolist()])

    def update_lipschitz(self, block_indices: np.ndarray, lipschitz: np.ndarray) -> None:
        """Store the Lipschitz constants of some blocks."""
        self.lipschitz.update(zip(block_indices.tolist(), lipschitz.tolist(), strict=True))

    def count_known(self, columns: np.ndarray) -> int:
        """Return how many of some columns are in the cache."""
        return int(np.isin(columns, self.columns).sum()) if len(self.columns) else 0

    def get(self, design, curvature, columns: np.ndarray, max_columns: int) -> np.ndarray:
        """Return the Gram matrix of some columns; the cache is emptied if it would exceed
        `max_columns`.
        """
        new_columns = np.setdiff1d(columns, self.columns)
        if len(self.columns) + len(new_columns) > max_columns and len(self.columns):
            self.columns, self.gram, new_columns = self.columns[:0], self.gram[:0, :0], columns
        if len(new_columns):
            n_old, all_columns = len(self.columns), np.concatenate([self.columns, new_columns])
            gram = np.empty((len(all_columns), len(all_columns)))
            gram[:n_old, :n_old] = self.gram
            gram[n_old:, n_old:] = design.gram(curvature, new_columns, new_columns)
            if n_old:
                gram[:n_old, n_old:] = design.gram(curvature, self.columns, new_columns)
                gram[n_old:, :n_old] = gram[:n_old, n_old:].T
            self.columns, self.gram = all_columns, gram
        order = np.argsort(self.columns)
        positions = order[np.searchsorted(self.columns, columns, sorter=order)]
        return self.gram[np.ix_(positions, positions)]


class GramModel:
    """Quadratic model 0.5 w'Gw + c'w with an explicit Gram matrix G, in terms of its gradient at
    the present w; several outputs share G.
    """

    newton_interval = 3  # cycles between Newton steps
    has_costly_sweeps = False  # whether it pays to predict which sweep is the last

    def __init__(self, gram: np.ndarray, gradient: np.ndarray, w: np.ndarray, blocks: CoefBlocks):
        self.gram, self.gradient = gram, np.array(gradient, order="C")
        self.constant = self.gradient - gram @ w
        self.blocks = WeightedBlocks(*block_arrays(blocks), _block_lipschitz(blocks, gram))

    def sweep(self, w, active_blocks, penalty, n_sweeps: int) -> None:
        """Sweep over some blocks."""
        sweep_gram(self.gram, self.gradient, w, active_blocks, self.blocks, penalty, n_sweeps)

    def coef_gradient(self) -> np.ndarray:
        """Return the gradient of the stacked coefficients."""
        return self.gradient

    def state(self) -> np.ndarray:
        """Return a copy of what depends on the coefficients (linearly)."""
        return self.gradient.copy()

    def restore(self, state: np.ndarray) -> None:
        """Restore a state."""
        self.gradient[:] = state

    def value(self, w) -> float:
        """Return the value of the model, up to a constant."""
        return 0.5 * float(((self.gradient + self.constant) * w).sum())

    def solve(
        self, coords, coord_blocks, direction, hessian_across, hessian_along, rhs
    ) -> np.ndarray | None:
        """Return a Newton step of some coordinates, by a Cholesky factor of their Hessian plus that
        of the penalty (`hessian_across` and `hessian_along` the direction of a block); None if it
        is too large or singular.
        """
        if len(coords) > MAX_DIRECT_COORDS:
            return None
        hessian = self.gram[np.ix_(coords, coords)]
        along = ((hessian_across - hessian_along) * direction)[:, None] * direction
        hessian -= np.where(coord_blocks[:, None] == coord_blocks, along, 0.0)
        hessian[np.diag_indices_from(hessian)] += hessian_across
        try:
            factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
            return cho_solve(factor, rhs, check_finite=False)
        except LinAlgError:
            return None

    def change_effect(self, coords: np.ndarray, change: np.ndarray):
        """Return the change of the gradient by a change of some coordinates, and the curvature
        along it.
        """
        gradient_change = self.gram[:, coords] @ change
        return gradient_change, float(change @ gradient_change[coords])

    def apply_change(self, gradient_change) -> None:
        """Apply the change of the gradient."""
        self.gradient[:, 0] += gradient_change

    def hessian_operator(self, coords: np.ndarray):
        """Return a function that multiplies by the Hessian of some coordinates."""
        gram = self.gram[np.ix_(coords, coords)]
        return lambda v: gram @ v


class DenseModel:
    """Quadratic model from dense columns, rows of `columns` less their `means`, in terms of the
    residuals; all rows have one curvature.
    """

    newton_interval, has_costly_sweeps = SPARSE_NEWTON_INTERVAL, True

    def __init__(
        self,
        columns,
        coord_columns: np.ndarray,
        means: np.ndarray,
        curvature: float,
        residuals: np.ndarray,
        blocks: CoefBlocks,
        lipschitz: np.ndarray | None = None,
    ):
        self.columns, self.coord_columns, self.means = columns, coord_columns, means
        self.curvature, self.residuals = curvature, residuals
        self.loop_design = DenseColumns(
            columns, coord_columns.astype(np.uint64), means, curvature, residuals
        )
        lipschitz = np.full(blocks.n_groups, np.nan) if lipschitz is None else lipschitz
        fill_mean_eigenvalues(self.loop_design, blocks.starts, lipschitz)
        self.blocks = WeightedBlocks(*block_arrays(blocks), _drop_negligible(lipschitz))

    def sweep(self, w, active_blocks, penalty, n_sweeps: int) -> None:
        """Sweep over some blocks."""
        sweep_dense(self.loop_design, w, active_blocks, self.blocks, penalty, n_sweeps)

    def coef_gradient(self) -> np.ndarray:
        """Return the gradient of the stacked coefficients."""
        gradient = np.empty((len(self.coord_columns), 1))
        dense_gradient(self.loop_design, gradient)
        return gradient

    def state(self) -> np.ndarray:
        """Return a copy of what depends on the coefficients (linearly)."""
        return self.residuals.copy()

    def restore(self, state: np.ndarray) -> None:
        """Restore a state."""
        self.residuals[:] = state

    def value(self, w) -> float:
        """Return the value of the model, up to a constant."""
        return 0.5 * self.curvature * float(self.residuals @ self.residuals)

    def solve(self, coords, coord_blocks, direction, hessian_across, hessian_along, rhs) -> None:
        """Return None: there is no Gram matrix to factorize."""

    def change_effect(self, coords, change):
        """Return the change of the residuals by a change of some coordinates, and the curvature
        along it.
        """
        columns = self.coord_columns[coords]
        residual_change = change @ self.columns[columns] - change @ self.means[columns]
        return residual_change, self.curvature * float(residual_change @ residual_change)

    def apply_change(self, residual_change) -> None:
        """Apply the change of the residuals."""
        self.residuals += residual_change

    def hessian_operator(self, coords):
        """Return a function that multiplies by the Hessian of some coordinates."""
        columns = self.coord_columns[coords]
        X, means = self.columns[columns], self.means[columns]

        def multiply(v):
            scores = v @ X - v @ means
            return self.curvature * (X @ scores - means * scores.sum())

        return multiply


class SparseModel:
    """Quadratic model from sparse columns, in terms of the residuals and a shift of all residuals,
    which centres the columns.
    """

    newton_interval, has_costly_sweeps = SPARSE_NEWTON_INTERVAL, False

    def __init__(self, X, curvature, centred: bool, residuals: np.ndarray, blocks: CoefBlocks):
        self.X, self.members, self.shift = X, blocks.members, 0.0
        self.curvature, self.residuals = curvature, residuals
        arrays = (X.data, X.indices.astype(np.uint32), X.indptr.astype(np.uint64))
        self.means = np.zeros(X.shape[1])
        if centred:
            self.means = np.asarray(X.T @ curvature).ravel() / curvature.sum()
        self.loop_design = SparseColumns(*arrays, self.members, curvature, self.means, residuals)
        self.blocks = WeightedBlocks(*block_arrays(blocks), np.empty(blocks.n_groups))
        bound_lipschitz(self.loop_design, self.blocks.starts, self.blocks.lipschitz)

    def sweep(self, w, active_blocks, penalty, n_sweeps: int) -> None:
        """Sweep over some blocks."""
        loop_args = (w, active_blocks, self.blocks, penalty, n_sweeps)
        self.shift = sweep_sparse(self.loop_design, self.shift, *loop_args)

    def coef_gradient(self) -> np.ndarray:
        """Return the gradient of the stacked coefficients."""
        column_gradient = self._gradient(self.curvature * (self.residuals + self.shift))
        return column_gradient[self.members.astype(np.int64)][:, None]

    def state(self) -> np.ndarray:
        """Return a copy of what depends on the coefficients (linearly)."""
        return np.append(self.residuals, self.shift)

    def restore(self, state: np.ndarray) -> None:
        """Restore a state."""
        self.residuals[:], self.shift = state[:-1], float(state[-1])

    def value(self, w) -> float:
        """Return the value of the model, up to a constant."""
        return 0.5 * float(self.curvature @ (self.residuals + self.shift) ** 2)

    def solve(self, coords, coord_blocks, direction, hessian_across, hessian_along, rhs) -> None:
        """Return None: there is no Gram matrix to factorize."""

    def _gradient(self, residuals) -> np.ndarray:
        return np.asarray(self.X.T @ residuals).ravel() - self.means * residuals.sum()

    def change_effect(self, coords, change):
        """Return the change of the residuals by a change of some coordinates, and the curvature
        along it.
        """
        columns = self.members[coords].astype(np.int64)
        residual_change = (
            np.asarray(self.X[:, columns] @ change).ravel() - self.means[columns] @ change
        )
        return residual_change, float(self.curvature @ residual_change**2)

    def apply_change(self, residual_change) -> None:
        """Apply the change of the residuals."""
        self.residuals += residual_change

    def hessian_operator(self, coords):
        """Return a function that multiplies by the Hessian of some coordinates."""
        columns = self.members[coords].astype(np.int64)
        X, means = self.X[:, columns], self.means[columns]

        def multiply(v):
            weighted = self.curvature * (X @ v - means @ v)
            return X.T @ weighted - means * weighted.sum()

        return multiply


def block_arrays(blocks: CoefBlocks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the three arrays that loops over blocks take."""
    return blocks.starts, blocks.weights, blocks.l1_weights


def _block_lipschitz(blocks: CoefBlocks, gram: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue of each block's Gram matrix; blocks of one size are batched."""
    starts = blocks.starts.astype(np.int64)
    sizes, lipschitz = np.diff(starts), np.zeros(blocks.n_groups)
    for size in np.unique(sizes):
        same_size = np.flatnonzero(sizes == size)
        for chunk in np.array_split(same_size, max(1, len(same_size) * size // 4096)):
            coords = starts[chunk][:, None] + np.arange(size)
            grams = gram[coords[:, :, None], coords[:, None, :]]
            lipschitz[chunk] = np.linalg.eigvalsh(grams)[:, -1]
    return _drop_negligible(lipschitz) * (1.0 + 1e-12)


def _drop_negligible(lipschitz: np.ndarray) -> np.ndarray:
    """Return Lipschitz constants, with 0 for those that are rounding of the largest."""
    min_lipschitz = MIN_CURVATURE_RATIO * max(lipschitz.max(initial=0.0), 1e-300)
    return np.where(lipschitz > min_lipschitz, lipschitz, 0.0)
