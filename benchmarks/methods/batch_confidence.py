"""Batch confidence-weighted learning: BCW against the product that it cannot avoid, SBCW against an
L1-regularised SVM of as many features.
"""

import json
import time
import warnings

import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

from benchmarks.clock import fresh, interleaved
from benchmarks.memory import MEBI, forget_peak, peak
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.workloads import describe, make
from tamis import BCWClassifier, SparseBCWClassifier

COLUMNS = 2_000
DENSE = ((8_000, 2.6), (50_000, 2.3))  # rows, and times of X.T @ X promised
FEATURES = 600
ROOM = 200 * MEBI
NAME = "selection"


def dense(rows: int, columns: int):
    """Gaussian rows of unit norm, labels of a planted model."""
    random = np.random.default_rng(rows)
    X = random.normal(size=(rows, columns))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, (X @ random.normal(size=columns) + 0.3 * random.normal(size=rows) > 0).astype(int)


def run_dense(rows: int, columns: int, rounds: int) -> dict:
    """Times of the product, of BCW and of ridge regression."""
    X, y = dense(rows, columns)
    contestants = {
        "X.T @ X": lambda: X.T @ X,
        "BCW": lambda: BCWClassifier(random_state=0).fit(X, y),
        "BCW, no intercept": lambda: BCWClassifier(fit_intercept=False, random_state=0).fit(X, y),
        "scikit-learn ridge": lambda: RidgeClassifier(solver="cholesky").fit(X, y),
    }
    size = f"{rows:,} x {columns:,}"
    return interleaved(contestants, rounds, warm=int(rounds > 1), clock=time.thread_time, what=size)


def l1_strength(X, y, features: int) -> float:
    """The C at which liblinear's L1-SVM keeps as many features, within 3 %."""
    low, high = 1e-2, 10.0
    for _ in range(20):
        middle = float(np.sqrt(low * high))
        kept = np.count_nonzero(LinearSVC(penalty="l1", dual=False, C=middle).fit(X, y).coef_)
        if abs(kept - features) <= 0.03 * features:
            break
        low, high = (middle, high) if kept < features else (low, middle)
    return middle


def run_sparse(quick: bool) -> tuple[dict, dict]:
    """Times of SBCW and of the L1-SVM, and what the models are worth on rows they did not see."""
    work = make(NAME, quick)
    cut = len(work.y) // 10 * 9
    X, y, X_test, y_test = work.X[:cut], work.y[:cut], work.X[cut:], work.y[cut:]
    features = FEATURES // 10 if quick else FEATURES
    l1 = l1_strength(X, y, features)
    models = {
        "tamis SBCW": SparseBCWClassifier(n_features_to_select=features, random_state=0),
        "tamis SBCW, C=10": SparseBCWClassifier(
            n_features_to_select=features, C=10.0, random_state=0
        ),
        "tamis FGM": SparseBCWClassifier(
            n_features_to_select=features, covariance="identity", random_state=0
        ),
        f"liblinear L1-SVM, C={l1:.3g}": LinearSVC(penalty="l1", dual=False, C=l1),
    }
    for model in models.values():
        model.fit(X[:500], y[:500])  # loads the loops
    times = interleaved(
        {name: lambda m=model: m.fit(X, y) for name, model in models.items()},
        1 if quick else 2,
        warm=0,
        clock=time.thread_time,
    )
    shown = {
        name: (int(np.count_nonzero(model.coef_)), float(model.score(X_test, y_test)))
        for name, model in models.items()
    }
    return times, shown


def child(quick: bool) -> None:
    """In a fresh process: make the rows, load all code by a tiny fit, then measure one `fit`."""
    warnings.simplefilter("ignore")
    work = make(NAME, quick)
    SparseBCWClassifier(n_features_to_select=15).fit(work.X[:200], work.y[:200])
    forget_peak()
    before = peak()
    SparseBCWClassifier(
        n_features_to_select=FEATURES // 10 if quick else FEATURES, random_state=0
    ).fit(work.X, work.y)
    print(
        json.dumps(
            {
                "grown": peak() - before,
                "X": work.X.data.nbytes + work.X.indices.nbytes + work.X.indptr.nbytes,
            }
        )
    )


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        BCW must make X.T @ X (BLAS, as one thread here as anywhere on this page), factor it and
        whiten the rows: its time is given in units of that product. SBCW selects 600 of a million
        columns, and is held against liblinear's L1-regularised SVM at the C that keeps as many.
        Seconds of one core, contestants in turn, the least of the rounds; fits with the checks of
        the border."""
    page = Page("bcw", "Batch confidence-weighted learning", opening)
    rows_of_table = []
    for rows, promised in DENSE:
        count, columns = (rows // 10, COLUMNS // 10) if quick else (rows, COLUMNS)
        times = run_dense(count, columns, 1 if rows > 20_000 else 3)
        base = times["X.T @ X"].least
        rows_of_table += [
            [f"{count:,} x {columns:,}", name, f"{t.least:.3f}", f"{t.least / base:.2f}"]
            for name, t in times.items()
        ]
        ratio = times["BCW"].least / base
        goal = (
            f"BCW, {rows:,} x {COLUMNS:,} in float64, takes at most {promised} times as long "
            "as "
            "X.T @ X"
        )
        page.goals.append(Goal(goal, f"{ratio:.2f}", verdict(ratio <= promised)))
    page.tables.append(
        Table("BCW, dense", ["rows x columns", "what", "seconds", "times X.T @ X"], rows_of_table)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times, shown = run_sparse(quick)
    *mine, svm = times
    table = [
        [
            name,
            f"{t.least:.2f}",
            f"{t.least / times[svm].least:.2f}",
            f"{shown[name][0]:,}",
            f"{shown[name][1]:.4f}",
        ]
        for name, t in times.items()
    ]
    note = (
        "Nine tenths of the rows are learnt, the accuracy is that of the others. C is 1 where "
        "none is named; nothing is tuned."
    )
    page.tables.append(
        Table(
            f"SBCW, {describe(NAME)}",
            ["fit", "seconds", "times L1-SVM", "features", "accuracy"],
            table,
            note,
        )
    )
    ratios = [times[name].least / times[svm].least for name in mine[:2]]
    figure = f"{ratios[0]:.2f} times, with C=10 {ratios[1]:.2f} times"
    page.goals.append(
        Goal(
            "SBCW takes at most as long as an L1-SVM of as many features",
            figure,
            verdict(max(ratios) <= 1.0),
        )
    )
    found = json.loads(
        fresh(
            f"from benchmarks.methods.batch_confidence import child; child({quick})",
            environment={"MALLOC_MMAP_THRESHOLD_": "65536"},
        ).text
    )
    figure = f"{found['grown'] / MEBI:.0f} MiB beside X, which has {found['X'] / MEBI:.0f} MiB"
    page.goals.append(
        Goal(
            "SBCW never makes X dense: memory below X and 200 MiB",
            figure,
            verdict(found["grown"] <= ROOM),
        )
    )
    return page
