"""The rows of a fit for the paths of one output, without purged columns, learned in blocks on as
many threads as are fastest.
"""

import time

import numpy as np

from tamis.methods.stabilized_sgd import loop_columns as columns_loop
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.loop_stage import RowArrays, RunPlan
from tamis.methods.stabilized_sgd.paths import PathBundle
from tamis.numerics.csr import Csr, readonly_view

BLOCK = 1 << 16  # rows times paths between two updates of the progress bar, and checks for Ctrl-C
# One block in so many runs on the other number of threads, one or all, to see which is faster now.
BLOCKS_PER_TRIAL = 32


class OutputFit:
    """Rows of a fit for one output of an engine. The columns are renumbered, and purged columns are
    left out when they have many entries.
    """

    def __init__(
        self,
        bundles: list[PathBundle],
        c: int,
        rows: Csr,
        targets,
        weights,
        norms,
        counts,
        plan: RunPlan,
    ):
        self.bundles, self.c, self.plan, self.counts = bundles, c, plan, counts
        bundle = bundles[c].start(plan)
        self.matrix, self.row_data = tuple(rows[:3]), (targets, weights, norms)
        self.buffers: tuple | None = None  # of a compacted matrix
        self.columns = np.arange(len(counts), dtype=np.uint32)
        self.capacity = max_stage_entries(rows.indptr, plan, bundle)  # rows only get shorter
        # Seconds for each row of the last block on several threads (True), and on one (False).
        self.seconds_per_row, self.blocks = {True: 0.0, False: 0.0}, 0
        is_new = (counts > 0) & (bundle.status == loop.UNSEEN)
        bundle.status[is_new] = loop.PRESENT
        stage, n_new = bundle.stage, np.count_nonzero(is_new)
        stage.n_present, stage.n_seen = stage.n_present + n_new, stage.n_seen + n_new
        stage.purged_entries = 0.0
        self.compact()

    @property
    def bundle(self) -> PathBundle:
        """The present paths."""
        return self.bundles[self.c]

    def compact(self) -> None:
        """Leave out columns that are purged or have no entry, and sort the others by their number
        of entries, so that frequent columns are close together in memory.
        """
        bundle, (data, indices, indptr) = self.bundle, self.matrix
        present = np.flatnonzero(bundle.status[self.columns] == loop.PRESENT)
        counts = self.counts[self.columns[present]].astype(np.int64)
        present = present[np.argsort(-counts, kind="stable")]
        n_columns, n_entries = len(present), int(counts.sum())
        new_index = np.full(len(self.columns), n_columns, indices.dtype)
        new_index[present] = np.arange(n_columns)
        if n_entries == len(data):
            self.matrix = (data, readonly_view(new_index[indices]), indptr)
        else:
            buffers = self.buffers
            if buffers is None:
                out_data = np.empty(n_entries, data.dtype)
                out_indices = np.empty(n_entries, indices.dtype)
                buffers = (out_data, out_indices, np.zeros(len(indptr), np.uint64))
            columns_loop.compact_columns(
                data, indices, indptr, new_index, indices.dtype.type(n_columns), *buffers
            )
            self.buffers = (buffers[0][:n_entries], buffers[1][:n_entries], buffers[2])
            self.matrix = tuple(readonly_view(buffer) for buffer in self.buffers)
        self.columns = self.columns[present]
        self.bundles[self.c] = bundle.with_columns(self.columns)
        self.bundle.stage.purged_entries = 0.0

    def end(self) -> None:
        """Put the columns of the paths in ascending order."""
        self.bundles[self.c] = self.bundle.with_columns(np.sort(self.columns))

    def walk(self, loss, order, threads, tell) -> None:
        """Run one pass, and call ``tell`` with the number of rows after each block.

        Threads are slower where other programs occupy the cores. The faster way is used, and the
        other one is tried now and then.
        """
        n, position = len(self.row_data[0]), 0
        block_rows = max(
            int(self.plan.burst * self.plan.bursts_per_stage), BLOCK // len(self.bundle.paths)
        )
        while position < n:
            first, stop = position, min(n, position + block_rows)
            counts = self.counts[self.columns]
            n_threads, start = self._threads(threads), time.perf_counter()
            rows, plan = RowArrays._make((*self.matrix, *self.row_data)), self.plan
            position = self.bundle.run(
                rows, counts, position, stop, self.capacity, loss, plan, order, n_threads
            )
            seconds = time.perf_counter() - start
            self.seconds_per_row[n_threads > 1] = seconds / max(position - first, 1)
            self.blocks += 1
            max_purged_entries = plan.max_purged_fraction * len(self.matrix[0])
            if position < stop or self.bundle.stage.purged_entries > max_purged_entries:
                self.compact()
            tell(position - first)

    def _threads(self, requested: int) -> int:
        """Return the number of threads of the next block."""
        parallel = self.seconds_per_row[True] <= self.seconds_per_row[False]
        is_trial = self.blocks % BLOCKS_PER_TRIAL == BLOCKS_PER_TRIAL - 1
        return requested if parallel != is_trial else 1


def max_stage_entries(indptr: np.ndarray, plan: RunPlan, bundle: PathBundle) -> int:
    """Return the largest number of entries that the rows of a stage can have.

    The present stage may have been started under another plan.
    """
    lengths = np.diff(indptr).astype(np.int64)
    growth = loop.MAX_BURST_GROWTH if plan.burst_alpha else 1.0
    rows = int(max(plan.burst * plan.bursts_per_stage * growth, bundle.stage.length))
    if rows >= len(lengths):
        return int(lengths.sum())
    return int(np.partition(lengths, len(lengths) - rows)[len(lengths) - rows :].sum())
