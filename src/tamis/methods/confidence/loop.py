"""The second-order pass: every gain, diagonal or full covariance, one or many outputs, each row
read once.

A diagonal state is (columns + 1, 2 * outputs), the constant column last: what a step touches of a
column lies side by side; see `loop_heap`. A full state is (outputs, columns +
2, columns + 1): the rows of a root A of the covariance, S = A A', and below them the mean. Updates
of a root cannot lose positive definiteness.
"""

import math

import numpy as np

from tamis.base.jit import compiled, helper
from tamis.base.verbs import aim, gains
from tamis.methods.confidence.loop_heap import shift_kept, shift_weight
from tamis.solvers.first_order.loop import fetch_row, place

ZERO, ONE, TWO, THREE, FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
ROOM = 1024  # columns of a row, to begin with


# ---------------------------------------------------------------- looks: scores and their variances
@helper
def look_many(data, indices, first, last, state, prior, intercept, scores, variances):
    """Scores and variances of a row under diagonal covariances."""
    many = np.uint64(scores.shape[0])
    for c in range(many):
        scores[c], variances[c] = 0.0, 0.0
    for k in range(first, last):
        x = np.float64(data[k])
        column = np.uint64(indices[k])
        for c in range(many):
            scores[c] += state[column, c] * x
            variances[c] += x / (prior + state[column, many + c]) * x
    if intercept:
        bias = np.uint64(state.shape[0]) - ONE
        for c in range(many):
            scores[c] += state[bias, c]
            variances[c] += 1.0 / (prior + state[bias, many + c])


@helper
def rotate(data, indices, first, last, root, intercept, rotated):
    """Fill `rotated` with A'x."""
    width = np.uint64(rotated.shape[0])
    for j in range(width):
        rotated[j] = root[width - ONE, j] if intercept else 0.0
    for k in range(first, last):
        x = np.float64(data[k])
        row = np.uint64(indices[k])
        for j in range(width):
            rotated[j] += root[row, j] * x


@helper
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


@helper
def look_full(data, indices, first, last, state, intercept, scores, variances, rotated):
    """Scores and variances of a row under full covariances."""
    for c in range(np.uint64(scores.shape[0])):
        root = state[c]
        mean = root[np.uint64(root.shape[0]) - ONE]
        scores[c] = mean[np.uint64(mean.shape[0]) - ONE] if intercept else 0.0
        for k in range(first, last):
            scores[c] += mean[np.uint64(indices[k])] * np.float64(data[k])
        if variances.shape[0]:
            rotate(data, indices, first, last, root, intercept, rotated[c])
            variances[c] = dot(rotated[c], rotated[c])


@helper
def look(data, indices, first, last, state, prior, intercept, scores, variances, rotated):
    """Scores and variances of a row."""
    if state.ndim == 3:
        look_full(data, indices, first, last, state, intercept, scores, variances, rotated)
    else:
        look_many(data, indices, first, last, state, prior, intercept, scores, variances)


# ---------------------------------------------------------------------- shifts: means and variances
@helper
def shift_full(root, pull, narrow, rotated, variance):
    """Move the mean by pull S x and the root A to that of S - k S x x'S, k = narrow / (1 + narrow
    v); `rotated` is A'x.
    """
    width = np.uint64(rotated.shape[0])
    mean = root[width]
    grown = 1.0 + narrow * variance
    gamma = narrow / grown / (1.0 + 1.0 / math.sqrt(grown))
    for i in range(width):
        spread = dot(root[i], rotated)
        mean[i] += pull * spread
        if narrow > 0.0:
            for j in range(width):
                root[i, j] -= gamma * spread * rotated[j]


@helper
def shift_many(
    data, indices, first, last, state, prior, intercept, many, busy, count, pulls, narrows
):
    """Take a row into the busy outputs of a diagonal state."""
    for k in range(first, last):
        x = np.float64(data[k])
        for b in range(count):
            shift_weight(
                state, np.uint64(indices[k]), busy[b], many, prior, x, pulls[b], narrows[b]
            )
    if intercept:
        for b in range(count):
            shift_weight(
                state,
                np.uint64(state.shape[0]) - ONE,
                busy[b],
                many,
                prior,
                1.0,
                pulls[b],
                narrows[b],
            )


@helper
def shift(
    data,
    indices,
    first,
    last,
    state,
    kept,
    places,
    prior,
    intercept,
    busy,
    count,
    pulls,
    narrows,
    rotated,
    variances,
):
    """Take a row into the busy outputs."""
    many = np.uint64(variances.shape[0])
    if state.ndim == 3:
        for b in range(count):
            shift_full(state[busy[b]], pulls[b], narrows[b], rotated[busy[b]], variances[busy[b]])
    elif kept.shape[1]:
        for b in range(count):
            shift_kept(
                data,
                indices,
                first,
                last,
                state,
                kept[busy[b]],
                places,
                prior,
                intercept,
                busy[b],
                many,
                pulls[b],
                narrows[b],
            )
    else:
        shift_many(
            data, indices, first, last, state, prior, intercept, many, busy, count, pulls, narrows
        )


# --------------------------------------------------------------------------- entry loops
@compiled
def learn_one(
    data, indices, indptr, targets, weights, rows, state, costs, aims, gain, clock, settings
):
    """Walk rows of one output with a diagonal covariance; as `learn_many`, written out for speed:
    the quotients of the look serve the shift.
    """
    begin, stop, key = rows
    steps, total = clock
    intercept, prior = settings
    n, bias = np.uint64(targets.shape[0]), np.uint64(state.shape[0]) - ONE
    cost, spreads = costs[0], np.empty(ROOM)
    ahead = place(begin, stop, n, key)
    for r in range(begin, stop):
        i, ahead = ahead, place(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        if last - first > np.uint64(spreads.shape[0]):
            spreads = np.empty(TWO * (last - first))
        score = 0.0
        variance = 0.0
        for k in range(first, last):
            x = np.float64(data[k])
            column = indices[k]
            score += state[column, 0] * x
            spread = x / (prior + state[column, 1])
            spreads[k - first] = spread
            variance += spread * x
        if intercept:
            score += state[bias, 0]
            variance += 1.0 / (prior + state[bias, 1])
        steps += 1.0
        total += weight
        direction, margin = aim(aims, score, targets[i, 0])
        cost += weight * max(0.0, 1.0 - margin)
        pull, narrow = gains(gain, margin, variance, weight)
        if pull != 0.0 or narrow != 0.0:
            pull *= direction
            for k in range(first, last):
                x = np.float64(data[k])
                column = indices[k]
                state[column, 0] += pull * spreads[k - first]
                state[column, 1] += narrow * (x * x)
            if intercept:
                shift_weight(state, bias, ZERO, ONE, prior, 1.0, pull, narrow)
    costs[0] = cost
    return steps, total


@compiled
def learn_many(
    data,
    indices,
    indptr,
    targets,
    weights,
    rows,
    state,
    kept,
    places,
    costs,
    aims,
    gain,
    clock,
    settings,
):
    """Walk rows once for all outputs: classes against the rest, labels or regression targets.

    `rows` is (start, stop, key of the shuffle or 0), `clock` (steps, total weight), `settings`
    (intercept, precision at the start). `targets` has one column that holds the side or the class
    number, or a column an output. `kept` and `places` are the heaps of
    `loop_heap`, without columns where nothing is selected. Returns the clock.
    """
    begin, stop, key = rows
    steps, total = clock
    intercept, prior = settings
    n, many = np.uint64(targets.shape[0]), np.uint64(costs.shape[0])
    by_class = many > ONE and targets.shape[1] == 1
    scores, variances, pulls, narrows = (
        np.zeros(many),
        np.zeros(many),
        np.zeros(many),
        np.zeros(many),
    )
    busy, rotated = np.zeros(many, np.uint64), np.zeros((many, state.shape[state.ndim - 1]))
    ahead = place(begin, stop, n, key)
    for r in range(begin, stop):
        i, ahead = ahead, place(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        look(data, indices, first, last, state, prior, intercept, scores, variances, rotated)
        steps += 1.0
        total += weight
        count = np.uint64(0)
        for c in range(many):
            wanted = (1.0 if targets[i, 0] == c else -1.0) if by_class else targets[i, c]
            direction, margin = aim(aims, scores[c], wanted)
            costs[c] += weight * max(0.0, 1.0 - margin)
            pull, narrow = gains(gain, margin, variances[c], weight)
            if pull != 0.0 or narrow != 0.0:
                busy[count], pulls[count], narrows[count] = c, pull * direction, narrow
                count += ONE
        if count:
            shift(
                data,
                indices,
                first,
                last,
                state,
                kept,
                places,
                prior,
                intercept,
                busy,
                count,
                pulls,
                narrows,
                rotated,
                variances,
            )
    return steps, total


@compiled
def look_rows(data, indices, indptr, state, settings, scores, variances):
    """Fill the scores and variances (rows, outputs) of rows; the variances of a full covariance
    only where there is room for them.
    """
    intercept, prior = settings
    rotated, nothing, room = (
        np.zeros((scores.shape[1], state.shape[state.ndim - 1])),
        np.zeros(0),
        np.zeros(scores.shape[1]),
    )
    wanted = variances.shape[0] > 0
    for i in range(np.uint64(scores.shape[0])):
        spare = room if wanted or state.ndim == 2 else nothing
        look(
            data,
            indices,
            indptr[i],
            indptr[i + ONE],
            state,
            prior,
            intercept,
            scores[i],
            spare,
            rotated,
        )
        if wanted:
            variances[i] = room
