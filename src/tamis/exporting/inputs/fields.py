"""How the fields of a record become the kept columns of a model."""

from typing import Any, NamedTuple

import numpy as np

from tamis.data.columns.dates import DateEncoding
from tamis.data.tables.layout import DATE, NUMBER, TEXT, WORDS, Column, Layout
from tamis.data.tables.values import GAPS, gap_words, spellings_of
from tamis.exporting.inputs.texts import Text, own_text

LISTED, HASHED_NAMES, HASHED_NUMBERS, ONE_TEXT = "fields", "names", "numbers", "text"


class Field(NamedTuple):
    """A field of a record, and the kept columns that it becomes; -1 is a column without weights."""

    name: str
    number: int | None = None  # column of its value, where it is a number
    words: dict[str, int] | None = None  # columns of its words, where it has them
    hashed: bool = False  # whether its words are hashed
    gap: int | None = None  # column of a missing value (-1 adds nothing); None refuses it
    centre: float = 0.0  # a number is taken less its centre, in units of its spread
    spread: float = 1.0
    way: str = "plain"  # how words are numbers: "flags" are true or false, "commas" part decimals
    rest: int = -1  # column of words that have none of their own
    fill: float | str | None = None  # what stands for a missing value
    date: DateEncoding | None = None
    text: Text | None = None


class Fields(NamedTuple):
    """All fields that matter, and how names are hashed, where they are.

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
    separator: str = ""  # between a key and its word, where a record has any keys
    gaps: tuple[str, ...] = GAPS
    records: bool = False  # whether fields are more than columns by their names

    @property
    def is_hashed(self) -> bool:
        """Whether columns are found by hashing as we do it."""
        hashed = (f.hashed or (f.text and f.text.hashing) for f in self.listed)
        return self.kind in (HASHED_NAMES, HASHED_NUMBERS) or any(hashed)

    @property
    def texts(self) -> list[str]:
        """Names of the fields that are texts."""
        return [field.name for field in self.listed if field.text is not None]


def fields_of(reading: dict[str, Any] | None, columns: np.ndarray, names: list[str]) -> Fields:
    """Fields of the kept columns, as the file was read that a model was trained from; without a
    file a field is a column.
    """
    reading = reading or {}
    bits = int(reading.get("hash_bits") or 0)
    if "layout" in reading:
        layout, gaps = Layout.from_dict(reading["layout"]), gap_words(reading["format"])
        return fields_of_table(layout, {int(c) for c in columns}, gaps)
    if bits and reading.get("format") != "npz":
        kind = HASHED_NAMES if reading["format"] == "vw" else HASHED_NUMBERS
        return Fields(kind, [], bits, 0, 1 if reading.get("zero_based") is False else 0)
    found = [Field(name, int(c)) for name, c in zip(names, columns, strict=True)]
    return Fields(LISTED, found)


def fields_of_table(layout: Layout, kept: set[int], gaps: tuple[str, ...] = ()) -> Fields:
    """Fields of a table; those without a kept column are left out."""
    made = {NUMBER: _of_number, WORDS: _of_words, DATE: _of_date, TEXT: _of_text}
    found = []
    for column in layout.features:
        beside = layout.places[column.name] + layout.sizes[column.name]
        gap = -1 if layout.missing != "error" else None
        if layout.missing == "indicator" and column.role != TEXT and beside in kept:
            gap = beside
        field = made[column.role](column, layout, kept)
        if field is not None or gap not in (None, -1):
            if field is None:  # its gaps alone have a weight
                field = _of_gaps(column)
            found.append(field if column.role == TEXT else field._replace(gap=gap))
    return Fields(LISTED, found, layout.hash_bits, layout.buckets, gaps=gaps, records=True)


def _of_gaps(column: Column) -> Field:
    """A column whose values have no weight."""
    facts = column.facts
    if column.role == NUMBER:
        return Field(column.name, -1, way=facts.get("as", "plain"))
    if column.role == DATE:
        return Field(column.name, date=DateEncoding.of_facts(facts, {}))
    return Field(column.name, words={})


def _of_number(column: Column, layout: Layout, kept: set[int]) -> Field | None:
    """A number, in units of its column."""
    place, facts = layout.places[column.name], column.facts
    if place not in kept:
        return None
    units = {"centre": facts.get("centre", 0.0), "spread": facts.get("spread", 1.0)}
    return Field(column.name, place, way=facts.get("as", "plain"), **units)


def _of_words(column: Column, layout: Layout, kept: set[int]) -> Field | None:
    """Words, a column each, or hashed."""
    place, hashed = layout.places[column.name], bool(layout.hash_bits)
    places = {word: place + k for word, k in spellings_of(column.levels).items()}
    words, rest = {word: c for word, c in places.items() if c in kept}, -1
    if column.facts.get("rare") and place + len(column.levels) in kept:
        # Levels without a weight of their own are not rare.
        words, rest = places, place + len(column.levels)
    none = not words and not hashed and rest < 0
    return None if none else Field(column.name, words=words, hashed=hashed, rest=rest)


def _of_date(column: Column, layout: Layout, kept: set[int]) -> Field | None:
    """Parts of a date."""
    encoding = layout.date_encoding(column)
    parts = {name: c for name, c in encoding.parts.items() if c in kept}
    return Field(column.name, date=encoding._replace(parts=parts)) if parts else None


def _of_text(column: Column, layout: Layout, kept: set[int]) -> Field | None:
    """Words of a text; a gap is an empty text."""
    text = own_text(column, layout)
    inside = text.hashing is not None or not kept.isdisjoint(text.words.values())
    return Field(column.name, gap=-1, text=text) if inside else None
