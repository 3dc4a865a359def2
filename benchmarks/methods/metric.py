"""Metric learning: sDist against NCA and LMNN, its growth with rows and columns, its memory, and
its first fit.
"""

import json
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from benchmarks.clock import fresh, timed
from benchmarks.latency import MISSES
from benchmarks.memory import MEBI, forget_peak, peak
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.papers.metric.designs import madelon, simulate
from benchmarks.papers.metric.rivals import LMNN
from tamis import SDist, SDistClassifier
from tamis.methods.metric_learning.boosting import Boost
from tamis.methods.metric_learning.candidates import Scaling

TIMES = 20.0
ROOM = 300 * MEBI
# Steps that defaults were chosen among, by errors inside training rows alone.
STEPS = {
    "500 of 0.1": {"learning_rate": 0.1, "max_iter": 500, "refresh_every": 25},
    "250 of 0.2 (the defaults)": {},
    "200 of 0.3": {"learning_rate": 0.3, "max_iter": 200},
}
FOLDS = 3
LARGEST = (20_000, 5_000)
USPS_ROWS = 3_000  # NCA needs a number for every pair of rows


def usps(folder: Path, seed: int):
    """Some training digits, and all test digits."""
    with np.load(folder / "usps.npz") as z:
        X, y, X_test, y_test = (z[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    rows = np.random.default_rng(seed).permutation(len(y))[:USPS_ROWS]
    return X[rows].astype(float), y[rows], X_test.astype(float), y_test


def race(X, y, X_test, y_test) -> list[tuple[str, float, float]]:
    """Name, seconds of one core and test error of each contestant; all see standardised columns,
    all end in three neighbours, ours in three of each class.
    """
    scaler = StandardScaler().fit(X)
    Z, Z_test = scaler.transform(X), scaler.transform(X_test)
    SDistClassifier(max_iter=5, random_state=0).fit(X[::4], y[::4])  # loads the code
    found = []
    for name, model in (
        ("tamis sDist", SDistClassifier(random_state=0)),
        ("scikit-learn NCA", NeighborhoodComponentsAnalysis(random_state=0)),
        ("LMNN", LMNN()),
    ):
        with timed(f"{len(X):,} x {X.shape[1]}: {name}") as taken:
            model.fit(*((X, y) if isinstance(model, SDistClassifier) else (Z, y)))
        seconds = taken.cpu
        if isinstance(model, SDistClassifier):
            error = 1.0 - model.score(X_test, y_test)
        else:
            error = 1.0 - KNeighborsClassifier(3).fit(model.transform(Z), y).score(
                model.transform(Z_test), y_test
            )
        print(f"  {name}: {seconds:.2f} s, error {error:.4f}", flush=True)
        found.append((name, seconds, float(error)))
    return found


def inside(X, y) -> list[list[str]]:
    """Seconds of a fit and mean errors on held-out thirds of the training rows, by the margin rule
    and by votes, a choice of steps a line.
    """
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
    found = []
    for name, given in STEPS.items():
        with timed(f"{FOLDS} fits inside training rows: {name}") as taken:
            models = [
                SDistClassifier(random_state=0, **given).fit(X[learn], y[learn])
                for learn, _ in folds
            ]
        seconds = taken.cpu / FOLDS
        errors = [
            np.mean(
                [
                    1.0 - model.set_params(rule=rule).score(X[held], y[held])
                    for model, (_, held) in zip(models, folds, strict=True)
                ]
            )
            for rule in ("margin", "knn")
        ]
        found.append([name, f"{seconds:.2f}", *(f"{error:.4f}" for error in errors)])
    return found


def step_time(rows: int, columns: int, steps: int = 60) -> tuple[float, float]:
    """Seconds of the first search for neighbours, and of a step; no screening of columns, no
    refreshes.
    """
    split = simulate("fixed2", "rings", rows, columns, 0, test=0)
    model = SDist(screen=None, max_order=2, refresh_every=0)
    scaling = Scaling(split.X, np.ones(rows), True)
    boost = Boost(
        split.X,
        split.y,
        np.ones(rows),
        np.arange(rows),
        model._options(rows, columns),
        scaling,
        np.random.default_rng(0),
    )
    times = [time.process_time()]
    boost.find_neighbours()
    times.append(time.process_time())
    for _ in range(steps):
        boost.step()
    return times[1] - times[0], (time.process_time() - times[1]) / steps


def child(rows: int, columns: int) -> None:
    """In a fresh process: make the rows, load all code by a tiny fit, then measure one `fit`."""
    warnings.simplefilter("ignore")
    split = simulate("fixed2", "rings", 10, columns, 0, test=0)
    X = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    y = ((X[:, 0] ** 2 + X[:, 1] ** 2) > 2.0).astype(int)
    SDist(max_iter=5).fit(split.X[:, :50], split.y)
    forget_peak()
    before, begin = peak(), time.process_time()
    model = SDist(max_iter=200, max_order=2, random_state=0).fit(X, y)
    taken = time.process_time() - begin
    print(
        json.dumps(
            {
                "grown": peak() - before,
                "X": X.nbytes,
                "seconds": taken,
                "top": np.argsort(-model.feature_importances_)[:2].tolist(),
            }
        )
    )


FIRST = (
    "import warnings; warnings.simplefilter('ignore'); import numpy as np, time; from tamis import "
    "SDistClassifier; "
    "r = np.random.default_rng(0); X = r.normal(size=(300, 40)); y = r.integers(0, 2, 300); b = "
    "time.process_time(); "
    "SDistClassifier(max_iter=20, random_state=0).fit(X, y); print(time.process_time() - b); "
    f"{MISSES}"
)


def first_fits() -> tuple[float, float, int]:
    """Seconds of the first fit with an empty cache and with a full one, and loops that the second
    process compiled.
    """
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (fresh(FIRST, {"NUMBA_CACHE_DIR": folder}).text.split() for _ in range(2))
    return float(cold[0]), float(warm[0]), int(warm[1])


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        sDist with its defaults against scikit-learn's NCA and an LMNN in factor form (section
        *rivals* of benchmarks/papers/metric), on Madelon (70 % of its rows) and on USPS (3,000
        training digits, all 2,007 test digits). The defaults (how many steps of what length, and
        the rule) have their reasons in errors inside training rows, which are shown too; errors on
        the test rows were known when they were chosen. Seconds of one core. Then what a step costs
        as rows and columns grow, the memory of the largest fit beside X, and the first fit of a
        process."""
    page = Page("metric", "Metric learning", opening)
    folder = os.environ.get("TAMIS_DATA")
    for name, read in (("Madelon", lambda f: madelon(f, 0)[:4]), ("USPS", lambda f: usps(f, 0))):
        if folder and not quick:
            split = read(Path(folder))
            _race(page, name, race(*split))
            head = ["steps", "seconds", "error, margin rule (the default)", "error, votes"]
            page.tables.append(Table(f"{name}, inside the training rows", head, inside(*split[:2])))
    _growth(page, quick)
    _memory(page, quick)
    cold, warm, misses = first_fits()
    page.goals.append(
        Goal(
            "the first fit of a fresh process compiles for at most 5 s",
            f"{cold - warm:.1f} s",
            verdict(cold - warm <= 5.0),
        )
    )
    page.goals.append(
        Goal("a second process compiles nothing", f"{misses} cache misses", verdict(misses == 0))
    )
    return page


def _race(page, name, found) -> None:
    mine = found[0]
    page.tables.append(
        Table(
            name,
            ["method", "seconds", "test error"],
            [[n, f"{s:.2f}", f"{e:.4f}"] for n, s, e in found],
        )
    )
    for rival, seconds, error in found[1:]:
        ratio = seconds / mine[1]
        page.goals.append(
            Goal(
                f"{name}: {TIMES:.0f} times as fast as {rival}, to the same or lower test error",
                f"{ratio:.0f} times with the defaults, at error {mine[2]:.4f} against {error:.4f}",
                verdict(mine[2] <= error and ratio >= TIMES),
            )
        )


def _growth(page, quick) -> None:
    sizes = (
        [(500, 100), (1000, 100)]
        if quick
        else [
            *((5000, p) for p in (500, 1000, 2000, 5000)),
            *((n, 1000) for n in (1000, 2000, 10_000, 20_000)),
        ]
    )
    rows, seen = [], {}
    for n, p in sizes:
        first, step = step_time(n, p, 10 if quick else 40)
        seen[n, p] = step
        rows.append(
            [
                f"{n:,} x {p:,}",
                f"{first:.2f}",
                f"{1e3 * step:.2f}",
                f"{1e9 * step / (n * (np.sqrt(p) + 6)):.0f}",
            ]
        )
    note = (
        "A step draws the root of p columns. The last column should be level if a step costs "
        "what the drawn nonzeros and the edges cost."
    )
    head = ["rows x columns", "first search, s", "step, ms", "ns a row and (drawn column or edge)"]
    page.tables.append(Table("Growth, dense, products of order 2", head, rows, note))
    if not quick:
        ratio = seen[5000, 5000] / seen[5000, 500]
        text = (
            "ten times the columns (500 to 5,000, 5,000 rows) cost at most ten times a step, "
            "not a hundred"
        )
        page.goals.append(Goal(text, f"{ratio:.1f} times", verdict(ratio <= 10.0)))


def _memory(page, quick) -> None:
    rows, columns = (2000, 500) if quick else LARGEST
    found = json.loads(
        fresh(
            f"from benchmarks.methods.metric import child; child({rows}, {columns})",
            environment={"MALLOC_MMAP_THRESHOLD_": "65536"},
        ).text
    )
    figure = (
        f"{found['grown'] / MEBI:.0f} MiB beside X, which has {found['X'] / MEBI:.0f} MiB; "
        f"{found['seconds']:.0f} s of one core"
    )
    goal = (
        f"{LARGEST[0]:,} x {LARGEST[1]:,} dense, 200 steps, max_order=2: at most 300 MiB beside X"
    )
    page.goals.append(Goal(goal, figure, verdict(found["grown"] <= ROOM)))
