"""Gradients of many rows at weights that stay as they are."""

import math

import numpy as np

from tamis.numerics.numba import compiled
from tamis.terms.methods import LazyState, final_weight, gradient_and_log_terms, gradient_at_zero
from tamis.terms.penalties import Free

FREE = Free()
ONE = np.uint64(1)


@compiled
def sum_slopes(rows, cells, loss, penalty, optimizer, lazies, intercept, sums):
    """Add what rows pull weights by: `rows` is (data, indices, indptr, targets, weights), `cells`
    (state, bias) and `lazies` are theirs.

    `sums` is (gradient, one number a cell; gradient of the intercepts; losses, one an output;
    figures: rows of weight above 0, their norms, their mean slopes at score 0, their weights).
    """
    data, indices, indptr, targets, weights = rows
    state, bias = cells
    lazy, bias_lazy = LazyState(*lazies[0]), LazyState(*lazies[1])
    gradient, bias_gradient, costs, figures = sums
    many = np.uint64(bias.shape[1])
    slopes, wanted = np.zeros(many), np.zeros(many)
    for i in range(np.uint64(targets.shape[0])):
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        sqnorm, start = 0.0, 0.0
        for c in range(many):
            slopes[c] = final_weight(optimizer, bias, FREE, c, bias_lazy) if intercept else 0.0
            if many > ONE and targets.shape[1] == 1:
                wanted[c] = 1.0 if targets[i, 0] == c else -1.0
            else:
                wanted[c] = targets[i, c]
            start += abs(gradient_at_zero(loss, wanted[c]))
        for k in range(first, last):
            x = np.float64(data[k])
            cell = np.uint64(indices[k]) * many
            for c in range(many):
                slopes[c] += final_weight(optimizer, state, penalty, cell + c, lazy) * x
            sqnorm += x * x
        for c in range(many):
            s, cost, factor = gradient_and_log_terms(loss, slopes[c], wanted[c])
            slopes[c] = s * weight
            costs[c] += (cost + math.log(factor)) * weight
            bias_gradient[c] += slopes[c]
        for k in range(first, last):
            x = np.float64(data[k])
            cell = np.uint64(indices[k]) * many
            for c in range(many):
                gradient[cell + c] += slopes[c] * x
        figures[0] += 1.0
        figures[1] += math.sqrt(sqnorm)
        figures[2] += start / many
        figures[3] += weight
