"""Compiled passes over rows in the units of X: sums by column, hashes of the content, rows in
standard units.
"""

import numpy as np

from tamis.numerics.hashing import GOLDEN, mix64
from tamis.numerics.numba import compiled, compiled_helper

HASH_STEPS_PER_UNIT = 1024.0  # rounding of values before they are hashed
ONE = np.uint64(1)


@compiled
def sum_columns(data, indices, indptr, order, weights, counts, squares, max_abs):
    """Add each column's weight of entries other than 0 and sum of squares over the rows in `order`,
    and update its largest absolute value.
    """
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        weight = weights[r] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            j, x = indices[k], float(data[k])
            counts[j] += weight if x != 0.0 else 0.0
            squares[j] += weight * x * x
            max_abs[j] = max(max_abs[j], abs(x))


@compiled
def majority_vote(data, indices, indptr, order, weights, new_index, majority, votes, sums):
    """Find in one pass, for each dense column, the only value that can be in more than half of the
    rows (Boyer and Moore), and add up the values; `new_index` numbers the dense columns.
    """
    n_dense = np.uint64(majority.shape[0])
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        weight = weights[r] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            c, x = np.uint64(new_index[indices[k]]), float(data[k])
            if c < n_dense:
                sums[c] += weight * x
                if x == majority[c]:
                    votes[c] += weight
                elif votes[c] >= weight:
                    votes[c] -= weight
                else:
                    majority[c], votes[c] = x, weight - votes[c]


@compiled
def sum_squares_about(
    data, indices, indptr, order, weights, new_index, majority, means, majority_weight, squares
):
    """Add up for the dense columns the weight of the rows with the majority value, and the squares
    (columns, 2) about the mean and about the majority value, over the stored entries.
    """
    n_dense = np.uint64(majority.shape[0])
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        weight = weights[r] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            c, x = np.uint64(new_index[indices[k]]), float(data[k])
            if c < n_dense:
                majority_weight[c] += weight if x == majority[c] else 0.0
                squares[c, 0] += weight * (x - means[c]) * (x - means[c])
                squares[c, 1] += weight * (x - majority[c]) * (x - majority[c])


@compiled_helper
def hash_entry(column, value):
    """Return a hash of an entry in standard units, rounded so that rounding errors do not change
    it, and equal for both signs.
    """
    return mix64(
        mix64(np.uint64(column) + GOLDEN)
        ^ (np.uint64(abs(value) * HASH_STEPS_PER_UNIT + 0.5) * GOLDEN)
    )


@compiled
def hash_standardized_rows(
    data, indices, indptr, order, new_index, column_numbers, scale, shift, shifted, hashes
):
    """Fill a hash of the content of each row in `order`, in standard units: it does not depend on
    the units of the columns.
    """
    n_columns = np.uint64(scale.shape[0])
    # The hash of a row without stored entries of shifted columns; each such entry replaces a term.
    base_hash = np.uint64(0)
    for d in range(np.uint64(shifted.shape[0])):
        j = np.uint64(shifted[d])
        base_hash += hash_entry(column_numbers[j], shift[j] * scale[j])
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        total = base_hash
        for k in range(indptr[i], indptr[i + ONE]):
            j = np.uint64(new_index[indices[k]])
            if j < n_columns:
                z = (float(data[k]) - shift[j]) * scale[j]
                total += hash_entry(column_numbers[j], z) if z != 0.0 else np.uint64(0)
                if shift[j] != 0.0:
                    total -= hash_entry(column_numbers[j], shift[j] * scale[j])
        hashes[r] = mix64(total + GOLDEN)


@compiled
def standardize_rows(
    data, indices, indptr, order, new_index, scale, shift, shifted, last_row,
    out_data, out_indices, out_indptr,
):  # fmt: skip
    """Fill the rows in standard units and in `order`, without dropped columns and zeros.

    `new_index` is the number of new columns where a column is dropped. The columns `shifted` (new
    indices) have a shift, hence an entry also in rows that do not store one: these entries come
    last.
    """
    n_columns = np.uint64(scale.shape[0])
    at = np.uint64(0)
    out_indptr[0] = at
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        for k in range(indptr[i], indptr[i + ONE]):
            j = np.uint64(new_index[indices[k]])
            if j < n_columns:
                z = (float(data[k]) - shift[j]) * scale[j]
                last_row[j] = r + ONE
                if z != 0.0:
                    out_indices[at], out_data[at] = j, z
                    at += ONE
        for d in range(np.uint64(shifted.shape[0])):
            j = np.uint64(shifted[d])
            if last_row[j] != r + ONE:
                out_indices[at], out_data[at] = j, -shift[j] * scale[j]
                at += ONE
        out_indptr[r + ONE] = at
