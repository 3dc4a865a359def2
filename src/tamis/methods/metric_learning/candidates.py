"""The terms that a step may use: distinct rows, scaled columns, and products of columns. A term is
the sorted tuple of the indices of its columns.
"""

import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.numerics.hashing import merge_duplicates
from tamis.numerics.moments import centred_moments, standard_deviations
from tamis.system.schema import array, indices


class DistinctRows(NamedTuple):
    """Rows without duplicates within a class, their class codes and weights, and an order of them
    that depends on their content alone.
    """

    matrix: Any
    codes: np.ndarray
    weights: np.ndarray
    order: np.ndarray

    @classmethod
    def from_rows(cls, matrix, codes, weights, n_classes: int) -> "DistinctRows":
        """Merge equal rows of one class into one row of their summed weight."""
        signs = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
        matrix, signs, weights, order = merge_duplicates(matrix, signs, weights)
        return cls(matrix, signs.argmax(axis=1), weights, order)

    def select(self, order: np.ndarray) -> "DistinctRows":
        """Return the rows whose indices `order` lists, to be drawn in this order."""
        if len(order) == len(self.codes):
            return self._replace(order=order)
        selected = np.sort(order)
        return DistinctRows(
            self.matrix[selected],
            self.codes[selected],
            self.weights[selected],
            np.searchsorted(selected, order),
        )


class Scaling:
    """Centre and scale of every column. `usable` lists the columns that vary."""

    is_scaled = False  # whether the matrix is scaled already
    block_entries = 1 << 21  # entries of a block of rows of `project` (16 MiB)
    _contents: ClassVar[dict] = {
        "usable": indices("usable", below="columns", increasing=True),
        "center": array("f8", "columns"),
        "scale": array("f8", "columns", minimum=np.finfo(float).tiny),
    }

    def __init__(self, matrix, weights: np.ndarray, standardize: bool):
        moments = centred_moments(matrix, weights)
        means, stds = moments[1], standard_deviations(moments)
        varies = stds > 0.0
        self.usable = np.flatnonzero(varies)
        self.center = means if standardize else np.zeros(len(means))
        self.scale = np.where(varies & standardize, stds, 1.0)

    def scale_columns(self, matrix, columns) -> np.ndarray:
        """Return the columns at these indices as a dense scaled array."""
        if self.is_scaled:
            return matrix.T[columns].T
        block = matrix[:, columns]
        block = block.toarray() if sp.issparse(block) else block
        return (block - self.center[columns]) / self.scale[columns]

    def scale_matrix(self, matrix: np.ndarray) -> tuple[np.ndarray, "Scaling"]:
        """Return a dense matrix scaled, in column order, and the scaling that leaves it as it
        is.
        """
        identity = copy.copy(self)
        identity.center, identity.scale = np.zeros_like(self.center), np.ones_like(self.scale)
        identity.is_scaled = True
        return np.asfortranarray((matrix - self.center) / self.scale), identity

    def term_values(self, matrix, terms, term_stds) -> np.ndarray:
        """Return the values of the terms, products divided by their standard deviations."""
        columns, positions = np.unique(
            np.concatenate([np.asarray(term) for term in terms]), return_inverse=True
        )
        block = self.scale_columns(matrix, columns)
        if len(positions) == len(terms):  # every term is one column
            in_order = np.array_equal(positions, np.arange(len(positions)))
            return block[:, positions] if not in_order else block
        values, begin = np.empty((block.shape[0], len(terms))), 0
        for j, term in enumerate(terms):
            factors = positions[begin : begin + len(term)]
            begin += len(term)
            if len(term) == 1:
                values[:, j] = block[:, factors[0]]
            else:
                values[:, j] = block[:, factors].prod(axis=1) / term_stds[j]
        return values

    def project(self, matrix, terms, term_stds, components: np.ndarray) -> np.ndarray:
        """Return the values of the terms times the transposed components, computed block by block
        of rows.
        """
        n_rows = matrix.shape[0]
        points = np.empty((n_rows, len(components)))
        step = max(1, self.block_entries // max(1, len(terms)))
        if step < n_rows and sp.issparse(matrix):
            matrix = sp.csr_array(matrix)
        for begin in range(0, n_rows, step):
            block = slice(begin, begin + step)
            points[block] = self.term_values(matrix[block], terms, term_stds) @ components.T
        return points


def _product_std(values, weights) -> float:
    """Return the weighted standard deviation of a product; infinity where it does not vary."""
    std = float(standard_deviations(centred_moments(values[:, None], weights))[0])
    return std if std > 0.0 else np.inf


class Candidates:
    """The terms that a step may use: all columns, and products of terms that earlier steps
    selected. Columns come first in their numbering.
    """

    def __init__(self, columns: np.ndarray, max_order: int, max_terms: int, standardize: bool):
        self.columns, self.max_order, self.max_terms = columns, max_order, max_terms
        self.standardize = standardize  # whether products are divided by their std
        self.products: list[tuple[int, ...]] = []
        self.product_stds: list[float] = []  # nan until the product is drawn
        self.known_products: set[tuple[int, ...]] = set()
        self.selected: dict[tuple[int, ...], int] = {}  # number of each selected term

    def __len__(self):
        return len(self.columns) + len(self.products)

    def term(self, index: int) -> tuple[int, ...]:
        """Return the candidate of this index."""
        product_index = index - len(self.columns)
        if product_index < 0:
            return (int(self.columns[index]),)
        return self.products[product_index]

    def values(self, scaling: Scaling, matrix, weights, indices) -> np.ndarray:
        """Return the training values of candidates; products that do not vary are 0."""
        if self.max_order == 1 or not self.products or indices.max() < len(self.columns):
            return scaling.scale_columns(matrix, self.columns[indices])
        terms = [self.term(index) for index in indices]
        values = scaling.term_values(matrix, terms, np.ones(len(terms)))
        for j in np.flatnonzero(indices >= len(self.columns)):
            product = indices[j] - len(self.columns)
            if np.isnan(self.product_stds[product]):
                self.product_stds[product] = (
                    _product_std(values[:, j], weights) if self.standardize else 1.0
                )
            std = self.product_stds[product]
            values[:, j] = values[:, j] / std if np.isfinite(std) else 0.0
        return values

    def term_stds(self, terms) -> np.ndarray:
        """Return what the values of each term are divided by: its std for a product, else 1."""
        index = {product: j for j, product in enumerate(self.products)}
        return np.array(
            [self.product_stds[index[term]] if len(term) > 1 else 1.0 for term in terms]
        )

    def select(self, terms) -> list[int]:
        """Return the numbers of the terms of a step, in the order of first selection, and add the
        products of new terms with all selected ones.
        """
        for term in terms:
            if term not in self.selected:
                self.selected[term] = len(self.selected)
                if self.max_order > 1:
                    self._add_products(term)
        return [self.selected[term] for term in terms]

    def _add_products(self, new_term) -> None:
        for term in self.selected:
            product = tuple(sorted(new_term + term))
            if (
                len(product) <= self.max_order
                and product not in self.known_products
                and len(self.products) < self.max_terms
            ):
                self.known_products.add(product)
                self.products.append(product)
                self.product_stds.append(np.nan)
