"""`column_statistics`: moments of columns where the partitions lie."""

from typing import Any

from tamis.distributed.fitting import _plan, executing
from tamis.distributed.summing.statistics import ColumnStatistics, statistics_by_partitions
from tamis.distributed.summing.tree import Sums


def column_statistics(
    rows: Any,
    client: Any = None,
    *,
    target: str | None = None,
    timeout: float = 600.0,
    **reading: Any,
) -> ColumnStatistics:
    """Means, deviations and other statistics of columns, by partitions where they lie.

    Partitions are added by a tree over their numbers: the bits depend on the partitions and not on
    the workers. Sparse columns stay sparse, and sums of squares are about the mean, so that columns
    far from 0 lose no digit.

    Parameters
    ----------
    rows : glob, list of files, dask DataFrame, (X, y) of dask arrays, or iterable of blocks
        As in `fit`.
    client : distributed.Client or None, default=None
        None does everything here.
    target : str or None, default=None
        Column of the target, in frames and tables.
    timeout : float, default=600.0
        Seconds without any task done that are an error.
    **reading
        What `open_rows` is told of files.

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
    >>> found = tamis.distributed.column_statistics(blocks)
    >>> found.rows, found.mean.shape
    (2000, (5000,))
    >>> bool(abs(found.mean - X.mean(axis=0)).max() < 1e-15)
    True
    """
    with executing(client, timeout) as executor:
        places, _ = _plan(None, rows, executor, target, None, reading)
        return statistics_by_partitions(Sums(places))
