"""Area under the ROC curve, and the contribution of each row to it."""

import numpy as np


def fraction_below(scores, others, weights=None) -> np.ndarray:
    """Return for each score the weighted fraction of `others` below it; ties count half."""
    order = np.argsort(others, kind="stable")
    sorted_weights = np.ones(len(others)) if weights is None else weights[order]
    sums = np.cumsum(np.append(0.0, sorted_weights))
    ends = [np.searchsorted(others[order], scores, side) for side in ("left", "right")]
    return 0.5 * (sums[ends[0]] + sums[ends[1]]) / sums[-1]


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve; nan if one class is absent."""
    if positive.all() or not positive.any():
        return float("nan")
    return float(fraction_below(np.sort(scores[positive]), scores[~positive]).mean())
