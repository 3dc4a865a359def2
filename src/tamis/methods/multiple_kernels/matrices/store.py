"""All kernels of a fit: packed in memory as far as they may, made again in blocks beyond that."""

import numpy as np

from tamis.methods.multiple_kernels.matrices.kinds import Kernel, by_columns
from tamis.methods.multiple_kernels.matrices.loop import add_forms, add_mixture, mirror
from tamis.methods.multiple_kernels.matrices.sources import (
    ColumnSource,
    MatrixSource,
    PowerSource,
    entries,
)
from tamis.solvers.standard import StandardRows
from tamis.system.memory import check_memory

SCRATCH = 1 << 22  # bytes of a block that is made again
ROOM = 1 << 22  # bytes of dense rows that a block of packed ones is made of


class KernelStore:
    """Mixtures and quadratic forms of many kernels over the same rows.

    `scales` turn a kernel into one of unit weighted trace (or mean diagonal, or none); a kernel of
    trace 0 has scale 0.
    """

    def __init__(
        self,
        n: int,
        count: int,
        sources,
        powers,
        *,
        weights: np.ndarray,
        normalize: str | None,
        max_bytes: float,
    ):
        self.n, self.count, self.sources, self.powers = n, count, sources, powers
        self.nbytes = powers.nbytes if powers else 0
        self.stacks = [self._stack(source, max_bytes) for source in sources]
        traces = np.zeros(count)
        for source, stack in zip(sources, self.stacks, strict=True):
            traces[source.places] = source.traces(weights, stack)
        if powers:
            traces[powers.places] = powers.traces(weights)
        if normalize == "mean_diag":
            traces /= weights.sum()
        self.usable = traces > 0.0
        units = 1.0 if normalize is None else 1.0 / np.where(self.usable, traces, 1.0)
        self.scales = np.where(self.usable, units, 0.0)

    @classmethod
    def of(cls, rows: StandardRows, n: int, kernels, **options) -> "KernelStore":
        """Kernels of a dictionary over rows in standard units, and functions ``block(first, last)``
        that give dense rows of others.
        """
        places = [k for k, kernel in enumerate(kernels) if isinstance(kernel, Kernel)]
        shared = by_columns([kernels[k] for k in places], places)
        single = [s for s in shared if s.is_single and len(s.degrees)]
        rest = [s.without_polynomials() if s in single else s for s in shared]
        sources: list = [ColumnSource(rows, s) for s in rest if len(s.places)]
        others = [k for k, kernel in enumerate(kernels) if not isinstance(kernel, Kernel)]
        sources += [MatrixSource(kernels[k], n, k) for k in others]
        powers = PowerSource(rows, single) if single else None
        return cls(n, len(kernels), sources, powers, **options)

    def _stack(self, source, max_bytes: float):
        """The packed entries of a source, or None if they would take more memory than is left."""
        size = len(source.places) * entries(0, self.n, self.n) * 4
        if self.nbytes + size > max_bytes:
            return None
        self.nbytes += size
        stack = np.empty((len(source.places), entries(0, self.n, self.n)), dtype=np.float32)
        at, step = 0, max(1, ROOM // (8 * self.n))
        for first in range(0, self.n, step):
            last = min(first + step, self.n)
            source.fill(first, last, stack, at)
            at += entries(first, last, self.n)
        return stack

    def _blocks(self, source, stack):
        """The entries of a source in blocks of rows: one, if they are in memory."""
        if stack is not None:
            yield stack, np.uint64(0), np.uint64(self.n)
            return
        step = max(1, SCRATCH // (4 * self.n * len(source.places)))
        for first in range(0, self.n, step):
            last = min(first + step, self.n)
            block = np.empty((len(source.places), entries(first, last, self.n)), dtype=np.float32)
            source.fill(first, last, block, 0)
            yield block, np.uint64(first), np.uint64(last)

    def mixture(self, theta: np.ndarray) -> np.ndarray:
        """The kernel of some weights, as a dense matrix."""
        check_memory(
            f"the kernel of {self.n:,} rows",
            8 * self.n * self.n,
            "Learn from fewer rows, or lower max_rows.",
        )
        kernel, factors = np.zeros((self.n, self.n)), theta * self.scales
        for source, stack in zip(self.sources, self.stacks, strict=True):
            own = factors[source.places] * source.tops
            if own.any():
                for block, first, last in self._blocks(source, stack):
                    add_mixture(block, own, first, last, kernel)
        if self.powers and factors[self.powers.places].any():
            self.powers.add_mixture(factors[self.powers.places], kernel)
        mirror(kernel)
        return kernel

    def forms(self, betas: np.ndarray) -> np.ndarray:
        """Quadratic forms beta' K beta of all kernels, summed over the rows of `betas`."""
        betas = np.ascontiguousarray(np.atleast_2d(betas), dtype=np.float64)
        total = np.zeros(self.count)
        for source, stack in zip(self.sources, self.stacks, strict=True):
            own = np.zeros(len(source.places))
            for block, first, last in self._blocks(source, stack):
                add_forms(block, betas, first, last, own)
            total[source.places] = own * source.tops
        if self.powers:
            total[self.powers.places] = self.powers.forms(betas)
        return np.maximum(total * self.scales, 0.0)
