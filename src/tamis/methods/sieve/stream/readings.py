"""Fit a sieve to rows that can be read twice: the first reading gathers contrasts and a sample, the
second one stores the relevant columns of all rows, then `fit` runs on these.
"""

import warnings

import numpy as np
from sklearn.base import clone, is_classifier

from tamis.base.estimators.estimator import Estimator
from tamis.base.splits import hash_folds
from tamis.base.validation import warn_user
from tamis.methods.sieve.settings import make_feature_groups
from tamis.methods.sieve.stream.first_reading import FirstReading, fit_bytes
from tamis.methods.sieve.stream.second_reading import ColumnSuperset, SecondReading
from tamis.numerics.hashing import row_hashes

MAX_SAMPLE = 2_500  # rows of the sample, which only selects columns
SAMPLE_PATHS = 2
# Columns of a superset. Those of the strongest contrasts: so many for each column that the sieve of
# the sample selects, or all of so many standard errors, but at most MAX_CONTRAST_COLUMNS; then the
# next ones, up to so many entries together.
COLUMNS_PER_SELECTED = 8
MIN_CONTRAST_Z = 3.0
MAX_CONTRAST_COLUMNS = 100_000
MAX_EXTRA_ENTRIES = 1 << 19


class TwoReadings(Estimator):
    """Base of sieves that learn from rows that can be read twice.

    The caller creates a `_first_reading`, adds every chunk to it, passes it to `_second_reading`,
    adds every chunk to the result, and calls `_fit_second_reading`.
    """

    def _reads_twice(self) -> bool:
        # A sieve that has a stream goes on with it.
        return "_stream" not in vars(self)

    def _first_reading(self, memory: int, task: str | None = "model") -> FirstReading:
        """Return an empty first reading; `task` is None while the kind of the targets is
        unknown.
        """
        if task == "model":
            self._validate_params()
            task = "classify" if is_classifier(self) else "regress"
        return FirstReading(min(self.n_sample, MAX_SAMPLE), self.n_folds, memory, task)

    def _second_reading(self, first: FirstReading, memory: int) -> SecondReading:
        """Return an empty second reading, which stores the columns of the superset."""
        self._validate_params()
        columns, n_rows = select_columns(self, first, memory), first.contrasts.n_rows
        kept = SecondReading(columns, n_rows, memory)
        if kept.row_fraction < 1.0:
            warn_user(
                f"the columns that may matter need {fit_bytes(columns.entries, n_rows) / 1e6:,.0f} "
                f"MB, more than the memory of {memory / 1e6:,.0f} MB: a fraction of "
                f"{kept.row_fraction:.2f} of the rows, sampled by a hash of their content, is "
                "fitted. Raise the memory to fit them all.",
                UserWarning,
            )
        return kept

    def _fit_second_reading(self, kept: SecondReading):
        """Fit the stored columns of all rows."""
        y, weights = kept.targets_and_weights()
        screening = None
        if kept.open is not None:
            screening = Screening(kept.open, np.concatenate(kept.hashes))
        # No local name for the rows, so that the fit can free them.
        return self._fit(kept.rows(), y, weights, screening)


class Screening:
    """Folds of a fit of screened columns.

    The targets of a fold must not influence the columns that predict it. A fold fit therefore uses
    the columns that the other folds chose, and the folds are the same as in that choice: those of
    the hashes of complete rows.
    """

    def __init__(self, allowed_columns: np.ndarray, hashes: np.ndarray):
        self.allowed_columns, self.hashes = allowed_columns, hashes

    def sample_arguments(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return the arguments of `make_sample` that set folds and columns for some rows."""
        return {"fold_hashes": self.hashes[rows], "allowed_columns": self.allowed_columns}


def select_columns(model, first: FirstReading, memory: int) -> ColumnSuperset:
    """Return the columns to store: all that have entries, where these fit into memory; else those
    of the strongest contrasts, and those that a sieve of the sample selects.

    Contrasts alone miss columns that matter only together with others.
    """
    entries = first.contrasts.entries()[: first.n_columns]
    has_entries, total = entries > 0, int(entries.sum())
    if fit_bytes(total, first.contrasts.n_rows) <= memory:
        return ColumnSuperset(has_entries, total, None)
    left_out = (None, *range(first.folds))
    choices = np.array([relevant_columns(model, first, entries, fold) for fold in left_out])
    # A fold fit uses columns chosen without its fold, so the columns of all choices are stored.
    chosen = np.asarray(choices.any(axis=0))
    return ColumnSuperset(chosen, int(entries[chosen].sum()), choices[1:])


def relevant_columns(
    model, first: FirstReading, entries: np.ndarray, without: int | None
) -> np.ndarray:
    """Return a mask of the relevant columns, by the targets of all folds, or of all but one."""
    contrasts, n_columns = first.contrasts, len(entries)
    support = sample_support(model, first, without)
    order = np.argsort(-contrasts.strengths(n_columns, without), kind="stable")
    has_contrast = contrasts.deviations(n_columns, without) >= MIN_CONTRAST_Z
    has_contrast[order[: COLUMNS_PER_SELECTED * len(support)]] = True
    chosen = np.zeros(n_columns, dtype=bool)
    chosen[order[has_contrast[order]][:MAX_CONTRAST_COLUMNS]] = True
    chosen[support] = True
    others = order[~chosen[order]]
    chosen[others[np.cumsum(entries[others]) <= MAX_EXTRA_ENTRIES]] = True
    groups = make_feature_groups(model, n_columns)
    chosen = chosen if groups is None else groups.expand_to_groups(chosen)
    return chosen & (entries > 0)


def sample_support(model, first: FirstReading, without: int | None = None) -> np.ndarray:
    """Return the columns that a sieve of the sample selects, of all its rows or of those outside a
    fold; none where the sample cannot be fitted.
    """
    rows, _, targets, weights = first.merge_sample()
    if without is not None:
        training = np.flatnonzero(hash_folds(row_hashes(rows), first.folds) != without)
        rows, targets, weights = rows[training], targets[training], weights[training]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the sample do not concern the model
            # With two folds, the rows outside one could not be held out from each other.
            small = clone(model).set_params(n_paths=SAMPLE_PATHS, n_folds=max(model.n_folds, 4))
            small.fit(rows, targets, sample_weight=weights)
    except ValueError:  # for example, a single class
        return np.zeros(0, dtype=np.int64)
    return small.support_
