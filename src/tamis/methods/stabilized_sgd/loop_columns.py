"""Compiled functions of columns: norms and counts, compaction, order statistics, mean weights,
scores.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled, source_inlined

ZERO, ONE = np.uint64(0), np.uint64(1)
# Bins of displacements by exponent and first five binary digits, from 2^-96 to 2^32; the outermost
# bins have all values beyond.
N_BINS, BIN_SHIFT, LOWEST_BIN = 1 << 12, np.uint64(47), (1023 - 96) << 5
MAGNITUDE_MASK = np.uint64(0x7FFFFFFFFFFFFFFF)
PURGED_MARK = np.uint16(0xFFFF)


@compiled
def measure_rows(data, indices, indptr, norms, counts):
    """Fill the norms of the rows, and count the stored entries of each column where `counts` is not
    empty.
    """
    for i in range(np.uint64(norms.shape[0])):
        square = 0.0
        for k in range(indptr[i], indptr[i + ONE]):
            square += np.float64(data[k]) * np.float64(data[k])
            if counts.shape[0]:
                counts[indices[k]] += np.uint32(1)
        norms[i] = math.sqrt(square)


@compiled
def compact_columns(data, indices, indptr, new_index, n_columns, out_data, out_indices, out_indptr):
    """Copy the entries of columns with a `new_index` below `n_columns`; the copy may overwrite the
    original.
    """
    position, begin = np.uint64(0), indptr[0]
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        end = indptr[i + ONE]
        for k in range(begin, end):
            j = new_index[indices[k]]
            if j < n_columns:
                out_data[position], out_indices[position] = data[k], j
                position += ONE
        begin = end
        out_indptr[i + ONE] = position
    return position


# --------------------------------------------------------------------------- order statistics
@source_inlined
def displacement_bin(bits):
    """Return the bin of a displacement from its bits, without the sign.

    Larger displacements never have a lower bin, and bin 0 has zeros alone.
    """
    magnitude = bits & MAGNITUDE_MASK
    bin_number = min(
        max(np.int64(magnitude >> BIN_SHIFT) - LOWEST_BIN, np.int64(1)), np.int64(N_BINS - 1)
    )
    return np.uint64(bin_number) if magnitude else ZERO


@source_inlined
def bin_of_rank(rank, bins):
    """Return the bin, over all shards, that has the displacement of that rank (from 1), and the
    number of displacements in lower bins.
    """
    n_below, rank_bin = np.int64(0), np.uint64(0)
    for bin_number in range(np.uint64(bins.shape[1])):
        n_inside = np.int64(0)
        for shard in range(np.uint64(bins.shape[0])):
            n_inside += np.int64(bins[shard, bin_number])
        rank_bin = np.uint64(bin_number)
        if n_below + n_inside >= rank:
            break
        n_below += n_inside
    return rank_bin, n_below


@source_inlined
def quickselect(values, n_values, k):
    """Return the k-th smallest of the first values, from 0, and reorder them (Hoare's
    quickselect).
    """
    low, high = 0, n_values - 1
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


# --------------------------------------------------------------------------- weights and scores
@source_inlined
def truncated_weight(state, burst_counts, m, j, gravity):
    """Return a path's weight as if the present burst ended now."""
    n_rows = burst_counts[m, j]
    if n_rows == PURGED_MARK:
        return 0.0
    limit = gravity * float(n_rows)
    return state[m, j] - min(max(state[m, j], -limit), limit)


@source_inlined
def mean_weight(state, burst_counts, j, gravity):
    """Return the mean of these weights over the paths, in their order."""
    total = 0.0
    for m in range(np.uint64(state.shape[0])):
        total += truncated_weight(state, burst_counts, m, j, gravity)
    return total / state.shape[0]


@compiled
def fill_mean_weights(state, burst_counts, gravity, weights):
    """Fill the mean weights of all columns."""
    for j in range(np.uint64(weights.shape[0])):
        weights[j] = mean_weight(state, burst_counts, j, gravity)


@compiled
def fill_path_weights(state, burst_counts, gravity, weights):
    """Fill the weights of all paths and columns."""
    for m in range(np.uint64(weights.shape[0])):
        for j in range(np.uint64(weights.shape[1])):
            weights[m, j] = truncated_weight(state, burst_counts, m, j, gravity)


@compiled
def score_from_paths(data, indices, indptr, state, burst_counts, gravity, bias, scores):
    """Fill the scores of a few rows from the paths, for a model of many columns."""
    for i in range(np.uint64(scores.shape[0])):
        total = bias
        for k in range(indptr[i], indptr[i + ONE]):
            total += mean_weight(state, burst_counts, np.uint64(indices[k]), gravity) * np.float64(
                data[k]
            )
        scores[i] = total


@compiled
def score_from_weights(data, indices, indptr, weights, bias, scores):
    """Fill the scores of rows from the mean weights."""
    for i in range(np.uint64(scores.shape[0])):
        total = bias
        for k in range(indptr[i], indptr[i + ONE]):
            total += weights[indices[k]] * np.float64(data[k])
        scores[i] = total
