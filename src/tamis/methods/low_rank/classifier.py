"""Labels by the thousand on a low-rank matrix."""

from numbers import Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tamis.base.classifier import Classes
from tamis.base.contents import array
from tamis.methods.low_rank.factorization import take_plain
from tamis.methods.low_rank.model import COLUMNS, SHARED, LowRankModel, never, scores_of
from tamis.methods.low_rank.targets import Targets, compress


class LowRankClassifier(Classes, LowRankModel):
    r"""Linear classifier for many labels at once: the robust low-rank lasso on targets -1 and +1,
    with a threshold for every label.

    Each label solves, as in `LowRankLasso`,

    .. math:: \min_{\|\beta\|_1 \le r} \|y - \hat X \beta\|_2 + \eta \|\beta\|_2, \qquad \eta =
    \text{robustness} \cdot \epsilon_k ,

    and is predicted where its score on X itself is above its threshold. Shrinking moves the scores
    of a rare label below 0; a threshold that has the best F1 on the training rows makes up for it.
    Choose it for many labels on wide rows, where fitting each alone takes too long; for few labels
    a lasso on all the data is more accurate.

    Parameters
    ----------
    n_components : int, default=100
        Rank k of the matrix.
    radius : float, array-like of shape (n_labels,) or "auto", default="auto"
        Bound r of the weights' L1 norm; "auto" is half the norm without a bound, ``numpy.inf``
        none.
    robustness : float, default=0.1
        Share of the matrix's error to insure against. With 1 most labels of text collapse to 0.
    threshold : "auto", "f1" or float, default="auto"
        Score above which a label is predicted: a number, or by the best F1 on the training rows.
        "auto" does so for a matrix of labels, and is 0 for classes.
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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the row weights; not for a matrix of labels.
    max_iter : int, default=2000
        Most iterations a label.
    tol : float, default=1e-4
        Largest duality gap, as a share of the norm of the (centred) target.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the products.
    n_jobs : int or None, default=None
        Threads, each with some labels. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the factorisation.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights; zeros are exact. Made on demand.
    sparse_coef_ : csr_array of shape (n_outputs, n_features)
        The same as they are stored.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts, the thresholds not taken off.
    thresholds_ : ndarray of shape (n_outputs,)
        Scores above which a label is predicted; `decision_function` takes them off.
    support_ : ndarray of int
        Indices of the features with a weight; of several outputs the union.
    classes_ : ndarray
        Class labels; for a matrix of labels, their numbers.
    multilabel_ : bool
        Whether the targets were a 0/1 matrix of labels.
    factorization_ : LowRankFactorization
        The factored rows; hand it to the next `fit` on the same rows.
    gap_, converged_, collapsed_, bounded_, radius_, alpha_, objective_, residual_bound_ : ndarray
    of shape (n_outputs,)
        As in `LowRankLasso`.
    n_iter_ : int
        Iterations of the label that took most.
    history_ : list of dict
        What each stage did.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    LowRankLasso : The same for numbers.
    SieveClassifier : One label, or few, on all the data.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning",
    UCB/EECS-2015-216, chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import LowRankClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 8)) @ rng.normal(size=(8, 300)) + 0.1 * rng.normal(size=(600, 300))
    >>> Y = (X[:, :5] + 0.5 * rng.normal(size=(600, 5)) > 2.0).astype(int)
    >>> model = LowRankClassifier(n_components=8, random_state=0).fit(X[:400], Y[:400])
    >>> model.predict(X[400:]).shape
    (200, 5)
    >>> found = model.macro_f1(X[400:], Y[400:])
    >>> found["mean_of_f1"] > 0.7, found["f1_of_means"] > 0.7
    (True, True)
    """

    grow = False  # the shared treatment of classes asks
    _parameter_constraints: ClassVar[dict] = {
        **SHARED,
        "threshold": [Interval(Real, None, None, closed="neither"), StrOptions({"auto", "f1"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_components=100,
        radius="auto",
        robustness=0.1,
        threshold="auto",
        *,
        n_oversamples=10,
        n_power_iter=2,
        sketch="gaussian",
        method="svd",
        fit_intercept=True,
        class_weight=None,
        max_iter=2000,
        tol=1e-4,
        dtype="float64",
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.radius = radius
        self.robustness = robustness
        self.threshold = threshold
        self.n_oversamples = n_oversamples
        self.n_power_iter = n_power_iter
        self.sketch = sketch
        self.method = method
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None, factorization=None):
        """Factor the rows, fit all labels, and choose their thresholds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label, dense or sparse.
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
        codes = self._take_targets(y, matrix.shape[0], first=True, whole=True)
        if self.class_weight is not None:
            weights = self._weigh(codes, np.zeros(0) if roots is None else roots**2, whole=True)
            roots = np.sqrt(weights)
        labels = self._labels(codes)
        self._learn(matrix, labels, roots, factorization)
        self._choose_thresholds(
            matrix, labels, np.ones(matrix.shape[0]) if roots is None else roots**2
        )
        return self

    @available_if(never)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Not there: all rows are factored at once."""

    def _labels(self, codes):
        """0/1 columns, sparse where they came so."""
        if sp.issparse(codes):
            return codes
        if len(self.classes_) > 2 and not self.multilabel_:
            return (codes == np.arange(len(self.classes_))).astype(np.float64)
        return (codes > 0).astype(np.float64)

    _contents: ClassVar[dict] = {"thresholds_": array("f8", "outputs")}

    def _take_labels(self, y, n_rows, first):
        """A sparse matrix of labels stays sparse."""
        if not sp.issparse(y):
            return super()._take_labels(y, n_rows, first)
        if self.class_weight is not None:
            raise ValueError(
                "class_weight has no meaning for a matrix of labels; pass sample_weight."
            )
        y = sp.csc_array(
            check_array(y, accept_sparse="csc", dtype=np.float64, input_name="y", estimator=self)
        )
        if not np.isin(y.data, (0.0, 1.0)).all():
            raise ValueError(
                f"y of shape {y.shape} must be a matrix of labels, 0 or 1 each; found "
                f"{np.setdiff1d(y.data, (0, 1))[0]!r}."
            )
        if y.shape[0] != n_rows:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[n_rows, y.shape[0]]}"
            )
        self.multilabel_, self.classes_ = True, np.arange(y.shape[1])
        return y

    def _learn(self, matrix, targets, roots, given) -> None:
        """As for numbers, but 0/1 columns become -1/+1 ones, a few at a time."""
        self.factorization_ = factors = self._factor(matrix, roots, given)
        loads = np.ones(matrix.shape[0]) if roots is None else roots
        parts = []
        for at in range(0, targets.shape[1], COLUMNS):
            block = targets[:, at : at + COLUMNS]
            parts.append(
                compress(
                    factors.U_,
                    2.0 * (block.toarray() if sp.issparse(block) else block) - 1.0,
                    loads,
                    self.fit_intercept,
                )
            )
        packed = Targets(
            *(np.concatenate(pieces) for pieces in zip(*(part for part, _ in parts), strict=True))
        )
        means = np.concatenate([mean for _, mean in parts])
        self._store(
            self._solve(packed, *self._radius(targets.shape[1])), means, packed, matrix.shape[0]
        )

    def _choose_thresholds(self, matrix, labels, weights) -> None:
        """One threshold an output: the number given, or that of the best F1 on the training rows."""
        count = labels.shape[1]
        self.thresholds_ = (
            np.zeros(count)
            if isinstance(self.threshold, str)
            else np.full(count, float(self.threshold))
        )
        if self.threshold == "f1" or (self.threshold == "auto" and self.multilabel_):
            for at in range(0, count, COLUMNS):
                scores = scores_of(
                    matrix, self._weights[at : at + COLUMNS], self.intercept_[at : at + COLUMNS]
                )
                block = labels[:, at : at + COLUMNS]
                block = block.toarray() if sp.issparse(block) else block
                self.thresholds_[at : at + COLUMNS] = [
                    best_threshold(scores[:, j], block[:, j], weights)
                    for j in range(scores.shape[1])
                ]

    def macro_f1(self, X, y):
        """F1 over all labels, by both definitions in use.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Their classes or labels.

        Returns
        -------
        found : dict of {str: float}
            ``mean_of_f1``, the mean of the labels' F1, as in scikit-learn; and ``f1_of_means``, the
            harmonic mean of macro precision and macro recall, as in the reference. Where nothing is
            predicted precision is 0.
        """
        check_is_fitted(self)
        predicted = self.predict(X)
        if self.multilabel_:
            truth = y.toarray() if sp.issparse(y) else np.asarray(y)
        else:
            truth, predicted = (
                np.asarray(side)[:, None] == self.classes_ for side in (y, predicted)
            )
        return macro_f1(np.asarray(truth) > 0, predicted > 0)

    def _scores(self, X) -> np.ndarray:
        """Scores above the thresholds."""
        check_is_fitted(self)
        return scores_of(
            take_plain(self, X, reset=False), self._weights, self.intercept_ - self.thresholds_
        )

    def _terms(self):
        return (None,), ()  # asked for by predict_proba, which needs a loss of probabilities

    @property
    def coef_(self):
        """Weights, of shape (n_outputs, n_features)."""
        return self.sparse_coef_.toarray()


def best_threshold(scores, truth, weights) -> float:
    """Where to cut so that F1 is largest, between two scores; of equals the highest cut.

    0 where no label is there.
    """
    if not (weights * truth).any():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    hits, taken = np.cumsum((weights * truth)[order]), np.cumsum(weights[order])
    last = np.append(ordered[1:] < ordered[:-1], True)  # equal scores go together
    f1 = np.where(last, 2.0 * hits / (taken + hits[-1]), -1.0)
    best = int(f1.argmax())
    below = ordered[best + 1] if best + 1 < len(ordered) else ordered[best] - 1.0
    return float(0.5 * (ordered[best] + below))


def macro_f1(truth, predicted) -> dict[str, float]:
    """Both macro-averaged F1 of 0/1 columns."""
    hits = (truth & predicted).sum(axis=0).astype(float)
    given, there = predicted.sum(axis=0), truth.sum(axis=0)
    precision = np.divide(hits, given, out=np.zeros_like(hits), where=given > 0)
    recall = np.divide(hits, there, out=np.zeros_like(hits), where=there > 0)
    each = np.divide(2.0 * hits, given + there, out=np.zeros_like(hits), where=given + there > 0)
    mean = precision.mean() + recall.mean()
    return {
        "mean_of_f1": float(each.mean()),
        "f1_of_means": float(2.0 * precision.mean() * recall.mean() / mean) if mean else 0.0,
    }
