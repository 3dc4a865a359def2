"""Waiting before the first result: imports, the first fit, compilation, each in fresh processes."""

import tempfile
import time

from benchmarks.clock import Child, fresh
from benchmarks.pages import Goal, Page, Table, verdict

ROWS = (
    "import numpy as np, scipy.sparse as sp; r = np.random.default_rng(0); "
    "X = sp.random_array((500, 1000), density=0.02, format='csr', rng=r); y = r.integers(0, 2, 500)"
)
BASE = "import sklearn.linear_model, numba"
IMPORTS = (
    "import numpy",
    "import numpy, tamis",
    "import tamis",
    "import numpy, sklearn.linear_model",
    BASE,
    "from tamis import FOBOSClassifier",
)
# One model of every family, and every first-order rule.
TENS = "np.arange(X.shape[1]) // 10"
RECIPES = {
    "SGD": "OnlineClassifier(penalty=None, max_iter=2, tol=None)",
    "FOBOS": "FOBOSClassifier(max_iter=2, tol=None)",
    "FOBOS, 20 classes": "FOBOSClassifier(max_iter=2, tol=None)",
    "truncated gradient": "TruncatedGradientClassifier(max_iter=2, tol=None)",
    "RDA": "RDAClassifier(max_iter=2, tol=None)",
    "FTRL": "FTRLClassifier(max_iter=2, tol=None)",
    "AdaGrad": "OnlineClassifier(optimizer='adagrad', max_iter=2, tol=None)",
    "AROW": "AROWClassifier()",
    "online groups": f"OnlineGroupLassoClassifier(feature_groups={TENS}, max_iter=2, tol=None)",
    "online tasks": "OnlineMultiTaskClassifier(max_iter=2, tol=None)",
    "group lasso": f"GroupLassoClassifier(feature_groups={TENS})",
    "stabilized": "StabilizedSGDClassifier(max_iter=2, n_paths=2)",
    "SBCW": "SparseBCWClassifier()",
    "robust": "RobustSVC()",
    "thresholded": "ThresholdedClassifier()",
}
LABELS = {"FOBOS, 20 classes": "r.integers(0, 20, 500)"}
# One estimator of every family, and the least that a search or a chain can do: compilation counts.
FAMILIES = {
    "AROWClassifier": "",
    "BCWClassifier": "",
    "FOBOSClassifier": "",
    "FTRLRegressor": "",
    "GMKLClassifier": "",
    "GMKLRegressor": "",
    "GroupLassoClassifier": "",
    "GroupLassoRegressorCV": "alphas=4, cv=2",
    "LowRankClassifier": "",
    "LowRankLasso": "",
    "MultiTaskClassifier": "",
    "OnlineGroupLassoClassifier": "",
    "OnlineMultiTaskClassifier": "",
    "RankOneLasso": "",
    "RobustRegressor": "",
    "RobustSVC": "",
    "SDistClassifier": "",
    "SOFSClassifier": "",
    "SieveClassifier": "",
    "SparseBCWClassifier": "",
    "SparseFourierFeatures": "max_iter=200",
    "StabilitySelector": "n_pairs=2",
    "StabilizedSGDClassifier": "",
    "StabilizedSGDRegressorCV": (
        "eta_factors=(1.0,), burn_ins=(1.0,), rejections=(0.7,), purges=(0.7,), cv=2"
    ),
    "ThresholdedClassifier": "",
    "TriClassSVC": "",
}
FEW = (
    "import numpy as np, scipy.sparse as sp; r = np.random.default_rng(0); "
    "X = sp.random_array((80, 20), density=0.3, format='csr', rng=r); "
    "z = X @ r.normal(size=20); y = (z > np.median(z)).astype(int)"
)
QUIET = "import warnings; warnings.simplefilter('ignore')"
# A process says when its work was done: what it does after that, and its end, are not in its times.
DONE = (
    "import os, time; "
    "print(time.perf_counter() - float(os.environ['BEGUN']), time.process_time(), end=' ')"
)
MISSES = (
    "import gc; from tamis.numerics.numba import Loop; loops = [o for o in gc.get_objects() if "
    "isinstance(o, Loop)]; "
    "print(sum(loop.misses() for loop in loops), sum(loop.signatures() for loop in loops))"
)


def fit_code(recipe: str) -> str:
    """A program that makes rows, fits the recipe and says when it had, how many loops it compiled,
    and how many it used.
    """
    fit = f"tamis.{RECIPES[recipe]}.fit(X, {LABELS.get(recipe, 'y')})"
    return f"{QUIET}; {ROWS}; import tamis; {fit}; {DONE}; {MISSES}"


def timed(code: str, folder: str | None = None) -> Child:
    """Run a program that ends with `DONE`: wall and CPU seconds until then, and what it says."""
    cache = {} if folder is None else {"NUMBA_CACHE_DIR": folder}
    wall, cpu, *said = fresh(code, {"BEGUN": str(time.perf_counter()), **cache}).text.split()
    return Child(float(wall), float(cpu), " ".join(said))


def quietest(programs: dict, rounds: int, folder: str | None = None) -> dict[str, Child]:
    """Least wall and least CPU time of each program, the programs in turn."""
    best: dict[str, Child] = {}
    for _ in range(rounds):
        for name, code in programs.items():
            child, known = timed(code, folder), best.get(name)
            best[name] = (
                child
                if known is None
                else Child(min(child.wall, known.wall), min(child.cpu, known.cpu), child.text)
            )
    return best


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        Seconds from the start of a process to the end of its work, the processes in turn; the least
        of several rounds. CPU seconds are what the wall clock shows on a quiet machine; the wall
        seconds are stretched by other work on this one. Verdicts go by CPU seconds, and say so
        where wall seconds disagree."""
    page = Page("latency", "Latency", opening)
    for table, goals in (_imports(quick), _first_fits(quick), _compilations(quick)):
        page.tables.append(table)
        page.goals += goals
    return page


def _imports(quick: bool) -> tuple[Table, list[Goal]]:
    """What imports take."""
    found = quietest({name: f"{name}; {DONE}" for name in IMPORTS}, 1 if quick else 5)
    base = found["import numpy"]
    rows = [
        [
            f"`{name}`",
            f"{run.cpu:.3f}",
            f"{run.cpu - base.cpu:+.3f}",
            f"{run.wall - base.wall:+.3f}",
        ]
        for name, run in found.items()
    ]
    note = (
        "`import tamis` loads neither Numba nor scikit-learn; the first model that is named does."
    )
    head = ["process", "CPU, s", "more than NumPy, CPU", "wall"]
    own = found["import numpy, tamis"]
    more = {"import": (own.cpu - base.cpu, own.wall - base.wall)}
    goal = _goal("import tamis at most 0.1 s more than import numpy", more, 0.1)
    return Table("Imports", head, rows, note), [goal]


def _first_fits(quick: bool) -> tuple[Table, list[Goal]]:
    """First fits with the machine code of all recipes on disk, against a process that imports."""
    programs = {name: fit_code(name) for name in (("FOBOS", "SBCW") if quick else RECIPES)}
    with tempfile.TemporaryDirectory() as folder:
        for code in programs.values():
            timed(code, folder)
        base, *fits = quietest(
            {"": f"{ROWS}; {BASE}; {DONE}", **programs}, 2 if quick else 3, folder
        ).values()
    waits, rows, missed = {}, [], 0
    for name, found in zip(programs, fits, strict=True):
        waits[name] = cpu, wall = found.cpu - base.cpu, found.wall - base.wall
        again, used = found.text.split()
        missed += int(again)
        rows.append([name, f"{found.cpu:.2f}", f"{cpu:+.2f}", f"{wall:+.2f}", f"{again} of {used}"])
    head = ["first fit of 500 rows", "CPU, s", "more than imports, CPU", "wall", "compiled again"]
    note = f"""The machine code lies on disk. Imports: a process that makes the rows and runs
        `{BASE}`, {base.cpu:.2f} s."""
    goals = [
        _goal(
            "first fit in a fresh process with a warm cache at most 0.3 s more than import "
            "sklearn.linear_model, numba",
            waits,
            0.3,
        ),
        Goal(
            "a second process compiles nothing",
            f"{missed} cache misses over {len(programs)} recipes",
            verdict(missed == 0),
        ),
    ]
    return Table("First fit", head, rows, note), goals


def _compilations(quick: bool) -> tuple[Table, list[Goal]]:
    """What the first fit of a process with an empty cache takes more than its second."""
    names = ["FOBOSClassifier", "AROWClassifier"] if quick else list(FAMILIES)
    seconds, loops = {}, {}
    for name in names:
        clocks = "time.process_time(), time.perf_counter()"
        code = (
            f"{QUIET}; {FEW}; import time, tamis; from sklearn.base import is_regressor, clone; "
            f"model = tamis.{name}({FAMILIES[name]}); target = z if is_regressor(model) else y; "
            f"a = {clocks}; model.fit(X, target); b = {clocks}; clone(model).fit(X, target); "
            f"c = {clocks}; print(*(2 * m - n - o for m, n, o in zip(b, a, c)), end=' '); {MISSES}"
        )
        with tempfile.TemporaryDirectory() as folder:
            cpu, wall, loops[name], _ = fresh(code, {"NUMBA_CACHE_DIR": folder}).text.split()
        seconds[name] = float(cpu), float(wall)
    rows = [
        [name, *(f"{figure:.1f}" for figure in seconds[name]), loops[name]]
        for name in sorted(seconds, key=seconds.__getitem__, reverse=True)
    ]
    head = ["compilation of 80 rows' fit", "CPU, s", "wall, s", "loops"]
    note = "The first fit of a process with an empty cache folder less its second; one round."
    goal = _goal("cold compilation of any estimator at most 5 s", seconds, 5.0)
    return Table("Compilation of every family", head, rows, note), [goal]


def _goal(promise: str, seconds: dict[str, tuple[float, float]], most: float) -> Goal:
    """A verdict on the slowest by CPU time; `seconds` holds CPU and wall time of each."""
    slow = max(seconds, key=seconds.__getitem__)
    cpu, wall = seconds[slow][0], max(w for _, w in seconds.values())
    said = (
        verdict(cpu <= most)
        if (cpu <= most) == (wall <= most)
        else f"{verdict(cpu <= most)} in CPU time, {verdict(wall <= most)} in wall time"
    )
    whose = f" ({slow}, the slowest of {len(seconds)})" if len(seconds) > 1 else ""
    return Goal(promise, f"{cpu:.2f} s{whose}; {wall:.2f} s by the wall clock", said)
