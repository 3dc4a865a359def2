"""Compiled scan of Vowpal Wabbit's text: ``[label [weight]] ['tag]|space name[:value]``."""

import numpy as np

from tamis.data.text.numbers import (
    AMBIGUOUS,
    MINUS,
    NO_NUMBER,
    NONFINITE,
    ONE,
    PARSED,
    ZERO64,
    overflows,
    read_number,
    set_row,
)
from tamis.data.text.svmlight_scan import COLON, END, find_end, skip_blanks
from tamis.data.text.words import HASH_PRIME, HASH_SEED, finish_hash, hash_span
from tamis.numerics.hashing import mix64
from tamis.numerics.numba import compiled, force_inlined

# Reasons why a scan ends; FULL: no space for more numbers that Python must parse. From BAD_LABEL on
# they are errors of a line.
DONE, FULL, BAD_LABEL, BAD_WEIGHT, BAD_SCALE, BAD_VALUE, NOT_FINITE, NO_BAR = range(8)
SPACE, TAB, RETURN, BAR, TICK = (np.uint8(ord(c)) for c in " \t\r|'")
MAX_FLOAT = np.finfo(np.float64).max
LABEL, WEIGHT, VALUE = 0, 1, 2  # kinds of numbers that Python must parse


@force_inlined
def ends_value(byte):
    """Return whether a byte may follow a value."""
    is_blank = byte <= SPACE and (byte == SPACE or byte == TAB or byte == END or byte == RETURN)
    return is_blank or byte == BAR


@force_inlined
def ends_word(byte):
    """Return whether a byte ends the name of a feature."""
    return byte == COLON or ends_value(byte)


@force_inlined
def skip_tag(text, pos):
    """Return the position of the bar that begins the features, after a tag if there is one."""
    while text[pos] != BAR and text[pos] != END:
        pos += ONE
    return pos


@force_inlined
def is_tag(text, pos):
    """Return whether a tag begins at `pos`: after a tick, or as a word directly before a bar."""
    if text[pos] == TICK:
        return True
    while text[pos] != BAR and text[pos] != END and text[pos] != SPACE:
        pos += ONE
    return text[pos] == BAR


@force_inlined
def read_head(text, pos, row, n_fallback, labels, weights, fallback_spans):
    """Read label, weight and tag of a line.

    Return (position of the bar, n_fallback, has_weight, reason, error_pos).
    """
    labels[row], weights[row], has_weight, error_pos = np.nan, 1.0, 0, pos
    for k in range(2):
        if text[pos] == BAR or text[pos] == TICK or text[pos] == END:
            break
        error_pos = pos
        number_end, value, state = read_number(text, pos)
        if state >= NO_NUMBER or not ends_value(text[number_end]):
            if k == 1 and is_tag(text, pos):
                break
            return (
                pos,
                n_fallback,
                has_weight,
                (NOT_FINITE if state == NONFINITE else BAD_LABEL if k == 0 else BAD_WEIGHT),
                error_pos,
            )
        if state == AMBIGUOUS:
            if overflows(text, pos):
                return pos, n_fallback, has_weight, NOT_FINITE, error_pos
            if n_fallback == np.uint64(fallback_spans.shape[0]):
                return pos, n_fallback, has_weight, FULL, error_pos
            set_row(fallback_spans, n_fallback, LABEL if k == 0 else WEIGHT, row, pos, number_end)
            n_fallback += ONE
        if k == 0:
            labels[row] = value
        else:
            weights[row], has_weight = value, 1
            if value < 0.0 or (state == AMBIGUOUS and text[error_pos] == MINUS):
                return pos, n_fallback, has_weight, BAD_WEIGHT, error_pos
        pos = skip_blanks(text, number_end)
    pos = skip_tag(text, pos)
    return pos, n_fallback, has_weight, (DONE if text[pos] == BAR else NO_BAR), error_pos


@force_inlined
def read_namespace(text, pos):
    """Read a namespace; return (end, end of its name, hash seed, scale, reason)."""
    first, scale = pos, 1.0
    while not ends_word(text[pos]):
        pos += ONE
    end, seed = pos, hash_span(text, first, pos, HASH_SEED, False) if pos > first else HASH_SEED
    if text[pos] == COLON:
        pos, scale, state = read_number(text, pos + ONE)
        if state != PARSED or not ends_value(text[pos]):
            return pos, end, seed, scale, BAD_SCALE
    return pos, end, seed, scale, DONE


@force_inlined
def read_features(
    text, pos, mask, n_entries, n_fallback, columns, data, hashes, spans, fallback_spans
):
    """Read the features of a line from its first bar on, into `columns` and `data`.

    Return (end, n_entries, n_fallback, reason, error_pos).
    """
    scale, seed, namespace_start, namespace_end, error_pos = 1.0, HASH_SEED, pos, pos, pos
    while True:
        if text[pos] == BAR:
            namespace_start, error_pos = pos + ONE, pos
            pos, namespace_end, seed, scale, reason = read_namespace(text, namespace_start)
            if reason != DONE:
                return pos, n_entries, n_fallback, reason, error_pos
        pos = skip_blanks(text, pos)
        if text[pos] == END:
            return pos, n_entries, n_fallback, DONE, error_pos
        if text[pos] == BAR:
            continue
        name_start, value, error_pos = pos, 1.0, pos
        hash_value = HASH_SEED
        while not ends_word(text[pos]):
            hash_value = (hash_value ^ np.uint64(text[pos])) * HASH_PRIME
            pos += ONE
        name_end = pos
        if text[pos] == COLON:
            pos, value, state = read_number(text, name_end + ONE)
            if state >= NO_NUMBER or not ends_value(text[pos]):
                return (
                    pos,
                    n_entries,
                    n_fallback,
                    (NOT_FINITE if state == NONFINITE else BAD_VALUE),
                    error_pos,
                )
            if state == AMBIGUOUS:
                if overflows(text, name_end + ONE):
                    return pos, n_entries, n_fallback, NOT_FINITE, error_pos
                if scale != 1.0 or n_fallback == np.uint64(fallback_spans.shape[0]):
                    return (
                        pos,
                        n_entries,
                        n_fallback,
                        (FULL if scale == 1.0 else BAD_SCALE),
                        error_pos,
                    )
                set_row(fallback_spans, n_fallback, VALUE, n_entries, name_end + ONE, pos)
                n_fallback += ONE
                value = 1.0
        elif name_end == name_start:
            return pos, n_entries, n_fallback, BAD_VALUE, error_pos
        value *= scale
        if scale != 1.0 and not abs(value) <= MAX_FLOAT:
            return pos, n_entries, n_fallback, NOT_FINITE, error_pos
        if value != 0.0:
            feature_hash = mix64(finish_hash(hash_value) ^ seed)
            columns[n_entries], data[n_entries] = feature_hash & mask, value
            if hashes.shape[0]:
                hashes[n_entries] = feature_hash
                set_row(spans, n_entries, namespace_start, namespace_end, name_start, name_end)
            n_entries += ONE


@compiled
def scan_vowpal(text, text_range, mask, counters, arrays):
    """Read lines into arrays until the text range ends, `max_rows` rows are full, or one is bad.

    Return (pos, n_lines, n_rows, n_entries, n_fallback, reason, error_pos, has_weights).
    `text_range` is (pos, stop, max_rows), `counters` (n_rows, n_entries, n_lines) of earlier calls.
    A feature's column is the hash of its namespace and name, masked. If `hashes` and `spans` have
    entries, they get the whole hash and the spans of namespace and name; `lines_before` is the
    number of lines of the chunk before each row. Without a label the label is nan.
    """
    (pos, stop, max_rows), (n_rows, n_entries, n_lines) = text_range, counters
    labels, weights, lines_before, indptr, columns, data, hashes, spans, fallback_spans = arrays
    n_fallback, reason, error_pos, has_weights = ZERO64, DONE, pos, 0
    while pos < stop and n_rows < max_rows:
        line_start, entries_before, fallback_before = pos, n_entries, n_fallback
        pos = skip_blanks(text, pos)
        if text[pos] == END:
            pos += ONE
            n_lines += ONE
            continue
        pos, n_fallback, row_has_weight, reason, error_pos = read_head(
            text, pos, n_rows, n_fallback, labels, weights, fallback_spans
        )
        if reason == DONE:
            pos, n_entries, n_fallback, reason, error_pos = read_features(
                text, pos, mask, n_entries, n_fallback, columns, data, hashes, spans, fallback_spans
            )
        if reason != DONE:
            pos, n_entries, n_fallback = line_start, entries_before, fallback_before
            break
        pos = find_end(text, pos) + ONE
        lines_before[n_rows] = n_lines
        n_lines += ONE
        n_rows += ONE
        has_weights |= row_has_weight
        indptr[n_rows] = n_entries
    return pos, n_lines, n_rows, n_entries, n_fallback, reason, error_pos, has_weights
