"""Labels by the thousand on a low-rank matrix."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.classifier import WeightedClassifier
from tamis.base.fast_checks import check_array, check_length, dense
from tamis.base.parameters import estimator, one_of, parameter
from tamis.base.targets import ClassTargets
from tamis.methods.low_rank_lasso.compression import COLUMNS, Compressed, compress, scores_of
from tamis.methods.low_rank_lasso.estimator import LowRankModel
from tamis.numerics.targets import EncodedTargets
from tamis.system.schema import array


@estimator
class LowRankClassifier(LowRankModel, WeightedClassifier):
    r"""Linear classifier for many labels at once: the robust low-rank lasso on targets -1 and +1,
    with a threshold for every label.

    Choose it for many labels on wide rows, where fitting each alone takes too long; for few labels
    a lasso on all the data is more accurate.

    Each label solves, as in `LowRankLasso`,

    .. math:: \min_{\|\beta\|_1 \le r} \|y - \hat X \beta\|_2 + \eta \|\beta\|_2, \qquad
       \eta = \text{robustness} \cdot \epsilon_k ,

    and is predicted where its score on X itself is above its threshold. Shrinking moves the scores
    of a rare label below 0; a threshold that has the best F1 on the training rows makes up for it.

    {parameters}

    {attributes}

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
    >>> X = rng.normal(size=(600, 8)) @ rng.normal(size=(8, 300))
    >>> X += 0.1 * rng.normal(size=(600, 300))
    >>> Y = (X[:, :5] + 0.5 * rng.normal(size=(600, 5)) > 2.0).astype(int)
    >>> model = LowRankClassifier(n_components=8, random_state=0).fit(X[:400], Y[:400])
    >>> model.predict(X[400:]).shape
    (200, 5)
    >>> found = model.macro_f1(X[400:], Y[400:])
    >>> found["mean_of_f1"] > 0.7, found["f1_of_means"] > 0.7
    (True, True)
    """

    threshold: float | str = parameter(
        "auto",
        [Interval(Real, None, None, closed="neither"), one_of("auto", "f1")],
        "Score above which a label is predicted: a number, or by the best F1 on the training "
        'rows. "auto" does so for a matrix of labels, and is 0 for classes.',
    )
    class_weight: dict | str | None = parameter(
        None,
        [dict, one_of("balanced"), None],
        "Weights of the classes, multiplied into the row weights; not for a matrix of labels.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {"thresholds_": array("f8", "outputs")}
    _attributes: ClassVar[str] = """\
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts, the thresholds not taken off.
        thresholds_ : ndarray of shape (n_outputs,)
            Scores above which a label is predicted; `decision_function` takes them off."""

    def _code(self, y, n_rows: int, **known) -> tuple[ClassTargets, EncodedTargets]:
        """Targets, and the columns that are read; a sparse matrix of labels stays sparse, 0/1."""
        if not sp.issparse(y):
            return super()._code(y, n_rows, **known)
        if self.class_weight is not None:
            raise ValueError(
                "class_weight has no meaning for a matrix of labels; pass sample_weight."
            )
        y = check_array(y, accept_sparse="csc", dtype=np.float64, input_name="y", estimator=self)
        if not np.isin(y.data, (0.0, 1.0)).all():
            raise ValueError(
                f"y of shape {y.shape} must be a matrix of labels, 0 or 1 each; found "
                f"{np.setdiff1d(y.data, (0, 1))[0]!r}."
            )
        check_length(np.empty(y.shape[0]), n_rows)
        return ClassTargets(np.arange(y.shape[1]), labels=True), EncodedTargets(sp.csc_array(y))

    def _numbers(self, targets: ClassTargets, columns) -> Any:
        """0/1 columns, sparse where they came so."""
        if sp.issparse(columns):
            return columns
        return (targets.signs(columns) > 0).astype(np.float64)

    def _compress(self, U, columns, roots) -> tuple[Compressed, np.ndarray]:
        """As for numbers, but 0/1 columns become -1/+1 ones, a few at a time."""
        parts, means = [], []
        for at in range(0, columns.shape[1], COLUMNS):
            block = _dense(columns, slice(at, at + COLUMNS))
            part, mean = compress(U, 2.0 * block - 1.0, roots, self.fit_intercept)
            parts.append(part)
            means.append(mean)
        joined = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
        return Compressed(*joined), np.concatenate(means)

    def _beside(self, targets: ClassTargets, matrix, columns, weights, shown: dict) -> dict:
        """One threshold an output: the number given, or that of the best F1 on these rows."""
        count, asked = columns.shape[1], self.threshold
        found = np.zeros(count) if isinstance(asked, str) else np.full(count, float(asked))
        if asked == "f1" or (asked == "auto" and targets.labels):
            for at in range(0, count, COLUMNS):
                part = slice(at, at + COLUMNS)
                scores = scores_of(matrix, shown["_weights"][part], shown["intercept_"][part])
                block = _dense(columns, part)
                found[part] = [
                    best_threshold(scores[:, j], block[:, j], weights)
                    for j in range(scores.shape[1])
                ]
        return {"thresholds_": found}

    def _offsets(self) -> np.ndarray:
        return self.intercept_ - self.thresholds_

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
            truth = np.asarray(dense(y))
        else:
            truth = np.asarray(y)[:, None] == self.classes_
            predicted = predicted[:, None] == self.classes_
        return macro_f1(np.asarray(truth) > 0, predicted > 0)


def _dense(columns, part: slice) -> np.ndarray:
    """Some columns as an array."""
    block = columns[:, part]
    return block.toarray() if sp.issparse(block) else block


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
