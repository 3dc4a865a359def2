"""The sets of the GMKL slides: two toys, eight of UCI, three of proteins, as halves of rows."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file


class Half(NamedTuple):
    """Training and test rows; `kernels` holds matrices where rows are numbers of their rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    kernels: str | list = "auto"


# --------------------------------------------------------------------------- toys
def _curves(X: np.ndarray, first: int, last: int) -> np.ndarray:
    """Sum of the four functions of the slides over their triples of columns; each has mean 0 on [0,
    1].
    """
    curves = (
        lambda a: -2 * np.sin(2 * a) + 1 - np.cos(2),
        lambda a: a**2 - 1 / 3,
        lambda a: a - 1 / 2,
        lambda a: np.exp(-a) + np.exp(-1) - 1,
    )
    return sum(
        curve(X[:, 3 * k : 3 * k + 3]).sum(axis=1)
        for k, curve in enumerate(curves[first:last], start=first)
    )


def toy(kind: int, run: int) -> Half:
    """Toy 1 (three columns matter) or toy 2 (twelve), 150 + 150 rows of 20 uniform columns, noise
    of deviation 1.
    """
    rng = np.random.default_rng(1000 * kind + run)
    X = rng.uniform(size=(300, 20))
    y = np.where(_curves(X, 0, 1 if kind == 1 else 4) + rng.normal(size=300) > 0, 1, -1)
    return Half(X[:150], y[:150], X[150:], y[150:])


# --------------------------------------------------------------------------- files
def _npz(name: str, drop_constant: bool = False) -> Callable:
    def read(folder: Path):
        with np.load(folder / f"{name}.npz") as z:
            X, y = z["X"].astype(np.float64), z["y"]
        return (X[:, np.nanstd(X, axis=0) > 0] if drop_constant else X), y

    return read


def _sonar(folder: Path):
    """UCI's ``sonar.all-data`` (60 numbers and R or M, by commas), or LIBSVM's ``sonar_scale``."""
    table = folder / "sonar.all-data"
    if table.exists():
        cells = [line.split(",") for line in table.read_text().split()]
        return np.array([row[:60] for row in cells], dtype=np.float64), np.where(
            [row[60] == "M" for row in cells], 1, -1
        )
    X, y = load_svmlight_file(str(folder / "sonar_scale"))
    return X.toarray(), np.where(y > 0, 1, -1)


def _protein(name: str) -> Callable:
    """A file of kernels, ``NAME_kernels.npz`` with `kernels` (69, n, n) and `y`: rows are numbers
    of rows then.
    """

    def read(folder: Path):
        with np.load(folder / f"{name}_kernels.npz") as z:
            return list(z["kernels"].astype(np.float64)), z["y"]

    return read


SETS: dict[str, tuple[str, Callable]] = {
    "breast": ("breast_cancer_wisconsin.npz", _npz("breast_cancer_wisconsin")),
    "heart": ("heart.npz", _npz("heart")),
    "ionosphere": ("ionosphere.npz", _npz("ionosphere", drop_constant=True)),
    "liver": ("liver_bupa.npz", _npz("liver_bupa")),
    "pima": ("pima.npz", _npz("pima")),
    "sonar": ("sonar*", _sonar),
    "wdbc": ("wdbc.npz", _npz("wdbc")),
    "wpbc": ("wpbc.npz", _npz("wpbc")),
    "plant": ("plant_kernels.npz", _protein("plant")),
    "psort+": ("psort+_kernels.npz", _protein("psort+")),
    "psort-": ("psort-_kernels.npz", _protein("psort-")),
}


def available(folder: Path | None) -> list[str]:
    """Sets that need no file, and those whose files are there."""
    return [
        "toy 1",
        "toy 2",
        *(
            name
            for name, (file, _) in SETS.items()
            if folder is not None and any(folder.glob(file))
        ),
    ]


def half(name: str, run: int, folder: Path | None) -> Half:
    """One random half of a set to learn from, the other to judge by; missing numbers become the
    medians of the training rows.
    """
    if name.startswith("toy"):
        return toy(int(name[-1]), run)
    assert folder is not None
    X, y = SETS[name][1](folder)
    order = np.random.default_rng(run).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    if isinstance(X, list):
        return Half(train[:, None], y[train], test[:, None], y[test], X)
    filled = np.where(np.isnan(X), np.nanmedian(X[train], axis=0), X)
    return Half(filled[train], y[train], filled[test], y[test])


# Accuracy, kernels and seconds of the slides.
SLIDES = {
    ("toy 1", "GMKL"): "70.4 ± 3.3 / 36.8 ± 5.0 / 2.9",
    ("toy 1", "L1-MKL"): "69.2 ± 4.5 / 22.1 ± 5.2 / 4.4",
    ("toy 1", "L2-MKL"): "68.2 ± 3.0 / 273 / 2.9",
    ("toy 1", "uniform"): "66.3 ± 5.3 / 273 / -",
    ("toy 2", "GMKL"): "72.9 ± 3.2 / 43.4 ± 7.1 / 2.8",
    ("toy 2", "L1-MKL"): "72.3 ± 3.1 / 30.2 ± 8.1 / 4.9",
    ("toy 2", "L2-MKL"): "71.9 ± 3.6 / 273 / 2.9",
    ("toy 2", "uniform"): "71.6 ± 4.0 / 273 / -",
    ("breast", "GMKL"): "97.2 ± 0.5 / 61.1 ± 6.5 / 2.8",
    ("breast", "L1-MKL"): "97.0 ± 0.7 / 18.6 ± 3.8 / 23.0",
    ("breast", "L2-MKL"): "96.9 ± 0.4 / 143 / 5.1",
    ("breast", "uniform"): "97.2 ± 0.5 / 143 / -",
    ("heart", "GMKL"): "83.9 ± 1.9 / 38.5 ± 5.4 / 1.4",
    ("heart", "L1-MKL"): "83.4 ± 2.6 / 29.7 ± 4.6 / 3.5",
    ("heart", "L2-MKL"): "82.8 ± 2.5 / 182 / 1.7",
    ("heart", "uniform"): "83.9 ± 1.9 / 182 / -",
    ("ionosphere", "GMKL"): "91.8 ± 1.7 / 66.5 ± 7.2 / 5.1",
    ("ionosphere", "L1-MKL"): "91.5 ± 2.1 / 38.4 ± 5.0 / 19.2",
    ("ionosphere", "L2-MKL"): "92.0 ± 1.8 / 442 / 4.0",
    ("ionosphere", "uniform"): "89.9 ± 1.8 / 442 / -",
    ("liver", "GMKL"): "67.6 ± 1.8 / 19.5 ± 1.7 / 1.0",
    ("liver", "L1-MKL"): "64.3 ± 2.8 / 9.2 ± 3.0 / 1.7",
    ("liver", "L2-MKL"): "69.7 ± 2.2 / 91 / 1.4",
    ("liver", "uniform"): "67.2 ± 4.6 / 91 / -",
    ("pima", "GMKL"): "76.9 ± 1.6 / 27.1 ± 2.4 / 3.8",
    ("pima", "L1-MKL"): "76.5 ± 1.9 / 18.7 ± 2.7 / 24.8",
    ("pima", "L2-MKL"): "76.0 ± 1.8 / 117 / 6.2",
    ("pima", "uniform"): "76.2 ± 1.7 / 117 / -",
    ("sonar", "GMKL"): "80.4 ± 4.1 / 81.1 ± 6.5 / 12.4",
    ("sonar", "L1-MKL"): "80.4 ± 4.2 / 60.3 ± 7.4 / 16.7",
    ("sonar", "L2-MKL"): "83.8 ± 3.7 / 793 / 3.9",
    ("sonar", "uniform"): "81.5 ± 4.3 / 793 / -",
    ("wdbc", "GMKL"): "96.0 ± 1.1 / 79.7 ± 7.6 / 6.6",
    ("wdbc", "L1-MKL"): "95.3 ± 1.4 / 34.9 ± 8.9 / 37.8",
    ("wdbc", "L2-MKL"): "95.9 ± 0.7 / 403 / 7.8",
    ("wdbc", "uniform"): "93.9 ± 1.0 / 403 / -",
    ("wpbc", "GMKL"): "76.7 ± 3.3 / 275.4 ± 96.9 / 1.3",
    ("wpbc", "L1-MKL"): "76.6 ± 2.8 / 40.4 ± 10.2 / 4.8",
    ("wpbc", "L2-MKL"): "76.3 ± 3.7 / 442 / 1.6",
    ("wpbc", "uniform"): "76.6 ± 2.9 / 442 / -",
}
