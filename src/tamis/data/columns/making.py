"""The layout of a table: roles by what was asked, kinds by a first reading, or by the first rows
where numbers alone are there.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, Self

from tamis.data.columns import kinds as rules
from tamis.data.columns.doubts import in_other_units
from tamis.data.columns.profile import Figures, First, Profile
from tamis.data.columns.texts import RowCounts
from tamis.data.options import Options
from tamis.data.rows import ReadError
from tamis.data.streams import shown
from tamis.data.tables.layout import (
    DATE,
    FEATURES,
    IGNORED,
    MOST_LEVELS,
    NUMBER,
    TARGET,
    TEXT,
    WEIGHT,
    WORDS,
    Column,
    Layout,
)
from tamis.system.spelling import option, short

LISTED = 10  # columns with gaps that are named
GAPS = "rows with a gap are left out:"
NO_TARGET = "rows without a target are left out:"
SPELT = " In text, NA, NaN, null and None mean a gap, in any case: call a class otherwise."
UNITS = "numbers are in units of their column's spread, and centred where most are not zero; pass "


class Reading(Protocol):
    """Who reads a table before its first chunk: this process, or many, a file each."""

    def look(self) -> list[First]:
        """The first rows of every file."""

    def profile(self, columns: list[Column], may_turn: Callable[[str], bool]) -> Profile:
        """Figures of all columns; numbers that hold words after all are turned into words."""

    def texts(self, columns: list[Column], names: list[str]) -> dict[str, RowCounts]:
        """How many rows have each word of columns of texts."""


class Local:
    """Tables that this process reads one after the other. The first stays open after a look, so
    that its profile goes on from there.
    """

    def __init__(self, files: list[str], options: Options):
        self.files, self.options, self.reader = files, options, reader_of(options.format)
        self.open_files: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure) -> None:
        for file in self.open_files.values():
            file.close()

    def look(self) -> list[First]:
        """The first rows of every file."""
        found = [self.reader.look(self.files[0], self.options, self.open_files)]
        for name in self.files[1:]:
            with suppress(ReadError):  # said when it is read
                found.append(self.reader.look(name, self.options))
        return found

    def profile(self, columns: list[Column], may_turn: Callable[[str], bool]) -> Profile:
        """Figures of all columns."""
        return self.reader.read_profile(
            self.files, self.options, columns, may_turn, self.open_files
        )

    def texts(self, columns: list[Column], names: list[str]) -> dict[str, RowCounts]:
        """Words of texts."""
        return self.reader.read_texts(self.files, self.options, columns, names)


def reader_of(format: str) -> Any:
    """The module that reads tables of a format."""
    if format in ("csv", "tsv"):
        from tamis.data.tables import csv

        return csv
    from tamis.data.tables import arrow

    return arrow


class Laid(NamedTuple):
    """A layout, what was decided, and figures where all was read."""

    layout: Layout
    told: list[str]
    profile: Profile | None


def lay_out(files: list[str], options: Options, reading: Reading) -> Laid:
    """The layout of files, which need not be here. A column that holds words in the first rows of
    any file holds words in all.
    """
    firsts = reading.look()
    first = firsts[0]
    heads = [zip(one.names, one.wordy, strict=True) for one in firsts]
    wordy = {name for head in heads for name, words in head if words}
    first = first._replace(wordy=[name in wordy for name in first.names])
    asked = asked_roles(first.names, options, shown(files[0]))
    columns = []
    for name, worded in zip(first.names, first.wordy, strict=True):
        role = asked.get(name, WORDS if worded or options.categorical == "all" else NUMBER)
        words = role in (WORDS, DATE, TEXT) or (role != IGNORED and worded)
        columns.append(Column(name, role, words and role != WEIGHT))
    made = Making(columns, asked, options, shown(files[0]))
    made.look_at(first)
    if made.needs_all(first):
        made.judge(reading.profile(columns, made.may_turn))
        if texts := made.texts():
            made.keep_texts(reading.texts(columns, texts))
    notes = made.notes()
    if options.units != "spread" and (
        note := in_other_units(columns, made.profile or first.profile)
    ):
        notes.append(note)
    return Laid(made.layout(), [*first.notes, *notes], made.profile)


class Making:
    """Columns on their way to a layout."""

    def __init__(self, columns: list[Column], asked: dict[str, str], options: Options, file: str):
        self.columns, self.asked, self.options, self.file = columns, asked, options, file
        self.profile: Profile | None = None
        self.kinds: dict[str, str] = {}

    def needs_all(self, first: First) -> bool:
        """Whether the whole table is read before its first chunk."""
        listed = any(c.role == WORDS for c in self.columns) and not self.options.hash_bits
        dated = any(c.role == DATE for c in self.columns)
        texts = any(c.role == TEXT for c in self.columns) and not self.options.hash_bits
        spelt = any(c.role == NUMBER and c.words for c in self.columns)  # in a way to be found
        found = listed or dated or texts or spelt
        return found or self.options.units == "spread" or self._is_odd(first)

    def _is_odd(self, first: First) -> bool:
        """Whether the first rows have gaps, or numbers that number the rows."""
        for c in self.columns:
            if c.role != NUMBER or c.words:
                continue
            figures = first.profile.figures(c.name)
            if figures.gaps and (self.options.missing == "error" or figures.gaps == figures.rows):
                return True
            if rules.kind_of(figures) == rules.IDENTIFIER and self.may_turn(c.name):
                return True
        return False

    def look_at(self, first: First) -> None:
        """Texts by the first rows, where words are hashed and nothing else is read before."""
        for c in self.columns if self.options.hash_bits else ():
            if c.role == WORDS and c.name not in self.asked:
                figures = first.profile.figures(c.name)
                c.role = TEXT if rules.kind_of(figures) == TEXT else WORDS

    def may_turn(self, name: str) -> bool:
        """Whether a column of numbers may turn out to hold words."""
        return name not in self.asked

    def judge(self, profile: Profile) -> None:
        """Kinds of all columns by figures of the whole table."""
        if not profile.rows:  # which reading will say
            return
        self.profile, options = profile, self.options
        for c in self.columns:
            if c.role == IGNORED:
                continue
            figures = profile.figures(c.name)
            if c.role in (TARGET, WEIGHT):
                self._judge_target(c, figures)
                continue
            if c.name not in self.asked and not (c.role == WORDS and options.categorical == "all"):
                self.kinds[c.name] = rules.kind_of(figures, options.decimal)
        if (
            all(kind == rules.CONSTANT for kind in self.kinds.values())
            and not self.asked_features()
        ):
            self.kinds = {}  # better than nothing
        for c in self.columns:
            if c.role in (IGNORED, TARGET, WEIGHT):
                continue
            figures = profile.figures(c.name)
            if (kind := self.kinds.get(c.name)) is not None:
                c.role = kind if kind in FEATURES else IGNORED
            if c.role == WORDS and options.hash_bits:
                continue
            if c.role == WORDS and figures.distinct is None:
                raise ReadError(
                    f"{self.file}: more than {min(MOST_LEVELS, len(figures.levels)):,} different "
                    f"words in {short(c.name)}. Pass {option('hash_bits', 20)} to hash them, or "
                    f"{option('kinds', {c.name: 'skip'})}."
                )
            rules.settle(c, figures, options.rare, options.decimal)
            if c.role == NUMBER and options.units == "spread":
                rules.in_units(c, figures)
        read = [c for c in self.columns if c.role != IGNORED or c.name in self.kinds]
        profile.kinds = {c.name: self.kind(c) for c in read}
        self._refuse_gaps()

    def asked_features(self) -> bool:
        """Whether the user named a column to learn from."""
        return any(role in FEATURES for role in self.asked.values())

    def kind(self, column: Column) -> str:
        """What a column is, in words for users."""
        found = self.kinds.get(column.name, column.role)
        return {WORDS: "category", IGNORED: "skip"}.get(found, found)

    def _judge_target(self, column: Column, figures: Any) -> None:
        """A target of true and false is one of 1 and 0, as in formats that have such a type."""
        commas = figures.commas and self.options.decimal == ","
        if column.words and (figures.flags or commas):
            column.facts["as"] = "flags" if figures.flags else "commas"

    def _gaps(self) -> list[tuple[Column, Figures]]:
        """Columns with gaps; a text may be empty."""
        if self.profile is None:
            return []
        read = [c for c in self.columns if c.role not in (IGNORED, TEXT)]
        return [(c, f) for c in read if (f := self.profile.figures(c.name)).gaps]

    def _refuse_gaps(self) -> None:
        """Refuse a table with gaps at once and by column, unless it was said what they mean."""
        options, gaps = self.options, self._gaps()
        if options.on_bad == "skip":
            return
        for c, figures in gaps:
            if c.role == WEIGHT or (c.role == TARGET and options.target is not False):
                words = SPELT if c.role == TARGET and figures.levels else ""
                raise ReadError(
                    f"{self.file}: the {c.role} {c.name!r} is missing in {_counted(figures.gaps)}, "
                    f"the first in {figures.where}; every row needs it. Remove these rows, or pass "
                    f"{option('on_bad', 'skip')} to leave them out.{words}"
                )
        if options.missing == "error" and (said := _listed(gaps)):
            raise ReadError(
                f"{self.file}: gaps in {said}. Pass {option('missing', 'zero')} or "
                f"{option('missing', 'indicator')}, or fill them."
            )

    def texts(self) -> list[str]:
        """Columns of texts whose words are to be listed."""
        for c in self.columns:
            if c.role == TEXT:
                c.words, c.facts["ngrams"] = True, self.options.ngrams
        return [c.name for c in self.columns if c.role == TEXT and not self.options.hash_bits]

    def keep_texts(self, counts: dict[str, RowCounts]) -> None:
        """Keep the words of texts."""
        for c in self.columns:
            if c.name in counts:
                c.facts |= counts[c.name].facts()

    def layout(self) -> Layout:
        """The layout, of one column at least."""
        layout = Layout(self.columns, self.options.missing, self.options.hash_bits)
        if not layout.width:
            empty = {c.name: "text without words" for c in layout.features}
            skipped = {name: "skipped" for name, role in self.asked.items() if role == IGNORED}
            left_out = list((self.kinds | empty | skipped).items())[:10]
            why = "; ".join(f"{short(name)} is {kind}" for name, kind in left_out)
            raise ReadError(
                f"{self.file}: no column is left beside the target{f' ({why})' if why else ''}. "
                f"Check {option('target')} and {option('ignore')}."
            )
        return layout

    def notes(self) -> list[str]:
        """What was decided."""
        if self.profile is None:
            return []
        hashed = bool(self.options.hash_bits)
        notes = rules.notes_of(self.columns, self.kinds, self.profile, hashed)
        if self.options.missing == "error" and (said := _listed(self._gaps())):
            ways = f"{option('missing', 'zero')} or {option('missing', 'indicator')}"
            notes.append(f"{GAPS} {said}. Pass {ways} to keep them")
        for c, figures in self._gaps():
            if c.role == TARGET and self.options.target is not False:
                gaps = f"{_counted(figures.gaps)}, the first in {figures.where}"
                notes.append(f"{NO_TARGET} {short(c.name)} ({gaps})")
        if any("spread" in c.facts for c in self.columns):
            notes.append(f"{UNITS}{option('units', 'none')} to take them as they are")
        return notes


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _listed(gaps: list[tuple[Column, Figures]]) -> str:
    """How many gaps columns of features have, and where the first is."""
    said = [
        f"{short(c.name)} ({_counted(figures.gaps)}, the first in {figures.where})"
        for c, figures in gaps
        if c.role in FEATURES
    ]
    more = f" and {len(said) - LISTED} more columns" if len(said) > LISTED else ""
    return ", ".join(said[:LISTED]) + more


# --------------------------------------------------------------------------- what was asked
def asked_roles(names: list[str], options: Options, file: str) -> dict[str, str]:
    """Roles that the options name."""
    known = set(names)

    def named(wanted: Any, what: str) -> str:
        return wanted if wanted in known else _numbered(names, wanted, what, file)

    roles = {named(one, "ignore"): IGNORED for one in options.ignore}
    if not isinstance(options.categorical, str):
        roles |= {named(one, "categorical"): WORDS for one in options.categorical}
    for one, kind in options.kinds:
        roles[named(one, "kinds")] = rules.ASKED[kind]
    if options.weight is not None:
        roles[named(options.weight, "weight")] = WEIGHT
    if options.target is not False:
        roles[named(-1 if options.target is None else options.target, "target")] = TARGET
    return roles


def _numbered(names: list[str], wanted: Any, what: str, file: str) -> str:
    """A column by its number."""
    digits = isinstance(wanted, str) and wanted.lstrip("-").isdigit()
    if (digits or isinstance(wanted, int)) and -len(names) <= int(wanted) < len(names):
        return names[int(wanted)]
    listed = ", ".join(map(repr, short(names[:10])))
    listed += ", ..." if len(names) > 10 else ""
    raise ReadError(
        f"{file}: {option(what, wanted)} is no column of this table; the columns are {listed}. "
        "Pass a name, or a number from 0."
    )
