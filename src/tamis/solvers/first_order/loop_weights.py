"""What a finished model shows: scores of rows and weights, straight from the state of training."""

import numpy as np

from tamis.numerics.numba import compiled
from tamis.terms.methods import LazyState, final_weight, flush_cell
from tamis.terms.penalties import Free

FREE = Free()


@compiled
def score_rows(rows, cells, penalty, optimizer, lazies, intercept, scores):
    """Fill `scores` (rows, outputs); `rows` is (data, indices, indptr), `cells` (state, bias), and
    `lazies` are their lazy states.
    """
    data, indices, indptr = rows
    state, bias = cells
    lazy, bias_lazy = LazyState(*lazies[0]), LazyState(*lazies[1])
    many = np.uint64(bias.shape[1])
    for i in range(np.uint64(scores.shape[0])):
        for c in range(many):
            scores[i, c] = final_weight(optimizer, bias, FREE, c, bias_lazy) if intercept else 0.0
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            x = np.float64(data[k])
            cell = np.uint64(indices[k]) * many
            for c in range(many):
                scores[i, c] += final_weight(optimizer, state, penalty, cell + c, lazy) * x


@compiled
def write_weights(state, penalty, optimizer, lazy, weights):
    """Fill `weights` (outputs, features)."""
    lazy = LazyState(*lazy)
    many = np.uint64(weights.shape[0])
    for j in range(np.uint64(weights.shape[1])):
        for c in range(many):
            weights[c, j] = final_weight(optimizer, state, penalty, j * many + c, lazy)


@compiled
def list_weights(state, penalty, optimizer, lazy, many, cells, weights):
    """Write the nonzero cells and their weights, as far as the two arrays reach; return how many
    there are.
    """
    found, lazy = np.uint64(0), LazyState(*lazy)
    room = np.uint64(cells.shape[0])
    for cell in range(np.uint64(state.shape[1])):
        weight = final_weight(optimizer, state, penalty, cell, lazy)
        if weight != 0.0:
            if found < room:
                cells[found], weights[found] = cell, weight
            found += np.uint64(1)
    return found


@compiled
def flush_cells(state, penalty, optimizer, lazy):
    """Apply all pending penalties to all cells."""
    lazy = LazyState(*lazy)
    for cell in range(np.uint64(state.shape[1])):
        flush_cell(optimizer, state, penalty, cell, lazy)
