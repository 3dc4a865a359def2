"""Build the layout of a table from the options of the user and the kinds of its columns.

The kinds come from a profile of the whole table, or from its first rows if these hold numbers only.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, Self

from tamis.data.columns import kinds as rules
from tamis.data.columns.profile import ColumnSummary, Profile, TableHead
from tamis.data.columns.suspicious_columns import spread_note
from tamis.data.columns.texts import RowCounts
from tamis.data.options import Options
from tamis.data.rows import ReadError
from tamis.data.streams import display_name
from tamis.data.tables.layout import (
    CATEGORY,
    DATE,
    FEATURES,
    IGNORED,
    MAX_LEVELS,
    NUMBER,
    TARGET,
    TEXT,
    WEIGHT,
    Column,
    Layout,
)
from tamis.system.spelling import format_option, shorten_names

MAX_LISTED_GAPS = 10  # columns with gaps that a message names
GAPS_NOTE = "rows with a gap are left out:"
NO_TARGET_NOTE = "rows without a target are left out:"
TARGET_GAP_HINT = (
    " In text, NA, NaN, null and None mean a gap, in any case: call a class otherwise."
)
UNITS_NOTE = (
    "numbers are in units of their column's spread, and centred where most are not zero; pass "
)


class TableReader(Protocol):
    """Reader of a table before its first chunk, in this process or in several, one file each."""

    def look(self) -> list[TableHead]:
        """Return the first rows of every file."""

    def profile(self, columns: list[Column], may_become_string: Callable[[str], bool]) -> Profile:
        """Return the profile of all columns.

        Numeric columns that hold strings in later rows become string columns if `may_become_string`
        allows it.
        """

    def texts(self, columns: list[Column], names: list[str]) -> dict[str, RowCounts]:
        """Return the number of rows with each word of text columns."""


class LocalFiles:
    """Reader of files in this process, one after the other.

    The first file stays open after `look`, and `profile` goes on from there.
    """

    def __init__(self, files: list[str], options: Options):
        self.files, self.options, self.reader = files, options, table_module(options.format)
        self.open_files: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure) -> None:
        for file in self.open_files.values():
            file.close()

    def look(self) -> list[TableHead]:
        """Return the first rows of every file."""
        heads = [self.reader.look(self.files[0], self.options, self.open_files)]
        for name in self.files[1:]:
            with suppress(ReadError):  # raised when the file is read
                heads.append(self.reader.look(name, self.options))
        return heads

    def profile(self, columns: list[Column], may_become_string: Callable[[str], bool]) -> Profile:
        """Return the profile of all columns."""
        return self.reader.read_profile(
            self.files, self.options, columns, may_become_string, self.open_files
        )

    def texts(self, columns: list[Column], names: list[str]) -> dict[str, RowCounts]:
        """Return the number of rows with each word of text columns."""
        return self.reader.read_texts(self.files, self.options, columns, names)


def table_module(format: str) -> Any:
    """Return the module that reads tables of a format."""
    if format in ("csv", "tsv"):
        from tamis.data.tables import csv

        return csv
    from tamis.data.tables import arrow

    return arrow


def build_layout(
    files: list[str], options: Options, reader: TableReader
) -> tuple[Layout, list[str], Profile | None]:
    """Return the layout of files, notes about its decisions, and the profile if one was needed.

    The reader may read the files elsewhere. A column that holds strings in the first rows of any
    file is a string column in all.
    """
    heads = reader.look()
    head = heads[0]
    string_names = {
        name
        for head_of_file in heads
        for name, is_string in zip(head_of_file.names, head_of_file.is_string, strict=True)
        if is_string
    }
    head = head._replace(is_string=[name in string_names for name in head.names])
    user_roles = roles_from_options(head.names, options, display_name(files[0]))
    columns = []
    for name, is_string in zip(head.names, head.is_string, strict=True):
        role = user_roles.get(
            name, CATEGORY if is_string or options.categorical == "all" else NUMBER
        )
        is_string = role in (CATEGORY, DATE, TEXT) or (role != IGNORED and is_string)
        columns.append(Column(name, role, is_string and role != WEIGHT))
    builder = LayoutBuilder(columns, user_roles, options, display_name(files[0]))
    builder.detect_texts(head)
    if builder.needs_profile(head):
        builder.set_kinds(reader.profile(columns, builder.may_become_string))
        if text_names := builder.text_columns():
            builder.set_vocabularies(reader.texts(columns, text_names))
    notes = builder.notes()
    if options.units != "spread" and (
        note := spread_note(columns, builder.profile or head.profile)
    ):
        notes.append(note)
    return builder.layout(), [*head.notes, *notes], builder.profile


class LayoutBuilder:
    """Builder of a layout: roles and kinds of columns, their parameters, and notes."""

    def __init__(
        self, columns: list[Column], user_roles: dict[str, str], options: Options, file: str
    ):
        self.columns, self.user_roles, self.options, self.file = columns, user_roles, options, file
        self.profile: Profile | None = None
        self.kinds: dict[str, str] = {}

    def needs_profile(self, head: TableHead) -> bool:
        """Return whether the whole table must be read before its first chunk."""
        has_categories = (
            any(c.role == CATEGORY for c in self.columns) and not self.options.hash_bits
        )
        has_dates = any(c.role == DATE for c in self.columns)
        has_texts = any(c.role == TEXT for c in self.columns) and not self.options.hash_bits
        # Their number format is detected from all values.
        has_number_strings = any(c.role == NUMBER and c.words for c in self.columns)
        needs_values = has_categories or has_dates or has_texts or has_number_strings
        return needs_values or self.options.units == "spread" or self._is_odd(head)

    def _is_odd(self, head: TableHead) -> bool:
        """Return whether the first rows have gaps, or numbers that count the rows."""
        for c in self.columns:
            if c.role != NUMBER or c.words:
                continue
            summary = head.profile.figures(c.name)
            if summary.gaps and (self.options.missing == "error" or summary.gaps == summary.rows):
                return True
            if rules.kind_of(summary) == rules.IDENTIFIER and self.may_become_string(c.name):
                return True
        return False

    def detect_texts(self, head: TableHead) -> None:
        """Detect text columns by the first rows if words are hashed, as there may be no profile."""
        for c in self.columns if self.options.hash_bits else ():
            if c.role == CATEGORY and c.name not in self.user_roles:
                summary = head.profile.figures(c.name)
                c.role = TEXT if rules.kind_of(summary) == TEXT else CATEGORY

    def may_become_string(self, name: str) -> bool:
        """Return whether a numeric column may become a string column."""
        return name not in self.user_roles

    def set_kinds(self, profile: Profile) -> None:
        """Set the kinds of all columns by the profile of the whole table."""
        if not profile.rows:  # reading reports it
            return
        self.profile, options = profile, self.options
        for c in self.columns:
            if c.role == IGNORED:
                continue
            summary = profile.figures(c.name)
            if c.role in (TARGET, WEIGHT):
                self._set_target_params(c, summary)
                continue
            if c.name not in self.user_roles and not (
                c.role == CATEGORY and options.categorical == "all"
            ):
                self.kinds[c.name] = rules.kind_of(summary, options.decimal)
        if (
            all(kind == rules.CONSTANT for kind in self.kinds.values())
            and not self.has_user_features()
        ):
            self.kinds = {}  # constant columns are better than none
        for c in self.columns:
            if c.role in (IGNORED, TARGET, WEIGHT):
                continue
            summary = profile.figures(c.name)
            if (kind := self.kinds.get(c.name)) is not None:
                c.role = kind if kind in FEATURES else IGNORED
            if c.role == CATEGORY and options.hash_bits:
                continue
            if c.role == CATEGORY and summary.distinct is None:
                raise ReadError(
                    f"{self.file}: more than {min(MAX_LEVELS, len(summary.levels)):,} different "
                    f"words in {shorten_names(c.name)}. Pass {format_option('hash_bits', 20)} to "
                    "hash them, or "
                    f"{format_option('kinds', {c.name: 'skip'})}."
                )
            rules.set_reading_params(c, summary, options.rare, options.decimal)
            if c.role == NUMBER and options.units == "spread":
                rules.set_standardization(c, summary)
        read_columns = [c for c in self.columns if c.role != IGNORED or c.name in self.kinds]
        profile.kinds = {c.name: self.kind(c) for c in read_columns}
        self._refuse_gaps()

    def has_user_features(self) -> bool:
        """Return whether the user named a feature column."""
        return any(role in FEATURES for role in self.user_roles.values())

    def kind(self, column: Column) -> str:
        """Return the kind of a column by the names that users know."""
        kind_or_role = self.kinds.get(column.name, column.role)
        return {CATEGORY: "category", IGNORED: "skip"}.get(kind_or_role, kind_or_role)

    def _set_target_params(self, column: Column, summary: Any) -> None:
        """Set how strings of a target become numbers: true and false, or decimal commas."""
        has_comma_numbers = summary.is_comma_number and self.options.decimal == ","
        if column.words and (summary.is_truth_value or has_comma_numbers):
            column.facts["as"] = "flags" if summary.is_truth_value else "commas"

    def _columns_with_gaps(self) -> list[tuple[Column, ColumnSummary]]:
        """Return the columns with gaps; texts may be empty."""
        if self.profile is None:
            return []
        read_columns = [c for c in self.columns if c.role not in (IGNORED, TEXT)]
        return [
            (c, summary) for c in read_columns if (summary := self.profile.figures(c.name)).gaps
        ]

    def _refuse_gaps(self) -> None:
        """Refuse a table with gaps, by column, unless an option gives them a meaning."""
        options, gaps = self.options, self._columns_with_gaps()
        if options.on_bad == "skip":
            return
        for c, summary in gaps:
            if c.role == WEIGHT or (c.role == TARGET and options.target is not False):
                hint = TARGET_GAP_HINT if c.role == TARGET and summary.levels else ""
                raise ReadError(
                    f"{self.file}: the {c.role} {c.name!r} is missing in "
                    f"{_count_rows(summary.gaps)}, the first in {summary.first_gap}; every row "
                    f"needs it. Remove these rows, or pass {format_option('on_bad', 'skip')} to "
                    "leave "
                    f"them out.{hint}"
                )
        if options.missing == "error" and (gap_list := _list_gaps(gaps)):
            raise ReadError(
                f"{self.file}: gaps in {gap_list}. Pass {format_option('missing', 'zero')} or "
                f"{format_option('missing', 'indicator')}, or fill them."
            )

    def text_columns(self) -> list[str]:
        """Prepare text columns; return those whose words are to be counted."""
        for c in self.columns:
            if c.role == TEXT:
                c.words, c.facts["ngrams"] = True, self.options.ngrams
        return [c.name for c in self.columns if c.role == TEXT and not self.options.hash_bits]

    def set_vocabularies(self, counts: dict[str, RowCounts]) -> None:
        """Set the vocabularies of text columns."""
        for c in self.columns:
            if c.name in counts:
                c.facts |= counts[c.name].params()

    def layout(self) -> Layout:
        """Return the layout; refuse one without features."""
        layout = Layout(self.columns, self.options.missing, self.options.hash_bits)
        if not layout.width:
            empty = {c.name: "text without words" for c in layout.features}
            skipped = {name: "skipped" for name, role in self.user_roles.items() if role == IGNORED}
            first_left_out = list((self.kinds | empty | skipped).items())[:10]
            reason = "; ".join(f"{shorten_names(name)} is {kind}" for name, kind in first_left_out)
            raise ReadError(
                f"{self.file}: no column is left beside the "
                f"target{f' ({reason})' if reason else ''}. Check {format_option('target')} and "
                f"{format_option('ignore')}."
            )
        return layout

    def notes(self) -> list[str]:
        """Return notes about the decisions."""
        if self.profile is None:
            return []
        hashed = bool(self.options.hash_bits)
        notes = rules.build_notes(self.columns, self.kinds, self.profile, hashed)
        if self.options.missing == "error" and (gap_list := _list_gaps(self._columns_with_gaps())):
            advice = (
                f"{format_option('missing', 'zero')} or {format_option('missing', 'indicator')}"
            )
            notes.append(f"{GAPS_NOTE} {gap_list}. Pass {advice} to keep them")
        for c, summary in self._columns_with_gaps():
            if c.role == TARGET and self.options.target is not False:
                n_gaps = _count_rows(summary.gaps)
                notes.append(
                    f"{NO_TARGET_NOTE} {shorten_names(c.name)} ({n_gaps}, the first in "
                    f"{summary.first_gap})"
                )
        if any("spread" in c.facts for c in self.columns):
            notes.append(f"{UNITS_NOTE}{format_option('units', 'none')} to take them as they are")
        return notes


def _count_rows(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _list_gaps(gaps: list[tuple[Column, ColumnSummary]]) -> str:
    """Return the numbers of gaps of feature columns, and where the first ones are."""
    items = [
        f"{shorten_names(c.name)} ({_count_rows(summary.gaps)}, the first in {summary.first_gap})"
        for c, summary in gaps
        if c.role in FEATURES
    ]
    more = (
        f" and {len(items) - MAX_LISTED_GAPS} more columns" if len(items) > MAX_LISTED_GAPS else ""
    )
    return ", ".join(items[:MAX_LISTED_GAPS]) + more


# --------------------------------------------------------------------------- options
def roles_from_options(names: list[str], options: Options, file: str) -> dict[str, str]:
    """Return the roles of the columns that the options name."""
    known_names = set(names)

    def column_name(column: Any, parameter: str) -> str:
        if column in known_names:
            return column
        return _column_by_number(names, column, parameter, file)

    roles = {column_name(column, "ignore"): IGNORED for column in options.ignore}
    if not isinstance(options.categorical, str):
        roles |= {column_name(column, "categorical"): CATEGORY for column in options.categorical}
    for column, kind in options.kinds:
        roles[column_name(column, "kinds")] = rules.ROLES_BY_KIND[kind]
    if options.weight is not None:
        roles[column_name(options.weight, "weight")] = WEIGHT
    if options.target is not False:
        roles[column_name(-1 if options.target is None else options.target, "target")] = TARGET
    return roles


def _column_by_number(names: list[str], requested: Any, parameter: str, file: str) -> str:
    """Return the name of a column by its number."""
    is_number = isinstance(requested, str) and requested.lstrip("-").isdigit()
    if (is_number or isinstance(requested, int)) and -len(names) <= int(requested) < len(names):
        return names[int(requested)]
    first_names = ", ".join(map(repr, shorten_names(names[:10])))
    first_names += ", ..." if len(names) > 10 else ""
    raise ReadError(
        f"{file}: {format_option(parameter, requested)} is no column of this table; the columns "
        "are "
        f"{first_names}. Pass a name, or a number from 0."
    )
