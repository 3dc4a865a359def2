"""A part of a table as rows: what is wrong with it is refused, the rest laid out."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.data.columns import dates
from tamis.data.options import Options
from tamis.data.rows import SHOWN, Context, Position, Rows
from tamis.data.tables.layout import DATE, TARGET, WEIGHT, Column, Layout, Part
from tamis.system.spelling import option, short


def wrong_words(part: Part, layout: Layout) -> Iterator[tuple[np.ndarray, str]]:
    """Rows whose words are no numbers or dates where such are expected, and what to say."""
    for c in layout.columns:
        if c.name not in part.words or (c.role != DATE and "as" not in c.facts):
            continue
        codes, vocabulary = part.words[c.name]
        known: list[Any]
        if c.role == DATE:
            known = [dates.read_as(word, c.facts["written"]) for word in vocabulary]
            rule = f"is no date as the others are ({c.facts['written']})"
        else:
            known = [c.number_of(word) for word in vocabulary]
            flags = c.facts["as"] == "flags"
            rule = "is neither true nor false" if flags else "is no number"
        for code in (code for code, value in enumerate(known) if value is None):
            word = vocabulary[code][:SHOWN]
            yield codes == code, f"{word!r} in column {short(c.name)!r} {rule}. {_way_out(c)}"


def _way_out(column: Column) -> str:
    """What to do about a word that does not fit."""
    if column.role == TARGET:
        return "Mend it, or leave the row out."
    kind = option("kinds", {column.name: "category"})
    return f"Mend it, or pass {kind} if the column holds words."


def missing_target_message(what: str = "the target or the weight") -> str:
    """What to say of a row that nobody can learn from."""
    return (
        f"{what} is missing; every row needs it. Fill it, remove the row, or pass "
        f"{option('on_bad', 'skip')} to leave such rows out."
    )


def gap_sentence(name: str, role: str, options: Options) -> str:
    """What to say of a missing entry: what helps depends on whose it is."""
    if role in (TARGET, WEIGHT):
        return missing_target_message(f"the {role} {short(name)!r}")
    ways = f"{option('missing', 'zero')} or {option('missing', 'indicator')}"
    if options.drop:  # the model decides what a gap means
        return (
            f"column {short(name)!r} is missing, and the model was trained on rows without gaps. "
            f"Fill it, or train with {ways}."
        )
    return f"column {short(name)!r} is missing. Pass {ways}, or fill it."


def chunk_of(
    part: Part,
    layout: Layout,
    options: Options,
    context: Context,
    first: int,
    name: str,
    after: Position,
) -> Rows:
    """A chunk of a table as rows; bad ones are refused, as are those without a target unless it may
    be lacking.
    """
    context.width = layout.width
    bad = np.zeros(len(part.numbers), bool)
    for wrong, sentence in wrong_words(part, layout):
        for row in np.flatnonzero(wrong & ~bad):
            context.refuse(f"{name}, row {row + 1} from line {first} on: {sentence}")
        bad |= wrong
    part = without(part, bad, context)
    gone = np.zeros(len(part.numbers), bool)
    if layout.missing != "error":
        gone[layout.incomplete(part, options.target is not False)] = True
    for row in np.flatnonzero(gone):
        context.refuse(f"{name}, row {row + 1} from line {first} on: {missing_target_message()}")
    part = without(part, gone, context)
    if options.drop:
        layout.count_unseen(part, context.unseen)
    X, targets, weights = layout.rows(part), layout.targets(part), layout.weights(part)
    return Rows(X, targets, first, weights, None, name, after, context.end_chunk())


def without(part: Part, bad: np.ndarray, context: Context) -> Part:
    """A part without its bad rows."""
    if not bad.any():
        return part
    context.skip_rows(bad)
    return part.without(bad)
