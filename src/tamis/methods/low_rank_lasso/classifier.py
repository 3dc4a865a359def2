"""LowRankClassifier: the robust low-rank lasso for classes or thousands of labels."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.classifier import WeightedClassifier
from tamis.base.fast_checks import check_array, check_n_targets, to_dense
from tamis.base.parameters import estimator, one_of_strings, parameter
from tamis.base.targets import ClassTargets
from tamis.methods.low_rank_lasso.compression import (
    TARGETS_PER_CHUNK,
    CompressedTargets,
    compress,
    compute_scores,
)
from tamis.methods.low_rank_lasso.estimator import LowRankModel
from tamis.numerics.targets import EncodedTargets
from tamis.system.schema import array


@estimator
class LowRankClassifier(LowRankModel, WeightedClassifier):
    r"""Linear classifier for many labels at once: the robust low-rank lasso on targets -1 and +1,
    with a threshold for every label.

    Use it for many labels on wide data, where separate fits take too long; for few labels a lasso
    on X itself is more accurate.

    Each label solves, as in `LowRankLasso`,

    .. math:: \min_{\|\beta\|_1 \le r} \|y - \hat X \beta\|_2 + \eta \|\beta\|_2, \qquad
       \eta = \text{robustness} \cdot \epsilon_k ,

    and is predicted for rows with a score above its threshold; scores use X itself. Shrinkage moves
    the scores of a rare label below 0; a threshold with the best F1 on the training rows corrects
    for that.

    {parameters}

    {attributes}

    See Also
    --------
    LowRankLasso : The same objective for numeric targets.
    SieveClassifier : Sparse classifier for few labels on all the data.

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
    >>> scores = model.macro_f1(X[400:], Y[400:])
    >>> scores["mean_of_f1"] > 0.7, scores["f1_of_means"] > 0.7
    (True, True)
    """

    threshold: float | str = parameter(
        "auto",
        [Interval(Real, None, None, closed="neither"), one_of_strings("auto", "f1")],
        'Score above which a label is predicted: a number, or "f1" for the threshold with the best '
        'F1 on the training rows. "auto" is "f1" for a matrix of labels, and 0 for classes.',
    )
    class_weight: dict | str | None = parameter(
        None,
        [dict, one_of_strings("balanced"), None],
        "Weights of the classes, multiplied into the row weights; not for a matrix of labels.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {"thresholds_": array("f8", "outputs")}
    _attributes: ClassVar[str] = """\
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts; they do not include the thresholds.
        thresholds_ : ndarray of shape (n_outputs,)
            Scores above which a label is predicted; `decision_function` subtracts them."""

    def _encode_targets(self, y, n_rows: int, **known) -> tuple[ClassTargets, EncodedTargets]:
        """Return the targets and their columns; a sparse 0/1 matrix of labels stays sparse."""
        if not sp.issparse(y):
            return super()._encode_targets(y, n_rows, **known)
        if self.class_weight is not None:
            raise ValueError(
                "class_weight has no meaning for a matrix of labels; pass sample_weight."
            )
        y = check_array(y, accept_sparse="csc", dtype=np.float64, input_name="y", estimator=self)
        if not np.isin(y.data, (0.0, 1.0)).all():
            raise ValueError(
                f"y of shape {y.shape} must be a matrix of labels, 0 or 1 each; found "
                f"{np.setdiff1d(y.data, (0, 1))[0]:g}."
            )
        check_n_targets(np.empty(y.shape[0]), n_rows)
        return ClassTargets(np.arange(y.shape[1]), labels=True), EncodedTargets(sp.csc_array(y))

    def _target_numbers(self, targets: ClassTargets, columns) -> Any:
        """Return the targets as 0/1 columns; sparse ones stay sparse."""
        if sp.issparse(columns):
            return columns
        return (targets.signs(columns) > 0).astype(np.float64)

    def _compress(self, U, columns, roots) -> tuple[CompressedTargets, np.ndarray]:
        """Compress the targets -1 and +1 of 0/1 columns, a few columns at a time."""
        chunks, means = [], []
        for start in range(0, columns.shape[1], TARGETS_PER_CHUNK):
            block = _dense(columns, slice(start, start + TARGETS_PER_CHUNK))
            compressed, mean = compress(U, 2.0 * block - 1.0, roots, self.fit_intercept)
            chunks.append(compressed)
            means.append(mean)
        fields = (np.concatenate(field_chunks) for field_chunks in zip(*chunks, strict=True))
        return CompressedTargets(*fields), np.concatenate(means)

    def _extra_attributes(
        self, targets: ClassTargets, matrix, columns, weights, attributes: dict
    ) -> dict:
        """Return `thresholds_`: the parameter, or the best F1 of each output on these rows."""
        n_outputs, user_threshold = columns.shape[1], self.threshold
        thresholds = (
            np.zeros(n_outputs)
            if isinstance(user_threshold, str)
            else np.full(n_outputs, float(user_threshold))
        )
        if user_threshold == "f1" or (user_threshold == "auto" and targets.labels):
            for start in range(0, n_outputs, TARGETS_PER_CHUNK):
                chunk = slice(start, start + TARGETS_PER_CHUNK)
                scores = compute_scores(
                    matrix, attributes["_weights"][chunk], attributes["intercept_"][chunk]
                )
                block = _dense(columns, chunk)
                thresholds[chunk] = [
                    best_threshold(scores[:, j], block[:, j], weights)
                    for j in range(scores.shape[1])
                ]
        return {"thresholds_": thresholds}

    def _offsets(self) -> np.ndarray:
        return self.intercept_ - self.thresholds_

    def macro_f1(self, X, y):
        """Return the macro-averaged F1 over all labels, by both common definitions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Their classes or labels.

        Returns
        -------
        scores : dict of {str: float}
            ``mean_of_f1``, the mean of the F1 of the labels, as in scikit-learn; and
            ``f1_of_means``, the harmonic mean of macro precision and macro recall, as in the
            reference. The precision of a label without predictions is 0.
        """
        check_is_fitted(self)
        predicted = self.predict(X)
        if self.multilabel_:
            truth = np.asarray(to_dense(y))
        else:
            truth = np.asarray(y)[:, None] == self.classes_
            predicted = predicted[:, None] == self.classes_
        return macro_f1(np.asarray(truth) > 0, predicted > 0)


def _dense(columns, chunk: slice) -> np.ndarray:
    """Return some columns as a dense array."""
    block = columns[:, chunk]
    return block.toarray() if sp.issparse(block) else block


def best_threshold(scores, truth, weights) -> float:
    """Return the threshold with the largest F1, halfway between two scores; the highest one in case
    of ties, 0 if no row has the label.
    """
    if not (weights * truth).any():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    true_positives = np.cumsum((weights * truth)[order])
    predicted_weight = np.cumsum(weights[order])
    # A threshold between equal scores is impossible.
    is_last_of_ties = np.append(ordered[1:] < ordered[:-1], True)
    f1 = np.where(
        is_last_of_ties, 2.0 * true_positives / (predicted_weight + true_positives[-1]), -1.0
    )
    best = int(f1.argmax())
    next_score = ordered[best + 1] if best + 1 < len(ordered) else ordered[best] - 1.0
    return float(0.5 * (ordered[best] + next_score))


def macro_f1(truth, predicted) -> dict[str, float]:
    """Return both macro-averaged F1 of boolean columns."""
    true_positives = (truth & predicted).sum(axis=0).astype(float)
    n_predicted, n_true = predicted.sum(axis=0), truth.sum(axis=0)
    precision = np.divide(
        true_positives, n_predicted, out=np.zeros_like(true_positives), where=n_predicted > 0
    )
    recall = np.divide(true_positives, n_true, out=np.zeros_like(true_positives), where=n_true > 0)
    label_f1 = np.divide(
        2.0 * true_positives,
        n_predicted + n_true,
        out=np.zeros_like(true_positives),
        where=n_predicted + n_true > 0,
    )
    total = precision.mean() + recall.mean()
    return {
        "mean_of_f1": float(label_f1.mean()),
        "f1_of_means": float(2.0 * precision.mean() * recall.mean() / total) if total else 0.0,
    }
