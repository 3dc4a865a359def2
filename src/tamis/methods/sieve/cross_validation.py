"""Cross-validation of a candidate: groups of paths that each learn without one fold, and the
held-out scores and errors at each size.
"""

import numpy as np

from tamis.methods.sieve.held_out_errors import (
    HeldOutError,
    HeldOutTargets,
    RowErrors,
    fit_calibration,
    mean_error,
    row_errors,
)
from tamis.methods.sieve.paths import Candidate, PathGroup, PathPoint, path_keys
from tamis.methods.sieve.table.standard_units import Sample, Table
from tamis.system.memory import check_memory

MAX_STORED_COLUMNS = 2**17  # largest point of a fold fit that is stored for the final phase


def check_score_memory(table: Table, candidates: list[Candidate], sizes: np.ndarray) -> None:
    """Raise an error before the fit if the held-out scores do not fit into memory."""
    numbers = sum(candidate.n_splits for candidate in candidates) * len(sizes) * table.n_rows
    check_memory(
        f"the held-out scores of {table.n_rows:,} rows and {table.outputs:,} outputs at "
        f"{len(sizes)} sizes",
        4 * numbers * table.outputs,
        "Learn from fewer rows or classes, or by FOBOSClassifier or FTRLClassifier, which keep no "
        "such scores.",
    )


class FoldFit:
    """Paths trained without one fold of one split: the rows of both sides, the keys of the row
    orders, and the point of the paths at each level.
    """

    def __init__(self, in_fold: np.ndarray, split: int, fold: int, keys: np.ndarray):
        rows = np.arange(len(in_fold), dtype=np.uint64)
        self.rows, self.held_out = rows[~in_fold], rows[in_fold]
        self.split, self.fold, self.keys = split, fold, keys
        self.points: dict[int, PathPoint] = {}


class CrossValidation:
    """Fits of one candidate on all folds, and their held-out scores.

    `scores` (splits, levels, rows, outputs) exist until `evaluate` is called; `last_level` (fits,
    columns) is the last level at which each fit still has each column.
    """

    scores: np.ndarray

    def __init__(self, candidate: Candidate, sample: Sample, sizes: np.ndarray, n_folds: int):
        self.candidate, table = candidate, sample.table
        self.fits: list[FoldFit] = []
        for split, folds in enumerate(sample.folds[: candidate.n_splits]):
            for fold in range(n_folds):
                in_fold = folds == fold
                if in_fold.any() and not in_fold.all():
                    keys = path_keys(0, split * n_folds + fold, candidate.n_fold_paths)
                    self.fits.append(FoldFit(in_fold, split, fold, keys))
        self.n_levels = len(sizes) if self.fits else 0
        shape = (self.n_splits, len(sizes), table.n_rows, table.outputs)
        self.scores = np.zeros(shape, dtype=np.float32)
        self.last_level = np.zeros((len(self.fits), len(table.density)), dtype=np.uint8)
        self.errors: list[HeldOutError] = []
        self.calibrations: list[np.ndarray] = []

    @property
    def n_splits(self) -> int:
        """Number of splits that have fits."""
        return self.fits[-1].split + 1 if self.fits else 0

    def record(self, fit_index: int, group: PathGroup, level: int) -> None:
        """Store the columns and the point of one fit at a level."""
        self.last_level[fit_index, group.columns] = level
        if len(group.columns) <= MAX_STORED_COLUMNS:
            self.fits[fit_index].points[level] = group.point()

    def evaluate(self, held_out: HeldOutTargets, prior_log_loss: np.ndarray) -> None:
        """Set error and calibration of each level from the held-out scores; delete the scores."""
        for level in range(self.n_levels):
            row_errors, calibration = evaluate_scores(self.scores[:, level], held_out)
            self.errors.append(mean_error(row_errors, prior_log_loss, held_out))
            self.calibrations.append(calibration)
        del self.scores

    def selection_frequency(self, level: int) -> np.ndarray:
        """Return the fraction of the fits that select each column at a level."""
        return (self.last_level >= level).mean(axis=0)


def evaluate_scores(scores: np.ndarray, held_out: HeldOutTargets) -> tuple[RowErrors, np.ndarray]:
    """Return the errors of each row and the calibration of held-out scores (splits, rows, outputs),
    both averaged over the splits.
    """
    calibrations = [fit_calibration(split.astype(float), held_out) for split in scores]
    rows = [
        row_errors(split.astype(float), calibration, held_out)
        for split, calibration in zip(scores, calibrations, strict=True)
    ]
    mean = RowErrors(*(np.mean(values, axis=0) for values in zip(*rows, strict=True)))
    return mean, np.mean(calibrations, axis=0)


def pooled_scores(
    validations: list[CrossValidation], sizes: np.ndarray, limit: float
) -> np.ndarray:
    """Return the sum of the held-out scores of all candidates at sizes up to `limit`, each divided
    by its standard deviation.

    No choice among sizes or candidates by their errors enters this sum.
    """
    few = np.flatnonzero(sizes <= limit)
    total = np.zeros(validations[0].scores.shape[2:])
    for split in (split for one in validations for split in one.scores):
        for level in few:
            deviation = split[level].std(axis=0, dtype=float)
            total += split[level] / np.where(deviation > 0.0, deviation, 1.0)
    return total
