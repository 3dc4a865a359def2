"""Real sets with their targets permuted: nothing is to be found, whatever the columns are like."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

PERMUTATIONS = 20
ROWS, ROWS_OF_MANY = 1500, 600  # most rows of a set; of one with many classes or labels
MANY = 3  # classes
SPLIT = "_train"


class Named(NamedTuple):
    """Rows and targets of a set, whether these are classes, and how many rows there were."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    classes: bool
    whole: int


def names(folder: Path | None) -> list[str]:
    """All sets of the folder."""
    return sorted(path.stem for path in Path(folder).glob("*.npz")) if folder else []


def read(folder: Path, name: str) -> Named:
    """A set, cut to a random part of its rows where they are many; gaps filled by medians."""
    with np.load(Path(folder) / f"{name}.npz") as stored:
        mark = SPLIT if any(key.endswith(SPLIT) for key in ("X" + SPLIT,) if key in stored) else ""
        mark = SPLIT if "indptr" + SPLIT in stored else mark
        X, y, classes = _parts(stored, name, mark)
    whole = X.shape[0]
    many = classes and (y.ndim > 1 or len(np.unique(y)) >= MANY)
    most = ROWS_OF_MANY if many else ROWS
    if whole > most:
        kept = np.sort(np.random.default_rng(0).choice(whole, most, replace=False))
        X, y = X[kept], y[kept]
    if many and y.ndim == 1:  # a class of one or two rows can be neither fitted nor tested
        often = np.isin(y, [c for c in np.unique(y) if np.count_nonzero(y == c) >= 5])
        X, y = X[np.flatnonzero(often)], y[often]
    return Named(X, y, classes, whole)


def _parts(stored, name: str, mark: str):
    """Rows, targets, and whether these are classes."""
    if "indptr" + mark in stored:
        arrays = tuple(stored[part + mark] for part in ("data", "indices", "indptr"))
        X = sp.csr_array(arrays, shape=tuple(stored["shape" + mark])).astype(float)
        X.sum_duplicates()
    else:
        X = stored["X" + mark].astype(float)
        gaps = np.isnan(X)
        X = np.where(gaps, np.nan_to_num(np.nanmedian(X, axis=0)), X)
    if name == "computer":
        return X, stored["Y"].mean(axis=0).astype(float), False
    if name == "school":
        return X, stored["y"].astype(float), False
    if "terms" in stored:  # no labels: the number of different words of a text
        return X, np.diff(X.indptr).astype(float), False
    return X, stored["y" + mark].astype(int), True


def permuted(one: Named, run: int) -> np.ndarray:
    """The targets in another order."""
    return one.y[np.random.default_rng([run, 17]).permutation(len(one.y))]


def words(one: Named) -> str:
    """Size and targets, for a table."""
    rows, p = one.X.shape
    cut = f" of {one.is_integer:,}" if rows < one.is_integer else ""
    if not one.classes:
        kind = "numbers"
    elif one.y.ndim > 1:
        kind = f"{one.y.shape[1]} labels"
    else:
        kind = f"{len(np.unique(one.y))} classes"
    return f"{rows:,}{cut} x {p:,}, {kind}"
