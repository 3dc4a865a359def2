"""The compiled reader of Vowpal Wabbit's text: ``[label [weight]] ['tag]|space name[:value]``."""

import numpy as np

from tamis.data.text.numbers import (
    MINUS,
    NIL,
    NO_FINITE,
    NO_NUMBER,
    ONE,
    READ,
    UNSURE,
    overflows,
    put,
    read_number,
)
from tamis.data.text.svmlight_scan import COLON, END, find_end, skip_blanks
from tamis.data.text.words import PRIME, SEED, closed, hash_span
from tamis.numerics.hashing import mix64
from tamis.numerics.numba import compiled, inlined

DONE, FULL, BAD_LABEL, BAD_WEIGHT, BAD_SCALE, BAD_VALUE, NOT_FINITE, NO_BAR = range(8)
SPACE, TAB, RETURN, BAR, TICK = (np.uint8(ord(c)) for c in " \t\r|'")
LARGEST = np.finfo(np.float64).max
LABEL, WEIGHT, VALUE = 0, 1, 2  # kinds of numbers that Python must settle


@inlined
def ends_value(byte):
    """Whether a byte may follow a value."""
    blank = byte <= SPACE and (byte == SPACE or byte == TAB or byte == END or byte == RETURN)
    return blank or byte == BAR


@inlined
def ends_word(byte):
    """Whether a byte ends the name of a feature."""
    return byte == COLON or ends_value(byte)


@inlined
def skip_tag(text, at):
    """The bar that begins the features; what stands before it, a tag, is left out."""
    while text[at] != BAR and text[at] != END:
        at += ONE
    return at


@inlined
def is_tag(text, at):
    """Whether a tag stands here: it begins with a tick, or is one word directly before a bar."""
    if text[at] == TICK:
        return True
    while text[at] != BAR and text[at] != END and text[at] != SPACE:
        at += ONE
    return text[at] == BAR


@inlined
def read_head(text, at, rows, unsure, labels, weights, marks):
    """Label, importance, tag: (place of the bar, marks, whether weighted, fault and place)."""
    labels[rows], weights[rows], weighted, fault = np.nan, 1.0, 0, at
    for turn in range(2):
        if text[at] == BAR or text[at] == TICK or text[at] == END:
            break
        fault = at
        after, value, state = read_number(text, at)
        if state >= NO_NUMBER or not ends_value(text[after]):
            if turn == 1 and is_tag(text, at):
                break
            return (
                at,
                unsure,
                weighted,
                (NOT_FINITE if state == NO_FINITE else BAD_LABEL if turn == 0 else BAD_WEIGHT),
                fault,
            )
        if state == UNSURE:
            if overflows(text, at):
                return at, unsure, weighted, NOT_FINITE, fault
            if unsure == np.uint64(marks.shape[0]):
                return at, unsure, weighted, FULL, fault
            put(marks, unsure, LABEL if turn == 0 else WEIGHT, rows, at, after)
            unsure += ONE
        if turn == 0:
            labels[rows] = value
        else:
            weights[rows], weighted = value, 1
            if value < 0.0 or (state == UNSURE and text[fault] == MINUS):
                return at, unsure, weighted, BAD_WEIGHT, fault
        at = skip_blanks(text, after)
    at = skip_tag(text, at)
    return at, unsure, weighted, (DONE if text[at] == BAR else NO_BAR), fault


@inlined
def read_space(text, at):
    """A namespace: (place after it, end of its name, seed of its hashes, scale, what is wrong)."""
    first, scale = at, 1.0
    while not ends_word(text[at]):
        at += ONE
    end, seed = at, hash_span(text, first, at, SEED, False) if at > first else SEED
    if text[at] == COLON:
        at, scale, state = read_number(text, at + ONE)
        if state != READ or not ends_value(text[at]):
            return at, end, seed, scale, BAD_SCALE
    return at, end, seed, scale, DONE


@inlined
def read_words(text, at, mask, stored, unsure, columns, data, hashes, spans, marks):
    """Features of a line from its first bar on: (place after, entries, marks, fault, place)."""
    scale, seed, space, space_end, fault = 1.0, SEED, at, at, at
    while True:
        if text[at] == BAR:
            space, fault = at + ONE, at
            at, space_end, seed, scale, reason = read_space(text, space)
            if reason != DONE:
                return at, stored, unsure, reason, fault
        at = skip_blanks(text, at)
        if text[at] == END:
            return at, stored, unsure, DONE, fault
        if text[at] == BAR:
            continue
        first, value, fault = at, 1.0, at
        name = SEED
        while not ends_word(text[at]):
            name = (name ^ np.uint64(text[at])) * PRIME
            at += ONE
        last = at
        if text[at] == COLON:
            at, value, state = read_number(text, last + ONE)
            if state >= NO_NUMBER or not ends_value(text[at]):
                return at, stored, unsure, (NOT_FINITE if state == NO_FINITE else BAD_VALUE), fault
            if state == UNSURE:
                if overflows(text, last + ONE):
                    return at, stored, unsure, NOT_FINITE, fault
                if scale != 1.0 or unsure == np.uint64(marks.shape[0]):
                    return at, stored, unsure, (FULL if scale == 1.0 else BAD_SCALE), fault
                put(marks, unsure, VALUE, stored, last + ONE, at)
                unsure += ONE
                value = 1.0
        elif last == first:
            return at, stored, unsure, BAD_VALUE, fault
        value *= scale
        if scale != 1.0 and not abs(value) <= LARGEST:
            return at, stored, unsure, NOT_FINITE, fault
        if value != 0.0:
            word = mix64(closed(name) ^ seed)
            columns[stored], data[stored] = word & mask, value
            if hashes.shape[0]:
                hashes[stored] = word
                put(spans, stored, space, space_end, first, last)
            stored += ONE


@compiled
def scan_vowpal(text, span, mask, tally, arrays):
    """Read lines from `at` to `stop` or `most` rows, after what is counted, or to a bad one.

    `span` is (at, stop, most), `tally` (rows, stored, lines). A feature's column is the hash of its
    namespace and name, masked. Where `hashes` and `spans` have room they are filled with the whole
    hash and with where the namespace and the name stand; `where` is how many lines of the chunk
    stand before a row. Without a label the label is nan.
    """
    (at, stop, most), (rows, stored, lines) = span, tally
    labels, weights, where, indptr, columns, data, hashes, spans, marks = arrays
    unsure, reason, fault, weighted = NIL, DONE, at, 0
    while at < stop and rows < most:
        start, stored_before, unsure_before = at, stored, unsure
        at = skip_blanks(text, at)
        if text[at] == END:
            at += ONE
            lines += ONE
            continue
        at, unsure, heavy, reason, fault = read_head(text, at, rows, unsure, labels, weights, marks)
        if reason == DONE:
            at, stored, unsure, reason, fault = read_words(
                text, at, mask, stored, unsure, columns, data, hashes, spans, marks
            )
        if reason != DONE:
            at, stored, unsure = start, stored_before, unsure_before
            break
        at = find_end(text, at) + ONE
        where[rows] = lines
        lines += ONE
        rows += ONE
        weighted |= heavy
        indptr[rows] = stored
    return at, lines, rows, stored, unsure, reason, fault, weighted
