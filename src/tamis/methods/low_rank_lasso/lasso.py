"""LowRankLasso: the robust lasso on a low-rank matrix, for one target or thousands."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import validate_rows
from tamis.base.estimators.regressor import Regressor
from tamis.base.fast_checks import check_n_targets
from tamis.base.parameters import estimator
from tamis.base.targets import NumberTargets
from tamis.base.validation import validate_numbers, validate_sample_weight
from tamis.methods.low_rank_lasso.compression import TARGETS_PER_CHUNK, compute_scores
from tamis.methods.low_rank_lasso.estimator import LowRankModel
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.randomized_svd import CenteredOperator


@estimator
class LowRankLasso(LowRankModel, Regressor):
    r"""Robust lasso on a low-rank approximation of X, for one target or thousands at once.

    Use it for many targets on one wide matrix: tags, words, sensors. For few targets, or if
    accuracy matters most, use a lasso on X itself. ``robustness=1`` protects against the full
    approximation error, and with an intercept sets most targets of text to 0, at every radius; 0 is
    the plain lasso on the low-rank matrix, which converges more slowly; 0.1 is a compromise.

    With the best approximation :math:`\hat X` of rank k and its certified error :math:`\epsilon_k
    \ge \|X - \hat X\|`, it solves for each target

    .. math:: \min_{\|\beta\|_1 \le r} \|y - \hat X \beta\|_2 + \eta \|\beta\|_2, \qquad
       \eta = \text{robustness} \cdot \epsilon_k ,

    where the objective is :math:`\max_{\|\Delta\| \le \eta} \|y - (\hat X + \Delta) \beta\|_2`, the
    residual for the worst error of norm :math:`\eta`. After the factorisation a target is k
    numbers, and the cost of an iteration does not depend on the number of rows.

    {parameters}

    {attributes}

    See Also
    --------
    LowRankClassifier : The same objective for labels and classes.
    LowRankFactorization : Computes the factorisation.
    associations : Lists the words that predict a word.
    RankOneLasso : Solves rank one exactly.

    Notes
    -----
    A test in closed form finds the targets with a zero solution, and a root in one variable gives
    the solutions without the L1 bound. Spectral projected gradients solve for the targets with an
    active bound, a few dozen at a time, until the duality gap of each is at most `tol`. This is the
    gap of the low-rank problem; `certificate` returns that of the lasso on X. With ``robustness=0``
    and a radius that allows a perfect fit of the k numbers of a target, the minimiser is not
    unique.

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
    >>> X = rng.normal(size=(500, 10)) @ rng.normal(size=(10, 200))
    >>> X += 0.1 * rng.normal(size=(500, 200))
    >>> Y = X[:, :3] + 0.1 * rng.normal(size=(500, 3))
    >>> model = LowRankLasso(n_components=10, radius=1.0, random_state=0).fit(X, Y)
    >>> model.coef_.shape
    (3, 200)
    >>> bool(model.converged_.all())
    True
    >>> bool((np.abs(model.coef_).sum(axis=1) <= 1.0 + 1e-9).all())
    True
    """

    def path(self, X, y, radii, sample_weight=None, factorization=None):
        """Fit models at several radii with one factorisation.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        radii : array-like of shape (n_radii,)
            Bounds on the L1 norm, each for all targets; ``numpy.inf`` means no bound.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        factorization : LowRankFactorization or None, default=None
            A factorisation of the same rows and weights.

        Returns
        -------
        models : list of LowRankLasso
            One fitted model for each radius; all share one factorisation.
        """
        models: list[LowRankLasso] = []
        for radius in np.atleast_1d(np.asarray(radii, dtype=float)).tolist():
            model = clone(self).set_params(radius=radius)
            models.append(model.fit(X, y, sample_weight, factorization))
            factorization = models[0].factorization_
        return models

    def certificate(self, X, y, sample_weight=None):
        """Bound the distance of the fit from the lasso on X itself, for every target; this takes
        one product with X and one with its transpose.

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
        certificate : dict of ndarray of shape (n_targets,)
            ``residual``, the norm of the residual on X; ``bound``, an upper bound on it known
            without X; and ``gap``, an upper bound on the difference of ``residual`` and the
            smallest residual within the radius (infinite without a radius).
        """
        check_is_fitted(self)
        matrix = validate_rows(self, X)
        row_weights = validate_sample_weight(sample_weight, matrix.shape[0], require_positive=True)
        operator = CenteredOperator(
            matrix, np.sqrt(row_weights) if len(row_weights) else None, self.fit_intercept
        )
        targets: Any = self._encode_targets(y, matrix.shape[0], known=self._targets)[1].columns
        n_targets = self._targets.outputs
        residual, gap = np.zeros(n_targets), np.zeros(n_targets)
        for start in range(0, n_targets, TARGETS_PER_CHUNK):
            chunk = slice(start, start + TARGETS_PER_CHUNK)
            weights, block = self._weights[chunk], targets[:, chunk]
            block = block.toarray() if sp.issparse(block) else block
            scores = compute_scores(matrix, weights, self.intercept_[chunk])
            residuals = operator.roots[:, None] * (block - scores)
            residual[chunk] = np.linalg.norm(residuals, axis=0)
            correlations = operator.rmatmat(
                residuals / np.maximum(residual[chunk], np.finfo(float).tiny)
            )
            max_correlations = np.abs(correlations).max(axis=0, initial=0.0)
            max_products = np.zeros(len(max_correlations))
            np.multiply(
                self.radius_[chunk],
                max_correlations,
                out=max_products,
                where=max_correlations > 0.0,
            )
            gap[chunk] = (
                max_products - np.asarray(weights.multiply(correlations.T).sum(axis=1)).ravel()
            )
        return {"residual": residual, "bound": self.residual_bound_, "gap": gap}

    def _encode_targets(
        self, y, n_rows: int, *, known=None, **stream
    ) -> tuple[NumberTargets, EncodedTargets]:
        """Return the targets and their columns; sparse ones stay sparse."""
        if not sp.issparse(y):
            return super()._encode_targets(y, n_rows, known=known, **stream)
        y = validate_numbers(self, y, is_fit=True, sparse=True)
        check_n_targets(np.empty(y.shape[0]), n_rows)
        targets = NumberTargets(y.shape[1], flat=False) if known is None else known
        if y.shape[1] != targets.outputs:
            raise ValueError(
                f"y has {y.shape[1]} targets, but the model was fitted with {targets.outputs}. "
                "Pass the y of the fit."
            )
        return targets, EncodedTargets(sp.csc_array(y))
