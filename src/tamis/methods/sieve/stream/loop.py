"""Passes over the next rows of a stream: one walk of all groups and both settings, every constant a
running one; and the sums that need no model.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.loop import ONE, longest, shrunk
from tamis.numerics.numba import compiled, helper
from tamis.terms.methods import gradient

TINY = 1e-300  # a square may underflow, and 0 / 0 is no step
# Running totals: rows, their weight, columns seen, sum of squared norms in standard units.
CLOCK = np.dtype((np.record, [(name, "f8") for name in ("rows", "weight", "seen", "squares")]))


class Chunk(NamedTuple):
    """The next rows of a stream, and the fold of each."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    folds: np.ndarray


class Running(NamedTuple):
    """All that a stream learns: weight and squares of each column, and the weight of all entries;
    totals (a `CLOCK`); of each output the weight of the positives, the mean target and the sum of
    absolute deviations from it; rows of each group; and the models: states (settings, groups,
    columns, numbers) and intercepts.
    """

    counts: np.ndarray
    squares: np.ndarray
    filled: np.ndarray
    clock: np.ndarray
    positives: np.ndarray
    means: np.ndarray
    deviations: np.ndarray
    steps: np.ndarray
    states: np.ndarray
    biases: np.ndarray


class StreamSettings(NamedTuple):
    """How it learns: the loss's curvature where steps must be held back (else 0), whether there is
    an intercept, whether targets are classes, and the density above which rows count as full.
    """

    curvature: float
    intercept: float
    classes: float
    full: float


@helper
def standard_row(data, indices, first, last, weight, running, z):
    """Fill a row's values in the units of the columns so far (its own where a column is new), and
    count it; its squared norm.
    """
    counts, squares, clock = running.counts, running.squares, running.clock[0]
    norm = 1.0
    for k in range(first, last):
        j, x = indices[k], float(data[k])
        known = counts[j] > 0.0
        value = x / math.sqrt(squares[j] / counts[j]) if known else (1.0 if x > 0.0 else -1.0)
        if not known:
            clock.seen += 1.0
        counts[j] += weight
        squares[j] += weight * x * x
        z[k - first] = value
        norm += value * value
    return norm


@helper
def standard_target(y, weight, classes, c, running):
    """The target in the units of those before it, and the step's divisor for rare classes; counts
    it.
    """
    total = running.clock[0].weight
    if classes:
        running.positives[c] += weight * (y > 0.0)
        share = running.positives[c] / total
        rarity = 4.0 * share * (1.0 - share)
        return y, rarity if rarity > 0.0 else 1.0
    mean, deviation, before = running.means[c], running.deviations[c], total - weight
    unit = deviation / before if deviation > 0.0 else 1.0
    center = mean if before > 0.0 else y
    running.means[c] += (y - mean) * weight / total
    running.deviations[c] += weight * abs(y - center)
    return (y - center) / unit, 1.0


@helper
def step_row(indices, first, last, z, weight, scores, wanted, rates, tolls, loss, manner, model):
    """One step of one model (state, intercept, rows it has seen) on one row."""
    # Nearly the inside of `walk_many`; called from there too, a fit of four classes took a tenth
    # longer.
    (state, bias, t), curvature, intercept = model, manner.curvature, manner.intercept
    many = np.uint64(scores.shape[0])
    for c in range(many):
        scores[c] = bias[ONE + c]
    reach = weight / math.sqrt(bias[0] + weight) if intercept else 0.0
    for k in range(first, last):
        j, x = indices[k], z[k - first]
        for c in range(many):
            scores[c] += state[j, ONE + c] * x
        reach += weight * x * x / math.sqrt(state[j, 0] + weight * x * x + TINY)
    for c in range(many):
        g = weight * gradient(loss, scores[c], wanted[c])
        scores[c] = g / (1.0 + curvature * rates[c] * reach)
    for k in range(first, last):
        j, x = indices[k], z[k - first]
        state[j, 0] += weight * x * x
        h = 1.0 / math.sqrt(state[j, 0] + TINY)
        for c in range(many):
            old = state[j, ONE + c]
            toll = rates[c] * h * tolls[c] * weight * abs(x)
            new = shrunk(old - rates[c] * h * scores[c] * x, toll)
            state[j, ONE + c] = new
            state[j, ONE + many + c] += t * (new - old)
    if intercept:
        bias[0] += weight
        for c in range(many):
            move = -rates[c] / math.sqrt(bias[0]) * scores[c]
            bias[ONE + c] += move
            bias[ONE + many + c] += t * move


@compiled
def stream_rows(chunk, running, bases, loss, manner):
    """Walk rows once in their order.

    `bases` has a row (step, strength, whether they follow the class shares) a setting, for sparse
    rows and for full ones: which of both the rows so far are, says their density. A row of weight 0
    is skipped.
    """
    data, indices, indptr, targets, weights, folds = chunk
    clock, steps, states, biases = running.clock[0], running.steps, running.states, running.biases
    settings, groups, many = states.shape[0], states.shape[1], (biases.shape[2] - 1) // 2
    z, scores, wanted, rarity = (
        np.empty(max(longest(indptr), ONE)), np.empty(many), np.empty(many), np.empty(many)
    )  # fmt: skip
    rates, tolls = np.empty(many), np.empty(many)
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        clock.rows += 1.0
        clock.weight += weight
        clock.squares += standard_row(data, indices, first, last, weight, running, z)
        running.filled[0] += weight * (last - first)
        full = running.filled[0] > manner.full * clock.weight * running.counts.shape[0]
        own = bases[1] if full else bases[0]
        for c in range(many):
            if targets.shape[1] > 1 or many == 1:
                y = targets[i, c]
            else:
                y = 1.0 if targets[i, 0] == c else -1.0
            wanted[c], rarity[c] = standard_target(y, weight, manner.classes, c, running)
        size = 1.0 / math.sqrt(clock.squares / clock.rows)
        fewness = math.sqrt(min(1.0, clock.seen / clock.rows))
        heavy = weight * clock.rows / clock.weight
        for s in range(settings):
            for c in range(many):
                follows = rarity[c] if own[s, 2] else 1.0
                rates[c] = size * own[s, 0] / follows
                tolls[c] = fewness * own[s, 1] * follows
            for g in range(groups):
                if g != folds[i]:
                    model = (states[s, g], biases[s, g], steps[g])
                    step_row(
                        indices, first, last, z, heavy, scores, wanted, rates, tolls, loss, manner,
                        model,
                    )  # fmt: skip
        for g in range(groups):
            if g != folds[i]:
                steps[g] += 1.0


# ------------------------------------------------------------------------ sums over all rows
@compiled
def sum_contrasts(
    data, indices, indptr, weights, folds, ends, marks, numbers, filled, products, whole, squares
):  # fmt: skip
    """Add each column's entries and squares, and for the fold of a row its values and their
    products with numbers and marks.

    `whole` has those of a column of ones. The marks of row i are those from `ends[i]` on.
    """
    many = np.uint64(numbers.shape[1])
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        weight, fold = weights[i] if weights.shape[0] else 1.0, folds[i]
        if weight == 0.0:
            continue
        for k in range(indptr[i], indptr[i + ONE]):
            j, x = indices[k], float(data[k])
            sums, value = products[j, fold], weight * x
            filled[j, 0] += 1.0
            filled[j, 1] += value * x
            sums[0] += value
            for m in range(many):
                sums[ONE + m] += value * numbers[i, m]
            for m in range(ends[i], ends[i + ONE]):
                sums[ONE + many + marks[m]] += value
        sums = whole[fold]
        sums[0] += weight
        for m in range(many):
            sums[ONE + m] += weight * numbers[i, m]
            squares[fold, m] += weight * numbers[i, m] * numbers[i, m]
        for m in range(ends[i], ends[i + ONE]):
            sums[ONE + many + marks[m]] += weight
