"""Small entries out of a matrix: a copy without them, what was dropped, and which threshold to
begin with.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.data_thresholding.loop_rows import (
    copy_entries,
    drop_entries,
    find_entries,
    least_size,
    pull_columns,
)
from tamis.numerics.csr import frozen

SPARSE_BELOW = 0.25  # share of kept entries below which a dense matrix is stored by its nonzeros


class Kept(NamedTuple):
    """A matrix after thresholding, its share of the nonzero entries, and the largest dropped size
    (0: nothing was dropped).
    """

    matrix: np.ndarray | sp.csr_array
    share: float
    dropped: float

    @property
    def size(self) -> int:
        """Bytes that the matrix takes."""
        return bytes_of(self.matrix)


def bytes_of(matrix) -> int:
    """Bytes of a dense or CSR matrix."""
    return (
        matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
        if sp.issparse(matrix)
        else matrix.nbytes
    )


def sizes_of(matrix) -> np.ndarray:
    """Absolute values of the nonzero entries."""
    stored = matrix.data if sp.issparse(matrix) else matrix[matrix != 0]
    sizes = np.abs(stored)
    return sizes if sizes.all() else sizes[sizes > 0]


def drop_small(matrix, threshold: float) -> Kept:
    """A copy without the entries of size at most `threshold`; the matrix itself where there are
    none, and never a change in it.
    """
    return (
        _drop_sparse(matrix, threshold) if sp.issparse(matrix) else _drop_dense(matrix, threshold)
    )


def raw(matrix):
    """The arrays of a CSR matrix as loops read them."""
    index = np.uint64 if matrix.indices.itemsize == 8 else np.uint32
    count = matrix.indptr[-1]
    return (
        frozen(matrix.data[:count]),
        frozen(matrix.indices[:count].view(index)),
        frozen(matrix.indptr.astype(np.uint64)),
    )


def _drop_sparse(matrix, threshold: float) -> Kept:
    data, indices, old = raw(matrix)
    fewer, where = np.empty(len(data) + 1, data.dtype), np.empty(len(data) + 1, indices.dtype)
    pointers = np.empty(len(old), np.uint64)
    gone, largest = drop_entries(data, indices, old, float(threshold), fewer, where, pointers)
    if not gone:
        return Kept(matrix, 1.0, 0.0)
    count, index = int(pointers[-1]), matrix.indices.dtype
    for array in (fewer, where):
        array.resize(count, refcheck=False)  # gives back what was not needed
    made = sp.csr_array((fewer, where.view(index), pointers.astype(index)), shape=matrix.shape)
    return Kept(made, count / (count + gone), float(largest))


def _drop_dense(matrix, threshold: float) -> Kept:
    sizes = np.abs(matrix)
    stays = sizes > threshold
    count, whole = int(np.count_nonzero(stays)), int(np.count_nonzero(sizes))
    if count == whole:
        return Kept(matrix, 1.0, 0.0)
    dropped, share = float(sizes[~stays].max()), count / whole
    if share >= SPARSE_BELOW:
        return Kept(np.where(stays, matrix, matrix.dtype.type(0)), share, dropped)
    columns = np.nonzero(stays)[1]
    pointers = np.concatenate(([0], np.cumsum(stays.sum(axis=1))))
    return Kept(
        sp.csr_array((matrix[stays], columns.astype(np.int32), pointers), shape=matrix.shape),
        share,
        dropped,
    )


# --------------------------------------------------------------------------- columns
def pulls_of(matrix, loads: np.ndarray) -> np.ndarray:
    """Every column times the loads of the rows."""
    if not sp.issparse(matrix):
        return matrix.T @ loads
    found = np.empty(matrix.shape[1])
    pull_columns(*raw(matrix), loads, found)
    return found


def columns_of(matrix, columns: np.ndarray) -> sp.csr_array:
    """Some columns, row by row."""
    if not sp.issparse(matrix):
        return sp.csr_array(matrix[:, columns])
    data, indices, pointers = raw(matrix)
    wanted, place = np.zeros(matrix.shape[1], np.uint8), np.empty(matrix.shape[1], indices.dtype)
    wanted[columns], place[columns] = 1, np.arange(len(columns))
    found = np.empty(len(data) + 1, indices.dtype)
    count = int(find_entries(indices, wanted, found))
    values, where, begins = np.empty(count), np.empty(count, indices.dtype), np.empty_like(pointers)
    copy_entries(data, indices, pointers, found[:count], place, values, where, begins)
    index = matrix.indices.dtype
    return sp.csr_array(
        (values, where.view(index), begins.astype(index)),
        shape=(matrix.shape[0], len(columns)),
    )


# --------------------------------------------------------------------------- thresholds to try
def keeping(matrix, share: float) -> float:
    """The threshold that leaves about this share of the nonzero entries."""
    sizes = sizes_of(matrix)
    if not len(sizes) or share >= 1.0:
        return 0.0
    if share <= 0.0:
        return float(sizes.max())
    place = min(int((1.0 - share) * len(sizes)), len(sizes) - 1)
    return float(np.partition(sizes, place)[place - 1 : place + 1].min()) if place else 0.0


def halvings(matrix, first: float, floor: float = 0.0):
    """Thresholds to try: `first`, then half of the last one, not below `floor`, and 0 once less
    than the smallest entry is left.

    Of a `floor` above 0 nothing lower follows: the entries below it are known to do no harm.
    """
    least = least_size(frozen(matrix.data if sp.issparse(matrix) else matrix.ravel()))
    now = max(first, floor)
    while now >= least:
        yield now
        if now <= floor:
            return
        now = max(0.5 * now, floor)
    yield 0.0
