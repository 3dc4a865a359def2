"""Exact solution of the robust lasso on a matrix of rank one, in all degenerate cases."""

import math
from typing import NamedTuple

import numpy as np


class RankOneSolution(NamedTuple):
    """The minimiser, the objective, the dual objective, and the multiplier mu of ``p'b``."""

    weights: np.ndarray
    value: float
    dual: float
    mu: float


def solve_rank_one(p, q, y, eps: float, alpha: float) -> RankOneSolution:
    """Minimise ``||q (p'b) - y||_2 + eps ||b||_2 + alpha ||b||_1``, in a few steps of O(n + d).

    With unit vectors, and e and l for eps and alpha divided by ``||p|| ||q||``, the dual has one
    variable mu. Its objective is ``mu |c| + s sqrt(1 - mu^2)``, with the cosine c and the sine s of
    q and y, which increases up to ``mu = |c|``; mu is feasible if ``F(mu) = ||(mu |p| - l)_+|| <=
    e``.
    """
    P, Q, Y = (float(np.linalg.norm(v)) for v in (p, q, y))
    if P == 0.0 or Q == 0.0 or Y == 0.0:
        return RankOneSolution(np.zeros(len(p)), Y, Y, 0.0)
    loadings, normalized_y = np.abs(p) / P, y / Y
    c = float(q @ normalized_y) / Q
    cosine = min(abs(c), 1.0)
    sine = float(np.linalg.norm(normalized_y - c * q / Q))  # sqrt(1 - c^2) would lose digits
    e, l = eps / (P * Q), alpha / (P * Q)
    if cosine == 0.0 or np.linalg.norm(np.maximum(cosine * loadings - l, 0.0)) <= e:
        return RankOneSolution(np.zeros(len(p)), Y, Y, cosine)
    mu, direction = _dual_solution(loadings, cosine, e, l)
    dual_sine = math.sqrt(max(1.0 - mu * mu, 0.0))  # at least `sine`, up to rounding
    projection = cosine - (mu * sine / max(dual_sine, sine) if sine > 0.0 else 0.0)
    weights = np.copysign(
        direction * (projection / float(loadings @ direction)) * (Y / (P * Q)), c * p
    )
    weights[direction == 0.0] = 0.0
    value = (
        float(np.linalg.norm(q * float(p @ weights) - y))
        + eps * float(np.linalg.norm(weights))
        + alpha * float(np.abs(weights).sum())
    )
    return RankOneSolution(weights, value, Y * (mu * cosine + sine * dual_sine), mu)


def max_alpha(p, q, y, eps: float) -> float:
    """Return the smallest alpha at which all weights are 0: the smallest nu with ``||(|q'y| |p| /
    ||y|| - nu)_+|| <= eps``.
    """
    Y = float(np.linalg.norm(y))
    correlations = np.abs(p) * (abs(float(q @ y)) / Y if Y else 0.0)
    max_correlation = float(correlations.max(initial=0.0))
    if eps == 0.0:
        return max_correlation
    if np.linalg.norm(correlations) <= eps:
        return 0.0
    nu = max(0.0, max_correlation - eps)
    for _ in range(100):  # Newton's method from the left of a convex decreasing function
        excess = correlations[correlations > nu] - nu
        norm = float(np.linalg.norm(excess))
        step = (norm - eps) * norm / float(excess.sum()) if len(excess) else 0.0
        nu += step
        if step <= 1e-15 * max_correlation:
            break
    return nu


def _dual_solution(loadings, cosine: float, e: float, l: float):
    """Return the largest feasible dual variable mu, and the direction of the minimisers there."""
    if e == 0.0:
        # without penalties the minimiser of least norm is along p
        return (0.0, loadings) if l == 0.0 else _l1_dual_solution(loadings, l)
    mu, active = cosine, loadings[cosine * loadings > l]
    # Newton's method from the right of a convex function never passes the root, so columns that
    # become inactive stay so.
    for _ in range(200):
        excess = mu * active - l
        norm = float(np.linalg.norm(excess))
        step = (norm - e) * norm / float(active @ excess)
        if step <= 1e-16 * mu:
            break
        mu -= step
        active = active[mu * active > l]
        if not len(active):  # e is below the rounding error of l
            return _l1_dual_solution(loadings, l)
    return mu, np.maximum(mu * loadings - l, 0.0)


def _l1_dual_solution(loadings, l: float):
    """Return mu and the direction for an L1 penalty alone: that of the largest loading.

    Of tied columns it is the first.
    """
    direction = np.zeros(len(loadings))
    direction[int(loadings.argmax())] = 1.0
    return l / float(loadings.max()), direction
