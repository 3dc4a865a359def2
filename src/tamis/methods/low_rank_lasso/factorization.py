"""A low-rank matrix near the rows, with a certificate of how near it is."""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, Transformer, plain_rows
from tamis.base.fast_checks import check_array
from tamis.base.parameters import (
    BOOL,
    COUNT,
    FRACTION,
    RANDOM,
    Seed,
    at_least,
    estimator,
    one_of,
    parameter,
)
from tamis.base.partition_sums import PartitionSums
from tamis.base.validation import take_weights
from tamis.methods.low_rank_lasso.partitions import fit_factorization
from tamis.solvers.randomized_svd import Operator, certified, truncated_svd
from tamis.system.schema import array, number, size
from tamis.system.threads import locked

DTYPE = one_of("float64", "float32")


@estimator(kw_only=True)
class Factoring(Estimator):
    """What is asked of a factorisation by name."""

    n_oversamples: int = parameter(10, [at_least(0)], "Random projections beyond k.")
    n_power_iter: int = parameter(
        2,
        [at_least(0)],
        "Power iterations. With 0 the error on text is three to four times the least possible, "
        "with 2 about 1.1 times.",
    )
    dtype: str = parameter(
        "float64",
        [DTYPE],
        'Precision of the products; "float32" needs half the memory.',
    )
    random_state: Seed = parameter(None, [RANDOM], "Seed of the factorisation.")


@estimator
class LowRankFactorization(ClassNamePrefixFeaturesOutMixin, Transformer, Factoring):
    r"""Low-rank approximation of large sparse rows that says how far off it is.

    Choose it to fit many models on one matrix, where they need to know the error, as `LowRankLasso`
    does. Choose scikit-learn's TruncatedSVD if only the columns of lower dimension are wanted.

    .. math:: X - 1 \bar x^T \approx U S W^T, \qquad
       \|X - 1 \bar x^T - U S W^T\|_2 \le \text{error\_upper\_}

    The singular value decomposition is found by random projections; columns are centred without
    making a sparse matrix dense. The error is bounded by Lanczos' method: `error_lower_` is
    certain, `error_upper_` holds with probability :math:`1 - \delta` and lies a few percent higher.

    {parameters}

    {attributes}

    See Also
    --------
    LowRankLasso : Fits thousands of targets on one factorisation.
    SingularValueDisplay : Draws the singular values and the error.

    Notes
    -----
    With row weights the rows are multiplied by their roots, and so are those of U.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning",
    UCB/EECS-2015-216, chapter 4, algorithm 1. N. Halko, P. G. Martinsson and J. A. Tropp, "Finding
    Structure with Randomness", SIAM Review 53, 2011, algorithms 4.4 and 5.1. J. Kuczynski and H.
    Wozniakowski, "Estimating the Largest Eigenvalue by the Power and Lanczos Algorithms with a
    Random Start", SIAM Journal on Matrix Analysis and Applications 13, 1992: the failure
    probability of the Lanczos method.

    Examples
    --------
    >>> from tamis import LowRankFactorization
    >>> from tamis.datasets import make_text
    >>> X, y, _ = make_text(n_samples=1000, n_features=3000, random_state=0)
    >>> factors = LowRankFactorization(n_components=20, random_state=0).fit(X)
    >>> factors.W_.shape
    (3000, 20)
    >>> bool(factors.S_[0] > factors.S_[-1] > 0)
    True
    >>> factors.error_lower_ <= factors.error_upper_ <= factors.error_fro_
    True
    """

    n_components: int = parameter(
        50, [COUNT], "Rank k. Fewer are kept where the rows have a lower one."
    )
    center: bool = parameter(True, [BOOL], "Whether to subtract the columns' means.", kw_only=True)
    n_lanczos: int = parameter(24, [COUNT], "Steps of Lanczos' method.", kw_only=True)
    delta: float = parameter(
        1e-3,
        [FRACTION],
        "Probability with which `error_upper_` may be too small.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "n_components_": size("rank", least=0),
        "U_": array(("f8", "f4"), "rows", "rank", order=None),
        "S_": array(("f8", "f4"), "rank", least=0.0),
        "W_": array(("f8", "f4"), "columns", "rank", order=None),
        "mean_": array(("f8", "f4"), "columns"),
        "error_lower_": number(float, least=0.0),
        "error_upper_": number(float, least=0.0),
        "error_fro_": number(float, least=0.0),
    }
    _attributes: ClassVar[str] = """\
        U_ : ndarray of shape (n_samples, n_components)
            Orthonormal columns, one row a row of X.
        S_ : ndarray of shape (n_components,)
            Singular values, largest first.
        W_ : ndarray of shape (n_features, n_components)
            Orthonormal columns, one row a column of X.
        mean_ : ndarray of shape (n_features,)
            Means of the columns; zeros with ``center=False``.
        error_lower_, error_upper_ : float
            Bounds of the largest singular value of the error.
        error_fro_ : float
            Frobenius norm of the error.
        n_components_ : int
            Rank that was kept.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    @locked
    def fit(self, X, y=None, sample_weight=None):
        """Factorise the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Not used; for pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        self._validate_params()
        matrix = plain_rows(self, X, reset=True)
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        self._factorise(matrix, np.sqrt(weights) if len(weights) else None)
        return self

    def _refuse_sums(self) -> str:
        return ""

    def _fit_sums(self, sums: PartitionSums) -> None:
        """Fit by sums over partitions."""
        fit_factorization(self, sums)

    def _factorise(self, matrix, roots) -> Operator:
        """Factor trusted rows, whose weights' roots are given, or None; returns the rows as the map
        that was factored.
        """
        random = check_random_state(self.random_state)
        operator = Operator(matrix, roots, self.center, np.dtype(self.dtype))
        parts = truncated_svd(
            operator, self.n_components, self.n_oversamples, self.n_power_iter, random
        )
        found = certified(operator, parts, self.n_lanczos, self.delta, random)
        self.U_, self.S_, self.W_, self.error_lower_, self.error_upper_, self.error_fro_ = found
        self.mean_, self.n_components_ = operator.mean, len(self.S_)
        self.n_features_in_ = matrix.shape[1]
        return operator

    def transform(self, X):
        """Coordinates of the rows along the columns of `W_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        matrix = plain_rows(self, X)
        return matrix @ self.W_ - (self.mean_ @ self.W_).astype(self.W_.dtype)

    def inverse_transform(self, Z):
        """Rows of low rank from coordinates.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Coordinates, as from `transform`.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return check_array(Z) @ self.W_.T + self.mean_

    @property
    def _n_features_out(self):
        return self.n_components_
