"""What a batch solver of groups minimises, and what comes out of it."""

from typing import NamedTuple

import numpy as np

from tamis.solvers.path.design import Design, TaskDesign
from tamis.solvers.path.inner.models import GramStore
from tamis.solvers.path.loop import Blocks
from tamis.solvers.path.losses import RowLosses, Softmax


class Problem(NamedTuple):
    """A table, a loss of its rows, groups of columns; and which inner solver works on them."""

    design: Design | TaskDesign
    smooth: RowLosses | Softmax
    blocks: Blocks
    fit_intercept: bool
    solver: str
    store: GramStore
    certified: bool = True  # whether solvers stop by the duality gap, not by optimality conditions

    def empty(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights of 0 and no intercept."""
        outputs = self.design.outputs
        return np.zeros((len(self.blocks.members), outputs)), np.zeros(outputs)

    def started(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the places and intercepts (of centred columns) of a model (columns, outputs).

        A column in several groups is shared out evenly. Columns without spread in these rows begin
        at 0: no step would ever move them.
        """
        idle = self.design.norms() == 0.0
        coef = np.where(idle[:, None], 0.0, coef)
        copies = np.bincount(self.blocks.members.astype(np.int64), minlength=len(coef))
        w = self.blocks.stacked(coef / np.maximum(copies, 1)[:, None])
        return w, intercept + self.design.shift(coef) if self.fit_intercept else intercept

    def shown(self, w: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (columns, outputs) and intercepts of the columns as they are."""
        coef = self.blocks.gathered(w)
        return coef, bias - self.design.shift(coef) if self.fit_intercept else np.zeros(len(bias))

    def of_rows(self, rows: np.ndarray) -> "Problem":
        """The same problem of some rows."""
        weights = self.design.weights[rows]
        weights = weights / weights.sum()
        return self._replace(
            design=self.design.cut(rows, weights),
            smooth=self.smooth.rows(rows, weights),
            store=GramStore(),
        )


class Outcome(NamedTuple):
    """Weights of the places and intercepts (of centred columns), the certificate, and what
    happened.
    """

    w: np.ndarray
    bias: np.ndarray
    gap: float  # nan where solvers stop by the optimality conditions
    violation: float  # of these: the largest distance to a subdifferential; nan beside a gap
    objective: float
    history: list
    limit: float  # at which solvers stop
    stalled: bool = False  # whether it ended for rounding let the gap fall no further

    @property
    def shortfall(self) -> float:
        """How many times the limit is left: at most 1 where a solver came to its end."""
        return float(np.nanmax([self.gap, self.violation])) / self.limit


def penalised(blocks: Blocks) -> np.ndarray:
    """Which groups have a price."""
    return (blocks.weights > 0.0) | (blocks.l1_weights > 0.0)


def used(blocks: Blocks, w: np.ndarray) -> np.ndarray:
    """Which groups have a weight."""
    filled = np.concatenate([[0], np.cumsum(w.any(axis=1))])
    starts = blocks.starts.astype(np.int64)
    return filled[starts[1:]] > filled[starts[:-1]]


def part_blocks(blocks: Blocks, kept: np.ndarray) -> tuple[Blocks, np.ndarray, np.ndarray]:
    """Some groups as blocks of their own over the columns they hold; those columns, and the places
    they were at.
    """
    starts = blocks.starts.astype(np.int64)
    sizes = np.diff(starts)[kept]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(ends[-1]) + np.repeat(starts[kept] - ends[:-1], sizes)
    columns, members = np.unique(blocks.members[places].astype(np.int64), return_inverse=True)
    part = Blocks(
        members.astype(np.uint64),
        ends.astype(np.uint64),
        blocks.weights[kept],
        blocks.l1_weights[kept],
        len(columns),
    )
    return part, columns, places


def gap_obstacles(smooth: RowLosses | Softmax, penalty) -> list[str]:
    """What stands against a duality gap: methods that the loss or the penalty lack."""
    lacks = [(penalty, name) for name in ("conjugate", "dual_scale")]
    lacks += [(smooth.loss, "conjugate")] if isinstance(smooth, RowLosses) else []
    return [f"{term!r} has no {name}" for term, name in lacks if not hasattr(term, name)]
