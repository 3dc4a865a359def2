"""Dates in words: detection of their format, and their encoding as numbers.

Reading of rows and exports to Python, SQL, ONNX and scorecards all use `DateEncoding`.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from tamis.data.columns import date_parts
from tamis.data.columns.date_parts import DAY, date_entries, part_name

MAX_CACHED_DATES = 1 << 15  # cached dates: each date of a chunk is read twice
MIN_MONTHS_SPAN = 31 * DAY  # seconds; a shorter range gets no columns for months
DATE_PART_VALUES = {
    "month": range(1, 13),
    "weekday": range(7),
    "hour": range(24),
}  # values of a part of a date
# Formats of dates: the separator of their fields, and the positions of year, month and day. Two
# formats may have the same separator.
DATE_FORMATS = {
    "ymd": ("-", (0, 1, 2)),
    "y/m/d": ("/", (0, 1, 2)),
    "d.m.y": (".", (2, 1, 0)),
    "m/d/y": ("/", (2, 0, 1)),
    "d/m/y": ("/", (2, 1, 0)),
}
_TIME = (
    r"(?:[ T](\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*(Z|UTC|[-+]\d\d:?\d\d|[-+]\d\d(?!\d))?)?"
)


def _pattern(sign: str, order: tuple[int, ...]) -> re.Pattern:
    """Return the pattern of dates with a separator and an order of fields."""
    fields = [r"(\d{4})" if position == order[0] else r"(\d{1,2})" for position in range(3)]
    return re.compile(sign.replace(".", r"\.").join(fields) + _TIME)


PATTERNS = {
    date_format: (_pattern(*order), order[1]) for date_format, order in DATE_FORMATS.items()
}


class ParsedDate(NamedTuple):
    """Date: seconds since 1970 (UTC if it has a time zone); month, weekday and hour as written."""

    seconds: float
    month: int
    weekday: int
    hour: int
    clock: float  # seconds since midnight


@lru_cache(MAX_CACHED_DATES)
def read_date(word: str, written: str) -> ParsedDate | None:
    """Return a word as a date of one format, or None."""
    fields = date_parts.read_date(word, (PATTERNS[written],))
    return None if fields is None else ParsedDate(*fields)


def read_column_date(word: str, written: str) -> ParsedDate | None:
    """Return a word as a date of a column: in its format, or year first, which is unambiguous."""
    return read_date(word, written) or read_date(word, "ymd")


class DateEncoding(NamedTuple):
    """Encoding of a column of dates as columns of X.

    A date has a trend, which grows from 0 to 1 between the seconds `first` and `last` since 1970,
    and a one for its month, its weekday and its hour, as written; `parts` maps their names to
    columns.
    """

    written: str
    first: float
    last: float
    parts: dict[str, int]

    @classmethod
    def from_params(cls, params: dict[str, Any], parts: dict[str, int]) -> "DateEncoding":
        """Return the encoding from the parameters of a table's column."""
        return cls(params["written"], params["first"], params["last"], parts)

    @property
    def span(self) -> float:
        """Seconds over which the trend grows; 0 if the trend is always 0."""
        return max(self.last - self.first, 0.0)

    @property
    def trend(self) -> int:
        """Column of the trend, or -1."""
        return self.parts.get("trend", -1)

    def columns(self, kind: str) -> dict[int, int]:
        """Return the columns of the parts of a kind, by their values in `DATE_PART_VALUES`."""
        named = {value: part_name(kind, value) for value in DATE_PART_VALUES[kind]}
        return {value: self.parts[name] for value, name in named.items() if name in self.parts}

    def entries(self, word: str) -> list[tuple[int, float]] | None:
        """Return (column, value) pairs of a date, with column -1 for a part without one; None if no
        date.
        """
        date = read_column_date(word, self.written)
        return None if date is None else date_entries(date, self.first, self.last, self.parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as plain data, with patterns as `ways`.

        Each of the `ways` has the positions of year, month and day in its pattern. Dates with the
        year first are always accepted.
        """
        date_formats = [
            PATTERNS[date_format] for date_format in dict.fromkeys((self.written, "ymd"))
        ]
        listed = [[pattern.pattern, list(order)] for pattern, order in date_formats]
        return {"ways": listed, **self._asdict()}


class DateDetector:
    """Detector of the date formats that fit all words of a column."""

    def __init__(self) -> None:
        self.date_formats = dict.fromkeys(PATTERNS)  # formats that fit all words so far
        self.ranges: dict[str, DateRange] = {date_format: DateRange() for date_format in PATTERNS}

    def add(self, words: Iterable[str]) -> bool:
        """Add words; return False once no format fits all words."""
        for word in words:
            for date_format in list(self.date_formats):
                date = read_date(word, date_format)
                if date is None:
                    del self.date_formats[date_format]
                else:
                    self.ranges[date_format].add(date)
            if not self.date_formats:
                return False
        return True

    @property
    def is_order_ambiguous(self) -> bool:
        """Whether month first and day first both fit all dates."""
        return "m/d/y" in self.date_formats and "d/m/y" in self.date_formats

    def params(self) -> dict:
        """Return the parameters of the column as plain data: format, range, and parts."""
        date_format = next(iter(self.date_formats))
        date_range = self.ranges[date_format]
        parts = ["trend"]
        if date_range.last - date_range.first > MIN_MONTHS_SPAN:
            parts += [part_name("month", month) for month in sorted(date_range.months)]
        parts += [part_name("weekday", day) for day in sorted(date_range.weekdays)]
        if len(date_range.day_times) > 1:
            parts += [part_name("hour", hour) for hour in sorted(date_range.hours)]
        return {
            "written": date_format,
            "first": date_range.first,
            "last": date_range.last,
            "parts": parts,
        }


class DateRange:
    """Range of dates, and the months, weekdays and hours that occur."""

    def __init__(self) -> None:
        self.first, self.last = float("inf"), float("-inf")
        self.months: set[int] = set()
        self.weekdays: set[int] = set()
        self.hours: set[int] = set()
        self.day_times: set[float] = set()  # at most two

    def add(self, date: ParsedDate) -> None:
        """Add a date."""
        self.first, self.last = min(self.first, date.seconds), max(self.last, date.seconds)
        self.months.add(date.month)
        self.weekdays.add(date.weekday)
        self.hours.add(date.hour)
        if len(self.day_times) < 2:
            self.day_times.add(date.clock)

    def merge(self, other: "DateRange") -> None:
        """Add all dates of another range."""
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.months |= other.months
        self.weekdays |= other.weekdays
        self.hours |= other.hours
        self.day_times |= other.day_times
