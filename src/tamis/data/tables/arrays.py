"""Read npz archives of a CSR matrix and its targets, row by row inside the archive."""

import math
import os
import zipfile
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from tamis.data.options import ENTRY_BYTES, Options
from tamis.data.rows import (
    Position,
    PositionError,
    ReadError,
    ReaderState,
    Rows,
    convert_errors,
    nonfinite_rows,
)
from tamis.data.streams import display_name
from tamis.system.spelling import format_option

CHUNK_ENTRIES = 1 << 20  # entries of a chunk, unless a single row has more
LABEL_BYTES = 1 << 26  # targets of a chunk, which may be a matrix
NUMERIC_KINDS, STRING_KINDS = "fiub", "SU"  # kinds of NumPy's dtypes
_ADVICE = (
    "Save it by scipy.sparse.save_npz as CSR, or by numpy.savez with data, indices, indptr, shape "
    "and y."
)


class ArchiveArray:
    """Array in an archive, read from its beginning on."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        key: str,
        file: str,
        dtype_kinds: str,
        allowed_ndim: tuple[int, ...] = (1,),
    ):
        self.file, self.key, self.n_read = file, key, 0
        try:
            self.stream = archive.open(f"{key}.npy")
        except KeyError:
            array_names = [
                name.removesuffix(".npy")[:40] for name in sorted(archive.namelist())[:10]
            ]
            raise ReadError(
                f"{file}: it holds no array {key!r}; it holds {', '.join(array_names)}. {_ADVICE}"
            ) from None
        # Later versions exist for field names, and their header may claim 4 GB of these.
        if npy.read_magic(self.stream) != (1, 0):
            raise ReadError(
                f"{file}: its array {key!r} is of a later kind of npy than plain arrays need. "
                f"{_ADVICE}"
            )
        self.shape, fortran, self.dtype = npy.read_array_header_1_0(self.stream)
        if (
            self.dtype.kind not in dtype_kinds
            or len(self.shape) not in allowed_ndim
            or (fortran and len(self.shape) > 1)
        ):
            expected = "numbers" if "f" in dtype_kinds else "whole numbers"
            expected = "numbers or words" if STRING_KINDS in dtype_kinds else expected
            raise ReadError(
                f"{file}: its array {key!r} is of a kind that is not read ({str(self.dtype)[:40]}, "
                f"{len(self.shape)} axes); it must hold {expected}. {_ADVICE}"
            )
        self.row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize  # bytes of a row

    def read_rows(self, count: int) -> np.ndarray:
        """Return the next `count` rows."""
        data = self.stream.read(count * self.row_bytes)
        if len(data) != count * self.row_bytes:
            raise ReadError(
                f"{self.file}: its array {self.key!r} is cut short, after {self.n_read} rows or "
                "later. Copy the file again."
            )
        self.n_read += count
        if self.shape and self.n_read == self.shape[0]:
            self.stream.read(1)  # reaching the end compares the checksum
        return np.frombuffer(data, self.dtype).reshape(count, *self.shape[1:])


class ArraysReader:
    """Reader of chunks of npz archives."""

    def __init__(self, options: Options, state: ReaderState):
        self.options, self.state = options, state

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Yield chunks of an archive from a position on, each with the bytes read, estimated by its
        rows.
        """
        with (
            convert_errors(f"{display_name(name)}: it cannot be read as npz", _ADVICE),
            zipfile.ZipFile(name) as archive,
        ):
            file_bytes = os.path.getsize(name)
            for rows, fraction in self._chunks(archive, display_name(name), position):
                yield rows, int(file_bytes * fraction)

    def _chunks(self, archive, name: str, position: Position) -> Iterator[tuple[Rows, float]]:
        shape = self._shape(archive, name)
        data, indices, indptr = (
            ArchiveArray(archive, key, name, kinds)
            for key, kinds in (("data", NUMERIC_KINDS), ("indices", "iu"), ("indptr", "iu"))
        )
        targets = self._targets(archive, name)
        if indptr.shape != (shape[0] + 1,):
            raise ReadError(
                f"{name}: indptr has {indptr.shape} entries for {shape[0]} rows. {_ADVICE}"
            )
        if targets is not None and (
            targets.shape[0] != shape[0] or targets.row_bytes > self.options.max_line_bytes
        ):
            raise ReadError(
                f"{name}: its targets are of shape {targets.shape} for {shape[0]} rows, "
                f"{targets.row_bytes:,} bytes each. {_ADVICE}"
            )
        entries_read, rows_read = int(indptr.read_rows(1)[0]), 0
        if entries_read:
            raise ReadError(
                f"{name}: indptr begins with {entries_read}; it must begin with 0. {_ADVICE}"
            )
        max_rows = self.options.chunk_rows
        if targets is not None:
            max_rows = max(1, min(max_rows, LABEL_BYTES // max(targets.row_bytes, 1)))
        while rows_read < shape[0]:
            ends = indptr.read_rows(min(max_rows, shape[0] - rows_read)).astype(np.int64)
            if (np.diff(ends, prepend=entries_read) < 0).any() or int(ends[-1]) > min(
                indices.shape[0], data.shape[0]
            ):
                raise ReadError(
                    f"{name}, rows {rows_read + 1} to {rows_read + len(ends)}: indptr falls, or "
                    f"points beyond the {indices.shape[0]} indices. {_ADVICE}"
                )
            while len(ends):
                count = max(
                    1, int(np.searchsorted(ends, entries_read + CHUNK_ENTRIES, side="right"))
                )
                n_entries = int(ends[count - 1]) - entries_read
                chunk_ends, ends = ends[:count] - entries_read, ends[count:]
                self._check_row_size(n_entries, name, rows_read)
                values, columns = data.read_rows(n_entries), indices.read_rows(n_entries)
                labels = None if targets is None else targets.read_rows(count)
                if rows_read < position.offset < rows_read + count:
                    raise PositionError.for_row(name, position.offset)
                if rows_read >= position.offset:
                    yield (
                        self._rows(
                            values, columns, chunk_ends, labels, shape, name, position, rows_read
                        ),
                        (rows_read + count) / shape[0],
                    )
                rows_read, entries_read = rows_read + count, entries_read + n_entries
        if rows_read < position.offset:
            raise PositionError.for_row(name, position.offset)

    def _check_row_size(self, n_entries: int, name: str, rows_read: int) -> None:
        """Refuse a row that would fill the memory."""
        max_entries = self.options.max_line_bytes // ENTRY_BYTES
        if n_entries > max(max_entries, CHUNK_ENTRIES):
            raise ReadError(
                f"{name}, row {rows_read + 1}: it has {n_entries:,} entries, more than the "
                f"{max_entries:,} of the longest row. Pass "
                f"{format_option('max_line_bytes', ENTRY_BYTES * n_entries)} if it shall be read."
            )

    def _rows(self, values, columns, ends, labels, shape, name, position, rows_read) -> Rows:
        index_type = np.int64 if columns.dtype.itemsize == 8 and shape[1] > 2**31 - 1 else np.int32
        if len(columns) and (int(columns.min()) < 0 or int(columns.max()) >= shape[1]):
            raise ReadError(
                f"{name}, rows {rows_read + 1} to {rows_read + len(ends)}: a column is outside "
                f"0..{shape[1] - 1}. {_ADVICE}"
            )
        with np.errstate(over="ignore"):  # longdouble may exceed float64
            values = values.astype(np.float64)
        X = sp.csr_array(
            (values, columns.astype(index_type), np.concatenate(([0], ends)).astype(index_type)),
            shape=(len(ends), shape[1]),
        )
        X.sum_duplicates()
        X.eliminate_zeros()
        errors = dict.fromkeys(
            nonfinite_rows(X),
            "a value, or the sum of those of one column, is nan or infinite; all numbers must be "
            "finite.",
        )
        if labels is not None:
            labels = self._labels(labels, name, rows_read)
            if labels.dtype.kind == "f" and self.options.target is not False:
                errors |= dict.fromkeys(
                    np.flatnonzero(~np.isfinite(labels)),
                    "the target is nan or infinite; every row needs one.",
                )
        if errors:
            for row in sorted(errors):
                self.state.refuse(
                    f"{name}, row {rows_read + row + 1}: {errors[row]} Replace it and save again."
                )
            is_bad = np.isin(np.arange(len(ends)), list(errors))
            self.state.skip_rows(is_bad)
            X, labels = X[~is_bad], None if labels is None else labels[~is_bad]
        if self.options.n_features and shape[1] > self.options.n_features:
            known_columns = X[:, : self.options.n_features]
            self.state.dropped, X = self.state.dropped + X.nnz - known_columns.nnz, known_columns
        elif self.options.n_features and shape[1] < self.options.n_features:
            X.resize((X.shape[0], self.options.n_features))
        self.state.width = max(self.state.width, X.shape[1])
        row_end = rows_read + len(ends)
        rows_before = position.rows - position.offset
        return Rows(
            X,
            labels,
            rows_read + 1,
            None,
            None,
            name,
            Position(position.file, row_end, 1, rows_before + row_end, self.state.width),
            self.state.end_chunk(),
        )

    def _labels(self, labels, name: str, rows_read: int):
        """Return targets as numbers, words, or a CSR matrix of 0 and 1."""
        if labels.dtype.kind in STRING_KINDS:
            labels = labels.astype(str)
            "".join(labels.ravel().tolist()).encode()  # fails for code points that do not exist
        else:
            with np.errstate(over="ignore"):
                labels = labels.astype(np.float64)
        if labels.ndim == 1 or labels.shape[1] == 1:
            return labels.reshape(len(labels))
        if labels.dtype.kind != "f" or not ((labels == 0) | (labels == 1)).all():
            raise ReadError(
                f"{name}, rows {rows_read + 1} to {rows_read + len(labels)}: several targets a "
                f"row must be 0 or 1. {_ADVICE}"
            )
        return sp.csr_array(labels.astype(np.int8))

    def _shape(self, archive, name: str) -> tuple[int, int]:
        if "format.npy" in archive.namelist():
            array = ArchiveArray(archive, "format", name, STRING_KINDS, (0,))
            word = array.stream.read(64).rstrip(b"\0").decode("utf-8", "replace").replace("\0", "")
            if word != "csr":
                raise ReadError(
                    f"{name}: the matrix is stored as {word!r}; only CSR can be read row by row. "
                    f"{_ADVICE}"
                )
        shape = ArchiveArray(archive, "shape", name, "iu")
        if shape.shape != (2,):
            raise ReadError(f"{name}: its shape has {shape.shape} entries. {_ADVICE}")
        rows, columns = (int(v) for v in shape.read_rows(2))
        if rows < 0 or columns < 1:
            raise ReadError(f"{name}: its shape is {rows} x {columns}. {_ADVICE}")
        return rows, columns

    def _targets(self, archive, name: str) -> ArchiveArray | None:
        key = self.options.target or "y"
        if self.options.target is False and "y.npy" not in archive.namelist():
            return None
        return ArchiveArray(archive, str(key), name, NUMERIC_KINDS + STRING_KINDS, (1, 2))
