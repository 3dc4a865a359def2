"""RankOneLasso: the robust lasso on a matrix of rank one, solved exactly."""

from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import validate_rows
from tamis.base.estimators.regressor import Regressor
from tamis.base.parameters import (
    AUTO,
    BOOL,
    NON_NEGATIVE,
    RANDOM_STATE,
    UNIT_INTERVAL,
    Auto,
    Seed,
    estimator,
    parameter,
)
from tamis.base.partition_sums import PartitionSums
from tamis.base.targets import NumberTargets
from tamis.base.validation import validate_sample_weight
from tamis.methods.low_rank_lasso.factorization import LowRankFactorization
from tamis.methods.low_rank_lasso.partitions import rank_one_problem
from tamis.methods.low_rank_lasso.rank_one_solver import RankOneSolution, max_alpha, solve_rank_one
from tamis.system.schema import array, count, nested_object, number, records

AUTO_ALPHA_FRACTION = 0.5  # alpha="auto", as a fraction of the smallest alpha with zero weights


class RankOneProblem(NamedTuple):
    """Factors of the matrix, strength of the 2-norm penalty, and targets as rows, centred and
    weighted.

    If `q` is passed, it and the rows have been rotated together to fewer coordinates.
    """

    factors: LowRankFactorization
    perturbation: float
    targets: NumberTargets
    rows: np.ndarray
    means: np.ndarray
    q: np.ndarray | None = None

    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return p and q; zeros if all rows of X are equal."""
        factors, q = self.factors, self.q
        if not factors.n_components_:
            return np.zeros(len(factors.W_)), np.zeros(len(factors.U_)) if q is None else q
        return factors.W_[:, 0], factors.U_[:, 0] * factors.S_[0] if q is None else q

    def solve(self, row: np.ndarray, alpha: float) -> RankOneSolution:
        """Return the solution for one target."""
        return solve_rank_one(*self.vectors(), row, self.perturbation, alpha)

    def max_alpha_of(self, row: np.ndarray) -> float:
        """Return the smallest alpha at which all weights of a target are 0."""
        return max_alpha(*self.vectors(), row, self.perturbation)


@estimator
class RankOneLasso(Regressor):
    r"""Robust lasso on the matrix of rank one closest to X, with an exact solution.

    Use it to see which columns carry the main direction of the data that a target follows, or to
    check other solvers: the solution is exact, also in degenerate cases. It predicts along one
    direction only; use `LowRankLasso` for more.

    With :math:`X - 1 \bar x^T \approx q p^T` and :math:`\epsilon` a fraction of its certified
    error, it minimises

    .. math:: \min_\beta \|q\, p^T \beta - y\|_2 + \epsilon \|\beta\|_2 + \alpha \|\beta\|_1 .

    {parameters}

    {attributes}

    See Also
    --------
    LowRankLasso : Robust lasso on a matrix of any low rank.
    RankOnePathDisplay : Plots the weights against alpha.

    Notes
    -----
    Either all nonzero weights have the signs of p, or all have the opposite ones, and the support
    is the columns of largest :math:`|p_j|`. With ``robustness=0`` one column has a weight, the
    first of tied ones.

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
        [NON_NEGATIVE, AUTO],
        'Strength of the L1 penalty. "auto" is half the smallest strength with zero weights.',
    )
    robustness: float = parameter(
        0.1,
        [UNIT_INTERVAL],
        "Strength of the 2-norm penalty, as a fraction of the error of the rank-one matrix.",
    )
    perturbation: float | None = parameter(
        None,
        [NON_NEGATIVE, None],
        "Strength of the 2-norm penalty, which is the norm of the worst-case perturbation of X. "
        "None computes it from `robustness`.",
        kw_only=True,
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to fit an intercept, by centred columns and targets.", kw_only=True
    )
    random_state: Seed = parameter(None, [RANDOM_STATE], "Seed of the factorisation.", kw_only=True)
    _contents: ClassVar[dict] = {
        "factorization_": nested_object(LowRankFactorization, "columns"),
        "perturbation_": number(float, minimum=0.0),
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
            Indices of the features with a nonzero weight; for several targets the union.
        alpha_ : ndarray of shape (n_targets,)
            Strengths of the L1 penalty.
        perturbation_ : float
            Strength of the 2-norm penalty.
        value_, dual_ : ndarray of shape (n_targets,)
            Values of the objective and of its dual, equal up to rounding.
        factorization_ : LowRankFactorization
            The two vectors, as `U_` times `S_` and `W_`, and their error.
        n_iter_ : int
            1.
        history_ : list of dict
            Error and singular value of the rank-one matrix.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    def _fit(self, X, y, sample_weight):
        """Compute the two vectors, solve for every target, and set the attributes."""
        return self._solve_targets(self._problem(X, y, sample_weight))

    def _refuse_sums(self) -> str:
        return ""

    def _fit_sums(self, sums: PartitionSums) -> None:
        """Fit by sums over partitions."""
        factors, *projected = rank_one_problem(self, sums)
        self._solve_targets(RankOneProblem(factors, self._perturbation_norm(factors), *projected))

    def _solve_targets(self, problem: RankOneProblem):
        """Solve for every target, and set the attributes."""
        rows, factors = problem.rows, problem.factors
        if isinstance(self.alpha, str):
            alphas = np.array([AUTO_ALPHA_FRACTION * problem.max_alpha_of(row) for row in rows])
        else:
            alphas = np.full(len(rows), float(self.alpha))
        solutions = [problem.solve(row, alpha) for row, alpha in zip(rows, alphas, strict=True)]
        self._targets, self.factorization_, self.n_iter_ = problem.targets, factors, 1
        self.alpha_, self.perturbation_ = alphas, problem.perturbation
        self.history_ = [
            {
                "stage": "factorisation",
                "error": factors.error_upper_,
                "singular_value": float(factors.S_.max(initial=0.0)),
            }
        ]
        self._weights = np.array([solution.weights for solution in solutions])
        self.intercept_ = problem.means - self._weights @ factors.mean_
        self.value_ = np.array([solution.value for solution in solutions])
        self.dual_ = np.array([solution.dual for solution in solutions])
        return self

    def path(self, X, y, alphas=None, sample_weight=None):
        """Return the exact solutions for a sequence of alphas; the estimator is not changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            One target.
        alphas : array-like or None, default=None
            Strengths of the L1 penalty; None is 100 of them, from the smallest with zero weights
            down to a hundredth of that.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        alphas : ndarray of shape (n_alphas,)
            The strengths.
        weights : ndarray of shape (n_alphas, n_features)
            The weights for each.
        values : ndarray of shape (n_alphas,)
            Value of the objective for each.
        """
        problem = clone(self)._problem(X, y, sample_weight)
        rows = problem.rows
        if len(rows) > 1:
            raise ValueError(
                f"path takes one target, but y has {len(rows)}. Call it for one column at a time."
            )
        if alphas is None:
            alphas = problem.max_alpha_of(rows[0]) * np.geomspace(1.0 + 1e-9, 0.01, 100)
        alphas = np.asarray(alphas, dtype=float)
        solutions = [problem.solve(rows[0], float(alpha)) for alpha in alphas]
        weights = np.array([solution.weights for solution in solutions])
        return alphas, weights, np.array([solution.value for solution in solutions])

    def _problem(self, X, y, sample_weight) -> RankOneProblem:
        """Validate X and y, and compute the factorisation."""
        self._validate_params()
        matrix = validate_rows(self, X, reset=True)
        row_weights = validate_sample_weight(sample_weight, matrix.shape[0], require_positive=True)
        targets, (columns, *_) = self._encode_targets(y, matrix.shape[0])
        factors = self._new_factorization()
        roots = np.sqrt(row_weights) if len(row_weights) else np.ones(matrix.shape[0])
        factors._factorise(matrix, roots if len(row_weights) else None)
        means = np.zeros(columns.shape[1])
        if self.fit_intercept:
            means = np.average(columns, axis=0, weights=roots**2)
        rows = (roots[:, None] * (columns - means)).T
        return RankOneProblem(factors, self._perturbation_norm(factors), targets, rows, means)

    def _new_factorization(self) -> LowRankFactorization:
        """Return an unfitted factorisation of rank one."""
        return LowRankFactorization(
            n_components=1,
            n_power_iter=6,
            center=self.fit_intercept,
            random_state=self.random_state,
        )

    def _perturbation_norm(self, factors: LowRankFactorization) -> float:
        """Return the strength of the 2-norm penalty."""
        if self.perturbation is not None:
            return float(self.perturbation)
        return self.robustness * factors.error_upper_

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        return validate_rows(self, X) @ self._weights.T + self.intercept_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_weights")

    @property
    def coef_(self):
        """Weights, of shape (n_features,) or (n_targets, n_features)."""
        if not hasattr(self, "_weights"):
            raise AttributeError(f"{type(self).__name__} has no attribute 'coef_' before fit.")
        return self._targets.shape_coef(self._weights)

    @property
    def support_(self):
        """Indices of the features with a nonzero weight; for several targets the union."""
        return np.flatnonzero(np.atleast_2d(self.coef_).any(axis=0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
