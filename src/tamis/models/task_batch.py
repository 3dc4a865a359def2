"""What the two batch multi-task models share: tasks beside the rows, and what a fit of several tasks shows."""

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from tamis._checks import frozen, take_matrix
from tamis.loops.group_rows import score_own
from tamis.models.batch import SOLVING, BatchModel
from tamis.models.constraints import NUMBER
from tamis.models.groups import take_groups
from tamis.solvers.group_design import TaskDesign
from tamis.solvers.group_losses import RowLosses
from tamis.solvers.group_models import GramStore
from tamis.solvers.group_solver import Problem

PENALTIES = {"individual": (0.0, 1.0), "shared": (1.0, 0.0), "shared+sparse": (1.0, None)}  # weights of norm and of L1
TASKS = {
    **{name: rule for name, rule in SOLVING.items() if name not in ("solver", "warm_start")},
    "penalty": [StrOptions(set(PENALTIES))],
    "l1_weight": [NUMBER],
}


class TaskModel(BatchModel):
    """Batch models whose rows each belong to a task."""

    solver, warm_start = "auto", False

    def _take_beside(self, name, task, n_rows: int) -> np.ndarray:
        """Number of each row's task; tasks are sorted."""
        labels = task_labels(task, n_rows)
        self.tasks_, codes = np.unique(labels, return_inverse=True)
        return codes

    def _problem(self, table, targets, weights, task) -> Problem:
        present = np.unique(task)
        if len(present) < len(self.tasks_):
            raise ValueError(f"task {np.delete(self.tasks_, present).tolist()[0]!r} has only rows of weight 0; leave them out.")
        rows = take_matrix(self, table, reset=False)
        weights = weights / np.bincount(task, weights=weights)[task]
        norm, inside = PENALTIES[self.penalty]
        blocks = take_groups(None, rows.n_features, group_weights=norm, l1_weights=float(self.l1_weight) if inside is None else inside)
        design = TaskDesign(rows, task, weights, len(self.tasks_), self.fit_intercept)
        return Problem(design, RowLosses(self._loss(), targets, weights), blocks, self.fit_intercept, "auto", GramStore())

    def _scores_of(self, X, task) -> np.ndarray:
        """Scores (rows, 1), each by the weights of its task."""
        check_is_fitted(self)
        rows = take_matrix(self, X, reset=False)
        codes = self._codes(task_labels(task, rows.n_rows, self.tasks_))
        scores = np.empty((rows.n_rows, 1))
        score_own(*rows[:3], codes.astype(np.uint64), np.ascontiguousarray(self.coef_.T), scores)
        return scores + self.intercept_[codes][:, None]

    def _codes(self, labels) -> np.ndarray:
        codes = np.minimum(np.searchsorted(self.tasks_, labels), len(self.tasks_) - 1)
        unknown = self.tasks_[codes] != labels
        if unknown.any():
            raise ValueError(
                f"task {labels[unknown].tolist()[0]!r} is unknown; the tasks of this {type(self).__name__} are {self.tasks_[:10].tolist()}."
            )
        return codes


def task_labels(task, n_rows: int, known=None) -> np.ndarray:
    """Label of each row's task; None where there is one task."""
    if task is None:
        if known is not None and len(known) > 1:
            raise ValueError(f"this model has {len(known)} tasks; pass task, one label a row, from {known[:10].tolist()}.")
        return np.zeros(n_rows, dtype=np.int64) if known is None else np.repeat(known, n_rows)
    labels = column_or_1d(task)
    if len(labels) != n_rows:
        raise ValueError(f"task has {len(labels)} labels for {n_rows} rows.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("task holds nan; every row needs a task.")
    return frozen(labels.astype(str) if labels.dtype.kind == "O" else labels)
