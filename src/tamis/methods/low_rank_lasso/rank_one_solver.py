"""The robust lasso on a matrix of rank one, solved exactly, whatever is zero, parallel or tied."""

import math
from typing import NamedTuple

import numpy as np


class RankOne(NamedTuple):
    """The minimiser, the minimum, the dual's, and the multiplier mu of ``p'b``."""

    weights: np.ndarray
    value: float
    dual: float
    mu: float


def solve_rank_one(p, q, y, eps: float, alpha: float) -> RankOne:
    """Minimise ``||q (p'b) - y||_2 + eps ||b||_2 + alpha ||b||_1``, in O(n + d) a step and a
    handful of steps.

    With unit vectors and prices divided by ``||p|| ||q||``, the dual has one variable: its value at
    mu is ``mu |c| + s sqrt(1 - mu^2)``, with c the cosine of q and y, and it is allowed while
    ``F(mu) = ||(mu |p| - l)_+|| <= e``. The value rises up to ``mu = |c|``.
    """
    P, Q, Y = (float(np.linalg.norm(v)) for v in (p, q, y))
    if P == 0.0 or Q == 0.0 or Y == 0.0:
        return RankOne(np.zeros(len(p)), Y, Y, 0.0)
    sizes, unit = np.abs(p) / P, y / Y
    c = float(q @ unit) / Q
    cosine = min(abs(c), 1.0)
    sine = float(np.linalg.norm(unit - c * q / Q))  # not sqrt(1 - c^2): that cancels
    e, l = eps / (P * Q), alpha / (P * Q)
    if cosine == 0.0 or np.linalg.norm(np.maximum(cosine * sizes - l, 0.0)) <= e:
        return RankOne(np.zeros(len(p)), Y, Y, cosine)
    mu, direction = _multiplier(sizes, cosine, e, l)
    rest = math.sqrt(max(1.0 - mu * mu, 0.0))  # at least the sine, but for rounding
    reach = cosine - (mu * sine / max(rest, sine) if sine > 0.0 else 0.0)
    weights = np.copysign(direction * (reach / float(sizes @ direction)) * (Y / (P * Q)), c * p)
    weights[direction == 0.0] = 0.0
    value = (
        float(np.linalg.norm(q * float(p @ weights) - y))
        + eps * float(np.linalg.norm(weights))
        + alpha * float(np.abs(weights).sum())
    )
    return RankOne(weights, value, Y * (mu * cosine + sine * rest), mu)


def highest_price(p, q, y, eps: float) -> float:
    """The least price of the L1 norm at which no weight is left: the least nu with ``||(|q'y| |p| /
    ||y|| - nu)_+|| <= eps``.
    """
    Y = float(np.linalg.norm(y))
    sizes = np.abs(p) * (abs(float(q @ y)) / Y if Y else 0.0)
    top = float(sizes.max(initial=0.0))
    if eps == 0.0:
        return top
    if np.linalg.norm(sizes) <= eps:
        return 0.0
    nu = max(0.0, top - eps)
    for _ in range(100):  # Newton's method from the left of a convex falling function
        over = sizes[sizes > nu] - nu
        norm = float(np.linalg.norm(over))
        gain = (norm - eps) * norm / float(over.sum()) if len(over) else 0.0
        nu += gain
        if gain <= 1e-15 * top:
            break
    return nu


def _multiplier(sizes, cosine: float, e: float, l: float):
    """The largest allowed mu, and the direction of the minimisers there."""
    if e == 0.0:
        # without a price any direction that p meets would do: the shortest
        return (0.0, sizes) if l == 0.0 else _corner(sizes, l)
    mu, left = cosine, sizes[cosine * sizes > l]
    # Newton's method from the right of a convex function: it never passes the root, columns leave
    # for good.
    for _ in range(200):
        over = mu * left - l
        norm = float(np.linalg.norm(over))
        gain = (norm - e) * norm / float(left @ over)
        if gain <= 1e-16 * mu:
            break
        mu -= gain
        left = left[mu * left > l]
        if not len(left):  # e is below the rounding of l: as good as 0
            return _corner(sizes, l)
    return mu, np.maximum(mu * sizes - l, 0.0)


def _corner(sizes, l: float):
    """The multiplier and the direction where only the L1 norm has a price: one column, of tied ones
    the first.
    """
    first = np.zeros(len(sizes))
    first[int(sizes.argmax())] = 1.0
    return l / float(sizes.max()), first
