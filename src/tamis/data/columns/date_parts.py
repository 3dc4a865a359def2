"""A date as numbers. Exported Python files hold the text below the line of dashes, so that a date
is read in them as it is here; it uses nothing but Python.
"""

import datetime
import re

# ------------------------------------------------------------------------------------------------
DAY, HOUR = 86400, 3600
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def read_date(word, ways):
    """Seconds since 1970 (in universal time where there is a zone), and as written the month, the
    weekday from Monday on, the hour, and seconds of the day; None for a word that is no date.

    `ways` of writing are patterns, and where year, month and day stand in them.
    """
    for pattern, order in ways:
        found = re.fullmatch(pattern, word.strip())
        if found is None:
            continue
        year, month, day = (int(found[1 + place]) for place in order)
        hour, minute, second = (int(digits or 0) for digits in found.group(4, 5, 6))
        try:
            days = datetime.date(year, month, day).toordinal()
        except ValueError:
            continue
        clock = hour * HOUR + minute * 60 + second + float(f"0.{found[7] or 0}")
        if hour > 24 or minute > 59 or second > 60 or (hour == 24 and clock > DAY):
            continue
        since = days - datetime.date(1970, 1, 1).toordinal()
        seconds = since * DAY + clock - _zone_offset(found[8])
        return seconds, month, (days - 1) % 7, hour % 24, clock
    return None


def _zone_offset(zone):
    """Seconds that a zone is ahead of universal time."""
    if zone in (None, "Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    ahead = int(digits[:2]) * HOUR + int(digits[2:]) * 60
    return -ahead if zone[0] == "-" else ahead


def part_name(kind, value):
    """The name of a part of a date: its month, weekday or hour."""
    return f"{kind}={WEEKDAYS[value] if kind == 'weekday' else value}"


def date_entries(date, first, last, parts):
    """Columns and values of a date as `read_date` gives it, -1 for a part without a column.

    The trend grows from 0 to 1 between the seconds `first` and `last`; `parts` are columns by name.
    """
    seconds, month, weekday, hour, _ = date
    trend = (seconds - first) / (last - first) if last > first else 0.0
    named = (("month", month), ("weekday", weekday), ("hour", hour))
    return [
        (parts.get("trend", -1), trend),
        *((parts.get(part_name(kind, value), -1), 1.0) for kind, value in named),
    ]
