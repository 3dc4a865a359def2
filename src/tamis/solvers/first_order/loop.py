"""The compiled first-order pass: any loss, penalty, optimizer and learning rate, one output or
many, O(nonzeros of the row) a step.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled, force_inlined, prefetch, source_inlined
from tamis.numerics.random import permuted_index
from tamis.terms.methods import (
    LazyState,
    adapts,
    apply_gradient,
    caches_weights,
    charge_step,
    clip_step,
    current_weight,
    depends_on_row,
    flush_cell,
    flush_urgency,
    gradient,
    gradient_and_log_terms,
    gradient_at_zero,
    gradient_unit,
    hessian_bound,
    implicit_gradient,
    rates,
    step_scale,
    step_size,
)
from tamis.terms.penalties import Free

FREE = Free()
ONE, FLOATS_PER_CACHE_LINE, INDICES_PER_CACHE_LINE = np.uint64(1), np.uint64(8), np.uint64(16)
# Nonzeros between the prefetch of a column's cells and their use. A whole row is too far: with
# twenty outputs, two rows do not fit into the L1 cache.
PREFETCH_DISTANCE = np.uint64(8)
# Steps after which all cells are flushed, so that the cumulative L1 stays small enough to be exact.
FLUSH_INTERVAL = 2.0**20
MIN_SCALE = 1e-60  # scale of the weights below which cells are flushed earlier
MAX_CACHED_WEIGHTS = 1024  # nonzeros of a row for which current weights are cached
MAX_PRODUCT = 1e100  # product of loss factors above which its logarithm goes into the sum
# Automatic step of the intercept over that of a column of the mean row norm. The intercept is in
# every row, and would oscillate with the same steps.
INTERCEPT_STEP_RATIO = 0.0625


@source_inlined
def advance(optimizer, penalty, eta, lazy, penalty_scales):
    """Return the lazy state after one more step."""
    scale, cumulative_l1, base = charge_step(optimizer, penalty, eta, lazy, penalty_scales)
    sum_scales, sum_scaled_l1 = lazy.sum_scales + scale, lazy.sum_scaled_l1 + scale * cumulative_l1
    ridge = rates(penalty)[1] * penalty_scales[1] * lazy.steps
    return LazyState(lazy.steps, scale, cumulative_l1, base, sum_scales, sum_scaled_l1, ridge)


@source_inlined
def flush_all(optimizer, penalty, state, lazy):
    """Flush all cells; return the lazy state with scale 1 and cumulative L1 0."""
    for cell in range(np.uint64(state.shape[1])):
        flush_cell(optimizer, state, penalty, cell, lazy)
    unchanged = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
    return LazyState(lazy.steps, 1.0, 0.0, *unchanged)


@source_inlined
def begin_step(lazy):
    """Return the lazy state at the start of its next step."""
    steps = lazy.steps + 1.0
    unchanged = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
    return LazyState(steps, lazy.scale, lazy.cumulative_l1, *unchanged)


@source_inlined
def as_floats(lazy):
    """Return a lazy state as a plain tuple, which Numba returns to Python faster."""
    charged = lazy.steps, lazy.scale, lazy.cumulative_l1
    return *charged, lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge


@source_inlined
def needs_flush(optimizer, lazy):
    """Return whether all cells must be flushed now."""
    urgency, n_intervals = flush_urgency(optimizer), lazy.steps / FLUSH_INTERVAL
    return urgency > 0.0 and (
        lazy.scale < MIN_SCALE * urgency or math.floor(n_intervals) == n_intervals
    )


@source_inlined
def update_row_stats(stats, averaging_weight, sqnorm, weight):
    """Return the statistics with one more row: mean row norm and total weight.

    The mean of norms varies less than that of squared norms on raw counts.
    """
    return stats[0] + (math.sqrt(sqnorm) - stats[0]) * averaging_weight, stats[1], stats[2] + weight


@source_inlined
def update_gradient_stats(stats, averaging_weight, gradient_at_zero):
    """Return the statistics with one more row: mean absolute gradient at score 0."""
    return stats[0], stats[1] + (gradient_at_zero - stats[1]) * averaging_weight, stats[2]


@source_inlined
def row_at(r, stop, n, key):
    """Return the index of the row at position r of the pass; beyond the end, that of the last."""
    r = min(r, stop - ONE)
    return permuted_index(r, n, key) if key else r


@source_inlined
def fetch_row(data, indices, first, last):
    """Prefetch the values and column indices of a row."""
    for k in range(first, last, INDICES_PER_CACHE_LINE):
        prefetch(data, k)
        prefetch(data, k + FLOATS_PER_CACHE_LINE)
        prefetch(indices, k)


@force_inlined
def fetch_cells(indices, k, state, n_outputs):
    """Prefetch the cells of all outputs of the column of the k-th nonzero; beyond the end of a
    row, of a nonzero of the next stored row.
    """
    cell = np.uint64(indices[min(k, np.uint64(indices.shape[0]) - ONE)]) * n_outputs
    for column in range(np.uint64(state.shape[0])):
        for output in range(np.uint64(0), n_outputs, FLOATS_PER_CACHE_LINE):
            prefetch(state, column * np.uint64(state.shape[1]) + cell + output)


@source_inlined
def add_loss(total, product, cost, factor, weight):
    """Add the loss of a row, `cost` + log(`factor`), to the total loss, `total` + log(`product`).

    Return the new `total` and `product`. One logarithm for many rows is cheaper than one a row.
    """
    total += cost * weight
    if weight == 1.0:
        product *= factor
    else:
        total += math.log(factor) * weight
    if product > MAX_PRODUCT:
        return total + math.log(product), 1.0
    return total, product


@source_inlined
def row_reach(optimizer, eta, bias_eta, sqnorm, norm, steps):
    """Return how far a step moves the score of its row, for a raw gradient of 1.

    Adaptive optimizers shrink their steps by past gradients, so that only the first steps are long.
    """
    if adapts(optimizer):
        return (sqnorm / (norm * norm) + 1.0 if norm > 0.0 else 1.0) / steps
    return eta * sqnorm + bias_eta


@force_inlined
def score_row(data, indices, first, last, state, optimizer, penalty, lazy, cache):
    """Return the score of a row divided by the scale of the weights, and its squared norm."""
    score, sqnorm, fits_cache = 0.0, 0.0, last - first <= np.uint64(cache.shape[0])
    for k in range(first, last):
        x = np.float64(data[k])
        weight = current_weight(optimizer, state, penalty, indices[k], lazy)
        if caches_weights(optimizer) and fits_cache:
            cache[k - first] = weight
        score += weight * x
        sqnorm += x * x
    return score, sqnorm


@force_inlined
def update_row(
    data, indices, first, last, state, optimizer, penalty, lazy, cache, raw_gradient, step
):
    """Update the cells of a row by its raw gradient (the derivative of the loss in the score)."""
    fits_cache = last - first <= np.uint64(cache.shape[0])
    for k in range(first, last):
        if caches_weights(optimizer) and fits_cache:
            weight = cache[k - first]
        else:
            weight = current_weight(optimizer, state, penalty, indices[k], lazy)
        apply_gradient(
            optimizer,
            state,
            penalty,
            indices[k],
            weight,
            raw_gradient,
            np.float64(data[k]),
            step,
            lazy,
        )


@source_inlined
def update_intercept(bias, optimizer, lazy, output, raw_gradient, eta):
    """Update an intercept by the raw gradient of a row."""
    weight = current_weight(optimizer, bias, FREE, output, lazy)
    apply_gradient(
        optimizer,
        bias,
        FREE,
        output,
        weight,
        raw_gradient,
        1.0,
        eta * raw_gradient / lazy.scale,
        lazy,
    )


@compiled
def learn_one(rows, span, cells, loss, penalty, optimizer, learning_rate, progress):
    """Learn from rows once, with one output.

    `rows` is (data, indices, indptr, targets, weights, offset), the last two of length 0 where
    there are none; `span` is (start, stop, key of the shuffle or 0); `cells` is (state, bias,
    costs); `progress` is (lazy state, lazy state of the intercept, statistics, flags). The
    statistics are (mean norm, mean gradient at score 0, total weight), the flags (intercept,
    automatic eta, automatic alpha). Return the two lazy states and the statistics.
    """
    data, indices, indptr, targets, weights, offset = rows
    start, stop, key = span
    state, bias, costs = cells
    lazy, bias_lazy, stats = LazyState(*progress[0]), LazyState(*progress[1]), progress[2]
    intercept, auto_eta, auto_alpha = progress[3]
    n, origin = np.uint64(targets.shape[0]), np.uint64(0)
    total, product = costs[0, 0], costs[1, 0]
    cache = np.empty(MAX_CACHED_WEIGHTS if caches_weights(optimizer) else 0)
    next_row = row_at(start, stop, n, key)
    for r in range(start, stop):
        i, next_row = next_row, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[next_row], indptr[next_row + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        y, row_offset = targets[i, 0], offset[i] if offset.shape[0] else 0.0
        lazy, bias_lazy = begin_step(lazy), begin_step(bias_lazy)
        averaging_weight, inverse_scale = 1.0 / lazy.steps, 1.0 / lazy.scale
        if auto_eta or auto_alpha:
            gradient_at_offset = (
                gradient(loss, row_offset, y) if offset.shape[0] else gradient_at_zero(loss, y)
            )
            stats = update_gradient_stats(stats, averaging_weight, abs(gradient_at_offset))
        # Computed before the score, so that the processor works while memory answers.
        eta = (
            1.0 if depends_on_row(learning_rate) else step_size(learning_rate, lazy.steps, 1.0, 1.0)
        )
        score, sqnorm = score_row(
            data, indices, first, last, state, optimizer, penalty, lazy, cache
        )
        stats = update_row_stats(stats, averaging_weight, sqnorm, weight)
        step_scaling, penalty_scales, intercept_ratio = 1.0, (1.0, 1.0), 1.0
        if auto_alpha:
            penalty_scales = (stats[1] * stats[0], stats[0] * stats[0])
        if auto_eta:
            gradient_scale = gradient_unit(loss, stats[1])
            step_scaling = (
                step_scale(optimizer, stats[0], gradient_scale) if stats[0] > 0.0 else 1.0
            )
            intercept_ratio = INTERCEPT_STEP_RATIO * step_scale(optimizer, 1.0, gradient_scale)
        score *= lazy.scale
        if intercept:
            score += bias_lazy.scale * current_weight(optimizer, bias, FREE, origin, bias_lazy)
        if offset.shape[0]:
            score += row_offset
        raw_gradient, cost, factor = gradient_and_log_terms(loss, score, y)
        total, product = add_loss(total, product, cost, factor, weight)
        if depends_on_row(learning_rate):
            eta = step_size(learning_rate, lazy.steps, cost + math.log(factor), sqnorm)
        bias_eta, eta = intercept_ratio * eta, step_scaling * eta
        reach = row_reach(optimizer, eta, intercept * bias_eta, sqnorm, stats[0], lazy.steps)
        raw_gradient = weight * implicit_gradient(loss, score, y, weight * reach, raw_gradient)
        if raw_gradient != 0.0:
            step = (
                (clip_step(optimizer, eta, hessian_bound(loss), sqnorm) if auto_eta else eta)
                * inverse_scale
                * raw_gradient
            )
            update_row(
                data,
                indices,
                first,
                last,
                state,
                optimizer,
                penalty,
                lazy,
                cache,
                raw_gradient,
                step,
            )
            if intercept:
                update_intercept(bias, optimizer, bias_lazy, origin, raw_gradient, bias_eta)
        lazy = advance(optimizer, penalty, eta, lazy, penalty_scales)
        if intercept:
            bias_lazy = advance(optimizer, FREE, bias_eta, bias_lazy, penalty_scales)
        if needs_flush(optimizer, lazy):
            lazy = flush_all(optimizer, penalty, state, lazy)
    costs[0, 0], costs[1, 0] = total, product
    return as_floats(lazy), as_floats(bias_lazy), stats


@compiled
def learn_many(rows, span, cells, loss, penalty, optimizer, learning_rate, progress, output_range):
    """Learn from rows once, with several outputs: classes against the rest, labels or targets.

    The cells hold a slice of all outputs; `output_range` is (first output of the slice, number of
    all outputs). `targets` has one column of class codes, or a column an output. Cell
    ``j * n_outputs + c`` is that of feature j and output c of the slice. Other arguments are those
    of `learn_one`.
    """
    data, indices, indptr, targets, weights, offset = rows
    start, stop, key = span
    state, bias, costs = cells
    lazy, bias_lazy, stats = LazyState(*progress[0]), LazyState(*progress[1]), progress[2]
    intercept, auto_eta, auto_alpha = progress[3]
    first_output, total_outputs = output_range
    n, n_outputs = np.uint64(targets.shape[0]), np.uint64(bias.shape[1])
    scratch, row_targets = np.zeros((3, n_outputs)), np.zeros(total_outputs)
    scores, raw_gradients, scaled_steps = scratch[0], scratch[1], scratch[2]
    cached_rows = min(np.uint64(MAX_CACHED_WEIGHTS), np.uint64(data.shape[0]))
    weight_cache = np.empty(cached_rows * n_outputs if caches_weights(optimizer) else np.uint64(0))
    next_row = row_at(start, stop, n, key)
    for r in range(start, stop):
        i, next_row = next_row, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[next_row], indptr[next_row + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        sqnorm, row_offset = 0.0, offset[i] if offset.shape[0] else 0.0
        for c in range(total_outputs):
            if targets.shape[1] == 1:
                row_targets[c] = 1.0 if targets[i, 0] == c else -1.0
            else:
                row_targets[c] = targets[i, c]
        for c in range(n_outputs):
            scores[c] = 0.0
        fits_cache = caches_weights(optimizer) and (last - first) * n_outputs <= np.uint64(
            weight_cache.shape[0]
        )
        for k in range(first, last):
            x = np.float64(data[k])
            cell, cache_start = np.uint64(indices[k]) * n_outputs, (k - first) * n_outputs
            fetch_cells(indices, k + PREFETCH_DISTANCE, state, n_outputs)
            if fits_cache:
                for c in range(n_outputs):
                    cell_weight = current_weight(optimizer, state, penalty, cell + c, lazy)
                    weight_cache[cache_start + c] = cell_weight
                    scores[c] += cell_weight * x
            else:
                for c in range(n_outputs):
                    scores[c] += current_weight(optimizer, state, penalty, cell + c, lazy) * x
            sqnorm += x * x
        lazy, bias_lazy = begin_step(lazy), begin_step(bias_lazy)
        t, averaging_weight, inverse_scale = lazy.steps, 1.0 / lazy.steps, 1.0 / lazy.scale
        stats = update_row_stats(stats, averaging_weight, sqnorm, weight)
        penalty_scales, step_scaling, intercept_ratio = (1.0, 1.0), 1.0, 1.0
        if auto_eta or auto_alpha:
            gradient_sum = 0.0
            for c in range(total_outputs):
                gradient_sum += abs(
                    gradient(loss, row_offset, row_targets[c])
                    if offset.shape[0]
                    else gradient_at_zero(loss, row_targets[c])
                )
            stats = update_gradient_stats(stats, averaging_weight, gradient_sum / total_outputs)
        if auto_alpha:
            penalty_scales = (stats[1] * stats[0], stats[0] * stats[0])
        if auto_eta:
            gradient_scale = gradient_unit(loss, stats[1])
            step_scaling = (
                step_scale(optimizer, stats[0], gradient_scale) if stats[0] > 0.0 else 1.0
            )
            intercept_ratio = INTERCEPT_STEP_RATIO * step_scale(optimizer, 1.0, gradient_scale)
        eta = 0.0
        for c in range(n_outputs):
            score = scores[c] * lazy.scale
            if intercept:
                score += bias_lazy.scale * current_weight(optimizer, bias, FREE, c, bias_lazy)
            if offset.shape[0]:
                score += row_offset
            raw_gradient, cost, factor = gradient_and_log_terms(
                loss, score, row_targets[first_output + c]
            )
            costs[0, c], costs[1, c] = add_loss(costs[0, c], costs[1, c], cost, factor, weight)
            eta = step_size(learning_rate, t, cost + math.log(factor), sqnorm)
            bias_eta = intercept * intercept_ratio * eta
            reach = row_reach(optimizer, step_scaling * eta, bias_eta, sqnorm, stats[0], t)
            raw_gradient = weight * implicit_gradient(
                loss, score, row_targets[first_output + c], weight * reach, raw_gradient
            )
            raw_gradients[c] = raw_gradient
            cell_step = (
                clip_step(optimizer, step_scaling * eta, hessian_bound(loss), sqnorm)
                if auto_eta
                else step_scaling * eta
            )
            scaled_steps[c] = cell_step * inverse_scale * raw_gradient
            if intercept and raw_gradient != 0.0:
                update_intercept(bias, optimizer, bias_lazy, c, raw_gradient, intercept_ratio * eta)
        for k in range(first, last):
            x = np.float64(data[k])
            cell, cache_start = np.uint64(indices[k]) * n_outputs, (k - first) * n_outputs
            if fits_cache:
                for c in range(n_outputs):
                    cell_weight = weight_cache[cache_start + c]
                    apply_gradient(
                        optimizer,
                        state,
                        penalty,
                        cell + c,
                        cell_weight,
                        raw_gradients[c],
                        x,
                        scaled_steps[c],
                        lazy,
                    )
            else:
                for c in range(n_outputs):
                    cell_weight = current_weight(optimizer, state, penalty, cell + c, lazy)
                    apply_gradient(
                        optimizer,
                        state,
                        penalty,
                        cell + c,
                        cell_weight,
                        raw_gradients[c],
                        x,
                        scaled_steps[c],
                        lazy,
                    )
        lazy = advance(optimizer, penalty, step_scaling * eta, lazy, penalty_scales)
        if intercept:
            bias_lazy = advance(optimizer, FREE, intercept_ratio * eta, bias_lazy, penalty_scales)
        if needs_flush(optimizer, lazy):
            lazy = flush_all(optimizer, penalty, state, lazy)
    return as_floats(lazy), as_floats(bias_lazy), stats
