"""Charts as SVG text: scales with round ticks, and panels that marks are put on.

Colours come from the page's style.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis.reporting.page.formatting import cut_to, room, safe, short

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 12, 40
GROWN = 1.12  # how much larger a chart is on paper than in its own pixels, where there is room
MOST_LEFT = 110  # pixels that numbers beside an axis may take


class Scale(NamedTuple):
    """From data to pixels, straight or logarithmic."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        place = math.log(max(value, self.low)) if self.log else value
        return self.start + (place - low) / (high - low) * (self.stop - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values inside the scale."""
        if not self.log:
            return _round_steps(self.low, self.high, most)
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for parts in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
            inside = [
                part * 10.0**k
                for k in decades
                for part in parts
                if self.low <= part * 10.0**k * 1.000001 <= self.high * 1.000002
            ]
            if len(inside) > 2:
                return inside[:: math.ceil(len(inside) / (most + 1))]
        return _round_steps(self.low, self.high, most)


def _round_steps(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(m * unit for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * unit >= rough * 0.999999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def spread(values, start, stop, *, log=False, zero=False, pad=0.04) -> Scale:
    """A scale around finite values, with some air; from 0 on where `zero`; never of length 0."""
    values = np.asarray(values, dtype=float).ravel()
    values = values[np.isfinite(values) & ((values > 0.0) | (not log))]
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 2.0)
    if log:
        low, high = (low, high) if high > low * 1.05 else (low / 2.0, high * 2.0)
        air = (high / low) ** pad
        return Scale(low / air, high * air, start, stop, True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(high), abs(low)):
        low, high = low - (0.0 if zero else abs(low) / 2.0 or 1.0), high + (abs(high) / 2.0 or 1.0)
    air = pad * (high - low)
    return Scale(low - (0.0 if zero and low == 0.0 else air), high + air, start, stop)


def point(value: float) -> str:
    """A coordinate, short."""
    text = f"{value:.1f}".removesuffix(".0")
    return text.replace("-0", "0") if abs(value) < 0.05 else text


class Panel:
    """One chart: two axes and what is drawn between them."""

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
    def axes(self, x: Scale, y: Scale, *, x_text=short, y_text=short) -> "Panel":
        """Ticks, grid and labels; marks put on later lie above them."""
        beside = [(value, y_text(value)) for value in y.ticks()]
        x = self._make_room(x, max((room(words) for _, words in beside), default=0.0))
        self.x, self.y = x, y
        for value in x.ticks():
            at = point(x(value))
            self.marks.append(f'<path class="tick" d="M{at} {point(y.start)}v4"/>')
            self.foot(x(value), y.start + 15, x_text(value))
        for value, words in beside:
            at = point(y(value))
            self.marks.append(f'<path class="grid" d="M{point(x.start)} {at}H{point(x.stop)}"/>')
            self.text(x.start - 6, y(value) + 3.6, words, "end")
        self.base()
        if self.y_label:
            middle = (y.start + y.stop) / 2.0
            self.marks.append(
                '<text class="label" text-anchor="middle" transform="translate(11 '
                f'{point(middle)}) rotate(-90)">{safe(self.y_label)}</text>'
            )
        return self

    def _make_room(self, x: Scale, widest: float) -> Scale:
        """Begin further right where the numbers beside the axis, or what they measure, need it."""
        left = min(widest + 6 + (18 if self.y_label else 2), MOST_LEFT)
        if left > self.left:
            self.left, self.x_ends = left, (left, self.x_ends[1])
            x = x._replace(start=left)
        return x

    def base(self) -> None:
        """The line below, and what it measures."""
        self.marks.append(
            f'<path class="axis" d="M{point(self.x.start)} '
            f'{point(self.y_ends[0])}H{point(self.x.stop)}"/>'
        )
        self.foot(
            (self.x.start + self.x.stop) / 2.0,
            self.height - 6,
            cut_to(self.x_label, self.width - 4),
            "label",
        )

    # ------------------------------------------------------------------ marks
    def text(self, x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> None:
        """Words at a place."""
        named = f' class="{kind}"' if kind else ""
        aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.marks.append(
            f'<text{named} x="{point(x)}" y="{point(y)}"{aligned}>{safe(words)}</text>'
        )

    def foot(self, x: float, y: float, words: str, kind: str = "") -> None:
        """Words centred below a place; long ones near an end stay inside the frame."""
        half = room(words) / 2.0
        self.text(min(max(x, half), self.width - half), y, words, "middle", kind)

    def line(self, xs, ys, kind: str) -> None:
        """A broken line; a gap where a value is missing."""
        parts, pen = [], "M"
        for x, y in zip(xs, ys, strict=True):
            if not (math.isfinite(x) and math.isfinite(y)):
                pen = "M"
                continue
            parts.append(f"{pen}{point(self.x(x))} {point(self.y(y))}")
            pen = "L"
        self.marks.append(f'<path class="line {kind}" d="{"".join(parts)}"/>')

    def band(self, xs, low, high) -> None:
        """What lies between two lines; places where one is missing are left out."""
        there = [k for k in range(len(xs)) if math.isfinite(low[k]) and math.isfinite(high[k])]
        corners = [(xs[k], low[k]) for k in there] + [(xs[k], high[k]) for k in there[::-1]]
        if len(there) > 1:
            places = "L".join(f"{point(self.x(x))} {point(self.y(y))}" for x, y in corners)
            self.marks.append(f'<path class="band" d="M{places}Z"/>')

    def dot(self, x: float, y: float, kind: str, tip: str = "", radius: float = 2.4) -> None:
        """A point with words for those who ask."""
        said = f' data-tip="{safe(tip)}"' if tip else ""
        self.marks.append(
            f'<circle class="{kind}" cx="{point(self.x(x))}" cy="{point(self.y(y))}" '
            f'r="{point(radius)}"{said}/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        kind: str,
        tip: str = "",
        opacity: float | None = None,
    ) -> None:
        """A rectangle, in pixels."""
        said = f' data-tip="{safe(tip)}"' if tip else ""
        faint = "" if opacity is None else f' fill-opacity="{opacity:.2f}"'
        self.marks.append(
            f'<rect class="{kind}" x="{point(x)}" y="{point(y)}" width="{point(width)}" '
            f'height="{point(height)}"{faint}{said}/>'
        )

    def across(self, value: float, words: str = "", low: bool = False) -> None:
        """A dashed line at a height, with a word above its right end or, where it is to stay `low`,
        below its left one.
        """
        at = self.y(value)
        self.marks.append(
            f'<path class="rule" d="M{point(self.x.start)} {point(at)}H{point(self.x.stop)}"/>'
        )
        if words and low and at + 16 < self.y.start:
            self.text(self.x.start + 4, at + 12, words, "start", "note")
        elif words:
            self.text(self.x.stop, at - 4, words, "end", "note")

    def upright(self, value: float, words: str = "") -> None:
        """A dashed line at a place, with a word on the side where there is room."""
        at = self.x(value)
        self.marks.append(
            f'<path class="rule" d="M{point(at)} {point(self.y.start)}V{point(self.y.stop)}"/>'
        )
        if words:
            fits = at + 4 + room(words) < self.x.stop
            place, anchor = (at + 4, "start") if fits else (at - 4, "end")
            self.text(place, self.y.stop + 8, words, anchor, "note")

    def svg(self) -> str:
        """The chart as an element."""
        inside = "".join(self.marks)
        size = f'width="{round(GROWN * self.width)}" height="{round(GROWN * self.height)}"'
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" {size} role="img" '
            f'aria-label="{safe(self.title)}">{inside}</svg>'
        )
