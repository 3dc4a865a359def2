"""Compiled passes over the next rows of a stream: one step of every model of both settings for each
row, with running scales and steps; and sums over all rows that need no model.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.loop import ONE, max_row_entries, soft_threshold
from tamis.numerics.numba import compiled, compiled_helper
from tamis.terms.methods import gradient

MIN_SQUARE = 1e-300  # a square may underflow, and 0 / 0 is no step
# Running totals: rows, their weight, columns seen, sum of squared norms in standard units.
TOTALS = np.dtype((np.record, [(name, "f8") for name in ("rows", "weight", "seen", "squares")]))


class Chunk(NamedTuple):
    """The next rows of a stream, and the fold of each."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    folds: np.ndarray


class StreamArrays(NamedTuple):
    """Arrays that a stream updates.

    By column: weight and squares of the entries. `filled`: weight of all entries. `totals`: see
    `TOTALS`. By output: weight of the positives, mean target, and sum of absolute deviations from
    it. By fold: number of steps. Models: states (settings, folds, columns, numbers) and intercepts.
    """

    counts: np.ndarray
    squares: np.ndarray
    filled: np.ndarray
    totals: np.ndarray
    positives: np.ndarray
    means: np.ndarray
    deviations: np.ndarray
    n_steps: np.ndarray
    model_states: np.ndarray
    model_biases: np.ndarray


class StreamSettings(NamedTuple):
    """Settings of a stream: the curvature of the loss where steps must be implicit (else 0),
    whether there is an intercept, whether targets are classes, and the density above which rows
    count as dense.
    """

    curvature: float
    intercept: float
    is_classification: float
    dense_threshold: float


@compiled_helper
def standardize_row(data, indices, first, last, weight, state, z):
    """Fill a row's values in the units of the columns so far (a new column gets its own), add them
    to the sums, and return the squared norm.
    """
    counts, squares, totals = state.counts, state.squares, state.totals[0]
    norm = 1.0
    for k in range(first, last):
        j, x = indices[k], float(data[k])
        is_known = counts[j] > 0.0
        value = x / math.sqrt(squares[j] / counts[j]) if is_known else (1.0 if x > 0.0 else -1.0)
        if not is_known:
            totals.seen += 1.0
        counts[j] += weight
        squares[j] += weight * x * x
        z[k - first] = value
        norm += value * value
    return norm


@compiled_helper
def standardize_target(y, weight, classes, c, state):
    """Return the target in the units of the earlier ones, and the divisor of the step for rare
    classes; add the target to the sums.
    """
    total = state.totals[0].weight
    if classes:
        state.positives[c] += weight * (y > 0.0)
        fraction = state.positives[c] / total
        rarity = 4.0 * fraction * (1.0 - fraction)
        return y, rarity if rarity > 0.0 else 1.0
    mean, deviation, weight_before = state.means[c], state.deviations[c], total - weight
    unit = deviation / weight_before if deviation > 0.0 else 1.0
    center = mean if weight_before > 0.0 else y
    state.means[c] += (y - mean) * weight / total
    state.deviations[c] += weight * abs(y - center)
    return (y - center) / unit, 1.0


@compiled_helper
def step_row(
    indices, first, last, z, weight, scores, targets, step_sizes, strengths, loss, settings, model
):
    """Take one step of one model (state, intercept, number of steps) on one row."""
    # Nearly the body of the loop in `run_multi_output_passes`. Shared with it, this function made a
    # fit of four classes a tenth slower.
    (state, bias, t), curvature, intercept = model, settings.curvature, settings.intercept
    n_outputs = np.uint64(scores.shape[0])
    for c in range(n_outputs):
        scores[c] = bias[ONE + c]
    scaled_norm = weight / math.sqrt(bias[0] + weight) if intercept else 0.0
    for k in range(first, last):
        j, x = indices[k], z[k - first]
        for c in range(n_outputs):
            scores[c] += state[j, ONE + c] * x
        scaled_norm += weight * x * x / math.sqrt(state[j, 0] + weight * x * x + MIN_SQUARE)
    for c in range(n_outputs):
        g = weight * gradient(loss, scores[c], targets[c])
        scores[c] = g / (1.0 + curvature * step_sizes[c] * scaled_norm)
    for k in range(first, last):
        j, x = indices[k], z[k - first]
        state[j, 0] += weight * x * x
        h = 1.0 / math.sqrt(state[j, 0] + MIN_SQUARE)
        for c in range(n_outputs):
            old_weight = state[j, ONE + c]
            threshold = step_sizes[c] * h * strengths[c] * weight * abs(x)
            new_weight = soft_threshold(old_weight - step_sizes[c] * h * scores[c] * x, threshold)
            state[j, ONE + c] = new_weight
            state[j, ONE + n_outputs + c] += t * (new_weight - old_weight)
    if intercept:
        bias[0] += weight
        for c in range(n_outputs):
            change = -step_sizes[c] / math.sqrt(bias[0]) * scores[c]
            bias[ONE + c] += change
            bias[ONE + n_outputs + c] += t * change


@compiled
def stream_rows(chunk, state, settings_rows, loss, settings):
    """Learn from rows once, in their order.

    `settings_rows` has a row (step, strength, whether they depend on the class fractions) for each
    setting, for sparse rows and for dense ones; the density of the rows so far decides between
    them. A row of weight 0 is skipped.
    """
    data, indices, indptr, targets, weights, folds = chunk
    totals, n_steps = state.totals[0], state.n_steps
    model_states, model_biases = state.model_states, state.model_biases
    n_settings, n_groups = model_states.shape[0], model_states.shape[1]
    n_outputs = (model_biases.shape[2] - 1) // 2
    z = np.empty(max(max_row_entries(indptr), ONE))
    scores, row_targets = np.empty(n_outputs), np.empty(n_outputs)
    rarity, step_sizes, strengths = np.empty(n_outputs), np.empty(n_outputs), np.empty(n_outputs)
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        totals.rows += 1.0
        totals.weight += weight
        totals.squares += standardize_row(data, indices, first, last, weight, state, z)
        state.filled[0] += weight * (last - first)
        is_dense = (
            state.filled[0] > settings.dense_threshold * totals.weight * state.counts.shape[0]
        )
        base = settings_rows[1] if is_dense else settings_rows[0]
        for c in range(n_outputs):
            if targets.shape[1] > 1 or n_outputs == 1:
                y = targets[i, c]
            else:
                y = 1.0 if targets[i, 0] == c else -1.0
            row_targets[c], rarity[c] = standardize_target(
                y, weight, settings.is_classification, c, state
            )
        norm_scale = 1.0 / math.sqrt(totals.squares / totals.rows)
        penalty_scale = math.sqrt(min(1.0, totals.seen / totals.rows))
        row_weight = weight * totals.rows / totals.weight
        for s in range(n_settings):
            for c in range(n_outputs):
                divisor = rarity[c] if base[s, 2] else 1.0
                step_sizes[c] = norm_scale * base[s, 0] / divisor
                strengths[c] = penalty_scale * base[s, 1] * divisor
            for g in range(n_groups):
                if g != folds[i]:
                    model = (model_states[s, g], model_biases[s, g], n_steps[g])
                    step_row(
                        indices, first, last, z, row_weight, scores, row_targets, step_sizes,
                        strengths, loss, settings, model,
                    )  # fmt: skip
        for g in range(n_groups):
            if g != folds[i]:
                n_steps[g] += 1.0


# ------------------------------------------------------------------------ sums over all rows
@compiled
def sum_contrasts(
    data, indices, indptr, weights, folds, label_ends, label_codes, numbers, entry_sums, products,
    constant_products, squares,
):  # fmt: skip
    """Add each column's entries and squares, and for the fold of a row its values and their
    products with numbers and label codes.

    `constant_products` has those of a column of ones. The label codes of row i start at
    `label_ends[i]`.
    """
    n_numbers = np.uint64(numbers.shape[1])
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        weight, fold = weights[i] if weights.shape[0] else 1.0, folds[i]
        if weight == 0.0:
            continue
        for k in range(indptr[i], indptr[i + ONE]):
            j, x = indices[k], float(data[k])
            sums, value = products[j, fold], weight * x
            entry_sums[j, 0] += 1.0
            entry_sums[j, 1] += value * x
            sums[0] += value
            for m in range(n_numbers):
                sums[ONE + m] += value * numbers[i, m]
            for m in range(label_ends[i], label_ends[i + ONE]):
                sums[ONE + n_numbers + label_codes[m]] += value
        sums = constant_products[fold]
        sums[0] += weight
        for m in range(n_numbers):
            sums[ONE + m] += weight * numbers[i, m]
            squares[fold, m] += weight * numbers[i, m] * numbers[i, m]
        for m in range(label_ends[i], label_ends[i + ONE]):
            sums[ONE + n_numbers + label_codes[m]] += weight
