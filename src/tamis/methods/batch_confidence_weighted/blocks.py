"""The Gaussian over the weights of selected columns, with one covariance for each block of columns,
and the rows of a batch restricted to these columns.
"""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotri

from tamis.methods.batch_confidence_weighted.loop_blocks import BlockRows, append_block
from tamis.methods.batch_confidence_weighted.posterior import MIN_VARIANCE, cholesky
from tamis.methods.batch_confidence_weighted.rows import BatchRows
from tamis.numerics.csr import copy_selected_columns, count_selected_entries
from tamis.system.schema import array, indices, list_of, number, one_of, separate_sizes

NOT_SELECTED = np.uint32(0xFFFFFFFF)


class BlockPosterior:
    """Gaussian over the weights of one output: columns, precision, mean and sum of alpha y x of
    each block.

    The arrays of a block have one entry for each of its columns, then one for the constant column
    if `constant` is not 0. `precisions` is empty if all of them are identities.
    """

    _contents: ClassVar[dict] = {
        "constant": number(float, minimum=0.0),
        "blocks": list_of(
            separate_sizes(indices("members", below="columns", distinct=True), "columns")
        ),
        "precisions": list_of(separate_sizes(array("f8", "members", "members", order=None))),
        "dual_sum": array("f8", "weights"),
        "mean": array("f8", "weights"),
        "refit_weights": one_of(None, array("f8", "refit_weights")),
    }

    def _after_load(self) -> None:
        """Raise a ValueError if the sizes of the stored arrays differ, or if blocks overlap."""
        sizes, columns = self.sizes, self.columns
        precision_sizes = [len(precision) for precision in self.precisions]
        if precision_sizes not in ([], sizes.tolist()) or len(self.mean) != sizes.sum():
            raise ValueError(
                f"blocks of {sizes[:10].tolist()} numbers do not match their precisions or the "
                f"mean of {len(self.mean)}"
            )
        wrong_refit_size = (
            self.refit_weights is not None and len(self.refit_weights) != len(columns) + 1
        )
        if wrong_refit_size or len(np.unique(columns)) != len(columns):
            raise ValueError("the blocks share columns, or the refit weights do not match them")

    def __init__(self, constant: float):
        self.constant = float(constant)
        self.blocks: list[np.ndarray] = []
        self.precisions: list[np.ndarray] = []
        self.dual_sum, self.mean = np.zeros(0), np.zeros(0)
        # with refit=True: weights of all selected columns, then the intercept
        self.refit_weights: np.ndarray | None = None

    @property
    def sizes(self) -> np.ndarray:
        """Number of weights of each block, that of the constant included."""
        n_constants = int(self.constant != 0.0)
        return np.array([len(block) + n_constants for block in self.blocks], dtype=np.int64)

    @property
    def starts(self) -> np.ndarray:
        """Index of the first weight of each block, then the number of all weights."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.uint64)

    @property
    def columns(self) -> np.ndarray:
        """Indices of all selected columns, block by block."""
        return np.concatenate([*self.blocks, np.zeros(0, np.int64)]).astype(np.int64)

    def split_blocks(self, vector: np.ndarray) -> list[np.ndarray]:
        """Split a vector over all blocks into one array for each block."""
        return np.split(vector, self.starts[1:-1].astype(np.int64)) if self.blocks else []

    def weights(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the selected columns, their weights, and the intercept."""
        if self.refit_weights is not None:
            return self.columns, self.refit_weights[:-1], float(self.refit_weights[-1])
        block_means = self.split_blocks(self.mean)
        column_means = [
            mean[: len(block)] for mean, block in zip(block_means, self.blocks, strict=True)
        ]
        intercept = sum(self.constant * mean[-1] for mean in block_means) if self.constant else 0.0
        return self.columns, np.concatenate([*column_means, np.zeros(0)]), float(intercept)

    def active_blocks(self) -> list[np.ndarray]:
        """Return the columns of each block with a nonzero mean."""
        pairs = zip(self.blocks, self.split_blocks(self.mean), strict=True)
        return [block for block, block_mean in pairs if block_mean.any()]

    def covariances(self) -> list[np.ndarray]:
        """Return the covariance of each block; an empty list if all are identities."""
        return [inverse(precision) for precision in self.precisions]

    def drop_inactive(self) -> None:
        """Remove the blocks with a mean of 0, so that new blocks can be selected in their place.

        A block with a mean of 0 does not change the solution of the other blocks.
        """
        dual_sums, means = self.split_blocks(self.dual_sum), self.split_blocks(self.mean)
        active = [k for k, block_mean in enumerate(means) if block_mean.any()]
        self.blocks = [self.blocks[k] for k in active]
        self.precisions = [self.precisions[k] for k in active] if self.precisions else []
        self.dual_sum = np.concatenate([*(dual_sums[k] for k in active), np.zeros(0)])
        self.mean = np.concatenate([*(means[k] for k in active), np.zeros(0)])
        self.refit_weights = None

    def variances(self, matrix) -> np.ndarray:
        """Return the variance of the margin of each row: x' Sigma x, summed over the blocks."""
        total = np.full(matrix.shape[0], MIN_VARIANCE)
        sigmas: list = self.covariances() if self.precisions else [None for _ in self.blocks]
        for block, sigma in zip(self.blocks, sigmas, strict=True):
            total += quadratic_forms(BatchRows(matrix[:, block], self.constant), sigma)
        return total

    def diagonal(self, n_columns: int) -> np.ndarray:
        """Return the variance of each weight; 1, the prior, for columns that are not selected."""
        variances = np.ones(n_columns)
        for block, sigma in zip(self.blocks, self.covariances(), strict=False):
            variances[block] = sigma.diagonal()[: len(block)]
        return variances


def score_blocks(posteriors: list[BlockPosterior], matrix) -> np.ndarray:
    """Return the scores (rows, outputs); only the selected columns of the matrix are read."""
    columns, values, intercepts = zip(
        *(posterior.weights() for posterior in posteriors), strict=True
    )
    outputs = np.repeat(np.arange(len(columns)), [len(indices) for indices in columns])
    shape = (matrix.shape[1], len(columns))
    entries = (np.concatenate(values), (np.concatenate(columns), outputs))
    scores = matrix @ sp.csc_array(entries, shape=shape)
    scores = scores.toarray() if sp.issparse(scores) else np.asarray(scores)
    return scores + np.array(intercepts)


def inverse(precision: np.ndarray) -> np.ndarray:
    """Return the inverse of a precision matrix, with both triangles filled in."""
    lower = dpotri(cholesky(np.array(precision, order="F")), lower=1)[0]
    return np.ascontiguousarray(np.tril(lower) + np.tril(lower, -1).T)


def quadratic_forms(rows: BatchRows, sigma) -> np.ndarray:
    """Return x' Sigma x of each row; `sigma` None is the identity."""
    forms = np.empty(rows.count)
    for rows_slice in rows.chunk_slices():
        chunk = rows.to_dense(rows_slice)
        forms[rows_slice] = np.einsum("ij,ij->i", chunk, chunk if sigma is None else chunk @ sigma)
    return forms


class SelectedRows:
    """Rows of a batch restricted to the selected columns, as CSR arrays for the sweeps.

    Adding a block also adds its precision and covariance.
    """

    def __init__(self, matrix, row_weights: np.ndarray, posterior: BlockPosterior, identity: bool):
        self.matrix = matrix
        self.row_weights = row_weights
        self.posterior = posterior
        self.identity = identity
        n_rows = matrix.shape[0]
        self.column_index = np.full(matrix.shape[1], NOT_SELECTED) if sp.issparse(matrix) else None
        self.csr = (np.zeros(0), np.zeros(0, np.uint32), np.zeros(n_rows + 1, np.uint64))
        self.sigmas: list[np.ndarray] = []
        self.squared_norms = np.zeros((n_rows, 0))
        blocks, precisions = posterior.blocks, posterior.precisions
        posterior.blocks, posterior.precisions = [], []
        for k, block in enumerate(blocks):  # selected in earlier batches
            self._add_block(block, precisions[k] if precisions else None)

    def add(self, block: np.ndarray) -> None:
        """Add a new block of columns; its precision starts from I, its mean from 0."""
        self._add_block(block, None)
        initial = np.zeros(len(block) + (self.posterior.constant != 0.0))
        self.posterior.dual_sum = np.concatenate([self.posterior.dual_sum, initial])
        self.posterior.mean = np.concatenate([self.posterior.mean, initial])

    def _add_block(self, block, precision) -> None:
        """Append the entries of a block, its covariance, and x' Sigma x of each row in it."""
        data, indices, block_indptr = self._entries(block)
        shift = np.uint32(self.posterior.sizes.sum())
        n_entries = len(self.csr[0]) + len(data)
        joined = (np.empty(n_entries), np.empty(n_entries, np.uint32), np.empty_like(self.csr[2]))
        append_block(self.csr, (data, indices, block_indptr), shift, joined)
        self.csr = joined
        csr = (data, indices.view(np.int32), block_indptr.astype(np.int64))
        block_rows = sp.csr_array(csr, shape=(len(block_indptr) - 1, len(block)))
        rows, sigma = BatchRows(block_rows, self.posterior.constant), None
        if not self.identity:
            lower = rows.gram(self.row_weights)
            gram = np.tril(lower) + np.tril(lower, -1).T
            precision = gram + (np.eye(rows.width) if precision is None else precision)
            self.posterior.precisions.append(precision)
            sigma = inverse(precision)
            self.sigmas.append(sigma)
        self.posterior.blocks.append(block)
        self.squared_norms = np.column_stack([self.squared_norms, quadratic_forms(rows, sigma)])

    def _entries(self, block):
        """Return the CSR arrays of the rows in the columns of one block."""
        if self.column_index is None:
            entries = sp.csr_array(np.asarray(self.matrix[:, block], dtype=np.float64))
            return entries.data, entries.indices.view(np.uint32), entries.indptr.astype(np.uint64)
        X = self.matrix
        index_dtype = np.uint64 if X.indices.itemsize == 8 else np.uint32
        pattern = (X.indices.view(index_dtype), X.indptr.astype(np.uint64))
        self.column_index[block] = np.arange(len(block), dtype=np.uint32)
        block_indptr = np.empty(X.shape[0] + 1, np.uint64)
        count_selected_entries(*pattern, self.column_index, np.uint32(len(block)), block_indptr)
        data, indices = np.empty(int(block_indptr[-1])), np.empty(int(block_indptr[-1]), np.uint32)
        copy_selected_columns(
            X.data, *pattern, self.column_index, np.uint32(len(block)), data, indices
        )
        self.column_index[block] = NOT_SELECTED
        return data, indices, block_indptr

    def layout(self) -> BlockRows:
        """Return the rows and covariances as flat arrays for the compiled sweeps."""
        sigma_sizes = self.posterior.sizes**2
        sigma_starts = np.concatenate([[0], np.cumsum(sigma_sizes)[:-1]]).astype(np.uint64)
        sigma = np.concatenate([*(sigma.ravel() for sigma in self.sigmas), np.zeros(0)])
        starts, constant = self.posterior.starts, self.posterior.constant
        return BlockRows(self.csr, starts, sigma_starts, sigma, constant)

    def apply_covariance(self, vector: np.ndarray) -> np.ndarray:
        """Return Sigma v of a vector over all blocks."""
        if self.identity:
            return vector.copy()
        pairs = zip(self.sigmas, self.posterior.split_blocks(vector), strict=True)
        return np.concatenate([*(sigma @ segment for sigma, segment in pairs), np.zeros(0)])

    def weighted_sum(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the sum of coefficient x over the rows, as a vector over all blocks."""
        data, indices, indptr = self.csr
        starts = self.posterior.starts
        terms = data * np.repeat(coefficients, np.diff(indptr).astype(np.int64))
        total = np.bincount(indices, weights=terms, minlength=int(starts[-1]))
        if self.posterior.constant:
            total[starts[1:].astype(np.int64) - 1] = self.posterior.constant * coefficients.sum()
        return total
