"""Sets with few labels and many rows without one: toys, words, digits and tables."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.papers.kernels.triclass_sets import draw as draw_slides

UNLABELLED, TEST = 500, 600
MOST = 20_000  # rows of a set that are looked at


class Few(NamedTuple):
    """Rows with labels (0 and 1) and without (-1), rows to judge by, and the kernel."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    X_test: np.ndarray | sp.csr_array
    y_test: np.ndarray
    kernel: str


class Source(NamedTuple):
    """A file, its parts, its two classes (None: all rows are of two), the share of unlabelled rows
    that are of them, what is done to the columns, and the kernel.
    """

    file: str
    parts: tuple[str, ...] = ("",)
    pair: tuple[int, int] | None = None
    tau: float = 1.0
    scale: str = "deviation"
    kernel: str = "linear"


BOTH = ("_train", "_test")
NEWS, WORDS = ("20news_bydate_counts", BOTH), {"scale": "words"}
TOYS = {f"toy, tau = {tau}": tau for tau in (0.1, 0.5, 0.9)}
SETS = {
    "news: baseball, hockey, tau = 0.1": Source(*NEWS, (9, 10), 0.1, **WORDS),
    "news: baseball, hockey, tau = 0.5": Source(*NEWS, (9, 10), 0.5, **WORDS),
    "news: graphics, windows, tau = 0.5": Source(*NEWS, (1, 2), 0.5, **WORDS),
    "news: atheism, religion, tau = 0.5": Source(*NEWS, (0, 19), 0.5, **WORDS),
    "pcmac": Source("pcmac", **WORDS),
    "basehock": Source("basehock", **WORDS),
    "reuters_acq": Source("reuters_acq", BOTH, **WORDS),
    "dexter": Source("dexter", ("_train", "_valid"), **WORDS),
    "rcv1_vw_small": Source("rcv1_vw_small", BOTH, scale=""),
    "usps: 5, 8, tau = 0.1": Source("usps", BOTH, (5, 8), 0.1, "", "rbf"),
    "usps: 5, 8, tau = 0.5": Source("usps", BOTH, (5, 8), 0.5, "", "rbf"),
    "usps: 5, 8, tau = 0.5, linear": Source("usps", BOTH, (5, 8), 0.5, ""),
    "mnist: 4, 9, tau = 0.5": Source("mnist", BOTH, (4, 9), 0.5, "bytes", "rbf"),
    "mnist: 5, 8, tau = 0.5": Source("mnist", BOTH, (5, 8), 0.5, "bytes", "rbf"),
    "a9a": Source("a9a", ("_train",), scale=""),
    "breast": Source("breast_cancer_wisconsin"),
    "heart": Source("heart"),
    "ionosphere": Source("ionosphere"),
    "liver": Source("liver_bupa"),
    "madelon": Source("madelon", ("_train", "_valid")),
    "pima": Source("pima"),
    "wdbc": Source("wdbc"),
}


def available(folder: Path | None) -> list[str]:
    """Names of the sets at hand."""
    there = [
        name for name, s in SETS.items() if folder and (Path(folder) / f"{s.file}.npz").exists()
    ]
    return [*TOYS, *there]


def draw(name: str, size: int, run: int, folder: Path | None) -> Few:
    """Rows of one run, with so many labels a class."""
    if name in TOYS:
        rows = draw_slides("toy, first irrelevant", 2 * size, TOYS[name], run, None)
        y = np.where(np.isnan(rows.y), -1, rows.y > 0).astype(int)
        return Few(rows.X, y, rows.X_test, (rows.y_test > 0).astype(int), "linear")
    source = SETS[name]
    X, kind = _rows(source, folder)
    random = np.random.default_rng([run, size])
    own = [random.permutation(np.flatnonzero(kind == side)) for side in (0, 1)]
    others = random.permutation(np.flatnonzero(kind < 0))
    known, rest = (
        np.concatenate([rows[:size] for rows in own]),
        random.permutation(np.concatenate([rows[size:] for rows in own])),
    )
    count = min(TEST, len(rest) // 2)
    inside = rest[count : count + round(source.tau * UNLABELLED)]
    open_ = np.concatenate([inside, others[: UNLABELLED - len(inside)]])
    taken = np.concatenate([known, open_])
    y = np.concatenate([kind[known], np.full(len(open_), -1)])
    return Few(X[taken], y, X[rest[:count]], kind[rest[:count]], source.kernel)


@cache
def _rows(source: Source, folder: Path):
    """All rows, and their sides: 0, 1, and -1 for rows of neither class."""
    with np.load(Path(folder) / f"{source.file}.npz") as stored:
        y = np.concatenate([stored[f"y{part}"] for part in source.parts])[:MOST]
        blocks = [_block(stored, part) for part in source.parts]
    X = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
    X = _SCALES[source.scale](X[:MOST].astype(np.float64))
    low, high = source.pair or np.unique(y)[[0, -1]]
    return X, np.where(y == high, 1, np.where(y == low, 0, -1))


def _block(stored, part: str):
    if f"indptr{part}" not in stored:
        return stored[f"X{part}"]
    arrays = tuple(stored[f"{name}{part}"] for name in ("data", "indices", "indptr"))
    return sp.csr_array(arrays, shape=tuple(stored[f"shape{part}"]))


def _by_deviation(X: np.ndarray) -> np.ndarray:
    """Columns in units of their deviation, without constant ones."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]


_SCALES: dict[str, Callable] = {
    "": lambda X: X,
    "bytes": lambda X: X / 127.5 - 1.0,
    "deviation": _by_deviation,
    "words": lambda X: TfidfTransformer(sublinear_tf=True).fit_transform(X),
}
