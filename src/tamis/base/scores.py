"""Losses of rows, means with standard errors, paired differences, and the constant baseline."""

import math
from typing import Any

import numpy as np

Baseline = list[list[Any]]  # [class, weight] per class; or [mean, weight] per output
# Sums over rows: weighted losses, weights, the number of rows, weighted losses of the baseline,
# weighted squares of losses and of gains over the baseline, squares of weights.
LOSS, WEIGHT, ROWS, BASELINE_LOSS, SQUARES, GAIN_SQUARES, WEIGHT_SQUARES = range(7)
ZERO_SUMS = [0.0] * 7


# --------------------------------------------------------------------------- rows
def row_losses(y: np.ndarray, predicted: np.ndarray, scoring: str) -> np.ndarray:
    """Return the loss of each row, averaged over its outputs; nan if the target is missing.

    The weighted mean of the losses is the error of scikit-learn's scorer of that name: 1 minus
    "accuracy" (for labels the Hamming loss), or minus "neg_mean_squared_error".
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
    """Return the default scorer of classes or labels, or of numbers."""
    return "accuracy" if classes else "neg_mean_squared_error"


# --------------------------------------------------------------------------- means
def mean_with_error(
    values: np.ndarray, weights: np.ndarray | None = None, ddof: float = 1.0
) -> tuple[float, float]:
    """Return the weighted mean and its standard error, by the effective number of rows.

    The error is inf if the effective number (L. Kish, Survey Sampling, 1965) is at most `ddof`.
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
    """Return the mean of first - second, losses of the same rows, and its standard error.

    The difference is taken per row, since the same rows are hard for both models.
    """
    return mean_with_error(first - second, weights, ddof)


def one_standard_error(
    means: np.ndarray,
    error: float,
    sizes: np.ndarray | None = None,
    se: float = 1.0,
    allow_empty: bool = False,
) -> tuple[int, float]:
    """Return the setting that keeps the fewest features within `se` standard errors of the best
    one, and the limit of its loss.

    Parameters
    ----------
    means : ndarray of shape (n_settings,)
        Mean held-out losses.
    error : float
        Standard error of the lowest of them.
    sizes : ndarray of shape (n_settings,), default=None
        Number of features of each setting; of equal sizes the setting of lower loss wins. None if
        each setting has at least as many features as the one before it.
    se : float, default=1.0
        Accepted loss above the lowest, in standard errors. 0 takes the setting of lowest loss.
    allow_empty : bool, default=False
        Whether a setting without features may be chosen if the best one has some.

    Returns
    -------
    index : int
        Number of the setting.
    limit : float
        Largest mean loss within the accepted range.
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
    """Apply `one_standard_error` to losses of shape (n_settings, n_folds).

    The standard error is that of the best setting over the folds, 0 for a single fold.
    """
    means = losses.mean(axis=1)
    best = losses[int(np.argmin(means))]
    error = mean_with_error(best)[1] if len(best) > 1 else 0.0
    return one_standard_error(means, error, sizes, se)


# --------------------------------------------------------------------------- baseline
def update_baseline(state: Baseline, y: Any, weights: np.ndarray | None, classes: bool) -> None:
    """Add targets to the state of the baseline: class weights, or one mean per output."""
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
    """Return the constant that the baseline predicts.

    For classes it is the most frequent one (the lowest of equally frequent ones), for numbers the
    mean; for `several` outputs the more frequent value of each label, or each mean.
    """
    if classes and not several:
        largest = max(weight for _, weight in state)
        return min(value for value, weight in state if weight == largest)
    means = np.array([mean for mean, _ in state])
    if not several:
        return means[0]
    return (means > 0.5).astype(np.int64) if classes else means


def baseline_losses(state: Baseline, y: np.ndarray, classes: bool) -> np.ndarray:
    """Return the losses of the baseline; nan if it has seen no targets."""
    if not state:
        return np.full(len(y), np.nan)
    predicted = baseline_prediction(state, classes, y.ndim > 1)
    return row_losses(y, np.broadcast_to(predicted, y.shape), default_scoring(classes))


# --------------------------------------------------------------------------- streams
def add_losses(
    sums: list[float], losses: np.ndarray, baseline: np.ndarray, weights: np.ndarray | None
) -> None:
    """Add the losses of some rows and those of the baseline to `sums`."""
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
    """Return errors of the model and the baseline, with standard errors and the number of rows.

    `gain_error` is the standard error of the paired difference. Unknown values are left out.
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
