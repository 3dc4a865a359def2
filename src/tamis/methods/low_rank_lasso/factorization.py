"""LowRankFactorization: low-rank approximation of X, with bounds on its error."""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, Transformer, validate_rows
from tamis.base.fast_checks import check_array
from tamis.base.parameters import (
    BOOL,
    OPEN_UNIT_INTERVAL,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    Seed,
    at_least,
    estimator,
    one_of_strings,
    parameter,
)
from tamis.base.partition_sums import PartitionSums
from tamis.base.validation import validate_sample_weight
from tamis.methods.low_rank_lasso.partitions import fit_factorization
from tamis.solvers.randomized_svd import CenteredOperator, factors_with_bounds, truncated_svd
from tamis.system.schema import array, number, size
from tamis.system.threads import locked

DTYPE = one_of_strings("float64", "float32")


@estimator(kw_only=True)
class FactorizationParameters(Estimator):
    """Base class with the parameters of a factorisation."""

    n_oversamples: int = parameter(
        10, [at_least(0)], "Number of random projections in addition to k."
    )
    n_power_iter: int = parameter(
        2,
        [at_least(0)],
        "Power iterations. With 0 the error on text is three to four times the minimum for the "
        "rank, with 2 about 1.1 times.",
    )
    dtype: str = parameter(
        "float64",
        [DTYPE],
        'Precision of the products; "float32" needs half the memory.',
    )
    random_state: Seed = parameter(None, [RANDOM_STATE], "Seed of the factorisation.")


@estimator
class LowRankFactorization(ClassNamePrefixFeaturesOutMixin, Transformer, FactorizationParameters):
    r"""Low-rank approximation of large sparse data with certified bounds on its error.

    Use it to fit many models on one matrix that need a bound on the error, such as `LowRankLasso`.
    Use scikit-learn's TruncatedSVD if you only need the reduced columns.

    .. math:: X - 1 \bar x^T \approx U S W^T, \qquad
       \|X - 1 \bar x^T - U S W^T\|_2 \le \text{error\_upper\_}

    Random projections compute the singular value decomposition; a sparse matrix is centred without
    conversion to a dense one. Lanczos' method bounds the error: `error_lower_` is a certain lower
    bound, `error_upper_` an upper bound with probability :math:`1 - \delta`, a few percent higher.

    {parameters}

    {attributes}

    See Also
    --------
    LowRankLasso : Fits thousands of targets on one factorisation.
    SingularValueDisplay : Plots the singular values and the error.

    Notes
    -----
    With row weights the rows are multiplied by the square roots of their weights, and so are those
    of U.

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
        50, [POSITIVE_INTEGER], "Rank k. The rank of the data is an upper bound."
    )
    center: bool = parameter(
        True, [BOOL], "Whether to subtract the means of the columns.", kw_only=True
    )
    n_lanczos: int = parameter(24, [POSITIVE_INTEGER], "Steps of Lanczos' method.", kw_only=True)
    delta: float = parameter(
        1e-3,
        [OPEN_UNIT_INTERVAL],
        "Probability that `error_upper_` is too small.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "n_components_": size("rank", minimum=0),
        "U_": array(("f8", "f4"), "rows", "rank", order=None),
        "S_": array(("f8", "f4"), "rank", minimum=0.0),
        "W_": array(("f8", "f4"), "columns", "rank", order=None),
        "mean_": array(("f8", "f4"), "columns"),
        "error_lower_": number(float, minimum=0.0),
        "error_upper_": number(float, minimum=0.0),
        "error_fro_": number(float, minimum=0.0),
    }
    _attributes: ClassVar[str] = """\
        U_ : ndarray of shape (n_samples, n_components)
            Orthonormal columns; one row for each row of X.
        S_ : ndarray of shape (n_components,)
            Singular values, largest first.
        W_ : ndarray of shape (n_features, n_components)
            Orthonormal columns; one row for each column of X.
        mean_ : ndarray of shape (n_features,)
            Means of the columns; zeros with ``center=False``.
        error_lower_, error_upper_ : float
            Bounds on the largest singular value of the error.
        error_fro_ : float
            Frobenius norm of the error.
        n_components_ : int
            Rank of the approximation.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    @locked
    def fit(self, X, y=None, sample_weight=None):
        """Compute the factorisation.

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
        matrix = validate_rows(self, X, reset=True)
        weights = validate_sample_weight(sample_weight, matrix.shape[0], require_positive=True)
        self._factorise(matrix, np.sqrt(weights) if len(weights) else None)
        return self

    def _refuse_sums(self) -> str:
        return ""

    def _fit_sums(self, sums: PartitionSums) -> None:
        """Fit by sums over partitions."""
        fit_factorization(self, sums)

    def _factorise(self, matrix, roots) -> CenteredOperator:
        """Factorise validated rows; `roots` are the square roots of their weights, or None. Return
        the centred and weighted rows as a linear operator.
        """
        random = check_random_state(self.random_state)
        operator = CenteredOperator(matrix, roots, self.center, np.dtype(self.dtype))
        svd = truncated_svd(
            operator, self.n_components, self.n_oversamples, self.n_power_iter, random
        )
        factors = factors_with_bounds(operator, svd, self.n_lanczos, self.delta, random)
        self.U_, self.S_, self.W_, self.error_lower_, self.error_upper_, self.error_fro_ = factors
        self.mean_, self.n_components_ = operator.mean, len(self.S_)
        self.n_features_in_ = matrix.shape[1]
        return operator

    def transform(self, X):
        """Return the coordinates of the rows along the columns of `W_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        matrix = validate_rows(self, X)
        return matrix @ self.W_ - (self.mean_ @ self.W_).astype(self.W_.dtype)

    def inverse_transform(self, Z):
        """Return the low-rank rows with these coordinates.

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
