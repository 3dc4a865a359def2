"""Base classes of classifiers."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from tamis.base.column_penalties import has_signs
from tamis.base.estimators.estimator import Transformer
from tamis.base.estimators.explaining import Predictor
from tamis.base.fast_checks import check_scores_memory, flatten_targets, split_at_new_classes
from tamis.base.parameters import estimator, one_of_strings, parameter
from tamis.base.targets import ClassTargets
from tamis.base.validation import inconsistent_state_error
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.path.losses import inverse_links
from tamis.system.schema import nested_object, set_early
from tamis.system.threads import locked
from tamis.terms.losses import Logistic


class SupervisedTransformer(Transformer):
    """A transformer that learns from one class per row; a method adds `fit` and `transform`."""

    _contents: ClassVar[dict] = {
        "_targets": set_early(nested_object(ClassTargets, "outputs", "targets", "classes"))
    }
    _attributes: ClassVar[str] = """\
        classes_ : ndarray
            Class labels."""

    def _encode_targets(self, y, n_rows: int, **known) -> tuple[ClassTargets, EncodedTargets]:
        """Return encoded targets and their columns."""
        y = y if y is None else flatten_targets(y)
        return ClassTargets.encode(y, n_rows, self, **known)

    def _weight_rows(self, targets, columns, weights, **stream):
        """Return the targets and the row weights unchanged."""
        return targets, weights

    @property
    def classes_(self):
        """Class labels."""
        return fitted_targets(self, "classes_").classes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def fitted_targets(model, name: str) -> Any:
    """Return the targets of a fitted model; `name` is the attribute that needs them."""
    targets = vars(model).get("_targets")
    if targets is None:
        raise AttributeError(f"{type(model).__name__} has no attribute {name!r} before fit.")
    return targets


def has_probabilities(model) -> bool:
    """Return True if the loss has an inverse link; else raise AttributeError."""
    if hasattr(model._loss(), "inverse_link"):
        return True
    raise AttributeError(
        "predict_proba needs a loss with an inverse link, such as 'logistic'; this "
        f"{type(model).__name__} has loss={model.loss!r}."
    )


class Classifier(ClassifierMixin, Predictor):
    """Base of classifiers; a method adds `_fit` and `_scores`."""

    _contents: ClassVar[dict] = {
        "_targets": set_early(nested_object(ClassTargets, "outputs", "targets"))
    }
    _attributes: ClassVar[str] = """\
        classes_ : ndarray
            Class labels; for a matrix of labels, their numbers.
        multilabel_ : bool
            Whether the targets were a 0/1 matrix of labels."""

    @locked
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

    def _encode_targets(self, y, n_rows: int, **known) -> tuple[ClassTargets, EncodedTargets]:
        """Return encoded targets and their columns."""
        return ClassTargets.encode(y, n_rows, self, **known)

    @property
    def classes_(self):
        """Class labels."""
        return fitted_targets(self, "classes_").classes

    @property
    def multilabel_(self):
        """Whether the targets were a matrix of labels."""
        return fitted_targets(self, "multilabel_").labels

    def _targets_and_scores(self, X, *task) -> tuple[ClassTargets, np.ndarray]:
        """Return targets and scores that fit together.

        If a stream has added a class in the meantime, the scores are computed again.
        """
        scores: Any = None
        before, targets = None, vars(self).get("_targets")
        while scores is None or targets is not before:
            if targets is not None:
                check_scores_memory(X, targets.outputs)
            before, scores = targets, self._scores(X, *task)
            targets = self._targets
        if targets is None or scores.shape[1] != targets.outputs:
            raise inconsistent_state_error(self)
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
            One column for two classes; a positive score means ``classes_[1]``.
        """
        targets, scores = self._targets_and_scores(X)
        return targets.shape_scores(scores)

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
        targets, scores = self._targets_and_scores(X)
        return targets.predict(scores)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@estimator(kw_only=True)
class WeightedClassifier(Classifier):
    """A classifier with class weights."""

    class_weight: dict | str | None = parameter(
        None,
        [dict, one_of_strings("balanced"), None],
        'Weights of the classes, multiplied with the row weights. "balanced" uses the class counts '
        "of all rows, or in a stream of the rows so far, the present one included.",
    )

    def _weight_rows(self, targets, columns, weights, **stream):
        """Return targets with the rows counted, and row weights times class weights."""
        return targets.apply_class_weight(columns, weights, self.class_weight, **stream)


class ProbabilisticClassifier(WeightedClassifier):
    """A classifier with a `loss`; it has probabilities if the loss has an inverse link."""

    _is_multinomial = False  # whether more than two classes are multinomial under the logistic loss

    @available_if(has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes, for a loss with an inverse link (``loss="logistic"``).

        For several classes the one-vs-rest probabilities are divided by their sum, unless the model
        is multinomial. For labels they are independent.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        return self._probabilities(*self._targets_and_scores(X))

    def _probabilities(self, targets: ClassTargets, scores: np.ndarray) -> np.ndarray:
        """Return probabilities of the classes from scores."""
        loss = self._loss()
        if isinstance(loss, Logistic):
            return targets.probabilities(scores, self._is_multinomial)
        positive = inverse_links(loss, scores)
        return targets.normalize_probabilities(positive, 1.0 - positive[:, 0])

    @available_if(has_probabilities)
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


class StreamingClassifier(Classifier):
    """A classifier that learns from a stream."""

    @locked
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from the next rows of a stream, once and in their order.

        The result does not depend on how the rows are split into calls.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        classes : array-like, default=None
            All classes; needed in the first call, unless ``grow=True`` or y is a matrix of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing.

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight, classes=classes)

    def _row_spans(self, y, n_rows: int, begun: bool, classes=None, task=None):
        """Return spans of rows that each begin at the first row of a new class."""
        if not self.grow:
            return [(0, n_rows)]
        known = self._targets.classes if begun else [] if classes is None else classes
        return split_at_new_classes(y, n_rows, known, has_signs(self.positive))
