"""What all selectors share: rows are looked at before scikit-learn converts them."""

from sklearn.feature_selection import SelectorMixin

from tamis.base.estimators.estimator import Transformer
from tamis.base.fast_checks import check_input


class Selector(SelectorMixin, Transformer):
    """A transformer that keeps some columns; a selector adds `_get_support_mask`."""

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
