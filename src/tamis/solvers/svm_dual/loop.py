"""Compiled sequential minimal optimisation of one dual for hinge, tube and regression rows: two
entries a step.

The gradient of an entry is the derivative of the dual in the weight of its row: its target minus
the score of the row.
"""

from typing import Any, NamedTuple

import numpy as np

from tamis.numerics.numba import compiled, compiled_helper, source_inlined

ZERO: Any = np.uint64(0)
ONE: Any = np.uint64(1)
# Smallest curvature of a step. Two entries of one row have none; their step ends at a bound.
MIN_CURVATURE = 1e-12


class Entries(NamedTuple):
    """Entries of a dual: row, sign, target (the sign times the linear term) and cap of each."""

    rows: np.ndarray
    signs: np.ndarray
    targets: np.ndarray
    caps: np.ndarray


@compiled_helper
def add_rows(kernel, beta, scores):
    """Add the kernel times `beta` to `scores`, skipping rows of weight 0."""
    n = np.uint64(scores.shape[0])
    for i in range(n):
        weight = beta[i]
        if weight != 0.0:
            for r in range(n):
                scores[r] += weight * kernel[i, r]


@source_inlined
def add_outer(matrix, vector, factor):
    """Add a factor times the outer product of a vector with itself."""
    n = np.uint64(vector.shape[0])
    for i in range(n):
        weight = factor * vector[i]
        if weight != 0.0:
            for r in range(n):
                matrix[i, r] += weight * vector[r]


@compiled
def score_rows(kernel, beta, scores):
    """Fill `scores` with the symmetric kernel times `beta`."""
    for r in range(np.uint64(scores.shape[0])):
        scores[r] = 0.0
    add_rows(kernel, beta, scores)


@compiled_helper
def select_first(active, n_active, rows, targets, scores, can_rise, can_fall):
    """Return the entry of the largest gradient among those that may rise, this gradient, and the
    smallest gradient of those that may fall.
    """
    argmax_gradient, max_gradient, min_gradient = ZERO, -np.inf, np.inf
    for k in range(n_active):
        e = active[k]
        gradient = targets[e] - scores[rows[e]]
        if can_rise[e] and gradient > max_gradient:
            argmax_gradient, max_gradient = e, gradient
        if can_fall[e] and gradient < min_gradient:
            min_gradient = gradient
    return argmax_gradient, max_gradient, min_gradient


@source_inlined
def select_second(
    kernel, active, n_active, rows, targets, scores, can_fall, diagonal, first, max_gradient
):
    """Return the entry whose step with `first` promises the largest gain (second-order selection);
    quotients are compared by their products.
    """
    row = rows[first]
    first_diagonal = diagonal[row]
    second, best_gain, best_curvature = first, 0.0, 1.0
    for k in range(n_active):
        e = active[k]
        if can_fall[e]:
            r = rows[e]
            difference = max_gradient - (targets[e] - scores[r])
            if difference > 0.0:
                curvature = max(MIN_CURVATURE, first_diagonal + diagonal[r] - 2.0 * kernel[row, r])
                if difference * difference * best_curvature > best_gain * curvature:
                    second, best_gain, best_curvature = e, difference * difference, curvature
    return second


@compiled_helper
def update_directions(e, signs, caps, alpha, can_rise, can_fall):
    """Set whether the weight of an entry's row may rise or fall through this entry."""
    below_cap, above_zero = alpha[e] < caps[e], alpha[e] > 0.0
    can_rise[e], can_fall[e] = (
        (below_cap, above_zero) if signs[e] > 0.0 else (above_zero, below_cap)
    )


@compiled_helper
def clip_step(value, change, capacity, cap):
    """Return a coordinate after a step, exactly at its bound if the step used all of `capacity`."""
    if abs(change) < capacity:
        return value + change
    return cap if change > 0.0 else 0.0


@source_inlined
def shrink_active(
    active, n_active, rows, targets, scores, can_rise, can_fall, max_gradient, min_gradient
):
    """Remove entries at a bound whose gradients point outwards and exceed those of the entries that
    can move.
    """
    n_remaining = ZERO
    for k in range(n_active):
        e = active[k]
        gradient = targets[e] - scores[rows[e]]
        if not (
            (gradient > max_gradient and not can_rise[e])
            or (gradient < min_gradient and not can_fall[e])
        ):
            active[n_remaining] = e
            n_remaining += ONE
    return n_remaining


@compiled_helper
def list_active(active, caps):
    """List all entries of positive cap; return their number."""
    n_active = ZERO
    for e in range(np.uint64(caps.shape[0])):
        if caps[e] > 0.0:
            active[n_active] = e
            n_active += ONE
    return n_active


@compiled
def descend(kernel, entries, alpha, beta, scores, tol, max_iter):
    """Maximise p.alpha - 0.5 beta'K beta under 0 <= alpha <= caps and sum signs alpha = 0 by pair
    steps, from a feasible `alpha`.

    `beta` has the weights of the rows that belong to `alpha`, and `scores` is the kernel times
    `beta`. Shrinking narrows only the search for a pair: the scores of all rows stay current, since
    their update reads memory in order. Return the number of steps, the largest gradient upwards and
    the smallest downwards, whose difference is at most `tol` at a solution. With a larger
    difference it returns before `max_iter` only if no step changes a number.
    """
    rows, signs, targets, caps = entries
    n, n_entries = np.uint64(scores.shape[0]), np.uint64(caps.shape[0])
    diagonal = np.empty(n)
    for i in range(n):
        diagonal[i] = kernel[i, i]
    can_rise, can_fall = np.empty(n_entries, np.bool_), np.empty(n_entries, np.bool_)
    for e in range(n_entries):
        update_directions(e, signs, caps, alpha, can_rise, can_fall)
    active = np.empty(n_entries, np.uint64)
    n_active = list_active(active, caps)
    n_all, period = n_active, min(n_entries, np.uint64(500))
    countdown, steps = period, 0
    while True:
        i, max_gradient, min_gradient = select_first(
            active, n_active, rows, targets, scores, can_rise, can_fall
        )
        if not max_gradient - min_gradient > tol:
            if n_active == n_all:
                return steps, max_gradient, min_gradient
            n_active = list_active(active, caps)
            countdown = period
            continue
        if steps >= max_iter:
            n_active = list_active(active, caps)
            i, max_gradient, min_gradient = select_first(
                active, n_active, rows, targets, scores, can_rise, can_fall
            )
            return steps, max_gradient, min_gradient
        j = select_second(
            kernel, active, n_active, rows, targets, scores, can_fall, diagonal, i, max_gradient
        )
        first, second = rows[i], rows[j]
        curvature = max(
            MIN_CURVATURE, diagonal[first] + diagonal[second] - 2.0 * kernel[first, second]
        )
        descent = max_gradient - (targets[j] - scores[second])
        capacity = caps[i] - alpha[i] if signs[i] > 0.0 else alpha[i]
        other_capacity = alpha[j] if signs[j] > 0.0 else caps[j] - alpha[j]
        step = min(descent / curvature, capacity, other_capacity)
        if not step > 0.0:  # below the precision of float64; the caller sees that tol is not met
            return steps, max_gradient, min_gradient
        alpha[i] = clip_step(alpha[i], signs[i] * step, capacity, caps[i])
        alpha[j] = clip_step(alpha[j], -signs[j] * step, other_capacity, caps[j])
        update_directions(i, signs, caps, alpha, can_rise, can_fall)
        update_directions(j, signs, caps, alpha, can_rise, can_fall)
        beta[first] += step
        beta[second] -= step
        if first != second:
            for r in range(n):
                # Two products: the difference of two float32 kernel values would be float32.
                scores[r] += step * kernel[first, r] - step * kernel[second, r]
        steps += 1
        countdown -= ONE
        if countdown == ZERO:
            n_active = shrink_active(
                active,
                n_active,
                rows,
                targets,
                scores,
                can_rise,
                can_fall,
                max_gradient,
                min_gradient,
            )
            countdown = period


@compiled
def newton_steps(kernel, inverse, signs, caps, alpha, gradients):
    """Take Newton steps of free entries until they are optimal or half of them are at bounds;
    `kernel` is their kernel and `inverse` its inverse.

    An entry that reaches a bound is removed from the inverse by a rank-one update. Changes
    `inverse`, `alpha` and `gradients`. Return whether the entries are optimal.
    """
    count = np.uint64(alpha.shape[0])
    n_free, column = count, np.empty(count)
    inverse_sums = np.empty(count)
    unconstrained = np.empty(count)
    direction = np.empty(count)
    kernel_direction = np.empty(count)
    for k in range(count):
        inverse_sums[k], direction[k] = 0.0, 1.0
    add_rows(inverse, direction, inverse_sums)
    # Explicit loops: Numba takes 0.1 s to compile each array expression.
    for _ in range(count // np.uint64(2)):
        for k in range(count):
            unconstrained[k], kernel_direction[k] = 0.0, 0.0
        add_rows(inverse, gradients, unconstrained)
        unconstrained_sum, inverse_sum, drift = 0.0, 0.0, 0.0
        for k in range(count):
            unconstrained_sum += unconstrained[k]
            inverse_sum += inverse_sums[k]
        multiplier = unconstrained_sum / inverse_sum
        for k in range(count):
            direction[k] = unconstrained[k] - inverse_sums[k] * multiplier
            drift += direction[k]
        # The weights of the rows must keep their sum to the last bit, in any system.
        drift /= n_free
        for k in range(count):
            direction[k] = direction[k] - drift if inverse[k, k] != 0.0 else 0.0
        add_rows(kernel, direction, kernel_direction)
        gain, curvature, max_step, hit = 0.0, 0.0, np.inf, ZERO
        for k in range(count):
            gain += gradients[k] * direction[k]
            curvature += kernel_direction[k] * direction[k]
            change = signs[k] * direction[k]
            capacity = (caps[k] - alpha[k] if change > 0.0 else alpha[k]) / max(abs(change), 1e-300)
            if change != 0.0 and capacity < max_step:
                max_step, hit = capacity, k
        if not gain > 0.0:
            return True
        step = min(gain / max(curvature, 1e-300), max_step)
        for k in range(count):
            alpha[k] = min(max(alpha[k] + step * signs[k] * direction[k], 0.0), caps[k])
            gradients[k] -= step * kernel_direction[k]
        if step < max_step:
            return True
        alpha[hit] = caps[hit] if signs[hit] * direction[hit] > 0.0 else 0.0
        pivot = inverse[hit, hit]
        multiplier = inverse_sums[hit] / pivot
        for k in range(count):
            column[k] = inverse[hit, k]
            inverse_sums[k] -= column[k] * multiplier
        add_outer(inverse, column, -1.0 / pivot)
        for k in range(count):
            inverse[hit, k] = inverse[k, hit] = 0.0
        inverse_sums[hit] = 0.0
        n_free -= ONE
    return False
