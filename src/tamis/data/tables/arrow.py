"""Parquet and Arrow IPC through pyarrow, batch by batch, by the same layout as CSV.

A file may say anything of its buffers, and pyarrow follows an offset wherever it points. So each
batch is validated in full before a value is read; that takes a few hundredths of the time of
reading.
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from tamis.data.columns.profile import First, Profile
from tamis.data.columns.texts import RowCounts
from tamis.data.options import Options
from tamis.data.rows import Context, Misplaced, Position, ReadError, Rows, foreign
from tamis.data.streams import shown
from tamis.data.tables.chunks import chunk_of, gap_sentence, without
from tamis.data.tables.frames import Field
from tamis.data.tables.layout import (
    FEATURES,
    IGNORED,
    NUMBER,
    TARGET,
    TEXT,
    WEIGHT,
    WORDS,
    Column,
    Layout,
    Part,
    Words,
)
from tamis.data.tables.values import is_gap, seconds_of, word_of
from tamis.system.spelling import option, short

NAT = -(1 << 63)  # NumPy's missing time, as a number
LOOKED_AT = 200  # rows that are looked at before all others


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ReadError(
            "Parquet and Arrow files need pyarrow: pip install 'tamis[arrow]'. Or save the table "
            "as CSV."
        ) from None
    return pyarrow


def _guarded(name: str, options: Options, row: int = 0):
    """What pyarrow raises on a damaged file, as a ReadError that says where it was."""
    where = f", after row {row}" if row else ""
    return foreign(
        f"{shown(name)}{where}: it cannot be read as {options.format}",
        f"Copy it again, or pass {option('format', ...)}",
    )


def batches(name: str, options: Options) -> Generator[Any]:
    """Record batches of at most `chunk_rows` rows, their offsets, codes and texts found sound."""
    found, done = _batches(name, options), 0
    while True:
        with _guarded(name, options, done):
            batch = next(found, None)
            if batch is None:
                return
            batch.validate(full=True)
            _ = [
                (field.name, str(field.type)) for field in batch.schema
            ]  # where these are damaged they are no UTF-8
        for start in range(0, batch.num_rows, options.chunk_rows):
            yield batch.slice(start, options.chunk_rows)
        done += batch.num_rows


def _batches(name: str, options: Options) -> Iterator[Any]:
    """Record batches as the file has them."""
    arrow = _pyarrow()
    if options.format == "parquet":
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(name) as file:
            yield from file.iter_batches(options.chunk_rows)
        return
    with arrow.memory_map(name) as file:
        try:
            reader = arrow.ipc.open_file(file)
        except arrow.ArrowInvalid:
            file.seek(0)
            yield from arrow.ipc.open_stream(file)
            return
        for k in range(reader.num_record_batches):
            yield reader.get_batch(k)


def _is_number(kind) -> bool:
    types = _pyarrow().types
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_duration(kind)
    )


OpenFiles = dict[str, Generator[Any]]  # batches, by name


def look(name: str, options: Options, open_files: OpenFiles | None = None) -> First:
    """Names of the columns, and what they hold by their types and the first rows. The file stays
    open, at its first batch, where `open_files` takes it.
    """
    rest = batches(name, options)
    batch = next(rest, None)
    if open_files is None:
        rest.close()
    elif batch is not None:
        open_files[name] = _with_first(batch, rest)
    if batch is None:
        raise ReadError(f"{shown(name)}: no rows; the file is empty. Check the name.")
    schema = batch.schema
    if len(set(schema.names)) < len(schema.names):
        raise ReadError(
            f"{shown(name)}: two columns have the same name. Names must differ; rename one."
        )
    types = _pyarrow().types
    skipped = {*options.ignore, *(name for name, kind in options.kinds if kind == "skip")}
    for field in schema:
        nested = types.is_nested(field.type) and not types.is_dictionary(field.type)
        if nested and field.name not in skipped:
            raise ReadError(
                f"{shown(name)}: column {field.name!r} is of type {field.type}, which is no number "
                f"and no word. Pass {option('ignore', [field.name])}."
            )
    wordy = [not _is_number(field.type) or types.is_boolean(field.type) for field in schema]
    columns = [
        Column(field.name, WORDS if words else NUMBER, words)
        for field, words in zip(schema, wordy, strict=True)
        if field.name not in skipped
    ]
    profile = _profile_of(columns, options)
    with _guarded(name, options):
        profile.add(part_of(batch.slice(0, LOOKED_AT), columns, shown(name)), 1, False)
    return First(list(schema.names), wordy, [], profile)


def _with_first(batch: Any, rest: Generator[Any]) -> Generator[Any]:
    """A batch that was looked at, and those after it."""
    yield batch
    del batch
    yield from rest


def _profile_of(columns: list[Column], options: Options) -> Profile:
    """An empty profile of the columns that are read."""
    read = [c for c in columns if c.role != IGNORED]
    numeric, wordy = ([c.name for c in read if c.words == words] for words in (False, True))
    return Profile(numeric, wordy, options.decimal)


def read_profile(
    files: list[str],
    options: Options,
    columns: list[Column],
    may_turn: Callable[[str], bool],
    open_files: OpenFiles | None = None,
) -> Profile:
    """Figures of all columns. `open_files` are those that a look has left open."""
    open_files = {} if open_files is None else open_files
    profile = _profile_of(columns, options)
    for name in files:
        for batch in open_files.pop(name, None) or batches(name, options):
            with _guarded(name, options):
                profile.add(part_of(batch, columns, shown(name)), 1, False)
    return profile


def read_texts(
    files: list[str], options: Options, columns: list[Column], names: list[str]
) -> dict[str, RowCounts]:
    """How many rows have each word of columns of texts."""
    found = {name: RowCounts(options.ngrams) for name in names}
    for file in files:
        for batch in batches(file, options):
            with _guarded(file, options):
                for name, counts in found.items():
                    counts.add(*_words(batch.column(name)))
    return found


def _words(array) -> Words:
    """Codes and words of a column."""
    arrow = _pyarrow()
    if str(array.type) == "string_view":  # which not all of pyarrow knows
        array = array.cast(arrow.large_string())
    # A missing word may have a code of its own.
    if arrow.types.is_dictionary(array.type) and array.dictionary.null_count:
        array = array.dictionary_decode()
    if not arrow.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    return Words(_to_numpy(array.indices.cast(arrow.int64()), -1), _value_words(array.dictionary))


def _to_numpy(array, gap: float) -> np.ndarray:
    """Numbers of 64 bits with `gap` where one is missing: a view of the batch where none is.

    pyarrow's own `to_numpy` and `fill_null` import pandas, 30 MB that no command needs.
    """
    stop, (valid, numbers) = array.offset + len(array), array.buffers()
    if not stop:
        return np.empty(0, type(gap))
    values = np.frombuffer(numbers, type(gap), stop)[array.offset :]
    if not array.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), count=stop, bitorder="little")
    return np.where(bits[array.offset :], values, gap)


def _value_words(values) -> list[str]:
    """Values as words."""
    arrow = _pyarrow()
    if arrow.types.is_timestamp(values.type):
        coarse = arrow.timestamp("us", values.type.tz)
        with suppress(arrow.ArrowInvalid):  # nanoseconds that count: pandas knows them
            values = values.cast(coarse)
        try:
            return [word_of(value) for value in values.to_pylist()]
        except ValueError:  # where there is no pandas
            values = values.cast(coarse, safe=False)
    return [word_of(value) for value in values.to_pylist()]


def _without(words: Words, gaps: tuple[str, ...]) -> Words:
    """The words with those of `gaps` missing."""
    lost = np.array([*(is_gap(word, gaps) for word in words.vocabulary), True])
    return Words(np.where(lost[words.codes], -1, words.codes), words.vocabulary)


def _numbers(array, column: str, name: str, gaps: tuple[str, ...]) -> np.ndarray:
    """A column of numbers, nan where one is missing."""
    if not _is_number(array.type):
        try:
            return Field(column, array, gaps).floats()
        except ReadError as error:
            raise ReadError(f"{name}: {error}") from None
    if _pyarrow().types.is_duration(array.type):
        whole = _to_numpy(array.cast(_pyarrow().int64()), NAT)
        return seconds_of(whole.view(f"m8[{array.type.unit}]"))
    return _to_numpy(array.cast(_pyarrow().float64(), safe=False), np.nan)


def part_of(batch, columns: list[Column], name: str, gaps: tuple[str, ...] = ()) -> Part:
    """A batch by column; words of `gaps` are missing values."""
    names, numbers, words = [], [], {}
    places = {column: k for k, column in enumerate(batch.schema.names)}
    for c in columns:
        if c.role == IGNORED:
            continue
        if c.name not in places:
            if c.role in FEATURES:
                raise ReadError(
                    f"{name}: column {short(c.name)!r} is missing; the model needs it. The file "
                    f"has {', '.join(short(batch.schema.names[:10]))}."
                )
            continue
        array = batch.column(places[c.name])
        if c.words:
            words[c.name] = _without(_words(array), gaps) if gaps else _words(array)
        else:
            names.append(c.name)
            numbers.append(_numbers(array, c.name, name, gaps))
    matrix = np.column_stack(numbers) if numbers else np.empty((batch.num_rows, 0))
    return Part(matrix, names, words)


class ArrowReader:
    """Chunks of one file after the other."""

    def __init__(self, options: Options, context: Context, layout: Layout):
        self.options, self.context, self.layout = options, context, layout

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Chunks of a file from a position on."""
        size, done, before = os.path.getsize(name), 0, position.rows - position.offset
        for batch in batches(name, self.options):
            start, done = done, done + batch.num_rows
            if start < position.offset < done:
                raise Misplaced.row(shown(name), position.offset)
            if start < position.offset or not batch.num_rows:
                continue
            with _guarded(name, self.options, start):
                part = self._part(batch, shown(name), start)
            after = Position(position.file, done, 1, before + done, self.layout.width)
            rows = chunk_of(
                part, self.layout, self.options, self.context, start + 1, shown(name), after
            )
            yield rows, min(size, size * done // max(done + 1, 1))
        if done < position.offset:
            raise Misplaced.row(shown(name), position.offset)

    def words(self, name: str) -> Iterator[dict[str, Words]]:
        """The columns of words of each chunk."""
        wordy = [c.name for c in self.layout.columns if c.role in (WORDS, TEXT)]
        for batch in batches(name, self.options):
            with _guarded(name, self.options):
                found = {column: _words(batch.column(column)) for column in wordy}
            yield found

    def _part(self, batch, name: str, start: int) -> Part:
        """A batch by column, without the rows that are refused."""
        part = part_of(batch, self.layout.columns, name, self.options.gaps)
        roles = {c.name: c.role for c in self.layout.columns}
        gone, bad = {}, np.zeros(batch.num_rows, bool)
        for column, words in part.words.items():
            if roles[column] != TEXT:
                gone[column] = words.codes < 0
        for k, column in enumerate(part.names):
            values = part.numbers[:, k]
            gone[column] = np.isnan(values)
            rule = f"in column {short(column)!r} is not finite; all numbers must be. Replace it."
            self._refuse(np.isinf(values), bad, name, start, rule, values)
            if roles[column] == WEIGHT:
                rule = (
                    f"in column {short(column)!r} is negative; weights must be 0 or more. Mend "
                    "it, or leave the row out."
                )
                self._refuse(values < 0, bad, name, start, rule, values)
        if self.layout.missing == "error":
            for column, rows in gone.items():
                if roles[column] == TARGET and self.options.target is False:
                    continue
                said = gap_sentence(column, roles[column], self.options)
                self._refuse(rows, bad, name, start, said)
        return without(part, bad, self.context)

    def _refuse(self, wrong, bad, name: str, start: int, rule: str, values=None) -> None:
        """Refuse the rows with something wrong, once each, except those that are bad already."""
        for row in np.flatnonzero(wrong & ~bad):
            said = rule if values is None else f"{values[row]} {rule}"
            self.context.refuse(f"{name}, row {start + row + 1}: {said}")
        bad |= wrong
