"""What a distribution over weights says of a row: its margin, how sure that margin is, and how sure
the sign.
"""

import numpy as np
from scipy.special import ndtr

from tamis.base.estimators.estimator import Estimator


class Margins(Estimator):
    """Margins and confidences of a model that has a private ``_margin_variance(X) -> (margin,
    variance)``.

    Both are arrays of shape (n_samples,) for one output, (n_samples, n_outputs) for several.
    """

    def _margin_variance(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Margins of the rows, and their variances."""
        raise NotImplementedError

    def predict_margin(self, X):
        """Margins of the rows and their standard deviations, under the distribution of the weights.

        The deviation is small for rows whose columns have been seen often, and that of the start
        for rows of unseen ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        margin : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Scores, as `decision_function` gives them.
        deviation : ndarray of the same shape
            Their standard deviations.
        """
        margin, variance = self._margin_variance(X)
        return margin, np.sqrt(variance)

    def predict_confidence(self, X):
        """Probability that the sign of each margin is right, under the distribution of the weights.

        For one output that is how sure `predict` is of the row, from 0.5 (not at all) to 1. It
        orders rows by trust, which is what abstaining and asking for labels need; as a probability
        of being right it is too bold where the data are not linear, or noisy.

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
        certain = np.where(magnitude > 0.0, np.inf, 0.0)  # where nothing is uncertain
        return ndtr(np.divide(magnitude, deviation, out=certain, where=deviation > 0.0))
