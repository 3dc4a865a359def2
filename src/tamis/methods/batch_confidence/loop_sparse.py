"""Sweeps of sparse batch confidence-weighted learning: selected columns in blocks, each block with
its own covariance.

Rows hold selected columns only, numbered block by block: block k has the numbers `starts[k]` to
`starts[k + 1]`, of which the last is the constant's if `constant` is not 0 (it is in no row).
`sigma` holds the covariances one after the other, from `places[k]` on; empty, they are identities.
The state of an output is `push`, the sum of alpha y x over all rows, and `bent`, Sigma times that.
"""

import math

import numpy as np

from tamis.base.jit import compiled, helper, prefetch
from tamis.methods.batch_confidence.loop import climbed

ONE = np.uint64(1)
NEAR, FAR = np.uint64(4), np.uint64(8)  # rows ahead
DOUBLINGS, LOOKS, CLOSE = 60, 40, 1e-9  # of the line search


# --------------------------------------------------------------------- the conjugate of the penalty
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


# ------------------------------------------------------------------------- rows of selected columns
@compiled
def join_rows(
    data, indices, indptr, more, places, pointers, shift, out_data, out_indices, out_indptr
):
    """Put the entries of a new block behind those that each row has; its columns are numbered from
    `shift` on.
    """
    at = np.uint64(0)
    out_indptr[0] = at
    for i in range(np.uint64(indptr.shape[0]) - ONE):
        for k in range(indptr[i], indptr[i + ONE]):
            out_data[at], out_indices[at] = data[k], indices[k]
            at += ONE
        for k in range(pointers[i], pointers[i + ONE]):
            out_data[at], out_indices[at] = more[k], places[k] + shift
            at += ONE
        out_indptr[i + ONE] = at


@helper
def bend_by(scaled, j, first, size, place, sigma, bent):
    """Add `scaled` times column j of a block's covariance."""
    base = place + (j - first) * size
    for m in range(size):
        bent[first + m] += scaled * sigma[base + m]


@helper
def shift_row(data, indices, first, last, starts, places, sigma, constant, move, push, bent):
    """Add `move` times a row to the state."""
    p = first
    for k in range(np.uint64(starts.shape[0]) - ONE):
        begin, end = starts[k], starts[k + ONE]
        while p < last and indices[p] < end:
            j, scaled = np.uint64(indices[p]), move * data[p]
            push[j] += scaled
            if sigma.shape[0]:
                bend_by(scaled, j, begin, end - begin, places[k], sigma, bent)
            else:
                bent[j] += scaled
            p += ONE
        if constant != 0.0:
            scaled = move * constant
            push[end - ONE] += scaled
            if sigma.shape[0]:
                bend_by(scaled, end - ONE, begin, end - begin, places[k], sigma, bent)
            else:
                bent[end - ONE] += scaled


# --------------------------------------------------------------------------- sweeps
@helper
def fill_pulls(starts, places, sigma, constant, pulls):
    """What a step of 1 on the constant column adds to `bent`."""
    for k in range(np.uint64(starts.shape[0]) - ONE):
        begin, end = starts[k], starts[k + ONE]
        size = end - begin
        for m in range(size):
            if constant == 0.0:
                pulls[begin + m] = 0.0
            elif sigma.shape[0]:
                pulls[begin + m] = constant * sigma[places[k] + (size - ONE) * size + m]
            else:
                pulls[begin + m] = constant if m + ONE == size else 0.0


@compiled
def sweep_scaled(
    csr,
    order,
    starts,
    places,
    sigma,
    constant,
    rates,
    curves,
    signs,
    bounds,
    ridges,
    alpha,
    push,
    bent,
):
    """A sweep with fixed rates of the blocks: weights are `rates[k] * bent` (multiple-kernel form).

    The constant is in every row and block. What its steps add to `bent` is `level * pulls`, and is
    put there at the end: a step costs the blocks that the row has entries in, not all of them.
    `base` is the constant's part of a score while `level` is 0.
    """
    data, indices, indptr = csr
    blocks = np.uint64(rates.shape[0])
    rate, pulls = np.empty(bent.shape[0]), np.empty(bent.shape[0])
    fill_pulls(starts, places, sigma, constant, pulls)
    level, base, lift = 0.0, 0.0, 0.0
    for k in range(blocks):
        rate[starts[k] : starts[k + ONE]] = rates[k]
        base += rates[k] * constant * bent[starts[k + ONE] - ONE]
        lift += rates[k] * constant * pulls[starts[k + ONE] - ONE]
    n = np.uint64(order.shape[0])
    for r in range(n):
        if r + FAR < n:  # rows come in random order: ask for what a later one needs
            i = np.uint64(order[r + FAR])
            prefetch(indptr, i)
            prefetch(alpha, i)
            prefetch(curves, i)
            i = np.uint64(order[r + NEAR])
            prefetch(data, indptr[i])
            prefetch(indices, indptr[i])
        i = np.uint64(order[r])
        first, last = indptr[i], indptr[i + ONE]
        score = base + level * lift
        for p in range(first, last):
            j = indices[p]
            score += rate[j] * (bent[j] + level * pulls[j]) * data[p]
        short, old = 1.0 - signs[i] * score, alpha[i]
        if old == 0.0 and short <= 0.0:
            continue
        new = climbed(old, short, curves[i], ridges[i], bounds[i])
        if new != old:
            alpha[i] = new
            move = signs[i] * (new - old)
            shift_row(data, indices, first, last, starts, places, sigma, 0.0, move, push, bent)
            level += move
            for p in range(first, last):
                j = indices[p]
                base += rate[j] * move * data[p] * pulls[j]
    for k in range(blocks if constant != 0.0 else np.uint64(0)):
        push[starts[k + ONE] - ONE] += level * constant
    for j in range(np.uint64(bent.shape[0])):
        bent[j] += level * pulls[j]


@helper
def row_products(data, indices, first, last, starts, constant, bent, products):
    """Inner products of a row with `bent`, block by block."""
    p = first
    for k in range(np.uint64(products.shape[0])):
        end = starts[k + ONE]
        total = 0.0
        while p < last and indices[p] < end:
            total += bent[np.uint64(indices[p])] * data[p]
            p += ONE
        products[k] = total + constant * bent[end - ONE] if constant != 0.0 else total


@helper
def slope_at(delta, sign, products, curves, lengths2, sigma, lengths, shares):
    """Derivative of the conjugate along a row's dual variable, `delta` away from where it is."""
    for k in range(np.uint64(products.shape[0])):
        square = lengths2[k] + 2.0 * delta * sign * products[k] + delta * delta * curves[k]
        lengths[k] = math.sqrt(max(square, 0.0))
    fill_shares(lengths, sigma, shares)
    total = 0.0
    for k in range(np.uint64(products.shape[0])):
        if shares[k] > 0.0:
            total += shares[k] / lengths[k] * (sign * products[k] + delta * curves[k])
    return total


@helper
def exact_step(old, sign, ridge, bound, products, curves, lengths2, sigma, lengths, shares):
    """The dual variable at which the dual is largest along it: a bracket by doubling, then false
    position (Illinois).
    """
    slope = (
        slope_at(0.0, sign, products, curves, lengths2, sigma, lengths, shares) - 1.0 + ridge * old
    )
    if abs(slope) <= CLOSE or (slope > 0.0 and old <= 0.0) or (slope < 0.0 and old >= bound):
        return old
    total = 0.0
    for k in range(np.uint64(curves.shape[0])):
        total += curves[k]
    step = (
        -slope / (total + ridge) if total + ridge > 0.0 else (bound - old if slope < 0.0 else -old)
    )
    near, near_slope, far, far_slope = 0.0, slope, step, slope
    for _ in range(DOUBLINGS):
        far = min(max(far, -old), bound - old)
        far_slope = (
            slope_at(far, sign, products, curves, lengths2, sigma, lengths, shares)
            - 1.0
            + ridge * (old + far)
        )
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
        found = (
            slope_at(middle, sign, products, curves, lengths2, sigma, lengths, shares)
            - 1.0
            + ridge * (old + middle)
        )
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
def sweep_joint(
    csr,
    order,
    starts,
    places,
    sigma,
    constant,
    strength,
    exact,
    signs,
    bounds,
    ridges,
    squares,
    alpha,
    push,
    bent,
    lengths2,
):
    """A sweep in which the rates follow every step: the dual is climbed to its top along each row,
    or by the printed step.
    """
    data, indices, indptr = csr
    blocks = np.uint64(lengths2.shape[0])
    products, lengths, shares = np.empty(blocks), np.empty(blocks), np.empty(blocks)
    for r in range(np.uint64(order.shape[0])):
        i = np.uint64(order[r])
        first, last = indptr[i], indptr[i + ONE]
        row_products(data, indices, first, last, starts, constant, bent, products)
        sign, old = signs[i], alpha[i]
        if exact:
            new = exact_step(
                old,
                sign,
                ridges[i],
                bounds[i],
                products,
                squares[i],
                lengths2,
                strength,
                lengths,
                shares,
            )
        else:
            short = 1.0 - slope_at(
                0.0, sign, products, squares[i], lengths2, strength, lengths, shares
            )
            new = (
                climbed(old, short, squares[i].sum(), ridges[i], bounds[i]) if short > 0.0 else old
            )
        if new != old:
            alpha[i] = new
            move = sign * (new - old)
            for k in range(blocks):
                lengths2[k] = max(
                    lengths2[k] + 2.0 * move * products[k] + move * move * squares[i, k], 0.0
                )
            shift_row(data, indices, first, last, starts, places, sigma, constant, move, push, bent)
