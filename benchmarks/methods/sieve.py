"""The sieve and stabilized descent: the cost of their passes, of whole fits against batch methods,
threads and memory.
"""

import json
import os
import time
import warnings
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

from benchmarks.clock import between, fresh, interleaved
from benchmarks.memory import MEBI, forget_peak, peak
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.papers.stabilized import sets
from benchmarks.papers.stabilized.methods import MODERN
from benchmarks.realsets import ABSENT
from benchmarks.workloads import RECIPES, Workload, describe, make
from tamis import OnlineClassifier, SieveClassifier, StabilitySelector, StabilizedSGDClassifier
from tamis.base.validation import validate_matrix
from tamis.methods.sieve.paths import PathGroup
from tamis.methods.sieve.settings import make_candidates, make_objective, make_options
from tamis.methods.sieve.table.standard_units import content_order, standardize_table
from tamis.methods.stabilized_sgd.fit import OutputFit
from tamis.methods.stabilized_sgd.loop_stage import PRESENT
from tamis.numerics.hashing import row_hashes
from tamis.numerics.numba import compiled, compiled_parallel, prange, run_parallel

EXTRA = 3  # passes by which the longer of two fits exceeds the shorter
PAIRS = ("graphics/space", "atheism/religion", "ibm/mac", "news20 even/odd", "a9a")
SLACK = 100 * MEBI


# --------------------------------------------------------------------------- passes
def _passes(model, work: Workload, **more):
    """Two fits, the second of EXTRA more passes."""
    first = more.pop("first", 1)
    makers = {"few": first, "many": first + EXTRA}
    return {
        name: (
            lambda n=n: model(max_iter=n, tol=None, random_state=0, verbose=0, **more).fit(
                work.X, work.y
            )
        )
        for name, n in makers.items()
    }


def sieve_walk(work: Workload):
    """A call that walks one path of the sieve once over all rows, as its first level does."""
    model = SieveClassifier()
    rows = validate_matrix(model, work.X, reset=True)
    targets = np.where(work.y > 0, 1.0, -1.0)[:, None]
    order = content_order(row_hashes(rows), targets, np.zeros(0))
    table, _ = standardize_table(rows, targets, np.zeros(0), order, 1, True)
    task, options = make_objective(model), make_options(model, rows.n_features, True)
    group = PathGroup(
        table,
        task,
        make_candidates(table, task.loss, options)[0],
        np.arange(table.n_rows, dtype=np.uint64),
        [],
        np.ones(1, np.uint64),
    )
    group.tune()
    return lambda: [walk() for walk in group.walks(1)]


def pass_table(quick: bool) -> tuple[Table, list[Goal]]:
    """Nanoseconds per visited nonzero of one path's pass."""
    work = make("rcv1-like", quick)
    plain = _passes(OnlineClassifier, work, penalty=None, learning_rate="constant", eta=0.5)
    wild = _passes(StabilizedSGDClassifier, work, n_paths=16, burn_in=100.0)
    voting = _passes(StabilizedSGDClassifier, work, n_paths=16, purge=0.0, first=2)
    named = {
        (who, when): act
        for who, acts in (("SGD", plain), ("burn-in", wild), ("voting", voting))
        for when, act in acts.items()
    }
    times = interleaved(
        {**named, ("sieve", "once"): sieve_walk(work)}, 2 if quick else 5, clock=time.thread_time
    )
    per = 1e9 / work.X.nnz
    sgd = per * between(times["SGD", "few"], times["SGD", "many"]).least / EXTRA
    burn, vote = (
        per * between(times[who, "few"], times[who, "many"]).least / EXTRA / 16
        for who in ("burn-in", "voting")
    )
    sieve = per * times["sieve", "once"].least
    rows = [
        ["plain SGD, shuffled", f"{sgd:.2f}", "1.00"],
        ["stabilized path, burn-in", f"{burn:.2f}", f"{burn / sgd:.2f}"],
        ["stabilized path, voting, nothing purged", f"{vote:.2f}", f"{vote / sgd:.2f}"],
        ["sieve path", f"{sieve:.2f}", f"{sieve / sgd:.2f}"],
    ]
    goals = [
        Goal(
            "a stabilized path's pass before any purge at most 5 times a plain SGD pass",
            f"{vote / sgd:.2f}",
            verdict(vote <= 5 * sgd),
        ),
        Goal(
            "a sieve path's pass at most 2 times a plain SGD pass",
            f"{sieve / sgd:.2f}",
            verdict(sieve <= 2 * sgd),
        ),
    ]
    return Table(
        f"One pass of one path, {describe('rcv1-like')}",
        ["pass", "ns per nonzero", "against SGD"],
        rows,
    ), goals


def walked_passes(work: Workload, passes: int) -> tuple[list[float], list[np.ndarray]]:
    """Seconds of each pass of one fit, and which features were left after it."""
    seconds, left, walk = [], [], OutputFit.walk

    def timed(fitting, *given):
        begin = time.thread_time()
        walk(fitting, *given)
        seconds.append(time.thread_time() - begin)
        left.append(fitting.bundle.status == PRESENT)

    model = StabilizedSGDClassifier(
        rejection=0.9, purge=0.9, max_iter=passes, tol=None, random_state=0, verbose=0
    )
    with patch.object(OutputFit, "walk", timed):
        model.fit(work.X, work.y)
    return seconds, left


def purge_table(quick: bool) -> tuple[Table, list[Goal]]:
    """Cost of each pass while features leave."""
    work = make("rcv1-like", quick)
    per, often = 1e9 / work.X.nnz / 16, np.bincount(work.X.indices, minlength=work.X.shape[1])
    passes, rounds = (3, 2) if quick else (6, 7)
    found = [walked_passes(work, passes) for _ in range(1 + rounds)][1:]
    costs = [per * min(seconds) for seconds in zip(*(each for each, _ in found), strict=True)]
    rows = []
    for turn, (cost, left) in enumerate(zip(costs, found[0][1], strict=True), 1):
        share = often[left].sum() / work.X.nnz
        rows.append([str(turn), f"{left.sum():,}", f"{100 * share:.0f}", f"{cost:.2f}"])
    note = """
        logistic, rejection 0.9, purge 0.9; the first pass is the burn-in. Per nonzero of X and
        path, whether its feature is still there or not; the least of several fits, each pass for
        itself."""
    falling = all(later <= 1.05 * cost for cost, later in pairwise(costs[1:]))
    goal = Goal(
        "a pass costs less the fewer features are left (within 5 % of noise)",
        ", ".join(f"{cost:.1f}" for cost in costs[1:]) + " ns",
        verdict(falling),
    )
    head = ["pass", "features left after it", "% of nonzeros", "ns per nonzero of X"]
    return Table("What a pass costs as features are purged", head, rows, note), [goal]


# --------------------------------------------------------------------------- whole fits
def fit_table(quick: bool) -> tuple[list[Table], list[Goal]]:
    """The sieve against cross-validated L1 and stability selection, on real data."""
    folder = os.environ.get("TAMIS_DATA")
    if not folder:
        return [Table("Whole fits", ["set"], [], ABSENT)], []
    kind = {"l1_ratios": [1.0], "use_legacy_attributes": False} if MODERN else {"penalty": "l1"}
    rows, ratios, lower = [], {}, []
    for name in PAIRS[:1] if quick else PAIRS:
        split = sets.read(name, Path(folder))
        batch = LogisticRegressionCV(solver="liblinear", Cs=10, cv=5, **kind)
        ours = SieveClassifier(random_state=0)
        times = interleaved(
            {
                "sieve": lambda m=ours, s=split: m.fit(s.X, s.y),
                "batch": lambda m=batch, s=split: m.fit(s.X, s.y),
            },
            1 if quick else 2,
        )
        ratios[name] = times["batch"].least / times["sieve"].least
        errors = [1 - model.score(split.X_test, split.y_test) for model in (ours, batch)]
        sizes = [len(ours.support_), int((np.ravel(batch.coef_) != 0).sum())]
        if name != "a9a":
            lower.append(errors[0] < errors[1])
        cells = [f"{times[who].least:.2f}" for who in ("sieve", "batch")]
        rows.append(
            [
                name,
                *cells,
                f"{ratios[name]:.1f}",
                *(f"{100 * e:.2f} at {k:,}" for e, k in zip(errors, sizes, strict=True)),
            ]
        )
    head = ["set", "sieve, s", "LogisticRegressionCV, s", "times faster"]
    head += ["sieve, error % at features", "LogisticRegressionCV"]
    note = "Wall time, size choice included, one thread; l1, liblinear, 10 strengths, 5 folds."
    tables = [Table("A whole fit against cross-validated batch L1", head, rows, note)]
    least = min(ratios, key=lambda name: ratios[name])
    goals = [
        Goal(
            "a sieve fit at most 1/10 of LogisticRegressionCV's time",
            f"at least {ratios[least]:.1f} times faster ({least})",
            verdict(ratios[least] >= 10),
        ),
        Goal(
            "at lower error on the text sets", f"{sum(lower)} of {len(lower)}", verdict(all(lower))
        ),
    ]
    return tables, goals


def stability_table(quick: bool) -> tuple[list[Table], list[Goal]]:
    """Both against stability selection of 50 subsamples and 10 penalties."""
    folder = os.environ.get("TAMIS_DATA")
    if not folder:
        return [], []
    split = sets.read("graphics/space", Path(folder))
    kind = {"l1_ratio": 1.0} if MODERN else {"penalty": "l1"}
    selector = StabilitySelector(
        LogisticRegression(solver="liblinear", tol=1e-3, **kind),
        n_pairs=5 if quick else 25,
        param_values=10,
        random_state=0,
        verbose=False,
    )
    runs = {
        "stability selection": lambda: selector.fit(split.X, split.y),
        "sieve": lambda: SieveClassifier(random_state=0).fit(split.X, split.y),
        "stabilized SGD, 10 passes": lambda: StabilizedSGDClassifier(
            max_iter=10, tol=None, random_state=0, verbose=0
        ).fit(split.X, split.y),
    }
    times = interleaved(runs, 1)
    slow = times["stability selection"].least
    rows = [
        [name, f"{found.least:.2f}", f"{slow / found.least:.1f}"] for name, found in times.items()
    ]
    worst = min(
        slow / found.least for name, found in times.items() if name != "stability selection"
    )
    goal = Goal(
        "at least 10 times faster than stability selection (50 halves, 10 penalties, liblinear)",
        f"{worst:.0f} times",
        verdict(worst >= 10),
    )
    return [
        Table("Against stability selection, graphics/space", ["fit", "s", "times faster"], rows)
    ], [goal]


# --------------------------------------------------------------------------- threads
def thread_table(quick: bool) -> tuple[Table, list[Goal]]:
    """Wall time on one thread and on two, and what two separate fits at the same time reach on this
    machine.
    """
    work = make("rcv1-like", quick)
    cases = {
        "stabilized SGD, burn-in": lambda jobs: StabilizedSGDClassifier(
            burn_in=100.0, max_iter=3, tol=None, n_jobs=jobs, random_state=0, verbose=0
        ),
        "stabilized SGD": lambda jobs: StabilizedSGDClassifier(
            loss="hinge", max_iter=4, tol=None, n_jobs=jobs, random_state=0, verbose=0
        ),
        "sieve": lambda jobs: SieveClassifier(n_jobs=jobs, random_state=0),
    }
    rows, gains = [], {"two loops that share nothing": _ceiling(3 if quick else 9)}
    rows.append([*gains, "", "", f"{gains['two loops that share nothing']:.2f}", ""])
    for name, maker in cases.items():
        times = interleaved(
            {jobs: (lambda jobs=jobs, m=maker: m(jobs).fit(work.X, work.y)) for jobs in (1, 2)},
            1 if quick else 3 if name == "sieve" else 7,
        )
        gains[name] = times[1].least / times[2].least
        same = np.array_equal(
            maker(1).fit(work.X, work.y).coef_, maker(2).fit(work.X, work.y).coef_
        )
        cells = [f"{times[1].least:.2f}", f"{times[2].least:.2f}", f"{gains[name]:.2f}"]
        rows.append([name, *cells, "yes" if same else "no"])
    note = f"""
        Wall time on a machine of {os.cpu_count()} cores. The first line is what the machine gives
        to two loops of arithmetic that meet as often as the paths of a stage do."""
    goals = [
        Goal(
            f"{name}: two threads at least {least} times faster",
            f"{gains[name]:.2f}",
            verdict(gains[name] >= least),
        )
        for name, least in (("stabilized SGD", 1.7), ("sieve", 1.8))
    ]
    return Table(
        "Threads", ["fit", "one, s", "two, s", "times faster", "equal bits"], rows, note
    ), goals


@compiled
def _turns(sums, stages, steps):
    """Sums that each depend on the last, in as many stages."""
    for _ in range(stages):
        for g in range(2):
            for _ in range(steps):
                sums[8 * g] = sums[8 * g] * 0.5 + 1.0


@compiled_parallel
def _turns_on_threads(sums, stages, steps):
    """The same on threads."""
    for _ in range(stages):
        for g in prange(2):
            for _ in range(steps):
                sums[8 * g] = sums[8 * g] * 0.5 + 1.0


def _ceiling(rounds: int) -> float:
    """How much faster two threads are at stages of some 200 microseconds without any memory."""
    given = (np.zeros(16), 1000, 60_000)
    times = interleaved(
        {
            jobs: lambda jobs=jobs: run_parallel(_turns_on_threads, _turns, jobs, *given)
            for jobs in (1, 2)
        },
        rounds,
    )
    return times[1].least / times[2].least


# --------------------------------------------------------------------------- memory
def child(workload: str, rows: int, quick: bool) -> None:
    """In a fresh process: load all code by a tiny fit, then measure one fit."""
    warnings.simplefilter("ignore")
    work = make(workload, quick)
    X, y = work.X[:rows], work.y[:rows]
    del work
    few = X[:200]
    few = type(X)((few.data, few.indices % 1000, few.indptr), shape=(200, 1000))
    few.sum_duplicates()
    SieveClassifier(random_state=0).fit(few, y[:200])
    model = SieveClassifier(random_state=0)
    forget_peak()
    before, begin = peak(), time.perf_counter()
    model.fit(X, y)
    seen = int((np.bincount(X.indices, minlength=1) > 0).sum())
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    found = {
        "grown": peak() - before,
        "seconds": time.perf_counter() - begin,
        "X": size,
        "seen": seen,
        "paths": model.resolved_params_["n_paths"],
    }
    print(json.dumps(found))


def memory_table(quick: bool) -> tuple[Table, list[Goal]]:
    """Peak memory of a sieve fit beyond X."""
    rows, worst = [], 0.0
    for workload, n in (("columns-1e5", 20_000), ("million", 200_000), ("columns-1e7", 20_000))[
        : 1 if quick else 3
    ]:
        code = f"from benchmarks.methods.sieve import child; child({workload!r}, {n}, {quick})"
        found = json.loads(fresh(code, environment={"MALLOC_MMAP_THRESHOLD_": "65536"}).text)
        promised = found["X"] + 24 * found["paths"] * found["seen"] + SLACK
        worst = max(worst, found["grown"] / promised)
        cells = [f"{found[key] / MEBI:,.0f}" for key in ("X", "grown")]
        rows.append(
            [
                f"{n:,} x {RECIPES[workload].columns:,}",
                f"{found['seen']:,}",
                *cells,
                f"{promised / MEBI:,.0f}",
                f"{found['seconds']:.1f}",
            ]
        )
    head = ["rows x columns", "columns seen", "X, MiB", "grown, MiB", "promised, MiB", "s"]
    note = (
        "Beyond X and y. Promised: X once more, in standard units, 24 bytes a path of a level "
        "and kept column, and 100 MiB."
    )
    goal = Goal(
        "sieve: X, 24 bytes a path of a level and kept column, 100 MB",
        f"at worst {worst:.2f} of that",
        verdict(worst <= 1.0),
    )
    return Table("Memory of a sieve fit", head, rows, note), [goal]


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        What selecting costs. Passes are CPU time of one thread, the quietest of several rounds in
        turn; whole fits are wall time. The real sets are read from the folder that TAMIS_DATA
        names."""
    page = Page("selection", "The sieve and stabilized descent", opening)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = pass_table, purge_table, fit_table, stability_table, thread_table, memory_table
        for part in tables:
            made, goals = part(quick)
            page.tables += made if isinstance(made, list) else [made]
            page.goals += goals
    return page
