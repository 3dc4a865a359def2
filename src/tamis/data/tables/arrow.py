"""Read Parquet and Arrow IPC with pyarrow, batch by batch, by the same layout as CSV.

A file may have invalid offsets, which pyarrow follows. So each batch is validated in full before a
value is read; that takes a few hundredths of the reading time.
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from tamis.data.columns.profile import Profile, TableHead
from tamis.data.columns.texts import RowCounts
from tamis.data.options import Options
from tamis.data.rows import Position, PositionError, ReadError, ReaderState, Rows, convert_errors
from tamis.data.streams import display_name
from tamis.data.tables.chunks import drop_rows, encode_chunk, gap_message
from tamis.data.tables.frames import Field
from tamis.data.tables.layout import (
    CATEGORY,
    FEATURES,
    IGNORED,
    NUMBER,
    TARGET,
    TEXT,
    WEIGHT,
    Column,
    Layout,
    StringColumn,
    TableChunk,
)
from tamis.data.tables.values import is_gap, seconds_of, word_of
from tamis.system.spelling import format_option, shorten_names

MISSING_TIME = -(1 << 63)  # NumPy's missing time, as a number
HEAD_ROWS = 200  # rows whose profile `look` returns


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ReadError(
            "Parquet and Arrow files need pyarrow: pip install 'tamis[arrow]'. Or save the table "
            "as CSV."
        ) from None
    return pyarrow


def _reading_errors(name: str, options: Options, row: int = 0):
    """Convert errors of pyarrow on a damaged file to ReadError with the row."""
    where = f", after row {row}" if row else ""
    return convert_errors(
        f"{display_name(name)}{where}: it cannot be read as {options.format}",
        f"Copy it again, or pass {format_option('format', ...)}",
    )


def batches(name: str, options: Options) -> Generator[Any]:
    """Yield validated record batches of at most `chunk_rows` rows."""
    raw_batches, n_rows = _raw_batches(name, options), 0
    while True:
        with _reading_errors(name, options, n_rows):
            batch = next(raw_batches, None)
            if batch is None:
                return
            batch.validate(full=True)
            # Damaged names and types are no UTF-8, which raises here.
            _ = [(field.name, str(field.type)) for field in batch.schema]
        for start in range(0, batch.num_rows, options.chunk_rows):
            yield batch.slice(start, options.chunk_rows)
        n_rows += batch.num_rows


def _raw_batches(name: str, options: Options) -> Iterator[Any]:
    """Yield record batches as the file has them."""
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


def look(name: str, options: Options, open_files: OpenFiles | None = None) -> TableHead:
    """Return names and types of the columns, and a profile of the first rows.

    The file stays open at its first batch if `open_files` is given.
    """
    remaining = batches(name, options)
    batch = next(remaining, None)
    if open_files is None:
        remaining.close()
    elif batch is not None:
        open_files[name] = _prepend(batch, remaining)
    if batch is None:
        raise ReadError(f"{display_name(name)}: no rows; the file is empty. Check the name.")
    schema = batch.schema
    if len(set(schema.names)) < len(schema.names):
        raise ReadError(
            f"{display_name(name)}: two columns have the same name. Names must differ; rename one."
        )
    types = _pyarrow().types
    skipped = {*options.ignore, *(name for name, kind in options.kinds if kind == "skip")}
    for field in schema:
        nested = types.is_nested(field.type) and not types.is_dictionary(field.type)
        if nested and field.name not in skipped:
            raise ReadError(
                f"{display_name(name)}: column {field.name!r} is of type {field.type}, which is "
                f"no number and no word. Pass {format_option('ignore', [field.name])}."
            )
    is_string = [not _is_number(field.type) or types.is_boolean(field.type) for field in schema]
    columns = [
        Column(field.name, CATEGORY if flag else NUMBER, flag)
        for field, flag in zip(schema, is_string, strict=True)
        if field.name not in skipped
    ]
    profile = _empty_profile(columns, options)
    with _reading_errors(name, options):
        profile.add(batch_chunk(batch.slice(0, HEAD_ROWS), columns, display_name(name)), 1, False)
    return TableHead(list(schema.names), is_string, [], profile)


def _prepend(batch: Any, remaining: Generator[Any]) -> Generator[Any]:
    """Yield a batch that was read already, and those after it."""
    yield batch
    del batch
    yield from remaining


def _empty_profile(columns: list[Column], options: Options) -> Profile:
    """Return an empty profile of the columns that are read."""
    read_columns = [c for c in columns if c.role != IGNORED]
    numeric, string_names = (
        [c.name for c in read_columns if c.words == is_string] for is_string in (False, True)
    )
    return Profile(numeric, string_names, options.decimal)


def read_profile(
    files: list[str],
    options: Options,
    columns: list[Column],
    may_become_string: Callable[[str], bool],
    open_files: OpenFiles | None = None,
) -> Profile:
    """Return the profile of all columns; `open_files` are those that `look` left open."""
    open_files = {} if open_files is None else open_files
    profile = _empty_profile(columns, options)
    for name in files:
        for batch in open_files.pop(name, None) or batches(name, options):
            with _reading_errors(name, options):
                profile.add(batch_chunk(batch, columns, display_name(name)), 1, False)
    return profile


def read_texts(
    files: list[str], options: Options, columns: list[Column], names: list[str]
) -> dict[str, RowCounts]:
    """Return the number of rows with each word of text columns."""
    row_counts = {name: RowCounts(options.ngrams) for name in names}
    for file in files:
        for batch in batches(file, options):
            with _reading_errors(file, options):
                for name, counts in row_counts.items():
                    counts.add(*_string_column(batch.column(name)))
    return row_counts


def _string_column(array) -> StringColumn:
    """Return codes and words of a column."""
    arrow = _pyarrow()
    if str(array.type) == "string_view":  # not supported by all functions of pyarrow
        array = array.cast(arrow.large_string())
    # A missing word may have a code.
    if arrow.types.is_dictionary(array.type) and array.dictionary.null_count:
        array = array.dictionary_decode()
    if not arrow.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    return StringColumn(
        _to_numpy(array.indices.cast(arrow.int64()), -1), _to_strings(array.dictionary)
    )


def _to_numpy(array, gap: float) -> np.ndarray:
    """Return numbers of 64 bits with `gap` for missing ones: a view of the batch if none is
    missing.

    pyarrow's `to_numpy` and `fill_null` import pandas, which takes 30 MB.
    """
    stop, (valid, numbers) = array.offset + len(array), array.buffers()
    if not stop:
        return np.empty(0, type(gap))
    values = np.frombuffer(numbers, type(gap), stop)[array.offset :]
    if not array.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), count=stop, bitorder="little")
    return np.where(bits[array.offset :], values, gap)


def _to_strings(values) -> list[str]:
    """Return values as words."""
    arrow = _pyarrow()
    if arrow.types.is_timestamp(values.type):
        microseconds = arrow.timestamp("us", values.type.tz)
        with suppress(arrow.ArrowInvalid):  # nonzero nanoseconds need pandas
            values = values.cast(microseconds)
        try:
            return [word_of(value) for value in values.to_pylist()]
        except ValueError:  # without pandas
            values = values.cast(microseconds, safe=False)
    return [word_of(value) for value in values.to_pylist()]


def _mark_gaps(column: StringColumn, gaps: tuple[str, ...]) -> StringColumn:
    """Return a string column in which the words `gaps` are missing."""
    is_missing = np.array([*(is_gap(word, gaps) for word in column.vocabulary), True])
    return StringColumn(np.where(is_missing[column.codes], -1, column.codes), column.vocabulary)


def _to_numbers(array, column: str, name: str, gaps: tuple[str, ...]) -> np.ndarray:
    """Return a column of numbers, nan for missing ones."""
    if not _is_number(array.type):
        try:
            return Field(column, array, gaps).floats()
        except ReadError as error:
            raise ReadError(f"{name}: {error}") from None
    if _pyarrow().types.is_duration(array.type):
        durations = _to_numpy(array.cast(_pyarrow().int64()), MISSING_TIME)
        return seconds_of(durations.view(f"m8[{array.type.unit}]"))
    return _to_numpy(array.cast(_pyarrow().float64(), safe=False), np.nan)


def batch_chunk(batch, columns: list[Column], name: str, gaps: tuple[str, ...] = ()) -> TableChunk:
    """Return a batch as a table chunk; the words `gaps` are missing values."""
    names, numbers, strings = [], [], {}
    indices = {column: k for k, column in enumerate(batch.schema.names)}
    for c in columns:
        if c.role == IGNORED:
            continue
        if c.name not in indices:
            if c.role in FEATURES:
                raise ReadError(
                    f"{name}: column {shorten_names(c.name)!r} is missing; the model needs it. "
                    "The file "
                    f"has {', '.join(shorten_names(batch.schema.names[:10]))}."
                )
            continue
        array = batch.column(indices[c.name])
        if c.words:
            strings[c.name] = (
                _mark_gaps(_string_column(array), gaps) if gaps else _string_column(array)
            )
        else:
            names.append(c.name)
            numbers.append(_to_numbers(array, c.name, name, gaps))
    matrix = np.column_stack(numbers) if numbers else np.empty((batch.num_rows, 0))
    return TableChunk(matrix, names, strings)


class ArrowReader:
    """Reader of chunks of Parquet and Arrow files."""

    def __init__(self, options: Options, state: ReaderState, layout: Layout):
        self.options, self.state, self.layout = options, state, layout

    def read(self, name: str, position: Position) -> Iterator[tuple[Rows, int]]:
        """Yield chunks of a file from a position on."""
        file_bytes, rows_read = os.path.getsize(name), 0
        rows_before = position.rows - position.offset
        for batch in batches(name, self.options):
            start, rows_read = rows_read, rows_read + batch.num_rows
            if start < position.offset < rows_read:
                raise PositionError.for_row(display_name(name), position.offset)
            if start < position.offset or not batch.num_rows:
                continue
            with _reading_errors(name, self.options, start):
                chunk = self._to_chunk(batch, display_name(name), start)
            next_position = Position(
                position.file, rows_read, 1, rows_before + rows_read, self.layout.width
            )
            rows = encode_chunk(
                chunk,
                self.layout,
                self.options,
                self.state,
                start + 1,
                display_name(name),
                next_position,
            )
            yield rows, min(file_bytes, file_bytes * rows_read // max(rows_read + 1, 1))
        if rows_read < position.offset:
            raise PositionError.for_row(display_name(name), position.offset)

    def words(self, name: str) -> Iterator[dict[str, StringColumn]]:
        """Yield the string columns of each chunk."""
        string_names = [c.name for c in self.layout.columns if c.role in (CATEGORY, TEXT)]
        for batch in batches(name, self.options):
            with _reading_errors(name, self.options):
                strings = {column: _string_column(batch.column(column)) for column in string_names}
            yield strings

    def _to_chunk(self, batch, name: str, start: int) -> TableChunk:
        """Return a batch as a table chunk without the rows that are refused."""
        chunk = batch_chunk(batch, self.layout.columns, name, self.options.gaps)
        roles = {c.name: c.role for c in self.layout.columns}
        gap_rows, is_bad = {}, np.zeros(batch.num_rows, bool)
        for column, strings_of_column in chunk.strings.items():
            if roles[column] != TEXT:
                gap_rows[column] = strings_of_column.codes < 0
        for k, column in enumerate(chunk.numeric_names):
            values = chunk.numbers[:, k]
            gap_rows[column] = np.isnan(values)
            rule = f"in column {shorten_names(column)!r} is not finite. Replace it."
            self._refuse(np.isinf(values), is_bad, name, start, rule, values)
            if roles[column] == WEIGHT:
                rule = (
                    f"in column {shorten_names(column)!r} is negative; weights must be 0 or "
                    "more. Mend "
                    "it, or leave the row out."
                )
                self._refuse(values < 0, is_bad, name, start, rule, values)
        if self.layout.missing == "error":
            for column, rows in gap_rows.items():
                if roles[column] == TARGET and self.options.target is False:
                    continue
                message = gap_message(column, roles[column], self.options)
                self._refuse(rows, is_bad, name, start, message)
        return drop_rows(chunk, is_bad, self.state)

    def _refuse(self, is_wrong, is_bad, name: str, start: int, rule: str, values=None) -> None:
        """Refuse the wrong rows that are not bad already."""
        for row in np.flatnonzero(is_wrong & ~is_bad):
            message = rule if values is None else f"{values[row]} {rule}"
            self.state.refuse(f"{name}, row {start + row + 1}: {message}")
        is_bad |= is_wrong
