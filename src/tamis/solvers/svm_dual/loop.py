"""Sequential minimal optimisation of one dual for hinge, tube and regression rows: two entries a
step.

The gradient of an entry is that of the dual in the weight of its row: its target less the score of
the row.
"""

from typing import Any, NamedTuple

import numpy as np

from tamis.numerics.numba import compiled, copied, helper

ZERO: Any = np.uint64(0)
ONE: Any = np.uint64(1)
# Least curvature of a step: two entries of one row have none, and cancel at their bounds.
FLOOR = 1e-12


class Entries(NamedTuple):
    """Entries of a dual: the row of each, its sign, its target (the sign times the linear term),
    and its cap.
    """

    rows: np.ndarray
    signs: np.ndarray
    targets: np.ndarray
    caps: np.ndarray


@helper
def add_rows(kernel, beta, scores):
    """Add the kernel times `beta` to `scores`; rows of weight 0 cost nothing."""
    n = np.uint64(scores.shape[0])
    for i in range(n):
        weight = beta[i]
        if weight != 0.0:
            for r in range(n):
                scores[r] += weight * kernel[i, r]


@copied
def add_outer(matrix, column, factor):
    """Add a factor times the outer product of a vector with itself."""
    n = np.uint64(column.shape[0])
    for i in range(n):
        weight = factor * column[i]
        if weight != 0.0:
            for r in range(n):
                matrix[i, r] += weight * column[r]


@compiled
def score_rows(kernel, beta, scores):
    """Fill `scores` with the symmetric kernel times `beta`."""
    for r in range(np.uint64(scores.shape[0])):
        scores[r] = 0.0
    add_rows(kernel, beta, scores)


@helper
def widest(active, count, rows, targets, scores, up, low):
    """Entry of the highest gradient among those that may rise, that gradient, and the lowest among
    those that may fall.
    """
    best, high, least = ZERO, -np.inf, np.inf
    for k in range(count):
        e = active[k]
        gradient = targets[e] - scores[rows[e]]
        if up[e] and gradient > high:
            best, high = e, gradient
        if low[e] and gradient < least:
            least = gradient
    return best, high, least


@copied
def partner(kernel, active, count, rows, targets, scores, low, diagonal, first, high):
    """The entry whose step with `first` promises the largest gain; quotients are compared by their
    products.
    """
    row = rows[first]
    own = diagonal[row]
    best, gain, curved = first, 0.0, 1.0
    for k in range(count):
        e = active[k]
        if low[e]:
            r = rows[e]
            short = high - (targets[e] - scores[r])
            if short > 0.0:
                curvature = max(FLOOR, own + diagonal[r] - 2.0 * kernel[row, r])
                if short * short * curved > gain * curvature:
                    best, gain, curved = e, short * short, curvature
    return best


@helper
def mark(e, signs, caps, alpha, up, low):
    """Note whether the weight of an entry's row may rise or fall through this entry."""
    below, above = alpha[e] < caps[e], alpha[e] > 0.0
    up[e], low[e] = (below, above) if signs[e] > 0.0 else (above, below)


@helper
def shifted(value, change, room, cap):
    """A coordinate after a step, exactly at its bound where the step took all the room."""
    if abs(change) < room:
        return value + change
    return cap if change > 0.0 else 0.0


@copied
def narrow(active, count, rows, targets, scores, up, low, high, least):
    """Leave out entries at a bound whose gradients lead out of it, beyond those that could move."""
    kept = ZERO
    for k in range(count):
        e = active[k]
        gradient = targets[e] - scores[rows[e]]
        if not ((gradient > high and not up[e]) or (gradient < least and not low[e])):
            active[kept] = e
            kept += ONE
    return kept


@helper
def fill(active, caps):
    """List all entries that can move at all."""
    count = ZERO
    for e in range(np.uint64(caps.shape[0])):
        if caps[e] > 0.0:
            active[count] = e
            count += ONE
    return count


@compiled
def descend(kernel, entries, alpha, beta, scores, tol, max_iter):
    """Solve max p.alpha - 0.5 beta'K beta under 0 <= alpha <= caps and sum signs alpha = 0, from a
    feasible `alpha`.

    `beta` is the weights of the rows that belong to `alpha`, `scores` the kernel times these.
    Shrinking narrows only the search for a pair: scores of all rows stay true, since that update is
    one straight walk through memory. Returns steps, the highest gradient upwards and the lowest
    downwards; their difference is at most `tol` at a solution. Ends before `max_iter` above that
    only where no step is left that changes a number.
    """
    rows, signs, targets, caps = entries
    n, many = np.uint64(scores.shape[0]), np.uint64(caps.shape[0])
    diagonal = np.empty(n)
    for i in range(n):
        diagonal[i] = kernel[i, i]
    up, low = np.empty(many, np.bool_), np.empty(many, np.bool_)
    for e in range(many):
        mark(e, signs, caps, alpha, up, low)
    active = np.empty(many, np.uint64)
    count = fill(active, caps)
    whole, period = count, min(many, np.uint64(500))
    wait, steps = period, 0
    while True:
        i, high, least = widest(active, count, rows, targets, scores, up, low)
        if not high - least > tol:
            if count == whole:
                return steps, high, least
            count = fill(active, caps)
            wait = period
            continue
        if steps >= max_iter:
            count = fill(active, caps)
            i, high, least = widest(active, count, rows, targets, scores, up, low)
            return steps, high, least
        j = partner(kernel, active, count, rows, targets, scores, low, diagonal, i, high)
        first, second = rows[i], rows[j]
        curvature = max(FLOOR, diagonal[first] + diagonal[second] - 2.0 * kernel[first, second])
        descent = high - (targets[j] - scores[second])
        room = caps[i] - alpha[i] if signs[i] > 0.0 else alpha[i]
        other = alpha[j] if signs[j] > 0.0 else caps[j] - alpha[j]
        step = min(descent / curvature, room, other)
        if not step > 0.0:  # too far apart for float64: the caller sees the tolerance is not met
            return steps, high, least
        alpha[i] = shifted(alpha[i], signs[i] * step, room, caps[i])
        alpha[j] = shifted(alpha[j], -signs[j] * step, other, caps[j])
        mark(i, signs, caps, alpha, up, low)
        mark(j, signs, caps, alpha, up, low)
        beta[first] += step
        beta[second] -= step
        if first != second:
            for r in range(n):
                # Not a difference of single precision.
                scores[r] += step * kernel[first, r] - step * kernel[second, r]
        steps += 1
        wait -= ONE
        if wait == ZERO:
            count = narrow(active, count, rows, targets, scores, up, low, high, least)
            wait = period


@compiled
def leap_entries(inside, inverse, signs, caps, alpha, gradients):
    """Newton steps of free entries, `inside` being their kernel and `inverse` its inverse, until
    they are optimal or half of them sit at bounds.

    An entry that hits a bound leaves the inverse, by a change of rank one. Changes all but the
    kernel, signs and caps. Returns whether they are optimal.
    """
    count = np.uint64(alpha.shape[0])
    alive, column = count, np.empty(count)
    even, direct, move, turned = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    for k in range(count):
        even[k], move[k] = 0.0, 1.0
    add_rows(inverse, move, even)
    # Number by number: Numba takes a tenth of a second to compile each sum or product of vectors.
    for _ in range(count // np.uint64(2)):
        for k in range(count):
            direct[k], turned[k] = 0.0, 0.0
        add_rows(inverse, gradients, direct)
        along, across, drift = 0.0, 0.0, 0.0
        for k in range(count):
            along += direct[k]
            across += even[k]
        share = along / across
        for k in range(count):
            move[k] = direct[k] - even[k] * share
            drift += move[k]
        # The weights of the rows must keep their sum, to the last bit, however ill the system.
        drift /= alive
        for k in range(count):
            move[k] = move[k] - drift if inverse[k, k] != 0.0 else 0.0
        add_rows(inside, move, turned)
        gain, curvature, room, hit = 0.0, 0.0, np.inf, ZERO
        for k in range(count):
            gain += gradients[k] * move[k]
            curvature += turned[k] * move[k]
            change = signs[k] * move[k]
            free = (caps[k] - alpha[k] if change > 0.0 else alpha[k]) / max(abs(change), 1e-300)
            if change != 0.0 and free < room:
                room, hit = free, k
        if not gain > 0.0:
            return True
        size = min(gain / max(curvature, 1e-300), room)
        for k in range(count):
            alpha[k] = min(max(alpha[k] + size * signs[k] * move[k], 0.0), caps[k])
            gradients[k] -= size * turned[k]
        if size < room:
            return True
        alpha[hit] = caps[hit] if signs[hit] * move[hit] > 0.0 else 0.0
        pivot = inverse[hit, hit]
        share = even[hit] / pivot
        for k in range(count):
            column[k] = inverse[hit, k]
            even[k] -= column[k] * share
        add_outer(inverse, column, -1.0 / pivot)
        for k in range(count):
            inverse[hit, k] = inverse[k, hit] = 0.0
        even[hit] = 0.0
        alive -= ONE
    return False
