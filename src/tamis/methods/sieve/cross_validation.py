"""Candidates on folds: groups of paths that never see one fold each, and what their held-out scores
say of each size.
"""

import numpy as np

from tamis.methods.sieve.held_out_errors import Error, Held, Rows, error_of, line_of, rows_of
from tamis.methods.sieve.paths import Candidate, PathGroup, PathPoint, path_keys
from tamis.methods.sieve.table.columns import Sample, Table
from tamis.system.memory import check_memory

MAX_STORED_COLUMNS = 2**17  # of a point of a fold fit that is stored for the final phase


def check_scores_fit(table: Table, candidates: list[Candidate], sizes: np.ndarray) -> None:
    """Refuse more held-out scores than memory has room for, before anything is learnt."""
    numbers = sum(candidate.splits for candidate in candidates) * len(sizes) * table.n_rows
    check_memory(
        f"the held-out scores of {table.n_rows:,} rows and {table.outputs:,} outputs at "
        f"{len(sizes)} sizes",
        4 * numbers * table.outputs,
        "Learn from fewer rows or classes, or by FOBOSClassifier or FTRLClassifier, which keep no "
        "such scores.",
    )


class FoldFit:
    """Paths trained without one fold of one split: the rows of both sides, the keys of the paths'
    orders, and where the paths stood at each level.
    """

    def __init__(self, is_held_out: np.ndarray, split: int, fold: int, keys: np.ndarray):
        rows = np.arange(len(is_held_out), dtype=np.uint64)
        self.rows, self.held_out = rows[~is_held_out], rows[is_held_out]
        self.split, self.fold, self.keys = split, fold, keys
        self.points: dict[int, PathPoint] = {}


class CrossValidation:
    """Fits of one candidate on all folds, and their held-out scores.

    `scores` (splits, levels, rows, outputs) are there until they are evaluated; `last_level` (fits,
    columns) is the last level that each column reached in each fit.
    """

    scores: np.ndarray

    def __init__(self, candidate: Candidate, sample: Sample, sizes: np.ndarray, n_folds: int):
        self.candidate, table = candidate, sample.table
        self.fits: list[FoldFit] = []
        for split, folds in enumerate(sample.folds[: candidate.splits]):
            for fold in range(n_folds):
                inside = folds == fold
                if inside.any() and not inside.all():
                    keys = path_keys(0, split * n_folds + fold, candidate.fold_paths)
                    self.fits.append(FoldFit(inside, split, fold, keys))
        self.n_levels = len(sizes) if self.fits else 0
        shape = (self.n_splits, len(sizes), table.n_rows, table.outputs)
        self.scores = np.zeros(shape, dtype=np.float32)
        self.last_level = np.zeros((len(self.fits), len(table.density)), dtype=np.uint8)
        self.errors: list[Error] = []
        self.calibrations: list[np.ndarray] = []

    @property
    def n_splits(self) -> int:
        """Splits that have fits."""
        return self.fits[-1].split + 1 if self.fits else 0

    def record(self, number: int, group: PathGroup, level: int) -> None:
        """Write down where the group of one fit stands."""
        self.last_level[number, group.columns] = level
        if len(group.columns) <= MAX_STORED_COLUMNS:
            self.fits[number].points[level] = group.point()

    def evaluate(self, held_out: Held, prior_log_loss: np.ndarray) -> None:
        """Set error and calibration of each level, from the held-out scores, which then go."""
        for level in range(self.n_levels):
            rows, calibration = evaluate_scores(self.scores[:, level], held_out)
            self.errors.append(error_of(rows, prior_log_loss, held_out))
            self.calibrations.append(calibration)
        del self.scores

    def selection_frequency(self, level: int) -> np.ndarray:
        """Share of the fits that keep each column at a level."""
        return (self.last_level >= level).mean(axis=0)


def evaluate_scores(scores: np.ndarray, held_out: Held) -> tuple[Rows, np.ndarray]:
    """Errors of each row, and the calibration, of held-out scores (splits, rows, outputs): their
    means over the splits.
    """
    calibrations = [line_of(split.astype(float), held_out) for split in scores]
    rows = [
        rows_of(split.astype(float), calibration, held_out)
        for split, calibration in zip(scores, calibrations, strict=True)
    ]
    mean = Rows(*(np.mean(one, axis=0) for one in zip(*rows, strict=True)))
    return mean, np.mean(calibrations, axis=0)


def pooled_scores(
    validations: list[CrossValidation], sizes: np.ndarray, limit: float
) -> np.ndarray:
    """Held-out scores of all candidates at sizes up to a limit, each in its own units, added up:
    nothing in them was chosen by looking at errors.
    """
    few = np.flatnonzero(sizes <= limit)
    total = np.zeros(validations[0].scores.shape[2:])
    for split in (split for one in validations for split in one.scores):
        for level in few:
            spread = split[level].std(axis=0, dtype=float)
            total += split[level] / np.where(spread > 0.0, spread, 1.0)
    return total
