"""Scales and words: round ticks inside, ends where they belong, text that no browser takes for
markup.
"""

import itertools
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.report.page.charts import Measure, method_charts
from tamis.report.page.svg import LETTER, WIDTH, Panel, Scale, spread
from tamis.report.page.words import (
    counted,
    decimals,
    fixed,
    percent,
    safe,
    short,
    size_of_bytes,
    whole,
    without_addresses,
)

NUMBERS = st.floats(-1e9, 1e9).filter(lambda v: v == 0.0 or abs(v) > 1e-9)
SIZES = st.floats(1e-6, 1e9)


@given(st.lists(NUMBERS, min_size=1, max_size=5), st.booleans())
def test_straight_scales(values, zero):
    scale = spread(values, 40.0, 340.0, zero=zero)
    assert scale.low <= min(values) <= max(values) <= scale.high
    assert not zero or scale.low <= 0.0 <= scale.high or min(values) > 0.0
    assert scale(scale.low) == pytest.approx(40.0)
    assert scale(scale.high) == pytest.approx(340.0)
    ticks = scale.ticks()
    slack = 1e-6 * (scale.high - scale.low)
    assert 2 <= len(ticks) <= 7
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)
    assert all(a < b for a, b in itertools.pairwise(ticks))


@given(st.lists(SIZES, min_size=1, max_size=5))
def test_logarithmic_scales(values):
    scale = spread(values, 40.0, 340.0, log=True)
    assert scale.log
    assert scale.low <= min(values) <= max(values) <= scale.high
    middle = math.sqrt(scale.low * scale.high)
    assert scale(middle) == pytest.approx(190.0)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(scale.low * 0.9999 <= tick <= scale.high * 1.0001 for tick in ticks)


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, math.nan], [0.0], [5.0, 5.0]])
@pytest.mark.parametrize("log", [False, True])
def test_scales_of_nothing_and_of_one_value(values, log):
    scale = spread(values, 0.0, 100.0, log=log)
    assert math.isfinite(scale.low)
    assert scale.high > scale.low
    assert len(scale.ticks()) >= 2


def test_a_line_breaks_where_a_value_is_missing():
    panel = Panel("t", "x", "y").axes(Scale(0, 10, 50, 350), Scale(0, 1, 200, 10))
    panel.line([0, 5, 7, 10], [0.0, 0.5, math.nan, 1.0], "accent")
    assert 'd="M50 200L200 105M350 10"' in panel.marks[-1]


def test_words_beside_a_line_stay_inside():
    panel = Panel("t", "x", "y").axes(Scale(0, 10, 50, 350), Scale(0, 1, 200, 10))
    panel.upright(9.9, "a long remark")
    assert 'text-anchor="end"' in panel.marks[-1]
    panel.upright(0.1, "a long remark")
    assert "text-anchor" not in panel.marks[-1]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (whole(1234567), "1,234,567"),
        (whole(None), "–"),
        (whole(math.nan), "–"),
        (fixed(-1234.567, 2), "−1,234.57"),
        (fixed(0.0, 2), "0.00"),
        (fixed(-0.00004, 2), "−4.0e−5"),
        (fixed(None, 2), "–"),
        (percent(0.12345), "12.35 %"),
        (short(2_500_000), "2.5 M"),
        (short(12_000), "12,000"),
        (short(-0.25), "−0.25"),
        (short(1e-5), "1e−5"),
        (size_of_bytes(3 << 20), "3.0 MiB"),
        (size_of_bytes(12), "12 bytes"),
        (counted(1, "class"), "1 class"),
        (counted(1200, "row"), "1,200 rows"),
        (safe('<a href="x">\'&\0'), "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;␀"),
        (safe("abcdef", 4), "abc…"),
        (without_addresses("RandomState(MT19937) at 0x7F00AA"), "RandomState(MT19937)"),
    ],
)
def test_words(said, meant):
    assert said == meant


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([1234.0, 2000.0], 0),
        ([51.1, 49.0], 1),
        ([0.5, 0.51, 1.2], 3),
        ([0.0], 0),
        ([1e-30], 8),
        ([], 0),
    ],
)
def test_decimals_show_three_digits(values, digits):
    assert decimals(values) == digits


def test_a_number_at_the_end_of_the_methods_stays_in_the_frame():
    values = np.array([2.2e-4, 7.6e-4])
    (chart,) = method_charts(["FTRL", "RDA"], [Measure("seconds", values, values, values, True)])
    tree = ElementTree.fromstring(chart)
    ends = [mark for mark in tree.iter("text") if mark.text.startswith("0.000")]
    assert "0.0008" in [mark.text for mark in ends]
    assert all(float(m.get("x")) + 0.6 * LETTER * len(m.text) <= WIDTH + 0.05 for m in ends)
