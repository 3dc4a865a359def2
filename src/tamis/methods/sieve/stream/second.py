"""The second reading of a file: some columns of all rows, or of as many as may be held."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.validation import take_weights
from tamis.data.rows import ReadError, Rows
from tamis.methods.sieve.stream.first import needed, trusted_rows
from tamis.numerics.csr import copy_kept, count_kept
from tamis.numerics.hashing import GOLDEN, row_hashes


class Superset(NamedTuple):
    """The columns that a second reading keeps (a mask), how many entries they have, and for each
    fold those that are chosen without its rows; None where the targets had no say.
    """

    chosen: np.ndarray
    entries: int
    open: np.ndarray | None


class Kept:
    """Entries of the columns of a superset, of all rows, under their own numbers.

    Where their fit would take more than `memory` bytes, rows are left out by a hash of their
    content; `share` is what stays.
    """

    def __init__(self, found: Superset, n_rows: int, memory: int):
        chosen, entries, self.open = found
        self.n_columns, self.n_kept = len(chosen), int(np.count_nonzero(chosen))
        self.place = np.where(chosen, np.arange(self.n_columns), self.n_columns).astype(np.uint32)
        self.share = min(1.0, max(memory, 1) / max(needed(entries, n_rows), 1))
        if self.share < 1.0:  # about as many as that share, for a hash draws them
            entries = int(1.25 * self.share * entries) + 1
        wide = np.int64 if entries > np.iinfo(np.int32).max else np.int32
        self.data, self.indices = np.empty(entries), np.empty(entries, wide)
        # SciPy makes both kinds of indices the wider one, in a copy.
        self.indptr, self.n_rows, self.used = np.zeros(n_rows + 1, dtype=wide), 0, 0
        self.rows_read = 0
        self.targets: list[Any] = []
        self.weights: list[np.ndarray] = []
        self.hashes: list[np.ndarray] = []  # of whole rows: folds go by them

    def add(self, rows: Rows) -> None:
        """Keep the columns of a chunk; rows of weight 0 are left out."""
        X, targets = trusted_rows(rows.X), rows.targets
        weights = take_weights(rows.weights, X.n_rows)
        stay = weights > 0.0 if len(weights) else np.ones(X.n_rows, dtype=bool)
        self.rows_read += int(np.count_nonzero(stay))
        hashes = row_hashes(X)
        if self.share < 1.0:
            # Spread: the first bits of the hash itself are those of the folds.
            stay &= (hashes * GOLDEN >> np.uint64(11)) * 2.0**-53 < self.share
        if not stay.all():
            at = np.flatnonzero(stay)
            X, targets, hashes = X.picked(at), targets[at], hashes[at]
            weights = weights[at] if len(weights) else weights
        pointers = np.empty(X.n_rows + 1, dtype=np.uint64)
        count_kept(X.indices, X.indptr, self.place, np.uint32(self.n_columns), pointers)
        first, last = self.used, self.used + int(pointers[-1])
        end = self.n_rows + X.n_rows
        if last > len(self.data) or end >= len(self.indptr):
            raise ReadError("the rows changed between two readings. Leave the files as they are.")
        where = self.indices[first:last].view(
            np.uint64 if self.indices.itemsize == 8 else np.uint32
        )
        copy_kept(
            *X[:3], self.place, np.uint32(self.n_columns), self.data[first:last], where
        )  # fmt: skip
        self.indptr[self.n_rows + 1 : end + 1] = first + pointers[1:].astype(np.int64)
        self.n_rows, self.used = end, last
        self.targets.append(targets)
        self.hashes.append(hashes)
        self.weights.append(weights if len(weights) else np.ones(X.n_rows))

    def rows(self) -> sp.csr_array:
        """All rows, once: they are held no longer, so that they can go when others have them."""
        arrays = (self.data[: self.used], self.indices[: self.used], self.indptr[: self.n_rows + 1])
        del self.data, self.indices, self.indptr, self.place
        return sp.csr_array(arrays, shape=(self.n_rows, self.n_columns))

    def aims(self) -> tuple[Any, np.ndarray | None]:
        """Targets and weights of the rows (None where all are 1)."""
        matrices = len(self.targets) > 0 and sp.issparse(self.targets[0])
        targets = sp.vstack(self.targets, "csr") if matrices else np.concatenate(self.targets)
        weights = np.concatenate(self.weights)
        return targets, None if (weights == 1.0).all() else weights
