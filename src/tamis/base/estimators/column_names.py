"""Names of the columns of a model: from its input, or from its training file."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def encoded_column_names(name: str, role: str, levels: list[str], metadata: dict) -> list[str]:
    """Return the names of the columns that one column of a table becomes.

    A number is one column; categories, dates and texts are one per category, part or word.
    """
    if role == "words":
        return [f"{name}={word}" for word in [*levels, *(["rare"] if metadata.get("rare") else [])]]
    if role == "date":
        return [f"{name}.{date_part}" for date_part in metadata["parts"]]
    if role == "text":
        return [f"{name}:{word}" for word in metadata.get("vocabulary", ())]
    return [name]


def names_from_reading(reading: dict) -> Callable[[Iterable[int]], list[str]]:
    """Return a function from column indices to names, by `reading_` of a model."""
    given_names = {int(column): name for column, name in reading.get("names", [])}
    if "layout" not in reading:
        first = 1 if reading.get("zero_based") is False else 0
        return lambda columns: [given_names.get(int(c), str(int(c) + first)) for c in columns]
    layout = reading["layout"]
    names: list[str] = []
    for name, role, _, levels, *metadata in layout["columns"]:
        if role in ("number", "words", "date", "text"):
            names += encoded_column_names(name, role, levels, metadata[0] if metadata else {})
            names += [f"{name}=missing"] * (layout["missing"] == "indicator" and role != "text")

    def named(column: int) -> str:
        default = names[column] if column < len(names) else f"bucket {column - len(names)}"
        return given_names.get(column, default)

    return lambda columns: [named(int(c)) for c in columns]


def get_column_names(model: Any, columns: Iterable[int]) -> list[str]:
    """Return the names of some columns.

    They come from X, from the training file of the model, or are x0, x1, and so on.
    """
    feature_names, reading = vars(model).get("feature_names_in_"), vars(model).get("reading_")
    if reading:
        return names_from_reading(reading)(columns)
    if feature_names is not None:
        return [str(name) for name in np.asarray(feature_names, dtype=object)[list(columns)]]
    return [f"x{int(c)}" for c in columns]
