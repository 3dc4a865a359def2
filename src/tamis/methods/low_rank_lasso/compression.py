"""Targets compressed by a low-rank matrix to k numbers each: the test for a zero solution, the
solution without an L1 bound, and scores of rows.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

# Residuals are at least this fraction of the norm of the target, so that the objective is smooth.
MIN_RESIDUAL_RATIO = 1e-7
TARGETS_PER_CHUNK = 64  # targets that are converted to dense arrays together
# Below this fraction a difference of squares is recomputed from the residual.
CANCELLATION_RATIO = 1e-8


class CompressedTargets(NamedTuple):
    """Targets y with one row each: ``C = U'y``, the norm `rest` of the residual ``y - U U'y``, the
    norm of y, and a column without a weight, `masked` (-1: none).
    """

    C: np.ndarray
    rest: np.ndarray
    norm: np.ndarray
    masked: np.ndarray

    def select(self, indices) -> "CompressedTargets":
        """Return some of the targets."""
        return CompressedTargets(*(field[indices] for field in self))


def compress(U, Y, roots, center: bool) -> tuple[CompressedTargets, np.ndarray]:
    """Return the compressed columns of Y (dense or sparse), and their weighted means; `roots` are
    the square roots of the row weights.
    """
    weights = roots**2
    mean = np.asarray(Y.T @ weights).ravel() / weights.sum() if center else np.zeros(Y.shape[1])
    scaled = (U * roots[:, None]).astype(np.float64)
    C = np.asarray(Y.T @ scaled) - np.outer(mean, scaled.T @ np.ones(len(roots)))
    if sp.issparse(Y):
        raw_squares = np.asarray(Y.power(2).T @ weights).ravel()
        squares = np.maximum(raw_squares - mean**2 * weights.sum(), 0.0)
    else:
        chunks = [
            slice(start, start + TARGETS_PER_CHUNK)
            for start in range(0, Y.shape[1], TARGETS_PER_CHUNK)
        ]
        squares = raw_squares = np.concatenate(
            [weights @ (Y[:, chunk] - mean[chunk]) ** 2 for chunk in chunks]
        )
    residual_squares = squares - np.einsum("ij,ij->i", C, C)
    for j in np.flatnonzero(
        (residual_squares < CANCELLATION_RATIO * squares)
        | (squares < CANCELLATION_RATIO * raw_squares)
    ):
        column = Y[:, [j]].toarray().ravel() if sp.issparse(Y) else Y[:, j]
        column = roots * (column - mean[j])
        squares[j] = column @ column
        residual = column - U @ C[j]
        residual_squares[j] = residual @ residual
    squares[squares <= raw_squares * 1e-24] = 0.0
    return CompressedTargets(
        C, np.sqrt(np.maximum(residual_squares, 0.0)), np.sqrt(squares), np.full(len(C), -1)
    ), mean


def smooth_residuals(targets: CompressedTargets) -> CompressedTargets:
    """Raise small residuals to `MIN_RESIDUAL_RATIO` times the norm of the target, which changes the
    objective by at most that.
    """
    return targets._replace(rest=np.maximum(targets.rest, MIN_RESIDUAL_RATIO * targets.norm))


def zero_is_optimal(targets: CompressedTargets, V, S, eta: float) -> np.ndarray:
    """Return whether zero is the solution at every radius: ``||V c|| <= eta ||y||``."""
    squares = np.einsum("ij,ij->i", targets.C * S, targets.C * S)
    masked_rows = np.flatnonzero(targets.masked >= 0)
    if len(masked_rows):
        squares[masked_rows] -= (
            np.einsum("ij,ij->i", V[targets.masked[masked_rows]], targets.C[masked_rows]) ** 2
        )
    return np.sqrt(np.maximum(squares, 0.0)) <= eta * targets.norm


def unconstrained_solutions(targets: CompressedTargets, S, eta: float) -> np.ndarray:
    """Return the solutions b without an L1 bound, in the coordinates of the columns of W: ``b = S c
    / (S^2 + ridge)``.

    The ridge solves ``ridge ||b|| = eta rho``. Bisection applies, since ``ridge ||b|| / rho``
    increases with the ridge.
    """
    C, squares = targets.C, S**2
    if eta == 0.0 or not len(C) or not len(S):
        return C / S
    low = np.full(len(C), np.log(1e-30 * squares.min()))
    high = np.full(len(C), np.log(squares.max()))

    def exceeds_eta(logs):
        ridge = np.exp(logs)[:, None]
        ratios = C / (squares + ridge)
        rho = np.sqrt(np.einsum("ij,ij->i", ridge * ratios, ridge * ratios) + targets.rest**2)
        return np.exp(logs) * np.sqrt(np.einsum("ij,ij->i", S * ratios, S * ratios)) >= eta * rho

    for _ in range(60):  # ends: the limit of the increasing function is ||S c|| / ||y|| > eta
        too_low = ~exceeds_eta(high)
        if not too_low.any():
            break
        high[too_low] += np.log(4.0)
    while (high - low).max() > 1e-14 * np.abs(high).max():
        middle = 0.5 * (low + high)
        is_above = exceeds_eta(middle)
        is_resolved = (middle <= low) | (middle >= high)
        high, low = np.where(is_above, middle, high), np.where(is_above, low, middle)
        if is_resolved.all():
            break
    return S * C / (squares + np.exp(0.5 * (low + high))[:, None])


def compute_scores(matrix, weights: sp.csr_array, intercepts) -> np.ndarray:
    """Return the scores (rows, targets); only a few targets at a time have dense weights."""
    scores = np.empty((matrix.shape[0], weights.shape[0]))
    for start in range(0, weights.shape[0], TARGETS_PER_CHUNK):
        chunk = slice(start, start + TARGETS_PER_CHUNK)
        scores[:, chunk] = matrix @ np.ascontiguousarray(weights[chunk].toarray().T)
    return scores + intercepts
