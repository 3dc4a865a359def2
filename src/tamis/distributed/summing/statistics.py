"""`column_statistics`: moments, fractions of nonzeros and largest numbers of columns, by sums over
partitions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.distributed.fitting import executor_of, plan
from tamis.distributed.summing.sums import CountedBlocks, Sums
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


def block_statistics(blocks: CountedBlocks, n_features: int) -> ColumnStatistics:
    """Statistics of a partition (a task)."""
    statistics = ColumnStatistics.none(n_features)
    for block in blocks:
        statistics = statistics.merged(ColumnStatistics.of(block.X, block.weights))
    return statistics


def merged_statistics(sums: Sums) -> ColumnStatistics:
    """Statistics of all partitions, merged in the tree."""
    return sums.total(block_statistics, sums.n_features, merge=ColumnStatistics.merged)


def column_statistics(
    rows: Any,
    client: Any = None,
    *,
    target: str | None = None,
    timeout: float = 600.0,
    **reading: Any,
) -> ColumnStatistics:
    """Means, deviations and other statistics of columns, by partitions where they lie.

    Statistics of partitions are merged in a tree over their numbers: the bits depend on the
    partitions and not on the workers. Sparse columns stay sparse, and sums of squares are about the
    mean, so that columns far from 0 lose no digit.

    Parameters
    ----------
    rows : glob, list of files, dask DataFrame, (X, y) of dask arrays, or iterable of blocks
        As in `fit`.
    client : distributed.Client or None, default=None
        None does everything in this process.
    target : str or None, default=None
        Column of the target, in frames and tables.
    timeout : float, default=600.0
        Seconds without any finished task that are an error.
    **reading
        Further parameters of `open_rows`, for files.

    Returns
    -------
    statistics : ColumnStatistics
        Of all columns, weighted by the rows' weights: `mean`, `variance`, `deviation`, `share` of
        rows with a number other than 0, `largest` absolute number, and the sums that they come
        from.

    See Also
    --------
    fit : Learns a model from the same partitions.

    Examples
    --------
    >>> import tamis.distributed
    >>> from tamis.datasets import make_text
    >>> X, y, _ = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> blocks = [(X[k : k + 500], y[k : k + 500]) for k in range(0, 2000, 500)]
    >>> columns = tamis.distributed.column_statistics(blocks)
    >>> columns.rows, columns.mean.shape
    (2000, (5000,))
    >>> bool(abs(columns.mean - X.mean(axis=0)).max() < 1e-15)
    True
    """
    with executor_of(client, timeout) as executor:
        placement = plan(None, rows, executor, target, None, reading)
        return merged_statistics(Sums(placement))
