"""The sieve on rows that lie in partitions.

Paths learn as those of `fit` do, in other orders: rows are shuffled inside partitions, and every
pair of paths visits the partitions in another order. Column statistics are sums over all
partitions. Sizes, candidates, calibrations and errors come from held-out scores of all rows, or,
where there are more than `n_sample` rows, of the `n_sample` rows with the smallest sampling hashes
(the evaluation rows). Medians of numeric targets come from the same rows.

A level of the size path is a round: all paths go from partition to partition, their states are
pooled here, and then partitions score the rows that a group does not learn from. Functions that run
at partitions return new states and change none of their arguments; arrays that they get may be
read-only.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import is_classifier

from tamis.methods.sieve.cross_validation import CrossValidation, FoldFit
from tamis.methods.sieve.fit import fit_outputs
from tamis.methods.sieve.loop import (
    PassOrder,
    PassRows,
    StepSettings,
    average_states,
    run_multi_output_passes,
    run_single_output_passes,
    sum_column_squares,
    sum_row_norms,
)
from tamis.methods.sieve.paths import (
    FINAL_PASSES,
    FINAL_PENALTY_RATIO,
    MIN_SUM_OF_SQUARES,
    Candidate,
    Objective,
    PathGroup,
    PathPoint,
    select_entries,
)
from tamis.methods.sieve.result import SieveResult
from tamis.methods.sieve.settings import SieveOptions, make_objective, make_options
from tamis.methods.sieve.size_choice import ChosenSize
from tamis.methods.sieve.table.standard_units import (
    ColumnStatistics,
    ColumnSums,
    Sample,
    Table,
    TargetUnits,
    class_units,
    column_statistics,
    content_order,
    make_standardized_sample,
    regression_units,
    scaled_weights,
    with_groups,
)
from tamis.numerics.csr import EMPTY, Csr, decision_scores
from tamis.numerics.hashing import GOLDEN, mix64_array, row_hashes
from tamis.numerics.moments import add_raw_moments
from tamis.system.progress import report_progress

ALL_ROWS = (-1, -1)  # split and fold of a group that holds out no row
MAX_HASH = 2**64 - 1


class Partitions(Protocol):
    """Interface of the partitions of a cluster. A task runs where a partition lies."""

    counts: Any  # `columns`: rows with an entry in each column; `targets`: the values of y

    def __len__(self) -> int:
        """Number of the partitions, which are numbered from 0."""

    def prepared(self, step: Callable, *arguments: Any, held: bool) -> "Partitions":
        """Return the partitions ``step(data, *arguments)``."""

    def total(self, task: Callable, merge: Callable, *arguments: Any) -> Any:
        """Merge ``task(data, *arguments)`` of all partitions in a tree over their order."""

    def walk(
        self, states: list, routes: list[list[tuple[int, tuple]]], task: Callable, rows: list[int]
    ) -> list:
        """Return each state after ``task(state, data, number, *arguments)`` along its route."""


# --------------------------------------------------------------------------- rows of a partition
class HashedRows(NamedTuple):
    """Rows of a partition, a hash of the content of each, and their order by hash."""

    rows: Csr
    targets: np.ndarray
    weights: np.ndarray
    hashes: np.ndarray
    order: np.ndarray

    def sampling_hashes(self) -> np.ndarray:
        """Second hash of each row; the rows with the smallest ones are the evaluation rows."""
        return mix64_array(self.hashes * np.uint64(7))

    def column_sums(self, weight_scale: float) -> ColumnSums:
        """Sums by column over the rows."""
        weights, order = self.weights, self.order
        if not len(weights) and weight_scale != 1.0:
            weights = np.ones(self.rows.n_rows)
        scaled = scaled_weights(weights, order, weight_scale)
        return ColumnSums(self.rows, order.astype(np.uint64), scaled)


class StandardUnits(NamedTuple):
    """Scaling of columns, targets and weights that all partitions share.

    Rows with a sampling hash of at most `hash_limit` are evaluation rows; `weight_scale` makes the
    mean of all weights 1.
    """

    statistics: ColumnStatistics
    units: TargetUnits
    options: SieveOptions
    outputs: int
    hash_limit: int
    weight_scale: float


class StandardRows(NamedTuple):
    """A partition in standard units: its sample, the numbers of its evaluation rows, and a hash of
    the content of every row.
    """

    sample: Sample
    evaluation_rows: np.ndarray
    hashes: np.ndarray


class SmallestHashes(NamedTuple):
    """The smallest sampling hashes (at most `max_hashes`), and weight and number of all rows."""

    hashes: np.ndarray
    max_hashes: int
    total_weight: float
    n_rows: int


class EvaluationRows(NamedTuple):
    """Targets, weights, folds (rows, splits) and hashes of the evaluation rows; and the moments of
    the columns over all rows.
    """

    targets: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    hashes: np.ndarray
    moments: np.ndarray


def hash_partition(data: Any) -> HashedRows:
    """Return the rows of a partition with their hashes, ordered by content."""
    rows, targets, weights, *_ = data
    if (weights == 1.0).all():
        weights = EMPTY
    hashes = row_hashes(rows)
    return HashedRows(rows, targets, weights, hashes, content_order(hashes, targets, weights))


def smallest_hashes(data: HashedRows, max_hashes: int) -> SmallestHashes:
    """Return the smallest sampling hashes of a partition."""
    weight = float(data.rows.n_rows)
    weight = float(data.weights[data.order].sum()) if len(data.weights) else weight
    hashes = np.sort(data.sampling_hashes())[:max_hashes]
    return SmallestHashes(hashes, max_hashes, weight, data.rows.n_rows)


def merge_smallest_hashes(left: SmallestHashes, right: SmallestHashes) -> SmallestHashes:
    """Return the smallest hashes of both."""
    hashes = np.sort(np.concatenate([left.hashes, right.hashes]))[: left.max_hashes]
    weight, n_rows = left.total_weight + right.total_weight, left.n_rows + right.n_rows
    return SmallestHashes(hashes, left.max_hashes, weight, n_rows)


def evaluation_targets(data: HashedRows, hash_limit: int) -> np.ndarray:
    """Return the targets of the evaluation rows of a partition."""
    return data.targets[data.sampling_hashes() <= np.uint64(hash_limit)]


def concatenate_rows(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the rows of `left`, then those of `right`."""
    return np.concatenate((left, right))


def column_totals(data: HashedRows, weight_scale: float) -> np.ndarray:
    """Return entries, squares and largest absolute values of the columns of a partition."""
    return data.column_sums(weight_scale).totals()


def merge_totals(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return entries, squares and largest absolute values over both."""
    return np.stack([*(left[:2] + right[:2]), np.maximum(left[2], right[2])])


def column_majorities(data: HashedRows, weight_scale: float, dense: np.ndarray) -> np.ndarray:
    """Return majority values, their votes, and sums of the dense columns of a partition."""
    return data.column_sums(weight_scale).majority_values(dense)


def merge_majorities(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Merge two majority votes: votes for the same value add, votes for two values cancel.

    A value in more than half of all rows therefore wins (Boyer and Moore).
    """
    same, left_wins = left[0] == right[0], left[1] >= right[1]
    votes = np.where(same, left[1] + right[1], np.abs(left[1] - right[1]))
    return np.stack([np.where(same | left_wins, left[0], right[0]), votes, left[2] + right[2]])


def column_squares(data: HashedRows, weight_scale: float, *centers: np.ndarray) -> np.ndarray:
    """Return the rows with the majority value, and the squares, of a partition."""
    return data.column_sums(weight_scale).squares_about(*(center.copy() for center in centers))


def add(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the sum."""
    return left + right


def to_standard_units(data: HashedRows, shared: StandardUnits) -> StandardRows:
    """Return a partition in standard units."""
    rows, targets, weights, hashes, order = data
    shared = deepcopy(shared)  # compiled loops take writable arrays
    if shared.weight_scale != 1.0 and not len(weights):
        weights = np.ones(rows.n_rows)
    is_evaluated = data.sampling_hashes() <= np.uint64(shared.hash_limit)
    sample, order, hashes = make_standardized_sample(
        rows, targets, weights, shared.outputs, shared.options, shared.units, shared.statistics,
        hashes.copy(), order, scale=shared.weight_scale,
    )  # fmt: skip
    return StandardRows(sample, np.flatnonzero(is_evaluated[order]), hashes)


def evaluation_rows(data: StandardRows) -> EvaluationRows:
    """Return the evaluation rows of a partition without their entries, and the moments of all."""
    sample, rows, hashes = data
    table = sample.table
    moments = np.zeros((2, len(table.density)))
    add_raw_moments(table.data, table.indices, table.indptr, table.weights, moments)
    weights = table.weights[rows] if len(table.weights) else np.ones(len(rows))
    folds = sample.folds[:, rows].T
    return EvaluationRows(table.targets[rows], weights, folds, hashes[rows], moments)


def merge_evaluation_rows(left: EvaluationRows, right: EvaluationRows) -> EvaluationRows:
    """Return the rows of both, and the sum of their moments."""
    rows = [np.concatenate(pair) for pair in zip(left[:4], right[:4], strict=True)]
    return EvaluationRows(rows[0], rows[1], rows[2], rows[3], left.moments + right.moments)


class PartitionSums:
    """`ColumnSums` over all partitions. Results may be read-only, hence the copies."""

    def __init__(self, partitions: Partitions, weight_scale: float):
        self.partitions, self.weight_scale = partitions, weight_scale

    def totals(self) -> np.ndarray:
        """Return entries, squares and largest absolute values of the columns."""
        return self.partitions.total(column_totals, merge_totals, self.weight_scale).copy()

    def majority_values(self, dense: np.ndarray) -> np.ndarray:
        """Return majority values, their votes, and sums of the dense columns."""
        arguments = (self.weight_scale, dense)
        return self.partitions.total(column_majorities, merge_majorities, *arguments).copy()

    def squares_about(
        self, dense: np.ndarray, majority: np.ndarray, means: np.ndarray
    ) -> np.ndarray:
        """Return the rows with the majority value, squares about the mean, and squares about it."""
        arguments = (self.weight_scale, dense, majority, means)
        sums: np.ndarray = self.partitions.total(column_squares, add, *arguments)
        return sums.copy()


# --------------------------------------------------------------------------- paths at partitions
class Segment(NamedTuple):
    """Settings of one pass of a path over one partition.

    `fold` are the split and fold that the path does not learn from; `output` is the output that it
    learns, -1 for all; `key` and `backwards` set the order of the rows; `starts_pass` says whether
    a pass over all rows begins with this partition.
    """

    fold: tuple[int, int]
    output: int
    objective: Objective
    step_sizes: np.ndarray
    strengths: np.ndarray
    effective_passes: float
    n_unpenalized: int
    key: int
    backwards: bool
    starts_pass: bool


@dataclass
class PathState:
    """State of a path: its columns (None: all), the state of the columns and of the intercept (None
    before the first pass), and the steps of the present pass.
    """

    columns: np.ndarray | None = None
    state: np.ndarray | None = None
    bias: np.ndarray | None = None
    n_steps: int = 0


def run_partition(
    path: PathState, data: StandardRows, number: int, segment: Segment
) -> tuple[PathState, int]:
    """Return a path after a pass over a partition, and the number of rows that it learned from."""
    table, rows = data.sample.table, _training_rows(data.sample, segment.fold)
    outputs, n_steps = len(segment.step_sizes), 0 if segment.starts_pass else path.n_steps
    state, bias = _path_arrays(path, len(table.density), outputs)
    if segment.starts_pass and path.state is not None:
        state[:, 1 + outputs :] = bias[1 + outputs :] = 0.0
    if not len(rows):
        return path if path.state is None else PathState(path.columns, state, bias, n_steps), 0
    if segment.effective_passes == 0.0 and path.state is not None:
        # At the end of its first pass the loop turns sums of squares into step factors. The next
        # partition of the same pass needs the sums again.
        state[:, 0], bias[0] = state[:, 0] ** -2.0, bias[0] ** -2.0
    csr, before = _column_entries(table, path.columns), (state[:, 1:].copy(), bias[1:].copy())
    run_passes = run_single_output_passes if outputs == 1 else run_multi_output_passes
    first_unpenalized = np.uint64(len(state) - segment.n_unpenalized)
    key = (segment.key + (number << 40)) % 2**64
    objective = segment.objective
    settings = StepSettings(
        # Copies, because received arrays may be read-only and loops would be compiled again.
        segment.step_sizes.copy(), segment.strengths.copy(), objective.curvature,
        objective.intercept, segment.effective_passes, first_unpenalized,
    )  # fmt: skip
    run_passes(
        PassRows(
            csr[0], csr[1], csr[2], _output_targets(table, segment.output), table.weights, rows
        ),
        state, bias, objective.loss, settings,
        PassOrder(np.uint64(1), np.uint64(key), np.uint64(segment.backwards)),
    )  # fmt: skip
    # The loop counts its steps from 0: add the earlier steps of this pass to each weight change.
    for now, then in zip((state, bias), before, strict=True):
        change = now[..., 1 : 1 + outputs] - then[..., :outputs]
        now[..., 1 + outputs :] += then[..., outputs:] + float(n_steps) * change
    return PathState(path.columns, state, bias, n_steps + len(rows)), len(rows)


def _path_arrays(path: PathState, n_columns: int, outputs: int) -> tuple:
    """Return copies of the state of columns and intercept, or zeros before the first pass."""
    if path.state is None or path.bias is None:
        state, bias = np.zeros((n_columns, 1 + 2 * outputs)), np.zeros(1 + 2 * outputs)
        state[:, 0] = MIN_SUM_OF_SQUARES
        return state, bias
    return path.state.copy(), path.bias.copy()


def _training_rows(sample: Sample, fold: tuple[int, int]) -> np.ndarray:
    """Return the numbers of the rows that a group learns from."""
    if fold == ALL_ROWS:
        return np.arange(sample.table.n_rows, dtype=np.uint64)
    return np.flatnonzero(sample.folds[fold[0]] != fold[1]).astype(np.uint64)


def _column_entries(table: Table, columns: np.ndarray | None) -> tuple:
    """Return data, indices and indptr of some columns of a table, or of all."""
    csr = (table.data, table.indices, table.indptr)
    if columns is None or len(columns) == len(table.density):
        return csr
    return select_entries(csr, columns, len(table.density))


def _output_targets(table: Table, output: int) -> np.ndarray:
    """Return the targets of one output, or of all where `output` is -1."""
    if output < 0:
        return table.targets
    if table.targets.shape[1] > 1:
        return np.ascontiguousarray(table.targets[:, output : output + 1])
    return np.where(table.targets == output, 1.0, -1.0)


# --------------------------------------------------------------------------- statistics of a group
class GroupQuery(NamedTuple):
    """Request for scores and statistics of a group of paths.

    `columns` are those of the group (None: all); `weights` and `bias` score the held-out rows in
    `precision` (None: no scores); `next_columns` are the positions of the columns that the
    statistics are over (None: all); `with_squares` asks for the squares of these.
    """

    fold: tuple[int, int]
    columns: np.ndarray | None
    weights: np.ndarray | None = None
    bias: np.ndarray | None = None
    precision: str = "f4"
    next_columns: np.ndarray | None = None
    with_squares: bool = False


class GroupStatistics(NamedTuple):
    """Scores and statistics of a group over the rows of some partitions.

    `scores` are those of the held-out evaluation rows, 0 for other evaluation rows. The others are
    over training rows: the sum of squared norms and the weight of the rows that have an entry, the
    weight and the number of all rows, and the squares of the columns.
    """

    scores: np.ndarray
    squared_norms: float
    filled_weight: float
    total_weight: float
    n_rows: int
    squares: np.ndarray


def measure_groups(data: StandardRows, queries: list[GroupQuery]) -> list[GroupStatistics]:
    """Return the statistics of each group over a partition."""
    return [_measure_group(data, query) for query in queries]


def _measure_group(data: StandardRows, query: GroupQuery) -> GroupStatistics:
    table, rows = data.sample.table, _training_rows(data.sample, query.fold)
    csr, scores = _column_entries(table, query.columns), np.zeros((len(data.evaluation_rows), 0))
    if query.weights is not None and query.bias is not None:
        is_held_out = np.ones(table.n_rows, dtype=bool)
        is_held_out[rows.astype(np.int64)] = False
        all_scores = np.zeros((table.n_rows, len(query.bias)), query.precision)
        held_out = np.flatnonzero(is_held_out).astype(np.uint64)
        decision_scores(*csr, held_out, query.weights.copy(), query.bias.copy(), all_scores)
        scores = all_scores[data.evaluation_rows]
    n_columns = len(table.density) if query.columns is None else len(query.columns)
    if query.next_columns is not None:
        csr = select_entries(csr, query.next_columns, n_columns)
        n_columns = len(query.next_columns)
    squared_norms, filled_weight = sum_row_norms(csr[0], csr[2], table.weights, rows)
    total_weight = table.weights[rows].sum() if len(table.weights) else float(len(rows))
    squares = np.zeros(n_columns if query.with_squares else 0)
    if query.with_squares:
        sum_column_squares(*csr, table.weights, rows, squares)
    return GroupStatistics(scores, squared_norms, filled_weight, total_weight, len(rows), squares)


def merge_group_statistics(
    left: list[GroupStatistics], right: list[GroupStatistics]
) -> list[GroupStatistics]:
    """Concatenate the scores of each group, and add up the rest."""
    return [
        GroupStatistics(
            np.concatenate([first.scores, second.scores]),
            first.squared_norms + second.squared_norms,
            first.filled_weight + second.filled_weight,
            first.total_weight + second.total_weight,
            first.n_rows + second.n_rows,
            first.squares + second.squares,
        )
        for first, second in zip(left, right, strict=True)
    ]


# --------------------------------------------------------------------------- groups of paths
class PartitionGroup(PathGroup):
    """A group of paths whose rows lie in partitions.

    `fold` are the split and fold that it does not learn from; `number` distinguishes the groups.
    """

    def __init__(
        self, table: Table, objective: Objective, candidate: Candidate, keys, fold, number: int
    ):
        self.table, self.objective, self.candidate, self.keys = table, objective, candidate, keys
        self.fold, self.number, self.n_unpenalized = fold, number, table.n_unpenalized
        self.columns = np.arange(len(table.density))
        self.paths = [PathState() for _ in keys]
        self.passes, self.effective_passes, self.n_rows = 0, 0.0, 0

    def initialize_paths(self, statistics: GroupStatistics) -> None:
        """Start every path at the pooled weights, with step factors from the squares of all
        rows.
        """
        outputs, squares = self.table.outputs, statistics.squares
        state = np.zeros((len(self.columns), 1 + 2 * outputs))
        bias = np.zeros(1 + 2 * outputs)
        state[:, 0] = 1.0 / np.sqrt(np.where(squares > 0.0, squares, np.inf))
        bias[0] = 1.0 / np.sqrt(statistics.total_weight)
        state[:, 1 : 1 + outputs], bias[1 : 1 + outputs] = self.weights, self.bias
        self.paths = [PathState(self._column_subset(), state, bias) for _ in self.keys]

    def keep_first_paths(self, n_paths: int) -> None:
        """Go on with the first paths alone."""
        self.keys, self.paths = self.keys[:n_paths], self.paths[:n_paths]

    def query(self, with_scores: bool = False, **fields: Any) -> GroupQuery:
        """Return the request for statistics of this group, with scores of held-out rows if wanted
        and if it has any.
        """
        if with_scores and self.fold != ALL_ROWS:
            fields |= {"weights": self.weights, "bias": self.bias}
        return GroupQuery(self.fold, self._column_subset(), **fields)

    def _column_subset(self) -> np.ndarray | None:
        return None if len(self.columns) == len(self.table.density) else self.columns

    def set_steps_from(self, statistics: GroupStatistics, penalty_ratio: float = 1.0) -> None:
        """Set step size and strength for the present columns."""
        self.n_rows, norms = statistics.n_rows, statistics.squared_norms
        self.set_steps(norms, statistics.filled_weight, statistics.n_rows, penalty_ratio)

    def route(self, path: int, passes: int, partitions: int, output: int) -> list:
        """Return partitions and segments of the next passes of a path.

        Every other path goes backwards, and each pair of paths visits the partitions in another
        order in each pass.
        """
        route = []
        for pass_number in range(passes):
            first = self.number * ((len(self.keys) + 1) // 2) + path // 2 + self.passes
            first += pass_number
            order = [(first + r) % partitions for r in range(partitions)]
            key = int(self.keys[path - path % 2]) + (self.passes << 20) + pass_number * int(GOLDEN)
            for r, partition in enumerate(order[::-1] if path % 2 else order):
                segment = Segment(
                    self.fold, output, self.objective, self.step_sizes, self.strengths,
                    self.effective_passes + pass_number, self.n_unpenalized, key % 2**64,
                    path % 2 == 1, r == 0,
                )  # fmt: skip
                route.append((partition, (segment,)))
        return route

    def pool(self) -> None:
        """Average the mean iterates of the last pass over the paths, in their order."""
        outputs = self.table.outputs
        states = np.stack([path.state for path in self.paths if path.state is not None])
        biases = np.stack([path.bias for path in self.paths if path.bias is not None])[:, None]
        self.weights, bias = np.empty((len(self.columns), outputs)), np.empty((1, outputs))
        average_states(states, float(max(self.n_rows, 1)), self.weights)
        average_states(biases, float(max(self.n_rows, 1)), bias)
        self.bias = bias[0]

    def restrict_columns(self, positions: np.ndarray) -> None:
        """Keep the columns at some positions."""
        if len(positions) == len(self.columns):
            return
        self.columns = self.columns[positions]
        self.paths = [
            PathState(
                self.columns, None if path.state is None else path.state[positions], path.bias
            )
            for path in self.paths
        ]


class PartitionTrainer:
    """Trains groups of paths on rows that lie in partitions, all groups at the same time.

    `evaluation_order` sorts the evaluation rows of all partitions as in the sample; `output` is the
    output to learn, -1 for all.
    """

    def __init__(
        self, partitions: Partitions, sample: Sample, objective: Objective, evaluation_order,
        column_std: np.ndarray, output: int,
    ):  # fmt: skip
        self.partitions, self.table, self.objective = partitions, sample.table, objective
        self.evaluation_order, self.output = evaluation_order, output
        self._column_std = column_std

    def column_std(self) -> np.ndarray:
        """Standard deviation of each column over all rows, in the units of X."""
        return self._column_std

    def cross_validate(self, validations: list[CrossValidation], sizes: np.ndarray) -> None:
        """Take all fold fits down the size path, level by level."""
        fits = [
            (validation, number)
            for validation in validations
            for number in range(len(validation.fits))
        ]
        groups = [
            self._fold_group(validation, validation.fits[number], index)
            for index, (validation, number) in enumerate(fits)
        ]

        def observe(index: int, level: int, scores: np.ndarray) -> None:
            validation, number = fits[index]
            split = validation.fits[number].split
            validation.scores[split, level] += scores[self.evaluation_order]
            validation.record(number, groups[index], level)

        if groups:
            self._descend(groups, sizes, observe)

    def _fold_group(self, validation: CrossValidation, fit: FoldFit, number: int) -> PartitionGroup:
        fold, candidate = (fit.split, fit.fold), validation.candidate
        return PartitionGroup(self.table, self.objective, candidate, fit.keys, fold, number)

    def make_group(self, candidate: Candidate, keys: np.ndarray) -> PartitionGroup:
        """Return paths over all rows, one for each random key, before their first pass."""
        return PartitionGroup(self.table, self.objective, candidate, keys, ALL_ROWS, 0)

    def descend(
        self, group: PartitionGroup, sizes: np.ndarray, observe: Callable, first: int = 0
    ) -> None:
        """Take a group down the size path."""
        self._descend([group], sizes, lambda index, level, scores: observe(group, level), first)

    def finalize(
        self, candidate: Candidate, point: PathPoint, size: int, keys: np.ndarray
    ) -> PartitionGroup:
        """Return paths over all rows after their final phase."""
        group = self.make_group(candidate, keys)
        group.load_point(point, size)
        self._finalize([group])
        return group

    def finalize_folds(
        self, validation: CrossValidation, chosen_size: ChosenSize, scores: np.ndarray
    ) -> np.ndarray:
        """Run the final phase of all fold fits, and return how many select each column.

        Their held-out scores are added to `scores`.
        """
        groups = [
            self._fold_group(validation, fit, number) for number, fit in enumerate(validation.fits)
        ]
        for group, fit in zip(groups, validation.fits, strict=True):
            group.load_point(fit.points[chosen_size.level], chosen_size.size)
        counts = np.zeros(len(self.table.density))
        statistics = self._finalize(groups)
        for group, fit, fold_statistics in zip(groups, validation.fits, statistics, strict=True):
            scores[fit.split] += fold_statistics.scores[self.evaluation_order]
            counts[group.columns] += 1.0
        return counts

    # ------------------------------------------------------------------ rounds
    def _statistics(self, queries: list[GroupQuery]) -> list[GroupStatistics]:
        """Return the statistics of groups over all partitions."""
        return self.partitions.total(measure_groups, merge_group_statistics, queries)

    def _run_passes(self, groups: list[PartitionGroup], passes: list[int]) -> None:
        """Run the given number of passes of all paths of each group, and pool the paths."""
        states, routes, rows = [], [], []
        for group, n_passes in zip(groups, passes, strict=True):
            for path, state in enumerate(group.paths):
                states.append(state)
                routes.append(group.route(path, n_passes, len(self.partitions), self.output))
                rows.append(group.n_rows * n_passes)
        new_states = iter(self.partitions.walk(states, routes, run_partition, rows))
        for group, n_passes in zip(groups, passes, strict=True):
            group.paths = [next(new_states) for _ in group.paths]
            group.passes += n_passes
            group.effective_passes += n_passes
            group.pool()

    def _descend(
        self, groups: list[PartitionGroup], sizes: np.ndarray, observe: Callable, first: int = 0
    ) -> None:
        """Take groups down the size path, from level `first` on.

        ``observe(index, level, scores)`` is called for each group after its paths are pooled and
        its held-out rows scored.
        """
        if first:
            for group in groups:
                group.eliminate(int(sizes[first]))
        statistics = self._statistics([group.query() for group in groups])
        for group, group_statistics in zip(groups, statistics, strict=True):
            group.set_steps_from(group_statistics)
        for level in range(first, len(sizes)):
            report_progress(f"{int(sizes[level]):,} features on the size path")
            candidates = [group.candidate for group in groups]
            self._run_passes(groups, [c.passes if level else c.first_passes for c in candidates])
            is_last = level + 1 == len(sizes)
            next_columns = [
                None if is_last else group.most_important(int(sizes[level + 1])) for group in groups
            ]
            queries = [
                group.query(with_scores=True, next_columns=columns)
                for group, columns in zip(groups, next_columns, strict=True)
            ]
            for index, group_statistics in enumerate(self._statistics(queries)):
                observe(index, level, group_statistics.scores)
                group, columns = groups[index], next_columns[index]
                if columns is not None:
                    group.weights = group.weights[columns]
                    group.restrict_columns(columns)
                    group.set_steps_from(group_statistics)

    def _finalize(self, groups: list[PartitionGroup]) -> list[GroupStatistics]:
        """Run the final phase of groups from their points, and return the statistics after it."""
        statistics = self._statistics([group.query(with_squares=True) for group in groups])
        for group, group_statistics in zip(groups, statistics, strict=True):
            group.initialize_paths(group_statistics)
            group.set_steps_from(group_statistics, FINAL_PENALTY_RATIO)
        self._run_passes(groups, [FINAL_PASSES] * len(groups))
        return self._statistics([g.query(with_scores=True, precision="f8") for g in groups])


# --------------------------------------------------------------------------- the fit
def fit_partitions(model, partitions: Partitions) -> SieveResult:
    """Fit a sieve to all partitions, and return it in the units of X and y."""
    counts, objective = partitions.counts, make_objective(model)
    outputs, n_columns = counts.targets.outputs, len(counts.columns)
    options = make_options(model, n_columns, is_classifier(model))
    hashed = partitions.prepared(hash_partition, held=True)
    smallest = hashed.total(smallest_hashes, merge_smallest_hashes, model.n_sample)
    hash_limit = int(smallest.hashes[-1]) if smallest.n_rows > model.n_sample else MAX_HASH
    weight_scale = smallest.n_rows / smallest.total_weight
    units = class_units(outputs)
    if not options.is_classification:
        targets = hashed.total(evaluation_targets, concatenate_rows, hash_limit)
        units = regression_units(targets, EMPTY, model.fit_intercept)
    groups = options.feature_groups
    statistics = column_statistics(
        PartitionSums(hashed, weight_scale), smallest.n_rows, n_columns, model.fit_intercept,
        not options.is_classification, None if groups is None else groups.labels,
    )  # fmt: skip
    shared = StandardUnits(statistics, units, options, outputs, hash_limit, weight_scale)
    standard = hashed.prepared(to_standard_units, shared, held=True)

    # The evaluation rows, without their entries.
    evaluation: EvaluationRows = standard.total(evaluation_rows, merge_evaluation_rows)
    order = np.lexsort((np.arange(len(evaluation.hashes)), evaluation.hashes))
    weights, empty = evaluation.weights[order], np.zeros(0)
    table = Table(
        empty, empty.astype(np.uint32), np.zeros(len(order) + 1, np.uint64),
        np.ascontiguousarray(evaluation.targets[order]),
        EMPTY if (weights == 1.0).all() else weights, statistics.density, outputs,
    )  # fmt: skip
    if groups is not None:
        table = with_groups(table, groups, statistics.scaling.retained)
    folds = np.ascontiguousarray(evaluation.folds[order].T)
    sample = Sample(table, statistics.scaling, units, folds)
    means, squares = evaluation.moments / smallest.n_rows
    column_std = np.sqrt(np.maximum(squares - means**2, 0.0)) / statistics.scaling.scale

    def make_trainer(output_sample: Sample, output: int) -> PartitionTrainer:
        return PartitionTrainer(standard, output_sample, objective, order, column_std, output)

    return fit_outputs(sample, objective, options, make_trainer)
