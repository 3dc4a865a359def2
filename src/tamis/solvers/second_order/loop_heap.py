"""Weights of a diagonal second-order state, and the heap that keeps the surest of them.

Row j of the state holds, for each output, the mean of column j's weight, and then, for each output,
what its precision (the inverse of its variance) has gained since the start. So what no row has
touched stays all zero bits, in memory and in files, and no variance can become negative.

Second-order feature selection keeps of each output only the weights of the most precision. `kept`
is a heap of column numbers for each output, the least precise on top; `places` says for each output
and column at which place of the heap it lies, counted from 1, or 0 where it is not kept. A column
outside has weight 0 and goes on gaining precision.
"""

from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import helper, inlined

ONE, TWO = np.uint64(1), np.uint64(2)


class Row(NamedTuple):
    """A row: its values and their columns, from first to last in these arrays."""

    data: np.ndarray
    indices: np.ndarray
    first: np.uint64
    last: np.uint64


class Settings(NamedTuple):
    """Whether there is an intercept, and the precision of each weight at the start."""

    intercept: float
    prior: float


class Gains(NamedTuple):
    """What an output takes from a row: gain of the mean (with its sign) and of the precision."""

    mean: float
    precision: float


@inlined
def shift_weight(state, column, output, many, prior, x, gain):
    """Move one weight's mean, and add to its precision."""
    gained = state[column, many + output]
    state[column, output] += gain.mean * (x / (prior + gained))
    state[column, many + output] = gained + gain.precision * (x * x)


@helper
def settle_down(state, heap, places, output, many, at):
    """Let a column of the heap that has gained precision sink to where it belongs."""
    size, precision = np.uint64(heap.shape[0]), many + output
    column = heap[at]
    own = state[column, precision]
    while True:
        below = TWO * at + ONE
        if below >= size:
            break
        if (
            below + ONE < size
            and state[heap[below + ONE], precision] < state[heap[below], precision]
        ):
            below += ONE
        if state[heap[below], precision] >= own:
            break
        heap[at] = heap[below]
        places[heap[at], output] = at + ONE
        at = below
    heap[at] = column
    places[column, output] = at + ONE


@helper
def shift_kept(row, state, heap, places, settings, output, many, gain):
    """Take a row into one output: shift every weight, then keep the most precise and clear the
    others.
    """
    top, precision, prior = np.uint64(0), many + output, settings.prior
    for k in range(row.first, row.last):
        column, x = np.uint64(row.indices[k]), np.float64(row.data[k])
        shift_weight(state, column, output, many, prior, x, gain)
        if places[column, output]:
            settle_down(state, heap, places, output, many, np.uint64(places[column, output]) - ONE)
    for k in range(row.first, row.last):
        column = np.uint64(row.indices[k])
        if places[column, output]:
            continue
        least = heap[top]
        if state[column, precision] > state[least, precision]:
            state[least, output], places[least, output] = 0.0, 0
            heap[top] = column
            settle_down(state, heap, places, output, many, top)
        else:
            state[column, output] = 0.0
    if settings.intercept:
        shift_weight(state, np.uint64(state.shape[0]) - ONE, output, many, prior, 1.0, gain)
