"""BCWClassifier: batch confidence-weighted learning (BCW) with a full covariance."""

from copy import copy
from typing import ClassVar

import numpy as np

from tamis.base.estimators.estimator import validate_prediction
from tamis.base.parameters import (
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    estimator,
    one_of_strings,
    parameter,
)
from tamis.base.partition_sums import PartitionSums
from tamis.methods.batch_confidence_weighted.dual import BatchResult, SweepOptions, learn_batch
from tamis.methods.batch_confidence_weighted.estimator import C_DESCRIPTION, EMPTY_BATCH, BatchModel
from tamis.methods.batch_confidence_weighted.partitions import fit_sums, refuse_sums
from tamis.methods.batch_confidence_weighted.posterior import GaussianPosterior
from tamis.methods.batch_confidence_weighted.rows import BatchRows
from tamis.system.schema import nested_object


@estimator
class BCWClassifier(BatchModel):
    r"""Linear classifier with a full Gaussian over its weights, updated a batch at a time:
    online-batch confidence-weighted learning (BCW).

    Use it for dense rows of up to a few thousand columns, if the result must not depend on the
    order of the rows or if you need the uncertainty of a margin: `predict_confidence` returns the
    probability of its sign under the Gaussian, in place of class probabilities. With ``cov_C=None``
    (that is, C) and one sweep it is close to ridge regression in cost and in error; on digits both
    are worse than a support vector machine. ``cov_C=C / 100`` with ``max_iter=50`` is the accurate
    mode: close to a linear SVM, in fewer sweeps. For many columns of which few matter, use
    `SparseBCWClassifier`.

    A batch first adds its rows to the precision, :math:`P = P_0 + C_{cov} \sum_i c_i x_i x_i^T`,
    and then updates the mean by dual coordinate ascent on

    .. math:: \min_\mu \tfrac12 (\mu - \mu_0)^T P (\mu - \mu_0) + C \sum_i c_i
       \max(0, 1 - y_i \mu^T x_i)^q

    with q = 1 (hinge) or 2 (squared hinge), weights c of the rows, and :math:`P_0 = I`,
    :math:`\mu_0 = 0` before the first batch. One sweep over the rows is the method of the paper;
    several sweeps solve the problem to a duality gap of `tol`.

    {parameters}

    {attributes}

    See Also
    --------
    SparseBCWClassifier : Selects few features out of many, with a covariance in blocks.
    sklearn.linear_model.RidgeClassifier : Has about the same error if margins are not needed.

    Notes
    -----
    A `partial_fit` call is one batch, so, unlike in the online models, the result depends on how
    the rows are divided into calls. With ``prior_mean="dual"`` it depends less on that.

    References
    ----------
    M. Tan, Y. Yan, L. Wang, A. van den Hengel, I. W. Tsang and Q. Shi, "Learning Sparse
    Confidence-Weighted Classifier on Very High Dimensional Data", AAAI 2016, equations (5) to (8)
    and algorithm 1. The squared hinge costs C times its square here, not C / 2, as in the steps of
    that algorithm.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from tamis import BCWClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> model = BCWClassifier(random_state=0).fit(X[:400], y[:400])
    >>> round(model.score(X[400:], y[400:]), 2)
    0.98
    >>> margin, deviation = model.predict_margin(X[400:403])
    >>> margin.shape, bool((deviation > 0).all())
    ((3,), True)
    """

    C: float = parameter(1.0, [POSITIVE], C_DESCRIPTION)
    cov_C: float | None = parameter(
        None,
        [NON_NEGATIVE, None],
        "Weight of a row in the precision; None is C. With 0 the precision stays the identity, and "
        "the model is a linear SVM.",
    )
    loss: str = parameter(
        "hinge",
        [one_of_strings("hinge", "squared_hinge")],
        'Loss. For streams of many batches prefer "squared_hinge".',
    )
    max_iter: int = parameter(
        1,
        [POSITIVE_INTEGER],
        "Maximum number of sweeps over a batch. If above 1, they end at a duality gap of `tol`.",
    )
    prior_mean: str = parameter(
        "last",
        [one_of_strings("last", "dual")],
        r"Prior mean :math:`\mu_0` of the next batch: the last mean, or the mean of all dual "
        "variables so far under the new covariance.",
    )
    solver: str = parameter(
        "auto",
        [one_of_strings("auto", "cholesky", "kernel", "raw")],
        'Solver; all compute the same means. "cholesky" whitens the rows; "kernel" uses inner '
        'products of rows and no array of columns by columns; "raw" sweeps over sparse rows with a '
        'full covariance matrix. "auto" is "kernel" while there are fewer rows than columns, else '
        '"raw" for sparse rows of a density below 0.25, else "cholesky".',
    )
    shuffle: bool = parameter(
        True,
        [BOOL],
        "Whether to shuffle the rows before each sweep. The first sweep of `partial_fit` is never "
        "shuffled.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {"_belief": nested_object(GaussianPosterior, "outputs", "columns")}
    _attributes: ClassVar[str] = """\
        variance_ : ndarray of shape (n_outputs, n_features)
            Variances of the weights; the same for all outputs, since the covariance does not
            depend on y. Computed on access.
        history_ : list of dict
            Objective, dual and gap of each sweep over the last batch."""
    # One sweep gives different results for a row of weight 2 and for two equal rows.
    _steps_by_row = True

    def _refuse_sums(self) -> str:
        """Why it cannot be fitted by sums over partitions; empty where it can."""
        return refuse_sums(self)

    def _fit_sums(self, sums: PartitionSums) -> None:
        """Fit by sums over partitions."""
        fit_sums(self, sums)

    def _learn(
        self, matrix, signs, weights, posterior, is_fit
    ) -> tuple[GaussianPosterior, BatchResult]:
        """Update the precision by one batch, then the means."""
        constant = self._constant()
        rows = BatchRows(matrix, constant)
        posterior = (
            copy(posterior)
            if posterior
            else GaussianPosterior(signs.shape[1], rows.columns, constant)
        )
        if posterior.width != rows.width:
            raise ValueError(
                f"{type(self).__name__}: `fit_intercept` changed since the first batch; call fit."
            )
        posterior.constant = constant
        if not rows.count:
            return posterior, EMPTY_BATCH
        row_weights = weights * float(self.C if self.cov_C is None else self.cov_C)
        options = SweepOptions(self.solver, self.prior_mean, self.max_iter, self.tol)
        orders = self._orders(
            rows.count, shuffle_first=is_fit and self.shuffle, shuffle_later=self.shuffle
        )
        dual = self._dual(signs, weights)
        result = learn_batch(posterior, rows, dual, row_weights, options, orders)
        if self.max_iter > 1 and not result.converged:
            self._warn_unfinished(result.gap)
        return posterior, result

    # ------------------------------------------------------------------ predictions, attributes
    def _scores(self, X):
        matrix, posterior = validate_prediction(self, X), self._belief
        return BatchRows(matrix, posterior.constant).scores(posterior.mean)

    def _margin_variance(self, X):
        """Return the margins of the rows and their variances."""
        matrix, posterior, as_output = (
            validate_prediction(self, X),
            self._belief,
            self._targets.shape_scores,
        )
        rows = BatchRows(matrix, posterior.constant)
        margin = rows.scores(posterior.mean)
        variance = np.repeat(posterior.variances(rows)[:, None], margin.shape[1], axis=1)
        return as_output(margin), as_output(variance)

    @property
    def coef_(self):
        """Means of the weights, of shape (outputs, n_features)."""
        return self._fitted_state("coef_").mean[:, : self.n_features_in_].copy()

    @property
    def intercept_(self):
        """Intercepts, one for each output."""
        posterior = self._fitted_state("intercept_")
        mean, constant = posterior.mean, posterior.constant
        return constant * mean[:, -1] if constant else np.zeros(len(mean))

    @property
    def variance_(self):
        """Variances of the weights, shaped as `coef_`."""
        posterior = self._fitted_state("variance_")
        return np.repeat(
            posterior.diagonal()[None, : self.n_features_in_], len(posterior.mean), axis=0
        )

    @property
    def support_(self):
        """Indices of the features with a weight other than 0."""
        return np.flatnonzero(
            self._fitted_state("support_").mean[:, : self.n_features_in_].any(axis=0)
        )
