"""What a whole source holds: rows, columns, classes, bad lines, found in one reading."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tamis.base.class_messages import MAX_CLASSES
from tamis.data.rows import LISTED, Bad, Labels, ReadError, Rows
from tamis.numerics.hashing import count_duplicates, row_hashes
from tamis.numerics.numba import compiled
from tamis.system.spelling import option

MOST_HASHED = 1 << 20  # rows that are compared with one another
MOST_COLUMNS = 1 << 28  # columns whose rows are counted one by one: 8 bytes each


@compiled
def count_columns(indices, counts):
    """Add one to the count of each column met."""
    for k in range(np.uint64(indices.shape[0])):
        counts[indices[k]] += 1


class Watcher(Protocol):
    """Who wants to see the rows of a reading."""

    def add(self, rows: Rows) -> None:
        """Look at a chunk."""


@dataclass
class Survey:
    """Figures of a source."""

    rows: int = 0
    features: int = 0
    nonzeros: int = 0
    longest: int = 0  # nonzeros of the longest row
    labels: dict = field(default_factory=dict)  # target: rows; empty where there are too many
    many: bool = False  # whether there were too many different targets to count
    whole: bool = True  # whether all targets are whole numbers (or words)
    words: bool = False  # whether targets are words
    several: bool = False
    weighted: bool = False
    counts: np.ndarray | None = None  # rows with a nonzero, a column each
    bad: Bad = field(default_factory=Bad)
    beside: Watcher | None = None  # who looked at the rows in the same reading
    equal: int = 0  # rows that equal an earlier one, among the first 2^20
    learnt: int = 0  # rows of weight above 0
    base: int | None = None  # number of the first column, where the format lets it be 0 or 1
    hashed: bool = False
    hashes: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: Rows, columns: bool) -> None:
        """Take in a chunk."""
        X = rows.X
        if self.beside is not None:
            self.beside.add(rows)
        self.rows += X.shape[0]
        self.features = max(self.features, X.shape[1])
        self.nonzeros += X.nnz
        if X.shape[0]:
            self.longest = max(self.longest, int(np.diff(X.indptr).max()))
        self.weighted |= rows.weights is not None
        weights = rows.weights
        self.learnt += X.shape[0] if weights is None else int(np.count_nonzero(weights))
        if columns:
            self._count(X, rows.file)
        self._meet(rows.targets)
        if self.rows <= MOST_HASHED:
            self.hashes.append(row_hashes(X))

    @classmethod
    def merge(cls, parts: "Iterable[Survey]") -> "Survey":
        """One survey of parts that were surveyed apart, some perhaps without rows.

        Where one part has a column 0 all count from 0, also those that seemed to count from 1.
        Equal rows are those of one part.
        """
        parts = list(parts)
        found = cls(hashed=any(part.hashed for part in parts))
        found.base = min((p.base for p in parts if p.rows and p.base is not None), default=None)
        for part in parts:
            found._merge(part)
        if found.many:
            found.labels = {}
        return found

    def _merge(self, part: "Survey") -> None:
        """Take in what another reading has found; `base` is settled."""
        shift = part.base - self.base if part.base and self.base is not None else 0
        for name in ("rows", "nonzeros", "learnt", "equal"):
            setattr(self, name, getattr(self, name) + getattr(part, name))
        for name in ("many", "several", "weighted"):
            setattr(self, name, getattr(self, name) or getattr(part, name))
        self.whole, self.longest = self.whole and part.whole, max(self.longest, part.longest)
        if part.rows:
            self.features = max(self.features, part.features + (0 if self.hashed else shift))
        self._add_labels(part.labels)
        self.bad.count += part.bad.count
        self.bad.first = (self.bad.first + part.bad.first)[:LISTED]
        if part.counts is not None and not (self.hashed and shift):
            before = np.zeros(0, np.int64) if self.counts is None else self.counts
            self.counts = np.zeros(max(len(before), len(part.counts) + shift), np.int64)
            self.counts[: len(before)] += before
            self.counts[shift : shift + len(part.counts)] += part.counts

    def compare(self) -> None:
        """Count equal rows, once all are there."""
        if self.hashes:
            self.equal, self.hashes = count_duplicates(np.concatenate(self.hashes)), []

    def _count(self, X, file: str) -> None:
        if self.counts is None:
            self.counts = np.zeros(0, np.int64)
        if X.shape[1] > MOST_COLUMNS:
            raise ReadError(
                f"{file}: column {X.shape[1]:,} is too far out to count rows by column. Pass "
                f"{option('hash_bits', 20)}, or number the columns anew."
            )
        if len(self.counts) < X.shape[1]:
            grown = np.zeros(max(X.shape[1], min(2 * len(self.counts), 1 << 30)), np.int64)
            grown[: len(self.counts)] = self.counts
            self.counts = grown
        count_columns(
            X.indices.view(np.uint64 if X.indices.itemsize == 8 else np.uint32), self.counts
        )

    def _meet(self, targets: Any) -> None:
        if targets is None:
            return
        if isinstance(targets, Labels):
            self.several, targets = True, targets.values
        elif hasattr(targets, "tocsr"):
            self.several, targets = True, targets.tocsr()
            targets = targets.indices[targets.data != 0]
        numeric = targets.dtype.kind == "f"
        self.words = self.words or targets.dtype.kind in "OUS"
        if numeric:
            targets = targets[~np.isnan(targets)]
            self.whole = self.whole and bool((targets == np.floor(targets)).all())
        if self.many:
            return
        values, counts = np.unique(targets, return_counts=True)
        self._add_labels(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    def _add_labels(self, counts: dict) -> None:
        """Count targets, as far as there are few."""
        for value, count in counts.items():
            self.labels[value] = self.labels.get(value, 0) + count
        if len(self.labels) > MAX_CLASSES:
            self.labels, self.many = {}, True

    @property
    def classes(self) -> list:
        """The distinct targets, sorted."""
        try:
            return sorted(self.labels)
        except TypeError:
            raise ReadError(
                "targets are words in some of the rows and numbers in others. Make all of them "
                "words, or all numbers."
            ) from None

    @property
    def density(self) -> float:
        """Share of entries that are not zero."""
        return self.nonzeros / max(self.rows * self.features, 1)

    def csr_bytes(self) -> int:
        """Bytes of all rows as a CSR matrix of float64 in memory."""
        index = 4 if max(self.nonzeros, self.features) < 2**31 else 8
        return (8 + index) * self.nonzeros + index * (self.rows + 1)

    def shares(self) -> np.ndarray | None:
        """Share of rows with a nonzero, a column each; where columns were counted."""
        return None if self.counts is None else self.counts[: self.features] / max(self.rows, 1)

    def as_classes(self) -> bool:
        """Whether the targets look like classes: words, or few different whole numbers."""
        return self.several or (
            self.whole and not self.many and 0 < len(self.labels) <= max(20, self.rows // 50)
        )
