"""Base classes of the online multi-task models: tasks are coded with y, may be new at any row, and
are learnt in rounds or row by row.
"""

from functools import partial
from itertools import pairwise
from typing import ClassVar

import numpy as np

from tamis.base.estimators.classifier import StreamingClassifier
from tamis.base.estimators.explaining import Predictor
from tamis.base.estimators.group_stream import (
    OnlineAlphaMixin,
    OnlineGroupModel,
    OnlineGroupTerms,
    is_multiclass_flag,
)
from tamis.base.estimators.regressor import StreamingRegressor
from tamis.base.parameters import BOOL, estimator, one_of_strings, parameter
from tamis.base.validation import inconsistent_state_error
from tamis.methods.multitask.state import (
    AS_WEIGHTED,
    BALANCED,
    BALANCED_SO_FAR,
    BY_ROUNDS,
    MultiTaskState,
)
from tamis.methods.multitask.task_penalties import (
    L1WeightParameter,
    TaskPenaltyParameter,
    make_blocks,
    penalty_weights,
)
from tamis.methods.multitask.task_targets import (
    TaskTargets,
    labels_of_rows,
    new_labels,
    validate_task_labels,
)
from tamis.system.schema import nested_object
from tamis.system.threads import locked


@estimator
class OnlineTaskModel(L1WeightParameter, OnlineAlphaMixin, TaskPenaltyParameter, OnlineGroupModel):
    """Base of the online models of several tasks: parameters and state."""

    protocol: str = parameter(
        "auto",
        [one_of_strings("auto", "round", "stream")],
        '"round": a step takes one row of every task; short tasks come round again. "stream": a '
        "step takes one row, as it comes, and the penalty is divided by the number of tasks, so "
        'that the same `alpha` means the same model. "auto" makes rounds in `fit` and streams in '
        '`partial_fit`, where only "stream" can be.',
    )
    balance_tasks: bool = parameter(
        True,
        [BOOL],
        "Whether rows of a stream are weighed so that every task counts alike; `partial_fit` "
        "counts the rows so far. In rounds they do without.",
    )

    def _model(self) -> OnlineGroupTerms:
        return self._dual_averaging(
            partial(make_blocks, self), has_l1=penalty_weights(self)[1] > 0.0
        )

    def _partial_fit(self, X, y, sample_weight, classes=None, task=None, offset=None):
        if self.protocol == "round":
            raise ValueError(
                "protocol='round' needs all rows of all tasks; partial_fit streams. Pass "
                "protocol='auto' or 'stream'."
            )
        return super()._partial_fit(X, y, sample_weight, classes, task, offset)

    def _new_state(
        self, model: OnlineGroupTerms, targets, n_features: int, is_fit: bool
    ) -> MultiTaskState:
        shape = n_features, targets.outputs, len(targets.tasks)
        solver_state = MultiTaskState(model.terms, model.flags, *shape, model.blocks(n_features))
        solver_state.softmax = is_multiclass_flag(targets)
        return self._set_protocol(solver_state, is_fit)

    def _updated_state(
        self, solver_state, model: OnlineGroupTerms, targets, n_features: int, is_fit: bool
    ):
        solver_state = super()._updated_state(solver_state, model, targets, n_features, is_fit)
        if len(targets.tasks) > solver_state.tasks:
            solver_state = solver_state.with_tasks(len(targets.tasks) - solver_state.tasks)
        return self._set_protocol(solver_state, is_fit)

    def _set_protocol(self, solver_state: MultiTaskState, is_fit: bool) -> MultiTaskState:
        """Set how the state learns; with one task, rounds are row by row."""
        if is_fit and self.protocol != "stream" and solver_state.tasks > 1:
            solver_state.protocol = BY_ROUNDS
        elif self.balance_tasks:
            solver_state.protocol = BALANCED if is_fit else BALANCED_SO_FAR
        else:
            solver_state.protocol = AS_WEIGHTED
        return solver_state


class OnlineTaskMixin(Predictor):
    """Mixin of online models whose rows each belong to a task."""

    _contents: ClassVar[dict] = {
        "_solver_state": nested_object(MultiTaskState, "columns", "tasks", width="outputs")
    }
    _supports_live = False  # a row needs its task

    def _encode_targets(self, y, n_rows: int, task=None, known=None, **options):
        """Return the targets with their tasks, and both encoded."""
        inside = None if known is None else known.inside
        targets, coded = super()._encode_targets(y, n_rows, known=inside, **options)
        targets, codes = TaskTargets.of(targets, labels_of_rows(task, n_rows), known)
        return targets, coded._replace(tasks=codes)

    def _row_spans(self, y, n_rows: int, has_begun: bool, classes=None, task=None):
        """Return spans of rows that also start where a task is new, since it exists from its first
        row on.
        """
        spans = super()._row_spans(y, n_rows, has_begun, classes)
        row_labels = labels_of_rows(task, n_rows)
        added = new_labels(row_labels, self._targets.tasks) if has_begun else new_labels(row_labels)
        values, first = np.unique(row_labels, return_index=True)
        cuts = {*first[np.isin(values, added)].tolist(), *(row for span in spans for row in span)}
        return list(pairwise(sorted(cuts)))

    # ------------------------------------------------------------------ fitted attributes
    def _scores(self, X, task=None):
        """Return the scores of each row by its task."""
        solver_state, rows = self._state_and_rows(X)
        codes = self._targets.prediction_codes(task, rows.n_rows, type(self).__name__)
        if codes.max(initial=0) >= solver_state.tasks:
            raise inconsistent_state_error(self)
        return solver_state.score(rows, codes)

    def _consistent_state(self, name: str) -> tuple[MultiTaskState, TaskTargets]:
        """Return state and targets if they belong together: another thread may be replacing
        both.
        """
        solver_state, targets = self._fitted_state(name), self._targets
        if (solver_state.tasks, solver_state.width) != (len(targets.tasks), targets.outputs):
            raise inconsistent_state_error(self)
        return solver_state, targets

    @property
    def coef_(self):
        """Weights by task; sparse after `sparsify`, with the outputs of all tasks as rows."""
        solver_state, targets = self._consistent_state("coef_")
        if getattr(self, "_sparse", False):
            return super().coef_
        return targets.shape_coef(solver_state.weights())

    @property
    def intercept_(self):
        """Intercepts by task."""
        solver_state, targets = self._consistent_state("intercept_")
        return targets.shape_intercepts(solver_state.intercepts())


class OnlineTaskClassifierMixin(OnlineTaskMixin, StreamingClassifier):  # type: ignore[misc]
    """Mixin of online classifiers of several tasks."""

    @locked
    def partial_fit(  # type: ignore[override]
        self, X, y, task=None, classes=None, sample_weight=None
    ):
        """Learn from the next rows of a stream, once, in their order; tasks may be new, and chunks
        do not matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        classes : array-like, default=None
            All classes; needed in the first call, unless ``grow=True`` or y is a matrix of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._partial_fit(
            X, y, sample_weight, task=validate_task_labels(task), classes=classes
        )


class OnlineTaskRegressorMixin(OnlineTaskMixin, StreamingRegressor):
    """Mixin of online regressors of several tasks."""

    @locked
    def partial_fit(self, X, y, task=None, sample_weight=None):  # type: ignore[override]
        """Learn from the next rows of a stream, once, in their order; tasks may be new, and chunks
        do not matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight, task=validate_task_labels(task))
