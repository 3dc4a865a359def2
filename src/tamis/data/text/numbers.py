"""Decimal text to float64, bit-equal to ``float``: fast path, wide product, marks for the rest.

With at most 19 digits w and power q, the number is w 10^q = w 5^q 2^q. Where w < 2^53 and |q| <= 22
both factors are exact and one division or product rounds once. Otherwise the upper 128 bits of w
5^q settle the rounding in all but a few cases; those, and texts of more digits, are left to the
caller, who asks Python. Before, `overflows` says whether they are too large, by comparing their
digits with those of the first number that is.

Reference: D. Lemire, "Number Parsing at a Gigabyte per Second", Software: Practice and Experience
51, 2021.
"""

import numpy as np

from tamis.data.text.bits import (
    float_of_bits,
    leading_zeros,
    multiply_high,
    trailing_zeros,
    word_at,
)
from tamis.numerics.numba import helper, inlined

# What became of a number's text.
READ, UNSURE, NO_NUMBER, NO_FINITE = 0, 1, 2, 3

ONE, NIL, TEN = np.uint64(1), np.uint64(0), np.uint64(10)
ZERO, NINE, PLUS, MINUS, POINT = (np.uint8(ord(c)) for c in "09+-.")
LOWER = np.uint8(32)  # the bit that tells a small letter from a capital
EXPONENT, WORD_I, WORD_N = (np.uint8(ord(c)) for c in "ein")
EXACT = np.uint64(1 << 53)
# Powers of ten outside give 0 and infinity whatever 19 digits stand before them.
LEAST, MOST = -342, 308
TENS = 10.0 ** np.arange(23)
WHOLE_TENS = 10 ** np.arange(9, dtype=np.uint64)
# Of eight bytes at once: the zeros of text, what takes a byte above 9 to its upper bit, these bits.
ZEROS, ABOVE, UPPER = (np.uint64(byte * 0x0101010101010101) for byte in (0x30, 0x76, 0x80))
PAIRS = np.uint64(0x000000FF000000FF)
HUNDREDS, UNITS = np.uint64(100 + (1000000 << 32)), np.uint64(1 + (10000 << 32))
HIDDEN, ALL = np.uint64(1 << 52), np.uint64((1 << 64) - 1)
# Digits of the least number that rounds to infinity.
EDGE = np.frombuffer(str(2**1024 - 2**970).encode(), np.uint8)
# Exponents beyond are taken as this one: more than any text has digits.
FARTHEST = np.int64(1 << 40)


def _fives() -> np.ndarray:
    """Upper 128 bits of 5^q from LEAST to MOST, in two words, reciprocals rounded up."""
    words = []
    for q in range(LEAST, MOST + 1):
        if q >= 0:
            power = 5**q
            power = power << 128 >> power.bit_length()
        else:
            divisor = 5**-q
            power = (1 << (127 + divisor.bit_length())) // divisor + 1
        words.append((power >> 64, power & ((1 << 64) - 1)))
    return np.array(words, dtype=np.uint64)


FIVES = _fives()


@inlined
def put(table, row, first, second, third, fourth):
    """Fill a row of a table of four columns, as that of the numbers that Python must settle."""
    table[row, 0], table[row, 1] = first, second
    table[row, 2], table[row, 3] = third, fourth


@helper
def wide_value(digits, power):
    """The float64 nearest to digits * 10^power, digits not 0: (bits, whether they are sure)."""
    if power < LEAST:
        return NIL, True
    if power > MOST:
        return np.uint64(0x7FF << 52), True
    empty = leading_zeros(digits)
    word, row = digits << empty, power - LEAST
    upper, lower = multiply_high(word, FIVES[row, 0]), word * FIVES[row, 0]
    # The second word of 5^q may carry into what is kept.
    if upper & np.uint64(511) == np.uint64(511):
        more = multiply_high(word, FIVES[row, 1])
        lower += more
        upper += ONE if lower < more else NIL
        if lower == ALL and (power < -27 or power > 55):
            return NIL, False
    top = upper >> np.uint64(63)
    shift = top + np.uint64(9)
    kept = upper >> shift  # 54 bits: one more than a float64 holds, to round by
    place = np.int64((217706 * power) >> 16) + 63 + np.int64(top) - np.int64(empty) + 1023
    if place <= 0:  # below the normal numbers
        if place < -62:
            return NIL, True
        kept >>= np.uint64(1 - place)
        kept = (kept + (kept & ONE)) >> ONE
        return kept, True  # a carry into the 53rd bit is the smallest normal number
    # Halfway between two: only these powers divide without a rest. To the even one.
    if lower <= ONE and -4 <= power <= 23 and kept & np.uint64(3) == ONE and kept << shift == upper:
        kept &= ~ONE
    kept = (kept + (kept & ONE)) >> ONE
    if kept >> np.uint64(53):
        kept >>= ONE
        place += 1
    if place >= 0x7FF:
        return np.uint64(0x7FF << 52), True
    return (kept & ~HIDDEN) | (np.uint64(place) << np.uint64(52)), True


@inlined
def far_value(digits, power, count, negative):
    """Value and state beyond the exact fast path; `count` digits, leading zeros left out."""
    if digits == NIL and count <= 19:
        return (-0.0 if negative else 0.0), READ
    if count > 19:
        return 0.0, UNSURE
    bits, sure = wide_value(digits, power)
    if not sure:
        return 0.0, UNSURE
    value = float_of_bits(bits)
    return (-value if negative else value), (
        NO_FINITE if bits >> np.uint64(52) == np.uint64(0x7FF) else READ
    )


@inlined
def read_digits(text, at, digits):
    """Digits from `at` on, eight bytes at a time, after the number `digits`: (place after them,
    number). Numbers beyond 64 bits wrap around.
    """
    while True:
        figures = word_at(text, at) ^ ZEROS
        others = ((figures + ABOVE) | figures) & UPPER
        if others:
            count = trailing_zeros(others) >> np.uint64(3)
            # Digits of fewer than eight go up, zeros before them; in two steps, for none of them.
            figures = (figures << ((np.uint64(7) - count) << np.uint64(3))) << np.uint64(8)
        else:
            count = np.uint64(8)
        figures = figures * TEN + (figures >> np.uint64(8))
        low = (figures & PAIRS) * HUNDREDS
        high = ((figures >> np.uint64(16)) & PAIRS) * UNITS
        digits = digits * WHOLE_TENS[count] + ((low + high) >> np.uint64(32))
        at += count
        if others:
            return at, digits


@inlined
def skip_zeros(text, at):
    """Number of zeros, and a point among them, that a number begins with: (zeros, )."""
    zeros = 0
    while text[at] == ZERO or text[at] == POINT:
        zeros += text[at] == ZERO
        at += ONE
    return zeros


@inlined
def read_exponent(text, at):
    """The exponent whose `e` stands at `at`: (place after it, exponent, whether there is one)."""
    at += ONE
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += ONE
    first, exponent = at, np.int64(0)
    while text[at] - ZERO <= 9:
        exponent = min(10 * exponent + np.int64(text[at] - ZERO), FARTHEST)
        at += ONE
    return at, (-exponent if negative else exponent), at > first


@helper
def overflows(text, at):
    """Whether the number at `at`, which `read_number` was unsure of, is more than a float64 holds.

    Apart from it, to keep that one short.
    """
    while text[at] == MINUS or text[at] == PLUS or text[at] == ZERO:
        at += ONE
    first, whole, before = at, True, 0  # `before`: digits before the point, less the zeros after it
    while text[at] - ZERO <= 9 or text[at] == POINT:
        whole = whole and text[at] != POINT
        before += whole
        at += ONE
    stop = at
    if text[at] | LOWER == EXPONENT:
        before += read_exponent(text, at)[1]
    if text[first] == POINT:
        first += ONE
        while text[first] == ZERO:
            first, before = first + ONE, before - 1
    if first == stop or before != EDGE.shape[0]:
        return first < stop and before > EDGE.shape[0]
    for k in range(EDGE.shape[0]):
        if first < stop and text[first] == POINT:
            first += ONE
        figure = text[first] if first < stop else ZERO
        if figure != EDGE[k]:
            return figure > EDGE[k]
        first += ONE
    return True


@inlined
def read_number(text, at):
    """The decimal number at `at`: (place after it, value, what became of it).

    Text must hold a byte that is no part of one after it, and seven more of any kind.
    """
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += ONE
    first, digits = at, NIL
    figure = np.uint64(text[at]) - np.uint64(48)
    while figure < TEN:
        digits = digits * TEN + figure
        at += ONE
        figure = np.uint64(text[at]) - np.uint64(48)
    count, power = np.int64(at - first), np.int64(0)
    if text[at] == POINT:
        at += ONE
        start = at
        at, digits = read_digits(text, at, digits)
        power = -np.int64(at - start)
        count -= power
    if count == 0:
        word = text[at] | LOWER
        return at, 0.0, NO_FINITE if word == WORD_I or word == WORD_N else NO_NUMBER
    if text[at] | LOWER == EXPONENT:
        at, exponent, there = read_exponent(text, at)
        if not there:
            return at, 0.0, NO_NUMBER
        power += exponent
    if count <= 19 and digits < EXACT and -22 <= power <= 22:
        value = np.float64(digits)
        value = value / TENS[-power] if power < 0 else value * TENS[power]
        return at, (-value if negative else value), READ
    if count > 19:
        count -= skip_zeros(text, first)
    value, state = far_value(digits, power, count, negative)
    return at, value, state
