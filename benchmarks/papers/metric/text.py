"""Sparse text: sDist on Dexter and on a pair of newsgroups, rows of unit length, beside three
neighbours on all words.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from benchmarks.papers.stabilized.page import pipe
from tamis import SDistClassifier

PAIR = ("rec.autos", "rec.motorcycles")
TEXT = """\
Rows of unit length, `standardize=False`, all else by default; the official test or validation rows.
Seconds of one core, fit alone. The files hold no words, so kept words are counted;
`get_term_names(words)` names them."""


def _part(stored, part: str):
    """Rows and labels of one part of a file."""
    arrays = (stored[f"{name}_{part}"] for name in ("data", "indices", "indptr"))
    return normalize(
        sp.csr_matrix(tuple(arrays), shape=tuple(stored[f"shape_{part}"]), dtype=float)
    ), stored[f"y_{part}"]


def sets(folder: Path):
    """Names, training rows and labels, test rows and labels."""
    if (folder / "dexter.npz").exists():
        with np.load(folder / "dexter.npz") as stored:
            yield "dexter", *_part(stored, "train"), *_part(stored, "valid")
    if (folder / "20news_bydate_counts.npz").exists():
        with np.load(folder / "20news_bydate_counts.npz") as stored:
            wanted = [list(stored["categories"]).index(name) for name in PAIR]
            parts = [_part(stored, part) for part in ("train", "test")]
        kept = [(X[np.isin(y, wanted)], y[np.isin(y, wanted)]) for X, y in parts]
        yield " against ".join(PAIR), *kept[0], *kept[1]


def jobs(folder: Path | None) -> Iterator[tuple]:
    """One fit a set."""
    for name, X, y, X_test, y_test in sets(folder) if folder else ():
        yield (f"text/{name}",), judged, (X, y, X_test, y_test)


def judged(X, y, X_test, y_test) -> list[dict]:
    """Errors, words kept, and seconds of the fit."""
    begin = time.process_time()
    model = SDistClassifier(standardize=False, random_state=0).fit(X, y)
    seconds = time.process_time() - begin
    plain = KNeighborsClassifier(3).fit(X, y)
    error, knn = (float(np.mean(each.predict(X_test) != y_test)) for each in (model, plain))
    shown = {"rows": X.shape[0], "words": X.shape[1], "kept": len(model.support_)}
    return [{**shown, "error": error, "knn": knn, "seconds": seconds}]


def section(found: dict) -> list[str]:
    """The table, as lines."""
    rows = [
        [
            name[5:],
            f"{r['rows']:,}",
            f"{r['words']:,}",
            f"{r['kept']}",
            f"{r['error']:.3f}",
            f"{r['knn']:.3f}",
            f"{r['seconds']:.1f}",
        ]
        for name, r in found.items()
        if name.startswith("text/")
    ]
    head = ["set", "rows", "words", "kept", "sDist", "3-NN, all words", "seconds"]
    return ["## Text", "", TEXT, "", *pipe(head, rows)] if rows else []
