"""The sieve at the sizes that others chose, on rare classes and on dense data: which has the lower
error there.
"""

from pathlib import Path

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.papers.stabilized.methods import methods
from benchmarks.papers.stabilized.sets import NEWS, Split, _narrow
from benchmarks.papers.stabilized.verdict import beyond
from tamis import SieveClassifier, compare

MOST, RUNS = 4000, 5
# Name: file, classes of +1, classes of -1 (none: all others).
TASKS: dict[str, tuple[str, tuple, tuple]] = {
    "sci.space / rest": (NEWS, ("sci.space",), ()),
    "ibm hardware / rest": (NEWS, ("comp.sys.ibm.pc.hardware",), ()),
    "baseball / rest": (NEWS, ("rec.sport.baseball",), ()),
    "news20 class 5 / rest": ("news20_multiclass", (5,), ()),
    "tmc label 0": ("tmc2007_500", (0,), ()),
    "usps 3 / rest": ("usps", (3,), ()),
    "usps 8 / rest": ("usps", (8,), ()),
    "mnist 5 / rest": ("mnist", (5,), ()),
    "covtype 1 / rest": ("covtype_20k", (1,), ()),
    "secom": ("secom_392rows", (1,), ()),
    "usps 3 / 8": ("usps", (3,), (8,)),
    "usps 4 / 9": ("usps", (4,), (9,)),
    "mnist 4 / 9": ("mnist", (4,), (9,)),
    "mnist 3 / 5": ("mnist", (3,), (5,)),
    "madelon": ("madelon", (1,), ()),
}


def _rows(stored, mark: str):
    """A part of a file as given."""
    if "X" + mark in stored:
        return np.nan_to_num(stored["X" + mark].astype(np.float64)), stored["y" + mark]
    X = sp.csr_array(
        tuple(stored[key + mark] for key in ("data", "indices", "indptr")),
        shape=tuple(stored["shape" + mark]),
    )
    X.sum_duplicates()
    return X.astype(np.float64), stored["y" + mark]


def read(name: str, folder: Path) -> Split:
    """One task: at most 4000 training rows; text with rows of unit norm, tables in standard units,
    images in one common unit.
    """
    file, ours, theirs = TASKS[name]
    with np.load(folder / f"{file}.npz", allow_pickle=False) as stored:
        mark = next((mark for mark in ("_test", "_valid") if "y" + mark in stored), "")
        X, y = _rows(stored, "_train" if mark else "")
        names = list(stored["categories"]) if "categories" in stored else None
        rest = _rows(stored, mark) if mark else None
    labels = (
        (lambda y: y[:, ours[0]] > 0)
        if y.ndim == 2
        else lambda y: np.isin(y, [names.index(k) for k in ours] if names else ours)
    )
    if theirs:
        pair = [*ours, *theirs]
        X, y = X[np.isin(y, pair)], y[np.isin(y, pair)]
        rest = (rest[0][np.isin(rest[1], pair)], rest[1][np.isin(rest[1], pair)]) if rest else None
    X_test, y_test = rest if rest else (None, None)
    y, y_test = labels(y).astype(int), labels(y_test).astype(int) if rest else None
    if X_test is None:
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    if X.shape[0] > MOST:
        X, _, y, _ = train_test_split(X, y, train_size=MOST, random_state=0, stratify=y)
    if sp.issparse(X):
        X, X_test = normalize(X), normalize(X_test)
    elif file in ("covtype_20k", "madelon", "secom_392rows"):
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    X, X_test = sp.csr_array(X), sp.csr_array(X_test)
    scale = 1.0 / np.sqrt(X.power(2).sum() / X.shape[0])
    return Split(_narrow(X * scale), y, _narrow(X_test * scale), y_test)


def match(folder: Path | None, quick: bool, jobs: int, only=()) -> list[dict]:
    """For each task the picks of tuned FTRL and stabilized SGD, and the sieve at their sizes."""
    if folder is None:
        return []
    found = []
    for name in [
        name
        for name in TASKS
        if (folder / f"{TASKS[name][0]}.npz").exists() and (not only or name in only)
    ][:: 7 if quick else 1]:
        split = read(name, folder)
        rivals = {
            kind: method
            for kind, method in methods("logistic").items()
            if kind in ("FTRL", "stabilized SGD")
        }
        given = {
            "X_test": split.X_test,
            "y_test": split.y_test,
            "random_state": 0,
            "n_jobs": jobs,
            "runs": 3 if quick else RUNS,
        }
        with joblib.parallel_config(backend="threading"):
            models = {"sieve": SieveClassifier()} | {
                kind: method.model for kind, method in rivals.items()
            }
            picks = compare(
                models,
                split.X,
                split.y,
                tune={kind: method.grid for kind, method in rivals.items()},
                **given,
            )
            sizes = {max(1, round(row["kept"] * split.X.shape[1])) for row in picks.rows[1:]}
            at = compare(
                {str(size): SieveClassifier(n_features_to_select=size) for size in sizes},
                split.X,
                split.y,
                **given,
            )
        fits = {int(row["model"]): row for row in at.rows}
        cells = []
        for row in picks.rows[1:]:
            mine = fits[max(1, round(row["kept"] * split.X.shape[1]))]
            cells.append({"rival": row, "sieve": mine, "sign": beyond(mine, row, given["runs"])})
        found.append(
            {
                "task": name,
                "words": split.words(),
                "positive": float(split.y.mean()),
                "own": picks.rows[0],
                "cells": cells,
            }
        )
        print(
            "; ".join(
                [" ".join(own_row(found[-1])), *(" ".join(row[1:]) for row in rows_of(found[-1]))]
            ),
            flush=True,
        )
    return found


WORDS = {-1: "lower", 0: "equal", 1: "higher"}


def rows_of(entry: dict) -> list[list[str]]:
    """The rows of a table: a rival's pick, and the sieve at its size."""
    return [
        [
            f"{entry['task']} ({entry['positive']:.2f})",
            f"{cell['rival']['model']}, {cell['rival']['pick']}",
            f"{100 * cell['rival']['kept']:.3g}",
            f"{100 * cell['rival']['error']:.2f} ±{100 * cell['rival']['error_sd']:.2f}",
            f"{cell['rival']['kappa']:.2f}",
            f"{100 * cell['sieve']['error']:.2f} ±{100 * cell['sieve']['error_sd']:.2f}",
            f"{cell['sieve']['kappa']:.2f}",
            WORDS[cell["sign"]],
        ]
        for cell in entry["cells"]
    ]


def own_row(entry: dict) -> list[str]:
    """The row of the sieve at the size that it chose."""
    own = entry["own"]
    error = f"{100 * own['error']:.2f} ±{100 * own['error_sd']:.2f}"
    return [
        f"{entry['task']} ({entry['positive']:.2f})",
        entry["words"],
        error,
        f"{100 * own['kept']:.3g}",
        f"{own['kappa']:.2f}",
    ]
