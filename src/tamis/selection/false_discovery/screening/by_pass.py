"""Screening in one pass over the rows, by an online learner at each of six penalties."""

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from tamis.selection.false_discovery.screening.by_path import (
    NOISE_PENALTY_RATIO,
    ROWS_PER_CONTROL,
    ScreenResult,
    noise_correlation,
)
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns

PENALTY_RATIOS = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35)  # over the penalty that selects the controls
CLASS_DEVIATION = 0.5  # standard deviation of balanced 0/1 outcomes
CHUNK_ROWS = 8192  # rows of one call of partial_fit


class OnePassScreen:
    """Learners at falling penalties; each learns from every row once."""

    def __init__(
        self, n_columns: int, total_weight: float, deviation: float, logistic: bool, screen: str
    ):
        from tamis.methods.sparse_online.dual_averaging import RDAClassifier, RDARegressor
        from tamis.methods.sparse_online.ftrl import FTRLClassifier, FTRLRegressor

        kinds: dict[str, tuple] = {
            "ftrl": (FTRLRegressor, FTRLClassifier),
            "rda": (RDARegressor, RDAClassifier),
        }
        penalty = (
            NOISE_PENALTY_RATIO
            * noise_correlation(n_columns, total_weight)
            * (CLASS_DEVIATION if logistic else deviation)
        )
        kind = kinds[screen][logistic]
        self.learners = [kind(alpha=factor * penalty) for factor in PENALTY_RATIOS]
        self.logistic, self.n_columns, self.total_weight = logistic, n_columns, total_weight

    def learn(self, X, outcomes: np.ndarray, weights: np.ndarray) -> None:
        """Learn from the next rows, with columns in units of their deviation."""
        y = outcomes if outcomes.shape[1] > 1 else outcomes[:, 0]
        options = {"classes": [0.0, 1.0]} if self.logistic and outcomes.shape[1] == 1 else {}
        for learner in self.learners:
            learner.partial_fit(X, y, sample_weight=weights, **options)

    def results(self, n_candidates: int) -> list[ScreenResult]:
        """Return candidates and controls of each output.

        Candidates rank by the first penalty that selects them, then by the size of their weight.
        Controls are the columns selected at ratio 1, or at the last larger ratio that was reached
        before there were enough candidates.
        """
        weights = [np.atleast_2d(learner.coef_) for learner in self.learners]
        return [
            _rank_columns(
                [coefs[output] for coefs in weights],
                n_candidates,
                int(self.total_weight / ROWS_PER_CONTROL),
            )
            for output in range(len(weights[0]))
        ]


def _rank_columns(weights: list[np.ndarray], n_candidates: int, max_controls: int) -> ScreenResult:
    """Return candidates and controls from the weights at each penalty."""
    order: list[int] = []
    seen: set[int] = set()
    controls = np.zeros(0, dtype=np.int64)
    for factor, coefs in zip(PENALTY_RATIOS, weights, strict=True):
        nonzero = np.flatnonzero(coefs)
        by_size = nonzero[np.argsort(-np.abs(coefs[nonzero]), kind="stable")]
        is_complete = len(order) >= n_candidates
        if factor >= 1.0 and not is_complete:
            controls = by_size
        new = [int(j) for j in by_size if j not in seen]
        order += new
        seen.update(new)
    candidates = np.array(order[:n_candidates], dtype=np.int64)
    additional = controls[~np.isin(controls, candidates)]
    return ScreenResult(np.concatenate([candidates, additional]), controls[:max_controls])


def screen_pass(
    columns: StandardizedColumns,
    outcomes: np.ndarray,
    logistic: bool,
    n_candidates: int,
    screen: str,
) -> list[ScreenResult]:
    """Screen a table in memory for all outputs."""
    target_means = columns.weights @ outcomes / columns.total_weight
    deviation = np.sqrt(columns.weights @ np.square(outcomes - target_means) / columns.total_weight)
    learners = OnePassScreen(
        columns.n_columns, columns.total_weight, float(deviation.mean()), logistic, screen
    )
    for chunk, rows in _chunks(columns):
        learners.learn(chunk, outcomes[rows], columns.weights[rows])
    return learners.results(n_candidates)


def _chunks(columns: StandardizedColumns) -> Iterable[tuple]:
    """Yield chunks of scaled rows, and their slices."""
    standardized = sp.csr_array(columns.X * columns.units) if columns.sparse else columns.X
    for start in range(0, columns.n_rows, CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        yield standardized[rows], rows
