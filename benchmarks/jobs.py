"""Jobs that people choose a library for: what tamis and its peers take, out of the written pages.

Figures are looked up in the tables of the pages by caption, row and column, so that a page knows
nothing of this one; a figure that no page holds, as of a peer that is not installed, is left out.
"""

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

Tables = dict[str, list[list[str]]]  # by caption: the head and the rows


@dataclass
class At:
    """Where a figure stands: the first cells of its row begin so, and its column is called so."""

    row: tuple[str, ...]
    column: str


@dataclass
class Job:
    """A job, the page and the table that hold its figures, and where those of each library are."""

    name: str
    what: str
    part: str
    caption: str
    tamis: At
    peers: dict[str, At]
    unit: str = "s"
    more: bool = False  # whether more is better, as of speeds
    tamis_caption: str | None = None  # another table of the page, for tamis alone


@dataclass
class Found:
    """A job with its figures."""

    name: str
    what: str
    part: str
    unit: str
    tamis: float
    ratios: dict[str, float] = field(default_factory=dict)  # time of a peer over that of tamis


SKLEARN, VW, RIVER = "scikit-learn", "Vowpal Wabbit", "river"


def _pass(row: str, column: str = "ns") -> At:
    return At((row,), column)


def _group(table: str, alpha: str) -> dict:
    """Peers of the batch group lasso on one table."""
    return {name: At((table, alpha, name), "seconds") for name in ("celer", "skglm", "adelie")}


DENSE, TALL = "1,000 x 10,000, groups of 10", "100,000 x 1,000, groups of 10"
SPARSE = "20,000 x 100,000 sparse, groups of 5"
JOBS = [
    Job(
        "A pass of SGD", "logistic, 20,000 x 47,000, sparse", "speed", "A pass by fit,",
        _pass("tamis SGD"), {SKLEARN: _pass("scikit-learn SGD, no penalty")}, "ns a number",
    ),
    Job(
        "A pass of SGD with L1", "FOBOS, the same rows", "speed", "A pass by fit,",
        _pass("tamis FOBOS"),
        {SKLEARN: _pass("scikit-learn SGD, l1"), VW: _pass("Vowpal Wabbit --l1")},
        "ns a number",
    ),
    Job(
        "A second-order pass", "AROW against SGD with hinge loss", "confidence", "A pass, diagonal",
        _pass("tamis AROW", "ns, fit"), {SKLEARN: _pass("scikit-learn SGD at its", "ns, fit")},
        "ns a number",
    ),
    Job(
        "A sparse online model", "FTRL (river: L1), 10 passes", "races", "rcv1-like",
        _pass("tamis FTRL", "seconds"),
        {VW: _pass("Vowpal Wabbit --ftrl", "seconds"), RIVER: _pass("river l1", "seconds")},
    ),
    Job(
        "One row at a time", "a mapping of 60 names, FTRL", "live", "Others",
        _pass("FTRL, mapping, hashed", "microseconds a row"),
        {RIVER: _pass("river FTRL, learn_one", "microseconds a row"),
         SKLEARN: _pass("scikit-learn SGD, partial_fit", "microseconds a row")},
        "µs", tamis_caption="In service",
    ),
    Job(
        "Reading svmlight", "6 digits, one core", "files", "Reading alone",
        _pass("svmlight, 6 digits", "tamis, MB/s"), {SKLEARN: _pass("svmlight, 6 digits", "MB/s")},
        "MB/s", more=True,
    ),
    Job(
        "Reading CSV", "numbers, one core", "files", "Reading alone",
        _pass("CSV, numbers alone", "tamis, MB/s"), {"pandas": _pass("CSV, numbers alone", "MB/s")},
        "MB/s", more=True,
    ),
    Job(
        "A model from a file", "1 GB of text, L1, one pass", "files", "One pass from file",
        _pass("tamis fit --method truncated", "wall, s"), {VW: _pass("Vowpal Wabbit", "wall, s")},
    ),
    Job(
        "Features, their number chosen", "sieve against LogisticRegressionCV, news20", "selection",
        "A whole fit against", _pass("news20", "sieve, s"),
        {SKLEARN: _pass("news20", "LogisticRegressionCV, s")},
    ),
    Job(
        "Features that stay", "sieve against stability selection", "selection",
        "Against stability", _pass("sieve", "s"), {SKLEARN: _pass("stability selection", "s")},
    ),
    Job(
        "600 of a million columns", "SparseBCW against an L1-SVM", "bcw", "SBCW,",
        _pass("tamis SBCW", "seconds"), {SKLEARN: _pass("liblinear L1-SVM", "seconds")},
    ),
    Job(
        "Group lasso, wide", "1,000 x 10,000, dense", "group_batch", "CPU seconds of one",
        At((DENSE, "0.01", "tamis"), "seconds"), _group(DENSE, "0.01"),
    ),
    Job(
        "Group lasso, tall", "100,000 x 1,000, dense", "group_batch", "CPU seconds of one",
        At((TALL, "0.01", "tamis"), "seconds"), _group(TALL, "0.01"),
    ),
    Job(
        "Group lasso, sparse", "20,000 x 100,000", "group_batch", "CPU seconds of one",
        At((SPARSE, "0.01", "tamis"), "seconds"), _group(SPARSE, "0.01"),
    ),
    Job(
        "First fit of a process", "group lasso, compiled before", "group_batch",
        "CPU seconds of the first", _pass("tamis", "seconds"), {"skglm": _pass("skglm", "seconds")},
    ),
    Job(
        "Metric learning", "USPS, 3,000 digits, sDist", "metric", "USPS",
        _pass("tamis sDist", "seconds"),
        {SKLEARN: _pass("scikit-learn NCA", "seconds"), "LMNN": _pass("LMNN", "seconds")},
    ),
    Job(
        "Multiple kernels", "403 kernels, 284 rows, equal gap", "gmkl", "Wisconsin",
        _pass("L1-MKL, l1_ratio 1, kernels ready", "seconds"),
        {"SimpleMKL over SVC": _pass("SimpleMKL", "seconds")},
    ),
    Job(
        "A thousand lassos", "low rank against one by one", "lowrank", "Peers",
        _pass("robustness 0.1, float64, with", "ms a target"),
        {SKLEARN: _pass("scikit-learn Lasso", "ms a target"),
         "celer": _pass("celer Lasso", "ms a target")},
        "ms each", tamis_caption="",
    ),
    Job(
        "A support vector machine", "284 rows, kernel ready", "triclass", "One problem",
        _pass("284", "ours, cold"), {SKLEARN: _pass("284", "SVC")}, "ms",
    ),
    Job(
        "A dense second-order fit", "BCW against ridge, 50,000 x 2,000", "bcw", "BCW, dense",
        At(("50,000 x 2,000", "BCW"), "seconds"),
        {SKLEARN: At(("50,000 x 2,000", "scikit-learn ridge"), "seconds")},
    ),
]  # fmt: skip


def collect(place: Path) -> list[Found]:
    """The jobs whose figures the pages in a folder hold, kept there as jobs.json too."""
    known, found = {}, []
    for job in JOBS:
        if job.part not in known:
            known[job.part] = tables_of(place / f"{job.part}.md")
        if (one := look_up(job, known[job.part])) is not None:
            found.append(one)
    text = json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False)
    (place / "jobs.json").write_text(text + "\n")
    return found


def look_up(job: Job, tables: Tables) -> Found | None:
    """A job's figures; None where that of tamis or those of all peers are missing."""
    own = job.caption if job.tamis_caption is None else job.tamis_caption
    mine = figure(tables, own, job.tamis)
    if not mine:
        return None
    theirs = {name: figure(tables, job.caption, at) for name, at in job.peers.items()}
    ratios = {
        name: mine / other if job.more else other / mine for name, other in theirs.items() if other
    }
    return Found(job.name, job.what, job.part, job.unit, mine, ratios) if ratios else None


def figure(tables: Tables, caption: str, at: At) -> float | None:
    """The number in a cell of the first table whose caption begins so and that holds it."""
    for name, (head, *rows) in tables.items():
        if not name.startswith(caption) or at.column not in head:
            continue
        for row in rows:
            if all(cell.startswith(start) for cell, start in zip(row, at.row, strict=False)):
                number = re.search(r"\d[\d,]*\.?\d*(e[-+]\d+)?", row[head.index(at.column)])
                return None if number is None else float(number[0].replace(",", ""))
    return None


def tables_of(path: Path) -> Tables:
    """All tables of a page, by the headings above them."""
    found: Tables = {}
    caption = ""
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("## "):
            caption = line[3:]
        elif line.startswith("| "):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not set(cells[0]) <= {"-", ":"} or not cells[0]:
                found.setdefault(caption, []).append(cells)
    return found
