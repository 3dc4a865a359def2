"""Frames as parts of a table: pandas, Polars, Arrow, dicts of columns, lists of dicts, arrays."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.read.columns.making import Making, asked_roles
from tamis.read.columns.profile import Profile
from tamis.read.columns.texts import RowCounts
from tamis.read.options import Options
from tamis.read.rows import ReadError
from tamis.read.tables.chunks import wrong_words
from tamis.read.tables.layout import (
    DATE,
    FEATURES,
    IGNORED,
    NUMBER,
    TEXT,
    WORDS,
    Column,
    Layout,
    Part,
    Words,
)

NUMBERS = "fiu"  # NumPy's kinds of numbers
_GONE = ("NAType", "NaTType")


def is_frame(X: Any) -> bool:
    """Whether X has columns by name."""
    if isinstance(X, Mapping):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and isinstance(X[0], Mapping)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return False
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and hasattr(X, "__array__"))


def columns_of(X: Any) -> dict[str, Any]:
    """The columns of a frame by name; of an array by number."""
    if isinstance(X, Mapping):
        one = not any(hasattr(v, "__len__") and not isinstance(v, str) for v in X.values())
        return {str(name): [v] if one else v for name, v in X.items()}
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        names = dict.fromkeys(name for row in X for name in row)
        return {str(name): [row.get(name) for row in X] for name in names}
    if hasattr(X, "columns") and not hasattr(X, "column_names") and hasattr(X, "__array__"):
        return {str(name): X[name] for name in X.columns}
    if hasattr(X, "__arrow_c_stream__"):
        import pyarrow

        table = pyarrow.table(X)
        return {name: table.column(name) for name in table.column_names}
    X = np.asarray(X)
    return {f"x{k}": X[:, k] for k in range(X.shape[1])}


class Field:
    """A column of a frame: numbers where it holds such, else things to be read as words."""

    def __init__(self, values: Any):
        kind = getattr(getattr(values, "dtype", None), "kind", "")
        self.numbers: np.ndarray | None = None
        self.things: list = []
        if isinstance(values, np.ndarray) and kind == "M":
            values = _stamps(values)
        if kind in NUMBERS and kind and type(values).__module__.split(".")[0] == "numpy":
            self.numbers = values.astype(np.float64)
            return
        self.things = _listed(values)
        if all(_is_number(thing) for thing in self.things):
            self.numbers = np.array(
                [np.nan if _is_gone(thing) else float(thing) for thing in self.things]
            )

    def __len__(self) -> int:
        return len(self.things) if self.numbers is None else len(self.numbers)

    def floats(self, name: str) -> np.ndarray:
        """The column as numbers."""
        if self.numbers is not None:
            return self.numbers
        found = [np.nan if _is_gone(thing) else _number(thing) for thing in self.things]
        if None in found:
            word = self.things[found.index(None)]
            raise ReadError(
                f"{str(word)[:40]!r} in column {name!r} is no number. Pass a column of numbers, as "
                "the model was trained on."
            )
        return np.array(found, dtype=float)

    def words(self) -> Words:
        """The column as words."""
        things = self.things if self.things or self.numbers is None else self.numbers.tolist()
        known: dict[str, int] = {}
        codes = [
            -1 if _is_gone(thing) else known.setdefault(_word(thing), len(known))
            for thing in things
        ]
        return Words(np.array(codes, np.int64), list(known))


def _stamps(values: np.ndarray) -> list:
    """NumPy's dates as words."""
    words = np.datetime_as_string(values).tolist()
    return [None if word == "NaT" else word.replace("T", " ") for word in words]


def _listed(values: Any) -> list:
    """A column as a list of Python's things."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return getattr(values, name)()
    return list(values)


def _is_gone(thing: Any) -> bool:
    return (
        thing is None
        or type(thing).__name__ in _GONE
        or (isinstance(thing, float) and thing != thing)
    )


def _is_number(thing: Any) -> bool:
    if isinstance(thing, bool | np.bool_):
        return False
    return isinstance(thing, int | float | np.number) or _is_gone(thing)


def _number(thing: Any) -> float | None:
    try:
        return float(thing)
    except (TypeError, ValueError):
        return None


def _word(thing: Any) -> str:
    """A thing as tables of text would have it."""
    if isinstance(thing, date) and hasattr(thing, "hour"):
        return thing.isoformat(sep=" ")  # type: ignore[call-arg]
    return str(thing)


def part_of(fields: dict[str, Field], columns: list[Column]) -> Part:
    """A frame by column."""
    sizes = {name: len(own) for name, own in fields.items()}
    if len(set(sizes.values())) > 1:
        raise ReadError(f"columns of a frame must be of one length; these are of {sizes}.")
    names, numbers, words = [], [], {}
    for c in columns:
        if c.role == IGNORED or (c.name not in fields and c.role not in FEATURES):
            continue
        if c.name not in fields:
            raise ReadError(
                f"column {c.name!r} is missing; the model needs it. The frame has "
                f"{', '.join(list(fields)[:10]) or 'no columns'}."
            )
        if c.words:
            words[c.name] = fields[c.name].words()
        else:
            names.append(c.name)
            numbers.append(fields[c.name].floats(c.name))
    rows = next(iter(sizes.values()), 0)
    return Part(np.column_stack(numbers) if numbers else np.empty((rows, 0)), names, words)


def lay_out_frame(X: Any, options: Options) -> Making:
    """What the columns of a frame become, all of them features."""
    fields = {name: Field(values) for name, values in columns_of(X).items()}
    asked = asked_roles(list(fields), options, "the frame")
    columns = []
    for name, own in fields.items():
        wordy = own.numbers is None
        role = asked.get(name, WORDS if wordy else NUMBER)
        words = role in (WORDS, DATE, TEXT) or (role != IGNORED and wordy)
        columns.append(Column(name, role, words))
    made, part = Making(columns, asked, options, "the frame"), part_of(fields, columns)
    read = [c for c in columns if c.role != IGNORED]
    numeric, wordy_names = ([c.name for c in read if c.words == words] for words in (False, True))
    profile = Profile(numeric, wordy_names)
    profile.add(part, 1, False)
    made.judge(profile)
    for name in made.texts():
        counts = RowCounts(options.ngrams)
        counts.add(*part.words[name])
        made.column(name).facts |= counts.facts()
    return made


def rows_of(X: Any, layout: Layout) -> sp.csr_array:
    """Rows of a frame by a layout; columns that it does not know are left out."""
    known = {c.name for c in layout.features}
    fields = {name: Field(v) for name, v in columns_of(X).items() if name in known}
    part = part_of(fields, layout.features)
    for _, sentence in wrong_words(part, layout):
        raise ReadError(f"the frame: {sentence}")
    if np.isinf(part.numbers).any():
        raise ReadError("the frame: a number is infinite (inf); all must be finite. Replace it.")
    if layout.missing == "error":
        _refuse_gaps(part, layout)
    return layout.rows(part)


def _refuse_gaps(part: Part, layout: Layout) -> None:
    gaps = {name: int(np.isnan(part.numbers[:, k]).sum()) for k, name in enumerate(part.names)}
    texts = {c.name for c in layout.features if c.role == TEXT}
    gaps |= {n: int((w.codes < 0).sum()) for n, w in part.words.items() if n not in texts}
    said = [f"{name} ({count} rows)" for name, count in gaps.items() if count]
    if said:
        raise ReadError(
            f"the frame has gaps (NaN or nothing) in {', '.join(said[:10])}, and was fitted "
            "without any. Fill them, or fit with missing='zero' or missing='indicator'."
        )


class Reading(dict):
    """What the columns of a file mean, as plain data; a frame is read by it."""

    def rows(self, X: Any) -> Any:
        """The rows of a frame as CSR; whatever is no frame as it is."""
        if "layout" not in self or not is_frame(X):
            return X
        return rows_of(X, Layout.from_dict(self["layout"]))
