"""The rows of a fit as the paths of one output see them: purged columns left out, block by block,
on as many threads as pay.
"""

import time

import numpy as np

from tamis.methods.stabilized_sgd import loop_columns as columns_loop
from tamis.methods.stabilized_sgd import loop_stage as loop
from tamis.methods.stabilized_sgd.loop_stage import Plan, Rows
from tamis.methods.stabilized_sgd.paths import Bundle
from tamis.numerics.csr import Csr, frozen

BLOCK = 1 << 16  # rows times paths between two looks at the progress bar and at Ctrl-C
# One block in so many tries whether the other number of threads, one or all, has become the faster.
TRY = 32


class Fitting:
    """Rows of a fit as one bundle of an engine sees them: columns renumbered, purged ones left out
    once they are many.
    """

    def __init__(
        self, bundles: list[Bundle], c: int, rows: Csr, targets, weights, norms, counts, plan: Plan
    ):
        self.bundles, self.c, self.plan, self.counts = bundles, c, plan, counts
        bundle = bundles[c].begun(plan)
        self.matrix, self.rest = tuple(rows[:3]), (targets, weights, norms)
        self.owned: tuple | None = None  # a matrix of its own, once columns were left out
        self.columns = np.arange(len(counts), dtype=np.uint32)
        self.room = longest(rows.indptr, plan, bundle)  # rows only get shorter
        # Seconds a row of the last block on several threads, and on one.
        self.pace, self.blocks = {True: 0.0, False: 0.0}, 0
        fresh = (counts > 0) & (bundle.status == loop.UNSEEN)
        bundle.status[fresh] = loop.PRESENT
        clock, many = bundle.clock, np.count_nonzero(fresh)
        clock.kept, clock.seen, clock.empty = clock.kept + many, clock.seen + many, 0.0
        self.shrink()

    @property
    def bundle(self) -> Bundle:
        """The bundle as it stands."""
        return self.bundles[self.c]

    def shrink(self) -> None:
        """Leave out the columns that have been purged or never occur; the others come in the order
        of how often they occur, so that what is met often lies together.
        """
        bundle, (data, indices, indptr) = self.bundle, self.matrix
        stay = np.flatnonzero(bundle.status[self.columns] == loop.PRESENT)
        counts = self.counts[self.columns[stay]].astype(np.int64)
        stay = stay[np.argsort(-counts, kind="stable")]
        kept, size = len(stay), int(counts.sum())
        place = np.full(len(self.columns), kept, indices.dtype)
        place[stay] = np.arange(kept)
        if size == len(data):
            self.matrix = (data, frozen(place[indices]), indptr)
        else:
            owned = self.owned
            if owned is None:
                fewer, where = np.empty(size, data.dtype), np.empty(size, indices.dtype)
                owned = (fewer, where, np.zeros(len(indptr), np.uint64))
            columns_loop.compact(data, indices, indptr, place, indices.dtype.type(kept), *owned)
            self.owned = (owned[0][:size], owned[1][:size], owned[2])
            self.matrix = tuple(frozen(part) for part in self.owned)
        self.columns = self.columns[stay]
        self.bundles[self.c] = bundle.relocated(self.columns)
        self.bundle.clock.empty = 0.0

    def end(self) -> None:
        """Leave the bundle with its columns in their own order."""
        self.bundles[self.c] = self.bundle.relocated(np.sort(self.columns))

    def walk(self, loss, source, threads, tell) -> None:
        """One pass. Threads that other programs keep waiting would make it slower: the faster way
        is taken, and the other one tried now and then.
        """
        n, at = len(self.rest[0]), 0
        step = max(int(self.plan.burst * self.plan.bursts), BLOCK // len(self.bundle.paths))
        while at < n:
            before, stop = at, min(n, at + step)
            counts = self.counts[self.columns]
            used, begin = self._threads(threads), time.perf_counter()
            rows, plan = Rows._make((*self.matrix, *self.rest)), self.plan
            at = self.bundle.run(rows, counts, at, stop, self.room, loss, plan, source, used)
            self.pace[used > 1] = (time.perf_counter() - begin) / max(at - before, 1)
            self.blocks += 1
            empty, stored = self.bundle.clock.empty, len(self.matrix[0])
            if at < stop or empty > plan.compaction * stored:
                self.shrink()
            tell(at - before)

    def _threads(self, wanted: int) -> int:
        """Threads for the next block."""
        parallel = self.pace[True] <= self.pace[False]
        return wanted if parallel != (self.blocks % TRY == TRY - 1) else 1


def longest(indptr: np.ndarray, plan: Plan, bundle: Bundle) -> int:
    """Most entries that the rows of a stage can have; the open one may be of an earlier plan."""
    lengths = np.diff(indptr).astype(np.int64)
    growth = loop.LARGEST_BURST if plan.adaptive else 1.0
    rows = int(max(plan.burst * plan.bursts * growth, bundle.clock.length))
    if rows >= len(lengths):
        return int(lengths.sum())
    return int(np.partition(lengths, len(lengths) - rows)[len(lengths) - rows :].sum())
