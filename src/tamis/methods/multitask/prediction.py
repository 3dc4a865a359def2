"""Mixins of multi-task models: fit, predict and score with the task of each row."""

from typing import ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from tamis.base.estimators.classifier import fitted_targets, has_probabilities
from tamis.base.estimators.explaining import Predictor
from tamis.methods.multitask.task_targets import TaskTargets, validate_task_labels
from tamis.system.schema import nested_object, set_early
from tamis.system.threads import locked


class TaskModel(Predictor):
    """Models of several tasks."""

    _contents: ClassVar[dict] = {
        "_targets": set_early(nested_object(TaskTargets, "outputs", "targets", "tasks"))
    }

    @property
    def tasks_(self):
        """Labels of the tasks in the order of their first rows."""
        return fitted_targets(self, "tasks_").tasks

    def explain(self, X, task=None):
        """Return the contributions to the scores of the rows, each by its task: the intercept, and
        what each selected feature adds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        explanations : Explanations
            ``contributions`` by `names`, a sparse matrix an output, `intercept` and `score`;
            ``explanations[i]``, ``top(i, n)`` and ``table(i)`` describe row i.
        """
        return self._explain_rows(X, task)


class TaskClassifierMixin(TaskModel):
    """Mixin of classifiers of several tasks."""

    @locked
    def fit(self, X, y, task=None, sample_weight=None):
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

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, task=validate_task_labels(task))

    def score(self, X, y, task=None, sample_weight=None):
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

        Returns
        -------
        score : float
        """
        from sklearn.metrics import accuracy_score  # 50 ms that no fit needs

        return accuracy_score(y, self.predict(X, task), sample_weight=sample_weight)

    def predict(self, X, task=None):
        """Classes of the rows, each by its task.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_labels) of 0 and 1
        """
        targets, scores = self._targets_and_scores(X, task)
        return targets.predict(scores)

    def decision_function(self, X, task=None):
        """Scores of the rows, each by its task.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for two classes; positive speaks for ``classes_[1]``.
        """
        targets, scores = self._targets_and_scores(X, task)
        return targets.shape_scores(scores)

    @available_if(has_probabilities)
    def predict_proba(self, X, task=None):
        """Probabilities of the classes, each by its task, for a loss with an inverse link
        (``loss="logistic"``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        return self._probabilities(*self._targets_and_scores(X, task))

    @available_if(has_probabilities)
    def predict_log_proba(self, X, task=None):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, task))


class TaskRegressorMixin(TaskModel):
    """Mixin of regressors of several tasks."""

    @locked
    def fit(self, X, y, task=None, sample_weight=None):
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

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, task=validate_task_labels(task))

    def predict(self, X, task=None):
        """Predictions for the rows, each by its task.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, a number or a word; None where there is one task.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        targets, scores = self._targets_and_scores(X, task)
        return targets.predict(self._means(scores))

    def score(self, X, y, task=None, sample_weight=None):
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

        Returns
        -------
        score : float
        """
        loss = self._row_loss()
        if hasattr(loss, "inverse_link"):
            return self._deviance_explained(
                loss, self._targets_and_scores(X, task)[1], y, sample_weight
            )
        from sklearn.metrics import r2_score

        return r2_score(y, self.predict(X, task), sample_weight=sample_weight)
