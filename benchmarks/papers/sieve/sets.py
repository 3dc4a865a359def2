"""All sets: real ones from a folder, and those that are made."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from benchmarks.papers.sieve import simulations
from benchmarks.papers.stabilized import matched
from benchmarks.papers.stabilized import sets as text

SHARE = 0.8


class Task(NamedTuple):
    """Rows to learn from and to judge; numbers where there are no classes."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray
    classes: bool = True

    def words(self) -> str:
        """Sizes, for a table."""
        share = f", {100 * np.mean(self.y):.0f} % positive" if self.classes else ""
        return f"{self.X.shape[0]:,} + {len(self.y_test):,} x {self.X.shape[1]:,}{share}"

    def part(self, run: int) -> tuple:
        """The 80 % of the training rows of a run, by class, in random order."""
        rows = self._cut(run)[0]
        return self.X[rows], self.y[rows]

    def rest(self, run: int) -> "Task":
        """The same task, judged on the training rows that the run leaves."""
        rows = self._cut(run)[1]
        return self._replace(X_test=self.X[rows], y_test=self.y[rows])

    def _cut(self, run: int) -> list[np.ndarray]:
        strata = self.y if self.classes else None
        every = np.arange(len(self.y))
        return train_test_split(every, train_size=SHARE, random_state=run, stratify=strata)


PAIRS = {
    "christian/religion": ("soc.religion.christian", "talk.religion.misc"),
    "guns/religion": ("talk.politics.guns", "talk.religion.misc"),
}
RARE = ("sci.space / rest", "tmc label 0", "usps 3 / rest")
DENSE = ("usps 3 / 8", "mnist 4 / 9", "madelon", "covtype 1 / rest", "secom")
FEWER = {"mnist 4 / 9": 1500}  # rows, where L1 would take too long
LENGTH = "log length of documents"
MADE = {
    "neighbours correlated .7": simulations.correlated_classes,
    "rare binary columns": simulations.rare_binary,
    "heavy tails": simulations.heavy_tails,
    "planted text": simulations.planted_text,
    "wide, 80 rows": simulations.wide_shift,
}
NUMBERS = {
    "text, forty planted words": simulations.text_numbers,
    "heavy noise": simulations.heavy_noise,
    "neighbours correlated .5": simulations.correlated_numbers,
}
KINDS = {
    "Text": (*list(text.SETS)[:10], *PAIRS),
    "Rare classes": RARE,
    "Dense data": DENSE,
    "Simulations": tuple(MADE),
    "Regression": (*NUMBERS, LENGTH),
}
# A quick run takes these.
SMALL = ("dexter", "usps 3 / 8", "wide, 80 rows", "neighbours correlated .5")
# Whose test rows are not drawn as the training rows are.
SHIFTED = ("heavy noise",)


def available(folder: Path | None) -> list[str]:
    """The sets that can be read or made."""
    return [
        name
        for names in KINDS.values()
        for name in names
        if name in MADE | NUMBERS or (folder and (folder / f"{_file(name)}.npz").exists())
    ]


def _file(name: str) -> str:
    if name in text.SETS:
        return text.SETS[name].file
    return matched.TASKS[name][0] if name in matched.TASKS else text.NEWS


def read(name: str, folder: Path | None) -> Task:
    """One set."""
    if name in MADE:
        return Task(*MADE[name]())
    if name in NUMBERS:
        return Task(*NUMBERS[name](), classes=False)
    assert folder is not None
    if name == LENGTH:
        return _lengths(folder)
    if name in matched.TASKS:
        return _matched(name, folder)
    source = text.SETS.get(name) or text.Source(text.NEWS, "_test", PAIRS[name])
    return Task(*text.read_source(source, folder)[:4])


def _matched(name: str, folder: Path) -> Task:
    """A task of the tables at equal sizes; filled ones as arrays."""
    X, y, X_test, y_test, _ = matched.read(name, folder)
    if name in FEWER:
        X, _, y, _ = train_test_split(X, y, train_size=FEWER[name], random_state=0, stratify=y)
    filled = X.nnz > 0.15 * X.shape[0] * X.shape[1]
    return Task(*((X.toarray(), y, X_test.toarray(), y_test) if filled else (X, y, X_test, y_test)))


def _lengths(folder: Path) -> Task:
    """Logarithm of the number of words of a document, from its shares of words."""
    parts = []
    with np.load(folder / f"{text.NEWS}.npz", allow_pickle=False) as stored:
        for mark, rows in (("_train", 3000), ("_test", 2000)):
            arrays = tuple(stored[key + mark] for key in ("data", "indices", "indptr"))
            X = sp.csr_array(arrays, shape=tuple(stored["shape" + mark])).astype(np.float64)
            total = np.asarray(X.sum(axis=1)).ravel()
            drawn = np.random.default_rng(0).permutation(np.flatnonzero(total))[:rows]
            parts += [text._narrow(normalize(X[drawn])), np.log(total[drawn])]
    return Task(*parts, classes=False)
