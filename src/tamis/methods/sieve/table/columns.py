"""Rows as the sieve reads them: columns and targets in standard units, an order and folds by
content.
"""

from typing import Any, NamedTuple

import numpy as np

from tamis.base.splits import (
    few_distinct,
    hash_folds,
    repeated_hash_folds,
    repeated_stratified_folds,
)
from tamis.methods.sieve.table.loop import (
    hash_standard,
    spread_columns,
    standardise,
    sum_columns,
    vote_columns,
)
from tamis.numerics.csr import NOTHING, Csr
from tamis.numerics.hashing import row_hashes
from tamis.numerics.moments import add_raw_moments

FEW = 10  # rows with an entry, below which a column of a regression is left out
SPLITS = 3  # ways in which rows are dealt out to folds


class Table(NamedTuple):
    """Rows in standard units, as loops read them. The last `always` columns are never shrunk and
    never leave; `groups` numbers the groups of the columns, those `always` the last, or is None
    where each is a group of its own.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    density: np.ndarray
    outputs: int
    always: int = 0
    groups: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def n_free(self) -> int:
        """Number of the columns that may leave."""
        return len(self.density) - self.always

    @property
    def n_groups(self) -> int:
        """Number of the groups that may leave."""
        if self.groups is None:
            return self.n_free
        return int(self.groups[: self.n_free].max(initial=-1)) + 1

    def numbers(self, columns: np.ndarray) -> np.ndarray:
        """Numbers of the columns' groups; all that never leave are in the last."""
        return np.minimum(columns, self.n_free) if self.groups is None else self.groups[columns]

    def ranks(self, columns: np.ndarray, importance: np.ndarray) -> np.ndarray:
        """Rank of each column's group, 0 for the most important (by the sum of squares of its
        columns' importance; those that never leave come first); ties go to the lowest number.
        """
        numbers = self.numbers(columns)
        kept = self.always > 0 and len(numbers) > 0 and bool(numbers.max() == self.n_groups)
        return group_ranks(numbers, importance, self.groups is not None, kept)


def group_ranks(numbers, importance, is_grouped: bool, kept: bool) -> np.ndarray:
    """Rank of each column's group, by the groups' numbers; `kept`: the last never leaves, and comes
    first.
    """
    found, at = np.unique(numbers, return_inverse=True)
    total = np.bincount(at, importance**2 if is_grouped else importance)
    if kept:
        total[-1] = np.inf
    ranks = np.empty(len(found), dtype=np.int64)
    ranks[np.argsort(-total, kind="stable")] = np.arange(len(found))
    return ranks[at]


class Columns(NamedTuple):
    """How columns were brought to standard units: z = (x - shift) * scale."""

    n_columns: int
    kept: np.ndarray
    scale: np.ndarray
    shift: np.ndarray


class Measured(NamedTuple):
    """Columns in standard units: which are kept and how they are scaled, the share of the rows that
    each one fills, its new number (that of the kept ones where it is dropped), and the numbers of
    those with a shift.
    """

    columns: Columns
    density: np.ndarray
    place: np.ndarray
    shifted: np.ndarray


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
    """All that a run reads: rows, how their columns and targets were scaled, their folds (deals,
    rows), for each fold of the first deal the columns that may be used to predict it (None: all),
    and how many rows are distinct, where these are too few for folds (0: enough).
    """

    table: Table
    columns: Columns
    units: Units
    folds: np.ndarray
    open: np.ndarray | None = None
    too_few: int = 0

    def deviations(self) -> np.ndarray:
        """Standard deviation of each column in the units of X."""
        table, moments = self.table, np.zeros((2, len(self.table.density)))
        add_raw_moments(table.data, table.indices, table.indptr, table.weights, moments)
        mass = table.weights.sum() if len(table.weights) else float(table.n_rows)
        means, squares = moments / max(mass, 1e-300)
        return np.sqrt(np.maximum(squares - means**2, 0.0)) / self.columns.scale


def sample_of(
    rows: Csr, targets, weights, outputs: int, options, centred: bool, dealt=None, open_=None
) -> Sample:
    """Rows in an order of their own, in standard units, and dealt out to folds: by their content,
    or by the words `dealt`, where others have learnt from them in such folds. `open_` (folds,
    columns) says which columns may be used to predict a fold; None: all.
    """
    weights = NOTHING if (weights == 1.0).all() else weights
    units = class_units(outputs) if options.classes else number_units(targets, weights, centred)
    hashes = row_hashes(rows)
    order = settled_order(hashes, targets, weights)
    labels = None if options.feature_groups is None else options.feature_groups.labels
    scale = scale_of(weights, order)
    scaled, numbers = scaled_weights(weights, order, scale), not options.classes
    measured = measure(rows, order.astype(np.uint64), scaled, centred, numbers, labels)
    sample, *_ = arranged(
        rows, targets, weights, outputs, options, units, measured, hashes, order, scale, dealt
    )
    return sample if open_ is None else sample._replace(open=open_[:, sample.columns.kept])


def arranged(
    rows: Csr, targets, weights, outputs: int, options, units: Units, measured: Measured, hashes,
    order, scale: float, dealt=None,
) -> tuple[Sample, np.ndarray, np.ndarray]:  # fmt: skip
    """The sample in standard units that are known, the order that its rows are in now, and words of
    their content; `scale` makes the mean of all weights 1.
    """
    if dealt is None:
        # From here on content is that in standard units, so that the units are forgotten too.
        hashes[order] = _standard_hashes(rows, order, measured)
        order = order[np.lexsort((np.arange(len(order)), *_keys(hashes, targets, weights, order)))]
    scaled, groups = scaled_weights(weights, order, scale), options.feature_groups
    table = fill(rows, units.standard(targets), scaled, order, outputs, measured)
    if groups is not None:
        table = marked(table, groups, measured.columns.kept)
    given, words = (table, measured.columns, units), hashes[order]
    if dealt is not None:
        return Sample(*given, hash_folds(dealt[order], options.folds)[None]), order, words
    too_few = few_distinct(words, options.folds)
    if too_few:
        folds = repeated_stratified_folds(words, targets[order], options.folds, SPLITS)
    else:
        folds = repeated_hash_folds(words, options.folds, SPLITS)
    return Sample(*given, folds, None, too_few), order, words


# --------------------------------------------------------------------------- order and folds
def settled_order(hashes, targets, weights) -> np.ndarray:
    """Rows of weight above 0 in an order that depends on their contents alone, so that the order
    they came in is forgotten.
    """
    present = np.flatnonzero(weights > 0.0) if len(weights) else np.arange(len(hashes))
    return present[np.lexsort(_keys(hashes, targets, weights, present))]


def _keys(hashes, targets, weights, rows) -> list[np.ndarray]:
    """What rows are sorted by, the least important first."""
    keys = [hashes, *targets.T[::-1]] if not len(weights) else [hashes, *targets.T[::-1], weights]
    return [key[rows] for key in keys[::-1]]


def _standard_hashes(rows: Csr, order, measured: Measured) -> np.ndarray:
    """A word for the content of each row in `order`, in standard units."""
    (_, kept, scale, shift), _, place, shifted = measured
    words = np.empty(len(order), dtype=np.uint64)
    order = order.astype(np.uint64)
    hash_standard(*rows[:3], order, place, kept.astype(np.uint64), scale, shift, shifted, words)
    return words


# --------------------------------------------------------------------------- standard units
def tabulate(
    rows: Csr, targets, weights, order, outputs: int, centred: bool
) -> tuple[Table, Columns]:
    """The rows in standard units."""
    weights = scaled_weights(weights, order, scale_of(weights, order))
    measured = measure(rows, order.astype(np.uint64), weights, centred)
    return fill(rows, targets, weights, order, outputs, measured), measured.columns


def scale_of(weights, order) -> float:
    """What makes the mean weight of the rows in `order` 1."""
    return len(order) / weights[order].sum() if len(weights) else 1.0


def scaled_weights(weights, order, scale: float) -> np.ndarray:
    """Weights of the rows in `order`, by a scale that makes their mean 1."""
    return weights[order] * scale if len(weights) else NOTHING


def fill(rows: Csr, targets, weights, order, outputs: int, measured: Measured) -> Table:
    """The table of the rows in `order`; `weights` are in that order."""
    n, order = len(order), order.astype(np.uint64)
    (_, kept, scale, shift), density, place, shifted = measured
    room = len(rows.data) + n * len(shifted)
    data, indices = np.empty(room), np.empty(room, dtype=np.uint32)
    indptr, filled = np.empty(n + 1, dtype=np.uint64), np.zeros(len(kept), dtype=np.uint64)
    standardise(
        *rows[:3], order, place, scale, shift, shifted, filled, data, indices, indptr
    )  # fmt: skip
    used = int(indptr[-1])
    targets = np.ascontiguousarray(targets[order])
    return Table(data[:used], indices[:used], indptr, targets, weights, density, outputs)


def always_last(kept: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Columns in their order, but those that never leave (their label is below 0) behind others."""
    return kept[np.argsort(labels[kept] < 0, kind="stable")]


def marked(table: Table, feature_groups, kept: np.ndarray) -> Table:
    """The table with the groups of its columns, by their labels, and those that never leave."""
    labels = feature_groups.labels[kept]
    free = int(np.count_nonzero(labels >= 0))
    found, groups = np.unique(labels[:free], return_inverse=True)
    groups = np.append(groups, np.full(len(labels) - free, len(found)))
    return table._replace(
        always=len(labels) - free, groups=groups if feature_groups.grouped else None
    )


class Passes:
    """Sums over the rows in `order`, a column each."""

    def __init__(self, rows: Csr, order: np.ndarray, weights: np.ndarray):
        self.rows, self.order, self.weights = rows, order, weights

    def columns(self) -> np.ndarray:
        """Entries other than 0, squares, largest size."""
        counts, squares, tops = found = np.zeros((3, self.rows.n_features))
        sum_columns(*self.rows[:3], self.order, self.weights, counts, squares, tops)
        return found

    def leaders(self, full: np.ndarray) -> np.ndarray:
        """Of some columns the only value that can be in more than half of the rows, by how many
        votes it leads, and the sum.
        """
        leader, votes, sums = found = np.zeros((3, len(full)))
        vote_columns(
            *self.rows[:3], self.order, self.weights, self._place(full), leader, votes, sums
        )
        return found

    def about(self, full: np.ndarray, leader: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Of some columns the rows with the leading value, the squares about the mean, and those
        about the leading value.
        """
        led, about = np.zeros(len(full)), np.zeros((len(full), 2))
        place = self._place(full)
        spread_columns(
            *self.rows[:3], self.order, self.weights, place, leader, means, led, about
        )  # fmt: skip
        return np.stack([led, *about.T])

    def _place(self, full: np.ndarray) -> np.ndarray:
        place = np.full(self.rows.n_features, len(full), dtype=np.uint32)
        place[full] = np.arange(len(full), dtype=np.uint32)
        return place


def measure(
    rows: Csr, order, weights, centred: bool, numbers: bool = False, labels=None
) -> Measured:
    """Scales and shifts of the columns of some rows."""
    passes = Passes(rows, order, weights)
    return measured_by(passes, len(order), rows.n_features, centred, numbers, labels)


def measured_by(
    passes, n: int, p: int, centred: bool, numbers: bool = False, labels=None
) -> Measured:
    """Scales and shifts of the columns, by what they are and not by their units; `passes` are over
    n rows and p columns.

    A column with one value in more than half of the rows is measured from that value, in units of
    the root mean square of its other entries; any other is centred, in units of its standard
    deviation. Neither depends on units; nor, if all entries are stored, on where 0 is. Where
    targets are numbers, columns of a few values that vary are left out: nobody knows how large they
    can get, and a number, unlike a class, is then missed by as much. Columns whose label is below 0
    come last.
    """
    counts, squares, tops = passes.columns()
    alive = squares > 0.0
    if numbers:
        known = (tops**2 * counts < 1.000001 * squares) & (counts > 2.0)
        known |= counts >= min(FEW, 0.1 * n)
        alive &= known if labels is None else known | (labels < 0)
    del tops
    scale, shift = np.sqrt(counts / np.where(alive, squares, 1.0)), np.zeros(p)
    del squares
    full = np.flatnonzero((counts >= 0.5 * n) & alive) if centred else counts[:0].astype(np.int64)
    if len(full):
        shift[full], density, unit = _measure_full(passes, n, full, counts[full])
        alive[full] = (unit > 1e-9 * np.abs(shift[full])) & (density > 1e-12)
        counts[full], scale[full] = n * density, 1.0 / np.where(alive[full], unit, 1.0)
    kept = np.flatnonzero(alive)
    if labels is not None:
        kept = always_last(kept, labels)
    place = np.full(p, len(kept), dtype=np.uint32)
    place[kept] = np.arange(len(kept), dtype=np.uint32)
    scale, shift, density = scale[kept], shift[kept], np.minimum(counts[kept] / n, 1.0)
    shifted = np.flatnonzero(shift).astype(np.uint64)
    return Measured(Columns(p, kept, scale, shift), density, place, shifted)


def _measure_full(passes, n: int, full, counts):
    """Origin, share of the rows elsewhere, and unit of columns that are not 0 in most rows."""
    leader, _, sums = passes.leaders(full)
    means = sums / n
    led, *about = passes.about(full, leader, means)
    common, empty = led > 0.5 * n, np.maximum(n - counts, 0.0)
    origin = np.where(common, leader, means)
    square = np.where(common, about[1], about[0]) + empty * origin**2
    density = np.where(common, np.maximum(n - led, 0.0) / n, 1.0)
    unit = np.sqrt(square / np.maximum(n * density, 1e-300))
    return origin, density, unit


def to_original_units(
    columns: Columns, units: Units, at, weights, bias, calibration, column_std, frequency
) -> dict[str, Any]:
    """Fields of a model in the units of X and y, from one in standard units and the calibration of
    its held-out scores; `at` are the numbers of its columns, `column_std` is of these, `frequency`
    of all columns: those where it is not 0 have been selected.
    """
    weights = weights * calibration[:, 0] * columns.scale[at, None] * units.unit
    bias = (bias * calibration[:, 0] + calibration[:, 1]) * units.unit + units.center
    ever = np.flatnonzero(frequency)
    order, ever_order = np.argsort(columns.kept[at]), np.argsort(columns.kept[ever])
    return {
        "n_columns": columns.n_columns,
        "columns": columns.kept[at][order],
        "weights": weights[order],
        "bias": bias - columns.shift[at] @ weights,
        "column_std": column_std[order],
        "ever_selected": columns.kept[ever][ever_order],
        "selection_frequency": np.repeat(frequency[ever, None], len(bias), axis=1)[ever_order],
    }


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
