"""Text of a page: numbers, names and widths of text, escaped for HTML."""

import html
import math
import re
import unicodedata
from itertools import accumulate, takewhile

MISSING = "–"
_CONTROLS = (
    {code: chr(0x2400 + code) for code in range(32)}
    | {127: "␡"}
    | dict.fromkeys(range(128, 160), "�")
)
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
# Widths of letters in a chart, in pixels, in the widest common sans-serif font.
_WIDTHS = (
    dict.fromkeys("iljI.,:;'|!/ ", 3.9)
    | dict.fromkeys('frt()[]{}"*', 4.6)
    | dict.fromkeys("MWmw%@−=+<>~", 10.4)
)


def escape(text, limit: int | None = None) -> str:
    """Return text as HTML: markup escaped, control characters visible, cut to `limit` letters."""
    text = str(text).translate(_CONTROLS)
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return html.escape(text, quote=True)


def without_addresses(text: str) -> str:
    """Return a repr without memory addresses, which change from process to process."""
    return _ADDRESS.sub("", text)


def name_element(text, limit: int = 160) -> str:
    """Return a name from the data as an HTML element with its own direction of writing.

    A name longer than `limit` is cut; its title shows 2,000 letters.
    """
    text = str(text)
    title = f' title="{escape(text, 2000)}"' if len(text) > limit else ""
    return f"<bdi{title}>{escape(text, limit)}</bdi>"


# --------------------------------------------------------------------------- widths in a chart
def text_width(text: str) -> float:
    """Return an upper bound of the pixels that text takes in a chart, in any font of a browser."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or not letter.isprintable():
        return 11.6
    return 8.3 if letter.isupper() or ord(letter) > 0x24F else 6.9


def truncate(text: str, pixels: float) -> str:
    """Return text that fits into a number of pixels, cut with an ellipsis if it is too long."""
    if text_width(text) <= pixels:
        return text
    available = pixels - text_width("…")
    fitting = takewhile(lambda width: width <= available, accumulate(map(_letter_width, text)))
    return f"{text[: sum(1 for _ in fitting)]}…"


# --------------------------------------------------------------------------- numbers
def format_count(value) -> str:
    """Return a whole number with separators of thousands."""
    return MISSING if value is None or not math.isfinite(value) else f"{int(value):,}"


def format_fixed(value, digits: int) -> str:
    """Return a number with a fixed number of decimals and a true minus sign.

    A small number that would read as zero is written in powers of ten.
    """
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{value:,.{digits}f}"
    if value != 0.0 and not any(digit in "123456789" for digit in text):
        text = f"{value:.1e}".replace("e-0", "e-")
    return text.replace("-", "−")


def count_decimals(values) -> int:
    """Return the number of decimals that shows three digits of the median of some values."""
    sizes = sorted(abs(v) for v in values if v and math.isfinite(v))
    if not sizes:
        return 0
    return min(max(2 - math.floor(math.log10(sizes[len(sizes) // 2])), 0), 8)


def format_percent(fraction, digits: int = 2) -> str:
    """Return a fraction in percent."""
    is_missing = fraction is None or not math.isfinite(fraction)
    return MISSING if is_missing else f"{format_fixed(100.0 * fraction, digits)} %"


def format_short(value) -> str:
    """Return a number for an axis: few characters, a letter for millions and more."""
    size = abs(value)
    for unit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if size >= unit:
            return f"{value / unit:.4g} {letter}".replace("-", "−")
    if size >= 1000.0:
        return f"{value:,.0f}".replace("-", "−")
    if size and size < 1e-4:
        return f"{value:.0e}".replace("e-0", "e-").replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def format_bytes_binary(count) -> str:
    """Return a number of bytes in GiB, MiB, KiB or bytes."""
    if count is None or not math.isfinite(count):
        return MISSING
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{int(count)} bytes"


def count_noun(number: int, noun: str) -> str:
    """Return a count with its noun: 1 class, 2 classes."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"
