"""Peak memory of one `partial_fit`, in fresh processes, against what tamis promises."""

import contextlib
import json
import resource
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.clock import fresh
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.passes import CONFIDENT, SKLEARN, TAMIS
from benchmarks.workloads import RECIPES, describe, make

MEBI = 2**20
SLACK = 4 * MEBI  # what the interpreter itself may grow by
ALL = {
    **TAMIS,
    **CONFIDENT,
    **SKLEARN,
    "tamis FOBOS, averaged": lambda **o: TAMIS["tamis FOBOS"](average=True, **o),
}


class Case(NamedTuple):
    """A model on a workload; `rows` and `classes` may cut and relabel it."""

    name: str
    workload: str
    rows: int
    classes: int = 2
    per_column: int = 16  # bytes promised, a column and class


CASES = (
    Case("tamis SGD", "million", 1_000_000),
    Case("tamis FOBOS", "million", 1_000_000),
    Case("tamis RDA", "million", 1_000_000),
    Case("tamis FTRL", "million", 1_000_000),
    Case("tamis AdaGrad", "million", 1_000_000, per_column=24),
    Case("tamis FOBOS, averaged", "million", 1_000_000, per_column=24),
    Case("scikit-learn SGD, l1", "million", 1_000_000),
    Case("tamis FOBOS", "million", 100_000, classes=20),
    Case("tamis FTRL", "million", 100_000, classes=20),
    Case("tamis FOBOS", "columns-1e7", 20_000),
    Case("tamis FOBOS", "columns-1e8", 20_000),
    Case("tamis FTRL", "columns-1e8", 20_000),
)
QUICK = (Case("tamis FOBOS", "columns-1e7", 2_000),)


def peak() -> int:
    """Most memory that this process has held since `forget_peak`, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(
            next(
                line.split()[1]
                for line in status.read_text().splitlines()
                if line.startswith("VmHWM")
            )
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def forget_peak() -> None:
    """Let the peak start again from what is held now, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def child(name: str, workload: str, rows: int, classes: int, quick: bool) -> None:
    """In a fresh process: make the rows, load all code by a tiny fit, then measure one
    `partial_fit`.
    """
    warnings.simplefilter("ignore")
    work = make(workload, quick)
    X, y = work.X, work.y
    if rows < X.shape[0]:
        X, y = X[:rows], y[:rows]
    del work
    if classes > 2:
        y = np.arange(rows) % classes
    known = np.unique(y)
    few = slice(0, X.indptr[100])
    first = type(X)((X.data[few], X.indices[few] % 1000, X.indptr[:101]), shape=(100, 1000))
    first.indices, first.indptr = (
        first.indices.astype(X.indices.dtype),
        first.indptr.astype(X.indptr.dtype),
    )
    ALL[name]().partial_fit(first, y[:100], classes=known)
    model = ALL[name]()
    forget_peak()
    before = peak()
    model.partial_fit(X, y, classes=known)
    print(
        json.dumps(
            {
                "before": before,
                "grown": peak() - before,
                "X": X.data.nbytes + X.indices.nbytes + X.indptr.nbytes,
                "y": y.nbytes,
            }
        )
    )


def measure(case: Case, quick: bool) -> dict:
    """Run the child and add what was promised."""
    call = (
        f"from benchmarks.memory import child; child({case.name!r}, {case.workload!r}, "
        f"{case.rows}, {case.classes}, {quick})"
    )
    # Every array gets pages of its own, so that freed ones hide nothing.
    found = json.loads(fresh(call, environment={"MALLOC_MMAP_THRESHOLD_": "65536"}).text)
    outputs = 1 if case.classes == 2 else case.classes
    found["promised"] = (
        case.per_column * RECIPES[case.workload].columns * outputs + 8 * case.rows + found["y"]
    )
    return found


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        How much the memory of a process grows at most during one `partial_fit` over the whole
        workload, X and y being there already. Promised: nothing that grows but 16 bytes a column
        and class of state (AdaGrad and `average` may add 8 each), 8 bytes a row for the row
        pointers, and y once more as numbers. Each figure is from a process of its own, which has
        loaded all code by a tiny fit before."""
    page = Page("memory", "Memory", opening)
    rows, worst = [], []
    for case in QUICK if quick else CASES:
        found = measure(case, quick)
        good = found["grown"] <= found["promised"] + SLACK
        ours = case.name.startswith("tamis")
        cut = "" if case.rows == RECIPES[case.workload].rows else f", first {case.rows:,} rows"
        held, grown, promised = (f"{found[key] / MEBI:,.0f}" for key in ("X", "grown", "promised"))
        rows.append(
            [
                case.name,
                describe(case.workload) + cut,
                str(case.classes),
                held,
                grown,
                *([promised, verdict(good)] if ours else ["", ""]),
            ]
        )
        if ours:
            where = (
                f"{case.name}, {case.classes} classes, {RECIPES[case.workload].columns:,} columns"
            )
            worst.append(
                (
                    found["grown"] - found["promised"],
                    f"at worst {grown} MiB for {promised} promised ({where})",
                )
            )
    head = [
        "one partial_fit",
        "workload",
        "classes",
        "X, MiB",
        "grown, MiB",
        "promised, MiB",
        "verdict",
    ]
    page.tables.append(
        Table(
            "Peak memory beyond X and y",
            head,
            rows,
            f"The verdict allows {SLACK // MEBI} MiB for the interpreter itself.",
        )
    )
    excess, figure = max(worst)
    promise = "memory beyond X and y: 16 bytes a column and class, 8 bytes a row, y once more"
    page.goals.append(Goal(promise, figure, verdict(excess <= SLACK)))
    return page
