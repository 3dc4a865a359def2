"""A group of paths that descends the sieve's ladder: walk, rank by pooled averages, keep fewer,
walk on.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.loop import (
    Orders,
    Pace,
    Walked,
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

TINY = 1e-300  # first sum of squares: a centred value may be 0, and 0 / 0 is no step


class Setting(NamedTuple):
    """A base: step constants and strengths, one an output, and how many passes and paths."""

    name: str
    steps: tuple
    strengths: tuple
    first_passes: int
    passes: int
    paths: int
    fold_paths: int
    tilt: float  # exponent of a feature's density in its importance
    eases: bool  # whether the penalty weakens as fewer features than rows are left
    splits: int  # times that the rows are dealt out to folds

    def told(self) -> dict:
        """What is told of it."""
        return {
            "base": self.name,
            "step": [float(v) for v in self.steps],
            "strength": [float(v) for v in self.strengths],
            "n_paths": self.paths,
            "n_fold_paths": self.fold_paths,
            "n_splits": self.splits,
        }


class Task(NamedTuple):
    """What a walk minimises: the loss, its curvature where steps must be held back (else 0),
    whether there is an intercept.
    """

    loss: tuple
    curvature: float
    intercept: float


class Start(NamedTuple):
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
        states, biases = (np.sqrt(age / np.where(part > 0.0, part, np.inf)) for part in squares)
        return states, biases


class Rung(NamedTuple):
    """Where a group stood at a level: its columns, pooled weights and intercepts, and the passes it
    had made.
    """

    columns: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    turns: int


class Group:
    """Paths over the same rows, each in orders of its own, that share their supports."""

    weights: np.ndarray
    bias: np.ndarray
    rates: np.ndarray
    strengths: np.ndarray

    def __init__(
        self,
        table: Table,
        task: Task,
        setting: Setting,
        rows: np.ndarray,
        held: np.ndarray,
        keys: np.ndarray,
        start: Start | None = None,
    ):
        self.table, self.task, self.setting = table, task, setting
        self.rows, self.held, self.keys, self.always = rows, held, keys, table.always
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
        self.started = start is not None
        self.turns = 0  # passes so far, so that each has its own order
        # Steps that the average in the state is over.
        self.walked = float(len(rows) if start is None else start.steps)

    @classmethod
    def at(
        cls,
        table: Table,
        task: Task,
        setting: Setting,
        rows: np.ndarray,
        held: np.ndarray,
        keys: np.ndarray,
        rung: Rung,
        size: int,
        start: Start | None = None,
    ) -> "Group":
        """Paths that go on from the pooled weights of a rung, with its largest `size` groups."""
        none = table._replace(density=table.density[:0])
        group = cls(none, task, setting, rows, held, keys)
        group.table, group.turns, many = table, rung.turns, table.outputs
        group.columns, group.weights = rung.columns.astype(np.int64), rung.weights.astype(float)
        group.always = int(np.count_nonzero(group.columns >= table.n_free))
        group.bias, stay = rung.bias, group.staying(size)
        group.columns, group.weights = group.columns[stay], group.weights[stay]
        group.csr = kept_entries(group.csr, group.columns, len(table.density))
        group.states = np.zeros((len(keys), len(stay), 1 + 2 * many))
        group.biases = np.zeros((len(keys), 1 + 2 * many))
        group.age = float(rung.turns)
        if start is None:
            squares, seen = np.zeros(len(stay)), float(len(rows))
            sum_squares(*group.csr, table.weights, rows, squares)
            seen = table.weights[rows].sum() if len(table.weights) else seen
            group.states[:, :, 0] = 1.0 / np.sqrt(np.where(squares > 0.0, squares, np.inf))
            group.biases[:, 0] = 1.0 / np.sqrt(seen)
        else:
            factors, group.biases[:, 0] = start.factors(len(rows))
            group.states[:, :, 0] = factors[group.columns]
            group.age += start.steps / max(len(rows), 1)
        group.states[:, :, 1 : 1 + many], group.biases[:, 1 : 1 + many] = group.weights, group.bias
        return group

    def model(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Columns, pooled weights and intercepts."""
        return self.columns, self.weights, self.bias

    def rung(self) -> Rung:
        """Where the group stands."""
        columns, weights = self.columns.astype(np.uint32), self.weights.astype(np.float32)
        return Rung(columns, weights, self.bias.copy(), self.turns)

    def thin(self, paths: int) -> None:
        """Go on with the first few paths."""
        self.keys, self.states = self.keys[:paths], self.states[:paths]
        self.biases = self.biases[:paths]

    def tune(self, relief: float = 1.0) -> None:
        """Set the step and the strength for the columns that are left."""
        data, _, indptr = self.csr
        total, mass = sum_norms(data, indptr, self.table.weights, self.rows)
        self.pace_by(total, mass, len(self.rows), relief)

    def pace_by(self, total: float, mass: float, rows: int, relief: float = 1.0) -> None:
        """The same by the sum of squared norms of so many rows, and the weight of those that hold
        anything.
        """
        square = total / mass if mass > 0.0 else 1.0
        share = len(self.columns) / max(rows, 1)
        fewness = np.sqrt(min(1.0, share)) if self.setting.eases else 1.0
        self.rates = np.array(self.setting.steps) / np.sqrt(square)
        self.strengths = relief * fewness * np.array(self.setting.strengths)

    def walks(self, passes: int) -> list:
        """The passes of each path as calls that may run at the same time."""
        turns, age, self.walked = self.turns, self.age, float(len(self.rows))
        self.turns, self.age = turns + passes, age + passes
        return [
            lambda path=path: self._walk(path, passes, turns, age) for path in range(len(self.keys))
        ]

    def level_walks(self, level: int) -> list:
        """The passes of a level of the ladder; a group that starts from another's models has made
        those of level 0.
        """
        if level == 0:
            return [] if self.started else self.walks(self.setting.first_passes)
        return self.walks(self.setting.passes)

    def _walk(self, path: int, passes: int, turns: int, age: float) -> None:
        # Every other path goes through the orders of the one before it backwards: what the order
        # does cancels in their mean.
        key = np.uint64((int(self.keys[path - path % 2]) + (turns << 20)) % 2**64)
        table, task = self.table, self.task
        walk = walk_one if table.outputs == 1 else walk_many
        free = len(self.columns) - self.always
        walk(
            Walked(*self.csr, table.targets, table.weights, self.rows),
            self.states[path, : len(self.columns)],
            self.biases[path],
            task.loss,
            Pace(self.rates, self.strengths, task.curvature, task.intercept, age, np.uint64(free)),
            Orders(np.uint64(passes), key, np.uint64(path % 2)),
        )

    def pool(self) -> None:
        """Mean over the paths of the mean iterate of the last pass."""
        steps = max(self.walked, 1.0)
        self.weights = np.empty((len(self.columns), self.table.outputs))
        bias = np.empty((1, self.table.outputs))
        pool_states(self.states, steps, self.weights)
        pool_states(self.biases[:, None], steps, bias)
        self.bias = bias[0]

    def judge(self, scores: np.ndarray) -> None:
        """Write the pooled scores of the rows that the group never walks."""
        decide(*self.csr, self.held, self.weights, self.bias, scores)

    def importance(self) -> np.ndarray:
        """Pooled weight of each feature, tilted towards the frequent ones."""
        if self.table.outputs == 1:
            size = np.abs(self.weights[:, 0])
        else:
            size = np.sqrt((self.weights**2).sum(axis=1))
        size *= self.table.density[self.columns] ** self.setting.tilt
        size[len(size) - self.always :] = np.inf
        return size

    def staying(self, size: int) -> np.ndarray:
        """Places, ascending, of the columns of the most important `size` groups, and of those that
        never leave.
        """
        importance = self.importance()
        if self.table.groups is None:
            return largest(importance, size + self.always)
        ranks = self.table.ranks(self.columns, importance)
        return np.flatnonzero(ranks < size + (self.always > 0))

    def keep(self, size: int) -> None:
        """Leave the most important columns in the rows and in the state."""
        stay = self.staying(size)
        self.weights = self.weights[stay]
        self.narrow(stay)

    def narrow(self, stay: np.ndarray) -> None:
        """Leave some columns, by their present numbers, in the rows and in the state."""
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


def descend(group: Group, sizes: np.ndarray, run, seen=None, first: int = 0) -> None:
    """Take a group down the ladder, from level `first` on, its paths run by `run`; `seen(group,
    level)` looks at it once its averages are pooled.
    """
    if first:
        group.keep(int(sizes[first]))
    group.tune()
    for level in range(first, len(sizes)):
        tell(f"{int(sizes[level]):,} features on the ladder")
        run(group.level_walks(level))
        group.pool()
        if seen is not None:
            seen(group, level)
        if level + 1 < len(sizes):
            group.keep(int(sizes[level + 1]))
            group.tune()


def path_keys(seed: int, group: int, paths: int) -> np.ndarray:
    """A key for the orders of each path of a group."""
    return np.random.SeedSequence([seed, group]).generate_state(paths, np.uint64)


def in_turn(calls: list) -> None:
    """Run calls one after the other."""
    for call in calls:
        call()


@contextmanager
def crew(threads: int):
    """A function that runs calls, on several threads if so many are wanted; who runs what changes
    no bit.
    """
    if threads == 1:
        yield in_turn
        return
    with ThreadPoolExecutor(threads) as pool:
        yield lambda calls: list(pool.map(lambda call: call(), calls))
