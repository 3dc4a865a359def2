"""A sieve by two readings and from a stream, against `fit`: errors when the sample is a tenth of
the rows, time and memory.

``TAMIS_DATA=FOLDER python -m benchmarks.readings`` prints the errors that docs/files_to_report.md
tells; ``python -m benchmarks.readings FILE`` times the parts of a fit from a file.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from tamis import SieveClassifier, open_rows
from tamis.data.rows import Rows
from tamis.methods.sieve.stream import readings
from tamis.training.trainer import Trainer
from tamis.training.two_pass import DEFAULT_MEMORY_MB, TwoPassTrainer

SETS = ("20 newsgroups, even against odd", "a9a", "rcv1_vw_small", "reuters_acq")
CHUNK = 4_000  # rows


def _part(stored, mark: str = ""):
    arrays = tuple(stored[name + mark] for name in ("data", "indices", "indptr"))
    X = sp.csr_array(arrays, shape=tuple(stored["shape" + mark])).astype(np.float64)
    X.sum_duplicates()
    return X, stored["y" + mark].astype(int)


def read(name: str):
    """Training and test rows of a development set."""
    folder = Path(os.environ["TAMIS_DATA"])
    if name == SETS[0]:
        with np.load(folder / "news20_multiclass.npz") as stored:
            X, y = _part(stored)
        order = np.random.default_rng(0).permutation(len(y))
        X, y, (first, rest) = sp.csr_array(normalize(X)), y % 2, np.split(order, [11_154])
        return X[first], y[first], X[rest], y[rest]
    with np.load(folder / f"{name}.npz") as stored:
        (X, y), (X_test, y_test) = _part(stored, "_train"), _part(stored, "_test")
    width = max(X.shape[1], X_test.shape[1])
    for part in (X, X_test):
        part.resize((part.shape[0], width))
    return X, y, X_test, y_test


def from_readings(X, y, n_sample: int, memory: int) -> SieveClassifier:
    """A sieve by two readings under a memory of so many bytes."""
    model = SieveClassifier(n_sample=n_sample, n_jobs=-1, random_state=0)
    chunks = [Rows(X[k : k + CHUNK], y[k : k + CHUNK], 1) for k in range(0, len(y), CHUNK)]
    both = TwoPassTrainer(Trainer(model, chunks, 1, None, 1), 1, False)
    both.memory = memory
    both.run()
    return model


def from_stream(X, y, n_sample: int) -> SieveClassifier:
    """A sieve by `partial_fit`."""
    model = SieveClassifier(n_sample=n_sample, n_jobs=-1, random_state=0)
    for k in range(0, len(y), CHUNK):
        model.partial_fit(X[k : k + CHUNK], y[k : k + CHUNK], classes=np.unique(y))
    return model.refine()


def race_errors() -> None:
    """Errors on the test rows: `fit`, two readings without and with room, a stream."""
    print("| set | rows | sample | way | columns fitted | error % | features |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in SETS:
        X, y, X_test, y_test = read(name)
        rows, tenth = len(y), len(y) // 10
        made = [("-", "fit", SieveClassifier(n_jobs=-1, random_state=0).fit(X, y))]
        # Room for the sample, and for a file of its own for the kept rows: but not for all rows.
        room = 12 * X.nnz - 1
        made.append((tenth, "two readings", from_readings(X, y, tenth, room)))
        cheap, readings.MAX_EXTRA_ENTRIES = readings.MAX_EXTRA_ENTRIES, X.nnz // 10
        made.append((tenth, "two readings, hard", from_readings(X, y, tenth, room)))
        readings.MAX_EXTRA_ENTRIES = cheap
        for size in (1_000, 2_500) if name == SETS[0] else (tenth,):
            made.append((size, "stream", from_stream(X, y, size)))
        for sample, way, model in made:
            fitted = getattr(model, "train_history_", [{}])[-1].get("columns", "")
            error = 100 * (1 - model.score(X_test, y_test))
            print(
                f"| {name} | {rows:,} | {sample} | {way} | {fitted} | {error:.2f} | "
                f"{len(model.support_):,} |",
                flush=True,
            )


def _peak() -> float:
    """Most memory that this process has held, in megabytes."""
    with open("/proc/self/status") as file:
        return int(next(line.split()[1] for line in file if line.startswith("VmHWM"))) / 1000


def race_parts(path: str, memory: int = DEFAULT_MEMORY_MB) -> None:
    """Seconds (wall and CPU) and peak memory of every part of a fit from a file."""
    model = SieveClassifier(n_jobs=-1, random_state=0)
    walk = Trainer(model, open_rows(path), 1, None, 1)
    both, kept = TwoPassTrainer(walk, memory, "auto"), None
    print("| part | wall s | CPU s | peak MB |\n| --- | --- | --- | --- |")

    def told(name, work):
        wall, cpu = time.perf_counter(), time.process_time()
        found = work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"| {name} | {wall:.1f} | {cpu:.1f} | {_peak():.0f} |", flush=True)
        return found

    told("reading alone", lambda: [chunk.first_line for chunk in open_rows(path)])
    first = told("first reading", both._first)
    kept = told("superset", lambda: model._second_reading(first, both.memory))

    def second():
        for chunk in both._chunks("second reading"):
            kept.add(chunk._replace(targets=walk._as_classes(chunk)))

    told("second reading", second)
    print(f"\n{kept.n_kept:,} columns, {kept.used:,} entries of {kept.n_rows:,} rows\n")
    if os.environ.get("FIT", "1") == "1":
        told("fit", lambda: model._fit_second_reading(kept))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    race_parts(sys.argv[1]) if len(sys.argv) > 1 else race_errors()
