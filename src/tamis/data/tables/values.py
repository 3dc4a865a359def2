"""Values of tables: gaps, numbers, words, and the levels that words mean."""

import math
import re
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

FLAGS = {"true": 1.0, "false": 0.0}
BITS = {"1": "true", "0": "false"}  # truth values as numbers
WHOLE = re.compile(r"-?(0|[1-9]\d*)(\.0)?")
WRITTEN_OUT = 1e16  # from here on Python and pandas write a float with an exponent
GAPS = ("", "na", "n/a", "nan", "null", "none")  # words of files, in any case
MISSING = ("NAType", "NaTType")  # types of pandas
YEAR = 365.2425 * 86400.0  # the mean of the calendar
SECONDS = {  # units of NumPy's lengths of time
    "Y": YEAR, "M": YEAR / 12, "W": 604800.0, "D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0,
    "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "fs": 1e-15, "as": 1e-18, "generic": 1.0,
}  # fmt: skip


def gap_words(format: str) -> tuple[str, ...]:
    """Words that are gaps in files of a format, in lower case."""
    return GAPS if format in ("csv", "tsv") else ()


def is_gap(value: Any, words: tuple[str, ...] = ()) -> bool:
    """Whether a value is missing: None, NaN and NaT of any library, a masked entry, or one of some
    words.
    """
    if value is None or value is np.ma.masked or type(value).__name__ in MISSING:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, str):
        return value.lower() in words
    return isinstance(value, float | np.generic) and bool(value != value)


def is_flag(value: Any) -> bool:
    """Whether a value is true or false."""
    return isinstance(value, bool | np.bool_)


def is_number(value: Any) -> bool:
    """Whether a value is a number, a length of time among them."""
    return isinstance(value, Real | Decimal | timedelta | np.timedelta64)


def number_of(value: Any) -> float | None:
    """A value as a number, a length of time in seconds; None where it is no number."""
    if is_gap(value):
        return math.nan
    if isinstance(value, np.timedelta64):
        return float(seconds_of(np.array(value)))
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str) and "_" in value:
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def seconds_of(lengths: np.ndarray) -> np.ndarray:
    """Lengths of time in seconds, whatever their unit; nan where one is missing."""
    unit, count = np.datetime_data(lengths.dtype)
    return np.where(np.isnat(lengths), np.nan, lengths.astype(np.int64) * (SECONDS[unit] * count))


def comma_number(word: str) -> float:
    """A number as 1.234,5 has it."""
    return float(word.replace(".", "").replace(",", "."))


def word_of(value: Any) -> str:
    """A value as a table of text has it: whole numbers without a point, lengths in seconds."""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, date) and hasattr(value, "hour"):
        return value.isoformat(sep=" ")  # type: ignore[call-arg]
    number: Any = number_of(value) if isinstance(value, timedelta | np.timedelta64) else value
    if isinstance(value, Decimal) and Decimal(repr(float(value))) == value:
        number = float(value)  # Arrow and Polars add zeros to the longest of a column
    if isinstance(number, float | Decimal | np.floating) and math.fabs(number) < WRITTEN_OUT:
        return str(int(number)) if number == int(number) else str(number)
    return str(number)


def level_of(word: str) -> str:
    """The level of a category that a word means: 10115.0 means 10115, True and TRUE mean true."""
    if WHOLE.fullmatch(word):  # pandas adds the point to a column of whole numbers with gaps
        level = word.removesuffix(".0")
        return "0" if level == "-0" else level
    small = word.lower()
    return small if small in FLAGS and word in (small, small.upper(), small.title()) else word


def spellings_of(levels: Iterable[str]) -> dict[str, int]:
    """The levels and the other words that mean them, with their places.

    Truth values are also met as 1 and 0, where a column has no other levels, and the reverse.
    """
    places = {level: k for k, level in enumerate(levels)}
    meant = {level_of(level): k for level, k in places.items()}
    if set(meant) <= FLAGS.keys() or set(meant) <= BITS.keys():
        for bit, flag in BITS.items():
            for one, other in ((bit, flag), (flag, bit)):
                if one in meant:
                    meant.setdefault(other, meant[one])
    for level, k in meant.items():
        others = [level, f"{level}.0"] if WHOLE.fullmatch(level) else [level]
        if level == "0":
            others += ["-0", "-0.0"]
        if level in FLAGS:
            others += [level.title(), level.upper()]
        if level == "0":
            others += ["-0", "-0.0"]
        for word in others:
            places.setdefault(word, k)
    return places
