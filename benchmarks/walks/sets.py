"""Sets of TAMIS_DATA as files of other people: tables of words, svmlight, Vowpal Wabbit's text."""

import csv
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def load(name: str) -> dict[str, np.ndarray]:
    """All arrays of a set."""
    with np.load(Path(os.environ["TAMIS_DATA"]) / f"{name}.npz") as stored:
        return {key: stored[key] for key in stored.files}


def rows(stored: dict[str, np.ndarray], part: str = "") -> sp.csr_array:
    """The sparse matrix of a set, or of a part of it: ``_train``, ``_test``."""
    arrays = tuple(stored[f"{key}{part}"] for key in ("data", "indices", "indptr"))
    return sp.csr_array(arrays, shape=tuple(stored[f"shape{part}"]))


def held_out(n_rows: int, share: float = 0.3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and rows to judge by, drawn at random."""
    order = np.random.default_rng(seed).permutation(n_rows)
    cut = int(n_rows * (1.0 - share))
    return order[:cut], order[cut:]


def write_csv(path: Path, columns: dict[str, list], delimiter: str = ",") -> None:
    """A table with a header; None is an empty field."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))


def write_svmlight(path: Path, X: sp.csr_array, y: np.ndarray) -> None:
    """Rows with columns that count from 1, short numbers."""
    with open(path, "w") as file:
        for k, label in enumerate(y.tolist()):
            own = slice(X.indptr[k], X.indptr[k + 1])
            entries = zip(X.indices[own] + 1, X.data[own], strict=True)
            file.write(" ".join([f"{label:g}", *(f"{j}:{v:.6g}" for j, v in entries)]) + "\n")


def picked(columns: dict[str, list], chosen: np.ndarray) -> dict[str, list]:
    """Some rows of a table."""
    return {name: [values[k] for k in chosen.tolist()] for name, values in columns.items()}
