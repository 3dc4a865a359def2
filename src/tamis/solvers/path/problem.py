"""The problem that the batch solver minimises, and its solution."""

from typing import NamedTuple

import numpy as np

from tamis.solvers.path.design import Design, TaskDesign
from tamis.solvers.path.inner.models import GramCache
from tamis.solvers.path.loop import Blocks
from tamis.solvers.path.losses import RowLosses, Softmax


class Problem(NamedTuple):
    """Design, bound loss and blocks of a problem, and the inner solver to use."""

    design: Design | TaskDesign
    smooth: RowLosses | Softmax
    blocks: Blocks
    fit_intercept: bool
    solver: str
    gram_cache: GramCache
    certified: bool = True  # stop by the duality gap, not by the optimality conditions

    def zeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Return stacked coefficients of 0 and intercepts of 0."""
        outputs = self.design.outputs
        return np.zeros((len(self.blocks.members), outputs)), np.zeros(outputs)

    def from_coef(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the stacked coefficients and the intercepts (for centred columns) of a model with
        coefficients (columns, outputs).

        A column in several groups is divided among them evenly. Columns that are constant in these
        rows start at 0, since no step would change them.
        """
        is_constant = self.design.column_norms() == 0.0
        coef = np.where(is_constant[:, None], 0.0, coef)
        n_copies = np.bincount(self.blocks.members.astype(np.int64), minlength=len(coef))
        w = self.blocks.stacked(coef / np.maximum(n_copies, 1)[:, None])
        return w, intercept + self.design.intercept_shift(coef) if self.fit_intercept else intercept

    def shown(self, w: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients (columns, outputs) and intercepts in the original units of the
        columns.
        """
        coef = self.blocks.gathered(w)
        return coef, bias - self.design.intercept_shift(coef) if self.fit_intercept else np.zeros(
            len(bias)
        )

    def select_rows(self, rows: np.ndarray) -> "Problem":
        """Return the same problem for some of the rows."""
        weights = self.design.weights[rows]
        weights = weights / weights.sum()
        return self._replace(
            design=self.design.select_rows(rows, weights),
            smooth=self.smooth.select_rows(rows, weights),
            gram_cache=GramCache(),
        )


class Outcome(NamedTuple):
    """Solution of a problem: stacked coefficients and intercepts (for centred columns), its
    certificate, and the history of the iterations.
    """

    w: np.ndarray
    bias: np.ndarray
    gap: float  # nan if the solver stops by the optimality conditions
    violation: float  # largest distance to a subdifferential; nan if there is a gap
    objective: float
    history: list
    limit: float  # of gap or violation, at which the solver stops
    stalled: bool = False  # whether it stopped since iterations made no progress

    @property
    def shortfall(self) -> float:
        """Gap or violation over its limit; at most 1 if the solver converged."""
        return float(np.nanmax([self.gap, self.violation])) / self.limit


def is_penalized(blocks: Blocks) -> np.ndarray:
    """Return which blocks have a penalty."""
    return (blocks.weights > 0.0) | (blocks.l1_weights > 0.0)


def nonzero_blocks(blocks: Blocks, w: np.ndarray) -> np.ndarray:
    """Return which blocks have a nonzero coefficient."""
    nonzero_counts = np.concatenate([[0], np.cumsum(w.any(axis=1))])
    starts = blocks.starts.astype(np.int64)
    return nonzero_counts[starts[1:]] > nonzero_counts[starts[:-1]]


def select_blocks(
    blocks: Blocks, block_indices: np.ndarray
) -> tuple[Blocks, np.ndarray, np.ndarray]:
    """Return some blocks as `Blocks` over only the columns in them, these columns, and the stacked
    coordinates of the blocks.
    """
    starts = blocks.starts.astype(np.int64)
    sizes = np.diff(starts)[block_indices]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    coords = np.arange(ends[-1]) + np.repeat(starts[block_indices] - ends[:-1], sizes)
    columns, members = np.unique(blocks.members[coords].astype(np.int64), return_inverse=True)
    selected = Blocks(
        members.astype(np.uint64),
        ends.astype(np.uint64),
        blocks.weights[block_indices],
        blocks.l1_weights[block_indices],
        len(columns),
    )
    return selected, columns, coords


def gap_obstacles(bound_loss: RowLosses | Softmax, penalty) -> list[str]:
    """Return the reasons why there is no duality gap: methods that loss or penalty lack."""
    requirements = [(penalty, name) for name in ("conjugate", "dual_scale")]
    requirements += [(bound_loss.loss, "conjugate")] if isinstance(bound_loss, RowLosses) else []
    return [f"{term!r} has no {name}" for term, name in requirements if not hasattr(term, name)]
