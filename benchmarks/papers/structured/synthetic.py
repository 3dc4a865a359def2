"""The slides' synthetic groups: accuracy and F1 of the recovered features, batch methods."""

import numpy as np

from tamis import GroupLassoClassifier

SIZES = (25, 50, 100, 500, 1000, 5000, 10_000)
RUNS = {25: 100, 50: 100, 100: 100, 500: 30, 1000: 20, 5000: 10, 10_000: 10}
FRACTIONS = (0.5, 0.2, 0.1, 0.05)
FILLED = (10, 8, 6, 4, 2, 1, 0, 0, 0, 0)
# Accuracy % and deviation of the slides, by method and number of rows.
SLIDES = {
    "Lasso": {25: (54.2, 14.1), 50: (58.2, 7.7), 100: (62.7, 5.5), 500: (75.6, 2.4), 1000: (77.7, 1.5), 5000: (79.4, 0.4), 10_000: (80.0, 0.2)},
    "group lasso": {25: (54.2, 11.4), 50: (60.0, 6.3), 100: (64.0, 5.1), 500: (75.7, 2.3), 1000: (77.8, 1.5), 5000: (79.4, 0.3), 10_000: (80.0, 0.1)},
}
METHODS = {"Lasso": {"l1_ratio": 1.0}, "group lasso": {}, "sparse group lasso": {"l1_weights": 1.0}}


def draw(rng, n: int, w=None):
    """Rows and labels: ten groups of ten columns, 31 of the 100 weights +-1, noise of deviation 4."""
    if w is None:
        w = np.concatenate([np.r_[np.ones(k), np.zeros(10 - k)] for k in FILLED]) * rng.choice([-1.0, 1.0], 100)
    root = np.linalg.cholesky(0.2 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10))))
    X = (rng.normal(size=(n, 10, 10)) @ root.T).reshape(n, 100)
    return X, np.where(X @ w + 4.0 * rng.normal(size=n) > 0, 1, -1), w


def one_run(seed: int, n: int) -> dict:
    """Accuracy and F1 of each method and fraction of its own alpha_max, and of the fraction that validation rows choose."""
    rng = np.random.default_rng(seed)
    X, y, w = draw(rng, n)
    while len(np.unique(y)) < 2:
        X, y, w = draw(rng, n)
    check, test = draw(rng, n, w)[:2], draw(rng, n, w)[:2]
    found = {}
    for name, given in METHODS.items():
        rows = []
        base = {"groups": np.arange(100) // 10, "fit_intercept": False, **given}
        top = GroupLassoClassifier(alpha=1e6, **base).fit(X, y).alpha_max_
        for fraction in FRACTIONS:
            model = GroupLassoClassifier(alpha=fraction * top, **base).fit(X, y)
            hits = np.count_nonzero(w[model.support_])
            rows.append((model.score(*check), model.score(*test), 2.0 * hits / max(len(model.support_) + np.count_nonzero(w), 1)))
        best = max(range(len(rows)), key=lambda k: rows[k][0])
        found[name] = {"accuracy": rows[best][1], "f1": rows[best][2], "fixed": [row[1:] for row in rows]}
    return found


def tables(quick: bool) -> list[dict]:
    """Mean and deviation over runs, one entry a number of rows and method."""
    entries = []
    for n in SIZES[:3] if quick else SIZES:
        runs = [one_run(1000 * n + k, n) for k in range(5 if quick else RUNS[n])]
        for name in METHODS:
            mine = [run[name] for run in runs]
            entries.append(
                {
                    "rows": n,
                    "method": name,
                    "runs": len(mine),
                    "accuracy": [float(f([100 * run["accuracy"] for run in mine])) for f in (np.mean, np.std)],
                    "f1": float(np.mean([100 * run["f1"] for run in mine])),
                    "fixed": (100 * np.mean([run["fixed"] for run in mine], axis=0)).tolist(),
                    "slide": SLIDES.get(name, {}).get(n),
                }
            )
    return entries
