"""What the first-order models share: terms from parameters, an engine of them, and the classes that
recipes stand on.
"""

from numbers import Integral
from typing import ClassVar

from tamis.base.estimators.classifier import ClassStream
from tamis.base.estimators.mean import contents_with_paths
from tamis.base.estimators.offsets import OffsetClassifier, OffsetRegressor
from tamis.base.estimators.regressor import NumberStream
from tamis.base.estimators.stream import Growing, HeldOut
from tamis.base.model_parts import FirstOrderModel, loss_of
from tamis.base.parameters import (
    ABOVE,
    AUTO,
    BOOL,
    NUMBER,
    SHARE,
    TERM,
    Auto,
    TermLike,
    estimator,
    parameter,
)
from tamis.solvers.first_order.state import Engine
from tamis.system.threads import count_threads, locked


@estimator(kw_only=True)
class FirstOrder(Growing, HeldOut):
    """Base of the first-order online models; a recipe adds its parameters and `_model`."""

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
    _contents: ClassVar[dict] = contents_with_paths(Engine)

    def _loss(self):
        return loss_of(self)

    def _threads(self) -> int:
        return count_threads(self.n_jobs)

    def _begin(self, model: FirstOrderModel, targets, n_features: int, is_fit: bool) -> Engine:
        return Engine(*model, n_features, targets.outputs)

    def _renew(self, engine, model: FirstOrderModel, targets, n_features, is_fit) -> Engine:
        if model.terms[2].columns() != engine.terms[2].columns():
            raise ValueError(
                f"{type(self).__name__}: `optimizer`, `theta` or `average` changed since the model "
                "was fitted; call fit with warm_start=False."
            )
        engine.terms, engine.flags = model
        return engine.grown(n_features) if n_features > engine.features else engine

    @property
    def resolved_params_(self):
        """The automatic constants as they stand after the rows seen so far."""
        constants = self._fitted("resolved_params_").constants()
        return dict(zip(("eta", "l1", "l2"), constants, strict=True))


class FirstOrderClassifier(ClassStream, OffsetClassifier, FirstOrder):
    """A first-order model of classes or labels."""

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


class FirstOrderRegressor(NumberStream, OffsetRegressor, FirstOrder):
    """A first-order model of numbers."""

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


# ---------------------------------------------------------------- parameters that recipes share
@estimator
class Penalised(FirstOrder):
    """Recipes with a penalty of a strength."""

    alpha: float | Auto = parameter(
        "auto",
        [NUMBER, AUTO],
        'Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope '
        "of the loss at score 0 times the mean norm of the rows so far, which follows the scale "
        "of the data.",
    )
    l1_ratio: float = parameter(1.0, [SHARE], "Share of L1 in the penalty; the rest is ridge.")


@estimator
class Stepping(FirstOrder):
    """Recipes that descend by steps of a schedule."""

    learning_rate: TermLike = parameter(
        "inverse_sqrt",
        TERM,
        'Step sizes: "inverse_sqrt", "inverse_time", "constant", or a term.',
    )
    eta: float | Auto = parameter(
        "auto",
        [ABOVE, AUTO],
        'Size of the first steps. "auto" is 1 over the loss\'s curvature (4 where it has none) '
        "over the squared mean norm of the rows so far.",
    )
