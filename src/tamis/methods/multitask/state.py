"""The engine of online multi-task models: one column of cells a task and output, one block a
feature; rounds of one row a task, and weights by which tasks count alike. No checks, no
scikit-learn.
"""

from copy import copy
from typing import ClassVar

import numpy as np

from tamis.numerics.csr import Csr, frozen
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.first_order.state import BLOCK
from tamis.solvers.online_groups.loop import GroupOptions
from tamis.solvers.online_groups.loop_passes import learn_rounds
from tamis.solvers.online_groups.state import GroupEngine
from tamis.solvers.path.loop import Blocks
from tamis.system.schema import array, size

# A step takes one row of every task; or one row, which weighs as it comes, so that all tasks count
# alike among all rows, or among the rows so far.
ROUNDS, PLAIN, ALIKE, ALIKE_SO_FAR = ("rounds", "plain", "alike", "alike so far")


class TaskEngine(GroupEngine):
    """A `GroupEngine` whose outputs are those of several tasks, `width` each."""

    _contents: ClassVar[dict] = {
        "width": size("width"),
        "outputs": size("outputs", equals="width*tasks"),
        "protocol": None,  # set by the parameters before rows are learnt
        "totals": array("f8", "tasks+1", least=0.0),
    }

    protocol = PLAIN

    def __init__(self, terms, flags, features: int, width: int, tasks: int, blocks: Blocks):
        self.width = width
        self.totals = np.zeros(tasks + 1)  # weight of each task's rows so far, and of all
        super().__init__(terms, flags, features, width * tasks, blocks)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return self.outputs // self.width

    def with_tasks(self, count: int) -> "TaskEngine":
        """The engine with more tasks, their weights 0."""
        other, more = copy(self), count * self.width
        sources = [*range(self.outputs), *[-1] * more]
        super(TaskEngine, other)._set_outputs(sources, np.ones(self.outputs + more))
        other.totals = np.r_[self.totals[:-1], np.zeros(count), self.totals[-1]]
        return other

    def _set_outputs(self, sources, signs) -> None:
        """New outputs of every task."""
        tasks, old = self.tasks, self.width
        self.width = len(sources)
        every = [q * old + s if s >= 0 else -1 for q in range(tasks) for s in sources]
        super()._set_outputs(every, np.tile(signs, tasks))

    def _options(self) -> GroupOptions:
        fraction = 1.0 if self.protocol == ROUNDS else 1.0 / self.tasks
        return super()._options()._replace(alpha_fraction=fraction, task_outputs=float(self.width))

    def learn(
        self, rows: Csr, coded: EncodedTargets, weights, key: int = 0, n_jobs: int = 1, tell=None
    ) -> None:
        """Walk the rows once, or make as many rounds as the longest task has rows."""
        weights = self._weigh(coded.tasks.astype(np.int64), weights)
        if self.protocol != ROUNDS:
            super().learn(rows, coded, weights, key, n_jobs, tell)
            return
        order = self._order(coded.tasks, weights, key)
        for start in range(0, len(order), BLOCK):
            part = order[start : start + BLOCK]
            self._run_loop(learn_rounds, rows, coded, weights, part)
            if tell is not None:
                tell(rows.n_rows * len(part) // len(order))

    def _weigh(self, tasks: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Row weights as the protocol has them; rows are counted for tasks to come, too."""
        if self.protocol == PLAIN:
            return weights
        if self.protocol == ROUNDS:
            return frozen(of_mean_one(tasks, weights, self.tasks))
        weigh = balanced if self.protocol == ALIKE else running_balance
        alike, self.totals = weigh(tasks, weights, self.totals)
        return weights if self.tasks == 1 else frozen(alike)

    def _order(self, tasks, weights, key: int) -> np.ndarray:
        """Rows of each round, one a task: every task goes through its rows in an order of its own,
        short ones again and again.

        A task without rows has the number of rows in place of one.
        """
        present = weights > 0.0 if len(weights) else np.ones(len(tasks), dtype=bool)
        mine = [np.flatnonzero((tasks == q) & present) for q in range(self.tasks)]
        longest = max(map(len, mine))
        order = np.full((longest, self.tasks), len(tasks), dtype=np.uint64)
        for q, places in enumerate(mine):
            if len(places):
                walk = np.random.default_rng([key, q]).permutation(places) if key else places
                order[:, q] = np.resize(walk, longest)
        return order


# ---------------------------------------------------------------- weights by task
def of_mean_one(tasks, weights, count: int) -> np.ndarray:
    """Row weights whose mean is 1 within every task, rows of weight 0 left out."""
    if not len(weights):
        return weights
    sums, rows = (np.bincount(tasks, weights=w, minlength=count) for w in (weights, weights > 0.0))
    return weights * (rows / np.where(sums > 0.0, sums, 1.0))[tasks]


def balanced(tasks, weights, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row weights by which every task counts alike, N / (Q N_q), counts being sums of weights of
    all rows; and these counts, the last one of all tasks.
    """
    weights, count = weights if len(weights) else np.ones(len(tasks)), len(totals) - 1
    sums = np.bincount(tasks, weights=weights, minlength=count)
    own, whole = sums[tasks], sums.sum()
    alike = weights * (whole / (count * np.where(own > 0.0, own, 1.0)))
    return alike, np.r_[sums, whole]


def running_balance(tasks, weights, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same with the counts of the rows so far, the present one included, from those of the rows
    before.

    Sums go on row by row, so that chunks do not change the bits.
    """
    weights, totals = weights if len(weights) else np.ones(len(tasks)), totals.copy()
    own, seen = np.empty(len(tasks)), np.cumsum(np.r_[totals[-1], weights])[1:]
    for q in range(len(totals) - 1):
        mine = tasks == q
        if mine.any():
            own[mine] = np.cumsum(np.r_[totals[q], weights[mine]])[1:]
            totals[q] = own[mine][-1]
    totals[-1] = seen[-1] if len(seen) else totals[-1]
    return weights * (seen / ((len(totals) - 1) * np.where(own > 0.0, own, 1.0))), totals
