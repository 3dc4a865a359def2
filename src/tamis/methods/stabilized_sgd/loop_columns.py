"""Columns of a stabilized run: how long and how often, their displacements, those that stay, and
their mean weights.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled, copied

ZERO, ONE = np.uint64(0), np.uint64(1)
# Displacements by exponent and first five binary digits, from 2^-96 to 2^32; the outermost bins
# hold what lies beyond.
BINS, SHIFT, LOWEST = 1 << 12, np.uint64(47), (1023 - 96) << 5
UNSIGNED = np.uint64(0x7FFFFFFFFFFFFFFF)
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
@copied
def bin_of(bits):
    """Bin of a displacement, given its bits but for the sign; larger ones never come before smaller
    ones, and the first holds zeros alone.
    """
    size = bits & UNSIGNED
    place = min(max(np.int64(size >> SHIFT) - LOWEST, np.int64(1)), np.int64(BINS - 1))
    return np.uint64(place) if size else ZERO


@copied
def bin_holding(rank, bins):
    """The bin, of all shares together, that holds the displacement of that rank (from 1), and how
    many lie in earlier bins.
    """
    below, found = np.int64(0), np.uint64(0)
    for wanted in range(np.uint64(bins.shape[1])):
        inside = np.int64(0)
        for share in range(np.uint64(bins.shape[0])):
            inside += np.int64(bins[share, wanted])
        found = np.uint64(wanted)
        if below + inside >= rank:
            break
        below += inside
    return found, below


@copied
def select(values, many, k):
    """The k-th smallest of the first values, from 0; they are reordered (Hoare's quickselect)."""
    low, high = 0, many - 1
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
@copied
def shown(state, meets, m, j, gravity):
    """A path's weight as it would be if the open burst ended now."""
    met = meets[m, j]
    if met == DEAD:
        return 0.0
    limit = gravity * float(met)
    return state[m, j] - min(max(state[m, j], -limit), limit)


@copied
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
