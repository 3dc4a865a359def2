"""A cluster of this machine: two workers against one, and what a visit costs beside the learning.

Ratios inside one run are what counts: all of it goes over the loopback of one machine.
"""

import time
import warnings
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from benchmarks.pages import MET, MISSED, Goal, Page, Table
from tamis import AROWClassifier, FTRLClassifier
from tamis.distributed import fit

OPENING = """
Blocks of sparse rows on the workers of a `LocalCluster`, one thread each. Seconds are those of a
sweep: a run of two sweeps less a run of one (mix: of forty less twenty, over twenty), so that the
way of the blocks to the workers is left out. "Idle" is a walk over blocks of two rows: what is left
is the cost of the visits themselves.
"""
ABSENT = "dask is not installed; `pip install 'tamis[dask]'`."
ROUNDS = 3
ENTRIES = 60  # of a row


def run(quick: bool) -> Page:
    """Walks and mixes with one worker and with two."""
    page = Page("clusters", "Beyond one machine", OPENING)
    try:
        import distributed  # noqa: F401
    except ImportError:
        page.opening += ABSENT
        return page
    rows, width = (4_000, 20_000) if quick else (60_000, 200_000)
    blocks = _blocks(8, rows, width)
    cases = {
        "walk, FTRL, 8 paths": (FTRLClassifier(), blocks, 1, {"paths": 8}),
        "walk, AROW, 8 paths": (AROWClassifier(), blocks, 1, {"paths": 8}),
        "mix, FTRL": (FTRLClassifier(), blocks, 20, {"how": "mix"}),
        "idle: walk, 8 paths": (FTRLClassifier(), _blocks(8, 2, 100), 1, {"paths": 8}),
    }
    times = {name: {1: [], 2: []} for name in cases}
    same = True
    for _ in range(1 if quick else ROUNDS):
        for workers in (1, 2):
            with _cluster(workers) as client:
                for name, (model, given, sweeps, how) in cases.items():
                    _, short = _timed(model, given, client, sweeps, how)
                    found, long = _timed(model, given, client, 2 * sweeps, how)
                    times[name][workers].append((long - short) / sweeps)
                    reference = _reference(name, model, given, 2 * sweeps, how)
                    same = same and np.array_equal(found, reference)
    least = {name: {w: min(t) for w, t in one.items()} for name, one in times.items()}
    lines = [
        [name, f"{one[1]:.2f}", f"{one[2]:.2f}", f"{one[1] / one[2]:.2f}"]
        for name, one in least.items()
    ]
    page.tables.append(
        Table(
            f"8 blocks of {rows:,} rows, {ENTRIES} entries each, {width:,} columns; a sweep",
            ["run", "one worker, s", "two workers, s", "ratio"],
            lines,
        )
    )
    page.goals = _goals(least, same)
    return page


def _goals(least: dict, same: bool) -> list[Goal]:
    """What was promised."""
    found = []
    for name, wanted in (("walk, FTRL, 8 paths", 1.6), ("mix, FTRL", 1.7)):
        ratio = least[name][1] / least[name][2]
        verdict = MET if ratio >= wanted else MISSED
        found.append(Goal(f"{name}: two workers {wanted} times one", f"{ratio:.2f}", verdict))
    visits = 8 * 8
    cost = 1000 * least["idle: walk, 8 paths"][1] / visits
    found.append(Goal("At most 10 ms a visit", f"{cost:.1f} ms", MET if cost <= 10 else MISSED))
    found.append(Goal("The bits of one process", str(same), MET if same else MISSED))
    return found


def _blocks(count: int, rows: int, width: int) -> list:
    """Blocks of sparse rows with a few columns that matter."""
    found = []
    for k in range(count):
        random = np.random.default_rng(k)
        entries = min(ENTRIES, width // 2)
        columns = (width * random.random((rows, entries)) ** 3).astype(np.int32)
        ends = np.arange(0, rows * entries + 1, entries)
        X = sp.csr_array((np.ones(rows * entries), columns.ravel(), ends), shape=(rows, width))
        X.sum_duplicates()
        y = (np.asarray(X[:, :50].sum(axis=1)).ravel() + random.normal(size=rows) > 2).astype(int)
        y[:2] = (0, 1)
        found.append((X, y))
    return found


_KNOWN: dict = {}


def _reference(name: str, model, blocks: list, sweeps: int, how: dict) -> np.ndarray:
    """What one process makes of it."""
    if name not in _KNOWN:
        _KNOWN[name] = _timed(model, blocks, None, sweeps, how)[0]
    return _KNOWN[name]


def _timed(model, blocks: list, client, sweeps: int, how: dict) -> tuple[np.ndarray, float]:
    """Weights, and seconds."""
    from sklearn.base import clone

    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit(clone(model), blocks, client, sweeps=sweeps, progress=False, **how)
    return np.asarray(found.coef_), time.perf_counter() - begin


@contextmanager
def _cluster(workers: int):
    """A client of a small cluster whose loops are compiled."""
    from distributed import Client, LocalCluster

    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "memory_limit": "4GiB"}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, **options) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        for model in (FTRLClassifier(), AROWClassifier()):
            fit(model, _blocks(2 * workers, 50, 100), client, paths=1, progress=False)
        yield client
