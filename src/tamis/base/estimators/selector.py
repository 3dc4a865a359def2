"""Base of all selectors: the mask of `support_`, and checks before scikit-learn converts rows."""

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Transformer
from tamis.base.fast_checks import check_input


class Selector(SelectorMixin, Transformer):
    """A transformer that selects columns; a selector adds `support_`, their indices."""

    def _get_support_mask(self):
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask

    def transform(self, X):
        """Keep the selected columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : {ndarray, sparse matrix} of shape (n_samples, n_selected)
        """
        check_input(X)
        return super().transform(X)

    def inverse_transform(self, X):
        """Put zeros where columns were left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_selected)
            Rows, as from `transform`.

        Returns
        -------
        X_original : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        check_input(X)
        return super().inverse_transform(X)
