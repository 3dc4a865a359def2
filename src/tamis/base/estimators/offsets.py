"""Models with an offset: a number per row, such as the logarithm of an exposure."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from tamis.base.estimators.classifier import ProbabilisticClassifier, has_probabilities
from tamis.base.estimators.estimator import Estimator
from tamis.base.estimators.regressor import Regressor
from tamis.base.targets import Targets
from tamis.base.validation import validate_offset
from tamis.system.schema import flag, optional
from tamis.system.threads import locked


class OffsetMixin(Estimator):
    """A model with an optional offset."""

    _contents: ClassVar[dict] = {"_has_offset": optional(flag())}
    _has_offset = False

    def _offset_scores(self, X, offset, *task) -> tuple[Any, np.ndarray]:
        """Return targets, and scores with the offset.

        A model that was fitted with an offset needs one.
        """
        targets, scores = self._targets_and_scores(X, *task)
        if offset is None:
            if self._has_offset:
                raise ValueError(missing_offset(self))
            return targets, scores
        refuse_offset(targets)
        return targets, scores + validate_offset(offset, len(scores))[:, None]


class OffsetRegressor(OffsetMixin, Regressor):
    """A regressor with an optional offset."""

    @locked
    def fit(self, X, y, sample_weight=None, offset=None):
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        offset : array-like of shape (n_samples,), default=None
            A number per row that is added to its score, such as the logarithm of an exposure. A
            model that was fitted with an offset needs one to predict, too.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, offset=offset)

    def predict(self, X, offset=None):
        """Predictions for the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        offset : array-like of shape (n_samples,), default=None
            A number per row that is added to its score, such as the logarithm of an exposure. A
            model that was fitted with an offset needs one to predict, too.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        targets, scores = self._offset_scores(X, offset)
        return targets.predict(self._means(scores))

    def score(self, X, y, sample_weight=None, offset=None):
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
        offset : array-like of shape (n_samples,), default=None
            A number per row that is added to its score, such as the logarithm of an exposure. A
            model that was fitted with an offset needs one to predict, too.

        Returns
        -------
        score : float
        """
        loss = self._row_loss()
        if hasattr(loss, "inverse_link"):
            scores = self._offset_scores(X, offset)[1]
            return self._deviance_explained(loss, scores, y, sample_weight)
        from sklearn.metrics import r2_score

        return r2_score(y, self.predict(X, offset), sample_weight=sample_weight)


class OffsetClassifier(OffsetMixin, ProbabilisticClassifier):
    """A classifier with an optional offset."""

    @locked
    def fit(self, X, y, sample_weight=None, offset=None):
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        offset : array-like of shape (n_samples,), default=None
            A number per row that is added to its score, such as the logarithm of an exposure. A
            model that was fitted with an offset needs one to predict, too.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, offset=offset)

    def decision_function(self, X, offset=None):
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        offset : array-like of shape (n_samples,), default=None
            A number per row that is added to its score, such as the logarithm of an exposure. A
            model that was fitted with an offset needs one to predict, too.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for two classes; a positive score means ``classes_[1]``.
        """
        targets, scores = self._offset_scores(X, offset)
        return targets.shape_scores(scores)

    def predict(self, X, offset=None):
        """Classes of the rows: ``classes_[1]`` iff the score is above 0; of several the highest,
        ties to the lowest class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        offset : array-like of shape (n_samples,), default=None
            A number per row that is added to its score, such as the logarithm of an exposure. A
            model that was fitted with an offset needs one to predict, too.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_labels) of 0 and 1
        """
        targets, scores = self._offset_scores(X, offset)
        return targets.predict(scores)

    @available_if(has_probabilities)
    def predict_proba(self, X, offset=None):
        """Probabilities of the classes, for a loss with an inverse link (``loss="logistic"``).

        For several classes the one-vs-rest probabilities are divided by their sum, unless the model
        is multinomial. For labels they are independent.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        offset : array-like of shape (n_samples,), default=None
            A number per row that is added to its score, such as the logarithm of an exposure. A
            model that was fitted with an offset needs one to predict, too.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        return self._probabilities(*self._offset_scores(X, offset))

    @available_if(has_probabilities)
    def predict_log_proba(self, X, offset=None):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        offset : array-like of shape (n_samples,), default=None
            A number per row that is added to its score, such as the logarithm of an exposure. A
            model that was fitted with an offset needs one to predict, too.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset))

    def score(self, X, y, sample_weight=None, offset=None):
        """Accuracy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        offset : array-like of shape (n_samples,), default=None
            A number per row that is added to its score, such as the logarithm of an exposure. A
            model that was fitted with an offset needs one to predict, too.

        Returns
        -------
        score : float
        """
        from sklearn.metrics import accuracy_score  # 50 ms that no fit needs

        return accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight)


def missing_offset(model) -> str:
    """Return the error message for a missing offset."""
    name = type(model).__name__
    return f"this {name} was fitted with an offset. Pass offset=, zeros where there is none."


def refuse_offset(targets: Targets) -> None:
    """Refuse an offset for more than two classes: it would change all their scores alike."""
    if getattr(targets, "is_multiclass", False):
        raise ValueError(
            "offset has no effect with more than two classes: it changes all their scores alike. "
            "Leave it out."
        )
