"""Rows dealt out to folds: by their content, or by turns where too few of them are distinct."""

import numpy as np

from tamis.numerics.hashing import mix64_array

DEALS = 3  # ways in which rows are dealt out to folds
DISTINCT = 4  # distinct rows a fold, below which equal rows do not share a fold


def fold_of(hashes: np.ndarray, folds: int) -> np.ndarray:
    """Fold of each row by its content."""
    return ((hashes >> np.uint64(11)) * 2.0**-53 * folds).astype(np.int64)


def deal_by_content(words: np.ndarray, targets: np.ndarray, folds: int) -> np.ndarray:
    """Folds of rows by their content (deals, rows): equal rows share a fold, so that no row is
    predicted by its like.
    """
    salted = [words * np.uint64(2 * split + 1) for split in range(1, DEALS)]
    return np.stack([fold_of(own, folds) for own in (words, *map(mix64_array, salted))])


def few_distinct(words: np.ndarray, folds: int) -> int:
    """How many of the rows, sorted by their words, are distinct, where these are few and most rows
    are repeated; else 0. A single one says nothing, however it is dealt out.
    """
    distinct = 1 + int(np.count_nonzero(words[1:] != words[:-1])) if len(words) else 0
    return distinct if 2 <= distinct < min(DISTINCT * folds, len(words) / 2) else 0


def deal_one_by_one(words: np.ndarray, targets: np.ndarray, folds: int) -> np.ndarray:
    """Folds of rows by turns (deals, rows), so that every fold has its part of each kind of row and
    target.
    """
    alike = np.cumsum(np.append(False, words[1:] != words[:-1]))
    kinds = np.unique(np.column_stack((alike, targets)), axis=0, return_inverse=True)[1].ravel()
    places, dealt = np.arange(len(words)), np.empty((DEALS, len(words)), dtype=np.int64)
    for split in range(DEALS):
        turns = mix64_array((places.astype(np.uint64) + np.uint64(1)) * np.uint64(2 * split + 1))
        dealt[split, np.lexsort((turns, kinds))] = places % folds
    return dealt
