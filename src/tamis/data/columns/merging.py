"""Figures of the columns of a table whose parts were read apart, brought together in the order of
the parts.

Levels, kinds and gaps are those of one reading. Means and spreads may differ from them in their
last bits, and depend on how the table was cut, not on who read the parts.
"""

from collections.abc import Sequence

import numpy as np

from tamis.data.columns.dates import Dates
from tamis.data.columns.profile import (
    BROKEN,
    CAP,
    CHARACTERS,
    COUNT,
    FEW,
    FIRST_GAP,
    GAPS,
    JUMPS,
    KNOWN,
    LAST,
    LEAST,
    MEAN,
    MOST,
    NEARLY_ALL,
    SQUARES,
    ZEROS,
    Profile,
    Tally,
    WordColumn,
)
from tamis.data.columns.texts import RowCounts
from tamis.data.tables.layout import MOST_LEVELS


def merge_profiles(parts: Sequence[Profile]) -> Profile:
    """One profile of parts of the same columns; the first is added to."""
    found, *rest = parts
    for part in rest:
        _add_numbers(found.tally, part.tally, found.rows)
        for name, column in found.words.items():
            _add_words(column, part.words[name], found.rows)
        found.where = part.where | found.where
        found.undecoded = list(dict.fromkeys(found.undecoded + part.undecoded))
        found.rows += part.rows
    found.made = {}
    return found


def merge_texts(parts: Sequence[dict[str, RowCounts]]) -> dict[str, RowCounts]:
    """Rows that have each word, of all parts; the first is added to."""
    found, *rest = parts
    for part in rest:
        for name, counts in part.items():
            found[name].rows += counts.rows
            found[name].counts += counts.counts
    return found


def _add_numbers(found: Tally, part: Tally, rows: int) -> None:
    """Figures of numbers, `rows` of them before this part."""
    for j, (own, new) in enumerate(zip(found.state, part.state, strict=True)):
        if new[GAPS] and not own[GAPS]:
            own[FIRST_GAP] = rows + new[FIRST_GAP]
        own[GAPS] += new[GAPS]
        if not new[COUNT]:
            continue
        # Without a jump in the part its first number is known by its last.
        first = new[LAST] - new[COUNT] + 1.0
        if own[COUNT] and (new[JUMPS] or first != own[LAST] + 1.0):
            own[JUMPS] += 1.0
        own[JUMPS], own[LAST] = own[JUMPS] + new[JUMPS], new[LAST]
        total, away = own[COUNT] + new[COUNT], new[MEAN] - own[MEAN]
        own[SQUARES] += new[SQUARES] + away**2 * own[COUNT] * new[COUNT] / total
        own[MEAN] += away * new[COUNT] / total
        own[LEAST], own[MOST] = min(own[LEAST], new[LEAST]), max(own[MOST], new[MOST])
        for figure in (COUNT, ZEROS, BROKEN):
            own[figure] += new[figure]
        _add_values(found, part, j)
    stride = max(found.stride, part.stride)
    found.blocks = [found.sample[:: stride // found.stride]]
    found.stride = stride
    found.keep(part.sample[:: stride // part.stride])


def _add_values(found: Tally, part: Tally, j: int) -> None:
    """Count the few different numbers of a column."""
    own, known = found.state[j], int(part.state[j, KNOWN])
    for value, count in zip(part.seen[j, :known], part.counts[j, :known], strict=False):
        held = int(own[KNOWN])
        same = np.flatnonzero(found.seen[j, : min(held, FEW)] == value)
        if len(same):
            found.counts[j, same[0]] += count
        elif held < FEW:
            found.seen[j, held], found.counts[j, held] = value, count
        own[KNOWN] += 0.0 if len(same) or held > FEW else 1.0
    if known > FEW:
        own[KNOWN] = FEW + 1


def _add_words(found: WordColumn, part: WordColumn, rows: int) -> None:
    """Figures of words, `rows` of them before this part."""
    if part.gaps and not found.gaps:
        found.first_gap = rows + part.first_gap
    if found.tally is not None and part.tally is not None:
        _add_numbers(found.tally, part.tally, rows)
    found.gaps, found.filled = found.gaps + part.gaps, found.filled + part.filled
    found.flags, found.commas = found.flags and part.flags, found.commas and part.commas
    found.dates = _both(found.dates, part.dates)
    found.counts += part.counts
    found.characters = sum(map(len, found.counts))
    found.open = found.open and part.open
    found.many |= part.many
    if not found.many and (len(found.counts) > CAP or found.characters > CHARACTERS):
        found.many = True
        odd = found._share() > NEARLY_ALL or found.characters > CHARACTERS // 2
        found.open = found.open and not odd
    found.open = found.open and len(found.counts) <= MOST_LEVELS


def _both(found: Dates | None, part: Dates | None) -> Dates | None:
    """Dates that are written in one way in both parts."""
    if found is None or part is None:
        return None
    found.ways = {way: None for way in found.ways if way in part.ways}
    for way in found.ways:
        found.seen[way].merge(part.seen[way])
    return found if found.ways else None
