"""What models of several tasks take and answer: fit, predictions and scores by task."""

from typing import ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from tamis.base.estimators.classifier import gives_probabilities, targets_of
from tamis.base.estimators.estimator import Left
from tamis.methods.multitask.labels import TaskTargets, take_labels
from tamis.system.schema import early, part


class ByTask(Left):
    """Models of several tasks; stands left of the classifier or regressor."""

    _contents: ClassVar[dict] = {
        "_targets": early(part(TaskTargets, "outputs", "targets", "tasks"))
    }

    @property
    def tasks_(self):
        """Labels of the tasks, in the order in which they came."""
        return targets_of(self, "tasks_").tasks

    def explain(self, X, task=None):
        """Say where the scores of the rows come from, each by its task: the intercept, and what
        each kept feature adds.
        """
        return self._explained(X, task)


class ClassesByTask(ByTask):
    """Classifiers of several tasks."""

    def fit(self, X, y, task=None, sample_weight=None):
        """Learn from all rows of all tasks."""
        return self._fit(X, y, sample_weight, task=take_labels(task))

    def score(self, X, y, task=None, sample_weight=None):
        """Share of right classes."""
        from sklearn.metrics import accuracy_score  # 50 ms that no fit needs

        return accuracy_score(y, self.predict(X, task), sample_weight=sample_weight)

    def predict(self, X, task=None):
        """Predictions for the rows, each by its task."""
        targets, scores = self._scored(X, task)
        return targets.predict(scores)

    def decision_function(self, X, task=None):
        """Scores of the rows, each by its task."""
        targets, scores = self._scored(X, task)
        return targets.decision(scores)

    @available_if(gives_probabilities)
    def predict_proba(self, X, task=None):
        """Probabilities of the classes, each by its task, for a loss with an inverse link
        (``loss="logistic"``).
        """
        return self._probabilities(*self._scored(X, task))

    @available_if(gives_probabilities)
    def predict_log_proba(self, X, task=None):
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, task))


class NumbersByTask(ByTask):
    """Regressors of several tasks."""

    def fit(self, X, y, task=None, sample_weight=None):
        """Learn from all rows of all tasks."""
        return self._fit(X, y, sample_weight, task=take_labels(task))

    def predict(self, X, task=None):
        """Predictions for the rows, each by its task."""
        targets, scores = self._scored(X, task)
        return targets.predict(self._means(scores))

    def score(self, X, y, task=None, sample_weight=None):
        """Coefficient of determination; of a loss with an inverse link the share of deviance
        explained, beside the best constant.
        """
        loss = self._row_loss()
        if hasattr(loss, "inverse_link"):
            return self._deviance_explained(loss, self._scored(X, task)[1], y, sample_weight)
        from sklearn.metrics import r2_score

        return r2_score(y, self.predict(X, task), sample_weight=sample_weight)
