"""Compiled sums of gradients over many rows at fixed weights."""

import math

import numpy as np

from tamis.numerics.numba import compiled
from tamis.terms.methods import LazyState, final_weight, gradient_and_log_terms, gradient_at_zero
from tamis.terms.penalties import Free

FREE = Free()
ONE = np.uint64(1)


@compiled
def sum_gradients(rows, cells, loss, penalty, optimizer, lazies, intercept, sums):
    """Add the gradients, losses and statistics of rows to `sums`.

    `rows` is (data, indices, indptr, targets, weights), `cells` is (state, bias), and `lazies` are
    their lazy states. `sums` is (gradient, one number a cell; gradient of the intercepts; losses,
    one an output; statistics: number of rows of weight above 0, and sums of their norms, of their
    mean absolute gradients at score 0 and of their weights).
    """
    data, indices, indptr, targets, weights = rows
    state, bias = cells
    lazy, bias_lazy = LazyState(*lazies[0]), LazyState(*lazies[1])
    gradient, bias_gradient, costs, row_stats = sums
    n_outputs = np.uint64(bias.shape[1])
    raw_gradients, row_targets = np.zeros(n_outputs), np.zeros(n_outputs)
    for i in range(np.uint64(targets.shape[0])):
        weight = weights[i] if weights.shape[0] else 1.0
        if weight == 0.0:
            continue
        first, last = indptr[i], indptr[i + ONE]
        sqnorm, gradient_sum_at_zero = 0.0, 0.0
        for c in range(n_outputs):
            raw_gradients[c] = (
                final_weight(optimizer, bias, FREE, c, bias_lazy) if intercept else 0.0
            )
            if n_outputs > ONE and targets.shape[1] == 1:
                row_targets[c] = 1.0 if targets[i, 0] == c else -1.0
            else:
                row_targets[c] = targets[i, c]
            gradient_sum_at_zero += abs(gradient_at_zero(loss, row_targets[c]))
        for k in range(first, last):
            x = np.float64(data[k])
            cell = np.uint64(indices[k]) * n_outputs
            for c in range(n_outputs):
                raw_gradients[c] += final_weight(optimizer, state, penalty, cell + c, lazy) * x
            sqnorm += x * x
        for c in range(n_outputs):
            raw_gradient, cost, factor = gradient_and_log_terms(
                loss, raw_gradients[c], row_targets[c]
            )
            raw_gradients[c] = raw_gradient * weight
            costs[c] += (cost + math.log(factor)) * weight
            bias_gradient[c] += raw_gradients[c]
        for k in range(first, last):
            x = np.float64(data[k])
            cell = np.uint64(indices[k]) * n_outputs
            for c in range(n_outputs):
                gradient[cell + c] += raw_gradients[c] * x
        row_stats[0] += 1.0
        row_stats[1] += math.sqrt(sqnorm)
        row_stats[2] += gradient_sum_at_zero / n_outputs
        row_stats[3] += weight
