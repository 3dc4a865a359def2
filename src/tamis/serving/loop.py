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
def load_row(user_columns, values, count, order, n_features, limits, data, indices, indptr, slots):
    """Check a row and copy the entries of at least `limits[0]` in absolute value to `data` and
    `indices`. Return their number, or a negative status.

    `user_columns` are the columns that the user passed; `slots` is a hash table, whose size is a
    power of two above the number of entries.
    """
    count = np.uint64(count)
    if order != UNCHANGED:
        sort_row(user_columns, values, count)
    if order == SUMMED:
        count = sum_row(user_columns, values, count)
    smallest, largest = limits
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
        mask = np.uint64(slots.shape[0]) - ONE
        slots[:] = EMPTY_SLOT
        for k in range(count):
            column = np.uint64(user_columns[k])
            slot = ((column * GOLDEN) >> np.uint64(32)) & mask
            while slots[slot] != EMPTY_SLOT:
                if slots[slot] == column:
                    return DUPLICATE
                slot = (slot + ONE) & mask
            slots[slot] = column
    return np.int64(n_stored)


@compiled
def hash_names(text, mask, columns):
    """Write the columns of names that each end with a zero byte, hashed as in Vowpal Wabbit's text:
    a caret ends the namespace. Return the number of names.
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
