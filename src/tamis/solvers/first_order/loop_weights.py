"""What a finished model shows: scores of rows and weights, straight from the state of training."""

import numpy as np

from tamis.numerics.numba import compiled
from tamis.terms.methods import Ledger, final, rebase
from tamis.terms.penalties import Free

FREE = Free()


@compiled
def score_rows(rows, cells, penalty, rule, ledgers, intercept, scores):
    """Fill `scores` (rows, outputs); `rows` is (data, indices, indptr), `cells` (state, bias), and
    `ledgers` are theirs.
    """
    data, indices, indptr = rows
    state, bias = cells
    ledger, bias_ledger = Ledger(*ledgers[0]), Ledger(*ledgers[1])
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
    ledger = Ledger(*ledger)
    many = np.uint64(weights.shape[0])
    for j in range(np.uint64(weights.shape[1])):
        for c in range(many):
            weights[c, j] = final(rule, state, penalty, j * many + c, ledger)


@compiled
def list_weights(state, penalty, rule, ledger, many, cells, weights):
    """Write the nonzero cells and their weights, as far as the two arrays reach; return how many
    there are.
    """
    found, ledger = np.uint64(0), Ledger(*ledger)
    room = np.uint64(cells.shape[0])
    for cell in range(np.uint64(state.shape[1])):
        weight = final(rule, state, penalty, cell, ledger)
        if weight != 0.0:
            if found < room:
                cells[found], weights[found] = cell, weight
            found += np.uint64(1)
    return found


@compiled
def settle_cells(state, penalty, rule, ledger):
    """Let all cells pay what they owe; their ledger is opened anew."""
    ledger = Ledger(*ledger)
    for cell in range(np.uint64(state.shape[1])):
        rebase(rule, state, penalty, cell, ledger)
