"""The order of scores of two classes: area under the ROC curve, and what each row adds to it."""

import numpy as np


def fraction_below(scores, others, weights=None) -> np.ndarray:
    """Return for each score the fraction of the others, by weight, that lies below it; a tie counts
    half.
    """
    order = np.argsort(others, kind="stable")
    counted = np.ones(len(others)) if weights is None else weights[order]
    sums = np.cumsum(np.append(0.0, counted))
    ends = [np.searchsorted(others[order], scores, side) for side in ("left", "right")]
    return 0.5 * (sums[ends[0]] + sums[ends[1]]) / sums[-1]


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve; nan where one class is absent."""
    if positive.all() or not positive.any():
        return float("nan")
    return float(fraction_below(np.sort(scores[positive]), scores[~positive]).mean())
