"""Compiled scan of svmlight text: whole lines to labels, queries, columns and values."""

import numpy as np

from tamis.data.text.numbers import (
    AMBIGUOUS,
    NO_NUMBER,
    NONFINITE,
    ONE,
    TEN,
    ZERO64,
    overflows,
    read_number,
    set_row,
)
from tamis.numerics.hashing import mix64
from tamis.numerics.numba import compiled, force_inlined

# Reasons why a scan ends; FULL: no space for more numbers that Python must parse. From BAD_LABEL on
# they are errors of a line.
(
    DONE,
    NEEDS_INT64,
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
    OUT_OF_RANGE,
) = range(13)

SPACE, TAB, RETURN, END, HASH, COMMA, COLON, QUERY = (np.uint8(ord(c)) for c in " \t\r\n#,:q")
MAX_INT64 = np.uint64(2**63 - 1)
MAX_INDEX = np.uint64(2**63 - 2)  # its successor still fits in 63 bits
LABEL, VALUE = 0, 1  # kinds of numbers that Python must parse


@force_inlined
def ends_token(byte):
    """Return whether a byte may follow a number."""
    return byte == SPACE or byte == END or byte == TAB or byte == RETURN


@force_inlined
def skip_blanks(text, pos):
    """Return the position of the next byte that is no blank.

    A carriage return is a blank only before the end of a line.
    """
    while (
        text[pos] == SPACE or text[pos] == TAB or (text[pos] == RETURN and text[pos + ONE] == END)
    ):
        pos += ONE
    return pos


@force_inlined
def read_index(text, pos):
    """Read the whole number at `pos`: (end, number, whether it is below 2^63)."""
    number, fits = ZERO64, True
    digit = np.uint64(text[pos]) - np.uint64(48)
    first = pos
    while digit < TEN:
        number = number * TEN + digit
        pos += ONE
        digit = np.uint64(text[pos]) - np.uint64(48)
    if pos - first > np.uint64(18):  # it may have wrapped around
        number, fits = ZERO64, True
        for k in range(first, pos):
            digit = np.uint64(text[k]) - np.uint64(48)
            if number > (MAX_INT64 - digit) // TEN:
                fits = False
            number = number * TEN + digit
    return pos, number, fits


@force_inlined
def find_end(text, pos):
    """Return the position of the end of the line."""
    while text[pos] != END:
        pos += ONE
    return pos


@force_inlined
def read_labels(text, pos, labels, n_labels, n_fallback, fallback_spans):
    """Read the labels at the start of a line: (end, n_labels, n_fallback, reason)."""
    start = pos
    while True:
        first = pos
        pos, value, state = read_number(text, pos)
        if text[pos] == COLON and first == start and state != NONFINITE:
            return start, n_labels, n_fallback, DONE  # the line begins with a column
        if state == NONFINITE:
            return first, n_labels, n_fallback, NOT_FINITE
        if state == NO_NUMBER or not (
            ends_token(text[pos]) or text[pos] == COMMA or text[pos] == HASH
        ):
            none = text[first] == QUERY and first == start
            return first, n_labels, n_fallback, DONE if none else BAD_LABEL
        if state == AMBIGUOUS:
            if overflows(text, first):
                return first, n_labels, n_fallback, NOT_FINITE
            if n_fallback == np.uint64(fallback_spans.shape[0]):
                return first, n_labels, n_fallback, FULL
            set_row(fallback_spans, n_fallback, LABEL, n_labels, first, pos)
            n_fallback += ONE
        labels[n_labels] = value
        n_labels += ONE
        if text[pos] != COMMA:
            return pos, n_labels, n_fallback, DONE
        pos += ONE


@force_inlined
def read_query(text, pos):
    """Read the query number ``qid:n`` at `pos`: (end, number, reason)."""
    number_pos = pos + np.uint64(4)
    has_prefix = (
        text[pos + ONE] == 105
        and text[pos + np.uint64(2)] == 100
        and text[pos + np.uint64(3)] == COLON
    )
    after, number, fits = read_index(text, number_pos)
    is_valid = has_prefix and fits and after > number_pos and ends_token(text[after])
    return after, np.int64(number), DONE if is_valid else BAD_QUERY


@force_inlined
def read_column(text, pos, base, n_columns, mask, max_index):
    """Read the column ``n:`` at `pos`: (end, column, reason)."""
    after, column, fits = read_index(text, pos)
    if after == pos:
        return after, column, BAD_INDEX
    if text[after] != COLON:
        return after, column, NO_COLON
    if not fits or column > MAX_INDEX:
        return after, column, INDEX_HUGE
    if column < base:
        return after, column, INDEX_ZERO
    column -= base
    if mask:
        column = mix64(column) & mask
    if column >= n_columns:
        return after, column, OUT_OF_RANGE
    return after + ONE, column, DONE if column <= max_index else NEEDS_INT64


@force_inlined
def read_features(
    text, pos, bounds, row, n_entries, n_fallback, queries, indices, data, fallback_spans
):
    """Read the features of a line.

    Returns (end, n_entries, n_fallback, reason, error_pos, is_unsorted, has_query, row_width).
    """
    base, n_columns, mask, max_index = bounds
    error_pos, next_column, row_width, is_unsorted, has_query = pos, ZERO64, ZERO64, 0, 0
    while True:
        pos = skip_blanks(text, pos)
        if text[pos] == END or text[pos] == HASH:
            return pos, n_entries, n_fallback, DONE, error_pos, is_unsorted, has_query, row_width
        error_pos = pos
        if text[pos] == QUERY:
            pos, queries[row], reason = read_query(text, pos)
            has_query = 1
            if reason != DONE:
                return (
                    pos,
                    n_entries,
                    n_fallback,
                    reason,
                    error_pos,
                    is_unsorted,
                    has_query,
                    row_width,
                )
            continue
        value_pos, column, reason = read_column(text, pos, base, n_columns, mask, max_index)
        if reason != DONE:
            return pos, n_entries, n_fallback, reason, error_pos, is_unsorted, has_query, row_width
        pos, value, state = read_number(text, value_pos)
        if state >= NO_NUMBER or not (ends_token(text[pos]) or text[pos] == HASH):
            return (
                pos,
                n_entries,
                n_fallback,
                (NOT_FINITE if state == NONFINITE else BAD_VALUE),
                value_pos,
                is_unsorted,
                has_query,
                row_width,
            )
        if state == AMBIGUOUS:
            if overflows(text, value_pos):
                return (
                    pos,
                    n_entries,
                    n_fallback,
                    NOT_FINITE,
                    value_pos,
                    is_unsorted,
                    has_query,
                    row_width,
                )
            if n_fallback == np.uint64(fallback_spans.shape[0]):
                return (
                    pos,
                    n_entries,
                    n_fallback,
                    FULL,
                    error_pos,
                    is_unsorted,
                    has_query,
                    row_width,
                )
            set_row(fallback_spans, n_fallback, VALUE, n_entries, value_pos, pos)
            n_fallback += ONE
            value = 1.0
        row_width = max(row_width, column + ONE)
        if value != 0.0:
            is_unsorted |= column < next_column
            next_column = column + ONE
            indices[n_entries], data[n_entries] = column, value
            n_entries += ONE


@compiled
def scan_svmlight(text, text_range, index_rules, counters, arrays):
    """Read lines until the end of the text range, `max_rows` rows, or a bad line.

    `text_range` is (pos, stop, max_rows); the byte at ``stop - 1`` must be a newline. `index_rules`
    is (base, n_columns, mask): the number of the first column in the file, the number of allowed
    columns, and a mask for hashed columns or 0. `counters` has what earlier calls have read of the
    chunk. The arrays to fill: `label_ends` and `indptr` hold the end of the labels and entries of
    each row, after a first entry 0; `lines_before` the number of the chunk's lines before it;
    `fallback_spans` the numbers that Python must parse.
    """
    (pos, stop, max_rows), (base, n_columns, mask) = text_range, index_rules
    labels, label_ends, queries, lines_before, indptr, indices, data, fallback_spans = arrays
    n_rows, n_entries, n_labels, n_fallback, n_lines = counters
    width, is_unsorted, has_queries = ZERO64, 0, 0
    bounds = base, n_columns, mask, np.uint64(2 ** (8 * indices.itemsize - 1) - 1)
    reason, error_pos = DONE, pos
    while pos < stop and n_rows < max_rows:
        line_start, labels_before = pos, n_labels
        entries_before, fallback_before = n_entries, n_fallback
        pos = skip_blanks(text, pos)
        if text[pos] == END or text[pos] == HASH:
            pos = find_end(text, pos) + ONE
            n_lines += ONE
            continue
        queries[n_rows] = -1
        pos, n_labels, n_fallback, reason = read_labels(
            text, pos, labels, n_labels, n_fallback, fallback_spans
        )
        error_pos = pos
        if reason == DONE:
            (
                pos,
                n_entries,
                n_fallback,
                reason,
                error_pos,
                row_is_unsorted,
                row_has_query,
                row_width,
            ) = read_features(
                text,
                pos,
                bounds,
                n_rows,
                n_entries,
                n_fallback,
                queries,
                indices,
                data,
                fallback_spans,
            )
        if reason != DONE:
            pos, n_labels = line_start, labels_before
            n_entries, n_fallback = entries_before, fallback_before
            break
        pos = find_end(text, pos) + ONE
        lines_before[n_rows] = n_lines
        n_lines += ONE
        n_rows += ONE
        is_unsorted, has_queries = is_unsorted | row_is_unsorted, has_queries | row_has_query
        width = max(width, row_width)
        label_ends[n_rows], indptr[n_rows] = n_labels, n_entries
    return (
        pos,
        n_lines,
        n_rows,
        n_entries,
        n_labels,
        n_fallback,
        reason,
        error_pos,
        is_unsorted,
        has_queries,
        width,
    )
