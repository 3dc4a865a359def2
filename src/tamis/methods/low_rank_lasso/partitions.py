"""The low-rank models on rows that lie in partitions: products X'(XQ), triangular factors in place
of bases with as many rows as X, and Lanczos' method on the error; then the targets, as k numbers
each, on all workers.

With F such that U = X F no array has as many rows as X but U itself, which a partition computes
where it is needed. A column of U is less exact in proportion as its singular value is smaller than
the first. (Below X is centred and its rows are weighted.)
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular, svd
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from tamis.base.partition_sums import (
    PartitionBlocks,
    PartitionSums,
    add,
    class_weights,
    encoded_blocks,
    first_targets,
    with_columns,
)
from tamis.base.validation import validate_array, validate_sample_weight, warn_user
from tamis.methods.low_rank_lasso.compression import (
    CANCELLATION_RATIO,
    TARGETS_PER_CHUNK,
    CompressedTargets,
)
from tamis.methods.low_rank_lasso.spg.solver import BATCHES_PER_TASK, MAX_BATCH_TARGETS, SPGResult
from tamis.numerics.csr import Csr
from tamis.solvers.randomized_svd import (
    CenteredOperator,
    bound_largest_singular_value,
    drop_rounding,
    error_bounds,
    orthonormal_basis,
)

TASK_TARGETS = (
    MAX_BATCH_TARGETS * BATCHES_PER_TASK
)  # targets that one task solves, as many as one thread does


class RowMap(NamedTuple):
    """How rows become a linear map: the model that validates them, its targets (None where it has
    none), whether columns are centred, the precision, and the means of the columns.
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


def refuse_sums(model: Any) -> str:
    """Why the parameters rule sums out; empty where they do not."""
    if getattr(model, "threshold", None) == "f1":
        return "thresholds of the best F1 need the scores of all rows; pass a number as threshold"
    return ""


# --------------------------------------------------------------------------- tasks: the rows
def _operators(blocks: PartitionBlocks, row_map: RowMap) -> Iterator[tuple[CenteredOperator, Any]]:
    """Block after block as a linear map, with its encoded targets."""
    triples: Iterator[tuple[Any, Any, np.ndarray]]
    if row_map.targets is None:
        triples = (
            (one.X, None, validate_sample_weight(one.weights, one.X.shape[0])) for one in blocks
        )
    else:
        triples = iter(encoded_blocks(row_map.model, row_map.targets, blocks))
    for X, coded, weights in triples:
        rows = validate_array(row_map.model, X, reset=False, chunk=True)
        matrix = rows.to_scipy() if isinstance(rows, Csr) else rows
        roots = np.sqrt(weights) if len(weights) else None
        yield CenteredOperator(matrix, roots, False, np.dtype(row_map.dtype), row_map.mean), coded


def _moments(blocks: PartitionBlocks, row_map: RowMap) -> Moments:
    """Sums of columns that are not centred yet."""
    width = row_map.model.n_features_in_
    total = Moments(np.zeros(width), np.zeros(width), 0.0)
    for operator, _ in _operators(blocks, row_map):
        weights = np.square(operator.roots, dtype=np.float64)
        sums = operator.transpose @ weights.astype(operator.dtype)
        moments = Moments(sums.astype(np.float64), operator.column_squares(), float(weights.sum()))
        total = Moments(*add(total, moments))
    return total


def _gram_product(
    blocks: PartitionBlocks, row_map: RowMap, Q: np.ndarray
) -> tuple[np.ndarray, float]:
    """X'(XQ) for a matrix or a vector Q, and the sum of squares of XQ."""
    total, square = np.zeros(Q.shape, row_map.dtype), 0.0
    for operator, _ in _operators(blocks, row_map):
        image = operator.matmat(Q)
        total += operator.rmatmat(image)
        square += float(np.vdot(image, image))
    return total, square


def _triangle(blocks: PartitionBlocks, row_map: RowMap, Q: np.ndarray) -> np.ndarray:
    """The triangular factor R of XQ, R'R = (XQ)'(XQ)."""
    triangle = np.zeros((0, Q.shape[1]), row_map.dtype)
    for operator, _ in _operators(blocks, row_map):
        triangle = _stack_triangles(triangle, operator.matmat(Q))
    return triangle


def _stack_triangles(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The triangular factor of two blocks of rows, one above the other."""
    triangle: Any = np.linalg.qr(np.concatenate([above, below]), mode="r")
    return triangle


def _gram_product_and_triangle(
    blocks: PartitionBlocks, row_map: RowMap, Q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """X'(XQ), and the triangular factor of XQ."""
    total = np.zeros(Q.shape, row_map.dtype)
    triangle = np.zeros((0, Q.shape[1]), row_map.dtype)
    for operator, _ in _operators(blocks, row_map):
        image = operator.matmat(Q)
        total += operator.rmatmat(image)
        triangle = _stack_triangles(triangle, image)
    return total, triangle


def _merge_with_triangle(left: tuple, right: tuple) -> tuple:
    """Add the products, and stack the triangles."""
    return left[0] + right[0], _stack_triangles(left[1], right[1])


def _image(blocks: PartitionBlocks, row_map: RowMap, Q: np.ndarray) -> np.ndarray:
    """XQ itself."""
    return np.concatenate([operator.matmat(Q) for operator, _ in _operators(blocks, row_map)])


# --------------------------------------------------------------------------- the factorisation
def fit_factorization(model: Any, sums: PartitionSums) -> None:
    """Fit a `LowRankFactorization` on the rows of all partitions."""
    model._validate_params()
    worker_model = with_columns(model, sums.n_features)
    _factorise(model, sums, RowMap(worker_model, None, bool(model.center), model.dtype))


def _factorise(model: Any, sums: PartitionSums, row_map: RowMap) -> tuple[RowMap, np.ndarray]:
    """Fit a factorisation; return the map with the means of the columns, and F with U = X F."""
    random, dtype = check_random_state(model.random_state), np.dtype(model.dtype)
    moments = Moments(*sums.total(_moments, row_map))
    mean = moments.sums / moments.weight if row_map.center else np.zeros_like(moments.sums)
    row_map = row_map._replace(mean=mean)
    mean_length = float(np.sqrt(moments.weight) * np.linalg.norm(mean))
    F, S, W = _truncated_svd(model, sums, row_map, random, mean_length)
    scale = S.astype(dtype)

    def error(v):
        back, square = sums.total(_gram_product, row_map, v - F @ (scale * (W.T @ v)))
        return square, back - W @ (scale * (F.T @ back))

    bounds = bound_largest_singular_value(
        error, sums.n_features, dtype, model.n_lanczos, model.delta, random
    )
    squares = np.maximum(moments.squares - moments.weight * mean**2, 0.0)
    errors = error_bounds(float(squares.sum()), S, *bounds)
    model.error_lower_, model.error_upper_, model.error_fro_ = errors
    model.S_, model.W_, model.mean_ = S, W, mean
    model.n_components_, model.n_features_in_ = len(S), sums.n_features
    model.U_ = _left_vectors(sums, row_map, F)
    return row_map, F


def _truncated_svd(model, sums: PartitionSums, row_map: RowMap, random, mean_length: float):
    """F, S and W, from the same random projections as `truncated_svd` makes U, S and W."""
    n, d, dtype = sums.n_rows, sums.n_features, np.dtype(model.dtype)
    width = min(model.n_components + model.n_oversamples, n, d)
    basis = random.normal(size=(d, width)).astype(dtype)
    for _ in range(model.n_power_iter):
        basis = orthonormal_basis(sums.total(_gram_product, row_map, basis)[0])
    # XQ is U1 times a triangle; from its singular values, Q T with X Q T orthonormal but for
    # rounding, which a second triangle removes.
    triangle = sums.total(_triangle, row_map, basis, merge=_stack_triangles)
    _, values, right = svd(triangle, full_matrices=False)
    smallest = max(float(values.max(initial=0.0)), mean_length) * max(n, d) * np.finfo(dtype).eps
    is_kept = values > smallest
    if not is_kept.any():
        return np.zeros((d, 0), dtype), np.zeros(0), np.zeros((d, 0), dtype)
    turned = basis @ (right[is_kept].T / values[is_kept])
    back, second = sums.total(
        _gram_product_and_triangle, row_map, turned, merge=_merge_with_triangle
    )
    back = solve_triangular(second, back.T, trans="T").T
    left, S, right = svd(back, full_matrices=False)
    rank = model.n_components
    F = turned @ solve_triangular(second, right[:rank].T)
    return drop_rounding(F, S[:rank], left[:, :rank], max(n, d), mean_length)


def _left_vectors(sums: PartitionSums, row_map: RowMap, F: np.ndarray) -> np.ndarray:
    """U, unless it is larger than the client should hold."""
    if sums.n_rows * F.shape[1] * F.itemsize > sums.memory:
        warn_user(
            f"U_ is left empty: {sums.n_rows:,} rows of {F.shape[1]} numbers are more than this "
            "process should hold. Partitions make their own; transform gives coordinates of any "
            "rows.",
            UserWarning,
        )
        return np.zeros((0, F.shape[1]), F.dtype)
    return np.ascontiguousarray(np.concatenate(sums.each(_image, row_map, F)))


# --------------------------------------------------------------------------- tasks: the targets
def _dense_targets(row_map: RowMap, coded: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Targets of a block as dense columns, a few at a time."""
    columns, signed = coded.columns, is_classifier(row_map.model)
    if signed:
        columns = row_map.model._target_numbers(row_map.targets, columns)
    for start in range(0, columns.shape[1], TARGETS_PER_CHUNK):
        span = slice(start, start + TARGETS_PER_CHUNK)
        some = columns[:, span]
        some = some.toarray() if sp.issparse(some) else np.asarray(some)
        yield span, 2.0 * some - 1.0 if signed else some


def _target_sums(blocks: PartitionBlocks, row_map: RowMap) -> tuple[np.ndarray, float]:
    """Weighted sums of the targets, and of the weights."""
    total, weight = np.zeros(row_map.targets.outputs), 0.0
    for operator, coded in _operators(blocks, row_map):
        weights = np.square(operator.roots, dtype=np.float64)
        weight += float(weights.sum())
        for span, some in _dense_targets(row_map, coded):
            total[span] += weights @ some
    return total, weight


def _compress(
    blocks: PartitionBlocks, row_map: RowMap, F: np.ndarray, means: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """C = U'y, and the squares of y, centred."""
    C, squares = np.zeros((len(means), F.shape[1])), np.zeros(len(means))
    for operator, coded in _operators(blocks, row_map):
        roots = operator.roots.astype(np.float64)
        U = (operator.matmat(F) * operator.roots[:, None]).astype(np.float64)
        for span, some in _dense_targets(row_map, coded):
            centred = some - means[span]
            C[span] += centred.T @ U
            squares[span] += roots**2 @ centred**2
    return C, squares


def _residual_squares(
    blocks: PartitionBlocks, row_map: RowMap, F: np.ndarray, means: np.ndarray, C: np.ndarray
) -> tuple[np.ndarray]:
    """Squares of y - U C, term by term."""
    total = np.zeros(len(means))
    for operator, coded in _operators(blocks, row_map):
        roots, U = operator.roots.astype(np.float64), operator.matmat(F).astype(np.float64)
        for span, some in _dense_targets(row_map, coded):
            residual = roots[:, None] * (some - means[span]) - U @ C[span].T
            total[span] += np.einsum("ij,ij->j", residual, residual)
    return (total,)


def _solve(model: Any, factors: Any, compressed: CompressedTargets, radius, share) -> SPGResult:
    """Solve some of the targets."""
    return model._solve(factors, compressed, radius, share)


# --------------------------------------------------------------------------- the models
def fit_low_rank(model: Any, sums: PartitionSums) -> None:
    """Fit a `LowRankLasso` or `LowRankClassifier` on the rows of all partitions."""
    model._check()
    worker_model = with_columns(model, sums.n_features)
    targets = sums.first(first_targets, worker_model)
    if is_classifier(model):
        worker_model.class_weight = class_weights(worker_model, targets, sums)
        if model.threshold == "auto" and targets.labels:
            raise ValueError(
                f"how='sum': {type(model).__name__}(threshold='auto') of a matrix of labels goes "
                "by the best F1, which needs the scores of all rows. Pass a number as threshold."
            )
    row_map = RowMap(worker_model, targets, bool(model.fit_intercept), model.dtype)
    factors = model._new_factorization()
    row_map, F = _factorise(factors, sums, row_map)
    means, compressed = _compress_targets(sums, row_map, F)
    outcome = _solve_all(worker_model, sums, factors, compressed)
    shown = model._fitted_attributes(outcome, means, compressed, factors, sums.n_rows)
    shown |= model._extra_attributes(targets, None, np.empty((0, targets.outputs)), None, shown)
    model.n_features_in_ = sums.n_features
    model._set_attributes(shown, targets)
    model._warn(factors)


def rank_one_problem(model: Any, sums: PartitionSums) -> tuple:
    """What a `RankOneLasso` solves: factors, targets, their rows and means, and the left vector.

    Each target is its component along the left vector and the length of the remainder: a solution
    depends on an angle and two lengths alone.
    """
    model._validate_params()
    worker_model, factors = with_columns(model, sums.n_features), model._new_factorization()
    targets = sums.first(first_targets, worker_model)
    row_map = RowMap(worker_model, targets, bool(model.fit_intercept), "float64")
    row_map, F = _factorise(factors, sums, row_map)
    means, compressed = _compress_targets(sums, row_map, F)
    rows, q = np.column_stack([compressed.C, compressed.rest]), np.append(factors.S_, 0.0)
    model.n_features_in_ = sums.n_features
    return factors, targets, rows, means, q


def _compress_targets(
    sums: PartitionSums, row_map: RowMap, F: np.ndarray
) -> tuple[np.ndarray, CompressedTargets]:
    """Means of the targets, and these as k numbers each; squares that a difference would lose are
    summed again.
    """
    totals, weight = sums.total(_target_sums, row_map)
    means = totals / weight if row_map.center else np.zeros_like(totals)
    C, squares = sums.total(_compress, row_map, F, means)
    left = squares - np.einsum("ij,ij->i", C, C)
    lost = left < CANCELLATION_RATIO * squares
    if lost.any():
        (exact,) = sums.total(_residual_squares, row_map, F, means, C)
        left = np.where(lost, exact, left)
    squares[squares <= (squares + means**2 * weight) * 1e-24] = 0.0
    norms = np.sqrt(squares), np.full(len(C), -1)
    return means, CompressedTargets(C, np.sqrt(np.maximum(left, 0.0)), *norms)


def _solve_all(
    model: Any, sums: PartitionSums, factors: Any, compressed: CompressedTargets
) -> SPGResult:
    """Solve all targets, some in each task."""
    count = len(compressed.C)
    radius, share = model._radius(count)
    light = type(factors)(**factors.get_params())  # without U
    light.W_, light.S_, light.error_upper_ = factors.W_, factors.S_, factors.error_upper_
    starts = range(0, count, TASK_TARGETS)
    spans = [np.arange(start, min(start + TASK_TARGETS, count)) for start in starts]
    arguments = [(compressed.select(span), radius[span], share) for span in spans]
    outcomes = sums.map(_solve, (model, light), arguments)
    weights = sp.csr_array(sp.vstack([one.weights for one in outcomes], format="csr"))
    zero = np.concatenate([one.zero for one in outcomes])
    closed = np.concatenate([one.closed for one in outcomes])
    names = outcomes[0].figures
    figures = {name: np.concatenate([one.figures[name] for one in outcomes]) for name in names}
    return SPGResult(weights, zero, closed, figures)
