"""Contrasts: what all rows say of each column alone, in sums that cost the column's entries."""

from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.stream.loop import sum_contrasts
from tamis.numerics.csr import Csr

# Columns are ranked as the sieve itself ranks them, by what they say where they are filled, tilted
# towards those that often are. 0.5 would be the order of their correlations, which prefers frequent
# words that say little: on 20 newsgroups the same number of columns, with more entries, did worse.
TILT = 0.375


class Marked(NamedTuple):
    """Targets of rows: those of row i are the numbers ``numbers[i]``, and the marks (of a class or
    of labels) ``marks[ends[i]:ends[i + 1]]``.
    """

    ends: np.ndarray
    marks: np.ndarray
    numbers: np.ndarray


class Contrasts:
    """Of each column its entries and squares, and for each fold of the rows sums of its values, of
    their products with the numbers, and of its values in the rows of each mark. `whole` has the
    same of a column that is 1 in every row.

    By folds, so that who holds out a fold can ask what the others say. Sums run in the order of the
    rows, so that it does not matter how these are cut into chunks.
    """

    def __init__(self, folds: int, numbers: int = 0):
        self.numbers, self.n_rows = numbers, 0  # rows of weight above 0
        self.filled = np.zeros((0, 2))
        self.products = np.zeros((0, folds, 1 + numbers))
        self.whole = np.zeros((folds, 1 + numbers))
        self.squares = np.zeros((folds, numbers))  # of the numbers

    def entries(self) -> np.ndarray:
        """Entries of each column."""
        return self.filled[:, 0].astype(np.int64)

    def add(self, rows: Csr, weights: np.ndarray, folds: np.ndarray, targets: Marked) -> None:
        """Take in rows; no weights mean 1 each."""
        marks = int(targets.marks.max()) + 1 if len(targets.marks) else 0
        self._make_room(rows.n_features, marks)
        self.n_rows += int(np.count_nonzero(weights)) if len(weights) else rows.n_rows
        sums = (self.filled, self.products, self.whole, self.squares)
        sum_contrasts(*rows[:3], weights, folds, *targets, *sums)

    def _make_room(self, n_columns: int, marks: int) -> None:
        """Grow by doubling, so that all growth together costs as much as the last."""
        had, folds, width = self.products.shape
        wanted = max(1 + self.numbers + marks, width)
        if n_columns > had or wanted > width:
            most = had if n_columns <= had else max(n_columns, min(2 * had, n_columns + (1 << 22)))
            grown, filled = np.zeros((most, folds, wanted)), np.zeros((most, 2))
            grown[:had, :, :width], filled[:had] = self.products, self.filled
            self.products, self.filled = grown, filled
            self.whole = np.pad(self.whole, ((0, 0), (0, wanted - width)))

    def drop_marks(self) -> None:
        """Keep what is said of the numbers alone."""
        end = 1 + self.numbers
        if self.whole.shape[1] > end:
            self.products = self.products[..., :end].copy()
            self.whole = self.whole[:, :end].copy()

    def strengths(self, n_columns: int, without: int | None = None) -> np.ndarray:
        """Of each of the first columns its strongest contrast, as columns are ranked, in the rows
        of all folds or of all but one; 0 where it has no entry.
        """
        return self._strongest(n_columns, without, TILT)

    def deviations(self, n_columns: int, without: int | None = None) -> np.ndarray:
        """The same in standard errors of a column that says nothing."""
        share = self._mass(without) / self._mass(None)
        return self._strongest(n_columns, without, 0.5) * np.sqrt(share * self.n_rows)

    def _mass(self, without: int | None) -> float:
        return max(float(self._others(self.whole, without)[0]), 1e-300)

    def _others(self, parts: np.ndarray, without: int | None) -> np.ndarray:
        """Sums over the folds, the first axis, but one."""
        return parts.sum(axis=0) if without is None else np.delete(parts, without, 0).sum(axis=0)

    def _strongest(self, n_columns: int, without: int | None, tilt: float) -> np.ndarray:
        everywhere, mass = self._mass(None), self._mass(without)
        share, filled = mass / everywhere, self.filled[:n_columns]
        products = self._others(self.products[:n_columns].swapaxes(0, 1), without)
        means = self._others(self.whole, without)[1:] / mass
        # How often and how far a column is filled says nothing of targets: all rows may tell.
        counts = filled[:, 0] * mass / max(self.n_rows, 1)
        sums = Sums(counts, filled[:, 1] * share, products[:, 0], products[:, 1:])
        # A mark is 0 or 1: its square is itself.
        squares = np.concatenate(
            (self._others(self.squares, without) / mass, means[self.numbers :])
        )
        found = strongest(sums, means, squares - means**2, mass, tilt)
        return np.concatenate((found, np.zeros(n_columns - len(filled))))


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
