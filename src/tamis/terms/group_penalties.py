"""Penalties of a block of weights: the Euclidean norm of a group, with or without L1 inside it.

A term holds what all blocks share, the strength; a block brings its two weights, that of its norm
and that of L1. Which cells form a block is not the term's affair: groups of columns, rows of a
matrix (one feature of all tasks, or of all classes), edges of a graph. Where blocks overlap, each
has a copy of its cells and the weights are the sums of the copies (the latent form), so that these
verbs, taken copy by copy, are those of the overlapping penalty too.
"""

import math
from typing import NamedTuple

from tamis.numerics.numba import term
from tamis.terms.methods import keep, trim


@term
class GroupL2(NamedTuple):
    """Group lasso, alpha * weight * ||w||_2 of a block; with `positive`, also w >= 0."""

    alpha: float = 0.1
    positive: float = 0.0

    def has_l1(self):
        return False

    def trim(self, v, toll):
        return 0.0 if self.positive and v < 0.0 else v

    def keep(self, norm, price):
        return 1.0 - price / norm if norm > price else 0.0

    def block_value(self, w, weight, l1_weight):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
            if self.positive and w[k] < 0.0:
                return math.inf
        return self.alpha * weight * math.sqrt(square)

    def block_prox(self, v, scale, weight, l1_weight, out):
        square = 0.0
        for k in range(len(v)):
            out[k] = trim(self, v[k], 0.0)
            square += out[k] * out[k]
        factor = keep(self, math.sqrt(square), scale * self.alpha * weight)
        for k in range(len(v)):
            out[k] *= factor

    def block_dual(self, slope, weight, l1_weight):
        square = 0.0
        for k in range(len(slope)):
            pull = trim(self, -slope[k], 0.0)
            square += pull * pull
        if weight == 0.0:
            return math.inf if square > 0.0 else 0.0
        return math.sqrt(square) / weight

    def block_distance(self, w, slope, weight, l1_weight):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm, price, apart = math.sqrt(square), self.alpha * weight, 0.0
        for k in range(len(w)):
            off = trim(self, -slope[k], 0.0)
            if w[k] != 0.0 or (norm > 0.0 and not self.positive):
                off = slope[k] + price * w[k] / norm
            apart += off * off
        return math.sqrt(apart) if norm > 0.0 else max(0.0, math.sqrt(apart) - price)


@term
class SparseGroup(NamedTuple):
    """Sparse group lasso of a block, alpha * (weight ||w||_2 + l1_weight ||w||_1), maybe w >= 0."""

    alpha: float = 0.1
    positive: float = 0.0

    def has_l1(self):
        return True

    def trim(self, v, toll):
        low = math.inf if self.positive else toll
        return v - min(max(v, -low), toll)

    def keep(self, norm, price):
        return 1.0 - price / norm if norm > price else 0.0

    def block_value(self, w, weight, l1_weight):
        square, total = 0.0, 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
            total += abs(w[k])
            if self.positive and w[k] < 0.0:
                return math.inf
        return self.alpha * (weight * math.sqrt(square) + l1_weight * total)

    def block_prox(self, v, scale, weight, l1_weight, out):
        square = 0.0
        for k in range(len(v)):  # first the cells, then the block: this order is exact
            out[k] = trim(self, v[k], scale * self.alpha * l1_weight)
            square += out[k] * out[k]
        factor = keep(self, math.sqrt(square), scale * self.alpha * weight)
        for k in range(len(v)):
            out[k] *= factor

    def block_dual(self, slope, weight, l1_weight):
        alpha = 0.0
        # ||trim(slope, alpha l1_weight)|| - alpha weight is convex and falls, so Newton's steps
        # from 0 never pass its root.
        for _ in range(200):
            square, total, largest = 0.0, 0.0, 0.0
            for k in range(len(slope)):
                pull = abs(trim(self, -slope[k], alpha * l1_weight))
                square += pull * pull
                total += pull
                largest = max(largest, pull)
            norm = math.sqrt(square)
            if norm == 0.0:
                return alpha
            if weight == 0.0:
                return alpha + largest / l1_weight if l1_weight > 0.0 else math.inf
            step = (norm - alpha * weight) / (l1_weight * total / norm + weight)
            if step <= 1e-16 * alpha:
                return alpha
            alpha += step
        return alpha

    def block_distance(self, w, slope, weight, l1_weight):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm, apart = math.sqrt(square), 0.0
        price, toll = self.alpha * weight, self.alpha * l1_weight
        for k in range(len(w)):
            off = trim(self, -slope[k], toll)
            if w[k] != 0.0:
                off = slope[k] + price * w[k] / norm + math.copysign(toll, w[k])
            apart += off * off
        return math.sqrt(apart) if norm > 0.0 else max(0.0, math.sqrt(apart) - price)
