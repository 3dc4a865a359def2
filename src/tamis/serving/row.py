"""The buffer of one row: arrays that every row fills again, after checks of its numbers."""

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

import numpy as np

from tamis.base.validation import MAX_MAGNITUDE, MIN_MAGNITUDE
from tamis.numerics.csr import Csr, readonly_view
from tamis.numerics.targets import EncodedTargets
from tamis.serving.loop import OUT_OF_RANGE, TOO_LARGE, UNCHANGED, load_row

NOT_NUMERIC = -4  # status of fill: no numbers, or different numbers of indices and values
LIMITS = (MIN_MAGNITUDE, MAX_MAGNITUDE)
_COMPILED_LOADERS: dict[type, Callable] = {}  # compiled `load_row`, by the type of indices
INITIAL_CAPACITY = 256  # entries of a row; longer rows enlarge the buffer


class RowBuffer:
    """Arrays of one row for the compiled loops: entries, target and weight."""

    def __init__(self, n_features: int, n_targets: int, capacity: int = INITIAL_CAPACITY):
        index: Any = np.uint32 if n_features < 2**32 else np.uint64
        self.capacity, self.n_features = capacity, n_features
        self.user_columns, self.values = np.zeros(capacity, np.int64), np.zeros(capacity)
        data, indices, indptr = (
            np.zeros(capacity),
            np.zeros(capacity, index),
            np.zeros(2, np.uint64),
        )
        # Views of the arrays, of the types that `partial_fit` passes to the same loops.
        self.rows = Csr(
            readonly_view(data), readonly_view(indices), readonly_view(indptr), n_features
        )
        self.target, self.weight = np.zeros((1, n_targets)), np.ones(1)
        self.coded, self.weights = (
            EncodedTargets(readonly_view(self.target)),
            readonly_view(self.weight),
        )
        slots = np.zeros(1 << (2 * capacity - 1).bit_length(), np.uint64)
        self.load_args = (np.uint64(n_features), LIMITS, data, indices, indptr, slots)
        if index not in _COMPILED_LOADERS:
            _COMPILED_LOADERS[index] = load_row.compiled_for(
                self.user_columns, self.values, 0, UNCHANGED, *self.load_args
            )
        self.load_row = _COMPILED_LOADERS[index]

    def fill(self, indices, values, order: int) -> int:
        """Load the entries of a row from two lists or two arrays of one length. Return the number
        of entries that are not negligible, or a negative status.
        """
        count = len(indices)
        if type(indices) is list:
            try:
                pack_integers, pack_floats = _array_packers(count)
                pack_integers(self.user_columns, 0, *indices)
                pack_floats(self.values, 0, *values)
            except (struct.error, TypeError, ValueError, OverflowError):
                return NOT_NUMERIC
        else:
            self.user_columns[:count], self.values[:count] = indices, values
        return self.load_row(self.user_columns, self.values, count, order, *self.load_args)

    def copy_from(self, other: "RowBuffer") -> None:
        """Copy the entries of another buffer of the same capacity."""
        for target, source in zip(self.load_args[2:5], other.load_args[2:5], strict=True):
            target[:] = source


@cache
def _array_packers(count: int) -> tuple[Callable, Callable]:
    """Return functions that write `count` Python integers and floats into an array, three times as
    fast as NumPy.
    """
    return struct.Struct(f"{count}q").pack_into, struct.Struct(f"{count}d").pack_into


def validate_arrays(indices, values) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and values of a row as arrays of one length, or raise."""
    indices, values = np.asarray(indices), np.asarray(values)
    if (
        indices.ndim == 1
        and indices.shape == values.shape
        and (indices.dtype.kind in "iu" or not len(indices))
        and values.dtype.kind in "fiub"
    ):
        return indices, values
    if indices.ndim != 1 or values.ndim != 1:
        raise ValueError(
            f"indices of shape {indices.shape} and values of shape {values.shape}; a row has both "
            "along one axis. For several rows call partial_fit of the model."
        )
    if len(indices) != len(values):
        raise ValueError(
            f"{len(indices)} indices, but {len(values)} values; a row needs one value per index."
        )
    if indices.dtype.kind not in "iu":
        raise TypeError(
            f"indices must be whole numbers, the columns of the row. Got {indices[:3].tolist()!r}; "
            "names go into a mapping, {name: value}."
        )
    raise TypeError(
        f"values must be numbers. Got {values[:3].tolist()!r}; make a word a name of its own, "
        "{'colour=red': 1.0}."
    )


def raise_row_error(status: int, indices, values, n_features: int, advice: str) -> NoReturn:
    """Raise the error of a row with a negative status."""
    if status == OUT_OF_RANGE:
        bad = next(j for j in indices.tolist() if not 0 <= j < n_features)
        raise ValueError(f"index {bad} is outside 0..{n_features - 1}. {advice}")
    if status == TOO_LARGE:
        _refuse_value(indices, np.asarray(values, dtype=float))
    columns = indices.tolist()
    bad = next(j for k, j in enumerate(columns) if j in columns[:k])
    raise ValueError(
        f"index {bad} comes twice in one row. Pass it once, with the sum of its values."
    )


def _refuse_value(indices, values) -> NoReturn:
    """Raise the error of a number that is not finite, or too large."""
    position = int(np.flatnonzero(~(np.abs(values) <= MAX_MAGNITUDE))[0])
    if not np.isfinite(values[position]):
        raise ValueError(
            f"the value of index {indices[position]} is {values[position]}; values must be finite. "
            "Leave the index out, or pass a number."
        )
    raise ValueError(
        f"the value of index {indices[position]} is {values[position]:g}; absolute values above "
        f"{MAX_MAGNITUDE:g} are refused. Divide the values of that column by a constant."
    )
