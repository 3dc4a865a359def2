"""A group of paths that descends the sieve's ladder: walk, rank by pooled averages, keep fewer,
walk on.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from tamis.base.machine.progress import tell
from tamis.base.rows import copy_kept, count_kept, decide, largest
from tamis.methods.sieve.columns import Table
from tamis.methods.sieve.loop import Orders, Pace, Walked, mean_square, walk_many, walk_one

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
        self.rows, self.held, self.keys = rows, held, keys
        self.csr = (table.data, table.indices, table.indptr)
        self.columns = np.arange(len(table.density))
        width = 1 + 2 * table.outputs
        if start is None:
            self.states = np.zeros((len(keys), len(self.columns), width))
            self.biases = np.zeros((len(keys), width))
            self.states[:, :, 0] = TINY
        else:
            self.states = np.repeat(start.states[None], len(keys), axis=0)
            self.biases = np.repeat(start.biases[None], len(keys), axis=0)
        self.started = start is not None
        self.turns = 0  # passes so far, so that each has its own order
        # Steps that the average in the state is over.
        self.walked = float(len(rows) if start is None else start.steps)

    def tune(self, relief: float = 1.0) -> None:
        """Set the step and the strength for the columns that are left."""
        data, _, indptr = self.csr
        square = mean_square(data, indptr, self.table.weights, self.rows)
        share = len(self.columns) / max(len(self.rows), 1)
        fewness = np.sqrt(min(1.0, share)) if self.setting.eases else 1.0
        self.rates = np.array(self.setting.steps) / np.sqrt(square)
        self.strengths = relief * fewness * np.array(self.setting.strengths)

    def walks(self, passes: int) -> list:
        """The passes of each path as calls that may run at the same time."""
        turns, self.turns, self.walked = self.turns, self.turns + passes, float(len(self.rows))
        return [lambda path=path: self._walk(path, passes, turns) for path in range(len(self.keys))]

    def level_walks(self, level: int) -> list:
        """The passes of a level of the ladder; a group that starts from another's models has made
        those of level 0.
        """
        if level == 0:
            return [] if self.started else self.walks(self.setting.first_passes)
        return self.walks(self.setting.passes)

    def _walk(self, path: int, passes: int, turns: int) -> None:
        # Every other path goes through the orders of the one before it backwards: what the order
        # does cancels in their mean.
        key = np.uint64((int(self.keys[path - path % 2]) + (turns << 20)) % 2**64)
        table, task = self.table, self.task
        walk = walk_one if table.outputs == 1 else walk_many
        walk(
            Walked(*self.csr, table.targets, table.weights, self.rows),
            self.states[path],
            self.biases[path],
            task.loss,
            Pace(self.rates, self.strengths, task.curvature, task.intercept),
            Orders(np.uint64(passes), key, np.uint64(path % 2)),
        )

    def pool(self) -> None:
        """Mean over the paths of the mean iterate of the last pass."""
        self.weights, self.bias = self._mean(self.states), self._mean(self.biases)

    def _mean(self, parts: np.ndarray) -> np.ndarray:
        """Path by path: all at once would take as much memory again."""
        many, steps = self.table.outputs, max(self.walked, 1.0)
        total = np.zeros((*parts.shape[1:-1], many))
        for part in parts:
            total += part[..., 1 : 1 + many] - part[..., 1 + many :] / steps
        return total / len(parts)

    def judge(self, scores: np.ndarray) -> None:
        """Write the pooled scores of the rows that the group never walks."""
        decide(*self.csr, self.held, self.weights, self.bias, scores)

    def importance(self) -> np.ndarray:
        """Pooled weight of each feature, tilted towards the frequent ones."""
        if self.table.outputs == 1:
            size = np.abs(self.weights[:, 0])
        else:
            size = np.sqrt((self.weights**2).sum(axis=1))
        return size * self.table.density[self.columns] ** self.setting.tilt

    def keep(self, size: int) -> None:
        """Leave the most important columns in the rows and in the state."""
        stay = largest(self.importance(), size)
        self.weights = self.weights[stay]
        self.narrow(stay)

    def narrow(self, stay: np.ndarray) -> None:
        """Leave some columns, by their present numbers, in the rows and in the state."""
        if len(stay) == len(self.columns):
            return
        data, indices, indptr = self.csr
        place = np.full(len(self.columns), len(stay), dtype=np.uint32)
        place[stay] = np.arange(len(stay), dtype=np.uint32)
        pointers = np.empty_like(indptr)
        count_kept(indices, indptr, place, np.uint32(len(stay)), pointers)
        fewer, where = np.empty(int(pointers[-1])), np.empty(int(pointers[-1]), dtype=np.uint32)
        copy_kept(data, indices, indptr, place, np.uint32(len(stay)), fewer, where)
        self.csr = (fewer, where, pointers)
        for state in self.states:  # in place: these are the largest arrays of a fit
            state[: len(stay)] = state[stay]
        self.columns, self.states = self.columns[stay], self.states[:, : len(stay)]


def descend(groups: list[Group], sizes: np.ndarray, run, seen=None) -> None:
    """Take groups down the ladder together; `seen(group, level)` looks at each once its averages
    are pooled.
    """

    def arrive(group, level):
        group.pool()
        if seen is not None:
            seen(group, level)
        if level + 1 < len(sizes):
            group.keep(int(sizes[level + 1]))
            group.tune()

    for group in groups:
        group.tune()
    for level in range(len(sizes)):
        tell(f"{int(sizes[level]):,} features on the ladder")
        run([walk for group in groups for walk in group.level_walks(level)])
        run([lambda group=group, level=level: arrive(group, level) for group in groups])


@contextmanager
def crew(threads: int):
    """A function that runs calls, on several threads if so many are wanted; who runs what changes
    no bit.
    """
    if threads == 1:
        yield lambda calls: [call() for call in calls]
        return
    with ThreadPoolExecutor(threads) as pool:
        yield lambda calls: list(pool.map(lambda call: call(), calls))
