"""Arrays as blocks of bytes: dense, or only the rows that are not all zero bits.

A block "in rows" cuts the flattened array into rows of `width` numbers and stores the row numbers
(int64), then those rows. The width is that of the leading axis' rows (the state of a learner) or 1
(`coef_`, one long row).
"""

import functools
import math
import re
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

import numpy as np

from tamis.model_files.container import AGAIN, ModelFileError
from tamis.system.schema import Promise

_PIECE = 1 << 20  # bytes that are in memory at once
# Bytes of an array stored in rows: its file can be small, so the file's size is no bound.
_LARGEST = 1 << 40
_DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)|<U[1-9]\d{0,8}|\|S[1-9]\d{0,8}")


def stored_dtype(dtype: np.dtype) -> str | None:
    """How the format writes a dtype, little-endian; None where it does not."""
    name = dtype.newbyteorder("<").str
    return name if _DTYPE.fullmatch(name) else None


def read_dtype(name: object) -> np.dtype:
    """The dtype of that name, from a closed set."""
    if not (isinstance(name, str) and _DTYPE.fullmatch(name)):
        raise ModelFileError(
            f"the header names the dtype {name!r}, which this format does not have. {AGAIN}"
        )
    return np.dtype(name)


def read_shape(shape: object) -> tuple[int, ...]:
    """A shape whose sizes are whole and not negative."""
    if not (
        isinstance(shape, list)
        and len(shape) <= 32
        and all(type(n) is int and 0 <= n < 1 << 62 for n in shape)
    ):
        raise ModelFileError(f"the header holds an impossible shape, {str(shape)[:60]}. {AGAIN}")
    return tuple(shape)


def checked(array: np.ndarray) -> np.ndarray:
    """The array, refused if some of its bits are no value of its dtype."""
    if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise ModelFileError(f"a bool is neither 0 nor 1. {AGAIN}")
    if array.dtype.kind == "U" and array.view("<u4").max(initial=0) > 0x10FFFF:
        raise ModelFileError(f"a text holds numbers that are no characters. {AGAIN}")
    return array


def native(array: np.ndarray) -> np.ndarray:
    """The array in this machine's byte order."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


class Block:
    """An array on its way to disk: how it will lie there, and its bytes piece by piece."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.dtype = np.dtype(stored_dtype(array.dtype))
        # `flat` counts in C order whatever the strides, without a copy of the whole.
        self.flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
        self.length, self.width, self.rows = array.size * array.itemsize, 0, 0
        for width in self._widths():
            rows = sum(len(numbers) for numbers, _ in self._filled(width))
            length = rows * (8 + width * array.itemsize)
            if length < self.length:
                self.length, self.width, self.rows = length, width, rows

    def _widths(self) -> list[int]:
        """Widths of row worth a try."""
        if self.array.dtype.kind not in "biuf" or not self.array.size:
            return []
        row = math.prod(self.array.shape[1:])
        return [1] if row == 1 or row * self.array.itemsize > _PIECE else [row, 1]

    def _cut(self, width: int):
        """The flattened array in pieces of whole rows, each with the number of its first row."""
        step = max(1, _PIECE // (width * self.array.itemsize)) * width
        for start in range(0, self.array.size, step):
            yield start // width, np.asarray(self.flat[start : start + step], dtype=self.dtype)

    def _filled(self, width: int):
        """Numbers of the rows that are not all zero bits (-0.0 is not), and the rows, in parts."""
        for first, piece in self._cut(width):
            bits = piece.view(f"<u{piece.itemsize}").reshape(-1, width)
            hits = np.flatnonzero(bits) // width
            filled = hits[
                np.diff(hits, prepend=-1) != 0
            ]  # any(axis=1) takes several times as long where most is zero
            yield first + filled, bits[filled]

    def entry(self, offset: int) -> dict:
        """Line of the header's table of blocks."""
        place = {
            "offset": offset,
            "length": self.length,
            "dtype": self.dtype.str,
            "shape": list(self.array.shape),
        }
        return place | ({"width": self.width, "rows": self.rows} if self.width else {})

    def pieces(self) -> Iterator[bytes]:
        """The bytes, in pieces."""
        if not self.width:
            for _, piece in self._cut(1):
                yield piece.tobytes()
            return
        for numbers, _ in self._filled(self.width):
            yield numbers.astype("<i8").tobytes()
        for _, rows in self._filled(self.width):
            yield rows.tobytes()


class Blocks:
    """The blocks of a file: together they fill it without gap or overlap, and each is read once."""

    def __init__(self, file: BufferedReader, table: object, start: int, end: int):
        if not isinstance(table, list):
            raise ModelFileError(f"the header has no table of blocks. {AGAIN}")
        self.file, self.table, self.start = file, table, start
        self.unread = set(range(len(table)))
        place = 0
        for entry in table:
            length = entry["length"]
            if not (type(length) is int and length >= 0 and entry["offset"] == place):
                raise ModelFileError(
                    f"the table of blocks has gaps or overlaps at byte {place}. {AGAIN}"
                )
            place += length
        if start + place != end:
            raise ModelFileError(
                f"the table of blocks holds {place} bytes, the file {end - start}. {AGAIN}"
            )

    def promise(self, number: Any) -> Promise:
        """The array of a block, to be read later: what its line of the table says is known now."""
        if number not in self.unread:
            raise ModelFileError(f"block {number!r} does not exist or is used twice. {AGAIN}")
        entry = self.table[number]
        dtype, shape = read_dtype(entry["dtype"]), read_shape(entry["shape"])
        if "width" in entry:
            self._check_rows(entry, dtype, shape)
        elif math.prod(shape) * dtype.itemsize != entry["length"]:
            raise ModelFileError(
                f"block {number} has {entry['length']} bytes, which shape {shape} of {dtype} does "
                f"not fill. {AGAIN}"
            )
        zeros = math.prod(shape) - entry["rows"] * entry["width"] if "width" in entry else 0
        return Promise(
            dtype.newbyteorder("="),
            shape,
            zeros,
            functools.partial(self._read, number, dtype, shape),
        )

    def _read(self, number: int, dtype: np.dtype, shape: tuple[int, ...], inspect) -> np.ndarray:
        """The array; `inspect` sees all its numbers, of zeros that are not stored one."""
        if number not in self.unread:
            raise ModelFileError(f"block {number!r} does not exist or is used twice. {AGAIN}")
        self.unread.remove(number)
        entry = self.table[number]
        self.file.seek(self.start + entry["offset"])
        if "width" in entry:
            return native(self._in_rows(entry, dtype, shape, inspect)).reshape(shape)
        array = native(self._bytes(math.prod(shape), dtype))
        step = max(1, _PIECE // dtype.itemsize)
        for first in range(0, len(array), step):
            inspect(array[first : first + step])
        return array.reshape(shape)

    def finish(self) -> None:
        """Refuse blocks that nothing refers to."""
        if self.unread:
            raise ModelFileError(f"block {min(self.unread)} belongs to no attribute. {AGAIN}")

    def _bytes(self, count: int, dtype: np.dtype) -> np.ndarray:
        """The next `count` numbers of the file."""
        array = np.empty(count, dtype)
        if self.file.readinto(array.view(np.uint8).data) != array.nbytes:
            raise ModelFileError(f"cut short while it was read. {AGAIN}")
        return checked(array)

    def _check_rows(self, entry: dict, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        """Refuse a block in rows whose line of the table contradicts itself."""
        width, rows, size = entry["width"], entry["rows"], math.prod(shape)
        fits = type(width) is type(rows) is int and width > 0 and rows >= 0 and dtype.kind in "biuf"
        if (
            not fits
            or size % width
            or rows * (8 + width * dtype.itemsize) != entry["length"]
            or rows > size // width
        ):
            raise ModelFileError(f"a block in rows does not fit its shape {shape}. {AGAIN}")
        if size * dtype.itemsize > _LARGEST:
            raise ModelFileError(
                f"an array of shape {shape} would take {size * dtype.itemsize} bytes. {AGAIN}"
            )

    def _in_rows(self, entry: dict, dtype: np.dtype, shape: tuple[int, ...], inspect) -> np.ndarray:
        """An array of zeros, filled at the stored rows."""
        width, rows, size = entry["width"], entry["rows"], math.prod(shape)
        numbers = self._bytes(rows, np.dtype("<i8"))
        if rows and (
            numbers[0] < 0 or numbers[-1] >= size // width or (numbers[1:] <= numbers[:-1]).any()
        ):
            raise ModelFileError(
                f"a block in rows holds row numbers out of order or range. {AGAIN}"
            )
        array = np.zeros(size, dtype)
        bits = array.view(f"<u{dtype.itemsize}").reshape(-1, width)
        if rows * width < size:
            inspect(native(np.zeros(1, dtype)))
        step = max(1, _PIECE // (width * dtype.itemsize))
        for first in range(0, rows, step):
            part = numbers[first : first + step]
            values = self._bytes(len(part) * width, dtype)
            inspect(native(values))
            bits[part] = values.view(bits.dtype).reshape(-1, width)
        return array
