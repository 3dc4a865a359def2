"""Building blocks of the oracles: products with rows, dual norms of the uncertainty sets, and rows
with worst-case deleted features.
"""

import numpy as np
import scipy.sparse as sp

from tamis.methods.robust.loop import add_remaining_rows, mark_deleted
from tamis.numerics.hashing import merge_duplicates


class RowMatrix:
    """Rows in float64, dense or CSR, with scores and weighted sums."""

    def __init__(self, matrix):
        self.matrix = matrix if matrix.dtype == np.float64 else matrix.astype(np.float64)

    def scores(self, weights):
        """Return the inner products of the rows with the weights."""
        return self.matrix @ weights

    def weighted_sum(self, row_gradients):
        """Return the sum of the rows times their gradients."""
        return self.matrix.T @ row_gradients


class FeatureDeletion:
    """Rows in which an adversary deletes up to `max_deleted` features each."""

    def __init__(self, matrix, max_deleted: int):
        rows = sp.csr_array(matrix)
        rows = rows if rows.dtype == np.float64 else rows.astype(np.float64)
        index_dtype = np.uint64 if rows.indices.itemsize == 8 else np.uint32
        self.csr = (rows.data, rows.indices.view(index_dtype), rows.indptr.astype(np.uint64))
        self.max_deleted, self.width = max_deleted, rows.shape[1]
        self.is_deleted = np.zeros(len(rows.data), dtype=np.uint8)
        self.margin_losses = np.zeros(rows.shape[0])

    def set_weights(self, signs, weights) -> np.ndarray:
        """Choose the worst deletion of each row for these weights; return how much it lowers the
        margins.
        """
        if self.max_deleted:
            signs, weights = np.asarray(signs, dtype=float), np.ascontiguousarray(weights)
            mark_deleted(
                *self.csr, signs, weights, self.max_deleted, self.margin_losses, self.is_deleted
            )
        return self.margin_losses

    def weighted_sum(self, row_gradients):
        """Return the sum of the rows, without deleted features, times their gradients."""
        total = np.zeros(self.width)
        add_remaining_rows(*self.csr, self.is_deleted, row_gradients, total)
        return total


def dual_norm(kind: str, weights, ellipsoid=None) -> tuple[float, np.ndarray]:
    """Return the dual norm of the weights, which is the largest change of a score by a perturbation
    in the unit ball of the set, and a subgradient of it.
    """
    if kind == "linf":
        return float(np.abs(weights).sum()), np.sign(weights)
    if kind == "l1":
        gradient, index = np.zeros_like(weights), int(np.abs(weights).argmax())
        gradient[index] = np.sign(weights[index])
        return float(np.abs(weights[index])), gradient
    product = weights
    if kind == "ellipsoid":
        product = ellipsoid * weights if ellipsoid.ndim == 1 else ellipsoid @ weights
    norm = float(np.sqrt(max(weights @ product, 0.0)))
    return norm, product / norm if norm > 0.0 else np.zeros_like(weights)


def merge_equal_rows(matrix, targets, weights):
    """Merge equal rows with equal targets and add up their weights; the order of the result depends
    only on the contents of the rows.

    Cutting planes amplify rounding errors: without this a row of weight 2 and two equal rows would
    give slightly different models.
    """
    column = targets[:, None]
    joined = (
        sp.hstack((matrix, sp.csr_array(column)), format="csr")
        if sp.issparse(matrix)
        else np.column_stack((matrix, column))
    )
    rows, _, weights, order = merge_duplicates(joined, np.ones((len(weights), 1)), weights)
    rows, weights = rows[order], weights[order]
    merged_targets = rows[:, [-1]]
    return (
        np.ascontiguousarray(rows[:, :-1]) if not sp.issparse(rows) else rows[:, :-1],
        np.ravel(merged_targets.toarray() if sp.issparse(merged_targets) else merged_targets),
        weights,
    )


def max_weight_within_budget(costs: np.ndarray, weights: np.ndarray, budget: float) -> float:
    """Return the largest total weight of rows with a sum of costs within the budget, in order of
    their costs; negative costs count as 0.
    """
    order = np.argsort(costs)
    cumulative_costs = np.cumsum(np.maximum(costs[order], 0.0))
    return float(weights[order][cumulative_costs <= budget * (1.0 + 1e-12)].sum())
