"""The compiled part of serving rows: a look at the numbers of one row, and hashes of its names."""

import numpy as np

from tamis.data.text.words import SEED, hash_span
from tamis.numerics.hashing import GOLDEN, ONE, mix64
from tamis.numerics.numba import compiled, helper

# What is wrong with a row: an index out of range, a number too large, an index twice.
WILD, LARGE, TWICE = -1, -2, -3
# Rows as they are given; in the order of their columns; and with the values of a column summed.
GIVEN, SORTED, SUMMED = 0, 1, 2
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
CARET, NUL = np.uint8(94), np.uint8(0)


@helper
def sort_row(columns, values, count):
    """Put a row into the order of its columns, in place (by Shell's sort)."""
    gap = count // np.uint64(2)
    while gap > np.uint64(0):
        for k in range(gap, count):
            column, x, at = columns[k], values[k], k
            while at >= gap and columns[at - gap] > column:
                columns[at], values[at] = columns[at - gap], values[at - gap]
                at -= gap
            columns[at], values[at] = column, x
        gap //= np.uint64(2)


@helper
def sum_row(columns, values, count):
    """Sum the values of equal columns of a sorted row, in place; return how many are left."""
    last = np.uint64(0)
    for k in range(ONE, count):
        if columns[k] == columns[last]:
            values[last] += values[k]
        else:
            last += ONE
            columns[last], values[last] = columns[k], values[k]
    return last + ONE if count else count


@compiled
def take_row(given, values, count, order, n_features, limits, data, indices, indptr, seen):
    """Copy the numbers of a row that count, those of at least `limits[0]` in size, to `data` and
    `indices`. Return how many they are, or what is wrong.

    `given` are the columns as the user says them; `seen` is a table of a power of two of places,
    more than there are columns.
    """
    count = np.uint64(count)
    if order != GIVEN:
        sort_row(given, values, count)
    if order == SUMMED:
        count = sum_row(given, values, count)
    smallest, largest = limits
    kept, rising = np.uint64(0), True
    for k in range(count):
        column, x = np.uint64(given[k]), values[k]
        if column >= n_features:
            return WILD
        if not abs(x) <= largest:
            return LARGE
        rising = rising and (k == 0 or given[k] > given[k - ONE])
        if abs(x) >= smallest:
            data[kept], indices[kept] = x, column
            kept += ONE
    indptr[1] = kept
    if not rising:
        mask = np.uint64(seen.shape[0]) - ONE
        seen[:] = EMPTY
        for k in range(count):
            column = np.uint64(given[k])
            place = ((column * GOLDEN) >> np.uint64(32)) & mask
            while seen[place] != EMPTY:
                if seen[place] == column:
                    return TWICE
                place = (place + ONE) & mask
            seen[place] = column
    return np.int64(kept)


@compiled
def hash_names(text, mask, columns):
    """Fill the columns of names that end with a zero byte each, as Vowpal Wabbit's text has them:
    what stands before a caret is the namespace. Return how many names there are.
    """
    found, most, first = np.uint64(0), np.uint64(columns.shape[0]), np.uint64(0)
    seed, at_space = SEED, True
    for k in range(np.uint64(text.shape[0])):
        if text[k] == CARET and at_space:
            seed = hash_span(text, first, k, SEED, False) if k > first else SEED
            first, at_space = k + ONE, False
        elif text[k] == NUL:
            if found < most:
                word = mix64(hash_span(text, first, k, SEED, False) ^ seed)
                columns[found] = np.int64(word & mask)
            found += ONE
            first, seed, at_space = k + ONE, SEED, True
    return found
