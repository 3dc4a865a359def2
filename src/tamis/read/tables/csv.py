"""CSV and TSV with a header: fields by the layout, in chunks."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tamis.read.options import Options
from tamis.read.rows import Context, Position, ReadError, Rows, place_of, quoted
from tamis.read.tables import csv_scan as scan
from tamis.read.tables.layout import (
    IGNORED,
    MOST_LEVELS,
    NUMBER,
    WEIGHT,
    WORDS,
    Column,
    Layout,
    Part,
    Words,
    chunk_of,
)
from tamis.read.text.window import NUL, Window

LOOKED_AT = 200  # rows that decide whether a column looks like numbers
_RULES = {
    scan.FIELDS: "the record has more than {width} fields, as many as the header. Quote fields "
    "that hold the delimiter, or pass another.",
    scan.TOO_FEW: "the record has {column} fields, the header {width}. Quote fields that hold the "
    "delimiter, or pass another.",
    scan.BAD_NUMBER: "{word!r} in column {name!r} is no number. Pass categorical=[{name!r}] if the "
    "column holds words.",
    scan.NOT_FINITE: "{word!r} in column {name!r} is not finite; all numbers must be. Replace it, "
    "or leave it empty.",
    scan.MISSING: "column {name!r} is empty ({word!r}). Pass missing='zero' or "
    "missing='indicator', or fill it.",
    scan.NEGATIVE: "weight {word!r} in column {name!r} is negative; weights must be 0 or more. "
    "Mend it, or leave the row out.",
    scan.AFTER_QUOTE: "text after a closing quote, in column {name!r}. A quote inside quotes is "
    "written twice.",
    scan.OPEN_QUOTE: "a quote that is never closed, in column {name!r}. A quote inside quotes is "
    "written twice.",
}


class CsvReader:
    """Chunks of one CSV file after the other, by a layout."""

    def __init__(self, options: Options, context: Context, layout: Layout):
        self.options, self.context, self.layout = options, context, layout
        self.arrays: dict = {}

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Chunks of a file from a position on, each with the bytes of the file read so far."""
        for part, first, window, rows in self.parts(name, position):
            after = Position(
                position.file, window.offset, window.line, position.rows + rows, self.layout.width
            )
            yield (
                chunk_of(part, self.layout, self.options, self.context, first, window.name, after),
                window.done(),
            )

    def parts(self, name: str, position: Position) -> Iterator[tuple[Part, int, Window, int]]:
        """Chunks as parts of a table: (part, line of its first row, window, rows so far)."""
        window = Window(name, self.options)
        try:
            header = read_header(window, self.options)
            self._arrange(header, window.name)
            if position.offset:
                window.close()
                window = Window(name, self.options, position.offset, position.line)
            total, least = 0, self.options.chunk_bytes
            while (stop := window.lines(least)) > window.begin:
                first, begin = window.line, window.begin
                count = self._chunk(window, stop)
                if count:
                    total += count
                    yield self._part(window, count), first, window, total
                # A record longer than the chunk (a quoted text with line ends): look further.
                least = 2 * (stop - begin) if window.begin == begin else self.options.chunk_bytes
                if window.begin == begin and stop - begin > window.longest:
                    window.too_long("record", begin)
            if window.failure:
                self.context.refuse(f"{window.name}, line {window.line}: {window.failure}.")
        finally:
            window.close()

    def words(self, name: str) -> Iterator[dict[str, Words]]:
        """The columns of words of each chunk."""
        for part, *_ in self.parts(name, Position()):
            yield part.words

    # ------------------------------------------------------------------ one chunk
    def _arrange(self, header: list[str], name: str) -> None:
        """Where the fields of each column of this file go."""
        known = {c.name: c for c in self.layout.columns}
        for c in self.layout.columns:
            if c.name not in header and c.role in (NUMBER, WORDS):
                raise ReadError(
                    f"{name}, line 1: column {c.name!r} is missing; the model needs it. The header "
                    f"has {', '.join(header[:10])}."
                )
        self.numeric: list[str] = []
        self.wordy: list[str] = []
        kinds, slots = [], []
        for column in header:
            role = known[column].role if column in known else IGNORED
            words = column in known and known[column].words
            kind = {IGNORED: scan.IGNORED, WEIGHT: scan.WEIGHT}.get(role, scan.NUMBER)
            if words and role != IGNORED:
                kind = scan.WORD
            into = self.wordy if kind == scan.WORD else self.numeric
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

    def _chunk(self, window: Window, stop: int, most: int | None = None) -> int:
        """Read up to `most` records; return how many there are."""
        most = min(
            most or self.options.chunk_rows, (stop - window.begin) // max(len(self.header), 1) + 1
        )
        self._room(most)
        a, rows, at, line = self.arrays, 0, window.begin, window.line
        delimiter, strict = np.uint8(ord(self.options.delimiter)), self.layout.missing == "error"
        while at < stop and rows < most:
            until = window.clean(at, stop)  # a line with a NUL byte is not scanned
            if until == at:
                self.context.refuse(
                    f"{window.name}, line {line}, column {window.store.index(0, at) - at + 1}: "
                    f"{NUL}"
                )
                at, line = window.store.index(b"\n", at) + 1, line + 1
                continue
            given = (
                window.text,
                np.uint64(at),
                np.uint64(until),
                np.uint64(most),
                delimiter,
                strict,
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
            at = window.store.index(b"\n", fault if reason != scan.OPEN_QUOTE else at) + 1
            line += 1
        window.advance(at, line - window.line)
        return rows

    def _refuse(self, window, at, fault, line, reason, column) -> None:
        """Say what is wrong with a record."""
        where = place_of(window.name, line, at, fault)
        name = self.header[column] if column < len(self.header) else ""
        word = ""
        if reason != scan.MISSING:
            word = quoted(window.text, fault).split(self.options.delimiter)[0]
        rule = _RULES[reason].format(word=word, name=name, column=column, width=len(self.header))
        self.context.refuse(f"{where}: {rule}")

    def _part(self, window: Window, count: int) -> Part:
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
            vocabulary = [_decoded(window.store, start, length) for start, length in spans]
            if len(hashes) and hashes[0] == 0:  # missing
                codes, vocabulary = codes - 1, vocabulary[1:]
            words[name] = Words(codes, vocabulary)
        return Part(a["numbers"][:count], self.numeric, words)


def _decoded(store, start: int, length: int) -> str:
    word = bytes(store[start : start + abs(length)]).decode("utf-8", "backslashreplace")
    return word.replace('""', '"') if length < 0 else word


# --------------------------------------------------------------------------- before the first chunk
def read_header(window: Window, options: Options) -> list[str]:
    """The names in the first line."""
    stop = window.lines(1)
    line = (
        bytes(window.store[window.begin : stop]).decode("utf-8", "backslashreplace").rstrip("\r\n")
    )
    if stop == window.begin or not line.strip():
        raise ReadError(
            f"{window.name}, line 1: no header; the file is empty, or begins with an empty line. "
            "The first line must name the columns."
        )
    if "\0" in line:
        raise ReadError(f"{window.name}, line 1: {NUL}")
    import csv

    try:
        names = [name.strip() for name in next(csv.reader([line], delimiter=options.delimiter))]
    except csv.Error as error:
        raise ReadError(
            f"{window.name}, line 1: the header {line[:40]!r} cannot be read ({error}). Check its "
            "quotes and line ends."
        ) from None
    if len(names) == 1:
        raise ReadError(
            f"{window.name}, line 1: one column only, {names[0][:40]!r}. Pass delimiter=... if "
            "another character parts the fields."
        )
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ReadError(
            f"{window.name}, line 1: two columns are named {twice[:40]!r}. Names must differ; "
            "rename one."
        )
    if all(_is_number(name) for name in names):
        raise ReadError(
            f"{window.name}, line 1: the header holds numbers alone, {line[:40]!r}. Put a line "
            "with the columns' names first."
        )
    window.advance(stop, 1)
    return names


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def look(name: str, options: Options) -> tuple[list[str], list[bool]]:
    """Names of the columns, and whether each holds words, by the first rows."""
    window = Window(name, options)
    try:
        names = read_header(window, options)
        layout = Layout([Column(one, WORDS, True) for one in names], "zero", 1)
        reader = CsvReader(options, Context(skip=True), layout)
        reader._arrange(names, window.name)
        reader._room(1)
        count, stop = 0, window.lines(options.chunk_bytes)
        if stop > window.begin:
            count = reader._chunk(window, stop, LOOKED_AT)
        part = reader._part(window, count)
        return names, [
            not all(_is_number(word) for word in part.words[one].vocabulary) for one in names
        ]
    finally:
        window.close()


def read_levels(files: list[str], options: Options, layout: Layout) -> dict[str, set[str]]:
    """All words of the word columns, and of columns of numbers that hold words after all."""
    while True:
        context, levels = Context(skip=True), dict[str, set[str]]()
        levels |= {c.name: set() for c in layout.columns if c.role == WORDS}
        reader = CsvReader(options, context, layout)
        for name in files:
            for part, *_ in reader.parts(name, Position()):
                for column, found in levels.items():
                    found.update(part.words[column].vocabulary)
                if sum(map(len, levels.values())) > MOST_LEVELS:
                    raise ReadError(
                        f"{name}: more than {MOST_LEVELS:,} different words in "
                        f"{', '.join(levels)}. Pass hash_bits=20 to hash them."
                    )
        late = [
            c
            for c in layout.columns
            if c.role == NUMBER
            and any(f"in column {c.name!r} is no number" in said for said in context.bad.first)
        ]
        if not late or options.on_bad == "skip":
            return levels
        for c in late:
            c.role, c.words = WORDS, True
        layout = Layout(layout.columns, layout.missing, layout.hash_bits)
