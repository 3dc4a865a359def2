"""The simulated designs and the real sets, as training and test rows."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

ANGLES = np.pi * np.array([0.0, 0.5, 0.25, 0.75, 0.125])
TEST = 1000


class Split(NamedTuple):
    """Training and test rows; `informative` are the columns that matter, where that is known."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    informative: np.ndarray | None = None


# --------------------------------------------------------------------------- simulations
def latent(shape: str, y: np.ndarray, rng) -> np.ndarray:
    """Two coordinates of XOR (Bayes error 0.144) or of double rings (0.142)."""
    if shape == "xor":
        s = rng.choice([-1.0, 1.0], len(y))
        return np.c_[s, s * (2 * y - 1)] + 0.705 * rng.normal(size=(len(y), 2))
    angle, radius = rng.uniform(0, 2 * np.pi, len(y)), np.where(y == 1, 1.0, 2.0)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)] + 0.455 * rng.normal(
        size=(len(y), 2)
    )


def simulate(
    design: str, shape: str, rows: int, columns: int, seed: int, test: int = TEST
) -> Split:
    """fixed2: the two coordinates, of unit variance, and noise; fixed5: five directions of them,
    1.5 times as large, and noise.
    """
    rng = np.random.default_rng((seed, rows, columns))
    y = rng.integers(0, 2, rows + test)
    t = latent(shape, y, rng)
    inside = (
        t / t.std(axis=0)
        if design == "fixed2"
        else 1.5 * t @ np.array([np.cos(ANGLES), np.sin(ANGLES)])
    )
    X = rng.normal(size=(rows + test, columns))
    X[:, : inside.shape[1]] = inside
    return Split(X[:rows], y[:rows], X[rows:], y[rows:], np.arange(inside.shape[1]))


# --------------------------------------------------------------------------- real sets
def _cut(X, y, seed: int, informative=None) -> Split:
    """70 % of each class to learn from."""
    rng = np.random.default_rng(seed)
    learn = np.concatenate(
        [
            rng.permutation(np.flatnonzero(y == c))[: round(0.7 * np.sum(y == c))]
            for c in np.unique(y)
        ]
    )
    test = np.setdiff1d(np.arange(len(y)), learn)
    return Split(X[learn], y[learn], X[test], y[test], informative)


def ionosphere(folder: Path, seed: int) -> Split:
    """351 rows, 33 columns that vary."""
    return _cut(*radar(folder), seed)


def radar(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """All rows of Ionosphere and their classes."""
    with np.load(folder / "ionosphere.npz") as z:
        X, y = z["X"].astype(float), (z["y"] > 0).astype(int)
    return X[:, X.std(axis=0) > 0], y


def secom(folder: Path, seed: int) -> Split:
    """A quarter of SECOM; missing values are medians of the training rows."""
    with np.load(folder / "secom_392rows.npz") as z:
        X, y = z["X"].astype(float), (z["y"] > 0).astype(int)
    split = _cut(X, y, seed)
    known = (~np.isnan(split.X)).mean(axis=0) > 0.5
    middle = np.nanmedian(split.X[:, known], axis=0)
    parts = [
        np.where(np.isnan(part[:, known]), middle, part[:, known])
        for part in (split.X, split.X_test)
    ]
    varied = parts[0].std(axis=0) > 0
    return split._replace(X=parts[0][:, varied], X_test=parts[1][:, varied])


INFORMATIVE = [
    28,
    48,
    64,
    105,
    128,
    153,
    241,
    281,
    318,
    336,
    338,
    378,
    433,
    442,
    451,
    453,
    455,
    472,
    475,
    493,
]


def madelon(folder: Path, seed: int) -> Split:
    """Training and validation rows together, 2600 x 500."""
    with np.load(folder / "madelon.npz") as z:
        X, y = (
            np.vstack([z["X_train"], z["X_valid"]]).astype(float),
            np.concatenate([z["y_train"], z["y_valid"]]),
        )
    return _cut(X, (y > 0).astype(int), seed, np.array(INFORMATIVE))


REAL = {
    "ionosphere": ("ionosphere.npz", ionosphere),
    "secom": ("secom_392rows.npz", secom),
    "madelon": ("madelon.npz", madelon),
}
