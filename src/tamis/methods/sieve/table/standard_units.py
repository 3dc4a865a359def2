"""Rows as the sieve learns from them: columns and targets in standard units, an order and folds by
content.
"""

from typing import Any, NamedTuple

import numpy as np

from tamis.base.splits import (
    count_distinct_if_few,
    hash_folds,
    repeated_hash_folds,
    repeated_stratified_folds,
)
from tamis.methods.sieve.table.loop import (
    hash_standardized_rows,
    majority_vote,
    standardize_rows,
    sum_columns,
    sum_squares_about,
)
from tamis.numerics.csr import EMPTY, Csr
from tamis.numerics.hashing import row_hashes
from tamis.numerics.moments import add_raw_moments

MIN_COLUMN_ENTRIES = 10  # a column of a regression with fewer entries is left out
N_SPLITS = 3  # repetitions of the split into folds


class Table(NamedTuple):
    """Rows in standard units.

    The last `n_unpenalized` columns are never shrunk and never eliminated. `groups` has the number
    of the group of each column, the largest one for the unpenalized columns; None where each column
    is its own group.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    density: np.ndarray
    outputs: int
    n_unpenalized: int = 0
    groups: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def n_penalized(self) -> int:
        """Number of the penalized columns."""
        return len(self.density) - self.n_unpenalized

    @property
    def n_groups(self) -> int:
        """Number of the penalized feature groups."""
        if self.groups is None:
            return self.n_penalized
        return int(self.groups[: self.n_penalized].max(initial=-1)) + 1

    def group_numbers(self, columns: np.ndarray) -> np.ndarray:
        """Return the numbers of the columns' groups; all unpenalized columns have the last one."""
        return (
            np.minimum(columns, self.n_penalized) if self.groups is None else self.groups[columns]
        )

    def column_ranks(self, columns: np.ndarray, importance: np.ndarray) -> np.ndarray:
        """Return the rank of each column's group, 0 for the most important one.

        The importance of a group is the sum of squares of its columns' importances; unpenalized
        columns come first, ties go to the lowest number.
        """
        group_numbers = self.group_numbers(columns)
        has_unpenalized = (
            self.n_unpenalized > 0
            and len(group_numbers) > 0
            and bool(group_numbers.max() == self.n_groups)
        )
        return group_ranks(group_numbers, importance, self.groups is not None, has_unpenalized)


def group_ranks(numbers, importance, is_grouped: bool, has_unpenalized: bool) -> np.ndarray:
    """Return the rank of each column's group, from the numbers of the groups.

    With `has_unpenalized`, the last group has the unpenalized columns and comes first.
    """
    groups, group_index = np.unique(numbers, return_inverse=True)
    total = np.bincount(group_index, importance**2 if is_grouped else importance)
    if has_unpenalized:
        total[-1] = np.inf
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[np.argsort(-total, kind="stable")] = np.arange(len(groups))
    return ranks[group_index]


class ColumnScaling(NamedTuple):
    """The retained columns and their scaling: z = (x - shift) * scale."""

    n_columns: int
    retained: np.ndarray
    scale: np.ndarray
    shift: np.ndarray


class ColumnStatistics(NamedTuple):
    """Scaling of the retained columns, their densities, the new index of each column (the number of
    retained ones where it is dropped), and the new indices of those with a shift.
    """

    scaling: ColumnScaling
    density: np.ndarray
    new_index: np.ndarray
    shifted: np.ndarray


class TargetUnits(NamedTuple):
    """Unit and center of the targets, one an output."""

    unit: np.ndarray
    center: np.ndarray

    def standardize(self, targets: np.ndarray) -> np.ndarray:
        """Return targets in standard units; those of classes, whose unit is 1, do not change."""
        if (self.unit == 1.0).all() and not self.center.any():
            return targets
        return (targets - self.center) / self.unit


class Sample(NamedTuple):
    """Rows of a fit: the table, the scaling of columns and targets, the folds (splits, rows), for
    each fold of the first split the columns that may predict it (None: all), and the number of
    distinct rows where these are too few to hold equal rows out together (else 0).
    """

    table: Table
    scaling: ColumnScaling
    units: TargetUnits
    folds: np.ndarray
    allowed_columns: np.ndarray | None = None
    n_distinct_if_too_few: int = 0

    def column_std(self) -> np.ndarray:
        """Standard deviation of each column in the units of X."""
        table, moments = self.table, np.zeros((2, len(self.table.density)))
        add_raw_moments(table.data, table.indices, table.indptr, table.weights, moments)
        total_weight = table.weights.sum() if len(table.weights) else float(table.n_rows)
        means, squares = moments / max(total_weight, 1e-300)
        return np.sqrt(np.maximum(squares - means**2, 0.0)) / self.scaling.scale


def make_sample(
    rows: Csr,
    targets,
    weights,
    outputs: int,
    options,
    centred: bool,
    fold_hashes=None,
    allowed_columns=None,
) -> Sample:
    """Return rows in standard units, in an order and in folds that depend on their content alone.

    `fold_hashes` sets the folds instead, where the columns were chosen in such folds;
    `allowed_columns` (folds, columns) are the columns that may predict each fold, None means all.
    """
    weights = EMPTY if (weights == 1.0).all() else weights
    units = class_units(outputs)
    if not options.is_classification:
        units = regression_units(targets, weights, centred)
    hashes = row_hashes(rows)
    order = content_order(hashes, targets, weights)
    group_labels = None if options.feature_groups is None else options.feature_groups.labels
    scale = weight_scale(weights, order)
    scaled, is_regression = scaled_weights(weights, order, scale), not options.is_classification
    statistics = measure_columns(
        rows, order.astype(np.uint64), scaled, centred, is_regression, group_labels
    )
    sample, *_ = make_standardized_sample(
        rows,
        targets,
        weights,
        outputs,
        options,
        units,
        statistics,
        hashes,
        order,
        scale,
        fold_hashes,
    )
    return (
        sample
        if allowed_columns is None
        else sample._replace(allowed_columns=allowed_columns[:, sample.scaling.retained])
    )


def make_standardized_sample(
    rows: Csr, targets, weights, outputs: int, options, units: TargetUnits,
    statistics: ColumnStatistics, hashes, order, scale: float, fold_hashes=None,
) -> tuple[Sample, np.ndarray, np.ndarray]:  # fmt: skip
    """Return the sample for known column statistics and target units, the order of its rows, and
    their hashes; `scale` makes the mean of all weights 1.
    """
    if fold_hashes is None:
        # Hashes of rows in standard units, so that the units of X do not influence the order.
        hashes[order] = _standard_hashes(rows, order, statistics)
        keys = _sort_keys(hashes, targets, weights, order)
        order = order[np.lexsort((np.arange(len(order)), *keys))]
    scaled, groups = scaled_weights(weights, order, scale), options.feature_groups
    table = fill_table(rows, units.standardize(targets), scaled, order, outputs, statistics)
    if groups is not None:
        table = with_groups(table, groups, statistics.scaling.retained)
    hashes, n_distinct = hashes[order], 0
    if fold_hashes is not None:
        folds = hash_folds(fold_hashes[order], options.n_folds)[None]
    else:
        n_distinct = count_distinct_if_few(hashes, options.n_folds)
        if n_distinct:
            folds = repeated_stratified_folds(hashes, targets[order], options.n_folds, N_SPLITS)
        else:
            folds = repeated_hash_folds(hashes, options.n_folds, N_SPLITS)
    return Sample(table, statistics.scaling, units, folds, None, n_distinct), order, hashes


# --------------------------------------------------------------------------- order and folds
def content_order(hashes, targets, weights) -> np.ndarray:
    """Return the rows of weight above 0 in an order that depends on their content alone."""
    present = np.flatnonzero(weights > 0.0) if len(weights) else np.arange(len(hashes))
    return present[np.lexsort(_sort_keys(hashes, targets, weights, present))]


def _sort_keys(hashes, targets, weights, rows) -> list[np.ndarray]:
    """Return the keys that sort the rows, the least important one first."""
    keys = [hashes, *targets.T[::-1]] if not len(weights) else [hashes, *targets.T[::-1], weights]
    return [key[rows] for key in keys[::-1]]


def _standard_hashes(rows: Csr, order, statistics: ColumnStatistics) -> np.ndarray:
    """Return a hash of the content of each row in `order`, in standard units."""
    (_, retained, scale, shift), _, new_index, shifted = statistics
    hashes = np.empty(len(order), dtype=np.uint64)
    order = order.astype(np.uint64)
    hash_standardized_rows(
        *rows[:3], order, new_index, retained.astype(np.uint64), scale, shift, shifted, hashes
    )
    return hashes


# --------------------------------------------------------------------------- standard units
def standardize_table(
    rows: Csr, targets, weights, order, outputs: int, centred: bool
) -> tuple[Table, ColumnScaling]:
    """Return the rows in standard units, and the scaling."""
    weights = scaled_weights(weights, order, weight_scale(weights, order))
    statistics = measure_columns(rows, order.astype(np.uint64), weights, centred)
    return fill_table(rows, targets, weights, order, outputs, statistics), statistics.scaling


def weight_scale(weights, order) -> float:
    """Return the factor that makes the mean weight of the rows in `order` 1."""
    return len(order) / weights[order].sum() if len(weights) else 1.0


def scaled_weights(weights, order, scale: float) -> np.ndarray:
    """Return the weights of the rows in `order`, times `scale`."""
    return weights[order] * scale if len(weights) else EMPTY


def fill_table(
    rows: Csr, targets, weights, order, outputs: int, statistics: ColumnStatistics
) -> Table:
    """Return the table of the rows in `order`; `weights` are in that order."""
    n_rows, order = len(order), order.astype(np.uint64)
    (_, retained, scale, shift), density, new_index, shifted = statistics
    capacity = len(rows.data) + n_rows * len(shifted)
    data, indices = np.empty(capacity), np.empty(capacity, dtype=np.uint32)
    indptr = np.empty(n_rows + 1, dtype=np.uint64)
    last_row = np.zeros(len(retained), dtype=np.uint64)
    standardize_rows(
        *rows[:3], order, new_index, scale, shift, shifted, last_row, data, indices, indptr
    )  # fmt: skip
    n_entries = int(indptr[-1])
    targets = np.ascontiguousarray(targets[order])
    return Table(data[:n_entries], indices[:n_entries], indptr, targets, weights, density, outputs)


def unpenalized_last(columns: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the columns with the unpenalized ones (their label is below 0) at the end."""
    return columns[np.argsort(labels[columns] < 0, kind="stable")]


def with_groups(table: Table, feature_groups, retained: np.ndarray) -> Table:
    """Return the table with the feature groups of its columns and the number of unpenalized
    columns.
    """
    labels = feature_groups.labels[retained]
    n_penalized = int(np.count_nonzero(labels >= 0))
    unique_labels, group_numbers = np.unique(labels[:n_penalized], return_inverse=True)
    group_numbers = np.append(group_numbers, np.full(len(labels) - n_penalized, len(unique_labels)))
    return table._replace(
        n_unpenalized=len(labels) - n_penalized,
        groups=group_numbers if feature_groups.has_groups else None,
    )


class ColumnSums:
    """Sums by column over the rows in `order`."""

    def __init__(self, rows: Csr, order: np.ndarray, weights: np.ndarray):
        self.rows, self.order, self.weights = rows, order, weights

    def totals(self) -> np.ndarray:
        """Return the weight of the entries other than 0, the sums of squares, and the largest
        absolute values.
        """
        counts, squares, max_abs = sums = np.zeros((3, self.rows.n_features))
        sum_columns(*self.rows[:3], self.order, self.weights, counts, squares, max_abs)
        return sums

    def majority_values(self, dense: np.ndarray) -> np.ndarray:
        """Return for the `dense` columns the only value that can be in more than half of the rows,
        its votes (Boyer and Moore), and the sum of the values.
        """
        majority, votes, value_sums = sums = np.zeros((3, len(dense)))
        index = self._dense_index(dense)
        majority_vote(*self.rows[:3], self.order, self.weights, index, majority, votes, value_sums)
        return sums

    def squares_about(
        self, dense: np.ndarray, majority: np.ndarray, means: np.ndarray
    ) -> np.ndarray:
        """Return for the `dense` columns the weight of the rows with the majority value, the sum of
        squares about the mean, and that about the majority value.
        """
        majority_weight, squares = np.zeros(len(dense)), np.zeros((len(dense), 2))
        index = self._dense_index(dense)
        sum_squares_about(
            *self.rows[:3], self.order, self.weights, index, majority, means, majority_weight,
            squares,
        )  # fmt: skip
        return np.stack([majority_weight, *squares.T])

    def _dense_index(self, dense: np.ndarray) -> np.ndarray:
        dense_index = np.full(self.rows.n_features, len(dense), dtype=np.uint32)
        dense_index[dense] = np.arange(len(dense), dtype=np.uint32)
        return dense_index


def measure_columns(
    rows: Csr, order, weights, centred: bool, is_regression: bool = False, labels=None
) -> ColumnStatistics:
    """Return the scaling of the columns of some rows."""
    sums = ColumnSums(rows, order, weights)
    return column_statistics(sums, len(order), rows.n_features, centred, is_regression, labels)


def column_statistics(
    sums, n_rows: int, n_columns: int, centred: bool, is_regression: bool = False, labels=None
) -> ColumnStatistics:
    """Return the scaling of the columns, which does not depend on their units; `sums` are over
    `n_rows` rows.

    A column with one value in more than half of the rows is shifted by that value and scaled by the
    root mean square of its other entries; any other column is standardised. If all entries are
    stored, the origin of a column does not matter either. In regression, columns of a few values
    that vary are left out: their range is unknown, and an extreme value would make the prediction
    extreme. Columns whose label is below 0 come last.
    """
    counts, squares, max_abs = sums.totals()
    is_retained = squares > 0.0
    if is_regression:
        is_measurable = (max_abs**2 * counts < 1.000001 * squares) & (counts > 2.0)
        is_measurable |= counts >= min(MIN_COLUMN_ENTRIES, 0.1 * n_rows)
        is_retained &= is_measurable if labels is None else is_measurable | (labels < 0)
    del max_abs
    scale, shift = np.sqrt(counts / np.where(is_retained, squares, 1.0)), np.zeros(n_columns)
    del squares
    dense = np.flatnonzero((counts >= 0.5 * n_rows) & is_retained)
    if centred and len(dense):
        shift[dense], density, units = _measure_dense(sums, n_rows, dense, counts[dense])
        is_retained[dense] = (units > 1e-9 * np.abs(shift[dense])) & (density > 1e-12)
        counts[dense] = n_rows * density
        scale[dense] = 1.0 / np.where(is_retained[dense], units, 1.0)
    retained = np.flatnonzero(is_retained)
    if labels is not None:
        retained = unpenalized_last(retained, labels)
    new_index = np.full(n_columns, len(retained), dtype=np.uint32)
    new_index[retained] = np.arange(len(retained), dtype=np.uint32)
    scaling = ColumnScaling(n_columns, retained, scale[retained], shift[retained])
    density = np.minimum(counts[retained] / n_rows, 1.0)
    shifted = np.flatnonzero(scaling.shift).astype(np.uint64)
    return ColumnStatistics(scaling, density, new_index, shifted)


def _measure_dense(sums, n_rows: int, dense, counts):
    """Return origin, fraction of the rows that differ from it, and unit of the dense columns."""
    majority, _, value_sums = sums.majority_values(dense)
    means = value_sums / n_rows
    majority_weight, *squares = sums.squares_about(dense, majority, means)
    has_majority, n_unstored = majority_weight > 0.5 * n_rows, np.maximum(n_rows - counts, 0.0)
    origin = np.where(has_majority, majority, means)
    sum_of_squares = np.where(has_majority, squares[1], squares[0]) + n_unstored * origin**2
    density = np.where(has_majority, np.maximum(n_rows - majority_weight, 0.0) / n_rows, 1.0)
    unit = np.sqrt(sum_of_squares / np.maximum(n_rows * density, 1e-300))
    return origin, density, unit


def to_original_units(
    scaling: ColumnScaling,
    units: TargetUnits,
    positions,
    weights,
    bias,
    calibration,
    column_std,
    frequency,
) -> dict[str, Any]:
    """Return the fields of a model in the units of X and y, from weights in standard units and the
    calibration of the held-out scores.

    `positions` are the numbers of its columns, with `column_std`; `frequency` is over all columns
    of the sample, and those where it is not 0 are `ever_selected`.
    """
    weights = weights * calibration[:, 0] * scaling.scale[positions, None] * units.unit
    bias = (bias * calibration[:, 0] + calibration[:, 1]) * units.unit + units.center
    ever_selected = np.flatnonzero(frequency)
    order, ever_selected_order = (
        np.argsort(scaling.retained[positions]),
        np.argsort(scaling.retained[ever_selected]),
    )
    return {
        "n_columns": scaling.n_columns,
        "columns": scaling.retained[positions][order],
        "weights": weights[order],
        "bias": bias - scaling.shift[positions] @ weights,
        "column_std": column_std[order],
        "ever_selected": scaling.retained[ever_selected][ever_selected_order],
        "selection_frequency": np.repeat(frequency[ever_selected, None], len(bias), axis=1)[
            ever_selected_order
        ],
    }


def class_units(outputs: int) -> TargetUnits:
    """Return the units of class targets: they do not change."""
    return TargetUnits(np.ones(outputs), np.zeros(outputs))


def regression_units(targets, weights, centred: bool) -> TargetUnits:
    """Return a robust unit and center of real targets, so that a strength means the same at any
    scale.

    The center is the median, the unit 1.4826 times the median absolute deviation; where that is 0,
    the mean absolute deviation.
    """
    present = targets[weights > 0.0] if len(weights) else targets
    center = np.median(present, axis=0)
    deviations = np.abs(present - center)
    unit = 1.4826 * np.median(deviations, axis=0)
    unit = np.where(unit > 0.0, unit, deviations.mean(axis=0))
    return TargetUnits(
        np.where(unit > 0.0, unit, 1.0), center if centred else np.zeros_like(center)
    )
