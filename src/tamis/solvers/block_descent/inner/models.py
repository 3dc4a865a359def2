"""Quadratic models of a loss on a working set: from a Gram matrix, from dense columns, or from
sparse ones.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tamis.solvers.block_descent.inner.loop import (
    bend_columns,
    slope_columns,
    sweep_columns,
    sweep_dense,
    sweep_gram,
)
from tamis.solvers.block_descent.loop import Blocks

DIRECT = 1500  # most places of a Newton step at one go
SLOW = 12  # turns between Newton steps by conjugate gradients, which cost as much as many sweeps
TINY = 1e-14  # a block whose curvature is below this share of the largest has none


class GramStore:
    """Gram matrix of the columns met so far, which grows, and curvatures of the groups met; for
    loads that never change.
    """

    def __init__(self):
        self.columns, self.gram = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
        self.bends: dict[int, float] = {}

    def bends_of(self, kept: np.ndarray) -> np.ndarray:
        """Largest eigenvalues of the blocks of some groups, nan where they are not known."""
        return np.array([self.bends.get(g, np.nan) for g in kept.tolist()])

    def learn(self, kept: np.ndarray, bends: np.ndarray | None) -> None:
        """Remember them, where there are any."""
        if bends is not None:
            self.bends.update(zip(kept.tolist(), bends.tolist(), strict=True))

    def known(self, columns: np.ndarray) -> int:
        """How many of some columns have been met."""
        return int(np.isin(columns, self.columns).sum()) if len(self.columns) else 0

    def get(self, design, load, columns: np.ndarray, most: int) -> np.ndarray:
        """The part of some columns; what is known is forgotten when it is more than `most`."""
        new = np.setdiff1d(columns, self.columns)
        if len(self.columns) + len(new) > most and len(self.columns):
            self.columns, self.gram, new = self.columns[:0], self.gram[:0, :0], columns
        if len(new):
            old, know = len(self.columns), np.concatenate([self.columns, new])
            gram = np.empty((len(know), len(know)))
            gram[:old, :old] = self.gram
            gram[old:, old:] = design.gram(load, new, new)
            if old:
                gram[:old, old:] = design.gram(load, self.columns, new)
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

    def __init__(
        self,
        gram: np.ndarray,
        slope: np.ndarray,
        w: np.ndarray,
        blocks: Blocks,
        bends: np.ndarray | None = None,
    ):
        self.gram, self.slope = gram, np.array(slope, order="C")
        self.constant = self.slope - gram @ w
        self.parts = parts_of(blocks)
        self.bends = _block_bends(blocks, lambda at: gram[at[:, :, None], at[:, None, :]], bends)

    def sweep(self, w, picks, penalty, turns: int) -> None:
        """Sweeps over some blocks."""
        sweep_gram(self.gram, self.slope, w, picks, *self.parts, self.bends, penalty, turns)

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

    def solve(self, at, group, unit, stiff, pull) -> np.ndarray | None:
        """A Newton step of some places: their curvature, and that of the blocks' norms, which lies
        across a block.
        """
        if len(at) > DIRECT:
            return None
        bend = self.gram[np.ix_(at, at)]
        bend -= np.where(group[:, None] == group, (stiff * unit)[:, None] * unit, 0.0)
        bend[np.diag_indices_from(bend)] += stiff
        try:
            factor = cho_factor(bend, lower=True, overwrite_a=True, check_finite=False)
            return cho_solve(factor, pull, check_finite=False)
        except LinAlgError:
            return None

    def image(self, at: np.ndarray, change: np.ndarray):
        """What a change of some places does, and its curvature along itself."""
        push = self.gram[:, at] @ change
        return push, float(change @ push[at])

    def move(self, image) -> None:
        """Take the change."""
        self.slope[:, 0] += image

    def bend(self, at: np.ndarray):
        """The curvature of some places: a function that multiplies by it."""
        small = self.gram[np.ix_(at, at)]
        return lambda v: small @ v


class DenseModel:
    """The same from dense columns, rows of `columns` that `at` names, less their `means`, every row
    of curvature `load`.
    """

    patience = SLOW

    def __init__(
        self,
        columns,
        at: np.ndarray,
        means: np.ndarray,
        load: float,
        rest: np.ndarray,
        blocks: Blocks,
        bends: np.ndarray | None = None,
    ):
        self.columns, self.at, self.means, self.load, self.rest = columns, at, means, load, rest
        self.parts = parts_of(blocks)
        self.given = (columns, at.astype(np.uint64), means, load, rest)
        self.bends = _block_bends(blocks, self._block_grams, bends)

    def _block_grams(self, at: np.ndarray) -> np.ndarray:
        """Gram matrices of blocks of one size, whose columns rise; those that lie together are not
        copied.
        """
        mine = self.at[at]
        grams = np.empty((len(at), at.shape[1], at.shape[1]))
        for g, (first, last) in enumerate(mine[:, [0, -1]].tolist()):
            together = last - first == at.shape[1] - 1
            block = self.columns[first : last + 1] if together else self.columns[mine[g]]
            np.matmul(block, block.T, out=grams[g])
        centres = self.means[mine]
        shift = self.columns.shape[1] * centres[:, :, None] * centres[:, None, :]
        return self.load * (grams - shift)

    def sweep(self, w, picks, penalty, turns: int) -> None:
        """Sweeps over some blocks."""
        sweep_dense(*self.given, w, picks, *self.parts, self.bends, penalty, turns)

    def slopes(self) -> np.ndarray:
        """Slopes of the places."""
        slope = np.empty((len(self.at), 1))
        slope_columns(self.columns, self.given[1], self.load, self.rest, slope)
        return slope

    def state(self) -> np.ndarray:
        """What changes with the weights, linearly."""
        return self.rest.copy()

    def restore(self, state: np.ndarray) -> None:
        """Take a state back."""
        self.rest[:] = state

    def value(self, w) -> float:
        """The model's value, up to a constant."""
        return 0.5 * self.load * float(self.rest @ self.rest)

    def solve(self, at, group, unit, stiff, pull) -> None:
        """No Newton step at one go: there are more places than rows."""

    def image(self, at, change):
        """What a change of some places does, and its curvature along itself."""
        push = change @ self.columns[self.at[at]] - change @ self.means[self.at[at]]
        return push, self.load * float(push @ push)

    def move(self, image) -> None:
        """Take the change."""
        self.rest += image

    def bend(self, at):
        """The curvature of some places: a function that multiplies by it."""
        small, means = self.columns[self.at[at]], self.means[self.at[at]]

        def multiply(v):
            push = v @ small - v @ means
            return self.load * (small @ push - means * push.sum())

        return multiply


class SparseModel:
    """The same from sparse columns, centred by a number beside the residuals."""

    patience = SLOW

    def __init__(self, X, load, centred: bool, rest: np.ndarray, blocks: Blocks):
        self.X, self.load, self.rest, self.shift, self.members = X, load, rest, 0.0, blocks.members
        self.arrays = (X.data, X.indices.astype(np.uint32), X.indptr.astype(np.uint64))
        self.means = np.zeros(X.shape[1])
        if centred:
            self.means = np.asarray(X.T @ load).ravel() / load.sum()
        self.parts, self.bends = parts_of(blocks), np.empty(blocks.n_groups)
        bend_columns(*self.arrays, blocks.members, load, self.means, blocks.starts, self.bends)

    def sweep(self, w, picks, penalty, turns: int) -> None:
        """Sweeps over some blocks."""
        given = (*self.arrays, self.members, self.load, self.means, self.rest, self.shift)
        self.shift = sweep_columns(*given, w, picks, *self.parts, self.bends, penalty, turns)

    def slopes(self) -> np.ndarray:
        """Slopes of the places."""
        slopes = self._pull(self.load * (self.rest + self.shift))
        return slopes[self.members.astype(np.int64)][:, None]

    def state(self) -> np.ndarray:
        """What changes with the weights, linearly."""
        return np.append(self.rest, self.shift)

    def restore(self, state: np.ndarray) -> None:
        """Take a state back."""
        self.rest[:], self.shift = state[:-1], float(state[-1])

    def value(self, w) -> float:
        """The model's value, up to a constant."""
        return 0.5 * float(self.load @ (self.rest + self.shift) ** 2)

    def solve(self, at, group, unit, stiff, pull) -> None:
        """No Newton step at one go: sparse columns have no Gram matrix."""

    def _pull(self, residuals) -> np.ndarray:
        return np.asarray(self.X.T @ residuals).ravel() - self.means * residuals.sum()

    def image(self, at, change):
        """What a change of some places does, and its curvature along itself."""
        columns = self.members[at].astype(np.int64)
        push = np.asarray(self.X[:, columns] @ change).ravel() - self.means[columns] @ change
        return push, float(self.load @ push**2)

    def move(self, image) -> None:
        """Take the change."""
        self.rest += image

    def bend(self, at):
        """The curvature of some places: a function that multiplies by it."""
        columns = self.members[at].astype(np.int64)
        X, means = self.X[:, columns], self.means[columns]

        def multiply(v):
            loaded = self.load * (X @ v - means @ v)
            return X.T @ loaded - means * loaded.sum()

        return multiply


def parts_of(blocks: Blocks) -> tuple:
    """The three arrays that loops over blocks take."""
    return blocks.starts, blocks.weights, blocks.l1_weights


def _block_bends(blocks: Blocks, gram_of, bends: np.ndarray | None) -> np.ndarray:
    """Largest eigenvalue of each block's Gram matrix, blocks of one size together; those given but
    for nan are known, the others are filled in.
    """
    starts = blocks.starts.astype(np.int64)
    sizes, bends = np.diff(starts), np.full(len(starts) - 1, np.nan) if bends is None else bends
    for size in np.unique(sizes):
        mine = np.flatnonzero((sizes == size) & np.isnan(bends))
        for few in np.array_split(mine, max(1, len(mine) * size // 4096)):
            bends[few] = np.linalg.eigvalsh(gram_of(starts[few][:, None] + np.arange(size)))[:, -1]
    return np.where(bends > TINY * max(bends.max(initial=0.0), 1e-300), bends * (1.0 + 1e-12), 0.0)
