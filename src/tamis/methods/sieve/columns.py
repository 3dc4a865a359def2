"""Rows as the sieve reads them: columns and targets in standard units, an order and folds by
content.
"""

from typing import NamedTuple

import numpy as np

from tamis.base.rows import NOTHING, Csr, hash_rows
from tamis.methods.sieve.loop import standardise, sum_columns

DENSE = 0.9  # density above which a column is centred


class Table(NamedTuple):
    """Rows in standard units, as loops read them."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    density: np.ndarray
    outputs: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1


class Columns(NamedTuple):
    """How columns were brought to standard units: z = (x - shift) * scale."""

    n_columns: int
    kept: np.ndarray
    scale: np.ndarray
    shift: np.ndarray


class Units(NamedTuple):
    """Unit and center of the targets, one an output."""

    unit: np.ndarray
    center: np.ndarray

    def standard(self, targets: np.ndarray) -> np.ndarray:
        """Targets in standard units; those of classes, whose units are 1, stay as they are."""
        if (self.unit == 1.0).all() and not self.center.any():
            return targets
        return (targets - self.center) / self.unit


class Sample(NamedTuple):
    """All that a run reads: rows, how their columns and targets were scaled, their folds, and for
    each fold the columns that may be used to predict it (None: all).
    """

    table: Table
    columns: Columns
    units: Units
    folds: np.ndarray
    open: np.ndarray | None = None


def sample_of(rows: Csr, targets, weights, outputs: int, options, centred: bool) -> Sample:
    """Rows in an order of their own, in standard units, and dealt out to folds."""
    weights = NOTHING if (weights == 1.0).all() else weights
    classes = options.classes
    units = class_units(outputs) if classes else number_units(targets, weights, centred)
    hashes = hashed(rows)
    order = settled_order(hashes, targets, weights)
    table, columns = tabulate(rows, units.standard(targets), weights, order, outputs, centred)
    return Sample(table, columns, units, fold_of(hashes[order], options.folds))


# --------------------------------------------------------------------------- order and folds
def hashed(rows: Csr) -> np.ndarray:
    """A word for the content of each row."""
    words = np.empty(rows.n_rows, dtype=np.uint64)
    hash_rows(*rows[:3], words)
    return words


def fold_of(hashes: np.ndarray, folds: int) -> np.ndarray:
    """Fold of each row by its content."""
    return ((hashes >> np.uint64(11)) * 2.0**-53 * folds).astype(np.int64)


def settled_order(hashes, targets, weights) -> np.ndarray:
    """Rows of weight above 0 in an order that depends on their contents alone, so that the order
    they came in is forgotten.
    """
    present = np.flatnonzero(weights > 0.0) if len(weights) else np.arange(len(hashes))
    keys = [hashes, *targets.T[::-1]] if not len(weights) else [hashes, *targets.T[::-1], weights]
    return present[np.lexsort([key[present] for key in keys[::-1]])]


# --------------------------------------------------------------------------- standard units
def tabulate(
    rows: Csr, targets, weights, order, outputs: int, centred: bool
) -> tuple[Table, Columns]:
    """The rows in standard units."""
    weights = weights[order] * (len(order) / weights[order].sum()) if len(weights) else NOTHING
    n, order = len(order), order.astype(np.uint64)
    counts, columns, dense = _scaled(rows, order, weights, centred)
    kept, scale, shift = columns[1:]
    place = np.full(rows.n_features, len(kept), dtype=np.uint32)
    place[kept] = np.arange(len(kept), dtype=np.uint32)
    room = len(rows.data) + n * len(dense)
    data, indices = np.empty(room), np.empty(room, dtype=np.uint32)
    indptr, filled = np.empty(n + 1, dtype=np.uint64), np.zeros(len(kept), dtype=np.uint64)
    standardise(
        *rows[:3], order, place, scale, shift, dense, filled, data, indices, indptr
    )  # fmt: skip
    used = int(indptr[-1])
    table = Table(
        data[:used],
        indices[:used],
        indptr,
        np.ascontiguousarray(targets[order]),
        weights,
        np.minimum(counts[kept] / n, 1.0),
        outputs,
    )
    return table, columns


def _scaled(rows: Csr, order, weights, centred: bool) -> tuple[np.ndarray, Columns, np.ndarray]:
    """Weight of the stored entries of each column, the scales and shifts of those kept, and which
    of these are centred.
    """
    n, p = len(order), rows.n_features
    counts, sums, squares = np.zeros(p), np.zeros(p), np.zeros(p)
    sum_columns(*rows[:3], order, weights, NOTHING, counts, sums, squares)
    full = (counts > DENSE * n) & centred
    kept = np.flatnonzero((counts > 0.0) & (squares > 0.0))
    scale, shift = np.sqrt(counts[kept] / squares[kept]), np.zeros(len(kept))
    if full.any():
        means, squares = np.where(full, sums / n, 0.0), np.zeros(p)
        sum_columns(*rows[:3], order, weights, means, np.zeros(p), np.zeros(p), squares)
        spread = np.sqrt((squares + np.maximum(n - counts, 0.0) * means**2) / n)
        alive = ~full | (spread > 1e-9 * np.abs(means))
        kept = kept[alive[kept]]
        scale = np.where(
            full[kept],
            1.0 / np.where(full[kept], spread[kept], 1.0),
            np.sqrt(counts[kept] / np.maximum(squares[kept], 1e-300)),
        )
        shift = means[kept]
    return counts, Columns(p, kept, scale, shift), np.flatnonzero(full[kept]).astype(np.uint64)


def class_units(outputs: int) -> Units:
    """Unit and center of class targets: as they are."""
    return Units(np.ones(outputs), np.zeros(outputs))


def number_units(targets, weights, centred: bool) -> Units:
    """Robust unit and center of real targets, so that a strength means the same whatever their
    scale.

    Center is the median, unit 1.4826 times the median absolute deviation; where that is 0, the mean
    absolute deviation.
    """
    present = targets[weights > 0.0] if len(weights) else targets
    center = np.median(present, axis=0)
    deviations = np.abs(present - center)
    unit = 1.4826 * np.median(deviations, axis=0)
    unit = np.where(unit > 0.0, unit, deviations.mean(axis=0))
    return Units(np.where(unit > 0.0, unit, 1.0), center if centred else np.zeros_like(center))
