"""Cells of a diagonal second-order state, and the heap that keeps the surest of them.

A cell is the mean and the variance of one weight. A stored variance of 0 stands for the variance at the start, so that what no row has
touched stays all zero bits, in memory and in files.

Second-order feature selection keeps of each output only the weights of the least variance. `kept` is a heap of column numbers for
each output, the largest variance on top; `places` says for each cell at which place of its output's heap it lies, counted from 1,
or 0 where it is not kept. A column outside has weight 0 and goes on narrowing.
"""

import numpy as np

from tamis._jit import helper

ONE, TWO = np.uint64(1), np.uint64(2)
LEAST = 1e-300  # of a variance: it must not become the 0 that stands for the start


@helper
def spread_of(state, cell, start):
    """Variance of a cell."""
    return state[cell, 1] if state[cell, 1] > 0.0 else start


@helper
def shift_cell(state, cell, start, x, pull, narrow):
    """Move one weight's mean, and narrow its variance: precisions add."""
    variance = spread_of(state, cell, start)
    spread = variance * x
    state[cell, 0] += pull * spread
    if narrow > 0.0:
        state[cell, 1] = max(variance / (1.0 + narrow * (spread * x)), LEAST)


@helper
def shift_pair(state, one, two, start, x, z, pull, narrow):
    """Shift two distinct cells at once, so that their divisions overlap; the bits are those of `shift_cell` twice."""
    first, second = spread_of(state, one, start), spread_of(state, two, start)
    p, q = first * x, second * z
    first /= 1.0 + narrow * (p * x)
    second /= 1.0 + narrow * (q * z)
    p, q = state[one, 0] + pull * p, state[two, 0] + pull * q
    state[one, 0], state[one, 1] = p, max(first, LEAST)
    state[two, 0], state[two, 1] = q, max(second, LEAST)


@helper
def settle_down(state, heap, places, start, many, output, at):
    """Let the column at a place of the heap, whose variance has fallen, sink to where it belongs."""
    size = np.uint64(heap.shape[0])
    column = heap[at]
    own = spread_of(state, column * many + output, start)
    while True:
        below = TWO * at + ONE
        if below >= size:
            break
        if below + ONE < size and spread_of(state, heap[below + ONE] * many + output, start) > spread_of(state, heap[below] * many + output, start):
            below += ONE
        if spread_of(state, heap[below] * many + output, start) <= own:
            break
        heap[at] = heap[below]
        places[heap[at] * many + output] = at + ONE
        at = below
    heap[at] = column
    places[column * many + output] = at + ONE


@helper
def shift_kept(data, indices, first, last, state, heap, places, start, intercept, many, output, pull, narrow):
    """Take a row into one output: shift every weight, then keep those of the least variance and clear the others."""
    top = np.uint64(0)
    for k in range(first, last):
        cell = np.uint64(indices[k]) * many + output
        shift_cell(state, cell, start, np.float64(data[k]), pull, narrow)
        if places[cell]:
            settle_down(state, heap, places, start, many, output, np.uint64(places[cell]) - ONE)
    for k in range(first, last):
        column = np.uint64(indices[k])
        cell = column * many + output
        if places[cell]:
            continue
        highest = heap[top] * many + output
        if spread_of(state, cell, start) < spread_of(state, highest, start):
            state[highest, 0], places[highest] = 0.0, 0
            heap[top] = column
            settle_down(state, heap, places, start, many, output, top)
        else:
            state[cell, 0] = 0.0
    if intercept:
        shift_cell(state, np.uint64(state.shape[0]) - many + output, start, 1.0, pull, narrow)
