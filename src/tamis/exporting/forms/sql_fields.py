"""What a field of a table adds to a score, as an expression of SQL."""

from tamis.exporting.inputs.fields import Date, Field
from tamis.read.columns.dates import WEEKDAYS


def summand(field: Field, weights: dict[int, float], dialect: str) -> str:
    """What a field adds to a score; nothing where it has no weight."""
    name = f"t.{quoted(field.name)}"
    if field.fill is not None:
        filled = text(field.fill) if isinstance(field.fill, str) else number(float(field.fill))
        name = f"COALESCE({name}, {filled})"
    gap = None if field.gap is None else weights.get(field.gap, 0.0)
    if field.date is not None:
        value = _of_date(field.date, name, weights, dialect)
    elif field.words is not None:
        value = _of_words(field, name, weights)
    else:
        weight = weights.get(-1 if field.number is None else field.number, 0.0)
        read = _read(field, name, dialect)
        value = f"{number(weight)} * {read}" if weight else ""
        if field.way == "plain" and weight and not gap:
            return value if gap is None else f"{number(weight)} * COALESCE({read}, 0)"
    if not value and not gap and gap is not None:
        return ""
    missing = "NULL" if gap is None else number(gap)
    return f"CASE WHEN {name} IS NULL THEN {missing} ELSE {value or '0'} END"


def _of_words(field: Field, name: str, weights: dict[int, float]) -> str:
    """The weight of a word."""
    whens = "".join(
        f" WHEN {text(word)} THEN {number(weights.get(column, 0.0))}"
        for word, column in (field.words or {}).items()
        if weights.get(column) or field.rest >= 0
    )
    rest = number(weights.get(field.rest, 0.0))
    return f"CASE CAST({name} AS VARCHAR){whens} ELSE {rest} END" if whens else ""


def _read(field: Field, name: str, dialect: str) -> str:
    """A number as the model takes it: true as 1, and in units of the column."""
    if field.way == "flags":
        words = "WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0"
        name = f"CASE LOWER(CAST({name} AS VARCHAR)) {words} END"
    if field.way == "commas" and dialect == "sqlite":  # others refuse to calculate with words
        name = f"CASE TYPEOF({name}) WHEN 'text' THEN NULL ELSE {name} END"
    if (field.centre, field.spread) == (0.0, 1.0):
        return name if field.way == "plain" else f"({name})"
    return f"(({name} - {number(field.centre)}) / {number(field.spread)})"


# --------------------------------------------------------------------------- dates
def _of_date(date: Date, name: str, weights: dict[int, float], dialect: str) -> str:
    """The weights of the parts of a date; NULL where it is no date, or of a zone."""
    days = {str(WEEKDAYS.index(day)): column for day, column in date.of("weekday").items()}
    parts = {"m": date.of("month"), "w": days, "h": date.of("hour")}
    summed = []
    trend, span = weights.get(date.parts.get("trend", -1), 0.0), date.last - date.first
    if trend and span > 0:
        summed.append(f"{number(trend)} * ((d.s - {number(date.first)}) / {number(span)})")
    for part, columns in parts.items():
        known = [(word, weights.get(column, 0.0)) for word, column in columns.items()]
        whens = "".join(f" WHEN {word} THEN {number(weight)}" for word, weight in known if weight)
        if whens:
            summed.append(f"CASE d.{part}{whens} ELSE 0 END")
    if not summed:
        return ""
    # A part that is asked of no date is NULL, but a CASE of it is not.
    known_date = f"CASE WHEN d.s IS NULL THEN NULL ELSE {' + '.join(summed)} END"
    return f"(SELECT {known_date} FROM {_parts(date.written, name, dialect)} AS d)"


def _parts(written: str, name: str, dialect: str) -> str:
    """Seconds since 1970, month, weekday from Monday on, and hour, of what is a date."""
    read = _year_first(written, name)
    if dialect == "sqlite":
        # Days that a month does not have are dates there until one calculates, and fractions of
        # seconds are lost.
        digits = "-".join(("[0-9]" * 4, "[0-9]" * 2, "[0-9]" * 2))
        proper = (
            f"a.x GLOB '{digits}*' AND DATE(SUBSTR(a.x, 1, 19), '+0 days') = SUBSTR(a.x, 1, 10)"
        )
        fraction = "CASE SUBSTR(a.x, 20, 1) WHEN '.' THEN CAST('0.' || SUBSTR(a.x, 21) AS REAL) "
        seconds = f"CAST(STRFTIME('%s', b.y) AS REAL) + {fraction}ELSE 0 END"
        whole = "CAST(STRFTIME('{}', b.y) AS INTEGER)"
        month, hour = whole.format("%m"), whole.format("%H")
        day = f"({whole.format('%w')} + 6) % 7"
        read = f"(SELECT a.x, CASE WHEN {proper} THEN SUBSTR(a.x, 1, 19) END AS y FROM {read}) AS b"
        seconds = seconds.replace("a.x", "b.x")
    else:
        if dialect == "duckdb":
            stamp = "TRY_CAST(a.x AS TIMESTAMP)"
        else:
            pattern = r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?$"
            stamp = f"CASE WHEN a.x ~ '{pattern}' THEN CAST(a.x AS TIMESTAMP) END"
        seconds, month = "EXTRACT(EPOCH FROM b.y)", "EXTRACT(MONTH FROM b.y)"
        day, hour = "EXTRACT(ISODOW FROM b.y) - 1", "EXTRACT(HOUR FROM b.y)"
        read = f"(SELECT {stamp} AS y FROM {read}) AS b"
    return f"(SELECT {seconds} AS s, {month} AS m, {day} AS w, {hour} AS h FROM {read})"


# Where year, month and day stand, of dates whose year is last, and what parts them.
_LAST = {"d.m.y": (7, 4, 1, "."), "m/d/y": (7, 1, 4, "/"), "d/m/y": (7, 4, 1, "/")}


def _year_first(written: str, name: str) -> str:
    """A date as `a.x`: with its year first, in universal time, NULL where it has another zone."""
    bare = f"TRIM(CAST({name} AS VARCHAR))"
    for zone in ("+00:00", "+0000", "+00"):
        bare = f"REPLACE({bare}, '{zone}', '')"
    found = "z.x"
    if written == "y/m/d":
        found = "REPLACE(z.x, '/', '-')"
    elif written in _LAST:
        *places, mark = _LAST[written]
        year, month, day = (f"SUBSTR(z.x, {at}, {4 if at == 7 else 2})" for at in places)
        is_last = f"SUBSTR(z.x, 3, 1) = '{mark}' AND SUBSTR(z.x, 6, 1) = '{mark}'"
        turned = f"{year} || '-' || {month} || '-' || {day} || SUBSTR(z.x, 11)"
        found = f"CASE WHEN {is_last} THEN {turned} ELSE z.x END"
    zoned = "SUBSTR(z.x, 11) LIKE '%+%' OR SUBSTR(z.x, 11) LIKE '%-%'"
    found = f"CASE WHEN {zoned} THEN NULL ELSE REPLACE({found}, ',', '.') END"
    return f"(SELECT {found} AS x FROM (SELECT RTRIM({bare}, 'ZUTC ') AS x) AS z) AS a"


# --------------------------------------------------------------------------- words of SQL
def quoted(name: str) -> str:
    """A name as SQL takes any."""
    return '"' + str(name).replace('"', '""') + '"'


def text(word: str) -> str:
    """A word as a constant."""
    return "'" + str(word).replace("'", "''") + "'"


def number(value: float) -> str:
    """A number of double precision: with an exponent it is no decimal."""
    return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"
