"""What each candidate is held against: its strongest correlates, and common factors of the table.

Columns that a candidate may stand in for, its substitutes, are never among them.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from tamis.selection.false_discovery.conditional_test import MIN_RESIDUAL_FRACTION, GRAM_RIDGE, ConditionalTest
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns
from tamis.solvers.logistic import solve_ridge

CELLS = 8_000_000  # numbers of a block of correlations
MAX_COMPONENTS = 8  # most common factors
NOISE_EDGE_RATIO = 1.1  # a factor's singular value over the largest that noise has
# rows or columns, and products of numbers, up to which all rows or columns are multiplied
MAX_GRAM_SIZE, MAX_GRAM_PRODUCTS = 800, 10**9
MIN_KRYLOV_BLOCKS, MAX_KRYLOV_BLOCKS = 4, 12  # blocks of a Krylov space, at least and at most
OVERSAMPLING = 4  # directions beside the wanted ones
TWIN_CORRELATION = 0.99  # correlation of columns that cannot be told apart
MIN_CONTRIBUTION = 1e-3  # weight of a column that takes part in making another, in units of their spread
EIGENVALUE_TOL = 1e-10  # a relative change of squared singular values that ends the search


class CorrelatedColumns(NamedTuple):
    """Of one candidate: its substitutes with their correlations, and its strongest correlates."""

    substitutes: np.ndarray
    correlations: np.ndarray
    near: np.ndarray


def company(
    columns: StandardizedColumns, candidates: np.ndarray, substitutes: float | None, n_near: int, least: float
) -> list[CorrelatedColumns]:
    """Of every candidate, from blocks of correlations with all columns."""
    found: list[CorrelatedColumns] = []
    wide = max(1, CELLS // max(columns.n_columns, columns.n_rows))
    for start in range(0, len(candidates), wide):
        block = candidates[start : start + wide]
        weighted = columns.picked(block) * (columns.weights / columns.total)[:, None]
        found += split_by_correlation(columns.slopes(weighted), block, substitutes, n_near, least)
    return found


def split_by_correlation(
    correlations: np.ndarray,
    candidates: np.ndarray,
    substitutes: float | None,
    n_near: int,
    least: float,
) -> list[CorrelatedColumns]:
    """Of candidates, from the correlations (columns, candidates) of all columns with them."""
    found = []
    bar = np.inf if substitutes is None else substitutes
    for place, candidate in enumerate(candidates):
        own = np.clip(correlations[:, place], -1.0, 1.0)
        large = np.flatnonzero(np.abs(own) > min(least, bar))
        large = large[large != candidate]
        size = np.abs(own[large])
        grouped = size > bar
        group = large[grouped]
        # Equal correlations (twins among the correlates) are taken in the order of the columns.
        rest, size = large[~grouped & (size > least)], size[~grouped & (size > least)]
        near = rest[np.argsort(-size, kind="stable")[:n_near]]
        found.append(CorrelatedColumns(group, own[group], near))
    return found


def find_collinear_controls(gram, test: ConditionalTest, width: int) -> np.ndarray:
    """Controls that together leave nothing of a test's column, none of them its twin; by the
    products of a sheet's columns.
    """
    at = np.append(test.controls, width - 1)
    own, wanted, squares = gram[test.column, test.column], gram[at, test.column], np.diagonal(gram)
    twins = np.abs(wanted[:-1]) > TWIN_CORRELATION * np.sqrt(own * squares[test.controls])
    if own == 0.0 or twins.any():
        return test.controls[:0]
    fit = solve_ridge(gram[np.ix_(at, at)], wanted, GRAM_RIDGE * squares[-1])
    left = own - float(wanted @ fit)
    return test.controls[np.abs(fit[:-1]) > MIN_CONTRIBUTION] if left < MIN_RESIDUAL_FRACTION * own else test.controls[:0]


def exclude_group(columns: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Columns that are not in a group, whose columns ascend."""
    if not len(group):
        return columns
    at = np.minimum(np.searchsorted(group, columns), len(group) - 1)
    return columns[group[at] != columns]


def add_claimed_controls(
    tests: list[ConditionalTest], claimed: int, apart: list[np.ndarray], most: int
) -> list[ConditionalTest]:
    """Tests that have the first ones, which are claimed, as controls too, up to so many: a change
    of odds is nearer to 1 the more of what tells is left out. Those `apart`, in a test's own group,
    stay out.
    """
    found = []
    for own, group in zip(tests, apart, strict=True):
        taken = {own.column, *own.controls.tolist(), *group.tolist()}
        others = [one.column for one in tests[:claimed] if one.output == own.output]
        more = [place for place in others if place not in taken]
        room = max(0, most - len(own.controls))
        found.append(own._replace(controls=np.append(own.controls, more[:room]).astype(np.int64)))
    return found


def leading_components(columns: StandardizedColumns) -> np.ndarray:
    """Loadings (columns, few) of the common factors: leading right singular vectors of the table,
    as far as they rise above noise.
    """
    edge = NOISE_EDGE_RATIO * (np.sqrt(columns.total) + np.sqrt(np.count_nonzero(columns.live)))
    small = min(columns.n_rows, columns.n_columns)
    if small <= MAX_GRAM_SIZE and small * columns.n_rows * columns.n_columns <= MAX_GRAM_PRODUCTS:
        return _gram_components(columns, edge)
    return _krylov_components(columns, edge)


def _gram_components(columns: StandardizedColumns, edge: float) -> np.ndarray:
    """From all products of the rows, or of the columns, whichever are fewer."""
    root, tall = np.sqrt(columns.weights)[:, None], columns.n_rows > columns.n_columns
    step = columns.n_columns if tall else max(1, CELLS // columns.n_rows)
    gram = np.zeros((1, 1))
    for start in range(0, columns.n_columns, step):
        stop = min(start + step, columns.n_columns)
        part = root * columns.picked(np.arange(start, stop))
        gram = gram + (part.T @ part if tall else part @ part.T)
    few = min(MAX_COMPONENTS, len(gram))
    values, vectors = eigh(gram, subset_by_index=(len(gram) - few, len(gram) - 1))
    chosen = vectors[:, values > edge**2]
    loadings = chosen if tall else columns.slopes(root * chosen)
    return loadings / np.maximum(np.linalg.norm(loadings, axis=0), 1e-300)


def _krylov_components(columns: StandardizedColumns, edge: float) -> np.ndarray:
    """By a block Krylov space of fixed beginning, deepened until the values above the edge stay."""
    wide = min(MAX_COMPONENTS + OVERSAMPLING, columns.n_rows, columns.n_columns)
    weights = columns.weights[:, None]
    block = np.random.default_rng(0).normal(size=(columns.n_rows, wide))
    basis = np.zeros((columns.n_rows, 0))
    images = np.zeros((columns.n_rows, 0))
    before = None
    for _ in range(MAX_KRYLOV_BLOCKS):
        for _ in range(2):  # twice is enough
            block = block - basis @ (basis.T @ block)
        block, _ = np.linalg.qr(block)
        # rows of weights under the root, so that the product is symmetric
        image = np.sqrt(weights) * columns.scores(columns.slopes(np.sqrt(weights) * block))
        basis, images = np.hstack([basis, block]), np.hstack([images, image])
        values, vectors = np.linalg.eigh(basis.T @ images)
        above = values[-MAX_COMPONENTS:][values[-MAX_COMPONENTS:] > edge**2]
        deep = before is not None and len(before) == len(above) and basis.shape[1] >= MIN_KRYLOV_BLOCKS * wide
        if deep and np.all(np.abs(above - before) <= EIGENVALUE_TOL * above):
            break
        if basis.shape[1] + wide > columns.n_rows:
            break
        before, block = above, image
    few = len(above)
    chosen = basis @ vectors[:, len(values) - few :]
    loadings = columns.slopes(np.sqrt(weights) * chosen)
    return loadings / np.maximum(np.linalg.norm(loadings, axis=0), 1e-300)
