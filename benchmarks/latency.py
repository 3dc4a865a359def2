"""Waiting before the first result: imports, the first fit, compilation, each in fresh processes."""

import tempfile

from benchmarks.clock import Child, fresh
from benchmarks.pages import Goal, Page, Table, verdict

ROWS = (
    "import numpy as np, scipy.sparse as sp; r = np.random.default_rng(0); "
    "X = sp.random_array((500, 1000), density=0.02, format='csr', rng=r); y = r.integers(0, {classes}, 500)"
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
RECIPES = {
    "SGD": "OnlineClassifier(penalty=None, max_iter=2, tol=None)",
    "FOBOS": "FOBOSClassifier(max_iter=2, tol=None)",
    "truncated gradient": "TruncatedGradientClassifier(max_iter=2, tol=None)",
    "RDA": "RDAClassifier(max_iter=2, tol=None)",
    "FTRL": "FTRLClassifier(max_iter=2, tol=None)",
    "AdaGrad": "OnlineClassifier(rule='adagrad', max_iter=2, tol=None)",
}
MISSES = (
    "import gc; from tamis._jit import Loop; loops = [o for o in gc.get_objects() if isinstance(o, Loop)]; "
    "print(sum(loop.misses() for loop in loops), sum(loop.signatures() for loop in loops))"
)


def fit_code(recipe: str, classes: int) -> str:
    """A program that makes rows, fits the recipe and prints how many loops it compiled, and how many it used."""
    return (
        f"import warnings; warnings.simplefilter('ignore'); {ROWS.format(classes=classes)}; import tamis; tamis.{RECIPES[recipe]}.fit(X, y); {MISSES}"
    )


def quietest(programs: dict, rounds: int, environments: dict | None = None) -> dict[object, Child]:
    """The run of least CPU time of each program, the programs in turn."""
    best: dict[object, Child] = {}
    for _ in range(rounds):
        for name, code in programs.items():
            child = fresh(code, (environments or {}).get(name))
            best[name] = min(best.get(name, child), child, key=lambda run: run.cpu)
    return best


def first_fits(cases: list[tuple[str, int]], rounds: int) -> dict[tuple[str, int], dict[str, Child]]:
    """First fits with an empty cache folder, with a full one, and a process that only imports, for every recipe and number of classes."""
    programs = {case: fit_code(*case) for case in cases}
    base = f"{ROWS.format(classes=2)}; {BASE}"
    cold: dict[tuple[str, int], Child] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(2):
            places = {case: {"NUMBA_CACHE_DIR": f"{folder}/{turn}-{number}"} for number, case in enumerate(cases)}
            for case, child in quietest(programs, 1, places).items():
                cold[case] = min(cold.get(case, child), child, key=lambda run: run.cpu)
        warm = quietest({"base": base, **programs}, rounds, places)
    return {case: {"cold": cold[case], "warm": warm[case], "base": warm["base"]} for case in cases}


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        CPU seconds of whole processes, started in turn; the least of several rounds. On a quiet machine they are the wall seconds, which other work
        on the machine stretches."""
    page = Page("latency", "Latency", opening)
    found = quietest({name: name for name in IMPORTS}, 1 if quick else 9)
    seconds = {name: child.cpu for name, child in found.items()}
    numpy = seconds["import numpy"]
    rows = [[f"`{name}`", f"{value:.3f}", f"{value - numpy:+.3f}"] for name, value in seconds.items()]
    note = "`import tamis` loads neither Numba nor scikit-learn; the first model that is named does."
    page.tables.append(Table("Imports", ["process", "seconds", "more than NumPy"], rows, note))
    more = seconds["import numpy, tamis"] - numpy
    page.goals.append(Goal("import tamis at most 0.1 s more than import numpy", f"{more:.3f} s", verdict(more <= 0.1)))
    cases = [("FOBOS", 2)] if quick else [*((name, 2) for name in RECIPES), ("FOBOS", 20)]
    fits = first_fits(cases, 1 if quick else 7)
    page.tables.append(_table(fits))
    page.goals += _judge(fits)
    return page


def _judge(fits) -> list[Goal]:
    """The slowest binary recipe against the promises."""
    waits = {name: f["warm"].cpu - f["base"].cpu for (name, classes), f in fits.items() if classes == 2}
    colds = {name: f["cold"].cpu - f["warm"].cpu for (name, classes), f in fits.items() if classes == 2}
    wait, cold = max(waits, key=waits.__getitem__), max(colds, key=colds.__getitem__)
    missed = sum(int(f["warm"].text.split()[0]) for f in fits.values())
    promise = "first fit in a fresh process with a warm cache at most 0.6 s more than import sklearn.linear_model, numba"
    return [
        Goal(promise, f"{waits[wait]:.2f} s ({wait}, the slowest of {len(waits)})", verdict(waits[wait] <= 0.6)),
        Goal("cold compilation of one recipe at most 5 s", f"{colds[cold]:.1f} s ({cold}, the slowest of {len(colds)})", verdict(colds[cold] <= 5.0)),
        Goal("a second process compiles nothing", f"{missed} cache misses over {len(fits)} recipes", verdict(missed == 0)),
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
        "compiled",
        "again",
    ]
    rows = []
    for (name, classes), f in fits.items():
        cold, warm, base = f["cold"].cpu, f["warm"].cpu, f["base"].cpu
        missed, used = f["warm"].text.split()
        figures = [f"{x:.2f}" for x in (cold, warm, cold - warm, base, warm - base)]
        rows.append([name, str(classes), *figures, f["cold"].text.split()[0], f"{missed} of {used}"])
    note = f"""Each recipe starts from an empty cache folder of its own, so the loops of the border count for every one. Imports: a process that
        makes the rows and runs `{BASE}`. Compiled: loops compiled with the cold cache; again: loops compiled anew in a process with the warm one."""
    return Table("First fit", head, rows, note)
