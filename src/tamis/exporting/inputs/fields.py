"""How the fields of a record become the selected columns of a model."""

from typing import Any, NamedTuple

import numpy as np

from tamis.data.columns.dates import DateEncoding
from tamis.data.tables.layout import CATEGORY, DATE, NUMBER, TEXT, Column, Layout
from tamis.data.tables.values import GAP_WORDS, gap_words, spellings_of
from tamis.exporting.inputs.texts import Text, table_text

LISTED, HASHED_NAMES, HASHED_NUMBERS, ONE_TEXT = "fields", "names", "numbers", "text"


class Field(NamedTuple):
    """A field of a record, and its selected columns; -1 is a column without weights.

    The names of these entries are keys of the exported JSON.
    """

    name: str
    number: int | None = None  # column of its value, if it is a number
    words: dict[str, int] | None = None  # columns of its words, if it has any
    hashed: bool = False  # whether its words are hashed
    gap: int | None = None  # column of a missing value (-1 adds nothing); None refuses it
    centre: float = 0.0  # a number counts as (number - centre) / spread
    spread: float = 1.0
    way: str = "plain"  # how numbers are written: "flags" true or false, "commas" decimal commas
    rest: int = -1  # column of all other words
    fill: float | str | None = None  # replaces a missing value
    date: DateEncoding | None = None
    text: Text | None = None


class Fields(NamedTuple):
    """All fields with weights, and the parameters of hashing.

    `kind` is "fields" (a record has these fields), "text" (a record is a text, the one field),
    "names" (a record is names, hashed into ``2**bits`` columns, as Vowpal Wabbit's text is read) or
    "numbers" (it is numbers of columns, counted from `base`, hashed). Hashed words of fields begin
    at the column `first`.
    """

    kind: str
    listed: list[Field]
    bits: int = 0
    first: int = 0
    base: int = 0
    separator: str = ""  # between a key and its word, if a record has arbitrary keys
    gaps: tuple[str, ...] = GAP_WORDS
    records: bool = False  # whether fields are parsed, not just named columns

    @property
    def is_hashed(self) -> bool:
        """Whether columns come from hashing."""
        hashed = (f.hashed or (f.text and f.text.hashing) for f in self.listed)
        return self.kind in (HASHED_NAMES, HASHED_NUMBERS) or any(hashed)

    @property
    def texts(self) -> list[str]:
        """Names of the text fields."""
        return [field.name for field in self.listed if field.text is not None]


def reading_fields(reading: dict[str, Any] | None, columns: np.ndarray, names: list[str]) -> Fields:
    """Return the fields of the selected columns, by how the training file was read.

    `reading` is the `reading_` of the model. Without a file each column is a field.
    """
    reading = reading or {}
    bits = int(reading.get("hash_bits") or 0)
    if "layout" in reading:
        layout, na_values = Layout.from_dict(reading["layout"]), gap_words(reading["format"])
        return table_fields(layout, {int(c) for c in columns}, na_values)
    if bits and reading.get("format") != "npz":
        kind = HASHED_NAMES if reading["format"] == "vw" else HASHED_NUMBERS
        return Fields(kind, [], bits, 0, 1 if reading.get("zero_based") is False else 0)
    fields = [Field(name, int(c)) for name, c in zip(names, columns, strict=True)]
    return Fields(LISTED, fields)


def table_fields(layout: Layout, selected: set[int], na_values: tuple[str, ...] = ()) -> Fields:
    """Return the fields of a table that have selected columns.

    `na_values` are the texts that stand for a missing value.
    """
    builders = {
        NUMBER: _number_field,
        CATEGORY: _category_field,
        DATE: _date_field,
        TEXT: _text_field,
    }
    fields = []
    for column in layout.features:
        indicator = layout.places[column.name] + layout.sizes[column.name]
        missing_column = -1 if layout.missing != "error" else None
        if layout.missing == "indicator" and column.role != TEXT and indicator in selected:
            missing_column = indicator
        field = builders[column.role](column, layout, selected)
        if field is not None or missing_column not in (None, -1):
            if field is None:
                field = _missing_only_field(column)
            fields.append(field if column.role == TEXT else field._replace(gap=missing_column))
    return Fields(
        LISTED, fields, layout.hash_bits, layout.first_bucket, gaps=na_values, records=True
    )


def _missing_only_field(column: Column) -> Field:
    """Return the field of a column of which only missing values have a weight."""
    facts = column.facts
    if column.role == NUMBER:
        return Field(column.name, -1, way=facts.get("as", "plain"))
    if column.role == DATE:
        return Field(column.name, date=DateEncoding.from_params(facts, {}))
    return Field(column.name, words={})


def _number_field(column: Column, layout: Layout, selected: set[int]) -> Field | None:
    """Return the field of a number, or None if it is not selected."""
    index, facts = layout.places[column.name], column.facts
    if index not in selected:
        return None
    units = {"centre": facts.get("centre", 0.0), "spread": facts.get("spread", 1.0)}
    return Field(column.name, index, way=facts.get("as", "plain"), **units)


def _category_field(column: Column, layout: Layout, selected: set[int]) -> Field | None:
    """Return the field of categories, one column each or hashed; None if none is selected."""
    first, hashed = layout.places[column.name], bool(layout.hash_bits)
    level_columns = {word: first + k for word, k in spellings_of(column.levels).items()}
    word_columns, other_column = {word: c for word, c in level_columns.items() if c in selected}, -1
    if column.facts.get("rare") and first + len(column.levels) in selected:
        # Levels without a weight are not rare levels, so all of them are listed.
        word_columns, other_column = level_columns, first + len(column.levels)
    is_unused = not word_columns and not hashed and other_column < 0
    return (
        None
        if is_unused
        else Field(column.name, words=word_columns, hashed=hashed, rest=other_column)
    )


def _date_field(column: Column, layout: Layout, selected: set[int]) -> Field | None:
    """Return the field of the selected parts of a date, or None if there are none."""
    encoding = layout.date_encoding(column)
    selected_parts = {name: c for name, c in encoding.parts.items() if c in selected}
    return (
        Field(column.name, date=encoding._replace(parts=selected_parts)) if selected_parts else None
    )


def _text_field(column: Column, layout: Layout, selected: set[int]) -> Field | None:
    """Return the field of a text, or None without selected words; a missing text is empty."""
    text = table_text(column, layout)
    has_columns = text.hashing is not None or not selected.isdisjoint(text.words.values())
    return Field(column.name, gap=-1, text=text) if has_columns else None
