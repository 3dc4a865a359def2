"""Guessing beside learning: the error of a model on rows before it learns them, and that of saying
the most frequent class so far, or the mean so far, on the same rows.
"""

import math
from typing import Any

import numpy as np

# What is added up over the rows judged: weighted losses of the model, their weight, the number of
# rows, weighted losses of guessing, weighted squares of losses and of gains over guessing.
LOSS, WEIGHT, ROWS, GUESSED, SQUARES, GAINS = range(6)
NOTHING = [0.0] * 6
Met = list[list[Any]]  # classes with their weights; or means, of one column or several, with theirs


def meet(met: Met, targets: Any, weights: np.ndarray | None, classes: bool) -> None:
    """Take in the targets of rows that were learnt."""
    targets = targets if hasattr(targets, "tocsr") else np.asarray(targets)
    loads = np.ones(targets.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    if classes and targets.ndim == 1:
        values, which = np.unique(np.asarray(targets), return_inverse=True)
        known = dict(met)
        sums = np.bincount(which, weights=loads, minlength=len(values))
        for value, weight in zip(values.tolist(), sums.tolist(), strict=True):
            known[value] = known.get(value, 0.0) + weight
        met[:] = [[value, weight] for value, weight in known.items()]
        return
    total = float(loads.sum())
    if not total:
        return
    means = np.atleast_1d(targets.T @ loads) / total
    met.extend([0.0, met[0][1] if met else 0.0] for _ in range(len(met), len(means)))
    for pair, mean in zip(met, means.tolist(), strict=False):
        pair[1] += total
        pair[0] += (mean - pair[0]) * total / pair[1]


def guess_losses(met: Met, truth: np.ndarray, classes: bool) -> np.ndarray:
    """Losses of guessing by what was met; nan where nothing was."""
    if not met:
        return np.full(len(truth), np.nan)
    if classes and truth.ndim == 1:
        # Of equally frequent ones the lowest, as a model without a preference says.
        often = max(weight for _, weight in met)
        return (truth != min(value for value, weight in met if weight == often)).astype(float)
    means = np.array([mean for mean, _ in met])
    if truth.ndim == 1:
        return (truth - means[0]) ** 2
    wrong = (truth != (means > 0.5)).astype(float) if classes else (truth - means) ** 2
    return wrong.mean(axis=1)


def charge(charged: list[float], own: np.ndarray, guessed: np.ndarray, weights: Any) -> None:
    """Add the losses of some rows."""
    loads = np.ones(len(own)) if weights is None else np.asarray(weights, dtype=float)
    for place, values in (
        (LOSS, own),
        (WEIGHT, np.ones(len(own))),
        (GUESSED, guessed),
        (SQUARES, own**2),
        (GAINS, (guessed - own) ** 2),
    ):
        charged[place] += float((values * loads).sum())
    charged[ROWS] += float(np.count_nonzero(loads))


def figures(charged: list[float]) -> dict[str, float]:
    """Errors of model and guessing, the standard errors of the first and of the difference, and the
    rows that they are of; what is not known is left out.
    """
    weight, rows = charged[WEIGHT], charged[ROWS]
    if not weight:
        return {}
    error, guessed = charged[LOSS] / weight, charged[GUESSED] / weight
    if not math.isfinite(guessed):
        return {"error": error}
    spreads = [
        math.sqrt(max(charged[place] / weight - mean**2, 0.0) / max(rows - 1.0, 1.0))
        for place, mean in ((SQUARES, error), (GAINS, guessed - error))
    ]
    names = ("error", "standard_error", "baseline_error", "gain_error", "judged")
    return dict(zip(names, (error, spreads[0], guessed, spreads[1], rows), strict=True))
