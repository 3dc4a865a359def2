"""Classifiers: classes and labels as the columns that loops read, and scores as predictions."""

from itertools import pairwise
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if

from tamis.base.border import LARGEST, check_classes, half_fitted
from tamis.base.contents import array, early, flag, labels, one_of, optional
from tamis.base.rows import frozen
from tamis.terms.losses import Logistic


def is_logistic(model):
    """Probabilities come from the logistic loss alone."""
    if type(model._terms()[0][0]) is Logistic:
        return True
    held = (
        f"has loss={model.loss!r}" if hasattr(model, "loss") else "has none; see predict_confidence"
    )
    raise AttributeError(
        f"predict_proba needs loss='logistic'; this {type(model).__name__} {held}."
    )


def divided(likely: np.ndarray) -> np.ndarray:
    """One-vs-rest probabilities over their sum; where all are 0, all the same."""
    total = likely.sum(axis=1, keepdims=True)
    return np.where(total > 0, likely / np.where(total > 0, total, 1.0), 1.0 / likely.shape[1])


def _outputs_of(count: int, held) -> int:
    """Outputs of a model of so many classes, as a file says them."""
    return count if held.state.get("multilabel_") or count > 2 else 1


def _targets_of(count: int, held) -> int:
    """Columns of its targets."""
    return count if held.state.get("multilabel_") else 1


class Classes(ClassifierMixin):
    """Class and label targets of an online classifier, and its predictions."""

    _contents: ClassVar[dict] = {
        "multilabel_": early(flag()),
        "classes_": early(
            labels("classes", binds={"outputs": _outputs_of, "targets": _targets_of})
        ),
        "_counts": early(optional(one_of(None, array("f8", "classes", least=0.0)))),
    }

    def _outputs(self):
        return len(self.classes_) if self.multilabel_ or len(self.classes_) > 2 else 1

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, in several passes.

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

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from the next rows of a stream, once, in their order; how they are cut into calls
        does not matter.

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

    def _take_targets(self, y, n_rows, *, first, whole, classes=None):
        """Targets as loops read them: +1/-1 (two classes), class numbers, or +1/-1 a label."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = np.asarray(y) if isinstance(y, list | tuple) else y
        if hasattr(y, "tocsr") or (getattr(y, "ndim", 1) == 2 and y.shape[1] > 1):
            return self._take_labels(y, n_rows, first)
        y = column_or_1d(y, warn=True)
        self._check_length(y, n_rows)
        if first:
            check_classes(y)
            if classes is None and not (whole or self.grow):
                raise ValueError(
                    "classes must be passed on the first call to partial_fit (or set grow=True)."
                )
            self.multilabel_, self._counts = False, None
            self.classes_ = np.unique(y if classes is None else classes)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(
                f"`classes={np.unique(classes)[:10].tolist()}` is not the same as on the first "
                f"call to partial_fit: {self.classes_[:10].tolist()}."
            )
        if self.multilabel_:
            raise ValueError("y is one-dimensional, but earlier calls had a 0/1 matrix of labels.")
        codes = self._encode(y)
        if codes is None:
            check_classes(y)
            self._meet_classes(np.setdiff1d(y, self.classes_), first)
            codes = self._encode(y)
        if whole and len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but y "
                f"holds only one class: {self.classes_[0]!r}."
            )
        if len(self.classes_) <= 2:
            codes = np.where(codes == 1, 1.0, -1.0)
        return frozen(codes.astype(np.float64)[:, None])

    def _spans(self, y, n_rows, known):
        """Cut a chunk where a class is met for the first time: a class exists from its first row
        on, not from its chunk on.
        """
        if not self.grow or getattr(y, "ndim", 1) != 1 or hasattr(y, "tocsr"):
            return [(0, n_rows)]
        y = column_or_1d(np.asarray(y))
        self._check_length(y, n_rows)
        values, starts = np.unique(y, return_index=True)
        starts = np.sort(starts[~np.isin(values, known)])
        if self.positive:
            if len(starts) and 1 <= len(known) <= 2:
                raise ValueError(
                    "With positive=True a model of two classes cannot be turned into one of more; "
                    "name all classes in the first partial_fit call."
                )
            return [(0, n_rows)]
        return list(pairwise([0, *starts[starts > 0].tolist(), n_rows]))

    def _encode(self, y):
        """Class numbers, or None where y holds an unknown class."""
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        return codes if np.array_equal(self.classes_[codes], y) else None

    def _meet_classes(self, new, first):
        """Take in unseen classes where `grow` allows it."""
        if not self.grow:
            raise ValueError(
                f"y holds {new[:5].tolist()}, not among classes_ {self.classes_[:10].tolist()}. "
                "Name all classes in the first partial_fit call (classes=...), or set grow=True."
            )
        if isinstance(new.tolist()[0], str) != isinstance(self.classes_.tolist()[0], str):
            raise ValueError(
                f"y holds {new[:5].tolist()}, of another kind than classes_ "
                f"{self.classes_[:10].tolist()}; all must be numbers, or all words."
            )
        self._add_classes(new, first)

    def _add_classes(self, new, first):
        """Insert classes, moving what was learnt to its new place."""
        old, classes = self.classes_, np.union1d(self.classes_, new)
        if first:
            self.classes_ = classes
            return
        place = np.searchsorted(classes, old)
        counts = self._counts
        if counts is not None:
            counts = np.zeros(len(classes))
            counts[place] = self._counts
        sources, signs = np.full(len(classes), -1), np.ones(len(classes))
        if len(old) > 2:
            sources[place] = np.arange(len(old))
        elif (
            len(classes) > 2
        ):  # one or two classes are one output, whose negative sides with classes_[0]
            sources[place] = 0
            signs[place[0]] = -1.0
        else:
            sources, signs = [0], [-1.0 if place[0] == 1 else 1.0]
        # In a single step: no thread sees the new classes with the old engine.
        vars(self).update(
            classes_=classes, _counts=counts, _engine=self._engine.regrouped(sources, signs)
        )

    def _take_labels(self, y, n_rows, first):
        """A 0/1 matrix as one +1/-1 target a label."""
        if self.class_weight is not None:
            raise ValueError(
                "class_weight has no meaning for a matrix of labels; pass sample_weight."
            )
        y = y.toarray() if hasattr(y, "tocsr") else y
        y = check_array(y, dtype=None, input_name="y", estimator=self)
        if not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"y of shape {y.shape} must be a matrix of labels, 0 or 1 each; found "
                f"{np.setdiff1d(y, (0, 1))[0]!r}."
            )
        self._check_length(y, n_rows)
        if first:
            self.multilabel_, self.classes_ = True, np.arange(y.shape[1])
        if not self.multilabel_ or y.shape[1] != len(self.classes_):
            raise ValueError(
                f"y has {y.shape[1]} labels a row, but the model was begun with "
                f"{len(self.classes_) if self.multilabel_ else 'one class a row'}."
            )
        return frozen(np.where(y > 0, 1.0, -1.0))

    def _strata(self, targets):
        return None if self.multilabel_ else targets[:, 0]

    def _weigh(self, targets, weights, *, whole):
        """Row weights times class weights."""
        if self.class_weight is None or self.multilabel_:
            return weights
        codes = targets[:, 0] if len(self.classes_) > 2 else (targets[:, 0] > 0).astype(float)
        codes = codes.astype(np.int64)
        if isinstance(self.class_weight, str) and not whole:
            factors = self._running_balance(codes, weights)
        elif isinstance(self.class_weight, str):
            counted = codes if not len(weights) else codes[weights > 0]
            present = np.bincount(counted, minlength=len(self.classes_))
            factors = (len(counted) / (len(self.classes_) * np.maximum(present, 1)))[codes]
        else:
            factors = compute_class_weight(self._spread(), classes=self.classes_, y=self.classes_)[
                codes
            ]
        return frozen(factors if not len(weights) else factors * weights)

    def _spread(self):
        """The user's class weights; classes without one count 1."""
        unknown = [c for c in self.class_weight if c not in self.classes_]
        if unknown and not self.grow:
            raise ValueError(
                f"class_weight names {unknown!r}, not among the classes "
                f"{self.classes_[:10].tolist()}."
            )
        for name, weight in self.class_weight.items():
            if not 0.0 <= weight <= LARGEST:
                raise ValueError(
                    f"class_weight of class {name!r} is {weight!r}; it must be a number from 0 to "
                    f"{LARGEST:g}."
                )
        return {c: w for c, w in self.class_weight.items() if c not in unknown}

    def _running_balance(self, codes, weights):
        """Balanced weights by the counts so far, each row's own included; rows of weight 0 are not
        counted.
        """
        if self._counts is None:
            self._counts = np.zeros(len(self.classes_))
        counted = np.ones(len(codes)) if not len(weights) else (weights > 0).astype(float)
        own = np.empty(len(codes))
        for c in range(len(self.classes_)):
            mine = codes == c
            own[mine] = self._counts[c] + np.cumsum(counted[mine])
        seen = self._counts.sum() + np.cumsum(counted)
        self._counts += np.bincount(codes, weights=counted, minlength=len(self.classes_))
        return seen / (len(self.classes_) * np.maximum(own, 1.0))

    def _judge(self, rows, targets, weights):
        """Weighted accuracy on held-out rows."""
        scores = self._engine.score(rows)
        if self.multilabel_:
            right = ((scores > 0) == (targets > 0)).mean(axis=1)
        elif len(self.classes_) > 2:
            right = scores.argmax(axis=1) == targets[:, 0]
        else:
            right = (scores[:, 0] > 0) == (targets[:, 0] > 0)
        return float(np.average(right, weights=weights))

    def _shape_coef(self, weights):
        return weights

    def _shape_intercept(self, intercepts):
        return intercepts

    def _scored(self, X):
        """Scores, the classes that they are of, and whether those are labels; asked again where a
        stream has met a class meanwhile.
        """
        scores, before, classes = None, None, vars(self).get("classes_")
        while scores is None or classes is not before:
            before, scores = classes, self._scores(X)
            classes, labels = self.classes_, self.multilabel_
        if scores.shape[1] != (len(classes) if labels or len(classes) > 2 else 1):
            raise half_fitted(self)
        return scores, classes, labels

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
        scores, classes, labels = self._scored(X)
        return scores[:, 0] if len(classes) <= 2 and not labels else scores

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
        scores, classes, labels = self._scored(X)
        if labels:
            return (scores > 0).astype(np.int64)
        if len(classes) > 2:
            return classes[scores.argmax(axis=1)]
        return classes[
            (scores[:, 0] > 0).astype(int) if len(classes) == 2 else np.zeros(len(scores), int)
        ]

    @available_if(is_logistic)
    def predict_proba(self, X):
        """Probabilities of the classes, for ``loss="logistic"``.

        For several classes each one-vs-rest probability is divided by their sum. For labels they
        are independent.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        scores, classes, labels = self._scored(X)
        likely = 0.5 * (1.0 + np.tanh(0.5 * scores))
        if labels:
            return likely
        if len(classes) == 1:
            return np.ones((len(likely), 1))
        if len(classes) == 2:
            return np.column_stack((0.5 * (1.0 - np.tanh(0.5 * scores[:, 0])), likely))
        return self._divide(scores, likely)

    def _divide(self, scores, likely):
        """Probabilities of several classes."""
        return divided(likely)

    @available_if(is_logistic)
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

    def _check_length(self, y, n_rows):
        if len(y) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[n_rows, len(y)]}"
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
