"""Passes of the sieve: columns in standard units, the contribution-penalised walk, scores and
losses.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.base.jit import compiled, helper
from tamis.base.random import GOLDEN, mixed, shuffled
from tamis.base.verbs import slope, value

ONE = np.uint64(1)
GRAINS = 1024.0  # steps a unit when rows are told apart by content


class Walked(NamedTuple):
    """Rows as loops read them, and the numbers of those that a path walks over."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    rows: np.ndarray


class Pace(NamedTuple):
    """Steps and penalty: a rate (the step constant over the root of the mean squared norm) and a
    strength an output; the loss's curvature where steps must be held back so as not to overshoot
    (losses whose slope is unbounded), else 0; whether there is an intercept.
    """

    rates: np.ndarray
    strengths: np.ndarray
    curvature: float
    intercept: float


class Orders(NamedTuple):
    """Passes of a path: how many, the key of their orders, and whether these are gone backwards."""

    passes: np.uint64
    key: np.uint64
    backwards: np.uint64


# ------------------------------------------------------------------------ columns and rows as given
@compiled
def sum_columns(data, indices, indptr, order, weights, counts, squares):
    """Add each column's weight of entries other than 0, and sum of squares, over the rows in
    `order`.
    """
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        weight = weights[r] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            j, x = indices[k], float(data[k])
            counts[j] += weight if x != 0.0 else 0.0
            squares[j] += weight * x * x


@compiled
def vote_columns(data, indices, indptr, order, weights, place, leader, votes, sums):
    """Of columns that are filled in most rows (`place` is their number among these): sums, and the
    only value that can be in more than half of the rows.
    """
    many = np.uint64(leader.shape[0])
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        weight = weights[r] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            c, x = np.uint64(place[indices[k]]), float(data[k])
            if c < many:
                sums[c] += weight * x
                if x == leader[c]:
                    votes[c] += weight
                elif votes[c] >= weight:
                    votes[c] -= weight
                else:
                    leader[c], votes[c] = x, weight - votes[c]


@compiled
def spread_columns(data, indices, indptr, order, weights, place, leader, means, led, about):
    """Of the same columns: weight of the rows that have the leading value, sum of squares about the
    mean, and about the leading value, over the stored entries: `about` is (columns, 2).
    """
    many = np.uint64(leader.shape[0])
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        weight = weights[r] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            c, x = np.uint64(place[indices[k]]), float(data[k])
            if c < many:
                led[c] += weight if x == leader[c] else 0.0
                about[c, 0] += weight * (x - means[c]) * (x - means[c])
                about[c, 1] += weight * (x - leader[c]) * (x - leader[c])


@helper
def grain(column, z):
    """A word for an entry in standard units, coarse enough that rounding does not change it, and
    the same for both signs.
    """
    return mixed(mixed(np.uint64(column) + GOLDEN) ^ (np.uint64(abs(z) * GRAINS + 0.5) * GOLDEN))


@compiled
def hash_standard(data, indices, indptr, order, place, kept, scale, shift, dense, words):
    """Fill a word for the content of each row in `order`, in standard units: the same whatever the
    units of the columns.
    """
    count = np.uint64(scale.shape[0])
    # Every row starts with its shifted columns at 0, and trades those it has.
    start = np.uint64(0)
    for d in range(np.uint64(dense.shape[0])):
        j = np.uint64(dense[d])
        start += grain(kept[j], shift[j] * scale[j])
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        total = start
        for k in range(indptr[i], indptr[i + ONE]):
            j = np.uint64(place[indices[k]])
            if j < count:
                z = (float(data[k]) - shift[j]) * scale[j]
                total += grain(kept[j], z) if z != 0.0 else np.uint64(0)
                if shift[j] != 0.0:
                    total -= grain(kept[j], shift[j] * scale[j])
        words[r] = mixed(total + GOLDEN)


@compiled
def standardise(
    data, indices, indptr, order, place, scale, shift, dense, filled,
    out_data, out_indices, out_indptr,
):  # fmt: skip
    """Fill the rows in standard units and in `order`, dropped columns and zeros left out.

    `place` is a column's new number, the number of new columns where it is dropped. The columns
    `dense` (new numbers) have a shift, hence an entry in rows that lack them: those come last.
    """
    kept = np.uint64(scale.shape[0])
    at = np.uint64(0)
    out_indptr[0] = at
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        for k in range(indptr[i], indptr[i + ONE]):
            j = np.uint64(place[indices[k]])
            if j < kept:
                z = (float(data[k]) - shift[j]) * scale[j]
                filled[j] = r + ONE
                if z != 0.0:
                    out_indices[at], out_data[at] = j, z
                    at += ONE
        for d in range(np.uint64(dense.shape[0])):
            j = np.uint64(dense[d])
            if filled[j] != r + ONE:
                out_indices[at], out_data[at] = j, -shift[j] * scale[j]
                at += ONE
        out_indptr[r + ONE] = at


@compiled
def mean_square(data, indptr, weights, rows):
    """Mean squared norm, the intercept's 1 included, of those rows that hold anything; 1 if none
    does.
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
    return total / mass if mass > 0.0 else 1.0


@compiled
def sum_squares(data, indices, indptr, weights, rows, squares):
    """Add the squares of each column over some rows: what a pass adds to Q."""
    for r in range(np.uint64(rows.shape[0])):
        i = np.uint64(rows[r])
        weight = weights[i] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            squares[indices[k]] += weight * data[k] * data[k]


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


@compiled
def walk_one(walked, state, bias, loss, pace, orders):
    """Passes over rows, each in an order of its own, for one output.

    A feature's state is (Q, w, U): sum of squares, weight, and sum of t times the moves of the
    present pass; that of the intercept, which is never shrunk, is `bias`.
    """
    data, indices, indptr, targets, weights, rows = walked
    rate, strength = pace.rates[0], pace.strengths[0]
    curvature, intercept = pace.curvature, pace.intercept
    passes, key, backwards = orders
    n = np.uint64(rows.shape[0])
    spent, old, new, along = np.empty((4, longest(indptr)))
    for turn in range(passes):
        order = mixed(key + (turn + ONE) * GOLDEN) | ONE
        last = turn + ONE == passes  # only the mean of the last pass is asked for
        if last:
            for j in range(np.uint64(state.shape[0])):
                state[j, 2] = 0.0
        q, b, u = bias[0], bias[1], 0.0
        for r in range(n):
            i = np.uint64(rows[shuffled(n - ONE - r if backwards else r, n, order)])
            t = float(r)
            weight = weights[i] if weights.shape[0] else 1.0
            first, width = indptr[i], indptr[i + ONE] - indptr[i]
            score = b
            # What a row needs is gathered: roots and divisions run on several entries at a time.
            for k in range(width):
                j, z = indices[first + k], data[first + k]
                along[k] = z
                spent[k] = state[j, 0] + weight * z * z
                old[k] = state[j, 1]
                score += old[k] * z
            g = weight * slope(loss, score, targets[i, 0])
            if curvature > 0.0:
                reach = weight / math.sqrt(q + weight) if intercept else 0.0
                for k in range(width):
                    reach += weight * along[k] * along[k] / math.sqrt(spent[k])
                g /= 1.0 + curvature * rate * reach
            toll = strength * weight
            for k in range(width):
                h = rate / math.sqrt(spent[k])
                new[k] = shrunk(old[k] - h * g * along[k], h * toll * abs(along[k]))
            for k in range(width):
                j = indices[first + k]
                state[j, 0] = spent[k]
                state[j, 1] = new[k]
            if last:
                for k in range(width):
                    state[indices[first + k], 2] += t * (new[k] - old[k])
            if intercept:
                q += weight
                move = -rate / math.sqrt(q) * g
                b += move
                u += t * move
        bias[0], bias[1], bias[2] = q, b, u


@compiled
def walk_many(walked, state, bias, loss, pace, orders):
    """The same for several outputs; a feature's state is (Q, all w, all U), since Q is the same for
    every output.

    `targets` has a column an output, or one column that holds the number of the class which is +1,
    all others -1.
    """
    data, indices, indptr, targets, weights, rows = walked
    rates, strengths, curvature, intercept = pace
    passes, key, backwards = orders
    n, many = np.uint64(rows.shape[0]), np.uint64(rates.shape[0])
    scores = np.empty(many)
    for turn in range(passes):
        order = mixed(key + (turn + ONE) * GOLDEN) | ONE
        state[:, ONE + many :] = 0.0
        bias[ONE + many :] = 0.0
        for r in range(n):
            i = np.uint64(rows[shuffled(n - ONE - r if backwards else r, n, order)])
            t = float(r)
            weight = weights[i] if weights.shape[0] else 1.0
            first, last = indptr[i], indptr[i + ONE]
            for c in range(many):
                scores[c] = bias[ONE + c]
            reach = weight / math.sqrt(bias[0] + weight) if intercept else 0.0
            for k in range(first, last):
                j, z = indices[k], data[k]
                for c in range(many):
                    scores[c] += state[j, ONE + c] * z
                if curvature > 0.0:
                    reach += weight * z * z / math.sqrt(state[j, 0] + weight * z * z)
            for c in range(many):
                if targets.shape[1] > 1:
                    wanted = targets[i, c]
                else:
                    wanted = 1.0 if targets[i, 0] == c else -1.0
                g = weight * slope(loss, scores[c], wanted)
                scores[c] = g / (1.0 + curvature * rates[c] * reach)
            for k in range(first, last):
                j, z = indices[k], data[k]
                state[j, 0] += weight * z * z
                h = 1.0 / math.sqrt(state[j, 0])
                for c in range(many):
                    old = state[j, ONE + c]
                    toll = rates[c] * h * strengths[c] * weight * abs(z)
                    new = shrunk(old - rates[c] * h * scores[c] * z, toll)
                    state[j, ONE + c] = new
                    state[j, ONE + many + c] += t * (new - old)
            if intercept:
                bias[0] += weight
                for c in range(many):
                    move = -rates[c] / math.sqrt(bias[0]) * scores[c]
                    bias[ONE + c] += move
                    bias[ONE + many + c] += t * move


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
        slopes[i] = slope(loss, residual[i], 0.0)
