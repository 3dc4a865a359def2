"""Passes over rows as given: sums by column, words for their content, rows in standard units."""

import numpy as np

from tamis.numerics.hashing import GOLDEN, mix64
from tamis.numerics.numba import compiled, helper

GRAINS = 1024.0  # steps a unit when rows are told apart by content
ONE = np.uint64(1)


@compiled
def sum_columns(data, indices, indptr, order, weights, counts, squares, tops):
    """Add each column's weight of entries other than 0, and sum of squares, over the rows in
    `order`; its largest absolute value.
    """
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        weight = weights[r] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            j, x = indices[k], float(data[k])
            counts[j] += weight if x != 0.0 else 0.0
            squares[j] += weight * x * x
            tops[j] = max(tops[j], abs(x))


@compiled
def vote_columns(data, indices, indptr, order, weights, place, leader, votes, sums):
    """Of columns that are filled in most rows (`place` is their number among these): sums, and the
    only value that can be in more than half of the rows.
    """
    many = np.uint64(leader.shape[0])
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        weight = weights[r] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            c, x = np.uint64(place[indices[k]]), float(data[k])
            if c < many:
                sums[c] += weight * x
                if x == leader[c]:
                    votes[c] += weight
                elif votes[c] >= weight:
                    votes[c] -= weight
                else:
                    leader[c], votes[c] = x, weight - votes[c]


@compiled
def spread_columns(data, indices, indptr, order, weights, place, leader, means, led, about):
    """Of the same columns: weight of the rows that have the leading value, sum of squares about the
    mean, and about the leading value, over the stored entries: `about` is (columns, 2).
    """
    many = np.uint64(leader.shape[0])
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        weight = weights[r] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            c, x = np.uint64(place[indices[k]]), float(data[k])
            if c < many:
                led[c] += weight if x == leader[c] else 0.0
                about[c, 0] += weight * (x - means[c]) * (x - means[c])
                about[c, 1] += weight * (x - leader[c]) * (x - leader[c])


@helper
def grain(column, z):
    """A word for an entry in standard units, coarse enough that rounding does not change it, and
    the same for both signs.
    """
    return mix64(mix64(np.uint64(column) + GOLDEN) ^ (np.uint64(abs(z) * GRAINS + 0.5) * GOLDEN))


@compiled
def hash_standard(data, indices, indptr, order, place, kept, scale, shift, dense, words):
    """Fill a word for the content of each row in `order`, in standard units: the same whatever the
    units of the columns.
    """
    count = np.uint64(scale.shape[0])
    # Every row starts with its shifted columns at 0, and trades those it has.
    start = np.uint64(0)
    for d in range(np.uint64(dense.shape[0])):
        j = np.uint64(dense[d])
        start += grain(kept[j], shift[j] * scale[j])
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        total = start
        for k in range(indptr[i], indptr[i + ONE]):
            j = np.uint64(place[indices[k]])
            if j < count:
                z = (float(data[k]) - shift[j]) * scale[j]
                total += grain(kept[j], z) if z != 0.0 else np.uint64(0)
                if shift[j] != 0.0:
                    total -= grain(kept[j], shift[j] * scale[j])
        words[r] = mix64(total + GOLDEN)


@compiled
def standardise(
    data, indices, indptr, order, place, scale, shift, dense, filled,
    out_data, out_indices, out_indptr,
):  # fmt: skip
    """Fill the rows in standard units and in `order`, dropped columns and zeros left out.

    `place` is a column's new number, the number of new columns where it is dropped. The columns
    `dense` (new numbers) have a shift, hence an entry in rows that lack them: those come last.
    """
    kept = np.uint64(scale.shape[0])
    at = np.uint64(0)
    out_indptr[0] = at
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        for k in range(indptr[i], indptr[i + ONE]):
            j = np.uint64(place[indices[k]])
            if j < kept:
                z = (float(data[k]) - shift[j]) * scale[j]
                filled[j] = r + ONE
                if z != 0.0:
                    out_indices[at], out_data[at] = j, z
                    at += ONE
        for d in range(np.uint64(dense.shape[0])):
            j = np.uint64(dense[d])
            if filled[j] != r + ONE:
                out_indices[at], out_data[at] = j, -shift[j] * scale[j]
                at += ONE
        out_indptr[r + ONE] = at
