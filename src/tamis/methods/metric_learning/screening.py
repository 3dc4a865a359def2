"""Screening of columns before sDist: select those whose mean, or whose product with some column,
differs between classes beyond chance.

Where noise columns are as many as rows, nearest neighbours carry no information, and steps find
nothing. Class contrasts of first and second moments need no neighbours: they detect shifts, rings
(variances that differ) and XOR (correlations that differ). They do not detect effects of three
columns together.

Every column is tested by itself on all rows, at the cost of reading them. All pairs of columns are
compared on as many rows as the work allows, in single precision and with the variances of normal
columns; the best partners of each column are then tested on all rows. Columns that only pairs
support are dropped where rows plainly have worse neighbours with them: frequent words, for
instance, occur together in other ways in every class, and in a distance they dominate the words
that separate classes.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import t as student

from tamis.methods.metric_learning.edges import compute_margins
from tamis.solvers.neighbors import class_neighbors

EXPECTED_FALSE_COLUMNS = 0.05  # noise columns that pass on average: half by means, half by pairs
PAIR_WORK_PER_ROW = 5e6  # products of pairs of columns for each row of the data
MIN_PAIR_ROWS = 1000  # rows that pairs are compared on, where there are so many
PARTNERS_PER_COLUMN = 4  # columns whose products with a column are tested on all rows
BLOCK_ENTRIES = 1 << 20  # numbers of a block of rows or of pairs (8 MiB)
HARM_NEIGHBORS, HARM_ROWS = 3, 1000  # neighbours and rows that show whether pairs do harm


class ClassWeights(NamedTuple):
    """The fraction of each row in its class (classes, rows), the fraction of each class in the
    total weight, and the effective number of rows of each class.
    """

    row_fractions: np.ndarray
    class_fractions: np.ndarray
    effective_rows: np.ndarray

    @classmethod
    def from_codes(cls, codes, weights) -> "ClassWeights":
        """Compute them from class codes and weights of rows."""
        class_weights = np.where(codes == np.unique(codes)[:, None], weights, 0.0)
        total = class_weights.sum(axis=1)
        return cls(
            class_weights / total[:, None],
            total / total.sum(),
            total**2 / (class_weights**2).sum(axis=1),
        )

    @property
    def n_contrasts(self) -> int:
        """Number of distinct contrasts of one class with the others: 1 for two classes."""
        return 1 if len(self.class_fractions) == 2 else len(self.class_fractions)


def screen_columns(matrix, codes, weights, order, scaling, random) -> np.ndarray:
    """Return the usable columns that pass the screening, or all of them where none does. `order` is
    the order in which rows are drawn.
    """
    columns, classes = scaling.usable, ClassWeights.from_codes(codes, weights)
    matrix = sp.csr_array(matrix) if sp.issparse(matrix) else matrix
    block = matrix if len(columns) == matrix.shape[1] else matrix[:, columns]
    center, scale = scaling.center[columns], scaling.scale[columns]
    single_scores, squares = _single_scores(block, center, scale, classes)
    passes = single_scores > _score_threshold(2 * len(columns), codes, classes)
    n_paired, n_rows = pair_extent(len(columns), len(codes))
    if n_paired > 1:
        paired = np.sort(np.argsort(-single_scores, kind="stable")[:n_paired])
        if n_paired < len(columns):
            block, center, scale = block[:, paired], center[paired], scale[paired]
        std = np.sqrt(classes.class_fractions @ squares[:, paired])
        scale = scale * np.where(std > 0.0, std, 1.0)
        rows = _draw_rows(codes, order, n_rows, random)
        first, second = _best_partners(
            _single_precision(block, rows, center, scale),
            ClassWeights.from_codes(codes[rows], weights[rows]),
        )
        threshold = _score_threshold(len(columns) * (len(columns) - 1) // 2, codes, classes)
        significant = _product_scores(block, center, scale, first, second, classes) > threshold
        passes_with_pairs = passes.copy()
        passes_with_pairs[paired[first[significant]]] = True
        passes_with_pairs[paired[second[significant]]] = True
        rows = _draw_rows(codes, order, HARM_ROWS, random.spawn(1)[0])
        column_sets = columns[passes], columns[passes_with_pairs]
        if not _do_harm(matrix[rows], codes[rows], weights[rows], scaling, *column_sets):
            passes = passes_with_pairs
    return columns[passes] if passes.any() else columns


def _do_harm(matrix, codes, weights, scaling, subset, superset) -> bool:
    """Return whether fewer rows have a positive margin by the superset of columns than by the
    subset, beyond two standard errors. All classes count alike.
    """
    if not 0 < len(subset) < len(superset):
        return False
    is_positive = []
    for columns in (subset, superset):
        points = _scaled(matrix[:, columns], scaling.center[columns], scaling.scale[columns])
        edges = class_neighbors(points, codes, HARM_NEIGHBORS)
        is_positive.append(compute_margins(edges, points) > 0.0)
    row_fractions = ClassWeights.from_codes(codes, weights).row_fractions
    fractions = row_fractions.sum(axis=0) / len(row_fractions)
    losses = is_positive[0].astype(float) - is_positive[1]
    mean = fractions @ losses
    return bool(mean > 2.0 * np.sqrt(fractions**2 @ (losses - mean) ** 2))


def pair_extent(n_columns: int, n_rows: int) -> tuple[int, int]:
    """Return how many columns are paired, and on how many rows: on all rows as long as the work
    allows all pairs, then on fewer rows, then fewer columns.
    """
    work = PAIR_WORK_PER_ROW * max(n_rows, MIN_PAIR_ROWS)
    n_pair_rows = min(n_rows, max(MIN_PAIR_ROWS, int(work / n_columns**2)))
    return min(n_columns, int(np.sqrt(work / n_pair_rows))), n_pair_rows


def _score_threshold(n_tests: int, codes, classes: ClassWeights) -> float:
    """Return the contrast that so many tests of noise exceed with half the expected false
    columns (two-sided Bonferroni).
    """
    freedom = max(1, np.bincount(codes)[np.unique(codes)].min() - 1)
    level = 0.25 * EXPECTED_FALSE_COLUMNS / (n_tests * classes.n_contrasts)
    return float(student.isf(level, freedom))


def _draw_rows(codes, order, n_rows: int, random) -> np.ndarray:
    """Return the sorted indices of about `n_rows` rows, the same fraction of every class."""
    if n_rows >= len(codes):
        return np.arange(len(codes))
    permuted = order[random.permutation(len(order))]
    fraction = n_rows / len(codes)
    class_rows = [permuted[codes[permuted] == c] for c in np.unique(codes)]
    return np.sort(
        np.concatenate([rows[: int(np.ceil(fraction * len(rows)))] for rows in class_rows])
    )


def _scaled(matrix, center, scale) -> np.ndarray:
    """Return dense scaled values."""
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    return (dense - center) / scale


# --------------------------------------------------------------------------- single columns
def _single_scores(matrix, center, scale, classes: ClassWeights) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest contrast of each column's mean and mean square, and the mean squares of
    the classes.
    """
    if sp.issparse(matrix):
        means, squares, fourth = _sparse_moments(matrix, center, scale, classes)
    else:
        means, squares, fourth = np.zeros((3, len(classes.class_fractions), matrix.shape[1]))
        step = max(1, BLOCK_ENTRIES // matrix.shape[1])
        for begin in range(0, len(matrix), step):
            rows = slice(begin, begin + step)
            values, fractions = _scaled(matrix[rows], center, scale), classes.row_fractions[:, rows]
            means += fractions @ values
            values **= 2
            squares += fractions @ values
            values **= 2
            fourth += fractions @ values
    return np.maximum(
        _contrast(means, squares, classes), _contrast(squares, fourth, classes)
    ), squares


def _sparse_moments(matrix, center, scale, classes: ClassWeights) -> list[np.ndarray]:
    """Return the class means of the first, second and fourth powers, in time proportional to the
    nonzeros.
    """
    rows, scaled_zero = sp.csr_array(matrix), -center / scale
    zeros = scaled_zero[rows.indices]
    values = rows.data / scale[rows.indices] + zeros
    moments = []
    for power in (1, 2, 4):
        # The power of each nonzero beyond that of a zero of its column.
        excess = sp.csr_array((values**power - zeros**power, rows.indices, rows.indptr), rows.shape)
        class_means = np.asarray((excess.T @ classes.row_fractions.T).T)
        moments.append(class_means + scaled_zero**power)
    return moments


# --------------------------------------------------------------------------- pairs
def _single_precision(matrix, row_indices, center, scale) -> np.ndarray:
    """Return scaled float32 values of some rows, computed in blocks to avoid a second copy."""
    values = np.empty((len(row_indices), matrix.shape[1]), np.float32)
    step = max(1, BLOCK_ENTRIES // matrix.shape[1])
    for begin in range(0, len(row_indices), step):
        rows = slice(begin, begin + step)
        values[rows] = _scaled(matrix[row_indices[rows]], center, scale)
    return values


def _best_partners(values: np.ndarray, classes: ClassWeights) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs (first, second) of each column with the columns after it whose product differs
    most between classes, in units of the standard error for normal columns.
    """
    width = values.shape[1]
    row_fractions = classes.row_fractions.astype(values.dtype)
    squares = row_fractions @ values**2
    step = max(1, BLOCK_ENTRIES // (width * len(row_fractions)))
    pairs = []
    for begin in range(0, width - 1, step):
        left, right = values[:, begin : begin + step], values[:, begin:]
        means = np.array([(left * fractions[:, None]).T @ right for fractions in row_fractions])
        second = squares[:, begin : begin + step, None] * squares[:, None, begin:] + 2.0 * means**2
        scores = _contrast(means, second, classes)
        scores[np.tril_indices(len(scores), 0, scores.shape[1])] = -1.0
        count = min(PARTNERS_PER_COLUMN, scores.shape[1])
        best = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        column = np.arange(len(scores))[:, None]
        is_after = best > column
        pairs.append(
            np.array([np.broadcast_to(column, best.shape)[is_after], best[is_after]]) + begin
        )
    first, second = np.concatenate(pairs, axis=1)
    return first, second


def _product_scores(matrix, center, scale, first, second, classes: ClassWeights) -> np.ndarray:
    """Return the contrasts of the products of two columns on all rows."""
    means, squares = np.zeros((2, len(classes.class_fractions), len(first)))
    step = max(1, BLOCK_ENTRIES // max(len(first), matrix.shape[1]))
    for begin in range(0, matrix.shape[0], step):
        rows = slice(begin, begin + step)
        values, fractions = _scaled(matrix[rows], center, scale), classes.row_fractions[:, rows]
        products = values[:, first] * values[:, second]
        means += fractions @ products
        products **= 2
        squares += fractions @ products
    return _contrast(means, squares, classes)


def _contrast(means, second, classes: ClassWeights) -> np.ndarray:
    """Return the largest absolute difference of one class from the others, in standard errors, from
    means and mean squares of shape (classes, ...).
    """
    largest = np.zeros_like(means[0])
    fractions = classes.class_fractions
    for c in range(classes.n_contrasts):
        others = np.arange(len(means)) != c
        mixture = (fractions[others] / fractions[others].sum()).astype(means.dtype)
        other_mean = np.tensordot(mixture, means[others], 1)
        other_square = np.tensordot(mixture, second[others], 1)
        variance = np.maximum(second[c] - means[c] ** 2, 0.0) / float(classes.effective_rows[c])
        variance += np.maximum(other_square - other_mean**2, 0.0) / float(
            classes.effective_rows[others].sum()
        )
        difference = np.abs(means[c] - other_mean)
        beyond_rounding = difference > 1e-12 * np.sqrt(np.maximum(second[c], other_square))
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(beyond_rounding, difference / np.sqrt(variance), 0.0)
            largest = np.maximum(largest, scores)
    return largest
