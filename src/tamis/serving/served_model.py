"""A served model: what every call needs is looked up once.

Nothing here is thread-safe: `tamis.serving.live` lets one call in at a time.
"""

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from tamis.base.validation import MAX_MAGNITUDE, MIN_MAGNITUDE, validate_sample_weight
from tamis.numerics.csr import Csr, readonly_view
from tamis.serving.loop import OUT_OF_RANGE, UNCHANGED
from tamis.serving.naming import make_naming
from tamis.serving.row import (
    INITIAL_CAPACITY,
    NOT_NUMERIC,
    RowBuffer,
    raise_row_error,
    validate_arrays,
)


def _no_code(y) -> None:
    """Return None for every target, so that `_encode_target` checks it."""


class ServedModel:
    """A model with a buffer for one row, and the functions that learn and score this row."""

    def __init__(self, model, classes, n_features: int | None, hash_bits: int | None):
        self.model, self.classes, self.capacity = model, classes, INITIAL_CAPACITY
        self.hash_bits, self.naming = hash_bits, make_naming(model, hash_bits)
        # The engine and the terms that the functions were looked up for.
        self.engine: Any = None
        self.terms: Any = None
        if "_solver_state" in vars(model):
            self._set_columns(model.n_features_in_)
        elif n_features is not None:
            self._start_model(n_features, 0.0 if classes is None else np.unique(classes)[0])

    # ------------------------------------------------------------------ the model
    def _start_model(self, n_features: int, y) -> None:
        """Start a fresh model by a row of weight 0, which changes nothing else."""
        options = {} if self.classes is None else {"classes": self.classes}
        rows = sp.csr_array((1, n_features))
        self.model.partial_fit(rows, np.asarray([y]), sample_weight=np.zeros(1), **options)
        self._set_columns(n_features)

    def _set_columns(self, n_features: int) -> None:
        """Read the parameters of the model and set its number of columns."""
        self.options = self.model._resume(n_features)
        self.model.n_features_in_ = n_features
        self._look_up_calls()

    def _look_up_calls(self) -> None:
        """Make the row buffer and look up the functions of the current engine."""
        model = self.model
        engine, targets = model._solver_state, model._targets
        n_targets = 1 if getattr(targets, "is_multiclass", False) else targets.outputs
        self.row = row = RowBuffer(engine.features, n_targets, self.capacity)
        if hasattr(engine, "row_calls"):
            self.learn_row, self.score_row = engine.row_calls(row.rows, row.coded, row.weights)
        else:  # as `partial_fit` does
            args = (self.options, row.rows, row.coded, row.weights)
            self.learn_row = lambda: model._learn(*args)
            self.score_row = lambda: engine.score(row.rows)
        self.engine, self.terms = engine, vars(engine).get("terms")
        self.target_code = targets.row_encoder()
        self.has_class_weight = getattr(model, "class_weight", None) is not None
        self.is_classifier = is_classifier(model)
        if not self.is_classifier and hasattr(model._row_loss(), "accepts"):
            # `_encode_target` raises for targets that the loss does not accept.
            self.target_code = _no_code

    def _refresh(self) -> None:
        """Look up the functions again where the model was trained outside of this service."""
        engine = vars(self.model).get("_solver_state")
        if engine is None:
            raise NotFittedError(
                f"This {type(self.model).__name__} has learnt nothing yet, and its number of "
                "columns is unknown. Learn a row first, or pass n_features to live."
            )
        if engine is not self.engine:
            self.naming = make_naming(self.model, self.hash_bits)
        if engine is not self.engine or vars(engine).get("terms") is not self.terms:
            self._set_columns(engine.features)

    # ------------------------------------------------------------------ learning
    def learn(self, row, values, y, weight: float) -> None:
        """Learn one row. All checks come before the first change."""
        model, order = self.model, UNCHANGED
        is_started, new_names = "_solver_state" in vars(model), list[str]()
        if is_started:
            self._refresh()
        if weight != 1.0 and not (
            type(weight) is float and MIN_MAGNITUDE <= weight <= MAX_MAGNITUDE
        ):
            weight = float(validate_sample_weight(np.array([weight], dtype=float), 1)[0])
        if values is None:
            (row, values, new_names), order = self.naming.resolve(row, True), self.naming.order
        if not is_started:
            self._add_columns(row, values, new_names, order, y)
            new_names = []
        status = self._load_row(row, values, order)
        if new_names or (status == OUT_OF_RANGE and model.grow):
            self._add_columns(row, values, new_names, order, y)
            self._load_row(row, values, order)
        elif status < 0:
            self._raise_row_error(status, row, values)
        self._set_target(y)
        if weight == 1.0 and not self.has_class_weight:
            self.row.weight[0] = 1.0
        else:
            args = (model._targets, self.row.target, np.array([weight]))
            targets, weights = model._weight_rows(*args, is_fit=False, grow=model.grow)
            self.row.weight[0], model._targets = weights[0], targets
        n_steps = self.engine.steps
        model.n_iter_ = 1
        self.learn_row()
        model._check_progress(n_steps)

    def _add_columns(self, row, values, new_names: list[str], order: int, y) -> None:
        """Start the model, or add new columns, after all checks of the row."""
        model, n_known = self.model, vars(self.model).get("n_features_in_", 0)
        indices, values = validate_arrays(row, values)
        n_columns = max(n_known, int(indices.max(initial=-1)) + 1)
        if n_columns == 0:
            raise ValueError(
                "the first row of a growing model holds no column. Begin with one that does, or "
                "pass n_features to live."
            )
        if not new_names and "feature_names_in_" in vars(model):
            raise ValueError(
                f"index {n_columns - 1} is a new column without a name, and the others have names. "
                "Pass new columns by their names, in a mapping."
            )
        if new_names and n_columns - len(new_names) != n_known:
            raise ValueError(
                f"{new_names[0]!r} is a name, and the columns of this model have none. Pass all "
                "columns as indices, or begin the model with names."
            )
        status = RowBuffer(n_columns, 1, len(indices)).fill(indices, values, order)
        if status < 0:
            raise_row_error(status, indices, values, n_columns, "Indices count from 0.")
        if n_known:
            self._encode_target(y)
            self._set_columns(n_columns)
        else:
            self._start_model(n_columns, y)
        if new_names:
            self.naming.add_names(new_names, model)

    def _set_target(self, y) -> None:
        """Write the target into the row buffer; a growing model adds an output for a new class."""
        try:
            code = self.target_code(y)
        except TypeError:  # not hashable
            code = None
        if code is not None:
            self.row.target[0, 0] = code
            return
        targets, columns = self._encode_target(y)
        if targets is not self.model._targets:
            loaded_row = self.row
            self.model._prepare_state(self.options, targets, self.engine.features, True)
            self._look_up_calls()
            self.row.copy_from(loaded_row)
        self.row.target[:] = columns

    def _encode_target(self, y) -> tuple[Any, np.ndarray]:
        """Return the targets with the class of y, and its target columns, as in `partial_fit`."""
        model, rows = self.model, np.asarray([y])
        model._row_spans(rows, 1, True)
        targets, coded = model._encode_targets(
            rows, 1, known=model._targets, is_fit=False, grow=model.grow
        )
        return targets, coded.columns

    # ------------------------------------------------------------------ numbers
    def _load_row(self, indices, values, order: int) -> int:
        """Load the entries into the row buffer; return their number, or a negative status."""
        if type(indices) is not list or type(values) is not list:
            indices, values = validate_arrays(indices, values)
        if len(indices) > self.capacity:
            self.capacity = 2 * len(indices)
            self._look_up_calls()
        status = self.row.fill(indices, values, order)
        if status == NOT_NUMERIC:
            status = self.row.fill(*validate_arrays(indices, values), order)
        return status

    def _raise_row_error(self, status: int, indices, values) -> NoReturn:
        advice = "Give columns of the model, or serve one with grow=True (or a larger n_features)."
        arrays = validate_arrays(indices, values)
        raise_row_error(status, *arrays, self.row.n_features, advice)

    def scores(self, row, values) -> np.ndarray:
        """Return the scores of a row, (1, outputs), which the next call overwrites. Columns that a
        growing model does not know have weight 0.
        """
        self._refresh()
        order = UNCHANGED
        if values is None:
            (row, values, _), order = self.naming.resolve(row, False), self.naming.order
        status = self._load_row(row, values, order)
        if status == OUT_OF_RANGE and self.model.grow:
            row, values = validate_arrays(row, values)
            is_known = row < self.row.n_features
            row, values = row[is_known], values[is_known]
            status = self._load_row(row, values, order)
        if status < 0:
            self._raise_row_error(status, row, values)
        return self.score_row()

    def contributions(self, row, values) -> tuple[list, np.ndarray]:
        """Return the names of the known columns of a row, and what each adds to the scores,
        (columns, outputs).
        """
        if values is None:
            columns, values, _ = self.naming.resolve(row, False)
            names = self.naming.row_names(row, columns)
        else:
            columns = row
            names = self.naming.column_names(validate_arrays(row, values)[0].tolist())
        indices, numbers = validate_arrays(columns, values)
        known = np.flatnonzero(indices < self.row.n_features)
        names, indices, numbers = [names[k] for k in known], indices[known], numbers[known]
        if not hasattr(self.engine, "shares"):
            return names, self.engine.weights()[:, indices].T * numbers[:, None]
        rows = Csr(  # one row for each entry
            readonly_view(numbers.astype(float)),
            readonly_view(indices.astype(self.row.rows.indices.dtype)),
            readonly_view(np.arange(len(known) + 1, dtype=np.uint64)),
            self.row.n_features,
        )
        return names, self.engine.shares(rows)
