"""Targets of rows whose classes are not known yet: a mark for each class or label as it is met, and
numbers where they may be meant as such.
"""

import zlib
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.base.class_messages import MAX_CLASSES
from tamis.data.rows import Labels
from tamis.methods.sieve.stream.contrasts import Marked

MOST_MARKS = 16  # classes beyond so many share the marks: memory grows with them


class Met(NamedTuple):
    """Targets of some rows as contrasts take them, as a sample keeps them (an array, or a CSR array
    of labels), and a number for each row's own, whatever was met before.
    """

    marked: Marked
    kept: Any
    tokens: np.ndarray


class Meeting:
    """Classes and labels in the order in which they are met."""

    def __init__(self, task: str | None = None):
        self.task = task  # "classify", "regress", or None where both are possible
        self.places: dict[Any, int] = {}

    def meet(self, targets: Any, n_rows: int) -> Met:
        """Code the targets of some rows."""
        if targets is None:
            return self._of_none(n_rows)
        if isinstance(targets, Labels):
            return self._of_labels(targets.ends, self._places_of(targets.values), targets.values)
        if sp.issparse(targets) or (np.ndim(targets) > 1 and self.task != "regress"):
            matrix = sp.csr_array(targets)
            return self._of_labels(matrix.indptr, matrix.indices, matrix.indices)
        targets = np.asarray(targets)
        numbers = (
            targets.reshape(n_rows, -1).astype(float) if targets.dtype.kind in "biuf" else None
        )
        tokens = _tokens(targets) if numbers is None else numbers
        if self.task == "classify" or numbers is None:
            numbers = np.zeros((n_rows, 0))
        ends, marks = _no_marks(n_rows)
        if self.task != "regress":
            ends, marks = np.arange(n_rows + 1), self._places_of(targets) % MOST_MARKS
        if self.task is None and numbers.shape[1] and self._are_numbers(targets):
            self.task = "regress"
            ends, marks = _no_marks(n_rows)
        return Met(_marked(ends, marks, np.nan_to_num(numbers)), targets, tokens)

    def _are_numbers(self, targets: np.ndarray) -> bool:
        """Whether targets can be no classes."""
        return len(self.places) > MAX_CLASSES or bool((targets != np.floor(targets)).any())

    def _of_none(self, n_rows: int) -> Met:
        nothing = np.zeros((n_rows, 0))
        return Met(_marked(*_no_marks(n_rows), nothing), np.zeros(n_rows), nothing)

    def _of_labels(self, ends, places, values) -> Met:
        """Labels, of which a row has any number."""
        rows = len(ends) - 1
        own, count = _tokens(np.asarray(values)), np.diff(ends)
        tokens = np.bincount(np.repeat(np.arange(rows), count), weights=own[:, 0], minlength=rows)
        width = int(places.max(initial=-1)) + 1
        kept = sp.csr_array((np.ones(len(places)), places, ends), shape=(rows, max(width, 1)))
        marked = _marked(ends, places % MOST_MARKS, np.zeros((rows, 0)))
        return Met(marked, kept, tokens[:, None])

    def _places_of(self, values) -> np.ndarray:
        """The place of each value, in the order of their first rows."""
        found, first, which = np.unique(values, return_index=True, return_inverse=True)
        for at in np.argsort(first):
            self.places.setdefault(found[at].item(), len(self.places))
        place = np.array([self.places[value.item()] for value in found], dtype=np.int64)
        return place[which.ravel()] if len(place) else np.zeros(0, dtype=np.int64)


def _marked(ends, marks, numbers) -> Marked:
    return Marked(np.asarray(ends).astype(np.uint64), np.asarray(marks).astype(np.uint64), numbers)


def _no_marks(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(n_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)


def _tokens(values: np.ndarray) -> np.ndarray:
    """A number for each value that is the same in every process."""
    found, which = np.unique(values, return_inverse=True)
    numbers = [float(zlib.crc32(str(value).encode())) for value in found.tolist()]
    return np.array(numbers, dtype=float)[which.ravel()].reshape(-1, 1)
