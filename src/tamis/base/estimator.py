"""The base of all estimators: one thread at a time, what comes in, what classifiers and regressors
answer.
"""

import inspect
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import half_fitted, take_blocks, take_columns, take_matrix, take_weights
from tamis.base.contents import early, part
from tamis.base.machine.threads import alone, is_alone
from tamis.base.parameters import estimator, one_of, parameter
from tamis.base.rows import Csr
from tamis.base.targets import ClassTargets, Coded, NumberTargets

TRAINING = ("fit", "partial_fit", "refine", "fit_transform", "fit_predict")
LAYOUTS = {"rows": take_matrix, "columns": take_columns, "dense": take_blocks}


class Estimator(BaseEstimator):
    """Base of all estimators: whatever method of theirs trains, inherited or mixed in, is for one
    thread at a time.
    """

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        for name in TRAINING:
            method = inspect.getattr_static(cls, name, None)
            if inspect.isfunction(method) and not is_alone(method):
                setattr(cls, name, alone(method))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Taken(NamedTuple):
    """What a fit learns from: rows of weight above 0 as SciPy or NumPy have them (or as `Csr`),
    their targets, and weights of which none is 0.
    """

    rows: Any
    targets: Any  # ClassTargets or NumberTargets
    columns: np.ndarray
    weights: np.ndarray
    kept: np.ndarray  # numbers of those rows among the user's


def take(
    model, X, y, sample_weight, *, layout: str = "dense", whole: bool = True, known=None, **beside
) -> Taken:
    """All that a batch method needs from what the user gave; `layout` is "rows" (`Csr`), "columns"
    (a NumPy array or CSC) or "dense" (a NumPy array or CSR).

    A batch of a stream is not the `whole` of it, and goes on from the targets `known`, if any.
    """
    chunk = {} if whole else {"chunk": True}
    given = LAYOUTS[layout](model, X, reset=known is None, **chunk)
    count = given.n_rows if isinstance(given, Csr) else given.shape[0]
    weights = take_weights(sample_weight, count, some=whole)
    targets, coded = model._code(y, count, whole=whole, known=known, **beside)
    targets, weights = model._weigh(targets, coded.columns, weights, whole=whole)
    rows = given.scipy() if isinstance(given, Csr) and layout != "rows" else given
    columns, kept = coded.columns, np.arange(count)
    if len(weights) and not weights.all():
        kept = np.flatnonzero(weights)
        rows = rows.picked(kept) if isinstance(rows, Csr) else rows[kept]
        columns, weights = columns[kept], weights[kept]
    weights = np.array(weights, dtype=float) if len(weights) else np.ones(len(kept))
    return Taken(rows, targets, np.asarray(columns), weights, kept)


def take_asked(model, X):
    """Rows to predict, as SciPy or NumPy have them."""
    check_is_fitted(model)
    rows = take_blocks(model, X, reset=False)
    return rows.scipy() if isinstance(rows, Csr) else rows


# ---------------------------------------------------------------- classifiers
def gives_probabilities(model) -> bool:
    """Probabilities come from the logistic loss alone."""
    if model._is_likelihood():
        return True
    raise AttributeError(
        f"predict_proba needs loss='logistic'; this {type(model).__name__} has loss={model.loss!r}."
    )


class Classifier(ClassifierMixin, Estimator):
    """What classifiers answer; a method adds `_fit` and `_scores`."""

    _contents: ClassVar[dict] = {"_targets": early(part(ClassTargets, "outputs", "targets"))}
    _attributes: ClassVar[str] = """\
        classes_ : ndarray
            Class labels; for a matrix of labels, their numbers.
        multilabel_ : bool
            Whether the targets were a 0/1 matrix of labels."""

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight)

    def _code(self, y, n_rows: int, **known) -> tuple[ClassTargets, Coded]:
        """Targets, and the columns that loops read."""
        return ClassTargets.of(y, n_rows, self, **known)

    def _weigh(self, targets, columns, weights, **stream):
        """Targets, and row weights as they are."""
        return targets, weights

    @property
    def classes_(self):
        """Class labels."""
        return self._told("classes_").classes

    @property
    def multilabel_(self):
        """Whether the targets were a matrix of labels."""
        return self._told("multilabel_").labels

    def _told(self, name: str) -> ClassTargets:
        targets = vars(self).get("_targets")
        if targets is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return targets

    def _scored(self, X, *beside) -> tuple[ClassTargets, np.ndarray]:
        """Scores and the targets that they are of; asked again where a stream has met a class
        meanwhile.
        """
        scores, before, targets = None, None, vars(self).get("_targets")
        while scores is None or targets is not before:
            before, scores = targets, self._scores(X, *beside)
            targets = self._targets
        if scores.shape[1] != targets.outputs:
            raise half_fitted(self)
        return targets, scores

    def decision_function(self, X):
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for two classes; positive speaks for ``classes_[1]``.
        """
        targets, scores = self._scored(X)
        return targets.decision(scores)

    def predict(self, X):
        """Classes of the rows: ``classes_[1]`` iff the score is above 0; of several the highest,
        ties to the lowest class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_labels) of 0 and 1
        """
        targets, scores = self._scored(X)
        return targets.predict(scores)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@estimator(kw_only=True)
class WeightedClassifier(Classifier):
    """A classifier whose classes have weights."""

    class_weight: dict | str | None = parameter(
        None,
        [dict, one_of("balanced"), None],
        'Weights of the classes, multiplied into the row weights. "balanced" counts the whole of '
        "y in `fit`, and in `partial_fit` the rows so far, the present one included.",
    )

    def _weigh(self, targets, columns, weights, *, whole=True, grow=False):
        """Targets with the rows counted, and row weights times class weights."""
        return targets.weigh(columns, weights, self.class_weight, whole=whole, grow=grow)


class LikelyClassifier(WeightedClassifier):
    """A classifier with a `loss`, which gives probabilities where that is the logistic one."""

    _joint = False  # whether several classes are one multinomial model under that loss

    def _is_likelihood(self) -> bool:
        return self._loss().is_likelihood

    @available_if(gives_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes, for ``loss="logistic"``.

        For several classes each one-vs-rest probability is divided by their sum, unless they are
        one multinomial model. For labels they are independent.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        targets, scores = self._scored(X)
        return targets.probabilities(scores, self._joint)

    @available_if(gives_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


# ---------------------------------------------------------------- regressors
class Regressor(RegressorMixin, Estimator):
    """What regressors answer; a method adds `_fit` and `_scores`."""

    _contents: ClassVar[dict] = {"_targets": early(part(NumberTargets, "outputs", "targets"))}

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight)

    def _code(self, y, n_rows: int, **known) -> tuple[NumberTargets, Coded]:
        """Targets, and the columns that loops read."""
        return NumberTargets.of(y, n_rows, self, **known)

    def _weigh(self, targets, columns, weights, **stream):
        """Row weights as they are."""
        return targets, weights

    def predict(self, X):
        """Predictions for the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        scores = self._scores(X)
        return self._targets.predict(scores)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
