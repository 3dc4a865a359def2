"""Two workers of a small cluster beside one, and two plain processes beside one: where the latter
gain little, nothing that hands out work can gain more.
"""

import copy
import multiprocessing as mp
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.growth import local_cluster
from benchmarks.pages import Goal, Page, Table, verdict
from tamis import FTRLClassifier
from tamis.distributed import fit, schedule
from tamis.distributed.cluster import DaskExecutor

ENTRIES = 60  # of a row
CLASSES = 32
SIZES = {True: (600, 5_000), False: (200_000, 20_000)}  # rows and columns of a block
VISITS = 16
RATIOS: dict[str, tuple[dict, float]] = {  # what is learnt how, and what two workers should gain
    "walk": ({"paths": 4}, 1.6),
    "walk, segments of 4": ({"paths": 4, "segment": 4}, 1.6),
    "mix": ({"how": "mix", "sweeps": 4}, 1.7),
}


# --------------------------------------------------------------------------- the page
def ratio_tables(page: Page, found: dict[str, list[dict]], quick: bool) -> None:
    """Seconds of one and of two, and what becomes of a visit where two learn at once."""
    rows, width = SIZES[quick]
    lines, visits, runs = [], [], 0
    same = True
    for name, (_, wanted) in RATIOS.items():
        given = found[name]
        runs, same = max(runs, len(given)), same and all(run["same"] for run in given)
        least = {key: min(run[key] for run in given) for key in ("1", "2", "plain 1", "plain 2")}
        ratio, plain = least["1"] / least["2"], least["plain 1"] / least["plain 2"]
        each = ", ".join(f"{run['1'] / run['2']:.2f}" for run in given)
        shown = [f"{seconds:.1f}" for seconds in least.values()]
        lines.append([name, *shown[:2], f"{ratio:.2f}", *shown[2:], f"{plain:.2f}"])
        best = {key: min(given, key=lambda run, key=key: run[key]) for key in ("1", "2")}
        idle = 1.0 - VISITS * best["2"]["visit 2"] / (2.0 * best["2"]["2"])
        visit = best["1"]["visit 1"]
        visits.append([name, f"{visit:.2f}", f"{best['2']['visit 2']:.2f}", f"{100 * idle:.0f}"])
        page.goals.append(
            Goal(
                f"{name}, visits of about a second: two workers {wanted} times one",
                f"{ratio:.2f} (visits of {visit:.1f} s; run by run {each}; two plain processes "
                f"{plain:.2f})",
                verdict(ratio >= wanted),
            )
        )
    head = ["run", "one worker, s", "two workers, s", "ratio"]
    page.tables.append(
        Table(
            f"FTRL of {CLASSES} classes, 4 blocks of {rows:,} rows, {ENTRIES} entries each, "
            f"{width:,} columns",
            [*head, "one process, s", "two processes, s", "ratio"],
            lines,
            "Walk: 4 paths, one sweep, 16 visits. Mix: four sweeps, 16 visits. Least seconds of "
            f"{runs} runs, in which one and two took turns. The processes are plain ones, without "
            "a cluster: they copy a model and learn a block 16 times, or 8 times each, and tell "
            "nobody. What two of them gain is what this machine gives.",
        )
    )
    page.tables.append(
        Table(
            "What becomes of a visit",
            ["run", "a visit of one worker, s", "of two at once, s", "not learning, % of two"],
            visits,
            "Of the fastest runs. What two at once take longer for a visit they wait for the "
            "memory and the clock that they share; the last column is all that rounds cost: models "
            "on their way, trees, ends of segments at which somebody waits.",
        )
    )
    page.goals.append(Goal("One worker and two: the same bits", str(same), verdict(same)))


# --------------------------------------------------------------------------- measurements
def compared(quick: bool, name: str) -> dict:
    """Seconds of one worker and of two, of one process and of two, in turn."""
    rows, width = SIZES[quick]
    how = RATIOS[name][0]
    blocks, few = make_blocks(4, rows, width, CLASSES), make_blocks(4, 100, width, CLASSES)
    found: dict[str, Any] = {}
    weights = []
    with plain_processes(rows, width) as seconds, local_cluster(2) as client:
        timed(FTRLClassifier(), few, client, how)  # compiled, imported
        for workers in (1, 2):
            with _only(workers):
                learnt, *taken = timed(FTRLClassifier(), blocks, client, how)
            found[f"{workers}"], found[f"visit {workers}"] = taken
            found[f"plain {workers}"] = seconds(workers)
            weights.append(learnt)
    return {**found, "same": bool(np.array_equal(*weights))}


@contextmanager
def _only(workers: int) -> Iterator[None]:
    """Let the first workers of a cluster be all."""
    all_workers = DaskExecutor.workers
    DaskExecutor.workers = lambda self: all_workers(self)[:workers]  # type: ignore[method-assign]
    yield
    DaskExecutor.workers = all_workers  # type: ignore[method-assign]


def timed(model: Any, blocks: list, client: Any, how: dict) -> tuple[np.ndarray, float, float]:
    """Weights, seconds of the rounds, and of a visit."""
    taken: list[float] = []
    run_rounds = schedule.Schedule.run

    def clocked(self: Any, *given: Any) -> Any:
        self.places.open()
        begin = time.perf_counter()
        found = run_rounds(self, *given)
        taken.append(time.perf_counter() - begin)
        taken.append(float(np.mean([one for path in found for one in path.taken])))
        return found

    schedule.Schedule.run = clocked  # type: ignore[method-assign]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fit(model, blocks, client, progress=False, **how)
    finally:
        schedule.Schedule.run = run_rounds  # type: ignore[method-assign]
    return np.asarray(found.coef_), taken[0], taken[1]


@contextmanager
def plain_processes(rows: int, width: int) -> Iterator[Any]:
    """Two processes with blocks of their own; seconds of all visits by so many of them."""
    context = mp.get_context("spawn")
    asked = [context.Queue() for _ in range(2)]
    done = context.Queue()
    team = [context.Process(target=_visits, args=(rows, width, one, done)) for one in asked]

    def seconds(processes: int) -> float:
        begin = time.perf_counter()
        for one in asked[:processes]:
            one.put(VISITS // processes)
        wait(processes)
        return time.perf_counter() - begin

    def wait(processes: int) -> None:
        while processes:
            with suppress(Empty):
                done.get(timeout=5)
                processes -= 1
            if any(process.exitcode for process in team):
                raise RuntimeError("a plain process has failed")

    for one in team:
        one.start()
    try:
        wait(len(team))
        yield seconds
    finally:
        for one in asked:
            one.put(0)
        for process in team:
            process.join(60)


def _visits(rows: int, width: int, asked: Any, done: Any) -> None:
    """A process that learns as workers do, with no engine around it."""
    blocks = make_blocks(2, rows, width, CLASSES)
    (few,) = make_blocks(1, 100, width, CLASSES)
    model = FTRLClassifier().partial_fit(*few, classes=np.arange(CLASSES))
    while True:
        done.put(None)
        if not (visits := asked.get()):
            return
        for visit in range(visits):
            model = copy.deepcopy(model).partial_fit(*blocks[visit % 2])


def make_blocks(count: int, rows: int, width: int, classes: int = 2) -> list:
    """Blocks of sparse rows with a few columns that matter."""
    found = []
    for k in range(count):
        random = np.random.default_rng(k)
        entries = min(ENTRIES, width // 2)
        columns = (width * random.random((rows, entries)) ** 3).astype(np.int32)
        ends = np.arange(0, rows * entries + 1, entries)
        X = sp.csr_array((np.ones(rows * entries), columns.ravel(), ends), shape=(rows, width))
        X.sum_duplicates()
        score = np.asarray(X[:, :50].sum(axis=1)).ravel() + random.normal(size=rows)
        y = (score > 2).astype(int) if classes == 2 else np.clip(score, 0, classes - 1).astype(int)
        y[: min(rows, classes)] = np.arange(min(rows, classes))
        found.append((X, y))
    return found
