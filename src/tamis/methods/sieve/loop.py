"""Compiled loops of the sieve: passes under the contribution penalty, selection of columns, scores
and losses.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.hashing import GOLDEN, mix64
from tamis.numerics.numba import compiled, compiled_helper, prefetch
from tamis.terms.methods import gradient, value

ONE, TWO, THREE, FOUR, EIGHT = (np.uint64(k) for k in (1, 2, 3, 4, 8))
HALF = np.uint64(32)


class PassRows(NamedTuple):
    """Rows, targets and weights, and the numbers of the rows that a path learns from."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    rows: np.ndarray


class StepSettings(NamedTuple):
    """Step sizes and penalty of a pass.

    `step_sizes` (the step constant over the root of the mean squared norm) and `strengths` have an
    entry for each output. `curvature` bounds the second derivative of the loss where steps must be
    implicit (losses with an unbounded gradient), else it is 0. `effective_passes` is the number of
    passes so far. Columns from `first_unpenalized` on are not shrunk; it is the number of columns
    where there are none.
    """

    step_sizes: np.ndarray
    strengths: np.ndarray
    curvature: float
    intercept: float
    effective_passes: float
    first_unpenalized: np.uint64


class PassOrder(NamedTuple):
    """Number of passes, the key of their row orders, and whether the orders are reversed."""

    passes: np.uint64
    key: np.uint64
    backwards: np.uint64


# --------------------------------------------------------------------------- columns of a table
@compiled
def sum_row_norms(data, indptr, weights, rows):
    """Return the sum of squared norms (the 1 of the intercept included) of the rows that have an
    entry, and the weight of these rows.
    """
    total, total_weight = 0.0, 0.0
    for r in range(np.uint64(rows.shape[0])):
        i = np.uint64(rows[r])
        if indptr[i] == indptr[i + ONE]:
            continue
        weight = weights[i] if weights.shape[0] else 1.0
        square = 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            square += data[k] * data[k]
        total += weight * square
        total_weight += weight
    return total, total_weight


@compiled
def sum_column_squares(data, indices, indptr, weights, rows, squares):
    """Add the squares of each column over some rows to `squares`: the increase of Q in a pass."""
    for r in range(np.uint64(rows.shape[0])):
        i = np.uint64(rows[r])
        weight = weights[i] if weights.shape[0] else 1.0
        for k in range(indptr[i], indptr[i + ONE]):
            squares[indices[k]] += weight * data[k] * data[k]


# --------------------------------------------------------------------------- selected columns
@compiled
def select_columns(data, indices, indptr, new_index, n_selected, out_data, out_indices, out_indptr):
    """Fill the rows with the columns whose new number is below `n_selected`; the output may be the
    rows themselves.

    Every entry is written, and overwritten by the next one if its column is not selected: a branch
    would be mispredicted half the time.
    """
    at, first = np.uint64(0), indptr[0]
    out_indptr[0] = at
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        last = indptr[i + ONE]
        for k in range(first, last):
            j = new_index[indices[k]]
            out_data[at], out_indices[at] = data[k], j
            at += np.uint64(j < n_selected)
        out_indptr[i + ONE], first = at, last


@compiled
def select_states(states, selected):
    """Move the states (paths, columns, values) of the columns `selected` to the front."""
    n_values = np.uint64(states.shape[2])
    for path in range(np.uint64(states.shape[0])):
        for k in range(np.uint64(selected.shape[0])):
            for c in range(n_values):
                states[path, k, c] = states[path, np.uint64(selected[k]), c]


@compiled
def average_states(states, n_steps, weights):
    """Fill `weights` with the mean over paths of the mean iterates, weight - U / steps."""
    n_paths, n_outputs = np.uint64(states.shape[0]), np.uint64(weights.shape[1])
    for j in range(np.uint64(weights.shape[0])):
        for c in range(n_outputs):
            total = 0.0
            for path in range(n_paths):
                total += states[path, j, ONE + c] - states[path, j, ONE + n_outputs + c] / n_steps
            weights[j, c] = total / n_paths


# --------------------------------------------------------------------------- passes
@compiled_helper
def max_row_entries(indptr):
    """Return the number of entries of the longest row."""
    max_entries = np.uint64(0)
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        max_entries = max(max_entries, indptr[i + ONE] - indptr[i])
    return max_entries


@compiled_helper
def soft_threshold(weight, threshold):
    """Return `weight` moved towards 0 by at most `threshold`, without a branch."""
    return weight - min(max(weight, -threshold), threshold)


@compiled_helper
def shuffle_rows(rows, key, backwards, row_order):
    """Fill the row order of a pass: the rows shuffled by a key, reversed if `backwards`."""
    n = np.uint64(rows.shape[0])
    for r in range(n):
        k = ((mix64(key + r * GOLDEN) >> HALF) * (r + ONE)) >> HALF
        row_order[r] = row_order[k]
        row_order[k] = rows[r]
    if backwards:
        for r in range(n // TWO):
            row_order[r], row_order[n - ONE - r] = row_order[n - ONE - r], row_order[r]


@compiled_helper
def prefetch_row(data, indices, first, last):
    """Prefetch a row before its turn: the hardware cannot predict the random row order."""
    for k in range(first, last, EIGHT):
        prefetch(data, k)
    for k in range(first, last, EIGHT + EIGHT):
        prefetch(indices, k)


@compiled_helper
def to_step_factors(state, bias):
    """Replace the sums of squares by step factors 1 / sqrt(Q), after the first pass."""
    for j in range(np.uint64(state.shape[0])):
        state[j, 0] = 1.0 / math.sqrt(state[j, 0])
    bias[0] = 1.0 / math.sqrt(bias[0]) if bias[0] > 0.0 else 0.0


@compiled_helper
def score_and_gather(data, indices, state, first, n_entries, old_weights, scaled_values):
    """Return the score of a row without the intercept, in four running sums; fill the weights of
    its features, and its values times their step factors.
    """
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    fours = n_entries // FOUR * FOUR
    for k in range(np.uint64(0), fours, FOUR):
        at = first + k
        j0, j1, j2, j3 = indices[at], indices[at + ONE], indices[at + TWO], indices[at + THREE]
        z0, z1, z2, z3 = data[at], data[at + ONE], data[at + TWO], data[at + THREE]
        w0, w1, w2, w3 = state[j0, 1], state[j1, 1], state[j2, 1], state[j3, 1]
        old_weights[k], old_weights[k + ONE] = w0, w1
        old_weights[k + TWO], old_weights[k + THREE] = w2, w3
        scaled_values[k], scaled_values[k + ONE] = z0 * state[j0, 0], z1 * state[j1, 0]
        scaled_values[k + TWO], scaled_values[k + THREE] = z2 * state[j2, 0], z3 * state[j3, 0]
        s0, s1, s2, s3 = s0 + w0 * z0, s1 + w1 * z1, s2 + w2 * z2, s3 + w3 * z3
    for k in range(fours, n_entries):
        j, z = indices[first + k], data[first + k]
        old_weights[k], scaled_values[k] = state[j, 1], z * state[j, 0]
        s0 += old_weights[k] * z
    return (s0 + s1) + (s2 + s3)


@compiled
def run_single_output_passes(pass_rows, state, bias, loss, settings, pass_order):
    """Run passes over the rows, each in its own order, for one output.

    The state of a feature is (f, w, U): step factor, weight, and sum of t times the weight changes
    of the last pass; `bias` has that of the intercept, which is never shrunk. During the first pass
    f is the sum of squares Q so far, and steps are proportional to 1 / sqrt(Q). Then f becomes 1 /
    sqrt(Q), and because every pass adds the same Q, steps are proportional to f / sqrt(passes until
    the middle of the present pass): no root and no division for each entry.
    """
    data, indices, indptr, targets, weights, rows = pass_rows
    strength, curvature, intercept = settings.strengths[0], settings.curvature, settings.intercept
    n, n_columns = np.uint64(rows.shape[0]), np.uint64(state.shape[0])
    old_weights, new_weights, scaled_values = np.empty((3, max_row_entries(indptr)))
    row_order = np.empty(n, np.uint64)
    for pass_number in range(pass_order.passes):
        key = mix64(pass_order.key + (pass_number + ONE) * GOLDEN)
        shuffle_rows(rows, key, pass_order.backwards, row_order)
        passes_before = settings.effective_passes + float(pass_number)
        is_first_pass = passes_before == 0.0
        step_size = settings.step_sizes[0] / (
            1.0 if is_first_pass else math.sqrt(passes_before + 0.5)
        )
        threshold = step_size * strength
        is_last_pass = pass_number + ONE == pass_order.passes  # its mean alone is used
        if is_last_pass:
            for j in range(n_columns):
                state[j, 2] = 0.0
        b, u = bias[1], 0.0
        for r in range(n):
            i, t = row_order[r], float(r)
            if r + ONE < n:
                prefetch_row(
                    data, indices, indptr[row_order[r + ONE]], indptr[row_order[r + ONE] + ONE]
                )
            weight = weights[i] if weights.shape[0] else 1.0
            begin, n_entries = indptr[i], indptr[i + ONE] - indptr[i]
            score = b + score_and_gather(
                data, indices, state, begin, n_entries, old_weights, scaled_values
            )
            if is_first_pass:
                for k in range(n_entries):
                    j, scaled_values[k] = indices[begin + k], data[begin + k]
                    new_weights[k] = state[j, 0] + weight * scaled_values[k] * scaled_values[k]
                    state[j, 0] = new_weights[k]
                # A separate loop, so that roots and divisions are vectorised.
                for k in range(n_entries):
                    scaled_values[k] /= math.sqrt(new_weights[k])
                bias[0] += weight
            h = 1.0 / math.sqrt(bias[0]) if is_first_pass else bias[0]
            g = step_size * weight * gradient(loss, score, targets[i, 0])
            if curvature > 0.0:
                scaled_norm = h if intercept else 0.0
                for k in range(n_entries):
                    scaled_norm += data[begin + k] * scaled_values[k]
                g /= 1.0 + curvature * step_size * weight * scaled_norm
            for k in range(n_entries):
                new_weights[k] = soft_threshold(
                    old_weights[k] - g * scaled_values[k],
                    threshold * weight * abs(scaled_values[k]),
                )
            if settings.first_unpenalized < n_columns:
                for k in range(n_entries):
                    if indices[begin + k] >= settings.first_unpenalized:
                        new_weights[k] = old_weights[k] - g * scaled_values[k]
            if is_last_pass:
                for k in range(n_entries):
                    j = indices[begin + k]
                    state[j, 1] = new_weights[k]
                    state[j, 2] += t * (new_weights[k] - old_weights[k])
            else:
                for k in range(n_entries):
                    state[indices[begin + k], 1] = new_weights[k]
            if intercept:
                b -= h * g
                u -= t * h * g
        bias[1], bias[2] = b, u
        if is_first_pass:
            to_step_factors(state, bias)


@compiled
def run_multi_output_passes(pass_rows, state, bias, loss, settings, pass_order):
    """Run passes for several outputs; the state of a feature is (f, all w, all U), since f is the
    same for every output.

    `targets` has a column for each output, or one column with the number of the class that is +1;
    all other classes are -1.
    """
    data, indices, indptr, targets, weights, rows = pass_rows
    strengths, curvature, intercept = settings.strengths, settings.curvature, settings.intercept
    n, n_outputs = np.uint64(rows.shape[0]), np.uint64(settings.step_sizes.shape[0])
    scores, scaled_values = np.empty(n_outputs), np.empty(max_row_entries(indptr))
    row_order = np.empty(n, np.uint64)
    for pass_number in range(pass_order.passes):
        key = mix64(pass_order.key + (pass_number + ONE) * GOLDEN)
        shuffle_rows(rows, key, pass_order.backwards, row_order)
        passes_before = settings.effective_passes + float(pass_number)
        is_first_pass = passes_before == 0.0
        is_last_pass = pass_number + ONE == pass_order.passes  # its mean alone is used
        step_sizes = settings.step_sizes / (
            1.0 if is_first_pass else math.sqrt(passes_before + 0.5)
        )
        if is_last_pass:
            state[:, ONE + n_outputs :] = 0.0
        bias[ONE + n_outputs :] = 0.0
        for r in range(n):
            i, t = row_order[r], float(r)
            if r + ONE < n:
                prefetch_row(
                    data, indices, indptr[row_order[r + ONE]], indptr[row_order[r + ONE] + ONE]
                )
            weight = weights[i] if weights.shape[0] else 1.0
            begin, n_entries = indptr[i], indptr[i + ONE] - indptr[i]
            for k in range(n_entries):
                j, z = indices[begin + k], data[begin + k]
                if is_first_pass:
                    state[j, 0] += weight * z * z
                    scaled_values[k] = z / math.sqrt(state[j, 0])
                else:
                    scaled_values[k] = z * state[j, 0]
            if is_first_pass:
                bias[0] += weight
            h = 1.0 / math.sqrt(bias[0]) if is_first_pass else bias[0]
            for c in range(n_outputs):
                scores[c] = bias[ONE + c]
            scaled_norm = h if intercept else 0.0
            for k in range(n_entries):
                j, z = indices[begin + k], data[begin + k]
                for c in range(n_outputs):
                    scores[c] += state[j, ONE + c] * z
                scaled_norm += z * scaled_values[k]
            for c in range(n_outputs):
                if targets.shape[1] > 1:
                    target = targets[i, c]
                else:
                    target = 1.0 if targets[i, 0] == c else -1.0
                g = step_sizes[c] * weight * gradient(loss, scores[c], target)
                scores[c] = g / (1.0 + curvature * step_sizes[c] * weight * scaled_norm)
            for k in range(n_entries):
                j, a = indices[begin + k], scaled_values[k]
                shrinkage = weight * abs(a) if j < settings.first_unpenalized else 0.0
                for c in range(n_outputs):
                    old_weight = state[j, ONE + c]
                    new_weight = soft_threshold(
                        old_weight - scores[c] * a, step_sizes[c] * strengths[c] * shrinkage
                    )
                    state[j, ONE + c] = new_weight
                    if is_last_pass:
                        state[j, ONE + n_outputs + c] += t * (new_weight - old_weight)
            if intercept:
                for c in range(n_outputs):
                    change = -h * scores[c]
                    bias[ONE + c] += change
                    bias[ONE + n_outputs + c] += t * change
        if is_first_pass:
            to_step_factors(state, bias)


@compiled
def score_rows(data, indices, indptr, weight_row, weights, bias, scores):
    """Fill the scores of rows in the units of X; `weight_row` is the row of `weights` of each
    column, of which the last belongs to all dropped columns.
    """
    n_outputs = np.uint64(bias.shape[0])
    for i in range(np.uint64(scores.shape[0])):
        for c in range(n_outputs):
            scores[i, c] = bias[c]
        for k in range(indptr[i], indptr[i + ONE]):
            x = float(data[k])
            for c in range(n_outputs):
                scores[i, c] += weights[weight_row[indices[k]], c] * x


@compiled
def fill_losses(loss, residual, losses):
    """Fill the losses of residuals (rows, outputs), as scores with target 0."""
    for i in range(residual.shape[0]):
        for c in range(residual.shape[1]):
            losses[i, c] = value(loss, residual[i, c], 0.0)


@compiled
def fill_gradients(loss, residual, gradients):
    """Fill the gradients of the losses of residuals, as scores with target 0."""
    for i in range(residual.shape[0]):
        gradients[i] = gradient(loss, residual[i], 0.0)
