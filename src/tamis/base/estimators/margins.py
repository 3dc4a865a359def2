"""Margins of rows and their confidences, from a distribution over weights."""

import numpy as np
from scipy.special import ndtr

from tamis.base.estimators.estimator import Estimator


class MarginMixin(Estimator):
    """Margins and confidences of a model with a private ``_margin_variance(X) -> (margin,
    variance)``.

    Both are arrays of shape (n_samples,) for one output, (n_samples, n_outputs) for several.
    """

    def _margin_variance(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins of the rows, and their variances."""
        raise NotImplementedError

    def predict_margin(self, X):
        """Margins of the rows and their standard deviations, under the distribution of the weights.

        The deviation is small for rows with columns that have occurred often, and keeps its initial
        value for rows with new columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        margin : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Scores, as from `decision_function`.
        deviation : ndarray of the same shape
            Their standard deviations.
        """
        margin, variance = self._margin_variance(X)
        return margin, np.sqrt(variance)

    def predict_confidence(self, X):
        """Probability that the sign of each margin is right, under the distribution of the weights.

        For one output this is the confidence in the prediction, from 0.5 (none) to 1. It ranks rows
        by confidence, for abstention and for queries of labels. As a probability of a correct
        prediction it is too high if the data are not linear, or noisy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        confidence : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            ``Phi(|margin| / deviation)``.
        """
        margin, deviation = self.predict_margin(X)
        magnitude = np.abs(margin)
        certain = np.where(magnitude > 0.0, np.inf, 0.0)  # for deviations of 0
        return ndtr(np.divide(magnitude, deviation, out=certain, where=deviation > 0.0))
