"""The lasso on a matrix of rank one, exactly."""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_weights
from tamis.base.contents import array, count, early, number, part, records
from tamis.base.estimators.estimator import Estimator
from tamis.base.parameters import AUTO, NUMBER, SHARE
from tamis.base.regressor import Numbers
from tamis.methods.low_rank.factorization import LowRankFactorization, take_plain
from tamis.methods.low_rank.model import never
from tamis.methods.low_rank.rank_one_solver import highest_price, solve_rank_one

AUTO_SHARE = 0.5  # alpha="auto", as a share of the least alpha that leaves nothing


class RankOneLasso(Numbers, Estimator):
    r"""Robust lasso on the matrix of rank one nearest the rows, solved exactly in one pass over its
    two vectors.

    With :math:`X - 1 \bar x^T \approx q p^T` and :math:`\epsilon` a share of its certified error,

    .. math:: \min_\beta \|q\, p^T \beta - y\|_2 + \epsilon \|\beta\|_2 + \alpha \|\beta\|_1 .

    Choose it to see at once which columns carry the main direction of the data that a target
    follows, or to check other solvers: the solution is exact, in every degenerate case. It predicts
    along one direction only; `LowRankLasso` takes more.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Price of the L1 norm. "auto" is half the least price at which no weight is left.
    robustness : float, default=0.1
        Share of the error of rank one to insure against.
    eps : float or None, default=None
        Price of the 2-norm itself, in place of the share.
    fit_intercept : bool, default=True
        Whether to fit an intercept, by centred columns and targets.
    random_state : int, RandomState instance or None, default=None
        Seed of the factorisation.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights; zeros are exact.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    support_ : ndarray of int
        Indices of the features with a weight; of several targets the union.
    alpha_, eps_ : ndarray of shape (n_targets,) and float
        The prices.
    value_, dual_ : ndarray of shape (n_targets,)
        Values of the objective and of its dual; they are equal but for rounding.
    factorization_ : LowRankFactorization
        The two vectors, as `U_` times `S_` and `W_`, and their error.
    n_iter_ : int
        1.
    history_ : list of dict
        Error of rank one, and how much of the data it holds.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    LowRankLasso : More than one direction.
    RankOnePathDisplay : Draws the weights over alpha.

    Notes
    -----
    All nonzero weights have the signs of p, or all the opposite ones, and the support is the
    columns of largest :math:`|p_j|`. Without robustness one column holds all the weight; of tied
    ones the first.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning",
    UCB/EECS-2015-216, chapter 4 and figure 4.1. The scaling and a sign are corrected, and the
    minimiser is recovered.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import RankOneLasso
    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.normal(size=200), [3.0, 2.0, 1.0, 0.0, 0.0]) + 0.1 * rng.normal(size=(200, 5))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=200)
    >>> model = RankOneLasso(alpha=1.0, robustness=0.5, random_state=0).fit(X, y)
    >>> model.support_.tolist()
    [0, 1]
    >>> bool(abs(model.value_ - model.dual_)[0] < 1e-9)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [NUMBER, AUTO],
        "robustness": [SHARE],
        "eps": [Interval(Real, 0, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "random_state": ["random_state"],
    }

    _contents: ClassVar[dict] = {
        "factorization_": early(part(LowRankFactorization, "columns")),
        "eps_": early(number(float, least=0.0)),
        "history_": early(records()),
        "n_iter_": early(count()),
        "_weights": array("f8", "outputs", "columns"),
        "intercept_": array("f8", "outputs"),
        **dict.fromkeys(("alpha_", "value_", "dual_"), array("f8", "outputs", finite=False)),
    }

    def __init__(
        self, alpha="auto", robustness=0.1, *, eps=None, fit_intercept=True, random_state=None
    ):
        self.alpha = alpha
        self.robustness = robustness
        self.eps = eps
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Find the two vectors, and solve for every target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        columns, means = self._ready(X, y, sample_weight)
        auto = isinstance(self.alpha, str)
        self.alpha_ = np.array(
            [
                AUTO_SHARE * self._highest(column) if auto else float(self.alpha)
                for column in columns
            ]
        )
        found = [
            solve_rank_one(*self._vectors(), column, self.eps_, alpha)
            for column, alpha in zip(columns, self.alpha_, strict=True)
        ]
        self._weights = np.array([one.weights for one in found])
        self.intercept_ = means - self._weights @ self.factorization_.mean_
        self.value_, self.dual_ = (
            np.array([one.value for one in found]),
            np.array([one.dual for one in found]),
        )
        return self

    @available_if(never)
    def partial_fit(self, X, y, sample_weight=None):
        """Not there: all rows are factored at once."""

    def path(self, X, y, alphas=None, sample_weight=None):
        """Weights over a range of prices, each exact; the model itself is not changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            One target.
        alphas : array-like or None, default=None
            Prices of the L1 norm; None is 100 of them, from the least at which nothing is left down
            to a hundredth of it.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        alphas : ndarray of shape (n_alphas,)
            The prices.
        weights : ndarray of shape (n_alphas, n_features)
            The weights at each.
        values : ndarray of shape (n_alphas,)
            Value of the objective at each.
        """
        model = type(self)(**self.get_params(deep=False))
        columns, _ = model._ready(X, y, sample_weight)
        if len(columns) > 1:
            raise ValueError(
                f"path takes one target, but y has {len(columns)}. Call it for one column at a "
                "time."
            )
        alphas = (
            model._highest(columns[0]) * np.geomspace(1.0 + 1e-9, 0.01, 100)
            if alphas is None
            else np.asarray(alphas, dtype=float)
        )
        found = [
            solve_rank_one(*model._vectors(), columns[0], model.eps_, float(alpha))
            for alpha in alphas
        ]
        return (
            alphas,
            np.array([one.weights for one in found]),
            np.array([one.value for one in found]),
        )

    def _ready(self, X, y, sample_weight):
        """Check and factor; the targets as centred and weighted columns, and their means."""
        self._validate_params()
        matrix = take_plain(self, X, reset=True)
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        targets = self._take_targets(y, matrix.shape[0], first=True, whole=True)
        roots = np.sqrt(weights) if len(weights) else np.ones(matrix.shape[0])
        factors = LowRankFactorization(
            n_components=1,
            n_power_iter=6,
            center=self.fit_intercept,
            random_state=self.random_state,
        )
        factors._factorise(matrix, roots if len(weights) else None)
        factors.n_features_in_ = matrix.shape[1]
        self.factorization_, self.n_iter_ = factors, 1
        self.eps_ = (
            float(self.eps) if self.eps is not None else self.robustness * factors.error_upper_
        )
        self.history_ = [
            {
                "stage": "factorisation",
                "error": factors.error_upper_,
                "singular_value": float(factors.S_.max(initial=0.0)),
            }
        ]
        means = (
            np.average(targets, axis=0, weights=roots**2)
            if self.fit_intercept
            else np.zeros(targets.shape[1])
        )
        return (roots[:, None] * (targets - means)).T, means

    def _vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """p and q; zeros where the rows are all alike."""
        factors = self.factorization_
        if not factors.n_components_:
            return np.zeros(self.n_features_in_), np.zeros(len(factors.U_))
        return factors.W_[:, 0], factors.U_[:, 0] * factors.S_[0]

    def _highest(self, column) -> float:
        """The least price at which no weight is left."""
        return highest_price(*self._vectors(), column, self.eps_)

    def _scores(self, X):
        check_is_fitted(self)
        return take_plain(self, X, reset=False) @ self._weights.T + self.intercept_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_weights")

    @property
    def coef_(self):
        """Weights, of shape (n_features,) or (n_targets, n_features)."""
        if not hasattr(self, "_weights"):
            raise AttributeError(f"{type(self).__name__} has no attribute 'coef_' before fit.")
        return self._weights[0] if self._flat else self._weights

    @property
    def support_(self):
        """Indices of the features with a weight; of several targets the union."""
        return np.flatnonzero(np.atleast_2d(self.coef_).any(axis=0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True
        return tags
