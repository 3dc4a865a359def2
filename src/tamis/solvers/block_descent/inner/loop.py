"""Block coordinate descent on a quadratic model, from a Gram matrix or from columns."""

import numpy as np

from tamis.base.jit import compiled
from tamis.base.verbs import block_prox

ONE, STRETCH = np.uint64(1), np.uint64(1024)


@compiled
def sweep_gram(gram, slope, w, picks, starts, weights, l1_weights, bends, penalty, turns):
    """Sweeps over the blocks `picks`; `slope` (places, outputs) is kept that of the quadratic model
    at `w`.

    A block takes one proximal step of its own length, 1 over its `bends`, the largest eigenvalue of
    its part of the Gram matrix.
    """
    many, places = np.uint64(w.shape[1]), np.uint64(w.shape[0])
    room, moved = np.empty(places * many), np.empty(places * many)
    for _ in range(turns):
        for g in picks:
            low, size = starts[g], starts[g + ONE] - starts[g]
            if bends[g] <= 0.0:
                continue
            for k in range(size):
                for c in range(many):
                    room[k * many + c] = w[low + k, c] - slope[low + k, c] / bends[g]
            block_prox(
                penalty,
                room[: size * many],
                1.0 / bends[g],
                weights[g],
                l1_weights[g],
                moved[: size * many],
            )
            for k in range(size):
                for c in range(many):
                    change = moved[k * many + c] - w[low + k, c]
                    if change != 0.0:
                        w[low + k, c] = moved[k * many + c]
                        for j in range(places):
                            slope[j, c] += gram[low + k, j] * change


@compiled
def sweep_dense(
    columns,
    place_column,
    means,
    load,
    rest,
    w,
    picks,
    starts,
    weights,
    l1_weights,
    bends,
    penalty,
    turns,
):
    """The same for one output from dense columns, the rows of `columns`; `rest` is kept that of the
    residuals, which sum to 0 where there are means.

    `load` is the curvature of every row. A block's changes go into `rest` a stretch of rows at a
    time, which stays in the cache.
    """
    room, moved, rows = np.empty(w.shape[0]), np.empty(w.shape[0]), np.uint64(rest.shape[0])
    for _ in range(turns):
        for g in picks:
            low, size = starts[g], starts[g + ONE] - starts[g]
            if bends[g] <= 0.0:
                continue
            for k in range(size):
                room[k] = (
                    w[low + k, 0] - load * np.dot(columns[place_column[low + k]], rest) / bends[g]
                )
            block_prox(
                penalty, room[:size], 1.0 / bends[g], weights[g], l1_weights[g], moved[:size]
            )
            for k in range(size):
                moved[k], w[low + k, 0] = moved[k] - w[low + k, 0], moved[k]
            for first in range(np.uint64(0), rows, STRETCH):
                last = min(first + STRETCH, rows)
                for k in range(size):
                    change, j = moved[k], place_column[low + k]
                    if change != 0.0:
                        for i in range(first, last):
                            rest[i] += (columns[j, i] - means[j]) * change


@compiled
def slope_columns(columns, place_column, load, rest, slope):
    """Fill `slope` (places, 1) with that of dense columns."""
    for place in range(np.uint64(slope.shape[0])):
        slope[place, 0] = load * np.dot(columns[place_column[place]], rest)


@compiled
def sweep_columns(
    data,
    indices,
    indptr,
    place_column,
    load,
    means,
    rest,
    shift,
    w,
    picks,
    starts,
    weights,
    l1_weights,
    bends,
    penalty,
    turns,
):
    """The same from sparse columns; `rest` holds the residuals but for `shift`, which is returned.

    `load` is the curvature of each row, `means` the columns' means under it (0 without an
    intercept): with the intercept at its best the residuals' weighted sum stays 0, so a column's
    mean only moves `shift`.
    """
    room, moved = np.empty(w.shape[0]), np.empty(w.shape[0])
    mass = load.sum()
    for _ in range(turns):
        for g in picks:
            low, size = starts[g], starts[g + ONE] - starts[g]
            if bends[g] <= 0.0:
                continue
            for k in range(size):
                j, s = place_column[low + k], 0.0
                for i in range(indptr[j], indptr[j + ONE]):
                    s += data[i] * load[indices[i]] * rest[indices[i]]
                room[k] = w[low + k, 0] - (s + shift * means[j] * mass) / bends[g]
            block_prox(
                penalty, room[:size], 1.0 / bends[g], weights[g], l1_weights[g], moved[:size]
            )
            for k in range(size):
                change = moved[k] - w[low + k, 0]
                if change != 0.0:
                    w[low + k, 0] = moved[k]
                    j = place_column[low + k]
                    for i in range(indptr[j], indptr[j + ONE]):
                        rest[indices[i]] += data[i] * change
                    shift -= means[j] * change
    return shift


@compiled
def bend_columns(data, indices, indptr, place_column, load, means, starts, bends):
    """Fill `bends` with a bound of the largest eigenvalue of each block's Gram matrix: the largest
    sum of a row's sizes.
    """
    mass = load.sum()
    for g in range(np.uint64(bends.shape[0])):
        bends[g] = 0.0
        for first in range(starts[g], starts[g + ONE]):
            a, total = place_column[first], 0.0
            for second in range(starts[g], starts[g + ONE]):
                b, product = place_column[second], 0.0
                i, k = indptr[a], indptr[b]
                while i < indptr[a + ONE] and k < indptr[b + ONE]:
                    if indices[i] == indices[k]:
                        product += data[i] * data[k] * load[indices[i]]
                        i, k = i + ONE, k + ONE
                    elif indices[i] < indices[k]:
                        i += ONE
                    else:
                        k += ONE
                total += abs(product - means[a] * means[b] * mass)
            bends[g] = max(bends[g], total)
