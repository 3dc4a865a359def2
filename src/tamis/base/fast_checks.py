"""Checks of input before those of scikit-learn, or instead of them.

scikit-learn's search for data frames takes longer than learning one row.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d, validation
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from tamis.system import memory
from tamis.system.memory import check_memory

_SPARSE_ADVICE = (
    "Rebuild the matrix from its rows and columns (scipy.sparse.coo_array) or read it again."
)
_FLOAT_TYPES = (np.dtype(np.float64), np.dtype(np.float32))
_INTEGER_TYPES = (np.dtype(np.int32), np.dtype(np.int64))


def is_plain_matrix(X) -> bool:
    """Return whether X is a matrix without names that needs no conversion."""
    if type(X) is np.ndarray:
        is_simple = X.ndim == 2 and X.flags.c_contiguous
    else:
        is_simple = type(X) in (sp.csr_array, sp.csr_matrix) and X.ndim == 2
    return is_simple and X.dtype in _FLOAT_TYPES and X.shape[0] > 0 and X.shape[1] > 0


def matches_training(model, X, grow: bool) -> bool:
    """Return whether a plain X has the columns of earlier calls."""
    return (grow or X.shape[1] == model.n_features_in_) and "feature_names_in_" not in vars(model)


def is_float_vector(values) -> bool:
    """Return whether the values are a float64 vector, as loops need."""
    return type(values) is np.ndarray and values.dtype == np.float64 and values.ndim == 1


# --------------------------------------------------------------------------- sparse matrices
def check_sparse(X, name: str = "X", *, indices: bool = True) -> None:
    """Refuse a sparse matrix with inconsistent arrays before compiled code reads them.

    SciPy's own conversions read past the end of such arrays. Without `indices`, the indices of a
    CSR matrix are left to a caller that checks them together with the numbers.
    """
    if not sp.issparse(X):
        return
    kind = f"sparse {name} in {X.format.upper()} format"
    if X.format == "coo":
        for axis, coordinates in enumerate(X.coords):
            axis_name = "row" if axis == 0 and X.ndim > 1 else "column"
            _check_integer_type(f"{kind}: {axis_name}", coordinates)
            _check_range(f"{kind}: {axis_name}", coordinates, X.shape[axis])
            _check_lengths(kind, len(X.data), len(coordinates))
    elif X.format in ("csr", "csc", "bsr"):
        _check_compressed(X, kind, indices or X.format != "csr")
    elif X.format == "dia":
        _check_integer_type(f"{kind}: offsets", X.offsets)
        _check_lengths(kind, len(X.data), len(X.offsets))
    elif X.format == "lil":
        _check_lengths(kind, len(X.rows), X.shape[0])
        _check_lengths(kind, len(X.data), X.shape[0])
        for columns, values in zip(X.rows, X.data, strict=True):
            _check_lengths(kind, len(values), len(columns))
        check_sparse(X.tocsr(), name)


def _check_compressed(X, kind: str, indices: bool) -> None:
    """Check the pointers, and with `indices` the indices, of a CSR, CSC or BSR matrix."""
    _check_integer_type(f"{kind}: indptr", X.indptr)
    _check_integer_type(f"{kind}: indices", X.indices)
    shape = X.shape if X.ndim > 1 else (1, *X.shape)
    block = X.blocksize if X.format == "bsr" else (1, 1)
    major, minor = (1, 0) if X.format == "csc" else (0, 1)
    pointers, n_stored = X.indptr, len(X.indices)
    if len(pointers) != shape[major] // block[major] + 1:
        raise ValueError(
            f"{kind}: indptr has {len(pointers)} entries for {shape[major]} "
            f"{'columns' if major else 'rows'}. {_SPARSE_ADVICE}"
        )
    if pointers[0] != 0 or pointers[-1] > n_stored or (pointers[1:] < pointers[:-1]).any():
        raise ValueError(
            f"{kind}: indptr must start at 0, never fall and end at most at {n_stored}, the "
            f"number of stored entries. {_SPARSE_ADVICE}"
        )
    _check_lengths(kind, len(X.data), n_stored)
    if indices:
        label = f"{kind}: {'column ' if X.format == 'csr' else ''}index"
        _check_range(label, X.indices[: pointers[-1]], shape[minor] // block[minor])


def _check_integer_type(what: str, numbers) -> None:
    if numbers.dtype not in _INTEGER_TYPES:
        raise ValueError(
            f"{what} of type {numbers.dtype}, where SciPy uses int32 or int64. {_SPARSE_ADVICE}"
        )


def _check_range(what: str, coordinates, limit: int) -> None:
    if len(coordinates) and (coordinates.min() < 0 or coordinates.max() >= limit):
        value = coordinates[(coordinates < 0) | (coordinates >= limit)][0]
        raise ValueError(f"{what} {value} is outside 0..{limit - 1}. {_SPARSE_ADVICE}")


def _check_lengths(kind: str, n_values: int, n_indices: int) -> None:
    if n_values != n_indices:
        raise ValueError(f"{kind}: {n_values} values for {n_indices} indices. {_SPARSE_ADVICE}")


def to_dense(matrix, name: str = "y") -> Any:
    """Return a sparse matrix as an array, anything else unchanged."""
    if not hasattr(matrix, "toarray"):
        return matrix
    check_sparse(matrix, name)
    check_memory(
        f"sparse {name} of shape {matrix.shape} as an array",
        math.prod(matrix.shape) * matrix.dtype.itemsize,
        "This method needs a dense array: pass fewer rows or columns at a time.",
    )
    return matrix.toarray()


def check_array(X, **options) -> Any:
    """As scikit-learn's function, which would convert inconsistent sparse matrices."""
    name = options.get("input_name") or "X"
    check_input(X, name)
    if not options.get("ensure_2d", True):
        _refuse_scalar(X, name)
    with explaining_overflow(name):
        return validation.check_array(masked_to_nan(X), **options)


def validate_data(model, X, y="no_validation", **options) -> Any:
    """As scikit-learn's function, which would convert inconsistent sparse matrices."""
    check_input(X)
    check_sparse(y, "y")
    if not isinstance(y, str):  # scikit-learn's marker for no targets
        _refuse_scalar(y, "y")
    with explaining_overflow("X or y"):
        return validation.validate_data(model, masked_to_nan(X), masked_to_nan(y), **options)


def masked_to_nan(values) -> Any:
    """Return masked entries as NaN, since scikit-learn ignores the mask."""
    if not (isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values)):
        return values
    kind = values.dtype.kind
    dtype = np.result_type(values.dtype, np.float32) if kind in "biuf" else np.dtype(object)
    return np.ma.filled(values.astype(dtype), np.nan)


def check_input(X, name: str = "X") -> None:
    """Refuse inconsistent sparse matrices, and frames without columns or with repeated names."""
    check_sparse(X, name)
    # In Arrow tables `columns` are the arrays, not the names.
    columns = getattr(X, "column_names" if hasattr(X, "column_names") else "columns", None)
    if columns is None or callable(columns) or sp.issparse(X):
        return
    counts = Counter(columns)
    if not counts:
        raise ValueError(f"{name} is a frame without columns.")
    repeated = [column for column, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"{name} has {counts[repeated[0]]} columns named {repeated[0]!r}. Rename all but one, "
            "or pass the numbers without names (X.to_numpy())."
        )


def _refuse_scalar(values, name: str) -> None:
    if getattr(values, "shape", None) == () or np.isscalar(values):
        raise ValueError(
            f"{name} is a single value, {values!r}. Pass one a row, as a list or an array."
        )


@contextmanager
def explaining_overflow(name: str) -> Iterator[None]:
    """Raise a clear error for integers beyond the range of floats."""
    try:
        yield
    except OverflowError:
        raise ValueError(
            f"{name} holds a whole number beyond 1e308, which no float holds. Divide by a "
            "constant, or leave such rows out."
        ) from None


# --------------------------------------------------------------------------- targets
def flatten_targets(y) -> Any:
    """Return targets as a one-dimensional array.

    Masked targets are refused, since scikit-learn ignores the mask.
    """
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU":
        return y
    if np.ma.is_masked(y):
        raise ValueError("Input y contains NaN: entries are masked. Leave out the rows of these.")
    return column_or_1d(y, warn=True)


def target_type(y) -> str:
    """Return scikit-learn's type of the targets.

    Numbers beyond the range of integers cause no warning.
    """
    check_sparse(y, "y")
    _refuse_scalar(y, "y")
    with np.errstate(invalid="ignore"):
        return type_of_target(y)


def check_classes(y) -> None:
    """Refuse targets that are not classes, with scikit-learn's message."""
    with np.errstate(invalid="ignore"):
        check_classification_targets(y)


def refuse_missing_targets(y, name: str) -> None:
    """Refuse missing targets, and dask collections."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    refuse_dask_collection(name, y)


def unique_classes(classes) -> np.ndarray:
    """Return the different classes, ascending; refuse none, None, and numbers next to words."""
    classes = list(classes) if isinstance(classes, set) else classes
    numbers = np.asarray(classes)
    if numbers.dtype.kind in "biuf" and numbers.size:  # most calls of a stream
        return np.unique(numbers)
    classes = list(classes) if isinstance(classes, list | tuple) else numbers
    values = np.ravel(np.array(classes, dtype=object)).tolist()
    if not values:
        raise ValueError("classes is empty. Name two classes at least.")
    if len({isinstance(label, str) for label in values}) > 1 or any(
        label is None for label in values
    ):
        raise ValueError(f"classes {values[:10]} are of two kinds; all must be numbers, or words.")
    return np.unique(classes)


def check_label_type(y: np.ndarray, classes: np.ndarray) -> None:
    """Refuse words where the classes are numbers, and numbers where they are words."""
    if isinstance(y[:1].tolist()[0], str) != isinstance(classes[:1].tolist()[0], str):
        raise ValueError(
            f"y holds {y[:5].tolist()}, of another kind than classes_ {classes[:10].tolist()}; all "
            "must be numbers, or all words."
        )


def check_n_targets(y, n_rows: int) -> None:
    """Refuse a number of targets that differs from the number of rows."""
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[n_rows, len(y)]}"
        )


def check_scores_memory(X, outputs: int, what: str = "the scores") -> None:
    """Refuse a matrix of rows by outputs that is too large for the memory."""
    rows = X.shape[0] if getattr(X, "shape", ()) else len(X) if isinstance(X, list | tuple) else 0
    needed = 8 * rows * outputs
    if (
        needed > memory.UNCHECKED_BYTES
    ):  # for single rows, building the sentence takes a twentieth of `predict`
        check_memory(
            f"{what} of {rows:,} rows and {outputs:,} outputs",
            needed,
            "Take the rows in smaller pieces, or fewer classes or targets.",
        )


def split_at_new_classes(y, n_rows: int, known, signed: bool) -> list[tuple[int, int]]:
    """Return spans of a chunk that each begin at the first row of a new class.

    A new class then exists from its first row on, whatever the chunks.
    """
    if getattr(y, "ndim", 1) != 1 or hasattr(y, "tocsr"):
        return [(0, n_rows)]
    y = flatten_targets(np.asarray(y))
    check_n_targets(y, n_rows)
    values, starts = np.unique(y, return_index=True)
    starts = np.sort(starts[~np.isin(values, known)])
    if signed:
        if len(starts) and 1 <= len(known) <= 2:
            raise ValueError(
                "With positive=True, or signs of columns, a model of two classes cannot be turned "
                "into one of more; "
                "name all classes in the first partial_fit call."
            )
        return [(0, n_rows)]
    return list(pairwise([0, *starts[starts > 0].tolist(), n_rows]))


def refuse_dask_collection(name: str, X) -> None:
    """Refuse a dask collection, which NumPy would load silently into the memory of this machine.

    `name` is the estimator or the argument.
    """
    graph = getattr(X, "__dask_graph__", None)
    if graph is None or isinstance(X, type) or graph() is None:
        return
    kind = type(X)
    raise TypeError(
        f"{name} takes arrays of this machine, and {kind.__module__}.{kind.__qualname__} is a "
        f"collection of dask. Pass it to tamis.distributed.fit(model, ...), which learns on its "
        "workers, or call its compute() first if it fits into memory."
    )


def encode_by_reading(model, X):
    """Return a frame as rows, with the columns of the file that the model was trained from."""
    reading = vars(model).get("reading_")
    return X if reading is None or not hasattr(reading, "rows") else reading.rows(X)


def validate_numbers_or_advise(model, X, **options):
    """As `validate_data`; if X has words, the error tells how to encode them."""
    try:
        return validate_data(model, X, **options)
    except ValueError as error:
        if "convert string" not in str(error):
            raise
        raise ValueError(
            f"X holds words ({error}). tamis.Table() makes columns of words, dates and gaps: "
            f"make_pipeline(tamis.Table(), {type(model).__name__}()).fit(X, y)."
        ) from None
