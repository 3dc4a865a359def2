"""Thresholded copies of a matrix, products and columns of a matrix, and candidate thresholds."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.data_thresholding.loop_rows import (
    copy_entries,
    drop_entries,
    find_entries,
    min_magnitude,
    transpose_product,
)
from tamis.numerics.csr import readonly_view

# A dense matrix with a smaller fraction of nonzero entries after thresholding becomes sparse.
MAX_SPARSE_FRACTION = 0.25


class ThresholdedMatrix(NamedTuple):
    """A matrix after thresholding, its fraction of the nonzero entries, and the largest absolute
    value of a dropped entry (0: nothing was dropped).
    """

    matrix: np.ndarray | sp.csr_array
    share: float
    max_dropped: float

    @property
    def n_bytes(self) -> int:
        """Memory of the matrix, in bytes."""
        return count_bytes(self.matrix)


def count_bytes(matrix) -> int:
    """Return the memory of a dense or CSR matrix, in bytes."""
    return (
        matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
        if sp.issparse(matrix)
        else matrix.nbytes
    )


def nonzero_magnitudes(matrix) -> np.ndarray:
    """Return the absolute values of the nonzero entries."""
    stored = matrix.data if sp.issparse(matrix) else matrix[matrix != 0]
    magnitudes = np.abs(stored)
    return magnitudes if magnitudes.all() else magnitudes[magnitudes > 0]


def apply_threshold(matrix, threshold: float) -> ThresholdedMatrix:
    """Return a copy without the entries of absolute value at most `threshold`, or the matrix itself
    if there are none.
    """
    return (
        _drop_sparse(matrix, threshold) if sp.issparse(matrix) else _drop_dense(matrix, threshold)
    )


def csr_arrays(matrix):
    """Return data, indices, indptr of a CSR matrix, read-only and unsigned, for compiled loops."""
    index_dtype = np.uint64 if matrix.indices.itemsize == 8 else np.uint32
    n_entries = matrix.indptr[-1]
    return (
        readonly_view(matrix.data[:n_entries]),
        readonly_view(matrix.indices[:n_entries].view(index_dtype)),
        readonly_view(matrix.indptr.astype(np.uint64)),
    )


def _drop_sparse(matrix, threshold: float) -> ThresholdedMatrix:
    data, indices, old_indptr = csr_arrays(matrix)
    new_data = np.empty(len(data) + 1, data.dtype)
    new_indices = np.empty(len(data) + 1, indices.dtype)
    new_indptr = np.empty(len(old_indptr), np.uint64)
    n_dropped, max_dropped = drop_entries(
        data, indices, old_indptr, float(threshold), new_data, new_indices, new_indptr
    )
    if not n_dropped:
        return ThresholdedMatrix(matrix, 1.0, 0.0)
    n_above, index_dtype = int(new_indptr[-1]), matrix.indices.dtype
    for array in (new_data, new_indices):
        array.resize(n_above, refcheck=False)  # release the unused memory
    thresholded = sp.csr_array(
        (new_data, new_indices.view(index_dtype), new_indptr.astype(index_dtype)),
        shape=matrix.shape,
    )
    return ThresholdedMatrix(thresholded, n_above / (n_above + n_dropped), float(max_dropped))


def _drop_dense(matrix, threshold: float) -> ThresholdedMatrix:
    magnitudes = np.abs(matrix)
    is_above = magnitudes > threshold
    n_above, n_nonzero = int(np.count_nonzero(is_above)), int(np.count_nonzero(magnitudes))
    if n_above == n_nonzero:
        return ThresholdedMatrix(matrix, 1.0, 0.0)
    max_dropped, fraction = float(magnitudes[~is_above].max()), n_above / n_nonzero
    if fraction >= MAX_SPARSE_FRACTION:
        return ThresholdedMatrix(
            np.where(is_above, matrix, matrix.dtype.type(0)), fraction, max_dropped
        )
    columns = np.nonzero(is_above)[1]
    indptr = np.concatenate(([0], np.cumsum(is_above.sum(axis=1))))
    return ThresholdedMatrix(
        sp.csr_array((matrix[is_above], columns.astype(np.int32), indptr), shape=matrix.shape),
        fraction,
        max_dropped,
    )


# --------------------------------------------------------------------------- columns
def correlate_columns(matrix, row_coefficients: np.ndarray) -> np.ndarray:
    """Return X'c for coefficients c of the rows."""
    if not sp.issparse(matrix):
        return matrix.T @ row_coefficients
    products = np.empty(matrix.shape[1])
    transpose_product(*csr_arrays(matrix), row_coefficients, products)
    return products


def select_columns(matrix, columns: np.ndarray) -> sp.csr_array:
    """Return the selected columns as a CSR array."""
    if not sp.issparse(matrix):
        return sp.csr_array(matrix[:, columns])
    data, indices, indptr = csr_arrays(matrix)
    is_selected = np.zeros(matrix.shape[1], np.uint8)
    column_index = np.empty(matrix.shape[1], indices.dtype)
    is_selected[columns], column_index[columns] = 1, np.arange(len(columns))
    entries = np.empty(len(data) + 1, indices.dtype)
    n_entries = int(find_entries(indices, is_selected, entries))
    values = np.empty(n_entries)
    selected_columns = np.empty(n_entries, indices.dtype)
    selected_indptr = np.empty_like(indptr)
    copy_entries(
        data,
        indices,
        indptr,
        entries[:n_entries],
        column_index,
        values,
        selected_columns,
        selected_indptr,
    )
    index_dtype = matrix.indices.dtype
    return sp.csr_array(
        (values, selected_columns.view(index_dtype), selected_indptr.astype(index_dtype)),
        shape=(matrix.shape[0], len(columns)),
    )


# --------------------------------------------------------------------------- thresholds to try
def threshold_for_fraction(matrix, fraction: float) -> float:
    """Return the threshold above which about this fraction of the nonzero entries lies."""
    magnitudes = nonzero_magnitudes(matrix)
    if not len(magnitudes) or fraction >= 1.0:
        return 0.0
    if fraction <= 0.0:
        return float(magnitudes.max())
    rank = min(int((1.0 - fraction) * len(magnitudes)), len(magnitudes) - 1)
    return float(np.partition(magnitudes, rank)[rank - 1 : rank + 1].min()) if rank else 0.0


def halving_thresholds(matrix, first: float, floor: float = 0.0):
    """Yield candidate thresholds: `first`, then half of the last one, but not below `floor`; then 0
    if the next one would drop no entry.

    Nothing below a positive `floor` follows: the a-priori bounds hold there.
    """
    min_nonzero = min_magnitude(
        readonly_view(matrix.data if sp.issparse(matrix) else matrix.ravel())
    )
    threshold = max(first, floor)
    while threshold >= min_nonzero:
        yield threshold
        if threshold <= floor:
            return
        threshold = max(0.5 * threshold, floor)
    yield 0.0
