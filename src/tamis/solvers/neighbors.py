"""Nearest neighbours class by class: a tree in few dimensions, blocked brute force in many, a
projection where there are too many.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from tamis.solvers.loop_neighbors import take_tile

TREE = 8  # dimensions up to which a KD-tree is faster than brute force
# Beyond both, an exact search in all columns costs more than a whole fit.
MANY_ROWS, MANY_COLUMNS = 10_000, 200
DIRECTIONS = 64  # of a projection
LARGE = 50_000_000  # numbers that are not copied for a search
SINGLE = 1 << 22  # numbers from which float32 is used
TILE = 512  # rows of a tile of inner products
DOUBLE = 1_000  # rows up to which these are of double precision
# A search is one of very many, on arrays of our own.
TRUSTED = {"assume_finite": True, "skip_parameter_validation": True}
CHUNK = 1 << 16  # columns projected at a time


class Edges(NamedTuple):
    """Neighbours of each row and the share of each in its margin: positive for other classes,
    negative for its own, 0 where there is none.
    """

    nearest: np.ndarray
    share: np.ndarray


def class_edges(points, codes: np.ndarray, k: int, *, each: bool = False, n_jobs: int = 1) -> Edges:
    """The k nearest rows of the own class, the row itself left out, and the k nearest of the
    others; with `each`, k of every other class.
    """
    if not each and not sp.issparse(points) and points.shape[1] > TREE:
        return _tiled_edges(points, codes, k)
    classes = np.unique(codes)
    others = len(classes) - 1 if each else 1
    nearest = np.repeat(np.arange(len(codes))[:, None], k * (1 + others), axis=1)
    share = np.zeros(nearest.shape)
    searches = {}
    if each or len(classes) == 2:
        searches = {c: Search(points, np.flatnonzero(codes == c), n_jobs) for c in classes}
    for c in classes:
        mine = np.flatnonzero(codes == c)
        own = searches.get(c) or Search(points, mine, n_jobs)
        count = min(k, len(mine) - 1)
        nearest[mine, :count] = without_self(own.nearest(mine, count + 1)[1], mine)
        share[mine, :count] = -1.0 / max(count, 1)
        if searches:
            rivals = [searches[d] for d in classes if d != c]
        else:
            rivals = [Search(points, np.flatnonzero(codes != c), n_jobs)]
        for place, rival in enumerate(rivals):
            count, begin = min(k, len(rival.members)), k * (1 + place)
            nearest[mine, begin : begin + count] = rival.nearest(mine, count)[1]
            share[mine, begin : begin + count] = 1.0 / (count * len(rivals))
    return Edges(nearest, share)


def _tiled_edges(points: np.ndarray, codes: np.ndarray, k: int) -> Edges:
    """The same for dense points of many dimensions: every pair of rows is looked at once."""
    rows = len(points)
    points = points - points.mean(axis=0)  # products of what is far from 0 would lose digits
    points = points.astype(np.float32 if rows > DOUBLE else np.float64, copy=False)
    squares, codes = np.einsum("ij,ij->i", points, points), codes.astype(np.int64, copy=False)
    best = np.full((rows, 2, k), np.inf, points.dtype)
    nearest = np.repeat(np.arange(rows), 2 * k).reshape(rows, 2, k)
    for first in range(0, rows, TILE):
        for second in range(first, rows, TILE):
            tile = points[first : first + TILE] @ points[second : second + TILE].T
            take_tile(tile, squares, codes, first, second, best, nearest)
    found = np.isfinite(best)
    share = found * (np.array([-1.0, 1.0]) / np.maximum(found.sum(axis=2), 1))[:, :, None]
    return Edges(nearest.reshape(rows, 2 * k), share.reshape(rows, 2 * k))


def without_self(found: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Neighbours without the row itself: by its index, since equal rows are at distance 0 too; the
    farthest goes where it was not found.
    """
    drop = found == rows[:, None]
    drop[~drop.any(axis=1), -1] = True
    return found[~drop].reshape(len(rows), -1)


class Search:
    """Search among some of the points, which are a dense or CSR array."""

    def __init__(self, points, members: np.ndarray, n_jobs: int = 1):
        self.points, self.members, self.n_jobs = points, members, n_jobs
        inside, self.tree = points[members], None
        if not sp.issparse(points) and points.shape[1] <= TREE:
            self.tree = cKDTree(inside)
        else:
            with config_context(**TRUSTED):
                self.brute = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(inside)

    def nearest(self, rows, k: int, points=None) -> tuple[np.ndarray, np.ndarray]:
        """Distances and indices of the k nearest members to rows of these points, or of others."""
        asked = (self.points if points is None else points)[rows]
        if self.tree is not None:
            distance, place = self.tree.query(asked, k=np.arange(1, k + 1), workers=self.n_jobs)
            if place.max(initial=0) == len(self.members):  # a distance is infinite
                raise ValueError(
                    "distances between rows are too large for numbers. Scale the columns."
                )
        else:
            with config_context(**TRUSTED):
                distance, place = self.brute.kneighbors(asked, k)
        return distance, self.members[place]


def narrow(points: np.ndarray) -> np.ndarray:
    """Points to search among: centred, in float32 where they are many, and their main directions
    only where even that is much.
    """
    points = points - points.mean(axis=0)
    if len(points) > MANY_ROWS and points.shape[1] > DIRECTIONS:
        points = points @ np.linalg.eigh(points.T @ points)[1][:, -DIRECTIONS:]
    return points.astype(np.float32) if points.shape[1] > TREE and points.size > SINGLE else points


def euclidean_points(matrix, center: np.ndarray, scale: np.ndarray, columns: np.ndarray, random):
    """Points whose distances are those of the standardised columns, or nearly, where there are very
    many.
    """
    rows = matrix.shape[0]
    if (rows > MANY_ROWS and len(columns) > MANY_COLUMNS) or (
        rows * len(columns) > LARGE and not sp.issparse(matrix)
    ):
        return narrow(_projected(matrix, scale, columns, random))
    if sp.issparse(matrix):
        points = sp.csr_array(matrix)[:, columns] * (1.0 / scale[columns])
        points = sp.csr_array(points)
        points.indices = points.indices.astype(np.int32)
        points.indptr = points.indptr.astype(np.int32)
        return points
    kind = np.float32 if rows * len(columns) > SINGLE else np.float64
    points = np.empty((rows, len(columns)), kind)
    step = max(1, SINGLE // max(1, len(columns)))
    for begin in range(0, rows, step):
        part = matrix[begin : begin + step][:, columns]
        points[begin : begin + step] = (part - center[columns]) / scale[columns]
    return points


def _projected(matrix, scale, columns, random) -> np.ndarray:
    """The scaled columns on random directions, a piece of columns at a time."""
    points = np.zeros((matrix.shape[0], DIRECTIONS))
    step = max(1, min(CHUNK, SINGLE // matrix.shape[0])) if not sp.issparse(matrix) else CHUNK
    for begin in range(0, len(columns), step):
        part = columns[begin : begin + step]
        directions = random.normal(size=(len(part), DIRECTIONS))
        points += matrix[:, part] @ (directions / scale[part][:, None])
    return points
