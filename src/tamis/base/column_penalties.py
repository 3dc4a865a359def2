"""Parameters `penalty_weights` and `positive` as a weight and a sign of each column."""

from collections.abc import Mapping
from numbers import Integral

import numpy as np

from tamis.terms.optimizers import Descent

_BOOLEAN_TYPES = (bool, np.bool_)


def is_by_column(model) -> bool:
    """Return whether the parameters of a model name single columns."""
    weights, signs = getattr(model, "penalty_weights", None), getattr(model, "positive", False)
    return weights is not None or type(signs) not in _BOOLEAN_TYPES


def is_positive(positive) -> bool:
    """Return whether no coefficient can be negative."""
    return type(positive) in _BOOLEAN_TYPES and bool(positive)


def has_signs(positive) -> bool:
    """Return whether any coefficient has a sign constraint."""
    return type(positive) not in _BOOLEAN_TYPES or bool(positive)


def column_penalties(model, n_features: int) -> np.ndarray:
    """Return penalty weights and signs of the columns, of shape (2, n_features)."""
    weights, signs = getattr(model, "penalty_weights", None), model.positive
    penalties = np.array([np.ones(n_features), np.zeros(n_features)])
    if weights is not None:
        penalties[0] = _column_values(model, "penalty_weights", weights, n_features, 1.0)
        _check_weights(model, penalties[0])
    if type(signs) not in _BOOLEAN_TYPES:
        penalties[1] = _column_values(model, "positive", signs, n_features, 0.0)
        is_wrong = ~np.isin(penalties[1], (-1.0, 0.0, 1.0))
        if is_wrong.any():
            raise ValueError(
                f"{type(model).__name__}: positive holds {penalties[1][is_wrong][0]:g} for column "
                f"{np.flatnonzero(is_wrong)[0]}. A sign is 1 (weight >= 0), -1 (weight <= 0) or 0 "
                "(any weight)."
            )
    return penalties


def check_ridge(model, terms, weights: np.ndarray) -> None:
    """Refuse penalty weights that an optimizer cannot multiply a ridge by."""
    _, penalty, optimizer, _ = terms
    if not penalty.rates()[1] or (weights == 1.0).all():
        return
    partial_weights = weights[~np.isin(weights, (0.0, 1.0))]
    if model.average:
        reason, advice = (
            "averages are kept lazily only where one factor shrinks all",
            "average=False",
        )
    elif not hasattr(optimizer.optimizer, "weighted_lazy"):
        reason, advice = (
            f"{optimizer.optimizer!r} lacks the method weighted_lazy",
            "a penalty of L1",
        )
    elif isinstance(optimizer.optimizer, Descent) and len(partial_weights):
        reason = (
            f"descent divides all columns by one scale, so {partial_weights[0]:g} must be 0 or 1"
        )
        advice = "dual averaging, FTRL, or a penalty of L1"
    else:
        return
    raise ValueError(
        f"{type(model).__name__}: these penalty_weights do not go with {penalty!r}: {reason}. "
        f"Use {advice}."
    )


def _check_weights(model, weights: np.ndarray) -> None:
    """Refuse penalty weights that are negative, not finite, or all 0."""
    name = type(model).__name__
    is_wrong = ~(np.isfinite(weights) & (weights >= 0.0))
    if is_wrong.any():
        raise ValueError(
            f"{name}: penalty_weights holds {weights[is_wrong][0]:g} for column "
            f"{np.flatnonzero(is_wrong)[0]}. Weights are finite numbers >= 0; 0 is no penalty."
        )
    if not (weights.any() or model.grow):
        raise ValueError(
            f"{name}: all penalty_weights are 0, so that nothing is penalised. Use alpha=0 for "
            "that, or leave a weight above 0."
        )


def _column_values(model, name: str, user_values, n_features: int, default: float) -> np.ndarray:
    """Return a number per column, from an array or a mapping of some columns.

    The other columns have the default.
    """
    column_values = np.full(n_features, default)
    if isinstance(user_values, Mapping):
        for key, value in user_values.items():
            column = _column_index(model, name, key, n_features)
            if column < n_features:
                column_values[column] = _as_numbers(model, name, value)
        return column_values
    values = _as_numbers(model, name, user_values)
    if values.ndim != 1 or (len(values) != n_features and not model.grow):
        raise ValueError(
            f"{type(model).__name__}: {name} has shape {values.shape}, but X has {n_features} "
            "features. Give one number a column, or a mapping of some columns."
        )
    stop = min(len(values), n_features)  # with grow=True, later columns can have values already
    column_values[:stop] = values[:stop]
    return column_values


def _as_numbers(model, name: str, user_values) -> np.ndarray:
    try:
        return np.asarray(user_values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{type(model).__name__}: {name} holds {user_values!r}, not numbers."
        ) from None


def _column_index(model, name: str, key, n_features: int) -> int:
    """Return the index of a column that a mapping names."""
    label = f"{type(model).__name__}: {name} names column {key!r}"
    if isinstance(key, Integral):
        column = int(key)
        if 0 <= column < n_features or (model.grow and column >= 0):
            return column
        raise ValueError(f"{label}, but X has {n_features} features, counted from 0.")
    if model.grow:
        raise ValueError(f"{label}; with grow=True name columns by their indices.")
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            f"{label}, but X has no names of columns. Name columns by their indices, or fit a "
            "DataFrame."
        )
    matches = np.flatnonzero(names == key)
    if not len(matches):
        raise ValueError(f"{label}, which X does not have. Its first column is {names[0]!r}.")
    return int(matches[0])
