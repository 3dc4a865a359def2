"""Time and memory of a selection: a small dense table, and a million sparse columns."""

import json
import time
import warnings

import numpy as np
import scipy.sparse as sp

from benchmarks.clock import fresh, interleaved
from benchmarks.memory import forget_peak, peak
from benchmarks.pages import Goal, Table, verdict
from benchmarks.papers.guarantees.designs import CLASSES, SMALL
from benchmarks.papers.guarantees.methods import EXACT, GROUPS, OURS

ROWS, COLUMNS, CELLS = 20_000, 1_000_000, 1_600_000
SMALL_SECONDS, WIDE_SECONDS, WIDE_BYTES = 0.05, 10.0, 10**9


def small(quick: bool) -> dict[tuple[str, str], float]:
    """Least CPU seconds of fits of 200 x 1,000, by kind of claim and of targets."""
    contestants = {}
    for one in (SMALL["independent 200/1,000, numbers"], SMALL["independent 200/1,000, classes"]):
        data, classes = one.sample(0), one.kind == CLASSES
        for name in (EXACT, GROUPS):
            contestants[name, one.kind] = lambda data=data, classes=classes, name=name: OURS[name](
                data.X, data.y, classes, 0
            )
    times = interleaved(
        contestants, 3 if quick else 15, clock=time.process_time, what="200 x 1,000"
    )
    return {key: found.least for key, found in times.items()}


def wide_rows(quick: bool):
    """Sparse binary rows with frequencies by rank, and classes that thirty columns tell."""
    rng = np.random.default_rng(0)
    n, p, cells = (2_000, 100_000, 160_000) if quick else (ROWS, COLUMNS, CELLS)
    weights = 1.0 / (10.0 + np.arange(p))
    share = np.cumsum(weights / weights.sum())
    columns = np.searchsorted(share, rng.random(cells)).clip(max=p - 1)
    rows = rng.integers(0, n, cells)
    X = sp.coo_array((np.ones(cells), (rows, columns)), shape=(n, p)).tocsr()
    X.data[:] = 1.0
    truth = rng.choice(300, 30, replace=False)
    score = np.asarray(X[:, truth] @ rng.choice([-1.5, 1.5], 30))
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    return X, y, truth


def child(quick: bool) -> None:
    """In a fresh process: compile by a tiny fit, then one whole fit; seconds and memory."""
    warnings.simplefilter("ignore")
    X, y, truth = wide_rows(quick)
    for name in (EXACT, GROUPS):
        OURS[name](sp.csr_array(X[:200, :1000]), np.arange(200) % 2, True, 0)
    found = {"X": X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, "cells": int(X.nnz)}
    for name in (EXACT, GROUPS):
        forget_peak()
        before, wall, cpu = peak(), time.perf_counter(), time.process_time()
        chosen = OURS[name](X, y, True, 0)
        found[name] = {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "grown": peak() - before,
            "kept": len(chosen),
            "true": int(np.isin(chosen, truth).sum()),
        }
    print(json.dumps(found))


def wide(quick: bool) -> dict:
    """The fit of a million columns in two processes: one for time, and one for memory, in which
    every array gets pages of its own, so that freed ones hide nothing; that takes time.
    """
    call = f"from benchmarks.papers.guarantees.speed import child; child({quick})"
    timed, weighed = (
        json.loads(fresh(call, environment, name).text.strip().splitlines()[-1])
        for environment, name in (
            (None, "a million columns"),
            ({"MALLOC_MMAP_THRESHOLD_": "65536"}, ""),
        )
    )
    for name in (EXACT, GROUPS):
        timed[name]["grown"] = weighed[name]["grown"]
    return timed


def table(quick: bool) -> tuple[Table, list[Goal]]:
    """Seconds and memory."""
    times, million = small(quick), wide(quick)
    rows = [
        ["200 x 1,000", f"{name.split(', ')[1]}, {kind}", f"{seconds:.3f}", ""]
        for (name, kind), seconds in times.items()
    ]
    size = "2,000 x 100,000" if quick else "20,000 x 1,000,000"
    for name in OURS:
        found = million[name]
        said = f"{found['true']} of 30 found, {found['kept'] - found['true']} false"
        rows.append(
            [f"{size}, {million['cells']:,} nonzeros", f"{name.split(', ')[1]}, classes; {said}",
             f"{found['cpu']:.1f}", f"{found['grown'] / 2**20:,.0f}"]
        )  # fmt: skip
    slowest, cpu = max(times.values()), max(million[name]["cpu"] for name in OURS)
    most = max(million[name]["grown"] for name in OURS)
    goals = [
        Goal("200 x 1,000: at most 0.05 s", f"{slowest:.3f} s",
             verdict(slowest <= SMALL_SECONDS)),
        Goal(f"{size}: at most 10 s", f"{cpu:.1f} s", verdict(cpu <= WIDE_SECONDS)),
        Goal(f"{size}: at most 1 GB beside X", f"{most / 1e9:.2f} GB",
             verdict(most <= WIDE_BYTES)),
    ]  # fmt: skip
    return Table("Time and memory", ["rows", "claim", "CPU s", "grown, MiB"], rows), goals
