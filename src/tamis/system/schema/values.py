"""Contents that hold no others: arrays, sparse matrices, numbers, texts, labels, terms."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.system.schema.base import (
    Binds,
    Content,
    ContentsError,
    Held,
    Length,
    Promise,
    SparsePromise,
    refuse,
)


class Array(Content):
    """An array of one dtype (or a few) and declared lengths; `loose`: of any width without rows.

    One that nothing reads before its shape is compared is `believed`, even if only zeros speak for
    its size.
    """

    def __init__(
        self,
        dtypes: str | Iterable[str],
        *lengths: Length,
        finite: bool = True,
        least: float | None = None,
        most: float | None = None,
        below: str | None = None,
        order: str | Callable[[Held], str] | None = "C",
        increasing: bool = False,
        distinct: bool = False,
        rising: str | None = None,
        loose: bool = False,
        believed: bool = False,
    ):
        self.dtypes = [np.dtype(d) for d in ([dtypes] if isinstance(dtypes, str) else dtypes)]
        self.lengths, self.order, self.loose, self.believed = lengths, order, loose, believed
        self.finite, self.least, self.most, self.below = finite, least, most, below
        self.increasing, self.distinct, self.rising = increasing, distinct, rising

    def suits(self, value: object) -> bool:
        """An array of as many axes."""
        return isinstance(value, Promise) and value.ndim == len(self.lengths)

    def outline(self, value: Any, held: Held, path: str) -> None:
        """Kind, dtype, lengths."""
        shape = f"({', '.join(map(str, self.lengths))})"
        if not self.suits(value) or value.dtype not in self.dtypes:
            dtypes = " or ".join(map(str, self.dtypes))
            refuse(path, f"an array of {dtypes} and shape {shape}", value)
        # Found here, where it costs no memory.
        if (self.increasing or self.distinct) and value.zeros > 1:
            refuse(path, "without a number that comes twice", value)
        lengths = self.lengths[:1] if self.loose and not value.shape[0] else self.lengths
        for place, (length, text) in enumerate(zip(value.shape, lengths, strict=False)):
            believed = value.backed or self.believed
            held.fit(text, length, f"{path}, axis {place} of {shape},", believed)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """The array, its numbers in range and laid out as loops read it."""
        most = self.most if self.below is None else held.measure(self.below, path) - 1

        def inspect(piece: np.ndarray) -> None:
            if not piece.size:
                return
            if self.finite and piece.dtype.kind == "f" and not np.isfinite(piece).all():
                refuse(path, "finite", float(piece[~np.isfinite(piece)][0]))
            if self.least is not None and piece.min() < self.least:
                refuse(path, f"{self.least} or more everywhere", piece.min().item())
            if most is not None and piece.max() > most:
                refuse(path, f"at most {most} everywhere", piece.max().item())

        found = value.read(inspect)
        order = self.order(held) if callable(self.order) else self.order
        flags = found.flags
        if not (order is None or (flags.f_contiguous if order == "F" else flags.c_contiguous)):
            raise ContentsError(f"{path} must be stored in {order} order")
        self._whole(found, held, path)
        return found

    def _whole(self, found: np.ndarray, held: Held, path: str) -> None:
        """What only the array as a whole can show."""
        if self.increasing and (found[1:] <= found[:-1]).any():
            raise ContentsError(f"{path} must increase from entry to entry")
        if self.distinct and len(np.unique(found)) < found.size:
            raise ContentsError(f"{path} must hold no number twice")
        if self.rising is not None:
            end = held.measure(self.rising, path)
            ends = len(found) > 0 and found[0] == 0 and found[-1] == end
            if not ends or (found[1:] < found[:-1]).any():
                raise ContentsError(f"{path} must begin at 0, never fall, and end at {end}")


class Rows(Content):
    """A CSR or CSC matrix of numbers."""

    def __init__(
        self,
        *lengths: Length,
        formats: tuple[str, ...] = ("csr",),
        dtypes: tuple[str, ...] = ("f8",),
        finite: bool = True,
        least: float | None = None,
        most: float | None = None,
    ):
        self.lengths, self.formats, self.dtypes = lengths, formats, [np.dtype(d) for d in dtypes]
        self.numbers = Array(dtypes, "_", finite=finite, least=least, most=most)

    def suits(self, value: object) -> bool:
        """A sparse matrix of the format."""
        return (
            isinstance(value, SparsePromise)
            and value.cls.__name__[:3] in self.formats
            and len(value.shape) == 2
        )

    def outline(self, value: Any, held: Held, path: str) -> None:
        """Format, dtypes, shape, and lengths of the three arrays."""
        if not self.suits(value) or value.parts["data"].dtype not in self.dtypes:
            dtypes = " or ".join(map(str, self.dtypes))
            refuse(path, f"a {' or '.join(self.formats)} matrix of {dtypes}", value)
        for place, (length, text) in enumerate(zip(value.shape, self.lengths, strict=True)):
            held.fit(text, length, f"{path}, axis {place},")
        data, indices, indptr = (value.parts[name] for name in ("data", "indices", "indptr"))
        major = value.shape[value.cls.__name__.startswith("csc")]
        if data.ndim != 1 or data.shape != indices.shape or indptr.shape != (major + 1,):
            refuse(path, "a sparse matrix whose arrays fit together", value)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """The matrix, its indices in range."""
        return read_sparse(value, lambda data: self.numbers.fill(data, held, path))


def read_sparse(
    value: SparsePromise, read_data: Callable[[Promise], np.ndarray] | None = None
) -> sp.csr_array | sp.csc_array:
    """A sparse matrix whose pointers and indices were checked."""
    data, indices, indptr = (value.parts[name] for name in ("data", "indices", "indptr"))
    whole = {np.dtype("i4"), np.dtype("i8")}
    if data.dtype.kind not in "biufc" or not {indices.dtype, indptr.dtype} <= whole:
        raise ContentsError("a sparse matrix has data or indices of an impossible dtype")
    parts = ((read_data or plain_array)(data), plain_array(indices), plain_array(indptr))
    matrix = value.cls(parts, shape=value.shape)
    matrix.check_format(full_check=True)
    # The constructor may narrow the indices; the model had them as they are here.
    matrix.data, matrix.indices, matrix.indptr = parts
    return matrix


def plain_array(value: Promise) -> np.ndarray:
    """An array that is read as it is."""
    return value.read(lambda piece: None)


class Number(Content):
    """A number within bounds, below a size or equal to one; `binds` sets sizes by functions of it.

    Loops are compiled for floats: what they take is `exact`.
    """

    def __init__(
        self,
        kind: type,
        least: float | None = None,
        most: float | None = None,
        above: float | None = None,
        below: str | None = None,
        finite: bool = True,
        equals: str | None = None,
        binds: Binds | None = None,
        exact: bool = False,
    ):
        self.kind, self.finite, self.exact = kind, finite, exact
        self.least, self.most, self.above = least, most, above
        self.below, self.equals, self.binds = below, equals, binds or {}

    def suits(self, value: object) -> bool:
        """A number of the type."""
        kinds = {bool: (bool, np.bool_), int: (int, np.integer), float: (float, np.floating)}[
            self.kind
        ]
        if self.exact:
            return type(value) is self.kind
        return isinstance(value, kinds) and (self.kind is bool or not isinstance(value, bool))

    def outline(self, value: Any, held: Held, path: str) -> None:
        """Type and bounds."""
        bounds = (("at least", self.least), ("at most", self.most), ("above", self.above))
        good = (
            self.suits(value)
            and (self.kind is not float or not self.finite or np.isfinite(value))
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
        )
        if not good:
            real = "a finite float" if self.finite else "a float"
            kind = {bool: "True or False", int: "a whole number", float: real}[self.kind]
            asked = [f"{word} {bound}" for word, bound in bounds if bound is not None]
            refuse(path, ", ".join([kind, *asked]), value)
        held.bind_all(self.binds, value, path)
        if self.equals is not None and value != held.measure(self.equals, path):
            refuse(path, f"{self.equals} = {held.measure(self.equals, path)}", value)
        if self.below is not None and value >= (held.size(self.below) or np.inf):
            refuse(path, f"below {self.below} = {held.size(self.below)}", value)


class Choice(Content):
    """One of a few values, or any text where none are named."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def suits(self, value: object) -> bool:
        """One of them."""
        if not self.values:
            return isinstance(value, str)
        return any(type(value) is type(v) and value == v for v in self.values)

    def outline(self, value: Any, held: Held, path: str) -> None:
        """One of them."""
        if not self.suits(value):
            wanted = f"one of {', '.join(map(repr, self.values))}" if self.values else "a text"
            refuse(path, wanted, value)


def _is_row(value: object) -> bool:
    """Whether this is a row of objects."""
    return isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1


class Labels(Content):
    """A row of labels (numbers or words): ascending, or in any order, without doubles, or any."""

    def __init__(
        self,
        size: str,
        distinct: bool = True,
        ascending: bool = True,
        least: int = 1,
        binds: Binds | None = None,
    ):
        self.size, self.least, self.binds = size, least, binds or {}
        self.distinct, self.ascending = distinct, ascending

    def outline(self, value: Any, held: Held, path: str) -> None:
        """Kind and count."""
        if isinstance(value, Promise):
            good = value.ndim == 1 and value.dtype.kind in "biufUS"
        else:
            good = _is_row(value) and all(isinstance(v, str | int | float) for v in value)
        if not good or value.shape[0] < self.least:
            refuse(path, f"a row of {self.least} or more labels", value)
        if self.distinct and isinstance(value, Promise) and value.zeros > 1:
            refuse(path, "without a label that comes twice", value)
        held.fit(self.size, value.shape[0], path, not isinstance(value, Promise) or value.backed)
        held.bind_all(self.binds, value.shape[0], path)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """The labels."""
        found = plain_array(value) if isinstance(value, Promise) else value
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ContentsError(f"{path} must hold finite labels")
        if self.distinct:
            sorted_ = np.unique(found)
            if len(sorted_) < len(found) or (self.ascending and not np.array_equal(sorted_, found)):
                order = ", in ascending order" if self.ascending else ""
                raise ContentsError(f"{path} must hold no label twice{order}")
        return found


class Names(Content):
    """A row of texts."""

    def __init__(self, size: str):
        self.size = size

    def outline(self, value: Any, held: Held, path: str) -> None:
        """Texts, and how many."""
        if not (_is_row(value) and all(type(v) is str for v in value)):
            refuse(path, "a row of texts", value)
        held.fit(self.size, len(value), path)


class Term(Content):
    """A term that answers some methods, or of some classes; its numbers are floats, none is nan."""

    def __init__(
        self,
        *methods: str,
        of: tuple[type, ...] = (),
        binds: Binds | None = None,
        good: Callable[[Any], bool] | None = None,
    ):
        self.methods, self.of, self.binds, self.good = methods, of, binds or {}, good

    def suits(self, value: object) -> bool:
        """A term that is fit for the place."""
        return (
            getattr(value, "is_tamis_term", False)
            and all(callable(getattr(value, v, None)) for v in self.methods)
            and type(value) in (self.of or (type(value),))
        )

    def outline(self, value: Any, held: Held, path: str) -> None:
        """Kind and numbers."""
        if not self.suits(value):
            wanted = f"a term with the methods {', '.join(self.methods)}"
            if self.of:
                wanted = f"one of {', '.join(c.__qualname__ for c in self.of)}"
            refuse(path, wanted, value)
        self._look(value, path)
        if self.good is not None and not self.good(value):
            refuse(path, "a term whose numbers are in their range", value)
        held.bind_all(self.binds, value, path)

    def _look(self, value: Any, path: str) -> None:
        for name, number in zip(value._fields, value, strict=True):
            if getattr(number, "is_tamis_term", False):
                self._look(number, f"{path}.{name}")
            elif not isinstance(number, int | float) or number != number:
                refuse(f"{path}.{name}", "a number", number)

    def fill(self, value: Any, held: Held, path: str) -> Any:
        """The term with floats alone, as the loops were compiled for."""
        from tamis.numerics.code_digests import as_floats

        return as_floats(value)
