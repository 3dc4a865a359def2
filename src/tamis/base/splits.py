"""Splits of rows: folds of a cross-validation, held-out rows, halves, and folds by content.

Random splits use scikit-learn. Folds by content are implemented here: they depend neither on random
numbers nor on the order of the rows, so that streams, machines and later runs get the same folds.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from tamis.numerics.hashing import GOLDEN, mix64_array

Fold = tuple[np.ndarray, np.ndarray]  # training rows, test rows

MAX_CALIBRATION_FOLDS = 5
MIN_DISTINCT_PER_FOLD = 4  # with fewer distinct rows per fold, equal rows are spread over folds


# --------------------------------------------------------------------------- by scikit-learn
def make_folds(
    cv: Any,
    n_rows: int,
    y: Any = None,
    *,
    stratify: bool = False,
    rows: np.ndarray | None = None,
    groups: Any = None,
    order: Any = None,
    shuffle: bool = False,
    random_state: Any = None,
) -> list[Fold]:
    """Return training and test rows of each fold, as indices of all rows.

    Parameters
    ----------
    cv : int, splitter, iterable of pairs or None
        A number of folds (None is 5), a splitter of scikit-learn, or pairs of indices of all rows.
    n_rows : int
        Number of all rows.
    y : array-like, default=None
        Targets, for `stratify` and for splitters that read them.
    stratify : bool, default=False
        Whether a number of folds keeps the shares of the classes in `y`.
    rows : ndarray of int, default=None
        The rows of weight above 0; the others are in no fold and change none. `y`, `groups` and
        `order` refer to these rows.
    groups : array-like, default=None
        Labels of rows that belong together: no group is on both sides of a fold.
    order : array-like, default=None
        Times of the rows: a number of folds then tests rows that are not earlier than the training
        rows.
    shuffle, random_state
        Whether a number of folds is drawn at random, and by which seed.

    Returns
    -------
    folds : list of (train, test)
        Folds that test no row are left out.
    """
    from sklearn import model_selection  # 50 ms that few fits need
    from sklearn.utils.multiclass import type_of_target

    if order is not None and groups is not None:
        raise ValueError("folds go by groups of rows or by an order of rows, not by both.")
    rows = np.arange(n_rows) if rows is None else rows
    if cv is None or isinstance(cv, Integral):
        n_folds = 5 if cv is None else int(cv)
        if order is not None:
            rows = rows[np.argsort(order, kind="stable")]
            splitter = model_selection.TimeSeriesSplit(n_folds)
        else:
            is_stratified = (
                stratify and y is not None and type_of_target(y) in ("binary", "multiclass")
            )
            splitter_name = f"{'Stratified' * is_stratified}{'Group' * (groups is not None)}KFold"
            splitter = getattr(model_selection, splitter_name)(
                n_folds, shuffle=shuffle, random_state=random_state
            )
    else:
        splitter = cv if hasattr(cv, "split") else None
    if splitter is None:
        all_rows = np.arange(n_rows)
        pairs = [[all_rows[np.asarray(indices)] for indices in fold] for fold in cv]
        folds = [(train[np.isin(train, rows)], test[np.isin(test, rows)]) for train, test in pairs]
    else:
        index_pairs = splitter.split(np.zeros((len(rows), 1)), y, groups)
        folds = [(rows[train], rows[test]) for train, test in index_pairs]
    folds = [fold for fold in folds if len(fold[1])]
    if not folds:
        raise ValueError(f"cv={cv!r} has no fold that tests a row of weight above 0.")
    return folds


def hold_out(
    rows: np.ndarray,
    test_size: float,
    *,
    strata: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    random_state: Any = None,
) -> Fold:
    """Return training rows and a random fraction of held-out rows, stratified or by entire groups.

    `strata` and `groups` refer to these rows.
    """
    from sklearn.model_selection import GroupShuffleSplit, train_test_split  # 50 ms, as above

    if groups is None:
        train, test = train_test_split(
            rows, test_size=test_size, random_state=random_state, stratify=strata
        )
        return train, test
    splitter = GroupShuffleSplit(1, test_size=test_size, random_state=random_state)
    train, test = next(splitter.split(rows, groups=groups))
    return rows[train], rows[test]


def predict_out_of_fold(folds: list[Fold], predict: Callable) -> np.ndarray:
    """Return predictions of all test rows in the order of the rows.

    `predict` takes training rows and test rows; no row is predicted by a model that has learnt it.
    """
    predictions = [predict(train, test) for train, test in folds]
    order = np.concatenate([test for _, test in folds])
    return np.concatenate(predictions)[np.argsort(order)]


def calibration_scores(classes: np.ndarray, score: Callable, random_state: Any) -> np.ndarray:
    """Return out-of-fold scores for the fit of a sigmoid.

    There are up to five stratified folds, at most the number of rows of the rarest class.
    CalibratedClassifierCV needs entire estimators, which would learn kernel weights and labels of
    unlabelled rows again in every fold.
    """
    rarest = int(np.unique(classes, return_counts=True)[1].min())
    folds = make_folds(
        max(2, min(MAX_CALIBRATION_FOLDS, rarest)), len(classes), classes,
        stratify=rarest >= 2, shuffle=True, random_state=random_state,
    )  # fmt: skip
    return predict_out_of_fold(folds, score)


# --------------------------------------------------------------------------- halves
def complementary_halves(
    n_rows: int, strata: np.ndarray | None, seed: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return two disjoint random sets of floor(n / 2) rows; with strata every class is halved.

    Rows are paired within each class, and a random bit assigns each pair to the halves. The rows
    left over, one per class of odd size, are paired with each other. (scikit-learn's shuffled
    splits can make one half a row larger.)
    """
    random = np.random.default_rng(seed)
    order = random.permutation(n_rows)
    codes = np.zeros(n_rows, np.int64) if strata is None else strata
    order = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    last_of_odd = np.cumsum(sizes)[sizes % 2 == 1] - 1
    left_over = random.permutation(order[last_of_odd])
    left_over = left_over[: len(left_over) // 2 * 2]
    pairs = np.concatenate((np.delete(order, last_of_odd), left_over)).reshape(-1, 2)
    is_swapped = random.random(len(pairs)) < 0.5
    first = np.where(is_swapped, pairs[:, 1], pairs[:, 0])
    return np.sort(first), np.sort(pairs.sum(axis=1) - first)


# --------------------------------------------------------------------------- by content
def hash_folds(row_hashes: np.ndarray, n_folds: int) -> np.ndarray:
    """Return the fold of each row by its hash, so that equal rows share a fold.

    No row is then predicted by a model that has learnt a copy of it. With hashes of row groups,
    groups share a fold.
    """
    return ((row_hashes >> np.uint64(11)) * 2.0**-53 * n_folds).astype(np.int64)


def split_halves(row_hashes: np.ndarray) -> np.ndarray:
    """Return the half of each row (a mask) by its hash, so that equal rows share a half."""
    return hash_folds(row_hashes * GOLDEN, 2) == 1


def repeated_hash_folds(row_hashes: np.ndarray, n_folds: int, n_repeats: int) -> np.ndarray:
    """Return several sets of folds by content, of shape (n_repeats, rows).

    Equal rows share a fold in each set.
    """
    salted = [mix64_array(row_hashes * np.uint64(2 * k + 1)) for k in range(1, n_repeats)]
    return np.stack([hash_folds(hashes, n_folds) for hashes in (row_hashes, *salted)])


def repeated_stratified_folds(
    row_hashes: np.ndarray, targets: np.ndarray, n_folds: int, n_repeats: int
) -> np.ndarray:
    """Return sets of folds (n_repeats, rows) for rows sorted by their hashes; equal rows are
    spread.

    Each fold gets its fraction of each kind of row and target. (StratifiedKFold refuses kinds with
    fewer rows than folds.)
    """
    row_kinds = np.cumsum(np.append(False, row_hashes[1:] != row_hashes[:-1]))
    strata = np.unique(np.column_stack((row_kinds, targets)), axis=0, return_inverse=True)[1]
    positions, folds = np.arange(len(row_hashes)), np.empty((n_repeats, len(row_hashes)), np.int64)
    for k in range(n_repeats):
        draws = mix64_array((positions.astype(np.uint64) + np.uint64(1)) * np.uint64(2 * k + 1))
        folds[k, np.lexsort((draws, strata.ravel()))] = positions % n_folds
    return folds


def count_distinct_if_few(row_hashes: np.ndarray, n_folds: int) -> int:
    """Return the number of distinct rows if it is small and most rows are repeated, else 0.

    The rows are sorted by their hashes. A single distinct row also gives 0.
    """
    if not len(row_hashes):
        return 0
    n_distinct = 1 + int(np.count_nonzero(row_hashes[1:] != row_hashes[:-1]))
    limit = min(MIN_DISTINCT_PER_FOLD * n_folds, len(row_hashes) / 2)
    return n_distinct if 2 <= n_distinct < limit else 0
