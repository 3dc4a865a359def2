"""What is looked up in columns: substitutes of kept ones, single columns that tell all, shifts,
equal rows.
"""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.hashing import count_duplicates, row_hashes
from tamis.numerics.moments import centred_moments, standard_deviations
from tamis.numerics.roc import area_under_curve

TWIN = 0.95  # correlation from which on one column stands for another
MOST_KEPT = 200  # kept columns whose substitutes are looked for
BLOCK = 20  # of them at a time
FILLED = 10  # rows with a nonzero below which a column cannot be judged
SHOWN = 5  # substitutes of one column that are told


def moments_of(X: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, spreads and shares of rows with a nonzero."""
    moments = centred_moments(X)
    shares = X.count_nonzero(axis=0) / max(X.shape[0], 1)
    return moments[1], standard_deviations(moments), shares


def substitutes(
    X: sp.csr_array, kept: np.ndarray, means: np.ndarray, spreads: np.ndarray
) -> dict[int, list[tuple[int, float]]]:
    """For each kept column the others that it is correlated with above the bound, the nearest
    first, with their correlations; kept columns without any are left out.
    """
    found: dict[int, list[tuple[int, float]]] = {}
    kept = np.array([j for j in kept[:MOST_KEPT] if spreads[j] > 0.0], dtype=int)
    columns = X.tocsc()
    for begin in range(0, len(kept), BLOCK):
        block = kept[begin : begin + BLOCK]
        # Columns that are never filled together cannot be so alike, but for dense opposites.
        products = sp.csr_array(columns[:, block].T @ X)
        for k, column in enumerate(block):
            span = slice(products.indptr[k], products.indptr[k + 1])
            others, sums = products.indices[span], products.data[span]
            scale = spreads[column] * spreads[others]
            with np.errstate(divide="ignore", invalid="ignore"):
                alike = (sums / X.shape[0] - means[column] * means[others]) / scale
            near = (np.abs(alike) >= TWIN) & (others != column) & (scale > 0.0)
            order = np.argsort(-np.abs(alike[near]), kind="stable")
            if near.any():
                found[int(column)] = [
                    (int(j), float(c))
                    for j, c in zip(others[near][order], alike[near][order], strict=True)
                ]
    return found


def twins_of(selector, kept: np.ndarray) -> dict[int, list[tuple[int, float]]]:
    """The same from the groups of a selector that has tested the kept columns."""
    tests = {int(column): k for k, column in enumerate(selector.candidates_)}
    found: dict[int, list[tuple[int, float]]] = {}
    for column in kept.tolist():
        row = selector.substitutes_[[tests[column]]] if column in tests else None
        pairs = [] if row is None else zip(row.indices.tolist(), row.data.tolist(), strict=True)
        near = sorted((p for p in pairs if abs(p[1]) >= TWIN), key=lambda pair: -abs(pair[1]))
        if near:
            found[column] = near
    return found


def left_over(
    X: sp.csr_array, spreads: np.ndarray, counts: np.ndarray, rests: list[np.ndarray]
) -> np.ndarray:
    """How far each column goes with what a model leaves unexplained: the largest correlation, in
    standard errors; 0 where a column is filled in too few rows to tell.
    """
    found = np.zeros(X.shape[1])
    for rest in rests:
        centred = rest - rest.mean()
        scale = spreads * centred.std() * np.sqrt(X.shape[0])
        told = (counts >= FILLED) & (scale > 0.0)
        sums = np.abs(X.T @ centred)
        found[told] = np.maximum(found[told], sums[told] / scale[told])
    return found


def told_alone(values: np.ndarray, y: np.ndarray, classes: bool) -> float:
    """How well one column alone tells the target, from 0 to 1: the best area under a curve over the
    classes, or the size of a correlation.
    """
    if not classes:
        y = y.astype(float)
        if not values.std() or not y.std():
            return 0.0
        return float(abs(np.corrcoef(values, y)[0, 1]))
    areas = [area_under_curve(values, y == one) for one in np.unique(y)]
    return float(np.nanmax([max(area, 1.0 - area) for area in areas], initial=0.0))


def equal_rows(X: sp.csr_array) -> int:
    """How many rows are equal to an earlier one."""
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return count_duplicates(row_hashes(X))


def shifts(
    here: tuple[np.ndarray, np.ndarray], there: tuple[np.ndarray, np.ndarray], rows: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Differences of means between two sets of rows, in units of their common spread, and in those
    of their standard error; zeros where a column does not vary.
    """
    (mean, spread), (other, other_spread) = here, there
    common = np.sqrt((spread**2 + other_spread**2) / 2.0)
    wobble = np.sqrt(spread**2 / max(rows[0], 1) + other_spread**2 / max(rows[1], 1))
    safe = common > 0.0
    apart = np.where(safe, np.abs(mean - other), 0.0)
    return apart / np.where(safe, common, 1.0), apart / np.where(safe, wobble, 1.0)
