"""The sparse leading eigenvector: max v'Av over |v| = 1 with at most `cardinality` nonzeros, by a
greedy start, truncated power steps (Yuan and Zhang, 2013) and an eigenvector on the final support.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

MAX_TWO_START_COLUMNS = 60  # up to which the dense leading eigenvector is a second start
MAX_FULL_EIGH_COLUMNS = 60  # up to which all eigenpairs cost less than one
MAX_EXACT_SHIFT_COLUMNS = 200  # up to which the smallest eigenvalue is computed exactly
MAX_POWER_STEPS = 100
MIN_RELATIVE_GAIN = 1e-7  # of a power step; below it they end


class Direction(NamedTuple):
    """A sparse unit vector v, by its indices and entries, and the value v'Av."""

    indices: np.ndarray
    entries: np.ndarray
    value: float


class ExplicitForm:
    """The quadratic form of a symmetric matrix that is an array."""

    def __init__(self, matrix: np.ndarray):
        self.matrix, self.width = matrix, len(matrix)

    def diagonal(self) -> np.ndarray:
        """Return the diagonal."""
        return self.matrix.diagonal()

    def columns(self, indices) -> np.ndarray:
        """Return the columns at these indices."""
        return self.matrix[:, indices]

    def matvec(self, vector: np.ndarray) -> np.ndarray:
        """Return the product with a vector."""
        return self.matrix @ vector

    def sparse_matvec(self, indices, entries) -> np.ndarray:
        """Return the product with a sparse vector."""
        return self.matrix[:, indices] @ entries


def leading_direction(form, cardinality: int) -> Direction:
    """Return a sparse direction of large value; `form` has the methods of `ExplicitForm`."""
    cardinality = min(cardinality, form.width)
    greedy = greedy_start(form, cardinality)
    if cardinality == 1:
        return greedy
    if isinstance(form, ExplicitForm) and form.width <= MAX_TWO_START_COLUMNS:
        values, vectors = np.linalg.eigh(form.matrix)
        shift = max(0.0, -1.05 * float(values[0]))
        starts = [greedy, truncate(vectors[:, -1], cardinality)]
    else:
        shift, starts = definite_shift(form), [greedy]
    return max(
        (power_steps(form, start, cardinality, shift)[0] for start in starts),
        key=lambda direction: direction.value,
    )


def truncate(vector: np.ndarray, cardinality: int) -> Direction:
    """Return the `cardinality` largest entries of a vector as a start of the power steps."""
    indices = np.argsort(-np.abs(vector), kind="stable")[:cardinality]
    return Direction(indices, vector[indices] / np.linalg.norm(vector[indices]), -np.inf)


def greedy_start(form, cardinality: int) -> Direction:
    """Return a start that grows by one column at a time: the one of the largest eigenvalue in the
    two-by-two problem with the vector so far.
    """
    diagonal = form.diagonal()
    indices = np.array([int(np.argmax(diagonal))])
    columns = form.columns(indices).reshape(form.width, 1)
    entries, value = np.ones(1), float(diagonal[indices[0]])
    for _ in range(cardinality - 1):
        product = columns @ entries
        eigenvalue = 0.5 * (value + diagonal) + np.sqrt(0.25 * (value - diagonal) ** 2 + product**2)
        eigenvalue[indices] = -np.inf
        index = int(np.argmax(eigenvalue))
        indices = np.append(indices, index)
        columns = np.column_stack((columns, form.columns(indices[-1:]).reshape(form.width)))
        value, entries = leading_eigenpair(columns[indices])
    return with_positive_peak(indices, entries, value)


def leading_eigenpair(matrix: np.ndarray):
    """Return the largest eigenvalue of a small symmetric matrix and its eigenvector."""
    last = len(matrix) - 1
    if last < MAX_FULL_EIGH_COLUMNS:
        # All eigenpairs of a tiny matrix cost less than the set-up of LAPACK's driver for one.
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        return float(values[-1]), vectors[:, -1]
    values, vectors = eigh(
        0.5 * (matrix + matrix.T), subset_by_index=(last, last), check_finite=False
    )
    return float(values[0]), vectors[:, 0]


def with_positive_peak(indices, entries, value) -> Direction:
    """Return a direction with ascending indices, its entry of largest absolute value positive."""
    order = np.argsort(indices)
    indices, entries = indices[order], entries[order]
    return Direction(indices, entries * np.sign(entries[np.argmax(np.abs(entries))]), value)


def definite_shift(form) -> float:
    """Return a number that makes the matrix positive semidefinite when added to its diagonal."""
    if isinstance(form, ExplicitForm) and form.width <= MAX_EXACT_SHIFT_COLUMNS:
        smallest = eigvalsh(form.matrix, subset_by_index=(0, 0), check_finite=False)[0]
        return max(0.0, -1.05 * float(smallest))
    operator = LinearOperator(
        (form.width, form.width), matvec=lambda v: form.matvec(v.ravel()), dtype=np.float64
    )
    start = np.random.default_rng(0).normal(size=form.width)
    try:
        smallest = eigsh(
            operator,
            k=1,
            which="SA",
            tol=0.1,
            ncv=min(12, form.width),
            v0=start,
            return_eigenvectors=False,
        )[0]
    except ArpackError:  # the matrix is zero, or nearly
        return float(np.abs(form.diagonal()).max())
    return max(0.0, -1.05 * float(smallest))


def power_steps(form, start: Direction, cardinality: int, shift: float):
    """Return the direction after truncated power steps and an exact solution on the best support,
    and the values of all iterates, which never decrease.
    """
    indices, entries = start.indices, start.entries
    product = form.sparse_matvec(indices, entries)
    values = [float(entries @ product[indices])]
    best = (values[0], indices)
    for _ in range(MAX_POWER_STEPS):
        product[indices] += shift * entries
        indices = np.argpartition(np.abs(product), -cardinality)[-cardinality:]
        norm = np.linalg.norm(product[indices])
        if not norm > 0.0:
            break
        entries = product[indices] / norm
        product = form.sparse_matvec(indices, entries)
        values.append(float(entries @ product[indices]))
        best = max(best, (values[-1], indices), key=lambda pair: pair[0])
        if values[-1] - values[-2] <= MIN_RELATIVE_GAIN * abs(values[-1]):
            break
    indices = np.sort(best[1])
    value, entries = leading_eigenpair(form.columns(indices)[indices])
    polished = with_positive_peak(indices, entries, value)
    return (polished if polished.value >= start.value else start), values
