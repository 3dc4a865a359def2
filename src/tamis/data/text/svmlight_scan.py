"""The compiled reader of svmlight text: whole lines in, labels, columns and values out."""

import numpy as np

from tamis.data.text.numbers import (
    NIL,
    NO_FINITE,
    NO_NUMBER,
    ONE,
    TEN,
    UNSURE,
    overflows,
    put,
    read_number,
)
from tamis.numerics.hashing import mix64
from tamis.numerics.numba import compiled, inlined

# Why a scan ended. From BAD_LABEL on: what is wrong with a line.
(
    DONE,
    WIDE,
    FULL,
    BAD_LABEL,
    BAD_INDEX,
    BAD_VALUE,
    NOT_FINITE,
    INDEX_ZERO,
    INDEX_HUGE,
    BAD_QUERY,
    NO_LABEL,
    NO_COLON,
    BEYOND,
) = range(13)

SPACE, TAB, RETURN, END, HASH, COMMA, COLON, QUERY = (np.uint8(ord(c)) for c in " \t\r\n#,:q")
LIMIT = np.uint64(2**63 - 1)
LARGEST = np.uint64(2**63 - 2)  # column whose successor is still a number of 63 bits
LABEL, VALUE = 0, 1  # kinds of numbers that Python must settle


@inlined
def ends_token(byte):
    """Whether a byte may follow a number."""
    return byte == SPACE or byte == END or byte == TAB or byte == RETURN


@inlined
def skip_blanks(text, at):
    """The next byte that is no blank; a carriage return is one only before the end of a line."""
    while text[at] == SPACE or text[at] == TAB or (text[at] == RETURN and text[at + ONE] == END):
        at += ONE
    return at


@inlined
def read_index(text, at):
    """The whole number at `at`: (place after it, number, whether it is below 2^63)."""
    number, fits = NIL, True
    figure = np.uint64(text[at]) - np.uint64(48)
    first = at
    while figure < TEN:
        number = number * TEN + figure
        at += ONE
        figure = np.uint64(text[at]) - np.uint64(48)
    if at - first > np.uint64(18):  # it may have wrapped around
        number, fits = NIL, True
        for k in range(first, at):
            figure = np.uint64(text[k]) - np.uint64(48)
            if number > (LIMIT - figure) // TEN:
                fits = False
            number = number * TEN + figure
    return at, number, fits


@inlined
def find_end(text, at):
    """The end of the line."""
    while text[at] != END:
        at += ONE
    return at


@inlined
def read_labels(text, at, labels, found, unsure, marks):
    """Labels at the start of a line: (place after them, labels, marks made, what is wrong)."""
    start = at
    while True:
        first = at
        at, value, state = read_number(text, at)
        if text[at] == COLON and first == start and state != NO_FINITE:
            return start, found, unsure, DONE  # the line begins with a column
        if state == NO_FINITE:
            return first, found, unsure, NOT_FINITE
        if state == NO_NUMBER or not (
            ends_token(text[at]) or text[at] == COMMA or text[at] == HASH
        ):
            none = text[first] == QUERY and first == start
            return first, found, unsure, DONE if none else BAD_LABEL
        if state == UNSURE:
            if overflows(text, first):
                return first, found, unsure, NOT_FINITE
            if unsure == np.uint64(marks.shape[0]):
                return first, found, unsure, FULL
            put(marks, unsure, LABEL, found, first, at)
            unsure += ONE
        labels[found] = value
        found += ONE
        if text[at] != COMMA:
            return at, found, unsure, DONE
        at += ONE


@inlined
def read_query(text, at):
    """The query number ``qid:n`` at `at`: (place after it, number, what is wrong)."""
    digits = at + np.uint64(4)
    spelled = (
        text[at + ONE] == 105
        and text[at + np.uint64(2)] == 100
        and text[at + np.uint64(3)] == COLON
    )
    after, number, fits = read_index(text, digits)
    good = spelled and fits and after > digits and ends_token(text[after])
    return after, np.int64(number), DONE if good else BAD_QUERY


@inlined
def read_column(text, at, base, limit, mask, widest):
    """The column ``n:`` at `at`: (place after it, column, what is wrong)."""
    after, number, fits = read_index(text, at)
    if after == at:
        return after, number, BAD_INDEX
    if text[after] != COLON:
        return after, number, NO_COLON
    if not fits or number > LARGEST:
        return after, number, INDEX_HUGE
    if number < base:
        return after, number, INDEX_ZERO
    number -= base
    if mask:
        number = mix64(number) & mask
    if number >= limit:
        return after, number, BEYOND
    return after + ONE, number, DONE if number <= widest else WIDE


@inlined
def read_features(text, at, bounds, rows, stored, unsure, queries, indices, data, marks):
    """Features of a line: (place after them, entries, marks, fault, place, flags, columns met)."""
    base, limit, mask, widest = bounds
    fault, last, farthest, tangled, asked = at, NIL, NIL, 0, 0
    while True:
        at = skip_blanks(text, at)
        if text[at] == END or text[at] == HASH:
            return at, stored, unsure, DONE, fault, tangled, asked, farthest
        fault = at
        if text[at] == QUERY:
            at, queries[rows], reason = read_query(text, at)
            asked = 1
            if reason != DONE:
                return at, stored, unsure, reason, fault, tangled, asked, farthest
            continue
        place, number, reason = read_column(text, at, base, limit, mask, widest)
        if reason != DONE:
            return at, stored, unsure, reason, fault, tangled, asked, farthest
        at, value, state = read_number(text, place)
        if state >= NO_NUMBER or not (ends_token(text[at]) or text[at] == HASH):
            return (
                at,
                stored,
                unsure,
                (NOT_FINITE if state == NO_FINITE else BAD_VALUE),
                place,
                tangled,
                asked,
                farthest,
            )
        if state == UNSURE:
            if overflows(text, place):
                return at, stored, unsure, NOT_FINITE, place, tangled, asked, farthest
            if unsure == np.uint64(marks.shape[0]):
                return at, stored, unsure, FULL, fault, tangled, asked, farthest
            put(marks, unsure, VALUE, stored, place, at)
            unsure += ONE
            value = 1.0
        farthest = max(farthest, number + ONE)
        if value != 0.0:
            tangled |= number < last
            last = number + ONE
            indices[stored], data[stored] = number, value
            stored += ONE


@compiled
def scan_svmlight(text, span, columns, tally, arrays):
    """Read lines from `at` to `stop` or `most` rows, after what `tally` counts, or to a bad one.

    `span` is (at, stop, most); `text` ends its last line with a newline at `stop - 1`. `columns` is
    (base, limit, mask): the first column's number in the file, the number of columns that are
    allowed, and, if not 0, a mask for columns that are hashed. Of the `arrays` to fill `ends` and
    `indptr` hold where the labels and the columns of each row end, their first entry 0, `where` how
    many lines of the chunk stand before it. Numbers that Python must settle are left in `marks`.
    """
    (at, stop, most), (base, limit, mask) = span, columns
    labels, ends, queries, where, indptr, indices, data, marks = arrays
    rows, stored, found, unsure, lines = tally
    largest, tangled, asked = NIL, 0, 0
    bounds = base, limit, mask, np.uint64(2 ** (8 * indices.itemsize - 1) - 1)
    reason, fault = DONE, at
    while at < stop and rows < most:
        start, found_before, stored_before, unsure_before = at, found, stored, unsure
        at = skip_blanks(text, at)
        if text[at] == END or text[at] == HASH:
            at = find_end(text, at) + ONE
            lines += ONE
            continue
        queries[rows] = -1
        at, found, unsure, reason = read_labels(text, at, labels, found, unsure, marks)
        fault = at
        if reason == DONE:
            at, stored, unsure, reason, fault, mixed, named, farthest = read_features(
                text, at, bounds, rows, stored, unsure, queries, indices, data, marks
            )
        if reason != DONE:
            at, found, stored, unsure = start, found_before, stored_before, unsure_before
            break
        at = find_end(text, at) + ONE
        where[rows] = lines
        lines += ONE
        rows += ONE
        tangled, asked, largest = tangled | mixed, asked | named, max(largest, farthest)
        ends[rows], indptr[rows] = found, stored
    return at, lines, rows, stored, found, unsure, reason, fault, tangled, asked, largest
