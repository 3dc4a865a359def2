"""Compiled loops: projections onto the set of kernel weights, v sum(theta) + (1 - v) sum(theta^2)
<= 1 and theta >= 0, and the dual of the projection onto a level set.
"""

import numpy as np

from tamis.numerics.csr import dot
from tamis.numerics.numba import compiled, compiled_helper

BUDGET_TOLERANCE = 1e-14  # excess over the budget of 1 that counts as rounding


@compiled_helper
def project_into(point, v, theta):
    """Write the nearest weights of the set into `theta`; return the multiplier of its boundary, 0
    inside.

    The excess over the budget is convex and decreasing in the multiplier, so that Newton's steps
    from 0 never overshoot.
    """
    n, multiplier = np.uint64(point.shape[0]), 0.0
    for _ in range(100):
        shrinkage = 1.0 + 2.0 * multiplier * (1.0 - v)
        threshold, excess, derivative = multiplier * v, -1.0, 0.0
        for q in range(n):
            weight = max(point[q] - threshold, 0.0) / shrinkage
            theta[q] = weight
            if weight > 0.0:
                normal = v + 2.0 * (1.0 - v) * weight
                excess += v * weight + (1.0 - v) * weight * weight
                derivative += normal * normal / shrinkage
        if excess <= BUDGET_TOLERANCE:
            break
        multiplier += excess / derivative
    return multiplier


@compiled
def project(point, v, theta):
    """Write the nearest weights of the set into `theta`; return the multiplier of its boundary."""
    return project_into(point, v, theta)


@compiled
def evaluate_dual(center, half_forms, constants, level, multipliers, v, theta, violations):
    """Write the weights for the multipliers of the planes into `theta`, and how far each plane lies
    above the level into `violations`; return the multiplier of the set and the dual value.
    """
    n_planes, n = np.uint64(half_forms.shape[0]), np.uint64(center.shape[0])
    point = np.empty(n)
    for q in range(n):
        point[q] = center[q]
    for i in range(n_planes):
        if multipliers[i] != 0.0:
            for q in range(n):
                point[q] += multipliers[i] * half_forms[i, q]
    multiplier, value = project_into(point, v, theta), 0.0
    for q in range(n):
        difference = theta[q] - center[q]
        value += 0.5 * difference * difference
    for i in range(n_planes):
        violations[i] = constants[i] - dot(half_forms[i], theta) - level
        value += multipliers[i] * violations[i]
    return multiplier, value
