"""A source of rows: files that can be read again and again, chunk by chunk."""

import copy
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tamis.data.ahead import ahead
from tamis.data.options import Options
from tamis.data.rows import Bad, Context, CountsFromZero, Labels, Position, ReadError, Rows
from tamis.data.streams import STANDARD, STDIN, fingerprint, shown
from tamis.data.survey import Survey, Watcher

if TYPE_CHECKING:
    from tamis.data.columns.profile import Profile
    from tamis.data.tables.layout import Layout


EQUAL = 0.01  # share of equal rows that is worth a word
SMALL_BYTES = 1 << 24  # rows of a survey that stay in memory for all later readings
Chunk = tuple[Rows | None, Context, int]  # rows, what their reader knew, bytes of the files so far


class RowSource:
    """Rows of one or several files, made by `open_rows`; iterate over it as often as you like.

    Each chunk is a tuple with `X` (CSR), `targets` and `first_line`, and where the file has them
    `weights` and `queries`. `files` are the names, in the order in which they are read; `bad` says
    which lines the last reading skipped: their `count`, and words about the `first` ten.

    See Also
    --------
    open_rows : Makes one.
    train : Walks through one.
    """

    def __init__(self, files: list[str], options: Options, layout: "Layout | None" = None):
        self.files, self.options, self.layout = files, options, layout
        self.base = {"auto": None, True: 0, False: 1}[options.zero_based]
        self.several = None if options.multilabel == "auto" else bool(options.multilabel)
        self.labels: list | None = None  # of a source of several labels a row
        self.surveyed: Survey | None = None
        self.profile: Profile | None = None  # of a table that was read before its first chunk
        self.told: list[str] = []  # what was decided of its columns
        self.kept: Any = None  # a folder of what came from outside the file system
        self.bad, self.dropped, self.done = Bad(), 0, 0
        self.unseen: dict[str, np.ndarray] = {}
        self.skipped_last = 0  # bad lines after the last chunk
        self.chunks: list[Chunk] | None = None  # all, where a survey has left them in memory
        self.total = sum(os.path.getsize(name) for name in files if name != STDIN)

    @property
    def format(self) -> str:
        """Format of the files."""
        return self.options.format

    @property
    def n_features(self) -> int | None:
        """Number of columns, where it is known."""
        if self.layout is not None:
            return self.layout.width
        return self.options.columns

    @property
    def names(self) -> list[str] | None:
        """Names of the columns, where the files have them."""
        return None if self.layout is None else self.layout.names()

    @property
    def notes(self) -> list[str]:
        """What was decided on the way."""
        notes = list(self.told)
        if (
            self.format == "svmlight"
            and self.options.zero_based == "auto"
            and self.base is not None
        ):
            notes.append(f"columns count from {self.base} in this file")
        if self.several and self.options.multilabel == "auto":
            notes.append("rows have several labels")
        if self.surveyed is not None and self.surveyed.equal >= EQUAL * self.surveyed.rows:
            notes.append(
                f"{self.surveyed.equal:,} of {self.surveyed.rows:,} rows equal an earlier one: a "
                "row that is held out may have its like among those learnt from, so that errors "
                "look smaller than on new rows"
            )
        if self.dropped:
            notes.append(
                f"{self.dropped:,} entries of columns that the model does not know were left out"
            )
        if self.layout is not None and (note := self.layout.unseen_levels(self.unseen)):
            notes.append(note)
        return notes

    # ------------------------------------------------------------------ reading
    def __iter__(self) -> Iterator[Rows]:
        return self.read()

    def read(self, position: Position | None = None) -> Iterator[Rows]:
        """Chunks from a position on, an earlier chunk's `position`; the next are read ahead."""
        if self.several and self.labels is None:
            self.survey()
        self._find_base()
        empty = True
        for rows, context, done in self._chunks_from(position):
            self.base, self.bad, self.dropped = context.base, context.bad, context.dropped
            self.unseen, self.skipped_last = context.unseen, len(context.skipped or ())
            if rows is None:
                continue
            self.done, empty = done, False
            if self.several is None:
                self.several = context.several
                if self.several:
                    self.survey()
            yield rows._replace(X=self._widened(rows.X), targets=self._spread(rows.targets))
        if empty and position is None:
            raise self._nothing()

    def _chunks_from(self, position: Position | None = None) -> Iterator[Chunk]:
        """Chunks of the files from a position on, read ahead; or those that a survey has left in
        memory: many of them are given away one by one, so that the next reading goes to the files.
        """
        if self.chunks is None or position is not None:
            return ahead(lambda: self._chunks(position or Position()))
        if sum(bytes_of(rows) for rows, *_ in self.chunks) <= SMALL_BYTES:
            return map(copy.deepcopy, self.chunks)  # whoever reads them may write to them
        chunks, self.chunks = deque(self.chunks), None
        return iter(lambda: chunks.popleft() if chunks else None, None)

    def _nothing(self) -> ReadError:
        """Words about files without rows, or without a good one."""
        if self.bad.count:
            raise ReadError(
                f"{', '.join(map(shown, self.files))}: no row is left, since {self.bad.count:,} "
                f"were bad, the first: {self.bad.first[0]}"
            )
        return ReadError(
            f"{', '.join(map(shown, self.files))}: no rows; the file is empty, or holds "
            "comments alone. Check the name."
        )

    def _find_base(self) -> None:
        """Whether columns count from 0, by the first chunk of every file: one without column 0
        would be read as if it counted from 1, and the next one not.
        """
        if self.format != "svmlight" or self.base is not None or len(self.files) < 2:
            return
        for name in self.files:
            context = Context(skip=True)
            if name != STDIN:
                with closing(self._reader(context).read(name, Position())) as chunks:
                    next(chunks, None)
            if context.base == 0:
                self.base = 0
                return

    def _chunks(self, position: Position) -> Iterator[Chunk]:
        """Chunks, their context and the bytes read, file after file; last, none and the context."""
        skip = self.options.on_bad == "skip"
        context = Context(skip, Bad(), position.width, self.base, self.several)
        context.skipped = [] if self.options.drop else None
        reader = self._reader(context)
        before = sum(os.path.getsize(name) for name in self.files[: position.file] if name != STDIN)
        for number in range(position.file, len(self.files)):
            name = self.files[number]
            start = position
            if number != position.file:
                start = Position(number, 0, 1, position.rows, position.width)
            for rows, done in reader.read(name, start):
                position = rows.position
                bad = Bad(context.bad.count, list(context.bad.first))
                yield rows, replace(context, bad=bad), before + done
            before += 0 if name == STDIN else os.path.getsize(name)
            position = Position(number + 1, 0, 1, position.rows, context.width)
        yield None, context, before

    def _reader(self, context: Context) -> Any:
        """The reader of the format."""
        if self.format == "svmlight":
            from tamis.data.text.svmlight import SvmlightReader

            return SvmlightReader(self.options, context)
        if self.format == "vw":
            from tamis.data.text.vowpal import VowpalReader

            return VowpalReader(self.options, context)
        if self.format == "npz":
            from tamis.data.tables.arrays import ArraysReader

            return ArraysReader(self.options, context)
        if self.layout is None:
            raise TypeError(f"a table ({self.format}) is read by a layout of its columns.")
        if self.format in ("csv", "tsv"):
            from tamis.data.tables.csv import CsvReader

            return CsvReader(self.options, context, self.layout)
        from tamis.data.tables.arrow import ArrowReader

        return ArrowReader(self.options, context, self.layout)

    def _widened(self, X: sp.csr_array) -> sp.csr_array:
        """A chunk with all columns, as far as they are known: a survey meets them one by one."""
        width = self.n_features
        if width is None or X.shape[1] >= width:
            return X
        return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))

    def _spread(self, targets: Any) -> Any:
        """Several labels a row as a matrix of 0 and 1, a column for each of `labels`."""
        if not isinstance(targets, Labels) or self.labels is None:
            return targets
        columns = np.searchsorted(self.labels, targets.values)
        known = np.take(self.labels, np.minimum(columns, len(self.labels) - 1)) == targets.values
        ends = np.concatenate(([0], np.cumsum(known)))[targets.ends]
        shape = (len(targets.ends) - 1, len(self.labels))
        matrix = sp.csr_array(
            (np.ones(int(known.sum()), np.int8), columns[known], ends), shape=shape
        )
        matrix.sum_duplicates()
        matrix.data[:] = 1
        return matrix

    # ------------------------------------------------------------------ knowing
    def survey(
        self,
        columns: bool = False,
        tell: Callable[[int], None] | None = None,
        watch: Callable[[], Watcher] | None = None,
        memory: int = 0,
    ) -> Survey:
        """Read all once, say what is there, and remember it.

        `columns`: also the rows that a column is met in. `watch` makes someone who is shown every
        chunk of the same reading, and is found in `beside` of the survey. Where all chunks take no
        more bytes than `memory`, they stay for the next reading, which then opens no file.
        """
        known = self.surveyed
        if known is not None and (not columns or known.counts is not None) and watch is None:
            return known
        found = self.look(columns, tell, watch, memory)
        if not found.rows:
            raise self._nothing()
        return self.agree(found)

    def look(
        self,
        columns: bool = False,
        tell: Callable[[int], None] | None = None,
        watch: Callable[[], Watcher] | None = None,
        memory: int = 0,
    ) -> Survey:
        """Read all once and say what is there, if anything is."""
        self.keep()
        context = None
        while True:
            found = Survey(beside=None if watch is None else watch())
            chunks, room = list[Chunk](), memory
            try:
                for rows, context, done in self._chunks_from():
                    self.bad = context.bad
                    room -= bytes_of(rows)
                    if room >= 0:
                        chunks.append((rows, context, done))
                    else:
                        chunks.clear()
                    if rows is None:
                        break
                    found.add(rows, columns)
                    self.done, self.several = done, context.several
                    if tell is not None:
                        tell(done)
                    if context.zeros and self.options.zero_based == "auto":
                        raise CountsFromZero
                break
            except CountsFromZero:
                # A column 0 after rows without one: the file counts from 0 after all.
                if self.options.zero_based != "auto":
                    raise
                self.base = 0
        if room > 0:
            self.chunks = chunks
        found.base = None if context is None else context.base
        found.hashed, found.bad = bool(self.options.hash_bits), self.bad
        found.compare()
        return found

    def agree(self, found: Survey) -> Survey:
        """Read by what a survey found: one of these files, or merged with those of others."""
        if self.options.zero_based == "auto" and found.base is not None:
            self.base = found.base
        if found.several:
            self.several, self.labels = True, found.classes
        elif self.format == "svmlight":
            self.several = False
        if self.options.columns is None and self.layout is None:
            self.options = self.options._replace(n_features=found.features)
        self.surveyed = found
        return found

    def keep(self) -> None:
        """Make sure that the rows can be read again: standard input is kept in a temporary file."""
        if STDIN in self.files:
            STANDARD.keep()
            self.total = max(self.total, STANDARD.kept.seek(0, os.SEEK_END))

    def names_of(self, columns: Iterable[int]) -> list[str]:
        """Names of some columns.

        For hashed ones the files are read again, and all names seen in a bucket are given.
        """
        from tamis.data.names import names_of

        return names_of(self, columns)

    def identity(self) -> list[dict]:
        """What tells these files from others, for checkpoints."""
        return [fingerprint(name) for name in self.files]

    # ----------------------------------------------------------- the same columns from another file
    @property
    def schema(self) -> dict:
        """What the columns mean, as plain data: `open_rows` reads another file by it."""
        from tamis.data.tables.frames import Reading

        facts: dict[str, Any] = {
            "format": self.format,
            "zero_based": self.base != 1 if self.base is not None else None,
            "hash_bits": self.options.hash_bits,
        }
        facts |= {"n_features": self.n_features, "labels": self.labels, "several": self.several}
        if self.layout is not None:
            facts["layout"] = self.layout.to_dict()
        if self.options.encoding != "utf-8":
            facts["encoding"] = self.options.encoding
        return Reading(facts)


def bytes_of(rows: Rows | None) -> int:
    """Bytes that a chunk takes in memory, those of the arrays that its own are views of."""
    if rows is None:
        return 0
    arrays = [rows.X.data, rows.X.indices, rows.X.indptr, rows.weights, rows.queries]
    if isinstance(rows.targets, Labels):
        arrays += rows.targets
    else:
        arrays += [rows.targets.data] if sp.issparse(rows.targets) else [rows.targets]
    whole = (one if one.base is None else one.base for one in arrays if one is not None)
    return sum(getattr(one, "nbytes", 0) for one in whole)
