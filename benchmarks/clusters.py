"""A cluster of this machine: two workers against one, what a visit costs beside the learning, the
bytes that move, files that no worker can hold, and what this says of larger clusters.

Ratios inside one run are what counts: all of it goes over the loopback of one machine. Every
measurement is one call of `python -m benchmarks.clusters NAME`, kept in build/clusters.json; the
page makes those that are missing, and takes the best of several.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import growth
from benchmarks.clock import ROOT
from benchmarks.growth import local_cluster
from benchmarks.pages import Goal, Page, Table, folder, verdict
from tamis import FTRLClassifier
from tamis.distributed import fit, rounds
from tamis.distributed.cluster import DaskExecutor
from tamis.distributed.visits import bytes_in

OPENING = """
Blocks of sparse rows on the workers of a `LocalCluster`, one thread each. Seconds are those of the
rounds: the way of the blocks to the workers is left out. "Idle" is a walk over blocks of two rows:
what is left is the cost of the visits themselves.
"""
ABSENT = "dask is not installed; `pip install 'tamis[dask]'`."
STORE = ROOT / "build" / "clusters.json"
ENTRIES = 60  # of a row
CLASSES = 32
SIZES = {
    True: (600, 5_000, 60_000),
    False: (200_000, 20_000, 300_000),
}  # rows, columns of ratios, of moves


def run(quick: bool) -> Page:
    """All measurements, as a page."""
    page = Page("clusters", "Clusters: speed, bytes, memory", OPENING)
    try:
        import distributed  # noqa: F401
    except ImportError:
        page.opening += ABSENT
        return page
    found = {} if quick else known()
    for name, measure in MEASURES.items():
        if name not in found:
            print(f"clusters: {name}", flush=True)
            found[name] = [measure(quick)]
            if not quick:
                keep(name, found[name][0])
    _ratios(page, found, quick)
    _moves(page, found["moved"][-1])
    growth.large_table(page, found["large"][-1])
    growth.machine_table(page, found["machine"][-1], folder(quick))
    growth.growth_table(page, found["machine"][-1], found["idle"], found["transfer"][-1])
    return page


def known() -> dict[str, list]:
    """What was measured before."""
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def keep(name: str, found: Any) -> None:
    """One more result of a measurement."""
    STORE.parent.mkdir(exist_ok=True)
    stored = known()
    stored.setdefault(name, []).append(found)
    STORE.write_text(json.dumps(stored, indent=1) + "\n")


# --------------------------------------------------------------------------- the page
def _ratios(page: Page, found: dict, quick: bool) -> None:
    """Two workers against one, and the cost of a visit."""
    rows, width, _ = SIZES[quick]
    lines = []
    same = True
    for name, wanted in (("walk", 1.6), ("walk, segments of 4", 1.6), ("mix", 1.7)):
        runs = found[name]
        same = same and all(run["same"] for run in runs)
        one, two = (min(run[w] for run in runs) for w in "12")
        each = ", ".join(f"{run['1'] / run['2']:.2f}" for run in runs)
        visit = one / runs[0]["visits"]
        lines.append([name, f"{visit:.2f}", f"{one:.1f}", f"{two:.1f}", f"{one / two:.2f}"])
        page.goals.append(
            Goal(
                f"{name}, visits of about a second: two workers {wanted} times one",
                f"{one / two:.2f} (visits of {visit:.1f} s; run by run {each})",
                verdict(one / two >= wanted),
            )
        )
    page.tables.append(
        Table(
            f"FTRL of {CLASSES} classes, 4 blocks of {rows:,} rows, {ENTRIES} entries each, "
            f"{width:,} columns",
            ["run", "a visit, s", "one worker, s", "two workers, s", "ratio"],
            lines,
            "Walk: 4 paths, one sweep, 16 visits. Mix: four sweeps, 16 visits. Least seconds of "
            f"{len(found['walk'])} runs, in which one worker and two took turns.",
        )
    )
    cost = min(1000 * one["seconds"] / one["visits"] for one in found["idle"])
    page.goals.append(Goal("At most 10 ms a visit", f"{cost:.1f} ms", verdict(cost <= 10)))
    page.goals.append(Goal("One worker and two: the same bits", str(same), verdict(same)))


def _moves(page: Page, found: dict) -> None:
    """Bytes of a sweep."""
    off = abs(found["found"] / found["planned"] - 1.0)
    page.tables.append(
        Table(
            "Bytes of a sweep: 8 paths over 8 partitions on 2 workers",
            ["what", "MB"],
            [
                ["a model", f"{found['model'] / 1e6:.1f}"],
                ["plan: models between workers", f"{found['between'] / 1e6:.0f}"],
                [
                    "plan: models to this process, by way of the scheduler",
                    f"{found['home'] / 1e6:.0f}",
                ],
                ["found on the loopback", f"{found['found'] / 1e6:.0f}"],
            ],
            "A run of two sweeps less a run of one. Models come home after every segment of two "
            "rounds, so that they can be replayed; `segment=` makes that rarer. No"
            " partition moves.",
        )
    )
    said = f"{found['found'] / 1e6:.0f} of {found['planned'] / 1e6:.0f} MB ({100 * off:.1f} % off)"
    page.goals.append(
        Goal("Bytes moved a sweep equal the plan within 5 %", said, verdict(off <= 0.05))
    )


# --------------------------------------------------------------------------- measurements
def walk(quick: bool) -> dict:
    """A walk with one worker and with two."""
    return _compared(quick, {"paths": 4})


def walk_longer(quick: bool) -> dict:
    """The same where models come home after four rounds, not two."""
    return _compared(quick, {"paths": 4, "segment": 4})


def mix(quick: bool) -> dict:
    """A mix with one worker and with two."""
    return _compared(quick, {"how": "mix", "sweeps": 4})


def _compared(quick: bool, how: dict) -> dict:
    """Seconds of the rounds of one worker and of two, in turn."""
    rows, width, _ = SIZES[quick]
    blocks, few = _blocks(4, rows, width, CLASSES), _blocks(4, 100, width, CLASSES)
    found: dict[str, Any] = {"visits": 16}
    weights = []
    with local_cluster(2) as client:
        _timed(FTRLClassifier(), few, client, how)  # compiled, imported
        for workers in (1, 2):
            with _only(workers):
                learnt, found[str(workers)] = _timed(FTRLClassifier(), blocks, client, how)
            weights.append(learnt)
    return {**found, "same": bool(np.array_equal(*weights))}


@contextmanager
def _only(workers: int) -> Iterator[None]:
    """Let the first workers of a cluster be all."""
    homes = DaskExecutor.homes
    DaskExecutor.homes = lambda self: homes(self)[:workers]  # type: ignore[method-assign]
    yield
    DaskExecutor.homes = homes  # type: ignore[method-assign]


def idle(quick: bool) -> dict:
    """Visits that learn next to nothing."""
    with local_cluster(1) as client:
        blocks = _blocks(8, 2, 100)
        runs = [_timed(FTRLClassifier(), blocks, client, {"sweeps": s})[1] for s in (1, 1, 3)]
    return {"visits": 128, "seconds": runs[2] - runs[1]}


def transfer(quick: bool) -> dict:
    """A model on its way from worker to worker and home again."""
    wide = _blocks(2, 20, 10**5 if quick else 2 * 10**6)
    model = fit(FTRLClassifier(), wide, paths=1, progress=False)
    with local_cluster(2) as client:
        one, other = sorted(client.scheduler_info()["workers"])
        lying = client.scatter(model, workers=[one])
        taken = []
        for _ in range(5):
            begin = time.perf_counter()
            client.submit(bytes_in, lying, workers=[other], pure=False).result()
            taken.append(time.perf_counter() - begin)
            (lying,) = client.scatter([model], workers=[one], hash=False)
    return {"bytes": bytes_in(model), "seconds": min(taken)}


def moved(quick: bool) -> dict:
    """Bytes on the loopback, of two sweeps less one, and those of the plan."""
    blocks = _blocks(8, 2_000 if quick else 20_000, SIZES[quick][2])
    counted = []
    with local_cluster(2) as client:
        for sweeps in (1, 1, 2):
            before = _loopback()
            given = {"sweeps": sweeps, "paths": 8, "progress": False}
            model = fit(FTRLClassifier(), blocks, client, **given)
            counted.append(_loopback() - before)
    size = bytes_in(model.paths_[0])
    between, home = 8 * 2 * size, 8 * 4 * 2 * size  # 8 paths cross 2 borders; 4 segments, 2 hops
    found = {"model": size, "between": between, "home": home, "planned": between + home}
    return {**found, "found": counted[2] - counted[1]}


def _loopback() -> int:
    """Bytes that this machine has sent to itself."""
    with open("/proc/net/dev") as file:
        (line,) = (one for one in file if one.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


MEASURES: dict[str, Callable[[bool], dict]] = {
    "walk": walk,
    "walk, segments of 4": walk_longer,
    "mix": mix,
    "idle": idle,
    "transfer": transfer,
    "moved": moved,
    "machine": growth.machine,
    "large": growth.large,
}


# --------------------------------------------------------------------------- tools
def _blocks(count: int, rows: int, width: int, classes: int = 2) -> list:
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


def _timed(model: Any, blocks: list, client: Any, how: dict) -> tuple[np.ndarray, float]:
    """Weights, and seconds of the rounds."""
    taken, run_rounds = [], rounds.Schedule.run

    def timed(self: Any, *given: Any) -> Any:
        self.places.open()
        begin = time.perf_counter()
        found = run_rounds(self, *given)
        taken.append(time.perf_counter() - begin)
        return found

    rounds.Schedule.run = timed  # type: ignore[method-assign]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fit(model, blocks, client, progress=False, **how)
    finally:
        rounds.Schedule.run = run_rounds  # type: ignore[method-assign]
    return np.asarray(found.coef_), taken[0]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        result = MEASURES[name](False)
        keep(name, result)
        print(name, json.dumps(result), flush=True)
