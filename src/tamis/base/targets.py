"""Targets as a value: y coded once into the columns that loops read, and scores into predictions.

A value never changes: what makes room for a class or a task returns another one. So a thread that
predicts while another one trains finds targets that fit together.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import softmax

from tamis.base.class_messages import one_class_message
from tamis.base.fast_checks import (
    along_one,
    check_array,
    check_classes,
    check_kind,
    check_length,
    check_scores,
    dense,
    distinct,
    refuse_none,
)
from tamis.base.validation import LARGEST, SMALLEST, take_numbers
from tamis.numerics.csr import frozen
from tamis.numerics.targets import EncodedTargets
from tamis.system.schema import array, flag, labels, one_of, size

FIRST = 1000  # rows among which most classes are met


# ---------------------------------------------------------------- classes and labels
def _outputs_of(count: int, held) -> int:
    """Outputs of a model of so many classes, as a file says them."""
    return count if held.state.get("labels") or count > 2 else 1


def _columns_of(count: int, held) -> int:
    """Columns of its targets."""
    return count if held.state.get("labels") else 1


def _unknown(y) -> None:
    """Nothing that is known at once."""


class ClassTargets:
    """Classes of rows, ascending; or labels, of which a row has any number.

    Columns are +1 and -1 (two classes, or a column a label), or the number of the class.
    """

    _contents: ClassVar[dict] = {
        "labels": flag(),
        "classes": labels("classes", binds={"outputs": _outputs_of, "targets": _columns_of}),
        "counts": one_of(None, array("f8", "classes", least=0.0)),
    }

    def __init__(self, classes: np.ndarray, labels: bool = False, counts=None):
        self.classes, self.labels = classes, labels
        self.counts = counts  # rows of each class in a stream, where their weights depend on it

    @classmethod
    def of(
        cls, y, n_rows: int, model, *, known=None, whole=True, classes=None, grow=False
    ) -> tuple["ClassTargets", EncodedTargets]:
        """Code y: the targets, those `known` with what y adds, and their columns."""
        refuse_none(y, type(model).__name__)
        y = np.asarray(y) if isinstance(y, list | tuple) else y
        if hasattr(y, "tocsr") or (getattr(y, "ndim", 1) == 2 and y.shape[1] > 1):
            return cls._of_labels(y, n_rows, model, known)
        y = along_one(y)
        check_length(y, n_rows)
        found = known
        if known is None:
            plain = y.dtype.kind in "biu"  # whole numbers are classes, unless they are too many
            if not plain:
                check_classes(y)
            if classes is None and not (whole or grow):
                raise ValueError(
                    "classes must be passed on the first call to partial_fit (or set grow=True)."
                )
            found = cls(_distinct(y) if classes is None else distinct(classes))
            if plain and 2 * len(found.classes) >= len(y):
                check_classes(y)
        elif classes is not None and not np.array_equal(known.classes, distinct(classes)):
            raise ValueError(
                f"`classes={distinct(classes)[:10].tolist()}` is not the same as on the first "
                f"call to partial_fit: {known.classes[:10].tolist()}."
            )
        if found.labels:
            raise ValueError("y is one-dimensional, but earlier calls had a 0/1 matrix of labels.")
        codes = found._codes(y)
        if codes is None:
            check_classes(y)
            found = found._with(np.setdiff1d(y, found.classes), grow)
            codes = found._codes(y)
        if whole and len(found.classes) < 2:
            raise ValueError(one_class_message(type(model).__name__, found.classes[0]))
        return found, EncodedTargets(frozen(found.columns(codes)))

    @classmethod
    def _of_labels(cls, y, n_rows, model, known) -> tuple["ClassTargets", EncodedTargets]:
        """A 0/1 matrix as one +1/-1 target a label."""
        if getattr(model, "class_weight", None) is not None:
            raise ValueError(
                "class_weight has no meaning for a matrix of labels; pass sample_weight."
            )
        y = check_array(dense(y), dtype=None, input_name="y", estimator=model)
        if not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"y of shape {y.shape} must be a matrix of labels, 0 or 1 each; found "
                f"{np.setdiff1d(y, (0, 1))[0]!r}."
            )
        check_length(y, n_rows)
        found = cls(np.arange(y.shape[1]), labels=True) if known is None else known
        if not found.labels or y.shape[1] != len(found.classes):
            begun = len(found.classes) if found.labels else "one class a row"
            raise ValueError(
                f"y has {y.shape[1]} labels a row, but the model was begun with {begun}."
            )
        return found, EncodedTargets(frozen(np.where(y > 0, 1.0, -1.0)))

    def _codes(self, y):
        """Class numbers, or None where y holds an unknown class."""
        if len(self.classes) == 2 and y.dtype.kind in "biuf" and self.classes.dtype.kind in "biuf":
            second = y == self.classes[1]
            return second if (second | (y == self.classes[0])).all() else None
        try:
            codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        except TypeError:  # words and numbers, or None, have no order
            return None
        return codes if np.array_equal(self.classes[codes], y) else None

    def _with(self, new, grow: bool) -> "ClassTargets":
        """The targets with unseen classes, where the model may grow."""
        if not grow:
            raise ValueError(
                f"y holds {new[:5].tolist()}, not among classes_ {self.classes[:10].tolist()}. "
                "Name all classes in the first partial_fit call (classes=...), or set grow=True."
            )
        check_kind(new, self.classes)
        classes, counts = np.union1d(self.classes, new), self.counts
        if counts is not None:
            counts = np.zeros(len(classes))
            counts[np.searchsorted(classes, self.classes)] = self.counts
        return ClassTargets(classes, counts=counts)

    def moves(self, other: "ClassTargets") -> tuple[Any, Any]:
        """Where the outputs of grown targets come from: numbers of present outputs, -1 for none,
        and the signs with which they are taken.
        """
        place = np.searchsorted(other.classes, self.classes)
        count = len(other.classes)
        sources, signs = np.full(count, -1), np.ones(count)
        if len(self.classes) > 2:
            sources[place] = np.arange(len(self.classes))
        elif count > 2:  # one or two classes are one output, whose negative sides with the first
            sources[place] = 0
            signs[place[0]] = -1.0
        else:
            return [0], [-1.0 if place[0] == 1 else 1.0]
        return sources, signs

    # ------------------------------------------------------------ rows
    def columns(self, codes: np.ndarray) -> np.ndarray:
        """Columns from numbers of classes."""
        coded = codes if len(self.classes) > 2 else np.where(codes == 1, 1.0, -1.0)
        return coded.astype(np.float64)[:, None]

    def quick(self) -> Callable[[Any], float | None]:
        """What codes the target of a single row: the number in its column, or None where `of` must
        look.
        """
        if self.labels:
            return _unknown
        numbers = self.columns(np.arange(len(self.classes)))[:, 0].tolist()
        return dict(zip(self.classes.tolist(), numbers, strict=True)).get

    @property
    def outputs(self) -> int:
        """How many linear functions tell the classes apart."""
        return len(self.classes) if self.labels or len(self.classes) > 2 else 1

    @property
    def excluding(self) -> bool:
        """Whether a column holds the number of one class among several."""
        return len(self.classes) > 2 and not self.labels

    def signs(self, columns: np.ndarray) -> np.ndarray:
        """+1 and -1 of every output: one class against the rest."""
        if self.excluding:
            check_scores(columns, len(self.classes), "the targets")
            return np.where(columns == np.arange(len(self.classes)), 1.0, -1.0)
        return np.ascontiguousarray(columns)

    def codes_of(self, columns: np.ndarray) -> np.ndarray:
        """The number of each row's class."""
        codes = columns[:, 0] if len(self.classes) > 2 else columns[:, 0] > 0
        return codes.astype(np.int64)

    def strata(self, columns: np.ndarray) -> np.ndarray | None:
        """What a split of the rows should keep in balance."""
        return None if self.labels else columns[:, 0]

    def weigh(
        self, columns, weights, class_weight, *, whole=True, grow=False
    ) -> tuple["ClassTargets", np.ndarray]:
        """Row weights times class weights, and the targets with the rows counted.

        "balanced" is by the classes of all rows, or in a stream by those so far, a row's own
        included; rows of weight 0 are not counted.
        """
        if class_weight is None or self.labels:
            return self, weights
        codes, after = self.codes_of(columns), self
        if not isinstance(class_weight, str):
            given = self._spread(class_weight, grow)
            factors = np.array([float(given.get(c, 1.0)) for c in self.classes.tolist()])[codes]
        elif whole:
            counted = codes if not len(weights) else codes[weights > 0]
            present = np.bincount(counted, minlength=len(self.classes))
            factors = (len(counted) / (len(self.classes) * np.maximum(present, 1)))[codes]
        else:
            after, factors = self._running_balance(codes, weights)
        return after, frozen(factors if not len(weights) else factors * weights)

    def _spread(self, class_weight: dict, grow: bool) -> dict:
        """The user's class weights; classes without one count 1."""
        unknown = [c for c in class_weight if c not in self.classes]
        if unknown and not grow:
            raise ValueError(
                f"class_weight names {unknown!r}, not among the classes "
                f"{self.classes[:10].tolist()}."
            )
        for name, weight in class_weight.items():
            if not 0.0 <= weight <= LARGEST:
                raise ValueError(
                    f"class_weight of class {name!r} is {weight!r}; it must be a number from 0 "
                    f"to {LARGEST:g}."
                )
        return {c: w for c, w in class_weight.items() if c not in unknown}

    def _running_balance(self, codes, weights):
        """Balanced weights by the counts so far."""
        counts = np.zeros(len(self.classes)) if self.counts is None else self.counts
        counted = np.ones(len(codes)) if not len(weights) else (weights > 0).astype(float)
        own = np.empty(len(codes))
        for c in range(len(self.classes)):
            mine = codes == c
            own[mine] = counts[c] + np.cumsum(counted[mine])
        seen = counts.sum() + np.cumsum(counted)
        counts = counts + np.bincount(codes, weights=counted, minlength=len(self.classes))
        factors = seen / (len(self.classes) * np.maximum(own, 1.0))
        return ClassTargets(self.classes, self.labels, counts), factors

    # ------------------------------------------------------------ scores
    def shaped(self, weights: np.ndarray) -> np.ndarray:
        """Weights of all outputs in the shape of `coef_`."""
        return weights

    def decision(self, scores: np.ndarray) -> np.ndarray:
        """Scores as `decision_function` shows them."""
        return scores[:, 0] if self.outputs == 1 and not self.labels else scores

    def predict(self, scores: np.ndarray) -> np.ndarray:
        """Classes, or 0 and 1 a label."""
        if self.labels:
            return (scores > 0).astype(np.int64)
        if len(self.classes) > 2:
            return self.classes[scores.argmax(axis=1)]
        second = len(self.classes) == 2
        return self.classes[
            (scores[:, 0] > 0).astype(int) if second else np.zeros(len(scores), int)
        ]

    def probabilities(self, scores: np.ndarray, joint: bool = False) -> np.ndarray:
        """Probabilities of the classes under the logistic loss; of several classes by a softmax
        (`joint`), or each against the rest and divided by their sum.
        """
        likely = 0.5 * (1.0 + np.tanh(0.5 * scores))
        if self.excluding and joint:
            return softmax(scores)
        return self.divided(likely, 0.5 * (1.0 - np.tanh(0.5 * scores[:, 0])))

    def divided(self, likely: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Probabilities of all classes from those of the outputs; of two classes, `other` is that
        of the first one. Where all are 0, all are the same.
        """
        if self.labels:
            return likely
        if len(self.classes) == 1:
            return np.ones((len(likely), 1))
        if len(self.classes) == 2:
            return np.column_stack((other, likely))
        total = likely.sum(axis=1, keepdims=True)
        sound = np.where(total > 0, total, 1.0)
        return np.where(total > 0, likely / sound, 1.0 / likely.shape[1])

    def score(self, scores: np.ndarray, columns: np.ndarray, weights: np.ndarray) -> float:
        """Weighted accuracy."""
        if self.labels:
            right = ((scores > 0) == (columns > 0)).mean(axis=1)
        elif len(self.classes) > 2:
            right = scores.argmax(axis=1) == columns[:, 0]
        else:
            right = (scores[:, 0] > 0) == (columns[:, 0] > 0)
        return float(np.average(right, weights=weights))


def _distinct(y: np.ndarray) -> np.ndarray:
    """The classes of y, ascending; without sorting all of it where the first rows have them all."""
    few = ClassTargets(np.unique(y[:FIRST]))
    return few.classes if few._codes(y) is not None else np.unique(y)


# ---------------------------------------------------------------- numbers
def _number(y) -> float | None:
    """A number as it stands in its column, if it is one between the limits."""
    if not isinstance(y, float | int | np.integer | np.floating):
        return None
    number = float(y)
    return number if SMALLEST <= abs(number) <= LARGEST or number == 0.0 else None


class NumberTargets:
    """Real targets, one or several a row; `flat` where y has one axis."""

    _contents: ClassVar[dict] = {"flat": flag(), "outputs": size("outputs", "targets")}

    def __init__(self, outputs: int, flat: bool):
        self.outputs, self.flat = outputs, flat

    @classmethod
    def of(
        cls, y, n_rows: int, model, *, known=None, whole=True, grow=False
    ) -> tuple["NumberTargets", EncodedTargets]:
        """Code y: the targets, and their columns; numbers have nothing that could grow."""
        refuse_none(y, type(model).__name__)
        y = take_numbers(model, y, whole=whole)
        if y.ndim == 2 and y.shape[1] == 1:
            y = along_one(y)
        flat = y.ndim == 1
        y = y[:, None] if flat else y
        check_length(y, n_rows)
        found = cls(y.shape[1], flat) if known is None else known
        if y.shape[1] != found.outputs:
            raise ValueError(
                f"y has {y.shape[1]} targets a row, but the model was begun with {found.outputs}."
            )
        return found, EncodedTargets(frozen(np.ascontiguousarray(y)))

    def quick(self) -> Callable[[Any], float | None]:
        """As in `ClassTargets`."""
        return _number if self.flat else _unknown

    def strata(self, columns: np.ndarray) -> None:
        """Nothing that a split of the rows should keep in balance."""
        return None

    def shaped(self, weights: np.ndarray) -> np.ndarray:
        """Weights of all outputs in the shape of `coef_`."""
        return weights[0] if self.flat else weights

    def predict(self, scores: np.ndarray) -> np.ndarray:
        """Numbers, in the shape of y."""
        return scores[:, 0] if self.flat else scores

    decision = predict

    def score(self, scores: np.ndarray, columns: np.ndarray, weights: np.ndarray) -> float:
        """Weighted coefficient of determination."""
        weights = weights[:, None]
        residual = (weights * (columns - scores) ** 2).sum()
        mean = (weights * columns).sum(axis=0) / weights.sum()
        spread = (weights * (columns - mean) ** 2).sum()
        return float(1.0 - residual / spread) if spread > 0 else 0.0


Targets = ClassTargets | NumberTargets
