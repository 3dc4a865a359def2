"""Names into columns: numbers of columns, hashes, a list of names, or the fields of a table.

A naming has ``read(mapping, learning)``, which gives the columns and values of a row and the names
that it would add, and ``take(names, model)``, which adds them once nothing can go wrong any more.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tamis.data.tables.chunks import wrong_words
from tamis.data.tables.frames import Field, part_of
from tamis.data.tables.layout import NUMBER, TEXT, WORDS, Column, Layout
from tamis.data.tables.values import gap_words, is_gap, number_of, word_of
from tamis.serving.loop import SORTED, SUMMED, hash_names

Read = tuple[list, list, list[str]]


class Numbers:
    """No names: the keys are the numbers of columns."""

    order = SORTED  # whatever the order of the names

    def read(self, mapping: Mapping, learning: bool) -> Read:
        """Columns, values, and no new names."""
        columns = list(mapping)
        bad = next((name for name in columns if isinstance(name, str)), None)
        if bad is not None:
            raise ValueError(
                f"the columns of this model have no names, so that {bad!r} means nothing. Pass "
                "hash_bits to live to hash names, or begin a model with grow=True here, or one "
                "that was fitted to a DataFrame."
            )
        return columns, list(mapping.values()), []

    def take(self, names: list[str], model) -> None:
        """There are none."""

    def said(self, columns: Iterable[int]) -> list:
        """What columns are called."""
        return list(columns)

    def called(self, mapping: Mapping, columns: Iterable[int]) -> list:
        """What the columns of a mapping's row are called."""
        return self.said(columns)


class Hashed(Numbers):
    """Names hashed into a power of two of columns, as `open_rows` does with Vowpal Wabbit's text:
    ``"space^name"`` is a name in a namespace.
    """

    order = SUMMED  # names may share a column

    def __init__(self, bits: int):
        self.mask = np.uint64((1 << bits) - 1)

    def read(self, mapping: Mapping, learning: bool) -> Read:
        """Columns, values, and no new names."""
        columns = np.empty(len(mapping), np.int64)
        names: Any = mapping
        try:
            text = np.frombuffer(("\0".join(names) + "\0").encode(), np.uint8)
        except TypeError:
            bad = next(name for name in names if not isinstance(name, str))
            raise TypeError(
                f"names must be words; got {bad!r}. Numbers of columns go into indices."
            ) from None
        if len(columns) and hash_names(text, self.mask, columns) != len(columns):
            bad = next(name for name in names if "\0" in name)
            raise ValueError(f"the name {bad!r} holds a zero byte, which ends names. Remove it.")
        return columns.tolist(), list(mapping.values()), []

    def called(self, mapping: Mapping, columns: Iterable[int]) -> list:
        """The names of the mapping: a column does not know them."""
        return list(mapping)


class Vocabulary(Numbers):
    """A list of names, one a column; it grows where the model does."""

    def __init__(self, names: Iterable[str], grows: bool):
        self.grows, self.names = grows, np.array([*names], dtype=object)
        self.places = {name: k for k, name in enumerate(self.names)}

    def read(self, mapping: Mapping, learning: bool) -> Read:
        """Columns, values, and new names, whose columns are those to the right. Where the model
        grows, an unknown name weighs nothing.
        """
        try:
            return list(map(self.places.__getitem__, mapping)), list(mapping.values()), []
        except KeyError:
            new = [name for name in mapping if name not in self.places]
        if not self.grows:
            raise ValueError(
                f"{new[0]!r} is none of the {len(self.places)} names that the model knows. Leave "
                "it out, or make the model with grow=True to take new names."
            )
        if not learning:
            return self.read({name: mapping[name] for name in mapping.keys() - new}, False)
        bad = [name for name in new if not isinstance(name, str)]
        if bad:
            raise TypeError(f"names must be words; got {bad[0]!r}. Write {str(bad[0])!r}.")
        places = {name: len(self.places) + k for k, name in enumerate(new)}
        columns = [places[name] if name in places else self.places[name] for name in mapping]
        return columns, list(mapping.values()), new

    def take(self, names: list[str], model) -> None:
        """Add names. Their array has room for more, so that a name costs no copy of all."""
        known, total = len(self.places), len(self.places) + len(names)
        if total > len(self.names):
            wider = np.empty(2 * total, dtype=object)
            wider[:known] = self.names[:known]
            self.names = wider
        self.names[known:total] = names
        self.places.update((name, known + k) for k, name in enumerate(names))
        model.feature_names_in_ = self.names[:total]

    def said(self, columns: Iterable[int]) -> list:
        """What columns are called."""
        return [self.names[j] for j in columns]


class Fields(Numbers):
    """The fields of a table as `open_rows` lays them out; fields it does not know are left out."""

    order = SUMMED  # names may share a column

    def __init__(self, reading: dict):
        self.layout = Layout.from_dict(reading["layout"])
        self.gaps = gap_words(reading["format"])
        self.columns = {column.name: column for column in self.layout.features}

    def read(self, mapping: Mapping, learning: bool) -> Read:
        """Columns, values, and no new names."""
        found = list(self._entries(mapping))
        return [column for _, column, _ in found], [value for *_, value in found], []

    def called(self, mapping: Mapping, columns: Iterable[int]) -> list:
        """Fields, and those of words with their word."""
        return [name for name, *_ in self._entries(mapping)]

    def _entries(self, mapping: Mapping) -> Iterator[tuple[str, int, Any]]:
        """Name, column and value of all fields that have a column."""
        for name, value in mapping.items():
            column = self.columns.get(name)
            if column is None:
                continue
            if is_gap(value, self.gaps):
                if (place := self._missing(column)) is not None:
                    yield f"{name}=missing", place, 1.0
            elif column.role == WORDS:
                if (place := self.layout.place_of(column, word_of(value))) >= 0:
                    yield f"{name}={value}", place, 1.0
            elif column.role == NUMBER and not column.facts:
                yield name, self.layout.places[name], _number(name, value)
            else:
                yield from self._parts(column, value)

    def _parts(self, column: Column, value) -> Iterator[tuple[str, int, Any]]:
        """Entries of a date, a text or a number that is not as it was in the table."""
        if column.role == NUMBER and not column.words:
            facts = column.facts
            value = (_number(column.name, value) - facts["centre"]) / facts["spread"]
            yield column.name, self.layout.places[column.name], value
            return
        part = part_of({column.name: Field(column.name, [value])}, [column])
        for _, sentence in wrong_words(part, self.layout):
            raise ValueError(f"the field {column.name!r}: {sentence}")
        row = self.layout.entries(column, part)
        for place, number in zip(row.indices.tolist(), row.data.tolist(), strict=True):
            yield column.name, place, number

    def _missing(self, column: Column) -> int | None:
        """The column that says that a field is missing, if there is one."""
        layout, name = self.layout, column.name
        if column.role == TEXT:
            return None
        if layout.missing == "error":
            raise ValueError(
                f"the field {name!r} is None, and the model was trained on rows without missing "
                "fields. Leave it out, which counts as 0, or give it a value."
            )
        if layout.missing != "indicator":
            return None
        return layout.places[name] + layout.sizes[name]


def _number(name: str, value: Any) -> float:
    """The number of a field."""
    if type(value) is float:
        return value
    number = number_of(value)
    if number is None:
        raise ValueError(
            f"the field {name!r}: {value!r:.40} is no number. Give a number, as the model was "
            "trained on."
        )
    return number


def naming_of(model, hash_bits: int | None) -> Numbers:
    """How a model's columns are named: as it was trained, or as the user asks."""
    reading = getattr(model, "reading_", None) or {}
    if hash_bits is not None:
        return Hashed(hash_bits)
    if "layout" in reading:
        return Fields(reading)
    if reading.get("format") == "vw":
        return Hashed(reading["hash_bits"])
    names = vars(model).get("feature_names_in_")
    if names is not None or (model.grow and "_engine" not in vars(model)):
        return Vocabulary(() if names is None else names, model.grow)
    return Numbers()
