"""Rows of the slides on the tri-class SVM: two Gaussian toys, and fives against eights among the
other digits.
"""

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

UNLABELLED = 500
VALIDATION = TEST = 500
TOYS = {"toy, first irrelevant": 0.1, "toy, second irrelevant": 0.08}
DIGITS = {"USPS": "usps", "MNIST": "mnist"}


class Rows(NamedTuple):
    """Labelled and unlabelled rows (y = 1, -1 and nan), which of the latter are relevant, rows to
    choose by, and rows to judge by.
    """

    X: np.ndarray
    y: np.ndarray
    relevant: np.ndarray
    X_choice: np.ndarray
    y_choice: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def available(folder: Path | None) -> list[str]:
    """Names of the sets at hand."""
    return [
        *TOYS,
        *(name for name, file in DIGITS.items() if folder and (folder / f"{file}.npz").exists()),
    ]


def draw(name: str, labelled: int, tau: float, run: int, folder: Path | None) -> Rows:
    """Rows of one run; labelled, validation and test rows do not depend on tau."""
    return (
        _toy(name, labelled, tau, run)
        if name in TOYS
        else _digits(name, labelled, tau, run, folder)
    )


def _toy(name: str, labelled: int, tau: float, run: int) -> Rows:
    random, spread = (
        np.random.default_rng([run, labelled]),
        np.sqrt(np.r_[0.08, 0.08, np.full(48, 10.0)]),
    )

    def classes(count):
        y = np.where(np.arange(count) % 2, 1.0, -1.0)
        return 0.3 * y[:, None] + random.normal(size=(count, 50)) * spread, y

    (X, y), (X_choice, y_choice), (X_test, y_test) = (
        classes(labelled),
        classes(VALIDATION),
        classes(TEST),
    )
    count = round(tau * UNLABELLED)
    inside, beside = (
        classes(count)[0],
        random.normal(size=(UNLABELLED - count, 50))
        * np.r_[np.full(2, TOYS[name] ** 0.5), spread[2:]],
    )
    if name == "toy, second irrelevant":
        beside = beside + 0.15  # half the mean of the positive class
    relevant = np.arange(UNLABELLED) < count
    return Rows(
        np.r_[X, inside, beside],
        np.r_[y, np.full(UNLABELLED, np.nan)],
        relevant,
        X_choice,
        y_choice,
        X_test,
        y_test,
    )


@cache
def _images(name: str, folder: Path):
    """All digits of a set, in [-1, 1]."""
    with np.load(folder / f"{DIGITS[name]}.npz") as stored:
        X, y = (
            np.concatenate([stored["X_train"], stored["X_test"]]),
            np.concatenate([stored["y_train"], stored["y_test"]]),
        )
    return (X.astype(np.float32) / 127.5 - 1.0 if X.dtype == np.uint8 else X), y


def _digits(name: str, labelled: int, tau: float, run: int, folder: Path) -> Rows:
    images, digits = _images(name, folder)
    random = np.random.default_rng([run, 58])
    own = {digit: random.permutation(np.flatnonzero(digits == digit)) for digit in (5, 8)}
    others = random.permutation(np.flatnonzero((digits != 5) & (digits != 8)))
    count = round(tau * UNLABELLED)
    # Of each digit; of the third part only as many as tau says.
    ends = np.cumsum([0, labelled // 2, 100, UNLABELLED // 2, TEST])
    parts = [
        np.concatenate([own[digit][low:high] for digit in (5, 8)]) for low, high in pairwise(ends)
    ]
    known, choice, _, test = parts
    inside = np.concatenate([own[digit][ends[2] : ends[2] + count // 2] for digit in (5, 8)])
    y = np.where(digits == 8, 1.0, -1.0)
    rows = np.concatenate([known, inside, others[: UNLABELLED - count]])
    labels = np.r_[y[known], np.full(len(rows) - len(known), np.nan)]
    relevant = np.arange(len(rows) - len(known)) < len(inside)
    return Rows(images[rows], labels, relevant, images[choice], y[choice], images[test], y[test])
