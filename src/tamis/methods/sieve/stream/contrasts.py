"""Contrasts: how strongly each column alone relates to the targets, from sums over all rows that
cost the entries of the column.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.stream.loop import sum_contrasts
from tamis.numerics.csr import Csr

# Columns are ranked as in the sieve: by the contrast within the rows where they have entries, times
# this power of their density. 0.5 is the order of the correlations, which prefers frequent words
# with a weak contrast: on 20 newsgroups as many columns, with more entries, gave a higher error.
CONTRAST_DENSITY_EXPONENT = 0.375


class ContrastTargets(NamedTuple):
    """Targets of rows: those of row i are the numbers ``numbers[i]``, and the codes of its class or
    labels ``codes[ends[i]:ends[i + 1]]``.
    """

    ends: np.ndarray
    codes: np.ndarray
    numbers: np.ndarray


class Contrasts:
    """Sums by column: entries and squares, and for each fold of the rows the sums of the values, of
    their products with the numbers, and of the values in the rows of each label code.

    `constant_products` has the same for a column that is 1 in every row. Sums are by fold, so that
    contrasts without one fold exist. They run in the order of the rows, so the chunks do not
    matter.
    """

    def __init__(self, folds: int, numbers: int = 0):
        self.numbers, self.n_rows = numbers, 0  # rows of weight above 0
        self.entry_sums = np.zeros((0, 2))
        self.products = np.zeros((0, folds, 1 + numbers))
        self.constant_products = np.zeros((folds, 1 + numbers))
        self.squares = np.zeros((folds, numbers))  # of the numbers

    def entries(self) -> np.ndarray:
        """Return the number of entries of each column."""
        return self.entry_sums[:, 0].astype(np.int64)

    def add(
        self, rows: Csr, weights: np.ndarray, folds: np.ndarray, targets: ContrastTargets
    ) -> None:
        """Add rows; no weights mean 1 each."""
        n_codes = int(targets.codes.max()) + 1 if len(targets.codes) else 0
        self._grow(rows.n_features, n_codes)
        self.n_rows += int(np.count_nonzero(weights)) if len(weights) else rows.n_rows
        sums = (self.entry_sums, self.products, self.constant_products, self.squares)
        sum_contrasts(*rows[:3], weights, folds, *targets, *sums)

    def _grow(self, n_columns: int, n_codes: int) -> None:
        """Grow the arrays by doubling, so that all growth together costs as much as the last."""
        old_columns, folds, old_width = self.products.shape
        width = max(1 + self.numbers + n_codes, old_width)
        if n_columns > old_columns or width > old_width:
            capacity = old_columns
            if n_columns > old_columns:
                capacity = max(n_columns, min(2 * old_columns, n_columns + (1 << 22)))
            products, entry_sums = np.zeros((capacity, folds, width)), np.zeros((capacity, 2))
            products[:old_columns, :, :old_width] = self.products
            entry_sums[:old_columns] = self.entry_sums
            self.products, self.entry_sums = products, entry_sums
            padding = ((0, 0), (0, width - old_width))
            self.constant_products = np.pad(self.constant_products, padding)

    def drop_labels(self) -> None:
        """Keep the sums of the numbers alone."""
        end = 1 + self.numbers
        if self.constant_products.shape[1] > end:
            self.products = self.products[..., :end].copy()
            self.constant_products = self.constant_products[:, :end].copy()

    def strengths(self, n_columns: int, without: int | None = None) -> np.ndarray:
        """Return the strongest contrast of each of the first columns, weighted by density, over all
        folds or all but one; 0 where the column has no entry.
        """
        return self._strongest(n_columns, without, CONTRAST_DENSITY_EXPONENT)

    def deviations(self, n_columns: int, without: int | None = None) -> np.ndarray:
        """Return the strongest correlation of each column in standard errors of a column that is
        independent of the targets.
        """
        fraction = self._total_weight(without) / self._total_weight(None)
        return self._strongest(n_columns, without, 0.5) * np.sqrt(fraction * self.n_rows)

    def _total_weight(self, without: int | None) -> float:
        return max(float(_sum_folds(self.constant_products, without)[0]), 1e-300)

    def _strongest(
        self, n_columns: int, without: int | None, density_exponent: float
    ) -> np.ndarray:
        total_weight = self._total_weight(without)
        fraction = total_weight / self._total_weight(None)
        entry_sums = self.entry_sums[:n_columns]
        products = _sum_folds(self.products[:n_columns].swapaxes(0, 1), without)
        means = _sum_folds(self.constant_products, without)[1:] / total_weight
        # Entries and squares do not depend on the targets, so those of all folds may be used.
        counts = entry_sums[:, 0] * total_weight / max(self.n_rows, 1)
        sums = ContrastSums(counts, entry_sums[:, 1] * fraction, products[:, 0], products[:, 1:])
        # The indicator of a label is 0 or 1: it equals its square.
        squares = np.concatenate(
            (_sum_folds(self.squares, without) / total_weight, means[self.numbers :])
        )
        variances = squares - means**2
        contrasts = strongest_contrasts(sums, means, variances, total_weight, density_exponent)
        return np.concatenate((contrasts, np.zeros(n_columns - len(entry_sums))))


def _sum_folds(sums: np.ndarray, without: int | None) -> np.ndarray:
    """Sum over the folds, the first axis, or over all but one."""
    return sums.sum(axis=0) if without is None else np.delete(sums, without, 0).sum(axis=0)


class ContrastSums(NamedTuple):
    """Sums by column: weight of the entries, squares, values, and products with each output."""

    counts: np.ndarray
    squares: np.ndarray
    values: np.ndarray
    products: np.ndarray


def strongest_contrasts(
    sums: ContrastSums, means, variances, total_weight: float, density_exponent: float
) -> np.ndarray:
    """Return the strongest contrast of each column with any output, between 0 and 1.

    With a density exponent of 0.5 it is the correlation, with 0 the correlation within the rows
    where the column has entries.
    """
    counts, squares, values, products = sums
    deviations = np.maximum(squares - values**2 / total_weight, 1e-9 * squares)
    scales = np.sqrt(np.maximum(counts * deviations, 1e-300))
    strongest = np.zeros(len(counts))
    for mean, variance, product in zip(means, variances, products.T, strict=True):
        if variance > 0.0:
            contrast = np.abs(product - mean * values) / np.sqrt(variance) / scales
            strongest = np.maximum(strongest, contrast)
    return strongest * (counts / total_weight) ** density_exponent
