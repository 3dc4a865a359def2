"""Validated sparse rows, and compiled passes over rows that many methods need."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.numerics.hashing import GOLDEN, ONE
from tamis.numerics.numba import compiled, compiled_helper, force_inlined

FREE_SLOT = np.uint64(0xFFFFFFFFFFFFFFFF)  # a slot of a hash set without a column
EMPTY = np.zeros(0)
EMPTY.flags.writeable = False


class Csr(NamedTuple):
    """Validated sparse rows: unsigned read-only indices, no duplicates, no stored zeros.

    Indices are sorted within each row unless the reader asked for unsorted rows.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def packed_columns(self) -> tuple[np.ndarray, "Csr"]:
        """Return the indices of the columns that occur, ascending, and the rows restricted to them.

        The cost is proportional to the number of nonzeros, plus one bit per column.
        """
        column_bits = np.zeros((self.n_features >> 6) + 1, np.uint64)
        counts_before = np.empty(len(column_bits), np.uint64)
        count = int(mark_columns(self.indices, self.indptr, column_bits, counts_before))
        indices, columns = np.empty_like(self.indices), np.empty(count, self.indices.dtype)
        pack_columns(self.indices, self.indptr, column_bits, counts_before, indices, columns)
        return columns, Csr(self.data, readonly_view(indices), self.indptr, count)

    def row_slice(self, start: int, stop: int) -> "Csr":
        """Return consecutive rows without a copy."""
        return self._replace(indptr=self.indptr[start : stop + 1])

    def select_rows(self, rows) -> "Csr":
        """Return a copy of some rows."""
        return csr_from_scipy(self.to_scipy()[rows])

    def first_columns(self, n_features: int) -> "Csr":
        """Return a copy of the rows restricted to the first columns."""
        return csr_from_scipy(self.to_scipy()[:, :n_features])

    def to_scipy(self):
        """Return the rows as a SciPy CSR array."""
        signed = self.indices.view(np.int64 if self.indices.itemsize == 8 else np.int32)
        # Wider pointers would make SciPy widen the indices, and loops would be compiled again.
        pointer_type = signed.dtype if len(signed) < 1 << 31 else np.dtype(np.int64)
        return sp.csr_array(
            (self.data, signed, self.indptr.astype(pointer_type)),
            shape=(self.n_rows, self.n_features),
        )


def csr_from_scipy(matrix) -> Csr:
    """Return validated rows from a SciPy CSR matrix that was made from validated rows."""
    indices = matrix.indices.view(np.uint64 if matrix.indices.itemsize == 8 else np.uint32)
    return Csr(
        readonly_view(matrix.data),
        readonly_view(indices),
        readonly_view(matrix.indptr.astype(np.uint64)),
        matrix.shape[1],
    )


def readonly_view(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array.

    Numba then compiles one signature, whether or not the user's array was writeable.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def largest_indices(importance: np.ndarray, k: int) -> np.ndarray:
    """Return the indices, ascending, of the k largest entries; ties go to the lowest index."""
    if k >= len(importance):
        return np.arange(len(importance))
    if k <= 0:
        return np.zeros(0, dtype=np.int64)
    threshold = np.partition(importance, len(importance) - k)[len(importance) - k]
    is_selected = importance > threshold
    ties = np.flatnonzero(importance == threshold)[: k - np.count_nonzero(is_selected)]
    is_selected[ties] = True
    return np.flatnonzero(is_selected)


# --------------------------------------------------------------------------- passes
@compiled
def inspect_rows(indptr, indices, bits, unsigned, smallest, largest, n_features):
    """Return five counts: decreasing pointers, indices out of range, indices that do not increase,
    numbers that are too small, numbers that are too large.

    `bits` is the data viewed as unsigned integers. Without the sign bit, which the mask `unsigned`
    clears, these integers have the order of the absolute values, with zeros first and infinities
    and nans last, and integer comparisons are vectorized. `smallest` and `largest` are limits in
    that order. All counts but the first need valid pointers.
    """
    n = np.uint64(indptr.shape[0]) - np.uint64(1)
    one = np.uint64(1)
    decreasing, out_of_range, unsorted, small, large = 0, 0, 0, 0, 0
    for i in range(n):
        decreasing += indptr[i + one] < indptr[i]
    if decreasing or indptr[0] or indptr[n] > indices.shape[0]:
        return decreasing + 1, out_of_range, unsorted, small, large
    outside = 0
    for k in range(indptr[n]):
        size = bits[k] & unsigned
        outside += (size < smallest) | (size > largest)
    if outside:
        for k in range(indptr[n]):
            small += (bits[k] & unsigned) < smallest
        large = outside - small
    # One vectorized loop over all rows; the first index of a row may be below the previous one.
    for k in range(one, indptr[n]):
        unsorted += indices[k] <= indices[k - one]
    for i in range(one, n):
        k = indptr[i]
        if k and k < indptr[i + one]:
            unsorted -= indices[k] <= indices[k - one]
    if unsorted:
        for k in range(indptr[n]):
            out_of_range += indices[k] >= n_features
    else:  # the last index of a row is its largest
        for i in range(n):
            if indptr[i + one] > indptr[i]:
                out_of_range += indices[indptr[i + one] - one] >= n_features
    return decreasing, out_of_range, unsorted, small, large


@compiled_helper
def row_has_duplicates(indices, first, last, table):
    """Return whether a row has a column twice, by a hash set that is at most half full."""
    one, size, shift = np.uint64(1), np.uint64(64), np.uint64(58)
    while size < (last - first) << one:
        size, shift = size << one, shift - one
    for empty in range(size):
        table[empty] = FREE_SLOT
    for k in range(first, last):
        j = np.uint64(indices[k])
        slot = (j * GOLDEN) >> shift
        while table[slot] != FREE_SLOT:
            if table[slot] == j:
                return True
            slot = (slot + one) & (size - one)
        table[slot] = j
    return False


@compiled
def has_duplicates(indptr, indices):
    """Return whether any row has a column twice, in time proportional to the number of nonzeros.

    A row with increasing indices has none. Other rows mark one slot of a small table per column,
    with a mark per row. Only a row in which two columns share a slot needs an exact check.
    """
    one, period, last_slot = np.uint64(1), np.uint64(65535), np.uint64(65535)
    marks, table = np.zeros(1 << 16, np.uint16), np.empty(1 << 10, np.uint64)
    for i in range(np.uint64(indptr.shape[0]) - one):
        first, last = indptr[i], indptr[i + one]
        decreasing, collides = 0, False
        mark = np.uint16(i % period + one)
        if mark == 1:
            marks[:] = 0
        for k in range(first + one, last):
            decreasing += indices[k] <= indices[k - one]
        if not decreasing:
            continue
        for k in range(first, last):
            slot = np.uint64(indices[k]) & last_slot
            collides |= marks[slot] == mark
            marks[slot] = mark
        if collides:
            if (last - first) << np.uint64(2) > np.uint64(table.shape[0]):
                table = np.empty((last - first) << np.uint64(2), np.uint64)
            if row_has_duplicates(indices, first, last, table):
                return True
    return False


@force_inlined
def count_ones(word):
    """Return the number of bits that are 1: sums of pairs, fours and bytes, then all bytes."""
    pairs = word - ((word >> ONE) & np.uint64(0x5555555555555555))
    low = np.uint64(0x3333333333333333)
    fours = (pairs & low) + ((pairs >> np.uint64(2)) & low)
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (eights * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def mark_columns(indices, indptr, marks, counts_before):
    """Set the bit of each column that occurs, and count the columns before each word of bits.

    Returns the number of columns that occur.
    """
    count, six, last = np.uint64(0), np.uint64(6), np.uint64(63)
    for k in range(indptr[0], indptr[np.uint64(indptr.shape[0]) - ONE]):
        j = np.uint64(indices[k])
        marks[j >> six] |= ONE << (j & last)
    for w in range(np.uint64(marks.shape[0])):
        counts_before[w] = count
        count += count_ones(marks[w])
    return count


@compiled
def pack_columns(indices, indptr, marks, counts_before, out_indices, columns):
    """Write for each nonzero the rank of its column among those that occur, and these columns."""
    six, last = np.uint64(6), np.uint64(63)
    for k in range(indptr[0], indptr[np.uint64(indptr.shape[0]) - ONE]):
        j = np.uint64(indices[k])
        lower_bits = (ONE << (j & last)) - ONE
        index = counts_before[j >> six] + count_ones(marks[j >> six] & lower_bits)
        out_indices[k], columns[index] = index, j


@compiled
def inspect_values(bits, unsigned, smallest, largest):
    """Return two counts: numbers too small but not 0, and too large; see `inspect_rows`."""
    small, large = 0, 0
    for k in range(bits.shape[0]):
        size = bits[k] & unsigned
        small += (size < smallest) & (size != 0)
        large += size > largest
    return small, large


@compiled
def count_nonzeros(X, indptr):
    """Fill `indptr` with the row pointers of a dense X without its zeros."""
    total = np.uint64(0)
    indptr[0] = total
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            total += np.uint64(X[i, j] != 0)
        indptr[i + 1] = total


@compiled
def pack_nonzeros(X, indices, data):
    """Fill the indices and data of a dense X without its zeros."""
    k = np.uint64(0)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if X[i, j] != 0:
                indices[k], data[k] = j, X[i, j]
                k += np.uint64(1)


@compiled
def count_selected_entries(indices, indptr, new_index, n_selected, out_indptr):
    """Fill the row pointers of the columns with a new index below `n_selected`."""
    position = np.uint64(0)
    out_indptr[0] = position
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        for k in range(indptr[i], indptr[i + ONE]):
            position += np.uint64(new_index[indices[k]] < n_selected)
        out_indptr[i + ONE] = position


@compiled
def copy_selected_columns(data, indices, indptr, new_index, n_selected, out_data, out_indices):
    """Fill the entries of the columns with a new index below `n_selected`."""
    position = np.uint64(0)
    for k in range(indptr[np.uint64(indptr.shape[0]) - ONE]):
        j = new_index[indices[k]]
        if j < n_selected:
            out_data[position], out_indices[position] = data[k], j
            position += ONE


@compiled
def decision_scores(data, indices, indptr, rows, weights, bias, scores):
    """Fill the scores of some rows; `weights` has shape (features, outputs)."""
    n_outputs = np.uint64(bias.shape[0])
    for r in range(np.uint64(rows.shape[0])):
        i = np.uint64(rows[r])
        for c in range(n_outputs):
            scores[i, c] = bias[c]
        for k in range(indptr[i], indptr[i + ONE]):
            for c in range(n_outputs):
                scores[i, c] += weights[indices[k], c] * data[k]


@compiled_helper
def dot(a, b):
    """Return the dot product, in eight running sums: reproducible, and several times as fast as
    one.
    """
    n = np.uint64(a.shape[0])
    n_blocks, step = n // np.uint64(8), np.uint64(8)
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for block in range(n_blocks):
        j = block * step
        s0 += a[j] * b[j]
        s1 += a[j + ONE] * b[j + ONE]
        s2 += a[j + np.uint64(2)] * b[j + np.uint64(2)]
        s3 += a[j + np.uint64(3)] * b[j + np.uint64(3)]
        s4 += a[j + np.uint64(4)] * b[j + np.uint64(4)]
        s5 += a[j + np.uint64(5)] * b[j + np.uint64(5)]
        s6 += a[j + np.uint64(6)] * b[j + np.uint64(6)]
        s7 += a[j + np.uint64(7)] * b[j + np.uint64(7)]
    remainder = 0.0
    for k in range(n_blocks * step, n):
        remainder += a[k] * b[k]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + remainder
