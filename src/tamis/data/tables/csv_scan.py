"""The compiled reader of CSV text: whole records in; numbers, hashes and places of words out."""

import numpy as np

from tamis.data.text.numbers import MINUS, NO_FINITE, ONE, READ, UNSURE, overflows, put, read_number
from tamis.data.text.words import NOTHING, QUOTE, SEED, hash_span
from tamis.numerics.numba import compiled, inlined

# Why a scan ended.
DONE, FULL, FIELDS, BAD_NUMBER, NOT_FINITE, MISSING, AFTER_QUOTE, OPEN_QUOTE, TOO_FEW, NEGATIVE = (
    range(10)
)
# Kinds of columns; from NUMBER on they are read as numbers. A text may be missing in any case.
TEXT, IGNORED, WORD, NUMBER, WEIGHT = range(-1, 4)
SPACE, TAB, RETURN, END = (np.uint8(ord(c)) for c in " \t\r\n")
TWO = np.uint64(2)


@inlined
def lower(byte):
    """A letter in lower case."""
    return byte | np.uint8(32) if 65 <= byte <= 90 else byte


@inlined
def means_missing(text, start, end):
    """Whether a field is empty, NA, N/A, NaN, null or None, in any case."""
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


@inlined
def find_field(text, at, stop, delimiter):
    """Field at `at`: (start, end, place of its end, doubled quotes, newlines, what is wrong)."""
    escaped, lines = False, 0
    if text[at] != QUOTE:
        start = at
        while text[at] != delimiter and text[at] != END:
            at += ONE
        end = at
        if text[at] == END and end > start and text[end - ONE] == RETURN:
            end -= ONE
        return start, end, at, escaped, lines, DONE
    at += ONE
    start = at
    while True:
        if at >= stop:
            return start, start, at, escaped, lines, OPEN_QUOTE
        if text[at] == QUOTE:
            if text[at + ONE] != QUOTE:
                break
            escaped = True
            at += ONE
        lines += text[at] == END
        at += ONE
    end = at
    at += ONE
    if text[at] == RETURN and text[at + ONE] == END:
        at += ONE
    return (
        start,
        end,
        at,
        escaped,
        lines,
        (DONE if text[at] == delimiter or text[at] == END else AFTER_QUOTE),
    )


@inlined
def read_plain(text, at):
    """A number between blanks: (place after it, value, what became of it, its span)."""
    while text[at] == SPACE:
        at += ONE
    first = at
    at, value, state = read_number(text, at)
    last = at
    while text[at] == SPACE:
        at += ONE
    return at, value, state, first, last


@inlined
def ends_field(text, at, delimiter):
    """Whether a field ends here."""
    return (
        text[at] == delimiter or text[at] == END or (text[at] == RETURN and text[at + ONE] == END)
    )


@inlined
def read_value(text, at, stop, delimiter, strict):
    """The field as a number: (place of its end, value, fate, span, newlines, what is wrong)."""
    after, value, state, first, last = read_plain(text, at)
    if state <= UNSURE and ends_field(text, after, delimiter):
        return after + ONE if text[after] == RETURN else after, value, state, first, last, 0, DONE
    # Quoted, missing or wrong.
    begin, end, at, _, lines, reason = find_field(text, at, stop, delimiter)
    if reason != DONE:
        return at, value, state, first, last, lines, reason
    if means_missing(text, begin, end):
        return at, np.nan, READ, first, last, lines, MISSING if strict else DONE
    after, value, state, first, last = read_plain(text, begin)
    if state == NO_FINITE:
        reason = NOT_FINITE
    elif state > UNSURE or after != end:
        reason = BAD_NUMBER
    return at, value, state, first, last, lines, reason


@inlined
def read_record(
    text,
    at,
    stop,
    delimiter,
    strict,
    kinds,
    slots,
    row,
    unsure,
    room,
):
    """One record: (place of its end, newlines, marks made, fields, what is wrong and where)."""
    numbers, hashes, starts, lengths, marks = room
    lines, column, fault = 0, 0, at
    while True:
        if column == kinds.shape[0]:
            return at, lines, unsure, column, FIELDS, at
        slot, fault = slots[column], at
        if kinds[column] >= NUMBER:
            found = read_value(text, at, stop, delimiter, strict)
            at, value, state, first, last, more, reason = found
            if reason == DONE and state == UNSURE:
                if overflows(text, first):
                    return at, lines, unsure, column, NOT_FINITE, fault
                if unsure == np.uint64(marks.shape[0]):
                    return at, lines, unsure, column, FULL, fault
                put(marks, unsure, row, slot, first, last)
                unsure += ONE
            negative = value < 0.0 or (state == UNSURE and text[first] == MINUS)
            if kinds[column] == WEIGHT and reason == DONE and negative:
                reason = NEGATIVE
            numbers[row, slot] = value
        else:
            begin, end, at, escaped, more, reason = find_field(text, at, stop, delimiter)
            if reason == DONE and kinds[column] != IGNORED:
                missing = means_missing(text, begin, end)
                reason = MISSING if missing and strict and kinds[column] == WORD else DONE
                word = NOTHING if missing else hash_span(text, begin, end, SEED, escaped)
                hashes[row, slot], starts[row, slot] = word, begin
                lengths[row, slot] = -np.int64(end - begin) if escaped else np.int64(end - begin)
        lines += more
        if reason != DONE:
            return at, lines, unsure, column, reason, fault
        column += 1
        if text[at] == END:
            return at, lines, unsure, column, (DONE if column == kinds.shape[0] else TOO_FEW), fault
        at += ONE


@compiled
def scan_csv(
    text,
    at,
    stop,
    most,
    delimiter,
    strict,
    kinds,
    slots,
    rows,
    unsure,
    room,
):
    """Read records from `at` until `stop` or `most` rows; the first bad one ends the scan.

    `kinds` and `slots` say for each column of the file whether its fields are numbers, weights,
    words or ignored, and where they go: `room` has arrays of numbers, of hashes, places and lengths
    of words, and of marks. Missing numbers are nan, missing words have hash 0; `strict` refuses
    both. A word's length is negative where two quotes in a row stand for one.
    """
    lines, reason, fault, column = np.uint64(0), DONE, at, 0
    while at < stop and rows < most:
        if text[at] == END or (text[at] == RETURN and text[at + ONE] == END):
            at += ONE if text[at] == END else TWO
            lines += ONE
            continue
        record = read_record(text, at, stop, delimiter, strict, kinds, slots, rows, unsure, room)
        after, more, unsure_after, column, reason, fault = record
        if reason != DONE:
            fault = at if reason == TOO_FEW else fault
            break
        at, unsure = after + ONE, unsure_after
        lines += ONE + np.uint64(more)
        rows += ONE
    return at, lines, rows, unsure, reason, fault, column
