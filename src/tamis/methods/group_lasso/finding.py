"""Groups of columns from their names, from one-hot columns and from correlations."""

import numpy as np
import scipy.sparse as sp
from scipy.cluster import hierarchy

from tamis.base.fast_checks import check_array
from tamis.base.feature_groups import number_labels
from tamis.base.validation import check_sizes
from tamis.system.memory import check_memory


def groups_from_names(names, separator="_"):
    """Group columns whose names agree up to the last separator.

    Parameters
    ----------
    names : DataFrame or array-like of str
        Column names, or a table that has them.
    separator : str, default="_"
        What stands between the name of a group and that of a member.

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
            "separator is empty; pass the text between a group's name and a member's, such as '_'."
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
        was dropped, or is unknown); groups then grow as far as no row has two, which can join
        columns that merely never meet.

    Returns
    -------
    labels : ndarray of int of shape (n_features,)
        One label a column, as models take it for `feature_groups`. Columns that are not one-hot
        have a label of their own.

    See Also
    --------
    groups_from_names : From the names of the columns, where they tell.

    Examples
    --------
    >>> from tamis import groups_from_dummies
    >>> X = [[3.5, 1, 0, 0, 1, 0], [2.0, 0, 1, 0, 0, 1], [4.0, 0, 0, 1, 0, 1]]
    >>> groups_from_dummies(X).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    table = sp.csc_array(check_array(X, accept_sparse="csc", dtype=np.float64))
    table.eliminate_zeros()
    n, p = table.shape
    spans = [table.indices[table.indptr[j] : table.indptr[j + 1]] for j in range(p)]
    binary = [
        bool((table.data[table.indptr[j] : table.indptr[j + 1]] == 1.0).all()) for j in range(p)
    ]
    labels, start, label = np.empty(p, dtype=np.int64), 0, 0
    while start < p:
        stop = _one_hot_end(spans, binary, start, n, complete)
        labels[start:stop] = label
        start, label = stop, label + 1
    return labels


def _one_hot_end(spans, binary, start: int, n: int, complete: bool) -> int:
    """End of the one-hot group that starts at a column; the next column where there is none."""
    taken, total = np.zeros(n, dtype=bool), 0
    for j in range(start, len(spans)):
        if not binary[j] or not len(spans[j]) or taken[spans[j]].any():
            return max(j, start + 1) if not complete else start + 1
        taken[spans[j]] = True
        total += len(spans[j])
        if complete and total == n:
            return j + 1
    return start + 1 if complete else len(spans)


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
        Whether it is the mean over pairs of two joined clusters, their closest pair, or their
        farthest.

    Returns
    -------
    labels : ndarray of int of shape (n_features,)
        One label a column, as models take it for `feature_groups`, numbered in the order of the
        columns.

    See Also
    --------
    groups_from_names : From the names of the columns, where they tell.

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
    check_sizes(table)
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
    """Absolute correlations; those of a constant column are 0."""
    n, mean = table.shape[0], np.asarray(table.mean(axis=0)).ravel()
    products = table.T @ table
    covariance = (products.toarray() if sp.issparse(products) else products) / n - np.outer(
        mean, mean
    )
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    alive = spread > 1e-7 * np.maximum(np.abs(mean), 1e-300)
    scale = np.where(alive, 1.0 / np.where(alive, spread, 1.0), 0.0)
    return np.minimum(np.abs(covariance * scale[:, None] * scale), 1.0)


def _clusters(correlations, threshold: float, method: str) -> np.ndarray:
    """Cluster of each column."""
    above = np.triu_indices(len(correlations), 1)
    return hierarchy.fcluster(
        hierarchy.linkage(1.0 - correlations[above], method),
        1.0 - threshold + 1e-12,
        criterion="distance",
    )
