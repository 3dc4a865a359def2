"""Batch group lasso to a relative gap of 1e-6, against skglm, celer and adelie where they are installed."""

import importlib.util
import time
import warnings

import numpy as np
import scipy.sparse as sp

from benchmarks.clock import fresh, interleaved
from benchmarks.pages import Goal, Page, Table, verdict
from tamis import GroupLassoRegressor

SHAPES = {
    "1,000 x 10,000, groups of 10": (1000, 10_000, 10, False),
    "100,000 x 1,000, groups of 10": (100_000, 1000, 10, False),
    "20,000 x 100,000 sparse, groups of 5": (20_000, 100_000, 5, True),
}
QUICK = {"100 x 500, groups of 10": (100, 500, 10, False)}
FRACTIONS = (0.1, 0.01)
LONG = 10.0  # seconds of a first round, after which one more is enough
FILLED = 50  # nonzeros of a sparse row


def make(n: int, d: int, size: int, sparse: bool):
    """Rows, targets of twenty planted groups with noise of half their deviation."""
    rng = np.random.default_rng(0)
    if sparse:
        X = sp.random_array((n, d), density=FILLED / d, rng=rng, format="csc")
        X.data[:] = rng.normal(size=len(X.data))
        X = sp.csc_matrix(X)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    else:
        X = np.asfortranarray(rng.normal(size=(n, d)))
    w = np.zeros(d)
    for g in rng.choice(d // size, min(20, d // size // 2), replace=False):
        w[g * size : (g + 1) * size] = rng.normal(size=size)
    scores = X @ w
    return X, scores + 0.5 * scores.std() * rng.normal(size=n)


def contestants(X, y, size: int, alpha: float) -> dict:
    """One call a library, each returning its weights."""
    d = X.shape[1]
    found = {"tamis": lambda: GroupLassoRegressor(np.arange(d) // size, alpha, fit_intercept=False).fit(X, y).coef_}
    if importlib.util.find_spec("celer"):
        from celer import GroupLasso

        found["celer"] = lambda: GroupLasso(groups=size, alpha=alpha * np.sqrt(size), fit_intercept=False, tol=1e-6).fit(X, y).coef_
    if importlib.util.find_spec("skglm"):
        from skglm import GroupLasso as SkglmGroupLasso

        weights = np.full(d // size, np.sqrt(size))
        found["skglm"] = lambda: SkglmGroupLasso(size, alpha=alpha, weights=weights, fit_intercept=False, tol=1e-4 * alpha).fit(X, y).coef_
    if importlib.util.find_spec("adelie"):
        import adelie

        matrix = adelie.matrix.sparse(X) if sp.issparse(X) else adelie.matrix.dense(X)
        given = {"groups": np.arange(0, d, size), "lmda_path": np.array([alpha]), "intercept": False, "early_exit": False, "progress_bar": False}
        found["adelie"] = lambda: np.asarray(adelie.grpnet(X=matrix, glm=adelie.glm.gaussian(y), tol=1e-10, **given).betas[-1].todense()).ravel()
    return found


def objective(X, y, w, size: int, alpha: float) -> float:
    """What all of them minimise."""
    return float(0.5 * np.mean((y - X @ w) ** 2) + alpha * np.sqrt(size) * np.sqrt((w.reshape(-1, size) ** 2).sum(axis=1)).sum())


def first_fits() -> dict[str, float]:
    """CPU seconds of the first fit in a fresh process, imports included; tamis finds its compiled loops on the disk."""
    rows = "import numpy as np; rng = np.random.default_rng(0); X = np.asfortranarray(rng.normal(size=(200, 500))); y = X[:, 0]; "
    fits = {"tamis": "from tamis import GroupLassoRegressor; GroupLassoRegressor(np.arange(500) // 10, 0.05).fit(X, y)"}
    if importlib.util.find_spec("skglm"):
        fits["skglm"] = "from skglm import GroupLasso; GroupLasso(10, alpha=0.05, weights=np.full(50, 10**0.5)).fit(X, y)"
    fresh(rows + fits["tamis"])
    return {name: fresh(rows + fit).cpu for name, fit in fits.items()}


def race(words: str, shape: tuple, fraction: float, quick: bool) -> tuple[list, float]:
    """Rows of the table for one setting, and the time of tamis over that of the fastest other (0 without others)."""
    X, y = make(*shape)
    n, _, size, _ = shape
    alpha = fraction * np.sqrt((np.asarray(X.T @ y).reshape(-1, size) ** 2).sum(axis=1)).max() / n / np.sqrt(size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = contestants(X, y, size, alpha)
        begin = time.process_time()
        reached = {name: objective(X, y, call(), size, alpha) for name, call in given.items()}
        long = time.process_time() - begin > LONG
        times = interleaved(given, 1 if quick or long else 3, warm=0, clock=time.process_time)
    least = min(reached.values())
    rows = [[words, f"{fraction:g}", name, f"{times[name].least:.3f}", f"{(reached[name] - least) / least:.1e}"] for name in given]
    peers = [times[name].least for name in given if name != "tamis"]
    return rows, times["tamis"].least / min(peers) if peers else 0.0


def run(quick: bool) -> Page:
    """CPU seconds of a fit, steady state and first, and how far each objective lies above the lowest."""
    rows, ratios = [], {}
    for words, shape in (QUICK if quick else SHAPES).items():
        for fraction in FRACTIONS:
            found, ratios[f"{words}, alpha / alpha_max = {fraction:g}"] = race(words, shape, fraction, quick)
            rows += found
    tables = [Table("CPU seconds of one fit", ["table", "alpha / alpha_max", "library", "seconds", "excess of the objective"], rows)]
    goals, first = [], first_fits()
    worst = max(ratios, key=lambda name: ratios[name])
    if ratios[worst]:
        behind = sum(ratio > 1.0 for ratio in ratios.values())
        words = f"slower on {behind} of {len(ratios)}; at worst {ratios[worst]:.2f} times its time ({worst})"
        goals.append(Goal("never slower than the fastest of skglm, celer and adelie", words, verdict(behind == 0)))
    if "skglm" in first:
        times = first["skglm"] / first["tamis"]
        tables.append(Table("CPU seconds of the first fit in a fresh process", ["library", "seconds"], [[n, f"{t:.2f}"] for n, t in first.items()]))
        goals.append(Goal("first fit of a fresh process at least 10 times faster than skglm's", f"{times:.0f} times", verdict(times >= 10.0)))
    opening = "Least of the fits after a first one, one thread, squared loss, no intercept, to a duality gap of 1e-6 of the empty model's loss."
    return Page("group_batch", "Batch group lasso", opening, tables, goals)
