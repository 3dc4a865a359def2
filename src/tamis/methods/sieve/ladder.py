"""The sieve's ladder of sizes, who stays on it, and where to stop."""

from typing import NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

ROOT = 0.5  # a step of the ladder in powers of two
HEAD = 0.85  # the second size is at most this share of the first


class Choice(NamedTuple):
    """A size: the last level of the ladder that is not below it, and the number of features."""

    level: int
    size: int
    threshold: float


def ladder(n_seen: int, smallest: int) -> np.ndarray:
    """Falling sizes: all seen features, then the roundings of 2^(i/2), the same for all data, down
    to `smallest`.
    """
    sizes = [n_seen]
    if n_seen > smallest:
        start = int(np.floor(np.log2(max(HEAD * n_seen, 1.0)) / ROOT))
        steps = [round(2.0 ** (ROOT * i)) for i in range(start, -1, -1)]
        sizes += [k for k in steps if smallest <= k]
    return np.unique(np.array(sizes, dtype=np.int64))[::-1]


def choose_size(sizes: np.ndarray, errors: np.ndarray, spread: float) -> Choice:
    """The smallest size whose smoothed error is within `spread` of the least, between two levels of
    the ladder if need be.
    """
    best = int(np.argmin(errors))
    smooth = np.array(errors, dtype=float)
    smooth[best:] = isotonic_regression(smooth[best:])
    # Pooling equal errors may round upwards.
    threshold = float(max(errors[best], smooth[best])) + spread
    level = best + int(np.flatnonzero(smooth[best:] <= threshold)[-1])
    if level == len(sizes) - 1:
        return Choice(level, int(sizes[level]), threshold)
    share = (threshold - smooth[level]) / (smooth[level + 1] - smooth[level])
    high, low = np.log(sizes[level]), np.log(sizes[level + 1])
    size = int(np.rint(np.exp(high + share * (low - high))))
    return Choice(level, min(max(size, int(sizes[level + 1])), int(sizes[level])), threshold)


def place_size(sizes: np.ndarray, size: int) -> Choice:
    """A size that the user wants, on the ladder."""
    size = min(size, int(sizes[0]))
    return Choice(int(np.flatnonzero(sizes >= size)[-1]), size, np.nan)
