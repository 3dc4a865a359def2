"""The fits of a comparison: candidates on folds, picks among them, and runs of the picks."""

import time
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils.parallel import Parallel, delayed

from tamis.base.machine.progress import Progress
from tamis.judge.halves import seeded
from tamis.judge.supports import kept_by

LEAST, SPARSE, GIVEN = "least", "sparse", "given"


class Candidate(NamedTuple):
    """One setting of one model, and what the folds say of it."""

    model: str
    params: dict
    error: float = np.nan
    spread: float = np.nan  # standard error over the held-out rows
    kept: float = np.nan
    seconds: float = 0.0


class Clock:
    """Parallel fits under one progress bar."""

    def __init__(self, total, n_jobs, verbose):
        self.bar, self.n_jobs = Progress("compare", total, verbose), n_jobs

    def __enter__(self):
        self.bar.__enter__()
        return self

    def __exit__(self, *failure):
        self.bar.__exit__(*failure)

    def expect(self, more: int) -> None:
        """More fits are to come."""
        self.bar.total += more

    def map(self, tasks) -> list:
        """Results in the order of the tasks."""
        found = []
        for one in Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks):
            found.append(one)
            self.bar.advance(1, f"{self.bar.done + 1} of {self.bar.total} fits")
        return found


def _fit_once(model, params, X, y, X_test, y_test, rows, seed, classes) -> dict:
    """Fit on some rows in the order given, and judge."""
    model = seeded(model, seed).set_params(**params)
    X, y = X[rows], y[rows]
    begin = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begin
    guess = model.predict(X_test)
    losses = (guess != y_test).astype(float) if classes else (guess - y_test) ** 2
    losses = losses if losses.ndim == 1 else losses.mean(axis=1)
    kept, _ = kept_by(model)
    return {
        "losses": losses,
        "error": float(losses.mean()),
        "kept": len(kept) / X.shape[1],
        "seconds": seconds,
        "support": np.sort(kept),
    }


def tune_candidates(models, candidates, tune, X, y, folds, classes, base, clock) -> list[Candidate]:
    """Every candidate of a tuned model on the same folds."""
    splitter = (StratifiedKFold if classes else KFold)(folds, shuffle=True, random_state=base)
    parts = list(splitter.split(np.zeros(len(y)), y)) if tune else []
    asked = [c for c in candidates if c.model in tune]
    tasks = (
        delayed(_fit_once)(
            models[c.model],
            c.params,
            X,
            y,
            X[out],
            y[out],
            np.random.default_rng((base, k)).permutation(into),
            (base, k),
            classes,
        )
        for c in asked
        for k, (into, out) in enumerate(parts)
    )
    found, judged = clock.map(tasks), []
    for number, c in enumerate(asked):
        mine = found[number * folds : (number + 1) * folds]
        losses = np.concatenate([one["losses"] for one in mine])
        spread = float(losses.std(ddof=1) / np.sqrt(len(losses)))
        kept, seconds = np.mean([one["kept"] for one in mine]), sum(one["seconds"] for one in mine)
        judged.append(
            c._replace(error=float(losses.mean()), spread=spread, kept=float(kept), seconds=seconds)
        )
    return judged + [c for c in candidates if c.model not in tune]


def pick_settings(name, candidates, tuned) -> list[tuple[str, Candidate]]:
    """The candidate of least error, and the sparsest within one standard error if another."""
    if not tuned:
        return [(GIVEN, candidates[0])]
    least = min(candidates, key=lambda c: (c.error, c.kept))
    near = [c for c in candidates if c.error <= least.error + least.spread]
    sparse = min(near, key=lambda c: (c.kept, c.error))
    return (
        [(f"{LEAST}, {SPARSE}", least)] if sparse is least else [(LEAST, least), (SPARSE, sparse)]
    )


def repeat_runs(
    models, picks, X, y, X_test, y_test, subsample, seeds, classes, clock
) -> list[dict]:
    """All runs of all picks; run k has the same rows in the same order for every model."""
    orders = [_rows(y, subsample, seed, classes) for seed in seeds]
    tasks = (
        delayed(_fit_once)(models[c.model], c.params, X, y, X_test, y_test, order, seed, classes)
        for _, c in picks
        for seed, order in zip(seeds, orders, strict=True)
    )
    found = clock.map(tasks)
    for one in found:
        del one["losses"]
    return found


def _rows(y, subsample, seed, classes) -> np.ndarray:
    """A random order of all rows, or of a random share of them."""
    rows = np.random.default_rng(seed).permutation(len(y))
    if subsample is None:
        return rows
    chosen, _ = train_test_split(
        rows, train_size=subsample, random_state=seed % 2**32, stratify=y[rows] if classes else None
    )
    return chosen
