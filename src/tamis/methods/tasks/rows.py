"""Rows that each belong to a task: their labels, the penalties of a feature over the tasks, and
predictions by task.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if

from tamis.base.border import half_fitted
from tamis.base.classifier import is_logistic
from tamis.solvers.block_descent.groups import take_groups
from tamis.solvers.block_descent.loop_blocks import Blocks

PENALTIES = {
    "individual": (0.0, 1.0),
    "shared": (1.0, 0.0),
    "shared+sparse": (1.0, None),
}  # weights of norm and of L1


class Asked(NamedTuple):
    """Rows, and the task of each."""

    X: Any
    task: Any


def asked(X, task) -> Asked:
    """Rows and tasks together, on their way through methods that know only rows."""
    return X if isinstance(X, Asked) else Asked(X, task)


def take_tasks(task, n_rows: int | None) -> np.ndarray:
    """Label of each row's task, numbers or words; with None for the number of rows there may be
    any.
    """
    labels = column_or_1d(np.asarray(task))
    if n_rows is not None and len(labels) != n_rows:
        raise ValueError(f"task has {len(labels)} entries for {n_rows} rows; pass one a row.")
    if labels.dtype.kind == "O":
        words = not all(isinstance(v, int | float) for v in labels)
        labels = np.array([str(v) for v in labels]) if words else labels.astype(float)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("task holds nan; every row needs a task.")
    return labels


def in_order(labels) -> np.ndarray:
    """The labels that there are, in the order in which they come first."""
    values, first = np.unique(labels, return_index=True)
    return values[np.argsort(first)]


class TaskRows:
    """Models of several tasks; stands left of the mixins for classes and numbers.

    One adds `_score_asked(X, codes_of)`.
    """

    def _pulls(self) -> tuple[float, float]:
        """Weights of a feature's norm over the tasks and of L1 inside it."""
        norm, inside = PENALTIES[self.penalty]  # type: ignore[attr-defined]
        return norm, float(self.l1_weight) if inside is None else inside  # type: ignore[attr-defined]

    def _blocks(self, n_columns: int) -> Blocks:
        norm, inside = self._pulls()
        return take_groups(None, n_columns, group_weights=norm, l1_weights=inside)

    def _codes(self, labels):
        """Numbers of the tasks; an unknown one is refused."""
        tasks = self.tasks_
        order = np.argsort(tasks)
        places = np.minimum(np.searchsorted(tasks, labels, sorter=order), len(order) - 1)
        codes = order[places]
        if not np.array_equal(tasks[codes], labels):
            bad = np.asarray(labels)[tasks[codes] != labels].tolist()[0]
            raise ValueError(
                f"task {bad!r} is unknown; the tasks of this {type(self).__name__} are "
                f"{tasks[:10].tolist()}."
            )
        return codes

    def _scores(self, X):
        """Scores of each row's own task."""
        X, task = asked(X, None)

        def codes_of(n_rows):
            if task is None and len(self.tasks_) > 1:
                raise ValueError(
                    f"{type(self).__name__} knows {len(self.tasks_)} tasks; pass task, one a row."
                )
            return (
                np.zeros(n_rows, dtype=np.uint64)
                if task is None
                else self._codes(take_tasks(task, n_rows)).astype(np.uint64)
            )

        return self._score_asked(X, codes_of)

    def _shape_coef(self, weights):
        tasks, outputs = self._laid(weights)
        if tasks == 1:
            return super()._shape_coef(weights)
        return weights if outputs == 1 else weights.reshape(tasks, outputs, -1)

    def _shape_intercept(self, intercepts):
        tasks, outputs = self._laid(intercepts)
        if tasks == 1:
            return super()._shape_intercept(intercepts)
        return intercepts if outputs == 1 else intercepts.reshape(tasks, -1)

    def _laid(self, numbers):
        """Tasks and outputs of a task, which lie one after another in the numbers; a stream that
        has just met a task may not have them yet.
        """
        tasks, outputs = len(self.tasks_), self._outputs()
        if len(numbers) != tasks * outputs:
            raise half_fitted(self)
        return tasks, outputs

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


class TaskScores:
    """Scores and probabilities of classes by task; stands left of `TaskRows`."""

    def decision_function(self, X, task=None):
        """Scores of the rows, each by its task.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return super().decision_function(asked(X, task))

    @available_if(is_logistic)
    def predict_proba(self, X, task=None):
        """Probabilities of the classes, each by its task, for ``loss="logistic"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        return super().predict_proba(asked(X, task))

    @available_if(is_logistic)
    def predict_log_proba(self, X, task=None):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        return super().predict_log_proba(asked(X, task))
