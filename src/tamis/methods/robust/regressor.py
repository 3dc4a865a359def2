"""RobustRegressor: linear regression with the worst-case residuals over an uncertainty set."""

import numpy as np

from tamis.base.estimators.estimator import validate_prediction
from tamis.base.estimators.regressor import Regressor
from tamis.base.parameters import POSITIVE, estimator, one_of_strings, parameter
from tamis.base.validation import validate_numbers
from tamis.methods.robust.estimator import SETS, RobustLinear
from tamis.methods.robust.residual_oracles import residual_oracle


@estimator
class RobustRegressor(Regressor, RobustLinear):
    r"""Linear regression that minimises the norm of the worst-case residuals over a set of errors
    in the data.

    Use it for known types of errors: sensors that fail ("deletion"), rounding ("linf"), noise of
    known covariance ("ellipsoid"). Otherwise ridge regression is simpler and faster. A large radius
    shrinks the weights to 0; choose it by ``score(..., worst_case=True)`` on held-out rows. Weights
    are not sparse.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert_2^2 + C \max_{\text{data in the set}}
       \sqrt{\textstyle\sum_i c_i (y_i - w^T x_i - b)^2}

    with weights c of the rows; several targets are fitted one by one. The norm is not squared, so
    that C is in units of 1 / norm of the residuals. "spectral" (or an error of a Frobenius norm of
    at most radius) adds :math:`r \lVert w \rVert_2` to the norm, which gives the weights of a ridge
    regression with a strength that depends on the radius.

    {family}

    See Also
    --------
    RobustSVC : Robust support vector machine, for classes.
    sklearn.linear_model.Ridge : Equivalent to "spectral" with a suitable strength.

    References
    ----------
    L. El Ghaoui and H. Lebret, "Robust Solutions to Least-Squares Problems with Uncertain Data",
    SIAM Journal on Matrix Analysis and Applications 18, 1997, for "spectral". G. V. A. Pham,
    "Robust Optimization and Data Approximation in Machine Learning", technical report
    UCB/EECS-2015-216, 2015, chapter 2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import RobustRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X @ [1.0, -2.0, 0.0] + 0.1 * rng.normal(size=100)
    >>> model = RobustRegressor("l2", radius=0.05).fit(X, y)
    >>> bool(abs(model.coef_ - [1.0, -2.0, 0.0]).max() < 0.1)
    True
    >>> model.score(X, y, worst_case=True) < model.score(X, y)
    True
    """

    uncertainty: str = parameter(
        "spectral", [one_of_strings(*SETS)], "Type of the errors in the data."
    )
    C: float = parameter(
        10.0,
        [POSITIVE],
        "Weight of the norm of the residuals. The larger it is, the less the weights shrink in "
        "addition to the shrinkage by the uncertainty set.",
    )

    def _oracle(self, *arguments):
        return residual_oracle(self.uncertainty, *arguments)

    def score(self, X, y, sample_weight=None, worst_case=False, radius=None):
        """Return the coefficient of determination, for the rows of X or for the worst error in the
        set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            True targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        worst_case : bool, default=False
            Whether to use the worst rows in the set, for each target separately.
        radius : float or None, default=None
            Radius of the set; None is that of the estimator.

        Returns
        -------
        score : float
            The coefficient of determination, averaged over the targets.
        """
        if not worst_case:
            if radius is not None:
                raise ValueError("radius is for worst_case=True.")
            return super().score(X, y, sample_weight)
        radius, matrix = self._score_radius(radius), validate_prediction(self, X)
        y = validate_numbers(self, y, is_fit=False).reshape(matrix.shape[0], -1)
        weights, scores = self._row_weights(sample_weight, len(y)), []
        for target, coef, intercept in zip(
            y.T, np.atleast_2d(self.coef_), self.intercept_, strict=True
        ):
            oracle = self._oracle(radius, self._ellipsoid, matrix, target, weights, True)
            oracle.set_weights(coef)
            total_squares = weights @ (target - np.average(target, weights=weights)) ** 2
            scores.append(
                1.0 - oracle.tangent_at(float(intercept)).value ** 2 / total_squares
                if total_squares > 0.0
                else 0.0
            )
        return float(np.mean(scores))
