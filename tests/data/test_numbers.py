"""Numbers in text: bit-equal to Python's float, for a million of them and for the hard ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.data.text.bits import (
    float_of_bits,
    leading_zeros,
    multiply_high,
    trailing_zeros,
    word_at,
)
from tamis.data.text.numbers import AMBIGUOUS, NO_NUMBER, NONFINITE, PARSED, overflows, read_number
from tamis.numerics.numba import compiled

HARD = [
    "0",
    "-0",
    "0.0",
    "00012",
    "5.",
    ".5",
    "-.5e-3",
    "+7",
    "1e22",
    "1e23",
    "8.5e22",
    "9007199254740993",
    "9007199254740992.5",
    "9007199254740993.0",
]
HARD += [
    "1e400",
    "-1e400",
    "1e-400",
    "4.9e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "2.2250738585072011e-308",
    "1e-323",
    "3e-324",
]
HARD += [
    "2.2250738585072014e-308",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "0." + "0" * 30 + "123",
    "0" * 40 + "1.5",
    "1" + "0" * 30,
]
HARD += [
    "123456789012345678",
    "1234567890123456789",
    "12345678901234567890",
    "0.1234567890123456789",
    "1e0000000000000000001",
    "1e-99999999999",
    "1e99999999999",
]


@compiled
def read_all(text, starts, values, states, ends):
    """Read the number at each start."""
    for i in range(starts.shape[0]):
        ends[i], values[i], states[i] = read_number(text, starts[i])


@compiled
def all_overflows(text, starts, large):
    """Store whether the number at each start overflows."""
    for i in range(starts.shape[0]):
        large[i] = overflows(text, starts[i])


def read(words):
    """Return values, states and lengths of numbers, one a line."""
    text = np.frombuffer(("\n".join(words) + 8 * "\n").encode(), np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(text == 10)[:-8] + 1)).astype(np.uint64)
    values, states, ends = (
        np.empty(len(words)),
        np.empty(len(words), np.int64),
        np.empty(len(words), np.uint64),
    )
    read_all(text, starts, values, states, ends)
    return values, states, (ends - starts).astype(int)


def check(words):
    """Check that parsed numbers equal Python's floats; return the fraction left to Python."""
    values, states, lengths = read(words)
    expected = np.array([float(word) for word in words])
    assert set(np.unique(states)) <= {PARSED, AMBIGUOUS, NONFINITE}
    is_exact = states == PARSED
    assert np.array_equal(values[is_exact].view(np.uint64), expected[is_exact].view(np.uint64))
    assert np.array_equal(states == NONFINITE, np.isinf(expected) & (states != AMBIGUOUS))
    assert lengths.tolist() == [len(word) for word in words]
    return float((states == AMBIGUOUS).mean())


def test_a_million_reprs():
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**64, 500_100, dtype=np.uint64).view(float)
    words = [repr(x) for x in bits[np.isfinite(bits)][:490_000].tolist()] + [
        repr(x) for x in random.normal(size=510_000).tolist()
    ]
    assert len(words) == 1_000_000
    assert check(words) == 0.0


def test_any_digits_and_exponents():
    random = np.random.default_rng(1)
    words = [
        f"{x:.{d}g}"
        for x, d in zip(
            random.normal(size=60_000).tolist(), random.integers(1, 25, 60_000), strict=True
        )
    ]
    words += [
        f"{m}e{e}"
        for m, e in zip(
            random.integers(1, 2**63, 60_000).tolist(),
            random.integers(-345, 312, 60_000).tolist(),
            strict=True,
        )
    ]
    words += [
        f"{x:.{d}f}"
        for x, d in zip(
            (random.normal(size=30_000) * 1e3).tolist(), random.integers(0, 12, 30_000), strict=True
        )
    ]
    assert check(words) < 0.2


def test_the_hard_ones():
    check(HARD)


def test_halves_go_to_the_even_one():
    """Numbers exactly between two floats, written out: what rounding is about."""
    random = np.random.default_rng(2)
    words = []
    for mantissa, power in zip(
        random.integers(2**52, 2**53, 4000).tolist(),
        random.integers(-60, 60, 4000).tolist(),
        strict=True,
    ):
        half = 2 * mantissa + 1
        words.append(str(half << power) if power >= 0 else f"{half * 5**-power}e{power}")
    check(words)
    check([word for word in words if len(word.split("e")[0]) <= 19])


def test_numbers_that_python_must_settle_are_finite():
    """`overflows` detects numbers that are too large, to the last digit."""
    edge, random = str(2**1024 - 2**970), np.random.default_rng(3)
    words = [
        edge,
        str(int(edge) - 1),
        "9" * 400,
        "-" + "9" * 400,
        "0." + "0" * 40 + "1" * 30 + "e350",
        "1" + "0" * 200_000 + "e-200000",
    ]
    words += [
        "1" + "0" * 200_000 + "e-199691",
        "0" * 30 + "e400",
        "1" * 25 + "e99999999999999999999",
        "1" * 25 + "e-99999999999999999999",
    ]
    for _ in range(3000):
        digits = list(
            edge if random.random() < 0.5 else "".join(map(str, random.integers(0, 10, 309)))
        )
        digits[int(random.integers(0, 309))] = str(random.integers(0, 10))
        point, length = int(random.integers(0, 20)), int(random.integers(20, 350))
        words.append(
            "0" * int(random.integers(0, 3))
            + "".join(digits[:point])
            + "."
            + "".join(digits[point:length])
            + f"e{307 + random.integers(0, 4) - point}"
        )
    _, states, _ = read(words)
    text = np.frombuffer(("\n".join(words) + 8 * "\n").encode(), np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(text == 10)[:-8] + 1)).astype(np.uint64)
    large = np.empty(len(words), bool)
    all_overflows(text, starts, large)
    infinite = np.array([np.isinf(float(word)) for word in words])
    is_ambiguous = states == AMBIGUOUS
    assert is_ambiguous.sum() > 1000
    assert 100 < infinite[is_ambiguous].sum() < is_ambiguous.sum() - 100
    assert np.array_equal(large[is_ambiguous], infinite[is_ambiguous])


@given(st.text("0123456789.eE+-", min_size=1, max_size=12))
def test_what_float_refuses_is_refused(word):
    (value,), (state,), (length,) = read([word])
    try:
        expected = float(word)
    except ValueError:
        assert state in (NO_NUMBER, NONFINITE) or length < len(word)
        return
    assert length == len(word)
    assert state == NONFINITE if np.isinf(expected) else state == AMBIGUOUS or value == expected


@pytest.mark.parametrize("word", ["nan", "NaN", "-nan", "inf", "Infinity", "-INF", "+inf"])
def test_words_that_are_not_finite(word):
    assert read([word])[1][0] == NONFINITE


def test_the_words_of_64_bits_as_python_has_them():
    @compiled
    def compute(a, b):
        return multiply_high(a, b), leading_zeros(a), float_of_bits(a), trailing_zeros(a)

    for a, b in (
        (1, 2),
        (2**63, 2**63),
        (2**64 - 1, 2**64 - 1),
        (12345678901234567, 98765432109876543),
        (0, 1),
        (1 << 40, 1),
    ):
        a, b = np.uint64(a), np.uint64(b)
        high, zeros, number, after = compute(a, b)
        assert (high, zeros, after) == (multiply_high(a, b), leading_zeros(a), trailing_zeros(a))
        assert (
            np.array([number]).view(np.uint64)[0] == np.array([float_of_bits(a)]).view(np.uint64)[0]
        )


def test_eight_bytes_of_a_text_at_any_place():
    @compiled
    def load_all(text, loaded):
        for k in range(np.uint64(loaded.shape[0])):
            loaded[k] = word_at(text, k)

    text, loaded = np.arange(250, 230, -1).astype(np.uint8), np.empty(12, np.uint64)
    load_all(text, loaded)
    assert loaded.tolist() == [int(word_at(text, k)) for k in range(12)]
    assert loaded[1] == int.from_bytes(bytes(text[1:9]), "little")
