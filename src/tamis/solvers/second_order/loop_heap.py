"""Updates of a diagonal second-order state, and the heap of the features that SOFS selects.

Row j of the state holds the mean of column j's weight for each output, and then, for each output,
the precision (inverse variance) that it gained since the start. So columns that no row has are
zeros, which take no memory before they are written, and no variance can become negative.

Second-order feature selection (SOFS) selects the weights of highest precision. Each output has a
heap of selected columns, the least precise on top. `positions` has the position of each column in
the heap of each output, counted from 1; 0 means not selected. A column that is not selected has
weight 0, but its precision goes on growing.
"""

from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import compiled_helper, force_inlined

ONE, TWO = np.uint64(1), np.uint64(2)


class Row(NamedTuple):
    """A row: the entries `first` to `last` - 1 of `data` (values) and `indices` (columns)."""

    data: np.ndarray
    indices: np.ndarray
    first: np.uint64
    last: np.uint64


class Settings(NamedTuple):
    """Whether there is an intercept, and the initial precision of each weight."""

    intercept: float
    prior: float


class Update(NamedTuple):
    """Update of an output by a row: factor of the mean's step (signed) and added precision."""

    mean: float
    precision: float


@force_inlined
def update_weight(state, column, output, n_outputs, prior, x, update):
    """Update the mean and the precision of one weight."""
    added_precision = state[column, n_outputs + output]
    state[column, output] += update.mean * (x / (prior + added_precision))
    state[column, n_outputs + output] = added_precision + update.precision * (x * x)


@compiled_helper
def sift_down(state, heap, positions, output, n_outputs, position):
    """Restore the heap after the column at a position gained precision: sift it down."""
    size, precision = np.uint64(heap.shape[0]), n_outputs + output
    column = heap[position]
    column_precision = state[column, precision]
    while True:
        child = TWO * position + ONE
        if child >= size:
            break
        if (
            child + ONE < size
            and state[heap[child + ONE], precision] < state[heap[child], precision]
        ):
            child += ONE
        if state[heap[child], precision] >= column_precision:
            break
        heap[position] = heap[child]
        positions[heap[position], output] = position + ONE
        position = child
    heap[position] = column
    positions[column, output] = position + ONE


@compiled_helper
def update_selected(row, state, heap, positions, settings, output, n_outputs, update):
    """Update one output by a row, then select its most precise columns and set the weights of the
    others to 0.
    """
    top, precision, prior = np.uint64(0), n_outputs + output, settings.prior
    for k in range(row.first, row.last):
        column, x = np.uint64(row.indices[k]), np.float64(row.data[k])
        update_weight(state, column, output, n_outputs, prior, x, update)
        if positions[column, output]:
            sift_down(
                state,
                heap,
                positions,
                output,
                n_outputs,
                np.uint64(positions[column, output]) - ONE,
            )
    for k in range(row.first, row.last):
        column = np.uint64(row.indices[k])
        if positions[column, output]:
            continue
        least_precise = heap[top]
        if state[column, precision] > state[least_precise, precision]:
            state[least_precise, output], positions[least_precise, output] = 0.0, 0
            heap[top] = column
            sift_down(state, heap, positions, output, n_outputs, top)
        else:
            state[column, output] = 0.0
    if settings.intercept:
        update_weight(state, np.uint64(state.shape[0]) - ONE, output, n_outputs, prior, 1.0, update)
