"""Parquet and Arrow IPC through pyarrow, batch by batch, by the same layout as CSV.

A file may say anything of its buffers, and pyarrow follows an offset wherever it points. So each
batch is validated in full before a value is read; that takes a few hundredths of the time of
reading.
"""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.read.options import Options
from tamis.read.rows import Context, Misplaced, Position, ReadError, Rows, foreign
from tamis.read.streams import shown
from tamis.read.tables.layout import (
    IGNORED,
    MOST_LEVELS,
    NUMBER,
    WEIGHT,
    WORDS,
    Layout,
    Part,
    Words,
    chunk_of,
)


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
        "Copy it again, or pass format=...",
    )


def batches(name: str, options: Options) -> Iterator[Any]:
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
    )


def look(name: str, options: Options) -> tuple[list[str], list[bool]]:
    """Names of the columns, and whether each holds words."""
    schema = next((batch.schema for batch in batches(name, options)), None)
    if schema is None:
        raise ReadError(f"{shown(name)}: no rows; the file is empty. Check the name.")
    if len(set(schema.names)) < len(schema.names):
        raise ReadError(
            f"{shown(name)}: two columns have the same name. Names must differ; rename one."
        )
    for field in schema:
        types = _pyarrow().types
        if (
            types.is_nested(field.type)
            and not types.is_dictionary(field.type)
            and field.name not in options.ignore
        ):
            raise ReadError(
                f"{shown(name)}: column {field.name!r} is of type {field.type}, which is no number "
                f"and no word. Pass ignore=[{field.name!r}]."
            )
    return list(schema.names), [not _is_number(field.type) for field in schema]


def read_levels(files: list[str], options: Options, layout: Layout) -> dict[str, set[str]]:
    """All words of the word columns."""
    levels: dict[str, set[str]] = {c.name: set() for c in layout.columns if c.role == WORDS}
    for name in files:
        for batch in batches(name, options):
            with _guarded(name, options):
                for column, found in levels.items():
                    found.update(_words(batch.column(column)).vocabulary)
            if sum(map(len, levels.values())) > MOST_LEVELS:
                raise ReadError(
                    f"{name}: more than {MOST_LEVELS:,} different words in {', '.join(levels)}. "
                    "Pass hash_bits=20 to hash them."
                )
    return levels


def _words(array) -> Words:
    """Codes and words of a column."""
    arrow = _pyarrow()
    # A missing word may have a code of its own.
    if arrow.types.is_dictionary(array.type) and array.dictionary.null_count:
        array = array.dictionary_decode()
    if not arrow.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes = np.asarray(array.indices.cast(arrow.int64()).fill_null(-1))
    return Words(codes, [str(word) for word in array.dictionary.to_pylist()])


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
        wordy = [c.name for c in self.layout.columns if c.role == WORDS]
        for batch in batches(name, self.options):
            with _guarded(name, self.options):
                found = {column: _words(batch.column(column)) for column in wordy}
            yield found

    def _part(self, batch, name: str, start: int) -> Part:
        names, numbers, words = [], [], {}
        gone, bad = np.zeros((2, batch.num_rows), bool)
        for c in self.layout.columns:
            if c.role == IGNORED:
                continue
            if c.name not in batch.schema.names:
                if c.role in (NUMBER, WORDS):
                    raise ReadError(
                        f"{name}: column {c.name!r} is missing; the model needs it. The file has "
                        f"{', '.join(batch.schema.names[:10])}."
                    )
                continue
            array = batch.column(c.name)
            if c.words:
                words[c.name] = _words(array)
                gone |= words[c.name].codes < 0
                continue
            values = self._numbers(array, c.name, name)
            names.append(c.name)
            numbers.append(values)
            gone |= np.isnan(values)
            self._refuse(
                np.isinf(values),
                bad,
                name,
                start,
                f"in column {c.name!r} is not finite; all numbers must be. Replace it.",
                values,
            )
            if c.role == WEIGHT:
                rule = (
                    f"in column {c.name!r} is negative; weights must be 0 or more. Mend it, or "
                    "leave the row out."
                )
                self._refuse(values < 0, bad, name, start, rule, values)
        if self.layout.missing == "error":
            self._refuse(
                gone,
                bad,
                name,
                start,
                "an entry is missing. Pass missing='zero' or missing='indicator', or fill it.",
            )
        part = Part(
            np.column_stack(numbers) if numbers else np.empty((batch.num_rows, 0)), names, words
        )
        if not bad.any():
            return part
        return Part(
            part.numbers[~bad],
            part.names,
            {k: Words(w.codes[~bad], w.vocabulary) for k, w in part.words.items()},
        )

    def _numbers(self, array, column: str, name: str) -> np.ndarray:
        if not _is_number(array.type):
            raise ReadError(
                f"{name}: column {column!r} is of type {array.type}, where numbers are expected. "
                f"Pass categorical=[{column!r}]."
            )
        # A view of the batch where that holds such numbers and none is missing.
        return array.cast(_pyarrow().float64(), safe=False).to_numpy(zero_copy_only=False)

    def _refuse(self, wrong, bad, name: str, start: int, rule: str, values=None) -> None:
        """Refuse the rows with something wrong, once each, except those that are bad already."""
        for row in np.flatnonzero(wrong & ~bad):
            said = rule if values is None else f"{values[row]} {rule}"
            self.context.refuse(f"{name}, row {start + row + 1}: {said}")
        bad |= wrong
