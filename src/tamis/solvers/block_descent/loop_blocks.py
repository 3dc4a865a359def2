"""Passes over blocks: what a block penalty is worth, its prox, its dual norm and the distance to
its subdifferential.

Cells are *stacked*: those of a block lie together, block after block, and a cell in several blocks
has a copy in each. `Blocks.members` says which column each stacked place stands for; with `many`
outputs a place holds that many cells.
"""

from typing import NamedTuple

import numpy as np

from tamis.base.jit import compiled
from tamis.base.verbs import block_distance, block_dual, block_prox, block_value

ONE = np.uint64(1)


class Blocks(NamedTuple):
    """Groups of columns, and the weights of their norms and of L1 inside them."""

    members: np.ndarray  # column of each stacked place, uint64
    starts: np.ndarray  # first stacked place of each group, and one more, uint64
    weights: np.ndarray  # of the Euclidean norm, one a group
    l1_weights: np.ndarray  # of L1, one a group
    n_columns: int

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.weights)

    @property
    def overlap(self) -> int:
        """Most groups that one column is in."""
        return (
            int(np.bincount(self.members.astype(np.int64), minlength=1).max())
            if len(self.members)
            else 1
        )

    def stacked(self, columns: np.ndarray) -> np.ndarray:
        """Values of columns (first axis) at the stacked places: how a slope goes to the copies."""
        return columns[self.members.astype(np.int64)]

    def gathered(self, places: np.ndarray) -> np.ndarray:
        """Sums over the copies of each column: how copies make weights."""
        columns, members = (
            np.zeros((self.n_columns, *places.shape[1:])),
            self.members.astype(np.int64),
        )
        held = np.flatnonzero(
            places.reshape(len(places), -1).any(axis=1)
        )  # adding at an index is slow, and most places are empty
        np.add.at(columns, members[held], places[held])
        return columns


@compiled
def value_blocks(w, starts, weights, l1_weights, penalty, many):
    """Penalty of stacked cells."""
    total = 0.0
    for g in range(np.uint64(weights.shape[0])):
        total += block_value(
            penalty, w[starts[g] * many : starts[g + ONE] * many], weights[g], l1_weights[g]
        )
    return total


@compiled
def prox_blocks(v, scale, starts, weights, l1_weights, penalty, many, out):
    """Write the prox of stacked cells into `out`, which may be `v` itself."""
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * many, starts[g + ONE] * many
        block_prox(penalty, v[low:high], scale, weights[g], l1_weights[g], out[low:high])


@compiled
def dual_blocks(slope, starts, weights, l1_weights, penalty, many):
    """Dual norm of a stacked slope: the largest of the blocks' own. At the slope of the empty model
    it is `alpha_max`.

    Blocks without any weight are not penalised, and are left out.
    """
    largest = 0.0
    for g in range(np.uint64(weights.shape[0])):
        if weights[g] > 0.0 or l1_weights[g] > 0.0:
            largest = max(
                largest,
                block_dual(
                    penalty,
                    slope[starts[g] * many : starts[g + ONE] * many],
                    weights[g],
                    l1_weights[g],
                ),
            )
    return largest


@compiled
def distance_blocks(w, slope, starts, weights, l1_weights, penalty, many):
    """Largest distance of a block's ``-slope`` to its subdifferential: 0 exactly at an optimum."""
    largest = 0.0
    for g in range(np.uint64(weights.shape[0])):
        low, high = starts[g] * many, starts[g + ONE] * many
        largest = max(
            largest,
            block_distance(penalty, w[low:high], slope[low:high], weights[g], l1_weights[g]),
        )
    return largest
