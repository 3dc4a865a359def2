"""A sieve from rows that can be read twice: contrasts and a sample, then the columns that may
matter of all rows, then `fit`.
"""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from tamis.base.border import warn_user
from tamis.base.estimators.estimator import Left
from tamis.methods.sieve.stream.first import AN_ENTRY, FirstReading
from tamis.methods.sieve.stream.second import Kept

SAMPLE = 5_000  # most rows of the sample, which is there to find columns, not weights
SAMPLE_PATHS = 2
# A superset: so many columns for each that the sample's own sieve keeps, those whose contrast is so
# many standard errors, not more than so many; and others while they have few entries.
TIMES, SURE, MOST, CHEAP = 8, 3.0, 100_000, 1 << 19


class Superset(NamedTuple):
    """The columns that a second reading keeps (a mask), and how many entries they have."""

    chosen: np.ndarray
    entries: int


class TwoReadings(Left):
    """Stands left of a sieve: it learns from rows that can be read twice.

    Who reads makes a `_first_reading`, shows it every chunk, hands it to `_second_reading`, shows
    what that gives every chunk again, and ends with `_fit_kept`.
    """

    def _reads_twice(self) -> bool:
        """A sieve in mid-stream goes on with its stream."""
        return "_stream" not in vars(self)

    def _first_reading(self, memory: int, task: str | None = "model") -> FirstReading:
        """What gathers; `task` is None while it is not known whether targets are classes."""
        if task == "model":
            self._validate_params()
            task = "classify" if is_classifier(self) else "regress"
        return FirstReading(min(self.n_sample, SAMPLE), memory, task)

    def _second_reading(self, first: FirstReading, memory: int) -> Kept:
        """What keeps the columns that may matter."""
        self._validate_params()
        found, n_rows = superset(self, first, memory), first.contrasts.n_rows
        kept = Kept(found.chosen, found.entries, n_rows, memory)
        if kept.share < 1.0:
            warn_user(
                f"the columns that may matter hold {AN_ENTRY * found.entries / 1e6:,.0f} MB, too "
                f"much for a memory of {memory / 1e6:,.0f} MB: a share of {kept.share:.2f} of the "
                "rows, drawn by their content, is fitted. Raise the memory to fit them all.",
                UserWarning,
            )
        return kept

    def _fit_kept(self, kept: Kept):
        """`fit`, on the kept columns of all rows."""
        return self.fit(*kept.taken())


def superset(model, first: FirstReading, memory: int) -> Superset:
    """All columns that were seen, where their entries fit into the memory; else those of the
    strongest contrasts over all rows, and those that a sieve of the sample keeps.

    Contrasts alone miss columns that matter only beside others.
    """
    contrasts, width = first.contrasts, first.n_columns
    entries = contrasts.entries()[:width]
    seen, total = entries > 0, int(entries.sum())
    if AN_ENTRY * total <= memory:
        return Superset(seen, total)
    support, strengths = sample_support(model, first), contrasts.strengths(width)
    order = np.argsort(-strengths, kind="stable")
    wanted = contrasts.deviations(width) >= SURE
    wanted[order[: TIMES * len(support)]] = True
    chosen = np.zeros(width, dtype=bool)
    chosen[order[wanted[order]][:MOST]] = True
    chosen[support] = True
    rest = order[~chosen[order]]
    chosen[rest[np.cumsum(entries[rest]) <= CHEAP]] = True
    chosen &= seen
    return Superset(chosen, int(entries[chosen].sum()))


def sample_support(model, first: FirstReading) -> np.ndarray:
    """Columns that a sieve of the sample keeps; none where the sample cannot be fitted."""
    sample = first.settle()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is said of the sample is not about the model
            small = clone(model).set_params(n_paths=SAMPLE_PATHS)
            small.fit(sample.rows, sample.targets, sample_weight=sample.weights)
    except ValueError:  # one class alone, say
        return np.zeros(0, dtype=np.int64)
    return small.support_
