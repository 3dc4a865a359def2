"""What serves the rows of a model: what every call needs is looked up once.

Nothing here knows threads: `tamis.serving.live` lets one in at a time.
"""

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from tamis.base.validation import LARGEST, SMALLEST, take_weights
from tamis.numerics.csr import Csr, frozen
from tamis.serving.loop import GIVEN, WILD
from tamis.serving.naming import naming_of
from tamis.serving.row import ODD, ROOM, Row, as_arrays, refuse


def _unknown(y) -> None:
    """No number of a target, which `_coded` then looks at."""


class Served:
    """A model, and the calls on the one row that is at hand."""

    def __init__(self, model, classes, n_features: int | None, hash_bits: int | None):
        self.model, self.classes, self.room = model, classes, ROOM
        self.hash_bits, self.naming = hash_bits, naming_of(model, hash_bits)
        self.engine: Any = None  # whose calls were looked up, with its terms
        self.terms: Any = None
        if "_engine" in vars(model):
            self._open(model.n_features_in_)
        elif n_features is not None:
            self._begin(n_features, 0.0 if classes is None else np.unique(classes)[0])

    # ------------------------------------------------------------------ the model
    def _begin(self, n_features: int, y) -> None:
        """Begin a fresh model by a row of weight 0, which is nothing to it."""
        named = {} if self.classes is None else {"classes": self.classes}
        rows = sp.csr_array((1, n_features))
        self.model.partial_fit(rows, np.asarray([y]), sample_weight=np.zeros(1), **named)
        self._open(n_features)

    def _open(self, n_features: int) -> None:
        """Take the parameters as they stand, and so many columns."""
        self.options = self.model._opened(n_features)
        self.model.n_features_in_ = n_features
        self._prepare()

    def _prepare(self) -> None:
        """Look up what calls need, of the engine as it stands."""
        model = self.model
        engine, targets = model._engine, model._targets
        n_targets = 1 if getattr(targets, "excluding", False) else targets.outputs
        self.row = row = Row(engine.features, n_targets, self.room)
        if hasattr(engine, "row_calls"):
            self.learn_row, self.score_row = engine.row_calls(row.rows, row.coded, row.weights)
        else:  # as `partial_fit` does
            given = (self.options, row.rows, row.coded, row.weights)
            self.learn_row = lambda: model._learn(*given)
            self.score_row = lambda: engine.score(row.rows)
        self.engine, self.terms = engine, vars(engine).get("terms")
        self.quick, self.weighs = targets.quick(), getattr(model, "class_weight", None) is not None
        self.classifies = is_classifier(model)
        if not self.classifies and hasattr(model._row_loss(), "accepts"):
            self.quick = _unknown  # `_coded` refuses what the loss does not take

    def _check(self) -> None:
        """Look up anew what others have changed since, who trained the model themselves."""
        engine = vars(self.model).get("_engine")
        if engine is None:
            raise NotFittedError(
                f"This {type(self.model).__name__} has learnt nothing yet, and nobody said how "
                "many columns it has. Learn a row first, or pass n_features to live."
            )
        if engine is not self.engine:
            self.naming = naming_of(self.model, self.hash_bits)
        if engine is not self.engine or vars(engine).get("terms") is not self.terms:
            self._open(engine.features)

    # ------------------------------------------------------------------ learning
    def learn(self, row, values, y, weight: float) -> None:
        """Learn one row: check, make room, learn, look. What is refused has changed nothing."""
        model, order = self.model, GIVEN
        begun, new = "_engine" in vars(model), list[str]()
        if begun:
            self._check()
        if weight != 1.0 and not (type(weight) is float and SMALLEST <= weight <= LARGEST):
            weight = float(take_weights(np.array([weight], dtype=float), 1)[0])
        if values is None:
            (row, values, new), order = self.naming.read(row, True), self.naming.order
        if not begun:
            self._grow(row, values, new, order, y)
            new = []
        kept = self._fill(row, values, order)
        if new or (kept == WILD and model.grow):
            self._grow(row, values, new, order, y)
            self._fill(row, values, order)
        elif kept < 0:
            self._refuse(kept, row, values)
        self._code(y)
        if weight == 1.0 and not self.weighs:
            self.row.weight[0] = 1.0
        else:
            given = (model._targets, self.row.target, np.array([weight]))
            targets, weights = model._weigh(*given, whole=False, grow=model.grow)
            self.row.weight[0], model._targets = weights[0], targets
        before = self.engine.steps
        model.n_iter_ = 1
        self.learn_row()
        model._look(before)

    def _grow(self, row, values, new: list[str], order: int, y) -> None:
        """Begin the model, or make room for new columns, once the row is known to be sound."""
        model, known = self.model, vars(self.model).get("n_features_in_", 0)
        indices, values = as_arrays(row, values)
        width = max(known, int(indices.max(initial=-1)) + 1)
        if width == 0:
            raise ValueError(
                "the first row of a growing model holds no column. Begin with one that does, or "
                "pass n_features to live."
            )
        if not new and "feature_names_in_" in vars(model):
            raise ValueError(
                f"index {width - 1} is a new column without a name, and the others have names. "
                "Give new columns by their names, in a mapping."
            )
        if new and width - len(new) != known:
            raise ValueError(
                f"{new[0]!r} is a name, and the columns of this model have none. Give all columns "
                "as indices, or begin the model with names."
            )
        fault = Row(width, 1, len(indices)).fill(indices, values, order)
        if fault < 0:
            refuse(fault, indices, values, width, "Indices count from 0.")
        if known:
            self._coded(y)
            self._open(width)
        else:
            self._begin(width, y)
        if new:
            self.naming.take(new, model)

    def _code(self, y) -> None:
        """Put the target into the row; a growing model makes room for a new class."""
        try:
            number = self.quick(y)
        except TypeError:  # what is no key of a table
            number = None
        if number is not None:
            self.row.target[0, 0] = number
            return
        targets, columns = self._coded(y)
        if targets is not self.model._targets:
            held = self.row
            self.model._prepare(self.options, targets, self.engine.features, True)
            self._prepare()
            self.row.copy_from(held)
        self.row.target[:] = columns

    def _coded(self, y) -> tuple[Any, np.ndarray]:
        """Targets that know y, and its columns, as `partial_fit` finds them."""
        model, rows = self.model, np.asarray([y])
        model._spans(rows, 1, True)
        known = {"known": model._targets, "whole": False, "grow": model.grow}
        targets, coded = model._code(rows, 1, **known)
        return targets, coded.columns

    # ------------------------------------------------------------------ numbers
    def _fill(self, indices, values, order: int) -> int:
        """Put numbers into the row; how many count, or below 0 what is wrong."""
        if type(indices) is not list or type(values) is not list:
            indices, values = as_arrays(indices, values)
        if len(indices) > self.room:
            self.room = 2 * len(indices)
            self._prepare()
        kept = self.row.fill(indices, values, order)
        if kept == ODD:
            kept = self.row.fill(*as_arrays(indices, values), order)
        return kept

    def _refuse(self, fault: int, indices, values) -> NoReturn:
        way = "Give columns of the model, or serve one with grow=True (or a larger n_features)."
        refuse(fault, *as_arrays(indices, values), self.row.n_features, way)

    def scores(self, row, values) -> np.ndarray:
        """Scores of a row, (1, outputs), good until the next call; columns that a growing model has
        not met weigh nothing.
        """
        self._check()
        order = GIVEN
        if values is None:
            (row, values, _), order = self.naming.read(row, False), self.naming.order
        kept = self._fill(row, values, order)
        if kept == WILD and self.model.grow:
            row, values = as_arrays(row, values)
            known = row < self.row.n_features
            row, values = row[known], values[known]
            kept = self._fill(row, values, order)
        if kept < 0:
            self._refuse(kept, row, values)
        return self.score_row()

    def shares(self, row, values) -> tuple[list, np.ndarray]:
        """Names of the columns of a row that the model knows, and what each adds to the scores,
        (columns, outputs).
        """
        if values is None:
            columns, values, _ = self.naming.read(row, False)
            names = self.naming.called(row, columns)
        else:
            columns = row
            names = self.naming.said(as_arrays(row, values)[0].tolist())
        indices, numbers = as_arrays(columns, values)
        known = np.flatnonzero(indices < self.row.n_features)
        names, indices, numbers = [names[k] for k in known], indices[known], numbers[known]
        if not hasattr(self.engine, "shares"):
            return names, self.engine.weights()[:, indices].T * numbers[:, None]
        rows = Csr(  # a row a number
            frozen(numbers.astype(float)),
            frozen(indices.astype(self.row.rows.indices.dtype)),
            frozen(np.arange(len(known) + 1, dtype=np.uint64)),
            self.row.n_features,
        )
        return names, self.engine.shares(rows)
