"""Parse decimal text to float64, bit-equal to ``float``, by the Eisel-Lemire algorithm.

With at most 19 digits w and power q, the number is w 10^q = w 5^q 2^q. Where w < 2^53 and |q| <= 22
both factors are exact and one division or product rounds once. Otherwise the upper 128 bits of w
5^q decide the rounding in all but a few cases. Those cases, and numbers of more than 19 digits, are
AMBIGUOUS: the caller passes their text to Python's ``float``. Before that, `overflows` compares
their digits with those of the smallest number that rounds to infinity.

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
from tamis.numerics.numba import compiled_helper, force_inlined

# State of a parsed number. The caller passes the text of an AMBIGUOUS one to Python's `float`.
PARSED, AMBIGUOUS, NO_NUMBER, NONFINITE = 0, 1, 2, 3

ONE, ZERO64, TEN = np.uint64(1), np.uint64(0), np.uint64(10)
ZERO, PLUS, MINUS, POINT = (np.uint8(ord(c)) for c in "0+-.")
LOWER_CASE_BIT = np.uint8(32)  # set in lower case letters, not in capitals
LETTER_E, LETTER_I, LETTER_N = (np.uint8(ord(c)) for c in "ein")
MAX_EXACT = np.uint64(1 << 53)  # integers below are exact as float64
# Powers of ten below give 0, and above infinity, for any 19 digits.
MIN_POWER, MAX_POWER = -342, 308
POWERS_OF_TEN = 10.0 ** np.arange(23)
INTEGER_POWERS_OF_TEN = 10 ** np.arange(9, dtype=np.uint64)
# For eight bytes at once: the character "0", the addend that sets the high bit of a byte above 9,
# and the high bits.
ZERO_BYTES, DIGIT_CARRY, HIGH_BITS = (
    np.uint64(byte * 0x0101010101010101) for byte in (0x30, 0x76, 0x80)
)
# Weights that combine pairs of digits into one number of eight digits.
PAIR_MASK = np.uint64(0x000000FF000000FF)
HIGH_PAIR_WEIGHTS, LOW_PAIR_WEIGHTS = np.uint64(100 + (1000000 << 32)), np.uint64(1 + (10000 << 32))
HIDDEN_BIT, ALL_ONES = np.uint64(1 << 52), np.uint64((1 << 64) - 1)
# Digits of the smallest number that rounds to infinity.
OVERFLOW_DIGITS = np.frombuffer(str(2**1024 - 2**970).encode(), np.uint8)
# Larger exponents count as this one, which exceeds the number of digits of any text.
MAX_EXPONENT = np.int64(1 << 40)


def _powers_of_five() -> np.ndarray:
    """Return the upper 128 bits of 5^q for all powers, as two words; reciprocals are rounded up."""
    rows = []
    for q in range(MIN_POWER, MAX_POWER + 1):
        if q >= 0:
            power = 5**q
            power = power << 128 >> power.bit_length()
        else:
            divisor = 5**-q
            power = (1 << (127 + divisor.bit_length())) // divisor + 1
        rows.append((power >> 64, power & ((1 << 64) - 1)))
    return np.array(rows, dtype=np.uint64)


POWERS_OF_FIVE = _powers_of_five()


@force_inlined
def set_row(table, row, first, second, third, fourth):
    """Write a row of a table of four columns."""
    table[row, 0], table[row, 1] = first, second
    table[row, 2], table[row, 3] = third, fourth


@compiled_helper
def eisel_lemire(digits, power):
    """Return the float64 nearest to digits * 10^power, digits not 0, as (bits, is_exact)."""
    if power < MIN_POWER:
        return ZERO64, True
    if power > MAX_POWER:
        return np.uint64(0x7FF << 52), True
    n_leading_zeros = leading_zeros(digits)
    word, row = digits << n_leading_zeros, power - MIN_POWER
    upper, lower = multiply_high(word, POWERS_OF_FIVE[row, 0]), word * POWERS_OF_FIVE[row, 0]
    # The second word of 5^q may carry into the mantissa.
    if upper & np.uint64(511) == np.uint64(511):
        product = multiply_high(word, POWERS_OF_FIVE[row, 1])
        lower += product
        upper += ONE if lower < product else ZERO64
        if lower == ALL_ONES and (power < -27 or power > 55):
            return ZERO64, False
    upper_bit = upper >> np.uint64(63)
    shift = upper_bit + np.uint64(9)
    mantissa = upper >> shift  # 54 bits: one more than a float64 holds, for rounding
    exponent = (
        np.int64((217706 * power) >> 16)
        + 63
        + np.int64(upper_bit)
        - np.int64(n_leading_zeros)
        + 1023
    )
    if exponent <= 0:  # subnormal
        if exponent < -62:
            return ZERO64, True
        mantissa >>= np.uint64(1 - exponent)
        mantissa = (mantissa + (mantissa & ONE)) >> ONE
        return mantissa, True  # a carry into the 53rd bit is the smallest normal number
    # Halfway between two floats, which only these powers can be: round to even.
    if (
        lower <= ONE
        and -4 <= power <= 23
        and mantissa & np.uint64(3) == ONE
        and mantissa << shift == upper
    ):
        mantissa &= ~ONE
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    if mantissa >> np.uint64(53):
        mantissa >>= ONE
        exponent += 1
    if exponent >= 0x7FF:
        return np.uint64(0x7FF << 52), True
    return (mantissa & ~HIDDEN_BIT) | (np.uint64(exponent) << np.uint64(52)), True


@force_inlined
def value_beyond_fast_path(digits, power, n_digits, negative):
    """Value and state beyond the exact fast path; `n_digits` digits, leading zeros left out."""
    if digits == ZERO64 and n_digits <= 19:
        return (-0.0 if negative else 0.0), PARSED
    if n_digits > 19:
        return 0.0, AMBIGUOUS
    bits, is_exact = eisel_lemire(digits, power)
    if not is_exact:
        return 0.0, AMBIGUOUS
    value = float_of_bits(bits)
    return (-value if negative else value), (
        NONFINITE if bits >> np.uint64(52) == np.uint64(0x7FF) else PARSED
    )


@force_inlined
def read_digits(text, pos, digits):
    """Read digits from `pos` on, eight bytes at a time, after the number `digits`: (end, number).

    Numbers beyond 64 bits wrap around.
    """
    while True:
        byte_values = word_at(text, pos) ^ ZERO_BYTES
        non_digits = ((byte_values + DIGIT_CARRY) | byte_values) & HIGH_BITS
        if non_digits:
            n_digits = trailing_zeros(non_digits) >> np.uint64(3)
            # Shift fewer than eight digits up, behind zeros; in two steps, as a shift by 64 is
            # undefined.
            byte_values = (byte_values << ((np.uint64(7) - n_digits) << np.uint64(3))) << np.uint64(
                8
            )
        else:
            n_digits = np.uint64(8)
        byte_values = byte_values * TEN + (byte_values >> np.uint64(8))
        low = (byte_values & PAIR_MASK) * HIGH_PAIR_WEIGHTS
        high = ((byte_values >> np.uint64(16)) & PAIR_MASK) * LOW_PAIR_WEIGHTS
        digits = digits * INTEGER_POWERS_OF_TEN[n_digits] + ((low + high) >> np.uint64(32))
        pos += n_digits
        if non_digits:
            return pos, digits


@force_inlined
def skip_zeros(text, pos):
    """Return the number of leading zeros of a number; a point among them does not count."""
    n_zeros = 0
    while text[pos] == ZERO or text[pos] == POINT:
        n_zeros += text[pos] == ZERO
        pos += ONE
    return n_zeros


@force_inlined
def read_exponent(text, pos):
    """Read the exponent whose `e` is at `pos`: (end, exponent, whether it has digits)."""
    pos += ONE
    negative = text[pos] == MINUS
    if negative or text[pos] == PLUS:
        pos += ONE
    first, exponent = pos, np.int64(0)
    while text[pos] - ZERO <= 9:
        exponent = min(10 * exponent + np.int64(text[pos] - ZERO), MAX_EXPONENT)
        pos += ONE
    return pos, (-exponent if negative else exponent), pos > first


@compiled_helper
def overflows(text, pos):
    """Return whether the number at `pos`, AMBIGUOUS to `read_number`, overflows a float64.

    A function of its own, to keep `read_number` short.
    """
    while text[pos] == MINUS or text[pos] == PLUS or text[pos] == ZERO:
        pos += ONE
    # `n_integer_digits`: digits before the point, or less the zeros right after it.
    first, in_integer_part, n_integer_digits = pos, True, 0
    while text[pos] - ZERO <= 9 or text[pos] == POINT:
        in_integer_part = in_integer_part and text[pos] != POINT
        n_integer_digits += in_integer_part
        pos += ONE
    stop = pos
    if text[pos] | LOWER_CASE_BIT == LETTER_E:
        n_integer_digits += read_exponent(text, pos)[1]
    if text[first] == POINT:
        first += ONE
        while text[first] == ZERO:
            first, n_integer_digits = first + ONE, n_integer_digits - 1
    if first == stop or n_integer_digits != OVERFLOW_DIGITS.shape[0]:
        return first < stop and n_integer_digits > OVERFLOW_DIGITS.shape[0]
    for k in range(OVERFLOW_DIGITS.shape[0]):
        if first < stop and text[first] == POINT:
            first += ONE
        digit = text[first] if first < stop else ZERO
        if digit != OVERFLOW_DIGITS[k]:
            return digit > OVERFLOW_DIGITS[k]
        first += ONE
    return True


@force_inlined
def read_number(text, pos):
    """Read the decimal number at `pos`: (end, value, state).

    After the number the text must hold a byte that cannot belong to one, and seven more bytes.
    """
    negative = text[pos] == MINUS
    if negative or text[pos] == PLUS:
        pos += ONE
    first, digits = pos, ZERO64
    digit = np.uint64(text[pos]) - np.uint64(48)
    while digit < TEN:
        digits = digits * TEN + digit
        pos += ONE
        digit = np.uint64(text[pos]) - np.uint64(48)
    n_digits, power = np.int64(pos - first), np.int64(0)
    if text[pos] == POINT:
        pos += ONE
        fraction_start = pos
        pos, digits = read_digits(text, pos, digits)
        power = -np.int64(pos - fraction_start)
        n_digits -= power
    if n_digits == 0:
        letter = text[pos] | LOWER_CASE_BIT
        return pos, 0.0, NONFINITE if letter == LETTER_I or letter == LETTER_N else NO_NUMBER
    if text[pos] | LOWER_CASE_BIT == LETTER_E:
        pos, exponent, has_exponent = read_exponent(text, pos)
        if not has_exponent:
            return pos, 0.0, NO_NUMBER
        power += exponent
    if n_digits <= 19 and digits < MAX_EXACT and -22 <= power <= 22:
        value = np.float64(digits)
        value = value / POWERS_OF_TEN[-power] if power < 0 else value * POWERS_OF_TEN[power]
        return pos, (-value if negative else value), PARSED
    if n_digits > 19:
        n_digits -= skip_zeros(text, first)
    value, state = value_beyond_fast_path(digits, power, n_digits, negative)
    return pos, value, state
