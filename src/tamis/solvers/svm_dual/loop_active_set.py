"""Compiled active set steps of the support vector dual: one entry moves, the free entries (members)
follow so that they stay optimal, and one of them may reach a bound.
"""

import numpy as np

from tamis.numerics.numba import compiled, compiled_helper, source_inlined
from tamis.solvers.svm_dual.loop import MIN_CURVATURE, ONE, ZERO, clip_step

# Fraction of a row outside of the span of the members, from which it may join them.
MIN_INDEPENDENT_FRACTION = 1e-10


@source_inlined
def select_highest(rows, signs, targets, caps, alpha, scores):
    """Return the entry of the largest gradient among those through which the weight of a row may
    rise, and whether there is one.
    """
    best, max_gradient, has_candidate = ZERO, -np.inf, False
    for e in range(np.uint64(caps.shape[0])):
        if (alpha[e] < caps[e]) if signs[e] > 0.0 else (alpha[e] > 0.0):
            gradient = targets[e] - scores[rows[e]]
            if gradient > max_gradient:
                best, max_gradient, has_candidate = e, gradient, True
    return best, has_candidate


@source_inlined
def select_violator(is_member, rows, signs, targets, caps, alpha, scores, common_gradient, tol):
    """Return the entry outside of the members whose gradient violates optimality most, and the
    direction of its row weight (1, -1), or 0 if there is none.
    """
    best, direction, largest = ZERO, 0.0, tol
    for e in range(np.uint64(caps.shape[0])):
        if not is_member[e] and caps[e] > 0.0:
            excess = targets[e] - scores[rows[e]] - common_gradient
            if abs(excess) > largest:
                sign = 1.0 if excess > 0.0 else -1.0
                if (alpha[e] < caps[e]) if signs[e] * sign > 0.0 else (alpha[e] > 0.0):
                    best, direction, largest = e, sign, abs(excess)
    return best, direction


@source_inlined
def append_to_inverse(inverse, n_members, column, schur_complement):
    """Update the inverse for one more row; `column` is the old inverse times that row, and
    `schur_complement` what remains of its diagonal.
    """
    for i in range(n_members):
        for k in range(n_members):
            inverse[i, k] += column[i] * column[k] / schur_complement
        inverse[i, n_members] = inverse[n_members, i] = -column[i] / schur_complement
    inverse[n_members, n_members] = 1.0 / schur_complement


@source_inlined
def remove_from_inverse(inverse, members, n_members, removed, buffer):
    """Remove a row from the inverse; the last row takes its place. `buffer` is overwritten."""
    last, pivot = n_members - ONE, inverse[removed, removed]
    for i in range(n_members):
        buffer[i] = inverse[removed, i]
    for i in range(n_members):
        weight = buffer[i] / pivot
        for k in range(n_members):
            inverse[i, k] -= weight * buffer[k]
    for i in range(last):
        inverse[removed, i] = inverse[last, i]
    for i in range(last):
        inverse[i, removed] = inverse[i, last]
    inverse[removed, removed] = inverse[last, last]
    members[removed] = members[last]


@source_inlined
def follow_direction(
    kernel, rows, inverse, members, n_members, e, shift, kernel_row, solution, direction
):
    """Fill `direction`, the changes of the rows of the members that keep their gradients equal
    while the weight of the row of `e` rises by 1. Return the curvature along it and the Schur
    complement of that row.
    """
    row = rows[e]
    inverse_sum, solution_sum = 0.0, 0.0
    for i in range(n_members):
        kernel_row[i] = kernel[row, rows[members[i]]] + shift
        solution[i], direction[i] = 0.0, 0.0
    for k in range(n_members):
        weight = kernel_row[k]
        for i in range(n_members):
            solution[i] += inverse[k, i] * weight
            direction[i] += inverse[k, i]
    for i in range(n_members):
        inverse_sum += direction[i]
        solution_sum += solution[i]
    curvature = schur_complement = kernel[row, row] + shift
    multiplier, excess = (solution_sum - 1.0) / inverse_sum, 1.0
    for i in range(n_members):
        direction[i] = multiplier * direction[i] - solution[i]
        excess += direction[i]
    for i in range(n_members):
        direction[i] -= excess / n_members  # keeps the sum of all weights to the last bit
        curvature += kernel_row[i] * direction[i]
        schur_complement -= kernel_row[i] * solution[i]
    return curvature - multiplier, schur_complement


@source_inlined
def ratio_test(signs, caps, alpha, members, n_members, sign, direction, step):
    """Return the largest part of a step that keeps the members between their bounds, and which of
    them limits it (`n_members`: none).
    """
    hit = n_members
    for i in range(n_members):
        m = members[i]
        change = signs[m] * sign * direction[i]
        if change != 0.0:
            capacity = (caps[m] - alpha[m] if change > 0.0 else alpha[m]) / abs(change)
            if capacity < step:
                step, hit = capacity, i
    return step, hit


@compiled_helper
def add_row(kernel, row, weight, scores):
    """Add a weight times a row of the kernel to the scores."""
    for r in range(np.uint64(scores.shape[0])):
        scores[r] += weight * kernel[row, r]


@compiled
def exchange(kernel, entries, alpha, scores, members, inverse, n_members, shift, tol, max_steps):
    """Run active set steps: one entry moves, the members follow so that they stay optimal together,
    and one of them may reach a bound.

    `members` lists `n_members` free entries that are optimal together and have independent rows;
    the rest of the array is free for more. `inverse` is that of their kernel plus `shift`, a
    constant that makes the inverse exist and changes no step (the sum of the weights is kept). Free
    entries that are not members depend on them; they move like entries at bounds, but in both
    directions. If no member is left, the entry of the largest gradient begins a new list: it may
    rise, and follows an entry that falls. Changes all arguments from `alpha` to `inverse`. Return
    the number of steps: fewer than `max_steps` if no entry violates optimality by more than `tol`,
    or if there are too many members.
    """
    rows, signs, targets, caps = entries
    capacity = np.uint64(members.shape[0])
    kernel_row, solution, direction = np.empty(capacity), np.empty(capacity), np.empty(capacity)
    is_member = np.empty(np.uint64(caps.shape[0]), np.bool_)
    for i in range(np.uint64(caps.shape[0])):
        is_member[i] = False
    for i in range(n_members):
        is_member[members[i]] = True
    e, sign, steps = ZERO, 0.0, 0
    while steps < max_steps and n_members < capacity:
        if n_members == ZERO:
            new_member, has_candidate = select_highest(rows, signs, targets, caps, alpha, scores)
            if not has_candidate:
                return steps
            members[n_members], is_member[new_member], sign = new_member, True, 0.0
            inverse[n_members, n_members] = 1.0 / (
                kernel[rows[new_member], rows[new_member]] + shift
            )
            n_members += ONE
        common_gradient = 0.0
        for i in range(n_members):
            common_gradient += (targets[members[i]] - scores[rows[members[i]]]) / n_members
        if sign == 0.0:
            e, sign = select_violator(
                is_member, rows, signs, targets, caps, alpha, scores, common_gradient, tol
            )
            if sign == 0.0:
                return steps
        steps += 1
        curvature, schur_complement = follow_direction(
            kernel, rows, inverse, members, n_members, e, shift, kernel_row, solution, direction
        )
        row, floor = rows[e], MIN_CURVATURE * (kernel[rows[e], rows[e]] + shift)
        max_step = caps[e] - alpha[e] if signs[e] * sign > 0.0 else alpha[e]
        excess = max(sign * (targets[e] - scores[row] - common_gradient), 0.0)
        unclipped_step = excess / max(curvature, floor, 1e-300)
        step, hit = ratio_test(
            signs, caps, alpha, members, n_members, sign, direction, min(unclipped_step, max_step)
        )
        alpha[e] = clip_step(alpha[e], signs[e] * sign * step, max_step, caps[e])
        add_row(kernel, row, sign * step, scores)
        for i in range(n_members):
            m, weight = members[i], sign * step * direction[i]
            alpha[m] = min(max(alpha[m] + signs[m] * weight, 0.0), caps[m])
            add_row(kernel, rows[m], weight, scores)
        if hit < n_members:
            m = members[hit]
            alpha[m] = caps[m] if signs[m] * sign * direction[hit] > 0.0 else 0.0
            is_member[m] = False
            remove_from_inverse(inverse, members, n_members, hit, kernel_row)
            n_members -= ONE
            # If no member is left, the moving entry becomes the first one.
            joins = n_members == ZERO and 0.0 < alpha[e] < caps[e]
            schur_complement = kernel[row, row] + shift
        else:
            joins = unclipped_step < max_step and schur_complement > MIN_INDEPENDENT_FRACTION * (
                kernel[row, row] + shift
            )
            sign = 0.0
        if joins:
            append_to_inverse(inverse, n_members, solution, schur_complement)
            members[n_members] = e
            is_member[e] = True
            n_members += ONE
            sign = 0.0
    return steps
