"""Targets: y encoded as the columns that loops read, and scores as predictions.

Targets are immutable: a new class or task gives a new object. A thread that predicts during
training therefore gets consistent targets.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import softmax

from tamis.base.class_messages import one_class_message
from tamis.base.fast_checks import (
    check_array,
    check_classes,
    check_label_type,
    check_n_targets,
    check_scores_memory,
    flatten_targets,
    refuse_missing_targets,
    to_dense,
    unique_classes,
)
from tamis.base.validation import MAX_MAGNITUDE, MIN_MAGNITUDE, validate_numbers
from tamis.numerics.csr import readonly_view
from tamis.numerics.targets import EncodedTargets
from tamis.system.schema import array, flag, labels, one_of, size

N_FIRST_ROWS = 1000  # rows that usually contain all classes


# ---------------------------------------------------------------- classes and labels
def _count_outputs(count: int, sizes) -> int:
    """Return the number of outputs for so many classes."""
    return count if sizes.state.get("labels") or count > 2 else 1


def _count_columns(count: int, sizes) -> int:
    """Return the number of columns of these targets."""
    return count if sizes.state.get("labels") else 1


def _encode_nothing(y) -> None:
    """Return None: no target can be encoded on its own."""


class ClassTargets:
    """Classes of rows, in ascending order; or labels, any number per row.

    Columns are +1 and -1 (two classes, or one column per label), or class indices.
    """

    _contents: ClassVar[dict] = {
        "labels": flag(),
        "classes": labels("classes", binds={"outputs": _count_outputs, "targets": _count_columns}),
        "counts": one_of(None, array("f8", "classes", minimum=0.0)),
    }

    def __init__(self, classes: np.ndarray, labels: bool = False, counts=None):
        self.classes, self.labels = classes, labels
        self.counts = counts  # rows of each class so far, in a stream with balanced class weights

    @classmethod
    def encode(
        cls, y, n_rows: int, model, *, known=None, is_fit=True, classes=None, grow=False
    ) -> tuple["ClassTargets", EncodedTargets]:
        """Encode y; return the targets (`known` with the classes that y adds) and their columns."""
        refuse_missing_targets(y, type(model).__name__)
        y = np.asarray(y) if isinstance(y, list | tuple) else y
        if hasattr(y, "tocsr") or (getattr(y, "ndim", 1) == 2 and y.shape[1] > 1):
            return cls._of_labels(y, n_rows, model, known)
        y = flatten_targets(y)
        check_n_targets(y, n_rows)
        targets = known
        if known is None:
            # Integers are classes unless there are too many different ones.
            is_integer = y.dtype.kind in "biu"
            if not is_integer:
                check_classes(y)
            if classes is None and not (is_fit or grow):
                raise ValueError(
                    "classes must be passed on the first call to partial_fit (or set grow=True)."
                )
            targets = cls(_find_classes(y) if classes is None else unique_classes(classes))
            if is_integer and 2 * len(targets.classes) >= len(y):
                check_classes(y)
        elif classes is not None and not np.array_equal(known.classes, unique_classes(classes)):
            raise ValueError(
                f"`classes={unique_classes(classes)[:10].tolist()}` is not the same as on the "
                "first "
                f"call to partial_fit: {known.classes[:10].tolist()}."
            )
        if targets.labels:
            raise ValueError("y is one-dimensional, but earlier calls had a 0/1 matrix of labels.")
        codes = targets._codes(y)
        if codes is None:
            check_classes(y)
            targets = targets._add_classes(np.setdiff1d(y, targets.classes), grow)
            codes = targets._codes(y)
        if is_fit and len(targets.classes) < 2:
            raise ValueError(one_class_message(type(model).__name__, targets.classes[0]))
        return targets, EncodedTargets(readonly_view(targets.columns(codes)))

    @classmethod
    def _of_labels(cls, y, n_rows, model, known) -> tuple["ClassTargets", EncodedTargets]:
        """Encode a 0/1 matrix as +1/-1 columns, one per label."""
        if getattr(model, "class_weight", None) is not None:
            raise ValueError(
                "class_weight has no meaning for a matrix of labels; pass sample_weight."
            )
        y = check_array(to_dense(y), dtype=None, input_name="y", estimator=model)
        if not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"y of shape {y.shape} must be a matrix of labels, 0 or 1 each; found "
                f"{np.setdiff1d(y, (0, 1))[0]!r}."
            )
        check_n_targets(y, n_rows)
        targets = cls(np.arange(y.shape[1]), labels=True) if known is None else known
        if not targets.labels or y.shape[1] != len(targets.classes):
            expected = len(targets.classes) if targets.labels else "one class a row"
            raise ValueError(
                f"y has {y.shape[1]} labels a row, but the model was begun with {expected}."
            )
        return targets, EncodedTargets(readonly_view(np.where(y > 0, 1.0, -1.0)))

    def _codes(self, y):
        """Return class indices, or None if y has an unknown class."""
        if len(self.classes) == 2 and y.dtype.kind in "biuf" and self.classes.dtype.kind in "biuf":
            is_second = y == self.classes[1]
            return is_second if (is_second | (y == self.classes[0])).all() else None
        try:
            codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        except TypeError:  # words and numbers, or None, have no order
            return None
        return codes if np.array_equal(self.classes[codes], y) else None

    def _add_classes(self, new, grow: bool) -> "ClassTargets":
        """Return the targets with new classes; an error unless the model may grow."""
        if not grow:
            raise ValueError(
                f"y holds {new[:5].tolist()}, not among classes_ {self.classes[:10].tolist()}. "
                "Name all classes in the first partial_fit call (classes=...), or set grow=True."
            )
        check_label_type(new, self.classes)
        classes, counts = np.union1d(self.classes, new), self.counts
        if counts is not None:
            counts = np.zeros(len(classes))
            counts[np.searchsorted(classes, self.classes)] = self.counts
        return ClassTargets(classes, counts=counts)

    def class_mapping(self, other: "ClassTargets") -> tuple[Any, Any]:
        """Return for each output of `other`, targets with more classes, its present output and
        sign.

        The output is -1 for a new class.
        """
        new_index = np.searchsorted(other.classes, self.classes)
        n_classes = len(other.classes)
        sources, signs = np.full(n_classes, -1), np.ones(n_classes)
        if len(self.classes) > 2:
            sources[new_index] = np.arange(len(self.classes))
        elif n_classes > 2:
            # One or two classes have one output, and its negative is that of the first class.
            sources[new_index] = 0
            signs[new_index[0]] = -1.0
        else:
            return [0], [-1.0 if new_index[0] == 1 else 1.0]
        return sources, signs

    # ------------------------------------------------------------ rows
    def columns(self, codes: np.ndarray) -> np.ndarray:
        """Return columns from class indices."""
        values = codes if len(self.classes) > 2 else np.where(codes == 1, 1.0, -1.0)
        return values.astype(np.float64)[:, None]

    def row_encoder(self) -> Callable[[Any], float | None]:
        """Return a function that encodes the target of a single row.

        It returns the number in the column, or None if the target needs `encode`.
        """
        if self.labels:
            return _encode_nothing
        numbers = self.columns(np.arange(len(self.classes)))[:, 0].tolist()
        return dict(zip(self.classes.tolist(), numbers, strict=True)).get

    @property
    def outputs(self) -> int:
        """Number of linear functions that separate the classes."""
        return len(self.classes) if self.labels or len(self.classes) > 2 else 1

    @property
    def is_multiclass(self) -> bool:
        """Whether there are more than two classes, encoded as class indices."""
        return len(self.classes) > 2 and not self.labels

    def signs(self, columns: np.ndarray) -> np.ndarray:
        """Return +1 and -1 per output: each class against the others."""
        if self.is_multiclass:
            check_scores_memory(columns, len(self.classes), "the targets")
            return np.where(columns == np.arange(len(self.classes)), 1.0, -1.0)
        return np.ascontiguousarray(columns)

    def class_indices(self, columns: np.ndarray) -> np.ndarray:
        """Return the class index of each row."""
        codes = columns[:, 0] if len(self.classes) > 2 else columns[:, 0] > 0
        return codes.astype(np.int64)

    def strata(self, columns: np.ndarray) -> np.ndarray | None:
        """Return the strata for a split of the rows, None for labels."""
        return None if self.labels else columns[:, 0]

    def apply_class_weight(
        self, columns, weights, class_weight, *, is_fit=True, grow=False
    ) -> tuple["ClassTargets", np.ndarray]:
        """Return the targets with the rows counted, and row weights times class weights.

        "balanced" uses the class counts of all rows, or in a stream those so far, with the row
        itself. Rows of weight 0 do not count.
        """
        if class_weight is None or self.labels:
            return self, weights
        codes, targets = self.class_indices(columns), self
        if not isinstance(class_weight, str):
            class_weights = self._check_class_weight(class_weight, grow)
            factors = np.array([float(class_weights.get(c, 1.0)) for c in self.classes.tolist()])[
                codes
            ]
        elif is_fit:
            counted_codes = codes if not len(weights) else codes[weights > 0]
            counts = np.bincount(counted_codes, minlength=len(self.classes))
            factors = (len(counted_codes) / (len(self.classes) * np.maximum(counts, 1)))[codes]
        else:
            targets, factors = self._running_balance(codes, weights)
        return targets, readonly_view(factors if not len(weights) else factors * weights)

    def _check_class_weight(self, class_weight: dict, grow: bool) -> dict:
        """Return the user's class weights, checked; other classes have weight 1."""
        unknown = [c for c in class_weight if c not in self.classes]
        if unknown and not grow:
            raise ValueError(
                f"class_weight names {unknown!r}, not among the classes "
                f"{self.classes[:10].tolist()}."
            )
        for name, weight in class_weight.items():
            if not 0.0 <= weight <= MAX_MAGNITUDE:
                raise ValueError(
                    f"class_weight of class {name!r} is {weight!r}; it must be a number from 0 "
                    f"to {MAX_MAGNITUDE:g}."
                )
        return {c: w for c, w in class_weight.items() if c not in unknown}

    def _running_balance(self, codes, weights):
        """Return balanced weights by the class counts so far."""
        counts = np.zeros(len(self.classes)) if self.counts is None else self.counts
        is_counted = np.ones(len(codes)) if not len(weights) else (weights > 0).astype(float)
        running_counts = np.empty(len(codes))
        for c in range(len(self.classes)):
            in_class = codes == c
            running_counts[in_class] = counts[c] + np.cumsum(is_counted[in_class])
        running_total = counts.sum() + np.cumsum(is_counted)
        counts = counts + np.bincount(codes, weights=is_counted, minlength=len(self.classes))
        factors = running_total / (len(self.classes) * np.maximum(running_counts, 1.0))
        return ClassTargets(self.classes, self.labels, counts), factors

    # ------------------------------------------------------------ scores
    def shape_coef(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights of all outputs in the shape of `coef_`."""
        return weights

    def shape_scores(self, scores: np.ndarray) -> np.ndarray:
        """Return scores in the shape of `decision_function`."""
        return scores[:, 0] if self.outputs == 1 and not self.labels else scores

    def predict(self, scores: np.ndarray) -> np.ndarray:
        """Return classes, or 0 and 1 per label."""
        if self.labels:
            return (scores > 0).astype(np.int64)
        if len(self.classes) > 2:
            return self.classes[scores.argmax(axis=1)]
        has_two_classes = len(self.classes) == 2
        return self.classes[
            (scores[:, 0] > 0).astype(int) if has_two_classes else np.zeros(len(scores), int)
        ]

    def probabilities(self, scores: np.ndarray, joint: bool = False) -> np.ndarray:
        """Return probabilities of the classes under the logistic loss.

        Several classes use a softmax (`joint`), or one-vs-rest probabilities divided by their sum.
        """
        positive = 0.5 * (1.0 + np.tanh(0.5 * scores))
        if self.is_multiclass and joint:
            return softmax(scores)
        return self.normalize_probabilities(positive, 0.5 * (1.0 - np.tanh(0.5 * scores[:, 0])))

    def normalize_probabilities(self, positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
        """Return probabilities of all classes from those of the outputs, divided by their sum.

        For two classes, `negative` is the probability of the first. If all are 0, the classes get
        equal probabilities.
        """
        if self.labels:
            return positive
        if len(self.classes) == 1:
            return np.ones((len(positive), 1))
        if len(self.classes) == 2:
            return np.column_stack((negative, positive))
        total = positive.sum(axis=1, keepdims=True)
        divisor = np.where(total > 0, total, 1.0)
        return np.where(total > 0, positive / divisor, 1.0 / positive.shape[1])

    def score(self, scores: np.ndarray, columns: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted accuracy."""
        if self.labels:
            is_correct = ((scores > 0) == (columns > 0)).mean(axis=1)
        elif len(self.classes) > 2:
            is_correct = scores.argmax(axis=1) == columns[:, 0]
        else:
            is_correct = (scores[:, 0] > 0) == (columns[:, 0] > 0)
        return float(np.average(is_correct, weights=weights))


def _find_classes(y: np.ndarray) -> np.ndarray:
    """Return the classes of y in ascending order.

    It sorts only the first rows if these contain all classes.
    """
    first_targets = ClassTargets(np.unique(y[:N_FIRST_ROWS]))
    return first_targets.classes if first_targets._codes(y) is not None else np.unique(y)


# ---------------------------------------------------------------- numbers
def _encode_number(y) -> float | None:
    """Return a number as a float, None if it is out of range."""
    if not isinstance(y, float | int | np.integer | np.floating):
        return None
    number = float(y)
    return number if MIN_MAGNITUDE <= abs(number) <= MAX_MAGNITUDE or number == 0.0 else None


class NumberTargets:
    """Numeric targets, one or several per row; `flat` if y is one-dimensional."""

    _contents: ClassVar[dict] = {"flat": flag(), "outputs": size("outputs", "targets")}

    def __init__(self, outputs: int, flat: bool):
        self.outputs, self.flat = outputs, flat

    @classmethod
    def encode(
        cls, y, n_rows: int, model, *, known=None, is_fit=True, grow=False
    ) -> tuple["NumberTargets", EncodedTargets]:
        """Encode y; return the targets and their columns. Numbers never grow."""
        refuse_missing_targets(y, type(model).__name__)
        y = validate_numbers(model, y, is_fit=is_fit)
        if y.ndim == 2 and y.shape[1] == 1:
            y = flatten_targets(y)
        flat = y.ndim == 1
        y = y[:, None] if flat else y
        check_n_targets(y, n_rows)
        targets = cls(y.shape[1], flat) if known is None else known
        if y.shape[1] != targets.outputs:
            raise ValueError(
                f"y has {y.shape[1]} targets a row, but the model was begun with {targets.outputs}."
            )
        return targets, EncodedTargets(readonly_view(np.ascontiguousarray(y)))

    def row_encoder(self) -> Callable[[Any], float | None]:
        """As in `ClassTargets`."""
        return _encode_number if self.flat else _encode_nothing

    def strata(self, columns: np.ndarray) -> None:
        """Return None: numbers have no strata."""
        return None

    def shape_coef(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights of all outputs in the shape of `coef_`."""
        return weights[0] if self.flat else weights

    def predict(self, scores: np.ndarray) -> np.ndarray:
        """Return numbers in the shape of y."""
        return scores[:, 0] if self.flat else scores

    shape_scores = predict

    def score(self, scores: np.ndarray, columns: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted coefficient of determination."""
        weights = weights[:, None]
        residual_sum = (weights * (columns - scores) ** 2).sum()
        mean = (weights * columns).sum(axis=0) / weights.sum()
        total = (weights * (columns - mean) ** 2).sum()
        return float(1.0 - residual_sum / total) if total > 0 else 0.0


Targets = ClassTargets | NumberTargets
