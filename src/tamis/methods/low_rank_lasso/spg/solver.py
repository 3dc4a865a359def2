"""Solve many lassos on one low-rank matrix at once, by spectral projected gradients with a duality
gap as the stopping rule.

For each target y, with ``c = U'y``, ``V = W S`` and s the norm of the part of y outside the range
of U: minimise ``rho + eta ||b||_2`` over ``||b||_1 <= radius``, where ``rho = sqrt(||c - V'b||^2 +
s^2)``. Except for two products with V, a step needs only k numbers of each target.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.low_rank_lasso.compression import (
    CompressedTargets,
    smooth_residuals,
    unconstrained_solutions,
    zero_is_optimal,
)
from tamis.methods.low_rank_lasso.spg.batch import Batch, BatchSolutions
from tamis.system.threads import single_threaded_blas

MAX_BATCH_NUMBERS = 2**21  # size of one array of a batch, targets times columns
MAX_BATCH_TARGETS = 64  # maximum number of targets in a batch
BATCHES_PER_TASK = 4  # batches in one task of a thread
# No scaling if the largest singular value is within this factor of 1, where the bounds of a
# spectral step are suitable.
MAX_UNSCALED_SIZE = 1e6


class SPGOptions(NamedTuple):
    """Strength of the 2-norm penalty, tolerance of the gap as a fraction of ``||y||``, maximum
    number of iterations.
    """

    eta: float
    tol: float
    max_iter: int


class SPGResult(NamedTuple):
    """Weights as a CSR array with one row for each target, whether they are zero or the closed
    form, and a dict of arrays with one number for each target.
    """

    weights: sp.csr_array
    zero: np.ndarray
    closed: np.ndarray
    figures: dict


def solve(
    W,
    S,
    targets: CompressedTargets,
    radius,
    options: SPGOptions,
    *,
    radius_fraction: float | None = None,
    dtype=np.float64,
    threads: int = 1,
    batch_size: int | None = None,
) -> SPGResult:
    """Solve for all targets; the result does not depend on the number of threads.

    `radius` is one number for each target; with `radius_fraction`, it is that fraction of the L1
    norm of the solution without a bound. `batch_size` is the maximum number of targets in a batch.
    """
    targets, scale = smooth_residuals(targets), power_of_two_scale(S)
    S, radius, options = S / scale, radius * scale, options._replace(eta=options.eta / scale)
    V = np.ascontiguousarray((W * S).astype(dtype))
    zero = (targets.norm == 0.0) | zero_is_optimal(targets, V, S, options.eta)
    batch_size = max(
        1, min(batch_size or MAX_BATCH_TARGETS, max(8, MAX_BATCH_NUMBERS // max(len(V), 1)))
    )
    nonzero = np.flatnonzero(~zero)
    chunks = [
        nonzero[start : start + BATCHES_PER_TASK * batch_size]
        for start in range(0, len(nonzero), BATCHES_PER_TASK * batch_size)
    ]

    def solve_chunk(chunk):
        solutions = _solve_chunk(
            V,
            W.astype(dtype),
            S,
            targets.select(chunk),
            radius[chunk],
            options,
            radius_fraction,
            batch_size,
        )
        return chunk, solutions

    with single_threaded_blas(), ThreadPoolExecutor(max(1, threads)) as pool:
        solved_chunks = (
            list(pool.map(solve_chunk, chunks))
            if threads > 1
            else [solve_chunk(chunk) for chunk in chunks]
        )
    result = _merge(solved_chunks, len(V), zero, targets, radius, dtype)
    return result if scale == 1.0 else _rescale(result, scale)


def power_of_two_scale(S) -> float:
    """Return a divisor of the singular values that makes the largest about 1; dividing by a power
    of two is exact.
    """
    max_value = float(S.max(initial=0.0))
    if max_value == 0.0 or 1.0 / MAX_UNSCALED_SIZE <= max_value <= MAX_UNSCALED_SIZE:
        return 1.0
    return 2.0 ** round(math.log2(max_value))


def _rescale(result: SPGResult, scale: float) -> SPGResult:
    """Convert the result of scaled singular values to the original ones."""
    figures = (
        result.figures
        | {name: result.figures[name] / scale for name in ("radius", "length")}
        | {"nu": result.figures["nu"] * scale}
    )
    return result._replace(weights=result.weights.astype(np.float64) / scale, figures=figures)


def _solve_chunk(V, W, S, targets, radius, options, radius_fraction, batch_size) -> BatchSolutions:
    """Solve for some targets, at most `batch_size` at a time; new ones replace finished ones."""
    solutions = BatchSolutions(len(targets.C), V.shape[0], V.dtype)
    unconstrained = unconstrained_solutions(targets, S, options.eta).astype(V.dtype)
    batch = Batch(V, targets, radius.astype(np.float64), options, batch_size, solutions)
    n_started = 0
    while n_started < len(unconstrained) or batch.count:
        if n_started < len(unconstrained) and batch.count <= batch_size // 2:
            new = np.arange(
                n_started, min(n_started + batch_size - batch.count, len(unconstrained))
            )
            batch.add_targets(new, unconstrained[new] @ W.T, radius_fraction)
            n_started += len(new)
        if batch.count:
            batch.iterate()
    return solutions


def _merge(solved_chunks, width: int, zero, targets, radius, dtype) -> SPGResult:
    """Merge the solutions of all chunks, in the order of the targets."""
    n_targets = len(zero)
    statistics = {name: np.zeros(n_targets) for name in BatchSolutions.STATISTICS}
    statistics["rho"][zero] = statistics["objective"][zero] = targets.norm[zero]
    statistics["converged"][zero], statistics["radius"][zero] = 1.0, radius[zero]
    n_nonzeros, target_rows = np.zeros(n_targets, np.int64), {}
    for chunk, solutions in solved_chunks:
        for name, values in solutions.statistics.items():
            statistics[name][chunk] = values
        for k, target in enumerate(chunk):
            target_rows[int(target)] = solutions.rows[k]
            n_nonzeros[target] = len(solutions.rows[k][0])
    indptr = np.concatenate([[0], np.cumsum(n_nonzeros)])
    order = sorted(target_rows)
    indices = np.concatenate([np.zeros(0, np.int32), *(target_rows[t][0] for t in order)])
    data = np.concatenate([np.zeros(0, dtype), *(target_rows[t][1] for t in order)])
    weights = sp.csr_array(
        (data, indices, indptr.astype(np.int32 if indptr[-1] < 2**31 else np.int64)),
        shape=(n_targets, width),
    )
    return SPGResult(weights, zero, statistics.pop("closed") > 0, statistics)
