"""L1 paths of the column solver against scikit-learn, celer and skglm, at equal objectives."""

import functools
import importlib.util
import time
import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks.clock import interleaved
from benchmarks.pages import Goal, Page, Table, verdict
from tamis.datasets import make_text
from tamis.solvers.path.column_solver import ColumnProblem, solve_path
from tamis.solvers.path.columns import ColumnTable
from tamis.solvers.path.losses import BoundRowLoss
from tamis.terms import L1
from tamis.terms.losses import LOSSES

# Loss, rows, columns, number of strengths, smallest over largest strength.
SHAPES = {
    "lasso, 500 x 20,000 dense": ("squared_error", 500, 20_000, 100, 0.05),
    "lasso, 10,000 x 1,000 dense": ("squared_error", 10_000, 1000, 100, 0.01),
    "logistic, 20,242 x 47,236 sparse": ("logistic", 20_242, 47_236, 50, 0.02),
    "logistic, 200 x 7,000 dense": ("logistic", 200, 7000, 50, 0.05),
    "logistic, 10,000 x 1,000 dense": ("logistic", 10_000, 1000, 50, 0.01),
}
QUICK = {
    "lasso, 100 x 300 dense": ("squared_error", 100, 300, 10, 0.1),
    "logistic, 100 x 300 dense": ("logistic", 100, 300, 10, 0.1),
}
CLOSE = 1e-6  # share of the best objective that a library may be above it, at every strength
TIGHTEN, TRIES = 0.1, 6  # of a library's tolerance, while it is further above
TOO_LONG = 60.0  # CPU seconds of a path after which a library is not asked again
SPARSE_COLUMNS = 40_000  # tables of so many columns are texts


def make(loss: str, n_rows: int, n_columns: int) -> tuple:
    """Make rows without an intercept, and targets; classes are -1 and 1."""
    rng = np.random.default_rng(0)
    if n_columns >= SPARSE_COLUMNS:
        X, y, _ = make_text(n_rows, n_columns, n_informative=300, random_state=0)
        X = sp.csr_matrix(X, dtype=float)
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        X = sp.csc_matrix(sp.diags(1.0 / np.maximum(norms, 1e-12)) @ X)
        return X, np.where(np.asarray(y) > 0, 1.0, -1.0)
    X = np.asfortranarray(rng.normal(size=(n_rows, n_columns)))
    w = np.zeros(n_columns)
    w[rng.choice(n_columns, min(100, n_columns // 4), replace=False)] = rng.normal(
        size=min(100, n_columns // 4)
    )
    scores = X @ w
    if loss == "logistic":
        chance = 1.0 / (1.0 + np.exp(-0.5 * scores))
        return X, np.where(rng.random(n_rows) < chance, 1.0, -1.0)
    return X, scores + 0.3 * scores.std() * rng.normal(size=n_rows)


def largest_alpha(loss: str, X, y) -> float:
    """Return the smallest strength that keeps nothing."""
    raw_gradient = -y if loss == "squared_error" else -0.5 * y
    return float(np.abs(X.T @ raw_gradient).max()) / len(y)


def objectives(loss: str, X, y, alphas, path) -> np.ndarray:
    """Return the objective at each strength of a path of weights (strengths, columns)."""
    values = []
    for alpha, w in zip(alphas, path, strict=True):
        scores = X @ w
        mean = (
            0.5 * np.mean((y - scores) ** 2)
            if loss == "squared_error"
            else np.mean(np.logaddexp(0.0, -y * scores))
        )
        values.append(mean + alpha * np.abs(w).sum())
    return np.array(values)


def tamis_path(loss: str, X, y, alphas, tol: float) -> list:
    """Fit the path by tamis."""
    weights = np.full(len(y), 1.0 / len(y))
    table = ColumnTable(X, weights, center=False, standardize=False)
    bound = BoundRowLoss(LOSSES[loss], y[:, None], weights)
    problem = ColumnProblem(table, bound, L1(1.0), fit_intercept=False, tol=tol)
    problem.largest_alpha()
    path = []
    for solution in solve_path(problem, alphas):
        w = np.zeros(X.shape[1])
        w[solution.indices] = table.to_original_units(solution.indices, solution.weights)[0]
        path.append(w)
    return path


def sklearn_path(X, y, alphas, tol: float) -> list:
    """Fit a lasso path by scikit-learn, with its Gram matrix where it takes one by itself."""
    from sklearn.linear_model import lasso_path

    return list(lasso_path(X, y, alphas=alphas, precompute="auto", tol=tol)[1].T)


def celer_path(loss: str, X, y, alphas, tol: float) -> list:
    """Fit the path by celer, whose logistic loss is a sum over the rows."""
    import celer

    if loss == "squared_error":
        return list(celer.celer_path(X, y, "lasso", alphas=alphas, tol=tol)[1].T)
    return list(celer.celer_path(X, y, "logreg", alphas=alphas * len(y), tol=tol)[1].T)


def skglm_path(loss: str, X, y, alphas, tol: float) -> list:
    """Fit the path by skglm, each strength from the solution of the one before."""
    from skglm import datafits, penalties, solvers

    kind = solvers.AndersonCD if loss == "squared_error" else solvers.ProxNewton
    solver = kind(tol=tol, fit_intercept=False, warm_start=True)
    datafit = (datafits.Quadratic if loss == "squared_error" else datafits.Logistic)()
    if sp.issparse(X):
        datafit.initialize_sparse(X.data, X.indices, X.indptr, y)
    else:
        datafit.initialize(X, y)
    w, scores, path = np.zeros(X.shape[1]), np.zeros(len(y)), []
    for alpha in alphas:
        w = solver.solve(X, y, datafit, penalties.L1(alpha), w_init=w.copy(), Xw_init=scores)[0]
        scores = X @ w
        path.append(w.copy())
    return path


def contestants(loss: str, X, y, alphas) -> dict[str, tuple[Callable, float]]:
    """Return a call for each library, from a tolerance to a path, and its first tolerance."""
    calls = {"tamis": (functools.partial(tamis_path, loss, X, y, alphas), 1e-4)}
    if loss == "squared_error":
        calls["scikit-learn"] = (functools.partial(sklearn_path, X, y, alphas), 1e-4)
    if importlib.util.find_spec("celer"):
        calls["celer"] = functools.partial(celer_path, loss, X, y, alphas), 1e-4
    # On the sparse table it had not ended after five minutes.
    if importlib.util.find_spec("skglm") and not sp.issparse(X):
        calls["skglm"] = functools.partial(skglm_path, loss, X, y, alphas), 1e-4
    return calls


def race(loss: str, n_rows: int, n_columns: int, n_alphas: int, ratio: float, rounds: int):
    """Return for each library its CPU seconds and how far it is above the best objective."""
    X, y = make(loss, n_rows, n_columns)
    alphas = largest_alpha(loss, X, y) * np.geomspace(1.0, ratio, n_alphas)
    calls = contestants(loss, X, y, alphas)
    reference = objectives(loss, X, y, alphas, tamis_path(loss, X, y, alphas, 1e-9))
    chosen, above, first = {}, {}, {}
    for name, (call, first_tol) in calls.items():
        tol = first_tol
        for _ in range(TRIES):
            begin = time.process_time()
            path = call(tol)
            first[name] = time.process_time() - begin
            values = objectives(loss, X, y, alphas, path)
            above[name] = float(((values - reference) / reference).max())
            chosen[name] = functools.partial(call, tol)
            if above[name] <= CLOSE or first[name] > TOO_LONG:
                break
            tol *= TIGHTEN
    fast = {name: call for name, call in chosen.items() if first[name] <= TOO_LONG}
    times = interleaved(fast, rounds, clock=time.process_time, what=f"{loss} {X.shape}")
    seconds = {name: times[name].least if name in times else first[name] for name in chosen}
    return seconds, above


def run(quick: bool) -> Page:
    """CPU seconds of whole paths, one thread."""
    rows, ratios = [], {}
    for name, shape in (QUICK if quick else SHAPES).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, above = race(*shape, rounds=1 if quick else 3)
        for library, taken in seconds.items():
            rows.append([name, library, f"{taken:.3f}", f"{above[library]:.1e}"])
        peers = [t for n, t in seconds.items() if n != "tamis" and above[n] <= CLOSE]
        if peers:
            ratios[name] = seconds["tamis"] / min(peers)
    goals = [
        Goal(f"{name}: at most the time of the fastest peer", f"{ratio:.2f}", verdict(ratio <= 1.0))
        for name, ratio in ratios.items()
    ]
    opening = (
        "Least CPU seconds of whole paths of L1 penalties over the rounds, one thread, without "
        "intercept or standardisation. The tolerance of each library falls by tens until its "
        "objective is within 1e-6 of the best one at every strength; one that does not get there "
        "in six tries is shown and does not count as the fastest. `scikit-learn` takes its Gram "
        "matrix where it chooses to; skglm is left out of the sparse table, which it had not ended "
        "after five minutes."
    )
    table = Table(
        "CPU seconds of a path", ["path", "library", "seconds", "above the best objective"], rows
    )
    return Page("paths", "Paths of L1 penalties", opening, [table], goals)
