"""Words that are dates: how they are written, and what numbers they become.

`DateEncoding` is the one description of that: rows are read by it, and exports to Python, SQL, ONNX
and scorecards are written from it.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from tamis.data.columns import date_parts
from tamis.data.columns.date_parts import DAY, date_entries, part_name

REMEMBERED = 1 << 15  # dates that were read last: a chunk looks at each of its own twice
MONTHS_FROM = 31 * DAY  # a shorter span says nothing of months
VALUES = {"month": range(1, 13), "weekday": range(7), "hour": range(24)}  # of parts, by kind
# How dates are written: the sign between their fields, and the places of year, month and day; the
# same signs may mean two orders.
ORDERS = {
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
    """The pattern of dates with a sign between fields in an order."""
    fields = [r"(\d{4})" if place == order[0] else r"(\d{1,2})" for place in range(3)]
    return re.compile(sign.replace(".", r"\.").join(fields) + _TIME)


WRITTEN = {way: (_pattern(*order), order[1]) for way, order in ORDERS.items()}


class When(NamedTuple):
    """A date: seconds since 1970 (UTC where it says so), and month, weekday and hour as written."""

    seconds: float
    month: int
    weekday: int
    hour: int
    clock: float  # seconds of the day


@lru_cache(REMEMBERED)
def read_date(word: str, written: str) -> When | None:
    """A word as a date written in one way, or None."""
    found = date_parts.read_date(word, (WRITTEN[written],))
    return None if found is None else When(*found)


def read_as(word: str, written: str) -> When | None:
    """A word as a date of a column: written as the others are, or year first, which is plain."""
    return read_date(word, written) or read_date(word, "ymd")


class DateEncoding(NamedTuple):
    """How a column of dates becomes columns of X.

    A date has a trend, which grows from 0 to 1 between the seconds `first` and `last` since 1970,
    and a one for its month, its weekday and its hour, as it is written; `parts` are the columns of
    these, by name.
    """

    written: str
    first: float
    last: float
    parts: dict[str, int]

    @classmethod
    def of_facts(cls, facts: dict[str, Any], parts: dict[str, int]) -> "DateEncoding":
        """That of a column of a table, by the facts of the column."""
        return cls(facts["written"], facts["first"], facts["last"], parts)

    @property
    def span(self) -> float:
        """Seconds over which the trend grows; none where it is 0 all the time."""
        return max(self.last - self.first, 0.0)

    @property
    def trend(self) -> int:
        """The column of the trend, -1 for none."""
        return self.parts.get("trend", -1)

    def columns(self, kind: str) -> dict[int, int]:
        """Columns of the parts of a kind, by their values in `VALUES`."""
        named = {value: part_name(kind, value) for value in VALUES[kind]}
        return {value: self.parts[name] for value, name in named.items() if name in self.parts}

    def entries(self, word: str) -> list[tuple[int, float]] | None:
        """Columns and values of a date, -1 for a part without a column; None for no date."""
        date = read_as(word, self.written)
        return None if date is None else date_entries(date, self.first, self.last, self.parts)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data: `ways` are patterns, and where year, month and day stand in
        them. A date whose year is first is plain, however the others are written.
        """
        ways = [WRITTEN[way] for way in dict.fromkeys((self.written, "ymd"))]
        listed = [[pattern.pattern, list(order)] for pattern, order in ways]
        return {"ways": listed, **self._asdict()}


class Dates:
    """What is known of a column as long as all its words are dates."""

    def __init__(self) -> None:
        self.ways = dict.fromkeys(WRITTEN)  # that fit all words so far
        self.seen: dict[str, Seen] = {way: Seen() for way in WRITTEN}

    def add(self, words: Iterable[str]) -> bool:
        """Take in some words; False once no way of writing fits them all."""
        for word in words:
            for way in list(self.ways):
                when = read_date(word, way)
                if when is None:
                    del self.ways[way]
                else:
                    self.seen[way].add(when)
            if not self.ways:
                return False
        return True

    @property
    def guessed(self) -> bool:
        """Whether months and days may be the other way round."""
        return "m/d/y" in self.ways and "d/m/y" in self.ways

    def facts(self) -> dict:
        """How the column is read, as plain data: how dates are written, span, and its parts."""
        way = next(iter(self.ways))
        seen = self.seen[way]
        parts = ["trend"]
        if seen.last - seen.first > MONTHS_FROM:
            parts += [part_name("month", month) for month in sorted(seen.months)]
        parts += [part_name("weekday", day) for day in sorted(seen.weekdays)]
        if len(seen.clocks) > 1:
            parts += [part_name("hour", hour) for hour in sorted(seen.hours)]
        return {"written": way, "first": seen.first, "last": seen.last, "parts": parts}


class Seen:
    """The span of dates, and the parts that were met."""

    def __init__(self) -> None:
        self.first, self.last = float("inf"), float("-inf")
        self.months: set[int] = set()
        self.weekdays: set[int] = set()
        self.hours: set[int] = set()
        self.clocks: set[float] = set()  # two are enough

    def add(self, when: When) -> None:
        """One more date."""
        self.first, self.last = min(self.first, when.seconds), max(self.last, when.seconds)
        self.months.add(when.month)
        self.weekdays.add(when.weekday)
        self.hours.add(when.hour)
        if len(self.clocks) < 2:
            self.clocks.add(when.clock)

    def merge(self, other: "Seen") -> None:
        """All dates of another part."""
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.months |= other.months
        self.weekdays |= other.weekdays
        self.hours |= other.hours
        self.clocks |= other.clocks
