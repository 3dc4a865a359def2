"""Races: time, test error and kept features of tamis and its peers, settings chosen inside the
training rows.
"""

import math
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks import peers, realsets
from benchmarks.clock import timed
from benchmarks.contestants import (
    PASSES,
    Contestant,
    Fold,
    Outcome,
    batch,
    contestants,
    ladder,
    plain,
    scikit,
    sgd,
)
from benchmarks.pages import Page, Table
from benchmarks.realsets import Split
from benchmarks.workloads import describe, make

STRENGTHS = 6  # a contestant; twice that many where there is no pace to choose
FOLDS = 3
ROUNDS = 3
RIVER_ROWS = 1_000
SAGA_PASSES = 20


class Choice(NamedTuple):
    """The setting of least validation error, and the one that keeps least within a standard error
    of it.
    """

    best: tuple
    sparse: tuple


def entrants(quick: bool) -> dict[str, Contestant]:
    """All contestants of the races."""
    steps = 2 if quick else STRENGTHS
    found = contestants(steps)
    found["liblinear l1"] = contestants(2 * steps)["liblinear l1"]
    found["saga l1"] = Contestant(
        "saga l1",
        ladder(1e-2, 1e-6, steps),
        ("",),
        batch("saga", tol=1e-3, max_iter=2 if quick else SAGA_PASSES),
    )
    found["tamis SGD, no penalty"] = Contestant(
        "tamis SGD, no penalty", (0.0,), ("auto", 1.0, 16.0), scikit(plain)
    )
    found["SGDClassifier, no penalty"] = Contestant(
        "SGDClassifier, no penalty", (0.0,), ("optimal", "constant"), scikit(sgd)
    )
    return dict(sorted(found.items(), key=lambda entry: not entry[0].startswith("tamis")))


def choose(runner: Contestant, folds: list[Fold]) -> Choice:
    """Try every setting on every fold."""
    scores = {}
    for setting in runner.settings():
        outcomes = [runner.run(fold, *setting) for fold in folds]
        scores[setting] = (
            float(np.mean([o.error for o in outcomes])),
            float(np.mean([o.kept for o in outcomes])),
        )
    best = min(scores, key=scores.__getitem__)
    error = scores[best][0]
    margin = math.sqrt(error * (1 - error) / sum(len(fold.y_test) for fold in folds))
    near = [setting for setting in scores if scores[setting][0] <= error + margin]
    return Choice(best, min(near, key=lambda setting: scores[setting][::-1]))


def race(
    split: Split, quick: bool
) -> tuple[dict[str, Choice], dict[tuple[str, str], Outcome], dict[str, int]]:
    """Choose settings on folds of the training rows, then train on all of them in interleaved
    rounds.
    """
    runners = entrants(quick)
    with tempfile.TemporaryDirectory() as folder:
        cuts = StratifiedKFold(2 if quick else FOLDS, shuffle=True, random_state=0).split(
            split.X, split.y
        )
        folds = [
            Fold(split.X[a], split.y[a], split.X[b], split.y[b], Path(folder), f"fold{k}")
            for k, (a, b) in enumerate(cuts)
        ]
        choices = {name: choose(runner, folds) for name, runner in runners.items()}
        whole = Fold(*split, Path(folder), "whole")
        results: dict[tuple[str, str], Outcome] = {}
        for _ in range(1 if quick else ROUNDS):
            for name, runner in runners.items():
                for kind in Choice._fields:
                    found = runner.run(whole, *getattr(choices[name], kind))
                    known = results.get((name, kind), found)
                    results[name, kind] = found._replace(seconds=min(found.seconds, known.seconds))
    return choices, results, {name: len(runner.settings()) for name, runner in runners.items()}


def river_row(split: Split) -> list[str]:
    """River, on few rows: its time for the whole race is extrapolated."""
    from river import linear_model, optim

    X = split.X[:RIVER_ROWS]
    dicts = [
        dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    truths = (split.y[:RIVER_ROWS] > 0).tolist()
    model = linear_model.LogisticRegression(optimizer=optim.SGD(1.0), l1=1e-4)
    with timed(f"river, {len(dicts):,} rows") as taken:
        for row, truth in zip(dicts, truths, strict=True):
            model.learn_one(row, truth)
    seconds = taken.wall * PASSES * split.X.nnz / X.nnz
    coef = np.zeros(split.X.shape[1])
    for column, weight in model.weights.items():
        coef[column] = weight
    error = np.mean((split.X_test @ coef + model.intercept > 0) != (split.y_test > 0))
    learnt = f"{len(dicts):,} rows once"
    return [
        "river l1",
        "1",
        f"({seconds:.1f})",
        f"({100 * error:.1f})",
        f"({np.count_nonzero(coef):,})",
        "",
        "",
        "",
        learnt,
    ]


def show_race(caption: str, split: Split, quick: bool) -> Table:
    """One data set."""
    choices, results, tried = race(split, quick)
    rows = []
    for name in choices:
        best, sparse = results[name, "best"], results[name, "sparse"]
        figures = [
            text
            for found in (best, sparse)
            for text in (f"{found.seconds:.3f}", f"{100 * found.error:.1f}", f"{found.kept:,}")
        ]
        rows.append([name, str(tried[name]), *figures, _words(choices[name].sparse)])
    if peers.has("river"):
        rows.append(river_row(split))
    head = [
        "contestant",
        "settings tried",
        "seconds",
        "error, %",
        "kept",
        "sparse: seconds",
        "sparse: error, %",
        "sparse: kept",
        "sparse setting",
    ]
    return Table(f"{caption}: {split.words()}", head, rows)


def _words(setting) -> str:
    """A setting as strength and pace."""
    return ", ".join(
        f"{part:g}" if isinstance(part, float) else part
        for part in setting
        if part not in ("", 0.0)
    )


def synthetic(quick: bool) -> Split:
    """The rcv1-like workload, its last quarter kept for the test."""
    work = make("rcv1-like", quick)
    cut = len(work.y) * 3 // 4
    return Split(work.X[:cut], work.y[:cut], work.X[cut:], work.y[cut:])


def run(quick: bool) -> Page:
    """All races."""
    opening = f"""
        Every contestant tries its own small grid (the column *settings tried*) on the same {FOLDS}
        folds of the training rows, and is then trained on all of them; test rows choose nothing.
        The first three figures are those of the setting with the least validation error, the
        *sparse* ones those of the setting that keeps fewest features within one standard error of
        it. Online contestants make {PASSES} passes, rows in one random order for all, logistic
        loss, rows of unit norm. Seconds: wall time of training alone, least of {ROUNDS} interleaved
        rounds; Vowpal Wabbit from its cache, with its reader on a second thread. liblinear and saga
        solve the batch problem (liblinear penalises the intercept too; saga stops after
        {SAGA_PASSES} passes). River learns the first {RIVER_ROWS:,} rows once at one fixed setting,
        and its seconds, in brackets, are extrapolated to {PASSES} passes over all rows."""
    missing = peers.absent(["vowpalwabbit", "river"])
    page = Page("races", "Races", f"{opening} {missing}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page.tables.append(
            show_race(f"rcv1-like ({describe('rcv1-like')})", synthetic(quick), quick)
        )
        if quick:
            return page
        for name in realsets.available():
            if "20 classes" not in name:
                page.tables.append(show_race(name, realsets.read(name), quick))
    if not realsets.available():
        page.opening += f"\n\n{realsets.ABSENT}"
    return page
