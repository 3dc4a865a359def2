"""Passes of the batched projected gradient method: one row a target, each read while it is in the
cache.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled, helper


@helper
def level(a, eta, top, total, scratch):
    """The least nu >= 0 with ``||(|a| - nu)_+||_2 <= eta``, from the largest ``|a|`` and the sum of
    squares; for ``eta = 0`` that largest.

    Newton's method from the left on a convex falling function never passes the root, so entries
    below it are gone for good.
    """
    if eta <= 0.0:
        return top
    if total <= eta * eta:
        return 0.0
    nu = max(0.0, top - eta)
    count = 0
    for j in range(a.shape[0]):
        if abs(a[j]) > nu:
            scratch[count] = abs(a[j])
            count += 1
    for _ in range(100):
        first, second, left = 0.0, 0.0, 0
        for j in range(count):
            excess = float(scratch[j]) - nu
            if excess > 0.0:
                scratch[left] = scratch[j]
                left += 1
                first += excess
                second += excess * excess
        count = left
        norm = math.sqrt(second)
        if norm <= eta or first <= 0.0:
            break
        gain = (norm - eta) * norm / first
        nu += gain
        if gain <= 1e-15 * top:
            break
    return nu


@helper
def cut(scratch, total, top, radius):
    """The theta with ``sum (z - theta)_+ = radius`` of sizes z in `scratch`, whose sum is above the
    radius (Michelot's passes).
    """
    count = scratch.shape[0]
    if radius <= 0.0:
        return top
    theta = max(0.0, top - radius, (total - radius) / count)
    while True:
        left, rest = 0, 0.0
        for j in range(count):
            if scratch[j] > theta:
                scratch[left] = scratch[j]
                left += 1
                rest += float(scratch[j])
        if left == 0:
            return theta
        better = (rest - radius) / left
        if left == count and better <= theta:
            return theta
        count, theta = left, max(theta, better)


@compiled
def project_rows(Z, radius, masked):
    """Project each row on its L1 ball, after its masked entry (-1: none) is set to 0."""
    scratch = np.empty(Z.shape[1], Z.dtype)
    for i in range(Z.shape[0]):
        z = Z[i]
        if masked[i] >= 0:
            z[masked[i]] = 0.0
        total, top = 0.0, 0.0
        for j in range(z.shape[0]):
            scratch[j] = abs(z[j])
            total += float(scratch[j])
            top = max(top, float(scratch[j]))
        if total <= radius[i]:
            continue
        theta = cut(scratch, total, top, radius[i])
        for j in range(z.shape[0]):
            size = abs(z[j]) - theta
            z[j] = 0.0 if size <= 0.0 else math.copysign(size, z[j])


@compiled
def measure_rows(A, B, D, shift, eta, masked, figures):
    """Finish the last step, ``b += shift * d``; then nu, a'b and ||b||^2 of each row, into the
    columns of `figures`.
    """
    scratch = np.empty(A.shape[1], A.dtype)
    for i in range(A.shape[0]):
        a, b, d = A[i], B[i], D[i]
        if masked[i] >= 0:
            a[masked[i]] = 0.0
        dot, square, total, top, e = 0.0, 0.0, 0.0, 0.0, shift[i]
        for j in range(a.shape[0]):
            b[j] += e * d[j]
            size, weight = float(a[j]), float(b[j])
            dot += size * weight
            square += weight * weight
            total += size * size
            top = max(top, abs(size))
        figures[i, 0], figures[i, 1], figures[i, 2] = (
            level(a, eta, top, total, scratch),
            dot,
            square,
        )


@compiled
def aim_rows(A, B, D, step, shrinkage, radius, figures):
    """The direction ``d = P(b - step * g) - b`` with slope ``g = shrinkage * b - a``; g'd, b'd and
    ||d||^2 into `figures`.
    """
    scratch = np.empty(A.shape[1], A.dtype)
    for i in range(A.shape[0]):
        a, b, d = A[i], B[i], D[i]
        keep, gain = 1.0 - step[i] * shrinkage[i], step[i]
        total, top = 0.0, 0.0
        for j in range(a.shape[0]):
            z = keep * b[j] + gain * a[j]
            d[j] = z
            scratch[j] = abs(z)
            total += float(scratch[j])
            top = max(top, float(scratch[j]))
        theta = 0.0
        if total > radius[i]:
            theta = cut(scratch, total, top, radius[i])
        slope, dot, square = 0.0, 0.0, 0.0
        for j in range(a.shape[0]):
            size = abs(d[j]) - theta
            moved = 0.0 if size <= 0.0 else math.copysign(size, d[j])
            change = moved - b[j]
            d[j] = change
            slope += (shrinkage[i] * b[j] - a[j]) * change
            dot += b[j] * change
            square += change * change
        figures[i, 0], figures[i, 1], figures[i, 2] = slope, dot, square
