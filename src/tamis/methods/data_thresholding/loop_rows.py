"""Compiled passes over CSR rows (threshold, multiply, select columns) and dual variables."""

import math

import numpy as np

from tamis.numerics.numba import compiled


@compiled
def drop_entries(data, indices, indptr, threshold, new_data, new_indices, new_indptr):
    """Copy the entries with an absolute value above `threshold`; return the number of dropped
    nonzero entries, and their largest absolute value.

    `new_data` and `new_indices` need the size of the input plus 1: every entry is written, and the
    next one overwrites a dropped one. Without a branch that is three times as fast.
    """
    one, n_above, n_nonzero, max_dropped = np.uint64(1), np.uint64(0), 0, 0.0
    new_indptr[0] = n_above
    for i in range(np.uint64(indptr.shape[0]) - one):
        for k in range(indptr[i], indptr[i + one]):
            magnitude = abs(data[k])
            new_data[n_above], new_indices[n_above] = data[k], indices[k]
            n_above += np.uint64(magnitude > threshold)
            n_nonzero += magnitude > 0.0
            max_dropped = max(max_dropped, magnitude if magnitude <= threshold else 0.0)
        new_indptr[i + one] = n_above
    return n_nonzero - np.int64(n_above), max_dropped


@compiled
def min_magnitude(data):
    """Return the smallest absolute value of the nonzero entries; infinity if there are none."""
    smallest = math.inf
    for k in range(np.uint64(data.shape[0])):
        magnitude = abs(data[k])
        smallest = min(smallest, magnitude if magnitude > 0.0 else math.inf)
    return smallest


@compiled
def transpose_product(data, indices, indptr, row_coefficients, products):
    """Compute X'c for coefficients c of the rows."""
    one = np.uint64(1)
    products[:] = 0.0
    for i in range(np.uint64(row_coefficients.shape[0])):
        coefficient = row_coefficients[i]
        for k in range(indptr[i], indptr[i + one]):
            products[indices[k]] += coefficient * data[k]


@compiled
def find_entries(indices, is_selected, entries):
    """Write the positions of the entries in selected columns; return their number.

    `entries` needs the size of the input plus 1. Only the column indices are read, a third of the
    matrix.
    """
    count = np.uint64(0)
    for k in range(np.uint64(indices.shape[0])):
        entries[count] = k
        count += np.uint64(is_selected[indices[k]])
    return count


@compiled
def copy_entries(data, indices, indptr, entries, column_index, values, new_columns, new_indptr):
    """Copy the entries at the given positions into a CSR matrix with columns renumbered by
    `column_index`.
    """
    one, k, count = np.uint64(1), np.uint64(0), np.uint64(entries.shape[0])
    new_indptr[0] = k
    for i in range(np.uint64(indptr.shape[0]) - one):
        while k < count and entries[k] < indptr[i + one]:
            values[k], new_columns[k] = data[entries[k]], column_index[indices[entries[k]]]
            k += one
        new_indptr[i + one] = k


@compiled
def entropy(alphas, row_weights, scale):
    """Return the dual objective of the logistic loss at `alphas` times `scale`."""
    total = 0.0
    for i in range(alphas.shape[0]):
        if row_weights[i] > 0.0:
            probability = scale * alphas[i] / row_weights[i]
            if 0.0 < probability < 1.0:
                total -= row_weights[i] * (
                    probability * math.log(probability)
                    + (1.0 - probability) * math.log1p(-probability)
                )
    return total


@compiled
def class_sums(signs, alphas):
    """Return the sums of the dual variables of the positive and of the negative class."""
    positive, negative = 0.0, 0.0
    for i in range(alphas.shape[0]):
        if signs[i] > 0.0:
            positive += alphas[i]
        else:
            negative += alphas[i]
    return positive, negative


@compiled
def logistic_duals(signs, row_weights, scores, max_steps, alphas):
    """Compute the dual variables of the logistic loss at the scores plus the best intercept, which
    takes at most `max_steps` Newton steps.
    """
    intercept = 0.0
    for step in range(max_steps + 1):
        gradient, curvature = 0.0, 0.0
        for i in range(scores.shape[0]):
            probability = 1.0 / (1.0 + math.exp(min(signs[i] * (scores[i] + intercept), 700.0)))
            alphas[i] = row_weights[i] * probability
            gradient -= signs[i] * alphas[i]
            curvature += alphas[i] * (1.0 - probability)
        if step == max_steps or abs(gradient) < 1e-8 or curvature <= 0.0:
            break
        intercept += min(max(-gradient / curvature, -1.0), 1.0)
