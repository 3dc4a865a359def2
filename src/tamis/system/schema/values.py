"""Declarations of single values: arrays, sparse matrices, numbers, texts, labels, terms."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.system.schema.base import (
    Binds,
    Content,
    ContentsError,
    LazyArray,
    LazySparseMatrix,
    Length,
    Sizes,
    refuse,
)


class Array(Content):
    """An array with a dtype (or a few) and declared lengths.

    `any_width_if_empty` allows any width if there are no rows. `trust_size` accepts a size that
    only unstored zeros show; it is safe for an array that nothing reads before its shape is
    compared. `pointers_into` declares row pointers: from 0 to that size, never decreasing.
    """

    def __init__(
        self,
        dtypes: str | Iterable[str],
        *lengths: Length,
        finite: bool = True,
        minimum: float | None = None,
        maximum: float | None = None,
        below: str | None = None,
        order: str | Callable[[Sizes], str] | None = "C",
        increasing: bool = False,
        distinct: bool = False,
        pointers_into: str | None = None,
        any_width_if_empty: bool = False,
        trust_size: bool = False,
    ):
        self.dtypes = [np.dtype(d) for d in ([dtypes] if isinstance(dtypes, str) else dtypes)]
        self.lengths, self.order, self.any_width_if_empty, self.trust_size = (
            lengths,
            order,
            any_width_if_empty,
            trust_size,
        )
        self.finite, self.minimum, self.maximum, self.below = finite, minimum, maximum, below
        self.increasing, self.distinct, self.pointers_into = increasing, distinct, pointers_into

    def matches(self, value: object) -> bool:
        """Return whether it is an array with this number of axes."""
        return isinstance(value, LazyArray) and value.ndim == len(self.lengths)

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check kind, dtype and lengths."""
        shape = f"({', '.join(map(str, self.lengths))})"
        if not self.matches(value) or value.dtype not in self.dtypes:
            dtypes = " or ".join(map(str, self.dtypes))
            refuse(path, f"an array of {dtypes} and shape {shape}", value)
        # Here it costs no memory.
        if (self.increasing or self.distinct) and value.zeros > 1:
            refuse(path, "without a number that comes twice", value)
        lengths = (
            self.lengths[:1] if self.any_width_if_empty and not value.shape[0] else self.lengths
        )
        for axis, (length, text) in enumerate(zip(value.shape, lengths, strict=False)):
            trust_size = value.proves_size or self.trust_size
            sizes.check_length(text, length, f"{path}, axis {axis} of {shape},", trust_size)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return the array, with its numbers in range and its layout as declared."""
        maximum = self.maximum if self.below is None else sizes.evaluate_size(self.below, path) - 1

        def inspect(chunk: np.ndarray) -> None:
            if not chunk.size:
                return
            if self.finite and chunk.dtype.kind == "f" and not np.isfinite(chunk).all():
                refuse(path, "finite", float(chunk[~np.isfinite(chunk)][0]))
            if self.minimum is not None and chunk.min() < self.minimum:
                refuse(path, f"{self.minimum} or more everywhere", chunk.min().item())
            if maximum is not None and chunk.max() > maximum:
                refuse(path, f"at most {maximum} everywhere", chunk.max().item())

        values = value.read(inspect)
        order = self.order(sizes) if callable(self.order) else self.order
        flags = values.flags
        if not (order is None or (flags.f_contiguous if order == "F" else flags.c_contiguous)):
            raise ContentsError(f"{path} must be stored in {order} order")
        self._check_values(values, sizes, path)
        return values

    def _check_values(self, values: np.ndarray, sizes: Sizes, path: str) -> None:
        """Check rules that need the entire array."""
        if self.increasing and (values[1:] <= values[:-1]).any():
            raise ContentsError(f"{path} must increase from entry to entry")
        if self.distinct and len(np.unique(values)) < values.size:
            raise ContentsError(f"{path} must hold no number twice")
        if self.pointers_into is not None:
            end = sizes.evaluate_size(self.pointers_into, path)
            ends = len(values) > 0 and values[0] == 0 and values[-1] == end
            if not ends or (values[1:] < values[:-1]).any():
                raise ContentsError(f"{path} must begin at 0, never fall, and end at {end}")


class Rows(Content):
    """A CSR or CSC matrix."""

    def __init__(
        self,
        *lengths: Length,
        formats: tuple[str, ...] = ("csr",),
        dtypes: tuple[str, ...] = ("f8",),
        finite: bool = True,
        minimum: float | None = None,
        maximum: float | None = None,
    ):
        self.lengths, self.formats, self.dtypes = lengths, formats, [np.dtype(d) for d in dtypes]
        self.numbers = Array(dtypes, "_", finite=finite, minimum=minimum, maximum=maximum)

    def matches(self, value: object) -> bool:
        """Return whether it is a sparse matrix of an accepted format."""
        return (
            isinstance(value, LazySparseMatrix)
            and value.cls.__name__[:3] in self.formats
            and len(value.shape) == 2
        )

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check format, dtype, shape, and the lengths of the three arrays."""
        if not self.matches(value) or value.arrays["data"].dtype not in self.dtypes:
            dtypes = " or ".join(map(str, self.dtypes))
            refuse(path, f"a {' or '.join(self.formats)} matrix of {dtypes}", value)
        for axis, (length, text) in enumerate(zip(value.shape, self.lengths, strict=True)):
            sizes.check_length(text, length, f"{path}, axis {axis},")
        data, indices, indptr = (value.arrays[name] for name in ("data", "indices", "indptr"))
        major = value.shape[value.cls.__name__.startswith("csc")]
        if data.ndim != 1 or data.shape != indices.shape or indptr.shape != (major + 1,):
            refuse(path, "a sparse matrix whose arrays fit together", value)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return the matrix, with its indices in range."""
        return read_sparse(value, lambda data: self.numbers.load(data, sizes, path))


def read_sparse(
    value: LazySparseMatrix, read_data: Callable[[LazyArray], np.ndarray] | None = None
) -> sp.csr_array | sp.csc_array:
    """Return a sparse matrix, with its pointers and indices checked."""
    data, indices, indptr = (value.arrays[name] for name in ("data", "indices", "indptr"))
    integer_types = {np.dtype("i4"), np.dtype("i8")}
    if data.dtype.kind not in "biufc" or not {indices.dtype, indptr.dtype} <= integer_types:
        raise ContentsError("a sparse matrix has data or indices of an impossible dtype")
    arrays = ((read_data or read_array)(data), read_array(indices), read_array(indptr))
    matrix = value.cls(arrays, shape=value.shape)
    matrix.check_format(full_check=True)
    # The constructor may narrow the indices; the model had them as they are here.
    matrix.data, matrix.indices, matrix.indptr = arrays
    return matrix


def read_array(value: LazyArray) -> np.ndarray:
    """Return an array without checks of its numbers."""
    return value.read(lambda piece: None)


class Number(Content):
    """A number within bounds, below a size or equal to one; `binds` sets sizes by functions of it.

    `exact` requires the Python type itself, since loops are compiled for floats.
    """

    def __init__(
        self,
        kind: type,
        minimum: float | None = None,
        maximum: float | None = None,
        above: float | None = None,
        below: str | None = None,
        finite: bool = True,
        equals: str | None = None,
        binds: Binds | None = None,
        exact: bool = False,
    ):
        self.kind, self.finite, self.exact = kind, finite, exact
        self.minimum, self.maximum, self.above = minimum, maximum, above
        self.below, self.equals, self.binds = below, equals, binds or {}

    def matches(self, value: object) -> bool:
        """Return whether it is a number of the type."""
        kinds = {bool: (bool, np.bool_), int: (int, np.integer), float: (float, np.floating)}[
            self.kind
        ]
        if self.exact:
            return type(value) is self.kind
        return isinstance(value, kinds) and (self.kind is bool or not isinstance(value, bool))

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check type and bounds."""
        bounds = (("at least", self.minimum), ("at most", self.maximum), ("above", self.above))
        is_valid = (
            self.matches(value)
            and (self.kind is not float or not self.finite or np.isfinite(value))
            and (self.minimum is None or value >= self.minimum)
            and (self.maximum is None or value <= self.maximum)
            and (self.above is None or value > self.above)
        )
        if not is_valid:
            float_text = "a finite float" if self.finite else "a float"
            kind = {bool: "True or False", int: "a whole number", float: float_text}[self.kind]
            bound_texts = [f"{word} {bound}" for word, bound in bounds if bound is not None]
            refuse(path, ", ".join([kind, *bound_texts]), value)
        sizes.set_sizes(self.binds, value, path)
        if self.equals is not None and value != sizes.evaluate_size(self.equals, path):
            refuse(path, f"{self.equals} = {sizes.evaluate_size(self.equals, path)}", value)
        if self.below is not None and value >= (sizes.size(self.below) or np.inf):
            refuse(path, f"below {self.below} = {sizes.size(self.below)}", value)


class Choice(Content):
    """One of a few values, or any text if no values are declared."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def matches(self, value: object) -> bool:
        """Return whether it is one of the values."""
        if not self.values:
            return isinstance(value, str)
        return any(type(value) is type(v) and value == v for v in self.values)

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check that it is one of the values."""
        if not self.matches(value):
            rule = f"one of {', '.join(map(repr, self.values))}" if self.values else "a text"
            refuse(path, rule, value)


def _is_row(value: object) -> bool:
    """Return whether it is a one-dimensional array of objects."""
    return isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1


class Labels(Content):
    """An array of labels (numbers or texts), by default ascending and without duplicates."""

    def __init__(
        self,
        size: str,
        distinct: bool = True,
        ascending: bool = True,
        minimum: int = 1,
        binds: Binds | None = None,
    ):
        self.size, self.minimum, self.binds = size, minimum, binds or {}
        self.distinct, self.ascending = distinct, ascending

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check kind and number."""
        if isinstance(value, LazyArray):
            is_valid = value.ndim == 1 and value.dtype.kind in "biufUS"
        else:
            is_valid = _is_row(value) and all(isinstance(v, str | int | float) for v in value)
        if not is_valid or value.shape[0] < self.minimum:
            refuse(path, f"a row of {self.minimum} or more labels", value)
        if self.distinct and isinstance(value, LazyArray) and value.zeros > 1:
            refuse(path, "without a label that comes twice", value)
        sizes.check_length(
            self.size, value.shape[0], path, not isinstance(value, LazyArray) or value.proves_size
        )
        sizes.set_sizes(self.binds, value.shape[0], path)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return the labels, checked."""
        labels = read_array(value) if isinstance(value, LazyArray) else value
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ContentsError(f"{path} must hold finite labels")
        if self.distinct:
            unique_labels = np.unique(labels)
            if len(unique_labels) < len(labels) or (
                self.ascending and not np.array_equal(unique_labels, labels)
            ):
                order = ", in ascending order" if self.ascending else ""
                raise ContentsError(f"{path} must hold no label twice{order}")
        return labels


class Names(Content):
    """An array of texts."""

    def __init__(self, size: str):
        self.size = size

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check that all are texts, and their number."""
        if not (_is_row(value) and all(type(v) is str for v in value)):
            refuse(path, "a row of texts", value)
        sizes.check_length(self.size, len(value), path)


class Term(Content):
    """A term with some methods or of some classes; its numbers are floats, none is nan."""

    def __init__(
        self,
        *methods: str,
        of: tuple[type, ...] = (),
        binds: Binds | None = None,
        good: Callable[[Any], bool] | None = None,
    ):
        self.methods, self.of, self.binds, self.good = methods, of, binds or {}, good

    def matches(self, value: object) -> bool:
        """Return whether it is a term with these methods or classes."""
        return (
            getattr(value, "is_tamis_term", False)
            and all(callable(getattr(value, v, None)) for v in self.methods)
            and type(value) in (self.of or (type(value),))
        )

    def check(self, value: Any, sizes: Sizes, path: str) -> None:
        """Check kind and numbers."""
        if not self.matches(value):
            rule = f"a term with the methods {', '.join(self.methods)}"
            if self.of:
                rule = f"one of {', '.join(c.__qualname__ for c in self.of)}"
            refuse(path, rule, value)
        self._check_numbers(value, path)
        if self.good is not None and not self.good(value):
            refuse(path, "a term whose numbers are in their range", value)
        sizes.set_sizes(self.binds, value, path)

    def _check_numbers(self, value: Any, path: str) -> None:
        for name, number in zip(value._fields, value, strict=True):
            if getattr(number, "is_tamis_term", False):
                self._check_numbers(number, f"{path}.{name}")
            elif not isinstance(number, int | float) or number != number:
                refuse(f"{path}.{name}", "a number", number)

    def load(self, value: Any, sizes: Sizes, path: str) -> Any:
        """Return the term with floats only, as loops expect."""
        from tamis.numerics.code_digests import as_floats

        return as_floats(value)
