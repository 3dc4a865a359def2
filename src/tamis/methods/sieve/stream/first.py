"""The first reading of a file: contrasts of all rows, and a sample of them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.base.splits import hash_folds
from tamis.base.validation import _from_csr, take_weights
from tamis.data.rows import ReadError, Rows
from tamis.methods.sieve.stream.contrasts import Contrasts
from tamis.methods.sieve.stream.sample import Keyed, keys_of, smallest
from tamis.methods.sieve.stream.targets import Meeting
from tamis.numerics.csr import Csr
from tamis.numerics.hashing import row_hashes
from tamis.system.spelling import option

MOST_COLUMNS = 1 << 27  # of 96 bytes and more
AN_ENTRY = 12  # bytes of a number and its column
# What a fit holds of an entry, in the table and the copies of two threads, and of a row: its scores
# at every size under two settings, and where it stands in the lists of the fold fits.
HELD, A_ROW = 4 * AN_ENTRY, 400
LAST = 2**64 - 1


def needed(entries: int, rows: int) -> int:
    """Bytes that the fit of so many entries and rows takes."""
    return HELD * entries + A_ROW * rows


def trusted_rows(X: Any) -> Csr:
    """Rows of a chunk, in float64."""
    return _from_csr(sp.csr_array(X).astype(np.float64, copy=False))


class FirstReading:
    """What one reading finds out about rows whose columns and classes need not be known.

    Neither chunks nor, but for rounding, the order of the rows matter. The sample has `n_sample`
    rows at most, and an eighth of the `memory`.
    """

    def __init__(self, n_sample: int, folds: int, memory: int, task: str | None = None):
        self.folds, self.n_sample = folds, n_sample
        self.most_entries = max(memory // 8 // AN_ENTRY, 1)
        self.meeting = Meeting(task)
        self.n_columns = 0
        self.contrasts: Any = None  # until the first rows say what their targets are
        self.sample: list[Keyed] = []
        self.bar, self.waiting, self.whole = LAST, 0, True

    def add(self, rows: Rows) -> None:
        """Take in a chunk."""
        X, count = trusted_rows(rows.X), rows.X.shape[0]
        if X.n_features > MOST_COLUMNS:
            raise ReadError(
                f"{rows.file or 'a chunk'}: column {X.n_features:,} is too far out for sums by "
                f"column. Pass {option('hash_bits', 20)}, or number the columns anew."
            )
        weights = take_weights(rows.weights, count)
        met = self.meeting.meet(rows.targets, count)
        if self.contrasts is None:
            self.contrasts = Contrasts(self.folds, met.marked.numbers.shape[1])
        hashes = row_hashes(X)
        self.contrasts.add(X, weights, hash_folds(hashes, self.folds), met.marked)
        if self.meeting.task == "regress":
            self.contrasts.drop_marks()
        self.n_columns = max(self.n_columns, X.n_features)
        self._offer(X, keys_of(hashes, met.tokens), met.kept, weights)

    def _offer(self, X: Csr, keys, targets, weights) -> None:
        part = Keyed.picked(X, keys, targets, weights, self.bar)
        if len(part.keys):
            self.sample.append(part)
            self.waiting += part.rows.nnz
            if self.waiting > self.most_entries or sum(len(p.keys) for p in self.sample[1:]) > max(
                len(self.sample[0].keys), 1024
            ):
                self.settle()

    def settle(self) -> Keyed:
        """The sample of all rows so far."""
        found, cut = smallest(self.sample, self.n_sample, self.most_entries)
        if cut:
            self.bar, self.whole = int(found.keys[-1]), False
        self.sample, self.waiting = [found], 0
        return found
