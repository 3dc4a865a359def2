"""The data sets: dense ones for table 2, wide ones for figure 1; the paper's own where a user has
their LIBSVM files.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_svmlight_file,
    load_svmlight_files,
)
from sklearn.model_selection import train_test_split

from benchmarks.papers.stabilized import sets as online_sets
from tamis.datasets import make_text

EPSILON_ROWS = 50_000  # that the paper's second column drew from epsilon
URL_DAYS = 121


class Split(NamedTuple):
    """Training and test rows with labels 0 and 1."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    X_test: np.ndarray | sp.csr_array
    y_test: np.ndarray

    def words(self) -> str:
        """Sizes, for a caption."""
        return f"{self.X.shape[0]:,} + {self.X_test.shape[0]:,} rows, {self.X.shape[1]:,} columns"


# --------------------------------------------------------------------------- table 2
def _breast_cancer(folder):
    return _halved(*load_breast_cancer(return_X_y=True), standard=True)


def _digits(folder):
    X, y = load_digits(return_X_y=True)
    return _halved(X / 16.0, y % 2 == 0)


def _usps(folder):
    with np.load(folder / "usps.npz") as z:
        parts = [z[name] for name in ("X_train", "y_train", "X_test", "y_test")]
    return _ready(parts[0], parts[1] % 2 == 0, parts[2], parts[3] % 2 == 0)


def _covtype_20k(folder):
    with np.load(folder / "covtype_20k.npz") as z:
        return _halved(z["X"], z["y"] == 2, standard=True)


def _covtype(folder):
    """All of covtype, 450,000 rows to learn from, as in the paper."""
    X, y = load_svmlight_file(
        str(_first(folder, "covtype.libsvm.binary.scale*", "covtype.libsvm.binary*"))
    )
    return _halved(X.toarray(), y == y.max(), standard=True, size=450_000)


def _epsilon(folder):
    """epsilon, 50,000 rows drawn from its training part, as in the paper."""
    X, y = load_svmlight_file(str(_first(folder, "epsilon_normalized", "epsilon_normalized.bz2")))
    X_test, y_test = load_svmlight_file(
        str(_first(folder, "epsilon_normalized.t*")), n_features=X.shape[1]
    )
    rows = np.random.default_rng(0).choice(X.shape[0], EPSILON_ROWS, replace=False)
    return _ready(X[rows].toarray(), y[rows] > 0, X_test.toarray(), y_test > 0)


def epsilon_like(folder, columns=200, rows=20_000, flipped=0.08):
    """Correlated Gaussian columns, rows of unit norm, one label in twelve turned."""
    rng = np.random.default_rng(columns)
    mixing = rng.normal(size=(columns, columns)) / np.sqrt(columns) + np.eye(columns)
    X = rng.normal(size=(rows + 10_000, columns)) @ mixing
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X @ rng.normal(size=columns) > 0
    y = np.where(rng.random(len(y)) < flipped, ~y, y)
    return _ready(X[:rows], y[:rows], X[rows:], y[rows:])


DENSE = {
    "breast cancer": (None, _breast_cancer),
    "digits": (None, _digits),
    "usps": ("usps.npz", _usps),
    "covtype 20k": ("covtype_20k.npz", _covtype_20k),
    "epsilon-like": (None, epsilon_like),
    "covtype": ("covtype.libsvm.binary*", _covtype),
    "epsilon": ("epsilon_normalized*", _epsilon),
}


def _halved(X, y, standard=False, size=0.5):
    X, X_test, y, y_test = train_test_split(
        np.asarray(X, dtype=float), y, train_size=size, random_state=0, stratify=y
    )
    return _ready(X, y, X_test, y_test, standard)


def _ready(X, y, X_test, y_test, standard=False) -> Split:
    """Standard columns where they have units, a constant column for all methods alike, and mean
    squared norm 1.
    """
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    if standard:
        mean, spread = X.mean(axis=0), X.std(axis=0)
        X, X_test = ((part - mean) / np.where(spread > 0, spread, 1.0) for part in (X, X_test))
    unit = np.sqrt((X**2).sum(axis=1).mean())
    X, X_test = (np.column_stack([part / unit, np.full(len(part), 0.5)]) for part in (X, X_test))
    return Split(X, np.asarray(y).astype(int), X_test, np.asarray(y_test).astype(int))


# --------------------------------------------------------------------------- figure 1
def _online(name):
    def read(folder):
        split = online_sets.read(name, folder)
        return Split(split.X, split.y, split.X_test, split.y_test)

    return read


def _text(folder):
    """200,000 columns, 67 nonzeros a row, 200 planted words."""
    X, y, _ = make_text(
        n_samples=20_000, n_features=200_000, n_informative=200, words=70, random_state=0
    )
    return Split(X[:10_000], y[:10_000], X[10_000:], y[10_000:])


def _pair(train: str, test: str):
    def read(folder):
        X, y = load_svmlight_file(str(_first(folder, train)))
        X_test, y_test = load_svmlight_file(str(_first(folder, test)), n_features=X.shape[1])
        return _sparse(X, y, X_test, y_test)

    return read


def _real_sim(folder):
    X, y = load_svmlight_file(str(_first(folder, "real-sim*")))
    X, X_test, y, y_test = train_test_split(X, y, train_size=32_309, random_state=0)
    return _sparse(X, y, X_test, y_test)


def _url(train_days, test_days):
    """The URL data, days as files of svmlight format: ``url_svmlight/Day0.svm`` and so on."""

    def read(folder):
        days = [folder / "url_svmlight" / f"Day{day}.svm" for day in (*train_days, *test_days)]
        parts = load_svmlight_files([str(day) for day in days])
        X, y = parts[::2], parts[1::2]
        cut = len(train_days)
        return _sparse(
            sp.vstack(X[:cut]), np.concatenate(y[:cut]), sp.vstack(X[cut:]), np.concatenate(y[cut:])
        )

    return read


def _sparse(X, y, X_test, y_test) -> Split:
    return Split(
        sp.csr_array(X), (y > 0).astype(int), sp.csr_array(X_test), (y_test > 0).astype(int)
    )


WIDE = {
    "news20 even/odd": ("news20_multiclass.npz", _online("news20 even/odd")),
    "reuters acq": ("reuters_acq.npz", _online("reuters_acq")),
    "rcv1 sample": ("rcv1_vw_small.npz", _online("rcv1_vw_small")),
    "dexter": ("dexter.npz", _online("dexter")),
    "synthetic text": (None, _text),
    "real-sim": ("real-sim*", _real_sim),
    "rcv1": ("rcv1_test.binary*", _pair("rcv1_test.binary*", "rcv1_train.binary*")),
    "url, day 0 to day 1": ("url_svmlight/Day1.svm", _url([0], [1])),
    "url, even to odd days": (
        f"url_svmlight/Day{URL_DAYS - 1}.svm",
        _url(range(0, URL_DAYS, 2), range(1, URL_DAYS, 2)),
    ),
}


def _first(folder: Path, *patterns: str) -> Path:
    return next(path for pattern in patterns for path in sorted(folder.glob(pattern)))


def available(kind: dict, folder: Path | None) -> list[str]:
    """Names of the sets whose files are there."""
    return [
        name
        for name, (file, _) in kind.items()
        if file is None or (folder is not None and any(folder.glob(file)))
    ]
