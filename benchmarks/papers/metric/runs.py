"""The runs, one number at a time: every (cell, method, repeat) is stored once it is there, so that
a run can be stopped and taken up again.
"""

import json
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.papers.metric.designs import REAL, simulate
from benchmarks.papers.metric.methods import METHODS, PUBLISHED, RIVALS, SHORT, SIZES
from tamis import SDistClassifier

REPEATS = 20
ENOUGH = 10  # repeats that every cell should have
WAVES = (
    (
        "3-NN, raw",
        "3-NN",
        "sDist",
        "3-NN on the true columns",
        "control: variance",
        "control: correlation",
    ),
    ("sDist, order 2", "sDist, margin rule", "sDist, tuned"),
    ("sDist as published", "sDist, no screen", "control: labels permuted"),
)
SENSITIVITY = {
    "refresh_every": (0, 10, 25, 50, 100, 200),
    "subsample": (0.1, 0.3, 0.5, 0.7, 0.9),
    "rho": (0.02, 0.05, 0.1, 0.2, 0.4),
}


class Store:
    """Results in a file of JSON, by name."""

    def __init__(self, path: Path, seconds: float):
        self.path, self.seconds, self.begin, self.written = (
            path,
            seconds,
            time.process_time(),
            time.process_time(),
        )
        self.found = json.loads(path.read_text()) if path.exists() else {}

    def full(self) -> bool:
        """Whether the time is up."""
        return time.process_time() - self.begin > self.seconds

    def keep(self, name: str, result: dict) -> None:
        """Add a result."""
        self.found[name] = result
        if time.process_time() - self.written > 5.0:
            self.write()

    def write(self) -> None:
        """Write what there is."""
        self.path.write_text(json.dumps(self.found))
        self.written = time.process_time()


def jobs(folder, repeats: int, rivals: int, quick: bool):
    """All (repeat, cell, method, how to split): ten repeats of every cell first, what is quick
    before what is slow, so that a run that is cut has whole rows of the tables.
    """
    real = {
        name: read
        for name, (file, read) in REAL.items()
        if folder is not None and (folder / file).exists()
    }
    sizes = [size for size in SIZES if size[0] <= 500] if quick else SIZES
    first = min(repeats, ENOUGH)
    for span in (range(first), range(first, repeats)):
        for methods in WAVES:
            for repeat in span:
                for name, read in real.items():
                    yield from _real(name, read, folder, repeat, methods)
                for size in sizes:
                    yield from _simulations(*size, repeat, methods)
        for columns in (50,) if quick else (50, 500, 1000):
            for repeat in span[: max(0, rivals - span.start)]:
                if columns == 50:
                    for name, read in real.items():
                        yield from _real(name, read, folder, repeat, RIVALS)
                for rows in (100, 500):
                    yield from _simulations(rows, columns, repeat, RIVALS)


def _real(name, read, folder, repeat, methods):
    for method in methods:
        if name == "madelon" or method != "3-NN on the true columns":
            yield repeat, name, method, lambda: read(folder, repeat)


def _simulations(rows: int, columns: int, repeat: int, methods):
    """The jobs of one size, over designs and shapes."""
    for design in ("fixed2", "fixed5"):
        for shape in ("rings", "xor"):
            for method in methods:
                if method not in ("sDist, tuned", "sDist, margin rule"):
                    make = lambda d=design, s=shape: simulate(d, s, rows, columns, repeat)  # noqa: E731
                    yield repeat, f"{design} {shape} {rows} {columns}", method, make


def tables(store: Store, folder, repeats=REPEATS, rivals=REPEATS, quick=False) -> None:
    """Tables 2.1, 2.2 and 2.4."""
    last: tuple = (None, None)
    for repeat, cell, method, make in jobs(folder, repeats, rivals, quick):
        name = f"{cell}/{method}/{repeat}"
        if name in store.found:
            continue
        if store.full():
            break
        if last[0] != (cell, repeat):
            last = ((cell, repeat), make())
        store.keep(name, judge(METHODS[method], last[1], repeat))
    store.write()


def judge(method, split, seed: int) -> dict:
    """Error, balanced error, share of the columns used, and seconds of one core."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        guesses, used = method(split, seed)
        seconds = time.process_time() - begin
    wrong = guesses != split.y_test
    balanced = np.mean([wrong[split.y_test == c].mean() for c in np.unique(split.y_test)])
    return {
        "error": float(wrong.mean()),
        "balanced": float(balanced),
        "share": used / split.X.shape[1],
        "seconds": seconds,
    }


def figures(store: Store, repeats=5) -> None:
    """Figure 2.2 (f_W against votes, along the steps), and figure 2.5 (sensitivity) on fixed2 rings
    and XOR of 500 x 50.
    """
    for repeat in range(repeats):
        for shape in ("rings", "xor"):
            for steps in (25, 50, 100, 200, 400, 800):
                _figure(
                    store,
                    f"figure 2.2/{shape}/{steps}/{repeat}",
                    shape,
                    repeat,
                    {"max_iter": steps, "screen": None},
                )
            for parameter, values in SENSITIVITY.items():
                for value in values:
                    given = {**PUBLISHED, "oob_z": "auto", "max_iter": 300, parameter: value}
                    _figure(
                        store,
                        f"figure 2.5/{shape}/{parameter}={value}/{repeat}",
                        shape,
                        repeat,
                        given,
                    )
    store.write()


def _figure(store, name, shape, seed, given) -> None:
    """Errors of both rules."""
    if name in store.found or store.full():
        return
    split = simulate("fixed2", shape, 500, 50, seed)
    begin = time.process_time()
    model = SDistClassifier(random_state=seed, **{**SHORT, **given}).fit(split.X, split.y)
    seconds = time.process_time() - begin
    errors = {
        rule: float(np.mean(model.set_params(rule=rule).predict(split.X_test) != split.y_test))
        for rule in ("knn", "margin")
    }
    store.keep(
        name, {**errors, "seconds": seconds, "share": len(model.support_) / split.X.shape[1]}
    )
