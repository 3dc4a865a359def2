"""The second reading of a file: some columns of all rows, or of as many rows as fit into memory."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.validation import validate_sample_weight
from tamis.data.rows import ReadError, Rows
from tamis.methods.sieve.stream.first_reading import fit_bytes, trusted_rows
from tamis.numerics.csr import copy_selected_columns, count_selected_entries
from tamis.numerics.hashing import GOLDEN, row_hashes


class ColumnSuperset(NamedTuple):
    """The columns that a second reading stores (a mask), their number of entries, and for each fold
    the columns chosen without its rows; None where the targets did not influence the choice.
    """

    chosen: np.ndarray
    entries: int
    open: np.ndarray | None


class SecondReading:
    """Entries of the columns of a superset, of all rows, numbered as in the file.

    Where their fit would take more than `memory` bytes, rows are sampled by a hash of their
    content; `row_fraction` is the fraction that stays.
    """

    def __init__(self, superset: ColumnSuperset, n_rows: int, memory: int):
        chosen, entries, self.open = superset
        self.n_columns, self.n_kept = len(chosen), int(np.count_nonzero(chosen))
        numbers = np.arange(self.n_columns)
        self.column_index = np.where(chosen, numbers, self.n_columns).astype(np.uint32)
        self.row_fraction = min(1.0, max(memory, 1) / max(fit_bytes(entries, n_rows), 1))
        if self.row_fraction < 1.0:  # the sampled fraction of the entries is not exact
            entries = int(1.25 * self.row_fraction * entries) + 1
        index_type = np.int64 if entries > np.iinfo(np.int32).max else np.int32
        self.data, self.indices = np.empty(entries), np.empty(entries, index_type)
        # SciPy would copy indices and indptr if their types differed.
        self.indptr, self.n_rows, self.used = np.zeros(n_rows + 1, dtype=index_type), 0, 0
        self.rows_read = 0
        self.targets: list[Any] = []
        self.weights: list[np.ndarray] = []
        self.hashes: list[np.ndarray] = []  # of complete rows, for the folds

    def add(self, rows: Rows) -> None:
        """Store the columns of a chunk; rows of weight 0 are left out."""
        X, targets = trusted_rows(rows.X), rows.targets
        weights = validate_sample_weight(rows.weights, X.n_rows)
        is_stored = weights > 0.0 if len(weights) else np.ones(X.n_rows, dtype=bool)
        self.rows_read += int(np.count_nonzero(is_stored))
        hashes = row_hashes(X)
        if self.row_fraction < 1.0:
            # Mixed again: the first bits of the hash itself determine the folds.
            is_stored &= (hashes * GOLDEN >> np.uint64(11)) * 2.0**-53 < self.row_fraction
        if not is_stored.all():
            indices = np.flatnonzero(is_stored)
            X, targets, hashes = X.select_rows(indices), targets[indices], hashes[indices]
            weights = weights[indices] if len(weights) else weights
        indptr = np.empty(X.n_rows + 1, dtype=np.uint64)
        count_selected_entries(
            X.indices, X.indptr, self.column_index, np.uint32(self.n_columns), indptr
        )
        first, last = self.used, self.used + int(indptr[-1])
        end = self.n_rows + X.n_rows
        if last > len(self.data) or end >= len(self.indptr):
            raise ReadError("the rows changed between two readings. Leave the files as they are.")
        out_indices = self.indices[first:last].view(
            np.uint64 if self.indices.itemsize == 8 else np.uint32
        )
        copy_selected_columns(
            *X[:3], self.column_index, np.uint32(self.n_columns), self.data[first:last],
            out_indices,
        )  # fmt: skip
        self.indptr[self.n_rows + 1 : end + 1] = first + indptr[1:].astype(np.int64)
        self.n_rows, self.used = end, last
        self.targets.append(targets)
        self.hashes.append(hashes)
        self.weights.append(weights if len(weights) else np.ones(X.n_rows))

    def rows(self) -> sp.csr_array:
        """Return all rows, once: this object drops its arrays, so that the fit can free them."""
        arrays = (self.data[: self.used], self.indices[: self.used], self.indptr[: self.n_rows + 1])
        del self.data, self.indices, self.indptr, self.column_index
        return sp.csr_array(arrays, shape=(self.n_rows, self.n_columns))

    def targets_and_weights(self) -> tuple[Any, np.ndarray | None]:
        """Return the targets of the rows, and their weights (None where all are 1)."""
        is_sparse = len(self.targets) > 0 and sp.issparse(self.targets[0])
        targets = sp.vstack(self.targets, "csr") if is_sparse else np.concatenate(self.targets)
        weights = np.concatenate(self.weights)
        return targets, None if (weights == 1.0).all() else weights
