"""Active set steps of the support vector dual: one entry moves, the free ones follow, one of them
may stop at a bound.
"""

import numpy as np

from tamis.numerics.numba import compiled, copied, helper
from tamis.solvers.svm_dual.loop import FLOOR, ONE, ZERO, shifted

NEW = 1e-10  # least share of a row that the members do not span, for it to join them


@copied
def highest(rows, signs, targets, caps, alpha, scores):
    """Entry of the highest gradient among those through which the weight of a row may rise, and
    whether there is one.
    """
    best, high, found = ZERO, -np.inf, False
    for e in range(np.uint64(caps.shape[0])):
        if (alpha[e] < caps[e]) if signs[e] > 0.0 else (alpha[e] > 0.0):
            gradient = targets[e] - scores[rows[e]]
            if gradient > high:
                best, high, found = e, gradient, True
    return best, found


@copied
def violator(member, rows, signs, targets, caps, alpha, scores, level, goal):
    """Entry that is no member whose gradient is farthest on the wrong side of their common one, its
    way (1, -1), and 0 where none is.
    """
    best, way, worst = ZERO, 0.0, goal
    for e in range(np.uint64(caps.shape[0])):
        if not member[e] and caps[e] > 0.0:
            short = targets[e] - scores[rows[e]] - level
            if abs(short) > worst:
                toward = 1.0 if short > 0.0 else -1.0
                if (alpha[e] < caps[e]) if signs[e] * toward > 0.0 else (alpha[e] > 0.0):
                    best, way, worst = e, toward, abs(short)
    return best, way


@copied
def bordered(inverse, count, column, rest):
    """The inverse of a matrix grown by one row: `column` is the old inverse times it, `rest` what
    of its diagonal is left.
    """
    for i in range(count):
        for k in range(count):
            inverse[i, k] += column[i] * column[k] / rest
        inverse[i, count] = inverse[count, i] = -column[i] / rest
    inverse[count, count] = 1.0 / rest


@copied
def dropped(inverse, members, count, gone, column):
    """The inverse without a row; the last one takes its place. `column` is room for the row."""
    last, pivot = count - ONE, inverse[gone, gone]
    for i in range(count):
        column[i] = inverse[gone, i]
    for i in range(count):
        weight = column[i] / pivot
        for k in range(count):
            inverse[i, k] -= weight * column[k]
    for i in range(last):
        inverse[gone, i] = inverse[last, i]
    for i in range(last):
        inverse[i, gone] = inverse[i, last]
    inverse[gone, gone] = inverse[last, last]
    members[gone] = members[last]


@copied
def steered(kernel, rows, inverse, members, count, e, shift, near, column, move):
    """Changes of the free entries' rows that keep their gradients equal while the row of `e` gains
    1; curvature, and what is new in that row.
    """
    own = rows[e]
    whole, total = 0.0, 0.0
    for i in range(count):
        near[i] = kernel[own, rows[members[i]]] + shift
        column[i], move[i] = 0.0, 0.0
    for k in range(count):
        weight = near[k]
        for i in range(count):
            column[i] += inverse[k, i] * weight
            move[i] += inverse[k, i]
    for i in range(count):
        whole += move[i]
        total += column[i]
    curvature = rest = kernel[own, own] + shift
    drift, excess = (total - 1.0) / whole, 1.0
    for i in range(count):
        move[i] = drift * move[i] - column[i]
        excess += move[i]
    for i in range(count):
        move[i] -= excess / count  # the sum of all weights stays, to the last bit
        curvature += near[i] * move[i]
        rest -= near[i] * column[i]
    return curvature - drift, rest


@copied
def farthest(signs, caps, alpha, members, count, way, move, size):
    """The part of a step that keeps the free entries between their bounds, and which of them stops
    it: `count` where none does.
    """
    hit = count
    for i in range(count):
        m = members[i]
        change = signs[m] * way * move[i]
        if change != 0.0:
            room = (caps[m] - alpha[m] if change > 0.0 else alpha[m]) / abs(change)
            if room < size:
                size, hit = room, i
    return size, hit


@helper
def add_row(kernel, row, weight, scores):
    """Add a weight times a row of the kernel to the scores."""
    for r in range(np.uint64(scores.shape[0])):
        scores[r] += weight * kernel[row, r]


@compiled
def exchange(kernel, entries, alpha, scores, members, inverse, count, shift, goal, most):
    """Active set steps: one entry moves, the members follow so that they stay optimal together, and
    one of them may stop at a bound.

    `members` lists `count` free entries, optimal together, whose rows are independent, and leaves
    room for more; `inverse` is that of their kernel plus `shift`, a constant that changes no step
    (weights keep their sum) and makes the inverse exist. Free entries that are no members depend on
    them, and move like those at bounds, either way. Where no member is left, the entry of the
    highest gradient begins a new list: it may rise, and follows one that falls. Changes all from
    `alpha` to `inverse`. Returns the steps taken: fewer than `most` where no entry is more than
    `goal` on the wrong side, or the members are too many.
    """
    rows, signs, targets, caps = entries
    room_for = np.uint64(members.shape[0])
    near, column, move = np.empty(room_for), np.empty(room_for), np.empty(room_for)
    member = np.empty(np.uint64(caps.shape[0]), np.bool_)
    for i in range(np.uint64(caps.shape[0])):
        member[i] = False
    for i in range(count):
        member[members[i]] = True
    e, way, steps = ZERO, 0.0, 0
    while steps < most and count < room_for:
        if count == ZERO:
            first, found = highest(rows, signs, targets, caps, alpha, scores)
            if not found:
                return steps
            members[count], member[first], way = first, True, 0.0
            inverse[count, count] = 1.0 / (kernel[rows[first], rows[first]] + shift)
            count += ONE
        level = 0.0
        for i in range(count):
            level += (targets[members[i]] - scores[rows[members[i]]]) / count
        if way == 0.0:
            e, way = violator(member, rows, signs, targets, caps, alpha, scores, level, goal)
            if way == 0.0:
                return steps
        steps += 1
        curvature, rest = steered(
            kernel, rows, inverse, members, count, e, shift, near, column, move
        )
        own, floor = rows[e], FLOOR * (kernel[rows[e], rows[e]] + shift)
        room = caps[e] - alpha[e] if signs[e] * way > 0.0 else alpha[e]
        short = max(way * (targets[e] - scores[own] - level), 0.0)
        wanted = short / max(curvature, floor, 1e-300)
        size, hit = farthest(signs, caps, alpha, members, count, way, move, min(wanted, room))
        alpha[e] = shifted(alpha[e], signs[e] * way * size, room, caps[e])
        add_row(kernel, own, way * size, scores)
        for i in range(count):
            m, weight = members[i], way * size * move[i]
            alpha[m] = min(max(alpha[m] + signs[m] * weight, 0.0), caps[m])
            add_row(kernel, rows[m], weight, scores)
        if hit < count:
            m = members[hit]
            alpha[m] = caps[m] if signs[m] * way * move[hit] > 0.0 else 0.0
            member[m] = False
            dropped(inverse, members, count, hit, near)
            count -= ONE
            # The last one gone, it takes its place.
            joins, rest = count == ZERO and 0.0 < alpha[e] < caps[e], kernel[own, own] + shift
        else:
            joins, way = wanted < room and rest > NEW * (kernel[own, own] + shift), 0.0
        if joins:
            bordered(inverse, count, column, rest)
            members[count] = e
            member[e] = True
            count += ONE
            way = 0.0
    return steps
