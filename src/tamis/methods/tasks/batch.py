"""What the two batch multi-task models share: tasks beside the rows, one problem of all of them."""

from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import half_fitted, take_matrix
from tamis.base.contents import array, early, labels, one_of
from tamis.base.parameters import NUMBER
from tamis.methods.tasks.rows import PENALTIES, in_order, take_tasks
from tamis.solvers.block_descent.design import TaskDesign
from tamis.solvers.block_descent.estimator import SOLVING, BatchModel, smooth_of
from tamis.solvers.block_descent.loop_rows import score_own
from tamis.solvers.block_descent.models import GramStore
from tamis.solvers.block_descent.solver import Problem

TASKS = {
    **{name: rule for name, rule in SOLVING.items() if name not in ("solver", "warm_start")},
    "penalty": [StrOptions(set(PENALTIES))],
    "l1_weight": [NUMBER],
}


class TaskModel(BatchModel):
    """Batch models whose rows each belong to a task; `TaskRows` stands left of it."""

    _contents: ClassVar[dict] = {
        "_last": None,
        "tasks_": early(labels("tasks", ascending=False)),
        "coef_": one_of(
            array("f8", "tasks*outputs", "columns"),
            array("f8", "tasks", "outputs", "columns"),
            array("f8", "tasks*outputs*columns"),
        ),
        "intercept_": one_of(array("f8", "tasks*outputs"), array("f8", "tasks", "outputs")),
    }
    solver, warm_start = "auto", False

    def _take_beside(self, name, task, n_rows: int) -> np.ndarray:
        """Label of each row's task."""
        return np.zeros(n_rows, dtype=np.int64) if task is None else take_tasks(task, n_rows)

    def _problem(self, table, targets, weights, task) -> Problem:
        self.tasks_ = in_order(task)
        task = self._codes(task)
        rows = take_matrix(self, table, reset=False)
        weights = weights / np.bincount(task, weights=weights)[task]
        design = TaskDesign(
            rows, task, weights, len(self.tasks_), self._outputs(), self.fit_intercept
        )
        smooth = smooth_of(self._loss(), targets, self._outputs(), weights)
        return Problem(
            design, smooth, self._blocks(rows.n_features), self.fit_intercept, "auto", GramStore()
        )

    def _score_asked(self, X, codes_of) -> np.ndarray:
        """Scores (rows, outputs), each by the weights of its task."""
        check_is_fitted(self)
        rows = take_matrix(self, X, reset=False)
        codes, coef, intercept, width, tasks = (
            codes_of(rows.n_rows),
            self.coef_,
            self.intercept_,
            self._outputs(),
            len(self.tasks_),
        )
        if (np.size(coef), np.size(intercept)) != (
            tasks * width * rows.n_features,
            tasks * width,
        ) or codes.max(initial=0) >= tasks:
            raise half_fitted(self)
        scores = np.empty((rows.n_rows, width))
        score_own(
            *rows[:3], codes, np.ascontiguousarray(np.reshape(coef, (tasks * width, -1)).T), scores
        )
        return scores + np.reshape(intercept, (tasks, width))[codes]
