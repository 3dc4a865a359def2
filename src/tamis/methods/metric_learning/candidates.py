"""What steps may draw from: distinct rows, scaled columns, and terms, which are columns and
products of columns, by the multiset of their indices.
"""

import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.numerics.hashing import merge_duplicates
from tamis.numerics.moments import centred_moments, standard_deviations
from tamis.system.schema import array, indices

CHUNK = 1 << 21  # numbers of a piece of rows


class Distinct(NamedTuple):
    """Rows of which no two have one content and one class, their class numbers and weights, and an
    order of them that hangs on their content alone.
    """

    matrix: Any
    codes: np.ndarray
    weights: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, matrix, codes, weights, n_classes: int) -> "Distinct":
        """Equal rows of one class as one row of their summed weight."""
        signs = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
        matrix, signs, weights, order = merge_duplicates(matrix, signs, weights)
        return cls(matrix, signs.argmax(axis=1), weights, order)

    def picked(self, order: np.ndarray) -> "Distinct":
        """Some rows, given in the order to draw them."""
        if len(order) == len(self.codes):
            return self._replace(order=order)
        inside = np.sort(order)
        return Distinct(
            self.matrix[inside],
            self.codes[inside],
            self.weights[inside],
            np.searchsorted(inside, order),
        )


class Scaling:
    """Centre and scale of every column, and the deviation of products; columns without deviation
    are left out.
    """

    scaled = False  # whether the matrix is so already
    _contents: ClassVar[dict] = {
        "usable": indices("usable", below="columns", increasing=True),
        "center": array("f8", "columns"),
        "scale": array("f8", "columns", least=np.finfo(float).tiny),
    }

    def __init__(self, matrix, weights: np.ndarray, standardize: bool):
        moments = centred_moments(matrix, weights)
        means, deviation = moments[1], standard_deviations(moments)
        varies = deviation > 0.0
        self.usable = np.flatnonzero(varies)
        self.center = means if standardize else np.zeros(len(means))
        self.scale = np.where(varies & standardize, deviation, 1.0)

    def columns(self, matrix, columns) -> np.ndarray:
        """Some columns as a dense standardised array."""
        if self.scaled:
            return matrix.T[columns].T
        part = matrix[:, columns]
        part = part.toarray() if sp.issparse(part) else part
        return (part - self.center[columns]) / self.scale[columns]

    def applied(self, matrix: np.ndarray) -> tuple[np.ndarray, "Scaling"]:
        """A dense matrix scaled once, by columns, and the scaling that leaves it as it is."""
        plain = copy.copy(self)
        plain.center, plain.scale = np.zeros_like(self.center), np.ones_like(self.scale)
        plain.scaled = True
        return np.asfortranarray((matrix - self.center) / self.scale), plain

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
            if len(term) == 1:
                found[:, at] = part[:, inside[0]]
            else:
                found[:, at] = part[:, inside].prod(axis=1) / spreads[at]
        return found

    def projected(self, matrix, terms, spreads, components: np.ndarray) -> np.ndarray:
        """Values of terms times components' transpose, a piece of rows at a time."""
        rows = matrix.shape[0]
        found, step = np.empty((rows, len(components))), max(1, CHUNK // max(1, len(terms)))
        if step < rows and sp.issparse(matrix):
            matrix = sp.csr_array(matrix)
        for begin in range(0, rows, step):
            part = slice(begin, begin + step)
            found[part] = self.values(matrix[part], terms, spreads) @ components.T
        return found


def _deviation(values, weights) -> float:
    """Weighted deviation of a product; infinite where it does not vary."""
    deviation = float(standard_deviations(centred_moments(values[:, None], weights))[0])
    return deviation if deviation > 0.0 else np.inf


class Candidates:
    """The terms that a step may draw from: all columns, and products of terms that earlier steps
    selected.
    """

    def __init__(self, columns: np.ndarray, max_order: int, max_terms: int, standardize: bool):
        self.columns, self.max_order, self.max_terms = columns, max_order, max_terms
        self.standardize = standardize  # whether products are divided by their deviation
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
                self.spread[which] = _deviation(found[:, at], weights) if self.standardize else 1.0
            spread = self.spread[which]
            found[:, at] = found[:, at] / spread if np.isfinite(spread) else 0.0
        return found

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
