"""The base of all estimators: validation of parameters, and of the input of a batch fit.

A public method that trains is `locked`: a second thread that trains the same model gets an error.
"""

import sys
from types import NoneType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from tamis.base.validation import (
    validate_array,
    validate_columns,
    validate_matrix,
    validate_sample_weight,
)
from tamis.numerics.csr import Csr
from tamis.system.threads import locked

_IMMUTABLE_TYPES = (bool, int, float, str, NoneType)
# Valid parameters by model, and valid immutable values by class. They are stored here, so that the
# model, its copies and its files do not contain them.
_checked_parameters: WeakKeyDictionary[Any, dict] = WeakKeyDictionary()
_valid_values: WeakKeyDictionary[type, set] = WeakKeyDictionary()
MAX_CACHED_VALUES = 4096  # cached valid values per class
LAYOUTS = {"rows": validate_matrix, "columns": validate_columns, "dense": validate_array}


class Estimator(BaseEstimator):
    """Base of all estimators."""

    def _validate_params(self) -> None:
        """Check the parameters that have changed since the last check.

        Mutable values are checked every time.
        """
        checked, state = _checked_parameters.get(self, {}), vars(self)
        new = {
            name: state[name]
            for name in self._parameter_constraints
            if name in state
            and (
                state[name] is not checked.get(name, checked)
                or type(state[name]) not in _IMMUTABLE_TYPES
            )
        }
        if new:
            valid = _valid_values.setdefault(type(self), set())
            immutable = {n: (n, type(v), v) for n, v in new.items() if type(v) in _IMMUTABLE_TYPES}
            unchecked = {n: v for n, v in new.items() if immutable.get(n) not in valid}
            for name, value in unchecked.items():
                if type(value) is int and abs(value) > sys.float_info.max:
                    raise ValueError(
                        f"The {name!r} parameter of {type(self).__name__} is a whole number of "
                        f"{value.bit_length():,} bits, which no float holds. Choose a smaller one."
                    )
            validate_parameter_constraints(
                self._parameter_constraints, unchecked, type(self).__name__
            )
            if len(valid) > MAX_CACHED_VALUES:
                valid.clear()
            valid.update(immutable.values())
            _checked_parameters[self] = {**checked, **new}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Transformer(TransformerMixin, Estimator):
    """Base of all transformers."""

    @locked
    def fit_transform(self, X, y=None, **fit_params):
        """Fit to the rows, then transform them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like, default=None
            Targets, where `fit` takes some.
        **fit_params : dict
            What else `fit` takes.

        Returns
        -------
        T : array of shape (n_samples, n_features_out)
        """
        return super().fit_transform(X, y, **fit_params)


class TrainingData(NamedTuple):
    """Validated training data: rows with weights above 0, their targets and weights.

    The rows are a SciPy or NumPy matrix, or `Csr`.
    """

    rows: Any
    targets: Any  # ClassTargets or NumberTargets
    columns: np.ndarray
    weights: np.ndarray
    row_indices: np.ndarray  # indices of these rows among the user's rows
    n_user_rows: int  # number of the user's rows
    user_weights: np.ndarray  # the user's weights, without class weights


def validate_training(
    model,
    X,
    y,
    sample_weight,
    *,
    layout: str = "dense",
    is_fit: bool = True,
    known=None,
    **target_options,
) -> TrainingData:
    """Return validated training data for a batch fit.

    `layout` is "rows" (`Csr`), "columns" (a NumPy array or CSC) or "dense" (a NumPy array or CSR).
    A batch of a stream (`is_fit` is False) continues from the targets `known`, if any.
    """
    chunk = {} if is_fit else {"chunk": True}
    user_rows = LAYOUTS[layout](model, X, reset=known is None, **chunk)
    n_user_rows = user_rows.n_rows if isinstance(user_rows, Csr) else user_rows.shape[0]
    sample_weights = validate_sample_weight(sample_weight, n_user_rows, require_positive=is_fit)
    targets, encoded = model._encode_targets(
        y, n_user_rows, is_fit=is_fit, known=known, **target_options
    )
    targets, weights = model._weight_rows(targets, encoded.columns, sample_weights, is_fit=is_fit)
    rows = user_rows.to_scipy() if isinstance(user_rows, Csr) and layout != "rows" else user_rows
    columns, indices = encoded.columns, np.arange(n_user_rows)
    if len(weights) and not weights.all():
        indices = np.flatnonzero(weights)
        rows = rows.select_rows(indices) if isinstance(rows, Csr) else rows[indices]
        columns, weights = columns[indices], weights[indices]
    weights = np.array(weights, dtype=float) if len(weights) else np.ones(len(indices))
    sample_weights = (
        np.array(sample_weights[indices]) if len(sample_weights) else np.ones(len(indices))
    )
    return TrainingData(
        rows, targets, np.asarray(columns), weights, indices, n_user_rows, sample_weights
    )


def validate_rows(model, X, *, reset: bool = False) -> Any:
    """Return validated rows as a NumPy or SciPy matrix."""
    rows = validate_array(model, X, reset=reset)
    return rows.to_scipy() if isinstance(rows, Csr) else rows


def validate_prediction(model, X) -> Any:
    """Return validated rows to predict, as a NumPy or SciPy matrix."""
    check_is_fitted(model)
    return validate_rows(model, X)
