"""Text for a page: numbers with their marks, names made safe, nothing that a browser could take for
markup.
"""

import html
import math
import re
import unicodedata
from itertools import accumulate, takewhile

NOTHING = "–"
_CONTROLS = (
    {code: chr(0x2400 + code) for code in range(32)}
    | {127: "␡"}
    | dict.fromkeys(range(128, 160), "�")
)
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
# Widths in a chart, in pixels, of the widest common font without serifs; others take less.
_WIDTHS = (
    dict.fromkeys("iljI.,:;'|!/ ", 3.9)
    | dict.fromkeys('frt()[]{}"*', 4.6)
    | dict.fromkeys("MWmw%@−=+<>~", 10.4)
)
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"))


def safe(text, limit: int | None = None) -> str:
    """Any text as HTML: controls made visible, markup escaped, cut where a limit is given."""
    text = str(text).translate(_CONTROLS)
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return html.escape(text, quote=True)


def without_addresses(text: str) -> str:
    """A repr without places in memory, which change from process to process."""
    return _ADDRESS.sub("", text)


def name_span(text, limit: int = 160) -> str:
    """A name that comes from data: its own direction of writing, cut if long, whole in the tip."""
    text = str(text)
    title = f' title="{safe(text, 2000)}"' if len(text) > limit else ""
    return f"<bdi{title}>{safe(text, limit)}</bdi>"


# --------------------------------------------------------------------------- room in a chart
def room(text: str) -> float:
    """Pixels that words take at most in a chart, whatever font a browser has for them."""
    return sum(map(_width, text))


def _width(letter: str) -> float:
    """Pixels of a letter."""
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or not letter.isprintable():
        return 11.6
    return 8.3 if letter.isupper() or ord(letter) > 0x24F else 6.9


def cut_to(text: str, pixels: float) -> str:
    """The first letters of words that are too long for a place, and a mark that they go on."""
    if room(text) <= pixels:
        return text
    left = pixels - room("…")
    fitting = takewhile(lambda total: total <= left, accumulate(map(_width, text)))
    return f"{text[: sum(1 for _ in fitting)]}…"


# --------------------------------------------------------------------------- numbers
def whole(value) -> str:
    """A count with marks at the thousands."""
    return NOTHING if value is None or not math.isfinite(value) else f"{int(value):,}"


def fixed(value, digits: int) -> str:
    """A number with so many decimals and a true minus; a small one that would read as zero in
    powers of ten.
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    text = f"{value:,.{digits}f}"
    if value != 0.0 and not any(mark in "123456789" for mark in text):
        text = f"{value:.1e}".replace("e-0", "e-")
    return text.replace("-", "−")


def decimals(values) -> int:
    """Decimals that show three digits of a middling value of these."""
    sizes = sorted(abs(v) for v in values if v and math.isfinite(v))
    if not sizes:
        return 0
    return min(max(2 - math.floor(math.log10(sizes[len(sizes) // 2])), 0), 8)


def percent(share, digits: int = 2) -> str:
    """A share in percent."""
    missing = share is None or not math.isfinite(share)
    return NOTHING if missing else f"{fixed(100.0 * share, digits)} %"


def short(value) -> str:
    """A number for an axis: few signs, millions as letters."""
    size = abs(value)
    for unit, letter in _LARGE:
        if size >= unit:
            return f"{value / unit:.4g} {letter}".replace("-", "−")
    if size >= 1000.0:
        return f"{value:,.0f}".replace("-", "−")
    if size and size < 1e-4:
        return f"{value:.0e}".replace("e-0", "e-").replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def size_of_bytes(count) -> str:
    """Bytes in the unit that suits them."""
    if count is None or not math.isfinite(count):
        return NOTHING
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{int(count)} bytes"


def counted(number: int, thing: str) -> str:
    """A count with its noun: 1 class, 2 classes."""
    plural = thing + ("es" if thing.endswith("s") else "s")
    return f"{number:,} {thing if number == 1 else plural}"
