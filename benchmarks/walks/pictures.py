"""Pictures of pages at two widths and in two themes, where a Chromium is there."""

import base64
import sys
from pathlib import Path

from benchmarks.clock import ROOT

SIZES = (1280, 390)
SCHEMES = ("light", "dark")
TALLEST = 16_000  # pixels; a browser draws no taller picture


def photograph(pages: list[Path], place: Path, kind: str) -> list[tuple[str, int, int]]:
    """Write the pictures; of each its name, the width of the screen and that of the page."""
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        from reporting.browser import Browser, find_browser
    finally:
        sys.path.pop(0)
    if not pages or find_browser() is None:
        return []
    place.mkdir(parents=True, exist_ok=True)
    found = []
    with Browser() as tab:
        for page in pages:
            for width in SIZES:
                for scheme in SCHEMES:
                    name = f"{kind}_{page.stem}_{width}_{scheme}.png"
                    tab.open(page.resolve(), width=width, scheme=scheme, mobile=width < 500)
                    wide, tall = tab.ask(
                        "[document.documentElement.scrollWidth, "
                        "document.documentElement.scrollHeight]"
                    )
                    clip = {"x": 0, "y": 0, "width": width, "height": min(tall, TALLEST)}
                    taken = tab.call(
                        "Page.captureScreenshot",
                        captureBeyondViewport=True,
                        clip={**clip, "scale": 1},
                    )
                    (place / name).write_bytes(base64.b64decode(taken["data"]))
                    found.append((name, width, wide))
    return found
