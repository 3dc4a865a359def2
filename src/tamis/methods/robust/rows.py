"""What the uncertainty sets are made of: rows, dual norms, and rows without their most telling
features.
"""

import numpy as np
import scipy.sparse as sp

from tamis.methods.robust.loop import add_kept_rows, find_deleted
from tamis.numerics.hashing import merge_duplicates


class Table:
    """Rows in float64, dense or CSR: scores, and sums of rows."""

    def __init__(self, matrix):
        self.matrix = matrix if matrix.dtype == np.float64 else matrix.astype(np.float64)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.matrix.shape[1]

    def scores(self, weights):
        """Inner products with the weights."""
        return self.matrix @ weights

    def combined(self, slopes):
        """Sum of the rows, each times its slope."""
        return self.matrix.T @ slopes


class Deleted:
    """Rows whose features may go: which ones hurt most under given weights, and sums of rows
    without them.
    """

    def __init__(self, matrix, most: int):
        rows = sp.csr_array(matrix)
        rows = rows if rows.dtype == np.float64 else rows.astype(np.float64)
        index = np.uint64 if rows.indices.itemsize == 8 else np.uint32
        self.csr = (rows.data, rows.indices.view(index), rows.indptr.astype(np.uint64))
        self.most, self.width = most, rows.shape[1]
        self.gone = np.zeros(len(rows.data), dtype=np.uint8)
        self.losses = np.zeros(rows.shape[0])

    def move(self, signs, weights) -> np.ndarray:
        """What each row's margin loses at most."""
        if self.most:
            signs, weights = np.asarray(signs, dtype=float), np.ascontiguousarray(weights)
            find_deleted(*self.csr, signs, weights, self.most, self.losses, self.gone)
        return self.losses

    def combined(self, slopes):
        """Sum of the rows that are left, each times its slope."""
        total = np.zeros(self.width)
        add_kept_rows(*self.csr, self.gone, slopes, total)
        return total


def dual_norm(kind: str, weights, ellipsoid=None) -> tuple[float, np.ndarray]:
    """How far a row moves a score from inside the unit ball of a set, and a slope of that in the
    weights.
    """
    if kind == "linf":
        return float(np.abs(weights).sum()), np.sign(weights)
    if kind == "l1":
        slope, place = np.zeros_like(weights), int(np.abs(weights).argmax())
        slope[place] = np.sign(weights[place])
        return float(np.abs(weights[place])), slope
    spread = weights
    if kind == "ellipsoid":
        spread = ellipsoid * weights if ellipsoid.ndim == 1 else ellipsoid @ weights
    norm = float(np.sqrt(max(weights @ spread, 0.0)))
    return norm, spread / norm if norm > 0.0 else np.zeros_like(weights)


def merged(matrix, targets, weights):
    """Equal rows with equal targets as one of their summed weight, in an order that depends on
    contents alone.

    Planes amplify the last digit: without this a row of weight 2 would not quite be a row that
    comes twice.
    """
    column = targets[:, None]
    joined = (
        sp.hstack((matrix, sp.csr_array(column)), format="csr")
        if sp.issparse(matrix)
        else np.column_stack((matrix, column))
    )
    rows, _, weights, order = merge_duplicates(joined, np.ones((len(weights), 1)), weights)
    rows, weights = rows[order], weights[order]
    last = rows[:, [-1]]
    return (
        np.ascontiguousarray(rows[:, :-1]) if not sp.issparse(rows) else rows[:, :-1],
        np.ravel(last.toarray() if sp.issparse(last) else last),
        weights,
    )


def cheapest(costs: np.ndarray, weights: np.ndarray, budget: float) -> float:
    """Weight of the rows that can be had at these costs (0 and less: for nothing), the cheapest
    first, within the budget.
    """
    order = np.argsort(costs)
    spent = np.cumsum(np.maximum(costs[order], 0.0))
    return float(weights[order][spent <= budget * (1.0 + 1e-12)].sum())
