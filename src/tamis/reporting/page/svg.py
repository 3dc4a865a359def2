"""Charts as SVG text: scales with round ticks, and panels with axes and marks.

Colours come from the style of the page.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.reporting.page.formatting import escape, format_short, text_width, truncate

WIDTH, HEIGHT = 360, 230  # of a panel, in its own pixels
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 12, 40  # margins


class Scale(NamedTuple):
    """A linear or logarithmic map from data to pixels: `low` to `start` and `high` to `stop`."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        position = math.log(max(value, self.low)) if self.log else value
        return self.start + (position - low) / (high - low) * (self.stop - self.start)

    def ticks(self, max_ticks: int = 5) -> list[float]:
        """Return round values inside the scale."""
        if not self.log:
            return _round_steps(self.low, self.high, max_ticks)
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
            inside = [
                factor * 10.0**k
                for k in decades
                for factor in factors
                if self.low <= factor * 10.0**k * 1.000001 <= self.high * 1.000002
            ]
            if len(inside) > 2:
                return inside[:: math.ceil(len(inside) / (max_ticks + 1))]
        return _round_steps(self.low, self.high, max_ticks)


def _round_steps(low: float, high: float, max_ticks: int) -> list[float]:
    """Return multiples of a round step between two values."""
    min_step = (high - low) / max_ticks
    unit = 10.0 ** math.floor(math.log10(min_step))
    factors = (1.0, 2.0, 2.5, 5.0, 10.0)
    step = next(factor * unit for factor in factors if factor * unit >= min_step * 0.999999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def fit_scale(values, start, stop, *, log=False, zero=False, margin=0.04) -> Scale:
    """Return a scale that holds all finite values, with a relative margin at both ends.

    With `zero` it holds 0 too. Its length is never 0, whatever the values.
    """
    values = np.asarray(values, dtype=float).ravel()
    values = values[np.isfinite(values) & ((values > 0.0) | (not log))]
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 2.0)
    if log:
        low, high = (low, high) if high > low * 1.05 else (low / 2.0, high * 2.0)
        factor = (high / low) ** margin
        return Scale(low / factor, high * factor, start, stop, True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(high), abs(low)):
        low, high = low - (0.0 if zero else abs(low) / 2.0 or 1.0), high + (abs(high) / 2.0 or 1.0)
    pad = margin * (high - low)
    return Scale(low - (0.0 if zero and low == 0.0 else pad), high + pad, start, stop)


def format_coordinate(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    text = f"{value:.1f}".removesuffix(".0")
    return text.replace("-0", "0") if abs(value) < 0.05 else text


class Panel:
    """One chart: two axes and the marks between them.

    `axes` sets the scales `x` and `y`; `x_ends` and `y_ends` are the pixels that they fill. Methods
    that draw take values of the data, unless they say pixels; `css_class` is the class of a mark.
    """

    def __init__(
        self,
        title: str,
        x_label: str,
        y_label: str = "",
        *,
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        bottom=BOTTOM,
    ):
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.width, self.height, self.left, self.bottom = width, height, left, bottom
        self.x_ends, self.y_ends = (left, width - RIGHT), (height - bottom, TOP)
        self.marks: list[str] = []

    # ------------------------------------------------------------------ axes
    def axes(self, x: Scale, y: Scale, *, x_text=format_short, y_text=format_short) -> "Panel":
        """Draw ticks, grid and labels; marks drawn later lie above them."""
        y_ticks = [(value, y_text(value)) for value in y.ticks()]
        x = self._widen_left(x, max((text_width(text) for _, text in y_ticks), default=0.0))
        self.x, self.y = x, y
        for value in x.ticks():
            position = format_coordinate(x(value))
            self.marks.append(
                f'<path class="tick" d="M{position} {format_coordinate(y.start)}v4"/>'
            )
            self.text_below(x(value), y.start + 15, x_text(value))
        ends = format_coordinate(x.start), format_coordinate(x.stop)
        for value, text in y_ticks:
            position = format_coordinate(y(value))
            self.marks.append(f'<path class="grid" d="M{ends[0]} {position}H{ends[1]}"/>')
            self.text(x.start - 6, y(value) + 3.6, text, "end")
        self.x_axis()
        if self.y_label:
            middle = (y.start + y.stop) / 2.0
            self.marks.append(
                '<text class="label" text-anchor="middle" transform="translate(11 '
                f'{format_coordinate(middle)}) rotate(-90)">{escape(self.y_label)}</text>'
            )
        return self

    def _widen_left(self, x: Scale, tick_width: float, max_left: float = 110) -> Scale:
        """Return the x scale, moved right if the ticks and label of the y axis need it."""
        left = min(tick_width + 6 + (18 if self.y_label else 2), max_left)
        if left > self.left:
            self.left, self.x_ends = left, (left, self.x_ends[1])
            x = x._replace(start=left)
        return x

    def x_axis(self) -> None:
        """Draw the line of the x axis and its label."""
        self.marks.append(
            f'<path class="axis" d="M{format_coordinate(self.x.start)} '
            f'{format_coordinate(self.y_ends[0])}H{format_coordinate(self.x.stop)}"/>'
        )
        middle = (self.x.start + self.x.stop) / 2.0
        label = truncate(self.x_label, self.width - 4)
        self.text_below(middle, self.height - 6, label, "label")

    # ------------------------------------------------------------------ marks
    def text(
        self, x: float, y: float, text: str, anchor: str = "start", css_class: str = ""
    ) -> None:
        """Draw text at a position in pixels."""
        class_attribute = f' class="{css_class}"' if css_class else ""
        anchor_attribute = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.marks.append(
            f'<text{class_attribute} x="{format_coordinate(x)}" y="{format_coordinate(y)}"'
            f"{anchor_attribute}>{escape(text)}</text>"
        )

    def text_below(self, x: float, y: float, text: str, css_class: str = "") -> None:
        """Draw text centred at a position in pixels, moved so that it stays in the frame."""
        half = text_width(text) / 2.0
        self.text(min(max(x, half), self.width - half), y, text, "middle", css_class)

    def line(self, xs, ys, css_class: str) -> None:
        """Draw a polyline, with a gap where a value is not finite."""
        commands, command = [], "M"
        for x, y in zip(xs, ys, strict=True):
            if not (math.isfinite(x) and math.isfinite(y)):
                command = "M"
                continue
            commands.append(
                f"{command}{format_coordinate(self.x(x))} {format_coordinate(self.y(y))}"
            )
            command = "L"
        self.marks.append(f'<path class="line {css_class}" d="{"".join(commands)}"/>')

    def band(self, xs, low, high) -> None:
        """Fill the area between two lines, where both are finite."""
        finite = [k for k in range(len(xs)) if math.isfinite(low[k]) and math.isfinite(high[k])]
        corners = [(xs[k], low[k]) for k in finite] + [(xs[k], high[k]) for k in finite[::-1]]
        if len(finite) > 1:
            path = "L".join(
                f"{format_coordinate(self.x(x))} {format_coordinate(self.y(y))}" for x, y in corners
            )
            self.marks.append(f'<path class="band" d="M{path}Z"/>')

    def dot(self, x: float, y: float, css_class: str, tip: str = "", radius: float = 2.4) -> None:
        """Draw a point; `tip` is shown beside the pointer."""
        tip_attribute = f' data-tip="{escape(tip)}"' if tip else ""
        self.marks.append(
            f'<circle class="{css_class}" cx="{format_coordinate(self.x(x))}" '
            f'cy="{format_coordinate(self.y(y))}" r="{format_coordinate(radius)}"{tip_attribute}/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        css_class: str,
        tip: str = "",
        opacity: float | None = None,
    ) -> None:
        """Draw a rectangle, in pixels."""
        tip_attribute = f' data-tip="{escape(tip)}"' if tip else ""
        opacity_attribute = "" if opacity is None else f' fill-opacity="{opacity:.2f}"'
        self.marks.append(
            f'<rect class="{css_class}" x="{format_coordinate(x)}" y="{format_coordinate(y)}" '
            f'width="{format_coordinate(width)}" height="{format_coordinate(height)}"'
            f"{opacity_attribute}{tip_attribute}/>"
        )

    def horizontal_line(self, value: float, text: str = "", below: bool = False) -> None:
        """Draw a dashed line at a height, with text above its right end.

        With `below` the text stands below its left end, if there is space.
        """
        height = self.y(value)
        self.marks.append(
            f'<path class="rule" d="M{format_coordinate(self.x.start)} '
            f'{format_coordinate(height)}H{format_coordinate(self.x.stop)}"/>'
        )
        if text and below and height + 16 < self.y.start:
            self.text(self.x.start + 4, height + 12, text, "start", "note")
        elif text:
            self.text(self.x.stop, height - 4, text, "end", "note")

    def vertical_line(self, value: float, text: str = "") -> None:
        """Draw a dashed line at a value of x, with text on the side that has space."""
        position = self.x(value)
        self.marks.append(
            f'<path class="rule" d="M{format_coordinate(position)} '
            f'{format_coordinate(self.y.start)}V{format_coordinate(self.y.stop)}"/>'
        )
        if text:
            fits_right = position + 4 + text_width(text) < self.x.stop
            start, anchor = (position + 4, "start") if fits_right else (position - 4, "end")
            self.text(start, self.y.stop + 8, text, anchor, "note")

    def to_svg(self, magnification: float = 1.12) -> str:
        """Return the chart as an element, magnified where the page has the space."""
        marks = "".join(self.marks)
        width, height = round(magnification * self.width), round(magnification * self.height)
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{escape(self.title)}">{marks}</svg>'
        )
