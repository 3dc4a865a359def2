"""Statistics of columns that add up: moments, rows that fill a column, its largest number."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.distributed.summing.tree import Counted, Sums
from tamis.numerics.moments import centred_moments, merge_moments


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of columns over rows of weight above 0; zeros that are not stored count.

    Attributes
    ----------
    rows : int
        Rows of weight above 0.
    weight : float
        Sum of their weights.
    mean : ndarray of shape (n_features,)
        Means of the columns.
    squares : ndarray of shape (n_features,)
        Sums of weight times square.
    about : ndarray of shape (n_features,)
        Sums of weight times squared distance from the mean.
    filled : ndarray of shape (n_features,)
        Weight of the rows whose number is not 0.
    largest : ndarray of shape (n_features,)
        Largest absolute numbers.
    """

    rows: int
    weight: float
    mean: np.ndarray
    squares: np.ndarray
    about: np.ndarray
    filled: np.ndarray
    largest: np.ndarray

    @property
    def variance(self) -> np.ndarray:
        """Variances, divided by the weight of all rows."""
        return self.about / self.weight if self.weight else self.about

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations, as scikit-learn's StandardScaler has them."""
        return np.sqrt(self.variance)

    @property
    def share(self) -> np.ndarray:
        """Share of the rows, by weight, whose number is not 0."""
        return self.filled / self.weight if self.weight else self.filled

    @classmethod
    def none(cls, features: int) -> "ColumnStatistics":
        """Of no rows."""
        return cls(0, 0.0, *np.zeros((5, features)))

    @classmethod
    def of(cls, X: Any, weights: np.ndarray | None = None) -> "ColumnStatistics":
        """Of the rows of a matrix, which is not made dense."""
        rows = sp.csr_array(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        width, each = rows.shape[1], np.ones(rows.shape[0]) if weights is None else weights
        weight, mean, about = centred_moments(rows, each)
        own = np.repeat(each, np.diff(rows.indptr))
        x, at = rows.data.astype(np.float64), rows.indices
        largest = np.zeros(width)
        np.maximum.at(largest, at, np.where(own > 0.0, np.abs(x), 0.0))
        filled = np.bincount(at, own * (x != 0.0), width)
        squares, live = np.bincount(at, own * x * x, width), int(np.count_nonzero(each))
        return cls(live, weight, mean, squares, about, filled, largest)

    def merged(self, other: "ColumnStatistics") -> "ColumnStatistics":
        """Of the rows of both."""
        weight, mean, about = merge_moments(
            (self.weight, self.mean, self.about), (other.weight, other.mean, other.about)
        )
        return ColumnStatistics(
            self.rows + other.rows,
            weight,
            mean,
            self.squares + other.squares,
            about,
            self.filled + other.filled,
            np.maximum(self.largest, other.largest),
        )


def statistics_of(blocks: Counted, features: int) -> ColumnStatistics:
    """Statistics of a partition."""
    found = ColumnStatistics.none(features)
    for block in blocks:
        found = found.merged(ColumnStatistics.of(block.X, block.weights))
    return found


def statistics_by_partitions(sums: Sums) -> ColumnStatistics:
    """Statistics of the columns of all partitions, by the tree."""
    features = sums.agreed.survey.features
    return sums.total(statistics_of, features, merge=ColumnStatistics.merged)
