"""Columns of a stabilized run: how long and how often, their displacements, those that stay, and
their mean weights.
"""

import math

import numpy as np

from tamis.base.jit import compiled, helper

ONE = np.uint64(1)
# Displacements by exponent and first three binary digits, from 2^-96 to 2^32; the outermost bins
# hold what lies beyond.
BINS, SHIFT, LOWEST = 1 << 10, np.uint64(49), (1023 - 96) << 3
DEAD = np.uint16(0xFFFF)


@compiled
def measure(data, indices, indptr, norms, counts):
    """Fill the norms of the rows, and add up the stored entries of each column where `counts` has
    room for them.
    """
    for i in range(np.uint64(norms.shape[0])):
        square = 0.0
        for k in range(indptr[i], indptr[i + ONE]):
            square += np.float64(data[k]) * np.float64(data[k])
            if counts.shape[0]:
                counts[indices[k]] += np.uint32(1)
        norms[i] = math.sqrt(square)


@compiled
def compact(data, indices, indptr, place, kept, out_data, out_indices, out_indptr):
    """Copy the entries of columns whose new number `place` is below `kept`; the copy may lie on the
    original.
    """
    at, begin = np.uint64(0), indptr[0]
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        end = indptr[i + ONE]
        for k in range(begin, end):
            j = place[indices[k]]
            if j < kept:
                out_data[at], out_indices[at] = data[k], j
                at += ONE
        begin = end
        out_indptr[i + ONE] = at
    return at


# --------------------------------------------------------------------------- order statistics
@helper
def bin_of(bits):
    """Bin of a displacement, given its bits; larger ones never come before smaller ones."""
    place = np.int64(bits >> SHIFT) - LOWEST
    return np.uint64(min(max(place, np.int64(0)), np.int64(BINS - 1)))


@helper
def tally(bins, low, high, fills, pool_at, pool_value, status, purged):
    """Count the displacements of paths low to high, those of features that remain, by their first
    binary digits.
    """
    bits = pool_value.view(np.uint64)
    bins[:] = 0
    for m in range(low, high):
        for e in range(np.uint64(fills[m])):
            bins[bin_of(bits[m, e])] += np.uint32(status[pool_at[m, e]] != purged)


@helper
def count(bins, low, high):
    """Number of displacements in the bins low to high of all groups."""
    total = np.int64(0)
    for group in range(bins.shape[0]):
        for b in range(low, high):
            total += np.int64(bins[group, b])
    return total


@helper
def smallest(share, bins, fills, pool_at, pool_value, status, purged):
    """The displacement that a share of those counted in `bins` (groups, BINS) does not exceed;
    exact, without sorting.
    """
    bits = pool_value.view(np.uint64)
    rank = math.ceil(share * count(bins, 0, BINS))
    if rank < 1:
        return 0.0
    below, wanted = 0, 0
    for width in (64, 1):  # strides first: most of the bins are empty
        inside = count(bins, wanted, wanted + width)
        while below + inside < rank:
            below += inside
            wanted += width
            inside = count(bins, wanted, wanted + width)
    near = np.empty(inside)
    found = np.uint64(0)
    for m in range(np.uint64(fills.shape[0])):
        for e in range(np.uint64(fills[m])):
            if bin_of(bits[m, e]) == wanted and status[pool_at[m, e]] != purged:
                near[found] = pool_value[m, e]
                found += ONE
    return select(near, rank - below - 1)


@helper
def select(values, k):
    """The k-th smallest value, from 0; the values are reordered (Hoare's quickselect)."""
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return values[k]
    return values[k]


# --------------------------------------------------------------------------- what a model shows
@helper
def shown(state, meets, m, j, gravity):
    """A path's weight as it would be if the open burst ended now."""
    met = meets[m, j]
    if met == DEAD:
        return 0.0
    limit = gravity * float(met)
    return state[m, j] - min(max(state[m, j], -limit), limit)


@helper
def mean_shown(state, meets, j, gravity):
    """The same averaged over the paths, in their order."""
    total = 0.0
    for m in range(np.uint64(state.shape[0])):
        total += shown(state, meets, m, j, gravity)
    return total / state.shape[0]


@compiled
def write_mean(state, meets, gravity, weights):
    """Fill the mean weights of all columns."""
    for j in range(np.uint64(weights.shape[0])):
        weights[j] = mean_shown(state, meets, j, gravity)


@compiled
def write_paths(state, meets, gravity, weights):
    """Fill the weights of all paths and columns."""
    for m in range(np.uint64(weights.shape[0])):
        for j in range(np.uint64(weights.shape[1])):
            weights[m, j] = shown(state, meets, m, j, gravity)


@compiled
def score_direct(data, indices, indptr, state, meets, gravity, bias, scores):
    """Fill the scores of a few rows from the state, for a model of many columns."""
    for i in range(np.uint64(scores.shape[0])):
        total = bias
        for k in range(indptr[i], indptr[i + ONE]):
            total += mean_shown(state, meets, np.uint64(indices[k]), gravity) * np.float64(data[k])
        scores[i] = total


@compiled
def score_dense(data, indices, indptr, weights, bias, scores):
    """Fill the scores of rows from weights."""
    for i in range(np.uint64(scores.shape[0])):
        total = bias
        for k in range(indptr[i], indptr[i + ONE]):
            total += weights[indices[k]] * np.float64(data[k])
        scores[i] = total
