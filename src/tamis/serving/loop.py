"""Compiled loops of serving: checks of the numbers of one row, and hashes of its names."""

import numpy as np

from tamis.data.text.words import HASH_SEED, hash_span
from tamis.numerics.hashing import GOLDEN, ONE, mix64
from tamis.numerics.numba import compiled, compiled_helper

# Status of a row that is not loaded: an index out of range, a number too large, an index twice.
OUT_OF_RANGE, TOO_LARGE, DUPLICATE = -1, -2, -3
# Order of the entries: unchanged, sorted by column, sorted with the values of equal columns summed.
UNCHANGED, SORTED, SUMMED = 0, 1, 2
EMPTY_SLOT = np.uint64(0xFFFFFFFFFFFFFFFF)
CARET, NUL = np.uint8(94), np.uint8(0)


@compiled_helper
def sort_row(columns, values, count):
    """Sort a row by its columns, in place (by Shell's sort)."""
    gap = count // np.uint64(2)
    while gap > np.uint64(0):
        for k in range(gap, count):
            column, x, position = columns[k], values[k], k
            while position >= gap and columns[position - gap] > column:
                columns[position], values[position] = (
                    columns[position - gap],
                    values[position - gap],
                )
                position -= gap
            columns[position], values[position] = column, x
        gap //= np.uint64(2)


@compiled_helper
def sum_row(columns, values, count):
    """Sum the values of equal columns of a sorted row, in place; return the number of columns."""
    last = np.uint64(0)
    for k in range(ONE, count):
        if columns[k] == columns[last]:
            values[last] += values[k]
        else:
            last += ONE
            columns[last], values[last] = columns[k], values[k]
    return last + ONE if count else count


@compiled
def load_row(
    user_columns,
    values,
    count,
    order,
    n_features,
    magnitude_range,
    data,
    indices,
    indptr,
    hash_slots,
):
    """Check a row, and copy its entries that are not negligible to a CSR row.

    Return the number of those entries, or a negative status. `order` says whether the entries are
    sorted or summed first. `magnitude_range` has the smallest absolute value that is copied and the
    largest that is allowed. `user_columns` are the columns that the user passed; `hash_slots` is a
    hash table to find duplicates, whose size is a power of two above the number of entries.
    """
    count = np.uint64(count)
    if order != UNCHANGED:
        sort_row(user_columns, values, count)
    if order == SUMMED:
        count = sum_row(user_columns, values, count)
    smallest, largest = magnitude_range
    n_stored, increasing = np.uint64(0), True
    for k in range(count):
        column, x = np.uint64(user_columns[k]), values[k]
        if column >= n_features:
            return OUT_OF_RANGE
        if not abs(x) <= largest:
            return TOO_LARGE
        increasing = increasing and (k == 0 or user_columns[k] > user_columns[k - ONE])
        if abs(x) >= smallest:
            data[n_stored], indices[n_stored] = x, column
            n_stored += ONE
    indptr[1] = n_stored
    if not increasing:
        mask = np.uint64(hash_slots.shape[0]) - ONE
        hash_slots[:] = EMPTY_SLOT
        for k in range(count):
            column = np.uint64(user_columns[k])
            slot = ((column * GOLDEN) >> np.uint64(32)) & mask
            while hash_slots[slot] != EMPTY_SLOT:
                if hash_slots[slot] == column:
                    return DUPLICATE
                slot = (slot + ONE) & mask
            hash_slots[slot] = column
    return np.int64(n_stored)


@compiled
def hash_names(text, mask, columns):
    """Hash names that each end with a zero byte to `columns`, and return their number.

    Hashes are those of Vowpal Wabbit's text; a caret ends the namespace.
    """
    n_names, max_names, first = np.uint64(0), np.uint64(columns.shape[0]), np.uint64(0)
    space_hash, before_caret = HASH_SEED, True
    for k in range(np.uint64(text.shape[0])):
        if text[k] == CARET and before_caret:
            space_hash = hash_span(text, first, k, HASH_SEED, False) if k > first else HASH_SEED
            first, before_caret = k + ONE, False
        elif text[k] == NUL:
            if n_names < max_names:
                name_hash = mix64(hash_span(text, first, k, HASH_SEED, False) ^ space_hash)
                columns[n_names] = np.int64(name_hash & mask)
            n_names += ONE
            first, space_hash, before_caret = k + ONE, HASH_SEED, True
    return n_names
