"""Supports of runs, from masks, indices, weights or models, as a sparse 0/1 matrix."""

from collections.abc import Iterable
from typing import Any, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from tamis.base.fast_checks import check_sparse

MatrixLike: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix
Supports: TypeAlias = MatrixLike | Iterable  # of index arrays, masks, weights or fitted models
_ACCEPTED_FORMS = (
    "a boolean matrix (runs x features), a list of index arrays, a list of fitted models, or "
    "sparse weights"
)


def selected_features(model: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the features that a model selects (the union of outputs), and their |weights|."""
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "steps"):
        return _selected_by_pipeline(model)
    if hasattr(model, "coef_"):
        weights = _max_abs_weights(model.coef_)
        selected = np.asarray(model.support_) if _is_tamis_model(model) else np.flatnonzero(weights)
        return selected, weights[selected]
    if hasattr(model, "get_support"):
        return np.flatnonzero(model.get_support()), None
    # `support_` of an SVM holds rows.
    if hasattr(model, "support_") and not hasattr(model, "dual_coef_"):
        selected = np.asarray(model.support_)
        return np.flatnonzero(selected) if selected.dtype == bool else selected, None
    if hasattr(model, "feature_importances_"):
        weights = np.asarray(model.feature_importances_)
        return np.flatnonzero(weights), weights[np.flatnonzero(weights)]
    raise TypeError(
        f"{type(model).__name__} does not say which features it kept: it has neither coef_ nor "
        "support_ nor get_support."
    )


def _selected_by_pipeline(pipeline) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the input columns that the last step selects; all columns if it does not select."""
    selectors = [step for _, step in pipeline.steps[:-1] if hasattr(step, "get_support")]
    try:
        selected, weights = selected_features(pipeline[-1])
    except TypeError:
        if not selectors:
            raise
        selected, weights = np.arange(np.count_nonzero(selectors[-1].get_support())), None
    for selector in reversed(selectors):
        selected = np.flatnonzero(selector.get_support())[selected]
    return selected, weights


def _is_tamis_model(model) -> bool:
    return hasattr(model, "support_") and type(model).__module__.startswith("tamis.")


def _max_abs_weights(coef) -> np.ndarray:
    """Return the largest absolute weight of each feature over the outputs."""
    if sp.issparse(coef):
        return np.asarray(abs(coef).max(axis=0).toarray()).ravel()
    return np.abs(np.atleast_2d(coef)).max(axis=0)


def indicator_matrix(supports: Supports, n_features: int | None = None) -> sp.csr_array:
    """Return all supports as a sparse 0/1 matrix (runs, features)."""
    if n_features is not None and (not isinstance(n_features, (int, np.integer)) or n_features < 1):
        raise ValueError(
            f"n_features must be a whole number of at least 1, or None. Got {n_features!r} instead."
        )
    if isinstance(supports, str | dict) or not (
        hasattr(supports, "__len__") or hasattr(supports, "__iter__") or sp.issparse(supports)
    ):
        raise TypeError(
            f"supports must be {_ACCEPTED_FORMS}. Got an object of type {type(supports).__name__}."
        )
    if sp.issparse(supports) or hasattr(supports, "shape"):
        matrix = _from_matrix(supports)
    else:
        matrix = _from_list(list(cast(Iterable, supports)), n_features)
    if n_features is not None and matrix.shape[1] != n_features:
        raise ValueError(
            f"supports have {matrix.shape[1]} features, but n_features is {n_features}."
        )
    if matrix.shape[0] < 2:
        raise ValueError(f"stability needs at least 2 runs to compare. Got {matrix.shape[0]}.")
    return matrix


def _from_matrix(supports) -> sp.csr_array:
    """Return the nonzero pattern of a matrix (runs, features)."""
    if not sp.issparse(supports):
        supports = np.asarray(supports)
        if supports.ndim != 2:
            raise ValueError(
                f"a matrix of supports has shape (runs, features). Got {supports.ndim} "
                f"dimension(s), shape {supports.shape}."
            )
        if np.issubdtype(supports.dtype, np.integer) and not np.isin(supports, (0, 1)).all():
            raise ValueError(
                "a matrix of whole numbers other than 0 and 1 is no matrix of supports. If they "
                "are indices, pass a list of index arrays."
            )
        supports = sp.csr_array(supports != 0)
    check_sparse(supports, "supports")
    matrix = sp.csr_array(supports, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data = np.ones(len(matrix.data))
    return matrix


def _from_list(supports: list, n_features) -> sp.csr_array:
    """Return the matrix of a list with one entry per run: model, indices, mask or weights."""
    runs = [_parse_run(support) for support in supports]
    feature_counts = {n_columns for _, n_columns in runs if n_columns is not None}
    if n_features is not None:
        feature_counts.add(int(n_features))
    if not feature_counts:
        raise ValueError("index arrays do not say how many features there are; pass n_features.")
    if len(feature_counts) > 1:
        raise ValueError(
            "all runs, and n_features where given, must have equally many features. Got "
            f"{sorted(feature_counts)}."
        )
    n_columns = feature_counts.pop()
    for number, (indices, _) in enumerate(runs):
        if len(indices) and (indices[0] < 0 or indices[-1] >= n_columns):
            outlier = indices[0] if indices[0] < 0 else indices[-1]
            raise ValueError(
                f"run {number} keeps feature {outlier}, outside 0..{n_columns - 1}. Pass the right "
                "n_features."
            )
    sizes = [len(indices) for indices, _ in runs]
    columns = np.concatenate([indices for indices, _ in runs]) if runs else np.zeros(0, np.int64)
    return sp.csr_array(
        (np.ones(len(columns)), columns, np.concatenate(([0], np.cumsum(sizes)))),
        shape=(len(runs), n_columns),
    )


def _parse_run(support) -> tuple[np.ndarray, int | None]:
    """Return the sorted features of one run, and the number of features if known."""
    if hasattr(support, "fit"):
        indices, _ = selected_features(support)
        return np.unique(indices).astype(np.int64), getattr(support, "n_features_in_", None)
    if sp.issparse(support):
        matrix = _from_matrix(support.reshape(1, -1) if support.ndim == 1 else support)
        return np.unique(matrix.indices).astype(np.int64), matrix.shape[1]
    array = np.asarray(list(support) if isinstance(support, set | frozenset | range) else support)
    if array.size == 0 and array.dtype != bool:
        return np.zeros(0, np.int64), None
    if array.dtype == bool or np.issubdtype(array.dtype, np.floating):
        return np.flatnonzero(np.atleast_2d(array).any(axis=0)), array.shape[-1]
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise TypeError(
            "each run must be indices, a boolean mask, weights or a fitted model. Got "
            f"{type(support).__name__}: {str(support)[:80]}"
        )
    return np.unique(array).astype(np.int64), None
