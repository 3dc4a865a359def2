"""A low-rank matrix near the rows, with a certificate of how near it is."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted

from tamis.base.border import take_blocks, take_weights
from tamis.base.contents import array, number, size
from tamis.base.estimators.estimator import Estimator
from tamis.base.parameters import COUNT
from tamis.base.rows import Csr
from tamis.methods.low_rank.svd import Operator, certified, factors_of_product, truncated_svd

FACTORING = {
    "n_components": [COUNT],
    "n_oversamples": [Interval(Integral, 0, None, closed="left")],
    "n_power_iter": [Interval(Integral, 0, None, closed="left")],
    "sketch": [StrOptions({"gaussian", "sparse", "srft"})],
    "method": [StrOptions({"svd", "nmf"})],
    "dtype": [StrOptions({"float64", "float32"})],
    "random_state": ["random_state"],
}


class LowRankFactorization(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Low-rank approximation of large sparse rows that says how far off it is.

    .. math:: X - 1 \bar x^T \approx U S W^T, \qquad \|X - 1 \bar x^T - U S W^T\|_2 \le
    \text{error\_upper\_}

    The singular value decomposition is found by random projections; columns are centred without
    making a sparse matrix dense. The error is bounded by Lanczos' method: `error_lower_` is
    certain, `error_upper_` holds with probability :math:`1 - \delta` and lies a few percent higher.
    Choose it to fit many models on one matrix, where they need to know the error, as `LowRankLasso`
    does. Choose scikit-learn's TruncatedSVD if only the columns of lower dimension are wanted.

    Parameters
    ----------
    n_components : int, default=50
        Rank k. Fewer are kept where the rows have a lower one.
    n_oversamples : int, default=10
        Random projections beyond k.
    n_power_iter : int, default=2
        Power iterations. With 0 the error on text is three to four times the least possible, with 2
        about 1.1 times.
    sketch : {"gaussian", "sparse", "srft"}, default="gaussian"
        Random matrix: Gaussian, eight signs a row, or a subsampled cosine transform. They did
        equally well.
    method : {"svd", "nmf"}, default="svd"
        "nmf" takes the product of a non-negative factorisation instead, of rows without negative
        entries. It takes longer and is no nearer.
    center : bool, default=True
        Whether to subtract the columns' means.
    n_lanczos : int, default=24
        Steps of Lanczos' method.
    delta : float, default=0.001
        Probability with which `error_upper_` may be too small.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the products.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
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
        Names of the columns, where X had them.

    See Also
    --------
    LowRankLasso : Fits thousands of targets on one factorisation.
    SingularValueDisplay : Draws the singular values and the error.

    Notes
    -----
    With row weights the rows are multiplied by their roots, and so are those of U. For "nmf" the
    rows of :math:`U^T X` are not those of :math:`S W^T`, and the spectral error is that of the
    product of the two non-negative factors.

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

    _parameter_constraints: ClassVar[dict] = {
        **FACTORING,
        "center": ["boolean"],
        "n_lanczos": [COUNT],
        "delta": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        n_components=50,
        n_oversamples=10,
        n_power_iter=2,
        sketch="gaussian",
        *,
        method="svd",
        center=True,
        n_lanczos=24,
        delta=1e-3,
        dtype="float64",
        random_state=None,
    ):
        self.n_components = n_components
        self.n_oversamples = n_oversamples
        self.n_power_iter = n_power_iter
        self.sketch = sketch
        self.method = method
        self.center = center
        self.n_lanczos = n_lanczos
        self.delta = delta
        self.dtype = dtype
        self.random_state = random_state

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
        matrix = take_plain(self, X, reset=True)
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        self._factorise(matrix, np.sqrt(weights) if len(weights) else None)
        return self

    def _factorise(self, matrix, roots) -> Operator:
        """Factor trusted rows, whose weights' roots are given, or None; returns the rows as the map
        that was factored.
        """
        random = check_random_state(self.random_state)
        operator = Operator(matrix, roots, self.center, np.dtype(self.dtype))
        if self.method == "nmf":
            parts = self._nonnegative(matrix, operator, random)
        else:
            parts = truncated_svd(
                operator,
                self.n_components,
                self.n_oversamples,
                self.n_power_iter,
                self.sketch,
                random,
            )
        found = certified(operator, parts, self.method == "svd", self.n_lanczos, self.delta, random)
        self.U_, self.S_, self.W_, self.error_lower_, self.error_upper_, self.error_fro_ = found
        self.mean_, self.n_components_ = operator.mean, len(self.S_)
        return operator

    def _nonnegative(self, matrix, operator, random):
        """U, S, W of the product of two non-negative factors, its rows centred and weighted as
        those of X.
        """
        from sklearn.decomposition import NMF

        least = matrix.min()
        if least < 0.0:
            raise ValueError(
                f"{type(self).__name__}: method='nmf' needs X without negative entries; the least "
                f"is {least:g}. Use method='svd'."
            )
        nmf = NMF(
            n_components=min(self.n_components, *matrix.shape),
            init="nndsvda",
            max_iter=200,
            tol=1e-3,
            random_state=random,
        )
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # that it might fit better still: the certificate says how well it fits
            left = nmf.fit_transform(matrix)
        if self.center:
            left = left - np.average(
                left, axis=0, weights=np.square(operator.roots, dtype=np.float64)
            )
        parts = factors_of_product(
            left * operator.roots[:, None], nmf.components_, max(matrix.shape)
        )
        return tuple(
            part.astype(operator.dtype, copy=False) if part.ndim == 2 else part for part in parts
        )

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
        matrix = take_plain(self, X, reset=False)
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def take_plain(model, X, *, reset: bool):
    """Checked rows as NumPy or SciPy have them."""
    rows = take_blocks(model, X, reset=reset)
    return rows.scipy() if isinstance(rows, Csr) else rows
