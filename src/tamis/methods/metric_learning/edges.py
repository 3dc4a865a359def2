"""The quadratic form of sDist over neighbour edges, X'MX with M = diag(C'1) - C - C', without
forming M; and the margins of projected rows.
"""

import numpy as np
import scipy.sparse as sp

from tamis.numerics.numba import compiled
from tamis.solvers.neighbors import NeighborGraph


@compiled
def projection_margins(nearest, edge_weights, projection, margins):
    """Fill `margins` with the margins of the rows along one direction."""
    for i in range(nearest.shape[0]):
        total = 0.0
        for k in range(nearest.shape[1]):
            difference = projection[nearest[i, k]] - projection[i]
            total += edge_weights[i, k] * difference * difference
        margins[i] = total


@compiled
def laplacian_product(bag, nearest, edge_weights, points, product):
    """Fill `product` with M times points of shape (rows, columns), edge by edge."""
    product[:] = 0.0
    for b in range(bag.shape[0]):
        i = bag[b]
        for k in range(nearest.shape[1]):
            j, weight = nearest[b, k], edge_weights[b, k]
            for column in range(points.shape[1]):
                weighted_difference = weight * (points[i, column] - points[j, column])
                product[i, column] += weighted_difference
                product[j, column] -= weighted_difference


def compute_margins(edges: NeighborGraph, points: np.ndarray) -> np.ndarray:
    """Return the margin of each row: its mean squared distance to neighbours of other classes minus
    that to neighbours of its class. `points` has shape (rows,) or (rows, dimensions).
    """
    if points.ndim == 1:
        margins = np.empty(len(points))
        projection_margins(edges.nearest, edges.share, points, margins)
        return margins
    margins = np.zeros(len(points))
    for k in range(edges.nearest.shape[1]):
        difference = points[edges.nearest[:, k]] - points
        margins += edges.share[:, k] * np.einsum("ij,ij->i", difference, difference)
    return margins


class Laplacian:
    """The matrix M of weighted edges that leave the rows of a bag: the Laplacian of a graph whose
    edges may have negative weights.
    """

    def __init__(self, edges: NeighborGraph, bag: np.ndarray, row_weights: np.ndarray):
        self.bag, self.nearest = bag, edges.nearest[bag]
        self.edge_weights = edges.share[bag] * row_weights[:, None]

    def matmat(self, points: np.ndarray) -> np.ndarray:
        """Return M times points of shape (rows, columns)."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        product = np.empty_like(points)
        laplacian_product(self.bag, self.nearest, self.edge_weights, points, product)
        return product


class QuadraticForm:
    """X'MX for too many columns to form it: every product reads only the nonzeros of X.

    `block` is a dense or CSC array; `factors` multiply its columns.
    """

    block_entries = 1 << 22  # entries of a dense block of columns (32 MiB)

    def __init__(self, block, factors: np.ndarray, laplacian: Laplacian):
        self.block, self.factors, self.laplacian = block, factors, laplacian
        self.width = block.shape[1]
        self.cached_diagonal: np.ndarray | None = None

    def _dense_columns(self, indices) -> np.ndarray:
        columns = self.block[:, indices]
        return (columns.toarray() if sp.issparse(columns) else columns) * self.factors[indices]

    def _form_product(self, points: np.ndarray) -> np.ndarray:
        """Return X'M times points of shape (rows, columns)."""
        product = self.block.T @ self.laplacian.matmat(points)
        return np.asarray(product) * self.factors[:, None]

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, computed block by block of columns."""
        if self.cached_diagonal is None:
            step = max(1, self.block_entries // self.block.shape[0])
            self.cached_diagonal = np.empty(self.width)
            for begin in range(0, self.width, step):
                columns = self._dense_columns(np.arange(begin, min(begin + step, self.width)))
                product = self.laplacian.matmat(columns)
                self.cached_diagonal[begin : begin + step] = np.einsum("ij,ij->j", columns, product)
        return self.cached_diagonal

    def columns(self, indices) -> np.ndarray:
        """Return the columns of X'MX at these indices."""
        return self._form_product(self._dense_columns(np.asarray(indices)))

    def matvec(self, vector: np.ndarray) -> np.ndarray:
        """Return the product with a vector."""
        return self._form_product((self.block @ (self.factors * vector))[:, None])[:, 0]

    def sparse_matvec(self, indices, entries) -> np.ndarray:
        """Return the product with a sparse vector."""
        return self._form_product((self._dense_columns(indices) @ entries)[:, None])[:, 0]


def form_matrix(block: np.ndarray, laplacian: Laplacian) -> np.ndarray:
    """Return X'MX of a dense block of columns as an array."""
    return block.T @ laplacian.matmat(block)
