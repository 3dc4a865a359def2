"""Least squares for the worst data in a set around the data given."""

from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from tamis.base.border import take_numbers, take_weights
from tamis.base.regressor import Numbers
from tamis.methods.robust.model import RobustLinear, never
from tamis.methods.robust.residuals import residual_oracle

SETS = ("l1", "l2", "linf", "ellipsoid", "deletion", "spectral")


class RobustRegressor(Numbers, RobustLinear):
    r"""Linear regression that minimises the norm of the worst residuals over a set of errors in the
    data.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert_2^2 + C \max_{\text{data in the set}}
    \sqrt{\textstyle\sum_i c_i (y_i - w^T x_i - b)^2}

    with weights c of the rows and several targets one by one. What the set is, and what it adds:

    ============ ==================================================
    ============================================== uncertainty  what may be wrong
    adds ============ ==================================================
    ============================================== "l1"         every row, by at most radius in L1
    :math:`r \lVert w \rVert_\infty` a residual "l2"         every row, by at most radius in length
    :math:`r \lVert w \rVert_2` a residual "linf"       every entry, by at most radius
    :math:`r \lVert w \rVert_1` a residual "ellipsoid"  every row, by radius in units of
    `covariance`      :math:`r \sqrt{w^T \Sigma w}` a residual "deletion"   up to radius entries of
    every row are 0            the worst sum of so many :math:`w_j x_{ij}` "spectral"   the data by
    a matrix of largest singular value     :math:`r \lVert w \rVert_2` to the norm
                 (or of Frobenius norm) at most radius
    ============ ==================================================
    ==============================================

    It is solved by cutting planes until the distance from the optimum is known to be at most `tol`.
    The norm is not squared, so that C is in units of 1 / norm of the residuals. "spectral" gives
    weights of ridge regression, with a strength that follows from the radius.

    Choose it where one knows what may go wrong: sensors that fail ("deletion"), rounding ("linf"),
    noise of known covariance ("ellipsoid"). Otherwise ridge regression is simpler and faster.
    Weights are not sparse.

    Parameters
    ----------
    uncertainty : {"l1", "l2", "linf", "ellipsoid", "deletion", "spectral"}, default="spectral"
        What may be wrong with the data.
    radius : float, default=0.1
        How much of it. A whole number for "deletion".
    C : float, default=10.0
        Cost of the norm of the residuals. The larger, the less the weights are held back beyond
        what the set asks for.
    covariance : array-like of shape (n_features,) or (n_features, n_features), or None,
    default=None
        For "ellipsoid": a covariance matrix or its diagonal. None takes the variances of the
        columns.
    fit_intercept : bool, default=True
        Whether to learn an intercept; it is not penalised.
    max_iter : int, default=1000
        Most planes of a target.
    tol : float, default=1e-4
        Distance from the optimum, as a share of the objective, at which it ends.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    support_ : ndarray of int
        Indices of the features with a weight other than 0.
    objective_ : float
        The objective, summed over the targets.
    gap_ : float
        Distance from the optimum, at most, as a share of the objective, of the worst target.
    n_iter_ : int
        Planes, of the target that took most.
    history_ : list of dict
        Per target and plane: the best objective so far and the lower bound.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    RobustSVC : The same for classes.
    sklearn.linear_model.Ridge : What "spectral" amounts to, with a strength of its own.

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

    partial_fit = available_if(never)(Numbers.partial_fit)
    _oracle = staticmethod(residual_oracle)
    _parameter_constraints: ClassVar[dict] = {
        **RobustLinear._parameter_constraints,
        "uncertainty": [StrOptions(set(SETS))],
    }

    def __init__(
        self,
        uncertainty="spectral",
        radius=0.1,
        C=10.0,
        covariance=None,
        *,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
    ):
        self.uncertainty = uncertainty
        self.radius = radius
        self.C = C
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def _columns(self, targets):
        return targets

    def score(self, X, y, sample_weight=None, worst_case=False, radius=None):
        """Coefficient of determination, as the rows are or under the worst error in the set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            True targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        worst_case : bool, default=False
            Whether the rows are the worst in the set, for each target by itself.
        radius : float or None, default=None
            Radius of the set; None is the model's own.

        Returns
        -------
        score : float
            1 less the share of the variance of y that is left, the mean over the targets.
        """
        if not worst_case:
            if radius is not None:
                raise ValueError("radius is for worst_case=True.")
            return super().score(X, y, sample_weight)
        radius, matrix = self._asked_radius(radius), self._matrix(X)
        y = take_numbers(self, y, whole=False).reshape(matrix.shape[0], -1)
        weights = take_weights(sample_weight, len(y), some=True)
        weights = weights if len(weights) else np.ones(len(y))
        found = []
        for target, coef, bias in zip(y.T, np.atleast_2d(self.coef_), self.intercept_, strict=True):
            oracle = residual_oracle(
                self.uncertainty, radius, self._sigma, matrix, target, weights, True
            )
            oracle.move(coef)
            spread = weights @ (target - np.average(target, weights=weights)) ** 2
            found.append(1.0 - oracle.at(float(bias)).value ** 2 / spread if spread > 0.0 else 0.0)
        return float(np.mean(found))
