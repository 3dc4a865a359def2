"""What the columns of a model are called: as its rows were given, or as its file was read."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Field = tuple[str, list[str] | None]  # the name of a field, and its words where it has them


def names_of_fields(fields: Iterable[Field], indicator: bool) -> list[str]:
    """Names of the columns that fields become: one a number or a word, and one that says that a
    field is missing, where there is an `indicator`.
    """
    found = []
    for name, words in fields:
        found += [name] if words is None else [f"{name}={word}" for word in words]
        found += [f"{name}=missing"] if indicator else []
    return found


def names_by_reading(reading: dict) -> Callable[[Iterable[int]], list[str]]:
    """Names of columns as `reading_` of a model has them: a function of column numbers."""
    known = {int(column): name for column, name in reading.get("names", [])}
    if "layout" not in reading:
        first = 1 if reading.get("zero_based") is False else 0
        return lambda columns: [known.get(int(c), str(int(c) + first)) for c in columns]
    layout = reading["layout"]
    plain = [
        (name, list(levels) if role == "words" else None)
        for name, role, _, levels in layout["columns"]
        if role in ("number", "words")
    ]
    names = names_of_fields(plain, layout["missing"] == "indicator")

    def named(column: int) -> str:
        told = names[column] if column < len(names) else f"bucket {column - len(names)}"
        return known.get(column, told)

    return lambda columns: [named(int(c)) for c in columns]


def names_of(model: Any, columns: Iterable[int]) -> list[str]:
    """Names of some columns: those of X, those of the file that the model was trained from, or x0,
    x1, and so on.
    """
    given, reading = vars(model).get("feature_names_in_"), vars(model).get("reading_")
    if reading:
        return names_by_reading(reading)(columns)
    if given is not None:
        return [str(name) for name in np.asarray(given, dtype=object)[list(columns)]]
    return [f"x{int(c)}" for c in columns]
