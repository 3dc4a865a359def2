"""Mixins of batch multi-task models: fit, predict and score with the task and the offset of each
row.
"""

import numpy as np
from sklearn.utils.metaestimators import available_if

from tamis.base.estimators.classifier import has_probabilities
from tamis.base.estimators.offsets import OffsetMixin
from tamis.methods.multitask.prediction import TaskModel
from tamis.methods.multitask.task_targets import validate_task_labels
from tamis.system.threads import locked


class OffsetTaskClassifierMixin(OffsetMixin, TaskModel):
    """Mixin of classifiers of several tasks with offsets."""

    @locked
    def fit(self, X, y, task=None, sample_weight=None, offset=None):
        """Learn from all rows of all tasks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was fitted with one needs it to predict, too.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, task=validate_task_labels(task), offset=offset)

    def score(self, X, y, task=None, sample_weight=None, offset=None):
        """Return the accuracy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was fitted with one needs it to predict, too.

        Returns
        -------
        score : float
        """
        from sklearn.metrics import accuracy_score  # 50 ms that no fit needs

        return accuracy_score(y, self.predict(X, task, offset), sample_weight=sample_weight)

    def predict(self, X, task=None, offset=None):
        """Classes of the rows, each by its task.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was fitted with one needs it to predict, too.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_labels) of 0 and 1
        """
        targets, scores = self._offset_scores(X, offset, task)
        return targets.predict(scores)

    def decision_function(self, X, task=None, offset=None):
        """Scores of the rows, each by its task.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was fitted with one needs it to predict, too.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for two classes; positive speaks for ``classes_[1]``.
        """
        targets, scores = self._offset_scores(X, offset, task)
        return targets.shape_scores(scores)

    @available_if(has_probabilities)
    def predict_proba(self, X, task=None, offset=None):
        """Probabilities of the classes, each by its task, for a loss with an inverse link
        (``loss="logistic"``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was fitted with one needs it to predict, too.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        return self._probabilities(*self._offset_scores(X, offset, task))

    @available_if(has_probabilities)
    def predict_log_proba(self, X, task=None, offset=None):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was fitted with one needs it to predict, too.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, task, offset))


class OffsetTaskRegressorMixin(OffsetMixin, TaskModel):
    """Mixin of regressors of several tasks with offsets."""

    @locked
    def fit(self, X, y, task=None, sample_weight=None, offset=None):
        """Learn from all rows of all tasks.

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
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was fitted with one needs it to predict, too.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, task=validate_task_labels(task), offset=offset)

    def predict(self, X, task=None, offset=None):
        """Predictions for the rows, each by its task.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was fitted with one needs it to predict, too.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        targets, scores = self._offset_scores(X, offset, task)
        return targets.predict(self._means(scores))

    def score(self, X, y, task=None, sample_weight=None, offset=None):
        """Return the coefficient of determination or, for a loss with an inverse link, the fraction
        of deviance explained, compared with the best constant.

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
        offset : array-like of shape (n_samples,), default=None
            A number a row that is added to its score, such as the logarithm of an exposure. A model
            that was fitted with one needs it to predict, too.

        Returns
        -------
        score : float
        """
        loss = self._row_loss()
        if hasattr(loss, "inverse_link"):
            scores = self._offset_scores(X, offset, task)[1]
            return self._deviance_explained(loss, scores, y, sample_weight)
        from sklearn.metrics import r2_score

        return r2_score(y, self.predict(X, task, offset), sample_weight=sample_weight)
