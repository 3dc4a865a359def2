"""Dual coordinate descent on sparse rows: the support vector dual of entries, one entry at a time,
without a kernel matrix.
"""

from typing import Any, NamedTuple

import numpy as np

from tamis.numerics.hashing import mix64
from tamis.numerics.numba import compiled, helper

ZERO: Any = np.uint64(0)
ONE: Any = np.uint64(1)


class Entries(NamedTuple):
    """Entries of a dual: the sign of each, its linear term, its cap and its row."""

    signs: np.ndarray
    linear: np.ndarray
    caps: np.ndarray
    rows: np.ndarray


class Centred(NamedTuple):
    """What is added to the inner products of the rows: a constant, less their leans. With leans of
    0 the intercept is a column of the constant's root; with products with a centre as leans, and
    its square as the constant, all rows are centred.
    """

    norms: np.ndarray
    """Squared norms of rows so changed."""
    leans: np.ndarray
    constant: float


@helper
def shuffle(active, count, key):
    """Put the first `count` entries into an order named by `key`."""
    for k in range(count):
        last = count - ONE - k
        other = mix64(key + last) % (last + ONE)
        active[last], active[other] = active[other], active[last]


@helper
def dot(data, indices, indptr, row, coef):
    """Score of a sparse row."""
    total = 0.0
    for k in range(indptr[row], indptr[row + ONE]):
        total += data[k] * coef[indices[k]]
    return total


@compiled
def sweep_entries(rows, entries, centred, alpha, coef, bias, total, tol, most, key):
    """Sweep over the entries, in a new order each time, until none is further than `tol` from
    optimal; at most `most` times.

    The score of a row is its product with `coef`, plus `bias`, less `total` times its lean, where
    `total` is the signed sum of `alpha`. An entry at a bound whose slope leads out of it, beyond
    any in the sweep before, sits out until the rest is solved. Changes `alpha` and `coef`; returns
    the sweeps made, the last violation among all entries (infinity while some sit out), bias and
    total.
    """
    data, indices, indptr, _ = rows
    signs, linear, caps, at = entries
    norms, leans, constant = centred
    active = np.empty(caps.shape[0], np.uint64)
    whole = ZERO
    for e in range(np.uint64(caps.shape[0])):
        if caps[e] > 0.0:
            active[whole] = e
            whole += ONE
    count, above, below = whole, np.inf, -np.inf
    turn, worst = 0, np.inf
    while turn < most and whole:
        shuffle(active, count, mix64(key + np.uint64(turn)))
        turn += 1
        high, least, k = -np.inf, np.inf, ZERO
        while k < count:
            e = active[k]
            row, sign = at[e], signs[e]
            score = dot(data, indices, indptr, row, coef) + bias - total * leans[row]
            slope = sign * score - linear[e]
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
                bias += step * (constant - leans[row])
                total += step
                for k2 in range(indptr[row], indptr[row + ONE]):
                    coef[indices[k2]] += step * data[k2]
        worst = max(high, -least) if count == whole else np.inf
        if max(high, -least) <= tol:
            if count == whole:
                break
            count, above, below = whole, np.inf, -np.inf
        else:
            above = high if high > 0.0 else np.inf
            below = least if least < 0.0 else -np.inf
    return turn, worst, bias, total
