"""Looks at input before scikit-learn's, or in their place: its search for frames takes longer than
to learn a row.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

_NUMBERS = (np.dtype(np.float64), np.dtype(np.float32))


def is_plain(X) -> bool:
    """Whether X has neither names nor anything else to find or to change."""
    if type(X) is np.ndarray:
        sound = X.ndim == 2 and X.flags.c_contiguous
    else:
        sound = type(X) in (sp.csr_array, sp.csr_matrix) and X.ndim == 2
    return sound and X.dtype in _NUMBERS and X.shape[0] > 0 and X.shape[1] > 0


def is_known(model, X, grow: bool) -> bool:
    """Whether plain X is as a model without names knows it from earlier calls."""
    return (grow or X.shape[1] == model.n_features_in_) and "feature_names_in_" not in vars(model)


def is_vector(values) -> bool:
    """Whether values are as loops read them."""
    return type(values) is np.ndarray and values.dtype == np.float64 and values.ndim == 1


def along_one(y) -> Any:
    """Targets along one axis."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU":
        return y
    return column_or_1d(y, warn=True)


def kind_of_targets(y) -> str:
    """scikit-learn's word for what y holds; numbers that no integer can hold are no cause for a
    warning.
    """
    with np.errstate(invalid="ignore"):
        return type_of_target(y)


def check_classes(y) -> None:
    """Refuse targets that are no classes, in scikit-learn's words."""
    with np.errstate(invalid="ignore"):
        check_classification_targets(y)


def refuse_none(y, name: str) -> None:
    """Refuse rows without targets."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")


def check_length(y, n_rows: int) -> None:
    """Refuse another number of targets than of rows."""
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[n_rows, len(y)]}"
        )


def class_spans(y, n_rows: int, known, positive: bool) -> list[tuple[int, int]]:
    """Cuts of a chunk where a class is met for the first time: a class exists from its first row
    on, not from its chunk on.
    """
    if getattr(y, "ndim", 1) != 1 or hasattr(y, "tocsr"):
        return [(0, n_rows)]
    y = along_one(np.asarray(y))
    check_length(y, n_rows)
    values, starts = np.unique(y, return_index=True)
    starts = np.sort(starts[~np.isin(values, known)])
    if positive:
        if len(starts) and 1 <= len(known) <= 2:
            raise ValueError(
                "With positive=True a model of two classes cannot be turned into one of more; "
                "name all classes in the first partial_fit call."
            )
        return [(0, n_rows)]
    return list(pairwise([0, *starts[starts > 0].tolist(), n_rows]))


def refuse_collection(model, X) -> None:
    """Refuse a collection of dask, which NumPy would pull whole to this machine in silence."""
    graph = getattr(X, "__dask_graph__", None)
    if graph is None or isinstance(X, type) or graph() is None:
        return
    kind, name = type(X), type(model).__name__
    raise TypeError(
        f"{name} takes arrays of this machine, and {kind.__module__}.{kind.__qualname__} is a "
        f"collection of dask. Pass it to tamis.distributed.fit(model, ...), which learns where its "
        "partitions lie, or call its compute() first if it fits into memory."
    )


def by_reading(model, X):
    """A frame as rows, by the columns of the file that the model was trained from, if it was."""
    reading = vars(model).get("reading_")
    return X if reading is None or not hasattr(reading, "rows") else reading.rows(X)


def checked(model, X, **options):
    """X after scikit-learn's checks; where it holds words, the way out is told."""
    try:
        return validate_data(model, X, **options)
    except ValueError as error:
        if "convert string" not in str(error):
            raise
        raise ValueError(
            f"X holds words ({error}). tamis.Table() makes columns of words, dates and gaps: "
            f"make_pipeline(tamis.Table(), {type(model).__name__}()).fit(X, y)."
        ) from None
