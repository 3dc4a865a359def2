"""The sparse leading eigenvector: max v'Av over |v| = 1 with a bounded number of entries (the
cardinality), by a greedy start, truncated power steps and a polish.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

SMALL = 60  # columns up to which the leading eigenvector itself is a second start
EXACT = 200  # columns up to which the least eigenvalue is computed exactly
MOST = 100  # power steps
GAIN = 1e-7  # relative gain at which they end


class Direction(NamedTuple):
    """A sparse unit vector, by its places and entries, and its value v'Av."""

    places: np.ndarray
    entries: np.ndarray
    value: float


class Explicit:
    """A symmetric matrix as an array."""

    def __init__(self, matrix: np.ndarray):
        self.matrix, self.width = matrix, len(matrix)

    def diagonal(self) -> np.ndarray:
        """The diagonal."""
        return self.matrix.diagonal()

    def columns(self, places) -> np.ndarray:
        """Some columns."""
        return self.matrix[:, places]

    def times(self, vector: np.ndarray) -> np.ndarray:
        """The product with a vector."""
        return self.matrix @ vector

    def sparse_times(self, places, entries) -> np.ndarray:
        """The product with a sparse vector."""
        return self.matrix[:, places] @ entries


def leading_direction(form, cardinality: int) -> Direction:
    """The best direction found; `form` has the verbs of `Explicit`."""
    cardinality = min(cardinality, form.width)
    found = greedy_start(form, cardinality)
    if cardinality == 1:
        return found
    if isinstance(form, Explicit) and form.width <= SMALL:
        values, vectors = np.linalg.eigh(form.matrix)
        shift = max(0.0, -1.05 * float(values[0]))
        starts = [found, truncated(vectors[:, -1], cardinality)]
    else:
        shift, starts = shift_of(form), [found]
    return max(
        (power_steps(form, start, cardinality, shift)[0] for start in starts),
        key=lambda direction: direction.value,
    )


def truncated(vector: np.ndarray, cardinality: int) -> Direction:
    """The largest entries of a vector, as a start."""
    places = np.argsort(-np.abs(vector), kind="stable")[:cardinality]
    return Direction(places, vector[places] / np.linalg.norm(vector[places]), -np.inf)


def greedy_start(form, cardinality: int) -> Direction:
    """Add, one by one, the place that makes the largest eigenvalue of the two-by-two problem with
    the vector so far.
    """
    diagonal = form.diagonal()
    places = np.array([int(np.argmax(diagonal))])
    columns = form.columns(places).reshape(form.width, 1)
    entries, value = np.ones(1), float(diagonal[places[0]])
    for _ in range(cardinality - 1):
        product = columns @ entries
        rise = 0.5 * (value + diagonal) + np.sqrt(0.25 * (value - diagonal) ** 2 + product**2)
        rise[places] = -np.inf
        place = int(np.argmax(rise))
        places = np.append(places, place)
        columns = np.column_stack((columns, form.columns(places[-1:]).reshape(form.width)))
        value, entries = top_pair(columns[places])
    return signed(places, entries, value)


def top_pair(matrix: np.ndarray):
    """The largest eigenvalue of a small symmetric matrix and its vector."""
    last = len(matrix) - 1
    if last < SMALL:
        # less to set up than LAPACK's driver for one of them
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        return float(values[-1]), vectors[:, -1]
    values, vectors = eigh(
        0.5 * (matrix + matrix.T), subset_by_index=(last, last), check_finite=False
    )
    return float(values[0]), vectors[:, 0]


def signed(places, entries, value) -> Direction:
    """The direction with ascending places, its largest entry positive."""
    order = np.argsort(places)
    places, entries = places[order], entries[order]
    return Direction(places, entries * np.sign(entries[np.argmax(np.abs(entries))]), value)


def shift_of(form) -> float:
    """What makes the matrix positive semidefinite when added to its diagonal."""
    if isinstance(form, Explicit) and form.width <= EXACT:
        least = eigvalsh(form.matrix, subset_by_index=(0, 0), check_finite=False)[0]
        return max(0.0, -1.05 * float(least))
    operator = LinearOperator(
        (form.width, form.width), matvec=lambda v: form.times(v.ravel()), dtype=np.float64
    )
    start = np.random.default_rng(0).normal(size=form.width)
    try:
        least = eigsh(
            operator,
            k=1,
            which="SA",
            tol=0.1,
            ncv=min(12, form.width),
            v0=start,
            return_eigenvectors=False,
        )[0]
    except ArpackError:  # a matrix of zeros, or nearly
        return float(np.abs(form.diagonal()).max())
    return max(0.0, -1.05 * float(least))


def power_steps(form, start: Direction, cardinality: int, shift: float):
    """Truncated power steps from a start, then the best vector on the last support; also the values
    on the way, which never fall.
    """
    places, entries = start.places, start.entries
    product = form.sparse_times(places, entries)
    values = [float(entries @ product[places])]
    best = (values[0], places)
    for _ in range(MOST):
        product[places] += shift * entries
        places = np.argpartition(np.abs(product), -cardinality)[-cardinality:]
        norm = np.linalg.norm(product[places])
        if not norm > 0.0:
            break
        entries = product[places] / norm
        product = form.sparse_times(places, entries)
        values.append(float(entries @ product[places]))
        best = max(best, (values[-1], places), key=lambda pair: pair[0])
        if values[-1] - values[-2] <= GAIN * abs(values[-1]):
            break
    places = np.sort(best[1])
    value, entries = top_pair(form.columns(places)[places])
    found = signed(places, entries, value)
    return (found if found.value >= start.value else start), values
