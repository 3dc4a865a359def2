"""The first-order pass: every loss, penalty, optimizer and learning rate, binary or many outputs,
O(nonzeros of the row) a step.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled, copied, inlined, prefetch
from tamis.numerics.random import shuffled
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
ONE, EIGHT, LINE = np.uint64(1), np.uint64(8), np.uint64(16)
# Numbers between the fetch of a column's cells and the look at them. A whole row ahead is too far:
# with twenty outputs two rows do not fit into the nearest cache.
AHEAD = np.uint64(8)
FLUSH_EVERY = (
    2.0**20
)  # steps after which all cells are flushed, so that the cumulative L1 stays small
SMALLEST = 1e-60  # scale below which they are flushed earlier
ROOM = 1024  # cells of a row whose current weights are stored
FULL = 1e100  # product of factors that is turned into a sum
# automatic steps of the intercept, against those of a row: it is in every row, and would swing
INTERCEPT_STEP_RATIO = 0.0625


@copied
def advance(optimizer, penalty, eta, lazy, penalty_scales):
    """The lazy state after one more step."""
    scale, cumulative_l1, base = charge_step(optimizer, penalty, eta, lazy, penalty_scales)
    sum_scales, sum_scaled_l1 = lazy.sum_scales + scale, lazy.sum_scaled_l1 + scale * cumulative_l1
    ridge = rates(penalty)[1] * penalty_scales[1] * lazy.steps
    return LazyState(lazy.steps, scale, cumulative_l1, base, sum_scales, sum_scaled_l1, ridge)


@copied
def flush_all(optimizer, penalty, state, lazy):
    """Flush all cells; returns the lazy state with scale 1 and cumulative L1 0."""
    for cell in range(np.uint64(state.shape[1])):
        flush_cell(optimizer, state, penalty, cell, lazy)
    rest = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
    return LazyState(lazy.steps, 1.0, 0.0, *rest)


@copied
def begin_step(lazy):
    """The lazy state at the start of its next step."""
    steps = lazy.steps + 1.0
    rest = (lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge)
    return LazyState(steps, lazy.scale, lazy.cumulative_l1, *rest)


@copied
def as_floats(lazy):
    """The numbers of a lazy state: faster to return to Python than a named tuple."""
    balance = lazy.steps, lazy.scale, lazy.cumulative_l1
    return *balance, lazy.base, lazy.sum_scales, lazy.sum_scaled_l1, lazy.ridge


@copied
def needs_flush(optimizer, lazy):
    """Whether every cell must be flushed now."""
    urgency, turns = flush_urgency(optimizer), lazy.steps / FLUSH_EVERY
    return urgency > 0.0 and (lazy.scale < SMALLEST * urgency or math.floor(turns) == turns)


@copied
def update_row_stats(stats, share, sqnorm, weight):
    """Running mean of the rows' norm (steadier than that of its square on raw counts), and total of
    their weights; `share` is that of this row.
    """
    return stats[0] + (math.sqrt(sqnorm) - stats[0]) * share, stats[1], stats[2] + weight


@copied
def update_gradient_stats(stats, share, gradient_at_zero):
    """Running mean of the gradient at score 0: the unit of gradients."""
    return stats[0], stats[1] + (gradient_at_zero - stats[1]) * share, stats[2]


@copied
def row_at(r, stop, n, key):
    """Number of the row at position r of the walk, or of its last row beyond the end."""
    r = min(r, stop - ONE)
    return shuffled(r, n, key) if key else r


@copied
def fetch_row(data, indices, first, last):
    """Bring a row that lies anywhere into the cache."""
    for k in range(first, last, LINE):
        prefetch(data, k)
        prefetch(data, k + EIGHT)
        prefetch(indices, k)


@inlined
def fetch_cells(indices, k, state, many):
    """Bring the cells of all outputs of the k-th number's column into the cache before they are
    read; beyond a row's end that is one of the next row as stored.
    """
    cell = np.uint64(indices[min(k, np.uint64(indices.shape[0]) - ONE)]) * many
    for column in range(np.uint64(state.shape[0])):
        for c in range(np.uint64(0), many, EIGHT):
            prefetch(state, column * np.uint64(state.shape[1]) + cell + c)


@copied
def add_loss(total, product, cost, factor, weight):
    """The running loss with a row's added: a sum, and a product whose logarithm belongs to it."""
    total += cost * weight
    if weight == 1.0:
        product *= factor
    else:
        total += math.log(factor) * weight
    if product > FULL:
        return total + math.log(product), 1.0
    return total, product


@copied
def row_reach(optimizer, eta, bias_eta, sqnorm, norm, steps):
    """How far a step moves the score of its row for each unit of the gradient. Where coordinates
    have rates of their own, which past gradients hold back, the first steps alone need care.
    """
    if adapts(optimizer):
        return (sqnorm / (norm * norm) + 1.0 if norm > 0.0 else 1.0) / steps
    return eta * sqnorm + bias_eta


@inlined
def score_row(data, indices, first, last, state, optimizer, penalty, lazy, kept):
    """Score of a row in units of the scale, and its squared norm."""
    score, sqnorm, keeps = 0.0, 0.0, last - first <= np.uint64(kept.shape[0])
    for k in range(first, last):
        x = np.float64(data[k])
        weight = current_weight(optimizer, state, penalty, indices[k], lazy)
        if caches_weights(optimizer) and keeps:
            kept[k - first] = weight
        score += weight * x
        sqnorm += x * x
    return score, sqnorm


@inlined
def update_row(data, indices, first, last, state, optimizer, penalty, lazy, kept, s, pace):
    """Update the cells of a row by its raw gradient `s`."""
    keeps = last - first <= np.uint64(kept.shape[0])
    for k in range(first, last):
        if caches_weights(optimizer) and keeps:
            weight = kept[k - first]
        else:
            weight = current_weight(optimizer, state, penalty, indices[k], lazy)
        apply_gradient(
            optimizer, state, penalty, indices[k], weight, s, np.float64(data[k]), pace, lazy
        )


@copied
def update_intercept(bias, optimizer, lazy, output, s, eta):
    """Update an intercept by the raw gradient `s`."""
    weight = current_weight(optimizer, bias, FREE, output, lazy)
    apply_gradient(optimizer, bias, FREE, output, weight, s, 1.0, eta * s / lazy.scale, lazy)


@compiled
def learn_one(rows, span, cells, loss, penalty, optimizer, learning_rate, clocks):
    """Walk rows of one output.

    `rows` is (data, indices, indptr, targets, weights, offset), the last two of length 0 where
    there are none, `span` (start, stop, key of the shuffle or 0), `cells` (state, bias, costs),
    `clocks` (lazy state, that of the intercept, statistics, flags). The statistics are (mean norm,
    mean gradient at 0, total weight), the flags (intercept, automatic eta, automatic alpha).
    Returns the two lazy states and the statistics.
    """
    data, indices, indptr, targets, weights, offset = rows
    start, stop, key = span
    state, bias, costs = cells
    lazy, bias_lazy, stats = LazyState(*clocks[0]), LazyState(*clocks[1]), clocks[2]
    intercept, auto_eta, auto_alpha = clocks[3]
    n, origin = np.uint64(targets.shape[0]), np.uint64(0)
    total, product = costs[0, 0], costs[1, 0]
    kept = np.empty(ROOM if caches_weights(optimizer) else 0)
    ahead = row_at(start, stop, n, key)
    for r in range(start, stop):
        i, ahead = ahead, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        y, shift = targets[i, 0], offset[i] if offset.shape[0] else 0.0
        lazy, bias_lazy = begin_step(lazy), begin_step(bias_lazy)
        share, back = 1.0 / lazy.steps, 1.0 / lazy.scale
        if auto_eta or auto_alpha:
            start_gradient = (
                gradient(loss, shift, y) if offset.shape[0] else gradient_at_zero(loss, y)
            )
            stats = update_gradient_stats(stats, share, abs(start_gradient))
        # What does not need the score comes before it is known: the processor goes on meanwhile.
        eta = (
            1.0 if depends_on_row(learning_rate) else step_size(learning_rate, lazy.steps, 1.0, 1.0)
        )
        score, sqnorm = score_row(data, indices, first, last, state, optimizer, penalty, lazy, kept)
        stats = update_row_stats(stats, share, sqnorm, weight)
        step_scaling, penalty_scales, intercept_ratio = 1.0, (1.0, 1.0), 1.0
        if auto_alpha:
            penalty_scales = (stats[1] * stats[0], stats[0] * stats[0])
        if auto_eta:
            unit = gradient_unit(loss, stats[1])
            step_scaling = step_scale(optimizer, stats[0], unit) if stats[0] > 0.0 else 1.0
            intercept_ratio = INTERCEPT_STEP_RATIO * step_scale(optimizer, 1.0, unit)
        score *= lazy.scale
        if intercept:
            score += bias_lazy.scale * current_weight(optimizer, bias, FREE, origin, bias_lazy)
        if offset.shape[0]:
            score += shift
        s, cost, factor = gradient_and_log_terms(loss, score, y)
        total, product = add_loss(total, product, cost, factor, weight)
        if depends_on_row(learning_rate):
            eta = step_size(learning_rate, lazy.steps, cost + math.log(factor), sqnorm)
        bias_eta, eta = intercept_ratio * eta, step_scaling * eta
        reach = row_reach(optimizer, eta, intercept * bias_eta, sqnorm, stats[0], lazy.steps)
        s = weight * implicit_gradient(loss, score, y, weight * reach, s)
        if s != 0.0:
            pace = (
                (clip_step(optimizer, eta, hessian_bound(loss), sqnorm) if auto_eta else eta)
                * back
                * s
            )
            update_row(data, indices, first, last, state, optimizer, penalty, lazy, kept, s, pace)
            if intercept:
                update_intercept(bias, optimizer, bias_lazy, origin, s, bias_eta)
        lazy = advance(optimizer, penalty, eta, lazy, penalty_scales)
        if intercept:
            bias_lazy = advance(optimizer, FREE, bias_eta, bias_lazy, penalty_scales)
        if needs_flush(optimizer, lazy):
            lazy = flush_all(optimizer, penalty, state, lazy)
    costs[0, 0], costs[1, 0] = total, product
    return as_floats(lazy), as_floats(bias_lazy), stats


@compiled
def learn_many(rows, span, cells, loss, penalty, optimizer, learning_rate, clocks, part):
    """Walk rows once for the outputs `part` = (first, of how many) on, as many as `cells` hold:
    classes against the rest, labels or regression targets.

    `targets` has one column that holds the class number, or a column an output. Cell j * many + c
    is output c of feature j. The rest is as in `learn_one`.
    """
    data, indices, indptr, targets, weights, offset = rows
    start, stop, key = span
    state, bias, costs = cells
    lazy, bias_lazy, stats = LazyState(*clocks[0]), LazyState(*clocks[1]), clocks[2]
    intercept, auto_eta, auto_alpha = clocks[3]
    low, outputs = part
    n, many = np.uint64(targets.shape[0]), np.uint64(bias.shape[1])
    scratch, wanted = np.zeros((3, many)), np.zeros(outputs)
    scores, slopes, paces = scratch[0], scratch[1], scratch[2]
    longest = min(np.uint64(ROOM), np.uint64(data.shape[0]))
    kept = np.empty(longest * many if caches_weights(optimizer) else np.uint64(0))
    ahead = row_at(start, stop, n, key)
    for r in range(start, stop):
        i, ahead = ahead, row_at(r + ONE, stop, n, key)
        if key:
            fetch_row(data, indices, indptr[ahead], indptr[ahead + ONE])
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        sqnorm, shift = 0.0, offset[i] if offset.shape[0] else 0.0
        for c in range(outputs):
            if targets.shape[1] == 1:
                wanted[c] = 1.0 if targets[i, 0] == c else -1.0
            else:
                wanted[c] = targets[i, c]
        for c in range(many):
            scores[c] = 0.0
        keeps = caches_weights(optimizer) and (last - first) * many <= np.uint64(kept.shape[0])
        for k in range(first, last):
            x = np.float64(data[k])
            cell, kept_at = np.uint64(indices[k]) * many, (k - first) * many
            fetch_cells(indices, k + AHEAD, state, many)
            if keeps:
                for c in range(many):
                    held = current_weight(optimizer, state, penalty, cell + c, lazy)
                    kept[kept_at + c] = held
                    scores[c] += held * x
            else:
                for c in range(many):
                    scores[c] += current_weight(optimizer, state, penalty, cell + c, lazy) * x
            sqnorm += x * x
        lazy, bias_lazy = begin_step(lazy), begin_step(bias_lazy)
        t, share, back = lazy.steps, 1.0 / lazy.steps, 1.0 / lazy.scale
        stats = update_row_stats(stats, share, sqnorm, weight)
        penalty_scales, step_scaling, intercept_ratio = (1.0, 1.0), 1.0, 1.0
        if auto_eta or auto_alpha:
            start_slope = 0.0
            for c in range(outputs):
                start_slope += abs(
                    gradient(loss, shift, wanted[c])
                    if offset.shape[0]
                    else gradient_at_zero(loss, wanted[c])
                )
            stats = update_gradient_stats(stats, share, start_slope / outputs)
        if auto_alpha:
            penalty_scales = (stats[1] * stats[0], stats[0] * stats[0])
        if auto_eta:
            unit = gradient_unit(loss, stats[1])
            step_scaling = step_scale(optimizer, stats[0], unit) if stats[0] > 0.0 else 1.0
            intercept_ratio = INTERCEPT_STEP_RATIO * step_scale(optimizer, 1.0, unit)
        eta = 0.0
        for c in range(many):
            score = scores[c] * lazy.scale
            if intercept:
                score += bias_lazy.scale * current_weight(optimizer, bias, FREE, c, bias_lazy)
            if offset.shape[0]:
                score += shift
            s, cost, factor = gradient_and_log_terms(loss, score, wanted[low + c])
            costs[0, c], costs[1, c] = add_loss(costs[0, c], costs[1, c], cost, factor, weight)
            eta = step_size(learning_rate, t, cost + math.log(factor), sqnorm)
            bias_eta = intercept * intercept_ratio * eta
            reach = row_reach(optimizer, step_scaling * eta, bias_eta, sqnorm, stats[0], t)
            s = weight * implicit_gradient(loss, score, wanted[low + c], weight * reach, s)
            slopes[c] = s
            rate = (
                clip_step(optimizer, step_scaling * eta, hessian_bound(loss), sqnorm)
                if auto_eta
                else step_scaling * eta
            )
            paces[c] = rate * back * s
            if intercept and s != 0.0:
                update_intercept(bias, optimizer, bias_lazy, c, s, intercept_ratio * eta)
        for k in range(first, last):
            x = np.float64(data[k])
            cell, kept_at = np.uint64(indices[k]) * many, (k - first) * many
            if keeps:
                for c in range(many):
                    held = kept[kept_at + c]
                    apply_gradient(
                        optimizer, state, penalty, cell + c, held, slopes[c], x, paces[c], lazy
                    )
            else:
                for c in range(many):
                    held = current_weight(optimizer, state, penalty, cell + c, lazy)
                    apply_gradient(
                        optimizer, state, penalty, cell + c, held, slopes[c], x, paces[c], lazy
                    )
        lazy = advance(optimizer, penalty, step_scaling * eta, lazy, penalty_scales)
        if intercept:
            bias_lazy = advance(optimizer, FREE, intercept_ratio * eta, bias_lazy, penalty_scales)
        if needs_flush(optimizer, lazy):
            lazy = flush_all(optimizer, penalty, state, lazy)
    return as_floats(lazy), as_floats(bias_lazy), stats
