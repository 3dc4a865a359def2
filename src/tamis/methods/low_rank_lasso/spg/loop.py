"""Compiled passes of the batched projected gradient method, over arrays with one row for each
target.
"""

import math

import numpy as np

from tamis.numerics.numba import compiled, compiled_helper


@compiled_helper
def l1_multiplier(a, eta, max_size, squared_norm, scratch):
    """Return the smallest nu >= 0 with ``||(|a| - nu)_+||_2 <= eta``, given the largest ``|a|``
    (the result for ``eta = 0``) and the sum of squares.

    Newton's method from the left on a convex decreasing function never passes the root, so entries
    below nu need no further visit.
    """
    if eta <= 0.0:
        return max_size
    if squared_norm <= eta * eta:
        return 0.0
    nu = max(0.0, max_size - eta)
    count = 0
    for j in range(a.shape[0]):
        if abs(a[j]) > nu:
            scratch[count] = abs(a[j])
            count += 1
    for _ in range(100):
        excess_sum, excess_squares, n_left = 0.0, 0.0, 0
        for j in range(count):
            excess = float(scratch[j]) - nu
            if excess > 0.0:
                scratch[n_left] = scratch[j]
                n_left += 1
                excess_sum += excess
                excess_squares += excess * excess
        count = n_left
        norm = math.sqrt(excess_squares)
        if norm <= eta or excess_sum <= 0.0:
            break
        step = (norm - eta) * norm / excess_sum
        nu += step
        if step <= 1e-15 * max_size:
            break
    return nu


@compiled_helper
def l1_ball_threshold(scratch, total, max_size, radius):
    """Return the theta with ``sum (z - theta)_+ = radius`` for the absolute values z in `scratch`,
    of a sum above the radius (Michelot's algorithm).
    """
    count = scratch.shape[0]
    if radius <= 0.0:
        return max_size
    theta = max(0.0, max_size - radius, (total - radius) / count)
    while True:
        n_left, remaining = 0, 0.0
        for j in range(count):
            if scratch[j] > theta:
                scratch[n_left] = scratch[j]
                n_left += 1
                remaining += float(scratch[j])
        if n_left == 0:
            return theta
        new_theta = (remaining - radius) / n_left
        if n_left == count and new_theta <= theta:
            return theta
        count, theta = n_left, max(theta, new_theta)


@compiled
def project_rows(Z, radius, masked):
    """Set the masked entry of each row (-1: none) to 0, and project the row on its L1 ball."""
    scratch = np.empty(Z.shape[1], Z.dtype)
    for i in range(Z.shape[0]):
        z = Z[i]
        if masked[i] >= 0:
            z[masked[i]] = 0.0
        total, max_size = 0.0, 0.0
        for j in range(z.shape[0]):
            scratch[j] = abs(z[j])
            total += float(scratch[j])
            max_size = max(max_size, float(scratch[j]))
        if total <= radius[i]:
            continue
        theta = l1_ball_threshold(scratch, total, max_size, radius[i])
        for j in range(z.shape[0]):
            size = abs(z[j]) - theta
            z[j] = 0.0 if size <= 0.0 else math.copysign(size, z[j])


@compiled
def update_and_measure_rows(A, B, D, line_step, eta, masked, measures):
    """Update each row by ``b += line_step * d``, then write nu, a'b and ||b||^2 to the columns of
    `measures`.
    """
    scratch = np.empty(A.shape[1], A.dtype)
    for i in range(A.shape[0]):
        a, b, d = A[i], B[i], D[i]
        if masked[i] >= 0:
            a[masked[i]] = 0.0
        dot, square, squared_gradient, max_size, step = 0.0, 0.0, 0.0, 0.0, line_step[i]
        for j in range(a.shape[0]):
            b[j] += step * d[j]
            gradient, weight = float(a[j]), float(b[j])
            dot += gradient * weight
            square += weight * weight
            squared_gradient += gradient * gradient
            max_size = max(max_size, abs(gradient))
        measures[i, 0] = l1_multiplier(a, eta, max_size, squared_gradient, scratch)
        measures[i, 1] = dot
        measures[i, 2] = square


@compiled
def projected_directions(A, B, D, spectral_step, shrinkage, radius, measures):
    """Compute the direction ``d = P(b - spectral_step * g) - b`` of each row, with the gradient ``g
    = shrinkage * b - a``; write g'd, b'd and ||d||^2 to the columns of `measures`.
    """
    scratch = np.empty(A.shape[1], A.dtype)
    for i in range(A.shape[0]):
        a, b, d = A[i], B[i], D[i]
        scale, gradient_scale = 1.0 - spectral_step[i] * shrinkage[i], spectral_step[i]
        total, max_size = 0.0, 0.0
        for j in range(a.shape[0]):
            z = scale * b[j] + gradient_scale * a[j]
            d[j] = z
            scratch[j] = abs(z)
            total += float(scratch[j])
            max_size = max(max_size, float(scratch[j]))
        theta = 0.0
        if total > radius[i]:
            theta = l1_ball_threshold(scratch, total, max_size, radius[i])
        derivative, dot, square = 0.0, 0.0, 0.0
        for j in range(a.shape[0]):
            size = abs(d[j]) - theta
            projected = 0.0 if size <= 0.0 else math.copysign(size, d[j])
            change = projected - b[j]
            d[j] = change
            derivative += (shrinkage[i] * b[j] - a[j]) * change
            dot += b[j] * change
            square += change * change
        measures[i, 0], measures[i, 1], measures[i, 2] = derivative, dot, square
