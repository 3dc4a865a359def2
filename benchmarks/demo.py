"""The demo's times: ``tamis demo`` as a process of its own, with nothing compiled and with all
compiled, and what it shows.
"""

import json
import tempfile
from pathlib import Path

from benchmarks.clock import fresh
from benchmarks.pages import Page, Table

ROUNDS = 3
CODE = """
import sys
sys.argv = ["tamis", "demo", "--json", "--report", {page!r}]
from tamis.cli.main import main
sys.exit(main())
"""
OPENING = """
    `tamis demo`: made documents of 20,000 words, four methods compared by cross-validation, a
    sieve, and its page. The first run of a fresh installation compiles what it needs and keeps it;
    later runs find it. Seconds from the start of the process to its end, imports included; of later
    runs the quietest of {rounds}."""


def run(quick: bool) -> Page:
    """Once with an empty cache, then with a warm one."""
    rounds = 1 if quick else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        code = CODE.format(page=str(Path(folder, "demo.html")))
        cache = {"NUMBA_CACHE_DIR": str(Path(folder, "cache"))}
        first = fresh(code, cache, "first run, nothing compiled")
        later = [fresh(code, cache) for _ in range(rounds)]
        size = Path(folder, "demo.html").stat().st_size
    best = min(later, key=lambda child: child.cpu)
    found = json.loads(best.text)["fit"]
    rows = [
        ["first run, nothing compiled", f"{first.wall:.1f}", f"{first.cpu:.1f}"],
        ["later runs", f"{min(c.wall for c in later):.1f}", f"{best.cpu:.1f}"],
    ]
    shown = [
        ["words kept by the sieve", str(found["kept"])],
        ["of the 40 that decide", str(found["planted"])],
        ["rare ones among them", str(found["rare"])],
        ["its page, KiB", f"{size / 1024:.0f}"],
    ]
    tables = [
        Table("Times of the demo", ["", "wall s", "CPU s"], rows),
        Table("What it shows", ["", "found"], shown),
    ]
    return Page("demo", "The demo", OPENING.format(rounds=rounds), tables)
