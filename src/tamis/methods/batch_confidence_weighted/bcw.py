"""Online-batch confidence-weighted learning (BCW): one covariance for all rows of a batch, then a
sweep for the mean.
"""

from copy import copy
from typing import ClassVar

import numpy as np

from tamis.base.estimators.estimator import take_asked
from tamis.base.parameters import ABOVE, BOOL, COUNT, NUMBER, estimator, one_of, parameter
from tamis.base.partition_sums import PartitionSums
from tamis.methods.batch_confidence_weighted.belief import Belief
from tamis.methods.batch_confidence_weighted.dual import Outcome, SweepOptions, learn_batch
from tamis.methods.batch_confidence_weighted.estimator import COST, NOTHING, BatchModel
from tamis.methods.batch_confidence_weighted.partitions import fit_sums, refuse_sums
from tamis.methods.batch_confidence_weighted.rows import Rows
from tamis.system.schema import part


@estimator
class BCWClassifier(BatchModel):
    r"""Linear classifier with a full Gaussian over its weights, learnt a batch at a time:
    online-batch confidence-weighted learning (BCW).

    Choose it for dense rows of up to a few thousand columns, if the order of the rows must not
    matter or if one wants the uncertainty of a margin: `predict_confidence` says how sure its sign
    is, in place of probabilities. With ``cov_C=None`` (that is, C) and one sweep it is nearly ridge
    regression, in cost and in error: where ridge does well, so does it, and on digits both are
    worse than a support vector machine. ``cov_C=C / 100`` with ``max_iter=50`` is the accurate
    mode: close to a linear SVM, in fewer sweeps. For many columns of which few matter, use
    `SparseBCWClassifier`.

    A batch first adds its rows to the precision, :math:`P = P_0 + C_{cov} \sum_i c_i x_i x_i^T`,
    and then moves the mean by dual coordinate ascent on

    .. math:: \min_\mu \tfrac12 (\mu - \mu_0)^T P (\mu - \mu_0) + C \sum_i c_i
       \max(0, 1 - y_i \mu^T x_i)^q

    with q = 1 (hinge) or 2 (squared hinge), weights c of the rows, and :math:`P_0 = I`,
    :math:`\mu_0 = 0` before the first batch. One sweep over the rows is the method of the paper;
    more of them, until a duality gap, solve the problem.

    {parameters}

    {attributes}

    See Also
    --------
    SparseBCWClassifier : Few features out of many, with a covariance in blocks.
    sklearn.linear_model.RidgeClassifier : About the same errors where the margin does not matter.

    Notes
    -----
    A `partial_fit` call is one batch, so unlike in the online models the cut into calls matters.
    With ``prior_mean="dual"`` it matters less.

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

    C: float = parameter(1.0, [ABOVE], COST)
    cov_C: float | None = parameter(
        None,
        [NUMBER, None],
        "What a row adds to the precision; None is C. 0 leaves the identity: then it is a linear "
        "SVM.",
    )
    loss: str = parameter(
        "hinge",
        [one_of("hinge", "squared_hinge")],
        'Loss. For streams of many batches prefer "squared_hinge".',
    )
    max_iter: int = parameter(
        1,
        [COUNT],
        "Most sweeps over a batch. With more than one they end at a duality gap of `tol`.",
    )
    prior_mean: str = parameter(
        "last",
        [one_of("last", "dual")],
        r"Mean :math:`\mu_0` that the next batch starts from: the last one, or what all dual "
        "variables so far give under the new covariance.",
    )
    solver: str = parameter(
        "auto",
        [one_of("auto", "cholesky", "kernel", "raw")],
        'Way to the same means. "cholesky" whitens the rows; "kernel" works on inner products of '
        'rows and holds nothing of columns by columns; "raw" sweeps sparse rows as they are, with '
        'the covariance in full. "auto" takes "kernel" while there are fewer rows than columns, '
        'else "raw" for rows that are less than a quarter full, else "cholesky".',
    )
    shuffle: bool = parameter(
        True,
        [BOOL],
        "Whether each sweep walks the rows in a new order. The first sweep of `partial_fit` never "
        "does.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {"_belief": part(Belief, "outputs", "columns")}
    _attributes: ClassVar[str] = """\
        variance_ : ndarray of shape (n_outputs, n_features)
            Variances of the weights; the same for all outputs, since the covariance does not
            depend on y. Made on demand.
        history_ : list of dict
            Per sweep over the last batch: objective, dual and gap."""
    # one sweep tells a row of weight 2 from a row that comes twice: see tamis.testing
    _walks_rows = True

    def _refuse_sums(self) -> str:
        """Why it cannot be fitted by sums over partitions; empty where it can."""
        return refuse_sums(self)

    def _fit_sums(self, sums: PartitionSums) -> None:
        """Fit by sums over partitions."""
        fit_sums(self, sums)

    def _learn(self, matrix, signs, weights, belief, whole) -> tuple[Belief, Outcome]:
        """One batch: the precision, then the means."""
        constant = self._constant()
        rows = Rows(matrix, constant)
        belief = copy(belief) if belief else Belief(signs.shape[1], rows.columns, constant)
        if belief.width != rows.width:
            raise ValueError(
                f"{type(self).__name__}: `fit_intercept` changed since the first batch; call fit."
            )
        belief.constant = constant
        if not rows.count:
            return belief, NOTHING
        row_weights = weights * float(self.C if self.cov_C is None else self.cov_C)
        options = SweepOptions(self.solver, self.prior_mean, self.max_iter, self.tol)
        orders = self._orders(rows.count, first=whole and self.shuffle, later=self.shuffle)
        dual = self._dual(signs, weights)
        done = learn_batch(belief, rows, dual, row_weights, options, orders)
        if self.max_iter > 1 and not done.converged:
            self._warn_unfinished(done.gap)
        return belief, done

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        matrix, belief = take_asked(self, X), self._belief
        return Rows(matrix, belief.constant).scores(belief.mean)

    def _margin_variance(self, X):
        """Margins of the rows and their variances."""
        matrix, belief, shape = take_asked(self, X), self._belief, self._targets.decision
        rows = Rows(matrix, belief.constant)
        margin = rows.scores(belief.mean)
        variance = np.repeat(belief.variances(rows)[:, None], margin.shape[1], axis=1)
        return shape(margin), shape(variance)

    @property
    def coef_(self):
        """Means of the weights, of shape (outputs, n_features)."""
        return self._fitted("coef_").mean[:, : self.n_features_in_].copy()

    @property
    def intercept_(self):
        """Intercepts, one an output."""
        belief = self._fitted("intercept_")
        mean, constant = belief.mean, belief.constant
        return constant * mean[:, -1] if constant else np.zeros(len(mean))

    @property
    def variance_(self):
        """Variances of the weights, shaped as `coef_`."""
        belief = self._fitted("variance_")
        return np.repeat(belief.diagonal()[None, : self.n_features_in_], len(belief.mean), axis=0)

    @property
    def support_(self):
        """Indices of the features with a weight other than 0."""
        return np.flatnonzero(self._fitted("support_").mean[:, : self.n_features_in_].any(axis=0))
