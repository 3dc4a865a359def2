"""The compiled reader of svmlight text: whole lines in, flat arrays of labels, columns and values out."""

import numpy as np

from tamis._jit import compiled, helper
from tamis.read.numbers import NIL, NO_FINITE, NO_NUMBER, ONE, TEN, UNSURE, read_number

# Why a scan ended. From BAD_LABEL on: what is wrong with a line.
DONE, WIDE, FULL, BAD_LABEL, BAD_INDEX, BAD_VALUE, NOT_FINITE, INDEX_ZERO, INDEX_HUGE, BAD_QUERY, NO_LABEL, NO_COLON, BEYOND = range(13)

SPACE, TAB, RETURN, END, HASH, COMMA, COLON, QUERY = (np.uint8(ord(c)) for c in " \t\r\n#,:q")
LIMIT = np.uint64(2**63 - 1)
LABEL, VALUE = 0, 1  # kinds of numbers that Python must settle


@helper
def ends_token(byte):
    """Whether a byte may follow a number."""
    return byte == SPACE or byte == END or byte == TAB or byte == RETURN


@helper
def skip_blanks(text, at):
    """The next byte that is no blank; a carriage return counts as one before the end of a line only."""
    while text[at] == SPACE or text[at] == TAB or (text[at] == RETURN and text[at + ONE] == END):
        at += ONE
    return at


@helper
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
            fits = fits and number <= (LIMIT - figure) // TEN
            number = number * TEN + figure
    return at, number, fits


@helper
def scrambled(number):
    """A word in which every bit hangs on all bits of the number."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@helper
def find_end(text, at):
    """The end of the line."""
    while text[at] != END:
        at += ONE
    return at


@helper
def read_labels(text, at, labels, found, unsure, marks):
    """Labels at the start of a line: (place after them, labels found, marks made, what is wrong)."""
    start = at
    while True:
        first = at
        at, value, state = read_number(text, at)
        if text[at] == COLON and first == start and state != NO_FINITE:
            return start, found, unsure, DONE  # the line begins with a column
        if state == NO_FINITE:
            return first, found, unsure, NOT_FINITE
        if state == NO_NUMBER or not (ends_token(text[at]) or text[at] == COMMA or text[at] == HASH):
            return first, found, unsure, (DONE if text[first] == QUERY and first == start else BAD_LABEL)
        if state == UNSURE:
            if unsure == np.uint64(marks.shape[0]):
                return first, found, unsure, FULL
            marks[unsure, 0], marks[unsure, 1], marks[unsure, 2], marks[unsure, 3] = LABEL, found, first, at
            unsure += ONE
        labels[found] = value
        found += ONE
        if text[at] != COMMA:
            return at, found, unsure, DONE
        at += ONE


@compiled
def scan_svmlight(text, at, stop, most, base, limit, mask, tally, labels, ends, queries, indptr, indices, data, marks):
    """Read lines from `at` until `stop` or `most` rows, after what `tally` says has been read; the first bad line ends the scan.

    `text` ends its last line with a newline at `stop - 1`. `base` is the first column's number in the file, `limit` the number of columns
    that are allowed; with a `mask` other than 0 columns are hashed and masked by it. `ends` and `indptr` hold where the labels and the
    columns of each row end, their first entry 0. Numbers that Python must settle are left in `marks`.
    """
    rows, stored, found, unsure, lines = tally[0], tally[1], tally[2], tally[3], NIL
    largest, tangled, asked = NIL, 0, 0
    room, widest = np.uint64(marks.shape[0]), np.uint64(2 ** (8 * indices.itemsize - 1) - 1)
    reason, fault = DONE, at
    while at < stop and rows < most:
        start, found_before, stored_before, unsure_before = at, found, stored, unsure
        at = skip_blanks(text, at)
        if text[at] == END:
            at += ONE
            lines += ONE
            continue
        if text[at] == HASH:
            at = find_end(text, at) + ONE
            lines += ONE
            continue
        at, found, unsure, reason = read_labels(text, at, labels, found, unsure, marks)
        fault, queries[rows], last, farthest = at, -1, NIL, NIL
        while reason == DONE:
            at = skip_blanks(text, at)
            if text[at] == END or text[at] == HASH:
                break
            fault = at
            if text[at] == QUERY:
                at, number, fits = read_index(text, at + np.uint64(4))
                spelled = text[fault + ONE] == 105 and text[fault + np.uint64(2)] == 100 and text[fault + np.uint64(3)] == COLON
                if not (spelled and fits) or at == fault + np.uint64(4) or not ends_token(text[at]):
                    reason = BAD_QUERY
                queries[rows] = np.int64(number)
                asked = 1
                continue
            at, number, fits = read_index(text, at)
            if at == fault:
                reason = BAD_INDEX
                break
            if text[at] != COLON:
                reason = NO_COLON
                break
            if not fits:
                reason = INDEX_HUGE
                break
            if number < base:
                reason = INDEX_ZERO
                break
            number -= base
            if mask:
                number = scrambled(number) & mask
            if number >= limit:
                reason = BEYOND
                break
            if number > widest:
                reason = WIDE
                break
            at += ONE
            place = at
            at, value, state = read_number(text, at)
            if state >= NO_NUMBER or not (ends_token(text[at]) or text[at] == HASH):
                reason, fault = (NOT_FINITE if state == NO_FINITE else BAD_VALUE), place
                break
            if state == UNSURE:
                if unsure == room:
                    reason = FULL
                    break
                marks[unsure, 0], marks[unsure, 1], marks[unsure, 2], marks[unsure, 3] = VALUE, stored, place, at
                unsure += ONE
                value = 1.0
            farthest = max(farthest, number + ONE)
            if value != 0.0:
                tangled |= number + ONE <= last
                last = number + ONE
                indices[stored], data[stored] = number, value
                stored += ONE
        if reason != DONE:
            at, found, stored, unsure = start, found_before, stored_before, unsure_before
            break
        at = find_end(text, at) + ONE
        lines += ONE
        rows += ONE
        largest = max(largest, farthest)
        ends[rows], indptr[rows] = found, stored
    return at, lines, rows, stored, found, unsure, reason, fault, tangled, asked, largest
