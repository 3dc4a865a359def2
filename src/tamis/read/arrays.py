"""SciPy's npz files of a CSR matrix, with the targets beside it: read row by row from inside the archive, never whole."""

import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from tamis.read.options import Options
from tamis.read.rows import Context, Misplaced, Position, ReadError, Rows
from tamis.read.streams import shown

# What zipfile and NumPy raise on damaged archives, encrypted ones and odd headers.
_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError)
BROKEN = (*_ZIP, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, SyntaxError)
_WAY_OUT = "Save it by scipy.sparse.save_npz as CSR, or by numpy.savez with data, indices, indptr, shape and y."


class Member:
    """An array inside an archive, read from its beginning on."""

    def __init__(self, archive: zipfile.ZipFile, key: str, file: str):
        self.file, self.key = file, key
        try:
            self.stream = archive.open(f"{key}.npy")
        except KeyError:
            raise ReadError(
                f"{file}: it holds no array {key!r}; it holds {', '.join(sorted(n.removesuffix('.npy') for n in archive.namelist()))}. {_WAY_OUT}"
            ) from None
        version = npy.read_magic(self.stream)
        shape, fortran, self.dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(self.stream)
        if self.dtype.hasobject or (fortran and len(shape) > 1):
            raise ReadError(f"{file}: its array {key!r} is of a kind that is not read ({self.dtype}). {_WAY_OUT}")
        self.shape = shape

    def take(self, count: int) -> np.ndarray:
        """The next `count` rows of it."""
        each = math.prod(self.shape[1:]) * self.dtype.itemsize
        raw = self.stream.read(count * each)
        if len(raw) != count * each:
            raise ReadError(f"{self.file}: its array {self.key!r} is cut short. Copy the file again.")
        return np.frombuffer(raw, self.dtype).reshape(count, *self.shape[1:])


class ArraysReader:
    """Chunks of one archive after the other."""

    def __init__(self, options: Options, context: Context):
        self.options, self.context = options, context

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Chunks of an archive from a position on, each with the bytes that have been read, by its rows."""
        try:
            with zipfile.ZipFile(name) as archive:
                size = os.path.getsize(name)
                for rows, share in self._chunks(archive, shown(name), position):
                    yield rows, int(size * share)
        except BROKEN as error:
            if isinstance(error, ReadError):
                raise
            raise ReadError(f"{shown(name)}: it cannot be read as npz ({error or type(error).__name__}). {_WAY_OUT}") from error

    def _chunks(self, archive, name: str, position: Position) -> Iterator[tuple[Rows, float]]:
        shape = self._shape(archive, name)
        data, indices, pointers = (Member(archive, key, name) for key in ("data", "indices", "indptr"))
        targets = self._targets(archive, name)
        if pointers.shape != (shape[0] + 1,) or pointers.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
            raise ReadError(f"{name}: indptr has {pointers.shape} entries for {shape[0]} rows, or is of the wrong type. {_WAY_OUT}")
        last, done, step = int(pointers.take(1)[0]), 0, self.options.chunk_rows
        while done < shape[0]:
            count = min(step, shape[0] - done)
            if done < position.offset < done + count:
                raise Misplaced.row(name, position.offset)
            ends = pointers.take(count).astype(np.int64)
            sizes = np.diff(ends, prepend=last)
            if last < 0 or (sizes < 0).any() or int(ends[-1]) > indices.shape[0] or int(ends[-1]) > data.shape[0]:
                raise ReadError(
                    f"{name}, rows {done + 1} to {done + count}: indptr falls, or points beyond the {indices.shape[0]} indices. {_WAY_OUT}"
                )
            stored = int(ends[-1]) - last
            values, columns = data.take(stored), indices.take(stored)
            labels = None if targets is None else targets.take(count)
            if done >= position.offset:
                yield self._rows(values, columns, ends - last, labels, shape, name, position, done, last), (done + count) / shape[0]
            done, last = done + count, int(ends[-1])
        if done < position.offset:
            raise Misplaced.row(name, position.offset)

    def _rows(self, values, columns, ends, labels, shape, name, position, done, last) -> Rows:
        index = np.int64 if columns.dtype.itemsize == 8 and shape[1] > 2**31 - 1 else np.int32
        where = f"{name}, rows {done + 1} to {done + len(ends)}"
        if len(columns) and (int(columns.min()) < 0 or int(columns.max()) >= shape[1]):
            raise ReadError(f"{where}: a column is outside 0..{shape[1] - 1}. {_WAY_OUT}")
        if values.dtype.kind not in "fiub":
            raise ReadError(f"{where}: the values are of type {values.dtype}, which is no number. {_WAY_OUT}")
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            raise ReadError(f"{where}: a value is nan or infinite; all numbers must be finite. Replace it and save again.")
        X = sp.csr_array((values, columns.astype(index), np.concatenate(([0], ends)).astype(index)), shape=(len(ends), shape[1]))
        X.sum_duplicates()
        X.eliminate_zeros()
        if self.options.n_features and shape[1] > self.options.n_features:
            kept = X[:, : self.options.n_features]
            self.context.dropped, X = self.context.dropped + X.nnz - kept.nnz, kept
        elif self.options.n_features and shape[1] < self.options.n_features:
            X.resize((X.shape[0], self.options.n_features))
        self.context.width = max(self.context.width, X.shape[1])
        if labels is not None:
            labels = labels.astype(np.float64 if labels.dtype.kind in "fiub" else str)
            if labels.dtype.kind == "f" and not np.isfinite(labels).all() and self.options.target is not False:
                raise ReadError(f"{where}: a target is nan or infinite; every row needs one. Replace it and save again.")
            if labels.ndim > 1:
                labels = labels[:, 0] if labels.shape[1] == 1 else sp.csr_array(labels.astype(np.int8))
        rows = done + len(ends)
        before = position.rows - position.offset
        return Rows(X, labels, done + 1, None, None, name, Position(position.file, rows, 1, before + rows, self.context.width))

    def _shape(self, archive, name: str) -> tuple[int, int]:
        if "format.npy" in archive.namelist():
            kind = Member(archive, "format", name)
            word = kind.stream.read().rstrip(b"\0").decode("utf-8", "replace").replace("\0", "")
            if word != "csr":
                raise ReadError(f"{name}: the matrix is stored as {word!r}; only CSR can be read row by row. {_WAY_OUT}")
        shape = Member(archive, "shape", name)
        if shape.shape != (2,):
            raise ReadError(f"{name}: its shape has {shape.shape} entries. {_WAY_OUT}")
        rows, columns = (int(v) for v in shape.take(2))
        if rows < 0 or columns < 1:
            raise ReadError(f"{name}: its shape is {rows} x {columns}. {_WAY_OUT}")
        return rows, columns

    def _targets(self, archive, name: str) -> Member | None:
        key = self.options.target or "y"
        if self.options.target is False:
            return Member(archive, "y", name) if "y.npy" in archive.namelist() else None
        return Member(archive, str(key), name)
