"""Targets against a low-rank matrix: k numbers each, the test for zero, the solution where no L1
bound is in the way, and scores of rows.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

# least residual, as a share of the target's norm, at which the norm is taken for smooth
SMOOTH = 1e-7
COLUMNS = 64  # targets that are made dense together
CANCELLED = 1e-8  # share below which a difference of squares is not trusted


class Compressed(NamedTuple):
    """One row a target: ``C = U'y``, the norm of what U leaves of y, and that of y itself; `masked`
    is a column to leave out, or -1.
    """

    C: np.ndarray
    rest: np.ndarray
    norm: np.ndarray
    masked: np.ndarray

    def picked(self, rows) -> "Compressed":
        """Some of the targets."""
        return Compressed(*(part[rows] for part in self))


def compress(U, Y, roots, center: bool) -> tuple[Compressed, np.ndarray]:
    """Targets from the columns of Y (dense or sparse) and the roots of the row weights; and the
    weighted means of Y.
    """
    weights = roots**2
    mean = np.asarray(Y.T @ weights).ravel() / weights.sum() if center else np.zeros(Y.shape[1])
    scaled = (U * roots[:, None]).astype(np.float64)
    C = np.asarray(Y.T @ scaled) - np.outer(mean, scaled.T @ np.ones(len(roots)))
    if sp.issparse(Y):
        raw = np.asarray(Y.power(2).T @ weights).ravel()
        squares = np.maximum(raw - mean**2 * weights.sum(), 0.0)
    else:
        parts = [slice(at, at + COLUMNS) for at in range(0, Y.shape[1], COLUMNS)]
        squares = raw = np.concatenate([weights @ (Y[:, part] - mean[part]) ** 2 for part in parts])
    left = squares - np.einsum("ij,ij->i", C, C)
    for j in np.flatnonzero((left < CANCELLED * squares) | (squares < CANCELLED * raw)):
        column = Y[:, [j]].toarray().ravel() if sp.issparse(Y) else Y[:, j]
        column = roots * (column - mean[j])
        squares[j] = column @ column
        residual = column - U @ C[j]
        left[j] = residual @ residual
    squares[squares <= raw * 1e-24] = 0.0
    return Compressed(
        C, np.sqrt(np.maximum(left, 0.0)), np.sqrt(squares), np.full(len(C), -1)
    ), mean


def smoothed(targets: Compressed) -> Compressed:
    """The same with residuals that never vanish: the objective changes by at most `SMOOTH` times
    the norm.
    """
    return targets._replace(rest=np.maximum(targets.rest, SMOOTH * targets.norm))


def are_zero(targets: Compressed, V, S, eta: float) -> np.ndarray:
    """Whether zero is the solution at every radius: ``||V c|| <= eta ||y||``."""
    squares = np.einsum("ij,ij->i", targets.C * S, targets.C * S)
    hidden = np.flatnonzero(targets.masked >= 0)
    if len(hidden):
        squares[hidden] -= np.einsum("ij,ij->i", V[targets.masked[hidden]], targets.C[hidden]) ** 2
    return np.sqrt(np.maximum(squares, 0.0)) <= eta * targets.norm


def unbounded(targets: Compressed, S, eta: float) -> np.ndarray:
    """Solutions b without an L1 bound, in the coordinates of the columns of W: ``b = S c / (S^2 +
    ridge)``.

    The ridge is where ``ridge ||b|| = eta rho``; the left side over rho rises with it, so it is
    found by bisection.
    """
    C, squares = targets.C, S**2
    if eta == 0.0 or not len(C) or not len(S):
        return C / S
    low = np.full(len(C), np.log(1e-30 * squares.min()))
    high = np.full(len(C), np.log(squares.max()))

    def above(logs):
        ridge = np.exp(logs)[:, None]
        shares = C / (squares + ridge)
        rho = np.sqrt(np.einsum("ij,ij->i", ridge * shares, ridge * shares) + targets.rest**2)
        return np.exp(logs) * np.sqrt(np.einsum("ij,ij->i", S * shares, S * shares)) >= eta * rho

    for _ in range(60):  # the ratio is at most ||S c|| / ||y||, above eta: a bracket is found
        short = ~above(high)
        if not short.any():
            break
        high[short] += np.log(4.0)
    while (high - low).max() > 1e-14 * np.abs(high).max():
        middle = 0.5 * (low + high)
        over = above(middle)
        fixed = (middle <= low) | (middle >= high)
        high, low = np.where(over, middle, high), np.where(over, low, middle)
        if fixed.all():
            break
    return S * C / (squares + np.exp(0.5 * (low + high))[:, None])


def scores_of(matrix, weights: sp.csr_array, intercepts) -> np.ndarray:
    """Rows times weights, a few targets at a time, so that neither is made dense."""
    scores = np.empty((matrix.shape[0], weights.shape[0]))
    for at in range(0, weights.shape[0], COLUMNS):
        part = slice(at, at + COLUMNS)
        scores[:, part] = matrix @ np.ascontiguousarray(weights[part].toarray().T)
    return scores + intercepts
