"""Which worker holds which partition: neighbours together, fewer on a slow worker, elsewhere once a
worker is lost.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any, TypeVar

from tamis.base.estimators.stream import OnlineLinearModel
from tamis.distributed.executors import ConnectionLost, Executor
from tamis.distributed.inputs import FILE, PartitionSource, is_lazy
from tamis.distributed.schema import PartitionSummary, SharedSchema
from tamis.distributed.worker_tasks import (
    array_bytes,
    convert,
    open_block,
    open_file,
    summarize_block,
    summarize_file,
)

MAX_REPLAYS = 5  # attempts in a row that may end with a lost worker
SLOW_RATIO = 2.0  # a worker that takes this many times as long as the others is slow
MIN_WASTED_SECONDS = 0.5  # of a segment: less is no reason to move partitions
MAX_NAMES = 3  # partitions in a message
Result = TypeVar("Result")


def place_partitions(
    count: int, workers: list[str], fractions: dict[str, float] | None = None
) -> list[str]:
    """Assign partitions to workers, neighbours together; a slow worker has a fraction below 1."""
    if not fractions:
        return [workers[k * len(workers) // count] for k in range(count)]
    ends = list(accumulate(fractions.get(worker, 1.0) for worker in workers))
    middles = [ends[-1] * (k + 0.5) / count for k in range(count)]
    return [workers[next(w for w, end in enumerate(ends) if at < end)] for at in middles]


def with_replays(attempt: Callable[[], Result], forget: Callable[[], None]) -> Result:
    """Result of an attempt, which is made again where a worker was lost; `forget` is called first,
    to drop the handles of what may have been on that worker.
    """
    for remaining in reversed(range(MAX_REPLAYS)):
        try:
            return attempt()
        except ConnectionLost as lost:
            if lost.what != "worker":
                raise ConnectionError(
                    f"the scheduler is gone ({lost}). Connect anew and call fit again; with "
                    "checkpoint= it goes on from its last round."
                ) from lost
            forget()
            if not remaining:
                named = ", ".join(lost.partitions[:MAX_NAMES])
                raise RuntimeError(
                    f"workers were lost {MAX_REPLAYS} times in a row"
                    f"{f', the last one at {named}' if named else ''}. Most likely a partition, "
                    "or the models that meet there, do not fit into a worker's memory: cut the "
                    "data into smaller files or blocks, or look at the workers' logs."
                ) from lost
    raise AssertionError("unreachable")


class Placement:
    """All partitions with their workers and handles; those of a lost worker are opened elsewhere.

    Where there is an `encoder`, partitions that are held in memory are opened as rows that it has
    encoded.
    """

    def __init__(
        self, executor: Executor, sources: list[PartitionSource], target: str | None = None
    ):
        self.executor, self.sources, self.target = executor, sources, target
        self.schema: SharedSchema | None = None
        self.encoder: OnlineLinearModel | None = None
        self.worker_order: list[str] = []
        self.fractions: dict[str, float] = {}  # of slow workers
        self.opened: dict[int, tuple[str, Any]] = {}  # worker and handle of partitions
        self.converted: dict[int, tuple[str, Any]] = {}  # of blocks that are not opened yet

    def workers(self) -> list[str]:
        """Live workers, in an order that moves few partitions when one comes or goes: a new worker
        takes the place of one that is gone.
        """
        alive = self.executor.workers()
        new = [worker for worker in alive if worker not in self.worker_order]
        order = [w if w in alive else new.pop(0) if new else "" for w in self.worker_order]
        self.worker_order = [worker for worker in order if worker] + new
        return self.worker_order

    def summarize(
        self, reading: dict, schema: dict | None, with_digest: bool
    ) -> list[PartitionSummary]:
        """Summaries of all partitions."""

        def make_task(k: int, source: PartitionSource, worker: str) -> tuple:
            if source.kind == FILE:
                return summarize_file, source.value, reading, schema
            return summarize_block, self._convert(k, worker), with_digest

        return self.run_on_all(make_task)

    def run_on_all(self, make_task: Callable[[int, PartitionSource, str], tuple]) -> list[Any]:
        """Results of a task for every partition, run on its worker."""

        def attempt() -> list[Any]:
            workers, handles = place_partitions(len(self.sources), self.workers()), []
            for k, (source, worker) in enumerate(zip(self.sources, workers, strict=True)):
                handles.append(self.executor.submit(*make_task(k, source, worker), worker=worker))
            return self.gather(handles, handles)

        return with_replays(attempt, self.forget)

    def gather(self, handles: list, opened: list) -> list:
        """Gather results; where a worker is lost, the error names the partitions that it had not
        finished. `opened` are handles of all partitions.
        """
        try:
            return self.executor.gather(handles)
        except ConnectionLost as lost:
            pairs = zip(self.sources, opened, strict=True)
            lost.partitions = [
                source.name for source, one in pairs if any(one is p for p in lost.pending)
            ]
            raise

    def _convert(self, k: int, worker: str) -> Any:
        """Handle of a block, computed and converted on its worker."""
        if k not in self.converted or self.converted[k][0] != worker:
            kind, value, name = self.sources[k]
            if not is_lazy(value):
                self._refuse_large(k, array_bytes(value), worker)
            raw = self.executor.put(value, worker)
            block = self.executor.submit(convert, kind, raw, name, self.target, worker=worker)
            self.converted[k] = worker, block
        return self.converted[k][1]

    def _refuse_large(self, k: int, size: int, worker: str) -> None:
        """Refuse a block that would fill the memory of its worker and kill it."""
        if size > (limit := self.executor.memory(worker)):
            raise MemoryError(
                f"{self.sources[k].name} takes {size / 2**20:,.0f} MiB, but the worker {worker} "
                f"has {limit / 2**20:,.0f} MiB. Cut the data into smaller blocks, pass files, "
                "which are read chunk by chunk, or give workers more memory."
            )

    def forget(self) -> None:
        """Drop all handles: some of the partitions may be gone with their worker."""
        handles = [handle for _, handle in (*self.opened.values(), *self.converted.values())]
        self.executor.cancel(handles)
        self.opened, self.converted = {}, {}

    def open(self) -> list[tuple[str, Any]]:
        """Worker and handle of every partition, opened on the workers that live now."""
        assert self.schema is not None
        workers = self.workers()
        wanted = place_partitions(len(self.sources), workers, self.fractions)
        load: Counter[str] = Counter()
        for k, worker in enumerate(wanted):
            load[worker] += self.schema.csr_bytes(k)
        keeps = {worker: load[worker] <= self.executor.capacity(worker) for worker in workers}
        for k, worker in enumerate(wanted):
            if k not in self.opened or self.opened[k][0] != worker:
                self.opened[k] = worker, self._open(k, worker, keeps[worker])
        self.converted = {}  # an opened partition holds its block
        return [self.opened[k] for k in range(len(self.sources))]

    def _open(self, k: int, worker: str, keep: bool) -> Any:
        """Handle of a partition, which is opened on a worker."""
        assert self.schema is not None
        source, schema = self.sources[k], self.schema.of_partition(k)
        # Encoded rows of dense blocks are another copy of them: only where there is room for it.
        encoder = self.encoder if keep else None
        if source.kind == FILE:
            task: tuple = (open_file, k, source.value, schema, keep, encoder)
        else:
            self._refuse_large(k, self.schema.csr_bytes(k), worker)
            task = (open_block, k, self._convert(k, worker), source.name, schema, encoder)
        return self.executor.submit(*task, worker=worker)

    def slow_down(self, passes: Iterable[tuple[str, int, float]]) -> None:
        """Give slow workers fewer partitions, by (worker, partition, seconds) of every partition
        that was learnt in a segment.

        The fraction of a worker falls where it would take `SLOW_RATIO` times as long as the others
        and has cost more than `MIN_WASTED_SECONDS`. It stays low, so that partitions do not move to
        and fro.
        """
        assert self.schema is not None
        work: Counter[str] = Counter()
        seconds: dict[str, float] = {}
        for worker, k, taken in passes:
            work[worker] += 1 + self.schema.csr_bytes(k)
            seconds[worker] = seconds.get(worker, 0.0) + taken
        paces = {worker: seconds[worker] / work[worker] for worker in seconds}
        for worker, pace in paces.items():
            others = [paces[other] for other in paces if other != worker]
            if not others:
                return
            usual = statistics.median(others)
            wasted = seconds[worker] - usual * work[worker]
            is_slow = self.fractions.get(worker, 1.0) * pace > SLOW_RATIO * usual
            if is_slow and wasted > MIN_WASTED_SECONDS:
                self.fractions[worker] = usual / pace
