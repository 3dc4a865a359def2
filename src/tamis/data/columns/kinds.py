"""Rules by which a column is a number, a category, a date, a text, or is left out; and the notes
that say so.
"""

import re
from collections import Counter
from collections.abc import Iterable

from tamis.data.columns.doubts import doubts_of, is_signed
from tamis.data.columns.profile import NEARLY_ALL, Figures, Profile
from tamis.data.rows import ReadError
from tamis.data.tables.layout import DATE, IGNORED, NUMBER, TARGET, TEXT, WORDS, Column
from tamis.data.tables.values import level_of
from tamis.system.spelling import option, short

# What a user may say of a column, and what becomes of it.
ASKED = {"number": NUMBER, "category": WORDS, "date": DATE, "text": TEXT, "skip": IGNORED}
EMPTY, CONSTANT, IDENTIFIER = "empty", "constant", "identifier"
LEAST_ROWS = 20  # with fewer rows, words that all differ are no sign of an identifier
FEW_TOKENS, TEXT_TOKENS = 3, 3  # identifiers have fewer words, texts as many or more, on average
MOSTLY = 0.5  # share of different texts: the same sentence again and again is a category
VERY_LONG = 100  # characters, on average: nobody lists that
RARE_ROWS = 5  # rows that a level must be met in to have a column, where the table is not small
SMALL = 100  # rows below which no level is rare
LISTED = 6  # columns that a note names
ID_NAME = re.compile(r"(^|.*[_ .-])(id|ids|uuid|guid|index|key|rowid|row_id)$", re.IGNORECASE)
CAMEL_ID = re.compile(r".*[a-z](Id|ID)$")


def kind_of(figures: Figures, decimal: str = ".") -> str:
    """What a column is, by figures of the whole table: a role, or why it is left out."""
    filled = figures.rows - figures.gaps
    if not filled:
        return EMPTY
    if figures.distinct == 1 and not figures.gaps and filled > 1:
        return CONSTANT
    if figures.number:
        return IDENTIFIER if _numbers_rows(figures, filled) else NUMBER
    if figures.flags or (figures.commas and decimal == ","):
        return NUMBER
    if figures.dates is not None:
        return DATE
    if figures.tokens >= TEXT_TOKENS and figures.share > MOSTLY:
        return TEXT
    if figures.length > VERY_LONG and figures.share > MOSTLY:
        return TEXT
    if filled >= LEAST_ROWS and figures.share > NEARLY_ALL and figures.tokens < FEW_TOKENS:
        return IDENTIFIER
    return WORDS


def _numbers_rows(figures: Figures, filled: int) -> bool:
    """Whether whole numbers number the rows."""
    if not figures.whole or filled < LEAST_ROWS or figures.gaps:
        return False
    if figures.consecutive:
        return True
    sample = [] if figures.sample is None else figures.sample.tolist()
    return looks_like_id(figures.name) and len(set(sample)) == len(sample)


def looks_like_id(name: str) -> bool:
    """Whether a name is that of an identifier."""
    return bool(ID_NAME.match(name) or CAMEL_ID.match(name))


def settle(column: Column, figures: Figures, rare: int | None, decimal: str) -> None:
    """Fill in what the reading of a column goes by, for the role that it has."""
    if column.role == NUMBER and column.words:
        way = "flags" if figures.flags else "commas" if decimal == "," else "plain"
        column.facts["as"] = way
    elif column.role == DATE:
        if figures.dates is None:
            seen = ", ".join(repr(short(word)) for word, _ in figures.top[:3])
            raise ReadError(
                f"column {short(column.name)!r} was asked to be a date, but not all its words are "
                f"dates written in one way; it has {seen}. Pass "
                f"{option('kinds', {column.name: 'category'})}, or write dates as yyyy-mm-dd."
            )
        column.facts |= figures.dates.facts()
    elif column.role == WORDS:
        least = rare if rare is not None else RARE_ROWS if figures.rows >= SMALL else 1
        levels = levels_of(figures)
        often = {level for level, count in levels.items() if count >= least}
        if not often or len(often) == len(levels):
            often = set(levels)
        else:
            often.discard("rare")
            rows = sum(levels.values())
            column.facts["rare"] = 1.0 - sum(levels[level] for level in often) / rows
        column.levels = sorted(often)


def levels_of(figures: Figures) -> Counter[str]:
    """How many rows have each level of a category."""
    levels: Counter[str] = Counter()
    for word, count in figures.levels.items():
        levels[level_of(word)] += count
    return levels


def in_units(column: Column, figures: Figures) -> None:
    """Keep centre and spread of a column of numbers; where most are zero it is not centred."""
    spread = figures.spread
    if spread > 0 and spread < float("inf"):
        filled = figures.rows - figures.gaps
        centre = figures.mean if 2 * figures.zeros < filled else 0.0
        column.facts |= {"centre": centre, "spread": spread}


# --------------------------------------------------------------------------- what is said
def listed(names: Iterable[str]) -> str:
    """Names of columns, the first of many."""
    names = list(names)
    first = ", ".join(short(name) or "''" for name in names[:LISTED])
    return first if len(names) <= LISTED else f"{first}, ... ({len(names)} columns)"


def notes_of(
    columns: list[Column], kinds: dict[str, str], profile: Profile, hashed: bool
) -> list[str]:
    """What a user would want to know of the decisions, one line for all columns that are alike."""
    notes = []
    if profile.undecoded:
        notes.append(
            f"words in another encoding, written with backslashes: {listed(profile.undecoded)}. "
            f"Pass {option('encoding', 'latin-1')}, or the one that it is"
        )
    words = [name for name, kind in kinds.items() if kind in (WORDS, IDENTIFIER)]
    words += [c.name for c in columns if c.role == TARGET]
    commas = {name: None for name in words if _commas(profile, name)}
    notes += _left_out({n: kind for n, kind in kinds.items() if n not in commas}, profile)
    for c in columns:
        if c.role == DATE:
            notes += _date_notes(c, profile)
        if c.role == TEXT:
            count = len(c.facts.get("vocabulary", ()))
            notes.append(
                f"taken as text: {short(c.name)} ({'hashed' if hashed else f'{count:,} words'})"
            )
    if found := [f"{c.name} ({_rare(c, profile)})" for c in columns if c.facts.get("rare")]:
        notes.append(f"levels met in few rows share one called rare: {listed(found)}")
    if commas:
        notes.append(
            f"these look like numbers with a decimal comma: {listed(commas)}. Pass "
            f"{option('decimal', ',')} to read them so"
        )
    return [*notes, *doubts_of([c for c in columns if c.name not in commas], kinds, profile)]


def _left_out(kinds: dict[str, str], profile: Profile) -> list[str]:
    """Columns that are left out, and why."""
    notes = []
    for kind, words in ((EMPTY, "empty in all rows"), (CONSTANT, "the same in all rows")):
        if found := [name for name, own in kinds.items() if own == kind]:
            notes.append(f"left out, since {words}: {listed(found)}")
    if found := [name for name, own in kinds.items() if own == IDENTIFIER]:
        other = "number" if profile.figures(found[0]).number else "category"
        notes.append(
            "left out as identifiers, since nearly every row has a value of its own: "
            f"{listed(found)}. Pass {option('kinds', {found[0]: other})} to keep one"
        )
    return notes


def _date_notes(column: Column, profile: Profile) -> list[str]:
    """What dates became, and what was guessed."""
    parts = dict.fromkeys(part.partition("=")[0] for part in column.facts["parts"])
    notes = [f"taken as dates: {short(column.name)} ({', '.join(parts)})"]
    dates = profile.figures(column.name).dates
    if dates is not None and dates.guessed:
        notes.append(
            f"{short(column.name)}: the month was taken to come first, which no date decides. "
            "Write dates as yyyy-mm-dd if the day does"
        )
    return notes


def _rare(column: Column, profile: Profile) -> int:
    """How many levels are rare."""
    return len(levels_of(profile.figures(column.name))) - len(column.levels)


def _commas(profile: Profile, name: str) -> bool:
    """Whether words look like 1.234,5, and some have a comma."""
    if name not in profile.words or profile.words[name].tally is not None:  # they are read so
        return False
    figures = profile.figures(name)
    return figures.commas and any("," in w for w in figures.levels) and not is_signed(figures)
