"""What a field of a table adds to a score, as an expression of SQL."""

from tamis.base.validation import LARGEST
from tamis.data.columns.dates import ORDERS, DateEncoding
from tamis.exporting.inputs.fields import Field

SQLITE, POSTGRESQL, DUCKDB = "sqlite", "postgresql", "duckdb"
NOTHING, NUL = "0.0e0", "\0"
# A column may take small letters for capitals.
_BY_BYTES = {SQLITE: "COLLATE BINARY", POSTGRESQL: 'COLLATE "C"', DUCKDB: 'COLLATE "C"'}


def summand(
    field: Field, weights: dict[int, float], dialect: str, gaps: tuple[str, ...] = ()
) -> str:
    """What a field adds to a score; nothing where it has no weight. Words of `gaps` are gaps."""
    name = f"t.{quoted(field.name)}"
    missing = "NULL" if field.gap is None else number(weights.get(field.gap, 0.0))
    if field.words is not None:
        return _of_words(field, name, weights, dialect, missing, gaps)
    weight = weights.get(-1 if field.number is None else field.number, 0.0)
    if field.fill is not None:
        missing = number(weight * ((float(field.fill) - field.centre) / field.spread))
    gone = _is_gap(name, ("", *(gaps or ("nan",))))  # what is no number counts for no one
    if field.date is not None:
        value = _of_date(field.date, name, weights, dialect)
        if not value and missing == NOTHING:
            return ""
        return f"CASE WHEN {gone} THEN {missing} ELSE {value or NOTHING} END"
    if not weight and missing == NOTHING:
        return ""
    value, known = _read(field, name, dialect)
    if (field.centre, field.spread) != (0.0, 1.0):
        value = f"(({value} - {number(field.centre)}) / {number(field.spread)})"
    return f"CASE WHEN {known} THEN {number(weight)} * {value} WHEN {gone} THEN {missing} END"


def _is_gap(name: str, gaps: tuple[str, ...]) -> str:
    """Whether a value is missing, or a word that says so in any case."""
    listed = ", ".join(f"'{gap}'" for gap in gaps)
    words = f" OR LOWER(CAST({name} AS VARCHAR)) IN ({listed})" if gaps else ""
    return f"{name} IS NULL{words}"


def _of_words(
    field: Field,
    name: str,
    weights: dict[int, float],
    dialect: str,
    missing: str,
    gaps: tuple[str, ...],
) -> str:
    """The weight of a word, whatever the collation of its column."""
    known, rest = field.words or {}, number(weights.get(field.rest, 0.0))
    listed = {
        text(word, dialect): number(weights.get(column, 0.0))
        for word, column in known.items()
        if (weights.get(column) or field.rest >= 0) and not (NUL in word and dialect == POSTGRESQL)
    }
    if field.fill is not None:
        missing = number(weights.get(known.get(str(field.fill), field.rest), 0.0))
    if not gaps and "" not in known and missing != rest:
        listed["''"] = "NULL"  # in some tables a gap, in others a word that was never met
    if not listed and missing == rest == NOTHING:
        return ""
    whens = "".join(f" WHEN {word} THEN {weight}" for word, weight in listed.items())
    value = f"CASE CAST({name} AS VARCHAR) {_BY_BYTES[dialect]}{whens} ELSE {rest} END"
    gone = _is_gap(name, tuple(gap for gap in gaps if gap not in {one.lower() for one in known}))
    return f"CASE WHEN {gone} THEN {missing} ELSE {value if listed else rest} END"


def _read(field: Field, name: str, dialect: str) -> tuple[str, str]:
    """A number as the model takes it, true as 1, and whether it is one that a model takes."""
    if field.way == "flags":
        words = "WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0"
        other = {SQLITE: f" ELSE {name}", DUCKDB: f" ELSE TRY_CAST({name} AS DOUBLE)"}
        name = f"(CASE LOWER(TRIM(CAST({name} AS VARCHAR))) {words}{other.get(dialect, '')} END)"
    if field.way == "commas" and dialect != POSTGRESQL:  # which refuses to calculate with words
        words = "WHEN 'text' THEN NULL WHEN 'varchar' THEN NULL"
        name = f"(CASE LOWER(TYPEOF({name})) {words} ELSE {name} END)"
    value = {SQLITE: f"CAST({name} AS NUMERIC)", DUCKDB: f"TRY_CAST({name} AS DOUBLE)"}.get(
        dialect, name
    )
    ends = (number(field.centre + side * LARGEST * abs(field.spread)) for side in (-1.0, 1.0))
    known = f"{value} BETWEEN {' AND '.join(ends)}"
    # A word that is no number is 0 in SQLite, and not equal to it.
    return value, f"{value} = {name} AND {known}" if dialect == SQLITE else known


# --------------------------------------------------------------------------- dates
def _of_date(date: DateEncoding, name: str, weights: dict[int, float], dialect: str) -> str:
    """The weights of the parts of a date; NULL where it is no date, or of a zone."""
    summed = []
    trend, span = weights.get(date.trend, 0.0), date.span
    if trend and span:
        summed.append(f"{number(trend)} * ((d.s - {number(date.first)}) / {number(span)})")
    for kind, part in (("month", "m"), ("weekday", "w"), ("hour", "h")):
        known = [(value, weights.get(column, 0.0)) for value, column in date.columns(kind).items()]
        whens = "".join(f" WHEN {value} THEN {number(weight)}" for value, weight in known if weight)
        if whens:
            summed.append(f"CASE d.{part}{whens} ELSE 0 END")
    if not summed:
        return ""
    # A part that is asked of no date is NULL, but a CASE of it is not.
    known_date = f"CASE WHEN d.s IS NULL THEN NULL ELSE {' + '.join(summed)} END"
    return f"(SELECT {known_date} FROM {_parts(date.written, name, dialect)} AS d)"


def _parts(written: str, name: str, dialect: str) -> str:
    """Seconds since 1970, month, weekday from Monday on, and hour, of what is a date.

    The parts are read as they are written: databases take the last hour of a day, 24:00, for the
    next day.
    """
    proper = f"{_has_form('a.x', dialect)} AND SUBSTR(a.x, 1, 4) <> '0000'"
    day = "SUBSTR(b.x, 1, 10)"
    if dialect == SQLITE:
        # Days that a month does not have are dates there until one calculates, and fractions of
        # seconds are lost.
        proper += " AND DATE(SUBSTR(a.x, 1, 10), '+0 days') = SUBSTR(a.x, 1, 10)"
        seconds = "CAST(STRFTIME('%s', SUBSTR(b.x, 1, 19)) AS REAL)"
        seconds += " + CAST('0' || SUBSTR(b.x, 20) AS REAL)"
        weekday = f"(CAST(STRFTIME('%w', {day}) AS INTEGER) + 6) % 7"
    else:
        cast = "TRY_CAST" if dialect == DUCKDB else "CAST"
        seconds = f"EXTRACT(EPOCH FROM {cast}(b.x AS TIMESTAMP))"
        weekday = f"EXTRACT(ISODOW FROM {cast}({day} AS DATE)) - 1"
    once = "" if dialect == DUCKDB else "DISTINCT "  # others write a plain one out at each use
    month = "CAST(SUBSTR(b.x, 6, 2) AS INTEGER)"
    hour = "COALESCE(CAST(NULLIF(SUBSTR(b.x, 12, 2), '') AS INTEGER) % 24, 0)"
    found = _year_first(written, name, once)
    read = f"(SELECT {once}CASE WHEN {proper} THEN a.x END AS x FROM {found}) AS b"
    return f"(SELECT {once}{seconds} AS s, {month} AS m, {weekday} AS w, {hour} AS h FROM {read})"


def _has_form(word: str, dialect: str) -> str:
    """Whether a word is a date with its year first, and a time of the day, if any."""
    if dialect != SQLITE:
        return rf"{word} ~ '^\d{{4}}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?$'"
    two = "[0-9]" * 2
    day, minute = f"{two}{two}-{two}-{two}", f"[ T]{two}:{two}"
    forms = [f"{word} GLOB '{day}{time}'" for time in ("", minute, f"{minute}:{two}")]
    forms.append(
        f"({word} GLOB '{day}{minute}:{two}.[0-9]*' AND SUBSTR({word}, 21) NOT GLOB '*[^0-9]*')"
    )
    return f"({' OR '.join(forms)})"


def _year_first(written: str, name: str, once: str) -> str:
    """A date as `a.x`: with its year first, without its zone where that is universal time."""
    zones = "".join(
        f" WHEN SUBSTR(y.x, LENGTH(y.x) - {len(zone) - 1}) = '{zone}' "
        f"THEN RTRIM(SUBSTR(y.x, 1, LENGTH(y.x) - {len(zone)}))"
        for zone in ("+00:00", "-00:00", "+0000", "-0000", "+00", "-00", "UTC", "Z")
    )
    bare = f"CASE WHEN SUBSTR(y.x, 14, 1) <> ':' THEN y.x{zones} ELSE y.x END"
    found, (mark, order) = "z.x", ORDERS[written]
    if order[0] == 0 and mark != "-":
        found = (
            f"CASE WHEN SUBSTR(z.x, 5, 1) = '{mark}' AND SUBSTR(z.x, 8, 1) = '{mark}' THEN "
            f"REPLACE(z.x, '{mark}', '-') ELSE z.x END"
        )
    elif order[0] == 2:
        year, month, day = (f"SUBSTR(z.x, {1 + 3 * k}, {4 if k == 2 else 2})" for k in order)
        is_last = f"SUBSTR(z.x, 3, 1) = '{mark}' AND SUBSTR(z.x, 6, 1) = '{mark}'"
        turned = f"{year} || '-' || {month} || '-' || {day} || SUBSTR(z.x, 11)"
        found = f"CASE WHEN {is_last} THEN {turned} ELSE z.x END"
    return (
        f"(SELECT {once}REPLACE({found}, ',', '.') AS x FROM (SELECT {once}{bare} AS x FROM "
        f"(SELECT {once}TRIM(CAST({name} AS VARCHAR)) AS x) AS y) AS z) AS a"
    )


# --------------------------------------------------------------------------- words of SQL
def quoted(name: str) -> str:
    """A name as SQL takes any."""
    if NUL in str(name):
        raise ValueError(
            f"databases take no name with a NUL: {name!r:.80}. Rename it before you fit."
        )
    return '"' + str(name).replace('"', '""') + '"'


def text(word: str, dialect: str) -> str:
    """A word as a constant."""
    if NUL in word and dialect == POSTGRESQL:
        raise ValueError(f"PostgreSQL takes no text with a NUL: {word!r:.80}. Rename it.")
    made = "'" + word.replace("'", "''") + "'"
    made = made.replace(NUL, f"' || {'CHAR' if dialect == SQLITE else 'CHR'}(0) || '")
    return f"({made})" if NUL in word else made


def number(value: float) -> str:
    """A number of double precision: with an exponent it is no decimal."""
    return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"
