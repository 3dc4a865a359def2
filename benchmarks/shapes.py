"""Speed over shapes of data: columns, classes, number types, threads, and a million rows."""

import os
import time

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.clock import Times, between, interleaved
from benchmarks.pages import Goal, Table, verdict
from benchmarks.passes import CONFIDENT, EXTRA, LASSO, SKLEARN, TAMIS, by_fit, by_partial_fit
from benchmarks.workloads import RECIPES, Workload, describe, make

STRENGTHS = (1e-3, 1e-4, 1e-5, 1e-6)
WIDTHS = ("columns-1e4", "rcv1-like", "columns-1e5", "columns-1e7")
TYPES = ("rcv1-like", "float32", "int64")


def chosen(quick: bool) -> list[str]:
    """Recipes shown in these tables (truncated gradient has the loop of FOBOS)."""
    return (
        ["tamis SGD", "tamis FOBOS"]
        if quick
        else ["tamis SGD", "tamis FOBOS", "tamis RDA", "tamis FTRL", "tamis AdaGrad"]
    )


def in_turn(way, makers, works: dict[str, Workload], turns: int) -> dict[tuple[str, str], float]:
    """Nanoseconds per nonzero of each maker on each workload, the workloads taking turns."""
    best: dict[tuple[str, str], Times] = {}
    for _ in range(turns):
        for work_name, work in works.items():
            for name, times in way(makers, work, 3).items():
                key = (name, work_name)
                best[key] = min(best.get(key, times), times)
    return {
        (name, work): 1e9 * times.least / works[work].X.nnz for (name, work), times in best.items()
    }


def worst(ratios: dict[str, float]) -> str:
    """The largest ratio and whose it is."""
    name = max(ratios, key=ratios.__getitem__)
    return f"{ratios[name]:.2f} ({name.removeprefix('tamis ')}, the worst of {len(ratios)})"


def across_strengths(quick: bool) -> tuple[list[Table], list[Goal]]:
    """Time per nonzero as the penalty weakens: scikit-learn's grows with the features it keeps."""
    work, names = make("rcv1-like", quick), ("FOBOS", "RDA", "FTRL", "scikit-learn SGD, l1")
    makers = {(name, alpha): _strong(name, alpha) for name in names for alpha in STRENGTHS}
    times = by_fit(makers, work, 2 if quick else 8)
    rows = []
    for alpha in STRENGTHS:
        ns = [1e9 * times[name, alpha].least / work.X.nnz for name in names]
        rows.append(
            [f"{alpha:g}", *(f"{x:.2f}" for x in ns), *(f"{x / ns[-1]:.2f}" for x in ns[:-1])]
        )
    head = [
        "alpha",
        *(f"{name}: ns" for name in names),
        *(f"{name} / sklearn" for name in names[:-1]),
    ]
    return [Table("Strength of the L1 penalty, inside fit, stored order", head, rows)], []


def _strong(name: str, alpha: float):
    """A maker of that recipe with that penalty."""
    if name.startswith("scikit"):
        return lambda **o: SGDClassifier(loss="log_loss", penalty="l1", alpha=alpha, **o)
    return lambda **o: TAMIS[f"tamis {name}"](alpha=alpha, **o)


def across_columns(quick: bool) -> tuple[list[Table], list[Goal]]:
    """Time per nonzero as the columns, and with them the cache misses, grow."""
    works = {name: make(name, quick) for name in WIDTHS}
    makers = {name: TAMIS[name] for name in chosen(quick)} | {LASSO: SKLEARN[LASSO]}
    found = {
        way: in_turn(measure, makers, works, 1 if quick else 4)
        for way, measure in (("fit", by_fit), ("partial_fit", by_partial_fit))
    }
    rows, growth = [], {}
    for name in makers:
        for way, times in found.items():
            ns = [times[name, work] for work in WIDTHS]
            rows.append(
                [
                    name,
                    way,
                    *(f"{x:.2f}" for x in ns),
                    f"{ns[2] / ns[0]:.2f}",
                    f"{ns[3] / ns[0]:.1f}",
                ]
            )
            if way == "fit" and name in TAMIS:
                growth[name] = ns[2] / ns[0]
    head = [
        "ns per nonzero",
        "by",
        *(f"{RECIPES[work].columns:,} columns" for work in WIDTHS),
        "10^5 / 10^4",
        "10^7 / 10^4",
    ]
    note = """At 10^7 columns the weights fit in no cache. Where columns outnumber the nonzeros, fit
        numbers those that occur anew and walks them alone; partial_fit walks all of them, and
        counts the kept features only when the stream has doubled."""
    far = found["partial_fit"]["tamis FOBOS", "columns-1e7"]
    figure = f"{worst(growth)}; at 10^7 columns FOBOS takes {far:.1f} ns by partial_fit"
    inside = {
        name: found["fit"][name, WIDTHS[3]] / found["partial_fit"][name, WIDTHS[3]]
        for name in growth
    }
    goals = [
        Goal(
            "time per nonzero at 10^5 columns within 1.5 times that at 10^4",
            figure,
            verdict(max(growth.values()) <= 1.5),
        ),
        Goal(
            "at 10^7 columns a pass of fit at most 1.1 times one by partial_fit",
            worst(inside),
            verdict(max(inside.values()) <= 1.1),
        ),
    ]
    return [Table("Columns", head, rows, note)], goals


def at_the_border(quick: bool) -> tuple[list[Table], list[Goal]]:
    """What a call costs beside the pass: a fit of one pass, and rows whose columns are in any
    order.
    """
    work, rounds, rows = make("rcv1-like", quick), 3 if quick else 15, []
    shuffled = Workload(any_order(work.X), work.y)
    once, order = {}, {}
    for name in chosen(quick):
        actions = {passes: _fit(TAMIS[name], work, passes) for passes in (1, 1 + EXTRA)}
        streams = {"ascending": work, "any": shuffled}
        actions |= {kind: _stream(TAMIS[name], given) for kind, given in streams.items()}
        times = interleaved(actions, rounds, warm=2, clock=time.thread_time)
        inside = between(times[1], times[1 + EXTRA]).over(EXTRA).least
        seconds = (inside, *(times[kind].least for kind in (1, "ascending", "any")))
        once[name], order[name] = seconds[1] / inside, seconds[3] / seconds[2]
        figures = [f"{1e9 * one / work.X.nnz:.2f}" for one in seconds]
        rows.append([name, *figures[:2], f"{once[name]:.2f}", *figures[2:], f"{order[name]:.2f}"])
    head = [
        "ns per nonzero, stored order",
        "a pass of fit",
        "fit(max_iter=1)",
        "ratio",
        "partial_fit, ascending columns",
        "in any order",
        "ratio",
    ]
    note = """Columns of a row in any order are learnt as they lie: sums are rounded in another
        order, and only a column that a row names twice has the rows copied and sorted."""
    goals = [
        Goal(
            "fit(max_iter=1) at most 1.5 times the pass",
            worst(once),
            verdict(max(once.values()) <= 1.5),
        ),
        Goal(
            "rows in any order of their columns at most 1.5 times the time of sorted ones",
            worst(order),
            verdict(max(order.values()) <= 1.5),
        ),
    ]
    return [Table("Beside the pass", head, rows, note)], goals


def _fit(new, work: Workload, passes: int):
    """A fit of so many passes in stored order."""

    def action():
        new(max_iter=passes, tol=None, shuffle=False, random_state=0).fit(work.X, work.y)

    return action


def _stream(new, work: Workload):
    """A stream that goes on by all rows."""
    model, classes = new(), np.unique(work.y)

    def action():
        model.partial_fit(work.X, work.y, classes=classes)

    return action


def any_order(X):
    """The same rows, each with its nonzeros in an order of its own."""
    n, shuffled = X.shape[0], X.copy()
    order = np.random.default_rng(0).permuted(
        np.tile(np.arange(X.nnz // n), (n, 1)), axis=1
    )  # all rows of a workload are of one length
    for name in ("indices", "data"):
        held = np.take_along_axis(getattr(X, name).reshape(n, -1), order, 1)
        setattr(shuffled, name, held.ravel())
    shuffled.has_sorted_indices = shuffled.has_canonical_format = False
    return shuffled


def many_classes(quick: bool) -> tuple[list[Table], list[Goal]]:
    """Twenty classes in one sweep against twenty binary passes, and on two threads."""
    work, rounds = make("classes-20", quick), 2 if quick else 6
    classes = np.unique(work.y)
    halves = [Workload(work.X, np.where(work.y == c, 1, -1)) for c in classes]
    makers_of = TAMIS | {name: CONFIDENT[name] for name in ("tamis AROW", "tamis SCW-I")}
    rows, inside, streamed, faster = [], {}, {}, {}
    for name in [*chosen(quick), *([] if quick else ["tamis AROW", "tamis SCW-I"])]:
        makers = {name: makers_of[name]}
        sweep, apart = np.inf, np.full(len(classes), np.inf)
        for _ in range(1 if quick else 3):
            sweep = min(sweep, by_fit(makers, work, rounds, extra=2)[name].least)
            apart = np.minimum(
                apart, [by_fit(makers, half, 2, extra=2)[name].least for half in halves]
            )
        if name in TAMIS:  # the others have no n_jobs
            jobs = interleave_jobs(TAMIS[name], work, classes, rounds)
        whole = by_partial_fit(makers, work, rounds)[name].least
        pieces = sum(by_partial_fit(makers, half, 2)[name].least for half in halves)
        inside[name], streamed[name] = sweep / apart.sum(), whole / pieces
        if name in TAMIS:
            faster[name] = jobs[1].least / jobs[2].least
        ns = [1e9 * seconds / work.X.nnz for seconds in (sweep, apart.sum(), whole, pieces)]
        figures = [f"{x:.1f}" for x in ns]
        rows.append(
            [
                name,
                *figures[:2],
                f"{inside[name]:.2f}",
                *figures[2:],
                f"{streamed[name]:.2f}",
                f"{faster[name]:.2f}" if name in faster else "-",
            ]
        )
    head = [
        "ns per nonzero",
        "fit: sweep",
        "fit: 20 binary",
        "ratio",
        "partial_fit: sweep",
        "partial_fit: binary",
        "ratio",
        "n_jobs=2 speeds up",
    ]
    note = (
        f"The speed-up is of wall time, on a machine of {os.cpu_count()} cores with other work "
        "on them."
    )
    figure = f"{worst(inside)} inside fit, {worst(streamed)} by partial_fit"
    goals = [
        Goal(
            "20 classes in one sweep at most 0.5 of 20 binary passes",
            figure,
            verdict(max(*inside.values(), *streamed.values()) <= 0.5),
        ),
        Goal(
            "n_jobs=2 never slower than 1",
            f"{min(faster.values()):.2f} times as fast at least",
            verdict(min(faster.values()) >= 0.95),  # the rest is noise
        ),
    ]
    return [Table(f"Many classes, {describe('classes-20')}", head, rows, note)], goals


def interleave_jobs(new, work: Workload, classes, rounds: int) -> dict[int, Times]:
    """Wall seconds of a sweep on one thread and on two."""
    models = {jobs: new(n_jobs=jobs) for jobs in (1, 2)}
    actions = {
        jobs: (lambda model=model: (model.partial_fit(work.X, work.y, classes=classes), None)[1])
        for jobs, model in models.items()
    }
    return interleaved(actions, 2 * rounds, clock=time.perf_counter)


def across_types(quick: bool) -> tuple[list[Table], list[Goal]]:
    """Single precision and 64-bit indices against the usual types."""
    names = chosen(quick)
    ns = in_turn(
        by_fit,
        {name: TAMIS[name] for name in names},
        {name: make(name, quick) for name in TYPES},
        2 if quick else 6,
    )
    ratios = {name: ns[name, "float32"] / ns[name, "rcv1-like"] for name in names}
    wide = {name: ns[name, "int64"] / ns[name, "rcv1-like"] for name in names}
    rows = [
        [
            name,
            *(f"{ns[name, kind]:.2f}" for kind in TYPES),
            f"{ratios[name]:.2f}",
            f"{wide[name]:.2f}",
        ]
        for name in names
    ]
    head = [
        "ns per nonzero, inside fit",
        "float64, int32",
        "float32, int32",
        "float64, int64",
        "float32 / float64",
        "int64 / int32",
    ]
    goal = Goal(
        "float32 data at most 1.15 times the time of float64",
        worst(ratios),
        verdict(max(ratios.values()) <= 1.15),
    )
    return [
        Table("Number types", head, rows, "scikit-learn's SGDClassifier refuses int64 indices.")
    ], [goal]


def million(quick: bool) -> tuple[list[Table], list[Goal]]:
    """A million rows and columns, streamed."""
    work = make("million", quick)
    makers = {name: TAMIS[name] for name in chosen(quick)} | SKLEARN
    times = by_partial_fit(makers, work, 1 if quick else 3)
    rows = [
        [
            name,
            f"{1e9 * t.least / work.X.nnz:.2f}",
            f"{t.least:.2f}",
            f"{t.least / times[LASSO].least:.2f}",
        ]
        for name, t in times.items()
    ]
    return [
        Table(
            f"A million, {describe('million')}",
            ["one partial_fit", "ns per nonzero", "seconds", "/ sklearn l1"],
            rows,
        )
    ], []
