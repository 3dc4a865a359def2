"""The lasso on a low-rank matrix, for one target or thousands."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import plain_rows
from tamis.base.estimators.regressor import Regressor
from tamis.base.fast_checks import check_length
from tamis.base.parameters import estimator
from tamis.base.targets import NumberTargets
from tamis.base.validation import take_numbers, take_weights
from tamis.methods.low_rank_lasso.compression import COLUMNS, scores_of
from tamis.methods.low_rank_lasso.estimator import LowRankModel
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.randomized_svd import Operator


@estimator
class LowRankLasso(LowRankModel, Regressor):
    r"""Lasso on a low-rank matrix near the rows, insured against what that matrix leaves out; for
    one target or thousands at once.

    Choose it for many targets on one wide matrix: tags, words, sensors. For few targets, or where
    the last bit of accuracy counts, a lasso on all the data fits better. ``robustness=1`` insures
    against the whole error, and with an intercept sets most targets of text to 0, at every radius;
    0 is the plain lasso on the low-rank matrix, which converges more slowly; 0.1 is between.

    With :math:`\hat X` the matrix of rank k nearest the rows and :math:`\epsilon_k \ge \|X - \hat
    X\|` its certified error, each target solves

    .. math:: \min_{\|\beta\|_1 \le r} \|y - \hat X \beta\|_2 + \eta \|\beta\|_2, \qquad
       \eta = \text{robustness} \cdot \epsilon_k ,

    which is :math:`\max_{\|\Delta\| \le \eta} \|y - (\hat X + \Delta) \beta\|_2`, the residual
    under the worst error of that size. Once the rows are factored a target is k numbers, and the
    iterations do not depend on the number of rows.

    {parameters}

    {attributes}

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
        models: list[LowRankLasso] = []
        for radius in np.atleast_1d(np.asarray(radii, dtype=float)).tolist():
            model = clone(self).set_params(radius=radius)
            models.append(model.fit(X, y, sample_weight, factorization))
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
        matrix = plain_rows(self, X)
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        operator = Operator(matrix, np.sqrt(weights) if len(weights) else None, self.fit_intercept)
        targets: Any = self._code(y, matrix.shape[0], known=self._targets)[1].columns
        count = self._targets.outputs
        residual, gap = np.zeros(count), np.zeros(count)
        for at in range(0, count, COLUMNS):
            part = slice(at, at + COLUMNS)
            learnt, block = self._weights[part], targets[:, part]
            block = block.toarray() if sp.issparse(block) else block
            scores = scores_of(matrix, learnt, self.intercept_[part])
            left = operator.roots[:, None] * (block - scores)
            residual[part] = np.linalg.norm(left, axis=0)
            slopes = operator.turned_times(left / np.maximum(residual[part], np.finfo(float).tiny))
            steepest = np.abs(slopes).max(axis=0, initial=0.0)
            limit = np.zeros(len(steepest))
            np.multiply(self.radius_[part], steepest, out=limit, where=steepest > 0.0)
            gap[part] = limit - np.asarray(learnt.multiply(slopes.T).sum(axis=1)).ravel()
        return {"residual": residual, "bound": self.residual_bound_, "gap": gap}

    def _code(
        self, y, n_rows: int, *, known=None, **stream
    ) -> tuple[NumberTargets, EncodedTargets]:
        """Targets as columns; sparse ones stay sparse."""
        if not sp.issparse(y):
            return super()._code(y, n_rows, known=known, **stream)
        y = take_numbers(self, y, whole=True, sparse=True)
        check_length(np.empty(y.shape[0]), n_rows)
        found = NumberTargets(y.shape[1], flat=False) if known is None else known
        if y.shape[1] != found.outputs:
            raise ValueError(
                f"y has {y.shape[1]} targets a row, but the model was begun with {found.outputs}."
            )
        return found, EncodedTargets(sp.csc_array(y))
