"""Waiting before the first result: imports, the first fit, compilation, each in fresh processes."""

import tempfile

from sklearn.base import BaseEstimator

from benchmarks.clock import Child, fresh
from benchmarks.pages import Goal, Page, Table, verdict

ROWS = (
    "import numpy as np, scipy.sparse as sp; r = np.random.default_rng(0); "
    "X = sp.random_array((500, 1000), density=0.02, format='csr', rng=r); y = r.integers(0, "
    "{classes}, 500)"
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
    "truncated gradient": "TruncatedGradientClassifier(max_iter=2, tol=None)",
    "RDA": "RDAClassifier(max_iter=2, tol=None)",
    "FTRL": "FTRLClassifier(max_iter=2, tol=None)",
    "AdaGrad": "OnlineClassifier(rule='adagrad', max_iter=2, tol=None)",
    "AROW": "AROWClassifier()",
    "online groups": f"OnlineGroupLassoClassifier(groups={TENS}, max_iter=2, tol=None)",
    "online tasks": "OnlineMultiTaskClassifier(max_iter=2, tol=None)",
    "group lasso": f"GroupLassoClassifier(groups={TENS})",
    "stabilized": "StabilizedSGDClassifier(max_iter=2, n_paths=2)",
    "SBCW": "SparseBCWClassifier()",
    "robust": "RobustSVC()",
    "thresholded": "ThresholdedClassifier()",
}
# The least that a search or a chain can do: compilation is what counts.
LEAST = {
    "GroupLassoClassifierCV": "alphas=(0.3, 0.1), cv=2, tol=1e-4",
    "GroupLassoRegressorCV": "alphas=4, cv=2",
    "SparseFourierFeatures": "max_iter=200",
    "StabilitySelector": "n_pairs=2",
    **dict.fromkeys(
        ("StabilizedSGDClassifierCV", "StabilizedSGDRegressorCV"),
        "eta_factors=(1.0,), burn_ins=(1.0,), rejections=(0.7,), purges=(0.7,), cv=2",
    ),
}
FEW = (
    "import numpy as np, scipy.sparse as sp; r = np.random.default_rng(0); "
    "X = sp.random_array((80, 20), density=0.3, format='csr', rng=r); "
    "z = X @ r.normal(size=20); y = (z > np.median(z)).astype(int)"
)
MISSES = (
    "import gc; from tamis.base.jit import Loop; loops = [o for o in gc.get_objects() if "
    "isinstance(o, Loop)]; "
    "print(sum(loop.misses() for loop in loops), sum(loop.signatures() for loop in loops))"
)


def fit_code(recipe: str, classes: int) -> str:
    """A program that makes rows, fits the recipe and prints how many loops it compiled, and how
    many it used.
    """
    return (
        f"import warnings; warnings.simplefilter('ignore'); {ROWS.format(classes=classes)}; "
        f"import tamis; tamis.{RECIPES[recipe]}.fit(X, y); {MISSES}"
    )


def quietest(programs: dict, rounds: int, environments: dict | None = None) -> dict[object, Child]:
    """Least wall and least CPU time of each program, the programs in turn."""
    best: dict[object, Child] = {}
    for _ in range(rounds):
        for name, code in programs.items():
            best[name] = _least(fresh(code, (environments or {}).get(name)), best.get(name))
    return best


def _least(child: Child, known: Child | None) -> Child:
    """The lower of each time, and what the new run printed."""
    return (
        child
        if known is None
        else Child(min(child.wall, known.wall), min(child.cpu, known.cpu), child.text)
    )


def first_fits(
    cases: list[tuple[str, int]], rounds: int
) -> dict[tuple[str, int], dict[str, Child]]:
    """First fits with an empty cache folder, with a full one, and a process that only imports, for
    every recipe and number of classes.
    """
    programs = {case: fit_code(*case) for case in cases}
    base = f"{ROWS.format(classes=2)}; {BASE}"
    cold: dict[tuple[str, int], Child] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(2):
            places = {
                case: {"NUMBA_CACHE_DIR": f"{folder}/{turn}-{number}"}
                for number, case in enumerate(cases)
            }
            for case, child in quietest(programs, 1, places).items():
                cold[case] = _least(child, cold.get(case))
        warm = quietest({"base": base, **programs}, rounds, places)
    return {case: {"cold": cold[case], "warm": warm[case], "base": warm["base"]} for case in cases}


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        Seconds of whole processes, started in turn; the least of several rounds. CPU seconds are
        what the wall clock shows on a quiet machine; the wall seconds are stretched by other work
        on this one. Verdicts go by CPU seconds, and say so where wall seconds disagree."""
    page = Page("latency", "Latency", opening)
    found = quietest({name: name for name in IMPORTS}, 1 if quick else 9)
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
    page.tables.append(
        Table("Imports", ["process", "CPU, s", "more than NumPy, CPU", "wall"], rows, note)
    )
    more = {
        "import": (
            found["import numpy, tamis"].cpu - base.cpu,
            found["import numpy, tamis"].wall - base.wall,
        )
    }
    page.goals.append(_goal("import tamis at most 0.1 s more than import numpy", more, 0.1))
    cases = [("FOBOS", 2)] if quick else [*((name, 2) for name in RECIPES), ("FOBOS", 20)]
    fits = first_fits(cases, 1 if quick else 5)
    page.tables.append(_table(fits))
    page.goals += _judge(fits)
    every = compilations(["FOBOSClassifier", "AROWClassifier"] if quick else estimators())
    table, goal = _compiled(every)
    page.tables.append(table)
    page.goals.append(goal)
    return page


def estimators() -> list[str]:
    """Names of all public estimators."""
    import tamis

    things = {name: getattr(tamis, name) for name in tamis.__all__}
    return [n for n, t in things.items() if isinstance(t, type) and issubclass(t, BaseEstimator)]


def compilations(names: list[str]) -> dict[str, tuple[float, float, str]]:
    """CPU and wall seconds that a first fit with an empty cache takes more than one with a full
    one, and how many loops are compiled.
    """
    found = {}
    for name in names:
        code = (
            f"import warnings; warnings.simplefilter('ignore'); {FEW}; import tamis; from "
            f"sklearn.base import is_regressor; model = tamis.{name}({LEAST.get(name, '')}); "
            f"model.fit(X, z if is_regressor(model) else y); {MISSES}"
        )
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (fresh(code, {"NUMBA_CACHE_DIR": folder}) for _ in range(2))
        found[name] = (cold.cpu - warm.cpu, cold.wall - warm.wall, cold.text.split()[0])
    return found


def _compiled(found) -> tuple[Table, Goal]:
    """The slowest compilations of all."""
    slow = sorted(found, key=found.__getitem__, reverse=True)
    rows = [
        [name, f"{found[name][0]:.1f}", f"{found[name][1]:.1f}", found[name][2]] for name in slow
    ]
    head = ["compilation of 80 rows' fit", "CPU, s", "wall, s", "loops"]
    note = "A fit with an empty cache folder less one with a full one; one round."
    seconds = {name: figures[:2] for name, figures in found.items()}
    goal = _goal("cold compilation of any estimator at most 5 s", seconds, 5.0)
    return Table("Compilation of every estimator", head, rows, note), goal


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


def _judge(fits) -> list[Goal]:
    """The slowest binary recipe against the promises."""
    binary = {name: f for (name, classes), f in fits.items() if classes == 2}
    waits = {
        name: (f["warm"].cpu - f["base"].cpu, f["warm"].wall - f["base"].wall)
        for name, f in binary.items()
    }
    missed = sum(int(f["warm"].text.split()[0]) for f in fits.values())
    return [
        _goal(
            "first fit in a fresh process with a warm cache at most 0.3 s more than import "
            "sklearn.linear_model, numba",
            waits,
            0.3,
        ),
        Goal(
            "a second process compiles nothing",
            f"{missed} cache misses over {len(fits)} recipes",
            verdict(missed == 0),
        ),
    ]


def _table(fits) -> Table:
    """The first fit in a process, by recipe."""
    head = [
        "first fit of 500 rows",
        "classes",
        "cold cache, s",
        "warm cache, s",
        "compilation, s",
        "imports, s",
        "warm less imports, s",
        "by the wall clock, s",
        "compiled",
        "again",
    ]
    rows = []
    for (name, classes), f in fits.items():
        cold, warm, base = f["cold"].cpu, f["warm"].cpu, f["base"].cpu
        missed, used = f["warm"].text.split()
        figures = [
            f"{x:.2f}"
            for x in (cold, warm, cold - warm, base, warm - base, f["warm"].wall - f["base"].wall)
        ]
        rows.append(
            [name, str(classes), *figures, f["cold"].text.split()[0], f"{missed} of {used}"]
        )
    note = f"""Each recipe starts from an empty cache folder of its own, so the loops of the border
        count for every one. Imports: a process that makes the rows and runs `{BASE}`. Compiled:
        loops compiled with the cold cache; again: loops compiled anew in a process with the warm
        one."""
    return Table("First fit", head, rows, note)
