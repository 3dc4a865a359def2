"""The lasso on a low-rank matrix, for one target or thousands."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_numbers, take_weights
from tamis.base.regressor import Numbers
from tamis.methods.low_rank.factorization import take_plain
from tamis.methods.low_rank.model import COLUMNS, LowRankModel, never, scores_of
from tamis.methods.low_rank.svd import Operator


class LowRankLasso(Numbers, LowRankModel):
    r"""Lasso on a low-rank matrix near the rows, insured against what that matrix leaves out; for
    one target or thousands at once.

    With :math:`\hat X` the matrix of rank k nearest the rows and :math:`\epsilon_k \ge \|X - \hat
    X\|` its certified error, each target solves

    .. math:: \min_{\|\beta\|_1 \le r} \|y - \hat X \beta\|_2 + \eta \|\beta\|_2, \qquad \eta =
    \text{robustness} \cdot \epsilon_k ,

    which is :math:`\max_{\|\Delta\| \le \eta} \|y - (\hat X + \Delta) \beta\|_2`, the residual
    under the worst error of that size. Once the rows are factored a target is k numbers, and the
    iterations do not depend on the number of rows.

    Choose it for many targets on one wide matrix: tags, words, sensors. For few targets, or where
    the last bit of accuracy counts, a lasso on all the data fits better. ``robustness=1`` insures
    against the whole error, and on text sets most targets to 0, at every radius; 0 is the plain
    lasso on the low-rank matrix, which converges more slowly; 0.1 is between.

    Parameters
    ----------
    n_components : int, default=100
        Rank k of the matrix. Text wants 100 or more.
    radius : float, array-like of shape (n_targets,) or "auto", default="auto"
        Bound r of the weights' L1 norm. "auto" is half the norm that the target's weights have
        without a bound; ``numpy.inf`` is none, whose solution has a closed form and is not sparse.
    robustness : float, default=0.1
        Share of the matrix's error to insure against, from 0 to 1.
    n_oversamples : int, default=10
        Random projections beyond k.
    n_power_iter : int, default=2
        Power iterations of the factorisation.
    sketch : {"gaussian", "sparse", "srft"}, default="gaussian"
        Random matrix of the factorisation.
    method : {"svd", "nmf"}, default="svd"
        Kind of the factorisation; see `LowRankFactorization`.
    fit_intercept : bool, default=True
        Whether to fit an intercept, by centred columns and targets.
    max_iter : int, default=2000
        Most iterations a target.
    tol : float, default=1e-4
        Largest duality gap, as a share of the norm of the (centred) target.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the products; "float32" needs half the memory, and a tol of at least 1e-5.
    n_jobs : int or None, default=None
        Threads, each with some targets. None is 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the factorisation.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights; zeros are exact. Made on demand.
    sparse_coef_ : csr_array of shape (n_targets, n_features)
        The same as they are stored.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    support_ : ndarray of int
        Indices of the features with a weight; of several targets the union.
    factorization_ : LowRankFactorization
        The factored rows; hand it to the next `fit` on the same rows.
    gap_ : ndarray of shape (n_targets,)
        Duality gaps as shares of the targets' norms.
    converged_ : ndarray of bool of shape (n_targets,)
        Whether the gap came below `tol`.
    collapsed_ : ndarray of bool of shape (n_targets,)
        Whether 0 is the solution at every radius, :math:`\|\hat X^T y\| \le \eta \|y\|`.
    bounded_ : ndarray of bool of shape (n_targets,)
        Whether the radius matters; where not, the weights are the closed form, and not sparse.
    radius_ : ndarray of shape (n_targets,)
        Radius of each target.
    alpha_ : ndarray of shape (n_targets,)
        Price of the L1 norm at the solution, in the units of scikit-learn's Lasso and ElasticNet.
    objective_ : ndarray of shape (n_targets,)
        Value of the objective.
    residual_bound_ : ndarray of shape (n_targets,)
        What the norm of the residual on X itself cannot exceed, with the probability of the
        factorisation's certificate.
    n_iter_ : int
        Iterations of the target that took most.
    history_ : list of dict
        What each stage did: factorisation, zero test, closed form, projected gradients.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    LowRankClassifier : The same for labels and classes.
    LowRankFactorization : The factorisation alone.
    associations : Words that predict a word.
    RankOneLasso : Rank one, solved exactly.

    Notes
    -----
    Targets are tested for 0, then solved without the bound, which is a root in one variable; those
    that the bound concerns go through spectral projected gradients, a few dozen at a time, and
    leave when their duality gap is small. The gap is of the low-rank problem; `certificate` gives
    that of the lasso on X. With ``robustness=0`` and a radius at which the k numbers of a target
    are met exactly, the minimiser is not unique.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning",
    UCB/EECS-2015-216, chapter 4. E. G. Birgin, J. M. Martinez and M. Raydan, "Nonmonotone Spectral
    Projected Gradient Methods on Convex Sets", SIAM Journal on Optimization 10, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import LowRankLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 10)) @ rng.normal(size=(10, 200)) + 0.1 * rng.normal(size=(500, 200))
    >>> Y = X[:, :3] + 0.1 * rng.normal(size=(500, 3))
    >>> model = LowRankLasso(n_components=10, radius=1.0, random_state=0).fit(X, Y)
    >>> model.coef_.shape
    (3, 200)
    >>> bool(model.converged_.all())
    True
    >>> bool((np.abs(model.coef_).sum(axis=1) <= 1.0 + 1e-9).all())
    True
    """

    def __init__(
        self,
        n_components=100,
        radius="auto",
        robustness=0.1,
        *,
        n_oversamples=10,
        n_power_iter=2,
        sketch="gaussian",
        method="svd",
        fit_intercept=True,
        max_iter=2000,
        tol=1e-4,
        dtype="float64",
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.radius = radius
        self.robustness = robustness
        self.n_oversamples = n_oversamples
        self.n_power_iter = n_power_iter
        self.sketch = sketch
        self.method = method
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None, factorization=None):
        """Factor the rows, and fit all targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.
        factorization : LowRankFactorization or None, default=None
            A factorisation of the same rows and weights, as `factorization_` of an earlier fit, to
            save making it again.

        Returns
        -------
        self : object
        """
        matrix, roots = self._prepare(X, sample_weight)
        self._learn(
            matrix,
            self._take_targets(y, matrix.shape[0], first=True, whole=True),
            roots,
            factorization,
        )
        return self

    @available_if(never)
    def partial_fit(self, X, y, sample_weight=None):
        """Not there: all rows are factored at once."""

    def path(self, X, y, radii, sample_weight=None, factorization=None):
        """Solutions at several radii, from one factorisation.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        radii : array-like of shape (n_radii,)
            Bounds of the L1 norm, for all targets alike; ``numpy.inf`` is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        factorization : LowRankFactorization or None, default=None
            A factorisation of the same rows and weights.

        Returns
        -------
        models : list of LowRankLasso
            One fitted model a radius; all share one factorisation.
        """
        models = []
        for radius in np.atleast_1d(np.asarray(radii, dtype=float)).tolist():
            models.append(
                type(self)(**{**self.get_params(), "radius": radius}).fit(
                    X, y, sample_weight, factorization
                )
            )
            factorization = models[0].factorization_
        return models

    def certificate(self, X, y, sample_weight=None):
        """How far the fit is from the lasso on X itself, for every target: one product with X, one
        with its transpose.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of the fit.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            The targets of the fit.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.

        Returns
        -------
        found : dict of ndarray of shape (n_targets,)
            ``residual``, the norm of the residual on X; ``bound``, that this cannot exceed; and
            ``gap``, which is at least the distance of ``residual`` from the least one within the
            radius (infinite where there is none).
        """
        check_is_fitted(self)
        matrix = take_plain(self, X, reset=False)
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        operator = Operator(matrix, np.sqrt(weights) if len(weights) else None, self.fit_intercept)
        targets = self._take_targets(y, matrix.shape[0], first=False, whole=True)
        residual, gap = np.zeros(self._n_targets), np.zeros(self._n_targets)
        for at in range(0, self._n_targets, COLUMNS):
            part = slice(at, at + COLUMNS)
            block = targets[:, part].toarray() if sp.issparse(targets) else targets[:, part]
            apart = operator.roots[:, None] * (
                block - scores_of(matrix, self._weights[part], self.intercept_[part])
            )
            residual[part] = np.linalg.norm(apart, axis=0)
            slopes = operator.turned_times(apart / np.maximum(residual[part], np.finfo(float).tiny))
            steepest = np.abs(slopes).max(axis=0, initial=0.0)
            limit = np.multiply(
                self.radius_[part], steepest, out=np.zeros(len(steepest)), where=steepest > 0.0
            )
            gap[part] = (
                limit - np.asarray(self._weights[part].multiply(slopes.T).sum(axis=1)).ravel()
            )
        return {"residual": residual, "bound": self.residual_bound_, "gap": gap}

    def _take_targets(self, y, n_rows, *, first, whole):
        """Targets as columns, dense or CSC."""
        if not sp.issparse(y):
            return super()._take_targets(y, n_rows, first=first, whole=whole)
        y = take_numbers(self, y, whole=whole, sparse=True)
        if y.shape[0] != n_rows:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[n_rows, y.shape[0]]}"
            )
        if first:
            self._flat, self._n_targets = False, y.shape[1]
        if y.shape[1] != self._n_targets:
            raise ValueError(
                f"y has {y.shape[1]} targets a row, but the model was fitted with "
                f"{self._n_targets}."
            )
        return sp.csc_array(y)

    @property
    def coef_(self):
        """Weights, of shape (n_features,) or (n_targets, n_features)."""
        weights = self.sparse_coef_.toarray()
        return weights[0] if self._flat else weights
