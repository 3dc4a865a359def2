"""Encode chunks of tables as rows, and refuse bad rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.data.columns import dates
from tamis.data.options import Options
from tamis.data.rows import MAX_QUOTED, Position, ReaderState, Rows
from tamis.data.tables.layout import DATE, TARGET, WEIGHT, Column, Layout, TableChunk
from tamis.system.spelling import format_option, shorten_names


def invalid_strings(chunk: TableChunk, layout: Layout) -> Iterator[tuple[np.ndarray, str]]:
    """Yield (rows, message) of strings that are not the numbers or dates of their column."""
    for c in layout.columns:
        if c.name not in chunk.strings or (c.role != DATE and "as" not in c.facts):
            continue
        codes, vocabulary = chunk.strings[c.name]
        parsed: list[Any]
        if c.role == DATE:
            parsed = [dates.read_column_date(word, c.facts["written"]) for word in vocabulary]
            rule = f"is no date as the others are ({c.facts['written']})"
        else:
            parsed = [c.number_of(word) for word in vocabulary]
            is_truth_value = c.facts["as"] == "flags"
            rule = "is neither true nor false" if is_truth_value else "is no number"
        for code in (code for code, value in enumerate(parsed) if value is None):
            word = vocabulary[code][:MAX_QUOTED]
            yield (
                codes == code,
                f"{word!r} in column {shorten_names(c.name)!r} {rule}. {_advice(c)}",
            )


def _advice(column: Column) -> str:
    """Return the advice about a word that does not fit."""
    if column.role == TARGET:
        return "Mend it, or leave the row out."
    kind = format_option("kinds", {column.name: "category"})
    return f"Mend it, or pass {kind} if the column holds words."


def missing_target_message(subject: str = "the target or the weight") -> str:
    """Return the message about a row without a target or weight."""
    return (
        f"{subject} is missing; every row needs it. Fill it, remove the row, or pass "
        f"{format_option('on_bad', 'skip')} to leave such rows out."
    )


def gap_message(name: str, role: str, options: Options) -> str:
    """Return the message about a missing entry."""
    if role in (TARGET, WEIGHT):
        return missing_target_message(f"the {role} {shorten_names(name)!r}")
    advice = f"{format_option('missing', 'zero')} or {format_option('missing', 'indicator')}"
    if options.drop:  # the model determines the meaning of a gap
        return (
            f"column {shorten_names(name)!r} is missing, and the model was trained on rows "
            "without gaps. "
            f"Fill it, or train with {advice}."
        )
    return f"column {shorten_names(name)!r} is missing. Pass {advice}, or fill it."


def encode_chunk(
    chunk: TableChunk,
    layout: Layout,
    options: Options,
    state: ReaderState,
    first_line: int,
    name: str,
    next_position: Position,
) -> Rows:
    """Return a chunk of a table as rows; refuse bad ones, and those without a required target."""
    state.width = layout.width
    is_bad = np.zeros(len(chunk.numbers), bool)
    for is_wrong, message in invalid_strings(chunk, layout):
        for row in np.flatnonzero(is_wrong & ~is_bad):
            state.refuse(f"{name}, row {row + 1} from line {first_line} on: {message}")
        is_bad |= is_wrong
    chunk = drop_rows(chunk, is_bad, state)
    is_incomplete = np.zeros(len(chunk.numbers), bool)
    if layout.missing != "error":
        is_incomplete[layout.incomplete_rows(chunk, options.target is not False)] = True
    for row in np.flatnonzero(is_incomplete):
        state.refuse(f"{name}, row {row + 1} from line {first_line} on: {missing_target_message()}")
    chunk = drop_rows(chunk, is_incomplete, state)
    if options.drop:
        layout.count_unseen_levels(chunk, state.unseen)
    X, targets, weights = layout.encode(chunk), layout.targets(chunk), layout.weights(chunk)
    return Rows(X, targets, first_line, weights, None, name, next_position, state.end_chunk())


def drop_rows(chunk: TableChunk, is_bad: np.ndarray, state: ReaderState) -> TableChunk:
    """Return a chunk without its bad rows."""
    if not is_bad.any():
        return chunk
    state.skip_rows(is_bad)
    return chunk.drop_rows(is_bad)
