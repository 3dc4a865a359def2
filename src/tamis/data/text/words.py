"""Hashes of words, and CSR rows from dense slots or with repeated columns; compiled."""

import numpy as np

from tamis.numerics.csr import FREE_SLOT
from tamis.numerics.hashing import GOLDEN, mix64
from tamis.numerics.numba import compiled, compiled_helper, force_inlined

HASH_SEED, HASH_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a
MISSING_HASH = np.uint64(0)  # of a missing word
QUOTE = np.uint8(34)


@force_inlined
def finish_hash(value):
    """Return the mixed hash of a hash over bytes; never 0."""
    value = mix64(value)
    return value if value != MISSING_HASH else np.uint64(1)


@force_inlined
def hash_span(text, start, end, seed, escaped):
    """Return the hash of the bytes from `start` to `end`; never 0.

    If `escaped`, two quotes in a row count as one.
    """
    value, k = seed, start
    while k < end:
        value = (value ^ np.uint64(text[k])) * HASH_PRIME
        k += np.uint64(2) if escaped and text[k] == QUOTE else np.uint64(1)
    return finish_hash(value)


@compiled
def hash_word(text, seed):
    """Return the hash of a whole text; never 0."""
    return hash_span(text, np.uint64(0), np.uint64(text.shape[0]), seed, False)


@compiled_helper
def join_row(indices, data, row_start, row_end, out, table):
    """Sum the repeated columns of one row, write its entries from `out` on, and return their end.

    A hash set that is at most half full holds the slot of each column.
    """
    one, size, shift, out_start = np.uint64(1), np.uint64(64), np.uint64(58), out
    while size < (row_end - row_start) << one:
        size, shift = size << one, shift - one
    table[:size] = FREE_SLOT
    for k in range(row_start, row_end):
        slot = (np.uint64(indices[k]) * GOLDEN) >> shift
        while table[slot] != FREE_SLOT and indices[out_start + table[slot]] != indices[k]:
            slot = (slot + one) & (size - one)
        if table[slot] == FREE_SLOT:
            table[slot] = out - out_start
            indices[out], data[out] = indices[k], data[k]
            out += one
        else:
            data[out_start + table[slot]] += data[k]
    return out


@compiled
def pack_rows(values, columns, indptr, indices, data):
    """Write CSR arrays without zeros from a matrix of values.

    `columns` has the column of each value; one row of it may serve for all rows.
    """
    k, has_common_columns = np.uint64(0), columns.shape[0] == 1
    for i in range(values.shape[0]):
        row = 0 if has_common_columns else i
        for s in range(values.shape[1]):
            if values[i, s] != 0.0 and columns[row, s] >= 0:
                indices[k], data[k] = columns[row, s], values[i, s]
                k += np.uint64(1)
        indptr[i + 1] = k


@compiled
def join_repeats(indptr, indices, data):
    """Sum the repeated columns of each row in place; return the number of entries that remain.

    Rows keep the order of their columns. For most rows a small table, whose slots are marked with
    the number of the row, shows that no two columns share a slot; only the others need `join_row`.
    """
    one, n_marks, long_row = np.uint64(1), np.uint64(255), np.uint64(256)
    slot_marks, hash_table = np.zeros(1 << 14, np.uint8), np.empty(1 << 10, np.uint64)
    out = np.uint64(0)
    row_start = indptr[0]
    for i in range(np.uint64(indptr.shape[0]) - one):
        row_end, may_repeat = indptr[i + one], indptr[i + one] - row_start > long_row
        mark = np.uint8(i % n_marks + one)
        if mark == 1:
            slot_marks[:] = 0
        if not may_repeat:
            for k in range(row_start, row_end):
                slot = (np.uint64(indices[k]) * GOLDEN) >> np.uint64(50)
                may_repeat |= slot_marks[slot] == mark
                slot_marks[slot] = mark
        if may_repeat:
            if (row_end - row_start) << np.uint64(2) > np.uint64(hash_table.shape[0]):
                hash_table = np.empty((row_end - row_start) << np.uint64(2), np.uint64)
            out = join_row(indices, data, row_start, row_end, out, hash_table)
        elif out == row_start:
            out = row_end
        else:
            for k in range(row_start, row_end):
                indices[out], data[out] = indices[k], data[k]
                out += one
        row_start, indptr[i + one] = row_end, out
    return out


def hash_of(word: str, seed: np.uint64 = HASH_SEED) -> int:
    """Return the hash of a word."""
    return int(hash_word(np.frombuffer(word.encode(), np.uint8), np.uint64(seed)))
