"""One step of sDist: the weights of the rows, the weight of the step by an exact line search, the
test of the step on rows outside the bag, and the complexity of a metric.
"""

import numpy as np
import scipy.sparse as sp

LINE_SEARCH_TOLERANCE = 1e-6  # relative to the weight of the step
MAX_LINE_SEARCH_STEPS = 200  # Newton needs a handful; bisection alone needs twenty
MAX_STEP_WEIGHT = 1.0  # in units of 1 / mean |margin gain|


def line_search(row_weights: np.ndarray, margin_gains: np.ndarray) -> tuple[float, str]:
    """Return the w >= 0 that minimises sum(row_weights * exp(-w * margin_gains)), at most
    MAX_STEP_WEIGHT / mean |margin gain|, and a status: accepted, capped or rejected.
    """
    mean_gain = float(np.abs(margin_gains).mean()) if len(margin_gains) else 0.0
    if not (row_weights @ margin_gains > 0.0) or not mean_gain > 0.0:
        return 0.0, "rejected"
    low, high = 0.0, MAX_STEP_WEIGHT / mean_gain
    if _loss_derivatives(row_weights, margin_gains, high)[0] >= 0.0:
        return high, "capped"
    w = 0.5 * high
    for _ in range(MAX_LINE_SEARCH_STEPS):
        if not high - low > LINE_SEARCH_TOLERANCE * high:
            break
        decrease, curvature = _loss_derivatives(row_weights, margin_gains, w)
        low, high = (w, high) if decrease > 0.0 else (low, w)
        newton = w + decrease / curvature if curvature > 0.0 else low
        w, last = (newton if low < newton < high else 0.5 * (low + high)), w
        if abs(w - last) <= LINE_SEARCH_TOLERANCE * w:
            break
    return w, "accepted"


def _loss_derivatives(row_weights, margin_gains, w):
    """Return minus the first and the second derivative of the loss at w, both times one positive
    factor that keeps the exponentials finite.
    """
    exponents = -w * margin_gains
    terms = row_weights * margin_gains * np.exp(exponents - exponents.max())
    return float(terms.sum()), float(terms @ margin_gains)


def boosting_weights(sample_weight: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Return the fraction of each row in the exponential loss."""
    losses = sample_weight * np.exp(margins.min() - margins)
    return losses / losses.sum()


def mean_loss(sample_weight: np.ndarray, margins: np.ndarray) -> float:
    """Return the mean of exp(-margin); infinity instead of an overflow warning."""
    with np.errstate(over="ignore"):
        return float(np.average(np.exp(-margins), weights=sample_weight))


def t_statistic(values: np.ndarray) -> float:
    """Return the mean in units of its standard error."""
    standard_error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    if standard_error > 0.0:
        return float(values.mean() / standard_error)
    return float(np.sign(values.sum()) * np.inf) if values.any() else 0.0


def metric_complexity(loadings: sp.csc_array) -> float:
    """Return the trace of the square root of W = BB': the sum of the singular values of the
    loadings B, computed from its smaller Gram matrix.
    """
    tall = loadings.shape[0] > loadings.shape[1]
    used = loadings[np.unique(loadings.indices)] if tall else loadings
    gram = used @ used.T if used.shape[0] < used.shape[1] else used.T @ used
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(gram.toarray()), 0.0)).sum())


def principal_components(loadings: np.ndarray, max_rank: int | None = None) -> np.ndarray:
    """Return the components L' (rank, terms) of W = BB' = LL', the largest first. The entry of
    largest absolute value of each component is positive.
    """
    left, singular_values, _ = np.linalg.svd(loadings, full_matrices=False)
    rank = int((singular_values > 1e-8 * singular_values[0]).sum())
    rank = rank if max_rank is None else min(rank, max_rank)
    components = (left[:, :rank] * singular_values[:rank]).T
    largest = components[np.arange(rank), np.abs(components).argmax(axis=1)]
    return components * np.sign(largest)[:, None]
