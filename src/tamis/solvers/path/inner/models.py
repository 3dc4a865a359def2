"""Quadratic models of a loss on a working set: from a Gram matrix, from dense columns, or from
sparse ones.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tamis.solvers.path.inner.loop import (
    DenseColumns,
    Priced,
    SparseColumns,
    bound_lipschitz,
    mean_curvatures,
    slope_columns,
    sweep_columns,
    sweep_dense,
    sweep_gram,
)
from tamis.solvers.path.loop import Blocks

DIRECT = 1500  # most places of a Newton step at one go
SLOW = 12  # turns between Newton steps by conjugate gradients, which cost as much as many sweeps
TINY = 1e-14  # a block whose curvature is below this share of the largest has none


class GramStore:
    """Gram matrix of the columns met so far, which grows, and Lipschitz constants of the groups
    met, as far as sweeps over dense columns have found them; for curvatures of the rows that never
    change.
    """

    def __init__(self):
        self.columns, self.gram = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
        self.lipschitz: dict[int, float] = {}

    def lipschitz_of(self, kept: np.ndarray) -> np.ndarray:
        """Those of some groups, nan where they are not known."""
        return np.array([self.lipschitz.get(g, np.nan) for g in kept.tolist()])

    def learn(self, kept: np.ndarray, lipschitz: np.ndarray) -> None:
        """Remember them."""
        self.lipschitz.update(zip(kept.tolist(), lipschitz.tolist(), strict=True))

    def known(self, columns: np.ndarray) -> int:
        """How many of some columns have been met."""
        return int(np.isin(columns, self.columns).sum()) if len(self.columns) else 0

    def get(self, design, curvature, columns: np.ndarray, most: int) -> np.ndarray:
        """The part of some columns; what is known is forgotten when it is more than `most`."""
        new = np.setdiff1d(columns, self.columns)
        if len(self.columns) + len(new) > most and len(self.columns):
            self.columns, self.gram, new = self.columns[:0], self.gram[:0, :0], columns
        if len(new):
            old, know = len(self.columns), np.concatenate([self.columns, new])
            gram = np.empty((len(know), len(know)))
            gram[:old, :old] = self.gram
            gram[old:, old:] = design.gram(curvature, new, new)
            if old:
                gram[:old, old:] = design.gram(curvature, self.columns, new)
                gram[old:, :old] = gram[:old, old:].T
            self.columns, self.gram = know, gram
        order = np.argsort(self.columns)
        at = order[np.searchsorted(self.columns, columns, sorter=order)]
        return self.gram[np.ix_(at, at)]


class GramModel:
    """0.5 w'Gw plus a linear part, by its slope at the present weights; any number of outputs that
    share G.
    """

    patience = 3  # turns before a Newton step, and between two of them
    dear = False  # whether a sweep costs so much that it pays to foresee the last one

    def __init__(self, gram: np.ndarray, slope: np.ndarray, w: np.ndarray, blocks: Blocks):
        self.gram, self.slope = gram, np.array(slope, order="C")
        self.constant = self.slope - gram @ w
        self.blocks = Priced(*parts_of(blocks), _block_lipschitz(blocks, gram))

    def sweep(self, w, picks, penalty, turns: int) -> None:
        """Sweeps over some blocks."""
        sweep_gram(self.gram, self.slope, w, picks, self.blocks, penalty, turns)

    def slopes(self) -> np.ndarray:
        """Slopes of the places."""
        return self.slope

    def state(self) -> np.ndarray:
        """What changes with the weights, linearly."""
        return self.slope.copy()

    def restore(self, state: np.ndarray) -> None:
        """Take a state back."""
        self.slope[:] = state

    def value(self, w) -> float:
        """The model's value, up to a constant."""
        return 0.5 * float(((self.slope + self.constant) * w).sum())

    def solve(self, at, group, unit, across, along, gradient) -> np.ndarray | None:
        """A Newton step of some places: their curvature, and that of the penalty, `across` a block
        and `along` it.
        """
        if len(at) > DIRECT:
            return None
        hessian = self.gram[np.ix_(at, at)]
        hessian -= np.where(group[:, None] == group, ((across - along) * unit)[:, None] * unit, 0.0)
        hessian[np.diag_indices_from(hessian)] += across
        try:
            factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
            return cho_solve(factor, gradient, check_finite=False)
        except LinAlgError:
            return None

    def image(self, at: np.ndarray, change: np.ndarray):
        """What a change of some places does, and its curvature along itself."""
        push = self.gram[:, at] @ change
        return push, float(change @ push[at])

    def move(self, image) -> None:
        """Take the change."""
        self.slope[:, 0] += image

    def hessian(self, at: np.ndarray):
        """The curvature of some places: a function that multiplies by it."""
        small = self.gram[np.ix_(at, at)]
        return lambda v: small @ v


class DenseModel:
    """The same from dense columns, rows of `columns` that `at` names, less their `means`, every row
    of one curvature.
    """

    patience, dear = SLOW, True

    def __init__(
        self,
        columns,
        at: np.ndarray,
        means: np.ndarray,
        curvature: float,
        rest: np.ndarray,
        blocks: Blocks,
        lipschitz: np.ndarray | None = None,
    ):
        self.columns, self.at, self.means = columns, at, means
        self.curvature, self.rest = curvature, rest
        self.table = DenseColumns(columns, at.astype(np.uint64), means, curvature, rest)
        lipschitz = np.full(blocks.n_groups, np.nan) if lipschitz is None else lipschitz
        mean_curvatures(self.table, blocks.starts, lipschitz)
        self.blocks = Priced(*parts_of(blocks), _not_tiny(lipschitz))

    def sweep(self, w, picks, penalty, turns: int) -> None:
        """Sweeps over some blocks."""
        sweep_dense(self.table, w, picks, self.blocks, penalty, turns)

    def slopes(self) -> np.ndarray:
        """Slopes of the places."""
        slope = np.empty((len(self.at), 1))
        slope_columns(self.table, slope)
        return slope

    def state(self) -> np.ndarray:
        """What changes with the weights, linearly."""
        return self.rest.copy()

    def restore(self, state: np.ndarray) -> None:
        """Take a state back."""
        self.rest[:] = state

    def value(self, w) -> float:
        """The model's value, up to a constant."""
        return 0.5 * self.curvature * float(self.rest @ self.rest)

    def solve(self, at, group, unit, across, along, gradient) -> None:
        """No Newton step at one go: there are more places than rows."""

    def image(self, at, change):
        """What a change of some places does, and its curvature along itself."""
        push = change @ self.columns[self.at[at]] - change @ self.means[self.at[at]]
        return push, self.curvature * float(push @ push)

    def move(self, image) -> None:
        """Take the change."""
        self.rest += image

    def hessian(self, at):
        """The curvature of some places: a function that multiplies by it."""
        small, means = self.columns[self.at[at]], self.means[self.at[at]]

        def multiply(v):
            push = v @ small - v @ means
            return self.curvature * (small @ push - means * push.sum())

        return multiply


class SparseModel:
    """The same from sparse columns, centred by a number beside the residuals."""

    patience, dear = SLOW, False

    def __init__(self, X, curvature, centred: bool, rest: np.ndarray, blocks: Blocks):
        self.X, self.members, self.shift = X, blocks.members, 0.0
        self.curvature, self.rest = curvature, rest
        arrays = (X.data, X.indices.astype(np.uint32), X.indptr.astype(np.uint64))
        self.means = np.zeros(X.shape[1])
        if centred:
            self.means = np.asarray(X.T @ curvature).ravel() / curvature.sum()
        self.table = SparseColumns(*arrays, self.members, curvature, self.means, rest)
        self.blocks = Priced(*parts_of(blocks), np.empty(blocks.n_groups))
        bound_lipschitz(self.table, self.blocks.starts, self.blocks.lipschitz)

    def sweep(self, w, picks, penalty, turns: int) -> None:
        """Sweeps over some blocks."""
        given = (w, picks, self.blocks, penalty, turns)
        self.shift = sweep_columns(self.table, self.shift, *given)

    def slopes(self) -> np.ndarray:
        """Slopes of the places."""
        slopes = self._gradient(self.curvature * (self.rest + self.shift))
        return slopes[self.members.astype(np.int64)][:, None]

    def state(self) -> np.ndarray:
        """What changes with the weights, linearly."""
        return np.append(self.rest, self.shift)

    def restore(self, state: np.ndarray) -> None:
        """Take a state back."""
        self.rest[:], self.shift = state[:-1], float(state[-1])

    def value(self, w) -> float:
        """The model's value, up to a constant."""
        return 0.5 * float(self.curvature @ (self.rest + self.shift) ** 2)

    def solve(self, at, group, unit, across, along, gradient) -> None:
        """No Newton step at one go: sparse columns have no Gram matrix."""

    def _gradient(self, residuals) -> np.ndarray:
        return np.asarray(self.X.T @ residuals).ravel() - self.means * residuals.sum()

    def image(self, at, change):
        """What a change of some places does, and its curvature along itself."""
        columns = self.members[at].astype(np.int64)
        push = np.asarray(self.X[:, columns] @ change).ravel() - self.means[columns] @ change
        return push, float(self.curvature @ push**2)

    def move(self, image) -> None:
        """Take the change."""
        self.rest += image

    def hessian(self, at):
        """The curvature of some places: a function that multiplies by it."""
        columns = self.members[at].astype(np.int64)
        X, means = self.X[:, columns], self.means[columns]

        def multiply(v):
            bent = self.curvature * (X @ v - means @ v)
            return X.T @ bent - means * bent.sum()

        return multiply


def parts_of(blocks: Blocks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three arrays that loops over blocks take."""
    return blocks.starts, blocks.weights, blocks.l1_weights


def _block_lipschitz(blocks: Blocks, gram: np.ndarray) -> np.ndarray:
    """Largest eigenvalue of each block's Gram matrix, blocks of one size together."""
    starts = blocks.starts.astype(np.int64)
    sizes, lipschitz = np.diff(starts), np.zeros(blocks.n_groups)
    for size in np.unique(sizes):
        mine = np.flatnonzero(sizes == size)
        for few in np.array_split(mine, max(1, len(mine) * size // 4096)):
            at = starts[few][:, None] + np.arange(size)
            parts = gram[at[:, :, None], at[:, None, :]]
            lipschitz[few] = np.linalg.eigvalsh(parts)[:, -1]
    return _not_tiny(lipschitz) * (1.0 + 1e-12)


def _not_tiny(lipschitz: np.ndarray) -> np.ndarray:
    """Lipschitz constants, 0 where they are lost beside the largest."""
    least = TINY * max(lipschitz.max(initial=0.0), 1e-300)
    return np.where(lipschitz > least, lipschitz, 0.0)
