"""How much memory a sieve of two readings holds at most, beside Python, its libraries and the
reader.
"""

from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.ladder import ladder
from tamis.methods.sieve.settings import FEW, FULL, RARE, SPLITS, bases_of
from tamis.methods.sieve.stream.first import AN_ENTRY, needed
from tamis.methods.sieve.teams import KEPT
from tamis.terms.losses import Logistic

BASES = 2  # settings that compete
A_FLOAT = 8
RANKING = 96  # bytes a column


class Facts(NamedTuple):
    """What is known of rows before a fit: how many, columns and those of them with an entry,
    entries, classes (0 for numbers), and how common the rarer of a class and its rest is.
    """

    rows: int
    columns: int
    met: int
    entries: int
    classes: int
    rarer: float

    @property
    def outputs(self) -> int:
        """Weights that a column has."""
        return self.classes if self.classes > 2 else 1


def memory_of(facts: Facts, folds: int, memory: int, threads: int) -> int:
    """Bytes that the larger of the two readings and of the fit needs."""
    sums = _sums(facts, folds)
    if needed(facts.entries, facts.rows) <= memory:
        return max(sums, _fit(facts, folds, threads))
    # Then columns are screened and rows left out, until the rest needs no more: of which a quarter
    # is for each thread.
    return max(sums, memory * (2 + threads) // 4)


def _sums(facts: Facts, folds: int) -> int:
    """Sums of all columns by fold and class, twice while they grow."""
    marks = max(facts.classes, 1)
    return 2 * A_FLOAT * (2 + folds * (1 + marks)) * facts.columns


def _fit(facts: Facts, folds: int, threads: int) -> int:
    """The table, and the larger of the teams' work with what is written down of it and of that of
    the paths over all rows.
    """
    n, many, met, entries = facts.rows, facts.outputs, facts.met, facts.entries
    sizes, full = ladder(met), entries > FULL * n * max(met, 1)
    _, bold = bases_of(Logistic(), None, full)
    teams = folds * (SPLITS if facts.rarer < RARE or n < FEW else 1)
    table = AN_ENTRY * entries + A_FLOAT * n
    a_path, row_numbers = A_FLOAT * (1 + 2 * many) * met, teams * A_FLOAT * n
    rungs = teams * 4 * (1 + many) * int(sizes[sizes <= KEPT].sum()) + teams * met
    scores = teams // folds * len(sizes) * n * many * 4
    at_work = threads * (bold.fold_paths * a_path + table)
    # Pooled weights, importance and ranks of all columns beside the states.
    last = bold.paths * a_path + table + RANKING * met
    more = max(BASES * scores + (BASES - 1) * rungs + at_work, last)
    return table + 4 * A_FLOAT * n + row_numbers + rungs + more


def rarer_share(counts: list[int]) -> float:
    """Share of a class or of its rest, whichever is rarer, the mean over the classes: where it is
    small, rows are dealt out to folds several times.
    """
    share = np.array(counts) / sum(counts)
    return float(np.minimum(share, 1.0 - share).mean())
