"""Classifiers with probabilities from calibrated scores."""

from typing import ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from tamis.base.estimators.classifier import Classifier, WeightedClassifier
from tamis.base.parameters import BOOL, estimator, parameter
from tamis.solvers.calibration import sigmoid
from tamis.system.schema import array, one_of


def is_calibrated(model) -> bool:
    """Return True if the model has `probability`; else raise AttributeError."""
    if model.probability:
        return True
    raise AttributeError(
        f"predict_proba needs probability=True; this {type(model).__name__} has probability=False."
    )


@estimator(kw_only=True)
class CalibratedClassifier(WeightedClassifier):
    """A classifier whose `_sigmoid_params` hold slope and offset of each output, or None."""

    probability: bool = parameter(
        False,
        [BOOL],
        "Whether to have `predict_proba`: sigmoids on scores of 5 folds. Costs 5 more fits.",
    )
    _contents: ClassVar[dict] = {
        **Classifier._contents,
        "_sigmoid_params": one_of(None, array("f8", "outputs", 2)),
    }

    @available_if(is_calibrated)
    def predict_proba(self, X):
        """Probabilities of the classes, with ``probability=True``.

        For several classes the one-vs-rest probabilities are divided by their sum. For labels they
        are independent.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        targets, scores = self._targets_and_scores(X)
        if self._sigmoid_params is None:
            raise NotFittedError(
                f"this {type(self).__name__} was fitted with probability=False; fit it again."
            )
        positive = sigmoid(scores * self._sigmoid_params[:, 0] + self._sigmoid_params[:, 1])
        return targets.normalize_probabilities(positive, 1.0 - positive[:, 0])

    @available_if(is_calibrated)
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
