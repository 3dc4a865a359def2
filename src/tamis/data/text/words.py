"""Words as numbers of 64 bits, numbers and places as CSR: what the readers of tables share."""

import numpy as np

from tamis.numerics.csr import FREE
from tamis.numerics.hashing import GOLDEN, mix64
from tamis.numerics.numba import compiled, helper, inlined

SEED, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a
NOTHING = np.uint64(0)  # stands for a missing word
QUOTE = np.uint8(34)


@inlined
def closed(value):
    """A hash over bytes, mixed; never 0."""
    value = mix64(value)
    return value if value != NOTHING else np.uint64(1)


@inlined
def hash_span(text, start, end, seed, escaped):
    """Hash of the bytes from `start` to `end`, doubled quotes once if `escaped`; never 0."""
    value, k = seed, start
    while k < end:
        value = (value ^ np.uint64(text[k])) * PRIME
        k += np.uint64(2) if escaped and text[k] == QUOTE else np.uint64(1)
    return closed(value)


@compiled
def hash_word(text, seed):
    """The same, for a word by itself."""
    return hash_span(text, np.uint64(0), np.uint64(text.shape[0]), seed, False)


@helper
def join_row(indices, data, first, last, out, table):
    """The entries of one row, repeats summed, written from `out` on; a hash set that is at most
    half full knows where each column stands.
    """
    one, size, shift, start = np.uint64(1), np.uint64(64), np.uint64(58), out
    while size < (last - first) << one:
        size, shift = size << one, shift - one
    table[:size] = FREE
    for k in range(first, last):
        place = (np.uint64(indices[k]) * GOLDEN) >> shift
        while table[place] != FREE and indices[start + table[place]] != indices[k]:
            place = (place + one) & (size - one)
        if table[place] == FREE:
            table[place] = out - start
            indices[out], data[out] = indices[k], data[k]
            out += one
        else:
            data[start + table[place]] += data[k]
    return out


@compiled
def pack_rows(values, columns, indptr, indices, data):
    """CSR without zeros from an entry a row and slot; `columns` in one row for all, or in many."""
    k, common = np.uint64(0), columns.shape[0] == 1
    for i in range(values.shape[0]):
        row = 0 if common else i
        for s in range(values.shape[1]):
            if values[i, s] != 0.0 and columns[row, s] >= 0:
                indices[k], data[k] = columns[row, s], values[i, s]
                k += np.uint64(1)
        indptr[i + 1] = k


@compiled
def join_repeats(indptr, indices, data):
    """Sum what a row says several times of a column into the first place it stands at, and close
    the gaps; return how many entries are left. Rows keep their order, whatever stands beside them.

    Most rows find that their columns have places of their own in a small table, each marked with
    the number of the row; only those where two meet are looked at again.
    """
    one, turn, long = np.uint64(1), np.uint64(255), np.uint64(256)
    marks, table, out = np.zeros(1 << 14, np.uint8), np.empty(1 << 10, np.uint64), np.uint64(0)
    first = indptr[0]
    for i in range(np.uint64(indptr.shape[0]) - one):
        last, meets = indptr[i + one], indptr[i + one] - first > long
        mark = np.uint8(i % turn + one)
        if mark == 1:
            marks[:] = 0
        if not meets:
            for k in range(first, last):
                place = (np.uint64(indices[k]) * GOLDEN) >> np.uint64(50)
                meets |= marks[place] == mark
                marks[place] = mark
        if meets:
            if (last - first) << np.uint64(2) > np.uint64(table.shape[0]):
                table = np.empty((last - first) << np.uint64(2), np.uint64)
            out = join_row(indices, data, first, last, out, table)
        elif out == first:
            out = last
        else:
            for k in range(first, last):
                indices[out], data[out] = indices[k], data[k]
                out += one
        first, indptr[i + one] = last, out
    return out


def hash_of(word: str, seed: np.uint64 = SEED) -> int:
    """Hash of a word."""
    return int(hash_word(np.frombuffer(word.encode(), np.uint8), np.uint64(seed)))
