"""Groups of columns from their names, from one-hot columns and from correlations."""

import numpy as np
import scipy.sparse as sp
from scipy.cluster import hierarchy

from tamis.base.fast_checks import check_array
from tamis.base.feature_groups import number_labels
from tamis.base.validation import check_magnitudes
from tamis.system.memory import check_memory


def groups_from_names(names, separator="_"):
    """Group columns whose names agree up to the last separator.

    Parameters
    ----------
    names : DataFrame or array-like of str
        Column names, or a table that has them.
    separator : str, default="_"
        Text between the name of a group and that of a member.

    Returns
    -------
    labels : ndarray of str of shape (n_features,)
        One label a column, as models take it for `feature_groups`. A name without a separator is a
        label of its own.

    See Also
    --------
    groups_from_dummies : From the zeros and ones of one-hot columns.
    groups_by_correlation : From what the columns have in common.

    Examples
    --------
    >>> from tamis import groups_from_names
    >>> names = ["age", "colour_red", "colour_blue", "home_town_Ghent", "home_town_Lyon"]
    >>> groups_from_names(names).tolist()
    ['age', 'colour', 'colour', 'home_town', 'home_town']
    """
    names = getattr(names, "columns", names)
    if not separator:
        raise ValueError(
            "separator is empty; pass the text between the names of a group and of a member, "
            "such as '_'."
        )
    return np.array([str(name).rpartition(separator)[0] or str(name) for name in names], dtype=str)


def groups_from_dummies(X, complete=True):
    """Group one-hot columns: neighbours of zeros and ones, of which each row has exactly one.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    complete : bool, default=True
        Whether every row must have a one in every group. With False a row may have none (a category
        was dropped, or is unknown); groups then grow as long as no row has two ones, which can join
        unrelated columns that are never 1 in the same row.

    Returns
    -------
    labels : ndarray of int of shape (n_features,)
        One label a column, as models take it for `feature_groups`. Columns that are not one-hot
        have a label of their own.

    See Also
    --------
    groups_from_names : From the names of the columns.

    Examples
    --------
    >>> from tamis import groups_from_dummies
    >>> X = [[3.5, 1, 0, 0, 1, 0], [2.0, 0, 1, 0, 0, 1], [4.0, 0, 0, 1, 0, 1]]
    >>> groups_from_dummies(X).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    table = sp.csc_array(check_array(X, accept_sparse="csc", dtype=np.float64))
    table.eliminate_zeros()
    n_rows, n_columns = table.shape
    column_rows = [table.indices[table.indptr[j] : table.indptr[j + 1]] for j in range(n_columns)]
    is_binary = [
        bool((table.data[table.indptr[j] : table.indptr[j + 1]] == 1.0).all())
        for j in range(n_columns)
    ]
    labels, start, label = np.empty(n_columns, dtype=np.int64), 0, 0
    while start < n_columns:
        stop = _one_hot_end(column_rows, is_binary, start, n_rows, complete)
        labels[start:stop] = label
        start, label = stop, label + 1
    return labels


def _one_hot_end(column_rows, is_binary, start: int, n_rows: int, complete: bool) -> int:
    """Return the end of the one-hot group that starts at a column; the next column if there is
    none.
    """
    is_covered, n_ones = np.zeros(n_rows, dtype=bool), 0
    for j in range(start, len(column_rows)):
        if not is_binary[j] or not len(column_rows[j]) or is_covered[column_rows[j]].any():
            return max(j, start + 1) if not complete else start + 1
        is_covered[column_rows[j]] = True
        n_ones += len(column_rows[j])
        if complete and n_ones == n_rows:
            return j + 1
    return start + 1 if complete else len(column_rows)


def groups_by_correlation(X, threshold=0.7, linkage="average"):
    """Group columns that are correlated, whatever the sign.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows. Sparse rows are not made dense, but the matrix of correlations, n_features by
        n_features, is.
    threshold : float, default=0.7
        Least absolute correlation within a group, in the sense of `linkage`; between 0 and 1.
    linkage : {"average", "single", "complete"}, default="average"
        Whether `threshold` is compared with the mean over the pairs of two clusters, with their
        closest pair, or with their farthest pair.

    Returns
    -------
    labels : ndarray of int of shape (n_features,)
        One label a column, as models take it for `feature_groups`, numbered in the order of the
        columns.

    See Also
    --------
    groups_from_names : From the names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import groups_by_correlation
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100))
    >>> groups_by_correlation(np.column_stack((a, b, -a + 0.1 * rng.normal(size=100)))).tolist()
    [0, 1, 0]
    """
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(
            f"threshold={threshold} must be between 0 and 1: it is an absolute correlation."
        )
    if linkage not in ("average", "single", "complete"):
        raise ValueError(f"linkage={linkage!r} must be 'average', 'single' or 'complete'.")
    table = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
    check_magnitudes(table)
    p = table.shape[1]
    if p == 1:
        return np.zeros(1, dtype=np.int64)
    check_memory(
        f"the correlations of {p:,} columns",
        3 * 8 * p * p,
        "Choose fewer columns, or name the groups (groups_from_names).",
    )
    return number_labels(_clusters(_correlations(table), threshold, linkage))


def _correlations(table) -> np.ndarray:
    """Return the absolute correlations; those of a constant column are 0."""
    n_rows, mean = table.shape[0], np.asarray(table.mean(axis=0)).ravel()
    products = table.T @ table
    covariance = (products.toarray() if sp.issparse(products) else products) / n_rows - np.outer(
        mean, mean
    )
    std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = std > 1e-7 * np.maximum(np.abs(mean), 1e-300)
    scale = np.where(varies, 1.0 / np.where(varies, std, 1.0), 0.0)
    return np.minimum(np.abs(covariance * scale[:, None] * scale), 1.0)


def _clusters(correlations, threshold: float, method: str) -> np.ndarray:
    """Return the cluster of each column."""
    above = np.triu_indices(len(correlations), 1)
    return hierarchy.fcluster(
        hierarchy.linkage(1.0 - correlations[above], method),
        1.0 - threshold + 1e-12,
        criterion="distance",
    )
