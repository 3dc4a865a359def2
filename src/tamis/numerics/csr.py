"""Trusted rows, and the passes over rows that many methods need."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.numerics.hashing import GOLDEN, ONE
from tamis.numerics.numba import compiled, helper, inlined

FREE = np.uint64(0xFFFFFFFFFFFFFFFF)  # a place of a hash set that holds no column
NOTHING = np.zeros(0)
NOTHING.flags.writeable = False


class Csr(NamedTuple):
    """Trusted rows: unsigned, read-only, without duplicates or stored zeros; sorted, but for takers
    that need no order.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def packed(self) -> tuple[np.ndarray, "Csr"]:
        """Numbers of the columns that occur, ascending, and the rows of these columns alone; the
        work is that of the nonzeros, and of a bit a column.
        """
        marks = np.zeros((self.n_features >> 6) + 1, np.uint64)
        before = np.empty(len(marks), np.uint64)
        count = int(mark_columns(self.indices, self.indptr, marks, before))
        indices, columns = np.empty_like(self.indices), np.empty(count, self.indices.dtype)
        pack_columns(self.indices, self.indptr, marks, before, indices, columns)
        return columns, Csr(self.data, frozen(indices), self.indptr, count)

    def cut(self, start: int, stop: int) -> "Csr":
        """Some rows that lie together, without a copy."""
        return self._replace(indptr=self.indptr[start : stop + 1])

    def picked(self, rows) -> "Csr":
        """A copy of some rows."""
        return trusted(self.scipy()[rows])

    def narrowed(self, n_features: int) -> "Csr":
        """A copy of the first columns."""
        return trusted(self.scipy()[:, :n_features])

    def scipy(self):
        """The same rows as SciPy has them."""
        signed = self.indices.view(np.int64 if self.indices.itemsize == 8 else np.int32)
        # Wider pointers would make SciPy copy the indices to that width: loops compiled anew.
        kind = signed.dtype if len(signed) < 1 << 31 else np.dtype(np.int64)
        return sp.csr_array(
            (self.data, signed, self.indptr.astype(kind)), shape=(self.n_rows, self.n_features)
        )


def trusted(matrix) -> Csr:
    """Rows of a SciPy CSR matrix that was made from trusted rows."""
    indices = matrix.indices.view(np.uint64 if matrix.indices.itemsize == 8 else np.uint32)
    return Csr(
        frozen(matrix.data),
        frozen(indices),
        frozen(matrix.indptr.astype(np.uint64)),
        matrix.shape[1],
    )


def frozen(array: np.ndarray) -> np.ndarray:
    """A read-only view: one Numba signature whether the user's array was writeable or not."""
    view = array.view()
    view.flags.writeable = False
    return view


def largest(importance: np.ndarray, k: int) -> np.ndarray:
    """Indices, ascending, of the k largest entries; ties go to the lowest index."""
    if k >= len(importance):
        return np.arange(len(importance))
    if k <= 0:
        return np.zeros(0, dtype=np.int64)
    bar = np.partition(importance, len(importance) - k)[len(importance) - k]
    above = importance > bar
    level = np.flatnonzero(importance == bar)[: k - np.count_nonzero(above)]
    above[level] = True
    return np.flatnonzero(above)


# --------------------------------------------------------------------------- passes
@compiled
def inspect_rows(indptr, indices, bits, unsigned, smallest, largest, n_features):
    """Return (pointers fall, index too large, index not above the one before, too small, too large)
    as counts.

    `bits` is the data viewed as unsigned integers. Without the sign, which the mask `unsigned`
    takes away, these are ordered as the sizes of the numbers are, zeros first, infinities and nans
    last, and integer tests run many at a time: `smallest` and `largest` are limits in that order.
    The second and later counts are taken only if the pointers are sound.
    """
    n = np.uint64(indptr.shape[0]) - np.uint64(1)
    one = np.uint64(1)
    falls, wild, unsorted, small, large = 0, 0, 0, 0, 0
    for i in range(n):
        falls += indptr[i + one] < indptr[i]
    if falls or indptr[0] or indptr[n] > indices.shape[0]:
        return falls + 1, wild, unsorted, small, large
    odd = 0
    for k in range(indptr[n]):
        size = bits[k] & unsigned
        odd += (size < smallest) | (size > largest)
    if odd:
        for k in range(indptr[n]):
            small += (bits[k] & unsigned) < smallest
        large = odd - small
    # All in one run, however short the rows; a row may well begin below the end of the one before.
    for k in range(one, indptr[n]):
        unsorted += indices[k] <= indices[k - one]
    for i in range(one, n):
        k = indptr[i]
        if k and k < indptr[i + one]:
            unsorted -= indices[k] <= indices[k - one]
    if unsorted:
        for k in range(indptr[n]):
            wild += indices[k] >= n_features
    else:  # the last index of a row is its largest
        for i in range(n):
            if indptr[i + one] > indptr[i]:
                wild += indices[indptr[i + one] - one] >= n_features
    return falls, wild, unsorted, small, large


@helper
def repeats(indices, first, last, table):
    """Whether a row names a column twice, by a hash set that is at most half full."""
    one, size, shift = np.uint64(1), np.uint64(64), np.uint64(58)
    while size < (last - first) << one:
        size, shift = size << one, shift - one
    for cell in range(size):
        table[cell] = FREE
    for k in range(first, last):
        j = np.uint64(indices[k])
        place = (j * GOLDEN) >> shift
        while table[place] != FREE:
            if table[place] == j:
                return True
            place = (place + one) & (size - one)
        table[place] = j
    return False


@compiled
def has_duplicates(indptr, indices):
    """Whether any row names a column twice; the work is that of the nonzeros, however many columns
    there are.

    A row that rises does not. Of the others, most find that all their columns have places of their
    own in a small table, each marked with the number of the row; only where two meet is the row
    looked at again.
    """
    one, turn, last_place = np.uint64(1), np.uint64(65535), np.uint64(65535)
    marks, table = np.zeros(1 << 16, np.uint16), np.empty(1 << 10, np.uint64)
    for i in range(np.uint64(indptr.shape[0]) - one):
        first, last = indptr[i], indptr[i + one]
        falls, meets = 0, False
        mark = np.uint16(i % turn + one)
        if mark == 1:
            marks[:] = 0
        for k in range(first + one, last):
            falls += indices[k] <= indices[k - one]
        if not falls:
            continue
        for k in range(first, last):
            place = np.uint64(indices[k]) & last_place
            meets |= marks[place] == mark
            marks[place] = mark
        if meets:
            if (last - first) << np.uint64(2) > np.uint64(table.shape[0]):
                table = np.empty((last - first) << np.uint64(2), np.uint64)
            if repeats(indices, first, last, table):
                return True
    return False


@inlined
def ones(word):
    """Number of ones among the bits of a word: in pairs, fours and bytes, whose sum ends on top."""
    pairs = word - ((word >> ONE) & np.uint64(0x5555555555555555))
    low = np.uint64(0x3333333333333333)
    fours = (pairs & low) + ((pairs >> np.uint64(2)) & low)
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (eights * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def mark_columns(indices, indptr, marks, before):
    """Set the bit of each column that occurs, and write how many occur before each word of bits;
    return how many there are.
    """
    count, six, last = np.uint64(0), np.uint64(6), np.uint64(63)
    for k in range(indptr[0], indptr[np.uint64(indptr.shape[0]) - ONE]):
        j = np.uint64(indices[k])
        marks[j >> six] |= ONE << (j & last)
    for w in range(np.uint64(marks.shape[0])):
        before[w] = count
        count += ones(marks[w])
    return count


@compiled
def pack_columns(indices, indptr, marks, before, places, columns):
    """Write the place of each nonzero's column among those that occur, and these columns."""
    six, last = np.uint64(6), np.uint64(63)
    for k in range(indptr[0], indptr[np.uint64(indptr.shape[0]) - ONE]):
        j = np.uint64(indices[k])
        below = (ONE << (j & last)) - ONE
        place = before[j >> six] + ones(marks[j >> six] & below)
        places[k], columns[place] = place, j


@compiled
def inspect_values(bits, unsigned, smallest, largest):
    """Return (too small but not 0, too large) as counts; see `inspect_rows`."""
    small, large = 0, 0
    for k in range(bits.shape[0]):
        size = bits[k] & unsigned
        small += (size < smallest) & (size != 0)
        large += size > largest
    return small, large


@compiled
def count_nonzeros(X, indptr):
    """Fill `indptr` with the row pointers of dense X without its zeros."""
    total = np.uint64(0)
    indptr[0] = total
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            total += np.uint64(X[i, j] != 0)
        indptr[i + 1] = total


@compiled
def pack_nonzeros(X, indices, data):
    """Fill the indices and data of dense X without its zeros."""
    k = np.uint64(0)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if X[i, j] != 0:
                indices[k], data[k] = j, X[i, j]
                k += np.uint64(1)


@compiled
def count_kept(indices, indptr, place, kept, out_indptr):
    """Fill the row pointers of the columns whose new number is below `kept`."""
    at = np.uint64(0)
    out_indptr[0] = at
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        for k in range(indptr[i], indptr[i + ONE]):
            at += np.uint64(place[indices[k]] < kept)
        out_indptr[i + ONE] = at


@compiled
def copy_kept(data, indices, indptr, place, kept, out_data, out_indices):
    """Fill the entries of the columns whose new number is below `kept`."""
    at = np.uint64(0)
    for k in range(indptr[np.uint64(indptr.shape[0]) - ONE]):
        j = place[indices[k]]
        if j < kept:
            out_data[at], out_indices[at] = data[k], j
            at += ONE


@compiled
def decide(data, indices, indptr, rows, weights, bias, scores):
    """Fill the scores of some rows; `weights` is (features, outputs)."""
    many = np.uint64(bias.shape[0])
    for r in range(np.uint64(rows.shape[0])):
        i = np.uint64(rows[r])
        for c in range(many):
            scores[i, c] = bias[c]
        for k in range(indptr[i], indptr[i + ONE]):
            for c in range(many):
                scores[i, c] += weights[indices[k], c] * data[k]


@helper
def product(a, b):
    """Inner product in eight running sums: as reproducible as one, and several times as fast."""
    n = np.uint64(a.shape[0])
    eighth, step = n // np.uint64(8), np.uint64(8)
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for e in range(eighth):
        j = e * step
        s0 += a[j] * b[j]
        s1 += a[j + ONE] * b[j + ONE]
        s2 += a[j + np.uint64(2)] * b[j + np.uint64(2)]
        s3 += a[j + np.uint64(3)] * b[j + np.uint64(3)]
        s4 += a[j + np.uint64(4)] * b[j + np.uint64(4)]
        s5 += a[j + np.uint64(5)] * b[j + np.uint64(5)]
        s6 += a[j + np.uint64(6)] * b[j + np.uint64(6)]
        s7 += a[j + np.uint64(7)] * b[j + np.uint64(7)]
    rest = 0.0
    for k in range(eighth * step, n):
        rest += a[k] * b[k]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + rest
