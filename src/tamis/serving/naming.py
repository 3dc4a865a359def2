"""Namings map names to columns: by the numbers of columns, by hashes, by a list of names, or by the
fields of a table.

A naming has ``resolve(mapping, learning)``, which returns the columns and values of a row and the
names that it would add, and ``add_names(names, model)``, which adds them after all checks.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tamis.data.tables.chunks import invalid_strings
from tamis.data.tables.frames import Field, frame_chunk
from tamis.data.tables.layout import CATEGORY, NUMBER, TEXT, Column, Layout
from tamis.data.tables.values import gap_words, is_gap, number_of, word_of
from tamis.serving.loop import SORTED, SUMMED, hash_names

ResolvedRow = tuple[list, list, list[str]]


class ColumnNumbers:
    """Naming without names: the keys are the numbers of columns."""

    order = SORTED  # the result does not depend on the order of the mapping

    def resolve(self, mapping: Mapping, learning: bool) -> ResolvedRow:
        """Return the columns, the values, and no new names."""
        columns = list(mapping)
        bad = next((name for name in columns if isinstance(name, str)), None)
        if bad is not None:
            raise ValueError(
                f"the columns of this model have no names, so that {bad!r} means nothing. Pass "
                "hash_bits to live to hash names, or serve a fresh model with grow=True, or one "
                "that was fitted to a DataFrame."
            )
        return columns, list(mapping.values()), []

    def add_names(self, names: list[str], model) -> None:
        """Do nothing: there are no names."""

    def column_names(self, columns: Iterable[int]) -> list:
        """Return the names of columns."""
        return list(columns)

    def row_names(self, mapping: Mapping, columns: Iterable[int]) -> list:
        """Return the names of the columns of a row."""
        return self.column_names(columns)


class HashedNames(ColumnNumbers):
    """Naming by hashes into a power of two of columns, as `open_rows` does with Vowpal Wabbit's
    text: ``"space^name"`` is a name in a namespace.
    """

    order = SUMMED  # names may share a column

    def __init__(self, bits: int):
        self.mask = np.uint64((1 << bits) - 1)

    def resolve(self, mapping: Mapping, learning: bool) -> ResolvedRow:
        """Return the columns, the values, and no new names."""
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

    def row_names(self, mapping: Mapping, columns: Iterable[int]) -> list:
        """Return the names of the mapping, since a hashed column has no name."""
        return list(mapping)


class Vocabulary(ColumnNumbers):
    """Naming by a list of names, one for each column; the list grows where the model does."""

    def __init__(self, names: Iterable[str], grows: bool):
        self.grows, self.names = grows, np.array([*names], dtype=object)
        self.indices = {name: k for k, name in enumerate(self.names)}

    def resolve(self, mapping: Mapping, learning: bool) -> ResolvedRow:
        """Return the columns, the values, and the new names, whose columns follow the known ones.
        Where the model grows, unknown names are left out of rows that are not learnt.
        """
        try:
            return list(map(self.indices.__getitem__, mapping)), list(mapping.values()), []
        except KeyError:
            new = [name for name in mapping if name not in self.indices]
        if not self.grows:
            raise ValueError(
                f"{new[0]!r} is none of the {len(self.indices)} names that the model knows. Leave "
                "it out, or make the model with grow=True to take new names."
            )
        if not learning:
            return self.resolve({name: mapping[name] for name in mapping.keys() - new}, False)
        bad = [name for name in new if not isinstance(name, str)]
        if bad:
            raise TypeError(f"names must be words; got {bad[0]!r}. Write {str(bad[0])!r}.")
        indices = {name: len(self.indices) + k for k, name in enumerate(new)}
        columns = [indices[name] if name in indices else self.indices[name] for name in mapping]
        return columns, list(mapping.values()), new

    def add_names(self, names: list[str], model) -> None:
        """Add names. The array grows by doubling, so that adding a name does not copy all."""
        n_known, n_total = len(self.indices), len(self.indices) + len(names)
        if n_total > len(self.names):
            larger = np.empty(2 * n_total, dtype=object)
            larger[:n_known] = self.names[:n_known]
            self.names = larger
        self.names[n_known:n_total] = names
        self.indices.update((name, n_known + k) for k, name in enumerate(names))
        model.feature_names_in_ = self.names[:n_total]

    def column_names(self, columns: Iterable[int]) -> list:
        """Return the names of columns."""
        return [self.names[j] for j in columns]


class TableFields(ColumnNumbers):
    """Naming by the fields of a table, encoded as by `open_rows`; unknown fields are left out."""

    order = SUMMED  # names may share a column

    def __init__(self, reading: dict):
        self.layout = Layout.from_dict(reading["layout"])
        self.gaps = gap_words(reading["format"])
        self.columns = {column.name: column for column in self.layout.features}

    def resolve(self, mapping: Mapping, learning: bool) -> ResolvedRow:
        """Return the columns, the values, and no new names."""
        entries = list(self._entries(mapping))
        return [column for _, column, _ in entries], [value for *_, value in entries], []

    def row_names(self, mapping: Mapping, columns: Iterable[int]) -> list:
        """Return the names of the fields; a category has its value in its name."""
        return [name for name, *_ in self._entries(mapping)]

    def _entries(self, mapping: Mapping) -> Iterator[tuple[str, int, Any]]:
        """Yield name, column and value of all fields that have a column."""
        for name, value in mapping.items():
            column = self.columns.get(name)
            if column is None:
                continue
            if is_gap(value, self.gaps):
                if (index := self._missing_indicator(column)) is not None:
                    yield f"{name}=missing", index, 1.0
            elif column.role == CATEGORY:
                if (index := self.layout.column_index(column, word_of(value))) >= 0:
                    yield f"{name}={value}", index, 1.0
            elif column.role == NUMBER and not column.facts:
                yield name, self.layout.places[name], _number(name, value)
            else:
                yield from self._encode(column, value)

    def _encode(self, column: Column, value) -> Iterator[tuple[str, int, Any]]:
        """Yield the entries of a date, a text or a transformed number."""
        if column.role == NUMBER and not column.words:
            facts = column.facts
            value = (_number(column.name, value) - facts["centre"]) / facts["spread"]
            yield column.name, self.layout.places[column.name], value
            return
        table = frame_chunk({column.name: Field(column.name, [value])}, [column])
        for _, message in invalid_strings(table, self.layout):
            raise ValueError(f"the field {column.name!r}: {message}")
        row = self.layout.entries(column, table)
        for index, number in zip(row.indices.tolist(), row.data.tolist(), strict=True):
            yield column.name, index, number

    def _missing_indicator(self, column: Column) -> int | None:
        """Return the column that indicates that a field is missing, or None."""
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
    """Return the value of a field as a number."""
    if type(value) is float:
        return value
    number = number_of(value)
    if number is None:
        raise ValueError(
            f"the field {name!r}: {value!r:.40} is no number. Pass a number, as in the training "
            "data."
        )
    return number


def make_naming(model, hash_bits: int | None) -> ColumnNumbers:
    """Return the naming of a model's columns: that of its training, or by `hash_bits`."""
    reading = getattr(model, "reading_", None) or {}
    if hash_bits is not None:
        return HashedNames(hash_bits)
    if "layout" in reading:
        return TableFields(reading)
    if reading.get("format") == "vw":
        return HashedNames(reading["hash_bits"])
    names = vars(model).get("feature_names_in_")
    if names is not None or (model.grow and "_solver_state" not in vars(model)):
        return Vocabulary(() if names is None else names, model.grow)
    return ColumnNumbers()
