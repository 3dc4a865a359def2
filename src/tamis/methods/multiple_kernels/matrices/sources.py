"""Sources of the entries of kernels: distances and inner products of columns, powers of one column,
or matrices.
"""

from math import comb

import numpy as np

from tamis.methods.multiple_kernels.matrices.kinds import ColumnKernels
from tamis.methods.multiple_kernels.matrices.loop import column_distances, gaussians, pack
from tamis.solvers.standard import StandardizedRows


def count_packed_entries(first: int, last: int, n: int) -> int:
    """Return the number of packed entries of the rows `first` to `last`."""
    return (last - first) * n - (last * (last - 1) - first * (first - 1)) // 2


class ColumnSource:
    """Gaussians, and polynomials of several columns, on the same columns: they share the distances.

    Each kernel is stored divided by its storage scale, so that float32 does not overflow.
    """

    def __init__(self, rows: StandardizedRows, column_kernels: ColumnKernels):
        self.rows = column_kernels.select_columns(rows)
        self.column_kernels, self.indices = column_kernels, column_kernels.indices
        rates = 1.0 / (2.0 * column_kernels.widths**2)
        self.rates = rates
        # Half the width of the one before: the fourth power of its entries.
        self.is_chained = np.r_[False, rates[1:] == 4.0 * rates[:-1]][: len(rates)]
        self.norms = self.rows.squares()
        largest = self.norms.max(initial=0.0) + 1.0
        self.storage_scales = np.r_[np.ones(len(rates)), largest**column_kernels.degrees]

    def traces(self, weights: np.ndarray, stack=None) -> np.ndarray:
        """Return the weighted trace of each kernel."""
        powers = (self.norms + 1.0) ** self.column_kernels.degrees[:, None]
        return np.r_[np.full(len(self.rates), weights.sum()), powers @ weights]

    def fill(self, first: int, last: int, out: np.ndarray, offset: int) -> None:
        """Write the packed entries of the rows `first` to `last` into `out`, from entry `offset`
        on.
        """
        start, stop, begin = np.uint64(first), np.uint64(last), np.uint64(offset)
        values = np.empty(count_packed_entries(first, last, len(self.rows)))
        if self.rows.width == 1 and not len(self.column_kernels.degrees):
            column_distances(np.ascontiguousarray(self.rows.rows[:, 0]), start, stop, values)
            gaussians(values, self.rates, self.is_chained, out, begin)
            return
        block = self.rows.cut(first, last).products(self.rows)
        for k, degree in enumerate(self.column_kernels.degrees, start=len(self.rates)):
            pack((block + 1.0) ** degree / self.storage_scales[k], start, out[k, offset:])
        if len(self.rates):
            block *= -2.0
            block += self.norms
            block += self.norms[first:last, None]
            np.maximum(block, 0.0, out=block)
            pack(block, start, values)
            gaussians(values, self.rates, self.is_chained, out, begin)


class MatrixSource:
    """One kernel, a user's callable or a matrix; ``block(first, last)`` returns its dense rows."""

    storage_scales = np.ones(1)

    def __init__(self, block, n: int, index: int):
        self.block, self.n, self.indices = block, n, np.array([index])

    def traces(self, weights: np.ndarray, stack=None) -> np.ndarray:
        """Return the weighted trace; it calls `block` again only without a stack in memory."""
        if stack is not None:
            rows = np.arange(self.n)
            return stack[:, rows * (2 * self.n - rows + 1) // 2] @ weights
        step = max(1, (1 << 19) // self.n)
        diagonals = [
            np.diagonal(self.block(k, min(k + step, self.n)), offset=k)
            for k in range(0, self.n, step)
        ]
        return np.array([np.concatenate(diagonals) @ weights])

    def fill(self, first: int, last: int, out: np.ndarray, offset: int) -> None:
        """Write the packed entries of the rows `first` to `last` into `out`, from entry `offset`
        on.
        """
        block = np.ascontiguousarray(self.block(first, last), dtype=np.float64)
        pack(block, np.uint64(first), out[0, offset:])


class PowerSource:
    """Polynomials of single columns, by their factors: the powers 0 to k of the column, weighted by
    binomial coefficients.
    """

    def __init__(self, rows: StandardizedRows, groups: list[ColumnKernels]):
        max_degree = int(max(group.degrees.max() for group in groups))
        values = np.column_stack([group.select_columns(rows).rows[:, 0] for group in groups])
        self.powers = np.concatenate(
            [values[:, :, None] ** power for power in range(max_degree + 1)], axis=2
        )
        self.indices = np.concatenate([group.indices[~group.is_gaussian] for group in groups])
        self.column_of_kernel = np.repeat(
            np.arange(len(groups)), [len(group.degrees) for group in groups]
        )
        degrees = np.concatenate([group.degrees for group in groups]).astype(int)
        self.binomials = np.array(
            [[comb(degree, power) for power in range(max_degree + 1)] for degree in degrees],
            dtype=np.float64,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the powers."""
        return self.powers.nbytes

    def traces(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted trace of each kernel."""
        squares = np.tensordot(weights, self.powers**2, axes=1)
        return np.einsum("kp,kp->k", squares[self.column_of_kernel], self.binomials)

    def forms(self, betas: np.ndarray) -> np.ndarray:
        """Return the quadratic form of each kernel, summed over the rows of `betas`."""
        moments = np.tensordot(betas, self.powers, axes=1)
        return np.einsum(
            "kp,kp->k", (moments**2).sum(axis=0)[self.column_of_kernel], self.binomials
        )

    def add_mixture(self, factors: np.ndarray, kernel: np.ndarray) -> None:
        """Add the weighted sum of the kernels to a dense matrix, by one product over the powers of
        all columns.
        """
        weights = np.zeros(self.powers.shape[1:])
        np.add.at(weights, self.column_of_kernel, factors[:, None] * self.binomials)
        constant = weights[:, 0].sum()
        weights[:, 0] = 0.0
        used = weights > 0.0
        if used.any():
            roots = self.powers[:, used] * np.sqrt(weights[used])
            for first in range(0, len(kernel), 512):
                kernel[first : first + 512] += roots[first : first + 512] @ roots.T
        kernel += constant
