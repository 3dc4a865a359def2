"""Passes of thresholding: a matrix without its small entries, and L1 logistic regression on a
working set of columns.
"""

import math

import numpy as np

from tamis.base.jit import compiled, helper

SWEEPS = 50  # of a quadratic model, at most
HALVINGS = 30  # of a step, at most
ROUNDING = 1e-15  # near the optimum a step is worth less than the last digit of the objective


@compiled
def count_large(data, indptr, threshold, pointers):
    """Fill the row pointers of a matrix without its entries up to `threshold`; returns how many are
    dropped, and the largest of them.
    """
    one, kept, gone, largest = np.uint64(1), np.uint64(0), 0, 0.0
    pointers[0] = kept
    for i in range(np.uint64(pointers.shape[0]) - one):
        for k in range(indptr[i], indptr[i + one]):
            size = abs(data[k])
            kept += np.uint64(size > threshold)
            gone += (size > 0.0) & (size <= threshold)
            largest = max(largest, size if size <= threshold else 0.0)
        pointers[i + one] = kept
    return gone, largest


@compiled
def copy_large(data, indices, threshold, fewer, where):
    """Copy the entries above `threshold`, and their columns; `fewer` and `where` have room for one
    more.

    An entry that does not stay is written over by the next: without branches that is three times as
    fast.
    """
    at = np.uint64(0)
    for k in range(np.uint64(data.shape[0])):
        fewer[at], where[at] = data[k], indices[k]
        at += np.uint64(abs(data[k]) > threshold)


@helper
def log_loss(signs, loads, scores, shift, step):
    """Weighted logistic loss of the scores moved by `step` times `shift`."""
    total = 0.0
    for i in range(scores.shape[0]):
        margin = signs[i] * (scores[i] + step * shift[i])
        total += loads[i] * (
            math.log1p(math.exp(-margin)) if margin > 0.0 else math.log1p(math.exp(margin)) - margin
        )
    return total


@helper
def soften(value, toll):
    """Soft threshold."""
    return math.copysign(max(abs(value) - toll, 0.0), value)


@helper
def expand(signs, loads, scores, pull, bend):
    """Slope and curvature of every row's loss; their sums come back."""
    slope, curve = 0.0, 0.0
    for i in range(scores.shape[0]):
        share = 1.0 / (1.0 + math.exp(min(signs[i] * scores[i], 700.0)))
        pull[i] = -loads[i] * signs[i] * share
        bend[i] = loads[i] * share * (1.0 - share)
        slope += pull[i]
        curve += bend[i]
    return slope, curve


@helper
def solve_model(
    data,
    indices,
    indptr,
    columns,
    slopes,
    curves,
    bend,
    strength,
    weights,
    steps,
    shift,
    slope,
    curve,
    enough,
):
    """Coordinate descent on the quadratic model; returns the intercept's step.

    `shift` is what the scores move by.
    """
    one, moved = np.uint64(1), 0.0
    for _ in range(SWEEPS):
        worst = 0.0
        for c in range(columns.shape[0]):
            j = columns[c]
            if curves[c] <= 0.0:
                continue
            now, here = slopes[c], weights[j] + steps[c]
            for k in range(indptr[j], indptr[j + one]):
                now += bend[indices[k]] * data[k] * shift[indices[k]]
            change = soften(here - now / curves[c], strength / curves[c]) - here
            if change != 0.0:
                steps[c] += change
                for k in range(indptr[j], indptr[j + one]):
                    shift[indices[k]] += change * data[k]
                worst = max(worst, abs(change) * curves[c])
        if curve > 0.0:
            now = slope
            for i in range(shift.shape[0]):
                now += bend[i] * shift[i]
            change = -now / curve
            moved += change
            for i in range(shift.shape[0]):
                shift[i] += change
            worst = max(worst, abs(change) * curve)
        if worst <= enough:
            break
    return moved


@compiled
def newton_steps(
    data,
    indices,
    indptr,
    columns,
    signs,
    loads,
    strength,
    weights,
    scores,
    intercept,
    turns,
    enough,
):
    """At most so many Newton steps on the named columns, until no slope is off by more than
    `enough`; returns the intercept's move.

    `weights` and `scores` are changed in place. An `intercept` of 0 means that there is none.
    """
    one, n, m = np.uint64(1), scores.shape[0], columns.shape[0]
    pull, bend, shift = np.empty(n), np.empty(n), np.empty(n)
    slopes, curves, steps = np.empty(m), np.empty(m), np.empty(m)
    bias = 0.0
    for _ in range(turns):
        slope, curve = expand(signs, loads, scores, pull, bend)
        if intercept == 0.0:
            slope, curve = 0.0, 0.0
        off = abs(slope)
        for c in range(m):
            j = columns[c]
            first, second = 0.0, 0.0
            for k in range(indptr[j], indptr[j + one]):
                first += pull[indices[k]] * data[k]
                second += bend[indices[k]] * data[k] * data[k]
            slopes[c], curves[c], steps[c] = first, second, 0.0
            off = max(
                off,
                max(abs(first) - strength, 0.0)
                if weights[j] == 0.0
                else abs(first + math.copysign(strength, weights[j])),
            )
        if off <= enough:
            break
        shift[:] = 0.0
        moved = solve_model(
            data,
            indices,
            indptr,
            columns,
            slopes,
            curves,
            bend,
            strength,
            weights,
            steps,
            shift,
            slope,
            curve,
            max(0.1 * off, 0.3 * enough),
        )
        promise = slope * moved
        for c in range(m):
            was = weights[columns[c]]
            promise += slopes[c] * steps[c] + strength * (abs(was + steps[c]) - abs(was))
        if promise >= 0.0:
            break
        before, size = log_loss(signs, loads, scores, shift, 0.0), 1.0
        for c in range(m):
            before += strength * abs(weights[columns[c]])
        for _ in range(HALVINGS):
            after = log_loss(signs, loads, scores, shift, size)
            for c in range(m):
                after += strength * abs(weights[columns[c]] + size * steps[c])
            if after <= before + 1e-4 * size * promise + ROUNDING * before:
                break
            size *= 0.5
        bias += size * moved
        for c in range(m):
            weights[columns[c]] += size * steps[c]
        for i in range(n):
            scores[i] += size * shift[i]
    return bias
