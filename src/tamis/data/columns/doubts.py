"""Notes about columns that may not be what they seem: numbers with a word among them, categories of
very many words, words that differ by a blank alone, columns in other units.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from tamis.data.columns.profile import Figures, Profile
from tamis.data.tables.layout import NUMBER, TARGET, WORDS, Column
from tamis.data.tables.values import level_of
from tamis.system.spelling import option, short

LOOKED_AT = 20_000  # different words of a column
NUMBERS, AT_LEAST = 0.8, 10  # share of rows, and different numbers, of what is meant as numbers
MANY, ROWS_EACH = 100, 10  # levels beyond which, with fewer rows each, a category learns little
ALIKE = 1000  # different words of a column that are compared with each other
UNITS = 1e3  # times the usual spread
SHOWN = 3  # words, or columns, that a note shows
PLAIN = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
# $1,234.50 and 12 %: numbers with signs around them, or commas at the thousands.
SIGNED = re.compile(r"\s*[-+]?[$€£¥]?\s*[-+]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d+)?\s*[%$€£¥]?\s*")


def doubts_of(columns: list[Column], kinds: dict[str, str], profile: Profile) -> Iterator[str]:
    """What a user might want to mend, a line for all columns of one trouble."""
    wordy = [c for c in columns if c.name in profile.words]
    found = [c.name for c in wordy if c.name in kinds and c.role != NUMBER]
    figures = {name: profile.figures(name) for name in found}
    signed = [
        f"{short(name)} ({_shown(one.levels)})" for name, one in figures.items() if is_signed(one)
    ]
    if signed:
        yield (
            f"these are numbers with signs or commas at the thousands, taken as words: "
            f"{_listed(signed)}. Write them plainly, as 1234.5"
        )
    mixed = [f"{short(name)} ({odd})" for name, one in figures.items() if (odd := odd_words(one))]
    if mixed:
        yield (
            f"these are numbers but for some words, and were taken as words: {_listed(mixed)}. "
            "Leave a field empty where it is a gap"
        )
    many = [
        f"{short(c.name)} ({len(c.levels):,})"
        for c in wordy
        if c.role == WORDS and len(c.levels) > MANY and profile.rows < ROWS_EACH * len(c.levels)
    ]
    if many:
        name = many[0].rpartition(" (")[0]
        yield (
            f"categories of very many words, with few rows each: {_listed(many)}. Pass "
            f"{option('kinds', {name: 'skip'})} to leave one out, "
            f"{option('kinds', {name: 'text'})} to read its words one by one"
        )
    compared = [c for c in wordy if c.role in (WORDS, TARGET)]
    alike = [f"{short(c.name)} ({pair})" for c in compared if (pair := pair_alike(c, profile))]
    if alike:
        yield f"words that differ in blanks or capitals alone are apart: {_listed(alike)}"


def is_signed(figures: Figures) -> bool:
    """Whether all words are numbers with signs around them, and not plain ones."""
    words = sorted(figures.levels)[:LOOKED_AT]
    if len(words) < AT_LEAST or not all(SIGNED.fullmatch(word) for word in words):
        return False
    return not all(PLAIN.fullmatch(word) for word in words)


def odd_words(figures: Figures) -> str:
    """The words of a column that is otherwise of numbers; empty where it is not."""
    words = sorted(figures.levels.items())[:LOOKED_AT]
    odd = {word: count for word, count in words if not PLAIN.fullmatch(word)}
    filled = sum(count for _, count in words)
    numbers = filled - sum(odd.values())
    if not odd or numbers < NUMBERS * filled or len(words) - len(odd) < AT_LEAST:
        return ""
    most = sorted(odd.items(), key=lambda pair: (-pair[1], pair[0]))
    said = ", ".join(f"{word[:20]!r} in {count:,}" for word, count in most[:SHOWN])
    return said + (", ..." if len(odd) > SHOWN else "")


def pair_alike(column: Column, profile: Profile) -> str:
    """Two words that are the same but for blanks and capitals; empty where there are none."""
    words = set(profile.figures(column.name).levels)
    if len(words) > ALIKE:
        return ""
    known: dict[str, str] = {}
    for word in sorted(map(level_of, words) if column.role == WORDS else words):
        other = known.setdefault(" ".join(word.split()).casefold(), word)
        if other != word:
            return f"{other[:20]!r} and {word[:20]!r}"
    return ""


def in_other_units(columns: list[Column], profile: Profile) -> str:
    """A note on columns with a far larger spread than the others; empty where there is none."""
    names = [c.name for c in columns if c.role == NUMBER and c.name in profile.place]
    spreads = {name: profile.figures(name).spread for name in names}
    spreads = {name: spread for name, spread in spreads.items() if 0.0 < spread < np.inf}
    if len(spreads) < 2:
        return ""
    usual = float(np.median(sorted(spreads.values())[: len(spreads) - 1]))
    wide = [
        f"{short(name)} ({spread:.2g})"
        for name, spread in spreads.items()
        if spread > UNITS * usual
    ]
    if not wide:
        return ""
    return (
        f"columns with a spread over {UNITS:,.0f} times the usual {usual:.2g}: {_listed(wide)}. "
        f"Methods other than the sieve hear them alone; pass {option('units', 'spread')}"
    )


def _shown(words: Iterable[str]) -> str:
    return repr(min(words)[:20])


def _listed(said: list[str]) -> str:
    more = f" and {len(said) - SHOWN:,} more" if len(said) > SHOWN else ""
    return ", ".join(said[:SHOWN]) + more
