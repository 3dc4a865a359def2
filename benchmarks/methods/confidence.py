"""The confidence-weighted learners: nanoseconds per nonzero against plain SGD, and memory on many
columns.
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from benchmarks import realsets
from benchmarks.clock import Times, interleaved
from benchmarks.memory import MEBI, SLACK, Case, measure, put
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.passes import CONFIDENT, PLAIN, SKLEARN, TAMIS, by_fit, by_partial_fit
from benchmarks.workloads import RECIPES, describe, make
from tamis import AROWClassifier, SCWClassifier

SGD, HINGE, PASSIVE = (
    "tamis SGD",
    "scikit-learn SGD at its defaults (hinge, l2)",
    "scikit-learn SGD, pa1",
)
PEERS = {
    PLAIN: SKLEARN[PLAIN],
    HINGE: lambda **o: SGDClassifier(**o),
    PASSIVE: lambda **o: SGDClassifier(penalty=None, learning_rate="pa1", eta0=1.0, **o),
}
MAKERS = {SGD: TAMIS[SGD], **CONFIDENT, **PEERS}
WAYS = {
    "fit": lambda work, rounds: by_fit(MAKERS, work, rounds),
    "partial_fit": lambda work, rounds: by_partial_fit(MAKERS, work, 2 * rounds),
    "fit, rows shuffled": lambda work, rounds: by_fit(MAKERS, work, rounds, shuffle=True),
}
NOTE = """Defaults but for the figures in the names, one thread, CPU time; `ns` is of the quietest
    round. By fit: five passes less one, stored order. By partial_fit: one call over the whole
    matrix, with all checks of X and y. A hinge that is met costs no update, so figures depend on
    how often a learner updates: AROW moves on about seven rows in ten here, the logistic SGDs on
    all of them, SGD with a hinge on fewer and fewer."""


def passes(quick: bool) -> tuple[list[Table], list[Goal]]:
    """One pass by every member, by every way."""
    work = make("rcv1-like", quick)
    found: dict[str, dict[str, Times]] = {way: {} for way in WAYS}
    for _ in range(1 if quick else 3):
        for way, action in WAYS.items():
            for name, times in action(work, 2 if quick else 4).items():
                found[way][name] = min(found[way].get(name, times), times)
    nanos = {
        way: {name: 1e9 * times.least / work.X.nnz for name, times in found[way].items()}
        for way in WAYS
    }
    head = [
        "one pass",
        *(f"ns, {way}" for way in WAYS),
        "/ tamis SGD",
        "/ sklearn none",
        "/ sklearn defaults",
    ]
    rows = [
        [
            name,
            *(f"{nanos[way][name]:.2f}" for way in WAYS),
            *(_ratios(nanos, name, limit) for limit in (SGD, PLAIN, HINGE)),
        ]
        for name in MAKERS
    ]
    note = f"{NOTE} Ratios are by fit, by partial_fit, and by fit with rows shuffled."
    tables = [Table(f"A pass, diagonal covariance, {describe('rcv1-like')}", head, rows, note)]
    return tables, [
        _goal(nanos, SGD, 1.3, "AROW pass at most 1.3 times the plain SGD pass of tamis"),
        *_against_peers(nanos),
    ]


def _ratios(nanos, name: str, limit: str) -> str:
    return ", ".join(f"{nanos[way][name] / nanos[way][limit]:.2f}" for way in WAYS)


def _goal(nanos, limit: str, most: float, promise: str) -> Goal:
    """A verdict by the pass inside fit and by partial_fit, in stored order."""
    good = {
        way: nanos[way]["tamis AROW"] <= most * nanos[way][limit] for way in ("fit", "partial_fit")
    }
    figure = ", ".join(
        f"{nanos[way]['tamis AROW'] / nanos[way][limit]:.2f} by {way}" for way in WAYS
    )
    said = (
        verdict(all(good.values()))
        if good["fit"] == good["partial_fit"]
        else f"met by {'fit' if good['fit'] else 'partial_fit'} alone"
    )
    return Goal(promise, figure, said)


def _against_peers(nanos) -> list[Goal]:
    return [
        _goal(
            nanos,
            PLAIN,
            1.0,
            "AROW pass faster than scikit-learn's SGDClassifier(loss='log_loss', penalty=None)",
        ),
        _goal(
            nanos, HINGE, 1.0, "AROW pass faster than scikit-learn's SGDClassifier at its defaults"
        ),
    ]


def full_covariance(quick: bool) -> tuple[list[Table], list[Goal]]:
    """Seconds of one pass over dense rows with a full covariance."""
    random, rows = np.random.default_rng(0), []
    for columns, n in ((50, 2_000),) if quick else ((50, 20_000), (200, 20_000), (500, 8_000)):
        X = random.normal(size=(n, columns)) / np.sqrt(columns)
        y = X @ random.normal(size=columns) + 0.1 * random.normal(size=n) > 0
        makers = {cls.__name__: cls for cls in (AROWClassifier, SCWClassifier)}
        actions = {
            name: (
                lambda cls=cls, X=X, y=y: cls(covariance="full", shuffle=False).fit(X, y) and None
            )
            for name, cls in makers.items()
        }
        size = f"{n:,} x {columns}, full covariance"
        found = interleaved(actions, 1 if quick else 3, clock=time.thread_time, what=size)
        for name, times in found.items():
            rows.append(
                [
                    name,
                    f"{n:,} x {columns}",
                    f"{times.least:.2f}",
                    f"{1e9 * times.least / n / columns**2:.2f}",
                ]
            )
    note = (
        "Dense rows. A row that moves nothing costs one multiplication of the root with it, "
        "one "
        "that does three."
    )
    return [
        Table(
            "A pass, full covariance",
            ["one pass", "rows x columns", "seconds", "ns a row and pair of columns"],
            rows,
            note,
        )
    ], []


def memory(quick: bool) -> tuple[list[Table], list[Goal]]:
    """Peak memory of one `partial_fit`, in fresh processes."""
    way = ("partial_fit",)
    wide, few = ("columns-1e7", 2_000) if quick else ("columns-1e8", 20_000)
    cases = [Case("tamis AROW", wide, few, ways=way)]
    if not quick:
        cases += [
            Case("tamis AROW", "million", 1_000_000, ways=way),
            Case("tamis AROW", "million", 100_000, classes=20, ways=way),
        ]
    rows, good = [], True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for workload in dict.fromkeys(case.workload for case in cases):
            put(workload, folder, quick)
        for case in cases:
            found = measure(case, folder)
            grown = found["grown"]["partial_fit"]
            good &= grown <= found["promised"] + SLACK
            columns = RECIPES[case.workload].columns
            sizes = (f"{size / MEBI:,.0f}" for size in (found["X"], grown, found["promised"]))
            rows.append([case.name, f"{case.rows:,} x {columns:,}", str(case.classes), *sizes])
    head = ["one partial_fit", "rows x columns", "classes", "X, MiB", "grown, MiB", "promised, MiB"]
    note = "Promised: 16 bytes a column and class, 8 bytes a row, y once more."
    figure = (
        f"{rows[0][4]} MiB grown for {rows[0][5]} promised at "
        f"{RECIPES[cases[0].workload].columns:,} columns"
    )
    return [Table("Memory beyond X and y", head, rows, note)], [
        Goal("diagonal covariance within 16 bytes a column", figure, verdict(good))
    ]


def errors(quick: bool) -> tuple[list[Table], list[Goal]]:
    """Test errors on real text after a single pass, at the defaults."""
    orders = range(2 if quick else 10)
    makers = {
        **CONFIDENT,
        "tamis SGD": TAMIS[SGD],
        "tamis FTRL": TAMIS["tamis FTRL"],
        "scikit-learn LinearSVC, converged": lambda **o: LinearSVC(),
    }
    sets = {name: realsets.read(name) for name in realsets.available()}
    if not sets:
        return [Table("Errors after one pass", ["one pass"], [], realsets.ABSENT)], []
    rows = []
    for name, new in makers.items():
        cells = []
        for split in sets.values():
            fits = [
                new(max_iter=1, tol=None, random_state=seed).fit(split.X, split.y)
                for seed in (orders if name.startswith("tamis") else [0])
            ]
            found = [100 * (1 - model.score(split.X_test, split.y_test)) for model in fits]
            cells.append(
                f"{np.mean(found):.1f} ± {np.std(found):.1f}"
                if len(found) > 1
                else f"{found[0]:.1f}"
            )
        rows.append([name, *cells])
    note = f"""Test error in per cent, mean and spread over {len(orders)} orders of the rows, one
        pass, every learner at its defaults but for the figures in its name. Rows of unit length;
        counts as logarithms. Nothing was tuned."""
    return [Table("Errors after one pass", ["one pass", *sets], rows, note)], []


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        The confidence-weighted learners take one second-order pass: a mean and a precision a
        column, which lie side by side in memory. How it compares with a plain first-order pass is
        what this page is about. Which of them to choose is on another: {doc}`/confidence`."""
    page = Page("confidence", "Confidence-weighted learners", opening)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (passes, full_covariance, memory, errors):
            tables, goals = part(quick)
            page.tables += tables
            page.goals += goals
    return page
