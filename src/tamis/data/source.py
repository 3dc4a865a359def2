"""`RowSource`: files that can be read repeatedly, chunk by chunk."""

import copy
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tamis.data.options import Options
from tamis.data.read_ahead import read_ahead
from tamis.data.rows import (
    Labels,
    Position,
    ReadError,
    ReaderState,
    Rows,
    SkippedLines,
    ZeroBasedError,
)
from tamis.data.streams import STANDARD_INPUT, STDIN, display_name, fingerprint
from tamis.data.survey import RowObserver, Survey

if TYPE_CHECKING:
    from tamis.data.columns.profile import Profile
    from tamis.data.tables.layout import Layout


MIN_DUPLICATE_FRACTION = 0.01  # fraction of duplicate rows that a note reports
MAX_CACHED_BYTES = 1 << 24  # chunks of a survey that stay in memory for all later readings
Chunk = tuple[
    Rows | None, ReaderState, int
]  # rows, state of their reader, bytes of the files so far


class RowSource:
    """Rows of one or several files, made by `open_rows`; iterable any number of times.

    Each chunk is a tuple with `X` (CSR), `targets` and `first_line`, and `weights` and `queries` if
    the file has them. `files` are the names, in the order of reading; `bad` has the lines that the
    last reading skipped: their `count`, and messages about the `first` ten.

    See Also
    --------
    open_rows : Makes one.
    train : Trains a model from one.
    """

    def __init__(self, files: list[str], options: Options, layout: "Layout | None" = None):
        self.files, self.options, self.layout = files, options, layout
        self.base = {"auto": None, True: 0, False: 1}[options.zero_based]
        self.several = None if options.multilabel == "auto" else bool(options.multilabel)
        self.labels: list | None = None  # of a source with several labels a row
        self.survey_result: Survey | None = None
        self.profile: Profile | None = None  # of a table that was read before the first chunk
        self.layout_notes: list[str] = []  # decisions about its columns
        self.temporary_folder: Any = None  # holds copies of remote files
        self.bad, self.dropped, self.done = SkippedLines(), 0, 0
        self.unseen: dict[str, np.ndarray] = {}
        self.skipped_last = 0  # number of bad lines after the last chunk
        self.chunks: list[Chunk] | None = None  # all chunks if a survey has left them in memory
        self.total = sum(os.path.getsize(name) for name in files if name != STDIN)

    @property
    def format(self) -> str:
        """Format of the files."""
        return self.options.format

    @property
    def n_features(self) -> int | None:
        """Number of columns if it is known."""
        if self.layout is not None:
            return self.layout.width
        return self.options.columns

    @property
    def names(self) -> list[str] | None:
        """Names of the columns if the files have them."""
        return None if self.layout is None else self.layout.names()

    @property
    def notes(self) -> list[str]:
        """Decisions about the files, for the user."""
        notes = list(self.layout_notes)
        if (
            self.format == "svmlight"
            and self.options.zero_based == "auto"
            and self.base is not None
        ):
            notes.append(f"columns count from {self.base} in this file")
        if self.several and self.options.multilabel == "auto":
            notes.append("rows have several labels")
        if (
            self.survey_result is not None
            and self.survey_result.n_duplicate_rows
            >= MIN_DUPLICATE_FRACTION * self.survey_result.rows
        ):
            notes.append(
                f"{self.survey_result.n_duplicate_rows:,} of {self.survey_result.rows:,} rows "
                "equal an "
                "earlier one: a held-out row may have a duplicate among the training rows, so "
                "that errors look smaller than on new rows"
            )
        if self.dropped:
            notes.append(
                f"{self.dropped:,} entries of columns that the model does not know were left out"
            )
        if self.layout is not None and (note := self.layout.unseen_levels_note(self.unseen)):
            notes.append(note)
        return notes

    # ------------------------------------------------------------------ reading
    def __iter__(self) -> Iterator[Rows]:
        return self.read()

    def read(self, position: Position | None = None) -> Iterator[Rows]:
        """Yield chunks from a position on, which is the `position` of an earlier chunk.

        The next chunks are read ahead.
        """
        if self.several and self.labels is None:
            self.survey()
        self._detect_base()
        is_empty = True
        for rows, state, bytes_read in self._chunks_from(position):
            self.base, self.bad, self.dropped = state.base, state.bad, state.dropped
            self.unseen, self.skipped_last = state.unseen, len(state.skipped or ())
            if rows is None:
                continue
            self.done, is_empty = bytes_read, False
            if self.several is None:
                self.several = state.several
                if self.several:
                    self.survey()
            yield rows._replace(
                X=self._pad_columns(rows.X), targets=self._label_matrix(rows.targets)
            )
        if is_empty and position is None:
            raise self._no_rows_error()

    def _chunks_from(self, position: Position | None = None) -> Iterator[Chunk]:
        """Yield chunks from a position on, read ahead, or those that a survey has left in memory.

        If these are larger than MAX_CACHED_BYTES they are released one by one, and the next reading
        opens the files.
        """
        if self.chunks is None or position is not None:
            return read_ahead(lambda: self._chunks(position or Position()))
        if sum(memory_bytes(rows) for rows, *_ in self.chunks) <= MAX_CACHED_BYTES:
            return map(copy.deepcopy, self.chunks)  # a reader may change its chunk
        chunks, self.chunks = deque(self.chunks), None
        return iter(lambda: chunks.popleft() if chunks else None, None)

    def _no_rows_error(self) -> ReadError:
        """Return the error for files without rows, or without a good one."""
        if self.bad.count:
            raise ReadError(
                f"{', '.join(map(display_name, self.files))}: no row is left, since "
                f"{self.bad.count:,} were bad, the first: {self.bad.first[0]}"
            )
        return ReadError(
            f"{', '.join(map(display_name, self.files))}: no rows; the file is empty, or holds "
            "comments alone. Check the name."
        )

    def _detect_base(self) -> None:
        """Detect by the first chunk of every file whether columns count from 0.

        Otherwise a file without column 0 would be read from 1, and the next one from 0.
        """
        if self.format != "svmlight" or self.base is not None or len(self.files) < 2:
            return
        for name in self.files:
            state = ReaderState(skip=True)
            if name != STDIN:
                with closing(self._reader(state).read(name, Position())) as chunks:
                    next(chunks, None)
            if state.base == 0:
                self.base = 0
                return

    def _chunks(self, position: Position) -> Iterator[Chunk]:
        """Yield (rows, reader state, bytes read) of file after file; last (None, state, bytes)."""
        skip = self.options.on_bad == "skip"
        state = ReaderState(skip, SkippedLines(), position.width, self.base, self.several)
        state.skipped = [] if self.options.drop else None
        reader = self._reader(state)
        bytes_before = sum(
            os.path.getsize(name) for name in self.files[: position.file] if name != STDIN
        )
        for file_index in range(position.file, len(self.files)):
            name = self.files[file_index]
            start = position
            if file_index != position.file:
                start = Position(file_index, 0, 1, position.rows, position.width)
            for rows, file_bytes_read in reader.read(name, start):
                position = rows.position
                bad = SkippedLines(state.bad.count, list(state.bad.first))
                yield rows, replace(state, bad=bad), bytes_before + file_bytes_read
            bytes_before += 0 if name == STDIN else os.path.getsize(name)
            position = Position(file_index + 1, 0, 1, position.rows, state.width)
        yield None, state, bytes_before

    def _reader(self, state: ReaderState) -> Any:
        """Return a reader of the format."""
        if self.format == "svmlight":
            from tamis.data.text.svmlight import SvmlightReader

            return SvmlightReader(self.options, state)
        if self.format == "vw":
            from tamis.data.text.vowpal import VowpalReader

            return VowpalReader(self.options, state)
        if self.format == "npz":
            from tamis.data.tables.arrays import ArraysReader

            return ArraysReader(self.options, state)
        if self.layout is None:
            raise TypeError(f"a table ({self.format}) needs a layout of its columns.")
        if self.format in ("csv", "tsv"):
            from tamis.data.tables.csv import CsvReader

            return CsvReader(self.options, state, self.layout)
        from tamis.data.tables.arrow import ArrowReader

        return ArrowReader(self.options, state, self.layout)

    def _pad_columns(self, X: sp.csr_array) -> sp.csr_array:
        """Return a chunk with all known columns; a survey learns their number chunk by chunk."""
        width = self.n_features
        if width is None or X.shape[1] >= width:
            return X
        return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))

    def _label_matrix(self, targets: Any) -> Any:
        """Return several labels a row as a matrix of 0 and 1, one column for each of `labels`."""
        if not isinstance(targets, Labels) or self.labels is None:
            return targets
        columns = np.searchsorted(self.labels, targets.values)
        is_known = np.take(self.labels, np.minimum(columns, len(self.labels) - 1)) == targets.values
        ends = np.concatenate(([0], np.cumsum(is_known)))[targets.ends]
        shape = (len(targets.ends) - 1, len(self.labels))
        matrix = sp.csr_array(
            (np.ones(int(is_known.sum()), np.int8), columns[is_known], ends), shape=shape
        )
        matrix.sum_duplicates()
        matrix.data[:] = 1
        return matrix

    # ------------------------------------------------------------------ survey
    def survey(
        self,
        columns: bool = False,
        tell: Callable[[int], None] | None = None,
        watch: Callable[[], RowObserver] | None = None,
        memory: int = 0,
    ) -> Survey:
        """Read all files once; store and return counts of rows, columns and classes.

        `columns` also counts the rows with a nonzero in each column. `tell` is called with the
        number of bytes read so far. `watch` returns an observer
        whose `add` gets every chunk of the reading; the survey has it as `observer`. If all chunks
        take at most `memory` bytes, they stay in memory for the next reading, which then opens no
        file.
        """
        survey = self.survey_result
        if survey is not None and (not columns or survey.counts is not None) and watch is None:
            return survey
        survey = self.look(columns, tell, watch, memory)
        if not survey.rows:
            raise self._no_rows_error()
        return self.apply_survey(survey)

    def look(
        self,
        columns: bool = False,
        tell: Callable[[int], None] | None = None,
        watch: Callable[[], RowObserver] | None = None,
        memory: int = 0,
    ) -> Survey:
        """Read all files once, and return their survey without storing it, even if it has no rows.

        The parameters are those of `survey`.
        """
        self.keep()
        state = None
        while True:
            survey = Survey(observer=None if watch is None else watch())
            chunks, bytes_left = list[Chunk](), memory
            try:
                for rows, state, bytes_read in self._chunks_from():
                    self.bad = state.bad
                    bytes_left -= memory_bytes(rows)
                    if bytes_left >= 0:
                        chunks.append((rows, state, bytes_read))
                    else:
                        chunks.clear()
                    if rows is None:
                        break
                    survey.add(rows, columns)
                    self.done, self.several = bytes_read, state.several
                    if tell is not None:
                        tell(bytes_read)
                    if state.n_zero_columns and self.options.zero_based == "auto":
                        raise ZeroBasedError
                break
            except ZeroBasedError:
                # A column 0 after rows without one: the file counts from 0.
                if self.options.zero_based != "auto":
                    raise
                self.base = 0
        if bytes_left > 0:
            self.chunks = chunks
        survey.base = None if state is None else state.base
        survey.hashed, survey.bad = bool(self.options.hash_bits), self.bad
        survey.count_duplicate_rows()
        return survey

    def apply_survey(self, survey: Survey) -> Survey:
        """Store a survey, read by its decisions from now on, and return it.

        It is that of these files, or merged with those of others.
        """
        if self.options.zero_based == "auto" and survey.base is not None:
            self.base = survey.base
        if survey.several:
            self.several, self.labels = True, survey.classes
        elif self.format == "svmlight":
            self.several = False
        if self.options.columns is None and self.layout is None:
            self.options = self.options._replace(n_features=survey.features)
        self.survey_result = survey
        return survey

    def keep(self) -> None:
        """Make sure that the rows can be read again: copy standard input to a temporary file."""
        if STDIN in self.files:
            STANDARD_INPUT.keep()
            self.total = max(self.total, STANDARD_INPUT.kept.seek(0, os.SEEK_END))

    def names_of(self, columns: Iterable[int]) -> list[str]:
        """Return names of some columns.

        For hashed columns the files are read again, and a name has all names of its bucket.
        """
        from tamis.data.column_names import names_of

        return names_of(self, columns)

    def identity(self) -> list[dict]:
        """Return a fingerprint of each file, for checkpoints."""
        return [fingerprint(name) for name in self.files]

    # ------------------------------------------------------------------ schema
    @property
    def schema(self) -> dict:
        """Meaning of the columns as plain data; `open_rows` reads another file by it."""
        from tamis.data.tables.frames import Reading

        contents: dict[str, Any] = {
            "format": self.format,
            "zero_based": self.base != 1 if self.base is not None else None,
            "hash_bits": self.options.hash_bits,
        }
        contents |= {"n_features": self.n_features, "labels": self.labels, "several": self.several}
        if self.layout is not None:
            contents["layout"] = self.layout.to_dict()
        if self.options.encoding != "utf-8":
            contents["encoding"] = self.options.encoding
        return Reading(contents)


def memory_bytes(rows: Rows | None) -> int:
    """Return the bytes of a chunk in memory, including arrays that its arrays are views of."""
    if rows is None:
        return 0
    arrays = [rows.X.data, rows.X.indices, rows.X.indptr, rows.weights, rows.queries]
    if isinstance(rows.targets, Labels):
        arrays += rows.targets
    else:
        arrays += [rows.targets.data] if sp.issparse(rows.targets) else [rows.targets]
    owners = (array if array.base is None else array.base for array in arrays if array is not None)
    return sum(getattr(array, "nbytes", 0) for array in owners)
