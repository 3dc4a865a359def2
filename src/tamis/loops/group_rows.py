"""Passes over all rows for batch solvers: losses of scores, their slopes and conjugates, and products where each row has an output of its own."""

import numpy as np

from tamis._jit import compiled, conjugate, curve, slope, value

ONE = np.uint64(1)


@compiled
def sum_values(loss, scores, targets, weights):
    """Weighted sum of the losses of scores (rows, outputs)."""
    total = 0.0
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            total += weights[i] * value(loss, scores[i, c], targets[i, c])
    return total


@compiled
def write_slopes(loss, scores, targets, slopes):
    """Fill `slopes` (rows, outputs)."""
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            slopes[i, c] = slope(loss, scores[i, c], targets[i, c])


@compiled
def write_curves(loss, scores, targets, curves):
    """Fill `curves` (rows, outputs) with second derivatives."""
    for i in range(np.uint64(scores.shape[0])):
        for c in range(np.uint64(scores.shape[1])):
            curves[i, c] = curve(loss, scores[i, c], targets[i, c])


@compiled
def sum_conjugates(loss, slopes, targets, weights):
    """Weighted sum of the conjugates of slopes (rows, outputs)."""
    total = 0.0
    for i in range(np.uint64(slopes.shape[0])):
        for c in range(np.uint64(slopes.shape[1])):
            total += weights[i] * conjugate(loss, slopes[i, c], targets[i, c])
    return total


@compiled
def score_own(data, indices, indptr, output, weights, scores):
    """Fill `scores` (rows, 1): each row by the weights (columns, outputs) of its own output."""
    for i in range(np.uint64(scores.shape[0])):
        total, own = 0.0, output[i]
        for k in range(indptr[i], indptr[i + ONE]):
            total += data[k] * weights[indices[k], own]
        scores[i, 0] = total


@compiled
def slope_own(data, indices, indptr, output, residuals, slopes):
    """Add to `slopes` (columns, outputs) what each row says about its own output."""
    for i in range(np.uint64(residuals.shape[0])):
        own, r = output[i], residuals[i, 0]
        for k in range(indptr[i], indptr[i + ONE]):
            slopes[indices[k], own] += data[k] * r
