"""The first reading of a file: contrasts of all rows, and a sample of them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.base.splits import hash_folds
from tamis.base.validation import csr_from_matrix, validate_sample_weight
from tamis.data.rows import ReadError, Rows
from tamis.methods.sieve.stream.contrasts import Contrasts
from tamis.methods.sieve.stream.sample import KeyedRows, sampling_keys, smallest_keys
from tamis.methods.sieve.stream.targets import LabelEncoder
from tamis.numerics.csr import Csr
from tamis.numerics.hashing import row_hashes
from tamis.system.spelling import format_option

MAX_COLUMNS = 1 << 27  # sums take 96 bytes a column, or more
ENTRY_BYTES = 12  # of a value and its column
# Bytes of a fit for each entry (the table, and the copies of two threads) and for each row (its
# scores at every size under two settings, and its indices in the fold fits).
FIT_ENTRY_BYTES, FIT_ROW_BYTES = 4 * ENTRY_BYTES, 400
MAX_KEY = 2**64 - 1


def fit_bytes(entries: int, rows: int) -> int:
    """Return the bytes that a fit of so many entries and rows takes."""
    return FIT_ENTRY_BYTES * entries + FIT_ROW_BYTES * rows


def trusted_rows(X: Any) -> Csr:
    """Return the rows of a chunk in float64."""
    return csr_from_matrix(sp.csr_array(X).astype(np.float64, copy=False))


class FirstReading:
    """Contrasts and a sample of rows whose columns and classes need not be known in advance.

    The result depends neither on the chunks nor, except for rounding, on the order of the rows. The
    sample has at most `n_sample` rows, and at most an eighth of `memory`.
    """

    def __init__(self, n_sample: int, folds: int, memory: int, task: str | None = None):
        self.folds, self.n_sample = folds, n_sample
        self.max_entries = max(memory // 8 // ENTRY_BYTES, 1)
        self.encoder = LabelEncoder(task)
        self.n_columns = 0
        self.contrasts: Any = None  # until the first chunk shows what the targets are
        self.sample: list[KeyedRows] = []
        self.key_limit, self.waiting_entries = MAX_KEY, 0

    def add(self, rows: Rows) -> None:
        """Add a chunk."""
        X, n_rows = trusted_rows(rows.X), rows.X.shape[0]
        if X.n_features > MAX_COLUMNS:
            raise ReadError(
                f"{rows.file or 'a chunk'}: column {X.n_features:,} is too large for sums by "
                f"column. Pass {format_option('hash_bits', 20)}, or renumber the columns."
            )
        weights = validate_sample_weight(rows.weights, n_rows)
        targets = self.encoder.encode(rows.targets, n_rows)
        if self.contrasts is None:
            n_numbers = targets.for_contrasts.numbers.shape[1]
            self.contrasts = Contrasts(self.folds, n_numbers)
        hashes = row_hashes(X)
        folds = hash_folds(hashes, self.folds)
        self.contrasts.add(X, weights, folds, targets.for_contrasts)
        if self.encoder.task == "regress":
            self.contrasts.drop_labels()
        self.n_columns = max(self.n_columns, X.n_features)
        keys = sampling_keys(hashes, targets.target_hashes)
        self._offer(X, keys, targets.for_sample, weights)

    def _offer(self, X: Csr, keys, targets, weights) -> None:
        """Offer rows to the sample; merge them when there are many."""
        chunk = KeyedRows.select(X, keys, targets, weights, self.key_limit)
        if not len(chunk.keys):
            return
        self.sample.append(chunk)
        self.waiting_entries += chunk.rows.nnz
        n_waiting = sum(len(waiting.keys) for waiting in self.sample[1:])
        if self.waiting_entries > self.max_entries or n_waiting > max(
            len(self.sample[0].keys), 1024
        ):
            self.merge_sample()

    def merge_sample(self) -> KeyedRows:
        """Return the sample of all rows so far."""
        sample, is_cut = smallest_keys(self.sample, self.n_sample, self.max_entries)
        if is_cut:
            self.key_limit = int(sample.keys[-1])
        self.sample, self.waiting_entries = [sample], 0
        return sample
