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
        """Of each of the first columns its strongest contrast, as columns are ranked; 0 where it
        has no entry.
        """
        return self._strongest(n_columns, TILT)

    def deviations(self, n_columns: int) -> np.ndarray:
        """The same in standard errors of a column that says nothing."""
        return self._strongest(n_columns, 0.5) * np.sqrt(self.n_rows)

    def _strongest(self, n_columns: int, tilt: float) -> np.ndarray:
        rows, mass = max(self.whole[ENTRIES], 1.0), max(self.whole[SUMS], 1e-300)
        columns, means = self.columns[:n_columns], self.whole[FIRST:] / mass
        sums = Sums(
            columns[:, ENTRIES] * mass / rows,
            columns[:, SQUARES],
            columns[:, SUMS],
            columns[:, FIRST:],
        )
        # A mark is 0 or 1: its square is itself.
        squares = np.concatenate((self.squares / mass, means[self.numbers :]))
        found = strongest(sums, means, squares - means**2, mass, tilt)
        return np.concatenate((found, np.zeros(n_columns - len(columns))))


class Sums(NamedTuple):
    """Of each column the weight of its entries, sums of squares and values, and products with each
    output.
    """

    counts: np.ndarray
    squares: np.ndarray
    values: np.ndarray
    products: np.ndarray


def strongest(sums: Sums, means, variances, mass: float, tilt: float) -> np.ndarray:
    """Of each column the strongest contrast of any output, between 0 and 1: the correlation where
    `tilt` is 0.5, that within the rows where the column is filled where it is 0.
    """
    counts, squares, values, products = sums
    spread = np.maximum(squares - values**2 / mass, 1e-9 * squares)
    filled = np.sqrt(np.maximum(counts * spread, 1e-300))
    found = np.zeros(len(counts))
    for mean, variance, product in zip(means, variances, products.T, strict=True):
        if variance > 0.0:
            found = np.maximum(found, np.abs(product - mean * values) / np.sqrt(variance) / filled)
    return found * (counts / mass) ** tilt
