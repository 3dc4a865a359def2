"""Training rows with their kernels: blocks of entries to learn from, and mixtures with new rows to
predict with.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from tamis.methods.multiple_kernels.dictionary import call_kernel, parse_row_numbers
from tamis.methods.multiple_kernels.matrices.kinds import Kernel, cross_mixture
from tamis.numerics.hashing import group_duplicates, row_hashes
from tamis.solvers.kernels import match_storage
from tamis.solvers.standard import StandardizedRows, mean_and_std
from tamis.system.schema import array, list_of, nested_object, one_of, rows, separate_sizes


class Sample(NamedTuple):
    """Training rows as passed to `fit`, the columns of their targets, their weights, and the costs
    of their losses.
    """

    matrix: Any
    columns: np.ndarray
    weights: np.ndarray
    costs: np.ndarray

    def select(self, rows: np.ndarray) -> "Sample":
        """Return the rows at these indices."""
        return Sample(*(field[rows] for field in self))

    def merge_duplicates(self) -> "Sample":
        """Merge equal rows of equal targets into one of their summed weights, in an order that
        depends on their content.

        A row of weight 2 and a row that occurs twice are then the same problem, to the bit.
        """
        labels = row_hashes(self.columns).view(np.int64)
        order, starts = group_duplicates(self.matrix, labels, self.weights, self.costs)
        first = order[starts]
        weights, costs = (
            np.add.reduceat(field[order], starts) for field in (self.weights, self.costs)
        )
        return Sample(self.matrix[first], self.columns[first], weights, costs)


SHARED_SIZES = ("columns", "rows", "numbers")  # of model files; all kernels share them


class KernelRows:
    """Rows as passed to `fit`, the mean and standard deviation of their columns, and the kernels on
    them: of a dictionary, callables, or matrices.
    """

    _contents: ClassVar[dict] = {
        "matrix": one_of(
            array(("f8", "f4"), "rows", "columns", order=None),
            rows("rows", "columns", dtypes=("f8", "f4")),
        ),
        "mean": array("f8", "columns"),
        "spread": array("f8", "columns", minimum=np.finfo(float).tiny),
        "kernels": list_of(
            separate_sizes(
                one_of(
                    nested_object(Kernel, "columns"),
                    array("f8", "numbers", ("rows", 0), order=None),
                ),
                *SHARED_SIZES,
            ),
            "kernels",
            1,
        ),
    }

    def __init__(self, matrix, mean, spread, kernels: list):
        self.matrix, self.mean, self.spread, self.kernels = matrix, mean, spread, kernels

    @classmethod
    def from_rows(cls, matrix, weights, kernels, *, standardize: bool) -> "KernelRows":
        """Return rows that are standardised by their weighted means and standard deviations."""
        if standardize and any(isinstance(kernel, Kernel) for kernel in kernels):
            return cls(matrix, *mean_and_std(matrix, weights), kernels)
        return cls(matrix, np.zeros(matrix.shape[1]), np.ones(matrix.shape[1]), kernels)

    @property
    def standard(self) -> StandardizedRows:
        """The rows in standard units."""
        return StandardizedRows.of(self.matrix, self.mean, self.spread)

    def store_kernels(self) -> list:
        """Return the kernels for `KernelStore.of`: those of a dictionary unchanged, others as
        functions that return dense rows.
        """
        return [
            kernel if isinstance(kernel, Kernel) else self._row_block(kernel, index)
            for index, kernel in enumerate(self.kernels)
        ]

    def _row_block(self, kernel, index: int):
        if callable(kernel):
            return lambda first, last: call_kernel(
                kernel, index, match_storage(self.matrix[first:last], self.matrix), self.matrix
            )
        numbers = parse_row_numbers(self.matrix, kernel.shape[0])
        return lambda first, last: kernel[np.ix_(numbers[first:last], numbers)]

    def select(self, row_indices: np.ndarray, used_kernels: np.ndarray) -> "KernelRows":
        """Return some rows, with only the columns of these rows of the used matrices, and no
        columns of the others.
        """
        matrix = self.matrix[row_indices]
        if not isinstance(self.kernels[0], np.ndarray):
            return KernelRows(matrix, self.mean, self.spread, list(self.kernels))
        numbers = parse_row_numbers(matrix, len(self.kernels[0]))
        matrices = [np.zeros((len(self.kernels[0]), 0))] * len(self.kernels)
        for k in used_kernels:
            matrices[k] = self.kernels[k][:, numbers]
        return KernelRows(matrix, self.mean, self.spread, matrices)

    def mixture(self, matrix, factors: np.ndarray) -> np.ndarray:
        """Return the weighted sum of the kernels between new rows and these."""
        matrix = match_storage(matrix, self.matrix)
        indices = [k for k, kernel in enumerate(self.kernels) if isinstance(kernel, Kernel)]
        total = np.zeros((matrix.shape[0], self.matrix.shape[0]))
        if indices and factors[indices].any():
            rows = StandardizedRows.of(matrix, self.mean, self.spread)
            total = cross_mixture(
                [self.kernels[k] for k in indices], factors[indices], rows, self.standard
            )
        for index, kernel in enumerate(self.kernels):
            if isinstance(kernel, Kernel) or not factors[index]:
                continue
            if callable(kernel):
                total += factors[index] * call_kernel(kernel, index, matrix, self.matrix)
            else:
                total += factors[index] * kernel[parse_row_numbers(matrix, len(kernel))]
        return total
