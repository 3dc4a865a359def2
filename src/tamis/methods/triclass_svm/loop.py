"""Dual coordinate descent on sparse rows: the dual problem of a linear support vector machine, one
entry at a time, without a kernel matrix.
"""

from typing import Any, NamedTuple

import numpy as np

from tamis.numerics.hashing import mix64
from tamis.numerics.numba import compiled, compiled_helper

ZERO: Any = np.uint64(0)
ONE: Any = np.uint64(1)


class DualEntries(NamedTuple):
    """Entries of a dual problem: the sign of each, its linear term, its cap and its row."""

    signs: np.ndarray
    linear: np.ndarray
    caps: np.ndarray
    rows: np.ndarray


class KernelShift(NamedTuple):
    """The change of the inner product of rows i and j: `constant` minus `products[i]` minus
    `products[j]`. With products of 0 the intercept is a column with the root of the constant as
    its value; with the products of the rows with a centre, and the square of the centre as the
    constant, all rows are centred.
    """

    norms: np.ndarray
    """Squared norms of the rows after the change."""
    products: np.ndarray
    constant: float


@compiled_helper
def shuffle(active, n_active, key):
    """Permute the first `n_active` entries by the random numbers of `key`."""
    for k in range(n_active):
        last = n_active - ONE - k
        other = mix64(key + last) % (last + ONE)
        active[last], active[other] = active[other], active[last]


@compiled_helper
def dot(data, indices, indptr, row, coef):
    """Return the inner product of a sparse row with `coef`."""
    total = 0.0
    for k in range(indptr[row], indptr[row + ONE]):
        total += data[k] * coef[indices[k]]
    return total


@compiled
def sweep_entries(rows, entries, shift, alpha, coef, bias, signed_sum, tol, max_sweeps, key):
    """Sweep over the entries in random order until the largest violation of optimality is at most
    `tol`, or `max_sweeps` times.

    The score of a row is its product with `coef`, plus `bias`, minus `signed_sum` times its product
    with the centre, where `signed_sum` is the signed sum of `alpha`. Shrinking leaves out an entry
    at a bound with a gradient beyond all those of the sweep before, until the others are solved.
    Changes `alpha` and `coef`; returns the number of sweeps, the last violation among all entries
    (infinity while some are left out), bias and signed sum.
    """
    data, indices, indptr, _ = rows
    signs, linear, caps, row_of_entry = entries
    norms, products, constant = shift
    active = np.empty(caps.shape[0], np.uint64)
    n_entries = ZERO
    for e in range(np.uint64(caps.shape[0])):
        if caps[e] > 0.0:
            active[n_entries] = e
            n_entries += ONE
    n_active, shrink_above, shrink_below = n_entries, np.inf, -np.inf
    sweep, violation = 0, np.inf
    while sweep < max_sweeps and n_entries:
        shuffle(active, n_active, mix64(key + np.uint64(sweep)))
        sweep += 1
        largest, smallest, k = -np.inf, np.inf, ZERO
        while k < n_active:
            e = active[k]
            row, sign = row_of_entry[e], signs[e]
            score = dot(data, indices, indptr, row, coef) + bias - signed_sum * products[row]
            gradient = sign * score - linear[e]
            if (alpha[e] == 0.0 and gradient > shrink_above) or (
                alpha[e] == caps[e] and gradient < shrink_below
            ):
                n_active -= ONE
                active[k], active[n_active] = active[n_active], active[k]
                continue
            k += ONE
            projected = gradient if alpha[e] > 0.0 or gradient < 0.0 else 0.0
            projected = projected if alpha[e] < caps[e] or gradient > 0.0 else 0.0
            largest, smallest = max(largest, projected), min(smallest, projected)
            if projected != 0.0:
                new_alpha = min(max(alpha[e] - gradient / norms[row], 0.0), caps[e])
                step = sign * (new_alpha - alpha[e])
                alpha[e] = new_alpha
                bias += step * (constant - products[row])
                signed_sum += step
                for k2 in range(indptr[row], indptr[row + ONE]):
                    coef[indices[k2]] += step * data[k2]
        violation = max(largest, -smallest) if n_active == n_entries else np.inf
        if max(largest, -smallest) <= tol:
            if n_active == n_entries:
                break
            n_active, shrink_above, shrink_below = n_entries, np.inf, -np.inf
        else:
            shrink_above = largest if largest > 0.0 else np.inf
            shrink_below = smallest if smallest < 0.0 else -np.inf
    return sweep, violation, bias, signed_sum
