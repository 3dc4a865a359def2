"""SciPy's npz files of a CSR matrix and its targets, read row by row inside the archive."""

import math
import os
import zipfile
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from tamis.data.options import ENTRY_BYTES, Options
from tamis.data.rows import Context, Misplaced, Position, ReadError, Rows, foreign, wild_rows
from tamis.data.streams import shown
from tamis.system.spelling import option

STORED = 1 << 20  # entries of a chunk, unless one row has more
LABEL_BYTES = 1 << 26  # of a chunk's targets, which may be a matrix
NUMBERS, WORDS = "fiub", "SU"  # kinds of arrays
_WAY_OUT = (
    "Save it by scipy.sparse.save_npz as CSR, or by numpy.savez with data, indices, indptr, shape "
    "and y."
)


class Member:
    """An array inside an archive, read from its beginning on."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        key: str,
        file: str,
        kinds: str,
        axes: tuple[int, ...] = (1,),
    ):
        self.file, self.key, self.taken = file, key, 0
        try:
            self.stream = archive.open(f"{key}.npy")
        except KeyError:
            held = [name.removesuffix(".npy")[:40] for name in sorted(archive.namelist())[:10]]
            raise ReadError(
                f"{file}: it holds no array {key!r}; it holds {', '.join(held)}. {_WAY_OUT}"
            ) from None
        # Later versions are for names of fields, and may say that they have 4 GB of them.
        if npy.read_magic(self.stream) != (1, 0):
            raise ReadError(
                f"{file}: its array {key!r} is of a later kind of npy than plain arrays need. "
                f"{_WAY_OUT}"
            )
        self.shape, fortran, self.dtype = npy.read_array_header_1_0(self.stream)
        if (
            self.dtype.kind not in kinds
            or len(self.shape) not in axes
            or (fortran and len(self.shape) > 1)
        ):
            wanted = "numbers" if "f" in kinds else "whole numbers"
            wanted = "numbers or words" if WORDS in kinds else wanted
            raise ReadError(
                f"{file}: its array {key!r} is of a kind that is not read ({str(self.dtype)[:40]}, "
                f"{len(self.shape)} axes); it must hold {wanted}. {_WAY_OUT}"
            )
        self.each = math.prod(self.shape[1:]) * self.dtype.itemsize  # bytes of a row

    def take(self, count: int) -> np.ndarray:
        """The next `count` rows of it."""
        raw = self.stream.read(count * self.each)
        if len(raw) != count * self.each:
            raise ReadError(
                f"{self.file}: its array {self.key!r} is cut short, after {self.taken} rows or "
                "later. Copy the file again."
            )
        self.taken += count
        if self.shape and self.taken == self.shape[0]:
            self.stream.read(1)  # the end is seen, and the checksum compared
        return np.frombuffer(raw, self.dtype).reshape(count, *self.shape[1:])


class ArraysReader:
    """Chunks of one archive after the other."""

    def __init__(self, options: Options, context: Context):
        self.options, self.context = options, context

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Chunks of an archive from a position on, each with the bytes read so far, by its rows."""
        with (
            foreign(f"{shown(name)}: it cannot be read as npz", _WAY_OUT),
            zipfile.ZipFile(name) as archive,
        ):
            size = os.path.getsize(name)
            for rows, share in self._chunks(archive, shown(name), position):
                yield rows, int(size * share)

    def _chunks(self, archive, name: str, position: Position) -> Iterator[tuple[Rows, float]]:
        shape = self._shape(archive, name)
        data, indices, pointers = (
            Member(archive, key, name, kinds)
            for key, kinds in (("data", NUMBERS), ("indices", "iu"), ("indptr", "iu"))
        )
        targets = self._targets(archive, name)
        if pointers.shape != (shape[0] + 1,):
            raise ReadError(
                f"{name}: indptr has {pointers.shape} entries for {shape[0]} rows. {_WAY_OUT}"
            )
        if targets is not None and (
            targets.shape[0] != shape[0] or targets.each > self.options.max_line_bytes
        ):
            raise ReadError(
                f"{name}: its targets are of shape {targets.shape} for {shape[0]} rows, "
                f"{targets.each:,} bytes each. {_WAY_OUT}"
            )
        last, done = int(pointers.take(1)[0]), 0
        if last:
            raise ReadError(f"{name}: indptr begins with {last}; it must begin with 0. {_WAY_OUT}")
        step = self.options.chunk_rows
        if targets is not None:
            step = max(1, min(step, LABEL_BYTES // max(targets.each, 1)))
        while done < shape[0]:
            ends = pointers.take(min(step, shape[0] - done)).astype(np.int64)
            if (np.diff(ends, prepend=last) < 0).any() or int(ends[-1]) > min(
                indices.shape[0], data.shape[0]
            ):
                raise ReadError(
                    f"{name}, rows {done + 1} to {done + len(ends)}: indptr falls, or points "
                    f"beyond the {indices.shape[0]} indices. {_WAY_OUT}"
                )
            while len(ends):
                count = max(1, int(np.searchsorted(ends, last + STORED, side="right")))
                part, ends, stored = ends[:count] - last, ends[count:], int(ends[count - 1]) - last
                self._bound(stored, name, done)
                values, columns = data.take(stored), indices.take(stored)
                labels = None if targets is None else targets.take(count)
                if done < position.offset < done + count:
                    raise Misplaced.row(name, position.offset)
                if done >= position.offset:
                    yield (
                        self._rows(values, columns, part, labels, shape, name, position, done),
                        (done + count) / shape[0],
                    )
                done, last = done + count, last + stored
        if done < position.offset:
            raise Misplaced.row(name, position.offset)

    def _bound(self, stored: int, name: str, done: int) -> None:
        """Refuse a row that would fill the memory."""
        most = self.options.max_line_bytes // ENTRY_BYTES
        if stored > max(most, STORED):
            raise ReadError(
                f"{name}, row {done + 1}: it has {stored:,} entries, more than the {most:,} of the "
                f"longest row. Pass {option('max_line_bytes', ENTRY_BYTES * stored)} if it shall "
                "be read."
            )

    def _rows(self, values, columns, ends, labels, shape, name, position, done) -> Rows:
        index = np.int64 if columns.dtype.itemsize == 8 and shape[1] > 2**31 - 1 else np.int32
        if len(columns) and (int(columns.min()) < 0 or int(columns.max()) >= shape[1]):
            raise ReadError(
                f"{name}, rows {done + 1} to {done + len(ends)}: a column is outside "
                f"0..{shape[1] - 1}. {_WAY_OUT}"
            )
        with np.errstate(over="ignore"):  # of wider numbers than 64 bits
            values = values.astype(np.float64)
        X = sp.csr_array(
            (values, columns.astype(index), np.concatenate(([0], ends)).astype(index)),
            shape=(len(ends), shape[1]),
        )
        X.sum_duplicates()
        X.eliminate_zeros()
        faults = dict.fromkeys(
            wild_rows(X),
            "a value, or the sum of those of one column, is nan or infinite; all numbers must be "
            "finite.",
        )
        if labels is not None:
            labels = self._labels(labels, name, done)
            if labels.dtype.kind == "f" and self.options.target is not False:
                faults |= dict.fromkeys(
                    np.flatnonzero(~np.isfinite(labels)),
                    "the target is nan or infinite; every row needs one.",
                )
        if faults:
            for row in sorted(faults):
                self.context.refuse(
                    f"{name}, row {done + row + 1}: {faults[row]} Replace it and save again."
                )
            bad = np.isin(np.arange(len(ends)), list(faults))
            self.context.skip_rows(bad)
            X, labels = X[~bad], None if labels is None else labels[~bad]
        if self.options.n_features and shape[1] > self.options.n_features:
            kept = X[:, : self.options.n_features]
            self.context.dropped, X = self.context.dropped + X.nnz - kept.nnz, kept
        elif self.options.n_features and shape[1] < self.options.n_features:
            X.resize((X.shape[0], self.options.n_features))
        self.context.width = max(self.context.width, X.shape[1])
        rows = done + len(ends)
        before = position.rows - position.offset
        return Rows(
            X,
            labels,
            done + 1,
            None,
            None,
            name,
            Position(position.file, rows, 1, before + rows, self.context.width),
            self.context.end_chunk(),
        )

    def _labels(self, labels, name: str, done: int):
        """Targets as numbers, words, or a CSR matrix of 0 and 1."""
        if labels.dtype.kind in WORDS:
            labels = labels.astype(str)
            "".join(
                labels.ravel().tolist()
            ).encode()  # code points that do not exist are found here, not when they are printed
        else:
            with np.errstate(over="ignore"):
                labels = labels.astype(np.float64)
        if labels.ndim == 1 or labels.shape[1] == 1:
            return labels.reshape(len(labels))
        if labels.dtype.kind != "f" or not ((labels == 0) | (labels == 1)).all():
            raise ReadError(
                f"{name}, rows {done + 1} to {done + len(labels)}: several targets a row must be 0 "
                f"or 1. {_WAY_OUT}"
            )
        return sp.csr_array(labels.astype(np.int8))

    def _shape(self, archive, name: str) -> tuple[int, int]:
        if "format.npy" in archive.namelist():
            kind = Member(archive, "format", name, WORDS, (0,))
            word = kind.stream.read(64).rstrip(b"\0").decode("utf-8", "replace").replace("\0", "")
            if word != "csr":
                raise ReadError(
                    f"{name}: the matrix is stored as {word!r}; only CSR can be read row by row. "
                    f"{_WAY_OUT}"
                )
        shape = Member(archive, "shape", name, "iu")
        if shape.shape != (2,):
            raise ReadError(f"{name}: its shape has {shape.shape} entries. {_WAY_OUT}")
        rows, columns = (int(v) for v in shape.take(2))
        if rows < 0 or columns < 1:
            raise ReadError(f"{name}: its shape is {rows} x {columns}. {_WAY_OUT}")
        return rows, columns

    def _targets(self, archive, name: str) -> Member | None:
        key = self.options.target or "y"
        if self.options.target is False and "y.npy" not in archive.namelist():
            return None
        return Member(archive, str(key), name, NUMBERS + WORDS, (1, 2))
