"""The slides' synthetic groups: accuracy and F1 of the kept columns, by the number of rows."""

from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.papers.structured.cells import Cells, under
from benchmarks.papers.structured.slides import SIZES
from tamis import GroupLassoClassifier, OnlineGroupLassoClassifier
from tamis.base.feature_groups import parse_feature_groups
from tamis.solvers.path.loop import dual_blocks
from tamis.terms import SparseGroup

RUNS = {25: 100, 50: 100, 100: 100, 500: 30, 1000: 20, 5000: 10, 10_000: 10, 100_000: 10}
FRACTIONS = (0.5, 0.2, 0.1, 0.05)
FILLED = (10, 8, 6, 4, 2, 1, 0, 0, 0, 0)
COLUMNS, GROUPS = 100, np.arange(100) // 10
GAMMA = 5.0  # the divisor of the published update, as in the notes
# Cross-validation up to so many rows; beyond them the first fold alone is held out.
FOLDS, FOLDED = 5, 1000


class Method(NamedTuple):
    """One column of the table: weights of the penalty, extra thresholds to choose from, and passes
    (0: batch).
    """

    penalty: dict
    passes: int
    rhos: tuple = (0.0,)
    automatic: bool = False  # whether steps follow the data, and not the published update


SPARSE = {"l1_weights": 1.0}
METHODS = {
    "Lasso": Method({"l1_ratio": 1.0}, 0),
    "GL": Method({}, 0),
    "SGL": Method(SPARSE, 0),
    "L1-RDA": Method({"l1_ratio": 1.0}, 1),
    "DA-GL": Method({}, 1),
    "DA-SGL": Method(SPARSE, 1),
    "enhanced DA-SGL": Method(SPARSE, 1, (0.02, 0.05)),
    "DA-SGL, 10 passes": Method(SPARSE, 10, automatic=True),
}


def draw(rng, n: int, w=None):
    """Rows and labels: ten groups of ten columns, 31 of 100 weights +-1, noise of deviation 4."""
    if w is None:
        w = np.concatenate([np.r_[np.ones(k), np.zeros(10 - k)] for k in FILLED]) * rng.choice(
            [-1.0, 1.0], COLUMNS
        )
    root = np.linalg.cholesky(0.2 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10))))
    X = (rng.normal(size=(n, 10, 10)) @ root.T).reshape(n, COLUMNS)
    return X, np.where(X @ w + 4.0 * rng.normal(size=n) > 0, 1, -1), w


def strongest(X, y, penalty: dict) -> float:
    """The smallest strength that keeps nothing, for the logistic loss without an intercept."""
    blocks = parse_feature_groups(
        GROUPS, COLUMNS, l1_ratio=penalty.get("l1_ratio", 0.0), l1_weights=penalty.get("l1_weights")
    )
    slopes = -X.T @ y / (2.0 * len(y))
    return float(
        dual_blocks(
            slopes, blocks.starts, blocks.weights, blocks.l1_weights, SparseGroup(1.0), np.uint64(1)
        )
    )


def fitted(method: Method, X, y, fraction: float, rho: float, seed: int = 0):
    """A model at a fraction of its own strongest penalty on these rows."""
    given = {
        "feature_groups": GROUPS,
        "alpha": fraction * strongest(X, y, method.penalty),
        "fit_intercept": False,
        **method.penalty,
    }
    if not method.passes:
        return GroupLassoClassifier(**given).fit(X, y)
    steps = (
        {"t0": 0.3 * method.passes * len(y)}
        if method.automatic
        else {"eta": 1.0 / GAMMA, "t0": 0.0}
    )
    return OnlineGroupLassoClassifier(
        fading_threshold=rho, max_iter=method.passes, tol=None, random_state=seed, **steps, **given
    ).fit(X, y)


def choices(method: Method) -> list[tuple[float, float]]:
    """Fractions and extra thresholds, the strongest first."""
    return [(fraction, rho) for fraction in FRACTIONS for rho in sorted(method.rhos, reverse=True)]


def chosen(method: Method, X, y) -> dict[str, int]:
    """Two picks made inside the training rows: of most held-out accuracy, and of fewest columns
    within one standard error of it.
    """
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))[
        : FOLDS if len(y) <= FOLDED else 1
    ]
    held = sum(len(out) for _, out in folds)
    right, kept = np.zeros(len(choices(method))), np.zeros(len(choices(method)))
    for inside, out in folds:
        for k, choice in enumerate(choices(method)):
            model = fitted(method, X[inside], y[inside], *choice)
            right[k] += np.count_nonzero(model.predict(X[out]) == y[out]) / held
            kept[k] += len(model.support_)
    best = int(np.argmax(right))
    near = right >= right[best] - np.sqrt(right[best] * (1.0 - right[best]) / held)
    return {"least": best, "sparse": int(np.argmin(np.where(near, kept, np.inf)))}


def one_run(kind: str, n: int, run: int) -> dict:
    """Both picks and all fixed choices of the batch or online methods, on the rows of one run."""
    rng = np.random.default_rng(1000 * n + run)
    X, y, w = draw(rng, n)
    while min(np.sum(y > 0), np.sum(y < 0)) < FOLDS:
        X, y, w = draw(rng, n)
    test, answers, _ = draw(rng, n, w)
    found = {}
    for name, method in METHODS.items():
        if bool(method.passes) != (kind == "online"):
            continue
        rows = []
        for choice in choices(method):
            model = fitted(method, X, y, *choice, seed=run)
            hits = np.count_nonzero(w[model.support_])
            accuracy = float(np.mean(model.predict(test) == answers))
            rows.append(
                (
                    accuracy,
                    2.0 * hits / (len(model.support_) + np.count_nonzero(w)),
                    len(model.support_),
                )
            )
        found[name] = {"fixed": rows, **chosen(method, X, y)}
    return found


def run(cells: Cells, quick: bool) -> None:
    """All numbers of rows, the small ones first."""
    for kind in ("online", "batch"):
        for n in SIZES[:3] if quick else SIZES:
            for k in range(3 if quick else RUNS[n]):
                cells.need(f"synthetic/{kind}/{n}/{k}", one_run, kind, n, k)


def summary(found: dict, name: str, n: int, pick: str = "least") -> dict | None:
    """Mean and deviation over runs of accuracy and F1 in %, for one method, number of rows and
    pick.
    """
    kind = "online" if METHODS[name].passes else "batch"
    rows = [cell[name]["fixed"][cell[name][pick]] for cell in runs_of(found, kind, n)]
    if not rows:
        return None
    values = np.array(rows) * (100.0, 100.0, 1.0)
    return {
        "runs": len(rows),
        "accuracy": spread(values[:, 0]),
        "f1": spread(values[:, 1]),
        "each": values,
    }


def at_fixed(found: dict, name: str, n: int, fraction: float) -> tuple[float, float] | None:
    """Mean accuracy and F1 in % at a fraction, with the smaller of the extra thresholds."""
    kind = "online" if METHODS[name].passes else "batch"
    place = choices(METHODS[name]).index((fraction, min(METHODS[name].rhos)))
    rows = [cell[name]["fixed"][place][:2] for cell in runs_of(found, kind, n)]
    return tuple(100.0 * np.mean(rows, axis=0)) if rows else None


def runs_of(found: dict, kind: str, n: int) -> list[dict]:
    """The cells of one kind and number of rows, in the order of the runs."""
    return under(found, "synthetic", kind, n)


def spread(values) -> tuple[float, float]:
    """Mean and deviation."""
    return float(np.mean(values)), float(np.std(values))
