"""The sieve on rows that lie in partitions.

Paths walk as those of `fit` do, in other orders: rows are shuffled inside of partitions, which
every pair of paths visits in another order. Columns are measured by sums over all partitions. What
is judged (sizes, candidates, calibrations, errors) are the held-out scores of all rows, or, of more
than `n_sample` rows, of so many with the smallest words for their content; medians of numbers are
of the same.

A level of the size path is a round: all paths walk it, each from partition to partition, and are
pooled here; then partitions score the rows that a group never learnt from. Functions that run at
partitions go from state to state: nothing given is changed, and arrays that are brought may be
read-only.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import is_classifier

from tamis.methods.sieve.cross_validation import CrossValidation
from tamis.methods.sieve.fit import fit_outputs
from tamis.methods.sieve.loop import (
    PassOrder,
    PassRows,
    StepSettings,
    pool_states,
    sum_norms,
    sum_squares,
    walk_many,
    walk_one,
)
from tamis.methods.sieve.paths import (
    FINAL_PASSES,
    FINAL_PENALTY_RATIO,
    TINY,
    Candidate,
    PathGroup,
    PathPoint,
    Task,
    kept_entries,
)
from tamis.methods.sieve.result import Result
from tamis.methods.sieve.settings import Options, options_of, task_of
from tamis.methods.sieve.size_choice import ChosenSize
from tamis.methods.sieve.table.columns import (
    Measured,
    Passes,
    Sample,
    Table,
    Units,
    arranged,
    class_units,
    marked,
    measured_by,
    number_units,
    scaled_weights,
    settled_order,
)
from tamis.numerics.csr import NOTHING, Csr, decide
from tamis.numerics.hashing import GOLDEN, mix64_array, row_hashes
from tamis.numerics.moments import add_raw_moments
from tamis.system.progress import tell

ALL_ROWS = (-1, -1)  # split and fold of a group that holds out no row
LAST = 2**64 - 1


class Partitions(Protocol):
    """What a sieve asks of those who hold the partitions. A task runs where a partition lies."""

    counts: Any  # `columns`: rows with an entry in each column; `targets`: the values of y

    def __len__(self) -> int:
        """Number of the partitions, which have numbers from 0 on here."""

    def prepared(self, step: Callable, *arguments: Any, held: bool) -> "Partitions":
        """What ``step(data, *arguments)`` makes of each."""

    def total(self, task: Callable, merge: Callable, *arguments: Any) -> Any:
        """What ``task(data, *arguments)`` says of each, merged in a tree over their order."""

    def walk(
        self, states: list, routes: list[list[tuple[int, tuple]]], task: Callable, rows: list[int]
    ) -> list:
        """Each state after ``task(state, data, number, *arguments)`` along its route."""


# --------------------------------------------------------------------------- rows of a partition
class HashedRows(NamedTuple):
    """Rows of a partition with words for their content, and their order by these."""

    rows: Csr
    targets: np.ndarray
    weights: np.ndarray
    words: np.ndarray
    order: np.ndarray

    def judging_words(self) -> np.ndarray:
        """Another word for each row: those with the smallest ones are judged."""
        return mix64_array(self.words * np.uint64(7))

    def passes(self, scale: float) -> Passes:
        """Sums over the rows."""
        weights = self.weights
        if not len(weights) and scale != 1.0:
            weights = np.ones(self.rows.n_rows)
        order = self.order
        return Passes(self.rows, order.astype(np.uint64), scaled_weights(weights, order, scale))


class StandardUnits(NamedTuple):
    """How rows are brought to standard units: what all partitions agree on. Rows whose word is at
    most `limit` are judged; `scale` makes the mean of all weights 1.
    """

    measured: Measured
    units: Units
    options: Options
    outputs: int
    limit: int
    scale: float


class StandardRows(NamedTuple):
    """A partition in standard units: its sample, the numbers of the rows that are judged, and words
    for the content of all.
    """

    sample: Sample
    judged: np.ndarray
    words: np.ndarray


class SmallestWords(NamedTuple):
    """The smallest words of rows (at most so many), and weight and number of all rows."""

    words: np.ndarray
    most: int
    weight: float
    rows: int


class JudgedRows(NamedTuple):
    """Rows that are judged: targets and weights, folds (rows, deals), words of their content; and
    sums over all rows: moments of the columns.
    """

    targets: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    words: np.ndarray
    moments: np.ndarray


def hash_partition(data: Any) -> HashedRows:
    """Order the rows of a partition by their content."""
    rows, targets, weights, *_ = data
    if (weights == 1.0).all():
        weights = NOTHING
    words = row_hashes(rows)
    return HashedRows(rows, targets, weights, words, settled_order(words, targets, weights))


def smallest_words(data: HashedRows, most: int) -> SmallestWords:
    """The smallest words of a partition."""
    weight = float(data.rows.n_rows)
    weight = float(data.weights[data.order].sum()) if len(data.weights) else weight
    return SmallestWords(np.sort(data.judging_words())[:most], most, weight, data.rows.n_rows)


def merge_words(left: SmallestWords, right: SmallestWords) -> SmallestWords:
    """The smallest words of both."""
    words = np.sort(np.concatenate([left.words, right.words]))[: left.most]
    return SmallestWords(words, left.most, left.weight + right.weight, left.rows + right.rows)


def judged_targets(data: HashedRows, limit: int) -> np.ndarray:
    """Targets of the rows that are judged."""
    return data.targets[data.judging_words() <= np.uint64(limit)]


def join_rows(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Rows one after the other."""
    return np.concatenate((left, right))


def column_sums(data: HashedRows, scale: float) -> np.ndarray:
    """Entries, squares and largest sizes of a partition."""
    return data.passes(scale).columns()


def merge_sums(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Those of both."""
    return np.stack([*(left[:2] + right[:2]), np.maximum(left[2], right[2])])


def column_leaders(data: HashedRows, scale: float, full: np.ndarray) -> np.ndarray:
    """Leading values, their lead, and sums of a partition."""
    return data.passes(scale).leaders(full)


def merge_leaders(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A value in more than half of all rows leads here too: leads add, or cancel each other."""
    same, first = left[0] == right[0], left[1] >= right[1]
    lead = np.where(same, left[1] + right[1], np.abs(left[1] - right[1]))
    return np.stack([np.where(same | first, left[0], right[0]), lead, left[2] + right[2]])


def column_squares(data: HashedRows, scale: float, *about: np.ndarray) -> np.ndarray:
    """Rows with the leading value, and squares, of a partition."""
    return data.passes(scale).about(*(one.copy() for one in about))


def add(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A sum."""
    return left + right


def to_standard_units(data: HashedRows, shared: StandardUnits) -> StandardRows:
    """A partition in standard units."""
    rows, targets, weights, words, order = data
    shared = deepcopy(shared)  # loops take arrays that may be written to
    if shared.scale != 1.0 and not len(weights):
        weights = np.ones(rows.n_rows)
    is_judged = data.judging_words() <= np.uint64(shared.limit)
    sample, order, words = arranged(
        rows, targets, weights, shared.outputs, shared.options, shared.units, shared.measured,
        words.copy(), order, scale=shared.scale,
    )  # fmt: skip
    return StandardRows(sample, np.flatnonzero(is_judged[order]), words)


def judged_rows(data: StandardRows) -> JudgedRows:
    """What is known of the rows that are judged, and the moments of all."""
    sample, at, words = data
    table = sample.table
    moments = np.zeros((2, len(table.density)))
    add_raw_moments(table.data, table.indices, table.indptr, table.weights, moments)
    weights = table.weights[at] if len(table.weights) else np.ones(len(at))
    return JudgedRows(table.targets[at], weights, sample.folds[:, at].T, words[at], moments)


def merge_judged(left: JudgedRows, right: JudgedRows) -> JudgedRows:
    """Rows one after the other, sums added."""
    rows = [np.concatenate(pair) for pair in zip(left[:4], right[:4], strict=True)]
    return JudgedRows(rows[0], rows[1], rows[2], rows[3], left.moments + right.moments)


class PartitionSums:
    """`Passes` over all partitions; what is brought may be read-only, and is copied."""

    def __init__(self, partitions: Partitions, scale: float):
        self.partitions, self.scale = partitions, scale

    def columns(self) -> np.ndarray:
        """Entries, squares, largest sizes."""
        return self.partitions.total(column_sums, merge_sums, self.scale).copy()

    def leaders(self, full: np.ndarray) -> np.ndarray:
        """Leading values, their lead, sums."""
        return self.partitions.total(column_leaders, merge_leaders, self.scale, full).copy()

    def about(self, full: np.ndarray, leader: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Rows with the leading value, squares about the mean and about it."""
        about = (self.scale, full, leader, means)
        found: np.ndarray = self.partitions.total(column_squares, add, *about)
        return found.copy()


# --------------------------------------------------------------------------- walks
class Segment(NamedTuple):
    """A path's pass over a partition: split and fold that it never sees; the output, where each is
    learnt apart (else -1); what it minimises, and how; the key of its orders; whether these are
    gone backwards; and whether the pass begins here.
    """

    fold: tuple[int, int]
    output: int
    task: Task
    rates: np.ndarray
    strengths: np.ndarray
    age: float
    always: int
    key: int
    backwards: bool
    begins: bool


@dataclass
class PathState:
    """A path: its columns (None: all), the state of these and of the intercept (None: it has not
    begun), and the steps of this pass.
    """

    columns: np.ndarray | None = None
    state: np.ndarray | None = None
    bias: np.ndarray | None = None
    steps: int = 0


def walk_partition(
    path: PathState, data: StandardRows, number: int, segment: Segment
) -> tuple[PathState, int]:
    """A path after a partition, and the number of rows that it has learnt there."""
    table, rows = data.sample.table, _rows_seen(data.sample, segment.fold)
    outputs, steps = len(segment.rates), 0 if segment.begins else path.steps
    state, bias = _path_arrays(path, len(table.density), outputs, segment.age == 0.0)
    if segment.begins and path.state is not None:
        state[:, 1 + outputs :] = bias[1 + outputs :] = 0.0
    if not len(rows):
        return path if path.state is None else PathState(path.columns, state, bias, steps), 0
    opening = segment.age == 0.0 and path.state is not None
    if opening:
        # In the first of all passes the loop leaves step factors behind where the next partition
        # goes on with sums of squares.
        state[:, 0], bias[0] = state[:, 0] ** -2.0, bias[0] ** -2.0
    csr, before = _entries(table, path.columns), (state[:, 1:].copy(), bias[1:].copy())
    walk = walk_one if outputs == 1 else walk_many
    free, key = np.uint64(len(state) - segment.always), (segment.key + (number << 40)) % 2**64
    # Copies: what is brought may not be written to, and loops would be compiled for that.
    rates, strengths, task = segment.rates.copy(), segment.strengths.copy(), segment.task
    walk(
        PassRows(csr[0], csr[1], csr[2], _targets(table, segment.output), table.weights, rows),
        state, bias, task.loss,
        StepSettings(rates, strengths, task.curvature, task.intercept, segment.age, free),
        PassOrder(np.uint64(1), np.uint64(key), np.uint64(segment.backwards)),
    )  # fmt: skip
    # The loop counts its steps from 0: those before it are added to each of its moves.
    for now, was in zip((state, bias), before, strict=True):
        moved = now[..., 1 : 1 + outputs] - was[..., :outputs]
        now[..., 1 + outputs :] += was[..., outputs:] + float(steps) * moved
    return PathState(path.columns, state, bias, steps + len(rows)), len(rows)


def _path_arrays(path: PathState, columns: int, outputs: int, opening: bool) -> tuple:
    """State and intercept to go on from."""
    if path.state is None or path.bias is None:
        state, bias = np.zeros((columns, 1 + 2 * outputs)), np.zeros(1 + 2 * outputs)
        state[:, 0] = TINY
        return state, bias
    return path.state.copy(), path.bias.copy()


def _rows_seen(sample: Sample, fold: tuple[int, int]) -> np.ndarray:
    """Numbers of the rows that a group learns from."""
    if fold == ALL_ROWS:
        return np.arange(sample.table.n_rows, dtype=np.uint64)
    return np.flatnonzero(sample.folds[fold[0]] != fold[1]).astype(np.uint64)


def _entries(table: Table, columns: np.ndarray | None) -> tuple:
    csr = (table.data, table.indices, table.indptr)
    if columns is None or len(columns) == len(table.density):
        return csr
    return kept_entries(csr, columns, len(table.density))


def _targets(table: Table, output: int) -> np.ndarray:
    """Targets of all outputs, or of one."""
    if output < 0:
        return table.targets
    if table.targets.shape[1] > 1:
        return np.ascontiguousarray(table.targets[:, output : output + 1])
    return np.where(table.targets == output, 1.0, -1.0)


# --------------------------------------------------------------------------- what partitions say
class Query(NamedTuple):
    """Where a group stands: its columns (None: all), and weights and intercepts to be judged by
    (None: not yet), in which precision; the positions of the columns that stay next (None: all),
    and whether their squares are wanted.
    """

    fold: tuple[int, int]
    columns: np.ndarray | None
    weights: np.ndarray | None = None
    bias: np.ndarray | None = None
    precision: str = "f4"
    stay: np.ndarray | None = None
    squares: bool = False


class Observation(NamedTuple):
    """What a partition says of a group: scores of its judged rows that the group never saw (0 for
    others), sum of squared norms and weight of the other rows that hold anything, all of their
    weight, how many they are, and the squares of the columns that stay.
    """

    scores: np.ndarray
    norms: float
    filled_weight: float
    weight: float
    rows: int
    squares: np.ndarray


def observe(data: StandardRows, queries: list[Query]) -> list[Observation]:
    """What a partition says of where groups stand."""
    return [_observe(data, query) for query in queries]


def _observe(data: StandardRows, query: Query) -> Observation:
    table, rows = data.sample.table, _rows_seen(data.sample, query.fold)
    csr, scores = _entries(table, query.columns), np.zeros((len(data.judged), 0))
    if query.weights is not None and query.bias is not None:
        is_held_out = np.ones(table.n_rows, dtype=bool)
        is_held_out[rows.astype(np.int64)] = False
        all_scores = np.zeros((table.n_rows, len(query.bias)), query.precision)
        held_out = np.flatnonzero(is_held_out).astype(np.uint64)
        decide(*csr, held_out, query.weights.copy(), query.bias.copy(), all_scores)
        scores = all_scores[data.judged]
    width = len(table.density) if query.columns is None else len(query.columns)
    if query.stay is not None:
        csr = kept_entries(csr, query.stay, width)
        width = len(query.stay)
    norms, filled_weight = sum_norms(csr[0], csr[2], table.weights, rows)
    weight = table.weights[rows].sum() if len(table.weights) else float(len(rows))
    squares = np.zeros(width if query.squares else 0)
    if query.squares:
        sum_squares(*csr, table.weights, rows, squares)
    return Observation(scores, norms, filled_weight, weight, len(rows), squares)


def merge_observations(left: list[Observation], right: list[Observation]) -> list[Observation]:
    """Scores one after the other, sums added."""
    return [
        Observation(
            np.concatenate([one.scores, other.scores]),
            one.norms + other.norms,
            one.filled_weight + other.filled_weight,
            one.weight + other.weight,
            one.rows + other.rows,
            one.squares + other.squares,
        )
        for one, other in zip(left, right, strict=True)
    ]


# --------------------------------------------------------------------------- groups of paths
class PartitionGroup(PathGroup):
    """A group of paths whose rows and states lie apart: what is known of it here. `fold` are the
    split and fold that it never sees, `number` tells it from others.
    """

    def __init__(self, table: Table, task: Task, candidate: Candidate, keys, fold, number: int):
        self.table, self.task, self.candidate, self.keys = table, task, candidate, keys
        self.fold, self.number, self.always = fold, number, table.always
        self.columns = np.arange(len(table.density))
        self.paths = [PathState() for _ in keys]
        self.passes, self.age, self.n_rows = 0, 0.0, 0

    def start(self, observation: Observation) -> None:
        """Begin the paths of a point, with step factors by the squares of all rows."""
        outputs = self.table.outputs
        state = np.zeros((len(self.columns), 1 + 2 * outputs))
        bias = np.zeros(1 + 2 * outputs)
        squares = observation.squares
        state[:, 0] = 1.0 / np.sqrt(np.where(squares > 0.0, squares, np.inf))
        bias[0] = 1.0 / np.sqrt(observation.weight)
        state[:, 1 : 1 + outputs], bias[1 : 1 + outputs] = self.weights, self.bias
        self.paths = [PathState(self._own_columns(), state, bias) for _ in self.keys]

    def thin(self, paths: int) -> None:
        """Go on with the first few paths."""
        self.keys, self.paths = self.keys[:paths], self.paths[:paths]

    def query(self, judged: bool = False, **more: Any) -> Query:
        """What partitions are asked of it; `judged`: to score held-out rows, if there are any."""
        if judged and self.fold != ALL_ROWS:
            more |= {"weights": self.weights, "bias": self.bias}
        return Query(self.fold, self._own_columns(), **more)

    def _own_columns(self) -> np.ndarray | None:
        return None if len(self.columns) == len(self.table.density) else self.columns

    def pace(self, observation: Observation, penalty_ratio: float = 1.0) -> None:
        """Set step and strength for the columns that are left."""
        self.n_rows = observation.rows
        self.set_pace(observation.norms, observation.filled_weight, observation.rows, penalty_ratio)

    def route(self, path: int, passes: int, partitions: int, output: int) -> list:
        """Partitions and segments of the next passes of a path; every other one goes backwards, and
        each pair visits the partitions in another order in each pass.
        """
        route = []
        for turn in range(passes):
            first = self.number * ((len(self.keys) + 1) // 2) + path // 2 + self.passes + turn
            order = [(first + r) % partitions for r in range(partitions)]
            key = int(self.keys[path - path % 2]) + (self.passes << 20) + turn * int(GOLDEN)
            for r, position in enumerate(order[::-1] if path % 2 else order):
                segment = Segment(
                    self.fold, output, self.task, self.rates, self.strengths, self.age + turn,
                    self.always, key % 2**64, path % 2 == 1, r == 0,
                )  # fmt: skip
                route.append((position, (segment,)))
        return route

    def pool(self) -> None:
        """Average, over the paths in their order, the mean iterates of the last pass."""
        outputs = self.table.outputs
        states = np.stack([path.state for path in self.paths if path.state is not None])
        biases = np.stack([path.bias for path in self.paths if path.bias is not None])[:, None]
        self.weights, bias = np.empty((len(self.columns), outputs)), np.empty((1, outputs))
        pool_states(states, float(max(self.n_rows, 1)), self.weights)
        pool_states(biases, float(max(self.n_rows, 1)), bias)
        self.bias = bias[0]

    def narrow(self, stay: np.ndarray) -> None:
        """Keep some columns, by their present numbers."""
        if len(stay) == len(self.columns):
            return
        self.columns = self.columns[stay]
        self.paths = [
            PathState(self.columns, None if one.state is None else one.state[stay], one.bias)
            for one in self.paths
        ]


class RowsInPartitions:
    """Trains groups of paths on rows that lie in partitions, all of them at the same time.

    `order` is that of the judged rows; `output`: the one that is learnt, -1 for all at once.
    """

    def __init__(
        self, partitions: Partitions, sample: Sample, task: Task, order, column_std, output: int
    ):
        self.partitions, self.table, self.task = partitions, sample.table, task
        self.order, self.std, self.output = order, column_std, output

    def column_std(self) -> np.ndarray:
        """Standard deviation of each column over all rows, in the units of X."""
        return self.std

    def cross_validate(self, validations: list[CrossValidation], sizes: np.ndarray) -> None:
        """Take all fold fits down the size path, level by level."""
        fits = [(one, number) for one in validations for number in range(len(one.fits))]
        groups = [
            self._fold_group(one, one.fits[number], at) for at, (one, number) in enumerate(fits)
        ]

        def observe(at: int, level: int, scores: np.ndarray) -> None:
            validation, number = fits[at]
            validation.scores[validation.fits[number].split, level] += scores[self.order]
            validation.record(number, groups[at], level)

        if groups:
            self._descend(groups, sizes, observe)

    def _fold_group(self, validation: CrossValidation, fit, number: int) -> PartitionGroup:
        fold, candidate = (fit.split, fit.fold), validation.candidate
        return PartitionGroup(self.table, self.task, candidate, fit.keys, fold, number)

    def group(self, candidate: Candidate, keys: np.ndarray) -> PartitionGroup:
        """Paths over all rows, before their first pass."""
        return PartitionGroup(self.table, self.task, candidate, keys, ALL_ROWS, 0)

    def descend(
        self, group: PartitionGroup, sizes: np.ndarray, observe: Callable, first: int = 0
    ) -> None:
        """Take a group down the size path."""
        self._descend([group], sizes, lambda at, level, scores: observe(group, level), first)

    def polish(
        self, candidate: Candidate, point: PathPoint, size: int, keys: np.ndarray
    ) -> PartitionGroup:
        """Paths over all rows after their final phase."""
        group = self.group(candidate, keys)
        group.select(point, size)
        self._polish([group])
        return group

    def polish_folds(
        self, validation: CrossValidation, chosen: ChosenSize, scores: np.ndarray
    ) -> np.ndarray:
        """Give fold fits their final phase at the chosen size."""
        groups = [
            self._fold_group(validation, fit, number) for number, fit in enumerate(validation.fits)
        ]
        for group, fit in zip(groups, validation.fits, strict=True):
            group.select(fit.points[chosen.level], chosen.size)
        counts = np.zeros(len(self.table.density))
        observed = self._polish(groups)
        for group, fit, found in zip(groups, validation.fits, observed, strict=True):
            scores[fit.split] += found.scores[self.order]
            counts[group.columns] += 1.0
        return counts

    # ------------------------------------------------------------------ rounds
    def _observed(self, queries: list[Query]) -> list[Observation]:
        """What all partitions say."""
        return self.partitions.total(observe, merge_observations, queries)

    def _walk(self, groups: list[PartitionGroup], passes: list[int]) -> None:
        """Make so many passes of all paths of each group, and pool them."""
        states, routes, rows = [], [], []
        for group, many in zip(groups, passes, strict=True):
            for path, state in enumerate(group.paths):
                states.append(state)
                routes.append(group.route(path, many, len(self.partitions), self.output))
                rows.append(group.n_rows * many)
        ended = iter(self.partitions.walk(states, routes, walk_partition, rows))
        for group, many in zip(groups, passes, strict=True):
            group.paths = [next(ended) for _ in group.paths]
            group.passes, group.age = group.passes + many, group.age + many
            group.pool()

    def _descend(
        self, groups: list[PartitionGroup], sizes: np.ndarray, observe: Callable, first: int = 0
    ) -> None:
        """Take groups down the size path, from level `first` on; `observe(at, level, scores)` is
        called for each once its averages are pooled and its held-out rows scored.
        """
        if first:
            for group in groups:
                group.keep(int(sizes[first]))
        for group, found in zip(groups, self._observed([g.query() for g in groups]), strict=True):
            group.pace(found)
        for level in range(first, len(sizes)):
            tell(f"{int(sizes[level]):,} features on the ladder")
            candidates = [group.candidate for group in groups]
            self._walk(groups, [c.passes if level else c.first_passes for c in candidates])
            last = level + 1 == len(sizes)
            stays = [None if last else g.staying(int(sizes[level + 1])) for g in groups]
            queries = [g.query(judged=True, stay=s) for g, s in zip(groups, stays, strict=True)]
            for at, found in enumerate(self._observed(queries)):
                observe(at, level, found.scores)
                group, stay = groups[at], stays[at]
                if stay is not None:
                    group.weights = group.weights[stay]
                    group.narrow(stay)
                    group.pace(found)

    def _polish(self, groups: list[PartitionGroup]) -> list[Observation]:
        """Make the final phase of groups on their points; what partitions say after it."""
        queries = [group.query(squares=True) for group in groups]
        for group, found in zip(groups, self._observed(queries), strict=True):
            group.start(found)
            group.pace(found, FINAL_PENALTY_RATIO)
        self._walk(groups, [FINAL_PASSES] * len(groups))
        return self._observed([group.query(judged=True, precision="f8") for group in groups])


# --------------------------------------------------------------------------- the fit
def fit_partitions(model, partitions: Partitions) -> Result:
    """The sieve of all partitions, in the units of X and y."""
    counts, task = partitions.counts, task_of(model)
    outputs, n_columns = counts.targets.outputs, len(counts.columns)
    options = options_of(model, n_columns, is_classifier(model))
    raw = partitions.prepared(hash_partition, held=True)
    smallest = raw.total(smallest_words, merge_words, model.n_sample)
    limit = int(smallest.words[-1]) if smallest.rows > model.n_sample else LAST
    scale = smallest.rows / smallest.weight
    units = class_units(outputs)
    if not options.classes:
        targets = raw.total(judged_targets, join_rows, limit)
        units = number_units(targets, NOTHING, model.fit_intercept)
    groups = options.feature_groups
    measured = measured_by(
        PartitionSums(raw, scale), smallest.rows, n_columns, model.fit_intercept,
        not options.classes, None if groups is None else groups.labels,
    )  # fmt: skip
    shared = StandardUnits(measured, units, options, outputs, limit, scale)
    standard = raw.prepared(to_standard_units, shared, held=True)

    # The rows that are judged, without their entries.
    judged: JudgedRows = standard.total(judged_rows, merge_judged)
    order = np.lexsort((np.arange(len(judged.words)), judged.words))
    weights, none = judged.weights[order], np.zeros(0)
    table = Table(
        none, none.astype(np.uint32), np.zeros(len(order) + 1, np.uint64),
        np.ascontiguousarray(judged.targets[order]),
        NOTHING if (weights == 1.0).all() else weights, measured.density, outputs,
    )  # fmt: skip
    if groups is not None:
        table = marked(table, groups, measured.columns.kept)
    folds = np.ascontiguousarray(judged.folds[order].T)
    sample = Sample(table, measured.columns, units, folds)
    means, squares = judged.moments / smallest.rows
    column_std = np.sqrt(np.maximum(squares - means**2, 0.0)) / measured.columns.scale

    def trainer_of(own: Sample, output: int) -> RowsInPartitions:
        return RowsInPartitions(standard, own, task, order, column_std, output)

    return fit_outputs(sample, task, options, trainer_of)
