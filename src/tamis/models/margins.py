"""What a confidence-weighted model knows beside the margin: its standard deviation, and how likely the sign is right."""

import numpy as np
from scipy.special import ndtr


class Margins:
    """Margins with their uncertainty, for models that have `_margin_variance`."""

    def predict_margin(self, X):
        """Margins of the rows and their standard deviations.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        margin, deviation : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        margin, variance = self._margin_variance(X)
        return margin, np.sqrt(variance)

    def predict_confidence(self, X):
        """Probability that the sign of the margin is right.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        margin, deviation = self.predict_margin(X)
        return ndtr(np.abs(margin) / deviation)
