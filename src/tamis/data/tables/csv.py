"""CSV and TSV with a header: fields by the layout, in chunks."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from tamis.data.columns.profile import First, Profile
from tamis.data.columns.texts import RowCounts
from tamis.data.options import CHUNK_BYTES, Options
from tamis.data.rows import Context, Position, ReadError, Rows, place_of, quoted
from tamis.data.tables import csv_scan as scan
from tamis.data.tables.chunks import chunk_of, gap_sentence
from tamis.data.tables.layout import (
    FEATURES,
    IGNORED,
    NUMBER,
    TEXT,
    WEIGHT,
    WORDS,
    Column,
    Layout,
    Part,
    Words,
)
from tamis.data.tables.values import GAPS
from tamis.data.text.window import NUL, Window
from tamis.system.spelling import option, short

LOOKED_AT = 200  # rows that decide whether a column looks like numbers
WIDE_ROWS, FIELD_BYTES, WIDE_BYTES = 16, 8, 1 << 25  # of a chunk of a table of many columns
DELIMITERS = (",", ";", "\t", "|")
BAD_LINES = 1000  # lines with a word in a column of numbers, all columns of which are looked at
_RULES = {
    scan.FIELDS: "the record has more than {width} fields, as many as the header. Quote fields "
    "that hold the delimiter, or pass another.",
    scan.TOO_FEW: "the record has {column} fields, the header {width}. Quote fields that hold the "
    "delimiter, or pass another.",
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
    """An open CSV file: the names in its header, its delimiter, and a window at its records."""

    def __init__(self, name: str, options: Options):
        self.window = Window(name, options)
        try:
            self.names, self.delimiter = read_header(self.window, options)
        except BaseException:
            self.window.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self.window.close()


class CsvReader:
    """Chunks of one CSV file after the other, by a layout."""

    def __init__(self, options: Options, context: Context, layout: Layout):
        self.options, self.context, self.layout = options, context, layout
        self.records = RecordReader(options, context, layout.columns, layout.missing == "error")

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Chunks of a file from a position on, each with the bytes of the file read so far."""
        for part, first, window, rows in self.records.parts(name, position):
            after = Position(
                position.file, window.offset, window.line, position.rows + rows, self.layout.width
            )
            yield (
                chunk_of(part, self.layout, self.options, self.context, first, window.name, after),
                window.done(),
            )

    def words(self, name: str) -> Iterator[dict[str, Words]]:
        """The columns of words of each chunk."""
        for part, *_ in self.records.parts(name, Position()):
            yield part.words


class RecordReader:
    """Records of CSV files as parts of a table, by the roles of their columns; where `strict`, a
    missing field is refused.
    """

    def __init__(
        self, options: Options, context: Context, columns: list[Column], strict: bool = False
    ):
        self.options, self.context = options, context
        self.columns, self.strict = columns, strict
        self.arrays: dict = {}
        self.undecoded: dict[str, None] = {}  # columns with words in another encoding
        self.not_numbers: set[str] = set()  # columns of numbers with words
        self.looks = 0  # lines left of which all columns are looked at for such words

    def parts(
        self, name: str, position: Position, file: CsvFile | None = None
    ) -> Iterator[tuple[Part, int, Window, int]]:
        """Chunks as parts of a table: (part, line of its first row, window, rows so far). `file` is
        the file where it is open already.
        """
        file = file or CsvFile(name, self.options)
        window = file.window
        try:
            self.arrange(file)
            if position.offset:
                window.close()
                window = Window(name, self.options, position.offset, position.line)
            total, usual = 0, bytes_of_chunk(file.names, self.options)
            least = usual
            while (stop := window.lines(least)) > window.begin:
                first, begin = window.line, window.begin
                count = self.scan(window, stop)
                if count:
                    total += count
                    yield self.part(window, count), first, window, total
                # A record longer than the chunk (a quoted text with line ends): look further.
                least = 2 * (stop - begin) if window.begin == begin else usual
                if window.begin == begin and stop - begin > window.longest:
                    window.too_long("record", begin)
            if window.failure:
                self.context.refuse(f"{window.name}, line {window.line}: {window.failure}.")
        finally:
            window.close()

    # ------------------------------------------------------------------ one chunk
    def arrange(self, file: CsvFile) -> None:
        """Where the fields of each column of a file go."""
        header, self.delimiter = file.names, file.delimiter
        known, held = {c.name: c for c in self.columns}, set(header)
        for c in self.columns:
            if c.name not in held and c.role in FEATURES:
                raise ReadError(
                    f"{file.window.name}, line 1: column {short(c.name)!r} is missing; the model "
                    f"needs it. The header has {', '.join(short(header[:10]))}."
                )
        self.numeric: list[str] = []
        self.wordy: list[str] = []
        kinds, slots = [], []
        for column in header:
            role = known[column].role if column in known else IGNORED
            words = column in known and known[column].words
            kind = {IGNORED: scan.IGNORED, WEIGHT: scan.WEIGHT}.get(role, scan.NUMBER)
            if words and role != IGNORED:
                kind = scan.TEXT if role == TEXT else scan.WORD
            into = self.wordy if kind in (scan.WORD, scan.TEXT) else self.numeric
            kinds.append(kind)
            slots.append(len(into))
            if kind != scan.IGNORED:
                into.append(column)
        self.header = header
        self.kinds, self.slots = np.array(kinds, np.int64), np.array(slots, np.int64)

    def _room(self, rows: int) -> None:
        """Arrays for a chunk."""
        if (
            not self.arrays
            or len(self.arrays["numbers"]) < rows
            or self.arrays["numbers"].shape[1] != len(self.numeric)
        ):
            shape = (rows, len(self.wordy))
            self.arrays = {  # in the order of the scan
                "numbers": np.empty((rows, len(self.numeric))),
                "hashes": np.empty(shape, np.uint64),
                "starts": np.empty(shape, np.int64),
                "lengths": np.empty(shape, np.int64),
                "marks": np.empty((1024, 4), np.int64),
            }

    def scan(self, window: Window, stop: int, most: int | None = None) -> int:
        """Read up to `most` records; return how many there are."""
        most = min(
            most or self.options.chunk_rows, (stop - window.begin) // max(len(self.header), 1) + 1
        )
        self._room(most)
        a, rows, at, line = self.arrays, 0, window.begin, window.line
        delimiter = np.uint8(ord(self.delimiter))
        while at < stop and rows < most:
            until = window.clean(at, stop)  # a line with a NUL byte is not scanned
            if until == at:
                self.context.refuse(
                    f"{window.name}, line {line}, column {window.store.index(0, at) - at + 1}: "
                    f"{NUL}"
                )
                self.context.skip_line(rows)
                at, line = window.store.index(b"\n", at) + 1, line + 1
                continue
            given = (
                window.text,
                np.uint64(at),
                np.uint64(until),
                np.uint64(most),
                delimiter,
                self.strict,
                self.kinds,
                self.slots,
                np.uint64(rows),
            )
            found = scan.scan_csv(*given, np.uint64(0), tuple(a.values()))
            at, lines, after, unsure, reason, fault, column = (int(v) for v in found)
            line, before, rows = line + lines, rows, after
            for row, slot, start, end in a["marks"][:unsure].tolist():
                a["numbers"][row, slot] = float(bytes(window.text[start:end]))
            if reason == scan.FULL and rows == before:
                a["marks"] = np.empty((2 * len(a["marks"]), 4), np.int64)
            if reason in (scan.DONE, scan.FULL):
                continue
            if (
                reason == scan.OPEN_QUOTE
                and until == stop
                and not (window.ended and stop == window.end)
            ):
                break  # the record goes on behind this chunk
            self._refuse(window, at, fault, line, reason, column)
            self.context.skip_line(rows)
            at = window.store.index(b"\n", fault if reason != scan.OPEN_QUOTE else at) + 1
            line += 1
        window.advance(at, line - window.line)
        return rows

    def _refuse(self, window, at, fault, line, reason, column) -> None:
        """Say what is wrong with a record."""
        where = place_of(window.name, line, at, fault)
        name = self.header[column] if column < len(self.header) else ""
        word = ""
        if reason == scan.BAD_NUMBER:
            self.not_numbers.add(name)
            if self.looks:
                self.looks -= 1
                self.not_numbers.update(self._not_numbers(window, at))
        if reason != scan.MISSING:
            word = quoted(window.text, fault).split(self.delimiter)[0]
        if reason == scan.MISSING:
            role = next(c.role for c in self.columns if c.name == name)
            rule = gap_sentence(name, role, self.options)
        else:
            width = len(self.header)
            said = {"word": word, "name": short(name), "column": column, "width": width}
            rule = _RULES[reason].format(**said, categorical=option("categorical", [name]))
        self.context.refuse(f"{where}: {rule}")

    def _not_numbers(self, window: Window, at: int) -> Iterator[str]:
        """Columns of numbers in which a record has words; the scan stops at the first."""
        stop = window.store.index(b"\n", at) + 1
        line = bytes(window.store[at:stop]).decode("latin-1")
        try:
            fields = next(csv.reader([line], delimiter=self.delimiter))
        except csv.Error:
            return
        for name, kind, word in zip(self.header, self.kinds.tolist(), fields, strict=False):
            if kind == scan.NUMBER and not (_is_number(word) or word.strip().lower() in GAPS):
                yield name

    def part(self, window: Window, count: int) -> Part:
        """What a chunk holds, by column."""
        a = self.arrays
        words = {}
        for k, name in enumerate(self.wordy):
            hashes, firsts, codes = np.unique(
                a["hashes"][:count, k], return_index=True, return_inverse=True
            )
            spans = zip(
                a["starts"][firsts, k].tolist(), a["lengths"][firsts, k].tolist(), strict=True
            )
            vocabulary = [
                self._decoded(name, bytes(window.store[start : start + abs(length)]), length < 0)
                for start, length in spans
            ]
            if len(hashes) and hashes[0] == 0:  # missing
                codes, vocabulary = codes - 1, vocabulary[1:]
            words[name] = Words(codes, vocabulary)
        return Part(a["numbers"][:count], self.numeric, words)

    def _decoded(self, name: str, raw: bytes, escaped: bool) -> str:
        """A word; bytes of another encoding are written out."""
        try:
            word = raw.decode(self.options.encoding)
        except UnicodeDecodeError:
            self.undecoded[name] = None
            word = raw.decode(self.options.encoding, "backslashreplace")
        return word.replace('""', '"') if escaped else word


def bytes_of_chunk(names: list[str], options: Options) -> int:
    """How much of a file is read at once: several rows, since each column has a cost of its own."""
    wanted = WIDE_ROWS * FIELD_BYTES * len(names)
    return options.chunk_bytes if wanted <= CHUNK_BYTES else min(wanted, WIDE_BYTES)


# --------------------------------------------------------------------------- before the first chunk
def delimiter_of(header: str) -> str:
    """What parts the fields of a header: the sign met most outside quotes, a comma in doubt."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=bare.count)


def read_header(window: Window, options: Options) -> tuple[list[str], str]:
    """The names in the first line, and the delimiter."""
    stop = window.lines(1)
    line = (
        bytes(window.store[window.begin : stop])
        .decode(options.encoding, "backslashreplace")
        .rstrip("\r\n")
    )
    if stop == window.begin or not line.strip():
        raise ReadError(
            f"{window.name}, line 1: no header; the file is empty, or begins with an empty line. "
            "The first line must name the columns."
        )
    if "\0" in line:
        raise ReadError(f"{window.name}, line 1: {NUL}")
    delimiter = options.delimiter or delimiter_of(line)
    try:
        fields = next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ReadError(
            f"{window.name}, line 1: the header {short(line)!r} cannot be read ({error}). Check "
            "its quotes, and that it is one line."
        ) from None
    names = [name.strip() for name in fields]
    if len(names) == 1 and not options.drop:  # a model of one column needs no target
        raise ReadError(
            f"{window.name}, line 1: one column only, {short(names[0])!r}. Pass "
            f"{option('delimiter', ...)} if another character parts the fields."
        )
    if all(_is_number(name) for name in names):
        raise ReadError(
            f"{window.name}, line 1: the header holds numbers alone, {short(line)!r}. Put a line "
            "with the columns' names first."
        )
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ReadError(
            f"{window.name}, line 1: two columns are named {short(twice)!r}. Names must differ; "
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


def look(name: str, options: Options, open_files: OpenFiles | None = None) -> First:
    """Names of the columns, and what they hold by the first rows. The file stays open, at its first
    record, where `open_files` takes it.
    """
    file = CsvFile(name, options)
    names, window = file.names, file.window
    try:
        reader = RecordReader(
            options, Context(skip=True), [Column(one, WORDS, True) for one in names]
        )
        reader.arrange(file)
        reader._room(1)
        count, stop = 0, window.lines(bytes_of_chunk(names, options))
        with window.restoring_position():
            if stop > window.begin:
                count = reader.scan(window, stop, LOOKED_AT)
            part = reader.part(window, count)
    except BaseException:
        file.close()
        raise
    if open_files is None:
        file.close()
    else:
        open_files[name] = file
    # A point may part thousands where commas part decimals.
    wordy = [
        not all(
            _is_number(word) and not (options.decimal == "," and "." in word)
            for word in part.words[one].vocabulary
        )
        for one in names
    ]
    numeric = [one for one, words in zip(names, wordy, strict=True) if not words]
    columns = [[*map(float, part.words[one].vocabulary), np.nan] for one in numeric]
    numbers = [np.array(c)[part.words[one].codes] for c, one in zip(columns, numeric, strict=True)]
    matrix = np.column_stack(numbers) if numeric else np.empty((count, 0))
    others = [one for one, words in zip(names, wordy, strict=True) if words]
    profile = Profile(numeric, others, options.decimal)
    profile.add(Part(matrix, numeric, part.words), 2, False)
    notes = []
    if not options.delimiter and file.delimiter != ",":
        notes.append(f"the fields are parted by {file.delimiter!r}")
    return First(names, wordy, notes, profile)


def read_profile(
    files: list[str],
    options: Options,
    columns: list[Column],
    may_turn: Callable[[str], bool],
    open_files: OpenFiles | None = None,
) -> Profile:
    """Figures of all columns; those of numbers that hold words after all are turned into words.
    `open_files` are those that a look has left open.
    """
    open_files = {} if open_files is None else open_files
    while True:
        read = [c for c in columns if c.role != IGNORED]
        numeric, wordy = ([c.name for c in read if c.words == words] for words in (False, True))
        profile = Profile(numeric, wordy, options.decimal)
        reader = RecordReader(options, Context(skip=True), columns)
        reader.looks = BAD_LINES
        for name in files:
            file = open_files.pop(name, None)
            for part, first, window, _ in reader.parts(name, Position(), file):
                profile.add(part, first, window.line - first == len(part.numbers))
        profile.undecoded = list(reader.undecoded)
        late = [
            c
            for c in columns
            if c.role == NUMBER
            and not c.words
            and may_turn(c.name)
            and c.name in reader.not_numbers
        ]
        if not late or options.on_bad == "skip":
            return profile
        for c in late:
            c.role, c.words = WORDS, True


def read_texts(
    files: list[str], options: Options, columns: list[Column], names: list[str]
) -> dict[str, RowCounts]:
    """How many rows have each word of columns of texts."""
    found = {name: RowCounts(options.ngrams) for name in names}
    only = [c if c.name in found else Column(c.name, IGNORED) for c in columns]
    reader = RecordReader(options, Context(skip=True), only)
    for file in files:
        for part, *_ in reader.parts(file, Position()):
            for name, counts in found.items():
                counts.add(*part.words[name])
    return found
