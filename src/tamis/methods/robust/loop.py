"""Passes of the cutting-plane engine: weights of the planes, and rows without the features that
hurt most.
"""

import numpy as np

from tamis.numerics.numba import compiled


@compiled
def climb_simplex(gram, offsets, cost, shares, turns, enough):
    """Raise ``cost * offsets'a - cost**2 / 2 * a'Ga`` over the simplex, two shares at a time;
    returns how far it is from the top at most.

    `shares` is the start and becomes the result. Each step moves mass from the worst plane that has
    any to the best one.
    """
    m = shares.shape[0]
    slopes = np.empty(m)
    for k in range(m):
        slopes[k] = cost * offsets[k]
        for l in range(m):
            slopes[k] -= cost * cost * gram[k, l] * shares[l]
    left = np.inf
    for _ in range(turns):
        best, worst, mean = 0, -1, 0.0
        for k in range(m):
            mean += shares[k] * slopes[k]
            if slopes[k] > slopes[best]:
                best = k
            if shares[k] > 0.0 and (worst < 0 or slopes[k] < slopes[worst]):
                worst = k
        left = slopes[best] - mean
        if left <= enough or best == worst:
            break
        curve = cost * cost * (gram[best, best] + gram[worst, worst] - 2.0 * gram[best, worst])
        rise = slopes[best] - slopes[worst]
        move = shares[worst] if curve * shares[worst] <= rise else rise / curve
        shares[best] += move
        shares[worst] -= move
        for k in range(m):
            slopes[k] -= cost * cost * move * (gram[k, best] - gram[k, worst])
    return left


@compiled
def find_deleted(data, indices, indptr, signs, weights, most, losses, gone):
    """Mark in `gone` the entries of each row, at most so many, that speak most for its sign, and
    write what they add up to.
    """
    one = np.uint64(1)
    heap_value, heap_place = np.zeros(most), np.zeros(most, dtype=np.uint64)
    gone[:] = 0
    for i in range(signs.shape[0]):
        row, filled, least = np.uint64(i), 0, 0
        for k in range(indptr[row], indptr[row + one]):
            value = signs[i] * weights[indices[k]] * data[k]
            if value <= 0.0:
                continue
            if filled < most:
                at = filled
                filled += 1
            elif value > heap_value[least]:
                at = least
            else:
                continue
            heap_value[at], heap_place[at] = value, k
            least = 0
            for q in range(1, filled):
                if heap_value[q] < heap_value[least]:
                    least = q
        losses[i] = 0.0
        for q in range(filled):
            losses[i] += heap_value[q]
            gone[heap_place[q]] = 1


@compiled
def add_kept_rows(data, indices, indptr, gone, slopes, total):
    """Add to `total` the rows times `slopes`, without the entries that are gone."""
    one = np.uint64(1)
    for i in range(slopes.shape[0]):
        if slopes[i] != 0.0:
            row = np.uint64(i)
            for k in range(indptr[row], indptr[row + one]):
                if gone[k] == 0:
                    total[indices[k]] += slopes[i] * data[k]
