"""Fits of a comparison: tuning on folds, choice of settings, and repeated runs."""

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
from tamis.selection.half_samples import clone_with_seed
from tamis.selection.supports import selected_features
from tamis.system.progress import Progress

Grid = Mapping[str, list] | list[Mapping[str, list]]  # as scikit-learn's ParameterGrid takes it
LOWEST_ERROR, SPARSE, UNTUNED = "least", "sparse", "given"


class Candidate(NamedTuple):
    """One setting of one model, with its cross-validated error."""

    model: str
    params: dict
    error: float = np.nan
    standard_error: float = np.nan  # over the held-out rows
    kept: float = np.nan
    seconds: float = 0.0


class DataSplit(NamedTuple):
    """Training rows and test rows."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    X_test: np.ndarray | sp.csr_array
    y_test: np.ndarray


class ParallelFits:
    """Parallel fits under one progress bar."""

    def __init__(self, total: int, n_jobs: int | None, verbose: bool | str):
        self.progress_bar, self.n_jobs = Progress("compare", total, verbose), n_jobs

    def __enter__(self) -> "ParallelFits":
        self.progress_bar.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self.progress_bar.__exit__(*failure)

    def add_expected(self, n_fits: int) -> None:
        """Add to the number of expected fits."""
        self.progress_bar.total += n_fits

    def map(self, tasks: Iterable) -> list[dict]:
        """Run the tasks and return their results in order."""
        results = []
        for result in Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks):
            results.append(result)
            self.progress_bar.advance(
                1, f"{self.progress_bar.done + 1} of {self.progress_bar.total} fits"
            )
        return results


def _fit_once(model, params, split: DataSplit, rows, seed, classes: bool) -> dict:
    """Fit on the rows in this order, and return losses on the test rows, support and time."""
    model = clone_with_seed(model, seed).set_params(**params)
    X, y = split.X[rows], split.y[rows]
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    losses = row_losses(split.y_test, model.predict(split.X_test), default_scoring(classes))
    selected, _ = selected_features(model)
    return {
        "losses": losses,
        "error": float(losses.mean()),
        "kept": len(selected) / X.shape[1],
        "seconds": seconds,
        "support": np.sort(selected),
    }


def tune_candidates(
    models: dict[str, BaseEstimator],
    candidates: list[Candidate],
    tune: Mapping[str, Grid],
    split: DataSplit,
    folds: int,
    classes: bool,
    base_seed: int,
    fits: ParallelFits,
) -> list[Candidate]:
    """Cross-validate every candidate of the tuned models on the same folds."""
    X, y = split.X, split.y
    to_tune = [candidate for candidate in candidates if candidate.model in tune]
    if not to_tune:
        return candidates
    fold_rows = make_folds(folds, len(y), y, stratify=classes, shuffle=True, random_state=base_seed)
    tasks = (
        delayed(_fit_once)(
            models[candidate.model],
            candidate.params,
            DataSplit(X, y, X[held_out], y[held_out]),
            np.random.default_rng((base_seed, k)).permutation(train),
            (base_seed, k),
            classes,
        )
        for candidate in to_tune
        for k, (train, held_out) in enumerate(fold_rows)
    )
    results, tuned = fits.map(tasks), []
    for number, candidate in enumerate(to_tune):
        fold_results = results[number * folds : (number + 1) * folds]
        error, standard_error = mean_with_error(
            np.concatenate([result["losses"] for result in fold_results])
        )
        kept, seconds = (
            np.mean([result["kept"] for result in fold_results]),
            sum(result["seconds"] for result in fold_results),
        )
        tuned.append(
            candidate._replace(
                error=error, standard_error=standard_error, kept=float(kept), seconds=seconds
            )
        )
    return tuned + [candidate for candidate in candidates if candidate.model not in tune]


def pick_settings(candidates: list[Candidate], tuned: bool) -> list[tuple[str, Candidate]]:
    """Return the candidate of lowest error, and the sparsest one within one standard error."""
    if not tuned:
        return [(UNTUNED, candidates[0])]
    # Among equal errors the sparsest candidate comes first.
    candidates = sorted(candidates, key=lambda c: c.kept)
    errors, kept = (np.array([getattr(c, name) for c in candidates]) for name in ("error", "kept"))
    lowest = candidates[int(np.argmin(errors))]
    sparse_index, _ = one_standard_error(errors, lowest.standard_error, kept, allow_empty=True)
    sparse = candidates[sparse_index]
    if sparse is lowest:
        return [(f"{LOWEST_ERROR}, {SPARSE}", lowest)]
    return [(LOWEST_ERROR, lowest), (SPARSE, sparse)]


def repeat_runs(
    models: dict[str, BaseEstimator],
    picks: list[tuple[str, Candidate]],
    split: DataSplit,
    subsample: float | None,
    seeds: list[int],
    classes: bool,
    fits: ParallelFits,
) -> list[dict]:
    """Run all picks; run k uses the same rows in the same order for every model."""
    orders = [_row_order(split.y, subsample, seed, classes) for seed in seeds]
    tasks = (
        delayed(_fit_once)(models[c.model], c.params, split, order, seed, classes)
        for _, c in picks
        for seed, order in zip(seeds, orders, strict=True)
    )
    return fits.map(tasks)


def _row_order(y, subsample, seed, classes) -> np.ndarray:
    """Return all rows, or a random fraction of them, in random order."""
    rows = np.random.default_rng(seed).permutation(len(y))
    if subsample is None:
        return rows
    chosen, _ = train_test_split(
        rows, train_size=subsample, random_state=seed % 2**32, stratify=y[rows] if classes else None
    )
    return chosen
