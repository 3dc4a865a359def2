"""Tasks in a stream: coded beside y, met at their first row, learnt in rounds or as they come."""

from functools import partial
from itertools import pairwise
from typing import ClassVar

import numpy as np

from tamis.base.estimators.classifier import ClassStream
from tamis.base.estimators.explaining import Predictor
from tamis.base.estimators.group_stream import GroupModel, OnlineBlocks, Strength, excludes
from tamis.base.estimators.regressor import NumberStream
from tamis.base.parameters import BOOL, estimator, one_of, parameter
from tamis.base.validation import half_fitted
from tamis.methods.multitask.task_penalties import L1Weight, TaskPenalty, blocks_of, prices
from tamis.methods.multitask.task_targets import TaskTargets, first_ones, of_rows, take_labels
from tamis.methods.multitask.state import ALIKE, ALIKE_SO_FAR, PLAIN, ROUNDS, TaskEngine
from tamis.system.schema import part
from tamis.system.threads import locked


@estimator
class TaskBlocks(L1Weight, Strength, TaskPenalty, OnlineBlocks):
    """Streams of several tasks: parameters and engines."""

    protocol: str = parameter(
        "auto",
        [one_of("auto", "round", "stream")],
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

    def _model(self) -> GroupModel:
        return self._dual_averaging(partial(blocks_of, self), has_l1=prices(self)[1] > 0.0)

    def _partial_fit(self, X, y, sample_weight, classes=None, task=None, offset=None):
        if self.protocol == "round":
            raise ValueError(
                "protocol='round' needs all rows of all tasks; partial_fit streams. Pass "
                "protocol='auto' or 'stream'."
            )
        return super()._partial_fit(X, y, sample_weight, classes, task, offset)

    def _begin(self, model: GroupModel, targets, n_features: int, is_fit: bool) -> TaskEngine:
        sizes = n_features, targets.outputs, len(targets.tasks)
        engine = TaskEngine(model.terms, model.flags, *sizes, model.blocks(n_features))
        engine.softmax = excludes(targets)
        return self._by_protocol(engine, is_fit)

    def _renew(self, engine, model: GroupModel, targets, n_features: int, is_fit: bool):
        engine = super()._renew(engine, model, targets, n_features, is_fit)
        if len(targets.tasks) > engine.tasks:
            engine = engine.with_tasks(len(targets.tasks) - engine.tasks)
        return self._by_protocol(engine, is_fit)

    def _by_protocol(self, engine: TaskEngine, is_fit: bool) -> TaskEngine:
        """The engine as it is to walk; with one task rounds are a stream."""
        if is_fit and self.protocol != "stream" and engine.tasks > 1:
            engine.protocol = ROUNDS
        elif self.balance_tasks:
            engine.protocol = ALIKE if is_fit else ALIKE_SO_FAR
        else:
            engine.protocol = PLAIN
        return engine


class TaskStream(Predictor):
    """A stream of classes or numbers whose rows each belong to a task."""

    _contents: ClassVar[dict] = {"_engine": part(TaskEngine, "columns", "tasks", width="outputs")}
    _lives = False  # a row needs its task

    def _code(self, y, n_rows: int, task=None, known=None, **how):
        """Targets with their tasks, and both as loops read them."""
        inside = None if known is None else known.inside
        targets, coded = super()._code(y, n_rows, known=inside, **how)
        targets, codes = TaskTargets.of(targets, of_rows(task, n_rows), known)
        return targets, coded._replace(tasks=codes)

    def _spans(self, y, n_rows: int, begun: bool, classes=None, task=None):
        """Cut a chunk also where a task is met for the first time: it exists from its first row
        on.
        """
        spans = super()._spans(y, n_rows, begun, classes)
        found = of_rows(task, n_rows)
        new = first_ones(found, self._targets.tasks) if begun else first_ones(found)
        values, first = np.unique(found, return_index=True)
        cuts = {*first[np.isin(values, new)].tolist(), *(at for span in spans for at in span)}
        return list(pairwise(sorted(cuts)))

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X, task=None):
        """Scores of each row's own task."""
        engine, rows = self._asked(X)
        codes = self._targets.asked(task, rows.n_rows, type(self).__name__)
        if codes.max(initial=0) >= engine.tasks:
            raise half_fitted(self)
        return engine.score(rows, codes)

    def _shown(self, name: str) -> tuple[TaskEngine, TaskTargets]:
        """Engine and targets that go together: another thread may be putting new ones in place."""
        engine, targets = self._fitted(name), self._targets
        if (engine.tasks, engine.width) != (len(targets.tasks), targets.outputs):
            raise half_fitted(self)
        return engine, targets

    @property
    def coef_(self):
        """Weights by task; sparse after `sparsify`, with the outputs of all tasks as rows."""
        engine, targets = self._shown("coef_")
        if getattr(self, "_sparse", False):
            return super().coef_
        return targets.shaped(engine.weights())

    @property
    def intercept_(self):
        """Intercepts by task."""
        engine, targets = self._shown("intercept_")
        return targets.shaped_intercepts(engine.intercepts())


class TaskClassStream(TaskStream, ClassStream):  # type: ignore[misc]
    """A stream of classes of several tasks."""

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
        return self._partial_fit(X, y, sample_weight, task=take_labels(task), classes=classes)


class TaskNumberStream(TaskStream, NumberStream):
    """A stream of numbers of several tasks."""

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
        return self._partial_fit(X, y, sample_weight, task=take_labels(task))
