"""Parse values of tables: gaps, numbers, words, and the levels that words mean."""

import math
import re
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

TRUTH_VALUES = {"true": 1.0, "false": 0.0}
BIT_NAMES = {"1": "true", "0": "false"}  # truth values written as numbers
INTEGER = re.compile(r"-?(0|[1-9]\d*)(\.0)?")
MIN_EXPONENT_FORM = 1e16  # floats from here on have an exponent in Python and pandas
GAP_WORDS = ("", "na", "n/a", "nan", "null", "none")  # words of text files, in any case
MISSING_TYPES = ("NAType", "NaTType")  # names of pandas' types
YEAR_SECONDS = 365.2425 * 86400.0  # mean of the calendar
UNIT_SECONDS = {  # units of NumPy's timedelta64
    "Y": YEAR_SECONDS, "M": YEAR_SECONDS / 12, "W": 604800.0, "D": 86400.0, "h": 3600.0, "m": 60.0,
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "fs": 1e-15, "as": 1e-18,
    "generic": 1.0,
}  # fmt: skip


def gap_words(format: str) -> tuple[str, ...]:
    """Return the words that mean a gap in files of a format, in lower case."""
    return GAP_WORDS if format in ("csv", "tsv") else ()


def is_gap(value: Any, gaps: tuple[str, ...] = ()) -> bool:
    """Return whether a value is missing: None, NaN or NaT of any library, masked, or one of
    `gaps`.
    """
    if value is None or value is np.ma.masked or type(value).__name__ in MISSING_TYPES:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, str):
        return value.lower() in gaps
    return isinstance(value, float | np.generic) and bool(value != value)


def is_truth_value(value: Any) -> bool:
    """Return whether a value is true or false."""
    return isinstance(value, bool | np.bool_)


def is_number(value: Any) -> bool:
    """Return whether a value is a number or a duration."""
    return isinstance(value, Real | Decimal | timedelta | np.timedelta64)


def number_of(value: Any) -> float | None:
    """Return a value as a number, durations in seconds; None if it is no number."""
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


def seconds_of(durations: np.ndarray) -> np.ndarray:
    """Return durations in seconds, whatever their unit; nan for missing ones."""
    unit, count = np.datetime_data(durations.dtype)
    return np.where(
        np.isnat(durations), np.nan, durations.astype(np.int64) * (UNIT_SECONDS[unit] * count)
    )


def comma_number(word: str) -> float:
    """Return a number written as 1.234,5."""
    return float(word.replace(".", "").replace(",", "."))


def word_of(value: Any) -> str:
    """Return a value as CSV writes it: whole numbers without a point, durations in seconds."""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, date) and hasattr(value, "hour"):
        return value.isoformat(sep=" ")  # type: ignore[call-arg]
    number: Any = number_of(value) if isinstance(value, timedelta | np.timedelta64) else value
    if isinstance(value, Decimal) and Decimal(repr(float(value))) == value:
        number = float(value)  # Arrow and Polars add zeros to the longest of a column
    if isinstance(number, float | Decimal | np.floating) and math.fabs(number) < MIN_EXPONENT_FORM:
        return str(int(number)) if number == int(number) else str(number)
    return str(number)


def level_of(word: str) -> str:
    """Return the level that a word means: 10115 for 10115.0, true for True and TRUE."""
    if INTEGER.fullmatch(word):  # pandas adds the point to a column of whole numbers with gaps
        level = word.removesuffix(".0")
        return "0" if level == "-0" else level
    lower_case = word.lower()
    return (
        lower_case
        if lower_case in TRUTH_VALUES
        and word in (lower_case, lower_case.upper(), lower_case.title())
        else word
    )


def spellings_of(levels: Iterable[str]) -> dict[str, int]:
    """Return the indices of levels by all words that mean them.

    Truth values may also be written as 1 and 0 if a column has no other levels, and the reverse.
    """
    indices = {level: k for k, level in enumerate(levels)}
    index_of_meaning = {level_of(level): k for level, k in indices.items()}
    if set(index_of_meaning) <= TRUTH_VALUES.keys() or set(index_of_meaning) <= BIT_NAMES.keys():
        for bit, flag in BIT_NAMES.items():
            for present, alternative in ((bit, flag), (flag, bit)):
                if present in index_of_meaning:
                    index_of_meaning.setdefault(alternative, index_of_meaning[present])
    for level, k in index_of_meaning.items():
        spellings = [level, f"{level}.0"] if INTEGER.fullmatch(level) else [level]
        if level == "0":
            spellings += ["-0", "-0.0"]
        if level in TRUTH_VALUES:
            spellings += [level.title(), level.upper()]
        if level == "0":
            spellings += ["-0", "-0.0"]
        for word in spellings:
            indices.setdefault(word, k)
    return indices
