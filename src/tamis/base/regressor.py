"""Regressors: numbers as the columns that loops read, and scores as predictions."""

from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from tamis.base.border import take_numbers
from tamis.base.contents import early, flag, size
from tamis.base.rows import frozen


class Numbers(RegressorMixin):
    """Real targets of an online regressor, one or several a row, and its predictions."""

    _contents: ClassVar[dict] = {
        "_flat": early(flag()),
        "_n_targets": early(size("outputs", "targets")),
    }

    def _outputs(self):
        return self._n_targets

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, in several passes.

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

    def partial_fit(self, X, y, sample_weight=None):
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

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight)

    def _take_targets(self, y, n_rows, *, first, whole):
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = take_numbers(self, y, whole=whole)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        self._flat = y.ndim == 1 if first else self._flat
        y = y[:, None] if y.ndim == 1 else y
        if len(y) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[n_rows, len(y)]}"
            )
        if first:
            self._n_targets = y.shape[1]
        if y.shape[1] != self._n_targets:
            raise ValueError(
                f"y has {y.shape[1]} targets a row, but the model was begun with {self._n_targets}."
            )
        return frozen(np.ascontiguousarray(y))

    def _spans(self, y, n_rows, known):
        return [(0, n_rows)]

    def _strata(self, targets):
        return None

    def _weigh(self, targets, weights, *, whole):
        return weights

    def _judge(self, rows, targets, weights):
        """Weighted coefficient of determination on held-out rows."""
        weights = weights[:, None]
        residual = (weights * (targets - self._engine.score(rows)) ** 2).sum()
        spread = (weights * (targets - (weights * targets).sum(axis=0) / weights.sum()) ** 2).sum()
        return float(1.0 - residual / spread) if spread > 0 else 0.0

    def _shape_coef(self, weights):
        return weights[0] if self._flat else weights

    def _shape_intercept(self, intercepts):
        return intercepts

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
        scores = self._scores(X)
        return scores[:, 0] if self._flat else scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
