"""Passes over all rows for batch solvers: losses of scores, their slopes and conjugates, and
products where each row belongs to a task.
"""

import numpy as np

from tamis.base.jit import compiled
from tamis.base.verbs import conjugate, curve, slope, value

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
def score_own(data, indices, indptr, task, weights, scores):
    """Fill `scores` (rows, outputs of a task): each row by the weights (columns, outputs of all
    tasks) of its own task.
    """
    width = np.uint64(scores.shape[1])
    for i in range(np.uint64(scores.shape[0])):
        for c in range(width):
            total, own = 0.0, task[i] * width + c
            for k in range(indptr[i], indptr[i + ONE]):
                total += data[k] * weights[indices[k], own]
            scores[i, c] = total


@compiled
def slope_own(data, indices, indptr, task, residuals, slopes):
    """Add to `slopes` (columns, outputs of all tasks) what each row's residuals (rows, outputs of a
    task) say about its own task.
    """
    width = np.uint64(residuals.shape[1])
    for i in range(np.uint64(residuals.shape[0])):
        for c in range(width):
            own, residual = task[i] * width + c, residuals[i, c]
            for k in range(indptr[i], indptr[i + ONE]):
                slopes[indices[k], own] += data[k] * residual
