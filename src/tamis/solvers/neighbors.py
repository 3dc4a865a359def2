"""Nearest neighbours by class: a KD-tree in few dimensions, blocked brute force in many, and a
random projection of tables that are too large for either.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from tamis.solvers.loop_neighbors import update_neighbors

MAX_TREE_DIMENSIONS = 8  # up to which a KD-tree is faster than brute force
# Above both, an exact search in all columns costs more than the fit that uses it.
MAX_EXACT_ROWS, MAX_EXACT_COLUMNS = 10_000, 200
N_PROJECTIONS = 64  # dimensions after a projection
MAX_COPIED_CELLS = 50_000_000  # cells of the largest dense table that is copied, not projected
MAX_FLOAT64_CELLS = 1 << 22  # cells of the points up to which they are float64
TILE_ROWS = 512  # rows on each side of a tile of inner products
MAX_FLOAT64_ROWS = 1_000  # rows up to which inner products are float64
# Searches are many and small, and their arrays are validated already.
NO_CHECKS = {"assume_finite": True, "skip_parameter_validation": True}
MAX_PROJECTED_COLUMNS = 1 << 16  # columns that are projected at a time


class NeighborGraph(NamedTuple):
    """Neighbours of each row, and the weight of each in the row's margin: positive for other
    classes, negative for the same class, 0 for an empty slot.
    """

    nearest: np.ndarray
    share: np.ndarray


def class_neighbors(
    points, codes: np.ndarray, k: int, *, per_class: bool = False, n_jobs: int = 1
) -> NeighborGraph:
    """Return the k nearest rows of the same class (without the row itself) and the k nearest rows
    of other classes; with `per_class`, the k nearest of every other class.
    """
    if not per_class and not sp.issparse(points) and points.shape[1] > MAX_TREE_DIMENSIONS:
        return _tiled_edges(points, codes, k)
    classes = np.unique(codes)
    n_other_lists = len(classes) - 1 if per_class else 1
    nearest = np.repeat(np.arange(len(codes))[:, None], k * (1 + n_other_lists), axis=1)
    share = np.zeros(nearest.shape)
    searches = {}
    if per_class or len(classes) == 2:
        searches = {c: NeighborSearch(points, np.flatnonzero(codes == c), n_jobs) for c in classes}
    for c in classes:
        member_rows = np.flatnonzero(codes == c)
        same_search = searches.get(c) or NeighborSearch(points, member_rows, n_jobs)
        count = min(k, len(member_rows) - 1)
        nearest[member_rows, :count] = drop_self(
            same_search.nearest(member_rows, count + 1)[1], member_rows
        )
        share[member_rows, :count] = -1.0 / max(count, 1)
        if searches:
            other_searches = [searches[d] for d in classes if d != c]
        else:
            other_searches = [NeighborSearch(points, np.flatnonzero(codes != c), n_jobs)]
        for i, other_search in enumerate(other_searches):
            count, start = min(k, len(other_search.members)), k * (1 + i)
            nearest[member_rows, start : start + count] = other_search.nearest(member_rows, count)[
                1
            ]
            share[member_rows, start : start + count] = 1.0 / (count * len(other_searches))
    return NeighborGraph(nearest, share)


def _tiled_edges(points: np.ndarray, codes: np.ndarray, k: int) -> NeighborGraph:
    """Return the same for dense points of many dimensions, by brute force over pairs of rows."""
    n_rows = len(points)
    points = points - points.mean(axis=0)  # far from 0, inner products lose digits
    points = points.astype(np.float32 if n_rows > MAX_FLOAT64_ROWS else np.float64, copy=False)
    squared_norms, codes = np.einsum("ij,ij->i", points, points), codes.astype(np.int64, copy=False)
    distances = np.full((n_rows, 2, k), np.inf, points.dtype)
    nearest = np.repeat(np.arange(n_rows), 2 * k).reshape(n_rows, 2, k)
    for first in range(0, n_rows, TILE_ROWS):
        for second in range(first, n_rows, TILE_ROWS):
            tile = points[first : first + TILE_ROWS] @ points[second : second + TILE_ROWS].T
            update_neighbors(tile, squared_norms, codes, first, second, distances, nearest)
    is_neighbor = np.isfinite(distances)
    share = (
        is_neighbor * (np.array([-1.0, 1.0]) / np.maximum(is_neighbor.sum(axis=2), 1))[:, :, None]
    )
    return NeighborGraph(nearest.reshape(n_rows, 2 * k), share.reshape(n_rows, 2 * k))


def drop_self(neighbors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the neighbours without the row itself, found by its index (equal rows have distance 0
    too). Where the row is not among its neighbours, the farthest one is dropped.
    """
    is_dropped = neighbors == rows[:, None]
    is_dropped[~is_dropped.any(axis=1), -1] = True
    return neighbors[~is_dropped].reshape(len(rows), -1)


class NeighborSearch:
    """Nearest-neighbour search among the `members` of a dense or CSR array of points."""

    def __init__(self, points, members: np.ndarray, n_jobs: int = 1):
        self.points, self.members, self.n_jobs = points, members, n_jobs
        member_points, self.tree = points[members], None
        if not sp.issparse(points) and points.shape[1] <= MAX_TREE_DIMENSIONS:
            self.tree = cKDTree(member_points)
        else:
            with config_context(**NO_CHECKS):
                self.brute = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(member_points)

    def nearest(self, rows, k: int, points=None) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and indices of the k members nearest to rows of `points` (default: the
        points of the search).
        """
        queries = (self.points if points is None else points)[rows]
        if self.tree is not None:
            distances, positions = self.tree.query(
                queries, k=np.arange(1, k + 1), workers=self.n_jobs
            )
            if positions.max(initial=0) == len(self.members):  # a distance is infinite
                raise ValueError(
                    "distances between rows are too large for numbers. Scale the columns."
                )
        else:
            with config_context(**NO_CHECKS):
                distances, positions = self.brute.kneighbors(queries, k)
        return distances, self.members[positions]


def reduce_points(points: np.ndarray) -> np.ndarray:
    """Return cheaper points to search among: centred, in float32 where they have many cells, and
    reduced to their leading directions where they have many rows and dimensions.
    """
    points = points - points.mean(axis=0)
    if len(points) > MAX_EXACT_ROWS and points.shape[1] > N_PROJECTIONS:
        points = points @ np.linalg.eigh(points.T @ points)[1][:, -N_PROJECTIONS:]
    return (
        points.astype(np.float32)
        if points.shape[1] > MAX_TREE_DIMENSIONS and points.size > MAX_FLOAT64_CELLS
        else points
    )


def euclidean_points(matrix, center: np.ndarray, scale: np.ndarray, columns: np.ndarray, random):
    """Return points whose distances are those of the standardized columns; approximately, by a
    random projection, where the table is very large.
    """
    n_rows = matrix.shape[0]
    if (n_rows > MAX_EXACT_ROWS and len(columns) > MAX_EXACT_COLUMNS) or (
        n_rows * len(columns) > MAX_COPIED_CELLS and not sp.issparse(matrix)
    ):
        return reduce_points(_random_projections(matrix, scale, columns, random))
    if sp.issparse(matrix):
        points = sp.csr_array(matrix)[:, columns] * (1.0 / scale[columns])
        points = sp.csr_array(points)
        points.indices = points.indices.astype(np.int32)
        points.indptr = points.indptr.astype(np.int32)
        return points
    dtype = np.float32 if n_rows * len(columns) > MAX_FLOAT64_CELLS else np.float64
    points = np.empty((n_rows, len(columns)), dtype)
    block_rows = max(1, MAX_FLOAT64_CELLS // max(1, len(columns)))
    for start in range(0, n_rows, block_rows):
        block = matrix[start : start + block_rows][:, columns]
        points[start : start + block_rows] = (block - center[columns]) / scale[columns]
    return points


def _random_projections(matrix, scale, columns, random) -> np.ndarray:
    """Return the scaled columns times a random matrix, computed by blocks of columns."""
    points = np.zeros((matrix.shape[0], N_PROJECTIONS))
    block_columns = (
        max(1, min(MAX_PROJECTED_COLUMNS, MAX_FLOAT64_CELLS // matrix.shape[0]))
        if not sp.issparse(matrix)
        else MAX_PROJECTED_COLUMNS
    )
    for start in range(0, len(columns), block_columns):
        block_indices = columns[start : start + block_columns]
        directions = random.normal(size=(len(block_indices), N_PROJECTIONS))
        points += matrix[:, block_indices] @ (directions / scale[block_indices][:, None])
    return points
