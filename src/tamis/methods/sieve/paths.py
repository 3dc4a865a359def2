"""A group of paths that goes down the size path: learn, rank features by pooled averages, keep
fewer, learn on.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

import numpy as np

from tamis.methods.sieve.loop import (
    PassOrder,
    PassRows,
    StepSettings,
    keep_columns,
    keep_states,
    pool_states,
    sum_norms,
    sum_squares,
    walk_many,
    walk_one,
)
from tamis.methods.sieve.table.columns import Table
from tamis.numerics.csr import copy_kept, count_kept, decide, largest
from tamis.system.progress import tell
from tamis.system.schema import array, count

TINY = 1e-300  # first sum of squares: a centred value may be 0, and 0 / 0 is no step
FINAL_PENALTY_RATIO = 0.3  # strength of the final phase, against that of the size path
FINAL_PASSES = 3
FINAL_PATHS = 4


class Candidate(NamedTuple):
    """A base setting for the outputs at hand: step constants and strengths, one an output, and how
    many passes and paths.
    """

    name: str
    steps: tuple
    strengths: tuple
    first_passes: int
    passes: int
    paths: int
    fold_paths: int
    density_exponent: float  # of a feature's density in its importance
    eases: bool  # whether the penalty weakens as fewer features than rows are left
    splits: int  # times that the rows are dealt out to folds


class Task(NamedTuple):
    """What a path minimises: the loss, its curvature where steps must be held back (else 0),
    whether there is an intercept.
    """

    loss: tuple
    curvature: float
    intercept: float


class InitialState(NamedTuple):
    """Models of level 0 that a group of paths begins from: states of the columns, intercepts, and
    the steps that the averages in them are over.
    """

    states: np.ndarray
    biases: np.ndarray
    steps: float

    def factors(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Step factors of a pass over so many rows, of the columns and of the intercept: roots of
        passes over sums of squares.
        """
        age, squares = self.steps / max(rows, 1), (self.states[..., 0], self.biases[..., 0])
        states, biases = (np.sqrt(age / np.where(one > 0.0, one, np.inf)) for one in squares)
        return states, biases


class PathPoint:
    """Where a group of paths stood at one size: its columns, their pooled weights, the intercepts,
    and the passes it had made.
    """

    _contents: ClassVar[dict] = {
        "columns": array("u4", "selected", below="columns", increasing=True),
        "weights": array("f4", "selected", "outputs"),
        "bias": array("f8", "outputs"),
        "passes": count(),
    }

    def __init__(self, columns: np.ndarray, weights: np.ndarray, bias: np.ndarray, passes: int):
        self.columns, self.weights = columns.astype(np.uint32), weights.astype(np.float32)
        self.bias, self.passes = bias.copy(), passes


class PathGroup:
    """Paths over the same rows, each in orders of its own, that share their supports."""

    weights: np.ndarray
    bias: np.ndarray
    rates: np.ndarray
    strengths: np.ndarray

    def __init__(
        self,
        table: Table,
        task: Task,
        candidate: Candidate,
        rows: np.ndarray,
        held_out: np.ndarray,
        keys: np.ndarray,
        start: InitialState | None = None,
    ):
        self.table, self.task, self.candidate = table, task, candidate
        self.rows, self.held_out, self.keys, self.always = rows, held_out, keys, table.always
        self.csr = (table.data, table.indices, table.indptr)
        self.columns = np.arange(len(table.density))
        width = 1 + 2 * table.outputs
        if start is None:
            self.states = np.zeros((len(keys), len(self.columns), width))
            self.biases = np.zeros((len(keys), width))
            self.states[:, :, 0] = TINY
            self.age = 0.0  # passes so far over as many rows, for the length of steps
        else:
            self.states = np.repeat(start.states[None], len(keys), axis=0)
            self.biases = np.repeat(start.biases[None], len(keys), axis=0)
            self.age = start.steps / max(len(rows), 1)
            self.states[..., 0], self.biases[..., 0] = start.factors(len(rows))
        self.is_started = start is not None
        self.passes = 0  # so far, so that each has its own order
        # Steps that the average in the state is over.
        self.steps = float(len(rows) if start is None else start.steps)

    @classmethod
    def resumed(
        cls,
        point: PathPoint,
        size: int,
        table: Table,
        task: Task,
        candidate: Candidate,
        rows: np.ndarray,
        held_out: np.ndarray,
        keys: np.ndarray,
        start: InitialState | None = None,
    ) -> "PathGroup":
        """Paths that go on from the pooled weights of a point, with its largest `size` groups."""
        empty = table._replace(density=table.density[:0])
        group = cls(empty, task, candidate, rows, held_out, keys)
        group.table, outputs = table, table.outputs
        group.select(point, size)
        group.csr = kept_entries(group.csr, group.columns, len(table.density))
        n_columns = len(group.columns)
        group.states = np.zeros((len(keys), n_columns, 1 + 2 * outputs))
        group.biases = np.zeros((len(keys), 1 + 2 * outputs))
        if start is None:
            squares, weight = np.zeros(n_columns), float(len(rows))
            sum_squares(*group.csr, table.weights, rows, squares)
            weight = table.weights[rows].sum() if len(table.weights) else weight
            group.states[:, :, 0] = 1.0 / np.sqrt(np.where(squares > 0.0, squares, np.inf))
            group.biases[:, 0] = 1.0 / np.sqrt(weight)
        else:
            factors, group.biases[:, 0] = start.factors(len(rows))
            group.states[:, :, 0] = factors[group.columns]
            group.age += start.steps / max(len(rows), 1)
        group.states[:, :, 1 : 1 + outputs] = group.weights
        group.biases[:, 1 : 1 + outputs] = group.bias
        return group

    def select(self, point: PathPoint, size: int) -> None:
        """Take columns, weights and passes from a point, with its largest `size` groups."""
        self.columns, self.weights = point.columns.astype(np.int64), point.weights.astype(float)
        self.always = int(np.count_nonzero(self.columns >= self.table.n_free))
        self.bias, self.passes, self.age = point.bias, point.passes, float(point.passes)
        stay = self.staying(size)
        self.columns, self.weights = self.columns[stay], self.weights[stay]

    def point(self) -> PathPoint:
        """Where the group stands."""
        return PathPoint(self.columns, self.weights, self.bias, self.passes)

    def thin(self, paths: int) -> None:
        """Go on with the first few paths."""
        self.keys, self.states = self.keys[:paths], self.states[:paths]
        self.biases = self.biases[:paths]

    def tune(self, penalty_ratio: float = 1.0) -> None:
        """Set the step and the strength for the columns that are left."""
        data, _, indptr = self.csr
        total, weight = sum_norms(data, indptr, self.table.weights, self.rows)
        self.set_pace(total, weight, len(self.rows), penalty_ratio)

    def set_pace(self, total: float, weight: float, rows: int, penalty_ratio: float = 1.0) -> None:
        """The same by the sum of squared norms of so many rows, and the weight of those that hold
        anything.
        """
        square = total / weight if weight > 0.0 else 1.0
        share = len(self.columns) / max(rows, 1)
        fewness = np.sqrt(min(1.0, share)) if self.candidate.eases else 1.0
        self.rates = np.array(self.candidate.steps) / np.sqrt(square)
        self.strengths = penalty_ratio * fewness * np.array(self.candidate.strengths)

    def walks(self, passes: int) -> list:
        """The passes of each path as calls that may run at the same time."""
        before, age, self.steps = self.passes, self.age, float(len(self.rows))
        self.passes, self.age = before + passes, age + passes
        return [
            lambda path=path: self._walk(path, passes, before, age)
            for path in range(len(self.keys))
        ]

    def level_walks(self, level: int) -> list:
        """The passes of a level of the size path; a group that starts from another's models has
        made those of level 0.
        """
        if level == 0:
            return [] if self.is_started else self.walks(self.candidate.first_passes)
        return self.walks(self.candidate.passes)

    def _walk(self, path: int, passes: int, before: int, age: float) -> None:
        # Every other path goes through the orders of the one before it backwards: what the order
        # does cancels in their mean.
        key = np.uint64((int(self.keys[path - path % 2]) + (before << 20)) % 2**64)
        table, task = self.table, self.task
        walk = walk_one if table.outputs == 1 else walk_many
        free = len(self.columns) - self.always
        walk(
            PassRows(*self.csr, table.targets, table.weights, self.rows),
            self.states[path, : len(self.columns)],
            self.biases[path],
            task.loss,
            StepSettings(
                self.rates, self.strengths, task.curvature, task.intercept, age, np.uint64(free)
            ),
            PassOrder(np.uint64(passes), key, np.uint64(path % 2)),
        )

    def pool(self) -> None:
        """Average, over the paths, the mean iterates of the last pass."""
        steps = max(self.steps, 1.0)
        self.weights = np.empty((len(self.columns), self.table.outputs))
        bias = np.empty((1, self.table.outputs))
        pool_states(self.states, steps, self.weights)
        pool_states(self.biases[:, None], steps, bias)
        self.bias = bias[0]

    def score_held_out(self, scores: np.ndarray) -> None:
        """Write the pooled scores of the rows that the group never learns from."""
        decide(*self.csr, self.held_out, self.weights, self.bias, scores)

    def staying(self, size: int) -> np.ndarray:
        """Positions, ascending, of the columns of the most important `size` groups, and of those
        that never leave.
        """
        density, exponent = self.table.density[self.columns], self.candidate.density_exponent
        importance = importance_of(self.weights, density, exponent)
        importance[len(importance) - self.always :] = np.inf
        if self.table.groups is None:
            return largest(importance, size + self.always)
        ranks = self.table.ranks(self.columns, importance)
        return np.flatnonzero(ranks < size + (self.always > 0))

    def keep(self, size: int) -> None:
        """Keep the most important columns in the rows and in the state."""
        stay = self.staying(size)
        self.weights = self.weights[stay]
        self.narrow(stay)

    def narrow(self, stay: np.ndarray) -> None:
        """Keep some columns, by their present numbers, in the rows and in the state."""
        if len(stay) == len(self.columns):
            return
        place = np.full(len(self.columns), len(stay), dtype=np.uint32)
        place[stay] = np.arange(len(stay), dtype=np.uint32)
        self.columns = self.columns[stay]
        keep_states(self.states, stay)
        del stay
        out = data, indices, indptr = self.csr
        if data is self.table.data:  # which others read; later on columns are dropped in place
            out = (np.empty_like(data), np.empty_like(indices), np.empty_like(indptr))
        keep_columns(*self.csr, place, np.uint32(len(self.columns)), *out)
        used = int(out[2][-1])
        self.csr = (out[0][:used], out[1][:used], out[2])


def importance_of(weights: np.ndarray, density: np.ndarray, exponent: float) -> np.ndarray:
    """Size of each feature's pooled weights, times a power of its density."""
    if weights.shape[1] == 1:
        size = np.abs(weights[:, 0])
    else:
        size = np.sqrt((weights**2).sum(axis=1))
    return size * density**exponent


def kept_entries(csr: tuple, stay: np.ndarray, columns: int) -> tuple:
    """The entries of the columns that stay, renumbered."""
    data, indices, indptr = csr
    place = np.full(columns, len(stay), dtype=np.uint32)
    place[stay] = np.arange(len(stay), dtype=np.uint32)
    pointers = np.empty_like(indptr)
    count_kept(indices, indptr, place, np.uint32(len(stay)), pointers)
    fewer, where = np.empty(int(pointers[-1])), np.empty(int(pointers[-1]), dtype=np.uint32)
    copy_kept(data, indices, indptr, place, np.uint32(len(stay)), fewer, where)
    return fewer, where, pointers


def descend(
    group: PathGroup,
    sizes: np.ndarray,
    run: Callable,
    observe: Callable | None = None,
    first: int = 0,
) -> None:
    """Take a group down the size path, from level `first` on, its paths run by `run`;
    `observe(group, level)` is called once its averages are pooled.
    """
    if first:
        group.keep(int(sizes[first]))
    group.tune()
    for level in range(first, len(sizes)):
        tell(f"{int(sizes[level]):,} features on the ladder")
        run(group.level_walks(level))
        group.pool()
        if observe is not None:
            observe(group, level)
        if level + 1 < len(sizes):
            group.keep(int(sizes[level + 1]))
            group.tune()


def polish(groups: list[PathGroup], run: Callable) -> None:
    """Make the final phase of groups: a weaker penalty, and means of the last pass."""
    for group in groups:
        group.tune(FINAL_PENALTY_RATIO)
    run([walk for group in groups for walk in group.walks(FINAL_PASSES)])
    for group in groups:
        group.pool()


def path_keys(seed: int, group: int, paths: int) -> np.ndarray:
    """A key for the orders of each path of a group."""
    return np.random.SeedSequence([seed, group]).generate_state(paths, np.uint64)


def in_turn(calls: list) -> None:
    """Run calls one after the other."""
    for call in calls:
        call()


@contextmanager
def thread_pool(threads: int) -> Iterator[Callable]:
    """A function that runs calls, on several threads if so many are wanted; who runs what changes
    no bit.
    """
    if threads == 1:
        yield in_turn
        return
    with ThreadPoolExecutor(threads) as pool:
        yield lambda calls: list(pool.map(lambda call: call(), calls))
