"""Low-rank factors by sums: products X'(XQ), triangles in place of bases of so many rows as there
are, and Lanczos' method on the error.

With F such that U = X F nothing of the size of the rows is held but U itself, which each partition
makes anew where it is asked for; a column of U is as much less exact as its singular value is
smaller than the first. (Below X is centred and its rows are weighted.)
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular, svd
from sklearn.utils import check_random_state

from tamis.base.validation import take_blocks, take_weights, warn_user
from tamis.distributed.executors import KEPT
from tamis.distributed.summing.given import columns_of, pieces
from tamis.distributed.summing.tree import Counted, Sums, added
from tamis.methods.low_rank_lasso.factorization import LowRankFactorization
from tamis.numerics.csr import Csr
from tamis.solvers.randomized_svd import Operator, bounded, largest_value, orthonormal, trimmed


class Asked(NamedTuple):
    """How rows become a linear map: the model that takes them, its targets (None: it has none), and
    the means and precision of the columns.
    """

    model: Any
    targets: Any
    center: bool
    dtype: str
    mean: np.ndarray | None = None


class Moments(NamedTuple):
    """Sums over the rows: of the columns, of their squares, of the weights."""

    sums: np.ndarray
    squares: np.ndarray
    weight: float


# --------------------------------------------------------------------------- what workers do
def operators(blocks: Counted, asked: Asked) -> Iterator[tuple[Operator, Any]]:
    """Block after block as a linear map, with its targets."""
    given: Iterator[tuple[Any, Any, np.ndarray]]
    if asked.targets is None:
        given = ((one.X, None, take_weights(one.weights, one.X.shape[0])) for one in blocks)
    else:
        given = pieces(asked.model, asked.targets, blocks)
    for X, targets, weights in given:
        rows = take_blocks(asked.model, X, reset=False, chunk=True)
        matrix = rows.scipy() if isinstance(rows, Csr) else rows
        roots = np.sqrt(weights) if len(weights) else None
        yield Operator(matrix, roots, False, np.dtype(asked.dtype), asked.mean), targets


def moments_of(blocks: Counted, asked: Asked) -> Moments:
    """Sums of columns that are not centred yet."""
    width = asked.model.n_features_in_
    total = Moments(np.zeros(width), np.zeros(width), 0.0)
    for operator, _ in operators(blocks, asked):
        weights = np.square(operator.roots, dtype=np.float64)
        sums = operator.turned @ weights.astype(operator.dtype)
        own = Moments(sums.astype(np.float64), operator.column_squares(), float(weights.sum()))
        total = Moments(*added(total, own))
    return total


def returned(blocks: Counted, asked: Asked, block: np.ndarray) -> tuple[np.ndarray, float]:
    """X'(XQ) for the columns of a block or a vector, and the squares of XQ."""
    total, square = np.zeros(block.shape, asked.dtype), 0.0
    for operator, _ in operators(blocks, asked):
        image = operator.times(block)
        total += operator.turned_times(image)
        square += float(np.vdot(image, image))
    return total, square


def triangle(blocks: Counted, asked: Asked, block: np.ndarray) -> np.ndarray:
    """The triangle R of a basis of XQ, which has R'R = (XQ)'(XQ)."""
    found = np.zeros((0, block.shape[1]), asked.dtype)
    for operator, _ in operators(blocks, asked):
        found = taller(found, operator.times(block))
    return found


def taller(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The triangle of two blocks of rows, of which it takes the place."""
    found: Any = np.linalg.qr(np.concatenate([above, below]), mode="r")
    return found


def returned_with_triangle(blocks: Counted, asked: Asked, block: np.ndarray) -> tuple:
    """X'(XQ), and the triangle of XQ."""
    total = np.zeros(block.shape, asked.dtype)
    found = np.zeros((0, block.shape[1]), asked.dtype)
    for operator, _ in operators(blocks, asked):
        image = operator.times(block)
        total += operator.turned_times(image)
        found = taller(found, image)
    return total, found


def both(left: tuple, right: tuple) -> tuple:
    """Products add up, triangles are put on top of one another."""
    return left[0] + right[0], taller(left[1], right[1])


def images(blocks: Counted, asked: Asked, block: np.ndarray) -> np.ndarray:
    """XQ itself."""
    return np.concatenate([operator.times(block) for operator, _ in operators(blocks, asked)])


# --------------------------------------------------------------------------- what is done here
def learn(model: LowRankFactorization, sums: Sums) -> LowRankFactorization:
    """Factorise the rows of all partitions."""
    model._validate_params()
    own = columns_of(model, sums)
    factor(model, sums, Asked(own, None, bool(model.center), model.dtype))
    return model


def factor(model: LowRankFactorization, sums: Sums, asked: Asked) -> tuple[Asked, np.ndarray]:
    """Fit a factorisation; how rows are centred, and F with U = X F."""
    random, dtype = check_random_state(model.random_state), np.dtype(model.dtype)
    moments = Moments(*sums.total(moments_of, asked))
    mean = moments.sums / moments.weight if asked.center else np.zeros_like(moments.sums)
    asked = asked._replace(mean=mean)
    size, taken = _shape(sums), float(np.sqrt(moments.weight) * np.linalg.norm(mean))
    F, S, W = _decomposed(model, sums, asked, random, size, taken)
    scale = S.astype(dtype)

    def error(v):
        back, square = sums.total(returned, asked, v - F @ (scale * (W.T @ v)))
        return square, back - W @ (scale * (F.T @ back))

    bounds = largest_value(error, size[1], dtype, model.n_lanczos, model.delta, random)
    squares = np.maximum(moments.squares - moments.weight * mean**2, 0.0)
    found = bounded(float(squares.sum()), S, *bounds)
    model.error_lower_, model.error_upper_, model.error_fro_ = found
    model.S_, model.W_, model.mean_ = S, W, mean
    model.n_components_, model.n_features_in_ = len(S), size[1]
    model.U_ = _left(sums, asked, F, size[0])
    return asked, F


def _shape(sums: Sums) -> tuple[int, int]:
    return sums.agreed.survey.rows, sums.agreed.survey.features


def _decomposed(model, sums: Sums, asked: Asked, random, shape: tuple[int, int], taken: float):
    """F, S and W, as `truncated_svd` has U, S and W, by the same random projections."""
    (n, d), dtype = shape, np.dtype(model.dtype)
    width = min(model.n_components + model.n_oversamples, n, d)
    basis = random.normal(size=(d, width)).astype(dtype)
    for _ in range(model.n_power_iter):
        basis = orthonormal(sums.total(returned, asked, basis)[0])
    # XQ is U1 times a triangle; from its singular values, Q T with X Q T orthonormal but for
    # rounding, which a second triangle mends.
    found = sums.total(triangle, asked, basis, merge=taller)
    _, values, right = svd(found, full_matrices=False)
    least = max(float(values.max(initial=0.0)), taken) * max(n, d) * np.finfo(dtype).eps
    kept = values > least
    if not kept.any():
        return np.zeros((d, 0), dtype), np.zeros(0), np.zeros((d, 0), dtype)
    turned = basis @ (right[kept].T / values[kept])
    back, second = sums.total(returned_with_triangle, asked, turned, merge=both)
    back = solve_triangular(second, back.T, trans="T").T
    left, S, right = svd(back, full_matrices=False)
    rank = model.n_components
    F = turned @ solve_triangular(second, right[:rank].T)
    return trimmed(F, S[:rank], left[:, :rank], max(n, d), taken)


def _left(sums: Sums, asked: Asked, F: np.ndarray, rows: int) -> np.ndarray:
    """U as a whole, where that is no more than this machine would hold of partitions."""
    if rows * F.shape[1] * F.itemsize > KEPT:
        warn_user(
            f"U_ is left empty: {rows:,} rows of {F.shape[1]} numbers are more than this process "
            "should hold. Partitions make their own; transform gives coordinates of any rows.",
            UserWarning,
        )
        return np.zeros((0, F.shape[1]), F.dtype)
    return np.ascontiguousarray(np.concatenate(sums.each(images, asked, F)))
