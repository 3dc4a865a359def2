"""Whether StabilitySelector keeps its promise: false selections over repeated synthetic problems,
next to the bound.
"""

import numpy as np
from sklearn.linear_model import Lasso
from sklearn.utils.parallel import Parallel, delayed

from tamis import RDAClassifier, StabilitySelector

REPEATS, ROWS, WIDTH, PLANTED = 200, 100, 200, 5


def problem(kind: str, seed: int):
    """Independent or correlated Gaussian columns and a linear target, or rare binary columns and
    two classes.
    """
    random = np.random.default_rng(seed)
    if kind == "rare binary columns, classes":
        X = (
            random.random((3 * ROWS, WIDTH))
            < np.geomspace(0.02, 0.3, WIDTH)[random.permutation(WIDTH)]
        ).astype(float)
        score = X[:, :PLANTED] @ np.array([4.0, -4.0, 4.0, -4.0, 4.0]) + random.normal(size=len(X))
        return (
            X,
            (score > np.median(score) + 1e-9 * random.normal(size=len(X))).astype(int),
            RDAClassifier(max_iter=5, tol=None),
        )
    X = random.normal(size=(ROWS, WIDTH))
    if kind == "neighbours correlated 0.5":
        for j in range(1, WIDTH):
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    places = np.arange(PLANTED) * 40 if kind != "independent columns" else np.arange(PLANTED)
    order = np.concatenate((places, np.setdiff1d(np.arange(WIDTH), places)))
    y = X[:, places].sum(axis=1) + 2.0 * random.normal(size=ROWS)
    return X[:, order], y, Lasso(max_iter=10_000)


def _once(kind, threshold, assumption, seed) -> tuple[int, int, float]:
    """False and true selections, and the bound."""
    X, y, model = problem(kind, seed)
    options = {
        "threshold": threshold,
        "max_false": 1.0,
        "assumption": assumption,
        "n_pairs": 10,
        "param_values": 6,
    }
    selector = StabilitySelector(model, random_state=seed, verbose=False, **options).fit(X, y)
    return (
        int((selector.support_ >= PLANTED).sum()),
        int((selector.support_ < PLANTED).sum()),
        selector.expected_false_selections_,
    )


def keep_promise(quick: bool, jobs: int) -> list[dict]:
    """One line a kind of problem and setting: mean false selections with their standard error, the
    bound, planted features found.
    """
    repeats, lines = 20 if quick else REPEATS, []
    for kind in (
        "independent columns",
        "neighbours correlated 0.5",
        "rare binary columns, classes",
    ):
        for threshold, assumption in ((0.6, "none"), (0.6, "r-concave"), (0.9, "r-concave")):
            found = np.array(
                Parallel(n_jobs=jobs)(
                    delayed(_once)(kind, threshold, assumption, seed) for seed in range(repeats)
                )
            )
            false, true, bound = found.T
            error = false.std(ddof=1) / np.sqrt(repeats)
            lines.append(
                {
                    "kind": kind,
                    "threshold": threshold,
                    "assumption": assumption,
                    "repeats": repeats,
                    "false": float(false.mean()),
                    "error": float(error),
                }
                | {
                    "bound": float(bound.mean()),
                    "true": float(true.mean()),
                    "kept": bool(false.mean() <= bound.mean()),
                }
            )
            print(lines[-1], flush=True)
    return lines
