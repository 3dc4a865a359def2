"""Peak memory of `fit` and `partial_fit` of every family in fresh processes, against what tamis
promises.
"""

import contextlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.clock import fresh
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.passes import CONFIDENT, SKLEARN, TAMIS
from benchmarks.workloads import RECIPES, describe, make
from tamis import (
    GroupLassoClassifier,
    OnlineGroupLassoClassifier,
    OnlineMultiTaskClassifier,
    SieveClassifier,
    StabilizedSGDClassifier,
)

MEBI = 2**20
SLACK = 4 * MEBI  # what the interpreter itself may grow by
ALL = {
    **TAMIS,
    **CONFIDENT,
    **SKLEARN,
    "tamis FOBOS, averaged": lambda **o: TAMIS["tamis FOBOS"](average=True, **o),
    "tamis stabilized SGD": lambda: StabilizedSGDClassifier(n_jobs=1),
    "tamis online group lasso": lambda: OnlineGroupLassoClassifier(),
    "tamis online multi-task": lambda: OnlineMultiTaskClassifier(),
    "tamis sieve": lambda: SieveClassifier(n_jobs=1, random_state=0),
    "tamis group lasso": lambda: GroupLassoClassifier(),
}
WAYS = ("partial_fit", "fit")
STATE = 24  # bytes a column and class, the most of a model without groups or paths
PARTS = ("data", "indices", "indptr", "y")


class Case(NamedTuple):
    """A model on a workload; `rows` and `classes` may cut and relabel it."""

    name: str
    workload: str
    rows: int
    classes: int = 2
    per_column: int | None = 16  # bytes promised, a column and class; None: nothing is promised
    ways: tuple[str, ...] = WAYS


CASES = (
    Case("tamis SGD", "million", 1_000_000),
    Case("tamis FOBOS", "million", 1_000_000),
    Case("tamis RDA", "million", 1_000_000),
    Case("tamis FTRL", "million", 1_000_000),
    Case("tamis truncated gradient", "million", 1_000_000),
    Case("tamis AdaGrad", "million", 1_000_000, per_column=24),
    Case("tamis FOBOS, averaged", "million", 1_000_000, per_column=24),
    Case("scikit-learn SGD, l1", "million", 1_000_000),
    Case("tamis PA-I", "million", 1_000_000),
    Case("tamis AROW", "million", 1_000_000),
    Case("tamis SCW-I", "million", 1_000_000),
    Case("tamis online group lasso", "million", 1_000_000, per_column=100),
    Case("tamis stabilized SGD", "million", 100_000, per_column=230),
    Case("tamis FOBOS", "million", 100_000, classes=20),
    Case("tamis FTRL", "million", 100_000, classes=20),
    Case("tamis FOBOS", "columns-1e7", 20_000),
    Case("tamis FOBOS", "columns-1e8", 20_000, ways=("partial_fit",)),
    Case("tamis FTRL", "columns-1e8", 20_000, ways=("partial_fit",)),
    Case("tamis online multi-task", "rcv1-like", 20_000, per_column=None),
    Case("tamis sieve", "rcv1-like", 20_000, per_column=None),
    Case("tamis group lasso", "rcv1-like", 20_000, per_column=None, ways=("fit",)),
)
QUICK = (
    Case("tamis FOBOS", "columns-1e7", 2_000),
    Case("tamis group lasso", "rcv1-like", 2_000, per_column=None, ways=("fit",)),
)


def peak() -> int:
    """Most bytes that this process has held at a time."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not what `resource` says, which counts what the parent held when it forked.
        line = next(s for s in status.read_text().splitlines() if s.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource

    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else 1024 * held


def forget_peak() -> None:
    """Let the peak start again from what is held now, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def put(workload: str, folder: Path, quick: bool) -> None:
    """Write the arrays of a workload: made once, read by every process that needs them."""
    work = make(workload, quick)
    for part, array in zip(PARTS, (*(getattr(work.X, p) for p in PARTS[:3]), work.y), strict=True):
        np.save(folder / f"{workload}-{part}.npy", array)


def rows_of(folder: Path, case: Case):
    """The rows of a case and their classes, in memory of their own."""
    data, indices, indptr, y = (np.load(folder / f"{case.workload}-{part}.npy") for part in PARTS)
    indptr, y = indptr[: case.rows + 1], y[: case.rows]
    if indptr[-1] < len(data):
        data, indices = data[: indptr[-1]].copy(), indices[: indptr[-1]].copy()
    if case.classes > 2:
        y = np.arange(case.rows) % case.classes
    shape = (len(y), RECIPES[case.workload].columns)
    return sp.csr_array((data, indices, indptr), shape=shape), y


def child(folder: str, case: Case) -> None:
    """In a fresh process: take the rows, load all code by a tiny fit, then measure each call."""
    warnings.simplefilter("ignore")
    X, y = rows_of(Path(folder), case)
    known, few = np.unique(y), slice(0, X.indptr[100])
    first = type(X)((X.data[few], X.indices[few] % 1000, X.indptr[:101]), shape=(100, 1000))
    first.indices, first.indptr = (
        first.indices.astype(X.indices.dtype),
        first.indptr.astype(X.indptr.dtype),
    )
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    found: dict = {"X": held, "y": y.nbytes, "grown": {}}
    for way in case.ways:
        _learn(ALL[case.name](), first, y[:100], known, way)
        model = ALL[case.name]()
        forget_peak()
        before = peak()
        _learn(model, X, y, known, way)
        found["grown"][way] = peak() - before
        del model
    print(json.dumps(found))


def _learn(model, X, y, classes, way: str) -> None:
    """One pass over the rows, or what a method does that knows no passes."""
    if way == "partial_fit":
        model.partial_fit(X, y, classes=classes)
    else:
        passes = hasattr(model, "partial_fit") and "max_iter" in model.get_params()
        model.set_params(**({"max_iter": 1} if passes else {})).fit(X, y)


def measure(case: Case, folder: Path) -> dict:
    """Run the child and add what was promised."""
    call = f"from benchmarks.memory import Case, child; child({str(folder)!r}, {case!r})"
    # Every array gets pages of its own, so that freed ones hide nothing.
    found = json.loads(fresh(call, environment={"MALLOC_MMAP_THRESHOLD_": "65536"}).text)
    outputs, each = 1 if case.classes == 2 else case.classes, case.per_column or 0
    state = each * RECIPES[case.workload].columns * outputs
    found["promised"] = state + 8 * case.rows + found["y"]
    return found


def one_call(quick: bool) -> tuple[Table, Goal]:
    """All families: what `fit` and `partial_fit` grow by."""
    lines, worst, cases = [], [], QUICK if quick else CASES
    with tempfile.TemporaryDirectory(dir=os.environ.get("TAMIS_SCRATCH")) as folder:
        for workload in dict.fromkeys(case.workload for case in cases):
            put(workload, Path(folder), quick)
            for case in (case for case in cases if case.workload == workload):
                found = measure(case, Path(folder))
                for way in case.ways:
                    line, excess = _line(case, way, found)
                    lines.append(line)
                    worst += excess
            for file in Path(folder).iterdir():
                file.unlink()
    head = ["model", "call", "workload", "classes", "X, MiB", "grown, MiB", "promised, MiB"]
    note = f"""The verdict allows {SLACK // MEBI} MiB for the interpreter itself. Where nothing is
        promised the figure is what was found."""
    excess, figure = max(worst)
    promise = (
        "memory beyond X and y: 16 bytes a column and class (24 with AdaGrad and averages), 8 "
        "bytes a row, y once more"
    )
    table = Table("Peak memory beyond X and y", [*head, "verdict"], lines, note)
    return table, Goal(promise, figure, verdict(excess <= SLACK))


def _line(case: Case, way: str, found: dict) -> tuple[list[str], list[tuple[int, str]]]:
    """A line of the table, and by how much a promise that is a goal was missed."""
    most, promised = found["grown"][way], found["promised"]
    cut = "" if case.rows == RECIPES[case.workload].rows else f", first {case.rows:,} rows"
    held, grown, said = (f"{size / MEBI:,.0f}" for size in (found["X"], most, promised))
    binding = case.name.startswith("tamis") and case.per_column is not None
    line = [case.name, way, describe(case.workload) + cut, str(case.classes), held, grown]
    line += [said, verdict(most <= promised + SLACK)] if binding else ["", ""]
    if not binding or (case.per_column or 0) > STATE:  # the others were announced with no goal
        return line, []
    told = f"{case.name}, {way}, {case.classes} classes, {RECIPES[case.workload].columns:,} columns"
    return line, [(most - promised, f"at worst {grown} MiB for {said} promised ({told})")]


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        How much the memory of a process grows at most during one `partial_fit` or `fit` of one pass
        over the whole workload, X and y being there already. Promised: nothing that grows but the
        state (16 bytes a column and class; AdaGrad and `average` may add 8 each; groups hold 100,
        the 16 paths of stabilized descent 230), 8 bytes a row for the row pointers, and y once more
        as numbers. Each model has a process of its own, which has loaded all code by a tiny fit
        before each call."""
    page = Page("memory", "Memory", opening)
    table, goal = one_call(quick)
    page.tables.append(table)
    page.goals.append(goal)
    return page
