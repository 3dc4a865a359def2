"""Sweeps of sparse batch confidence-weighted learning: selected columns in blocks, each block with
its own covariance.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.methods.batch_confidence_weighted.loop import climbed
from tamis.numerics.numba import compiled, helper, prefetch

ONE = np.uint64(1)
NEAR, FAR = np.uint64(4), np.uint64(8)  # rows ahead
DOUBLINGS, LOOKS, CLOSE = 60, 40, 1e-9  # of the line search


class Blocks(NamedTuple):
    """Rows in their selected columns, numbered block by block, and the covariance of each block.

    Block k has the numbers `starts[k]` to `starts[k + 1]`, of which the last is the constant's if
    `constant` is not 0 (it is in no row). `sigma` holds the covariances one after the other, from
    `places[k]` on; empty, they are identities.
    """

    csr: tuple[np.ndarray, np.ndarray, np.ndarray]
    starts: np.ndarray
    places: np.ndarray
    sigma: np.ndarray
    constant: float


class Box(NamedTuple):
    """Signs of the rows, and the bounds and ridges of their dual variables."""

    signs: np.ndarray
    bounds: np.ndarray
    ridges: np.ndarray


class State(NamedTuple):
    """Dual variables, the sum of alpha y x over all rows, and Sigma times that."""

    alpha: np.ndarray
    dual_sum: np.ndarray
    unscaled: np.ndarray


@helper
def fill_shares(lengths, sigma, shares):
    """Lengths t of the maximiser of z.w - sigma |w|^2 / 2 - (sum |w_k|)^2 / 2, for block lengths a
    of z; return their sum.

    t = max(0, a - S) / sigma with S = sum t. Starting from all blocks S only rises, so that a block
    once below it stays out.
    """
    total, blocks, level = 0.0, 0.0, -1.0
    for k in range(np.uint64(lengths.shape[0])):
        total += lengths[k]
        blocks += 1.0
    while True:
        found = total / (sigma + blocks)
        if found <= level or blocks == 0.0:
            break
        level = found
        total, blocks = 0.0, 0.0
        for k in range(np.uint64(lengths.shape[0])):
            if lengths[k] > level:
                total += lengths[k]
                blocks += 1.0
    level = max(level, 0.0)
    for k in range(np.uint64(lengths.shape[0])):
        shares[k] = max(0.0, lengths[k] - level) / sigma
    return level


@compiled
def share_out(lengths, sigma, shares):
    """Entry to `fill_shares`."""
    return fill_shares(lengths, sigma, shares)


@compiled
def join_rows(rows, more, shift, joined):
    """Put the entries of a new block behind those that each row has; its columns are numbered from
    `shift` on.
    """
    data, indices, indptr = rows
    own, places, pointers = more
    out_data, out_indices, out_indptr = joined
    at = np.uint64(0)
    out_indptr[0] = at
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        for k in range(indptr[i], indptr[i + ONE]):
            out_data[at], out_indices[at] = data[k], indices[k]
            at += ONE
        for k in range(pointers[i], pointers[i + ONE]):
            out_data[at], out_indices[at] = own[k], places[k] + shift
            at += ONE
        out_indptr[i + ONE] = at


@helper
def add_covered(scaled, j, k, blocks, unscaled):
    """Add `scaled` times column j of the covariance of its block k."""
    first = blocks.starts[k]
    size = blocks.starts[k + ONE] - first
    if not blocks.sigma.shape[0]:
        unscaled[j] += scaled
        return
    base = blocks.places[k] + (j - first) * size
    for m in range(size):
        unscaled[first + m] += scaled * blocks.sigma[base + m]


@helper
def shift_row(i, move, constant, blocks, state):
    """Add `move` times a row to the state."""
    data, indices, indptr = blocks.csr
    p, last = indptr[i], indptr[i + ONE]
    for k in range(np.uint64(blocks.starts.shape[0]) - ONE):
        end = blocks.starts[k + ONE]
        while p < last and indices[p] < end:
            j, scaled = np.uint64(indices[p]), move * data[p]
            state.dual_sum[j] += scaled
            add_covered(scaled, j, k, blocks, state.unscaled)
            p += ONE
        if constant != 0.0:
            scaled = move * constant
            state.dual_sum[end - ONE] += scaled
            add_covered(scaled, end - ONE, k, blocks, state.unscaled)


@helper
def fill_constant(blocks, column):
    """What a step of 1 on the constant column adds to `unscaled`."""
    constant = blocks.constant
    for k in range(np.uint64(blocks.starts.shape[0]) - ONE):
        begin, end = blocks.starts[k], blocks.starts[k + ONE]
        size = end - begin
        for m in range(size):
            if constant != 0.0 and blocks.sigma.shape[0]:
                place = blocks.places[k] + (size - ONE) * size + m
                column[begin + m] = constant * blocks.sigma[place]
            else:
                column[begin + m] = constant if m + ONE == size else 0.0


@compiled
def sweep_scaled(blocks, order, rates, curvatures, box, state):
    """A sweep with fixed rates of the blocks: weights are `rates[k] * unscaled` (multiple-kernel
    form).

    The constant is in every row and block. What its steps add to `unscaled` is `level * column`,
    and is put there at the end: a step costs the blocks that the row has entries in, not all of
    them. `base` is the constant's part of a score while `level` is 0.
    """
    data, indices, indptr = blocks.csr
    starts, constant = blocks.starts, blocks.constant
    alpha, dual_sum, unscaled = state
    count = np.uint64(rates.shape[0])
    rate, column = np.empty(unscaled.shape[0]), np.empty(unscaled.shape[0])
    fill_constant(blocks, column)
    level, base, lift = 0.0, 0.0, 0.0
    for k in range(count):
        rate[starts[k] : starts[k + ONE]] = rates[k]
        base += rates[k] * constant * unscaled[starts[k + ONE] - ONE]
        lift += rates[k] * constant * column[starts[k + ONE] - ONE]
    n = np.uint64(order.shape[0])
    for r in range(n):
        if r + FAR < n:  # rows come in random order: ask for what a later one needs
            i = np.uint64(order[r + FAR])
            prefetch(indptr, i)
            prefetch(alpha, i)
            prefetch(curvatures, i)
            i = np.uint64(order[r + NEAR])
            prefetch(data, indptr[i])
            prefetch(indices, indptr[i])
        i = np.uint64(order[r])
        first, last = indptr[i], indptr[i + ONE]
        score = base + level * lift
        for p in range(first, last):
            j = indices[p]
            score += rate[j] * (unscaled[j] + level * column[j]) * data[p]
        short, old = 1.0 - box.signs[i] * score, alpha[i]
        if old == 0.0 and short <= 0.0:
            continue
        new = climbed(old, short, curvatures[i], box.ridges[i], box.bounds[i])
        if new != old:
            alpha[i] = new
            move = box.signs[i] * (new - old)
            shift_row(i, move, 0.0, blocks, state)
            level += move
            for p in range(first, last):
                j = indices[p]
                base += rate[j] * move * data[p] * column[j]
    for k in range(count if constant != 0.0 else np.uint64(0)):
        dual_sum[starts[k + ONE] - ONE] += level * constant
    for j in range(np.uint64(unscaled.shape[0])):
        unscaled[j] += level * column[j]


@helper
def row_products(i, blocks, unscaled, products):
    """Inner products of a row with `unscaled`, block by block."""
    data, indices, indptr = blocks.csr
    p, last = indptr[i], indptr[i + ONE]
    for k in range(np.uint64(products.shape[0])):
        end = blocks.starts[k + ONE]
        total = 0.0
        while p < last and indices[p] < end:
            total += unscaled[np.uint64(indices[p])] * data[p]
            p += ONE
        constant = blocks.constant
        products[k] = total + constant * unscaled[end - ONE] if constant != 0.0 else total


@helper
def slope_at(delta, line):
    """Derivative of the conjugate along a row's dual variable, `delta` away from where it is."""
    sign, products, curvatures, lengths2, strength, lengths, shares = line
    for k in range(np.uint64(products.shape[0])):
        square = lengths2[k] + 2.0 * delta * sign * products[k] + delta * delta * curvatures[k]
        lengths[k] = math.sqrt(max(square, 0.0))
    fill_shares(lengths, strength, shares)
    total = 0.0
    for k in range(np.uint64(products.shape[0])):
        if shares[k] > 0.0:
            total += shares[k] / lengths[k] * (sign * products[k] + delta * curvatures[k])
    return total


@helper
def exact_step(old, ridge, bound, line):
    """The dual variable at which the dual is largest along it: a bracket by doubling, then false
    position (Illinois).
    """
    slope = slope_at(0.0, line) - 1.0 + ridge * old
    if abs(slope) <= CLOSE or (slope > 0.0 and old <= 0.0) or (slope < 0.0 and old >= bound):
        return old
    total = 0.0
    for square in line[2]:
        total += square
    if total + ridge > 0.0:
        step = -slope / (total + ridge)
    else:
        step = bound - old if slope < 0.0 else -old
    near, near_slope, far, far_slope = 0.0, slope, step, slope
    for _ in range(DOUBLINGS):
        far = min(max(far, -old), bound - old)
        far_slope = slope_at(far, line) - 1.0 + ridge * (old + far)
        if far_slope == 0.0 or (far_slope > 0.0) != (slope > 0.0):
            break
        if far <= -old or far >= bound - old:
            return old + far
        near, near_slope, far = far, far_slope, 2.0 * far
    side = 0
    for _ in range(LOOKS):
        if abs(far - near) <= CLOSE * max(abs(far), abs(near)) or far_slope == near_slope:
            break
        middle = (near * far_slope - far * near_slope) / (far_slope - near_slope)
        found = slope_at(middle, line) - 1.0 + ridge * (old + middle)
        if abs(found) <= CLOSE:
            return old + middle
        if (found > 0.0) == (far_slope > 0.0):
            far, far_slope = middle, found
            near_slope = 0.5 * near_slope if side == 1 else near_slope
            side = 1
        else:
            near, near_slope = middle, found
            far_slope = 0.5 * far_slope if side == 2 else far_slope
            side = 2
    return old + far


@compiled
def sweep_joint(blocks, order, strength, exact, squares, box, state, lengths2):
    """A sweep in which the rates follow every step: the dual is climbed to its top along each row,
    or by the printed step.
    """
    alpha = state.alpha
    count = np.uint64(lengths2.shape[0])
    products, lengths, shares = np.empty(count), np.empty(count), np.empty(count)
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        row_products(i, blocks, state.unscaled, products)
        sign, old, ridge, bound = box.signs[i], alpha[i], box.ridges[i], box.bounds[i]
        line = (sign, products, squares[i], lengths2, strength, lengths, shares)
        if exact:
            new = exact_step(old, ridge, bound, line)
        else:
            short = 1.0 - slope_at(0.0, line)
            new = climbed(old, short, squares[i].sum(), ridge, bound) if short > 0.0 else old
        if new != old:
            alpha[i] = new
            move = sign * (new - old)
            for k in range(count):
                square = lengths2[k] + 2.0 * move * products[k] + move * move * squares[i, k]
                lengths2[k] = max(square, 0.0)
            shift_row(i, move, blocks.constant, blocks, state)
