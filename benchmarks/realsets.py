"""Real data sets, read from the folder that the environment variable TAMIS_DATA names.

The folder holds npz files of CSR parts: `data`, `indices`, `indptr`, `shape` and `y`, each with
`_train` and `_test` (or `_valid`) after its name where the set has a fixed split; the others are
split at random, seeded, 70 to 30.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

ABSENT = (
    "The real data sets were skipped: the environment variable TAMIS_DATA, which names their "
    "folder, is not set."
)


class Split(NamedTuple):
    """Training rows in random order, and test rows, all of unit norm."""

    X: sp.csr_array
    y: np.ndarray
    X_test: sp.csr_array
    y_test: np.ndarray

    def words(self) -> str:
        """Sizes, for a caption."""
        return f"{self.X.shape[0]:,} + {self.X_test.shape[0]:,} rows, {self.X.shape[1]:,} columns"


class Source(NamedTuple):
    """File and parts of a set; `counts` are word counts, of which logarithms are taken."""

    file: str
    test: str = ""
    counts: bool = False


SETS = {
    "dexter": Source("dexter", "_valid"),
    "reuters_acq": Source("reuters_acq", "_test"),
    "rcv1_vw_small": Source("rcv1_vw_small", "_test"),
    "20 newsgroups pair (basehock)": Source("basehock", counts=True),
    "20 newsgroups, 20 classes": Source("20news_bydate_counts", "_test", counts=True),
}


def available(sets: dict[str, Source] = SETS) -> dict[str, Source]:
    """The sets whose files are there."""
    folder = os.environ.get("TAMIS_DATA")
    return (
        {
            name: source
            for name, source in sets.items()
            if (Path(folder) / f"{source.file}.npz").exists()
        }
        if folder
        else {}
    )


def read(name: str, source: Source | None = None) -> Split:
    """One set, split and scaled."""
    source = source or SETS[name]
    with np.load(Path(os.environ["TAMIS_DATA"]) / f"{source.file}.npz") as stored:
        if source.test:
            (X, y), (X_test, y_test) = _part(stored, "_train"), _part(stored, source.test)
        else:
            whole, labels = _part(stored, "")
            order = np.random.default_rng(0).permutation(len(labels))
            first, rest = order[: len(order) * 7 // 10], order[len(order) * 7 // 10 :]
            X, y, X_test, y_test = whole[first], labels[first], whole[rest], labels[rest]
    order = np.random.default_rng(1).permutation(len(y))
    return Split(
        _scaled(X[order], source.counts),
        y[order].astype(np.int64),
        _scaled(X_test, source.counts),
        y_test.astype(np.int64),
    )


def _part(stored, mark: str):
    """One part of a file."""
    arrays = tuple(stored[name + mark] for name in ("data", "indices", "indptr"))
    X = sp.csr_array(arrays, shape=tuple(stored["shape" + mark]))
    X.sum_duplicates()
    X.eliminate_zeros()
    return X.astype(np.float64), stored["y" + mark]


def _scaled(X, counts: bool) -> sp.csr_array:
    """Rows of unit norm, with 32-bit indices (which some contestants insist on)."""
    X = sp.csr_array(normalize(X.log1p() if counts else X))
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
