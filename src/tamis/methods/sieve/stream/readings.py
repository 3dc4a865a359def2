"""A sieve from rows that can be read twice: contrasts and a sample, then the columns that may
matter of all rows, then `fit`.
"""

import warnings

import numpy as np
from sklearn.base import clone, is_classifier

from tamis.base.estimators.estimator import Estimator
from tamis.base.splits import hash_folds
from tamis.base.validation import warn_user
from tamis.methods.sieve.settings import feature_groups_of
from tamis.methods.sieve.stream.first import FirstReading, needed
from tamis.methods.sieve.stream.second import Kept, Superset
from tamis.numerics.hashing import row_hashes

SAMPLE = 2_500  # most rows of the sample, which is there to find columns, not weights
SAMPLE_PATHS = 2
# A superset: so many columns for each that the sample's own sieve keeps, those whose contrast is so
# many standard errors, not more than so many; and others while they have few entries.
TIMES, SURE, MOST, CHEAP = 8, 3.0, 100_000, 1 << 19


class TwoReadings(Estimator):
    """A sieve that learns from rows that can be read twice.

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
        return FirstReading(min(self.n_sample, SAMPLE), self.n_folds, memory, task)

    def _second_reading(self, first: FirstReading, memory: int) -> Kept:
        """What keeps the columns that may matter."""
        self._validate_params()
        found, n_rows = superset(self, first, memory), first.contrasts.n_rows
        kept = Kept(found, n_rows, memory)
        if kept.share < 1.0:
            warn_user(
                f"the columns that may matter need {needed(found.entries, n_rows) / 1e6:,.0f} MB, "
                f"more than the memory of {memory / 1e6:,.0f} MB: a share of {kept.share:.2f} of "
                "the rows, drawn by their content, is fitted. Raise the memory to fit them all.",
                UserWarning,
            )
        return kept

    def _fit_kept(self, kept: Kept):
        """`fit`, on the kept columns of all rows."""
        y, weights = kept.aims()
        screened = None
        if kept.open is not None:
            screened = Screened(kept.open, np.concatenate(kept.hashes))
        # By no name here, so that they can go when they are in the table.
        return self._fit(kept.rows(), y, weights, screened)


class Screened:
    """How a fit of screened columns is judged: targets of a fold have no say in what is used to
    predict it. The columns of a fold group are those that the other folds chose, and folds are
    those of whole rows, by which they were chosen.
    """

    def __init__(self, open_: np.ndarray, hashes: np.ndarray):
        self.open, self.hashes = open_, hashes

    def folds_of(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Arguments of `sample_of` for some rows: words that they are dealt out by, and the columns
        that are open to each fold.
        """
        return {"dealt": self.hashes[rows], "open_": self.open}


def superset(model, first: FirstReading, memory: int) -> Superset:
    """All columns that were seen, where their entries fit into the memory; else those of the
    strongest contrasts over all rows, and those that a sieve of the sample keeps.

    Contrasts alone miss columns that matter only beside others.
    """
    entries = first.contrasts.entries()[: first.n_columns]
    seen, total = entries > 0, int(entries.sum())
    if needed(total, first.contrasts.n_rows) <= memory:
        return Superset(seen, total, None)
    everywhere = (None, *range(first.folds))
    choices = np.array([picked(model, first, entries, without) for without in everywhere])
    # What a fold group may use is chosen without its fold, so that all choices must be kept.
    chosen = np.asarray(choices.any(axis=0))
    return Superset(chosen, int(entries[chosen].sum()), choices[1:])


def picked(model, first: FirstReading, entries: np.ndarray, without: int | None) -> np.ndarray:
    """The columns that may matter (a mask), by the targets of all folds, or of all but one."""
    contrasts, width = first.contrasts, len(entries)
    support, strengths = sample_support(model, first, without), contrasts.strengths(width, without)
    order = np.argsort(-strengths, kind="stable")
    wanted = contrasts.deviations(width, without) >= SURE
    wanted[order[: TIMES * len(support)]] = True
    chosen = np.zeros(width, dtype=bool)
    chosen[order[wanted[order]][:MOST]] = True
    chosen[support] = True
    rest = order[~chosen[order]]
    chosen[rest[np.cumsum(entries[rest]) <= CHEAP]] = True
    groups = feature_groups_of(model, width)
    chosen = chosen if groups is None else groups.closed(chosen)
    return chosen & (entries > 0)


def sample_support(model, first: FirstReading, without: int | None = None) -> np.ndarray:
    """Columns that a sieve of the sample keeps, of all its rows or of those outside a fold; none
    where the sample cannot be fitted.
    """
    rows, _, targets, weights = first.settle()
    if without is not None:
        at = np.flatnonzero(hash_folds(row_hashes(rows), first.folds) != without)
        rows, targets, weights = rows[at], targets[at], weights[at]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is said of the sample is not about the model
            # With two folds, the rows outside one would have none to hold out.
            small = clone(model).set_params(n_paths=SAMPLE_PATHS, n_folds=max(model.n_folds, 4))
            small.fit(rows, targets, sample_weight=weights)
    except ValueError:  # one class alone, say
        return np.zeros(0, dtype=np.int64)
    return small.support_
