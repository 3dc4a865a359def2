"""Where the entries of kernels come from: distances and inner products of columns, powers of one
column, or whole matrices.
"""

from math import comb

import numpy as np

from tamis.methods.multiple_kernels.matrices.kinds import Shared
from tamis.methods.multiple_kernels.matrices.loop import column_distances, gaussians, pack
from tamis.solvers.standard import StandardRows


def entries(first: int, last: int, n: int) -> int:
    """Number of packed entries of some rows."""
    return (last - first) * n - (last * (last - 1) - first * (first - 1)) // 2


class ColumnSource:
    """Gaussians, and polynomials of several columns: one set of distances for all of them."""

    def __init__(self, rows: StandardRows, shared: Shared):
        self.rows, self.shared, self.places = shared.of(rows), shared, shared.places
        rates = 1.0 / (2.0 * shared.widths**2)
        self.rates = rates
        self.chained = np.r_[False, rates[1:] == 4.0 * rates[:-1]][: len(rates)]
        self.norms = self.rows.squares()
        largest = self.norms.max(initial=0.0) + 1.0
        self.tops = np.r_[np.ones(len(rates)), largest**shared.degrees]

    def traces(self, weights: np.ndarray, stack=None) -> np.ndarray:
        """Weighted trace of each kernel."""
        powers = (self.norms + 1.0) ** self.shared.degrees[:, None]
        return np.r_[np.full(len(self.rates), weights.sum()), powers @ weights]

    def fill(self, first: int, last: int, out: np.ndarray, at: int) -> None:
        """Write the packed entries of some rows from entry `at` on, each kernel over its top."""
        start, stop, place = np.uint64(first), np.uint64(last), np.uint64(at)
        inner = np.empty(entries(first, last, len(self.rows)))
        if self.rows.width == 1 and not len(self.shared.degrees):
            column_distances(np.ascontiguousarray(self.rows.rows[:, 0]), start, stop, inner)
            gaussians(inner, self.rates, self.chained, out, place)
            return
        block = self.rows.cut(first, last).products(self.rows)
        for k, degree in enumerate(self.shared.degrees, start=len(self.rates)):
            pack((block + 1.0) ** degree / self.tops[k], start, out[k, at:])
        if len(self.rates):
            block *= -2.0
            block += self.norms
            block += self.norms[first:last, None]
            np.maximum(block, 0.0, out=block)
            pack(block, start, inner)
            gaussians(inner, self.rates, self.chained, out, place)


class MatrixSource:
    """One kernel whose dense rows a function gives, ``block(first, last)``: a user's callable, or a
    matrix.
    """

    tops = np.ones(1)

    def __init__(self, block, n: int, place: int):
        self.block, self.n, self.places = block, n, np.array([place])

    def traces(self, weights: np.ndarray, stack=None) -> np.ndarray:
        """Weighted trace; rows are asked for again only if they are not in memory."""
        if stack is not None:
            rows = np.arange(self.n)
            return stack[:, rows * (2 * self.n - rows + 1) // 2] @ weights
        step = max(1, (1 << 19) // self.n)
        parts = [
            np.diagonal(self.block(k, min(k + step, self.n)), offset=k)
            for k in range(0, self.n, step)
        ]
        return np.array([np.concatenate(parts) @ weights])

    def fill(self, first: int, last: int, out: np.ndarray, at: int) -> None:
        """Write the packed entries of some rows from the entry `at` on."""
        block = np.ascontiguousarray(self.block(first, last), dtype=np.float64)
        pack(block, np.uint64(first), out[0, at:])


class PowerSource:
    """Polynomials of single columns, by their factors: the powers 0 to k of the column, weighed by
    binomials.
    """

    def __init__(self, rows: StandardRows, shared: list[Shared]):
        top = int(max(part.degrees.max() for part in shared))
        values = np.column_stack([part.of(rows).rows[:, 0] for part in shared])
        self.powers = np.concatenate(
            [values[:, :, None] ** power for power in range(top + 1)], axis=2
        )
        self.places = np.concatenate([part.places[~part.gaussian] for part in shared])
        self.at = np.repeat(np.arange(len(shared)), [len(part.degrees) for part in shared])
        degrees = np.concatenate([part.degrees for part in shared]).astype(int)
        self.binomials = np.array(
            [[comb(degree, power) for power in range(top + 1)] for degree in degrees],
            dtype=np.float64,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the factors."""
        return self.powers.nbytes

    def traces(self, weights: np.ndarray) -> np.ndarray:
        """Weighted trace of each kernel."""
        squares = np.tensordot(weights, self.powers**2, axes=1)
        return np.einsum("kp,kp->k", squares[self.at], self.binomials)

    def forms(self, betas: np.ndarray) -> np.ndarray:
        """Quadratic forms of each kernel, summed over the rows of `betas`."""
        moments = np.tensordot(betas, self.powers, axes=1)
        return np.einsum("kp,kp->k", (moments**2).sum(axis=0)[self.at], self.binomials)

    def add_mixture(self, factors: np.ndarray, kernel: np.ndarray) -> None:
        """Add the weighted sum of the kernels to a dense matrix; what is alike in all columns and
        powers is one product.
        """
        weights = np.zeros(self.powers.shape[1:])
        np.add.at(weights, self.at, factors[:, None] * self.binomials)
        constant = weights[:, 0].sum()
        weights[:, 0] = 0.0
        used = weights > 0.0
        if used.any():
            roots = self.powers[:, used] * np.sqrt(weights[used])
            for first in range(0, len(kernel), 512):
                kernel[first : first + 512] += roots[first : first + 512] @ roots.T
        kernel += constant
