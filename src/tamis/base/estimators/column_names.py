"""What the columns of a model are called: as its rows were given, or as its file was read."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def listed_names(name: str, role: str, levels: list[str], facts: dict) -> list[str]:
    """Names of the columns that one of a table becomes: one a number, one a word, a part of a date,
    a word of a text.
    """
    if role == "words":
        return [f"{name}={word}" for word in [*levels, *(["rare"] if facts.get("rare") else [])]]
    if role == "date":
        return [f"{name}.{part}" for part in facts["parts"]]
    if role == "text":
        return [f"{name}:{word}" for word in facts.get("vocabulary", ())]
    return [name]


def names_by_reading(reading: dict) -> Callable[[Iterable[int]], list[str]]:
    """Names of columns as `reading_` of a model has them: a function of column numbers."""
    known = {int(column): name for column, name in reading.get("names", [])}
    if "layout" not in reading:
        first = 1 if reading.get("zero_based") is False else 0
        return lambda columns: [known.get(int(c), str(int(c) + first)) for c in columns]
    layout = reading["layout"]
    names: list[str] = []
    for name, role, _, levels, *more in layout["columns"]:
        if role in ("number", "words", "date", "text"):
            names += listed_names(name, role, levels, more[0] if more else {})
            names += [f"{name}=missing"] * (layout["missing"] == "indicator" and role != "text")

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
