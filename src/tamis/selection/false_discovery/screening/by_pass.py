"""Screening in one pass over the rows: an online learner at six penalties, side by side."""

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from tamis.selection.false_discovery.screening.by_path import ROWS_PER_CONTROL, SHARE, ScreenResult, noise_correlation
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns

PENALTY_RATIOS = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35)  # of the penalty of the controls
CLASS_DEVIATION = 0.5  # of a target that is a class
ROWS = 8192  # at a time


class OnePassScreen:
    """Learners at falling penalties, which all see the same rows once."""

    def __init__(self, n_columns: int, total: float, spread: float, logistic: bool, how: str):
        from tamis.methods.sparse_online.dual_averaging import RDAClassifier, RDARegressor
        from tamis.methods.sparse_online.ftrl import FTRLClassifier, FTRLRegressor

        kinds: dict[str, tuple] = {
            "ftrl": (FTRLRegressor, FTRLClassifier),
            "rda": (RDARegressor, RDAClassifier),
        }
        penalty = SHARE * noise_correlation(n_columns, total) * (CLASS_DEVIATION if logistic else spread)
        kind = kinds[how][logistic]
        self.learners = [kind(alpha=factor * penalty) for factor in PENALTY_RATIOS]
        self.logistic, self.n_columns, self.total = logistic, n_columns, total

    def learn(self, X, outcomes: np.ndarray, weights: np.ndarray) -> None:
        """From the next rows, in units of the columns' spread."""
        y = outcomes if outcomes.shape[1] > 1 else outcomes[:, 0]
        known = {"classes": [0.0, 1.0]} if self.logistic and outcomes.shape[1] == 1 else {}
        for learner in self.learners:
            learner.partial_fit(X, y, sample_weight=weights, **known)

    def screened(self, n_candidates: int) -> list[ScreenResult]:
        """Of every output: ranked by the first penalty that keeps a column, then by its weight;
        controls are those of the penalty itself, or of the one before which enough are met.
        """
        weights = [np.atleast_2d(learner.coef_) for learner in self.learners]
        return [
            _rank_columns([own[output] for own in weights], n_candidates, int(self.total / ROWS_PER_CONTROL))
            for output in range(len(weights[0]))
        ]


def _rank_columns(weights: list[np.ndarray], n_candidates: int, most: int) -> ScreenResult:
    order: list[int] = []
    met: set[int] = set()
    controls = np.zeros(0, dtype=np.int64)
    for factor, own in zip(PENALTY_RATIOS, weights, strict=True):
        kept = np.flatnonzero(own)
        by_size = kept[np.argsort(-np.abs(own[kept]), kind="stable")]
        enough = len(order) >= n_candidates
        if factor >= 1.0 and not enough:
            controls = by_size
        new = [int(j) for j in by_size if j not in met]
        order += new
        met.update(new)
    candidates = np.array(order[:n_candidates], dtype=np.int64)
    more = controls[~np.isin(controls, candidates)]
    return ScreenResult(np.concatenate([candidates, more]), controls[:most])


def screen_pass(
    columns: StandardizedColumns, outcomes: np.ndarray, logistic: bool, n_candidates: int, how: str
) -> list[ScreenResult]:
    """Screen a table that is in memory."""
    level = columns.weights @ outcomes / columns.total
    spread = np.sqrt(columns.weights @ np.square(outcomes - level) / columns.total)
    learners = OnePassScreen(columns.n_columns, columns.total, float(spread.mean()), logistic, how)
    for chunk, rows in _chunks(columns):
        learners.learn(chunk, outcomes[rows], columns.weights[rows])
    return learners.screened(n_candidates)


def _chunks(columns: StandardizedColumns) -> Iterable[tuple]:
    table = sp.csr_array(columns.X * columns.units) if columns.sparse else columns.X
    for start in range(0, columns.n_rows, ROWS):
        rows = slice(start, start + ROWS)
        yield table[rows], rows
