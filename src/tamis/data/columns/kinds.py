"""Kinds of columns: rules that decide between number, category, date, text and identifier; notes
about them.
"""

import re
from collections import Counter
from collections.abc import Iterable

from tamis.data.columns.profile import NEARLY_ALL_DISTINCT, ColumnSummary, Profile
from tamis.data.columns.suspicious_columns import is_signed_number, suspicion_notes
from tamis.data.rows import ReadError
from tamis.data.tables.layout import CATEGORY, DATE, IGNORED, NUMBER, TARGET, TEXT, Column
from tamis.data.tables.values import level_of
from tamis.system.spelling import format_option, shorten_names

# Roles of the kinds that a user may give.
ROLES_BY_KIND = {
    "number": NUMBER,
    "category": CATEGORY,
    "date": DATE,
    "text": TEXT,
    "skip": IGNORED,
}
EMPTY, CONSTANT, IDENTIFIER = "empty", "constant", "identifier"
MIN_IDENTIFIER_ROWS = 20  # rows; in smaller tables distinct words do not suggest an identifier
MIN_TEXT_TOKENS = 3  # mean number of words of a text; identifiers have fewer
MIN_TEXT_DISTINCT = 0.5  # fraction of different texts; repeated sentences are categories
LONG_TEXT = 100  # mean number of characters above which a column is a text
MIN_LEVEL_ROWS = 5  # a level in fewer rows is rare, in tables of MIN_RARE_TABLE_ROWS or more
MIN_RARE_TABLE_ROWS = 100  # rows below which no level is rare
MAX_LISTED = 6  # columns that a note names
ID_PATTERN = re.compile(r"(^|.*[_ .-])(id|ids|uuid|guid|index|key|rowid|row_id)$", re.IGNORECASE)
CAMEL_CASE_ID_PATTERN = re.compile(r".*[a-z](Id|ID)$")


def kind_of(summary: ColumnSummary, decimal: str = ".") -> str:
    """Return the kind of a column from its summary: a role, or the reason why it is left out."""
    filled = summary.rows - summary.gaps
    if not filled:
        return EMPTY
    if summary.distinct == 1 and not summary.gaps and filled > 1:
        return CONSTANT
    if summary.number:
        return IDENTIFIER if _is_row_number(summary, filled) else NUMBER
    if summary.is_truth_value or (summary.is_comma_number and decimal == ","):
        return NUMBER
    if summary.dates is not None:
        return DATE
    if summary.tokens >= MIN_TEXT_TOKENS and summary.distinct_fraction > MIN_TEXT_DISTINCT:
        return TEXT
    if summary.length > LONG_TEXT and summary.distinct_fraction > MIN_TEXT_DISTINCT:
        return TEXT
    if (
        filled >= MIN_IDENTIFIER_ROWS
        and summary.distinct_fraction > NEARLY_ALL_DISTINCT
        and summary.tokens < MIN_TEXT_TOKENS
    ):
        return IDENTIFIER
    return CATEGORY


def _is_row_number(summary: ColumnSummary, filled: int) -> bool:
    """Return whether a column of whole numbers counts the rows."""
    if not summary.is_integer or filled < MIN_IDENTIFIER_ROWS or summary.gaps:
        return False
    if summary.is_consecutive:
        return True
    sample = [] if summary.sample is None else summary.sample.tolist()
    return is_id_name(summary.name) and len(set(sample)) == len(sample)


def is_id_name(name: str) -> bool:
    """Return whether a column has the name of an identifier."""
    return bool(ID_PATTERN.match(name) or CAMEL_CASE_ID_PATTERN.match(name))


def set_reading_params(
    column: Column, summary: ColumnSummary, rare: int | None, decimal: str
) -> None:
    """Set the parameters for reading a column in its role."""
    if column.role == NUMBER and column.words:
        number_format = (
            "flags" if summary.is_truth_value else "commas" if decimal == "," else "plain"
        )
        column.facts["as"] = number_format
    elif column.role == DATE:
        if summary.dates is None:
            examples = ", ".join(repr(shorten_names(word)) for word, _ in summary.top[:3])
            raise ReadError(
                f"column {shorten_names(column.name)!r} was asked to be a date, but not all its "
                "words are "
                f"dates of one format; it has {examples}. Pass "
                f"{format_option('kinds', {column.name: 'category'})}, or write dates as "
                "yyyy-mm-dd."
            )
        column.facts |= summary.dates.params()
    elif column.role == CATEGORY:
        min_rows = (
            rare
            if rare is not None
            else MIN_LEVEL_ROWS
            if summary.rows >= MIN_RARE_TABLE_ROWS
            else 1
        )
        levels = count_levels(summary)
        frequent = {level for level, count in levels.items() if count >= min_rows}
        if not frequent or len(frequent) == len(levels):
            frequent = set(levels)
        else:
            frequent.discard("rare")
            rows = sum(levels.values())
            column.facts["rare"] = 1.0 - sum(levels[level] for level in frequent) / rows
        column.levels = sorted(frequent)


def count_levels(summary: ColumnSummary) -> Counter[str]:
    """Return the number of rows of each level of a category."""
    levels: Counter[str] = Counter()
    for word, count in summary.levels.items():
        levels[level_of(word)] += count
    return levels


def set_standardization(column: Column, summary: ColumnSummary) -> None:
    """Set centre and standard deviation of a numeric column; mostly zero ones are not centred."""
    std = summary.spread
    if std > 0 and std < float("inf"):
        filled = summary.rows - summary.gaps
        centre = summary.mean if 2 * summary.zeros < filled else 0.0
        column.facts |= {"centre": centre, "spread": std}


# --------------------------------------------------------------------------- notes
def list_names(names: Iterable[str]) -> str:
    """Return the first names of columns as a list for a message."""
    names = list(names)
    first_names = ", ".join(shorten_names(name) or "''" for name in names[:MAX_LISTED])
    return first_names if len(names) <= MAX_LISTED else f"{first_names}, ... ({len(names)} columns)"


def build_notes(
    columns: list[Column], kinds: dict[str, str], profile: Profile, hashed: bool
) -> list[str]:
    """Return notes about the decisions, one for all columns with the same decision."""
    notes = []
    if profile.undecoded:
        notes.append(
            f"words in another encoding, written with backslashes: "
            f"{list_names(profile.undecoded)}. Pass {format_option('encoding', 'latin-1')}, or "
            "the right one"
        )
    word_columns = [name for name, kind in kinds.items() if kind in (CATEGORY, IDENTIFIER)]
    word_columns += [c.name for c in columns if c.role == TARGET]
    comma_columns = {
        name: None for name in word_columns if _looks_like_comma_numbers(profile, name)
    }
    notes += _left_out_notes(
        {n: kind for n, kind in kinds.items() if n not in comma_columns}, profile
    )
    for c in columns:
        if c.role == DATE:
            notes += _date_notes(c, profile)
        if c.role == TEXT:
            count = len(c.facts.get("vocabulary", ()))
            notes.append(
                f"taken as text: {shorten_names(c.name)} "
                f"({'hashed' if hashed else f'{count:,} words'})"
            )
    if rare_notes := [
        f"{c.name} ({_count_rare_levels(c, profile)})" for c in columns if c.facts.get("rare")
    ]:
        notes.append(f"levels met in few rows share one called rare: {list_names(rare_notes)}")
    if comma_columns:
        notes.append(
            f"these look like numbers with a decimal comma: {list_names(comma_columns)}. Pass "
            f"{format_option('decimal', ',')} to read them so"
        )
    return [
        *notes,
        *suspicion_notes([c for c in columns if c.name not in comma_columns], kinds, profile),
    ]


def _left_out_notes(kinds: dict[str, str], profile: Profile) -> list[str]:
    """Return notes about columns that are left out."""
    notes = []
    for kind, reason in ((EMPTY, "empty in all rows"), (CONSTANT, "the same in all rows")):
        if names := [name for name, column_kind in kinds.items() if column_kind == kind]:
            notes.append(f"left out, since {reason}: {list_names(names)}")
    if names := [name for name, column_kind in kinds.items() if column_kind == IDENTIFIER]:
        other = "number" if profile.figures(names[0]).number else "category"
        notes.append(
            "left out as identifiers, since nearly every row has a value of its own: "
            f"{list_names(names)}. Pass {format_option('kinds', {names[0]: other})} to keep one"
        )
    return notes


def _date_notes(column: Column, profile: Profile) -> list[str]:
    """Return notes about the parts of dates, and about ambiguous formats."""
    kinds_of_parts = dict.fromkeys(part.partition("=")[0] for part in column.facts["parts"])
    notes = [f"taken as dates: {shorten_names(column.name)} ({', '.join(kinds_of_parts)})"]
    dates = profile.figures(column.name).dates
    if dates is not None and dates.is_order_ambiguous:
        notes.append(
            f"{shorten_names(column.name)}: the month was taken to come first, which no date "
            "decides. "
            "Write dates as yyyy-mm-dd if the day does"
        )
    return notes


def _count_rare_levels(column: Column, profile: Profile) -> int:
    """Return the number of rare levels."""
    return len(count_levels(profile.figures(column.name))) - len(column.levels)


def _looks_like_comma_numbers(profile: Profile, name: str) -> bool:
    """Return whether words look like 1.234,5, and some have a comma."""
    column = profile.strings.get(name)
    if column is None or column.numeric_summary is not None:  # the latter is read as numbers
        return False
    summary = profile.figures(name)
    return (
        summary.is_comma_number
        and any("," in w for w in summary.levels)
        and not is_signed_number(summary)
    )
