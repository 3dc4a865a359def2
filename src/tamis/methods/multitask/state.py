"""State of online multi-task models: the outputs of all tasks, one block of cells a feature; rounds
of one row a task; and row weights that balance the tasks. It validates nothing and does not depend
on scikit-learn.
"""

from copy import copy
from typing import ClassVar

import numpy as np

from tamis.numerics.csr import Csr, readonly_view
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.first_order.state import ROWS_PER_UPDATE
from tamis.solvers.online_groups.loop import GroupOptions
from tamis.solvers.online_groups.loop_passes import learn_rounds
from tamis.solvers.online_groups.state import OnlineGroupState
from tamis.solvers.path.loop import CoefBlocks
from tamis.system.schema import array, size

# What a step takes: one row of every task; or one row, with its own weight, or with a weight by
# which all tasks have the same total among all rows, or among the rows so far.
BY_ROUNDS, AS_WEIGHTED, BALANCED, BALANCED_SO_FAR = ("rounds", "plain", "alike", "alike so far")


class MultiTaskState(OnlineGroupState):
    """A `OnlineGroupState` whose outputs are those of several tasks, `width` each."""

    _contents: ClassVar[dict] = {
        "width": size("width"),
        "outputs": size("outputs", equals="width*tasks"),
        "protocol": None,  # set from the parameters before each pass
        "totals": array("f8", "tasks+1", minimum=0.0),
    }

    protocol = AS_WEIGHTED

    def __init__(self, terms, flags, features: int, width: int, tasks: int, blocks: CoefBlocks):
        self.width = width
        self.totals = np.zeros(
            tasks + 1
        )  # total weight of the rows so far: of each task, and of all
        super().__init__(terms, flags, features, width * tasks, blocks)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return self.outputs // self.width

    def with_tasks(self, n_tasks: int) -> "MultiTaskState":
        """Return a copy with more tasks, whose weights are 0."""
        larger, n_added = copy(self), n_tasks * self.width
        sources = [*range(self.outputs), *[-1] * n_added]
        super(MultiTaskState, larger)._set_outputs(sources, np.ones(self.outputs + n_added))
        larger.totals = np.r_[self.totals[:-1], np.zeros(n_tasks), self.totals[-1]]
        return larger

    def _set_outputs(self, sources, signs) -> None:
        """Set new outputs of every task."""
        n_tasks, old_width = self.tasks, self.width
        self.width = len(sources)
        all_sources = [q * old_width + s if s >= 0 else -1 for q in range(n_tasks) for s in sources]
        super()._set_outputs(all_sources, np.tile(signs, n_tasks))

    def _options(self) -> GroupOptions:
        fraction = 1.0 if self.protocol == BY_ROUNDS else 1.0 / self.tasks
        return super()._options()._replace(alpha_fraction=fraction, task_outputs=float(self.width))

    def learn(
        self,
        rows: Csr,
        encoded_targets: EncodedTargets,
        weights,
        key: int = 0,
        n_jobs: int = 1,
        on_progress=None,
    ) -> None:
        """Learn from the rows once or, by rounds, as many times as the longest task has rows."""
        weights = self._balance_weights(encoded_targets.tasks.astype(np.int64), weights)
        if self.protocol != BY_ROUNDS:
            super().learn(rows, encoded_targets, weights, key, n_jobs, on_progress)
            return
        order = self._round_rows(encoded_targets.tasks, weights, key)
        for start in range(0, len(order), ROWS_PER_UPDATE):
            block = order[start : start + ROWS_PER_UPDATE]
            self._run_loop(learn_rounds, rows, encoded_targets, weights, block)
            if on_progress is not None:
                on_progress(rows.n_rows * len(block) // len(order))

    def _balance_weights(self, tasks: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the row weights of the protocol, and add the rows to the totals of their tasks."""
        if self.protocol == AS_WEIGHTED:
            return weights
        if self.protocol == BY_ROUNDS:
            return readonly_view(normalize_by_task(tasks, weights, self.tasks))
        balance = balanced if self.protocol == BALANCED else running_balance
        balanced_weights, self.totals = balance(tasks, weights, self.totals)
        return weights if self.tasks == 1 else readonly_view(balanced_weights)

    def _round_rows(self, tasks, weights, key: int) -> np.ndarray:
        """Return the rows of each round, one a task: each task goes through its rows in its own
        order, and short tasks start again.

        A task without rows has the number of rows in place of a row.
        """
        has_weight = weights > 0.0 if len(weights) else np.ones(len(tasks), dtype=bool)
        task_rows = [np.flatnonzero((tasks == q) & has_weight) for q in range(self.tasks)]
        n_rounds = max(map(len, task_rows))
        order = np.full((n_rounds, self.tasks), len(tasks), dtype=np.uint64)
        for q, indices in enumerate(task_rows):
            if len(indices):
                sequence = np.random.default_rng([key, q]).permutation(indices) if key else indices
                order[:, q] = np.resize(sequence, n_rounds)
        return order


# ---------------------------------------------------------------- weights by task
def normalize_by_task(tasks, weights, n_tasks: int) -> np.ndarray:
    """Return row weights whose mean is 1 within every task, not counting rows of weight 0."""
    if not len(weights):
        return weights
    totals, n_rows = (
        np.bincount(tasks, weights=values, minlength=n_tasks) for values in (weights, weights > 0.0)
    )
    return weights * (n_rows / np.where(totals > 0.0, totals, 1.0))[tasks]


def balanced(tasks, weights, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return row weights by which every task has the same total, N / (Q N_q) with counts that are
    sums of weights of all rows; and these counts, the last one that of all tasks.
    """
    weights, n_tasks = weights if len(weights) else np.ones(len(tasks)), len(totals) - 1
    task_weights = np.bincount(tasks, weights=weights, minlength=n_tasks)
    of_row, total = task_weights[tasks], task_weights.sum()
    balanced_weights = weights * (total / (n_tasks * np.where(of_row > 0.0, of_row, 1.0)))
    return balanced_weights, np.r_[task_weights, total]


def running_balance(tasks, weights, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same weights with the counts of the rows so far (including the present one), and
    the new counts.

    Counts are summed row by row, so that the bits do not depend on chunks.
    """
    weights, totals = weights if len(weights) else np.ones(len(tasks)), totals.copy()
    task_totals, all_totals = np.empty(len(tasks)), np.cumsum(np.r_[totals[-1], weights])[1:]
    for q in range(len(totals) - 1):
        in_task = tasks == q
        if in_task.any():
            task_totals[in_task] = np.cumsum(np.r_[totals[q], weights[in_task]])[1:]
            totals[q] = task_totals[in_task][-1]
    totals[-1] = all_totals[-1] if len(all_totals) else totals[-1]
    task_totals = np.where(task_totals > 0.0, task_totals, 1.0)
    return weights * (all_totals / ((len(totals) - 1) * task_totals)), totals
