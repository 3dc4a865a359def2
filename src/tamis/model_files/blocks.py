"""Arrays as blocks of bytes: dense, or only the rows that are not all zero bits.

A block "in rows" splits the flattened array into rows of `width` numbers and stores the indices of
the nonzero rows (int64), then these rows. The width is the number of entries along all axes but the
first (the state of a learner) or 1 (`coef_`, one long row).
"""

import functools
import math
import re
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

import numpy as np

from tamis.model_files.container import RESAVE_ADVICE, ModelFileError
from tamis.system.schema import LazyArray

_CHUNK_BYTES = 1 << 20  # in memory at once
# Of an array stored in rows, whose file can be small: the size of the file is no bound.
_MAX_ARRAY_BYTES = 1 << 40
_DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)|<U[1-9]\d{0,8}|\|S[1-9]\d{0,8}")


def stored_dtype(dtype: np.dtype) -> str | None:
    """Return the name of a dtype in the format, little-endian, or None if it has none."""
    name = dtype.newbyteorder("<").str
    return name if _DTYPE.fullmatch(name) else None


def read_dtype(name: object) -> np.dtype:
    """Return the dtype of that name, from a closed set."""
    if not (isinstance(name, str) and _DTYPE.fullmatch(name)):
        raise ModelFileError(
            f"the header names the dtype {name!r}, which this format does not have. {RESAVE_ADVICE}"
        )
    return np.dtype(name)


def read_shape(shape: object) -> tuple[int, ...]:
    """Return a shape whose sizes are nonnegative integers, or raise."""
    if not (
        isinstance(shape, list)
        and len(shape) <= 32
        and all(type(n) is int and 0 <= n < 1 << 62 for n in shape)
    ):
        raise ModelFileError(
            f"the header holds an impossible shape, {str(shape)[:60]}. {RESAVE_ADVICE}"
        )
    return tuple(shape)


def check_bits(array: np.ndarray) -> np.ndarray:
    """Return the array, or raise if some of its bits are no value of its dtype."""
    if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise ModelFileError(f"a bool is neither 0 nor 1. {RESAVE_ADVICE}")
    if array.dtype.kind == "U" and array.view("<u4").max(initial=0) > 0x10FFFF:
        raise ModelFileError(f"a text holds numbers that are no characters. {RESAVE_ADVICE}")
    return array


def to_native(array: np.ndarray) -> np.ndarray:
    """Return the array in the byte order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


class Block:
    """An array to write: its layout in the file, and its bytes in chunks."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.dtype = np.dtype(stored_dtype(array.dtype))
        # `flat` iterates in C order for any strides, without a copy of the array.
        self.flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
        self.length, self.width, self.rows = array.size * array.itemsize, 0, 0
        for width in self._widths():
            rows = sum(len(row_numbers) for row_numbers, _ in self._nonzero_rows(width))
            length = rows * (8 + width * array.itemsize)
            if length < self.length:
                self.length, self.width, self.rows = length, width, rows

    def _widths(self) -> list[int]:
        """Return the widths of rows to try."""
        if self.array.dtype.kind not in "biuf" or not self.array.size:
            return []
        row = math.prod(self.array.shape[1:])
        return [1] if row == 1 or row * self.array.itemsize > _CHUNK_BYTES else [row, 1]

    def _row_chunks(self, width: int):
        """Yield the flattened array in chunks of complete rows, each with the index of its first
        row.
        """
        step = max(1, _CHUNK_BYTES // (width * self.array.itemsize)) * width
        for start in range(0, self.array.size, step):
            yield start // width, np.asarray(self.flat[start : start + step], dtype=self.dtype)

    def _nonzero_rows(self, width: int):
        """Yield the indices of the rows that are not all zero bits (-0.0 is not), and the rows, in
        chunks.
        """
        for first, chunk in self._row_chunks(width):
            bits = chunk.view(f"<u{chunk.itemsize}").reshape(-1, width)
            # any(axis=1) takes several times as long where most entries are zero.
            positions = np.flatnonzero(bits) // width
            nonzero_rows = positions[np.diff(positions, prepend=-1) != 0]
            yield first + nonzero_rows, bits[nonzero_rows]

    def table_entry(self, offset: int) -> dict:
        """Return the entry of the header's table of blocks."""
        entry = {
            "offset": offset,
            "length": self.length,
            "dtype": self.dtype.str,
            "shape": list(self.array.shape),
        }
        return entry | ({"width": self.width, "rows": self.rows} if self.width else {})

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes in chunks."""
        if not self.width:
            for _, chunk in self._row_chunks(1):
                yield chunk.tobytes()
            return
        for row_numbers, _ in self._nonzero_rows(self.width):
            yield row_numbers.astype("<i8").tobytes()
        for _, rows in self._nonzero_rows(self.width):
            yield rows.tobytes()


class Blocks:
    """The blocks of a file. They fill it without gap or overlap, and each is read once."""

    def __init__(self, file: BufferedReader, table: object, start: int, end: int):
        if not isinstance(table, list):
            raise ModelFileError(f"the header has no table of blocks. {RESAVE_ADVICE}")
        self.file, self.table, self.start = file, table, start
        self.unread = set(range(len(table)))
        offset = 0
        for entry in table:
            length = entry["length"]
            if not (type(length) is int and length >= 0 and entry["offset"] == offset):
                raise ModelFileError(
                    f"the table of blocks has gaps or overlaps at byte {offset}. {RESAVE_ADVICE}"
                )
            offset += length
        if start + offset != end:
            raise ModelFileError(
                f"the table of blocks holds {offset} bytes, the file {end - start}. {RESAVE_ADVICE}"
            )

    def lazy_array(self, number: Any) -> LazyArray:
        """Return the array of a block without reading it; the table gives its dtype and shape."""
        if number not in self.unread:
            raise ModelFileError(
                f"block {number!r} does not exist or is used twice. {RESAVE_ADVICE}"
            )
        entry = self.table[number]
        dtype, shape = read_dtype(entry["dtype"]), read_shape(entry["shape"])
        if "width" in entry:
            self._check_rows(entry, dtype, shape)
        elif math.prod(shape) * dtype.itemsize != entry["length"]:
            raise ModelFileError(
                f"block {number} has {entry['length']} bytes, which shape {shape} of {dtype} does "
                f"not fill. {RESAVE_ADVICE}"
            )
        zeros = math.prod(shape) - entry["rows"] * entry["width"] if "width" in entry else 0
        return LazyArray(
            dtype.newbyteorder("="),
            shape,
            zeros,
            functools.partial(self._read, number, dtype, shape),
        )

    def _read(self, number: int, dtype: np.dtype, shape: tuple[int, ...], inspect) -> np.ndarray:
        """Read the array. `inspect` is called with all its numbers; zeros that are not stored count
        as one.
        """
        if number not in self.unread:
            raise ModelFileError(
                f"block {number!r} does not exist or is used twice. {RESAVE_ADVICE}"
            )
        self.unread.remove(number)
        entry = self.table[number]
        self.file.seek(self.start + entry["offset"])
        if "width" in entry:
            return to_native(self._read_rows(entry, dtype, shape, inspect)).reshape(shape)
        array = to_native(self._read_numbers(math.prod(shape), dtype))
        step = max(1, _CHUNK_BYTES // dtype.itemsize)
        for first in range(0, len(array), step):
            inspect(array[first : first + step])
        return array.reshape(shape)

    def check_all_read(self) -> None:
        """Raise for blocks that no value refers to."""
        if self.unread:
            raise ModelFileError(
                f"block {min(self.unread)} belongs to no attribute. {RESAVE_ADVICE}"
            )

    def _read_numbers(self, count: int, dtype: np.dtype) -> np.ndarray:
        """Return the next `count` numbers of the file."""
        array = np.empty(count, dtype)
        if self.file.readinto(array.view(np.uint8).data) != array.nbytes:
            raise ModelFileError(f"cut short while it was read. {RESAVE_ADVICE}")
        return check_bits(array)

    def _check_rows(self, entry: dict, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        """Raise for a block in rows whose table entry contradicts itself."""
        width, rows, size = entry["width"], entry["rows"], math.prod(shape)
        is_valid = (
            type(width) is type(rows) is int and width > 0 and rows >= 0 and dtype.kind in "biuf"
        )
        if (
            not is_valid
            or size % width
            or rows * (8 + width * dtype.itemsize) != entry["length"]
            or rows > size // width
        ):
            raise ModelFileError(f"a block in rows does not fit its shape {shape}. {RESAVE_ADVICE}")
        if size * dtype.itemsize > _MAX_ARRAY_BYTES:
            raise ModelFileError(
                f"an array of shape {shape} would take {size * dtype.itemsize} bytes. "
                f"{RESAVE_ADVICE}"
            )

    def _read_rows(
        self, entry: dict, dtype: np.dtype, shape: tuple[int, ...], inspect
    ) -> np.ndarray:
        """Return an array of zeros, filled at the stored rows."""
        width, rows, size = entry["width"], entry["rows"], math.prod(shape)
        row_numbers = self._read_numbers(rows, np.dtype("<i8"))
        if rows and (
            row_numbers[0] < 0
            or row_numbers[-1] >= size // width
            or (row_numbers[1:] <= row_numbers[:-1]).any()
        ):
            raise ModelFileError(
                f"a block in rows holds row numbers out of order or range. {RESAVE_ADVICE}"
            )
        array = np.zeros(size, dtype)
        bits = array.view(f"<u{dtype.itemsize}").reshape(-1, width)
        if rows * width < size:
            inspect(to_native(np.zeros(1, dtype)))
        step = max(1, _CHUNK_BYTES // (width * dtype.itemsize))
        for first in range(0, rows, step):
            chunk_rows = row_numbers[first : first + step]
            values = self._read_numbers(len(chunk_rows) * width, dtype)
            inspect(to_native(values))
            bits[chunk_rows] = values.view(bits.dtype).reshape(-1, width)
        return array
