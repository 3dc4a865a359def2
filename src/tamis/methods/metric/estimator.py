"""sDist: sparse nonlinear metric learning by boosting, as a transformer and as a nearest-neighbour
classifier.
"""

from typing import ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from tamis.base.border import take_blocks
from tamis.base.contents import array, indices
from tamis.base.rows import Csr
from tamis.methods.metric.docs import described
from tamis.methods.metric.model import SHARED, SDistBase
from tamis.methods.metric.rules import Rules


@described
class SDist(SDistBase):
    r"""Sparse low-rank metric on columns and their products, learnt from classes (sDist).

    With the k nearest rows of the own class and of the others, and terms :math:`\phi(x)` (columns,
    and products of columns), it grows :math:`W = \sum_m w_m \xi_m \xi_m^T` from sparse unit vectors
    :math:`\xi_m` to lower

    .. math:: \sum_i \exp(-m_i(W)), \qquad m_i(W) = \frac1k \sum_{j \in \mathrm{other}(i)} |\phi_i -
    \phi_j|_W^2
       - \frac1k \sum_{j \in \mathrm{own}(i)} |\phi_i - \phi_j|_W^2 .

    Each step takes the sparse leading eigenvector of :math:`\sum_i u_i D_i` (weights :math:`u_i
    \propto e^{-m_i}`) over a bag of rows and drawn columns, by products with X alone, and an exact
    line search.

    Choose it for classes that neighbours can tell but linear models cannot (XOR, rings, clusters)
    among columns that mostly do not matter, with at least some ten rows a column that does; it also
    names the columns and products. Choose `SieveClassifier` where a linear score is enough: it
    needs fewer rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    SDistClassifier : The same metric with a nearest-neighbour rule behind it.
    sklearn.neighbors.NeighborhoodComponentsAnalysis : A dense linear metric.

    Notes
    -----
    Equal rows of one class are one row of their summed weight, and the order of the rows does not
    matter. Above 10,000 rows and 200 columns the first neighbours are found on 64 random
    projections. A class needs two distinct rows; one with fewer than k + 1 has fewer neighbours.

    References
    ----------
    Y. Ma and T. Zheng, "Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396,
    2015, equations (2.6) to (2.15). X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse
    Eigenvalue Problems", Journal of Machine Learning Research 14, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SDist
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 20))
    >>> y = (X[:, 3] * X[:, 7] > 0).astype(int)  # XOR of two columns
    >>> model = SDist(random_state=0).fit(X, y)
    >>> sorted(np.argsort(-model.feature_importances_)[:2].tolist())
    [3, 7]
    >>> model.transform(X).shape == (600, len(model.components_))
    True
    """

    def __init__(
        self,
        n_neighbors=3,
        rho=0.1,
        kappa=None,
        n_steps=500,
        learning_rate=0.1,
        *,
        subsample="auto",
        max_features="sqrt",
        refresh_every=25,
        complexity=0.01,
        max_order=1,
        max_terms=3000,
        oob_z="auto",
        screen="auto",
        engine="power",
        opp_per_class=False,
        standardize=True,
        n_components=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_jobs=None,
        random_state=None,
        verbose="auto",
    ):
        self.n_neighbors = n_neighbors
        self.rho = rho
        self.kappa = kappa
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.max_features = max_features
        self.refresh_every = refresh_every
        self.complexity = complexity
        self.max_order = max_order
        self.max_terms = max_terms
        self.oob_z = oob_z
        self.screen = screen
        self.engine = engine
        self.opp_per_class = opp_per_class
        self.standardize = standardize
        self.n_components = n_components
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


@described
class SDistClassifier(ClassifierMixin, SDistBase):
    r"""Nearest neighbours in a learnt sparse metric on columns and their products (sDist).

    With the k nearest rows of the own class and of the others, and terms :math:`\phi(x)` (columns,
    and products of columns), it grows :math:`W = \sum_m w_m \xi_m \xi_m^T` from sparse unit vectors
    :math:`\xi_m` to lower

    .. math:: \sum_i \exp(-m_i(W)), \qquad m_i(W) = \frac1k \sum_{j \in \mathrm{other}(i)} |\phi_i -
    \phi_j|_W^2
       - \frac1k \sum_{j \in \mathrm{own}(i)} |\phi_i - \phi_j|_W^2 ,

    and classifies by neighbours in that metric: by their votes, or by the class of the nearest
    ones.

    Choose it where nearest neighbours would do but for the many columns that do not matter, and
    where boundaries are not linear. Choose `SieveClassifier` where a linear score is enough: it
    needs fewer rows, and less memory, since here the training rows stay in the model.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    SDist : The metric alone, as a transformer.
    sklearn.neighbors.KNeighborsClassifier : Votes in the metric of the columns as they are.

    Notes
    -----
    Equal rows of one class are one row of their summed weight, and weights count in the votes.
    `predict_proba` is not calibrated: shares of the votes, or with ``rule="margin"`` and two
    classes 1 / (1 + exp(-2 f)) of the score f, with more the softmax of minus the distances.

    References
    ----------
    Y. Ma and T. Zheng, "Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396,
    2015, equations (2.6) to (2.15).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from tamis import SDistClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 20))
    >>> y = (X[:, 3] * X[:, 7] > 0).astype(int)  # XOR of two columns
    >>> KNeighborsClassifier(3).fit(X[:600], y[:600]).score(X[600:], y[600:]) < 0.7
    True
    >>> model = SDistClassifier(random_state=0).fit(X[:600], y[:600])
    >>> model.score(X[600:], y[600:]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {**SHARED, "rule": [StrOptions({"knn", "margin"})]}

    def __init__(
        self,
        n_neighbors=3,
        rho=0.1,
        kappa=None,
        n_steps=500,
        learning_rate=0.1,
        *,
        subsample="auto",
        max_features="sqrt",
        refresh_every=25,
        complexity=0.01,
        max_order=1,
        max_terms=3000,
        oob_z="auto",
        screen="auto",
        engine="power",
        opp_per_class=False,
        rule="knn",
        standardize=True,
        n_components=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_jobs=None,
        random_state=None,
        verbose="auto",
    ):
        self.n_neighbors = n_neighbors
        self.rho = rho
        self.kappa = kappa
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.max_features = max_features
        self.refresh_every = refresh_every
        self.complexity = complexity
        self.max_order = max_order
        self.max_terms = max_terms
        self.oob_z = oob_z
        self.screen = screen
        self.engine = engine
        self.opp_per_class = opp_per_class
        self.rule = rule
        self.standardize = standardize
        self.n_components = n_components
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _contents: ClassVar[dict] = {
        "_reference": array("f8", "rows", "components", order=None),
        "_reference_codes": indices("rows", below="classes"),
        "_reference_weights": array("f8", "rows", least=0.0),
    }

    def _store(self, metric, scaling, matrix, codes, weights) -> None:
        super()._store(metric, scaling, matrix, codes, weights)
        self._reference, self._reference_codes, self._reference_weights = (
            self._points(matrix),
            codes,
            weights,
        )

    def decision_function(self, X):
        """Scores of the rows: with the votes their shares, of two classes the second less the
        first; with margins, distances in their place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Classes of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        """Shares of the votes, or the scores of ``rule="margin"`` through a logistic curve; not
        calibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        if self.rule == "knn":
            return scores
        scores = (2.0 if len(self.classes_) == 2 else 1.0) * (
            scores - scores.max(axis=1, keepdims=True)
        )
        likely = np.exp(scores)
        return likely / likely.sum(axis=1, keepdims=True)

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        rows = take_blocks(self, X, reset=False)
        jobs = effective_n_jobs(self.n_jobs)
        with threadpool_limits(jobs):
            asked = self._points(rows.scipy() if isinstance(rows, Csr) else rows)
            rules = Rules(
                self._reference,
                self._reference_codes,
                self._reference_weights,
                len(self.classes_),
                self.n_neighbors,
                self.rule,
                jobs,
            )
            return rules.scores(asked)
