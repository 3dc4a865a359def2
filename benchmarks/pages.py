"""Results as pages: tables on the terminal, and Markdown under docs/performance; `index` makes the
page that opens them.
"""

import csv
import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid

from benchmarks import clock, index, peers
from benchmarks.clock import ROOT

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")
PEERS = tuple(name for name in peers.listed() if name not in ("tamis", *PACKAGES))
PERFORMANCE = "performance"
MET, MISSED = index.MET, "not met"
LONG_TABLE = 40  # measurements; more of them go to a file
# What the machine did before the benchmarks began, which no later figure can tell.
LOAD = os.getloadavg() if hasattr(os, "getloadavg") else None


@dataclass
class Table:
    """A caption, a head and rows of text."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass
class Goal:
    """One promise, the figure that was found, and the verdict in words.

    A `check` is a condition of the trial, which nobody promised: it is shown, and not counted.
    """

    promise: str
    figure: str
    verdict: str
    check: bool = False


@dataclass
class Page:
    """All that one part of the benchmarks found."""

    part: str
    title: str
    opening: str
    tables: list[Table] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    # File name, words for those who cannot see it.
    figures: list[tuple[str, str]] = field(default_factory=list)
    room: str = PERFORMANCE  # folder of the docs
    # Heading, Markdown.
    sections: list[tuple[str, str]] = field(default_factory=list)
    spent: tuple[float, float] | None = None  # wall and CPU seconds of the whole part


def flow(text: str) -> str:
    """Text with each paragraph on one line, however it was broken in the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def verdict(good: bool) -> str:
    """`met` or `not met`."""
    return MET if good else MISSED


def folder(quick: bool, room: str = PERFORMANCE) -> Path:
    """Where pages go; a quick run must not overwrite real figures."""
    place = ROOT / ("build" if quick else "docs") / room
    place.mkdir(parents=True, exist_ok=True)
    return place


def machine() -> str:
    """Number of cores and name of the processor."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in cpuinfo.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores, {model}"


def versions() -> str:
    """Versions of Python, of what tamis stands on and of all peers; those that are absent, last."""
    from tamis import __version__  # of the tree that runs, which need not be installed

    found, absent = [f"Python {platform.python_version()}", f"tamis {__version__}"], []
    for name in PACKAGES + PEERS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            absent.append(name)
    said = ", ".join(found)
    return f"{said}; not installed here: {', '.join(absent)}" if absent else said


def load() -> str:
    """What else the machine did when the benchmarks began."""
    if LOAD is None:
        return ""
    said = ", ".join(f"{part:.2f}" for part in LOAD)
    return f" Load average when it began (1, 5 and 15 minutes): {said}."


def spent(page: Page) -> str:
    """What all of the part took."""
    if page.spent is None:
        return ""
    wall, cpu = page.spent
    return f" It took {wall:,.0f} s, and {cpu:,.0f} s of CPU with the processes that it started."


def show(page: Page) -> None:
    """Print the page's tables and goals."""
    console = Console(width=max(Console().width, 150))
    console.rule(page.title)
    goals = Table(
        "Goals",
        ["goal", "found", "verdict"],
        [[g.promise, g.figure, g.verdict] for g in page.goals],
    )
    for table in [*page.tables, *([goals] if page.goals else [])]:
        grid = Grid(
            title=table.caption,
            title_justify="left",
            caption=flow(table.note) or None,
            caption_justify="left",
        )
        for number, name in enumerate(table.head):
            grid.add_column(name, justify="left" if number == 0 else "right")
        for row in table.rows:
            grid.add_row(*row)
        console.print(grid)


def both_times(page: Page, place: Path) -> list[str]:
    """Wall and CPU seconds of all that the page measured: a table, or a file where it is long."""
    taken, clock.TAKEN[:] = list(clock.TAKEN), []
    if not taken:
        return []
    rows = [[t.name, f"{t.wall:.4g}", f"{t.cpu:.4g}"] for t in taken]
    shares = sorted(t.wall / t.cpu for t in taken if t.cpu > 0)
    said = (
        "Seconds of whole measurements in their quietest rounds, of all threads together, in the "
        f"order in which they were made. Wall over CPU time: {shares[len(shares) // 2]:.2f} in the "
        f"middle, {shares[0]:.2f} to {shares[-1]:.2f}."
    )
    lines, head = ["## Wall and CPU time", "", said], ["measured", "wall s", "CPU s"]
    if len(rows) <= LONG_TABLE:
        return [*lines, "", *index.pipe(head, rows), ""]
    with open(place / f"{page.part}_times.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    lines[-1] += f" All {len(rows)}: [{page.part}_times.csv]({page.part}_times.csv)."
    return [*lines, ""]


def write(page: Page, quick: bool) -> None:
    """Write the page, remember its goals, and write the index anew."""
    place = folder(quick, page.room)
    command = f"python -m benchmarks {page.part}{' --quick' if quick else ''}"
    lines = [f"# {page.title}", "", flow(page.opening), ""]
    for name, words in page.figures:
        lines += [f"![{words}]({name})", ""]
    for table in page.tables:
        lines += [f"## {table.caption}", "", *index.pipe(table.head, table.rows), ""] + (
            [flow(table.note), ""] if table.note else []
        )
    for heading, text in page.sections:
        lines += [f"## {heading}", "", text, ""]
    if page.goals:
        lines += [
            "## Goals",
            "",
            *index.pipe(
                ["goal", "found", "verdict"], [[g.promise, g.figure, g.verdict] for g in page.goals]
            ),
            "",
        ]
    lines += both_times(page, place)
    lines += [
        "## How this was made",
        "",
        f"`{command}` on {machine()}.{load()}{spent(page)}",
        "",
        f"{versions()}.",
        "",
    ]
    (place / f"{page.part}.md").write_text("\n".join(lines))
    place = folder(quick)
    _remember(page, place)
    index.write(place)


def _remember(page: Page, place: Path) -> None:
    """Keep the goals of the last run of every part."""
    store = place / "goals.json"
    known = json.loads(store.read_text()) if store.exists() else {}
    known[page.part] = {"title": page.title, "goals": [asdict(goal) for goal in page.goals]}
    if page.room != PERFORMANCE:
        known[page.part]["room"] = page.room
    store.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
