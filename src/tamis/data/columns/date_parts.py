"""A date as numbers. Exported Python files hold the text below the line of dashes, so that a date
is read in them as it is here; it uses nothing but Python.
"""

import datetime
import re

# ------------------------------------------------------------------------------------------------
DAY, HOUR = 86400, 3600
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def read_date(word, formats):
    """Return (seconds, month, weekday, hour, seconds of the day) of a word, or None if it is no
    date.

    Seconds count from 1970, in UTC if the word has a time zone; the others are as written, weekdays
    from Monday. `formats` are patterns with the positions of year, month and day in them.
    """
    for pattern, order in formats:
        match = re.fullmatch(pattern, word.strip())
        if match is None:
            continue
        year, month, day = (int(match[1 + position]) for position in order)
        hour, minute, second = (int(digits or 0) for digits in match.group(4, 5, 6))
        try:
            days = datetime.date(year, month, day).toordinal()
        except ValueError:
            continue
        day_seconds = hour * HOUR + minute * 60 + second + float(f"0.{match[7] or 0}")
        if hour > 24 or minute > 59 or second > 60 or (hour == 24 and day_seconds > DAY):
            continue
        epoch_days = days - datetime.date(1970, 1, 1).toordinal()
        seconds = epoch_days * DAY + day_seconds - _zone_offset(match[8])
        return seconds, month, (days - 1) % 7, hour % 24, day_seconds
    return None


def _zone_offset(zone):
    """Return the seconds by which a time zone is ahead of UTC."""
    if zone in (None, "Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset = int(digits[:2]) * HOUR + int(digits[2:]) * 60
    return -offset if zone[0] == "-" else offset


def part_name(kind, value):
    """Return the name of a part of a date: its month, weekday or hour."""
    return f"{kind}={WEEKDAYS[value] if kind == 'weekday' else value}"


def date_entries(date, first, last, parts):
    """Return (column, value) pairs of a date from `read_date`; the column is -1 for a part without
    one.

    The trend grows from 0 to 1 between the seconds `first` and `last`; `parts` maps names to
    columns.
    """
    seconds, month, weekday, hour, _ = date
    trend = (seconds - first) / (last - first) if last > first else 0.0
    named = (("month", month), ("weekday", weekday), ("hour", hour))
    return [
        (parts.get("trend", -1), trend),
        *((parts.get(part_name(kind, value), -1), 1.0) for kind, value in named),
    ]
