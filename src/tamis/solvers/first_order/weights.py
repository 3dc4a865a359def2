"""What a finished model shows: scores of rows and weights, straight from the state of training."""

import numpy as np

from tamis.base.jit import compiled
from tamis.base.verbs import final
from tamis.terms.penalties import Free

FREE = Free()


@compiled
def score_rows(
    data, indices, indptr, state, bias, penalty, rule, ledger, bias_ledger, intercept, scores
):
    """Fill `scores` (rows, outputs)."""
    many = np.uint64(bias.shape[1])
    for i in range(np.uint64(scores.shape[0])):
        for c in range(many):
            scores[i, c] = final(rule, bias, FREE, c, bias_ledger) if intercept else 0.0
        for k in range(indptr[i], indptr[i + np.uint64(1)]):
            x = np.float64(data[k])
            cell = np.uint64(indices[k]) * many
            for c in range(many):
                scores[i, c] += final(rule, state, penalty, cell + c, ledger) * x


@compiled
def write_weights(state, penalty, rule, ledger, weights):
    """Fill `weights` (outputs, features)."""
    many = np.uint64(weights.shape[0])
    for j in range(np.uint64(weights.shape[1])):
        for c in range(many):
            weights[c, j] = final(rule, state, penalty, j * many + c, ledger)


@compiled
def list_weights(state, penalty, rule, ledger, many, cells, weights):
    """Write the nonzero cells and their weights, as far as the two arrays reach; return how many
    there are.
    """
    found = np.uint64(0)
    room = np.uint64(cells.shape[0])
    for cell in range(np.uint64(state.shape[1])):
        weight = final(rule, state, penalty, cell, ledger)
        if weight != 0.0:
            if found < room:
                cells[found], weights[found] = cell, weight
            found += np.uint64(1)
    return found
