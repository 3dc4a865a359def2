"""Terms of sDist: columns and products of columns, by the multiset of their indices, and the values
of both.
"""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tamis.base.contents import array, flag, indices

CHUNK = 1 << 21  # numbers of a piece of rows
FLAT = 1e-10  # a column whose deviation is below this share of its size is constant


class Scaling:
    """Centre and scale of every column, and the deviation of products; columns without deviation
    are left out.
    """

    _contents: ClassVar[dict] = {
        "standardize": flag(),
        "usable": indices("usable", below="columns", increasing=True),
        "center": array("f8", "columns"),
        "scale": array("f8", "columns", least=np.finfo(float).tiny),
    }

    def __init__(self, matrix, weights: np.ndarray, standardize: bool):
        mean, deviation, size = _moments(matrix, weights)
        self.standardize = standardize
        self.usable = np.flatnonzero(deviation > FLAT * size)
        self.center = mean if standardize else np.zeros(len(mean))
        self.scale = (
            np.where(deviation > FLAT * size, deviation, 1.0) if standardize else np.ones(len(mean))
        )

    def columns(self, matrix, columns) -> np.ndarray:
        """Some columns as a dense standardised array."""
        part = matrix[:, columns]
        part = part.toarray() if sp.issparse(part) else part
        return (part - self.center[columns]) / self.scale[columns]

    def values(self, matrix, terms, spreads) -> np.ndarray:
        """Values of terms, products divided by their deviations."""
        columns, place = np.unique(
            np.concatenate([np.asarray(term) for term in terms]), return_inverse=True
        )
        part = self.columns(matrix, columns)
        if len(place) == len(terms):  # singletons only
            return part[:, place] if not np.array_equal(place, np.arange(len(place))) else part
        found, begin = np.empty((part.shape[0], len(terms))), 0
        for at, term in enumerate(terms):
            inside = place[begin : begin + len(term)]
            begin += len(term)
            found[:, at] = (
                part[:, inside[0]] if len(term) == 1 else part[:, inside].prod(axis=1) / spreads[at]
            )
        return found

    def projected(self, matrix, terms, spreads, components: np.ndarray) -> np.ndarray:
        """Values of terms times components' transpose, a piece of rows at a time."""
        rows = matrix.shape[0]
        found, step = np.empty((rows, len(components))), max(1, CHUNK // max(1, len(terms)))
        if step < rows and sp.issparse(matrix):
            matrix = sp.csr_array(matrix)
        for begin in range(0, rows, step):
            found[begin : begin + step] = (
                self.values(matrix[begin : begin + step], terms, spreads) @ components.T
            )
        return found


def _moments(matrix, weights):
    """Weighted mean and deviation of every column, and its largest absolute value."""
    total = weights.sum()
    if sp.issparse(matrix):
        mean = np.asarray(matrix.T @ weights) / total
        square = np.asarray(sp.csc_array(matrix).power(2).astype(np.float64).T @ weights) / total
        size = np.asarray(abs(matrix).max(axis=0).toarray()).ravel().astype(np.float64)
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0)), size
    mean, size = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
    step = max(1, CHUNK // matrix.shape[1])
    for begin in range(0, len(matrix), step):
        part = matrix[begin : begin + step]
        mean += weights[begin : begin + step] @ part / total
        size = np.maximum(size, np.abs(part).max(axis=0))
    variance = np.zeros(matrix.shape[1])
    for begin in range(0, len(matrix), step):
        variance += (
            weights[begin : begin + step] @ (matrix[begin : begin + step] - mean) ** 2 / total
        )
    return mean, np.sqrt(variance), size


class Candidates:
    """The terms that a step may draw from: all columns, and products of terms that earlier steps
    selected.
    """

    def __init__(self, columns: np.ndarray, max_order: int, max_terms: int):
        self.columns, self.max_order, self.max_terms = columns, max_order, max_terms
        self.products: list[tuple[int, ...]] = []
        self.spread: list[float] = []  # of the products; nan until one is drawn
        self.known: set[tuple[int, ...]] = set()
        self.selected: dict[tuple[int, ...], int] = {}

    def __len__(self):
        return len(self.columns) + len(self.products)

    def term(self, place: int) -> tuple[int, ...]:
        """The term at a place."""
        first = place - len(self.columns)
        return (int(self.columns[place]),) if first < 0 else self.products[first]

    def values(self, scaling: Scaling, matrix, weights, places) -> np.ndarray:
        """Training values of the terms at places; products that do not vary are 0."""
        if self.max_order == 1 or not self.products or places.max() < len(self.columns):
            return scaling.columns(matrix, self.columns[places])
        terms = [self.term(place) for place in places]
        found = scaling.values(matrix, terms, np.ones(len(terms)))
        for at in np.flatnonzero(places >= len(self.columns)):
            which = places[at] - len(self.columns)
            if np.isnan(self.spread[which]):
                self.spread[which] = (
                    self._deviation(found[:, at], weights) if scaling.standardize else 1.0
                )
            found[:, at] = (
                found[:, at] / self.spread[which] if np.isfinite(self.spread[which]) else 0.0
            )
        return found

    @staticmethod
    def _deviation(values, weights) -> float:
        mean = np.average(values, weights=weights)
        deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
        return deviation if deviation > FLAT * np.abs(values).max() else np.inf

    def spreads(self, terms) -> np.ndarray:
        """Deviations of terms, 1 for columns."""
        place = {term: at for at, term in enumerate(self.products)}
        return np.array([self.spread[place[term]] if len(term) > 1 else 1.0 for term in terms])

    def select(self, terms) -> list[int]:
        """Number the terms of a step in the order of their first selection, and add the products
        that new ones make.
        """
        for term in terms:
            if term not in self.selected:
                self.selected[term] = len(self.selected)
                if self.max_order > 1:
                    self._grow(term)
        return [self.selected[term] for term in terms]

    def _grow(self, new) -> None:
        for old in self.selected:
            product = tuple(sorted(new + old))
            if (
                len(product) <= self.max_order
                and product not in self.known
                and len(self.products) < self.max_terms
            ):
                self.known.add(product)
                self.products.append(product)
                self.spread.append(np.nan)
