"""Large text files of distinct rows, written by compiled code: svmlight, and the same rows for
Vowpal Wabbit.
"""

from pathlib import Path

import numpy as np

from benchmarks.workloads import BLOCK, SEED, Recipe, _draw, _label, _plant, _scatter
from tamis.numerics.numba import compiled

RECIPE = Recipe(0, 47_000, 74)
DIGITS = 6  # after the point


@compiled
def write_rows(columns, values, labels, bar, text):
    """Write rows as ``label column:0.dddddd ...``, with a bar after the label for Vowpal Wabbit;
    the number of bytes.
    """
    at = 0
    for i in range(columns.shape[0]):
        if labels[i] < 0:
            text[at] = 45
            at += 1
        text[at] = 49
        at += 1
        if bar:
            text[at], text[at + 1] = 32, 124
            at += 2
        for k in range(columns.shape[1]):
            text[at] = 32
            at += 1
            number, width = columns[i, k] + 1, 1
            while number >= 10**width:
                width += 1
            for place in range(width):
                text[at + width - 1 - place] = 48 + number % 10
                number //= 10
            at += width
            text[at], text[at + 1], text[at + 2] = 58, 48, 46
            at += 3
            number = int(values[i, k] * 1e6)
            for place in range(6):
                text[at + 5 - place] = 48 + number % 10
                number //= 10
            at += 6
        text[at] = 10
        at += 1
    return at


def write(path: Path, size: int, bar: bool = False) -> int:
    """Write rows until the file (without bars) holds `size` bytes; returns how many there are."""
    planted, weights = _plant(RECIPE)
    room = np.empty(BLOCK * RECIPE.nonzeros * 20, np.uint8)
    rows = plain = 0
    with path.open("wb") as file:
        while plain < size:
            ranks, grades = _draw(RECIPE, np.random.default_rng([SEED, 9, rows]))
            labels = _label(
                RECIPE, ranks, grades, planted, weights, np.random.default_rng([SEED, 9, rows, 1])
            )
            columns = _scatter(ranks, RECIPE.columns)
            order = columns.argsort(axis=1)
            columns, grades = (
                np.take_along_axis(columns, order, 1),
                np.take_along_axis(grades, order, 1),
            )
            values = grades / np.sqrt((grades * grades).sum(axis=1, keepdims=True))
            used = write_rows(columns, np.minimum(values, 0.999999), labels, bar, room)
            file.write(room[:used].tobytes())
            rows += BLOCK
            plain += used - (2 * BLOCK if bar else 0)
    return rows
