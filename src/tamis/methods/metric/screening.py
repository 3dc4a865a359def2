"""Screening of columns before sDist: those whose mean, or whose product with some column, differs
between classes beyond chance.

Among as many noise columns as rows, nearest neighbours are strangers, and steps find nothing. Class
contrasts of first and second moments need no neighbours: they see shifts, rings (variances that
differ) and XOR (correlations that differ). Effects of three columns alone they do not see.
"""

import numpy as np
import scipy.sparse as sp
from scipy.stats import t as student

LEVEL = 0.05  # chance that pure noise lets any column pass
WORK = 1e10  # products of pairs: rows are drawn where there are more
FEWEST = 200  # rows that pairs need; where the work allows fewer, columns alone are looked at
NUMBERS = 1 << 20  # of a block of pairs


def passing_columns(matrix, codes, weights, scaling, random) -> np.ndarray:
    """The usable columns that pass, or all of them where none does."""
    columns = scaling.usable
    rows = min(len(codes), int(WORK / len(columns) ** 2))
    pairs = rows >= min(FEWEST, len(codes))
    if pairs and rows < len(codes):
        drawn = np.sort(random.permutation(len(codes))[:rows])
        matrix, codes, weights = matrix[drawn], codes[drawn], weights[drawn]
    tests = len(columns) * (2 + (len(columns) - 1) / 2 if pairs else 2) * _contrasts(codes)
    limit = student.isf(0.5 * LEVEL / tests, max(1, np.bincount(codes)[np.unique(codes)].min() - 1))
    if pairs:
        part = matrix[:, columns]
        values = (part.toarray() if sp.issparse(part) else part) - scaling.center[columns]
        found = _pair_scores(values / scaling.scale[columns], codes, weights)
    else:
        found = _single_scores(matrix[:, columns], codes, weights)
    kept = columns[found > limit]
    return kept if len(kept) else columns


def _contrasts(codes) -> int:
    count = len(np.unique(codes))
    return 1 if count == 2 else count


def _pair_scores(values: np.ndarray, codes, weights) -> np.ndarray:
    """Largest contrast of each column: of its mean, its square, its products with all others."""
    found = _contrast(_moments(values, values**2, codes, weights), codes, weights)
    width = values.shape[1]
    step = max(1, NUMBERS // (width * len(np.unique(codes))))
    squares = values**2
    for begin in range(0, width, step):
        means, second = [], []
        for c in np.unique(codes):
            mine = codes == c
            share = (weights[mine] / weights[mine].sum())[:, None]
            means.append((values[mine] * share).T @ values[mine, begin : begin + step])
            second.append((squares[mine] * share).T @ squares[mine, begin : begin + step])
        found = np.maximum(
            found, _contrast((np.array(means), np.array(second)), codes, weights).max(axis=1)
        )
    return found


def _single_scores(matrix, codes, weights) -> np.ndarray:
    """Largest contrast of each column's mean and mean square, at the cost of its nonzeros."""
    powers = [matrix]
    for _ in range(2):
        powers.append(powers[-1].power(2) if sp.issparse(matrix) else powers[-1] ** 2)
    first = _contrast(_moments(powers[0], powers[1], codes, weights), codes, weights)
    return np.maximum(
        first, _contrast(_moments(powers[1], powers[2], codes, weights), codes, weights)
    )


def _moments(values, squares, codes, weights):
    """Means of values and of their squares, class by class."""
    shares = np.array(
        [np.where(codes == c, weights, 0.0) / weights[codes == c].sum() for c in np.unique(codes)]
    )
    return np.asarray((values.T @ shares.T).T), np.asarray((squares.T @ shares.T).T)


def _contrast(moments, codes, weights) -> np.ndarray:
    """Largest absolute difference of a class from the rest, in standard errors, from means and mean
    squares (classes, ...).
    """
    means, second = moments
    classes = np.unique(codes)
    share = np.array([weights[codes == c].sum() for c in classes]) / weights.sum()
    count = np.array(
        [weights[codes == c].sum() ** 2 / (weights[codes == c] ** 2).sum() for c in classes]
    )
    best = np.zeros(means.shape[1:])
    for at in range(_contrasts(codes)):
        rest = np.arange(len(classes)) != at
        part = share[rest] / share[rest].sum()
        other, square = np.tensordot(part, means[rest], 1), np.tensordot(part, second[rest], 1)
        error = (
            np.maximum(second[at] - means[at] ** 2, 0.0) / count[at]
            + np.maximum(square - other**2, 0.0) / count[rest].sum()
        )
        gap = np.abs(means[at] - other)
        real = gap > 1e-12 * np.sqrt(np.maximum(second[at], square))
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.maximum(best, np.where(real, gap / np.sqrt(error), 0.0))
    return best
