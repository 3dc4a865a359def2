"""The second-order pass: every gain, diagonal or full covariance, one or many outputs, each row
read once.

A diagonal state is (columns + 1, 2 * outputs), the constant column last: what a step touches of a
column lies side by side; see `loop_heap`. A full state is (outputs, columns +
2, columns + 1): the rows of a root A of the covariance, S = A A', and below them the mean. Updates
of a root cannot lose positive definiteness.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled, inlined, prefetch
from tamis.solvers.first_order.loop import AHEAD, fetch_row, row_at
from tamis.solvers.second_order.loop_heap import Gains, Row, Settings, shift_kept, shift_weight
from tamis.terms.methods import confidence_update, direction_and_margin

ZERO, ONE, TWO, THREE, FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
EIGHT = np.uint64(8)
ROOM = 1024  # columns of a row whose quotients are kept


# ---------------------------------------------------------------- looks: scores and their variances
@inlined
def fetch_column(indices, k, state):
    """Bring what a diagonal state holds of the k-th number's column into the cache before it is
    read; beyond a row's end that is one of the next row as stored.
    """
    column = np.uint64(indices[min(k, np.uint64(indices.shape[0]) - ONE)])
    width = np.uint64(state.shape[1])
    for c in range(np.uint64(0), width, EIGHT):
        prefetch(state, column * width + c)


@inlined
def look_many(row, state, settings, scores, variances):
    """Scores and variances of a row under diagonal covariances."""
    many, prior = np.uint64(scores.shape[0]), settings.prior
    for c in range(many):
        scores[c], variances[c] = 0.0, 0.0
    for k in range(row.first, row.last):
        x = np.float64(row.data[k])
        column = np.uint64(row.indices[k])
        fetch_column(row.indices, k + AHEAD, state)
        for c in range(many):
            scores[c] += state[column, c] * x
            variances[c] += x / (prior + state[column, many + c]) * x
    if settings.intercept:
        bias = np.uint64(state.shape[0]) - ONE
        for c in range(many):
            scores[c] += state[bias, c]
            variances[c] += 1.0 / (prior + state[bias, many + c])


@inlined
def rotate(row, root, intercept, rotated):
    """Fill `rotated` with A'x."""
    width = np.uint64(rotated.shape[0])
    for j in range(width):
        rotated[j] = root[width - ONE, j] if intercept else 0.0
    for k in range(row.first, row.last):
        x = np.float64(row.data[k])
        column = np.uint64(row.indices[k])
        for j in range(width):
            rotated[j] += root[column, j] * x


@inlined
def dot(a, b):
    """Scalar product in four sums, which run at once."""
    n = np.uint64(a.shape[0])
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % FOUR
    for k in range(np.uint64(0), whole, FOUR):
        s0 += a[k] * b[k]
        s1 += a[k + ONE] * b[k + ONE]
        s2 += a[k + TWO] * b[k + TWO]
        s3 += a[k + THREE] * b[k + THREE]
    for k in range(whole, n):
        s0 += a[k] * b[k]
    return (s0 + s1) + (s2 + s3)


@inlined
def look_full(row, state, settings, scores, variances, rotated):
    """Scores and variances of a row under full covariances."""
    for c in range(np.uint64(scores.shape[0])):
        root = state[c]
        mean = root[np.uint64(root.shape[0]) - ONE]
        scores[c] = mean[np.uint64(mean.shape[0]) - ONE] if settings.intercept else 0.0
        for k in range(row.first, row.last):
            scores[c] += mean[np.uint64(row.indices[k])] * np.float64(row.data[k])
        if variances.shape[0]:
            rotate(row, root, settings.intercept, rotated[c])
            variances[c] = dot(rotated[c], rotated[c])


@inlined
def look(row, state, settings, scores, variances, rotated):
    """Scores and variances of a row."""
    if state.ndim == 3:
        look_full(row, state, settings, scores, variances, rotated)
    else:
        look_many(row, state, settings, scores, variances)


# ---------------------------------------------------------------------- shifts: means and variances
@inlined
def shift_full(root, gain, rotated, variance):
    """Move the mean by g S x and the root A to that of S - k S x x'S, with the gains g of the mean
    and p of the precision, k = p / (1 + p v); `rotated` is A'x.
    """
    width = np.uint64(rotated.shape[0])
    mean = root[width]
    grown = 1.0 + gain.precision * variance
    gamma = gain.precision / grown / (1.0 + 1.0 / math.sqrt(grown))
    for i in range(width):
        spread = dot(root[i], rotated)
        mean[i] += gain.mean * spread
        if gain.precision > 0.0:
            for j in range(width):
                root[i, j] -= gamma * spread * rotated[j]


@inlined
def shift_many(row, state, settings, many, busy, taken):
    """Take a row into the busy outputs of a diagonal state."""
    for k in range(row.first, row.last):
        column, x = np.uint64(row.indices[k]), np.float64(row.data[k])
        for b in range(np.uint64(busy.shape[0])):
            gain = Gains(taken[b, 0], taken[b, 1])
            shift_weight(state, column, busy[b], many, settings.prior, x, gain)
    if settings.intercept:
        bias = np.uint64(state.shape[0]) - ONE
        for b in range(np.uint64(busy.shape[0])):
            gain = Gains(taken[b, 0], taken[b, 1])
            shift_weight(state, bias, busy[b], many, settings.prior, 1.0, gain)


@inlined
def shift(row, state, heaps, settings, busy, taken, rotated, variances):
    """Take a row into the busy outputs."""
    many, (kept, places) = np.uint64(variances.shape[0]), heaps
    if state.ndim == 3:
        for b in range(np.uint64(busy.shape[0])):
            c, gain = busy[b], Gains(taken[b, 0], taken[b, 1])
            shift_full(state[c], gain, rotated[c], variances[c])
    elif kept.shape[1]:
        for b in range(np.uint64(busy.shape[0])):
            c, gain = busy[b], Gains(taken[b, 0], taken[b, 1])
            shift_kept(row, state, kept[c], places, settings, c, many, gain)
    else:
        shift_many(row, state, settings, many, busy, taken)


# --------------------------------------------------------------------------- entry loops
@compiled
def learn_one(rows, span, state, costs, aims, gain, clock, settings):
    """Walk rows of one output with a diagonal covariance; as `learn_many`, written out for speed:
    the quotients of the look serve the shift.
    """
    data, indices, indptr, targets, weights = rows
    begin, stop, key = span
    steps, total = clock
    intercept, prior = settings
    n, bias = np.uint64(targets.shape[0]), np.uint64(state.shape[0]) - ONE
    cost, spreads = costs[0], np.empty(ROOM)
    ahead = row_at(begin, stop, n, key)
    for r in range(begin, stop):
        i, ahead = ahead, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        keeps = last - first <= np.uint64(spreads.shape[0])
        score = 0.0
        variance = 0.0
        for k in range(first, last):
            x = np.float64(data[k])
            column = indices[k]
            score += state[column, 0] * x
            spread = x / (prior + state[column, 1])
            if keeps:
                spreads[k - first] = spread
            variance += spread * x
        if intercept:
            score += state[bias, 0]
            variance += 1.0 / (prior + state[bias, 1])
        steps += 1.0
        total += weight
        direction, margin = direction_and_margin(aims, score, targets[i, 0])
        cost += weight * max(0.0, 1.0 - margin)
        mean, precision = confidence_update(gain, margin, variance, weight)
        if mean != 0.0 or precision != 0.0:
            mean *= direction
            for k in range(first, last):
                x = np.float64(data[k])
                column = indices[k]
                spread = spreads[k - first] if keeps else x / (prior + state[column, 1])
                state[column, 0] += mean * spread
                state[column, 1] += precision * (x * x)
            if intercept:
                shift_weight(state, bias, ZERO, ONE, prior, 1.0, Gains(mean, precision))
    costs[0] = cost
    return steps, total


@compiled
def learn_many(rows, span, state, heaps, costs, aims, gain, clock, settings):
    """Walk rows once for all outputs: classes against the rest, labels or regression targets.

    `rows` is (data, indices, indptr, targets, weights), `span` (start, stop, key of the shuffle or
    0), `clock` (steps, total weight), `settings` (intercept, precision at the start). The targets
    have one column that holds the side or the class number, or a column an output. `heaps` are
    those of `loop_heap`, without columns where nothing is selected. Returns the clock.
    """
    data, indices, indptr, targets, weights = rows
    begin, stop, key = span
    steps, total = clock
    settings = Settings(*settings)
    n, many = np.uint64(targets.shape[0]), np.uint64(costs.shape[0])
    by_class = many > ONE and targets.shape[1] == 1
    scores, variances, taken = np.zeros(many), np.zeros(many), np.zeros((many, 2))
    busy, rotated = np.zeros(many, np.uint64), np.zeros((many, state.shape[state.ndim - 1]))
    ahead = row_at(begin, stop, n, key)
    for r in range(begin, stop):
        i, ahead = ahead, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        row = Row(data, indices, indptr[i], indptr[i + ONE])
        look(row, state, settings, scores, variances, rotated)
        steps += 1.0
        total += weight
        count = np.uint64(0)
        for c in range(many):
            wanted = (1.0 if targets[i, 0] == c else -1.0) if by_class else targets[i, c]
            direction, margin = direction_and_margin(aims, scores[c], wanted)
            costs[c] += weight * max(0.0, 1.0 - margin)
            mean, precision = confidence_update(gain, margin, variances[c], weight)
            if mean != 0.0 or precision != 0.0:
                busy[count], taken[count, 0], taken[count, 1] = c, mean * direction, precision
                count += ONE
        if count:
            shift(row, state, heaps, settings, busy[:count], taken, rotated, variances)
    return steps, total


@compiled
def look_rows(rows, state, settings, scores, variances):
    """Fill the scores and variances (rows, outputs) of rows; the variances of a full covariance
    only where there is room for them.
    """
    (data, indices, indptr), settings = rows, Settings(*settings)
    many, wanted = scores.shape[1], variances.shape[0] > 0
    rotated, room = np.zeros((many, state.shape[state.ndim - 1])), np.zeros(many)
    spare = room if wanted or state.ndim == 2 else np.zeros(0)
    for i in range(np.uint64(scores.shape[0])):
        row = Row(data, indices, indptr[i], indptr[i + ONE])
        look(row, state, settings, scores[i], spare, rotated)
        if wanted:
            variances[i] = room
