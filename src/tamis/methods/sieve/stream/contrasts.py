"""Contrasts: what all rows say of each column alone, in sums that cost the column's entries."""

from typing import NamedTuple

import numpy as np

from tamis.base.rows import Csr
from tamis.methods.sieve.stream.loop import ENTRIES, PRODUCTS, SQUARES, SUMS, sum_contrasts

# Columns are ranked as the sieve itself ranks them, by what they say where they are filled, tilted
# towards those that often are. 0.5 would be the order of their correlations, which prefers frequent
# words that say little: on 20 newsgroups the same number of columns, with more entries, did worse.
TILT = 0.375
FIRST = int(PRODUCTS)


class Marked(NamedTuple):
    """Targets of rows: those of row i are the numbers ``numbers[i]``, and the marks (of a class or
    of labels) ``marks[ends[i]:ends[i + 1]]``.
    """

    ends: np.ndarray
    marks: np.ndarray
    numbers: np.ndarray


class Contrasts:
    """Sums of each column: entries, squares, values, products with the numbers, values in the rows
    of each mark. `whole` has the same of a column that is 1 in every row.

    Sums run in the order of the rows, so that it does not matter how these are cut into chunks.
    """

    def __init__(self, numbers: int = 0):
        self.numbers = numbers
        self.columns = np.zeros((0, FIRST + numbers))
        self.whole = np.zeros(FIRST + numbers)
        self.squares = np.zeros(numbers)  # of the numbers

    @property
    def n_rows(self) -> int:
        """Rows of weight above 0."""
        return int(self.whole[ENTRIES])

    def entries(self) -> np.ndarray:
        """Entries of each column."""
        return self.columns[:, ENTRIES].astype(np.int64)

    def add(self, rows: Csr, weights: np.ndarray, targets: Marked) -> None:
        """Take in rows; no weights mean 1 each."""
        marks = int(targets.marks.max()) + 1 if len(targets.marks) else 0
        self._make_room(rows.n_features, marks)
        sum_contrasts(*rows[:3], weights, *targets, self.columns, self.whole, self.squares)

    def _make_room(self, n_columns: int, marks: int) -> None:
        """Grow by doubling, so that all growth together costs as much as the last."""
        had, width = self.columns.shape
        wanted = FIRST + self.numbers + marks
        if n_columns > had or wanted > width:
            rows = had if n_columns <= had else max(n_columns, min(2 * had, n_columns + (1 << 22)))
            grown = np.zeros((rows, max(wanted, width)))
            grown[:had, :width] = self.columns
            self.columns = grown
            self.whole = np.concatenate((self.whole, np.zeros(grown.shape[1] - width)))

    def drop_marks(self) -> None:
        """Keep what is said of the numbers alone."""
        end = FIRST + self.numbers
        if len(self.whole) > end:
            self.columns, self.whole = self.columns[:, :end].copy(), self.whole[:end].copy()

    def strengths(self, n_columns: int) -> np.ndarray:
        """Of each of the first columns the strongest contrast of any output; 0 where it has no
        entry.
        """
        rows, mass = max(self.whole[ENTRIES], 1.0), max(self.whole[SUMS], 1e-300)
        columns = self.columns[:n_columns]
        entries, values = columns[:, ENTRIES], columns[:, SUMS]
        spread = np.maximum(columns[:, SQUARES] - values**2 / mass, 1e-9 * columns[:, SQUARES])
        filled = np.sqrt(np.maximum(entries * spread * mass / rows, 1e-300))
        strongest = np.zeros(n_columns)
        for k in range(FIRST, len(self.whole)):
            mean = self.whole[k] / mass
            if k < FIRST + self.numbers:
                variance = self.squares[k - FIRST] / mass - mean**2
            else:
                variance = mean * (1.0 - mean)
            if variance > 0.0:
                apart = np.abs(columns[:, k] - mean * values) / np.sqrt(variance)
                strongest[: len(columns)] = np.maximum(strongest[: len(columns)], apart / filled)
        strongest[: len(columns)] *= (entries / rows) ** TILT
        return strongest
