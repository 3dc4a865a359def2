"""Dual coordinate descent on sparse rows: the support vector dual of entries, one entry at a time,
without a kernel matrix.
"""

import numpy as np

from tamis.base.jit import compiled, helper
from tamis.base.random import mixed

ZERO, ONE = np.uint64(0), np.uint64(1)


@helper
def shuffle(active, count, key):
    """Put the first `count` entries into an order named by `key`."""
    for k in range(count):
        last = count - ONE - k
        other = mixed(key + last) % (last + ONE)
        active[last], active[other] = active[other], active[last]


@helper
def dot(data, indices, indptr, row, coef):
    """Score of a sparse row."""
    total = 0.0
    for k in range(indptr[row], indptr[row + ONE]):
        total += data[k] * coef[indices[k]]
    return total


@compiled
def sweep_entries(
    data,
    indices,
    indptr,
    rows,
    signs,
    linear,
    caps,
    norms,
    leans,
    pull,
    alpha,
    coef,
    bias,
    total,
    tol,
    most,
    key,
):
    """Sweep over the entries, in a new order each time, until none is further than `tol` from
    optimal; at most `most` times.

    The score of a row is its product with `coef`, plus `bias`, less `total` times its `leans`,
    where `total` is the signed sum of `alpha`. With leans of 0 the intercept is a column of value
    sqrt(pull); with products of the rows with a centre as leans, and its square as `pull`, all rows
    are centred. `norms` are the squared norms of rows so changed. An entry at a bound that pulls
    away from it harder than any did in the sweep before sits out until the rest is solved. Returns
    the sweeps made, the last violation among all entries (infinity while some sit out), bias and
    total.
    """
    active = np.empty(caps.shape[0], np.uint64)
    whole = ZERO
    for e in range(np.uint64(caps.shape[0])):
        if caps[e] > 0.0:
            active[whole] = e
            whole += ONE
    count, above, below = whole, np.inf, -np.inf
    turn, worst = 0, np.inf
    while turn < most and whole:
        shuffle(active, count, mixed(key + np.uint64(turn)))
        turn += 1
        high, least, k = -np.inf, np.inf, ZERO
        while k < count:
            e = active[k]
            row, sign = rows[e], signs[e]
            slope = (
                sign * (dot(data, indices, indptr, row, coef) + bias - total * leans[row])
                - linear[e]
            )
            if (alpha[e] == 0.0 and slope > above) or (alpha[e] == caps[e] and slope < below):
                count -= ONE
                active[k], active[count] = active[count], active[k]
                continue
            k += ONE
            falls = slope if alpha[e] > 0.0 or slope < 0.0 else 0.0
            falls = falls if alpha[e] < caps[e] or slope > 0.0 else 0.0
            high, least = max(high, falls), min(least, falls)
            if falls != 0.0:
                moved = min(max(alpha[e] - slope / norms[row], 0.0), caps[e])
                step = sign * (moved - alpha[e])
                alpha[e] = moved
                bias += step * (pull - leans[row])
                total += step
                for k2 in range(indptr[row], indptr[row + ONE]):
                    coef[indices[k2]] += step * data[k2]
        worst = max(high, -least) if count == whole else np.inf
        if max(high, -least) <= tol:
            if count == whole:
                break
            count, above, below = whole, np.inf, -np.inf
        else:
            above, below = high if high > 0.0 else np.inf, least if least < 0.0 else -np.inf
    return turn, worst, bias, total
