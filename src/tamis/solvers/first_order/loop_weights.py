"""Compiled functions that compute scores and weights from the state of training."""

import numpy as np

from tamis.numerics.numba import compiled
from tamis.terms.methods import LazyState, final_weight, flush_cell
from tamis.terms.penalties import Free

FREE = Free()


@compiled
def score_rows(rows, cells, penalty, optimizer, lazies, intercept, scores):
    """Fill `scores` (rows, outputs).

    `rows` is (data, indices, indptr), `cells` is (state, bias), and `lazies` are their lazy states.
    """
    data, indices, indptr = rows
    state, bias = cells
    lazy, bias_lazy = LazyState(*lazies[0]), LazyState(*lazies[1])
    n_outputs = np.uint64(bias.shape[1])
    for i in range(np.uint64(scores.shape[0])):
        for c in range(n_outputs):
            scores[i, c] = final_weight(optimizer, bias, FREE, c, bias_lazy) if intercept else 0.0
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            x = np.float64(data[k])
            cell = np.uint64(indices[k]) * n_outputs
            for c in range(n_outputs):
                scores[i, c] += final_weight(optimizer, state, penalty, cell + c, lazy) * x


@compiled
def write_weights(state, penalty, optimizer, lazy, weights):
    """Fill `weights` (outputs, features)."""
    lazy = LazyState(*lazy)
    n_outputs = np.uint64(weights.shape[0])
    for j in range(np.uint64(weights.shape[1])):
        for c in range(n_outputs):
            weights[c, j] = final_weight(optimizer, state, penalty, j * n_outputs + c, lazy)


@compiled
def list_weights(state, penalty, optimizer, lazy, n_outputs, cells, weights):
    """Write the indices of nonzero cells and their weights into the two arrays, up to their length;
    return the number of nonzero cells.
    """
    n_nonzeros, lazy = np.uint64(0), LazyState(*lazy)
    capacity = np.uint64(cells.shape[0])
    for cell in range(np.uint64(state.shape[1])):
        weight = final_weight(optimizer, state, penalty, cell, lazy)
        if weight != 0.0:
            if n_nonzeros < capacity:
                cells[n_nonzeros], weights[n_nonzeros] = cell, weight
            n_nonzeros += np.uint64(1)
    return n_nonzeros


@compiled
def flush_cells(state, penalty, optimizer, lazy):
    """Apply the pending penalties to all cells."""
    lazy = LazyState(*lazy)
    for cell in range(np.uint64(state.shape[1])):
        flush_cell(optimizer, state, penalty, cell, lazy)
