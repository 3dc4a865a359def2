"""What online multi-task models share: tasks beside the rows, protocols, and what a fit of several tasks shows."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import StrOptions

from tamis._checks import frozen
from tamis.models.constraints import NUMBER, STRENGTH
from tamis.models.grouped_base import AVERAGING, WITHOUT
from tamis.models.groups import take_groups
from tamis.models.task_engine import TaskEngine, balanced, of_mean_one, running_balance

PENALTIES = {"individual": (0.0, 1.0), "shared": (1.0, 0.0), "shared+sparse": (1.0, None)}  # weights of norm and of L1
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


class Asked(NamedTuple):
    """Rows, and the task of each."""

    X: Any
    task: Any


def asked(X, task) -> Asked:
    """Rows and tasks together, on their way through methods that know only rows."""
    return X if isinstance(X, Asked) else Asked(X, task)


class Tasks:
    """Online models of several tasks; stands left of the mixins for classes and numbers, and of `Grouped`."""

    early_stopping = False

    # ------------------------------------------------------------------ terms
    def _pulls(self):
        norm, inside = PENALTIES[self.penalty]
        return norm, float(self.l1_weight) if inside is None else inside

    def _trims(self):
        return self._pulls()[1] > 0.0

    def _blocks(self, n_columns):
        norm, inside = self._pulls()
        return take_groups(None, n_columns, group_weights=norm, l1_weights=inside)

    def _new_engine(self, terms, flags, n_columns):
        return TaskEngine(terms, flags, n_columns, self._outputs(), len(self.tasks_), self._blocks(n_columns))

    def _prepare(self, terms, flags, rows, again):
        super()._prepare(terms, flags, rows, again)
        if len(self.tasks_) > self._engine.tasks:
            self._engine.add_tasks(len(self.tasks_) - self._engine.tasks)
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
            raise ValueError("protocol='round' needs all rows of all tasks; partial_fit streams. Pass protocol='auto' or 'stream'.")
        self._pending = task
        try:
            return self._partial_fit(X, y, sample_weight, **classes)
        finally:
            del self._pending

    def _take_targets(self, y, n_rows, *, first, whole, **classes):
        """Targets with the number of the row's task in a last column."""
        targets = super()._take_targets(y, n_rows, first=first, whole=whole, **classes)
        if first:
            self.tasks_, self._totals = np.zeros(0, dtype=object), np.zeros(1)
        labels, self._pending = _labels(self._pending, n_rows, whole)
        self._meet_tasks(labels)
        return frozen(np.column_stack((targets, self._codes(labels))))

    def _meet_tasks(self, labels):
        """Tasks in the order in which they come first."""
        values, first = np.unique(labels, return_index=True)
        new = [v for v in values[np.argsort(first)] if v not in set(self.tasks_.tolist())]
        if not new:
            return
        if not len(self.tasks_):
            self.tasks_ = np.array(new)
        elif np.array(new).dtype.kind != self.tasks_.dtype.kind and "U" in (np.array(new).dtype.kind, self.tasks_.dtype.kind):
            raise ValueError(f"task {new[0]!r} is of another kind than the tasks so far, {self.tasks_[:3].tolist()}.")
        else:
            self.tasks_ = np.r_[self.tasks_, np.array(new)]
        self._totals = np.r_[self._totals[:-1], np.zeros(len(new)), self._totals[-1]]

    def _codes(self, labels):
        """Numbers of the tasks; an unknown one is refused."""
        order = np.argsort(self.tasks_)
        places = np.minimum(np.searchsorted(self.tasks_, labels, sorter=order), len(order) - 1)
        codes = order[places]
        if not np.array_equal(self.tasks_[codes], labels):
            bad = np.asarray(labels)[self.tasks_[codes] != labels].tolist()[0]
            raise ValueError(f"task {bad!r} is unknown; the tasks of this {type(self).__name__} are {self.tasks_[:10].tolist()}.")
        return codes

    def _spans(self, y, n_rows, known):
        """Cut a chunk also where a task is met for the first time: it exists from its first row on."""
        spans = super()._spans(y, n_rows, known)
        if self._pending is None:
            return spans
        labels, _ = _labels(self._pending, n_rows, True)
        values, first = np.unique(labels, return_index=True)
        met = set(self.tasks_.tolist()) if hasattr(self, "_engine") else set()
        cuts = sorted({at for span in spans for at in span} | {int(at) for v, at in zip(values, first, strict=True) if v not in met})
        return list(pairwise(cuts)) if len(cuts) > 1 else spans

    def _weigh(self, targets, weights, *, whole):
        """Row weights: mean 1 within every task (rounds), or such that every task counts alike (streams)."""
        weights = super()._weigh(targets, weights, whole=whole)
        codes = targets[:, -1].astype(np.int64)
        if whole and self._in_rounds():
            return frozen(of_mean_one(codes, weights, len(self.tasks_)))
        if not self.balance_tasks:
            return weights
        loads = (balanced if whole else running_balance)(codes, weights, self._totals)  # counted for tasks to come, too
        return weights if len(self.tasks_) == 1 else frozen(loads)

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        """Scores of each row's own task."""
        X, task = asked(X, None)
        rows = self._rows(X)
        if task is None and len(self.tasks_) > 1:
            raise ValueError(f"{type(self).__name__} knows {len(self.tasks_)} tasks; pass task, one a row.")
        labels, _ = _labels(task, rows.n_rows, True)
        codes = np.zeros(rows.n_rows, dtype=np.int64) if task is None else self._codes(labels)
        return self._engine.score(rows, codes.astype(np.uint64))

    def predict(self, X, task=None):
        """Predictions for the rows, each by its task.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return super().predict(asked(X, task))

    def score(self, X, y, task=None, sample_weight=None):
        """Share of right classes, or coefficient of determination.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like
            What is true.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
        """
        return super().score(asked(X, task), y, sample_weight)

    def _check_loaded(self):
        """Refuse a file whose parts do not fit together."""
        if self.__sklearn_is_fitted__():
            engine = self._engine
            if (engine.features, engine.width, engine.tasks) != (self.n_features_in_, self._outputs(), len(self.tasks_)):
                raise ValueError("the state of training does not fit the number of columns, outputs and tasks")

    def _shape_coef(self, weights):
        if len(self.tasks_) == 1:
            return super()._shape_coef(weights)
        return weights if self._outputs() == 1 else weights.reshape(len(self.tasks_), self._outputs(), -1)

    def _shape_intercept(self, intercepts):
        if len(self.tasks_) == 1:
            return super()._shape_intercept(intercepts)
        return intercepts if self._outputs() == 1 else intercepts.reshape(len(self.tasks_), -1)


def _labels(task, n_rows: int, whole: bool):
    """Tasks of the next rows, and what is left of them; one task where none are given."""
    if task is None:
        return np.zeros(n_rows, dtype=np.int64), None
    labels = column_or_1d(np.asarray(task))
    if whole and len(labels) != n_rows:
        raise ValueError(f"task has {len(labels)} entries for {n_rows} rows; pass one a row.")
    if labels.dtype.kind == "O":
        labels = np.array([str(v) for v in labels]) if not all(isinstance(v, (int, float)) for v in labels) else labels.astype(float)
    return labels[:n_rows], labels[n_rows:]
