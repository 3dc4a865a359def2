"""The runs, one number at a time: every (cell, method, repeat) is stored once it is there, so that
a run can be stopped and taken up again, or be done by several processes.
"""

import json
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import KFold

from benchmarks.papers.metric.designs import REAL, radar, simulate
from benchmarks.papers.metric.methods import METHODS, PLAIN, RIVALS, SHORT, SIZES
from benchmarks.papers.processes import each
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
    ("sDist, order 2", "sDist, votes", "sDist, tuned"),
    ("sDist, plain steps", "sDist, no screen", "control: labels permuted"),
)
NEIGHBOURS = range(1, 22, 2)  # k of figure 2.2
SENSITIVITY = {
    "refresh_every": (0, 10, 25, 50, 100, 200),
    "subsample": (0.1, 0.3, 0.5, 0.7, 0.9),
    "rho": (0.02, 0.05, 0.1, 0.2, 0.4),
}


class Store:
    """Results in a file of JSON, by name."""

    def __init__(self, path: Path, seconds: float):
        self.path, self.end, self.written = path, time.time() + seconds, time.time()
        self.found = json.loads(path.read_text()) if path.exists() else {}

    def keep(self, results: dict) -> None:
        """Add results."""
        self.found |= results
        if time.time() - self.written > 5.0:
            self.write()

    def write(self) -> None:
        """Write what there is."""
        self.path.write_text(json.dumps(self.found))
        self.written = time.time()

    def fill(self, jobs: Iterable[tuple], processes: int) -> None:
        """Do jobs (names, function, what it is given) that lack a result, while there is time."""
        left = (job for job in jobs if not set(job[0]) <= self.found.keys())
        for _, results in each(_done, left, processes, self.end - time.time(), warmed):
            self.keep(results)
        self.write()


def _done(job: tuple) -> dict:
    """The results of one job, by name."""
    names, function, given = job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(zip(names, function(*given), strict=True))


def warmed() -> None:
    """Load compiled code, so that no cell is charged for it."""
    split = simulate("fixed2", "rings", 60, 6, 0)
    for given in ({"max_order": 2, "screen": "moments"}, {"rule": "knn", "oob_z": None}):
        SDistClassifier(max_iter=20, random_state=0, **given).fit(split.X, split.y).predict(split.X)


def tables(folder, repeats: int, rivals: int, quick: bool) -> Iterator[tuple]:
    """Tables 2.1, 2.2 and 2.4: ten repeats of every cell first, what is quick before what is slow,
    so that a run that is cut has whole rows of the tables.
    """
    real = [] if folder is None else [n for n, (f, _) in REAL.items() if (folder / f).exists()]
    sizes = [size for size in SIZES if size[0] <= 500] if quick else SIZES
    first = min(repeats, ENOUGH)
    for span in (range(first), range(first, repeats)):
        for methods in WAVES:
            for repeat in span:
                for cell in (*real, *_simulations(sizes)):
                    yield _job(cell, folder, repeat, [m for m in methods if _fits(m, cell)])
        for columns in (50,) if quick else (50, 500, 1000):
            for repeat in span[: max(0, rivals - span.start)]:
                narrow = [(rows, columns) for rows in (100, 500)]
                for cell in (*(real if columns == 50 else ()), *_simulations(narrow)):
                    yield from (_job(cell, folder, repeat, [method]) for method in RIVALS)


def _simulations(sizes) -> list[str]:
    """The cells of some sizes, over designs and shapes."""
    kinds = [f"{design} {shape}" for design in ("fixed2", "fixed5") for shape in ("rings", "xor")]
    return [f"{kind} {rows} {columns}" for rows, columns in sizes for kind in kinds]


def _fits(method: str, cell: str) -> bool:
    """Whether a method is run in a cell."""
    if cell in REAL:
        return cell == "madelon" or method != "3-NN on the true columns"
    return method not in ("sDist, tuned", "sDist, votes")


def _job(cell: str, folder, repeat: int, methods: list[str]) -> tuple:
    names = tuple(f"{cell}/{method}/{repeat}" for method in methods)
    return names, judged, (cell, folder, repeat, methods)


def judged(cell: str, folder, repeat: int, methods: list[str]) -> list[dict]:
    """Some methods on one split of a cell."""
    if cell in REAL:
        split = REAL[cell][1](folder, repeat)
    else:
        design, shape, rows, columns = cell.split()
        split = simulate(design, shape, int(rows), int(columns), repeat)
    return [judge(METHODS[method], split, repeat) for method in methods]


def judge(method, split, seed: int) -> dict:
    """Error, balanced error, share of the columns used, and seconds of one core."""
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


def figures(folder, repeats: int) -> Iterator[tuple]:
    """Figure 2.2 (f_W against votes, over k), both along the steps, and figure 2.5 (sensitivity) on
    fixed2 rings and XOR of 500 x 50.
    """
    there = folder is not None and (folder / REAL["ionosphere"][0]).exists()
    for repeat in range(REPEATS if there else 0):
        names = tuple(f"figure 2.2/ionosphere/{k}/{repeat}" for k in NEIGHBOURS)
        yield names, over_neighbours, (folder, repeat)
    for repeat in range(repeats):
        for shape in ("rings", "xor"):
            for steps in (25, 50, 100, 200, 400, 800):
                name, given = f"steps/{shape}/{steps}", {"max_iter": steps, "screen": None}
                yield (f"figure {name}/{repeat}",), figure, (shape, repeat, given)
            for parameter, values in SENSITIVITY.items():
                for value in values:
                    name = f"2.5/{shape}/{parameter}={value}"
                    given = {**PLAIN, "oob_z": "auto", "max_iter": 300, parameter: value}
                    yield (f"figure {name}/{repeat}",), figure, (shape, repeat, given)


def over_neighbours(folder, seed: int) -> list[dict]:
    """Errors of the votes of k neighbours and of f_W, W = I, over five folds of Ionosphere."""
    begin = time.process_time()
    X, y = radar(folder)
    wrong: dict = {k: [[], []] for k in NEIGHBOURS}
    for learn, test in KFold(5, shuffle=True, random_state=seed).split(X):
        apart, known = cdist(X[test], X[learn], "sqeuclidean"), y[learn]
        near = known[np.argsort(apart, axis=1, kind="stable")]
        own = [np.sort(apart[:, known == c], axis=1) for c in (0, 1)]
        for k, (votes, margins) in wrong.items():
            far, close = (part[:, :k].mean(axis=1) for part in own)
            votes.extend((near[:, :k].mean(axis=1) > 0.5) != y[test])
            margins.extend((far > close) != y[test])
    seconds = (time.process_time() - begin) / len(wrong)
    return [
        {"knn": float(np.mean(votes)), "margin": float(np.mean(margins)), "seconds": seconds}
        for votes, margins in wrong.values()
    ]


def figure(shape: str, seed: int, given: dict) -> list[dict]:
    """Errors of both rules."""
    split = simulate("fixed2", shape, 500, 50, seed)
    begin = time.process_time()
    model = SDistClassifier(random_state=seed, **{**SHORT, **given}).fit(split.X, split.y)
    seconds = time.process_time() - begin
    errors = {
        rule: float(np.mean(model.set_params(rule=rule).predict(split.X_test) != split.y_test))
        for rule in ("knn", "margin")
    }
    return [{**errors, "seconds": seconds, "share": len(model.support_) / split.X.shape[1]}]
