"""Survey of a source: counts of rows, columns, classes and bad lines, from one reading."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tamis.base.class_messages import MAX_CLASSES
from tamis.data.rows import MAX_LISTED, Labels, ReadError, Rows, SkippedLines
from tamis.numerics.hashing import count_duplicates, row_hashes
from tamis.numerics.numba import compiled
from tamis.system.spelling import format_option

MAX_COMPARED_ROWS = 1 << 20  # rows that are compared with each other
MAX_COUNTED_COLUMNS = 1 << 28  # columns whose rows are counted: 8 bytes each


@compiled
def count_columns(indices, counts):
    """Add one to the count of each stored column."""
    for k in range(np.uint64(indices.shape[0])):
        counts[indices[k]] += 1


class RowObserver(Protocol):
    """Object that gets every chunk of a reading."""

    def add(self, rows: Rows) -> None:
        """Process a chunk."""


@dataclass
class Survey:
    """Counts of a source."""

    rows: int = 0
    features: int = 0
    nonzeros: int = 0
    longest: int = 0  # nonzeros of the longest row
    # Number of rows of each target; empty if there are too many targets.
    labels: dict = field(default_factory=dict)
    many: bool = False  # whether there are too many different targets to count
    is_integer: bool = True  # whether all targets are whole numbers (or words)
    words: bool = False  # whether targets are words
    several: bool = False
    weighted: bool = False
    counts: np.ndarray | None = None  # rows with a nonzero in each column
    bad: SkippedLines = field(default_factory=SkippedLines)
    observer: RowObserver | None = None  # observer of the same reading
    n_duplicate_rows: int = 0  # rows that equal an earlier one, among the first 2^20
    learnt: int = 0  # rows of weight above 0
    base: int | None = None  # number of the first column, in formats where it may be 0 or 1
    hashed: bool = False
    hashes: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: Rows, columns: bool) -> None:
        """Add a chunk; with `columns`, count the rows of each column too."""
        X = rows.X
        if self.observer is not None:
            self.observer.add(rows)
        self.rows += X.shape[0]
        self.features = max(self.features, X.shape[1])
        self.nonzeros += X.nnz
        if X.shape[0]:
            self.longest = max(self.longest, int(np.diff(X.indptr).max()))
        self.weighted |= rows.weights is not None
        weights = rows.weights
        self.learnt += X.shape[0] if weights is None else int(np.count_nonzero(weights))
        if columns:
            self._count_columns(X, rows.file)
        self.add_targets(rows.targets)
        if self.rows <= MAX_COMPARED_ROWS:
            self.hashes.append(row_hashes(X))

    @classmethod
    def merge(cls, surveys: "Iterable[Survey]") -> "Survey":
        """Return one survey of several sources, some of which may have no rows.

        If one source has a column 0, the columns of all count from 0. Duplicate rows are counted
        inside each source.
        """
        surveys = list(surveys)
        merged = cls(hashed=any(survey.hashed for survey in surveys))
        merged.base = min((s.base for s in surveys if s.rows and s.base is not None), default=None)
        for survey in surveys:
            merged._merge(survey)
        if merged.many:
            merged.labels = {}
        return merged

    def _merge(self, other: "Survey") -> None:
        """Add the counts of another survey; `base` is decided."""
        shift = other.base - self.base if other.base and self.base is not None else 0
        for name in ("rows", "nonzeros", "learnt", "n_duplicate_rows"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("many", "several", "weighted"):
            setattr(self, name, getattr(self, name) or getattr(other, name))
        self.is_integer, self.longest = (
            self.is_integer and other.is_integer,
            max(self.longest, other.longest),
        )
        if other.rows:
            self.features = max(self.features, other.features + (0 if self.hashed else shift))
        self._add_labels(other.labels)
        self.bad.count += other.bad.count
        self.bad.first = (self.bad.first + other.bad.first)[:MAX_LISTED]
        if other.counts is not None and not (self.hashed and shift):
            counts_before = np.zeros(0, np.int64) if self.counts is None else self.counts
            self.counts = np.zeros(max(len(counts_before), len(other.counts) + shift), np.int64)
            self.counts[: len(counts_before)] += counts_before
            self.counts[shift : shift + len(other.counts)] += other.counts

    def count_duplicate_rows(self) -> None:
        """Count rows that equal an earlier one, after all rows are added."""
        if self.hashes:
            self.n_duplicate_rows, self.hashes = count_duplicates(np.concatenate(self.hashes)), []

    def _count_columns(self, X, file: str) -> None:
        """Count the rows of each column."""
        if self.counts is None:
            self.counts = np.zeros(0, np.int64)
        if X.shape[1] > MAX_COUNTED_COLUMNS:
            raise ReadError(
                f"{file}: column {X.shape[1]:,} is too far out to count rows by column. Pass "
                f"{format_option('hash_bits', 20)}, or number the columns anew."
            )
        if len(self.counts) < X.shape[1]:
            wider_counts = np.zeros(max(X.shape[1], min(2 * len(self.counts), 1 << 30)), np.int64)
            wider_counts[: len(self.counts)] = self.counts
            self.counts = wider_counts
        count_columns(
            X.indices.view(np.uint64 if X.indices.itemsize == 8 else np.uint32), self.counts
        )

    def add_targets(self, targets: Any) -> None:
        """Add the targets of a chunk."""
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
            self.is_integer = self.is_integer and bool((targets == np.floor(targets)).all())
        if self.many:
            return
        values, counts = np.unique(targets, return_counts=True)
        self._add_labels(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    def _add_labels(self, counts: dict) -> None:
        """Add counts of targets, unless there are too many different ones."""
        for value, count in counts.items():
            self.labels[value] = self.labels.get(value, 0) + count
        if len(self.labels) > MAX_CLASSES:
            self.labels, self.many = {}, True

    @property
    def classes(self) -> list:
        """Distinct targets, sorted."""
        try:
            return sorted(self.labels)
        except TypeError:
            raise ReadError(
                "targets are words in some of the rows and numbers in others. Make all of them "
                "words, or all numbers."
            ) from None

    @property
    def density(self) -> float:
        """Fraction of entries that are not zero."""
        return self.nonzeros / max(self.rows * self.features, 1)

    def csr_bytes(self) -> int:
        """Return the bytes of all rows as a CSR matrix of float64 in memory."""
        index = 4 if max(self.nonzeros, self.features) < 2**31 else 8
        return (8 + index) * self.nonzeros + index * (self.rows + 1)

    def shares(self) -> np.ndarray | None:
        """Return the fraction of rows with a nonzero in each column, or None if not counted."""
        return None if self.counts is None else self.counts[: self.features] / max(self.rows, 1)

    def as_classes(self) -> bool:
        """Return whether the targets look like classes: words, or few different whole numbers."""
        return self.several or (
            self.is_integer and not self.many and 0 < len(self.labels) <= max(20, self.rows // 50)
        )
