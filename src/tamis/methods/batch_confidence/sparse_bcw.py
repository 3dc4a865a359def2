"""Sparse online-batch confidence-weighted learning (SBCW): features in groups, a covariance in
blocks.
"""

from copy import copy
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import warn_user
from tamis.base.contents import listing, part
from tamis.base.parameters import ABOVE, COUNT, NUMBER
from tamis.base.rows import settle
from tamis.methods.batch_confidence.belief import Belief
from tamis.methods.batch_confidence.dual import learn_batch
from tamis.methods.batch_confidence.estimator import SHARED, BatchModel
from tamis.methods.batch_confidence.rows import Rows
from tamis.methods.batch_confidence.sparse import Wishes, learn_sparse
from tamis.methods.batch_confidence.sparse_blocks import BlockBelief, score_blocks

ROUNDS = 15  # of the paper
SHRINK = 100.0  # cov_C=None is C over this


class ScoreWord:
    """The parameter `score` beside scikit-learn's method of that name: it is set as a word, and
    read as the method.
    """

    def __set__(self, model, value):
        vars(model)["score"] = value

    def __get__(self, model, owner):
        return ClassifierMixin.score if model is None else ClassifierMixin.score.__get__(model)


class SparseBCWClassifier(SelectorMixin, BatchModel):
    r"""Linear classifier that selects features in groups and keeps a covariance for each group:
    sparse BCW; with identity covariance, FGM.

    Rounds of a cutting-plane method each select the `block_size` columns of largest score
    :math:`(\sum_i \alpha_i y_i x_{ij})^2`, add their covariance :math:`\Sigma_k = (I + C_{cov}
    X_k^T X_k)^{-1}`, and solve for all blocks k so far, with :math:`\mu_k` the mean of a block and
    :math:`w_k = \Sigma_k^{-1/2} \mu_k`,

    .. math:: \min_\mu \tfrac{\sigma}{2} \sum_k |w_k|^2 + \tfrac12 \Bigl(\sum_k |w_k|\Bigr)^2 + C
    \sum_i c_i \max(0, 1 - y_i \sum_k \mu_k^T x_i^k)^q

    Choose it for very many sparse columns and few wanted features: on text, with up to 150, it had
    lower error than an L1-regularised SVM of as many; with more the two were within a point. Choose
    `SieveClassifier` if the number of features should be found too. The defaults are those that
    reproduce; ``solver="online", loss="hinge", sigma=0.01, cov_C=C`` is the method as printed,
    which is far below an L1-regularised SVM.

    Parameters
    ----------
    n_features : int, default=150
        Most features to select, for each output.
    block_size : int or None, default=None
        Features selected in a round; None is a fifteenth of `n_features`.
    C : float, default=1.0
        Cost of the loss of a row. The squared hinge costs C times its square, as in liblinear.
    cov_C : float or None, default=None
        What a row adds to the precision; None is C / 100. With C itself, blocks that are equally
        useful are regularised too much.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        Loss. With "hinge" dual variables reach their bound, and later rounds select as the first.
    solver : {"mkl", "exact", "online"}, default="mkl"
        How the blocks are solved for: with weights of the blocks that are renewed after each sweep,
        by an exact line search at each row, or in one sweep by the steps of the paper.
    sigma : float or None, default=None
        Strength of the ridge part; None is 0.01, and 1 with ``solver="online"``, whose steps are
        too long for less.
    score : {"plain", "cov"}, default="plain"
        Score of a column; "cov" divides it by the precision of the column alone.
    covariance : {"block", "identity"}, default="block"
        "identity" keeps :math:`\Sigma_k = I`: the feature generating machine (FGM).
    refit : bool, default=False
        Whether to learn the final weights by a linear SVM (the same C and loss) on the selected
        columns.
    max_iter : int, default=100
        Most sweeps in a round.
    tol : float or None, default=1e-3
        Largest duality gap, as a share of the objective, at which a round ends. None makes all
        sweeps.
    theta_tol : float, default=0.0
        Rounds end early when the dual, theta, changes by at most this share (the paper's second
        rule). 0 selects all `n_features`.
    fit_intercept : bool, default=True
        Whether to append a constant column to each block. It is regularised, and neither scored nor
        counted.
    intercept_scaling : float, default=1.0
        Value of the constant column.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the row weights. "balanced" counts the whole of y in
        `fit`, and in `partial_fit` the rows so far, the present one included.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows in each sweep; with ``solver="online"`` `partial_fit` keeps
        the given order.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Means of the weights; zeros are exact. Made on demand.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    variance_ : ndarray of shape (n_outputs, n_features)
        Variances of the weights; 1, where all begin, for features that are not selected. Made on
        demand.
    support_ : ndarray of int
        Indices of the features with a weight other than 0; for several outputs the union.
    blocks_ : list of ndarray
        Selected features in the groups and order of their selection; for several outputs a list of
        such lists.
    n_selected_ : int
        Number of selected features.
    n_active_ : int
        Number of those in blocks whose weights are not 0.
    gap_ : float
        Duality gap of the last round as a share of the objective, of the worst output.
    n_iter_ : int
        Sweeps over the last batch, of the output with most.
    history_ : list of dict
        Per round of the last batch: theta (the dual), objective, gap, sweeps, features selected so
        far, and the output.
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
    BCWClassifier : All features, with a full covariance.
    SieveClassifier : Chooses the number of features by itself.

    Notes
    -----
    A `partial_fit` call is one batch. Blocks without weight make room for new ones, so that at most
    `n_features` are selected at any time. X is never made dense: what is held beside it is a copy
    of the selected columns, one square matrix a block, and a number a row and block. The variance
    of a margin is that of all selected features, also of those in blocks without weight.

    References
    ----------
    M. Tan, Y. Yan, L. Wang, A. van den Hengel, I. W. Tsang and Q. Shi, "Learning Sparse
    Confidence-Weighted Classifier on Very High Dimensional Data", AAAI 2016, equations (11) to (17)
    and algorithms 2 and 3. FGM: M. Tan, I. W. Tsang and L. Wang, "Towards Ultrahigh Dimensional
    Feature Selection for Big Data", Journal of Machine Learning Research 15, 2014.

    Examples
    --------
    >>> from tamis import SparseBCWClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = SparseBCWClassifier(n_features=30, C=10.0, random_state=0).fit(X[:1500], y[:1500])
    >>> model.n_selected_
    30
    >>> model.score(X[1500:], y[1500:]) > 0.8
    True
    >>> model.transform(X).shape == (2000, len(model.support_))
    True
    """

    _contents: ClassVar[dict] = {"_blocks": listing(part(BlockBelief, "columns"), "outputs")}
    _state = "_blocks"
    score = ScoreWord()
    _parameter_constraints: ClassVar[dict] = {
        **SHARED,
        "n_features": [COUNT],
        "block_size": [COUNT, None],
        "solver": [StrOptions({"mkl", "exact", "online"})],
        "sigma": [ABOVE, None],
        "score": [StrOptions({"plain", "cov"})],
        "covariance": [StrOptions({"block", "identity"})],
        "refit": ["boolean"],
        "theta_tol": [NUMBER],
    }

    def __init__(
        self,
        n_features=150,
        block_size=None,
        C=1.0,
        cov_C=None,
        loss="squared_hinge",
        solver="mkl",
        sigma=None,
        score="plain",
        covariance="block",
        *,
        refit=False,
        max_iter=100,
        tol=1e-3,
        theta_tol=0.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        class_weight=None,
        random_state=None,
    ):
        self.n_features = n_features
        self.block_size = block_size
        self.C = C
        self.cov_C = cov_C
        self.loss = loss
        self.solver = solver
        self.sigma = sigma
        self.score = score
        self.covariance = covariance
        self.refit = refit
        self.max_iter = max_iter
        self.tol = tol
        self.theta_tol = theta_tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state

    def get_params(self, deep=True):
        """Parameters of the model.

        Parameters
        ----------
        deep : bool, default=True
            For scikit-learn; no parameter is a model.

        Returns
        -------
        parameters : dict
        """
        return {**super().get_params(deep), "score": vars(self)["score"]}

    def _learn(self, matrix, signs, weights, beliefs, whole):
        """One batch, output by output."""
        if self.refit and not whole:
            raise ValueError(
                f"{type(self).__name__}: refit=True needs all rows at once; use fit, or "
                "partial_fit with refit=False."
            )
        constant = self._constant()
        beliefs = (
            [BlockBelief(constant) for _ in range(self._outputs())]
            if beliefs is None
            else [copy(belief) for belief in beliefs]
        )
        if beliefs[0].constant != constant:
            raise ValueError(
                f"{type(self).__name__}: the intercept's column changed since the first batch; "
                "call fit."
            )
        walked = (
            self.solver == "online"
        )  # else the optimum of the batch is sought, which knows no order of the rows
        settled = np.arange(len(weights))
        if not walked and len(weights):
            matrix, signs, weights, settled = settle(matrix, signs, weights)
        loads, wishes, done = weights * self._cov_C(), self._wishes(matrix.shape[1]), []
        for c, belief in enumerate(beliefs if len(weights) else ()):
            orders = self._orders(
                len(weights), first=whole or not walked, later=whole or not walked
            )
            dual = self._dual(np.ascontiguousarray(signs[:, c : c + 1]), weights)
            done.append(
                learn_sparse(
                    belief,
                    matrix,
                    dual,
                    loads,
                    wishes,
                    lambda turn, orders=orders: settled[orders(turn)],
                )
            )
            if self.refit and belief.blocks:
                belief.final = self._refitted(matrix, dual, belief, orders)
        self._tell(done)
        return beliefs

    def _tell(self, done) -> None:
        """Store what the batch did, and warn where it did too little."""
        self._note()
        if not done:
            return
        history = (
            {"output": c, **record} for c, part in enumerate(done) for record in part.history
        )
        self._note(max(part.sweeps for part in done), max(part.gap for part in done), history)
        if not all(part.converged for part in done):
            self._warn_unfinished(self.gap_)
        if not self.history_:
            warn_user(
                f"{type(self).__name__} selected no feature: every column is 0, or unrelated to y.",
                UserWarning,
            )

    def _refitted(self, matrix, dual, belief, orders) -> np.ndarray:
        """Weights of a linear SVM on the selected columns, then its intercept."""
        rows = Rows(matrix[:, belief.columns], belief.constant)
        svm = Belief(1, rows.width)
        learn_batch(
            svm, rows, dual, np.zeros(rows.count), "raw", "mean", self.max_iter, orders, self.tol
        )
        bias = belief.constant * svm.mean[0, -1] if belief.constant else 0.0
        return np.append(svm.mean[0, : rows.columns], bias)

    def _cov_C(self) -> float:
        return float(self.C) / SHRINK if self.cov_C is None else float(self.cov_C)

    def _wishes(self, n_columns: int) -> Wishes:
        wanted = min(self.n_features, n_columns)
        sigma = self.sigma if self.sigma is not None else 1.0 if self.solver == "online" else 0.01
        size = -(-wanted // ROUNDS) if self.block_size is None else self.block_size
        identity = self.covariance == "identity" or self._cov_C() == 0.0
        return Wishes(
            wanted,
            size,
            self.solver,
            float(sigma),
            vars(self)["score"],
            identity,
            self.max_iter,
            self.tol,
            float(self.theta_tol),
        )

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        matrix = self._matrix(X)
        return score_blocks(self._blocks, matrix)

    def _margin_variance(self, X):
        """Margins of the rows and their variances, those of all selected columns."""
        matrix = self._matrix(X)
        variance = np.column_stack([belief.variances(matrix) for belief in self._blocks])
        return self._shape(score_blocks(self._blocks, matrix)), self._shape(variance)

    def _get_support_mask(self):
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask

    @property
    def coef_(self):
        """Means of the weights, of shape (outputs, n_features)."""
        beliefs = self._fitted("coef_")
        weights = np.zeros((len(beliefs), self.n_features_in_))
        for c, belief in enumerate(beliefs):
            columns, values, _ = belief.weights()
            weights[c, columns] = values
        return weights

    @property
    def intercept_(self):
        """Intercepts, one an output."""
        return np.array([belief.weights()[2] for belief in self._fitted("intercept_")])

    @property
    def variance_(self):
        """Variances of the weights, shaped as `coef_`."""
        return np.array(
            [belief.diagonal(self.n_features_in_) for belief in self._fitted("variance_")]
        )

    @property
    def support_(self):
        """Indices of the features with a weight other than 0; for several outputs the union."""
        parts = [belief.weights() for belief in self._fitted("support_")]
        return np.unique(np.concatenate([columns[values != 0.0] for columns, values, _ in parts]))

    @property
    def blocks_(self):
        """Selected features, in the groups and order of their selection."""
        blocks = [[block.copy() for block in belief.blocks] for belief in self._fitted("blocks_")]
        return blocks[0] if len(blocks) == 1 else blocks

    @property
    def n_selected_(self):
        """Number of selected features."""
        return len(
            np.unique(np.concatenate([belief.columns for belief in self._fitted("n_selected_")]))
        )

    @property
    def n_active_(self):
        """Number of features in blocks whose weights are not 0."""
        active = [block for belief in self._fitted("n_active_") for block in belief.busy()]
        return len(np.unique(np.concatenate([*active, np.zeros(0, np.int64)])))
