"""Words that are dates: how they are written, and the parts that columns are made of."""

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from typing import NamedTuple

DAY, HOUR = 86400, 3600
EPOCH = date(1970, 1, 1).toordinal()
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
REMEMBERED = 1 << 15  # dates that were read last: a chunk looks at each of its own twice
MONTHS_FROM = 31 * DAY  # a shorter span says nothing of months
_TIME = (
    r"(?:[ T](\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*(Z|UTC|[-+]\d\d:?\d\d|[-+]\d\d(?!\d))?)?"
)
# How dates are written, the year's, month's and day's place; the same signs may mean two orders.
WRITTEN = {
    "ymd": (re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})" + _TIME), (0, 1, 2)),
    "y/m/d": (re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})" + _TIME), (0, 1, 2)),
    "d.m.y": (re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})" + _TIME), (2, 1, 0)),
    "m/d/y": (re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})" + _TIME), (2, 0, 1)),
    "d/m/y": (re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})" + _TIME), (2, 1, 0)),
}


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
    pattern, places = WRITTEN[written]
    found = pattern.fullmatch(word.strip())
    if found is None:
        return None
    year, month, day = (int(found[1 + place]) for place in places)
    hour, minute, second = (int(part or 0) for part in found.group(4, 5, 6))
    try:
        ordinal = date(year, month, day).toordinal()
    except ValueError:
        return None
    if hour > 24 or minute > 59 or second > 60:
        return None
    clock = hour * HOUR + minute * 60 + second + float(f"0.{found[7] or 0}")
    seconds = (ordinal - EPOCH) * DAY + clock - _offset(found[8])
    return When(seconds, month, (ordinal - 1) % 7, hour % 24, clock)


def read_as(word: str, written: str) -> When | None:
    """A word as a date of a column: written as the others are, or year first, which is plain."""
    return read_date(word, written) or read_date(word, "ymd")


def _offset(zone: str | None) -> int:
    """Seconds that a zone is ahead."""
    if zone is None or zone in ("Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    ahead = int(digits[:2]) * HOUR + int(digits[2:]) * 60
    return -ahead if zone[0] == "-" else ahead


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
            parts += [f"month={month}" for month in sorted(seen.months)]
        parts += [f"weekday={WEEKDAYS[day]}" for day in sorted(seen.weekdays)]
        if len(seen.clocks) > 1:
            parts += [f"hour={hour}" for hour in sorted(seen.hours)]
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


def entries_of(word: str, facts: dict, places: dict[str, int]) -> list[tuple[float, int]] | None:
    """Value and place of the parts of a date, -1 for a part without a column; None for no date."""
    when = read_as(word, facts["written"])
    if when is None:
        return None
    span = facts["last"] - facts["first"]
    trend = (when.seconds - facts["first"]) / span if span > 0 else 0.0
    named = (
        f"month={when.month}",
        f"weekday={WEEKDAYS[when.weekday]}",
        f"hour={when.hour}",
    )
    return [(trend, places["trend"]), *((1.0, places.get(name, -1)) for name in named)]
