"""The numbers of one row: checked, and in arrays that are filled anew for every row."""

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

import numpy as np

from tamis.base.validation import LARGEST, SMALLEST
from tamis.numerics.csr import Csr, frozen
from tamis.numerics.targets import EncodedTargets
from tamis.serving.loop import GIVEN, LARGE, WILD, take_row

ODD = -4  # no numbers, or not as many indices as values
LIMITS = (SMALLEST, LARGEST)
_TAKERS: dict[type, Callable] = {}  # the machine code of `take_row`, by the type of indices
ROOM = 256  # numbers of the first rows; longer ones make more room


class Row:
    """Room for one row of so many columns, as the loops take it: numbers, target and weight."""

    def __init__(self, n_features: int, n_targets: int, room: int = ROOM):
        index: Any = np.uint32 if n_features < 2**32 else np.uint64
        self.room, self.n_features = room, n_features
        self.given, self.values = np.zeros(room, np.int64), np.zeros(room)
        data, indices, indptr = np.zeros(room), np.zeros(room, index), np.zeros(2, np.uint64)
        # Views of them, of the types that `partial_fit` hands to the same loops.
        self.rows = Csr(frozen(data), frozen(indices), frozen(indptr), n_features)
        self.target, self.weight = np.zeros((1, n_targets)), np.ones(1)
        self.coded, self.weights = EncodedTargets(frozen(self.target)), frozen(self.weight)
        seen = np.zeros(1 << (2 * room - 1).bit_length(), np.uint64)
        self.ending = (np.uint64(n_features), LIMITS, data, indices, indptr, seen)
        if index not in _TAKERS:
            _TAKERS[index] = take_row.prepared(self.given, self.values, 0, GIVEN, *self.ending)
        self.take_row = _TAKERS[index]

    def fill(self, indices, values, order: int) -> int:
        """Take in the numbers of a row, two lists or two arrays of one length; how many count, or
        below 0 what is wrong.
        """
        count = len(indices)
        if type(indices) is list:
            try:
                whole, real = _packs(count)
                whole(self.given, 0, *indices)
                real(self.values, 0, *values)
            except (struct.error, TypeError, ValueError, OverflowError):
                return ODD
        else:
            self.given[:count], self.values[:count] = indices, values
        return self.take_row(self.given, self.values, count, order, *self.ending)

    def copy_from(self, other: "Row") -> None:
        """Take the numbers of another row of as much room."""
        for mine, held in zip(self.ending[2:5], other.ending[2:5], strict=True):
            mine[:] = held


@cache
def _packs(count: int) -> tuple[Callable, Callable]:
    """What writes so many Python numbers into an array: thrice as fast as NumPy."""
    return struct.Struct(f"{count}q").pack_into, struct.Struct(f"{count}d").pack_into


def as_arrays(indices, values) -> tuple[np.ndarray, np.ndarray]:
    """Indices and values of a row as arrays that go together."""
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
            f"{len(indices)} indices, but {len(values)} values; a row has a value an index."
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


def refuse(fault: int, indices, values, n_features: int, way: str) -> NoReturn:
    """Raise the sentence on a row that was not taken."""
    if fault == WILD:
        bad = next(j for j in indices.tolist() if not 0 <= j < n_features)
        raise ValueError(f"index {bad} is outside 0..{n_features - 1}. {way}")
    if fault == LARGE:
        _refuse_value(indices, np.asarray(values, dtype=float))
    listed = indices.tolist()
    bad = next(j for k, j in enumerate(listed) if j in listed[:k])
    raise ValueError(
        f"index {bad} comes twice in one row. Give it once, with the sum of its values."
    )


def _refuse_value(indices, values) -> NoReturn:
    """Raise the sentence on a number that is not finite, or too large."""
    at = int(np.flatnonzero(~(np.abs(values) <= LARGEST))[0])
    if not np.isfinite(values[at]):
        raise ValueError(
            f"the value of index {indices[at]} is {values[at]}; values must be finite. Leave the "
            "index out, or give it a number."
        )
    raise ValueError(
        f"the value of index {indices[at]} is {values[at]:g}; numbers larger in size than "
        f"{LARGEST:g} are refused. Divide the values of that column by a constant."
    )
