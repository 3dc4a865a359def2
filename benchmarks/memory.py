"""Peak memory of `fit` and `partial_fit` of every family in fresh processes, against what tamis
promises; and of `tamis fit`, against what `tamis check` says before.
"""

import contextlib
import json
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import foretold
from benchmarks.clock import fresh
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.passes import CONFIDENT, SKLEARN, TAMIS
from benchmarks.workloads import RECIPES, describe, make
from tamis import OnlineGroupLassoClassifier, StabilizedSGDClassifier
from tamis.base.machine.memory import peak_memory as peak

MEBI = 2**20
SLACK = 4 * MEBI  # what the interpreter itself may grow by
ALL = {
    **TAMIS,
    **CONFIDENT,
    **SKLEARN,
    "tamis FOBOS, averaged": lambda **o: TAMIS["tamis FOBOS"](average=True, **o),
    "tamis stabilized SGD": lambda: StabilizedSGDClassifier(n_jobs=1),
    "tamis online group lasso": lambda: OnlineGroupLassoClassifier(),
}
WAYS = ("partial_fit", "fit")
STATE = 24  # bytes a column and class, the most of a model without groups or paths


class Case(NamedTuple):
    """A model on a workload; `rows` and `classes` may cut and relabel it."""

    name: str
    workload: str
    rows: int
    classes: int = 2
    per_column: int = 16  # bytes promised, a column and class
    ways: tuple[str, ...] = WAYS


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
    Case("tamis FOBOS", "columns-1e8", 20_000, ways=("partial_fit",)),
    Case("tamis FTRL", "columns-1e8", 20_000, ways=("partial_fit",)),
    Case("tamis truncated gradient", "million", 1_000_000),
    Case("tamis PA-I", "million", 1_000_000),
    Case("tamis AROW", "million", 1_000_000),
    Case("tamis SCW-I", "million", 1_000_000),
    Case("tamis online group lasso", "million", 1_000_000, per_column=100),
    Case("tamis stabilized SGD", "million", 100_000, per_column=230),
)
QUICK = (Case("tamis FOBOS", "columns-1e7", 2_000),)


def forget_peak() -> None:
    """Let the peak start again from what is held now, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def child(name: str, workload: str, rows: int, classes: int, way: str, quick: bool) -> None:
    """In a fresh process: make the rows, load all code by a tiny fit, then measure one call."""
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
    _learn(ALL[name](), first, y[:100], known, way)
    model = ALL[name]()
    forget_peak()
    before = peak()
    _learn(model, X, y, known, way)
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


def _learn(model, X, y, classes, way: str) -> None:
    """One pass over the rows."""
    if way == "partial_fit":
        model.partial_fit(X, y, classes=classes)
    else:
        model.set_params(max_iter=1).fit(X, y)


def measure(case: Case, quick: bool, way: str = "partial_fit") -> dict:
    """Run the child and add what was promised."""
    call = (
        f"from benchmarks.memory import child; child({case.name!r}, {case.workload!r}, "
        f"{case.rows}, {case.classes}, {way!r}, {quick})"
    )
    # Every array gets pages of its own, so that freed ones hide nothing.
    found = json.loads(fresh(call, environment={"MALLOC_MMAP_THRESHOLD_": "65536"}).text)
    outputs = 1 if case.classes == 2 else case.classes
    found["promised"] = (
        case.per_column * RECIPES[case.workload].columns * outputs + 8 * case.rows + found["y"]
    )
    return found


def one_call(quick: bool) -> tuple[Table, Goal]:
    """All families: what `fit` and `partial_fit` grow by."""
    rows, worst = [], []
    for case in QUICK if quick else CASES:
        for way in case.ways:
            found = measure(case, quick, way)
            good = found["grown"] <= found["promised"] + SLACK
            ours = case.name.startswith("tamis")
            cut = "" if case.rows == RECIPES[case.workload].rows else f", first {case.rows:,} rows"
            held, grown, promised = (
                f"{found[key] / MEBI:,.0f}" for key in ("X", "grown", "promised")
            )
            where = describe(case.workload) + cut
            said = [promised, verdict(good)] if ours else ["", ""]
            rows.append([case.name, way, where, str(case.classes), held, grown, *said])
            if ours and case.per_column <= STATE:  # the others were announced with no goal
                width = f"{RECIPES[case.workload].columns:,} columns"
                told = f"{case.name}, {way}, {case.classes} classes, {width}"
                excess = found["grown"] - found["promised"]
                worst.append((excess, f"at worst {grown} MiB for {promised} promised ({told})"))
    head = ["model", "call", "workload", "classes", "X, MiB", "grown, MiB", "promised, MiB"]
    note = f"The verdict allows {SLACK // MEBI} MiB for the interpreter itself."
    excess, figure = max(worst)
    promise = (
        "memory beyond X and y: 16 bytes a column and class (24 with AdaGrad and averages), 8 "
        "bytes a row, y once more"
    )
    table = Table("Peak memory beyond X and y", [*head, "verdict"], rows, note)
    return table, Goal(promise, figure, verdict(excess <= SLACK))


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        How much the memory of a process grows at most during one `partial_fit` or `fit` of one pass
        over the whole workload, X and y being there already. Promised: nothing that grows but the
        state (16 bytes a column and class; AdaGrad and `average` may add 8 each; groups hold 100,
        the 16 paths of stabilized descent 230), 8 bytes a row for the row pointers, and y once more
        as numbers. Each figure is from a process of its own, which has loaded all code by a tiny
        fit before. Then `tamis check` and after it `tamis fit`, each a process of its own: what the
        first says that the second will hold at most."""
    page = Page("memory", "Memory", opening)
    for part in (one_call, foretold.by_method):
        table, goal = part(quick)
        page.tables.append(table)
        page.goals.append(goal)
    return page
