"""Projections onto the set of kernel weights, v sum(theta) + (1 - v) sum(theta^2) <= 1 and theta >=
0, and dual points of level sets.
"""

import numpy as np

from tamis.numerics.csr import product
from tamis.numerics.numba import compiled, helper

ROUNDING = 1e-14


@helper
def shrunk(point, v, theta):
    """Write the nearest weights of the set; the multiplier of its boundary, 0 inside.

    The excess over the budget is convex and falls in the multiplier, so that Newton's steps from 0
    never go too far.
    """
    n, multiplier = np.uint64(point.shape[0]), 0.0
    for _ in range(100):
        shrink = 1.0 + 2.0 * multiplier * (1.0 - v)
        threshold, excess, slope = multiplier * v, -1.0, 0.0
        for q in range(n):
            kept = max(point[q] - threshold, 0.0) / shrink
            theta[q] = kept
            if kept > 0.0:
                lean = v + 2.0 * (1.0 - v) * kept
                excess += v * kept + (1.0 - v) * kept * kept
                slope += lean * lean / shrink
        if excess <= ROUNDING:
            break
        multiplier += excess / slope
    return multiplier


@compiled
def project(point, v, theta):
    """Write the nearest weights of the set into `theta`; return the multiplier of its boundary."""
    return shrunk(point, v, theta)


@compiled
def dual_point(center, half, constants, level, shares, v, theta, over):
    """Write the weights for the planes' multipliers `shares` and how far each plane is over the
    level; the set's multiplier and the dual value.
    """
    planes, n = np.uint64(half.shape[0]), np.uint64(center.shape[0])
    point = np.empty(n)
    for q in range(n):
        point[q] = center[q]
    for i in range(planes):
        if shares[i] != 0.0:
            for q in range(n):
                point[q] += shares[i] * half[i, q]
    multiplier, value = shrunk(point, v, theta), 0.0
    for q in range(n):
        moved = theta[q] - center[q]
        value += 0.5 * moved * moved
    for i in range(planes):
        over[i] = constants[i] - product(half[i], theta) - level
        value += shares[i] * over[i]
    return multiplier, value
