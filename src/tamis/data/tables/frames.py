"""Read frames as table chunks: pandas, Polars, Arrow, dicts of columns, lists of dicts, arrays."""

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from tamis.base.validation import warn_user
from tamis.data.columns.layout_builder import LayoutBuilder, roles_from_options
from tamis.data.columns.profile import Profile
from tamis.data.columns.texts import RowCounts
from tamis.data.options import Options
from tamis.data.rows import ReadError
from tamis.data.tables.chunks import invalid_strings
from tamis.data.tables.layout import (
    CATEGORY,
    DATE,
    IGNORED,
    NUMBER,
    TEXT,
    Column,
    Layout,
    StringColumn,
    TableChunk,
)
from tamis.data.tables.values import (
    gap_words,
    is_gap,
    is_number,
    is_truth_value,
    number_of,
    seconds_of,
    word_of,
)
from tamis.system.spelling import shorten_names


def is_frame(X: Any) -> bool:
    """Return whether X has named columns."""
    if isinstance(X, Mapping):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and isinstance(X[0], Mapping)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return False
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and hasattr(X, "__array__"))


def columns_of(X: Any) -> dict[str, Any]:
    """Return the columns of a frame by name, or of an array as x0, x1, ..."""
    if isinstance(X, Mapping):
        is_one_row = not any(hasattr(v, "__len__") and not isinstance(v, str) for v in X.values())
        return _by_name((name, [v] if is_one_row else v) for name, v in X.items())
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        names = dict.fromkeys(name for row in X for name in row)
        return _by_name((name, [row.get(name) for row in X]) for name in names)
    if hasattr(X, "columns") and not hasattr(X, "column_names") and hasattr(X, "__array__"):
        return _by_name(
            (name, X.iloc[:, k] if hasattr(X, "iloc") else X[name])
            for k, name in enumerate(X.columns)
        )
    if hasattr(X, "__arrow_c_stream__"):
        import pyarrow

        table = pyarrow.table(X)
        return _by_name(zip(table.column_names, table.columns, strict=True))
    X = np.asarray(X)
    return {f"x{k}": X[:, k] for k in range(X.shape[1])}


def _by_name(columns: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Return columns by their names as strings; refuse two names with the same string."""
    by_name: dict[str, Any] = {}
    first_names: dict[str, Any] = {}
    for name, values in columns:
        word = str(name)
        if word in by_name:
            raise ReadError(
                f"two columns have the same name as a word: {shorten_names(first_names[word])!r} "
                "and "
                f"{shorten_names(name)!r}. Rename one."
            )
        by_name[word], first_names[word] = values, name
    return by_name


class Field:
    """Column of a frame: numbers, or else values to be read as words; `gaps` are missing words."""

    def __init__(self, name: str, values: Any, gaps: tuple[str, ...] = ()):
        self.numbers: np.ndarray | None = None
        self.name, self.values = name, values
        if isinstance(getattr(values, "dtype", None), np.dtype) and hasattr(values, "__array__"):
            values = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
        shape = getattr(values, "shape", (0,))
        if len(shape) != 1:
            self._refuse_values(f"holds an array of shape {tuple(shape)}")
        kind = values.dtype.kind if isinstance(values, np.ndarray) else ""
        if kind in ("i", "u", "f", "m"):
            numbers = seconds_of(values) if kind == "m" else values.astype(np.float64)
            is_masked = np.ma.getmaskarray(values)
            self.numbers = (
                np.where(is_masked, np.nan, np.ma.getdata(numbers)) if is_masked.any() else numbers
            )
            self.values = self.numbers if kind in ("f", "m") or is_masked.any() else values
            return
        self.values = _date_strings(values) if kind == "M" else _to_list(values)
        if gaps:
            self.values = [None if is_gap(value, gaps) else value for value in self.values]
        filled = [value for value in self.values if not is_gap(value)]
        for value in filled:
            if isinstance(value, list | tuple | dict | set | np.ndarray):
                self._refuse_values(f"holds a value of type {type(value).__name__}")
        numbers_only = all(is_number(value) or is_truth_value(value) for value in filled)
        if numbers_only and not (filled and all(map(is_truth_value, filled))):
            self.numbers = self.floats()

    def __len__(self) -> int:
        return len(self.values)

    def _refuse_values(self, why: str) -> NoReturn:
        """Refuse a column whose rows are not single values."""
        raise ReadError(
            f"column {shorten_names(self.name)!r} {why}, where a column has one number or word a "
            "row. Give "
            "each part a column of its own, or leave the column out."
        )

    def floats(self) -> np.ndarray:
        """Return the column as numbers."""
        if self.numbers is not None:
            return self.numbers
        parsed = [number_of(value) for value in self.values]
        if None in parsed:
            word = self.values[parsed.index(None)]
            raise ReadError(
                f"{shorten_names(str(word))!r} in column {shorten_names(self.name)!r} is no "
                "number. Pass a column "
                "of numbers, as the model was trained on."
            )
        return np.array(parsed, dtype=float)

    def strings(self) -> StringColumn:
        """Return the column as words."""
        codes_by_word: dict[str, int] = {}
        codes = [
            -1 if is_gap(value) else codes_by_word.setdefault(word_of(value), len(codes_by_word))
            for value in _to_list(self.values)
        ]
        return StringColumn(np.array(codes, np.int64), list(codes_by_word))


def _date_strings(values: np.ndarray) -> list:
    """Return NumPy's dates as words, as Python writes them."""
    filled = np.ma.filled(values, np.datetime64("NaT"))
    unit = np.datetime_data(filled.dtype)[0]
    if unit in ("Y", "M", "W", "h", "m"):
        filled = filled.astype("M8[s]" if unit in ("h", "m") else "M8[D]")
    strings = np.datetime_as_string(filled).tolist()
    return [None if word == "NaT" else _date_string(word) for word in strings]


def _date_string(word: str) -> str:
    """Return a date of NumPy with its fraction of a second, if any, in six digits or more."""
    seconds, _, fraction = word.replace("T", " ").partition(".")
    fraction = fraction.rstrip("0")
    return f"{seconds}.{fraction:0<6}" if fraction else seconds


def _to_list(values: Any) -> list:
    """Return a column as a list of Python objects."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return getattr(values, name)()
    return list(values)


def frame_chunk(fields: dict[str, Field], columns: list[Column]) -> TableChunk:
    """Return the fields of a frame as a table chunk."""
    lengths = {name: len(field) for name, field in fields.items()}
    if len(set(lengths.values())) > 1:
        raise ReadError(f"columns of a frame must be of one length; these are of {lengths}.")
    names, numbers, strings = [], [], {}
    for c in columns:
        if c.role == IGNORED or c.name not in fields:
            continue
        if c.words:
            strings[c.name] = fields[c.name].strings()
        else:
            names.append(c.name)
            numbers.append(fields[c.name].floats())
    rows = next(iter(lengths.values()), 0)
    return TableChunk(np.column_stack(numbers) if numbers else np.empty((rows, 0)), names, strings)


def build_frame_layout(X: Any, options: Options) -> LayoutBuilder:
    """Return the layout builder of a frame, all columns of which are features."""
    columns_by_name = columns_of(X)
    user_roles = roles_from_options(list(columns_by_name), options, "the frame")
    read_names = [name for name in columns_by_name if user_roles.get(name) != IGNORED]
    fields = {name: Field(name, columns_by_name[name]) for name in read_names}
    columns = []
    for name in columns_by_name:
        is_string = name in fields and fields[name].numbers is None
        role = user_roles.get(name, CATEGORY if is_string else NUMBER)
        columns.append(Column(name, role, is_string or role in (CATEGORY, DATE, TEXT)))
    builder = LayoutBuilder(columns, user_roles, options, "the frame")
    chunk = frame_chunk(fields, columns)
    read_columns = [c for c in columns if c.role != IGNORED]
    numeric, string_names = (
        [c.name for c in read_columns if c.words == is_string] for is_string in (False, True)
    )
    profile = Profile(numeric, string_names)
    profile.add(chunk, 1, False)
    builder.set_kinds(profile)
    row_counts = {name: RowCounts(options.ngrams) for name in builder.text_columns()}
    for name, counts in row_counts.items():
        counts.add(*chunk.strings[name])
    builder.set_vocabularies(row_counts)
    return builder


def encode_frame(X: Any, layout: Layout, gaps: tuple[str, ...] = ()) -> sp.csr_array:
    """Return the rows of a frame by a layout, without columns that are not in it.

    The words `gaps` are missing values.
    """
    columns_by_name = columns_of(X)
    for c in layout.features:
        if c.name not in columns_by_name:
            raise ReadError(
                f"column {shorten_names(c.name)!r} is missing; the model needs it. The frame has "
                f"{', '.join(shorten_names(list(columns_by_name)[:10])) or 'no columns'}."
            )
    fields = {c.name: Field(c.name, columns_by_name[c.name], gaps) for c in layout.features}
    chunk = frame_chunk(fields, layout.features)
    for _, message in invalid_strings(chunk, layout):
        raise ReadError(f"the frame: {message}")
    if np.isinf(chunk.numbers).any():
        name = chunk.numeric_names[int(np.argmax(np.isinf(chunk.numbers).any(axis=0)))]
        raise ReadError(
            f"the frame: a number in column {shorten_names(name)!r} is infinite (inf); all must "
            "be finite. "
            "Replace it."
        )
    if layout.missing == "error":
        _refuse_gaps(chunk, layout)
    counts: dict[str, np.ndarray] = {}
    layout.count_unseen_levels(chunk, counts)
    if note := layout.unseen_levels_note(counts):
        warn_user(f"the frame: {note}.", UserWarning)
    return layout.encode(chunk)


def _refuse_gaps(chunk: TableChunk, layout: Layout) -> None:
    gaps = {
        name: int(np.isnan(chunk.numbers[:, k]).sum()) for k, name in enumerate(chunk.numeric_names)
    }
    text_names = {c.name for c in layout.features if c.role == TEXT}
    gaps |= {n: int((w.codes < 0).sum()) for n, w in chunk.strings.items() if n not in text_names}
    listed = [f"{shorten_names(name)} ({count} rows)" for name, count in gaps.items() if count]
    if listed:
        raise ReadError(
            f"the frame has gaps (NaN or nothing) in {', '.join(listed[:10])}, and was fitted "
            "without any. Fill them, or fit with missing='zero' or missing='indicator'."
        )


class Reading(dict):
    """Meaning of the columns of a file as plain data; it encodes frames."""

    def rows(self, X: Any) -> Any:
        """Return a frame as CSR; anything else as it is."""
        if "layout" not in self or not is_frame(X):
            return X
        return encode_frame(X, Layout.from_dict(self["layout"]), gap_words(self["format"]))
