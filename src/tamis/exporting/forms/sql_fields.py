"""The term of a field in a score, as a SQL expression."""

from tamis.base.validation import MAX_MAGNITUDE
from tamis.data.columns.dates import DATE_FORMATS, DateEncoding
from tamis.exporting.inputs.fields import Field

SQLITE, POSTGRESQL, DUCKDB = "sqlite", "postgresql", "duckdb"
ZERO, NUL = "0.0e0", "\0"
# The collation of a column may ignore case.
_BY_BYTES = {SQLITE: "COLLATE BINARY", POSTGRESQL: 'COLLATE "C"', DUCKDB: 'COLLATE "C"'}


def summand(
    field: Field, weights: dict[int, float], dialect: str, gaps: tuple[str, ...] = ()
) -> str:
    """Return the term of a field in a score, "" without weights. Words of `gaps` are gaps."""
    name = f"t.{quote_name(field.name)}"
    missing = "NULL" if field.gap is None else format_number(weights.get(field.gap, 0.0))
    if field.words is not None:
        return _category_expression(field, name, weights, dialect, missing, gaps)
    weight = weights.get(-1 if field.number is None else field.number, 0.0)
    if field.fill is not None:
        missing = format_number(weight * ((float(field.fill) - field.centre) / field.spread))
    is_missing = _is_gap(name, ("", *(gaps or ("nan",))))  # nan is a gap too
    if field.date is not None:
        value = _date_expression(field.date, name, weights, dialect)
        if not value and missing == ZERO:
            return ""
        return f"CASE WHEN {is_missing} THEN {missing} ELSE {value or ZERO} END"
    if not weight and missing == ZERO:
        return ""
    value, is_valid = _number_expression(field, name, dialect)
    if (field.centre, field.spread) != (0.0, 1.0):
        value = f"(({value} - {format_number(field.centre)}) / {format_number(field.spread)})"
    term = f"{format_number(weight)} * {value}"
    return f"CASE WHEN {is_valid} THEN {term} WHEN {is_missing} THEN {missing} END"


def _is_gap(name: str, gaps: tuple[str, ...]) -> str:
    """Return a condition: the value is missing, or a word for a gap in any case."""
    listed = ", ".join(f"'{gap}'" for gap in gaps)
    words = f" OR LOWER(CAST({name} AS VARCHAR)) IN ({listed})" if gaps else ""
    return f"{name} IS NULL{words}"


def _category_expression(
    field: Field,
    name: str,
    weights: dict[int, float],
    dialect: str,
    missing: str,
    gaps: tuple[str, ...],
) -> str:
    """Return the weight of a word, independent of the collation of its column."""
    word_columns, other_weight = field.words or {}, format_number(weights.get(field.rest, 0.0))
    word_weights = {
        quote_text(word, dialect): format_number(weights.get(column, 0.0))
        for word, column in word_columns.items()
        if (weights.get(column) or field.rest >= 0) and not (NUL in word and dialect == POSTGRESQL)
    }
    if field.fill is not None:
        missing = format_number(weights.get(word_columns.get(str(field.fill), field.rest), 0.0))
    if not gaps and "" not in word_columns and missing != other_weight:
        word_weights["''"] = "NULL"  # a gap in some tables, an unseen word in others
    if not word_weights and missing == other_weight == ZERO:
        return ""
    whens = "".join(f" WHEN {word} THEN {weight}" for word, weight in word_weights.items())
    value = f"CASE CAST({name} AS VARCHAR) {_BY_BYTES[dialect]}{whens} ELSE {other_weight} END"
    is_missing = _is_gap(
        name,
        tuple(
            gap for gap in gaps if gap not in {known_word.lower() for known_word in word_columns}
        ),
    )
    return (
        f"CASE WHEN {is_missing} THEN {missing} ELSE {value if word_weights else other_weight} END"
    )


def _number_expression(field: Field, name: str, dialect: str) -> tuple[str, str]:
    """Return expressions of a number, true as 1, and of whether the model accepts it."""
    if field.way == "flags":
        cases = "WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0"
        fallback = {SQLITE: f" ELSE {name}", DUCKDB: f" ELSE TRY_CAST({name} AS DOUBLE)"}
        name = f"(CASE LOWER(TRIM(CAST({name} AS VARCHAR))) {cases}{fallback.get(dialect, '')} END)"
    if field.way == "commas" and dialect != POSTGRESQL:  # an error in PostgreSQL
        cases = "WHEN 'text' THEN NULL WHEN 'varchar' THEN NULL"
        name = f"(CASE LOWER(TYPEOF({name})) {cases} ELSE {name} END)"
    value = {SQLITE: f"CAST({name} AS NUMERIC)", DUCKDB: f"TRY_CAST({name} AS DOUBLE)"}.get(
        dialect, name
    )
    limits = (
        format_number(field.centre + side * MAX_MAGNITUDE * abs(field.spread))
        for side in (-1.0, 1.0)
    )
    is_valid = f"{value} BETWEEN {' AND '.join(limits)}"
    # SQLite casts a word to 0, which is not equal to the word.
    return value, f"{value} = {name} AND {is_valid}" if dialect == SQLITE else is_valid


# --------------------------------------------------------------------------- dates
def _date_expression(date: DateEncoding, name: str, weights: dict[int, float], dialect: str) -> str:
    """Return the term of a date; NULL for other words and for dates with a time zone."""
    terms = []
    trend, span = weights.get(date.trend, 0.0), date.span
    if trend and span:
        terms.append(
            f"{format_number(trend)} * "
            f"((d.s - {format_number(date.first)}) / {format_number(span)})"
        )
    for kind, part in (("month", "m"), ("weekday", "w"), ("hour", "h")):
        part_weights = [
            (value, weights.get(column, 0.0)) for value, column in date.columns(kind).items()
        ]
        whens = "".join(
            f" WHEN {value} THEN {format_number(weight)}"
            for value, weight in part_weights
            if weight
        )
        if whens:
            terms.append(f"CASE d.{part}{whens} ELSE 0 END")
    if not terms:
        return ""
    # The parts of NULL are NULL, but a CASE of them is not.
    known_date = f"CASE WHEN d.s IS NULL THEN NULL ELSE {' + '.join(terms)} END"
    return f"(SELECT {known_date} FROM {_date_parts(date.written, name, dialect)} AS d)"


def _date_parts(written: str, name: str, dialect: str) -> str:
    """Return a query of seconds since 1970, month, weekday from Monday on, and hour.

    Month and hour come from the text: databases turn 24:00 into the next day.
    """
    is_valid = f"{_is_iso_date('a.x', dialect)} AND SUBSTR(a.x, 1, 4) <> '0000'"
    day = "SUBSTR(b.x, 1, 10)"
    if dialect == SQLITE:
        # SQLite accepts days that a month does not have, and drops fractions of seconds.
        is_valid += " AND DATE(SUBSTR(a.x, 1, 10), '+0 days') = SUBSTR(a.x, 1, 10)"
        seconds = "CAST(STRFTIME('%s', SUBSTR(b.x, 1, 19)) AS REAL)"
        seconds += " + CAST('0' || SUBSTR(b.x, 20) AS REAL)"
        weekday = f"(CAST(STRFTIME('%w', {day}) AS INTEGER) + 6) % 7"
    else:
        cast = "TRY_CAST" if dialect == DUCKDB else "CAST"
        seconds = f"EXTRACT(EPOCH FROM {cast}(b.x AS TIMESTAMP))"
        weekday = f"EXTRACT(ISODOW FROM {cast}({day} AS DATE)) - 1"
    distinct = (
        "" if dialect == DUCKDB else "DISTINCT "
    )  # others inline a plain subquery at each use
    month = "CAST(SUBSTR(b.x, 6, 2) AS INTEGER)"
    hour = "COALESCE(CAST(NULLIF(SUBSTR(b.x, 12, 2), '') AS INTEGER) % 24, 0)"
    source = _iso_date(written, name, distinct)
    checked = f"(SELECT {distinct}CASE WHEN {is_valid} THEN a.x END AS x FROM {source}) AS b"
    parts = f"{seconds} AS s, {month} AS m, {weekday} AS w, {hour} AS h"
    return f"(SELECT {distinct}{parts} FROM {checked})"


def _is_iso_date(word: str, dialect: str) -> str:
    """Return a condition: a word is a date with the year first, and a time or none."""
    if dialect != SQLITE:
        return rf"{word} ~ '^\d{{4}}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?$'"
    two = "[0-9]" * 2
    day, minute = f"{two}{two}-{two}-{two}", f"[ T]{two}:{two}"
    forms = [f"{word} GLOB '{day}{time}'" for time in ("", minute, f"{minute}:{two}")]
    forms.append(
        f"({word} GLOB '{day}{minute}:{two}.[0-9]*' AND SUBSTR({word}, 21) NOT GLOB '*[^0-9]*')"
    )
    return f"({' OR '.join(forms)})"


def _iso_date(written: str, name: str, distinct: str) -> str:
    """Return a query of the date as `a.x`: year first, without the zone UTC."""
    zones = "".join(
        f" WHEN SUBSTR(y.x, LENGTH(y.x) - {len(zone) - 1}) = '{zone}' "
        f"THEN RTRIM(SUBSTR(y.x, 1, LENGTH(y.x) - {len(zone)}))"
        for zone in ("+00:00", "-00:00", "+0000", "-0000", "+00", "-00", "UTC", "Z")
    )
    without_zone = f"CASE WHEN SUBSTR(y.x, 14, 1) <> ':' THEN y.x{zones} ELSE y.x END"
    reordered, (mark, order) = "z.x", DATE_FORMATS[written]
    if order[0] == 0 and mark != "-":
        reordered = (
            f"CASE WHEN SUBSTR(z.x, 5, 1) = '{mark}' AND SUBSTR(z.x, 8, 1) = '{mark}' THEN "
            f"REPLACE(z.x, '{mark}', '-') ELSE z.x END"
        )
    elif order[0] == 2:
        year, month, day = (f"SUBSTR(z.x, {1 + 3 * k}, {4 if k == 2 else 2})" for k in order)
        is_last = f"SUBSTR(z.x, 3, 1) = '{mark}' AND SUBSTR(z.x, 6, 1) = '{mark}'"
        iso = f"{year} || '-' || {month} || '-' || {day} || SUBSTR(z.x, 11)"
        reordered = f"CASE WHEN {is_last} THEN {iso} ELSE z.x END"
    return (
        f"(SELECT {distinct}REPLACE({reordered}, ',', '.') AS x FROM "
        f"(SELECT {distinct}{without_zone} AS x FROM "
        f"(SELECT {distinct}TRIM(CAST({name} AS VARCHAR)) AS x) AS y) AS z) AS a"
    )


# --------------------------------------------------------------------------- literals
def quote_name(name: str) -> str:
    """Return a name in quotes."""
    if NUL in str(name):
        raise ValueError(
            f"databases take no name with a NUL: {name!r:.80}. Rename it before you fit."
        )
    return '"' + str(name).replace('"', '""') + '"'


def quote_text(word: str, dialect: str) -> str:
    """Return a word as a SQL constant."""
    if NUL in word and dialect == POSTGRESQL:
        raise ValueError(f"PostgreSQL takes no text with a NUL: {word!r:.80}. Rename it.")
    literal = "'" + word.replace("'", "''") + "'"
    literal = literal.replace(NUL, f"' || {'CHAR' if dialect == SQLITE else 'CHR'}(0) || '")
    return f"({literal})" if NUL in word else literal


def format_number(value: float) -> str:
    """Return a double precision constant; the exponent keeps it from being a decimal."""
    return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"
