"""All kernels of a fit: packed in memory up to a limit, recomputed in blocks beyond it."""

import numpy as np

from tamis.methods.multiple_kernels.matrices.kinds import Kernel, group_by_columns
from tamis.methods.multiple_kernels.matrices.loop import add_forms, add_mixture, mirror
from tamis.methods.multiple_kernels.matrices.sources import (
    ColumnSource,
    MatrixSource,
    PowerSource,
    count_packed_entries,
)
from tamis.solvers.standard import StandardizedRows
from tamis.system.memory import check_memory

BLOCK_BYTES = 1 << 22  # of a block of packed entries that is recomputed
PACKING_BYTES = 1 << 22  # of the dense rows that are packed at once


class KernelStore:
    """Mixtures and quadratic forms of many kernels over the same rows.

    `scales` are the factors that make the weighted trace (or the mean diagonal) of each kernel 1,
    or 1 without normalisation; a kernel of trace 0 has scale 0.
    """

    def __init__(
        self,
        n: int,
        n_kernels: int,
        sources,
        powers,
        *,
        weights: np.ndarray,
        normalize: str | None,
        max_bytes: float,
    ):
        self.n, self.n_kernels, self.sources, self.powers = n, n_kernels, sources, powers
        self.nbytes = powers.nbytes if powers else 0
        self.stacks = [self._pack_source(source, max_bytes) for source in sources]
        traces = np.zeros(n_kernels)
        for source, stack in zip(sources, self.stacks, strict=True):
            traces[source.indices] = source.traces(weights, stack)
        if powers:
            traces[powers.indices] = powers.traces(weights)
        if normalize == "mean_diag":
            traces /= weights.sum()
        self.usable = traces > 0.0
        inverse_traces = 1.0 if normalize is None else 1.0 / np.where(self.usable, traces, 1.0)
        self.scales = np.where(self.usable, inverse_traces, 0.0)

    @classmethod
    def of(cls, rows: StandardizedRows, n: int, kernels, **options) -> "KernelStore":
        """Return the store of `kernels`: those of a dictionary, over rows in standard units, and
        functions ``block(first, last)`` that return dense rows of others.
        """
        indices = [k for k, kernel in enumerate(kernels) if isinstance(kernel, Kernel)]
        column_groups = group_by_columns([kernels[k] for k in indices], indices)
        single_columns = [g for g in column_groups if g.is_single and len(g.degrees)]
        dense_groups = [
            g.without_polynomials() if g in single_columns else g for g in column_groups
        ]
        sources: list = [ColumnSource(rows, g) for g in dense_groups if len(g.indices)]
        other_kernels = [k for k, kernel in enumerate(kernels) if not isinstance(kernel, Kernel)]
        sources += [MatrixSource(kernels[k], n, k) for k in other_kernels]
        powers = PowerSource(rows, single_columns) if single_columns else None
        return cls(n, len(kernels), sources, powers, **options)

    def _pack_source(self, source, max_bytes: float):
        """Return the packed entries of a source, or None where they exceed the memory limit."""
        size = len(source.indices) * count_packed_entries(0, self.n, self.n) * 4
        if self.nbytes + size > max_bytes:
            return None
        self.nbytes += size
        stack = np.empty(
            (len(source.indices), count_packed_entries(0, self.n, self.n)), dtype=np.float32
        )
        offset, step = 0, max(1, PACKING_BYTES // (8 * self.n))
        for first in range(0, self.n, step):
            last = min(first + step, self.n)
            source.fill(first, last, stack, offset)
            offset += count_packed_entries(first, last, self.n)
        return stack

    def _blocks(self, source, stack):
        """Yield the entries of a source in blocks of rows; a single block if they are in memory."""
        if stack is not None:
            yield stack, np.uint64(0), np.uint64(self.n)
            return
        step = max(1, BLOCK_BYTES // (4 * self.n * len(source.indices)))
        for first in range(0, self.n, step):
            last = min(first + step, self.n)
            block = np.empty(
                (len(source.indices), count_packed_entries(first, last, self.n)), dtype=np.float32
            )
            source.fill(first, last, block, 0)
            yield block, np.uint64(first), np.uint64(last)

    def mixture(self, theta: np.ndarray) -> np.ndarray:
        """Return the weighted sum of the scaled kernels as a dense matrix."""
        check_memory(
            f"the kernel of {self.n:,} rows",
            8 * self.n * self.n,
            "Learn from fewer rows, or lower max_rows.",
        )
        kernel, factors = np.zeros((self.n, self.n)), theta * self.scales
        for source, stack in zip(self.sources, self.stacks, strict=True):
            source_factors = factors[source.indices] * source.storage_scales
            if source_factors.any():
                for block, first, last in self._blocks(source, stack):
                    add_mixture(block, source_factors, first, last, kernel)
        if self.powers and factors[self.powers.indices].any():
            self.powers.add_mixture(factors[self.powers.indices], kernel)
        mirror(kernel)
        return kernel

    def forms(self, betas: np.ndarray) -> np.ndarray:
        """Return beta' K beta of all scaled kernels, summed over the rows of `betas`."""
        betas = np.ascontiguousarray(np.atleast_2d(betas), dtype=np.float64)
        total = np.zeros(self.n_kernels)
        for source, stack in zip(self.sources, self.stacks, strict=True):
            source_forms = np.zeros(len(source.indices))
            for block, first, last in self._blocks(source, stack):
                add_forms(block, betas, first, last, source_forms)
            total[source.indices] = source_forms * source.storage_scales
        if self.powers:
            total[self.powers.indices] = self.powers.forms(betas)
        return np.maximum(total * self.scales, 0.0)
