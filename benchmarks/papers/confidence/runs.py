"""The runs: table 2 over orders of the rows, figure 1 over numbers of features.

Parameters come from a part of the training rows.
"""

import itertools
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from benchmarks.papers.confidence import sets
from benchmarks.papers.confidence.methods import TUNED, selector_methods, table_methods
from benchmarks.papers.confidence.verdict import packed

ORDERS = 10
SIZES = (30, 75, 150, 300, 600)
COSTS = (1.0, 10.0, 100.0)
WIDTHS, NARROW_ROWS = (200, 1000, 2000), 4000  # of the made-up rows on which seconds are compared


def wanted(folder, quick: bool, only) -> list[tuple]:
    """Kinds and names of the sets to run."""
    dense, wide = (
        [name for name in sets.available(homes, folder) if not only or name in only]
        for homes in (sets.DENSE, sets.WIDE)
    )
    widths = [str(width) for width in WIDTHS if not only]
    if quick:
        dense, widths, wide = dense[:2], widths[:1], wide[1:2]
    kinds = (("table", dense), ("columns", widths), ("figure", wide))
    return [(kind, name) for kind, names in kinds for name in names]


def table(name: str, folder, quick: bool) -> dict:
    """Table 2 for one set."""
    split = sets.DENSE[name][1](folder)
    rows = [
        _order_runs(key, method, split, 3 if quick else ORDERS)
        for key, method in table_methods().items()
    ]
    return {"set": name, "words": split.words(), "test": len(split.y_test), "rows": rows}


def columns(name: str, folder, quick: bool) -> dict:
    """Seconds of AROW with full covariance and of one pass of BCW on so many columns."""
    split, found = sets.epsilon_like(folder, int(name), NARROW_ROWS), table_methods()
    taken: dict = {"AROW": [], "BCW, hinge": []}
    for key, seconds in taken.items():
        for model in (found[key].make() for _ in range(3)):
            seconds.append(_timed(lambda model=model: model.fit(split.X, split.y))[1])
    return {
        "set": name,
        "rows": NARROW_ROWS,
        "seconds": {key: float(np.median(seconds)) for key, seconds in taken.items()},
    }


def _order_runs(name, method, split, orders: int) -> dict:
    """Tune once, then learn the rows in several orders."""
    params = _tune(
        lambda X, y, given: _seeded(method.make(**given), 0).fit(X, y),
        _combinations(method.grid),
        split,
    )
    errors, seconds, wrong = [], [], None
    for seed in range(orders if method.orders else 1):
        order = np.random.default_rng(seed).permutation(len(split.y))
        model = _seeded(method.make(**params), seed)
        X, y = split.X[order], split.y[order]
        _, taken = _timed(lambda model=model, X=X, y=y: model.fit(X, y))
        seconds.append(taken)
        missed = model.predict(split.X_test) != split.y_test
        wrong = missed if seed == 0 else wrong
        errors.append(float(missed.mean()))
    print(f"  {name}: {np.mean(errors):.4f}, {np.median(seconds):.3f} s, {params}", flush=True)
    found = {
        "error": float(np.mean(errors)),
        "error_sd": float(np.std(errors)),
        "seconds": float(np.median(seconds)),
    }
    return {"method": name, "params": params, **found, "runs": len(errors), "wrong": packed(wrong)}


def _seeded(model, seed: int):
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def _combinations(grid: dict) -> list[dict]:
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _tune(fit, choices: list[dict], split) -> dict:
    """The parameters of least error on a quarter of the training rows; the first of equals."""
    if len(choices) == 1:
        return choices[0]
    X, held, y, held_y = train_test_split(
        split.X, split.y, test_size=0.25, random_state=0, stratify=split.y
    )
    errors = [np.mean(_quietly(fit, X, y, given).predict(held) != held_y) for given in choices]
    return choices[int(np.argmin(errors))]


def _quietly(action, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return action(*given)


def _timed(action):
    begin = time.process_time()
    found = _quietly(action)
    return found, time.process_time() - begin


def figure(name: str, folder, quick: bool) -> dict:
    """Figure 1 for one set."""
    split = sets.WIDE[name][1](folder)
    rows = []
    for key, make in selector_methods().items():
        for size in SIZES[:: 2 if quick else 1]:
            rows.append({"method": key, "size": size, **_select(key, make, size, split)})
        print(
            f"  {name}, {key}: "
            f"{[round(row['accuracy'], 3) for row in rows if row['method'] == key]}",
            flush=True,
        )
    return {"set": name, "words": split.words(), "test": len(split.y_test), "rows": rows}


def warmed() -> None:
    """Load compiled code, so that no set is charged for it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)), np.arange(60) % 2
    for method in table_methods().values():
        first = {name: values[0] for name, values in method.grid.items()}
        _quietly(lambda made: made.fit(X, y), method.make(**first))
    for make in selector_methods().values():
        _quietly(make, sp.csr_array(X), y, 5, 1.0)


def entry(job: tuple) -> tuple[dict, float]:
    """One set, and its CPU seconds."""
    kind, name, folder, quick = job
    begin = time.process_time()
    return {"table": table, "columns": columns, "figure": figure}[kind](name, folder, quick), (
        time.process_time() - begin
    )


def _select(name, make, size, split) -> dict:
    """One method at one number of features: its own accuracy, that of an SVM on its features, and
    the time of the final fit.
    """
    choices = [{"C": C} for C in (COSTS if name in TUNED else COSTS[:1])]
    params = _tune(lambda X, y, given: make(X, y, size, given["C"]), choices, split)
    model, seconds = _timed(lambda: make(split.X, split.y, size, params["C"]))
    kept = (
        np.concatenate([*model.blocks_, np.zeros(0, int)])
        if hasattr(model, "blocks_")
        else np.flatnonzero(model.coef_[0])
    )
    wrong = model.predict(split.X_test) != split.y_test
    again = _refitted(split, kept) if len(kept) else float(np.mean(split.y_test == 0))
    figures = {
        "accuracy": float(1.0 - wrong.mean()),
        "refitted": again,
        "kept": len(kept),
        "seconds": getattr(model, "seconds_", seconds),
    }
    return {**figures, "C": params["C"], "wrong": packed(wrong)}


def _refitted(split, kept) -> float:
    """Accuracy of an SVM on the selected columns, its C chosen as all others."""
    narrow = split._replace(X=split.X[:, kept], X_test=split.X_test[:, kept])
    fit = lambda X, y, given: LinearSVC(dual=False, fit_intercept=False, **given).fit(X, y)  # noqa: E731
    params = _tune(fit, [{"C": C} for C in (0.1, 1.0, 10.0)], narrow)
    return float(
        np.mean(_quietly(fit, narrow.X, narrow.y, params).predict(narrow.X_test) == split.y_test)
    )
