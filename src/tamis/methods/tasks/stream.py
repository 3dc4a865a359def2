"""What online multi-task models share: tasks beside the rows, protocols, and what a fit of several
tasks shows.
"""

from itertools import pairwise
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from tamis.base.border import half_fitted
from tamis.base.contents import array, early, labels, part
from tamis.base.parameters import NUMBER, STRENGTH
from tamis.base.rows import frozen
from tamis.methods.tasks.rows import PENALTIES, TaskRows, in_order, take_tasks
from tamis.methods.tasks.state import TaskEngine, balanced, of_mean_one, running_balance
from tamis.solvers.online_blocks.estimator import AVERAGING, WITHOUT

TASKS_WITHOUT = (*WITHOUT, "early_stopping", "validation_fraction")
TASKS_CONSTRAINTS = {
    "alpha": STRENGTH["alpha"],
    "loss": STRENGTH["loss"],
    **AVERAGING,
    "penalty": [StrOptions(set(PENALTIES))],
    "l1_weight": [NUMBER],
    "protocol": [StrOptions({"auto", "round", "stream"})],
    "balance_tasks": ["boolean"],
}


class Tasks(TaskRows):
    """Online models of several tasks; stands left of the mixins for classes and numbers, and of
    `Grouped`.
    """

    _contents: ClassVar[dict] = {
        "tasks_": early(labels("tasks", ascending=False, least=0)),
        "_totals": early(array("f8", "tasks+1", least=0.0)),
        "_engine": part(TaskEngine, "columns", "tasks", width="outputs"),
    }
    early_stopping = False

    # ------------------------------------------------------------------ terms
    def _trims(self):
        return self._pulls()[1] > 0.0

    def _new_engine(self, terms, flags, n_columns):
        return TaskEngine(
            terms, flags, n_columns, self._outputs(), len(self.tasks_), self._blocks(n_columns)
        )

    def _prepare(self, terms, flags, rows, again):
        super()._prepare(terms, flags, rows, again)
        if len(self.tasks_) > self._engine.tasks:
            self._engine = self._engine.with_tasks(len(self.tasks_) - self._engine.tasks)
        self._engine.rounds = self._in_rounds()

    def _in_rounds(self):
        """Whether a step takes a row of every task; with one task the two protocols are one."""
        return self._groups_change and self.protocol != "stream" and len(self.tasks_) > 1

    # ------------------------------------------------------------------ training
    def _fit_tasks(self, X, y, task, sample_weight):
        self._pending = task
        try:
            return self._fit(X, y, sample_weight)
        finally:
            del self._pending

    def _stream_tasks(self, X, y, task, sample_weight, **classes):
        if self.protocol == "round":
            raise ValueError(
                "protocol='round' needs all rows of all tasks; partial_fit streams. Pass "
                "protocol='auto' or 'stream'."
            )
        self._pending = task
        try:
            return self._partial_fit(X, y, sample_weight, **classes)
        finally:
            del self._pending

    def _take_targets(self, y, n_rows, *, first, whole, **classes):
        """Targets with the number of the row's task in a last column."""
        targets = super()._take_targets(y, n_rows, first=first, whole=whole, **classes)
        labels, self._pending = _labels(self._pending, n_rows, whole)
        self._meet_tasks(
            labels,
            *((np.zeros(0, dtype=object), np.zeros(1)) if first else (self.tasks_, self._totals)),
        )
        return frozen(np.column_stack((targets, self._codes(labels))))

    def _meet_tasks(self, labels, known, totals):
        """Tasks in the order in which they come first, after those that are known."""
        new = [v for v in in_order(labels) if v not in set(known.tolist())]
        if (
            new
            and len(known)
            and np.array(new).dtype.kind != known.dtype.kind
            and "U" in (np.array(new).dtype.kind, known.dtype.kind)
        ):
            raise ValueError(
                f"task {new[0]!r} is of another kind than the tasks so far, {known[:3].tolist()}."
            )
        if new:
            known, totals = (
                np.r_[known, np.array(new)] if len(known) else np.array(new),
                np.r_[totals[:-1], np.zeros(len(new)), totals[-1]],
            )
        self.tasks_, self._totals = known, totals

    def _spans(self, y, n_rows, known):
        """Cut a chunk also where a task is met for the first time: it exists from its first row on."""
        spans = super()._spans(y, n_rows, known)
        if self._pending is None:
            return spans
        labels, _ = _labels(self._pending, n_rows, True)
        values, first = np.unique(labels, return_index=True)
        met = set(self.tasks_.tolist()) if hasattr(self, "_engine") else set()
        cuts = sorted(
            {at for span in spans for at in span}
            | {int(at) for v, at in zip(values, first, strict=True) if v not in met}
        )
        return list(pairwise(cuts)) if len(cuts) > 1 else spans

    def _weigh(self, targets, weights, *, whole):
        """Row weights: mean 1 within every task (rounds), or such that every task counts alike
        (streams).
        """
        weights = super()._weigh(targets, weights, whole=whole)
        codes = targets[:, -1].astype(np.int64)
        if whole and self._in_rounds():
            return frozen(of_mean_one(codes, weights, len(self.tasks_)))
        if not self.balance_tasks:
            return weights
        loads = (balanced if whole else running_balance)(
            codes, weights, self._totals
        )  # counted for tasks to come, too
        return weights if len(self.tasks_) == 1 else frozen(loads)

    # ------------------------------------------------------------------ what a fit shows
    def _score_asked(self, X, codes_of):
        engine, rows = self._asked(X)
        codes = codes_of(rows.n_rows)
        if codes.max(initial=0) >= engine.tasks:
            raise half_fitted(self)
        return engine.score(rows, codes)


def _labels(task, n_rows: int, whole: bool):
    """Tasks of the next rows, and what is left of them; one task where none are given."""
    if task is None:
        return np.zeros(n_rows, dtype=np.int64), None
    labels = take_tasks(task, n_rows if whole else None)
    return labels[:n_rows], labels[n_rows:]
