"""Selected columns in blocks: what one output believes about them, and the rows of a batch
restricted to them.
"""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotri

from tamis.methods.batch_confidence_weighted.belief import TINY, cholesky
from tamis.methods.batch_confidence_weighted.loop_blocks import Blocks, join_rows
from tamis.methods.batch_confidence_weighted.rows import Rows
from tamis.numerics.csr import copy_kept, count_kept
from tamis.system.schema import apart, array, indices, listing, number, one_of

NOWHERE = np.uint32(0xFFFFFFFF)


class BlockBelief:
    """One output: columns of each block, their precision, the sums of dual steps, and the mean.

    A block's arrays hold its columns, then the constant's number if there is one. `precisions` is
    empty where they are identities.
    """

    _contents: ClassVar[dict] = {
        "constant": number(float, least=0.0),
        "blocks": listing(apart(indices("members", below="columns", distinct=True), "columns")),
        "precisions": listing(apart(array("f8", "members", "members", order=None))),
        "dual_sum": array("f8", "weights"),
        "mean": array("f8", "weights"),
        "final": one_of(None, array("f8", "final")),
    }

    def _restored(self) -> None:
        """Refuse blocks whose sizes do not add up, or that share a column."""
        sizes, columns = self.sizes, self.columns
        precise = [len(part) for part in self.precisions]
        if precise not in ([], sizes.tolist()) or len(self.mean) != sizes.sum():
            raise ValueError(
                f"blocks of {sizes[:10].tolist()} numbers do not fit their precisions or the mean "
                f"of {len(self.mean)}"
            )
        misfit = self.final is not None and len(self.final) != len(columns) + 1
        if misfit or len(np.unique(columns)) != len(columns):
            raise ValueError("the blocks share columns, or the last weights do not fit them")

    def __init__(self, constant: float):
        self.constant = float(constant)
        self.blocks: list[np.ndarray] = []
        self.precisions: list[np.ndarray] = []
        self.dual_sum, self.mean = np.zeros(0), np.zeros(0)
        # weights of all columns and the intercept, where they were learnt anew
        self.final: np.ndarray | None = None

    @property
    def sizes(self) -> np.ndarray:
        """Numbers of each block."""
        more = int(self.constant != 0.0)
        return np.array([len(block) + more for block in self.blocks], dtype=np.int64)

    @property
    def starts(self) -> np.ndarray:
        """Where blocks begin, and the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.uint64)

    @property
    def columns(self) -> np.ndarray:
        """All selected columns, block by block."""
        return np.concatenate([*self.blocks, np.zeros(0, np.int64)]).astype(np.int64)

    def parts(self, vector: np.ndarray) -> list[np.ndarray]:
        """A vector over all blocks, cut into blocks."""
        return np.split(vector, self.starts[1:-1].astype(np.int64)) if self.blocks else []

    def weights(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Columns, their weights, and the intercept."""
        if self.final is not None:
            return self.columns, self.final[:-1], float(self.final[-1])
        parts = self.parts(self.mean)
        own = [part[: len(block)] for part, block in zip(parts, self.blocks, strict=True)]
        bias = sum(self.constant * part[-1] for part in parts) if self.constant else 0.0
        return self.columns, np.concatenate([*own, np.zeros(0)]), float(bias)

    def busy(self) -> list[np.ndarray]:
        """Blocks whose mean is not 0."""
        parts = zip(self.blocks, self.parts(self.mean), strict=True)
        return [block for block, part in parts if part.any()]

    def covariances(self) -> list[np.ndarray]:
        """Covariance of each block; empty where they are identities."""
        return [inverse(part) for part in self.precisions]

    def drop_idle(self) -> None:
        """Forget blocks whose mean is 0: they make room for others, and as long as they are idle
        the rest does not feel them.
        """
        busy = [k for k, part in enumerate(self.parts(self.mean)) if part.any()]
        dual_sums, means = self.parts(self.dual_sum), self.parts(self.mean)
        self.blocks = [self.blocks[k] for k in busy]
        self.precisions = [self.precisions[k] for k in busy] if self.precisions else []
        self.dual_sum = np.concatenate([*(dual_sums[k] for k in busy), np.zeros(0)])
        self.mean, self.final = np.concatenate([*(means[k] for k in busy), np.zeros(0)]), None

    def variances(self, matrix) -> np.ndarray:
        """Variance of the margin of rows: x' Sigma x over the blocks."""
        total = np.full(matrix.shape[0], TINY)
        sigmas: list = self.covariances() if self.precisions else [None for _ in self.blocks]
        for block, sigma in zip(self.blocks, sigmas, strict=True):
            total += lengths_squared(Rows(matrix[:, block], self.constant), sigma)
        return total

    def diagonal(self, n_columns: int) -> np.ndarray:
        """Variance of each weight; 1, where it began, for columns that are not selected."""
        found = np.ones(n_columns)
        for block, sigma in zip(self.blocks, self.covariances(), strict=False):
            found[block] = sigma.diagonal()[: len(block)]
        return found


def score_blocks(beliefs: list[BlockBelief], matrix) -> np.ndarray:
    """Scores of rows for all outputs, through their selected columns alone."""
    parts = [belief.weights() for belief in beliefs]
    columns, values = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    outputs = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    shape = (matrix.shape[1], len(parts))
    scores = matrix @ sp.csc_array((values, (columns, outputs)), shape=shape)
    scores = scores.toarray() if sp.issparse(scores) else np.asarray(scores)
    return scores + np.array([part[2] for part in parts])


def inverse(precision: np.ndarray) -> np.ndarray:
    """Inverse of a precision, whole and symmetric."""
    lower = dpotri(cholesky(np.array(precision, order="F")), lower=1)[0]
    return np.ascontiguousarray(np.tril(lower) + np.tril(lower, -1).T)


def lengths_squared(rows: Rows, sigma) -> np.ndarray:
    """x' Sigma x of rows; Sigma None is the identity."""
    found = np.empty(rows.count)
    for span in rows.spans():
        part = rows.dense(span)
        found[span] = np.einsum("ij,ij->i", part, part if sigma is None else part @ sigma)
    return found


class Picked:
    """The rows of a batch in the columns of a belief's blocks, as the sweeps read them."""

    def __init__(self, matrix, row_weights: np.ndarray, belief: BlockBelief, identity: bool):
        self.matrix, self.row_weights, self.belief, self.identity = (
            matrix,
            row_weights,
            belief,
            identity,
        )
        count = matrix.shape[0]
        self.place = np.full(matrix.shape[1], NOWHERE) if sp.issparse(matrix) else None
        self.csr = (np.zeros(0), np.zeros(0, np.uint32), np.zeros(count + 1, np.uint64))
        self.sigmas: list[np.ndarray] = []
        self.squares = np.zeros((count, 0))
        blocks, precisions = belief.blocks, belief.precisions
        belief.blocks, belief.precisions = [], []
        for k, block in enumerate(blocks):  # those of earlier batches
            self._join(block, precisions[k] if precisions else None)

    def add(self, block: np.ndarray) -> None:
        """Select a block of columns; it starts from the identity, and from no dual steps."""
        self._join(block, None)
        more = np.zeros(len(block) + (self.belief.constant != 0.0))
        self.belief.dual_sum = np.concatenate([self.belief.dual_sum, more])
        self.belief.mean = np.concatenate([self.belief.mean, more])

    def _join(self, block, precision) -> None:
        """Add the rows' entries of a block, its covariance, and the rows' lengths under it."""
        data, indices, pointers = self._entries(block)
        shift = np.uint32(self.belief.sizes.sum())
        width = len(self.csr[0]) + len(data)
        joined = (np.empty(width), np.empty(width, np.uint32), np.empty_like(self.csr[2]))
        join_rows(self.csr, (data, indices, pointers), shift, joined)
        self.csr = joined
        parts = (data, indices.view(np.int32), pointers.astype(np.int64))
        own = sp.csr_array(parts, shape=(len(pointers) - 1, len(block)))
        rows, sigma = Rows(own, self.belief.constant), None
        if not self.identity:
            lower = rows.gram(self.row_weights)
            added = np.tril(lower) + np.tril(lower, -1).T
            precision = added + (np.eye(rows.width) if precision is None else precision)
            self.belief.precisions.append(precision)
            sigma = inverse(precision)
            self.sigmas.append(sigma)
        self.belief.blocks.append(block)
        self.squares = np.column_stack([self.squares, lengths_squared(rows, sigma)])

    def _entries(self, block):
        """Entries of the rows in some columns, as CSR."""
        if self.place is None:
            part = sp.csr_array(np.asarray(self.matrix[:, block], dtype=np.float64))
            return part.data, part.indices.view(np.uint32), part.indptr.astype(np.uint64)
        X = self.matrix
        index = np.uint64 if X.indices.itemsize == 8 else np.uint32
        given = (X.indices.view(index), X.indptr.astype(np.uint64))
        self.place[block] = np.arange(len(block), dtype=np.uint32)
        pointers = np.empty(X.shape[0] + 1, np.uint64)
        count_kept(*given, self.place, np.uint32(len(block)), pointers)
        data, indices = np.empty(int(pointers[-1])), np.empty(int(pointers[-1]), np.uint32)
        copy_kept(X.data, *given, self.place, np.uint32(len(block)), data, indices)
        self.place[block] = NOWHERE
        return data, indices, pointers

    def layout(self) -> Blocks:
        """Rows and covariances as the sweeps read them."""
        sizes = self.belief.sizes**2
        places = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.uint64)
        sigma = np.concatenate([*(sigma.ravel() for sigma in self.sigmas), np.zeros(0)])
        return Blocks(self.csr, self.belief.starts, places, sigma, self.belief.constant)

    def covered(self, vector: np.ndarray) -> np.ndarray:
        """Sigma times a vector over all blocks."""
        if self.identity:
            return vector.copy()
        pairs = zip(self.sigmas, self.belief.parts(vector), strict=True)
        return np.concatenate([*(sigma @ part for sigma, part in pairs), np.zeros(0)])

    def combined(self, coefficients: np.ndarray) -> np.ndarray:
        """Sum of the rows by coefficients, over all blocks."""
        data, indices, indptr = self.csr
        starts = self.belief.starts
        each = data * np.repeat(coefficients, np.diff(indptr).astype(np.int64))
        total = np.bincount(indices, weights=each, minlength=int(starts[-1]))
        if self.belief.constant:
            total[starts[1:].astype(np.int64) - 1] = self.belief.constant * coefficients.sum()
        return total
