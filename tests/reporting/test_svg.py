"""Scales, charts and formatted text: round ticks, text inside of the frame, escaped markup."""

import itertools
import math
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.reporting.evaluation.figures import confusion_chart
from tamis.reporting.page.charts import MethodMeasure, label_chart, method_charts
from tamis.reporting.page.formatting import (
    count_decimals,
    count_noun,
    escape,
    format_bytes_binary,
    format_count,
    format_fixed,
    format_percent,
    format_short,
    text_width,
    truncate,
    without_addresses,
)
from tamis.reporting.page.svg import Panel, Scale, fit_scale

NUMBERS = st.floats(-1e9, 1e9).filter(lambda v: v == 0.0 or abs(v) > 1e-9)
SIZES = st.floats(1e-6, 1e9)


@given(st.lists(NUMBERS, min_size=1, max_size=5), st.booleans())
def test_straight_scales(values, zero):
    scale = fit_scale(values, 40.0, 340.0, zero=zero)
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
    scale = fit_scale(values, 40.0, 340.0, log=True)
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
    scale = fit_scale(values, 0.0, 100.0, log=log)
    assert math.isfinite(scale.low)
    assert scale.high > scale.low
    assert len(scale.ticks()) >= 2


def test_a_line_breaks_where_a_value_is_missing():
    panel = Panel("t", "x", "y").axes(Scale(0, 10, 50, 350), Scale(0, 1, 200, 10))
    panel.line([0, 5, 7, 10], [0.0, 0.5, math.nan, 1.0], "accent")
    assert 'd="M50 200L200 105M350 10"' in panel.marks[-1]


def test_words_beside_a_line_stay_inside():
    panel = Panel("t", "x", "y").axes(Scale(0, 10, 50, 350), Scale(0, 1, 200, 10))
    panel.vertical_line(9.9, "a long remark")
    assert 'text-anchor="end"' in panel.marks[-1]
    panel.vertical_line(0.1, "a long remark")
    assert "text-anchor" not in panel.marks[-1]


@pytest.mark.parametrize(
    ("formatted", "expected"),
    [
        (format_count(1234567), "1,234,567"),
        (format_count(None), "–"),
        (format_count(math.nan), "–"),
        (format_fixed(-1234.567, 2), "−1,234.57"),
        (format_fixed(0.0, 2), "0.00"),
        (format_fixed(-0.00004, 2), "−4.0e−5"),
        (format_fixed(None, 2), "–"),
        (format_percent(0.12345), "12.35 %"),
        (format_short(2_500_000), "2.5 M"),
        (format_short(12_000), "12,000"),
        (format_short(-0.25), "−0.25"),
        (format_short(1e-5), "1e−5"),
        (format_bytes_binary(3 << 20), "3.0 MiB"),
        (format_bytes_binary(12), "12 bytes"),
        (count_noun(1, "class"), "1 class"),
        (count_noun(1200, "row"), "1,200 rows"),
        (escape('<a href="x">\'&\0'), "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;␀"),
        (escape("abcdef", 4), "abc…"),
        (without_addresses("RandomState(MT19937) at 0x7F00AA"), "RandomState(MT19937)"),
    ],
)
def test_formatted_text(formatted, expected):
    assert formatted == expected


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
    assert count_decimals(values) == digits


def text_extents(chart):
    """Yield the texts of a chart, their left and right ends at most, and the width of the chart."""
    tree = ElementTree.fromstring(chart)
    width = float(tree.get("viewBox").split()[2])
    for mark in tree.iter("text"):
        if mark.get("transform") is None:
            fraction = {"middle": 0.5, "end": 1.0}.get(mark.get("text-anchor"), 0.0)
            left = float(mark.get("x")) - fraction * text_width(mark.text)
            yield mark.text, left, left + text_width(mark.text), width


VALUES = st.lists(st.floats(1e-9, 1e14), min_size=2, max_size=4)
WORDS = st.text(st.sampled_from("MWil m日é_%0"), min_size=1, max_size=30)


@given(VALUES, st.booleans(), WORDS)
def test_words_stay_in_the_frame_whatever_is_measured(values, log, name):
    """Whatever the values are, and whatever the methods are called."""
    values = np.array(values)
    names = [name, "FTRL", "RDA", "sieve"][: len(values)]
    charts = method_charts(names, [MethodMeasure("seconds", values, values / 2, values * 2, log)])
    charts.append(label_chart([(label, int(v)) for label, v in zip(names, values, strict=True)]))
    panel = Panel(name, name, name)
    panel.axes(fit_scale(values, *panel.x_ends, log=log), fit_scale(-values, *panel.y_ends))
    panel.vertical_line(values[0], name[:12])
    rows = np.repeat(names, 1000)
    evidence = SimpleNamespace(y=rows, predictions=rows[::-1])
    for chart in (*charts, panel.to_svg(), confusion_chart(evidence)):
        for text, left, right, width in text_extents(chart):
            assert left > -0.1, text
            assert right < width + 0.1, text


def test_words_are_cut_where_they_do_not_fit():
    assert truncate("short", 100) == "short"
    assert truncate("M" * 40, 60) == "MMMM…"
    assert text_width(truncate("日本語" * 9, 50)) <= 50
    assert truncate("x" * 1_000_000, 60) == truncate("x" * 40, 60)  # in a moment


def test_numbers_beside_an_axis_have_room():
    panel = Panel("", "", "error").axes(Scale(0, 1, 50, 346), Scale(1e-4, 5e-4, 190, 12))
    assert panel.x_ends[0] == panel.x.start > 50
    assert panel.x(1) == pytest.approx(346)
