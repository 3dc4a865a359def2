"""Results as pages: tables on the terminal, and Markdown under docs/performance with an index of
all goals.
"""

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid

from benchmarks import PARTS
from benchmarks.clock import ROOT

PACKAGES = ("tamis", "numpy", "scipy", "numba", "scikit-learn", "vowpalwabbit", "river")
MET, MISSED = "met", "not met"


@dataclass
class Table:
    """A caption, a head and rows of text."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass
class Goal:
    """One promise, the figure that was found, and the verdict in words."""

    promise: str
    figure: str
    verdict: str


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


def flow(text: str) -> str:
    """Text with each paragraph on one line, however it was broken in the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def verdict(good: bool) -> str:
    """`met` or `not met`."""
    return MET if good else MISSED


def folder(quick: bool) -> Path:
    """Where pages go; a quick run must not overwrite real figures."""
    place = ROOT / "build" / "performance" if quick else ROOT / "docs" / "performance"
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
    """Versions of Python and of all contestants."""
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} absent")
    return ", ".join(found)


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


def write(page: Page, quick: bool) -> None:
    """Write the page, remember its goals, and write the index anew."""
    place = folder(quick)
    command = f"python -m benchmarks {page.part}{' --quick' if quick else ''}"
    lines = [f"# {page.title}", "", flow(page.opening), ""]
    for name, words in page.figures:
        lines += [f"![{words}]({name})", ""]
    for table in page.tables:
        lines += [f"## {table.caption}", "", *_pipe(table.head, table.rows), ""] + (
            [flow(table.note), ""] if table.note else []
        )
    if page.goals:
        lines += [
            "## Goals",
            "",
            *_pipe(
                ["goal", "found", "verdict"], [[g.promise, g.figure, g.verdict] for g in page.goals]
            ),
            "",
        ]
    lines += ["## How this was made", "", f"`{command}` on {machine()}.", "", f"{versions()}.", ""]
    (place / f"{page.part}.md").write_text("\n".join(lines))
    _remember(page, place)
    _write_index(place)


def _pipe(head, rows) -> list[str]:
    """A Markdown table; figures to the right."""
    rule = ["---", *(["---:"] * (len(head) - 1))]
    return [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        for row in [head, rule, *rows]
    ]


def _remember(page: Page, place: Path) -> None:
    """Keep the goals of the last run of every part."""
    store = place / "goals.json"
    known = json.loads(store.read_text()) if store.exists() else {}
    known[page.part] = {"title": page.title, "goals": [asdict(goal) for goal in page.goals]}
    store.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def _write_index(place: Path) -> None:
    """A short page: one sentence a goal, and the way to the parts."""
    known = json.loads((place / "goals.json").read_text())
    present = [part for part in PARTS if part in known and (place / f"{part}.md").exists()]
    goals = [goal for part in present for goal in known[part]["goals"]]
    met = sum(goal["verdict"] == MET for goal in goals)
    lines = ["# Performance", ""]
    lines += [
        f"What tamis promised and what the benchmarks found: {met} of {len(goals)} goals met. Made "
        "by `make bench`.",
        "",
    ]
    for part in present:
        if known[part]["goals"]:
            lines += [f"**{known[part]['title']}**", ""]
            lines += [
                f"- {goal['promise']}: {goal['figure']}, **{goal['verdict']}**."
                for goal in known[part]["goals"]
            ]
            lines += [""]
    lines += ["```{toctree}", ":maxdepth: 1", "", *present, "```", ""]
    (place / "index.md").write_text("\n".join(lines))
