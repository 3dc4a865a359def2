"""Online-batch confidence-weighted learning (BCW): one covariance for all rows of a batch, then a
sweep for the mean.
"""

from copy import copy
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from tamis.base.contents import early, number, part
from tamis.methods.batch_confidence.belief import Belief
from tamis.methods.batch_confidence.dual import learn_batch
from tamis.methods.batch_confidence.estimator import SHARED, BatchModel
from tamis.methods.batch_confidence.rows import Rows


class BCWClassifier(BatchModel):
    r"""Linear classifier with a full Gaussian over its weights, learnt a batch at a time:
    online-batch confidence-weighted learning (BCW).

    A batch first adds its rows to the precision, :math:`P = P_0 + C_{cov} \sum_i c_i x_i x_i^T`,
    and then moves the mean by dual coordinate ascent on

    .. math:: \min_\mu \tfrac12 (\mu - \mu_0)^T P (\mu - \mu_0) + C \sum_i c_i \max(0, 1 - y_i \mu^T
    x_i)^q

    with q = 1 (hinge) or 2 (squared hinge), weights c of the rows, and :math:`P_0 = I`,
    :math:`\mu_0 = 0` before the first batch. One sweep over the rows is the method of the paper;
    more of them, until a duality gap, solve the problem.

    Choose it for dense rows of up to a few thousand columns, if the order of the rows must not
    matter or if one wants the uncertainty of a margin. With ``cov_C=None`` (that is, C) and one
    sweep it is nearly ridge regression, in cost and in error: where ridge does well, so does it,
    and on digits both are worse than a support vector machine. ``cov_C=C / 100`` with
    ``max_iter=50`` is the accurate mode: close to a linear SVM, in fewer sweeps. For many columns
    of which few matter, use `SparseBCWClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of a row. The squared hinge costs C times its square, as in liblinear.
    cov_C : float or None, default=None
        What a row adds to the precision; None is C. 0 leaves the identity: then it is a linear SVM.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss. For streams of many batches prefer "squared_hinge".
    max_iter : int, default=1
        Most sweeps over a batch. With more than one they end at a duality gap of `tol`.
    carry : {"mean", "dual"}, default="mean"
        Where the mean of the next batch starts: at the last mean, or at what all dual variables so
        far give under the new covariance.
    solver : {"auto", "cholesky", "kernel", "raw"}, default="auto"
        Way to the same means. "cholesky" whitens the rows; "kernel" works on inner products of rows
        and holds nothing of columns by columns; "raw" sweeps sparse rows as they are, with the
        covariance in full. "auto" takes "kernel" while there are fewer rows than columns, else
        "raw" for rows that are less than a quarter full, else "cholesky".
    tol : float or None, default=1e-3
        Largest duality gap, as a share of the objective, at which sweeps end. None makes all of
        them.
    shuffle : bool, default=True
        Whether each sweep walks the rows in a new order. The first sweep of `partial_fit` never
        does.
    fit_intercept : bool, default=True
        Whether to append a constant column. It is regularised and takes part in the covariance, as
        in liblinear.
    intercept_scaling : float, default=1.0
        Value of the constant column.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the row weights. "balanced" counts the whole of y in
        `fit`, and in `partial_fit` the rows so far, the present one included.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffles.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Means of the weights.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    variance_ : ndarray of shape (n_outputs, n_features)
        Variances of the weights; the same for all outputs, since the covariance does not depend on
        y. Made on demand.
    support_ : ndarray of int
        Indices of the features with a weight other than 0.
    gap_ : float
        Duality gap of the last batch as a share of the objective, of the worst output.
    n_iter_ : int
        Sweeps over the last batch.
    history_ : list of dict
        Per sweep over the last batch: objective, dual and gap.
    classes_ : ndarray
        Class labels; for a matrix of labels, their numbers.
    multilabel_ : bool
        Whether the targets were a 0/1 matrix of labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    SparseBCWClassifier : Few features out of many, with a covariance in blocks.
    sklearn.linear_model.RidgeClassifier : About the same errors where the margin does not matter.

    Notes
    -----
    A `partial_fit` call is one batch, so unlike in the online models the cut into calls matters.
    With ``carry="dual"`` it matters less.

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

    _contents: ClassVar[dict] = {
        "_scale": early(
            number(
                float,
                least=0.0,
                binds={
                    "width": lambda scale, held: held.measure("columns", "_scale") + (scale != 0.0)
                },
            )
        ),
        "_belief": part(Belief, "outputs", "width"),
    }
    _walks_rows = (
        True  # one sweep tells a row of weight 2 from a row that comes twice: see tamis.testing
    )
    _parameter_constraints: ClassVar[dict] = {
        **SHARED,
        "carry": [StrOptions({"mean", "dual"})],
        "solver": [StrOptions({"auto", "cholesky", "kernel", "raw"})],
        "shuffle": ["boolean"],
    }

    def __init__(
        self,
        C=1.0,
        cov_C=None,
        loss="hinge",
        max_iter=1,
        carry="mean",
        solver="auto",
        *,
        tol=1e-3,
        shuffle=True,
        fit_intercept=True,
        intercept_scaling=1.0,
        class_weight=None,
        random_state=None,
    ):
        self.C = C
        self.cov_C = cov_C
        self.loss = loss
        self.max_iter = max_iter
        self.carry = carry
        self.solver = solver
        self.tol = tol
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state

    def _learn(self, matrix, signs, weights, belief, whole):
        """One batch: the precision, then the means."""
        rows = Rows(matrix, self._constant())
        belief = Belief(self._outputs(), rows.width) if belief is None else copy(belief)
        if belief.width != rows.width:
            raise ValueError(
                f"{type(self).__name__}: `fit_intercept` changed since the first batch; call fit."
            )
        self._scale = self._constant()
        self._note()
        if rows.count:
            loads = weights * float(self.C if self.cov_C is None else self.cov_C)
            orders = self._orders(rows.count, first=whole and self.shuffle, later=self.shuffle)
            done = learn_batch(
                belief,
                rows,
                self._dual(signs, weights),
                loads,
                self.solver,
                self.carry,
                self.max_iter,
                orders,
                self.tol,
            )
            self._note(done.sweeps, done.gap, done.history)
            if self.max_iter > 1 and not done.converged:
                self._warn_unfinished(done.gap)
        return belief

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        return Rows(self._matrix(X), self._scale).scores(self._belief.mean)

    def _margin_variance(self, X):
        """Margins of the rows and their variances."""
        rows = Rows(self._matrix(X), self._scale)
        margin = rows.scores(self._belief.mean)
        variance = np.repeat(self._belief.variances(rows)[:, None], margin.shape[1], axis=1)
        return self._shape(margin), self._shape(variance)

    @property
    def coef_(self):
        """Means of the weights, of shape (outputs, n_features)."""
        return self._fitted("coef_").mean[:, : self.n_features_in_].copy()

    @property
    def intercept_(self):
        """Intercepts, one an output."""
        mean = self._fitted("intercept_").mean
        return self._scale * mean[:, -1] if self._scale else np.zeros(len(mean))

    @property
    def variance_(self):
        """Variances of the weights, shaped as `coef_`."""
        belief = self._fitted("variance_")
        return np.repeat(belief.diagonal()[None, : self.n_features_in_], len(belief.mean), axis=0)

    @property
    def support_(self):
        """Indices of the features with a weight other than 0."""
        return np.flatnonzero(self._fitted("support_").mean[:, : self.n_features_in_].any(axis=0))
