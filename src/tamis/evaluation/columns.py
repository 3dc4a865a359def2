"""Statistics of columns for the checks: substitutes, single-column scores, shifts, duplicates."""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.hashing import count_duplicates, row_hashes
from tamis.numerics.moments import centred_moments, standard_deviations
from tamis.numerics.roc import area_under_curve

MIN_TWIN_CORRELATION = 0.95  # absolute correlation of two columns that are substitutes
MAX_SELECTED = 200  # selected columns whose substitutes are searched
BLOCK_COLUMNS = 20  # selected columns in one product
MIN_NONZEROS = 10  # a column with fewer nonzeros has no z-score
MAX_LISTED = 5  # names in one message


def column_moments(X: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, standard deviations and densities of the columns."""
    moments = centred_moments(X)
    densities = X.count_nonzero(axis=0) / max(X.shape[0], 1)
    return moments[1], standard_deviations(moments), densities


def find_substitutes(
    X: sp.csr_array, selected: np.ndarray, means: np.ndarray, deviations: np.ndarray
) -> dict[int, list[tuple[int, float]]]:
    """Return for each selected column the columns correlated with it, strongest first.

    The values are pairs of column and correlation; selected columns without substitutes are absent.
    """
    substitutes: dict[int, list[tuple[int, float]]] = {}
    selected = np.array([j for j in selected[:MAX_SELECTED] if deviations[j] > 0.0], dtype=int)
    columns = X.tocsc()
    for start in range(0, len(selected), BLOCK_COLUMNS):
        block = selected[start : start + BLOCK_COLUMNS]
        # Columns that are never nonzero in one row are not so correlated, unless both are dense.
        products = sp.csr_array(columns[:, block].T @ X)
        for k, column in enumerate(block):
            entries = slice(products.indptr[k], products.indptr[k + 1])
            others, sums = products.indices[entries], products.data[entries]
            scale = deviations[column] * deviations[others]
            with np.errstate(divide="ignore", invalid="ignore"):
                correlations = (sums / X.shape[0] - means[column] * means[others]) / scale
            is_substitute = (
                (np.abs(correlations) >= MIN_TWIN_CORRELATION) & (others != column) & (scale > 0.0)
            )
            order = np.argsort(-np.abs(correlations[is_substitute]), kind="stable")
            if is_substitute.any():
                substitutes[int(column)] = [
                    (int(j), float(c))
                    for j, c in zip(
                        others[is_substitute][order],
                        correlations[is_substitute][order],
                        strict=True,
                    )
                ]
    return substitutes


def substitutes_from_groups(selector, selected: np.ndarray) -> dict[int, list[tuple[int, float]]]:
    """Return the same from the groups of a selector that has tested the selected columns."""
    tests = {int(column): k for k, column in enumerate(selector.candidates_)}
    substitutes: dict[int, list[tuple[int, float]]] = {}
    for column in selected.tolist():
        row = selector.substitutes_[[tests[column]]] if column in tests else None
        pairs = [] if row is None else zip(row.indices.tolist(), row.data.tolist(), strict=True)
        substitutes_of_column = sorted(
            (p for p in pairs if abs(p[1]) >= MIN_TWIN_CORRELATION), key=lambda pair: -abs(pair[1])
        )
        if substitutes_of_column:
            substitutes[column] = substitutes_of_column
    return substitutes


def residual_z_scores(
    X: sp.csr_array, deviations: np.ndarray, nonzero_counts: np.ndarray, residuals: list[np.ndarray]
) -> np.ndarray:
    """Return the largest correlation of each column with residuals of a model, in standard errors.

    It is 0 for columns with too few nonzeros.
    """
    z_scores = np.zeros(X.shape[1])
    for output_residuals in residuals:
        centred = output_residuals - output_residuals.mean()
        scale = deviations * centred.std() * np.sqrt(X.shape[0])
        is_testable = (nonzero_counts >= MIN_NONZEROS) & (scale > 0.0)
        sums = np.abs(X.T @ centred)
        z_scores[is_testable] = np.maximum(
            z_scores[is_testable], sums[is_testable] / scale[is_testable]
        )
    return z_scores


def single_column_score(values: np.ndarray, y: np.ndarray, classes: bool) -> float:
    """Return how well one column predicts the target, from 0 to 1.

    It is the largest area under the ROC curve over the classes, or the absolute correlation.
    """
    if not classes:
        y = y.astype(float)
        if not values.std() or not y.std():
            return 0.0
        return float(abs(np.corrcoef(values, y)[0, 1]))
    areas = [area_under_curve(values, y == label) for label in np.unique(y)]
    return float(np.nanmax([max(area, 1.0 - area) for area in areas], initial=0.0))


def count_equal_rows(X: sp.csr_array) -> int:
    """Return the number of rows that equal an earlier one."""
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return count_duplicates(row_hashes(X))


def mean_shifts(
    first: tuple[np.ndarray, np.ndarray],
    second: tuple[np.ndarray, np.ndarray],
    row_counts: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the differences of means between two sets of rows, in pooled standard deviations and
    in standard errors; 0 for constant columns.
    """
    (mean, deviation), (other_mean, other_deviation) = first, second
    pooled = np.sqrt((deviation**2 + other_deviation**2) / 2.0)
    standard_error = np.sqrt(
        deviation**2 / max(row_counts[0], 1) + other_deviation**2 / max(row_counts[1], 1)
    )
    is_varying = pooled > 0.0
    differences = np.where(is_varying, np.abs(mean - other_mean), 0.0)
    return differences / np.where(is_varying, pooled, 1.0), differences / np.where(
        is_varying, standard_error, 1.0
    )
