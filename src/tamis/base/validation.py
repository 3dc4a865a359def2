"""Validation of user input: matrices, targets, weights, offsets. Messages about bad input."""

import sys
import warnings
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _get_feature_names, assert_all_finite

from tamis.base.fast_checks import (
    check_array,
    check_sparse,
    encode_by_reading,
    explaining_overflow,
    is_float_vector,
    is_plain_matrix,
    matches_training,
    refuse_dask_collection,
    validate_data,
    validate_numbers_or_advise,
)
from tamis.numerics.csr import (
    EMPTY,
    Csr,
    count_nonzeros,
    has_duplicates,
    inspect_rows,
    inspect_values,
    pack_nonzeros,
    readonly_view,
)

# Limits of magnitudes: the fourth powers of such numbers, times weights as large, and the inverses
# of all of these are within float64.
MAX_MAGNITUDE, MIN_MAGNITUDE = 1e50, 1e-50
_RESCALE_ADVICE = "Rescale the columns, for instance with sklearn.preprocessing.MaxAbsScaler."


def _bit_limits(integer, floating) -> tuple:
    """Return integer type, mask without sign, and the limits of magnitudes as integers."""
    info = np.finfo(floating)
    limits = [
        floating(max(MIN_MAGNITUDE, float(info.smallest_subnormal))),
        floating(min(MAX_MAGNITUDE, float(info.max))),
    ]
    return integer, integer(np.iinfo(integer).max >> 1), *(end.view(integer) for end in limits)


_BIT_LIMITS = {8: _bit_limits(np.uint64, np.float64), 4: _bit_limits(np.uint32, np.float32)}


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn with the line of the user's code as the location."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in (
        "tamis",
        "sklearn",
    ):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


def inconsistent_state_error(model) -> NotFittedError:
    """Return the error for a model with inconsistent attributes.

    Loops would read past the end of its arrays.
    """
    return NotFittedError(
        f"This {type(model).__name__} has attributes of two different fits: its last fit failed, "
        "or another thread is fitting it to other columns, classes or tasks. Fit it again; with "
        "several threads, use a copy (copy.deepcopy beforehand), or put a lock around the calls."
    )


# --------------------------------------------------------------------------- matrices
def validate_matrix(model, X, *, reset: bool, grow=False, chunk=False, ordered=True):
    """Return X as validated `Csr`, with scikit-learn's checks of shape and names.

    Magnitudes above `MAX_MAGNITUDE` are refused. Those below `MIN_MAGNITUDE` count as 0; a fit
    (`reset`) refuses an X of nothing else, but not a `chunk` of a stream. `ordered` sorts the
    columns within each row.
    """
    X, fit = _validate_shape(model, X, reset, grow), reset and not chunk
    if sp.issparse(X):
        return csr_from_matrix(X, fit=fit, ordered=ordered)
    return _from_dense(_clean_dense(model, X, fit=fit))


def validate_array(model, X, *, reset: bool, chunk: bool = False):
    """As `validate_matrix`, but a dense X stays a read-only array, for methods that use BLAS."""
    X, fit = _validate_shape(model, X, reset, False), reset and not chunk
    return (
        csr_from_matrix(X, fit=fit)
        if sp.issparse(X)
        else readonly_view(_clean_dense(model, X, fit=fit))
    )


def _validate_shape(model, X, reset: bool, grow: bool):
    """Return X after scikit-learn's checks of shape and names; its numbers are checked later."""
    X = X if reset else encode_by_reading(model, X)
    if is_plain_matrix(X) and (reset or matches_training(model, X, grow)):
        check_sparse(X, indices=False)  # they are checked together with the numbers
        if reset:
            model.n_features_in_ = X.shape[1]
            if hasattr(model, "feature_names_in_"):
                del model.feature_names_in_
        return X
    refuse_dask_collection(type(model).__name__, X)
    types, layout = [np.float64, np.float32], {"accept_sparse": "csr", "order": "C"}
    options = {"dtype": types, "ensure_all_finite": False, **layout}
    if grow and not reset:
        result = _validate_growing(model, X, options)
    else:
        result = validate_numbers_or_advise(model, X, reset=reset, **options)
    if sp.issparse(X) and X.format != "csr":
        result.sum_duplicates()  # of the converted copy
    return result


def validate_columns(model, X, *, reset: bool):
    """Return X for batch solvers, checked in the same way.

    It is a float64 array, or a CSC array without duplicates or stored zeros.
    """
    options = {"reset": reset, "dtype": np.float64, "ensure_all_finite": False}
    X = X if reset else encode_by_reading(model, X)
    refuse_dask_collection(type(model).__name__, X)
    if not sp.issparse(X):
        return _clean_dense(model, validate_numbers_or_advise(model, X, **options), fit=reset)
    if X.format != "csc":
        return validate_matrix(model, X, reset=reset).to_scipy().astype(np.float64).tocsc()
    # The rows of its transpose are checked, so nothing is sorted again.
    X = validate_data(model, X, accept_sparse="csc", **options)
    return csr_from_matrix(X.T, fit=reset, transposed=True).to_scipy().T


def _validate_growing(model, X, options):
    """As `validate_data`, but columns at the right may be new or missing."""
    names = _get_feature_names(X)
    known = getattr(model, "feature_names_in_", None)
    if names is not None and known is not None:
        common = min(len(names), len(known))
        if list(names[:common]) != list(known[:common]):
            column = next(k for k in range(common) if names[k] != known[k])
            raise ValueError(
                f"column {column} is named {names[column]!r}, but was {known[column]!r} in earlier "
                "calls; with grow=True new columns go to the right of the known ones."
            )
    elif (names is None) != (known is None):
        difference = (
            "has column names, but earlier calls had none"
            if known is None
            else "has no column names, but earlier calls had"
        )
        warn_user(f"X {difference}.", UserWarning)
        if known is not None and X.shape[1] > len(known):
            raise ValueError(
                "X has new columns without names; pass a DataFrame as in earlier calls."
            )
    return check_array(X, estimator=model, input_name="X", **options)


def record_columns(model, X, width: int) -> None:
    """Record columns that `grow` has added, after everything else has succeeded."""
    if width > model.n_features_in_:
        model.n_features_in_ = width
        names = _get_feature_names(X)
        if names is not None:
            model.feature_names_in_ = np.asarray(names, dtype=object)


def csr_from_matrix(X, *, fit: bool = False, transposed: bool = False, ordered: bool = True) -> Csr:
    """Return validated rows of a SciPy CSR matrix; copy only if something must be corrected.

    `transposed`: its rows are the user's columns.
    """
    index_type = np.uint64 if X.indices.dtype.itemsize == 8 else np.uint32
    unsigned, *limits = _BIT_LIMITS[X.data.dtype.itemsize]
    indptr = readonly_view(X.indptr.astype(np.uint64))
    indices = readonly_view(np.require(X.indices, requirements=["C", "A"])).view(index_type)
    data = readonly_view(np.require(X.data, requirements=["C", "A"]))
    bits, width = data.view(unsigned), np.uint64(X.shape[1])
    _, out_of_range, unsorted, small, large = inspect_rows(indptr, indices, bits, *limits, width)
    if out_of_range:
        check_sparse(X)
    if large:
        values = data[: int(indptr[-1])]
        _check_finite(values, None, "X")
        position = int(np.abs(values).argmax())
        row_and_column = (
            int(np.searchsorted(indptr, position, side="right")) - 1,
            int(indices[position]),
        )
        _refuse_large(values[position], row_and_column[::-1] if transposed else row_and_column)
    has_disorder = unsorted and (ordered or has_duplicates(indptr, indices))
    if small or has_disorder:
        X = X.copy()
        if has_disorder:  # else rows keep their order
            X.sum_duplicates()
        if fit:
            _check_not_all_tiny(X.data)
        X.data[np.abs(X.data) < MIN_MAGNITUDE] = 0.0
        X.eliminate_zeros()
        return csr_from_matrix(X, transposed=transposed, ordered=ordered)
    return Csr(data, indices, indptr, X.shape[1])


def _clean_dense(model, X, *, fit: bool):
    """Return dense X with tiny numbers as 0 and large ones refused; copy only if it changes."""
    X = np.require(X, requirements=["A"])
    unsigned, *limits = _BIT_LIMITS[X.itemsize]
    small, large = inspect_values(readonly_view(X.ravel(order="K")).view(unsigned), *limits)
    if large:
        _check_finite(X, model, "X")
        row_and_column = np.unravel_index(int(np.abs(X).argmax()), X.shape)
        _refuse_large(X[row_and_column], row_and_column)
    if not small:
        return X
    if fit:
        _check_not_all_tiny(X)
    return np.where(np.abs(X) < MIN_MAGNITUDE, 0.0, X)


def check_magnitudes(X) -> None:
    """Refuse numbers that models refuse, before rows are split or sampled.

    The message then names the user's row.
    """
    if X.dtype.itemsize not in _BIT_LIMITS or X.dtype.kind != "f":
        assert_all_finite(X.data if sp.issparse(X) else X, input_name="X")
    elif sp.issparse(X):
        csr_from_matrix(X, fit=True)
    else:
        _clean_dense(None, X, fit=True)


def check_matrix_magnitude(name: str, matrix: np.ndarray) -> None:
    """Refuse a matrix parameter with numbers that X may not have."""
    largest = np.abs(matrix).max(initial=0.0)
    if largest > MAX_MAGNITUDE:
        raise ValueError(
            f"{name} holds a number of size {largest:g}; those above {MAX_MAGNITUDE:g} are "
            "refused. "
            "Divide it by a constant."
        )


def _check_finite(values, model, name: str) -> None:
    """Refuse nans and infinities with scikit-learn's message.

    scikit-learn's own fast test, a sum, fails for large finite numbers.
    """
    if not np.isfinite(values).all():
        assert_all_finite(
            values, estimator_name=None if model is None else type(model).__name__, input_name=name
        )


def _refuse_large(value, row_and_column) -> NoReturn:
    row, column = row_and_column
    raise ValueError(
        f"X holds {value:g} in row {row}, column {column}; numbers larger in size than "
        f"{MAX_MAGNITUDE:g} "
        f"are refused. {_RESCALE_ADVICE}"
    )


def _check_not_all_tiny(values) -> None:
    """Refuse numbers of a fit that are not all 0 but all count as 0."""
    largest = np.abs(values).max(initial=0.0)
    if 0.0 < largest < MIN_MAGNITUDE:
        raise ValueError(
            f"the largest number of X is {largest:g} in size, and those smaller than "
            f"{MIN_MAGNITUDE:g} "
            f"count as 0: nothing is left. {_RESCALE_ADVICE}"
        )


def _from_dense(X) -> Csr:
    """Return validated rows of a dense array."""
    X = readonly_view(np.ascontiguousarray(X))
    indptr = np.empty(X.shape[0] + 1, dtype=np.uint64)
    count_nonzeros(X, indptr)
    indices, data = np.empty(indptr[-1], dtype=np.uint32), np.empty(indptr[-1], dtype=X.dtype)
    pack_nonzeros(X, indices, data)
    return Csr(readonly_view(data), readonly_view(indices), readonly_view(indptr), X.shape[1])


# --------------------------------------------------------------------------- weights, parameters
def validate_sample_weight(
    sample_weight, n_rows: int, *, require_positive: bool = False
) -> np.ndarray:
    """Return row weights as float64; length 0 means none.

    Negative and huge weights are refused, with `require_positive` also all zeros; tiny weights
    count as 0.
    """
    if sample_weight is None:
        return EMPTY
    refuse_dask_collection("sample_weight", sample_weight)
    if isinstance(sample_weight, Real):
        with explaining_overflow("sample_weight"):
            sample_weight = np.full(n_rows, float(sample_weight))
    weights = np.asarray(sample_weight) if isinstance(sample_weight, list) else sample_weight
    if not is_float_vector(weights) or not np.isfinite(weights).all():
        weights = check_array(
            sample_weight,
            ensure_2d=False,
            dtype=np.float64,
            input_name="sample_weight",
            ensure_min_samples=0,
        )
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array.")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!")
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight has a negative entry, {weights.min():g} at row "
            f"{int(weights.argmin())}; weights must be 0 or more."
        )
    if (weights > MAX_MAGNITUDE).any():
        row = int(weights.argmax())
        raise ValueError(
            f"sample_weight holds {weights[row]:g} in row {row}; weights above {MAX_MAGNITUDE:g} "
            "are "
            "refused. Divide all of them by their mean."
        )
    largest = weights.max(initial=0.0)
    if require_positive and largest < MIN_MAGNITUDE:
        advice = (
            f" Its largest is {largest:g}, and those below {MIN_MAGNITUDE:g} count as 0; divide "
            "all of "
            "them by their mean."
            if largest > 0.0
            else ""
        )
        raise ValueError(f"Sample weights must contain at least one non-zero number.{advice}")
    return readonly_view(np.where(weights < MIN_MAGNITUDE, 0.0, weights))


def validate_offset(offset, n_rows: int) -> Any:
    """Return an offset as float64, one number per row that is added to the scores; or None.

    Infinite numbers and magnitudes above `MAX_MAGNITUDE` are refused.
    """
    if offset is None:
        return None
    if not is_float_vector(offset) or not np.isfinite(offset).all():
        offset = check_array(
            offset, ensure_2d=False, dtype=np.float64, input_name="offset", ensure_min_samples=0
        )
    if offset.ndim != 1:
        raise ValueError(f"offset must be 1D array, got {offset.ndim}D array.")
    if len(offset) != n_rows:
        raise ValueError(f"offset.shape == {offset.shape}, expected {(n_rows,)}!")
    if (np.abs(offset) > MAX_MAGNITUDE).any():
        row = int(np.abs(offset).argmax())
        raise ValueError(
            f"offset holds {offset[row]:g} in row {row}; numbers larger in size than "
            f"{MAX_MAGNITUDE:g} "
            "are refused."
        )
    return readonly_view(np.ascontiguousarray(offset))


def validate_numbers(model, y, *, is_fit: bool, sparse: bool = False):
    """Return numeric targets as float64, with the limits of X; with `sparse` also as a CSC array.

    `is_fit` is `fit` in `validate_matrix`: targets that all count as 0 are refused.
    """
    layout = {
        "accept_sparse": "csc" if sparse else False,
        "ensure_2d": False,
        "ensure_all_finite": False,
    }
    y = np.asarray(y) if isinstance(y, list | tuple) else y
    if not is_float_vector(y) or not len(y):
        y = check_array(y, dtype=np.float64, input_name="y", estimator=model, **layout)
    values = y.data if sp.issparse(y) else y
    _check_finite(values, model, "y")
    sizes = np.abs(values)
    largest = sizes.max(initial=0.0)
    if largest > MAX_MAGNITUDE:
        position = int(sizes.argmax())
        row = y.indices[position] if sp.issparse(y) else np.unravel_index(position, y.shape)[0]
        raise ValueError(
            f"y holds {values.ravel()[position]:g} in row {row}; targets larger in size than "
            f"{MAX_MAGNITUDE:g} are refused. Divide y by a constant."
        )
    small = (sizes < MIN_MAGNITUDE) & (sizes > 0.0)
    if not small.any():
        return y
    if is_fit and largest < MIN_MAGNITUDE:
        raise ValueError(
            f"the largest target is {largest:g} in size, and those below {MIN_MAGNITUDE:g} count "
            "as 0: "
            "nothing is left. Multiply y by a constant."
        )
    y = y.copy()
    (y.data if sp.issparse(y) else y)[small] = 0.0
    return y
