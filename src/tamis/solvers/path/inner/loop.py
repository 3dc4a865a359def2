"""Block coordinate descent on a quadratic model, from a Gram matrix or from columns.

A block takes one proximal step of its own length, 1 over its Lipschitz constant: the largest
eigenvalue of its part of the Gram matrix, or a bound of it; from dense columns, whose parts of the
Gram matrix cost as much as several sweeps, one that is found by trying.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.numerics.numba import compiled, helper
from tamis.terms.methods import prox

ZERO, ONE, TWO, THREE, FOUR = (np.uint64(number) for number in (0, 1, 2, 3, 4))
STRETCH = np.uint64(1024)  # rows of residuals that stay in the cache
STEEPER = 1.5  # than its Lipschitz constant a block may be: steps of up to 2 over it descend


class Priced(NamedTuple):
    """Blocks of places: where each begins, the weights of its norm and of L1, and its Lipschitz
    constant.
    """

    starts: np.ndarray
    weights: np.ndarray
    l1_weights: np.ndarray
    lipschitz: np.ndarray


class DenseColumns(NamedTuple):
    """Rows of `columns` that places name, less their means; all rows have one curvature. The
    residuals sum to 0 where there are means.
    """

    columns: np.ndarray
    place_column: np.ndarray
    means: np.ndarray
    curvature: float
    residuals: np.ndarray


class SparseColumns(NamedTuple):
    """CSC columns that places name, with the curvature of each row, and means under it (0 without
    an intercept): with the intercept at its best the residuals' weighted sum stays 0, so a column's
    mean only moves a shift of them all, which is kept beside them.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    place_column: np.ndarray
    curvature: np.ndarray
    means: np.ndarray
    residuals: np.ndarray


@compiled
def sweep_gram(gram, gradient, w, picks, blocks, penalty, turns):
    """Sweeps over the blocks `picks`; `slope` (places, outputs) is kept that of the quadratic model
    at `w`.
    """
    starts, weights, l1_weights, lipschitz = blocks
    many, places = np.uint64(w.shape[1]), np.uint64(w.shape[0])
    room, moved = np.empty(places * many), np.empty(places * many)
    for _ in range(turns):
        for g in picks:
            low, size = starts[g], starts[g + ONE] - starts[g]
            if lipschitz[g] <= 0.0:
                continue
            for k in range(size):
                for c in range(many):
                    room[k * many + c] = w[low + k, c] - gradient[low + k, c] / lipschitz[g]
            before, after = room[: size * many], moved[: size * many]
            prox(penalty, before, 1.0 / lipschitz[g], weights[g], l1_weights[g], after)
            for k in range(size):
                for c in range(many):
                    change = moved[k * many + c] - w[low + k, c]
                    if change != 0.0:
                        w[low + k, c] = moved[k * many + c]
                        for j in range(places):
                            gradient[j, c] += gram[low + k, j] * change


@helper
def _push_block(table, low, size, changes, push):
    """Fill `push` with what a block's changes add to the residuals; the sum of its squares comes
    back.

    Four columns at a time go into a stretch of rows, which stays in the cache.
    """
    columns, at, means = table[0], table[1], table[2]
    rows, bent = np.uint64(push.shape[0]), 0.0
    for first in range(ZERO, rows, STRETCH):
        last = min(first + STRETCH, rows)
        part, many, k = push[first:last], last - first, ZERO
        part[:] = 0.0
        while k + FOUR <= size:
            a, b, c, d = at[low + k], at[low + k + ONE], at[low + k + TWO], at[low + k + THREE]
            x, y, z, u = changes[k], changes[k + ONE], changes[k + TWO], changes[k + THREE]
            shift = means[a] * x + means[b] * y + means[c] * z + means[d] * u
            one, two = columns[a, first:last], columns[b, first:last]
            three, four = columns[c, first:last], columns[d, first:last]
            for i in range(many):
                part[i] += one[i] * x + two[i] * y + three[i] * z + four[i] * u - shift
            k += FOUR
        while k < size:
            column, x = columns[at[low + k], first:last], changes[k]
            shift = means[at[low + k]] * x
            for i in range(many):
                part[i] += column[i] * x - shift
            k += ONE
        bent += np.dot(part, part)
    return bent


@compiled
def sweep_dense(table, w, picks, blocks, penalty, turns):
    """The same for one output from dense columns, whose residuals are kept up.

    A block's Lipschitz constant may be too small: a step along which the model bends by more than
    STEEPER times as much is taken anew with what was found, so every step descends.
    """
    columns, place_column, _, curvature, residuals = table
    starts, weights, l1_weights, lipschitz = blocks
    slopes, room, moved = np.empty(w.shape[0]), np.empty(w.shape[0]), np.empty(w.shape[0])
    push = np.empty(residuals.shape[0])
    for _ in range(turns):
        for g in picks:
            low, size = starts[g], starts[g + ONE] - starts[g]
            if lipschitz[g] <= 0.0:
                continue
            for k in range(size):
                slopes[k] = curvature * np.dot(columns[place_column[low + k]], residuals)
            before, after = room[:size], moved[:size]
            while True:
                for k in range(size):
                    room[k] = w[low + k, 0] - slopes[k] / lipschitz[g]
                prox(penalty, before, 1.0 / lipschitz[g], weights[g], l1_weights[g], after)
                square = 0.0
                for k in range(size):
                    room[k] = moved[k] - w[low + k, 0]
                    square += room[k] * room[k]
                if square == 0.0:
                    break
                bent = curvature * _push_block(table, low, size, before, push)
                if not bent > STEEPER * lipschitz[g] * square:
                    for k in range(size):
                        w[low + k, 0] = moved[k]
                    for i in range(np.uint64(residuals.shape[0])):
                        residuals[i] += push[i]
                    break
                lipschitz[g] = bent / square


@compiled
def mean_curvatures(table, starts, lipschitz):
    """Fill in the nan among `lipschitz` with the mean eigenvalue of the block's Gram matrix, from
    the columns' lengths.
    """
    columns, place_column, means, curvature, _ = table
    rows = columns.shape[1]
    for g in range(np.uint64(lipschitz.shape[0])):
        if math.isnan(lipschitz[g]):
            lipschitz[g] = 0.0
            for place in range(starts[g], starts[g + ONE]):
                j = place_column[place]
                square = np.dot(columns[j], columns[j]) - rows * means[j] * means[j]
                lipschitz[g] += curvature * max(square, 0.0) / (starts[g + ONE] - starts[g])


@compiled
def slope_columns(table, gradient):
    """Fill `slope` (places, 1) with that of dense columns."""
    columns, place_column, _, curvature, residuals = table
    for place in range(np.uint64(gradient.shape[0])):
        gradient[place, 0] = curvature * np.dot(columns[place_column[place]], residuals)


@compiled
def sweep_columns(table, shift, w, picks, blocks, penalty, turns):
    """The same from sparse columns; residuals are kept up but for `shift`, which is returned."""
    data, indices, indptr, place_column, curvature, means, residuals = table
    starts, weights, l1_weights, lipschitz = blocks
    room, moved = np.empty(w.shape[0]), np.empty(w.shape[0])
    mass = curvature.sum()
    for _ in range(turns):
        for g in picks:
            low, size = starts[g], starts[g + ONE] - starts[g]
            if lipschitz[g] <= 0.0:
                continue
            for k in range(size):
                j, s = place_column[low + k], 0.0
                for i in range(indptr[j], indptr[j + ONE]):
                    s += data[i] * curvature[indices[i]] * residuals[indices[i]]
                room[k] = w[low + k, 0] - (s + shift * means[j] * mass) / lipschitz[g]
            before, after = room[:size], moved[:size]
            prox(penalty, before, 1.0 / lipschitz[g], weights[g], l1_weights[g], after)
            for k in range(size):
                change = moved[k] - w[low + k, 0]
                if change != 0.0:
                    w[low + k, 0] = moved[k]
                    j = place_column[low + k]
                    for i in range(indptr[j], indptr[j + ONE]):
                        residuals[indices[i]] += data[i] * change
                    shift -= means[j] * change
    return shift


@compiled
def bound_lipschitz(table, starts, lipschitz):
    """Fill `lipschitz` with a bound of the largest eigenvalue of each block's Gram matrix: the
    largest sum of a row's sizes.
    """
    data, indices, indptr, place_column, curvature, means, _ = table
    mass = curvature.sum()
    for g in range(np.uint64(lipschitz.shape[0])):
        lipschitz[g] = 0.0
        for first in range(starts[g], starts[g + ONE]):
            a, total = place_column[first], 0.0
            for second in range(starts[g], starts[g + ONE]):
                b, product = place_column[second], 0.0
                i, k = indptr[a], indptr[b]
                while i < indptr[a + ONE] and k < indptr[b + ONE]:
                    if indices[i] == indices[k]:
                        product += data[i] * data[k] * curvature[indices[i]]
                        i, k = i + ONE, k + ONE
                    elif indices[i] < indices[k]:
                        i += ONE
                    else:
                        k += ONE
                total += abs(product - means[a] * means[b] * mass)
            lipschitz[g] = max(lipschitz[g], total)
