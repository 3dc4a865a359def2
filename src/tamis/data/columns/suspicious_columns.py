"""Notes about suspicious columns: numbers with a word among them, large categories, words that
differ only in blanks, columns of other units.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from tamis.data.columns.profile import ColumnSummary, Profile
from tamis.data.tables.layout import CATEGORY, NUMBER, TARGET, Column
from tamis.data.tables.values import level_of
from tamis.system.spelling import format_option, shorten_names

MAX_INSPECTED_WORDS = 20_000  # different words of a column
MIN_NUMBERS = 10  # different numbers in a column that is meant as numbers
MAX_EXAMPLES = 3  # words, or columns, in a note
PLAIN_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
# $1,234.50 and 12 %: numbers with signs, or with commas at the thousands.
SIGNED_NUMBER = re.compile(
    r"\s*[-+]?[$€£¥]?\s*[-+]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d+)?\s*[%$€£¥]?\s*"
)


MAX_LEVELS, MIN_ROWS_PER_LEVEL = 100, 10  # a category with more levels and fewer rows each is large


def suspicion_notes(
    columns: list[Column], kinds: dict[str, str], profile: Profile
) -> Iterator[str]:
    """Yield notes about problems that a user might correct, one for all columns with the same
    problem.
    """
    string_columns = [c for c in columns if c.name in profile.strings]
    names = [c.name for c in string_columns if c.name in kinds and c.role != NUMBER]
    summaries = {name: profile.figures(name) for name in names}
    signed = [
        f"{shorten_names(name)} ({_example(summary.levels)})"
        for name, summary in summaries.items()
        if is_signed_number(summary)
    ]
    if signed:
        yield (
            f"these are numbers with signs or commas at the thousands, taken as words: "
            f"{_list_first(signed)}. Write them plainly, as 1234.5"
        )
    mixed = [
        f"{shorten_names(name)} ({odd_text})"
        for name, summary in summaries.items()
        if (odd_text := odd_words(summary))
    ]
    if mixed:
        yield (
            f"these are numbers but for some words, and were taken as words: {_list_first(mixed)}. "
            "Leave a field empty where it is a gap"
        )
    large = [
        f"{shorten_names(c.name)} ({len(c.levels):,})"
        for c in string_columns
        if c.role == CATEGORY
        and len(c.levels) > MAX_LEVELS
        and profile.rows < MIN_ROWS_PER_LEVEL * len(c.levels)
    ]
    if large:
        name = large[0].rpartition(" (")[0]
        yield (
            f"categories of very many words, with few rows each: {_list_first(large)}. Pass "
            f"{format_option('kinds', {name: 'skip'})} to leave one out, "
            f"{format_option('kinds', {name: 'text'})} to read its words one by one"
        )
    compared = [c for c in string_columns if c.role in (CATEGORY, TARGET)]
    similar = [
        f"{shorten_names(c.name)} ({pair})" for c in compared if (pair := similar_pair(c, profile))
    ]
    if similar:
        yield (
            "words that differ only in blanks or capitals are different levels: "
            f"{_list_first(similar)}"
        )


def is_signed_number(summary: ColumnSummary) -> bool:
    """Return whether all words are numbers, and some have signs or commas at the thousands."""
    values = sorted(summary.levels)[:MAX_INSPECTED_WORDS]
    if len(values) < MIN_NUMBERS or not all(SIGNED_NUMBER.fullmatch(value) for value in values):
        return False
    return not all(PLAIN_NUMBER.fullmatch(value) for value in values)


MIN_NUMBER_FRACTION = 0.8  # of the rows of a column that is meant as numbers


def odd_words(summary: ColumnSummary) -> str:
    """Return the words in a column that is otherwise numeric, or an empty text."""
    words = sorted(summary.levels.items())[:MAX_INSPECTED_WORDS]
    odd_counts = {word: count for word, count in words if not PLAIN_NUMBER.fullmatch(word)}
    n_filled = sum(count for _, count in words)
    n_numbers = n_filled - sum(odd_counts.values())
    if (
        not odd_counts
        or n_numbers < MIN_NUMBER_FRACTION * n_filled
        or len(words) - len(odd_counts) < MIN_NUMBERS
    ):
        return ""
    by_count = sorted(odd_counts.items(), key=lambda pair: (-pair[1], pair[0]))
    formatted = ", ".join(f"{word[:20]!r} in {count:,}" for word, count in by_count[:MAX_EXAMPLES])
    return formatted + (", ..." if len(odd_counts) > MAX_EXAMPLES else "")


MAX_COMPARED_WORDS = 1000  # different words of a column


def similar_pair(column: Column, profile: Profile) -> str:
    """Return two words that differ only in blanks and capitals, or an empty text."""
    words = set(profile.figures(column.name).levels)
    if len(words) > MAX_COMPARED_WORDS:
        return ""
    first_spelling: dict[str, str] = {}
    for word in sorted(map(level_of, words) if column.role == CATEGORY else words):
        other = first_spelling.setdefault(" ".join(word.split()).casefold(), word)
        if other != word:
            return f"{other[:20]!r} and {word[:20]!r}"
    return ""


LARGE_SPREAD_RATIO = 1e3  # of a column's standard deviation to the typical one


def spread_note(columns: list[Column], profile: Profile) -> str:
    """Return a note on columns with a far larger standard deviation, or an empty text."""
    names = [c.name for c in columns if c.role == NUMBER and c.name in profile.numeric_index]
    stds = {name: profile.figures(name).spread for name in names}
    stds = {name: std for name, std in stds.items() if 0.0 < std < np.inf}
    if len(stds) < 2:
        return ""
    typical = float(np.median(sorted(stds.values())[: len(stds) - 1]))
    large = [
        f"{shorten_names(name)} ({std:.2g})"
        for name, std in stds.items()
        if std > LARGE_SPREAD_RATIO * typical
    ]
    if not large:
        return ""
    return (
        f"columns with a spread over {LARGE_SPREAD_RATIO:,.0f} times the usual {typical:.2g}: "
        f"{_list_first(large)}. In methods other than the sieve they dominate; pass "
        f"{format_option('units', 'spread')}"
    )


def _example(values: Iterable[str]) -> str:
    return repr(min(values)[:20])


def _list_first(items: list[str]) -> str:
    more = f" and {len(items) - MAX_EXAMPLES:,} more" if len(items) > MAX_EXAMPLES else ""
    return ", ".join(items[:MAX_EXAMPLES]) + more
