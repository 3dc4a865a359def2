"""The compiled second-order pass: any confidence update, diagonal or full covariance, one output or
many.

A diagonal state has shape (columns + 1, 2 * outputs), the constant column last; `loop_heap` says
what it holds. A full state has shape (outputs, columns + 2, columns + 1): the rows of a root A of
the covariance, S = A A', and the mean below them. Updates of a root keep the covariance positive
definite.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled, force_inlined, prefetch
from tamis.solvers.first_order.loop import PREFETCH_DISTANCE, fetch_row, row_at
from tamis.solvers.second_order.loop_heap import (
    Row,
    Settings,
    Update,
    update_selected,
    update_weight,
)
from tamis.terms.methods import confidence_update, direction_and_margin

ZERO, ONE, TWO, THREE, FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
FLOATS_PER_CACHE_LINE = np.uint64(8)
MAX_CACHED_QUOTIENTS = 1024  # nonzeros of a row whose quotients x / precision are cached


# ------------------------------------------------------------------------ scores and variances
@force_inlined
def fetch_column(indices, k, state):
    """Prefetch the cells of the column of the k-th nonzero in a diagonal state; beyond the end of
    a row, of a nonzero of the next stored row.
    """
    column = np.uint64(indices[min(k, np.uint64(indices.shape[0]) - ONE)])
    width = np.uint64(state.shape[1])
    for c in range(np.uint64(0), width, FLOATS_PER_CACHE_LINE):
        prefetch(state, column * width + c)


@force_inlined
def score_diagonal(row, state, settings, scores, variances):
    """Fill the scores and variances of a row under diagonal covariances."""
    n_outputs, prior = np.uint64(scores.shape[0]), settings.prior
    for c in range(n_outputs):
        scores[c], variances[c] = 0.0, 0.0
    for k in range(row.first, row.last):
        x = np.float64(row.data[k])
        column = np.uint64(row.indices[k])
        fetch_column(row.indices, k + PREFETCH_DISTANCE, state)
        for c in range(n_outputs):
            scores[c] += state[column, c] * x
            variances[c] += x / (prior + state[column, n_outputs + c]) * x
    if settings.intercept:
        bias = np.uint64(state.shape[0]) - ONE
        for c in range(n_outputs):
            scores[c] += state[bias, c]
            variances[c] += 1.0 / (prior + state[bias, n_outputs + c])


@force_inlined
def rotate(row, root, intercept, rotated):
    """Fill `rotated` with A'x, where A is the root of the covariance."""
    width = np.uint64(rotated.shape[0])
    for j in range(width):
        rotated[j] = root[width - ONE, j] if intercept else 0.0
    for k in range(row.first, row.last):
        x = np.float64(row.data[k])
        column = np.uint64(row.indices[k])
        for j in range(width):
            rotated[j] += root[column, j] * x


@force_inlined
def dot(a, b):
    """Return the inner product, in four independent sums for instruction-level parallelism."""
    n = np.uint64(a.shape[0])
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    unrolled = n - n % FOUR
    for k in range(np.uint64(0), unrolled, FOUR):
        s0 += a[k] * b[k]
        s1 += a[k + ONE] * b[k + ONE]
        s2 += a[k + TWO] * b[k + TWO]
        s3 += a[k + THREE] * b[k + THREE]
    for k in range(unrolled, n):
        s0 += a[k] * b[k]
    return (s0 + s1) + (s2 + s3)


@force_inlined
def score_full(row, state, settings, scores, variances, rotated):
    """Fill the scores and variances of a row under full covariances."""
    for c in range(np.uint64(scores.shape[0])):
        root = state[c]
        mean = root[np.uint64(root.shape[0]) - ONE]
        scores[c] = mean[np.uint64(mean.shape[0]) - ONE] if settings.intercept else 0.0
        for k in range(row.first, row.last):
            scores[c] += mean[np.uint64(row.indices[k])] * np.float64(row.data[k])
        if variances.shape[0]:
            rotate(row, root, settings.intercept, rotated[c])
            variances[c] = dot(rotated[c], rotated[c])


@force_inlined
def score_row(row, state, settings, scores, variances, rotated):
    """Fill the scores and variances of a row."""
    if state.ndim == 3:
        score_full(row, state, settings, scores, variances, rotated)
    else:
        score_diagonal(row, state, settings, scores, variances)


# -------------------------------------------------------------- updates of means and variances
@force_inlined
def update_full(root, update, rotated, variance):
    """Add g S x to the mean and change the root A to that of S - k S x x'S.

    g and p are the updates of mean and precision, k = p / (1 + p v), v is the variance of the row,
    and `rotated` is A'x.
    """
    width = np.uint64(rotated.shape[0])
    mean = root[width]
    growth = 1.0 + update.precision * variance
    gamma = update.precision / growth / (1.0 + 1.0 / math.sqrt(growth))
    for i in range(width):
        projection = dot(root[i], rotated)
        mean[i] += update.mean * projection
        if update.precision > 0.0:
            for j in range(width):
                root[i, j] -= gamma * projection * rotated[j]


@force_inlined
def update_diagonal(row, state, settings, n_outputs, updated_outputs, updates):
    """Update some outputs of a diagonal state by a row."""
    for k in range(row.first, row.last):
        column, x = np.uint64(row.indices[k]), np.float64(row.data[k])
        for b in range(np.uint64(updated_outputs.shape[0])):
            update = Update(updates[b, 0], updates[b, 1])
            update_weight(state, column, updated_outputs[b], n_outputs, settings.prior, x, update)
    if settings.intercept:
        bias = np.uint64(state.shape[0]) - ONE
        for b in range(np.uint64(updated_outputs.shape[0])):
            update = Update(updates[b, 0], updates[b, 1])
            update_weight(state, bias, updated_outputs[b], n_outputs, settings.prior, 1.0, update)


@force_inlined
def update_outputs(row, state, heaps, settings, updated_outputs, updates, rotated, variances):
    """Update some outputs by a row; `updates` has their updates of mean and precision."""
    n_outputs, (heap_columns, positions) = np.uint64(variances.shape[0]), heaps
    if state.ndim == 3:
        for b in range(np.uint64(updated_outputs.shape[0])):
            c, update = updated_outputs[b], Update(updates[b, 0], updates[b, 1])
            update_full(state[c], update, rotated[c], variances[c])
    elif heap_columns.shape[1]:
        for b in range(np.uint64(updated_outputs.shape[0])):
            c, update = updated_outputs[b], Update(updates[b, 0], updates[b, 1])
            update_selected(row, state, heap_columns[c], positions, settings, c, n_outputs, update)
    else:
        update_diagonal(row, state, settings, n_outputs, updated_outputs, updates)


# --------------------------------------------------------------------------- entry loops
@compiled
def learn_one(rows, span, state, costs, aims, confidence_gain, progress, settings):
    """Learn from rows once, with one output and a diagonal covariance.

    The same as `learn_many`, but faster: the update uses the quotients of the score again.
    """
    data, indices, indptr, targets, weights = rows
    start, stop, key = span
    steps, total = progress
    intercept, prior = settings
    n, bias = np.uint64(targets.shape[0]), np.uint64(state.shape[0]) - ONE
    cost, cache = costs[0], np.empty(MAX_CACHED_QUOTIENTS)
    next_row = row_at(start, stop, n, key)
    for r in range(start, stop):
        i, next_row = next_row, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[next_row], indptr[next_row + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        fits_cache = last - first <= np.uint64(cache.shape[0])
        score = 0.0
        variance = 0.0
        for k in range(first, last):
            x = np.float64(data[k])
            column = indices[k]
            score += state[column, 0] * x
            quotient = x / (prior + state[column, 1])
            if fits_cache:
                cache[k - first] = quotient
            variance += quotient * x
        if intercept:
            score += state[bias, 0]
            variance += 1.0 / (prior + state[bias, 1])
        steps += 1.0
        total += weight
        direction, margin = direction_and_margin(aims, score, targets[i, 0])
        cost += weight * max(0.0, 1.0 - margin)
        mean, precision = confidence_update(confidence_gain, margin, variance, weight)
        if mean != 0.0 or precision != 0.0:
            mean *= direction
            for k in range(first, last):
                x = np.float64(data[k])
                column = indices[k]
                quotient = cache[k - first] if fits_cache else x / (prior + state[column, 1])
                state[column, 0] += mean * quotient
                state[column, 1] += precision * (x * x)
            if intercept:
                update_weight(state, bias, ZERO, ONE, prior, 1.0, Update(mean, precision))
    costs[0] = cost
    return steps, total


@compiled
def learn_many(rows, span, state, heaps, costs, aims, confidence_gain, progress, settings):
    """Learn from rows once, with all outputs: classes against the rest, labels or targets.

    `rows` is (data, indices, indptr, targets, weights); `span` is (start, stop, key of the shuffle
    or 0); `progress` is (steps, total weight); `settings` is (intercept, initial precision). The
    targets have one column of signs or class codes, or a column an output. `heaps` is (heap of each
    output, positions) as in `loop_heap`, without columns where no features are selected. Return
    the progress.
    """
    data, indices, indptr, targets, weights = rows
    start, stop, key = span
    steps, total = progress
    settings = Settings(*settings)
    n, n_outputs = np.uint64(targets.shape[0]), np.uint64(costs.shape[0])
    by_class = n_outputs > ONE and targets.shape[1] == 1
    scores, variances, updates = np.zeros(n_outputs), np.zeros(n_outputs), np.zeros((n_outputs, 2))
    updated_outputs = np.zeros(n_outputs, np.uint64)
    rotated = np.zeros((n_outputs, state.shape[state.ndim - 1]))
    next_row = row_at(start, stop, n, key)
    for r in range(start, stop):
        i, next_row = next_row, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[next_row], indptr[next_row + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        row = Row(data, indices, indptr[i], indptr[i + ONE])
        score_row(row, state, settings, scores, variances, rotated)
        steps += 1.0
        total += weight
        n_updated = np.uint64(0)
        for c in range(n_outputs):
            target = (1.0 if targets[i, 0] == c else -1.0) if by_class else targets[i, c]
            direction, margin = direction_and_margin(aims, scores[c], target)
            costs[c] += weight * max(0.0, 1.0 - margin)
            mean, precision = confidence_update(confidence_gain, margin, variances[c], weight)
            if mean != 0.0 or precision != 0.0:
                updated_outputs[n_updated], updates[n_updated, 0], updates[n_updated, 1] = (
                    c,
                    mean * direction,
                    precision,
                )
                n_updated += ONE
        if n_updated:
            update_outputs(
                row,
                state,
                heaps,
                settings,
                updated_outputs[:n_updated],
                updates,
                rotated,
                variances,
            )
    return steps, total


@compiled
def score_rows_and_variances(rows, state, settings, scores, variances):
    """Fill the scores and the variances (rows, outputs) of rows; no variances if `variances` is
    empty.
    """
    (data, indices, indptr), settings = rows, Settings(*settings)
    n_outputs, has_variances = scores.shape[1], variances.shape[0] > 0
    rotated, row_variances = np.zeros((n_outputs, state.shape[state.ndim - 1])), np.zeros(n_outputs)
    variance_buffer = row_variances if has_variances or state.ndim == 2 else np.zeros(0)
    for i in range(np.uint64(scores.shape[0])):
        row = Row(data, indices, indptr[i], indptr[i + ONE])
        score_row(row, state, settings, scores[i], variance_buffer, rotated)
        if has_variances:
            variances[i] = row_variances
