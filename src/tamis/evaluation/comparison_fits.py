"""The fits of a comparison: candidates on folds, picks among them, and runs of the picks."""

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils.parallel import Parallel, delayed

from tamis.base.scores import default_scoring, mean_with_error, one_standard_error, row_losses
from tamis.base.splits import make_folds
from tamis.selection.half_samples import seeded
from tamis.selection.supports import kept_by
from tamis.system.progress import Progress

Grid = Mapping[str, list] | list[Mapping[str, list]]  # as scikit-learn's ParameterGrid takes it
LEAST, SPARSE, GIVEN = "least", "sparse", "given"


class Candidate(NamedTuple):
    """One setting of one model, and what the folds say of it."""

    model: str
    params: dict
    error: float = np.nan
    spread: float = np.nan  # standard error over the held-out rows
    kept: float = np.nan
    seconds: float = 0.0


class Sides(NamedTuple):
    """Rows to learn from, and rows to be judged by."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    X_test: np.ndarray | sp.csr_array
    y_test: np.ndarray


class Clock:
    """Parallel fits under one progress bar."""

    def __init__(self, total: int, n_jobs: int | None, verbose: bool | str):
        self.bar, self.n_jobs = Progress("compare", total, verbose), n_jobs

    def __enter__(self) -> "Clock":
        self.bar.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self.bar.__exit__(*failure)

    def expect(self, more: int) -> None:
        """More fits are to come."""
        self.bar.total += more

    def map(self, tasks: Iterable) -> list[dict]:
        """Results in the order of the tasks."""
        found = []
        for one in Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks):
            found.append(one)
            self.bar.advance(1, f"{self.bar.done + 1} of {self.bar.total} fits")
        return found


def _fit_once(model, params, sides: Sides, rows, seed, classes: bool) -> dict:
    """Fit on some rows in the order given, and judge."""
    model = seeded(model, seed).set_params(**params)
    X, y = sides.X[rows], sides.y[rows]
    begin = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begin
    losses = row_losses(sides.y_test, model.predict(sides.X_test), default_scoring(classes))
    kept, _ = kept_by(model)
    return {
        "losses": losses,
        "error": float(losses.mean()),
        "kept": len(kept) / X.shape[1],
        "seconds": seconds,
        "support": np.sort(kept),
    }


def tune_candidates(
    models: dict[str, BaseEstimator],
    candidates: list[Candidate],
    tune: Mapping[str, Grid],
    sides: Sides,
    folds: int,
    classes: bool,
    base: int,
    clock: Clock,
) -> list[Candidate]:
    """Every candidate of a tuned model on the same folds."""
    X, y = sides.X, sides.y
    asked = [c for c in candidates if c.model in tune]
    if not asked:
        return candidates
    parts = make_folds(folds, len(y), y, stratify=classes, shuffle=True, random_state=base)
    tasks = (
        delayed(_fit_once)(
            models[c.model],
            c.params,
            Sides(X, y, X[out], y[out]),
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
        error, spread = mean_with_error(np.concatenate([one["losses"] for one in mine]))
        kept, seconds = np.mean([one["kept"] for one in mine]), sum(one["seconds"] for one in mine)
        judged.append(c._replace(error=error, spread=spread, kept=float(kept), seconds=seconds))
    return judged + [c for c in candidates if c.model not in tune]


def pick_settings(candidates: list[Candidate], tuned: bool) -> list[tuple[str, Candidate]]:
    """The candidate of least error, and the sparsest within one standard error if another."""
    if not tuned:
        return [(GIVEN, candidates[0])]
    candidates = sorted(candidates, key=lambda c: c.kept)  # of equal errors the sparser is least
    errors, kept = (np.array([getattr(c, name) for c in candidates]) for name in ("error", "kept"))
    least = candidates[int(np.argmin(errors))]
    near, _ = one_standard_error(errors, least.spread, kept, allow_empty=True)
    sparse = candidates[near]
    if sparse is least:
        return [(f"{LEAST}, {SPARSE}", least)]
    return [(LEAST, least), (SPARSE, sparse)]


def repeat_runs(
    models: dict[str, BaseEstimator],
    picks: list[tuple[str, Candidate]],
    sides: Sides,
    subsample: float | None,
    seeds: list[int],
    classes: bool,
    clock: Clock,
) -> list[dict]:
    """All runs of all picks; run k has the same rows in the same order for every model."""
    orders = [_rows(sides.y, subsample, seed, classes) for seed in seeds]
    tasks = (
        delayed(_fit_once)(models[c.model], c.params, sides, order, seed, classes)
        for _, c in picks
        for seed, order in zip(seeds, orders, strict=True)
    )
    return clock.map(tasks)


def _rows(y, subsample, seed, classes) -> np.ndarray:
    """A random order of all rows, or of a random share of them."""
    rows = np.random.default_rng(seed).permutation(len(y))
    if subsample is None:
        return rows
    chosen, _ = train_test_split(
        rows, train_size=subsample, random_state=seed % 2**32, stratify=y[rows] if classes else None
    )
    return chosen
