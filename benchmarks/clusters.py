"""A cluster of this machine: two workers against one, what a visit costs beside the learning, the
bytes that move, files that no worker can hold, and what this says of larger clusters.

Ratios inside one run are what counts: all of it goes over the loopback of one machine. Every
measurement is one call of `python -m benchmarks.clusters NAME`, kept in build/clusters.json; the
page makes those that are missing, and takes the best of several. Remove that file to begin anew.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import growth, pairs
from benchmarks.clock import ROOT
from benchmarks.growth import local_cluster
from benchmarks.pages import Goal, Page, Table, folder, verdict
from benchmarks.pairs import make_blocks, timed
from tamis import FTRLClassifier
from tamis.distributed import fit
from tamis.distributed.worker_tasks import array_bytes

OPENING = """
Blocks of sparse rows on the workers of a `LocalCluster`, one thread each. Seconds are those of the
rounds: the way of the blocks to the workers is left out. "Idle" is a walk over blocks of two rows:
what is left is the cost of the visits themselves.
"""
ABSENT = "dask is not installed; `pip install 'tamis[dask]'`."
STORE = ROOT / "build" / "clusters.json"
RUNS = 3  # of what is compared by its seconds


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
        wanted = RUNS if name in pairs.RATIOS and not quick else 1
        while len(found.setdefault(name, [])) < wanted:
            print(f"clusters: {name}", flush=True)
            if quick:
                found[name].append(clocked(measure, quick))
                continue
            # In a process of its own: what this one has held counts as a peak of its workers too.
            call = [sys.executable, "-m", "benchmarks.clusters", name]
            subprocess.run(call, cwd=ROOT, check=True)
            found[name] = known()[name]
    took = sum(one["took"] for runs in found.values() for one in runs)
    page.opening += f"\nAll measurements of this page took {took / 60:.0f} minutes.\n"
    pairs.ratio_tables(page, found, quick)
    cost = min(1000 * one["seconds"] / one["visits"] for one in found["idle"])
    page.goals.append(Goal("At most 10 ms a visit", f"{cost:.1f} ms", verdict(cost <= 10)))
    _moves(page, found["moved"][-1])
    growth.large_table(page, found["large"][-1])
    growth.machine_table(page, found["machine"][-1], folder(quick))
    growth.growth_table(page, found["machine"][-1], found["idle"], found["transfer"][-1])
    return page


def clocked(measure: Callable[[bool], dict], quick: bool) -> dict:
    """A measurement, with the seconds that all of it took."""
    begin = time.perf_counter()
    found = measure(quick)
    return {**found, "took": time.perf_counter() - begin}


def known() -> dict[str, list]:
    """What was measured before."""
    stored = json.loads(STORE.read_text()) if STORE.exists() else {}
    return {name: [run for run in runs if "took" in run] for name, runs in stored.items()}


def keep(name: str, found: Any) -> None:
    """One more result of a measurement."""
    STORE.parent.mkdir(exist_ok=True)
    stored = known()
    stored.setdefault(name, []).append(found)
    STORE.write_text(json.dumps(stored, indent=1) + "\n")


# --------------------------------------------------------------------------- the page
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
def idle(quick: bool) -> dict:
    """Visits that learn next to nothing."""
    with local_cluster(1) as client:
        blocks = make_blocks(8, 2, 100)
        runs = [timed(FTRLClassifier(), blocks, client, {"sweeps": s})[1] for s in (1, 1, 3)]
    return {"visits": 128, "seconds": runs[2] - runs[1]}


def transfer(quick: bool) -> dict:
    """A model on its way from worker to worker and home again."""
    wide = make_blocks(2, 20, 10**5 if quick else 2 * 10**6)
    model = fit(FTRLClassifier(), wide, paths=1, progress=False)
    with local_cluster(2) as client:
        one, other = sorted(client.scheduler_info()["workers"])
        lying = client.scatter(model, workers=[one])
        taken = []
        for _ in range(5):
            begin = time.perf_counter()
            client.submit(array_bytes, lying, workers=[other], pure=False).result()
            taken.append(time.perf_counter() - begin)
            (lying,) = client.scatter([model], workers=[one], hash=False)
    return {"bytes": array_bytes(model), "seconds": min(taken)}


def moved(quick: bool) -> dict:
    """Bytes on the loopback, of two sweeps less one, and those of the plan."""
    blocks = make_blocks(8, 2_000 if quick else 20_000, 60_000 if quick else 300_000)
    counted = []
    with local_cluster(2) as client:
        for sweeps in (1, 1, 2):
            before = _loopback()
            given = {"sweeps": sweeps, "paths": 8, "progress": False}
            model = fit(FTRLClassifier(), blocks, client, **given)
            counted.append(_loopback() - before)
    size = array_bytes(model.paths_[0])
    between, home = 8 * 2 * size, 8 * 4 * 2 * size  # 8 paths cross 2 borders; 4 segments, 2 hops
    found = {"model": size, "between": between, "home": home, "planned": between + home}
    return {**found, "found": counted[2] - counted[1]}


def _loopback() -> int:
    """Bytes that this machine has sent to itself."""
    with open("/proc/net/dev") as file:
        (line,) = (one for one in file if one.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


MEASURES: dict[str, Callable[[bool], dict]] = {
    **{name: partial(pairs.compared, name=name) for name in pairs.RATIOS},
    "idle": idle,
    "transfer": transfer,
    "moved": moved,
    "machine": growth.machine,
    "large": growth.large,
}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        result = clocked(MEASURES[name], False)
        keep(name, result)
        print(name, json.dumps(result), flush=True)
