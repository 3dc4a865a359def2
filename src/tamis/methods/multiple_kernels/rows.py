"""Training rows with their kernels: as blocks to learn from, and as mixtures with new rows to
predict with.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from tamis.methods.multiple_kernels.choice import called, take_numbers
from tamis.methods.multiple_kernels.matrices.kinds import Kernel, cross_mixture
from tamis.numerics.hashing import group_duplicates, row_hashes
from tamis.solvers.kernels import alike
from tamis.solvers.standard import StandardRows, standard_units
from tamis.system.schema import apart, array, listing, one_of, part, rows


class Sample(NamedTuple):
    """Rows to learn from: as given, the columns of their targets, their weights, and what their
    loss costs.
    """

    matrix: Any
    columns: np.ndarray
    weights: np.ndarray
    costs: np.ndarray

    def picked(self, rows: np.ndarray) -> "Sample":
        """Some rows."""
        return Sample(*(part[rows] for part in self))

    def merged(self) -> "Sample":
        """Rows in an order of their own, equal rows of equal targets as one of their summed
        weights.

        So a row of weight 2 and a row that comes twice are the same problem, to the bit.
        """
        labels = row_hashes(self.columns).view(np.int64)
        order, starts = group_duplicates(self.matrix, labels, self.weights, self.costs)
        first = order[starts]
        weights, costs = (
            np.add.reduceat(part[order], starts) for part in (self.weights, self.costs)
        )
        return Sample(self.matrix[first], self.columns[first], weights, costs)


KNOWN = ("columns", "rows", "numbers")  # sizes that all kernels share


class KernelRows:
    """Rows as given, the units of their columns, and the kernels on them: of a dictionary,
    callables, or matrices.
    """

    _contents: ClassVar[dict] = {
        "matrix": one_of(
            array(("f8", "f4"), "rows", "columns", order=None),
            rows("rows", "columns", dtypes=("f8", "f4")),
        ),
        "mean": array("f8", "columns"),
        "spread": array("f8", "columns", least=np.finfo(float).tiny),
        "kernels": listing(
            apart(
                one_of(part(Kernel, "columns"), array("f8", "numbers", ("rows", 0), order=None)),
                *KNOWN,
            ),
            "kernels",
            1,
        ),
    }

    def __init__(self, matrix, mean, spread, kernels: list):
        self.matrix, self.mean, self.spread, self.kernels = matrix, mean, spread, kernels

    @classmethod
    def of(cls, matrix, weights, kernels, *, standardize: bool) -> "KernelRows":
        """Rows whose units are their own weighted mean and deviation."""
        if standardize and any(isinstance(kernel, Kernel) for kernel in kernels):
            return cls(matrix, *standard_units(matrix, weights), kernels)
        return cls(matrix, np.zeros(matrix.shape[1]), np.ones(matrix.shape[1]), kernels)

    @property
    def standard(self) -> StandardRows:
        """The rows in standard units."""
        return StandardRows.of(self.matrix, self.mean, self.spread)

    def blocks(self) -> list:
        """The kernels as a store takes them: those of a dictionary as they are, others as functions
        that give dense rows.
        """
        return [
            kernel if isinstance(kernel, Kernel) else self._block(kernel, place)
            for place, kernel in enumerate(self.kernels)
        ]

    def _block(self, kernel, place: int):
        if callable(kernel):
            return lambda first, last: called(
                kernel, place, alike(self.matrix[first:last], self.matrix), self.matrix
            )
        numbers = take_numbers(self.matrix, kernel.shape[0])
        return lambda first, last: kernel[np.ix_(numbers[first:last], numbers)]

    def picked(self, kept: np.ndarray, used: np.ndarray) -> "KernelRows":
        """Some rows, and of matrices only the columns of these rows; of matrices that are not used,
        nothing.
        """
        matrix = self.matrix[kept]
        if not isinstance(self.kernels[0], np.ndarray):
            return KernelRows(matrix, self.mean, self.spread, list(self.kernels))
        numbers = take_numbers(matrix, len(self.kernels[0]))
        parts = [np.zeros((len(self.kernels[0]), 0))] * len(self.kernels)
        for k in used:
            parts[k] = self.kernels[k][:, numbers]
        return KernelRows(matrix, self.mean, self.spread, parts)

    def mixture(self, matrix, factors: np.ndarray) -> np.ndarray:
        """Weighted sum of the kernels between new rows and these."""
        matrix = alike(matrix, self.matrix)
        named = [k for k, kernel in enumerate(self.kernels) if isinstance(kernel, Kernel)]
        total = np.zeros((matrix.shape[0], self.matrix.shape[0]))
        if named and factors[named].any():
            rows = StandardRows.of(matrix, self.mean, self.spread)
            total = cross_mixture(
                [self.kernels[k] for k in named], factors[named], rows, self.standard
            )
        for place, kernel in enumerate(self.kernels):
            if isinstance(kernel, Kernel) or not factors[place]:
                continue
            if callable(kernel):
                total += factors[place] * called(kernel, place, matrix, self.matrix)
            else:
                total += factors[place] * kernel[take_numbers(matrix, len(kernel))]
        return total
