"""The problem that the batch solver minimises, and its solution."""

from typing import NamedTuple

import numpy as np

from tamis.solvers.path.design import Design, TaskDesign
from tamis.solvers.path.inner.models import GramCache
from tamis.solvers.path.loop import CoefBlocks
from tamis.solvers.path.losses import BoundMultinomialLoss, BoundRowLoss


class GroupProblem(NamedTuple):
    """Design, bound loss and blocks of a problem, and the inner solver to use."""

    design: Design | TaskDesign
    bound_loss: BoundRowLoss | BoundMultinomialLoss
    blocks: CoefBlocks
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
        w = self.blocks.to_stacked(coef / np.maximum(n_copies, 1)[:, None])
        return w, intercept + self.design.intercept_shift(coef) if self.fit_intercept else intercept

    def to_coef(self, w: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients (columns, outputs) and intercepts in the original units of the
        columns.
        """
        coef = self.blocks.sum_copies(w)
        return coef, bias - self.design.intercept_shift(coef) if self.fit_intercept else np.zeros(
            len(bias)
        )

    def select_rows(self, rows: np.ndarray) -> "GroupProblem":
        """Return the same problem for some of the rows."""
        weights = self.design.weights[rows]
        weights = weights / weights.sum()
        return self._replace(
            design=self.design.select_rows(rows, weights),
            bound_loss=self.bound_loss.select_rows(rows, weights),
            gram_cache=GramCache(),
        )


class GroupSolution(NamedTuple):
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
    def relative_gap(self) -> float:
        """Gap or violation over its limit; at most 1 if the solver converged."""
        return float(np.nanmax([self.gap, self.violation])) / self.limit


def is_penalized(blocks: CoefBlocks) -> np.ndarray:
    """Return which blocks have a penalty."""
    return (blocks.weights > 0.0) | (blocks.l1_weights > 0.0)


def nonzero_blocks(blocks: CoefBlocks, w: np.ndarray) -> np.ndarray:
    """Return which blocks have a nonzero coefficient."""
    nonzero_counts = np.concatenate([[0], np.cumsum(w.any(axis=1))])
    starts = blocks.starts.astype(np.int64)
    return nonzero_counts[starts[1:]] > nonzero_counts[starts[:-1]]


def select_blocks(
    blocks: CoefBlocks, block_indices: np.ndarray
) -> tuple[CoefBlocks, np.ndarray, np.ndarray]:
    """Return some blocks as `CoefBlocks` over only the columns in them, these columns, and the
    stacked coordinates of the blocks.
    """
    starts = blocks.starts.astype(np.int64)
    sizes = np.diff(starts)[block_indices]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    coords = np.arange(ends[-1]) + np.repeat(starts[block_indices] - ends[:-1], sizes)
    columns, members = np.unique(blocks.members[coords].astype(np.int64), return_inverse=True)
    selected = CoefBlocks(
        members.astype(np.uint64),
        ends.astype(np.uint64),
        blocks.weights[block_indices],
        blocks.l1_weights[block_indices],
        len(columns),
    )
    return selected, columns, coords


def missing_gap_methods(bound_loss: BoundRowLoss | BoundMultinomialLoss, penalty) -> list[str]:
    """Return the reasons why there is no duality gap: methods that loss or penalty lack."""
    requirements = [(penalty, name) for name in ("conjugate", "dual_scale")]
    requirements += [(bound_loss.loss, "conjugate")] if isinstance(bound_loss, BoundRowLoss) else []
    return [f"{term!r} has no {name}" for term, name in requirements if not hasattr(term, name)]
