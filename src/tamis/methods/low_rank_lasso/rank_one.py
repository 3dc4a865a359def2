"""The lasso on a matrix of rank one, exactly."""

from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import plain_rows
from tamis.base.estimators.regressor import Regressor
from tamis.base.parameters import (
    AUTO,
    BOOL,
    NUMBER,
    RANDOM,
    SHARE,
    Auto,
    Seed,
    estimator,
    parameter,
)
from tamis.base.partition_sums import PartitionSums
from tamis.base.targets import NumberTargets
from tamis.base.validation import take_weights
from tamis.methods.low_rank_lasso.factorization import LowRankFactorization
from tamis.methods.low_rank_lasso.partitions import rank_one_problem
from tamis.methods.low_rank_lasso.rank_one_solver import RankOne, highest_price, solve_rank_one
from tamis.system.schema import array, count, number, part, records

AUTO_SHARE = 0.5  # alpha="auto", as a share of the least alpha that leaves nothing


class Problem(NamedTuple):
    """A factored matrix, the norm of the perturbation that is insured against, and targets as rows,
    centred and weighted.

    Where `q` is given, it and the rows are in other coordinates, of the same lengths and angles.
    """

    factors: LowRankFactorization
    perturbation: float
    targets: NumberTargets
    rows: np.ndarray
    means: np.ndarray
    q: np.ndarray | None = None

    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """p and q; zeros where the rows are all alike."""
        factors, q = self.factors, self.q
        if not factors.n_components_:
            return np.zeros(len(factors.W_)), np.zeros(len(factors.U_)) if q is None else q
        return factors.W_[:, 0], factors.U_[:, 0] * factors.S_[0] if q is None else q

    def solved(self, row: np.ndarray, alpha: float) -> RankOne:
        """The solution for a target."""
        return solve_rank_one(*self.vectors(), row, self.perturbation, alpha)

    def highest(self, row: np.ndarray) -> float:
        """The least price at which no weight is left."""
        return highest_price(*self.vectors(), row, self.perturbation)


@estimator
class RankOneLasso(Regressor):
    r"""Robust lasso on the matrix of rank one nearest the rows, solved exactly in one pass over its
    two vectors.

    Choose it to see at once which columns carry the main direction of the data that a target
    follows, or to check other solvers: the solution is exact, in every degenerate case. It predicts
    along one direction only; `LowRankLasso` takes more.

    With :math:`X - 1 \bar x^T \approx q p^T` and :math:`\epsilon` a share of its certified error,

    .. math:: \min_\beta \|q\, p^T \beta - y\|_2 + \epsilon \|\beta\|_2 + \alpha \|\beta\|_1 .

    {parameters}

    {attributes}

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
    >>> X = np.outer(rng.normal(size=200), [3.0, 2.0, 1.0, 0.0, 0.0])
    >>> X += 0.1 * rng.normal(size=(200, 5))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=200)
    >>> model = RankOneLasso(alpha=1.0, robustness=0.5, random_state=0).fit(X, y)
    >>> model.support_.tolist()
    [0, 1]
    >>> bool(abs(model.value_ - model.dual_)[0] < 1e-9)
    True
    """

    alpha: float | Auto = parameter(
        "auto",
        [NUMBER, AUTO],
        'Price of the L1 norm. "auto" is half the least price at which no weight is left.',
    )
    robustness: float = parameter(0.1, [SHARE], "Share of the error of rank one to insure against.")
    perturbation: float | None = parameter(
        None,
        [NUMBER, None],
        "Norm of the perturbation of the rows to insure against, which is the price of the 2-norm; "
        "in place of the share.",
        kw_only=True,
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to fit an intercept, by centred columns and targets.", kw_only=True
    )
    random_state: Seed = parameter(None, [RANDOM], "Seed of the factorisation.", kw_only=True)
    _contents: ClassVar[dict] = {
        "factorization_": part(LowRankFactorization, "columns"),
        "perturbation_": number(float, least=0.0),
        "history_": records(),
        "n_iter_": count(),
        "_weights": array("f8", "outputs", "columns"),
        "intercept_": array("f8", "outputs"),
        **dict.fromkeys(("alpha_", "value_", "dual_"), array("f8", "outputs", finite=False)),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
            Weights; zeros are exact.
        intercept_ : ndarray of shape (n_targets,)
            Intercepts.
        support_ : ndarray of int
            Indices of the features with a weight; of several targets the union.
        alpha_ : ndarray of shape (n_targets,)
            Prices of the L1 norm.
        perturbation_ : float
            The price of the 2-norm.
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
            Names of the columns, where X had them."""

    def _fit(self, X, y, sample_weight):
        """Find the two vectors, solve for every target, store."""
        return self._settle(self._problem(X, y, sample_weight))

    def _refuse_sums(self) -> str:
        return ""

    def _fit_sums(self, sums: PartitionSums) -> None:
        """Fit by sums over partitions."""
        factors, *projected = rank_one_problem(self, sums)
        self._settle(Problem(factors, self._insured(factors), *projected))

    def _settle(self, problem: Problem):
        """Solve for every target, and store."""
        rows, factors = problem.rows, problem.factors
        if isinstance(self.alpha, str):
            alphas = np.array([AUTO_SHARE * problem.highest(row) for row in rows])
        else:
            alphas = np.full(len(rows), float(self.alpha))
        found = [problem.solved(row, alpha) for row, alpha in zip(rows, alphas, strict=True)]
        self._targets, self.factorization_, self.n_iter_ = problem.targets, factors, 1
        self.alpha_, self.perturbation_ = alphas, problem.perturbation
        self.history_ = [
            {
                "stage": "factorisation",
                "error": factors.error_upper_,
                "singular_value": float(factors.S_.max(initial=0.0)),
            }
        ]
        self._weights = np.array([one.weights for one in found])
        self.intercept_ = problem.means - self._weights @ factors.mean_
        self.value_ = np.array([one.value for one in found])
        self.dual_ = np.array([one.dual for one in found])
        return self

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
        problem = clone(self)._problem(X, y, sample_weight)
        rows = problem.rows
        if len(rows) > 1:
            raise ValueError(
                f"path takes one target, but y has {len(rows)}. Call it for one column at a time."
            )
        if alphas is None:
            alphas = problem.highest(rows[0]) * np.geomspace(1.0 + 1e-9, 0.01, 100)
        alphas = np.asarray(alphas, dtype=float)
        found = [problem.solved(rows[0], float(alpha)) for alpha in alphas]
        weights = np.array([one.weights for one in found])
        return alphas, weights, np.array([one.value for one in found])

    def _problem(self, X, y, sample_weight) -> Problem:
        """Check and factor."""
        self._validate_params()
        matrix = plain_rows(self, X, reset=True)
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        targets, (columns, *_) = self._code(y, matrix.shape[0])
        factors = self._unfactored()
        roots = np.sqrt(weights) if len(weights) else np.ones(matrix.shape[0])
        factors._factorise(matrix, roots if len(weights) else None)
        means = np.zeros(columns.shape[1])
        if self.fit_intercept:
            means = np.average(columns, axis=0, weights=roots**2)
        rows = (roots[:, None] * (columns - means)).T
        return Problem(factors, self._insured(factors), targets, rows, means)

    def _unfactored(self) -> LowRankFactorization:
        """The factorisation, yet to be made."""
        return LowRankFactorization(
            n_components=1,
            n_power_iter=6,
            center=self.fit_intercept,
            random_state=self.random_state,
        )

    def _insured(self, factors: LowRankFactorization) -> float:
        """Norm of the perturbation that is insured against."""
        if self.perturbation is not None:
            return float(self.perturbation)
        return self.robustness * factors.error_upper_

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        return plain_rows(self, X) @ self._weights.T + self.intercept_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_weights")

    @property
    def coef_(self):
        """Weights, of shape (n_features,) or (n_targets, n_features)."""
        if not hasattr(self, "_weights"):
            raise AttributeError(f"{type(self).__name__} has no attribute 'coef_' before fit.")
        return self._targets.shaped(self._weights)

    @property
    def support_(self):
        """Indices of the features with a weight; of several targets the union."""
        return np.flatnonzero(np.atleast_2d(self.coef_).any(axis=0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
