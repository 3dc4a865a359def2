"""Compiled scan of CSV text: whole records to numbers, and to hashes and spans of words."""

import numpy as np

from tamis.data.text.numbers import (
    AMBIGUOUS,
    MINUS,
    NONFINITE,
    ONE,
    PARSED,
    overflows,
    read_number,
    set_row,
)
from tamis.data.text.words import HASH_SEED, MISSING_HASH, QUOTE, hash_span
from tamis.numerics.numba import compiled, force_inlined

# Reasons why a scan ends; FULL: no space for more numbers that Python must parse. From
# TOO_MANY_FIELDS on they are errors of a record.
(
    DONE,
    FULL,
    TOO_MANY_FIELDS,
    BAD_NUMBER,
    NOT_FINITE,
    MISSING,
    AFTER_QUOTE,
    OPEN_QUOTE,
    TOO_FEW_FIELDS,
    NEGATIVE,
) = range(10)
# Kinds of columns; those from NUMBER on are read as numbers. A TEXT may always be missing.
TEXT, IGNORED, WORD, NUMBER, WEIGHT = range(-1, 4)
SPACE, TAB, RETURN, END = (np.uint8(ord(c)) for c in " \t\r\n")
TWO = np.uint64(2)


@force_inlined
def lower(byte):
    """Return a letter in lower case."""
    return byte | np.uint8(32) if 65 <= byte <= 90 else byte


@force_inlined
def means_missing(text, start, end):
    """Return whether a field is empty, NA, N/A, NaN, null or None, in any case."""
    size = end - start
    if size == 0:
        return True
    if size < 2 or size > 4 or lower(text[start]) != 110:  # n
        return False
    second, last = lower(text[start + ONE]), lower(text[end - ONE])
    if size == TWO:
        return second == 97
    if size == np.uint64(3):
        return (second == 47 and last == 97) or (second == 97 and last == 110)
    third = lower(text[start + TWO])
    return (second == 117 and third == 108 and last == 108) or (
        second == 111 and third == 110 and last == 101
    )


@force_inlined
def find_field(text, pos, stop, delimiter):
    """Find the field at `pos`: (start, end, position after, doubled quotes, newlines, reason)."""
    has_doubled_quotes, n_newlines = False, 0
    if text[pos] != QUOTE:
        start = pos
        while text[pos] != delimiter and text[pos] != END:
            pos += ONE
        end = pos
        if text[pos] == END and end > start and text[end - ONE] == RETURN:
            end -= ONE
        return start, end, pos, has_doubled_quotes, n_newlines, DONE
    pos += ONE
    start = pos
    while True:
        if pos >= stop:
            return start, start, pos, has_doubled_quotes, n_newlines, OPEN_QUOTE
        if text[pos] == QUOTE:
            if text[pos + ONE] != QUOTE:
                break
            has_doubled_quotes = True
            pos += ONE
        n_newlines += text[pos] == END
        pos += ONE
    end = pos
    pos += ONE
    if text[pos] == RETURN and text[pos + ONE] == END:
        pos += ONE
    return (
        start,
        end,
        pos,
        has_doubled_quotes,
        n_newlines,
        (DONE if text[pos] == delimiter or text[pos] == END else AFTER_QUOTE),
    )


@force_inlined
def read_plain(text, pos):
    """Read a number between blanks: (end with blanks, value, state, start, end)."""
    while text[pos] == SPACE:
        pos += ONE
    first = pos
    pos, value, state = read_number(text, pos)
    last = pos
    while text[pos] == SPACE:
        pos += ONE
    return pos, value, state, first, last


@force_inlined
def ends_field(text, pos, delimiter):
    """Return whether a field ends at `pos`."""
    return (
        text[pos] == delimiter
        or text[pos] == END
        or (text[pos] == RETURN and text[pos + ONE] == END)
    )


@force_inlined
def read_value(text, pos, stop, delimiter, strict):
    """Read a field as a number: (end of the field, value, state, start, end, newlines, reason)."""
    number_end, value, state, number_start, number_stop = read_plain(text, pos)
    if state <= AMBIGUOUS and ends_field(text, number_end, delimiter):
        return (
            number_end + ONE if text[number_end] == RETURN else number_end,
            value,
            state,
            number_start,
            number_stop,
            0,
            DONE,
        )
    # Quoted, missing or wrong.
    field_start, field_end, pos, _, n_newlines, reason = find_field(text, pos, stop, delimiter)
    if reason != DONE:
        return pos, value, state, number_start, number_stop, n_newlines, reason
    if means_missing(text, field_start, field_end):
        return (
            pos,
            np.nan,
            PARSED,
            number_start,
            number_stop,
            n_newlines,
            MISSING if strict else DONE,
        )
    number_end, value, state, number_start, number_stop = read_plain(text, field_start)
    if state == NONFINITE:
        reason = NOT_FINITE
    elif state > AMBIGUOUS or number_end != field_end:
        reason = BAD_NUMBER
    return pos, value, state, number_start, number_stop, n_newlines, reason


@force_inlined
def read_record(
    text,
    pos,
    stop,
    delimiter,
    strict,
    kinds,
    slots,
    row,
    n_fallback,
    buffers,
):
    """Read one record: (end, newlines, n_fallback, number of fields, reason, error_pos)."""
    numbers, hashes, starts, lengths, fallback_spans = buffers
    n_newlines, column, error_pos = 0, 0, pos
    while True:
        if column == kinds.shape[0]:
            return pos, n_newlines, n_fallback, column, TOO_MANY_FIELDS, pos
        slot, error_pos = slots[column], pos
        if kinds[column] >= NUMBER:
            number_field = read_value(text, pos, stop, delimiter, strict)
            pos, value, state, number_start, number_stop, field_newlines, reason = number_field
            if reason == DONE and state == AMBIGUOUS:
                if overflows(text, number_start):
                    return pos, n_newlines, n_fallback, column, NOT_FINITE, error_pos
                if n_fallback == np.uint64(fallback_spans.shape[0]):
                    return pos, n_newlines, n_fallback, column, FULL, error_pos
                set_row(fallback_spans, n_fallback, row, slot, number_start, number_stop)
                n_fallback += ONE
            is_negative = value < 0.0 or (state == AMBIGUOUS and text[number_start] == MINUS)
            if kinds[column] == WEIGHT and reason == DONE and is_negative:
                reason = NEGATIVE
            numbers[row, slot] = value
        else:
            field_start, field_end, pos, has_doubled_quotes, field_newlines, reason = find_field(
                text, pos, stop, delimiter
            )
            if reason == DONE and kinds[column] != IGNORED:
                is_missing = means_missing(text, field_start, field_end)
                reason = MISSING if is_missing and strict and kinds[column] == WORD else DONE
                word_hash = (
                    MISSING_HASH
                    if is_missing
                    else hash_span(text, field_start, field_end, HASH_SEED, has_doubled_quotes)
                )
                hashes[row, slot], starts[row, slot] = word_hash, field_start
                lengths[row, slot] = (
                    -np.int64(field_end - field_start)
                    if has_doubled_quotes
                    else np.int64(field_end - field_start)
                )
        n_newlines += field_newlines
        if reason != DONE:
            return pos, n_newlines, n_fallback, column, reason, error_pos
        column += 1
        if text[pos] == END:
            return (
                pos,
                n_newlines,
                n_fallback,
                column,
                (DONE if column == kinds.shape[0] else TOO_FEW_FIELDS),
                error_pos,
            )
        pos += ONE


@compiled
def scan_csv(
    text,
    pos,
    stop,
    max_rows,
    delimiter,
    strict,
    kinds,
    slots,
    n_rows,
    n_fallback,
    buffers,
):
    """Read records until `stop`, `max_rows` rows, or a bad record.

    `kinds` and `slots` give for each column of the file how to read its fields, and its column in
    the `buffers`: arrays of numbers; of hashes, starts and lengths of words; and of numbers that
    Python must parse. A missing number is nan, a missing word has hash 0; `strict` refuses both.
    The length of a word is negative if it holds doubled quotes.
    """
    n_lines, reason, error_pos, column = np.uint64(0), DONE, pos, 0
    while pos < stop and n_rows < max_rows:
        if text[pos] == END or (text[pos] == RETURN and text[pos + ONE] == END):
            pos += ONE if text[pos] == END else TWO
            n_lines += ONE
            continue
        record = read_record(
            text, pos, stop, delimiter, strict, kinds, slots, n_rows, n_fallback, buffers
        )
        record_end, record_newlines, fallback_after, column, reason, error_pos = record
        if reason != DONE:
            error_pos = pos if reason == TOO_FEW_FIELDS else error_pos
            break
        pos, n_fallback = record_end + ONE, fallback_after
        n_lines += ONE + np.uint64(record_newlines)
        n_rows += ONE
    return pos, n_lines, n_rows, n_fallback, reason, error_pos, column
