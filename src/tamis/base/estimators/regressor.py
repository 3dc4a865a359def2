"""Base classes of regressors."""

from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from tamis.base.estimators.explaining import Predictor
from tamis.base.fast_checks import check_scores_memory
from tamis.base.model_terms import check_targets
from tamis.base.targets import NumberTargets
from tamis.base.validation import validate_sample_weight
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.path.losses import BoundRowLoss, inverse_links
from tamis.system.schema import nested_object, set_early
from tamis.system.threads import locked


class Regressor(RegressorMixin, Predictor):
    """Base of regressors; a method adds `_fit` and `_scores`."""

    _contents: ClassVar[dict] = {
        "_targets": set_early(nested_object(NumberTargets, "outputs", "targets"))
    }

    @locked
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight)

    def _encode_targets(self, y, n_rows: int, **known) -> tuple[NumberTargets, EncodedTargets]:
        """Return encoded targets and their columns."""
        targets, encoded = NumberTargets.encode(y, n_rows, self, **known)
        check_targets(self._row_loss(), encoded.columns)
        return targets, encoded

    def _row_loss(self):
        """Return the loss term, None if the model has none."""
        return self._loss() if hasattr(self, "_loss") else None

    def predict(self, X):
        """Predictions for the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        targets, scores = self._targets_and_scores(X)
        return targets.predict(self._means(scores))

    def _means(self, scores: np.ndarray) -> np.ndarray:
        """Return the inverse link of the scores, if the loss has one."""
        loss = self._row_loss()
        return inverse_links(loss, scores) if hasattr(loss, "inverse_link") else scores

    def _min_loss(self, columns: np.ndarray, weights: np.ndarray) -> float:
        """Return the lowest mean loss that these targets allow, 0 for a loss of the residual."""
        loss = self._row_loss()
        if not hasattr(loss, "inverse_link"):
            return 0.0
        weights = weights if len(weights) else np.ones(len(columns))
        return BoundRowLoss(loss, columns, weights / weights.sum()).best_loss() / columns.shape[1]

    def score(self, X, y, sample_weight=None):
        """Coefficient of determination; for a loss with an inverse link, the fraction of deviance
        explained compared with the best constant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        score : float
        """
        loss = self._row_loss()
        if not hasattr(loss, "inverse_link"):
            return super().score(X, y, sample_weight)
        return self._deviance_explained(loss, self._targets_and_scores(X)[1], y, sample_weight)

    def _deviance_explained(self, loss, scores, y, sample_weight) -> float:
        """Return the fraction of deviance that scores explain, summed over outputs."""
        columns = self._encode_targets(y, len(scores), known=self._targets, is_fit=False)[1].columns
        weights = validate_sample_weight(sample_weight, len(scores), require_positive=True)
        weights = np.ones(len(scores)) if not len(weights) else weights
        bound = BoundRowLoss(loss, columns, weights / weights.sum())
        best, null = bound.best_loss(), bound.null_loss()
        return 1.0 - (bound.value(scores) - best) / (null - best) if null > best else 0.0

    def _targets_and_scores(self, X, *task) -> tuple[NumberTargets, np.ndarray]:
        """Return targets, and scores of the rows."""
        if "_targets" in vars(self):
            check_scores_memory(X, self._targets.outputs)
        scores = self._scores(X, *task)
        return self._targets, scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class StreamingRegressor(Regressor):
    """A regressor that learns from a stream."""

    @locked
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from the next rows of a stream, once and in their order.

        The result does not depend on how the rows are split into calls.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight)
