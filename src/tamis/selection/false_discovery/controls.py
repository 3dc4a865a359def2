"""Controls of each candidate: its strongest correlates, and common factors of the table.

The substitutes of a candidate, which correlate more strongly, are never among its controls.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from tamis.selection.false_discovery.conditional_test import (
    GRAM_RIDGE,
    MIN_RESIDUAL_FRACTION,
    ConditionalTest,
)
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns
from tamis.solvers.logistic import solve_ridge

MAX_BLOCK_ENTRIES = 8_000_000  # numbers in a block of correlations or of columns
MAX_COMPONENTS = 8  # common factors
NOISE_EDGE_RATIO = 1.1  # singular value of a factor over the largest of pure noise
# The Gram matrix is computed for so many rows or columns and so many multiplications at most.
MAX_GRAM_SIZE, MAX_GRAM_PRODUCTS = 800, 10**9
MIN_KRYLOV_BLOCKS, MAX_KRYLOV_BLOCKS = 4, 12  # blocks of the Krylov space
OVERSAMPLING = 4  # directions in addition to `MAX_COMPONENTS`
TWIN_CORRELATION = 0.99  # above it no other control is dropped: the two are indistinguishable
MIN_CONTRIBUTION = 1e-3  # coefficient, in deviations, above which a control determines a column
EIGENVALUE_TOL = 1e-10  # relative change of the squared singular values at convergence


class CorrelatedColumns(NamedTuple):
    """Substitutes of one candidate with their correlations, and its strongest other correlates."""

    substitutes: np.ndarray
    correlations: np.ndarray
    correlates: np.ndarray


def correlated_columns(
    columns: StandardizedColumns,
    candidates: np.ndarray,
    substitutes: float | None,
    n_correlates: int,
    min_correlation: float,
) -> list[CorrelatedColumns]:
    """Return the correlated columns of every candidate."""
    correlated: list[CorrelatedColumns] = []
    block_size = max(1, MAX_BLOCK_ENTRIES // max(columns.n_columns, columns.n_rows))
    for start in range(0, len(candidates), block_size):
        block = candidates[start : start + block_size]
        weighted = columns.dense_columns(block) * (columns.weights / columns.total_weight)[:, None]
        correlated += split_by_correlation(
            columns.cross_products(weighted), block, substitutes, n_correlates, min_correlation
        )
    return correlated


def split_by_correlation(
    correlations: np.ndarray,
    candidates: np.ndarray,
    substitutes: float | None,
    n_correlates: int,
    min_correlation: float,
) -> list[CorrelatedColumns]:
    """Return the correlated columns of candidates, from correlations (columns, candidates)."""
    correlated = []
    threshold = np.inf if substitutes is None else substitutes
    for column_index, candidate in enumerate(candidates):
        candidate_correlations = np.clip(correlations[:, column_index], -1.0, 1.0)
        indices = np.flatnonzero(np.abs(candidate_correlations) > min(min_correlation, threshold))
        indices = indices[indices != candidate]
        magnitudes = np.abs(candidate_correlations[indices])
        is_substitute = magnitudes > threshold
        substitute_indices = indices[is_substitute]
        # Ties, as of duplicate columns, keep the order of the columns.
        others, magnitudes = (
            indices[~is_substitute & (magnitudes > min_correlation)],
            magnitudes[~is_substitute & (magnitudes > min_correlation)],
        )
        correlates = others[np.argsort(-magnitudes, kind="stable")[:n_correlates]]
        correlated.append(
            CorrelatedColumns(
                substitute_indices, candidate_correlations[substitute_indices], correlates
            )
        )
    return correlated


def find_collinear_controls(gram, test: ConditionalTest, n_columns: int) -> np.ndarray:
    """Return the controls that jointly determine the column of a test, without a duplicate of it.

    `gram` is the Gram matrix of the design. The result is empty if a residual remains, or if one
    control alone determines the column.
    """
    regressors = np.append(test.controls, n_columns - 1)
    square, products, squares = (
        gram[test.column, test.column],
        gram[regressors, test.column],
        np.diagonal(gram),
    )
    is_twin = np.abs(products[:-1]) > TWIN_CORRELATION * np.sqrt(square * squares[test.controls])
    if square == 0.0 or is_twin.any():
        return test.controls[:0]
    coefs = solve_ridge(gram[np.ix_(regressors, regressors)], products, GRAM_RIDGE * squares[-1])
    residual_square = square - float(products @ coefs)
    return (
        test.controls[np.abs(coefs[:-1]) > MIN_CONTRIBUTION]
        if residual_square < MIN_RESIDUAL_FRACTION * square
        else test.controls[:0]
    )


def exclude_group(columns: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the columns that are not in `group`, which is sorted."""
    if not len(group):
        return columns
    positions = np.minimum(np.searchsorted(group, columns), len(group) - 1)
    return columns[group[positions] != columns]


def add_claimed_controls(
    tests: list[ConditionalTest], n_claimed: int, excluded: list[np.ndarray], max_controls: int
) -> list[ConditionalTest]:
    """Return the tests with the columns of the first `n_claimed` tests as additional controls.

    An odds ratio is biased towards 1 by every relevant column that the model lacks. Columns in
    `excluded`, the group of a test, are not added; a test has at most `max_controls`.
    """
    extended = []
    for test, group in zip(tests, excluded, strict=True):
        used = {test.column, *test.controls.tolist(), *group.tolist()}
        claimed_columns = [
            other.column for other in tests[:n_claimed] if other.output == test.output
        ]
        additional = [column for column in claimed_columns if column not in used]
        capacity = max(0, max_controls - len(test.controls))
        extended.append(
            test._replace(controls=np.append(test.controls, additional[:capacity]).astype(np.int64))
        )
    return extended


def leading_components(columns: StandardizedColumns) -> np.ndarray:
    """Return loadings (columns, factors) of the common factors.

    These are the right singular vectors of the table whose singular values exceed those of noise.
    """
    edge = NOISE_EDGE_RATIO * (
        np.sqrt(columns.total_weight) + np.sqrt(np.count_nonzero(columns.is_live))
    )
    min_dimension = min(columns.n_rows, columns.n_columns)
    if (
        min_dimension <= MAX_GRAM_SIZE
        and min_dimension * columns.n_rows * columns.n_columns <= MAX_GRAM_PRODUCTS
    ):
        return _gram_components(columns, edge)
    return _krylov_components(columns, edge)


def _gram_components(columns: StandardizedColumns, edge: float) -> np.ndarray:
    """Return loadings from the Gram matrix of the rows or of the columns, the smaller one."""
    root_weights, is_tall = np.sqrt(columns.weights)[:, None], columns.n_rows > columns.n_columns
    block_size = columns.n_columns if is_tall else max(1, MAX_BLOCK_ENTRIES // columns.n_rows)
    gram = np.zeros((1, 1))
    for start in range(0, columns.n_columns, block_size):
        stop = min(start + block_size, columns.n_columns)
        block = root_weights * columns.dense_columns(np.arange(start, stop))
        gram = gram + (block.T @ block if is_tall else block @ block.T)
    n_vectors = min(MAX_COMPONENTS, len(gram))
    values, vectors = eigh(gram, subset_by_index=(len(gram) - n_vectors, len(gram) - 1))
    leading = vectors[:, values > edge**2]
    loadings = leading if is_tall else columns.cross_products(root_weights * leading)
    return loadings / np.maximum(np.linalg.norm(loadings, axis=0), 1e-300)


def _krylov_components(columns: StandardizedColumns, edge: float) -> np.ndarray:
    """Return loadings from a block Krylov space with a fixed start, grown until convergence."""
    block_size = min(MAX_COMPONENTS + OVERSAMPLING, columns.n_rows, columns.n_columns)
    weights = columns.weights[:, None]
    block = np.random.default_rng(0).normal(size=(columns.n_rows, block_size))
    basis = np.zeros((columns.n_rows, 0))
    images = np.zeros((columns.n_rows, 0))
    previous = None
    for _ in range(MAX_KRYLOV_BLOCKS):
        for _ in range(2):  # a second orthogonalization removes the rounding errors of the first
            block = block - basis @ (basis.T @ block)
        block, _ = np.linalg.qr(block)
        # square roots of the weights on both sides make the product symmetric
        image = np.sqrt(weights) * columns.scores(columns.cross_products(np.sqrt(weights) * block))
        basis, images = np.hstack([basis, block]), np.hstack([images, image])
        values, vectors = np.linalg.eigh(basis.T @ images)
        leading_values = values[-MAX_COMPONENTS:][values[-MAX_COMPONENTS:] > edge**2]
        may_stop = (
            previous is not None
            and len(previous) == len(leading_values)
            and basis.shape[1] >= MIN_KRYLOV_BLOCKS * block_size
        )
        if may_stop and np.all(
            np.abs(leading_values - previous) <= EIGENVALUE_TOL * leading_values
        ):
            break
        if basis.shape[1] + block_size > columns.n_rows:
            break
        previous, block = leading_values, image
    n_leading = len(leading_values)
    leading = basis @ vectors[:, len(values) - n_leading :]
    loadings = columns.cross_products(np.sqrt(weights) * leading)
    return loadings / np.maximum(np.linalg.norm(loadings, axis=0), 1e-300)
