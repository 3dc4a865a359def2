"""Screening of columns before sDist: those whose mean, or whose product with some column, differs
between classes beyond chance.

Among as many noise columns as rows, nearest neighbours are strangers, and steps find nothing. Class
contrasts of first and second moments need no neighbours: they see shifts, rings (variances that
differ) and XOR (correlations that differ). Effects of three columns alone they do not see.

Every column is judged by itself on all rows, at the cost of reading them. All pairs of columns are
looked at on as many rows as the work allows, in single precision and with the variances of normal
columns; the best partners of each column are then judged on all rows. Columns that only pairs speak
for stay out where rows plainly have worse neighbours with them: frequent words, say, come together
in other ways in every class, and in a distance they drown the words that tell.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import t as student

from tamis.methods.metric_learning.edges import margins_of
from tamis.solvers.neighbors import class_edges

LEVEL = 0.05  # noise columns that pass in the mean: half of it alone, half in pairs
WORK = 5e6  # products of pairs a row of the data
FEWEST = 1000  # rows that pairs are looked for on, where there are so many
PARTNERS = 4  # of a column, whose products with it are judged on all rows
NUMBERS = 1 << 20  # of a piece of rows or of pairs
NEIGHBOURS, JUDGES = 3, 1000  # of a row, and of how many rows, that say whether pairs do harm


class Classes(NamedTuple):
    """The share of each row in its class (classes, rows), the share of each class in all weight,
    and how many rows it counts for.
    """

    rows: np.ndarray
    share: np.ndarray
    effective: np.ndarray

    @classmethod
    def of(cls, codes, weights) -> "Classes":
        """From class numbers and weights of rows."""
        mass = np.where(codes == np.unique(codes)[:, None], weights, 0.0)
        total = mass.sum(axis=1)
        return cls(mass / total[:, None], total / total.sum(), total**2 / (mass**2).sum(axis=1))

    @property
    def contrasts(self) -> int:
        """Differences of a class from the rest that say something new."""
        return 1 if len(self.share) == 2 else len(self.share)


def passing_columns(matrix, codes, weights, order, scaling, random) -> np.ndarray:
    """The usable columns that pass, or all of them where none does; `order` is that in which rows
    are drawn.
    """
    columns, classes = scaling.usable, Classes.of(codes, weights)
    matrix = sp.csr_array(matrix) if sp.issparse(matrix) else matrix
    part = matrix if len(columns) == matrix.shape[1] else matrix[:, columns]
    center, scale = scaling.center[columns], scaling.scale[columns]
    alone, squares = _single_scores(part, center, scale, classes)
    kept = alone > _limit(2 * len(columns), codes, classes)
    width, rows = pair_extent(len(columns), len(codes))
    if width > 1:
        chosen = np.sort(np.argsort(-alone, kind="stable")[:width])
        if width < len(columns):
            part, center, scale = part[:, chosen], center[chosen], scale[chosen]
        root = np.sqrt(classes.share @ squares[:, chosen])
        scale = scale * np.where(root > 0.0, root, 1.0)
        drawn = _drawn(codes, order, rows, random)
        first, second = _best_partners(
            _single_precision(part, drawn, center, scale), Classes.of(codes[drawn], weights[drawn])
        )
        limit = _limit(len(columns) * (len(columns) - 1) // 2, codes, classes)
        real = _product_scores(part, center, scale, first, second, classes) > limit
        both = kept.copy()
        both[chosen[first[real]]] = both[chosen[second[real]]] = True
        judges = _drawn(codes, order, JUDGES, random.spawn(1)[0])
        sets = columns[kept], columns[both]
        if not _do_harm(matrix[judges], codes[judges], weights[judges], scaling, *sets):
            kept = both
    return columns[kept] if kept.any() else columns


def _do_harm(matrix, codes, weights, scaling, few, many) -> bool:
    """Whether, all classes alike, fewer rows are nearer to their own class than to the others by
    many columns than by the few among them, beyond two standard errors.
    """
    if not 0 < len(few) < len(many):
        return False
    right = []
    for columns in (few, many):
        points = _scaled(matrix[:, columns], scaling.center[columns], scaling.scale[columns])
        right.append(margins_of(class_edges(points, codes, NEIGHBOURS), points) > 0.0)
    rows = Classes.of(codes, weights).rows
    share = rows.sum(axis=0) / len(rows)
    lost = right[0].astype(float) - right[1]
    mean = share @ lost
    return bool(mean > 2.0 * np.sqrt(share**2 @ (lost - mean) ** 2))


def pair_extent(columns: int, rows: int) -> tuple[int, int]:
    """How many columns are paired, and on how many rows: all rows as long as the work allows all
    pairs, then fewer, then fewer columns.
    """
    work = WORK * max(rows, FEWEST)
    used = min(rows, max(FEWEST, int(work / columns**2)))
    return min(columns, int(np.sqrt(work / used))), used


def _limit(tests: int, codes, classes: Classes) -> float:
    """The contrast that half the level allows to so many tests."""
    freedom = max(1, np.bincount(codes)[np.unique(codes)].min() - 1)
    return float(student.isf(0.25 * LEVEL / (tests * classes.contrasts), freedom))


def _drawn(codes, order, rows: int, random) -> np.ndarray:
    """So many rows, of every class its share."""
    if rows >= len(codes):
        return np.arange(len(codes))
    mixed = order[random.permutation(len(order))]
    share = rows / len(codes)
    each = [mixed[codes[mixed] == c] for c in np.unique(codes)]
    return np.sort(np.concatenate([mine[: int(np.ceil(share * len(mine)))] for mine in each]))


def _scaled(matrix, center, scale) -> np.ndarray:
    """Dense scaled values."""
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    return (dense - center) / scale


# --------------------------------------------------------------------------- columns alone
def _single_scores(matrix, center, scale, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    """Largest contrast of each column's mean and mean square, and the mean squares of classes."""
    if sp.issparse(matrix):
        means, squares, fourth = _sparse_moments(matrix, center, scale, classes)
    else:
        means, squares, fourth = np.zeros((3, len(classes.share), matrix.shape[1]))
        step = max(1, NUMBERS // matrix.shape[1])
        for begin in range(0, len(matrix), step):
            rows = slice(begin, begin + step)
            values, mine = _scaled(matrix[rows], center, scale), classes.rows[:, rows]
            means += mine @ values
            values **= 2
            squares += mine @ values
            values **= 2
            fourth += mine @ values
    return np.maximum(
        _contrast(means, squares, classes), _contrast(squares, fourth, classes)
    ), squares


def _sparse_moments(matrix, center, scale, classes: Classes) -> list[np.ndarray]:
    """Class means of the first, second and fourth powers, at the cost of the nonzeros."""
    rows, zero = sp.csr_array(matrix), -center / scale
    inside = zero[rows.indices]
    values = rows.data / scale[rows.indices] + inside
    found = []
    for power in (1, 2, 4):  # what a nonzero has beyond a zero of its column
        apart = sp.csr_array((values**power - inside**power, rows.indices, rows.indptr), rows.shape)
        found.append(np.asarray((apart.T @ classes.rows.T).T) + zero**power)
    return found


# --------------------------------------------------------------------------- pairs
def _single_precision(matrix, drawn, center, scale) -> np.ndarray:
    """Scaled values of some rows, a piece at a time: no second copy is made."""
    found = np.empty((len(drawn), matrix.shape[1]), np.float32)
    step = max(1, NUMBERS // matrix.shape[1])
    for begin in range(0, len(drawn), step):
        rows = slice(begin, begin + step)
        found[rows] = _scaled(matrix[drawn[rows]], center, scale)
    return found


def _best_partners(values: np.ndarray, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a column with those after it whose product differs most between classes, with
    the variance that it has for normal columns.
    """
    width = values.shape[1]
    shares = classes.rows.astype(values.dtype)
    squares = shares @ values**2
    step = max(1, NUMBERS // (width * len(shares)))
    pairs = []
    for begin in range(0, width - 1, step):
        left, after = values[:, begin : begin + step], values[:, begin:]
        means = np.array([(left * share[:, None]).T @ after for share in shares])
        second = squares[:, begin : begin + step, None] * squares[:, None, begin:] + 2.0 * means**2
        found = _contrast(means, second, classes)
        found[np.tril_indices(len(found), 0, found.shape[1])] = -1.0
        count = min(PARTNERS, found.shape[1])
        best = np.argpartition(-found, count - 1, axis=1)[:, :count]
        at = np.arange(len(found))[:, None]
        inside = best > at
        pairs.append(np.array([np.broadcast_to(at, best.shape)[inside], best[inside]]) + begin)
    first, second = np.concatenate(pairs, axis=1)
    return first, second


def _product_scores(matrix, center, scale, first, second, classes: Classes) -> np.ndarray:
    """Contrasts of products of two columns on all rows."""
    means, squares = np.zeros((2, len(classes.share), len(first)))
    step = max(1, NUMBERS // max(len(first), matrix.shape[1]))
    for begin in range(0, matrix.shape[0], step):
        rows = slice(begin, begin + step)
        values, mine = _scaled(matrix[rows], center, scale), classes.rows[:, rows]
        products = values[:, first] * values[:, second]
        means += mine @ products
        products **= 2
        squares += mine @ products
    return _contrast(means, squares, classes)


def _contrast(means, second, classes: Classes) -> np.ndarray:
    """Largest absolute difference of a class from the rest, in standard errors, from means and mean
    squares (classes, ...).
    """
    best = np.zeros_like(means[0])
    for at in range(classes.contrasts):
        rest = np.arange(len(means)) != at
        part = (classes.share[rest] / classes.share[rest].sum()).astype(means.dtype)
        other, square = np.tensordot(part, means[rest], 1), np.tensordot(part, second[rest], 1)
        error = np.maximum(second[at] - means[at] ** 2, 0.0) / float(classes.effective[at])
        error += np.maximum(square - other**2, 0.0) / float(classes.effective[rest].sum())
        gap = np.abs(means[at] - other)
        real = gap > 1e-12 * np.sqrt(np.maximum(second[at], square))
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.maximum(best, np.where(real, gap / np.sqrt(error), 0.0))
    return best
