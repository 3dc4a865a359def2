"""Base classes of the first-order online models: their state, their parameters, and classifier and
regressor.
"""

import math
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from tamis.base.column_penalties import check_ridge, column_penalties, is_by_column
from tamis.base.estimators.classifier import StreamingClassifier
from tamis.base.estimators.mean import path_contents
from tamis.base.estimators.offsets import OffsetClassifier, OffsetRegressor
from tamis.base.estimators.regressor import StreamingRegressor
from tamis.base.estimators.stream import EarlyStoppingModel, GrowingModel
from tamis.base.model_terms import FirstOrderModel, is_smooth, resolve_loss
from tamis.base.parameters import (
    ARRAY_LIKE,
    AUTO,
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    TERM,
    UNIT_INTERVAL,
    Auto,
    TermLike,
    estimator,
    parameter,
)
from tamis.solvers.first_order.state import FirstOrderState, by_column_of
from tamis.system.threads import count_threads, locked
from tamis.terms.optimizers import Averaged, ByColumn, DualAveraging


@estimator(kw_only=True)
class FirstOrder(GrowingModel, EarlyStoppingModel):
    """Base of the first-order online models. A subclass adds its parameters and `_model`, which
    returns its terms.
    """

    positive: Any = parameter(
        False,
        [BOOL, ARRAY_LIKE, dict],
        "Whether weights must not be negative. An array, or a mapping of columns (by index or "
        "name) to signs, says it of each: 1 holds the weight at 0 or above, -1 at 0 or below, 0 "
        "leaves it free.",
        "bool, array-like of shape (n_features,) or dict",
    )
    average: bool = parameter(
        False,
        [BOOL],
        "Whether to show weights averaged over the steps of each feature's present stay in the "
        "support; zeros stay zeros. Costs 8 bytes a column and output.",
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Threads over the classes or targets; the result does not depend on it.",
    )
    _contents: ClassVar[dict] = path_contents(FirstOrderState)

    def _loss(self):
        return resolve_loss(self)

    def _threads(self) -> int:
        return count_threads(self.n_jobs)

    def _refuse_sums(self) -> str:
        """Return why the model cannot learn by steps of many rows at once, whose gradients are
        summed over partitions; empty if it can.
        """
        loss, _, optimizer, _ = self._model().terms
        if is_smooth(loss) and not math.isfinite(loss.hessian_bound()):
            return "a step by many rows at once needs a bounded second derivative of the loss"
        is_averaged = isinstance(optimizer, Averaged)
        while isinstance(optimizer, Averaged | ByColumn):
            optimizer = optimizer.optimizer
        if not isinstance(optimizer, DualAveraging):
            return "its weights are not a function of a sum of gradients"
        if is_averaged:
            return "it averages each feature's weight separately; pass average=False"
        return ""

    def _new_state(
        self, model: FirstOrderModel, targets, n_features: int, is_fit: bool
    ) -> FirstOrderState:
        penalties = self._column_penalties(model, n_features) if is_by_column(self) else None
        return FirstOrderState(*model, n_features, targets.outputs, penalties)

    def _column_penalties(self, model: FirstOrderModel, n_features: int):
        """Return the penalty weights and signs of the columns, (2, n_features)."""
        penalties = column_penalties(self, n_features)
        check_ridge(self, model.terms, penalties[0])
        return penalties

    def _updated_state(
        self, solver_state, model: FirstOrderModel, targets, n_features, is_fit
    ) -> FirstOrderState:
        optimizer, old_optimizer = model.terms[2], solver_state.terms[2]
        has_column_penalties = by_column_of(optimizer) is not None
        had_column_penalties = by_column_of(old_optimizer) is not None
        if (
            optimizer.columns() != old_optimizer.columns()
            or has_column_penalties != had_column_penalties
        ):
            raise ValueError(
                f"{type(self).__name__}: `optimizer`, `theta`, `average`, or whether columns have "
                "weights or signs, changed since the model was fitted; call fit with "
                "warm_start=False."
            )
        is_wider = n_features > solver_state.features
        penalties = None
        if has_column_penalties:
            penalties = self._changed_penalties(solver_state, model, n_features)
        solver_state.terms, solver_state.flags = model
        return solver_state.grown(n_features, penalties) if is_wider else solver_state

    def _changed_penalties(self, solver_state, model: FirstOrderModel, n_features: int):
        """Return the penalty weights and signs of the columns, or None if nothing that they depend
        on has changed.
        """
        params = getattr(self, "penalty_weights", None), self.positive
        old_params = solver_state.penalty_params
        is_unchanged = params[0] is old_params[0] and params[1] is old_params[1]
        if (
            is_unchanged
            and n_features == solver_state.features
            and model.terms[1] == solver_state.terms[1]
        ):
            return None
        penalties = self._column_penalties(model, n_features)
        if not np.array_equal(
            penalties[:, : solver_state.features], solver_state.column_penalties[:, :, 0]
        ):
            raise ValueError(
                f"{type(self).__name__}: the weights or signs of columns changed since the model "
                "was fitted, but pending penalties depend on them; call fit with warm_start=False."
            )
        solver_state.penalty_params = params
        return penalties

    @property
    def resolved_params_(self):
        """Present values of the automatic constants."""
        constants = self._fitted_state("resolved_params_").constants()
        return dict(zip(("eta", "l1", "l2"), constants, strict=True))


class FirstOrderClassifier(StreamingClassifier, OffsetClassifier, FirstOrder):
    """Base of the first-order online classifiers."""

    @locked
    def partial_fit(self, X, y, classes=None, sample_weight=None, offset=None):
        """Learn from the next rows of a stream, once, in their order; how they are cut into calls
        does not matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        classes : array-like, default=None
            All classes; needed in the first call, unless ``grow=True`` or y is a matrix of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was begun with one needs it in every call, and to predict.

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight, classes=classes, offset=offset)


class FirstOrderRegressor(StreamingRegressor, OffsetRegressor, FirstOrder):
    """Base of the first-order online regressors."""

    @locked
    def partial_fit(self, X, y, sample_weight=None, offset=None):
        """Learn from the next rows of a stream, once, in their order; how they are cut into calls
        does not matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was begun with one needs it in every call, and to predict.

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight, offset=offset)


# ---------------------------------------------------------------- shared parameters
@estimator
class Penalised(FirstOrder):
    """Models with a penalty and its strength."""

    alpha: float | Auto = parameter(
        "auto",
        [NON_NEGATIVE, AUTO],
        'Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope '
        "of the loss at score 0 times the mean norm of the rows so far, which follows the scale "
        "of the data.",
    )
    l1_ratio: float = parameter(
        1.0, [UNIT_INTERVAL], "Share of L1 in the penalty; the rest is ridge."
    )
    penalty_weights: Any = parameter(
        None,
        [ARRAY_LIKE, dict, None],
        "What multiplies the penalty of each column: an array, or a mapping of columns (by index "
        "or name) to weights, where others have 1. A column of weight 0 is never penalised.",
        "array-like of shape (n_features,) or dict",
        kw_only=True,
    )


@estimator
class ScheduledDescent(FirstOrder):
    """Models that descend with the step sizes of a schedule."""

    learning_rate: TermLike = parameter(
        "inverse_sqrt",
        TERM,
        'Step sizes: "inverse_sqrt", "inverse_time", "constant", or a term.',
    )
    eta: float | Auto = parameter(
        "auto",
        [POSITIVE, AUTO],
        'Size of the first steps. "auto" is 1 over the loss\'s curvature (4 where it has none) '
        "over the squared mean norm of the rows so far.",
    )
