"""sDist: sparse nonlinear metric learning by boosting, as a transformer and as a nearest-neighbour
classifier.
"""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from tamis.base.estimators.classifier import Classifier
from tamis.base.estimators.estimator import validate_rows
from tamis.base.estimators.explaining import Explanations
from tamis.base.parameters import estimator, one_of_strings, parameter
from tamis.methods.metric_learning.candidates import DistinctRows
from tamis.methods.metric_learning.estimator import MetricLearner
from tamis.methods.metric_learning.rules import NeighborClassifier
from tamis.system.schema import array, indices


@estimator
class SDist(MetricLearner):
    r"""Sparse low-rank metric on columns and their products, learnt from classes (sDist).

    Choose it for classes that neighbours can separate but linear models cannot (XOR, rings,
    clusters), where most columns do not matter and every column that does has ten rows or more; it
    also names the columns and products. Choose `SieveClassifier` where a linear score is enough: it
    needs fewer rows.

    With the k nearest rows of the same class and of the others, and terms :math:`\phi(x)` (columns,
    and products of columns), it builds :math:`W = \sum_m w_m \xi_m \xi_m^T` from sparse unit
    vectors :math:`\xi_m` to lower

    .. math:: \sum_i \exp(-m_i(W)), \qquad
       m_i(W) = \frac1k \sum_{j \in \mathrm{other}(i)} |\phi_i - \phi_j|_W^2
       - \frac1k \sum_{j \in \mathrm{same}(i)} |\phi_i - \phi_j|_W^2 .

    Each step takes the sparse leading eigenvector of :math:`\sum_i u_i D_i` (weights :math:`u_i
    \propto e^{-m_i}`) over a bag of rows and drawn columns, by products with X alone, and an exact
    line search.

    {parameters}

    {attributes}

    See Also
    --------
    SDistClassifier : The same metric with a nearest-neighbour classifier.
    sklearn.neighbors.NeighborhoodComponentsAnalysis : A dense linear metric.

    Notes
    -----
    Equal rows of one class are merged into one row of their summed weight, and the order of the
    rows does not matter. Above 10,000 rows and 200 columns the first neighbours are searched on 64
    random projections. A class needs two distinct rows; with fewer than k + 1 rows of a class, k is
    reduced for it.

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


@estimator
class SDistClassifier(MetricLearner, Classifier):
    r"""Nearest neighbours in a learnt sparse metric on columns and their products (sDist).

    Choose it where boundaries are not linear and nearest neighbours would work if there were no
    irrelevant columns. Choose `SieveClassifier` where a linear score is enough: it needs fewer
    rows, and less memory, since this model stores the training rows.

    With the k nearest rows of the same class and of the others, and terms :math:`\phi(x)` (columns,
    and products of columns), it builds :math:`W = \sum_m w_m \xi_m \xi_m^T` from sparse unit
    vectors :math:`\xi_m` to lower

    .. math:: \sum_i \exp(-m_i(W)), \qquad
       m_i(W) = \frac1k \sum_{j \in \mathrm{other}(i)} |\phi_i - \phi_j|_W^2
       - \frac1k \sum_{j \in \mathrm{same}(i)} |\phi_i - \phi_j|_W^2 ,

    and classifies by neighbours in that metric: by their votes, or by the class of the nearest
    ones.

    {parameters}

    {attributes}

    See Also
    --------
    SDist : The metric alone, as a transformer.
    sklearn.neighbors.KNeighborsClassifier : Votes in the Euclidean metric.

    Notes
    -----
    Equal rows of one class are merged into one row of their summed weight, and weights count in the
    votes.
    `predict_proba` is not calibrated. It returns the fractions of the votes; with
    ``rule="margin"`` it returns 1 / (1 + exp(-2 f)) of the score f for two classes, and the softmax
    of minus the distances for more.

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

    rule: str = parameter(
        "margin",
        [one_of_strings("knn", "margin")],
        'How rows are classified. "margin": by the class whose k nearest rows have the least mean '
        'squared distance, which is what the steps lower. "knn": by a vote of the k nearest '
        "training rows, as published.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "_reference": array("f8", "rows", "components", order=None),
        "_reference_codes": indices("rows", below="classes"),
        "_reference_weights": array("f8", "rows", minimum=0.0),
    }

    def _validation_rule(self) -> str:
        return self.rule

    def _store_training_rows(self, rows: DistinctRows) -> None:
        """Store the training rows as points of the metric."""
        self._reference = self._points(rows.matrix)
        self._reference_codes, self._reference_weights = rows.codes, rows.weights

    def predict_proba(self, X):
        """Return the fractions of the votes, or the softmax of the scores of ``rule="margin"``; not
        calibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        scores = self._class_scores(X)
        if self.rule == "knn":
            return scores
        slope = 2.0 if len(self.classes_) == 2 else 1.0
        likelihoods = np.exp(slope * (scores - scores.max(axis=1, keepdims=True)))
        return likelihoods / likelihoods.sum(axis=1, keepdims=True)

    def _scores(self, X) -> np.ndarray:
        """Return the class scores; for two classes the score of the second minus the first."""
        scores = self._class_scores(X)
        return scores[:, 1:] - scores[:, :1] if len(self.classes_) == 2 else scores

    def _class_scores(self, X) -> np.ndarray:
        """Return the fractions of the votes, or minus the distances, of all classes."""
        check_is_fitted(self)
        rows, n_threads = validate_rows(self, X), effective_n_jobs(self.n_jobs)
        with threadpool_limits(n_threads):
            return self._classifier(n_threads).scores(self._points(rows))

    def _classifier(self, n_threads: int) -> NeighborClassifier:
        """Return the nearest-neighbour classifier over the stored training points."""
        training_points = self._reference, self._reference_codes, self._reference_weights
        return NeighborClassifier(
            *training_points, len(self.classes_), self.n_neighbors, self.rule, n_threads
        )

    def explain(self, X):
        """Split the scores into contributions of terms.

        A squared distance is the sum of the squares of :math:`W^{1/2} (\\phi_i - \\phi_j)`, one for
        each term; the contribution of a term to the score of a class is minus its mean square over
        the k nearest rows of that class (for two classes, that of the second minus that of the
        first). The scores are those of ``rule="margin"``, also for a model of ``rule="knn"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        explanations : Explanations
            ``contributions`` by `names`, a sparse matrix an output, `intercept` and `score`;
            ``explanations[i]``, ``top(i, n)`` and ``table(i)`` describe row i.
        """
        check_is_fitted(self)
        rows, n_threads = validate_rows(self, X), effective_n_jobs(self.n_jobs)
        left, _, right = np.linalg.svd(self.components_, full_matrices=False)
        with threadpool_limits(n_threads):
            contributions = -self._classifier(n_threads).distances_by_term(
                self._points(rows), left @ right
            )
        contributions = (
            contributions[1:] - contributions[:1] if len(contributions) == 2 else contributions
        )
        columns, scores = np.arange(len(self.terms_)), contributions.sum(axis=2).T
        matrices = [sp.csr_array(output) for output in contributions]
        intercept, names = np.zeros(len(contributions)), self.get_term_names()
        return Explanations(self._targets, names, columns, matrices, intercept, scores)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags
