"""Penalties of a group of weights: its Euclidean norm, with or without an L1 norm.

A term holds what all groups share, the strength. Each group brings two weights: that of its
Euclidean norm and that of its L1 norm. A group can be any set of cells: columns, a row of a
coefficient matrix (one feature in all tasks or classes), an edge of a graph. Where groups overlap,
each has its own copy of its cells, and a weight is the sum of its copies (latent group lasso).
These methods, applied to each copy, then also give the overlapping penalty.

Batch solvers need `value`, `prox` and `subdiff_distance`. A duality gap needs `dual_scale` and
`conjugate`; Newton steps need `support_gradient` and `support_hessian`; gap-safe screening needs
`soft_threshold`; streams need `soft_threshold` and `shrinkage_factor`.
A penalty with `is_norm` is a norm: its conjugate is 0 or inf, and is not computed.
"""

import math
from typing import NamedTuple

from tamis.numerics.numba import term
from tamis.terms.methods import (
    Flag,
    NonNegative,
    Positive,
    dual_scale,
    shrinkage_factor,
    soft_threshold,
)


@term
class GroupL2(NamedTuple):
    """Group lasso, alpha * weight * ||w||_2; with `positive`, also w >= 0."""

    alpha: NonNegative = 0.1
    positive: Flag = 0.0

    def has_l1(self):
        return False

    def is_norm(self):
        return True

    def soft_threshold(self, v, threshold):
        return 0.0 if self.positive and v < 0.0 else v

    def shrinkage_factor(self, norm, threshold):
        return 1.0 - threshold / norm if norm > threshold else 0.0

    def value(self, w, weight, l1_weight):
        squared_norm = 0.0
        for k in range(len(w)):
            squared_norm += w[k] * w[k]
            if self.positive and w[k] < 0.0:
                return math.inf
        return self.alpha * weight * math.sqrt(squared_norm)

    def prox(self, v, step, weight, l1_weight, out):
        squared_norm = 0.0
        for k in range(len(v)):
            out[k] = soft_threshold(self, v[k], 0.0)
            squared_norm += out[k] * out[k]
        factor = shrinkage_factor(self, math.sqrt(squared_norm), step * self.alpha * weight)
        for k in range(len(v)):
            out[k] *= factor

    def dual_scale(self, gradient, weight, l1_weight):
        squared_norm = 0.0
        for k in range(len(gradient)):
            shrunk = soft_threshold(self, -gradient[k], 0.0)
            squared_norm += shrunk * shrunk
        if weight == 0.0:
            return math.inf if squared_norm > 0.0 else 0.0
        return math.sqrt(squared_norm) / weight

    def conjugate(self, gradient, weight, l1_weight):
        # 0 where the dual norm is at most alpha, up to rounding
        is_feasible = dual_scale(self, gradient, weight, l1_weight) <= self.alpha * (1.0 + 1e-9)
        return 0.0 if is_feasible else math.inf

    def support_gradient(self, w, gradient, weight, l1_weight, out):
        squared_norm = 0.0
        for k in range(len(w)):
            squared_norm += w[k] * w[k]
        norm = math.sqrt(squared_norm)
        for k in range(len(w)):
            out[k] = gradient[k] + self.alpha * weight * (w[k] / norm)

    def support_hessian(self, norm, weight, l1_weight):
        return self.alpha * (weight / norm), 0.0

    def subdiff_distance(self, w, gradient, weight, l1_weight):
        squared_norm = 0.0
        for k in range(len(w)):
            squared_norm += w[k] * w[k]
        norm, strength, squared_distance = math.sqrt(squared_norm), self.alpha * weight, 0.0
        for k in range(len(w)):
            residual = soft_threshold(self, -gradient[k], 0.0)
            if w[k] != 0.0 or (norm > 0.0 and not self.positive):
                residual = gradient[k] + strength * w[k] / norm
            squared_distance += residual * residual
        return (
            math.sqrt(squared_distance)
            if norm > 0.0
            else max(0.0, math.sqrt(squared_distance) - strength)
        )


@term
class SparseGroup(NamedTuple):
    """Sparse group lasso, alpha * (weight ||w||_2 + l1_weight ||w||_1); `positive` adds w >= 0."""

    alpha: NonNegative = 0.1
    positive: Flag = 0.0

    def has_l1(self):
        return True

    def is_norm(self):
        return True

    def soft_threshold(self, v, threshold):
        negative_threshold = math.inf if self.positive else threshold
        return v - min(max(v, -negative_threshold), threshold)

    def shrinkage_factor(self, norm, threshold):
        return 1.0 - threshold / norm if norm > threshold else 0.0

    def value(self, w, weight, l1_weight):
        squared_norm, l1_norm = 0.0, 0.0
        for k in range(len(w)):
            squared_norm += w[k] * w[k]
            l1_norm += abs(w[k])
            if self.positive and w[k] < 0.0:
                return math.inf
        return self.alpha * (weight * math.sqrt(squared_norm) + l1_weight * l1_norm)

    def prox(self, v, step, weight, l1_weight, out):
        squared_norm = 0.0
        for k in range(len(v)):  # first L1, then the group norm: this order is exact
            out[k] = soft_threshold(self, v[k], step * self.alpha * l1_weight)
            squared_norm += out[k] * out[k]
        factor = shrinkage_factor(self, math.sqrt(squared_norm), step * self.alpha * weight)
        for k in range(len(v)):
            out[k] *= factor

    def dual_scale(self, gradient, weight, l1_weight):
        alpha = 0.0
        # ||soft_threshold(gradient, alpha l1_weight)|| - alpha weight is convex and decreasing, so
        # Newton steps from 0 never pass its root.
        for _ in range(200):
            squared_norm, l1_norm, largest = 0.0, 0.0, 0.0
            for k in range(len(gradient)):
                shrunk = abs(soft_threshold(self, -gradient[k], alpha * l1_weight))
                squared_norm += shrunk * shrunk
                l1_norm += shrunk
                largest = max(largest, shrunk)
            norm = math.sqrt(squared_norm)
            if norm == 0.0:
                return alpha
            if weight == 0.0:
                return alpha + largest / l1_weight if l1_weight > 0.0 else math.inf
            increase = (norm - alpha * weight) / (l1_weight * l1_norm / norm + weight)
            if increase <= 1e-16 * alpha:
                return alpha
            alpha += increase
        return alpha

    def conjugate(self, gradient, weight, l1_weight):
        # 0 where the dual norm is at most alpha, up to rounding
        is_feasible = dual_scale(self, gradient, weight, l1_weight) <= self.alpha * (1.0 + 1e-9)
        return 0.0 if is_feasible else math.inf

    def support_gradient(self, w, gradient, weight, l1_weight, out):
        squared_norm = 0.0
        for k in range(len(w)):
            squared_norm += w[k] * w[k]
        norm, threshold = math.sqrt(squared_norm), self.alpha * l1_weight
        for k in range(len(w)):
            out[k] = gradient[k] + self.alpha * weight * (w[k] / norm)
            out[k] += math.copysign(threshold, w[k])

    def support_hessian(self, norm, weight, l1_weight):
        return self.alpha * (weight / norm), 0.0

    def subdiff_distance(self, w, gradient, weight, l1_weight):
        squared_norm = 0.0
        for k in range(len(w)):
            squared_norm += w[k] * w[k]
        norm, squared_distance = math.sqrt(squared_norm), 0.0
        strength, threshold = self.alpha * weight, self.alpha * l1_weight
        for k in range(len(w)):
            residual = soft_threshold(self, -gradient[k], threshold)
            if w[k] != 0.0:
                residual = gradient[k] + strength * w[k] / norm + math.copysign(threshold, w[k])
            squared_distance += residual * residual
        return (
            math.sqrt(squared_distance)
            if norm > 0.0
            else max(0.0, math.sqrt(squared_distance) - strength)
        )


@term
class MCP(NamedTuple):
    """Minimax concave penalty of the norm r of a group.

    With the strength s = alpha * weight it is s r - r^2 / (2 gamma) up to r = gamma s, and constant
    beyond, so that it does not shrink large weights. It is not convex: a fit ends at a stationary
    point. With groups of one column it is the MCP of single weights.

    C.-H. Zhang, "Nearly unbiased variable selection under minimax concave penalty", Annals of
    Statistics 38, 2010.
    """

    alpha: NonNegative = 1.0
    gamma: Positive = 3.0

    def largest_step(self):
        return 0.5 * self.gamma  # the derivative falls by 1 / gamma per unit

    def value(self, w, weight, l1_weight):
        squared_norm = 0.0
        for k in range(len(w)):
            squared_norm += w[k] * w[k]
        norm, strength = math.sqrt(squared_norm), self.alpha * weight
        if norm <= self.gamma * strength:
            return strength * norm - 0.5 * squared_norm / self.gamma
        return 0.5 * self.gamma * strength * strength

    def prox(self, v, step, weight, l1_weight, out):
        squared_norm = 0.0
        for k in range(len(v)):
            squared_norm += v[k] * v[k]
        norm, strength, factor = math.sqrt(squared_norm), self.alpha * weight, 1.0
        if norm <= step * strength:
            factor = 0.0
        elif norm <= self.gamma * strength:
            factor = (1.0 - step * strength / norm) / (1.0 - step / self.gamma)
        for k in range(len(v)):
            out[k] = factor * v[k]

    def dual_scale(self, gradient, weight, l1_weight):
        squared_norm = 0.0
        for k in range(len(gradient)):
            squared_norm += gradient[k] * gradient[k]
        if weight == 0.0:
            return math.inf if squared_norm > 0.0 else 0.0
        return math.sqrt(squared_norm) / weight

    def support_gradient(self, w, gradient, weight, l1_weight, out):
        squared_norm = 0.0
        for k in range(len(w)):
            squared_norm += w[k] * w[k]
        norm = math.sqrt(squared_norm)
        derivative = max(0.0, self.alpha * weight - norm / self.gamma)
        for k in range(len(w)):
            out[k] = gradient[k] + derivative * (w[k] / norm)

    def support_hessian(self, norm, weight, l1_weight):
        derivative = self.alpha * weight - norm / self.gamma
        return (derivative / norm, -1.0 / self.gamma) if derivative > 0.0 else (0.0, 0.0)

    def subdiff_distance(self, w, gradient, weight, l1_weight):
        squared_norm, squared_distance = 0.0, 0.0
        for k in range(len(w)):
            squared_norm += w[k] * w[k]
        norm, strength = math.sqrt(squared_norm), self.alpha * weight
        derivative = max(0.0, strength - norm / self.gamma) / norm if norm > 0.0 else 0.0
        for k in range(len(w)):
            residual = gradient[k] + derivative * w[k]
            squared_distance += residual * residual
        return (
            math.sqrt(squared_distance)
            if norm > 0.0
            else max(0.0, math.sqrt(squared_distance) - strength)
        )


GROUP_PENALTIES = {
    "group_lasso": GroupL2(1.0),
    "mcp": MCP(1.0),
}
