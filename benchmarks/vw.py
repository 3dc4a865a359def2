"""Vowpal Wabbit at arm's length: rows to its text and cache, training from the cache, weights back.

A feature keeps its column number as its name, which Vowpal Wabbit's hash leaves as it is; the table
is large enough that neither two columns nor a column and the constant collide. The constant is free
of the penalty, as the intercepts of tamis are.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.clock import timed

BITS = 18  # of the table, for one output
CONSTANT = 11_650_396 % 2**BITS  # where the hash of the constant falls
COMMON = [
    "--loss_function",
    "logistic",
    "--holdout_off",
    "--no_bias_regularization",
    "--quiet",
    "--predict_only_model",
]


class Cached(NamedTuple):
    """Training rows in Vowpal Wabbit's cache."""

    text: Path
    columns: int
    classes: np.ndarray

    @property
    def width(self) -> int:
        """Cells of a column: the number of outputs, rounded up to a power of two."""
        return 1 if len(self.classes) == 2 else 1 << (len(self.classes) - 1).bit_length()


class Weights(NamedTuple):
    """A linear model: coef (outputs, columns) and intercept (outputs,)."""

    coef: np.ndarray
    intercept: np.ndarray


def cache(X, y, folder: Path, name: str) -> Cached:
    """Write the rows as text, and have Vowpal Wabbit make its cache."""
    if X.shape[1] > CONSTANT:
        raise ValueError(
            f"{X.shape[1]:,} columns: number {CONSTANT:,} would collide with the constant of "
            f"Vowpal Wabbit in a table of {BITS} bits."
        )
    classes, codes = np.unique(y, return_inverse=True)
    labels = 2 * codes - 1 if len(classes) == 2 else codes + 1
    text = folder / f"{name}.txt"
    with text.open("w") as file:
        for i, label in enumerate(labels):
            span = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True)
            file.write(f"{label} | " + " ".join(f"{j}:{x:.9g}" for j, x in pairs) + "\n")
    made = Cached(text, X.shape[1], classes)
    train(made, ["--kill_cache"], 1)
    return made


def train(rows: Cached, options: list[str], passes: int, model: Path | None = None) -> float:
    """Train from the cache, in this process; seconds of wall time (its reader runs on a thread of
    its own).
    """
    bits = BITS + rows.width.bit_length() - 1
    many = [] if len(rows.classes) == 2 else ["--oaa", str(len(rows.classes))]
    files = [
        "-d",
        str(rows.text),
        "--cache_file",
        f"{rows.text}.cache",
        *(["-f", str(model)] if model else []),
    ]
    with timed(f"{rows.text.stem}: Vowpal Wabbit, {passes} passes") as taken:
        _run([*files, *COMMON, *many, "-b", str(bits), "--passes", str(passes), *options])
    return taken.wall


def weights(rows: Cached, options: list[str], passes: int) -> tuple[float, Weights]:
    """Train from the cache; seconds, and the weights as Vowpal Wabbit would use them to predict."""
    model, words = rows.text.with_suffix(".model"), rows.text.with_suffix(".words")
    seconds = train(rows, options, passes, model)
    _run(["-i", str(model), "-t", "--quiet", "--readable_model", str(words)])
    cells = np.zeros((1 << BITS) * rows.width)
    for line in words.read_text().splitlines():
        cell, mark, rest = line.partition(":")
        if mark and cell.isdigit() and rest:
            cells[int(cell)] = float(rest.split()[0])
    outputs = 1 if len(rows.classes) == 2 else len(rows.classes)
    table = cells.reshape(-1, rows.width)[:, :outputs].T
    return seconds, Weights(table[:, : rows.columns], table[:, CONSTANT])


def _run(arguments: list[str]) -> None:
    """One run of Vowpal Wabbit, as from its command line."""
    import vowpalwabbit

    vowpalwabbit.Workspace(arg_list=arguments).finish()
