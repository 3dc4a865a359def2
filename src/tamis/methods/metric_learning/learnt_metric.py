"""A learnt metric as a transformer: the points of rows, the names of its terms, and the importances
of columns and products.
"""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from tamis.base.estimators.classifier import SupervisedTransformer
from tamis.base.estimators.estimator import validate_rows
from tamis.base.parameters import POSITIVE_INTEGER, estimator, parameter
from tamis.methods.metric_learning.boosting import SparseMetric
from tamis.methods.metric_learning.candidates import Scaling
from tamis.methods.metric_learning.steps import principal_components
from tamis.system.memory import check_memory
from tamis.system.schema import (
    array,
    count,
    index_tuple,
    indices,
    list_of,
    nested_object,
    records,
    rows,
)


@estimator(kw_only=True)
class LearntMetric(SupervisedTransformer):
    """A metric W = L L' over terms, each a column or a product of columns."""

    n_components: int | None = parameter(
        None,
        [POSITIVE_INTEGER, None],
        "Largest number of components of the transform, the leading ones; None keeps all.",
    )
    _contents: ClassVar[dict] = {
        "_scaling": nested_object(Scaling, "columns"),
        "terms_": list_of(index_tuple("columns"), "terms", 1),
        "_spreads": array("f8", "terms", minimum=np.finfo(float).tiny, finite=False),
        "_loadings": rows("terms", "steps", formats=("csc",)),
        "components_": array("f8", "components", "terms", order=None),
        "candidates_": indices("candidates", below="columns", distinct=True),
        "steps_": records(),
        "n_iter_": count(),
        "history_": records(),
    }
    _attributes: ClassVar[str] = """\
        components_ : ndarray of shape (n_components, n_terms)
            Components L' of the metric W = L L', the largest first.
        terms_ : list of tuple of int
            The terms of the metric, each the ascending indices of the columns in its product:
            (3,) is a column, (1, 7) a product, (2, 2) a square.
        metric_ : csr_array of shape (n_terms, n_terms)
            The metric W. Computed on demand.
        steps_ : list of dict
            The steps of the metric: terms, loadings (a unit vector), weight, loss after the step,
            status, and every 10 steps the complexity.
        n_iter_ : int
            Directions tried.
        history_ : list of dict
            Every direction tried: its status (accepted, capped, screened, rejected, no gain), the
            mean loss so far, its out-of-bag z, the number of accepted steps.
        feature_importances_ : ndarray of shape (n_features,)
            Fraction of each column in the trace of W; the fraction of a product is divided among
            its columns. Computed on demand.
        interaction_importances_ : list of (tuple of int, float)
            Products and their fraction of the trace of W, the largest first. Computed on demand.
        candidates_ : ndarray of int
            Columns that passed the screening.
        support_ : ndarray of int
            Columns that the metric uses.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    def _store_metric(self, metric: SparseMetric, scaling: Scaling) -> None:
        """Set the fitted attributes from a metric."""
        self._scaling, self._spreads, self._loadings = scaling, metric.term_stds, metric.loadings
        self.terms_, self.steps_, self.history_ = metric.terms, metric.steps, metric.history
        self.n_iter_, self.candidates_ = len(metric.history), metric.candidates
        self.components_ = principal_components(metric.loadings.toarray(), self.n_components)

    def transform(self, X):
        """Map rows to points whose Euclidean distances are the learnt ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        return self._points(validate_rows(self, X))

    def _points(self, matrix) -> np.ndarray:
        columns = sp.csc_array(matrix) if sp.issparse(matrix) else matrix
        return self._scaling.project(columns, self.terms_, self._spreads, self.components_)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the components: sdist0, sdist1, and so on.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns. They are checked, as scikit-learn requires, and not used.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        names = [f"sdist{index}" for index in range(len(self.components_))]
        return np.asarray(names, dtype=object)

    def get_term_names(self, input_features=None):
        """Return the names of the terms: "a" for a column, "a b" for a product, "a^2" for a square.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns; None uses the names seen in `fit`, or x0, x1, and so on.

        Returns
        -------
        names : list of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return [term_name(term, names) for term in self.terms_]

    @property
    def metric_(self):
        """The metric W over the terms."""
        check_is_fitted(self)
        if self.n_components is None or len(self.components_) < self.n_components:
            return sp.csr_array(self._loadings @ self._loadings.T)
        n_terms = self.components_.shape[1]
        check_memory(
            f"the metric over {n_terms:,} terms",
            2 * 8 * n_terms * n_terms,
            "Use components_ instead.",
        )
        return sp.csr_array(self.components_.T @ self.components_)

    def _term_importances(self) -> np.ndarray:
        squared_norms = (self.components_**2).sum(axis=0)
        return squared_norms / squared_norms.sum()

    @property
    def feature_importances_(self):
        """Fraction of each column in the trace of W."""
        check_is_fitted(self)
        importances = np.zeros(self.n_features_in_)
        for term, importance in zip(self.terms_, self._term_importances(), strict=True):
            np.add.at(importances, list(term), importance / len(term))
        return importances

    @property
    def interaction_importances_(self):
        """Products and their fraction of the trace of W, the largest first."""
        check_is_fitted(self)
        term_importances = zip(self.terms_, self._term_importances(), strict=True)
        importances = [
            (term, float(importance)) for term, importance in term_importances if len(term) > 1
        ]
        return sorted(importances, key=lambda pair: -pair[1])

    @property
    def support_(self):
        """Columns that the metric uses."""
        check_is_fitted(self)
        return np.unique([column for term in self.terms_ for column in term])

    def __sklearn_is_fitted__(self):
        return hasattr(self, "components_")


def term_name(term, names) -> str:
    """Return the name of a term: "a", "a b", "a^2"."""
    powers = {column: term.count(column) for column in term}
    return " ".join(
        str(names[column]) if power == 1 else f"{names[column]}^{power}"
        for column, power in powers.items()
    )
