"""How the fields of a record become the kept columns of a model."""

from typing import Any, NamedTuple

import numpy as np

from tamis.read.tables.layout import NUMBER, TEXT, WORDS, Layout

LISTED, HASHED_NAMES, HASHED_NUMBERS = "fields", "names", "numbers"


class Field(NamedTuple):
    """A field of a record, and the kept columns that it becomes; -1 is a column without weights."""

    name: str
    number: int | None = None  # column of its value, where it is a number
    words: dict[str, int] | None = None  # columns of its words, where it has them
    hashed: bool = False  # whether its words are hashed
    gap: int | None = None  # column of a missing value (-1 adds nothing); None refuses it
    centre: float = 0.0  # a number is taken less its centre, in units of its spread
    spread: float = 1.0
    flags: bool = False  # whether it is true or false, for 1 and 0
    rest: int = -1  # column of words that have none of their own


class Fields(NamedTuple):
    """All fields that matter, and how names are hashed, where they are.

    `kind` is "fields" (a record has these fields), "names" (a record is names, hashed into
    ``2**bits`` columns, as Vowpal Wabbit's text is read) or "numbers" (it is numbers of columns,
    counted from `base`, hashed). Hashed words of fields begin at the column `first`.
    """

    kind: str
    listed: list[Field]
    bits: int = 0
    first: int = 0
    base: int = 0
    unread: tuple[str, ...] = ()  # fields that only tamis reads: dates and texts

    def check(self, form: str) -> None:
        """Refuse a model that looks at fields which a form cannot read."""
        if self.unread:
            raise ValueError(
                f"the model looks at dates or texts ({', '.join(self.unread[:5])}), whose reading "
                f"is not written as {form}. Export it to json, which describes it, predict by "
                f"tamis predict, or fit without them: --as {self.unread[0]}=skip."
            )

    @property
    def is_hashed(self) -> bool:
        """Whether columns are found by hashing."""
        return self.kind != LISTED or any(field.hashed for field in self.listed)


def fields_of(reading: dict[str, Any] | None, columns: np.ndarray, names: list[str]) -> Fields:
    """Fields of the kept columns, as the file was read that a model was trained from; without a
    file a field is a column.
    """
    reading = reading or {}
    bits = int(reading.get("hash_bits") or 0)
    if "layout" in reading:
        return _of_table(Layout.from_dict(reading["layout"]), {int(c) for c in columns})
    if bits and reading.get("format") != "npz":
        kind = HASHED_NAMES if reading["format"] == "vw" else HASHED_NUMBERS
        return Fields(kind, [], bits, 0, 1 if reading.get("zero_based") is False else 0)
    found = [Field(name, int(c)) for name, c in zip(names, columns, strict=True)]
    return Fields(LISTED, found)


def _of_table(layout: Layout, kept: set[int]) -> Fields:
    """Fields of a table; those without a kept column are left out."""
    found, unread = [], []
    for column in layout.features:
        place, facts, size = layout.places[column.name], column.facts, layout.sizes[column.name]
        if column.role not in (NUMBER, WORDS):
            inside = any(place <= c < place + size for c in kept)
            hashes = bool(layout.hash_bits) and column.role == TEXT
            unread += [column.name] if inside or hashes else []
            continue
        wordy, hashed = column.role == WORDS, column.role == WORDS and bool(layout.hash_bits)
        words = {word: place + k for k, word in enumerate(column.levels) if place + k in kept}
        number = place if column.role == NUMBER and place in kept else None
        rest, beside = -1, place + size
        if facts.get("rare") and place + len(column.levels) in kept:
            rest = place + len(column.levels)
            # Levels without a weight of their own are not rare.
            words = {word: place + k for k, word in enumerate(column.levels)}
        gap = -1 if layout.missing != "error" else None
        if layout.missing == "indicator" and beside in kept:
            gap = beside
        if number is not None or words or hashed or rest >= 0 or gap not in (None, -1):
            if not wordy:
                number = -1 if number is None else number
            units = facts.get("centre", 0.0), facts.get("spread", 1.0)
            flags, listed = facts.get("as") == "flags", words if wordy else None
            found.append(Field(column.name, number, listed, hashed, gap, *units, flags, rest))
    return Fields(LISTED, found, layout.hash_bits, layout.buckets, unread=tuple(unread))
