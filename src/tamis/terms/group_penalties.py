"""Penalties of a block of weights: the Euclidean norm of a group, with or without L1 inside it.

A term holds what all blocks share, the strength; a block brings its two weights, that of its norm
and that of L1. Which cells form a block is not the term's affair: groups of columns, rows of a
matrix (one feature of all tasks, or of all classes), edges of a graph. Where blocks overlap, each
has a copy of its cells and the weights are the sums of the copies (the latent form), so that these
methods, taken copy by copy, are those of the overlapping penalty too.

Batch solvers need `value`, `prox` and `subdiff_distance`. A duality gap needs `dual_scale` and
`conjugate`, Newton's steps `support_gradient` and `support_hessian`, gap-safe screening
`soft_threshold`, streams `soft_threshold` and `shrinkage_factor`. Of a penalty whose `is_norm` says
so, which is 0 or inf in the conjugate, the conjugate is not computed.
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
    """Group lasso, alpha * weight * ||w||_2 of a block; with `positive`, also w >= 0."""

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
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
            if self.positive and w[k] < 0.0:
                return math.inf
        return self.alpha * weight * math.sqrt(square)

    def prox(self, v, step, weight, l1_weight, out):
        square = 0.0
        for k in range(len(v)):
            out[k] = soft_threshold(self, v[k], 0.0)
            square += out[k] * out[k]
        factor = shrinkage_factor(self, math.sqrt(square), step * self.alpha * weight)
        for k in range(len(v)):
            out[k] *= factor

    def dual_scale(self, gradient, weight, l1_weight):
        square = 0.0
        for k in range(len(gradient)):
            shrunk = soft_threshold(self, -gradient[k], 0.0)
            square += shrunk * shrunk
        if weight == 0.0:
            return math.inf if square > 0.0 else 0.0
        return math.sqrt(square) / weight

    def conjugate(self, gradient, weight, l1_weight):
        # 0 where the dual norm is at most alpha, but for rounding
        inside = dual_scale(self, gradient, weight, l1_weight) <= self.alpha * (1.0 + 1e-9)
        return 0.0 if inside else math.inf

    def support_gradient(self, w, gradient, weight, l1_weight, out):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm = math.sqrt(square)
        for k in range(len(w)):
            out[k] = gradient[k] + self.alpha * weight * (w[k] / norm)

    def support_hessian(self, norm, weight, l1_weight):
        return self.alpha * (weight / norm), 0.0

    def subdiff_distance(self, w, gradient, weight, l1_weight):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm, strength, apart = math.sqrt(square), self.alpha * weight, 0.0
        for k in range(len(w)):
            off = soft_threshold(self, -gradient[k], 0.0)
            if w[k] != 0.0 or (norm > 0.0 and not self.positive):
                off = gradient[k] + strength * w[k] / norm
            apart += off * off
        return math.sqrt(apart) if norm > 0.0 else max(0.0, math.sqrt(apart) - strength)


@term
class SparseGroup(NamedTuple):
    """Sparse group lasso of a block, alpha * (weight ||w||_2 + l1_weight ||w||_1), maybe w >= 0."""

    alpha: NonNegative = 0.1
    positive: Flag = 0.0

    def has_l1(self):
        return True

    def is_norm(self):
        return True

    def soft_threshold(self, v, threshold):
        low = math.inf if self.positive else threshold
        return v - min(max(v, -low), threshold)

    def shrinkage_factor(self, norm, threshold):
        return 1.0 - threshold / norm if norm > threshold else 0.0

    def value(self, w, weight, l1_weight):
        square, total = 0.0, 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
            total += abs(w[k])
            if self.positive and w[k] < 0.0:
                return math.inf
        return self.alpha * (weight * math.sqrt(square) + l1_weight * total)

    def prox(self, v, step, weight, l1_weight, out):
        square = 0.0
        for k in range(len(v)):  # first the cells, then the block: this order is exact
            out[k] = soft_threshold(self, v[k], step * self.alpha * l1_weight)
            square += out[k] * out[k]
        factor = shrinkage_factor(self, math.sqrt(square), step * self.alpha * weight)
        for k in range(len(v)):
            out[k] *= factor

    def dual_scale(self, gradient, weight, l1_weight):
        alpha = 0.0
        # ||soft_threshold(gradient, alpha l1_weight)|| - alpha weight is convex and falls, so
        # Newton's steps from 0 never pass its root.
        for _ in range(200):
            square, total, largest = 0.0, 0.0, 0.0
            for k in range(len(gradient)):
                shrunk = abs(soft_threshold(self, -gradient[k], alpha * l1_weight))
                square += shrunk * shrunk
                total += shrunk
                largest = max(largest, shrunk)
            norm = math.sqrt(square)
            if norm == 0.0:
                return alpha
            if weight == 0.0:
                return alpha + largest / l1_weight if l1_weight > 0.0 else math.inf
            increase = (norm - alpha * weight) / (l1_weight * total / norm + weight)
            if increase <= 1e-16 * alpha:
                return alpha
            alpha += increase
        return alpha

    def conjugate(self, gradient, weight, l1_weight):
        # 0 where the dual norm is at most alpha, but for rounding
        inside = dual_scale(self, gradient, weight, l1_weight) <= self.alpha * (1.0 + 1e-9)
        return 0.0 if inside else math.inf

    def support_gradient(self, w, gradient, weight, l1_weight, out):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm, threshold = math.sqrt(square), self.alpha * l1_weight
        for k in range(len(w)):
            out[k] = gradient[k] + self.alpha * weight * (w[k] / norm)
            out[k] += math.copysign(threshold, w[k])

    def support_hessian(self, norm, weight, l1_weight):
        return self.alpha * (weight / norm), 0.0

    def subdiff_distance(self, w, gradient, weight, l1_weight):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm, apart = math.sqrt(square), 0.0
        strength, threshold = self.alpha * weight, self.alpha * l1_weight
        for k in range(len(w)):
            off = soft_threshold(self, -gradient[k], threshold)
            if w[k] != 0.0:
                off = gradient[k] + strength * w[k] / norm + math.copysign(threshold, w[k])
            apart += off * off
        return math.sqrt(apart) if norm > 0.0 else max(0.0, math.sqrt(apart) - strength)


@term
class MCP(NamedTuple):
    """Minimax concave penalty of the norm r of a block: with the strength s = alpha * weight it is
    s r - r^2 / (2 gamma) up to r = gamma s, and level beyond, so that large weights are not shrunk.
    It is not convex: a fit ends at a stationary point. Groups of one column are the MCP of weights.

    C.-H. Zhang, "Nearly unbiased variable selection under minimax concave penalty", Annals of
    Statistics 38, 2010.
    """

    alpha: NonNegative = 1.0
    gamma: Positive = 3.0

    def largest_step(self):
        return 0.5 * self.gamma  # the derivative falls by 1 / gamma for each unit

    def value(self, w, weight, l1_weight):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm, strength = math.sqrt(square), self.alpha * weight
        if norm <= self.gamma * strength:
            return strength * norm - 0.5 * square / self.gamma
        return 0.5 * self.gamma * strength * strength

    def prox(self, v, step, weight, l1_weight, out):
        square = 0.0
        for k in range(len(v)):
            square += v[k] * v[k]
        norm, strength, factor = math.sqrt(square), self.alpha * weight, 1.0
        if norm <= step * strength:
            factor = 0.0
        elif norm <= self.gamma * strength:
            factor = (1.0 - step * strength / norm) / (1.0 - step / self.gamma)
        for k in range(len(v)):
            out[k] = factor * v[k]

    def dual_scale(self, gradient, weight, l1_weight):
        square = 0.0
        for k in range(len(gradient)):
            square += gradient[k] * gradient[k]
        if weight == 0.0:
            return math.inf if square > 0.0 else 0.0
        return math.sqrt(square) / weight

    def support_gradient(self, w, gradient, weight, l1_weight, out):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm = math.sqrt(square)
        derivative = max(0.0, self.alpha * weight - norm / self.gamma)
        for k in range(len(w)):
            out[k] = gradient[k] + derivative * (w[k] / norm)

    def support_hessian(self, norm, weight, l1_weight):
        derivative = self.alpha * weight - norm / self.gamma
        return (derivative / norm, -1.0 / self.gamma) if derivative > 0.0 else (0.0, 0.0)

    def subdiff_distance(self, w, gradient, weight, l1_weight):
        square, distance = 0.0, 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm, strength = math.sqrt(square), self.alpha * weight
        derivative = max(0.0, strength - norm / self.gamma) / norm if norm > 0.0 else 0.0
        for k in range(len(w)):
            residual = gradient[k] + derivative * w[k]
            distance += residual * residual
        return math.sqrt(distance) if norm > 0.0 else max(0.0, math.sqrt(distance) - strength)


GROUP_PENALTIES = {
    "group_lasso": GroupL2(1.0),
    "mcp": MCP(1.0),
}
