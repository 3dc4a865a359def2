"""The compiled reader of Vowpal Wabbit's text: ``[label [importance]] ['tag]|namespace[:scale] feature[:value] ...`` a line."""

import numpy as np

from tamis._jit import compiled, helper
from tamis.read.numbers import NIL, NO_FINITE, NO_NUMBER, ONE, UNSURE, read_number
from tamis.read.svmlight_scan import COLON, END, find_end, scrambled, skip_blanks
from tamis.read.words import SEED, hash_span

DONE, FULL, BAD_LABEL, BAD_WEIGHT, BAD_SCALE, BAD_VALUE, NOT_FINITE, NO_BAR = range(8)
SPACE, TAB, RETURN, BAR, TICK = (np.uint8(ord(c)) for c in " \t\r|'")
LABEL, WEIGHT, VALUE = 0, 1, 2  # kinds of numbers that Python must settle


@helper
def ends_word(byte):
    """Whether a byte ends the name of a feature."""
    return byte == SPACE or byte == TAB or byte == COLON or byte == BAR or byte == END or byte == RETURN


@helper
def ends_value(byte):
    """Whether a byte may follow a value."""
    return byte == SPACE or byte == TAB or byte == BAR or byte == END or byte == RETURN


@helper
def skip_tag(text, at):
    """The bar that begins the features; what stands before it, a tag, is left out."""
    while text[at] != BAR and text[at] != END:
        at += ONE
    return at


@helper
def skip_word(text, at):
    """Whether what stands here is one word, directly before a bar: a tag."""
    while text[at] != BAR and text[at] != END and text[at] != SPACE:
        at += ONE
    return text[at] == BAR


@compiled
def scan_vowpal(text, at, stop, most, mask, rows, stored, labels, weights, indptr, columns, data, hashes, spans, marks):
    """Read lines from `at` until `stop` or `most` rows, after `rows` rows with `stored` entries; the first bad line ends the scan.

    A feature's column is the hash of its namespace and name, masked. Where `hashes` and `spans` have room they are filled with the whole hash
    and with where the namespace and the name stand. Without a label the label is nan.
    """
    unsure, lines, reason, fault = NIL, NIL, DONE, at
    weighted, named, room = 0, hashes.shape[0] > 0, np.uint64(marks.shape[0])
    while at < stop and rows < most and reason == DONE:
        start, stored_before, unsure_before = at, stored, unsure
        at = skip_blanks(text, at)
        if text[at] == END:
            at += ONE
            lines += ONE
            continue
        labels[rows], weights[rows], fault = np.nan, 1.0, at
        for turn in range(2):  # the label, then the importance
            if text[at] == BAR or text[at] == TICK or text[at] == END:
                break
            fault = at
            after, value, state = read_number(text, at)
            if state >= NO_NUMBER or not ends_value(text[after]):
                if text[at] == TICK or (turn == 1 and text[skip_tag(text, at)] == BAR and skip_word(text, at)):
                    break
                reason = NOT_FINITE if state == NO_FINITE else (BAD_LABEL if turn == 0 else BAD_WEIGHT)
                break
            if state == UNSURE:
                if unsure == room:
                    reason = FULL
                    break
                marks[unsure, 0], marks[unsure, 1], marks[unsure, 2], marks[unsure, 3] = (LABEL if turn == 0 else WEIGHT), rows, at, after
                unsure += ONE
            if turn == 0:
                labels[rows] = value
            else:
                weights[rows], weighted = value, 1
                if value < 0.0:
                    reason = BAD_WEIGHT
                    break
            at = skip_blanks(text, after)
        if reason == DONE:
            at = skip_tag(text, at)
            if text[at] != BAR:
                reason = NO_BAR
        scale, seed, space, space_end = 1.0, SEED, at, at
        while reason == DONE:
            if text[at] == BAR:  # a namespace begins: its name follows at once, or it has none
                at += ONE
                space = at
                while not ends_word(text[at]):
                    at += ONE
                space_end, scale = at, 1.0
                seed = hash_span(text, space, at, SEED, False) if at > space else SEED
                if text[at] == COLON:
                    fault = at + ONE
                    at, scale, state = read_number(text, at + ONE)
                    if state != 0 or not ends_value(text[at]):
                        reason = BAD_SCALE
                        break
            at = skip_blanks(text, at)
            if text[at] == END:
                break
            if text[at] == BAR:
                continue
            first = at
            while not ends_word(text[at]):
                at += ONE
            last, value, fault = at, 1.0, first
            if text[at] == COLON:
                place = at + ONE
                at, value, state = read_number(text, place)
                if state >= NO_NUMBER or not ends_value(text[at]):
                    reason = NOT_FINITE if state == NO_FINITE else BAD_VALUE
                    break
                if state == UNSURE:
                    if unsure == room or scale != 1.0:
                        reason = FULL if scale == 1.0 else BAD_SCALE
                        break
                    marks[unsure, 0], marks[unsure, 1], marks[unsure, 2], marks[unsure, 3] = VALUE, stored, place, at
                    unsure += ONE
                    value = 1.0
            elif last == first:
                reason = BAD_VALUE
                break
            if value * scale != 0.0:
                word = scrambled(hash_span(text, first, last, SEED, False) ^ seed)
                columns[stored], data[stored] = word & mask, value * scale
                if named:
                    hashes[stored] = word
                    spans[stored, 0], spans[stored, 1], spans[stored, 2], spans[stored, 3] = space, space_end, first, last
                stored += ONE
        if reason != DONE:
            at, stored, unsure = start, stored_before, unsure_before
            break
        at = find_end(text, at) + ONE
        lines += ONE
        rows += ONE
        indptr[rows] = stored
    return at, lines, rows, stored, unsure, reason, fault, weighted
