"""Read CSV and TSV with a header: records by the layout, in chunks."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from tamis.data.columns.profile import Profile, TableHead
from tamis.data.columns.texts import RowCounts
from tamis.data.options import CHUNK_BYTES, Options
from tamis.data.rows import Position, ReadError, ReaderState, Rows, location, quote_word
from tamis.data.tables import csv_scan as scan
from tamis.data.tables.chunks import encode_chunk, gap_message
from tamis.data.tables.layout import (
    CATEGORY,
    FEATURES,
    IGNORED,
    NUMBER,
    TEXT,
    WEIGHT,
    Column,
    Layout,
    StringColumn,
    TableChunk,
)
from tamis.data.tables.values import GAP_WORDS
from tamis.data.text.window import NUL_MESSAGE, Window
from tamis.system.spelling import format_option, shorten_names

HEAD_ROWS = 200  # rows that decide whether a column is numeric
_MESSAGES = {
    scan.TOO_MANY_FIELDS: "the record has more than {width} fields, as many as the header. Quote "
    "fields that hold the delimiter, or pass another.",
    scan.TOO_FEW_FIELDS: "the record has {column} fields, the header {width}. Quote fields that "
    "hold the delimiter, or pass another.",
    scan.BAD_NUMBER: "{word!r} in column {name!r} is no number. Pass {categorical} if the column "
    "holds words.",
    scan.NOT_FINITE: "{word!r} in column {name!r} is not finite; all numbers must be. Replace it, "
    "or leave it empty.",
    scan.NEGATIVE: "weight {word!r} in column {name!r} is negative; weights must be 0 or more. "
    "Mend it, or leave the row out.",
    scan.AFTER_QUOTE: "text after a closing quote, in column {name!r}. A quote inside quotes is "
    "written twice.",
    scan.OPEN_QUOTE: "a quote that is never closed, in column {name!r}. A quote inside quotes is "
    "written twice.",
}


OpenFiles = dict[str, "CsvFile"]  # by name


class CsvFile:
    """Open CSV file: names in its header, delimiter, and a window at its records."""

    def __init__(self, name: str, options: Options):
        self.window = Window(name, options)
        try:
            self.names, self.delimiter = read_header(self.window, options)
        except BaseException:
            self.window.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.window.close()


class CsvReader:
    """Reader of chunks of CSV files by a layout."""

    def __init__(self, options: Options, state: ReaderState, layout: Layout):
        self.options, self.state, self.layout = options, state, layout
        self.records = RecordReader(options, state, layout.columns, layout.missing == "error")

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Yield (chunk, bytes of the file read so far) from a position on."""
        for chunk, first_line, window, n_rows in self.records.chunks(name, position):
            after = Position(
                position.file,
                window.offset,
                window.line,
                position.rows + n_rows,
                self.layout.width,
            )
            yield (
                encode_chunk(
                    chunk, self.layout, self.options, self.state, first_line, window.name, after
                ),
                window.bytes_read(),
            )

    def words(self, name: str) -> Iterator[dict[str, StringColumn]]:
        """Yield the string columns of each chunk."""
        for chunk, *_ in self.records.chunks(name, Position()):
            yield chunk.strings


class RecordReader:
    """Reader of records of CSV files as table chunks; `refuse_gaps` refuses missing fields."""

    def __init__(
        self, options: Options, state: ReaderState, columns: list[Column], refuse_gaps: bool = False
    ):
        self.options, self.state = options, state
        self.columns, self.refuse_gaps = columns, refuse_gaps
        self.buffers: dict = {}
        self.undecoded: dict[str, None] = {}  # columns with words in another encoding
        self.not_numbers: set[str] = set()  # numeric columns with words
        self.lines_to_inspect = 0  # lines that are still searched for all such columns

    def chunks(
        self, name: str, position: Position, file: CsvFile | None = None
    ) -> Iterator[tuple[TableChunk, int, Window, int]]:
        """Yield (table chunk, line of its first row, window, rows so far); `file` may be open."""
        file = file or CsvFile(name, self.options)
        window = file.window
        try:
            self.assign_columns(file)
            if position.offset:
                window.close()
                window = Window(name, self.options, position.offset, position.line)
            n_rows, chunk_bytes = 0, chunk_bytes_of(file.names, self.options)
            min_bytes = chunk_bytes
            while (stop := window.find_line_end(min_bytes)) > window.begin:
                first_line, chunk_start = window.line, window.begin
                count = self.scan(window, stop)
                if count:
                    n_rows += count
                    yield self._table_chunk(window, count), first_line, window, n_rows
                # A record longer than the chunk (a quoted text with line ends): read more.
                min_bytes = 2 * (stop - chunk_start) if window.begin == chunk_start else chunk_bytes
                if window.begin == chunk_start and stop - chunk_start > window.max_bytes:
                    window.too_long("record", chunk_start)
            if window.failure:
                self.state.refuse(f"{window.name}, line {window.line}: {window.failure}.")
        finally:
            window.close()

    # ------------------------------------------------------------------ one chunk
    def assign_columns(self, file: CsvFile) -> None:
        """Assign the fields of a file to columns of numbers and of words."""
        header, self.delimiter = file.names, file.delimiter
        columns_by_name, header_names = {c.name: c for c in self.columns}, set(header)
        for c in self.columns:
            if c.name not in header_names and c.role in FEATURES:
                raise ReadError(
                    f"{file.window.name}, line 1: column {shorten_names(c.name)!r} is missing; "
                    "the model "
                    f"needs it. The header has {', '.join(shorten_names(header[:10]))}."
                )
        self.numeric: list[str] = []
        self.string_names: list[str] = []
        kinds, slots = [], []
        for column in header:
            role = columns_by_name[column].role if column in columns_by_name else IGNORED
            is_string = column in columns_by_name and columns_by_name[column].words
            field_kind = {IGNORED: scan.IGNORED, WEIGHT: scan.WEIGHT}.get(role, scan.NUMBER)
            if is_string and role != IGNORED:
                field_kind = scan.TEXT if role == TEXT else scan.WORD
            group = self.string_names if field_kind in (scan.WORD, scan.TEXT) else self.numeric
            kinds.append(field_kind)
            slots.append(len(group))
            if field_kind != scan.IGNORED:
                group.append(column)
        self.header = header
        self.field_kinds, self.slots = np.array(kinds, np.int64), np.array(slots, np.int64)

    def _allocate(self, rows: int) -> None:
        """Allocate buffers for a chunk."""
        if (
            not self.buffers
            or len(self.buffers["numbers"]) < rows
            or self.buffers["numbers"].shape[1] != len(self.numeric)
        ):
            shape = (rows, len(self.string_names))
            self.buffers = {  # in the order of `scan_csv`
                "numbers": np.empty((rows, len(self.numeric))),
                "hashes": np.empty(shape, np.uint64),
                "starts": np.empty(shape, np.int64),
                "lengths": np.empty(shape, np.int64),
                "fallback_spans": np.empty((1024, 4), np.int64),
            }

    def scan(self, window: Window, stop: int, max_rows: int | None = None) -> int:
        """Read up to `max_rows` records into the buffers; return their number."""
        max_rows = min(
            max_rows or self.options.chunk_rows,
            (stop - window.begin) // max(len(self.header), 1) + 1,
        )
        self._allocate(max_rows)
        buffers, rows, pos, line = self.buffers, 0, window.begin, window.line
        delimiter = np.uint8(ord(self.delimiter))
        while pos < stop and rows < max_rows:
            scan_end = window.find_nul(pos, stop)  # a line with a NUL byte is not scanned
            if scan_end == pos:
                self.state.refuse(
                    f"{window.name}, line {line}, column {window.buffer.index(0, pos) - pos + 1}: "
                    f"{NUL_MESSAGE}"
                )
                self.state.skip_line(rows)
                pos, line = window.buffer.index(b"\n", pos) + 1, line + 1
                continue
            arguments = (
                window.text,
                np.uint64(pos),
                np.uint64(scan_end),
                np.uint64(max_rows),
                delimiter,
                self.refuse_gaps,
                self.field_kinds,
                self.slots,
                np.uint64(rows),
            )
            result = scan.scan_csv(*arguments, np.uint64(0), tuple(buffers.values()))
            pos, lines, n_rows, n_fallback, reason, error_pos, column = (int(v) for v in result)
            line, rows_before, rows = line + lines, rows, n_rows
            for row, slot, start, end in buffers["fallback_spans"][:n_fallback].tolist():
                buffers["numbers"][row, slot] = float(bytes(window.text[start:end]))
            if reason == scan.FULL and rows == rows_before:
                buffers["fallback_spans"] = np.empty(
                    (2 * len(buffers["fallback_spans"]), 4), np.int64
                )
            if reason in (scan.DONE, scan.FULL):
                continue
            if (
                reason == scan.OPEN_QUOTE
                and scan_end == stop
                and not (window.at_end and stop == window.end)
            ):
                break  # the record continues after this chunk
            self._refuse(window, pos, error_pos, line, reason, column)
            self.state.skip_line(rows)
            pos = window.buffer.index(b"\n", error_pos if reason != scan.OPEN_QUOTE else pos) + 1
            line += 1
        window.advance(pos, line - window.line)
        return rows

    def _refuse(self, window, pos, error_pos, line, reason, column) -> None:
        """Refuse a record with a message about what is wrong."""
        message_start = location(window.name, line, pos, error_pos)
        name = self.header[column] if column < len(self.header) else ""
        word = ""
        if reason == scan.BAD_NUMBER:
            self.not_numbers.add(name)
            if self.lines_to_inspect:
                self.lines_to_inspect -= 1
                self.not_numbers.update(self._not_numbers(window, pos))
        if reason != scan.MISSING:
            word = quote_word(window.text, error_pos).split(self.delimiter)[0]
        if reason == scan.MISSING:
            role = next(c.role for c in self.columns if c.name == name)
            message = gap_message(name, role, self.options)
        else:
            width = len(self.header)
            fields = {"word": word, "name": shorten_names(name), "column": column, "width": width}
            message = _MESSAGES[reason].format(
                **fields, categorical=format_option("categorical", [name])
            )
        self.state.refuse(f"{message_start}: {message}")

    def _not_numbers(self, window: Window, pos: int) -> Iterator[str]:
        """Yield the numeric columns with words in a record; the scan stops at the first."""
        stop = window.buffer.index(b"\n", pos) + 1
        line = bytes(window.buffer[pos:stop]).decode("latin-1")
        try:
            fields = next(csv.reader([line], delimiter=self.delimiter))
        except csv.Error:
            return
        for name, kind, word in zip(self.header, self.field_kinds.tolist(), fields, strict=False):
            if kind == scan.NUMBER and not (_is_number(word) or word.strip().lower() in GAP_WORDS):
                yield name

    def _table_chunk(self, window: Window, count: int) -> TableChunk:
        """Return the records in the buffers by column."""
        buffers = self.buffers
        strings = {}
        for k, name in enumerate(self.string_names):
            hashes, firsts, codes = np.unique(
                buffers["hashes"][:count, k], return_index=True, return_inverse=True
            )
            spans = zip(
                buffers["starts"][firsts, k].tolist(),
                buffers["lengths"][firsts, k].tolist(),
                strict=True,
            )
            vocabulary = [
                self._decode(name, bytes(window.buffer[start : start + abs(length)]), length < 0)
                for start, length in spans
            ]
            if len(hashes) and hashes[0] == 0:  # missing
                codes, vocabulary = codes - 1, vocabulary[1:]
            strings[name] = StringColumn(codes, vocabulary)
        return TableChunk(buffers["numbers"][:count], self.numeric, strings)

    def _decode(self, name: str, raw: bytes, escaped: bool) -> str:
        """Return a word; bytes of another encoding become escapes."""
        try:
            word = raw.decode(self.options.encoding)
        except UnicodeDecodeError:
            self.undecoded[name] = None
            word = raw.decode(self.options.encoding, "backslashreplace")
        return word.replace('""', '"') if escaped else word


_WIDE_ROWS, _FIELD_BYTES, _MAX_WIDE_BYTES = 16, 8, 1 << 25  # of a chunk with many columns


def chunk_bytes_of(names: list[str], options: Options) -> int:
    """Return the bytes of a chunk: wide tables get several rows, as each column has a cost."""
    wide_bytes = _WIDE_ROWS * _FIELD_BYTES * len(names)
    return options.chunk_bytes if wide_bytes <= CHUNK_BYTES else min(wide_bytes, _MAX_WIDE_BYTES)


# --------------------------------------------------------------------------- before the first chunk
DELIMITERS = (",", ";", "\t", "|")


def detect_delimiter(header: str) -> str:
    """Return the delimiter that occurs most often outside quotes in a header; a comma in a tie."""
    unquoted = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=unquoted.count)


def read_header(window: Window, options: Options) -> tuple[list[str], str]:
    """Return the names in the first line, and the delimiter."""
    stop = window.find_line_end(1)
    line = (
        bytes(window.buffer[window.begin : stop])
        .decode(options.encoding, "backslashreplace")
        .rstrip("\r\n")
    )
    if stop == window.begin or not line.strip():
        raise ReadError(
            f"{window.name}, line 1: no header; the file is empty, or begins with an empty line. "
            "The first line must name the columns."
        )
    if "\0" in line:
        raise ReadError(f"{window.name}, line 1: {NUL_MESSAGE}")
    delimiter = options.delimiter or detect_delimiter(line)
    try:
        fields = next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ReadError(
            f"{window.name}, line 1: the header {shorten_names(line)!r} cannot be read "
            f"({error}). Check "
            "its quotes, and that it is one line."
        ) from None
    names = [name.strip() for name in fields]
    if len(names) == 1 and not options.drop:  # a model with one column needs no target
        raise ReadError(
            f"{window.name}, line 1: one column only, {shorten_names(names[0])!r}. Pass "
            f"{format_option('delimiter', ...)} if another character separates the fields."
        )
    if all(_is_number(name) for name in names):
        raise ReadError(
            f"{window.name}, line 1: the header holds numbers alone, {shorten_names(line)!r}. "
            "Put a line "
            "with the columns' names first."
        )
    if len(set(names)) < len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise ReadError(
            f"{window.name}, line 1: two columns are named {shorten_names(repeated)!r}. Names "
            "must differ; "
            "rename one."
        )
    window.advance(stop, 1)
    return names, delimiter


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def look(name: str, options: Options, open_files: OpenFiles | None = None) -> TableHead:
    """Return names and types of the columns from the first rows.

    The file stays open at its first record if `open_files` is given.
    """
    file = CsvFile(name, options)
    names, window = file.names, file.window
    try:
        reader = RecordReader(
            options, ReaderState(skip=True), [Column(column, CATEGORY, True) for column in names]
        )
        reader.assign_columns(file)
        reader._allocate(1)
        count, stop = 0, window.find_line_end(chunk_bytes_of(names, options))
        with window.restoring_position():
            if stop > window.begin:
                count = reader.scan(window, stop, HEAD_ROWS)
            chunk = reader._table_chunk(window, count)
    except BaseException:
        file.close()
        raise
    if open_files is None:
        file.close()
    else:
        open_files[name] = file
    # With a decimal comma, a point may separate thousands.
    is_string = [
        not all(
            _is_number(word) and not (options.decimal == "," and "." in word)
            for word in chunk.strings[column].vocabulary
        )
        for column in names
    ]
    numeric = [column for column, flag in zip(names, is_string, strict=True) if not flag]
    numeric_columns = [
        [*map(float, chunk.strings[column].vocabulary), np.nan] for column in numeric
    ]
    numbers = [
        np.array(c)[chunk.strings[column].codes]
        for c, column in zip(numeric_columns, numeric, strict=True)
    ]
    matrix = np.column_stack(numbers) if numeric else np.empty((count, 0))
    string_names = [column for column, flag in zip(names, is_string, strict=True) if flag]
    profile = Profile(numeric, string_names, options.decimal)
    profile.add(TableChunk(matrix, numeric, chunk.strings), 2, False)
    notes = []
    if not options.delimiter and file.delimiter != ",":
        notes.append(f"fields are separated by {file.delimiter!r}")
    return TableHead(names, is_string, notes, profile)


# Lines with a word in a numeric column that are searched for words in all numeric columns. The scan
# stops at the first bad field of a line, so that each column with words would need one reading.
_MAX_INSPECTED_LINES = 1000


def read_profile(
    files: list[str],
    options: Options,
    columns: list[Column],
    may_become_string: Callable[[str], bool],
    open_files: OpenFiles | None = None,
) -> Profile:
    """Return the profile of all columns; numeric columns with words become string columns.

    `open_files` are those that `look` left open.
    """
    open_files = {} if open_files is None else open_files
    while True:
        read_columns = [c for c in columns if c.role != IGNORED]
        numeric, string_names = (
            [c.name for c in read_columns if c.words == is_string] for is_string in (False, True)
        )
        profile = Profile(numeric, string_names, options.decimal)
        reader = RecordReader(options, ReaderState(skip=True), columns)
        reader.lines_to_inspect = _MAX_INSPECTED_LINES
        for name in files:
            file = open_files.pop(name, None)
            for chunk, first_line, window, _ in reader.chunks(name, Position(), file):
                profile.add(chunk, first_line, window.line - first_line == len(chunk.numbers))
        profile.undecoded = list(reader.undecoded)
        string_columns = [
            c
            for c in columns
            if c.role == NUMBER
            and not c.words
            and may_become_string(c.name)
            and c.name in reader.not_numbers
        ]
        if not string_columns or options.on_bad == "skip":
            return profile
        for c in string_columns:
            c.role, c.words = CATEGORY, True


def read_texts(
    files: list[str], options: Options, columns: list[Column], names: list[str]
) -> dict[str, RowCounts]:
    """Return the number of rows with each word of text columns."""
    row_counts = {name: RowCounts(options.ngrams) for name in names}
    text_columns = [c if c.name in row_counts else Column(c.name, IGNORED) for c in columns]
    reader = RecordReader(options, ReaderState(skip=True), text_columns)
    for file in files:
        for chunk, *_ in reader.chunks(file, Position()):
            for name, counts in row_counts.items():
                counts.add(*chunk.strings[name])
    return row_counts
