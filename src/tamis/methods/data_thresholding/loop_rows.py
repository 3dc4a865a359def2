"""Passes over rows: a matrix without its small entries, its columns under dual variables, the
entries of a few columns; and sums over the dual variables.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled


@compiled
def drop_entries(data, indices, indptr, threshold, fewer, where, pointers):
    """Copy the entries above `threshold`, and their columns; returns how many others that are not 0
    there are, and the largest of them.

    `fewer` and `where` have room for all and one more: an entry that does not stay is written over
    by the next, for without branches that is three times as fast.
    """
    one, kept, filled, largest = np.uint64(1), np.uint64(0), 0, 0.0
    pointers[0] = kept
    for i in range(np.uint64(indptr.shape[0]) - one):
        for k in range(indptr[i], indptr[i + one]):
            size = abs(data[k])
            fewer[kept], where[kept] = data[k], indices[k]
            kept += np.uint64(size > threshold)
            filled += size > 0.0
            largest = max(largest, size if size <= threshold else 0.0)
        pointers[i + one] = kept
    return filled - np.int64(kept), largest


@compiled
def least_size(data):
    """The smallest size of an entry that is not 0."""
    least = math.inf
    for k in range(np.uint64(data.shape[0])):
        size = abs(data[k])
        least = min(least, size if size > 0.0 else math.inf)
    return least


@compiled
def pull_columns(data, indices, indptr, loads, pulls):
    """Every column times the loads of the rows."""
    one = np.uint64(1)
    pulls[:] = 0.0
    for i in range(np.uint64(loads.shape[0])):
        load = loads[i]
        for k in range(indptr[i], indptr[i + one]):
            pulls[indices[k]] += load * data[k]


@compiled
def find_entries(indices, wanted, found):
    """Places of the entries of wanted columns, with room for one more; returns how many.

    Only the columns of the entries are read, a third of the matrix.
    """
    at = np.uint64(0)
    for k in range(np.uint64(indices.shape[0])):
        found[at] = k
        at += np.uint64(wanted[indices[k]])
    return at


@compiled
def copy_entries(data, indices, indptr, found, place, values, columns, pointers):
    """The entries found, with the place of their column, and where each row begins among them."""
    one, k, count = np.uint64(1), np.uint64(0), np.uint64(found.shape[0])
    pointers[0] = k
    for i in range(np.uint64(indptr.shape[0]) - one):
        while k < count and found[k] < indptr[i + one]:
            values[k], columns[k] = data[found[k]], place[indices[found[k]]]
            k += one
        pointers[i + one] = k


@compiled
def entropy(alphas, row_weights, shrunk):
    """The dual of the logistic loss at `alphas` times `shrunk`."""
    total = 0.0
    for i in range(alphas.shape[0]):
        if row_weights[i] > 0.0:
            share = shrunk * alphas[i] / row_weights[i]
            if 0.0 < share < 1.0:
                total -= row_weights[i] * (
                    share * math.log(share) + (1.0 - share) * math.log1p(-share)
                )
    return total


@compiled
def class_sums(signs, alphas):
    """Sums of the dual variables of the two classes."""
    ahead, behind = 0.0, 0.0
    for i in range(alphas.shape[0]):
        if signs[i] > 0.0:
            ahead += alphas[i]
        else:
            behind += alphas[i]
    return ahead, behind


@compiled
def settle_duals(signs, row_weights, scores, turns, alphas):
    """Dual variables of the logistic loss at the scores moved by the best constant, by at most so
    many Newton steps.
    """
    moved = 0.0
    for turn in range(turns + 1):
        slope, curvature = 0.0, 0.0
        for i in range(scores.shape[0]):
            share = 1.0 / (1.0 + math.exp(min(signs[i] * (scores[i] + moved), 700.0)))
            alphas[i] = row_weights[i] * share
            slope -= signs[i] * alphas[i]
            curvature += alphas[i] * (1.0 - share)
        if turn == turns or abs(slope) < 1e-8 or curvature <= 0.0:
            break
        moved += min(max(-slope / curvature, -1.0), 1.0)
