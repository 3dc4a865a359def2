"""The data sets: npz files of CSR parts in one folder, and a synthetic set with planted rare
features.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

SYNTHETIC = "synthetic"
LARGE = 300_000  # nonzeros above which the slowest references are left out
RARE = 0.02  # planted features below this density count as rare


class Split(NamedTuple):
    """Training and test rows; `planted` names the real features where they are known."""

    X: sp.csr_array
    y: np.ndarray
    X_test: sp.csr_array
    y_test: np.ndarray
    planted: np.ndarray | None = None

    def words(self) -> str:
        """Sizes, for a table."""
        return (
            f"{self.X.shape[0]:,} + {self.X_test.shape[0]:,} x {self.X.shape[1]:,}, "
            f"{self.X.nnz / self.X.shape[0]:.0f} nonzeros a row"
        )


class Source(NamedTuple):
    """File of a set, its test part, the classes of a pair, and whether rows get unit norm (texts)
    or one common scale.
    """

    file: str
    test: str = ""
    pair: tuple[str, ...] = ()
    text: bool = True
    parity: bool = False


NEWS = "20news_bydate_counts"
SETS = {
    "dexter": Source("dexter", "_valid"),
    "rcv1_vw_small": Source("rcv1_vw_small", "_test"),
    "reuters_acq": Source("reuters_acq", "_test"),
    "basehock": Source("basehock"),
    "pcmac": Source("pcmac"),
    "a9a": Source("a9a", "_test", text=False),
    "graphics/space": Source(NEWS, "_test", ("comp.graphics", "sci.space")),
    "atheism/religion": Source(NEWS, "_test", ("alt.atheism", "talk.religion.misc")),
    "ibm/mac": Source(NEWS, "_test", ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware")),
    "news20 even/odd": Source("news20_multiclass", parity=True),
    "dorothea": Source("dorothea", "_valid", text=False),
    "gisette": Source("gisette", "_valid", text=False),
    "arcene": Source("arcene", "_valid", text=False),
    "rcv1": Source("rcv1", "_test"),
}


def available(folder: Path | None) -> list[str]:
    """The sets whose files are there, and the synthetic one."""
    there = (
        [name for name, source in SETS.items() if (folder / f"{source.file}.npz").exists()]
        if folder
        else []
    )
    return [*there, SYNTHETIC]


def read(name: str, folder: Path | None, seed: int = 0) -> Split:
    """One set, split and scaled."""
    return make_synthetic(seed) if name == SYNTHETIC else read_source(SETS[name], folder)


def read_source(source: Source, folder: Path) -> Split:
    """The rows of a source, split and scaled."""
    with np.load(folder / f"{source.file}.npz") as stored:
        X, y = _part(stored, "_train" if source.test else "", source)
        if source.test:
            X_test, y_test = _part(stored, source.test, source)
        else:
            X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    X, X_test = (normalize(X), normalize(X_test)) if source.text else (X, X_test)
    # Mean squared norm 1: fixed grids suit all sets.
    scale = 1.0 / np.sqrt(X.power(2).sum() / X.shape[0])
    return Split(_narrow(X * scale), y, _narrow(X_test * scale), y_test)


def _part(stored, mark: str, source: Source):
    """Rows and labels 0 and 1 of one part of a file."""
    y = stored["y" + mark]
    if "X" + mark in stored:
        X = sp.csr_array(stored["X" + mark].astype(np.float64))
    else:
        X = sp.csr_array(
            tuple(stored[key + mark] for key in ("data", "indices", "indptr")),
            shape=tuple(stored["shape" + mark]),
        )
        X.sum_duplicates()
        X.eliminate_zeros()
    if source.pair:
        names = list(stored["categories"])
        wanted = [names.index(label) for label in source.pair]
        rows = np.isin(y, wanted)
        return X[rows].astype(np.float64), (y[rows] == wanted[1]).astype(np.int64)
    labels = y % 2 == 0 if source.parity else y > 0
    return X.astype(np.float64), labels.astype(np.int64)


def _narrow(X) -> sp.csr_array:
    """Sorted, with the 32-bit indices that liblinear insists on."""
    X = sp.csr_array(X)
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def make_synthetic(
    seed: int = 0, rows: int = 3000, width: int = 3000, planted: int = 40, noise: float = 0.05
) -> Split:
    """Columns of densities 1 to 10 %, unit variance; the label hangs on 40 of them, spread over all
    densities, equally strong.
    """
    random = np.random.default_rng(seed)
    density = np.geomspace(0.01, 0.1, width)
    density *= 89.0 / density.sum()
    real = np.linspace(5, width - 6, planted).astype(int)
    signs = np.where(np.arange(planted) % 2, 1.0, -1.0)
    drawn = random.random((2 * rows, width)) < density
    at = drawn.nonzero()
    X = sp.csr_array(
        (1.0 / np.sqrt(density[at[1]] * (1.0 - density[at[1]])), at), shape=drawn.shape
    )
    score = (X[:, real] - np.sqrt(density[real] / (1.0 - density[real]))) @ signs
    y = (score > np.median(score)).astype(np.int64)
    turned = random.random(2 * rows) < noise
    y = np.where(turned, 1 - y, y)
    X = X / np.sqrt(X.power(2).sum() / X.shape[0])
    return Split(_narrow(X[:rows]), y[:rows], _narrow(X[rows:]), y[rows:], real)


def rare_planted(split: Split) -> np.ndarray:
    """Which planted features are rare."""
    counts = np.diff(sp.csc_array(split.X[:, split.planted]).indptr)
    return counts / split.X.shape[0] < RARE
