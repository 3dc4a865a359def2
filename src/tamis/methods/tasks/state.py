"""The engine of online multi-task models: one column of cells a task and output, one block a
feature. No checks, no scikit-learn.
"""

from copy import copy
from typing import ClassVar

import numpy as np

from tamis.base.contents import flag, size
from tamis.base.rows import Csr
from tamis.solvers.block_descent.loop_blocks import Blocks
from tamis.solvers.first_order.state import BLOCK
from tamis.solvers.online_blocks.state import GroupEngine
from tamis.solvers.online_blocks.walks import learn_groups, learn_rounds


class TaskEngine(GroupEngine):
    """A `GroupEngine` whose outputs are those of several tasks, `width` each; targets carry the
    task's number in their last column.
    """

    _contents: ClassVar[dict] = {
        "width": size("width"),
        "outputs": size("outputs", equals="width*tasks"),
        "rounds": flag(),
    }

    def __init__(self, terms, flags, features: int, width: int, tasks: int, blocks: Blocks):
        self.width, self.rounds = width, False  # whether a step takes one row of every task
        super().__init__(terms, flags, features, width * tasks, blocks)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return self.outputs // self.width

    def with_tasks(self, count: int) -> "TaskEngine":
        """The engine with more tasks, their weights 0."""
        other, more = copy(self), count * self.width
        super(TaskEngine, other)._regroup(
            [*range(self.outputs), *[-1] * more], np.ones(self.outputs + more)
        )
        return other

    def _regroup(self, sources, signs) -> None:
        """New outputs of every task."""
        tasks, old = self.tasks, self.width
        self.width = len(sources)
        every = [q * old + s if s >= 0 else -1 for q in range(tasks) for s in sources]
        super()._regroup(every, np.tile(signs, tasks))

    def _form(self) -> tuple[float, float, float, float]:
        softmax, _, overlap, _ = super()._form()
        return softmax, 1.0 if self.rounds else 1.0 / self.tasks, overlap, float(self.width)

    def learn(self, rows: Csr, targets, weights, key: int = 0, n_jobs: int = 1, tell=None) -> None:
        """Walk the rows once, or make as many rounds as the longest task has rows."""
        wanted, self._now = np.ascontiguousarray(targets[:, :-1]), targets[:, -1].astype(np.uint64)
        try:
            if not self.rounds:
                super().learn(rows, wanted, weights, key, n_jobs, tell)
                return
            order = self._order(self._now, weights, key)
            for start in range(0, len(order), BLOCK):
                self._walk_rounds(rows, wanted, weights, order[start : start + BLOCK])
                if tell is not None:
                    tell(rows.n_rows * len(order[start : start + BLOCK]) // len(order))
        finally:
            del self._now

    def _walk(self, rows, targets, weights, span, n_jobs):
        given = (
            *rows[:3],
            targets,
            weights,
            span,
            self._now,
            self.state,
            self.bias,
            self.costs,
            self.squares,
            self._scratch(),
            self._blocks(),
        )
        self._take_clocks(learn_groups(*given, *self.terms, *self._clocks()))

    def _walk_rounds(self, rows, targets, weights, rounds):
        given = (
            *rows[:3],
            targets,
            weights,
            rounds,
            self.state,
            self.bias,
            self.costs,
            self.squares,
            self._scratch(),
            self._blocks(),
        )
        self._take_clocks(learn_rounds(*given, *self.terms, *self._clocks()))

    def _order(self, tasks, weights, key: int) -> np.ndarray:
        """Rows of each round, one a task: every task goes through its rows in an order of its own,
        short ones again and again.

        A task without rows has the number of rows in place of one.
        """
        mine = [
            np.flatnonzero((tasks == q) & (weights > 0.0) if len(weights) else tasks == q)
            for q in range(self.tasks)
        ]
        longest = max(map(len, mine))
        order = np.full((longest, self.tasks), len(tasks), dtype=np.uint64)
        for q, places in enumerate(mine):
            if len(places):
                walk = np.random.default_rng([key, q]).permutation(places) if key else places
                order[:, q] = np.resize(walk, longest)
        return order


def of_mean_one(tasks, weights, count: int) -> np.ndarray:
    """Row weights whose mean is 1 within every task, rows of weight 0 left out."""
    if not len(weights):
        return weights
    sums, rows = (np.bincount(tasks, weights=w, minlength=count) for w in (weights, weights > 0.0))
    return weights * (rows / np.where(sums > 0.0, sums, 1.0))[tasks]


def balanced(tasks, weights, totals: np.ndarray) -> np.ndarray:
    """Row weights by which every task counts alike, N / (Q N_q), with the counts of all rows;
    counts are sums of weights.
    """
    weights = np.ones(len(tasks)) if not len(weights) else weights
    totals[:-1] = np.bincount(tasks, weights=weights, minlength=len(totals) - 1)
    totals[-1] = totals[:-1].sum()
    own = totals[tasks]
    return weights * (totals[-1] / ((len(totals) - 1) * np.where(own > 0.0, own, 1.0)))


def running_balance(tasks, weights, totals: np.ndarray) -> np.ndarray:
    """The same with the counts of the rows so far, the present one included; `totals` (the last one
    of all tasks) are brought up to date.

    Sums go on row by row, so that chunks do not change the bits.
    """
    weights = np.ones(len(tasks)) if not len(weights) else weights
    own, seen = np.empty(len(tasks)), np.cumsum(np.r_[totals[-1], weights])[1:]
    for q in range(len(totals) - 1):
        mine = tasks == q
        if mine.any():
            own[mine] = np.cumsum(np.r_[totals[q], weights[mine]])[1:]
            totals[q] = own[mine][-1]
    totals[-1] = seen[-1] if len(seen) else totals[-1]
    return weights * (seen / ((len(totals) - 1) * np.where(own > 0.0, own, 1.0)))
