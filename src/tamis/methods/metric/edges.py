"""The quadratic form of sDist over neighbour edges, X'MX with M = diag(C'1) - C - C', never
assembled; and margins of projections.
"""

import numpy as np
import scipy.sparse as sp

from tamis.solvers.neighbours import Edges

EXPLICIT = 500  # columns up to which X'MX itself is cheaper than its products
CHUNK = 1 << 22  # numbers of a piece of columns


def margins_of(edges: Edges, points: np.ndarray) -> np.ndarray:
    """Margins of the rows: mean squared distance to other classes less that to the own, for points
    of shape (rows,) or (rows, dimensions).
    """
    if points.ndim == 1:
        return np.einsum("ij,ij->i", edges.share, (points[edges.nearest] - points[:, None]) ** 2)
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
        rows, width = len(edges.nearest), edges.nearest.shape[1]
        data = (edges.share[bag] * mass[:, None]).ravel()
        indices = edges.nearest[bag].ravel()
        self.bag = bag
        self.edges = sp.csr_array(
            (data, indices, np.arange(0, len(data) + 1, width)), shape=(len(bag), rows)
        )
        self.into = np.bincount(indices, weights=data, minlength=rows)
        # 0, but for rows without neighbours on one side
        self.outof = data.reshape(-1, width).sum(axis=1)

    def times(self, points: np.ndarray) -> np.ndarray:
        """M times points of shape (rows, columns)."""
        inside = points[self.bag]
        found = self.into[:, None] * points
        found -= self.edges.T @ inside
        found[self.bag] += self.outof[:, None] * inside - self.edges @ points
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
