"""Frames as parts of a table: pandas, Polars, Arrow, dicts of columns, lists of dicts, arrays."""

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from tamis.base.validation import warn_user
from tamis.data.columns.making import Making, asked_roles
from tamis.data.columns.profile import Profile
from tamis.data.columns.texts import RowCounts
from tamis.data.options import Options
from tamis.data.rows import ReadError
from tamis.data.tables.chunks import wrong_words
from tamis.data.tables.layout import DATE, IGNORED, NUMBER, TEXT, WORDS, Column, Layout, Part, Words
from tamis.data.tables.values import (
    gap_words,
    is_flag,
    is_gap,
    is_number,
    number_of,
    seconds_of,
    word_of,
)
from tamis.system.spelling import short


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
        return _by_name((name, [v] if one else v) for name, v in X.items())
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
    """Columns by their names as words; two of one word are refused."""
    found: dict[str, Any] = {}
    first: dict[str, Any] = {}
    for name, values in columns:
        word = str(name)
        if word in found:
            raise ReadError(
                f"two columns have the same name as a word: {short(first[word])!r} and "
                f"{short(name)!r}. Rename one."
            )
        found[word], first[word] = values, name
    return found


class Field:
    """A column of a frame: numbers where it holds such, else values to be read as words, those of
    `gaps` as missing ones.
    """

    def __init__(self, name: str, values: Any, gaps: tuple[str, ...] = ()):
        self.numbers: np.ndarray | None = None
        self.name, self.values = name, values
        if isinstance(getattr(values, "dtype", None), np.dtype) and hasattr(values, "__array__"):
            values = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
        shape = getattr(values, "shape", (0,))
        if len(shape) != 1:
            self._refuse(f"holds an array of shape {tuple(shape)}")
        kind = values.dtype.kind if isinstance(values, np.ndarray) else ""
        if kind in ("i", "u", "f", "m"):
            numbers = seconds_of(values) if kind == "m" else values.astype(np.float64)
            gone = np.ma.getmaskarray(values)
            self.numbers = np.where(gone, np.nan, np.ma.getdata(numbers)) if gone.any() else numbers
            self.values = self.numbers if kind in ("f", "m") or gone.any() else values
            return
        self.values = _stamps(values) if kind == "M" else _listed(values)
        if gaps:
            self.values = [None if is_gap(value, gaps) else value for value in self.values]
        filled = [value for value in self.values if not is_gap(value)]
        for value in filled:
            if isinstance(value, list | tuple | dict | set | np.ndarray):
                self._refuse(f"holds a value of type {type(value).__name__}")
        numbers_only = all(is_number(value) or is_flag(value) for value in filled)
        if numbers_only and not (filled and all(map(is_flag, filled))):
            self.numbers = self.floats()

    def __len__(self) -> int:
        return len(self.values)

    def _refuse(self, why: str) -> NoReturn:
        """Refuse a column whose rows are no single values."""
        raise ReadError(
            f"column {short(self.name)!r} {why}, where a column has one number or word a row. Give "
            "each part a column of its own, or leave the column out."
        )

    def floats(self) -> np.ndarray:
        """The column as numbers."""
        if self.numbers is not None:
            return self.numbers
        found = [number_of(value) for value in self.values]
        if None in found:
            word = self.values[found.index(None)]
            raise ReadError(
                f"{short(str(word))!r} in column {short(self.name)!r} is no number. Pass a column "
                "of numbers, as the model was trained on."
            )
        return np.array(found, dtype=float)

    def words(self) -> Words:
        """The column as words."""
        known: dict[str, int] = {}
        codes = [
            -1 if is_gap(value) else known.setdefault(word_of(value), len(known))
            for value in _listed(self.values)
        ]
        return Words(np.array(codes, np.int64), list(known))


def _stamps(values: np.ndarray) -> list:
    """NumPy's dates as words, as Python writes them."""
    filled = np.ma.filled(values, np.datetime64("NaT"))
    unit = np.datetime_data(filled.dtype)[0]
    if unit in ("Y", "M", "W", "h", "m"):
        filled = filled.astype("M8[s]" if unit in ("h", "m") else "M8[D]")
    words = np.datetime_as_string(filled).tolist()
    return [None if word == "NaT" else _stamp(word) for word in words]


def _stamp(word: str) -> str:
    """A date of NumPy with the fraction of a second, if any, in six digits or more."""
    whole, _, fraction = word.replace("T", " ").partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction:0<6}" if fraction else whole


def _listed(values: Any) -> list:
    """A column as a list of Python's values."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return getattr(values, name)()
    return list(values)


def part_of(fields: dict[str, Field], columns: list[Column]) -> Part:
    """A frame by column."""
    sizes = {name: len(own) for name, own in fields.items()}
    if len(set(sizes.values())) > 1:
        raise ReadError(f"columns of a frame must be of one length; these are of {sizes}.")
    names, numbers, words = [], [], {}
    for c in columns:
        if c.role == IGNORED or c.name not in fields:
            continue
        if c.words:
            words[c.name] = fields[c.name].words()
        else:
            names.append(c.name)
            numbers.append(fields[c.name].floats())
    rows = next(iter(sizes.values()), 0)
    return Part(np.column_stack(numbers) if numbers else np.empty((rows, 0)), names, words)


def lay_out_frame(X: Any, options: Options) -> Making:
    """What the columns of a frame become, all of them features."""
    given = columns_of(X)
    asked = asked_roles(list(given), options, "the frame")
    read = [name for name in given if asked.get(name) != IGNORED]
    fields = {name: Field(name, given[name]) for name in read}
    columns = []
    for name in given:
        wordy = name in fields and fields[name].numbers is None
        role = asked.get(name, WORDS if wordy else NUMBER)
        columns.append(Column(name, role, wordy or role in (WORDS, DATE, TEXT)))
    made, part = Making(columns, asked, options, "the frame"), part_of(fields, columns)
    used = [c for c in columns if c.role != IGNORED]
    numeric, wordy_names = ([c.name for c in used if c.words == words] for words in (False, True))
    profile = Profile(numeric, wordy_names)
    profile.add(part, 1, False)
    made.judge(profile)
    texts = {name: RowCounts(options.ngrams) for name in made.texts()}
    for name, counts in texts.items():
        counts.add(*part.words[name])
    made.keep_texts(texts)
    return made


def rows_of(X: Any, layout: Layout, gaps: tuple[str, ...] = ()) -> sp.csr_array:
    """Rows of a frame by a layout; columns that it does not know are left out, and words of `gaps`
    are missing values.
    """
    given = columns_of(X)
    for c in layout.features:
        if c.name not in given:
            raise ReadError(
                f"column {short(c.name)!r} is missing; the model needs it. The frame has "
                f"{', '.join(short(list(given)[:10])) or 'no columns'}."
            )
    fields = {c.name: Field(c.name, given[c.name], gaps) for c in layout.features}
    part = part_of(fields, layout.features)
    for _, sentence in wrong_words(part, layout):
        raise ReadError(f"the frame: {sentence}")
    if np.isinf(part.numbers).any():
        name = part.names[int(np.argmax(np.isinf(part.numbers).any(axis=0)))]
        raise ReadError(
            f"the frame: a number in column {short(name)!r} is infinite (inf); all must be finite. "
            "Replace it."
        )
    if layout.missing == "error":
        _refuse_gaps(part, layout)
    counts: dict[str, np.ndarray] = {}
    layout.count_unseen(part, counts)
    if note := layout.unseen_levels(counts):
        warn_user(f"the frame: {note}.", UserWarning)
    return layout.rows(part)


def _refuse_gaps(part: Part, layout: Layout) -> None:
    gaps = {name: int(np.isnan(part.numbers[:, k]).sum()) for k, name in enumerate(part.names)}
    texts = {c.name for c in layout.features if c.role == TEXT}
    gaps |= {n: int((w.codes < 0).sum()) for n, w in part.words.items() if n not in texts}
    said = [f"{short(name)} ({count} rows)" for name, count in gaps.items() if count]
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
        return rows_of(X, Layout.from_dict(self["layout"]), gap_words(self["format"]))
