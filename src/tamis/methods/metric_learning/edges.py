"""The quadratic form of sDist over neighbour edges, X'MX with M = diag(C'1) - C - C', never
assembled; and margins of projections.
"""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.numba import compiled
from tamis.solvers.neighbors import Edges

EXPLICIT = 500  # columns up to which X'MX itself is cheaper than its products
CHUNK = 1 << 22  # numbers of a piece of columns


@compiled
def line_margins(nearest, share, points, found):
    """Margins of the rows along one direction."""
    for i in range(nearest.shape[0]):
        total = 0.0
        for place in range(nearest.shape[1]):
            gap = points[nearest[i, place]] - points[i]
            total += share[i, place] * gap * gap
        found[i] = total


@compiled
def edge_products(bag, nearest, loads, points, found):
    """M times points of shape (rows, columns), edge by edge."""
    found[:] = 0.0
    for b in range(bag.shape[0]):
        i = bag[b]
        for place in range(nearest.shape[1]):
            j, load = nearest[b, place], loads[b, place]
            for column in range(points.shape[1]):
                pull = load * (points[i, column] - points[j, column])
                found[i, column] += pull
                found[j, column] -= pull


def margins_of(edges: Edges, points: np.ndarray) -> np.ndarray:
    """Margins of the rows: mean squared distance to other classes less that to the own, for points
    of shape (rows,) or (rows, dimensions).
    """
    if points.ndim == 1:
        line = np.empty(len(points))
        line_margins(edges.nearest, edges.share, points, line)
        return line
    found = np.zeros(len(points))
    for place in range(edges.nearest.shape[1]):
        gap = points[edges.nearest[:, place]] - points
        found += edges.share[:, place] * np.einsum("ij,ij->i", gap, gap)
    return found


class Laplacian:
    """The matrix M of weighted edges that leave the rows of a bag: a graph's Laplacian, but for the
    signs of the edges.
    """

    def __init__(self, edges: Edges, bag: np.ndarray, mass: np.ndarray):
        self.bag, self.nearest = bag, edges.nearest[bag]
        self.loads = edges.share[bag] * mass[:, None]

    def times(self, points: np.ndarray) -> np.ndarray:
        """M times points of shape (rows, columns)."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        found = np.empty_like(points)
        edge_products(self.bag, self.nearest, self.loads, points, found)
        return found


class Quadratic:
    """X'MX for columns too many to form it: products over the nonzeros of X alone.

    `block` is a dense or CSC array and `factors` what its columns are multiplied by.
    """

    def __init__(self, block, factors: np.ndarray, laplacian: Laplacian):
        self.block, self.factors, self.laplacian = block, factors, laplacian
        self.width = block.shape[1]
        self.cached: np.ndarray | None = None

    def _dense(self, places) -> np.ndarray:
        part = self.block[:, places]
        return (part.toarray() if sp.issparse(part) else part) * self.factors[places]

    def _product(self, points: np.ndarray) -> np.ndarray:
        """X'M times points."""
        product = self.block.T @ self.laplacian.times(points)
        return np.asarray(product) * self.factors[:, None]

    def diagonal(self) -> np.ndarray:
        """The diagonal, a piece of columns at a time."""
        if self.cached is None:
            step = max(1, CHUNK // self.block.shape[0])
            self.cached = np.empty(self.width)
            for begin in range(0, self.width, step):
                part = self._dense(np.arange(begin, min(begin + step, self.width)))
                product = self.laplacian.times(part)
                self.cached[begin : begin + step] = np.einsum("ij,ij->j", part, product)
        return self.cached

    def columns(self, places) -> np.ndarray:
        """Some columns."""
        return self._product(self._dense(np.asarray(places)))

    def times(self, vector: np.ndarray) -> np.ndarray:
        """The product with a vector."""
        return self._product((self.block @ (self.factors * vector))[:, None])[:, 0]

    def sparse_times(self, places, entries) -> np.ndarray:
        """The product with a sparse vector."""
        return self._product((self._dense(places) @ entries)[:, None])[:, 0]


def explicit_form(block: np.ndarray, laplacian: Laplacian) -> np.ndarray:
    """X'MX of a dense block of columns."""
    return block.T @ laplacian.times(block)
