"""Losses of rows, their means with standard errors, paired differences, and the baseline that
predicts without looking at a row.
"""

import math
from typing import Any

import numpy as np

Baseline = list[list[Any]]  # classes with their weights; or means, one an output, with theirs
# What is added up over rows: weighted losses, weights, the number of rows, weighted losses of the
# baseline, weighted squares of losses and of gains over the baseline, squares of weights.
LOSS, WEIGHT, ROWS, BASELINE_LOSS, SQUARES, GAIN_SQUARES, WEIGHT_SQUARES = range(7)
NO_SUMS = [0.0] * 7


# --------------------------------------------------------------------------- rows
def row_losses(y: np.ndarray, predicted: np.ndarray, scoring: str) -> np.ndarray:
    """Loss of each row, the mean over its outputs; nan where the target is missing.

    The weighted mean of the losses is the error behind scikit-learn's scorer of that name: 1 less
    the score of "accuracy" (of labels: the share of wrong ones, the Hamming loss), minus the score
    of "neg_mean_squared_error".
    """
    if scoring == "accuracy":
        losses = (predicted != y).astype(float)
        if losses.ndim == 1 and y.dtype.kind == "f":
            losses[np.isnan(y)] = np.nan
    elif scoring == "neg_mean_squared_error":
        losses = (predicted - y.astype(float)) ** 2
    else:
        raise ValueError(f"scoring={scoring!r} is not a mean of losses of single rows.")
    return losses.mean(axis=1) if losses.ndim > 1 else losses


def default_scoring(classes: bool) -> str:
    """The scorer of classes or labels, and that of numbers."""
    return "accuracy" if classes else "neg_mean_squared_error"


# --------------------------------------------------------------------------- means
def mean_with_error(
    values: np.ndarray, weights: np.ndarray | None = None, ddof: float = 1.0
) -> tuple[float, float]:
    """Weighted mean, and its standard error by the effective number of rows (L. Kish, Survey
    Sampling, 1965); inf where that is not above `ddof`.
    """
    if weights is None:
        count = len(values)
        error = values.std(ddof=ddof) / math.sqrt(count) if count > ddof else math.inf
        return float(values.mean()), float(error)
    mean, fractions = float(np.average(values, weights=weights)), weights / weights.sum()
    inverse_n_effective = (fractions**2).sum()  # 1 over the effective number of rows
    variance, denominator = (
        (fractions * (values - mean) ** 2).sum(),
        1.0 - ddof * inverse_n_effective,
    )
    return mean, float(
        np.sqrt(variance * inverse_n_effective / denominator)
    ) if denominator > 0.0 else math.inf


def paired_difference(
    first: np.ndarray, second: np.ndarray, weights: np.ndarray | None = None, ddof: float = 1.0
) -> tuple[float, float]:
    """Mean of first - second, losses of the same rows, and its standard error: row by row, since
    what makes a row hard is hard for both.
    """
    return mean_with_error(first - second, weights, ddof)


def one_standard_error(
    means: np.ndarray,
    error: float,
    sizes: np.ndarray | None = None,
    se: float = 1.0,
    allow_empty: bool = False,
) -> tuple[int, float]:
    """The setting that keeps least among those whose mean loss is within `se` standard errors of
    the least one, and that limit.

    Parameters
    ----------
    means : ndarray of shape (n_settings,)
        Mean held-out losses.
    error : float
        Standard error of the least of them.
    sizes : ndarray of shape (n_settings,), default=None
        How much each setting keeps; of equals the better one is taken. None where every setting
        keeps at least as much as the one before it.
    se : float, default=1.0
        How many standard errors to give up. 0 takes the setting of least loss.
    allow_empty : bool, default=False
        Whether a setting that keeps nothing may be taken where the best one keeps something.

    Returns
    -------
    index : int
        Number of the setting.
    limit : float
        Largest mean loss that counts as near the least one.
    """
    lowest = int(np.argmin(means))
    limit = float(means[lowest] + se * error)
    is_near = means <= limit
    if sizes is None:
        return int(np.flatnonzero(is_near)[0]), limit
    if not allow_empty and sizes[lowest] > 0:
        is_near &= sizes > 0
    indices = np.flatnonzero(is_near)
    return int(indices[np.lexsort((means[indices], sizes[indices]))[0]]), limit


def one_standard_error_of_folds(
    losses: np.ndarray, sizes: np.ndarray | None = None, se: float = 1.0
) -> tuple[int, float]:
    """`one_standard_error` of losses (n_settings, n_folds), by the standard error over the folds of
    the best setting; one fold has none.
    """
    means = losses.mean(axis=1)
    best = losses[int(np.argmin(means))]
    error = mean_with_error(best)[1] if len(best) > 1 else 0.0
    return one_standard_error(means, error, sizes, se)


# --------------------------------------------------------------------------- baseline
def update_baseline(state: Baseline, y: Any, weights: np.ndarray | None, classes: bool) -> None:
    """Add targets to what the baseline knows: weights of the classes; or means, one an output."""
    y = y if hasattr(y, "tocsr") else np.asarray(y)
    weights = np.ones(y.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    if classes and y.ndim == 1:
        values, codes = np.unique(y, return_inverse=True)
        class_weights = dict(state)
        sums = np.bincount(codes, weights=weights, minlength=len(values))
        for value, weight in zip(values.tolist(), sums.tolist(), strict=True):
            class_weights[value] = class_weights.get(value, 0.0) + weight
        state[:] = [[value, weight] for value, weight in class_weights.items()]
        return
    total = float(weights.sum())
    if not total:
        return
    means = np.atleast_1d(y.T @ weights) / total
    state.extend([0.0, state[0][1] if state else 0.0] for _ in range(len(state), len(means)))
    for mean_and_weight, mean in zip(state, means.tolist(), strict=False):
        mean_and_weight[1] += total
        mean_and_weight[0] += (mean - mean_and_weight[0]) * total / mean_and_weight[1]


def baseline_prediction(state: Baseline, classes: bool, several: bool) -> Any:
    """What the baseline predicts for every row: the most frequent class (the lowest of equally
    frequent ones, as a model without a preference), the mean, or for `several` outputs the more
    frequent value of each label or the mean of each.
    """
    if classes and not several:
        largest = max(weight for _, weight in state)
        return min(value for value, weight in state if weight == largest)
    means = np.array([mean for mean, _ in state])
    if not several:
        return means[0]
    return (means > 0.5).astype(np.int64) if classes else means


def baseline_losses(state: Baseline, y: np.ndarray, classes: bool) -> np.ndarray:
    """Losses of the baseline; nan where it knows nothing."""
    if not state:
        return np.full(len(y), np.nan)
    predicted = baseline_prediction(state, classes, y.ndim > 1)
    return row_losses(y, np.broadcast_to(predicted, y.shape), default_scoring(classes))


# --------------------------------------------------------------------------- streams
def add_losses(
    sums: list[float], losses: np.ndarray, baseline: np.ndarray, weights: np.ndarray | None
) -> None:
    """Add losses of some rows, and those of the baseline on them, to `sums`."""
    weights = np.ones(len(losses)) if weights is None else np.asarray(weights, dtype=float)
    for index, values in (
        (LOSS, losses),
        (WEIGHT, np.ones(len(losses))),
        (BASELINE_LOSS, baseline),
        (SQUARES, losses**2),
        (GAIN_SQUARES, (baseline - losses) ** 2),
        (WEIGHT_SQUARES, weights),
    ):
        sums[index] += float((values * weights).sum())
    sums[ROWS] += float(np.count_nonzero(weights))


def summarize_losses(sums: list[float]) -> dict[str, float]:
    """Errors of a model and of the baseline, the standard errors of the first and of the paired
    difference, and the rows that they are of; what is not known is left out.
    """
    weight = sums[WEIGHT]
    if not weight:
        return {}
    error, baseline = sums[LOSS] / weight, sums[BASELINE_LOSS] / weight
    if not math.isfinite(baseline):
        return {"error": error}
    effective_rows = weight**2 / sums[WEIGHT_SQUARES]
    standard_error, gain_error = (
        math.sqrt(max(sums[index] / weight - mean**2, 0.0) / max(effective_rows - 1.0, 1.0))
        for index, mean in ((SQUARES, error), (GAIN_SQUARES, baseline - error))
    )
    return {
        "error": error,
        "standard_error": standard_error,
        "baseline_error": baseline,
        "gain_error": gain_error,
        "judged": sums[ROWS],
    }
