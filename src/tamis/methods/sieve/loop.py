"""Passes of the sieve: the contribution-penalised walk, fewer columns, scores and losses."""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.hashing import GOLDEN, mix64
from tamis.numerics.numba import compiled, helper, prefetch
from tamis.terms.methods import gradient, value

ONE, TWO, THREE, FOUR, EIGHT = (np.uint64(k) for k in (1, 2, 3, 4, 8))
HALF = np.uint64(32)


class PassRows(NamedTuple):
    """Rows as loops read them, and the numbers of those that a path walks over."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    rows: np.ndarray


class StepSettings(NamedTuple):
    """Steps and penalty: a rate (the step constant over the root of the mean squared norm) and a
    strength an output; the loss's curvature where steps must be held back so as not to overshoot
    (losses whose slope is unbounded), else 0; whether there is an intercept; the passes so far; and
    the first of the columns that are never shrunk, which come last (the number of columns if none).
    """

    rates: np.ndarray
    strengths: np.ndarray
    curvature: float
    intercept: float
    age: float
    free: np.uint64


class PassOrder(NamedTuple):
    """Passes of a path: how many, the key of their orders, and whether these are gone backwards."""

    passes: np.uint64
    key: np.uint64
    backwards: np.uint64


# --------------------------------------------------------------------------- columns of a table
@compiled
def sum_norms(data, indptr, weights, rows):
    """Sum of squared norms, the intercept's 1 included, of those rows that hold anything, and their
    weight.
    """
    total, mass = 0.0, 0.0
    for r in range(np.uint64(rows.shape[0])):
        i = np.uint64(rows[r])
        if indptr[i] == indptr[i + ONE]:
            continue
        weight = weights[i] if weights.shape[0] else 1.0
        square = 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            square += data[k] * data[k]
        total += weight * square
        mass += weight
    return total, mass


@compiled
def sum_squares(data, indices, indptr, weights, rows, squares):
    """Add the squares of each column over some rows: what a pass adds to Q."""
    for r in range(np.uint64(rows.shape[0])):
        i = np.uint64(rows[r])
        weight = weights[i] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            squares[indices[k]] += weight * data[k] * data[k]


# --------------------------------------------------------------------------- fewer columns
@compiled
def keep_columns(data, indices, indptr, place, kept, out_data, out_indices, out_indptr):
    """Fill the rows with the columns whose new number is below `kept`; `out` may be the rows
    themselves.

    Every entry is written, and the next one over it if it is not kept: a branch would be guessed
    wrongly half the time.
    """
    at, first = np.uint64(0), indptr[0]
    out_indptr[0] = at
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        last = indptr[i + ONE]
        for k in range(first, last):
            j = place[indices[k]]
            out_data[at], out_indices[at] = data[k], j
            at += np.uint64(j < kept)
        out_indptr[i + ONE], first = at, last


@compiled
def keep_states(states, stay):
    """Move the states (paths, columns, numbers) of the columns `stay`, ascending, to the front."""
    width = np.uint64(states.shape[2])
    for path in range(np.uint64(states.shape[0])):
        for k in range(np.uint64(stay.shape[0])):
            for c in range(width):
                states[path, k, c] = states[path, np.uint64(stay[k]), c]


@compiled
def pool_states(states, steps, weights):
    """Fill the mean over paths of the mean iterates, weight - U / steps, of the first columns."""
    paths, many = np.uint64(states.shape[0]), np.uint64(weights.shape[1])
    for j in range(np.uint64(weights.shape[0])):
        for c in range(many):
            total = 0.0
            for path in range(paths):
                total += states[path, j, ONE + c] - states[path, j, ONE + many + c] / steps
            weights[j, c] = total / paths


# --------------------------------------------------------------------------- the walk
@helper
def longest(indptr):
    """Entries of the longest row."""
    most = np.uint64(0)
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        most = max(most, indptr[i + ONE] - indptr[i])
    return most


@helper
def shrunk(v, toll):
    """`v` moved towards 0 by at most `toll`, without a branch."""
    return v - min(max(v, -toll), toll)


@helper
def deal(rows, key, backwards, order):
    """Fill the order of a pass: the rows shuffled by a key, or that order backwards."""
    n = np.uint64(rows.shape[0])
    for r in range(n):
        k = ((mix64(key + r * GOLDEN) >> HALF) * (r + ONE)) >> HALF
        order[r] = order[k]
        order[k] = rows[r]
    if backwards:
        for r in range(n // TWO):
            order[r], order[n - ONE - r] = order[n - ONE - r], order[r]


@helper
def call_row(data, indices, first, last):
    """Ask for a row before its turn: rows are visited in no order that a machine could guess."""
    for k in range(first, last, EIGHT):
        prefetch(data, k)
    for k in range(first, last, EIGHT + EIGHT):
        prefetch(indices, k)


@helper
def settle_steps(state, bias):
    """Sums of squares as step factors, once the first pass is over."""
    for j in range(np.uint64(state.shape[0])):
        state[j, 0] = 1.0 / math.sqrt(state[j, 0])
    bias[0] = 1.0 / math.sqrt(bias[0]) if bias[0] > 0.0 else 0.0


@helper
def gather(data, indices, state, first, width, old, along):
    """Fill the weights of a row's features, and its values times their step factors; its score, in
    four running sums.
    """
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    fours = width // FOUR * FOUR
    for k in range(np.uint64(0), fours, FOUR):
        at = first + k
        j0, j1, j2, j3 = indices[at], indices[at + ONE], indices[at + TWO], indices[at + THREE]
        z0, z1, z2, z3 = data[at], data[at + ONE], data[at + TWO], data[at + THREE]
        w0, w1, w2, w3 = state[j0, 1], state[j1, 1], state[j2, 1], state[j3, 1]
        old[k], old[k + ONE], old[k + TWO], old[k + THREE] = w0, w1, w2, w3
        along[k], along[k + ONE] = z0 * state[j0, 0], z1 * state[j1, 0]
        along[k + TWO], along[k + THREE] = z2 * state[j2, 0], z3 * state[j3, 0]
        s0, s1, s2, s3 = s0 + w0 * z0, s1 + w1 * z1, s2 + w2 * z2, s3 + w3 * z3
    for k in range(fours, width):
        j, z = indices[first + k], data[first + k]
        old[k], along[k] = state[j, 1], z * state[j, 0]
        s0 += old[k] * z
    return (s0 + s1) + (s2 + s3)


@compiled
def walk_one(pass_rows, state, bias, loss, settings, orders):
    """Passes over rows, each in an order of its own, for one output.

    A feature's state is (f, w, U): step factor, weight, and sum of t times the moves of the last
    pass; that of the intercept, which is never shrunk, is `bias`. During the first of all passes f
    is the sum of squares Q so far, and steps go with 1 / sqrt(Q). Then f becomes 1 / sqrt(Q), and
    as every pass adds the same Q, steps go with f / sqrt(passes until the middle of this one):
    neither root nor division an entry.
    """
    data, indices, indptr, targets, weights, rows = pass_rows
    strength, curvature, intercept = settings.strengths[0], settings.curvature, settings.intercept
    n, wide = np.uint64(rows.shape[0]), np.uint64(state.shape[0])
    old, new, along = np.empty((3, longest(indptr)))
    order = np.empty(n, np.uint64)
    for turn in range(orders.passes):
        deal(rows, mix64(orders.key + (turn + ONE) * GOLDEN), orders.backwards, order)
        age = settings.age + float(turn)
        opening = age == 0.0
        rate = settings.rates[0] / (1.0 if opening else math.sqrt(age + 0.5))
        toll = rate * strength
        last = turn + ONE == orders.passes  # only the mean of the last pass is asked for
        if last:
            for j in range(wide):
                state[j, 2] = 0.0
        b, u = bias[1], 0.0
        for r in range(n):
            i, t = order[r], float(r)
            if r + ONE < n:
                call_row(data, indices, indptr[order[r + ONE]], indptr[order[r + ONE] + ONE])
            weight = weights[i] if weights.shape[0] else 1.0
            first, width = indptr[i], indptr[i + ONE] - indptr[i]
            score = b + gather(data, indices, state, first, width, old, along)
            if opening:
                for k in range(width):
                    j, along[k] = indices[first + k], data[first + k]
                    new[k] = state[j, 0] + weight * along[k] * along[k]
                    state[j, 0] = new[k]
                # By itself and here: roots and divisions then run on several entries at a time.
                for k in range(width):
                    along[k] /= math.sqrt(new[k])
                bias[0] += weight
            h = 1.0 / math.sqrt(bias[0]) if opening else bias[0]
            g = rate * weight * gradient(loss, score, targets[i, 0])
            if curvature > 0.0:
                reach = h if intercept else 0.0
                for k in range(width):
                    reach += data[first + k] * along[k]
                g /= 1.0 + curvature * rate * weight * reach
            for k in range(width):
                new[k] = shrunk(old[k] - g * along[k], toll * weight * abs(along[k]))
            if settings.free < wide:
                for k in range(width):
                    if indices[first + k] >= settings.free:
                        new[k] = old[k] - g * along[k]
            if last:
                for k in range(width):
                    j = indices[first + k]
                    state[j, 1] = new[k]
                    state[j, 2] += t * (new[k] - old[k])
            else:
                for k in range(width):
                    state[indices[first + k], 1] = new[k]
            if intercept:
                b -= h * g
                u -= t * h * g
        bias[1], bias[2] = b, u
        if opening:
            settle_steps(state, bias)


@compiled
def walk_many(pass_rows, state, bias, loss, settings, orders):
    """The same for several outputs; a feature's state is (f, all w, all U), since f is the same for
    every output.

    `targets` has a column an output, or one column that holds the number of the class which is +1,
    all others -1.
    """
    data, indices, indptr, targets, weights, rows = pass_rows
    strengths, curvature, intercept = settings.strengths, settings.curvature, settings.intercept
    n, many = np.uint64(rows.shape[0]), np.uint64(settings.rates.shape[0])
    scores, along = np.empty(many), np.empty(longest(indptr))
    order = np.empty(n, np.uint64)
    for turn in range(orders.passes):
        deal(rows, mix64(orders.key + (turn + ONE) * GOLDEN), orders.backwards, order)
        age = settings.age + float(turn)
        opening, last = age == 0.0, turn + ONE == orders.passes
        rates = settings.rates / (1.0 if opening else math.sqrt(age + 0.5))
        if last:
            state[:, ONE + many :] = 0.0
        bias[ONE + many :] = 0.0
        for r in range(n):
            i, t = order[r], float(r)
            if r + ONE < n:
                call_row(data, indices, indptr[order[r + ONE]], indptr[order[r + ONE] + ONE])
            weight = weights[i] if weights.shape[0] else 1.0
            first, width = indptr[i], indptr[i + ONE] - indptr[i]
            for k in range(width):
                j, z = indices[first + k], data[first + k]
                if opening:
                    state[j, 0] += weight * z * z
                    along[k] = z / math.sqrt(state[j, 0])
                else:
                    along[k] = z * state[j, 0]
            if opening:
                bias[0] += weight
            h = 1.0 / math.sqrt(bias[0]) if opening else bias[0]
            for c in range(many):
                scores[c] = bias[ONE + c]
            reach = h if intercept else 0.0
            for k in range(width):
                j, z = indices[first + k], data[first + k]
                for c in range(many):
                    scores[c] += state[j, ONE + c] * z
                reach += z * along[k]
            for c in range(many):
                if targets.shape[1] > 1:
                    wanted = targets[i, c]
                else:
                    wanted = 1.0 if targets[i, 0] == c else -1.0
                g = rates[c] * weight * gradient(loss, scores[c], wanted)
                scores[c] = g / (1.0 + curvature * rates[c] * weight * reach)
            for k in range(width):
                j, a = indices[first + k], along[k]
                heavy = weight * abs(a) if j < settings.free else 0.0
                for c in range(many):
                    old = state[j, ONE + c]
                    new = shrunk(old - scores[c] * a, rates[c] * strengths[c] * heavy)
                    state[j, ONE + c] = new
                    if last:
                        state[j, ONE + many + c] += t * (new - old)
            if intercept:
                for c in range(many):
                    move = -h * scores[c]
                    bias[ONE + c] += move
                    bias[ONE + many + c] += t * move
        if opening:
            settle_steps(state, bias)


@compiled
def score_given(data, indices, indptr, place, weights, bias, scores):
    """Fill the scores of rows as given; `place` is a column's row of `weights`, whose last row is
    that of all dropped columns.
    """
    many = np.uint64(bias.shape[0])
    for i in range(np.uint64(scores.shape[0])):
        for c in range(many):
            scores[i, c] = bias[c]
        for k in range(indptr[i], indptr[i + ONE]):
            x = float(data[k])
            for c in range(many):
                scores[i, c] += weights[place[indices[k]], c] * x


@compiled
def fill_losses(loss, residual, losses):
    """Fill the losses of residuals (rows, outputs): those of scores against the target 0."""
    for i in range(residual.shape[0]):
        for c in range(residual.shape[1]):
            losses[i, c] = value(loss, residual[i, c], 0.0)


@compiled
def fill_slopes(loss, residual, slopes):
    """Fill the slopes of the losses of residuals: those of scores against the target 0."""
    for i in range(residual.shape[0]):
        slopes[i] = gradient(loss, residual[i], 0.0)
