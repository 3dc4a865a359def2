"""Compiled sweeps of dual coordinate ascent over rows in blocks of columns, with one covariance for
each block (sparse batch confidence-weighted learning).
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.methods.batch_confidence_weighted.loop import maximize_coordinate
from tamis.numerics.numba import compiled, compiled_helper, prefetch

ONE = np.uint64(1)
# Rows ahead of which entries, and pointers to them, are prefetched; both were chosen by timing.
ENTRIES_AHEAD, ROW_STARTS_AHEAD = np.uint64(4), np.uint64(8)
# Exact line search: iterations that bracket and refine the root, and the tolerance on the
# derivative and on the relative width of the bracket.
MAX_DOUBLINGS, MAX_LINE_SEARCH_STEPS, LINE_SEARCH_TOL = 60, 40, 1e-9


class BlockRows(NamedTuple):
    """Rows restricted to the selected columns, and the covariance of each block of columns.

    Columns are numbered block by block: block k has the columns `starts[k]` to `starts[k + 1] - 1`.
    If `constant` is not 0, the last of them is the constant column, which `csr` does not store.
    The covariance of block k starts at `sigma[sigma_starts[k]]`; an empty `sigma` stands for
    identities.
    """

    csr: tuple[np.ndarray, np.ndarray, np.ndarray]
    starts: np.ndarray
    sigma_starts: np.ndarray
    sigma: np.ndarray
    constant: float


class DualBox(NamedTuple):
    """Signs of the rows, and the upper bounds and ridge terms of their dual variables."""

    signs: np.ndarray
    bounds: np.ndarray
    ridges: np.ndarray


class DualState(NamedTuple):
    """Dual variables, the sum z of alpha y x over all rows, and Sigma z (`unscaled`)."""

    alpha: np.ndarray
    dual_sum: np.ndarray
    unscaled: np.ndarray


@compiled_helper
def fill_gradient_norms(block_norms, sigma, gradient_norms):
    """Compute the block norms t of the maximiser of z.w - sigma |w|^2 / 2 - (sum |w_k|)^2 / 2,
    given the block norms a of z; return their sum S.

    t = max(0, a - S) / sigma with S = sum t. S only rises when the iteration starts from all
    blocks, so a block below S never becomes active again.
    """
    total, n_active, threshold = 0.0, 0.0, -1.0
    for k in range(np.uint64(block_norms.shape[0])):
        total += block_norms[k]
        n_active += 1.0
    while True:
        new_threshold = total / (sigma + n_active)
        if new_threshold <= threshold or n_active == 0.0:
            break
        threshold = new_threshold
        total, n_active = 0.0, 0.0
        for k in range(np.uint64(block_norms.shape[0])):
            if block_norms[k] > threshold:
                total += block_norms[k]
                n_active += 1.0
    threshold = max(threshold, 0.0)
    for k in range(np.uint64(block_norms.shape[0])):
        gradient_norms[k] = max(0.0, block_norms[k] - threshold) / sigma
    return threshold


@compiled
def compute_gradient_norms(block_norms, sigma, gradient_norms):
    """Compiled entry point of `fill_gradient_norms` for callers in Python."""
    return fill_gradient_norms(block_norms, sigma, gradient_norms)


@compiled
def append_block(rows, new_rows, shift, joined):
    """Append the entries of a new block to each CSR row; its column numbers start at `shift`."""
    data, indices, indptr = rows
    new_data, new_indices, new_indptr = new_rows
    out_data, out_indices, out_indptr = joined
    end = np.uint64(0)
    out_indptr[0] = end
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        for k in range(indptr[i], indptr[i + ONE]):
            out_data[end], out_indices[end] = data[k], indices[k]
            end += ONE
        for k in range(new_indptr[i], new_indptr[i + ONE]):
            out_data[end], out_indices[end] = new_data[k], new_indices[k] + shift
            end += ONE
        out_indptr[i + ONE] = end


@compiled_helper
def add_covariance_column(step, j, k, blocks, unscaled):
    """Add `step` times column j of the covariance of block k to `unscaled`."""
    first = blocks.starts[k]
    size = blocks.starts[k + ONE] - first
    if not blocks.sigma.shape[0]:
        unscaled[j] += step
        return
    offset = blocks.sigma_starts[k] + (j - first) * size
    for m in range(size):
        unscaled[first + m] += step * blocks.sigma[offset + m]


@compiled_helper
def add_row(i, change, constant, blocks, state):
    """Add `change` times row i to the dual sum, and Sigma times that to `unscaled`."""
    data, indices, indptr = blocks.csr
    p, last = indptr[i], indptr[i + ONE]
    for k in range(np.uint64(blocks.starts.shape[0]) - ONE):
        end = blocks.starts[k + ONE]
        while p < last and indices[p] < end:
            j, step = np.uint64(indices[p]), change * data[p]
            state.dual_sum[j] += step
            add_covariance_column(step, j, k, blocks, state.unscaled)
            p += ONE
        if constant != 0.0:
            step = change * constant
            state.dual_sum[end - ONE] += step
            add_covariance_column(step, end - ONE, k, blocks, state.unscaled)


@compiled_helper
def fill_constant_step(blocks, column):
    """Compute the change of `unscaled` for a step of 1 on the constant column of every block."""
    constant = blocks.constant
    for k in range(np.uint64(blocks.starts.shape[0]) - ONE):
        start, end = blocks.starts[k], blocks.starts[k + ONE]
        size = end - start
        for m in range(size):
            if constant != 0.0 and blocks.sigma.shape[0]:
                offset = blocks.sigma_starts[k] + (size - ONE) * size + m
                column[start + m] = constant * blocks.sigma[offset]
            else:
                column[start + m] = constant if m + ONE == size else 0.0


@compiled
def sweep_scaled(blocks, order, block_scales, curvatures, box, state):
    """Run one sweep with fixed block scales: the weights of block k are `block_scales[k]` times
    `unscaled` (multiple-kernel form).

    The constant column is in every row and block. Its steps change `unscaled` by `constant_sum *
    constant_step`, which is added at the end, so that the cost of a step depends only on the blocks
    in which the row has entries. `constant_score` is the score of the constant columns at
    `constant_sum` = 0.
    """
    data, indices, indptr = blocks.csr
    starts, constant = blocks.starts, blocks.constant
    alpha, dual_sum, unscaled = state
    n_blocks = np.uint64(block_scales.shape[0])
    column_scales, constant_step = np.empty(unscaled.shape[0]), np.empty(unscaled.shape[0])
    fill_constant_step(blocks, constant_step)
    constant_sum, constant_score, constant_score_step = 0.0, 0.0, 0.0
    for k in range(n_blocks):
        column_scales[starts[k] : starts[k + ONE]] = block_scales[k]
        constant_score += block_scales[k] * constant * unscaled[starts[k + ONE] - ONE]
        constant_score_step += block_scales[k] * constant * constant_step[starts[k + ONE] - ONE]
    n_rows = np.uint64(order.shape[0])
    for r in range(n_rows):
        if r + ROW_STARTS_AHEAD < n_rows:  # the order is random, so the next rows are not in cache
            i = np.uint64(order[r + ROW_STARTS_AHEAD])
            prefetch(indptr, i)
            prefetch(alpha, i)
            prefetch(curvatures, i)
            i = np.uint64(order[r + ENTRIES_AHEAD])
            prefetch(data, indptr[i])
            prefetch(indices, indptr[i])
        i = np.uint64(order[r])
        first, last = indptr[i], indptr[i + ONE]
        score = constant_score + constant_sum * constant_score_step
        for p in range(first, last):
            j = indices[p]
            score += column_scales[j] * (unscaled[j] + constant_sum * constant_step[j]) * data[p]
        slack, old = 1.0 - box.signs[i] * score, alpha[i]
        if old == 0.0 and slack <= 0.0:
            continue
        new = maximize_coordinate(old, slack, curvatures[i], box.ridges[i], box.bounds[i])
        if new != old:
            alpha[i] = new
            change = box.signs[i] * (new - old)
            add_row(i, change, 0.0, blocks, state)
            constant_sum += change
            for p in range(first, last):
                j = indices[p]
                constant_score += column_scales[j] * change * data[p] * constant_step[j]
    for k in range(n_blocks if constant != 0.0 else np.uint64(0)):
        dual_sum[starts[k + ONE] - ONE] += constant_sum * constant
    for j in range(np.uint64(unscaled.shape[0])):
        unscaled[j] += constant_sum * constant_step[j]


@compiled_helper
def row_products(i, blocks, unscaled, products):
    """Compute the inner product of row i with `unscaled` in each block."""
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


@compiled_helper
def conjugate_derivative(delta, coordinate):
    """Return the derivative of the conjugate along the dual variable of one row, `delta` away from
    its present value.
    """
    sign, products, curvatures, squared_norms, sigma, block_norms, gradient_norms = coordinate
    for k in range(np.uint64(products.shape[0])):
        square = squared_norms[k] + 2.0 * delta * sign * products[k] + delta * delta * curvatures[k]
        block_norms[k] = math.sqrt(max(square, 0.0))
    fill_gradient_norms(block_norms, sigma, gradient_norms)
    total = 0.0
    for k in range(np.uint64(products.shape[0])):
        if gradient_norms[k] > 0.0:
            total += (
                gradient_norms[k] / block_norms[k] * (sign * products[k] + delta * curvatures[k])
            )
    return total


@compiled_helper
def exact_step(old, ridge, bound, coordinate):
    """Return the value of one dual variable that maximises the dual: a bracket by doubling, then
    false position (Illinois).
    """
    derivative = conjugate_derivative(0.0, coordinate) - 1.0 + ridge * old
    if (
        abs(derivative) <= LINE_SEARCH_TOL
        or (derivative > 0.0 and old <= 0.0)
        or (derivative < 0.0 and old >= bound)
    ):
        return old
    total_curvature = 0.0
    for curvature in coordinate[2]:
        total_curvature += curvature
    if total_curvature + ridge > 0.0:
        step = -derivative / (total_curvature + ridge)
    else:
        step = bound - old if derivative < 0.0 else -old
    inner, inner_derivative, outer, outer_derivative = 0.0, derivative, step, derivative
    for _ in range(MAX_DOUBLINGS):
        outer = min(max(outer, -old), bound - old)
        outer_derivative = conjugate_derivative(outer, coordinate) - 1.0 + ridge * (old + outer)
        if outer_derivative == 0.0 or (outer_derivative > 0.0) != (derivative > 0.0):
            break
        if outer <= -old or outer >= bound - old:
            return old + outer
        inner, inner_derivative, outer = outer, outer_derivative, 2.0 * outer
    side = 0
    for _ in range(MAX_LINE_SEARCH_STEPS):
        if (
            abs(outer - inner) <= LINE_SEARCH_TOL * max(abs(outer), abs(inner))
            or outer_derivative == inner_derivative
        ):
            break
        middle = (inner * outer_derivative - outer * inner_derivative) / (
            outer_derivative - inner_derivative
        )
        middle_derivative = conjugate_derivative(middle, coordinate) - 1.0 + ridge * (old + middle)
        if abs(middle_derivative) <= LINE_SEARCH_TOL:
            return old + middle
        if (middle_derivative > 0.0) == (outer_derivative > 0.0):
            outer, outer_derivative = middle, middle_derivative
            inner_derivative = 0.5 * inner_derivative if side == 1 else inner_derivative
            side = 1
        else:
            inner, inner_derivative = middle, middle_derivative
            outer_derivative = 0.5 * outer_derivative if side == 2 else outer_derivative
            side = 2
    return old + outer


@compiled
def sweep_joint(blocks, order, sigma, exact, row_curvatures, box, state, squared_norms):
    """Run one sweep that updates the block norms after every step; a step maximises the dual along
    one variable exactly, or is the printed step of algorithm 3.
    """
    alpha = state.alpha
    n_blocks = np.uint64(squared_norms.shape[0])
    products = np.empty(n_blocks)
    block_norms = np.empty(n_blocks)
    gradient_norms = np.empty(n_blocks)
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        row_products(i, blocks, state.unscaled, products)
        sign, old, ridge, bound = box.signs[i], alpha[i], box.ridges[i], box.bounds[i]
        coordinate = (
            sign,
            products,
            row_curvatures[i],
            squared_norms,
            sigma,
            block_norms,
            gradient_norms,
        )
        if exact:
            new = exact_step(old, ridge, bound, coordinate)
        else:
            slack = 1.0 - conjugate_derivative(0.0, coordinate)
            new = (
                maximize_coordinate(old, slack, row_curvatures[i].sum(), ridge, bound)
                if slack > 0.0
                else old
            )
        if new != old:
            alpha[i] = new
            change = sign * (new - old)
            for k in range(n_blocks):
                squared_norm = squared_norms[k] + 2.0 * change * products[k]
                squared_norms[k] = max(squared_norm + change * change * row_curvatures[i, k], 0.0)
            add_row(i, change, blocks.constant, blocks, state)
