"""Groups: the lazy step of the online group lasso against an eager one, flat in the number of
columns, in constant memory.
"""

import json
import math
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.clock import interleaved
from benchmarks.files import MEGA, run_child
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.textfiles import write_rows
from tamis.base.feature_groups import parse_feature_groups
from tamis.numerics.csr import Csr
from tamis.numerics.numba import compiled
from tamis.numerics.targets import EncodedTargets
from tamis.solvers.online_groups.state import OnlineGroupState
from tamis.terms import DualAveraging, GroupL2, InverseSqrt, Logistic, SparseGroup
from tamis.terms.methods import gradient, shrinkage_factor, soft_threshold

NONZEROS, SIZE = 50, 10
# Microseconds a row that the method's note gives for d columns, and by which factor they may be
# exceeded.
NOTED = {1_000: (1.0, 2.1), 10_000: (2.6, 4.6), 100_000: (3.8, 5.1), 1_000_000: (7.2, 15.1)}
ROOM, FLAT = 1.5, 1.5
CHUNK = 10_000  # rows written at a time
EPOCH = """
import json, sys, time
import numpy as np
import tamis
path, d = sys.argv[1], int(sys.argv[2])
groups, alpha = np.arange(d) // int(sys.argv[3]), float(sys.argv[4])
model = tamis.OnlineGroupLassoClassifier(feature_groups=groups, alpha=alpha)
for k, chunk in enumerate(tamis.open_rows(path, n_features=d, zero_based=False)):
    model.partial_fit(chunk.X, chunk.targets, classes=[-1, 1])
    if k == 0:  # the groups are made, all code is there: the peak begins anew
        open("/proc/self/clear_refs", "w").write("5")
        begin = time.process_time()
engine = model._solver_state
state = sum(a.nbytes for a in (engine.state, engine.squares, *engine._groups()))
held = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))
seconds = time.process_time() - begin
print(json.dumps({"seconds": seconds, "state": state, "peak": 1024 * int(held)}))
"""
KINDS = {"group lasso": (GroupL2, {}), "sparse group lasso": (SparseGroup, {"l1_weights": 1.0})}


def strength(d: int) -> float:
    """A penalty under which most groups stay, whatever the width: gone ones would cost less."""
    return 0.1 / d


def rows_of(n: int, d: int, seed: int = 0):
    """Random sparse rows, 50 nonzeros each."""
    rng = np.random.default_rng(seed)
    indices = np.sort(rng.integers(0, d, size=(n, NONZEROS)), axis=1)
    X = sp.csr_array(
        (rng.normal(size=n * NONZEROS), indices.ravel(), np.arange(0, n * NONZEROS + 1, NONZEROS)),
        shape=(n, d),
    )
    X.sum_duplicates()
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0)


def engine_of(kind: str, d: int) -> OnlineGroupState:
    """An engine that has seen nothing."""
    penalty, given = KINDS[kind]
    terms = (Logistic(), penalty(strength(d)), DualAveraging(), InverseSqrt(2.0, 3e4))
    return OnlineGroupState(
        terms, (1.0, 1.0, 0.0), d, 1, parse_feature_groups(np.arange(d) // SIZE, d, **given)
    )


@compiled
def eager_walk(
    data, indices, indptr, targets, state, weights, starts, prices, penalty, loss, beta, count
):
    """The same steps with all weights made anew before every row; groups lie side by side."""
    one = np.uint64(1)
    for i in range(count):
        pull = penalty.alpha * np.float64(i)
        for g in range(np.uint64(prices.shape[0])):
            norm = 0.0
            for j in range(starts[g], starts[g + one]):
                weights[j] = soft_threshold(penalty, state[j], pull * prices[g, 1]) / beta
                norm += weights[j] * weights[j]
            factor = shrinkage_factor(penalty, math.sqrt(norm), pull * prices[g, 0] / beta)
            for j in range(starts[g], starts[g + one]):
                weights[j] *= factor
        score = 0.0
        for k in range(indptr[i], indptr[i + one]):
            score += data[k] * weights[indices[k]]
        s = gradient(loss, score, targets[i, 0])
        for k in range(indptr[i], indptr[i + one]):
            state[indices[k]] -= s * data[k]


def eager_of(kind: str, d: int, rows: Csr, targets, count: int):
    """An eager walk over the first rows."""
    engine, state, weights = engine_of(kind, d), np.zeros(d), np.zeros(d)
    return lambda: eager_walk(
        *rows[:3],
        targets,
        state,
        weights,
        engine.starts,
        engine.prices,
        engine.terms[1],
        engine.terms[0],
        50.0,
        np.uint64(count),
    )


def across_columns(quick: bool) -> tuple[Table, list[Goal]]:
    """Microseconds a row for every width and kind, and of the eager reference."""
    widths = (1_000, 10_000) if quick else tuple(NOTED)
    n, table, shares, ratios, least = 2_000 if quick else 20_000, [], {}, [], {}
    for d in widths:
        X, y = rows_of(n, d)
        rows, targets = (
            Csr(X.data, X.indices.astype(np.uint32), X.indptr.astype(np.uint64), d),
            y[:, None],
        )
        slow = max(2, min(200, 2_000_000 // d))
        actions = {}
        for kind in KINDS:
            lazy = engine_of(kind, d)
            actions[kind, "lazy"] = lambda lazy=lazy, rows=rows, targets=targets: lazy.learn(
                rows, EncodedTargets(targets), np.zeros(0)
            )
            actions[kind, "eager"] = eager_of(kind, d, rows, targets, slow)
        times = interleaved(actions, 2 if quick else 5, clock=time.thread_time)
        for place, kind in enumerate(KINDS):
            lazy, eager = (
                1e6 * times[kind, "lazy"].least / n,
                1e6 * times[kind, "eager"].least / slow,
            )
            shares[kind, d], least[kind, d] = lazy / NOTED[d][place], lazy
            ratios.append(eager / lazy)
            table.append(
                [
                    f"{d:,}",
                    kind,
                    f"{lazy:.1f}",
                    f"{eager:.0f}",
                    f"{eager / lazy:.0f}",
                    f"{NOTED[d][place]:.1f}",
                    f"{shares[kind, d]:.2f}",
                ]
            )
    head = [
        "columns",
        "penalty",
        "lazy, µs a row",
        "eager, µs a row",
        "eager / lazy",
        "noted, µs",
        "lazy / noted",
    ]
    worst = max(shares, key=shares.__getitem__)
    growths = [least[kind, widths[-1]] / least[kind, 10_000] for kind in KINDS]
    goals = [
        Goal(
            f"A lazy step is flat from 10^4 to 10^6 columns (at most {FLAT} times longer)",
            f"{growths[0]:.1f} times, with L1 inside the groups {growths[1]:.1f} (cache misses)",
            verdict(max(growths) <= FLAT),
        ),
        Goal(
            f"A lazy step takes at most {ROOM} times the noted time",
            f"{shares[worst]:.2f} ({worst[0]}, {worst[1]:,} columns, the worst of {len(shares)})",
            verdict(shares[worst] <= ROOM),
        ),
        Goal(
            "A lazy step is faster than an eager one at every width",
            f"{min(ratios):.1f} times at least",
            verdict(min(ratios) > 1.0),
        ),
    ]
    return Table("One step, 50 nonzeros a row, groups of 10", head, table), goals


def write_file(path: Path, n: int, d: int) -> None:
    """A text file of random rows, 50 nonzeros each."""
    room = np.empty(CHUNK * NONZEROS * 20, np.uint8)
    with path.open("wb") as file:
        for first in range(0, n, CHUNK):
            rng = np.random.default_rng(first)
            columns = np.sort(
                rng.integers(0, d - NONZEROS, size=(CHUNK, NONZEROS)), axis=1
            ) + np.arange(NONZEROS)
            used = write_rows(
                columns, rng.random((CHUNK, NONZEROS)), rng.choice([-1.0, 1.0], CHUNK), False, room
            )
            file.write(room[:used].tobytes())


def from_file(quick: bool) -> tuple[Table, list[Goal]]:
    """One epoch over files of two lengths, each in a process of its own: memory must not follow the
    length.
    """
    d, lengths, rows, peaks = 1_000_000, (10_000, 20_000) if quick else (100_000, 1_000_000), [], []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TAMIS_SCRATCH")) as folder:
        for n in lengths:
            path = Path(folder) / "rows.svm"
            write_file(path, n, d)
            ran = run_child("-c", EPOCH, str(path), str(d), str(SIZE), str(strength(d)))
            found = json.loads(ran.text)
            peaks.append(found["peak"] / MEGA)
            text = [
                f"{n:,}",
                f"{d:,}",
                f"{path.stat().st_size / MEGA:.0f}",
                f"{found['seconds']:.1f}",
                f"{1e6 * found['seconds'] / n:.1f}",
            ]
            rows.append([*text, f"{found['state'] / d:.0f}", f"{peaks[-1]:.0f}"])
    head = [
        "rows",
        "columns",
        "file, MB",
        "CPU, s",
        "CPU, µs a row",
        "state, bytes a column",
        "peak, MB",
    ]
    note = """Text to model, by `partial_fit` over `open_rows`; CPU seconds over all threads,
    reading included. Time and peak are counted after the first chunk, when the groups are made."""
    goal = Goal(
        "One epoch from a file, 10^6 columns: ten times the rows, the same memory (at most 32 MB "
        "more)",
        f"{peaks[1] - peaks[0]:+.0f} MB, of {peaks[1]:.0f} MB at {lengths[1]:,} rows",
        verdict(peaks[1] - peaks[0] < 32),
    )
    return Table("One epoch from a file", head, rows, note), [goal]


def run(quick: bool) -> Page:
    """All of it."""
    tables, goals = zip(across_columns(quick), from_file(quick), strict=True)
    opening = """The online group lasso never touches what a row does not: weights are a function
    of sums of slopes, so that a step costs the nonzeros of the row, and with L1 inside the groups
    also the members of the groups it touches. The eager reference makes all weights anew before
    every row. Times are those of the thread, in one run, contestants in turn."""
    return Page(
        "groups", "Groups", opening, list(tables), [goal for part in goals for goal in part]
    )
