"""Tasks over all partitions, and sums of their results in a binary tree over the partitions'
numbers: the tree does not depend on the workers, so neither do the bits.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tamis.base.partition_sums import add
from tamis.data.rows import ReadError
from tamis.distributed.executors import PARTITION_MEMORY, RemoteValue, merge_tree
from tamis.distributed.placement import Placement, with_replays
from tamis.distributed.schedule import AccountError
from tamis.distributed.worker_tasks import Block, Partition
from tamis.system.threads import single_threaded_blas

Slice = tuple[int, int]  # (k, n): the k-th of n slices of the rows of a partition
ALL_ROWS: Slice = (0, 1)


class Total(NamedTuple):
    """A sum over some partitions, with their numbers and their rows of weight above 0."""

    value: Any
    partitions: tuple[int, ...]
    rows: int


class CountedBlocks:
    """The blocks of a partition, or of a slice of its rows; the rows are counted in each pass."""

    def __init__(self, partition: Partition, row_slice: Slice = ALL_ROWS):
        self.partition, self.row_slice = partition, row_slice
        self.classes = partition.schema.classes
        self.rows = self.row_count = 0  # all of them, and those of weight above 0

    def __iter__(self) -> Iterator[Block]:
        self.rows = self.row_count = 0
        (summary,), (k, n) = self.partition.schema.summaries, self.row_slice
        first, last = summary.survey.rows * k // n, summary.survey.rows * (k + 1) // n
        offset = 0
        for block in self.partition:
            size = block.X.shape[0]
            low, high = max(first - offset, 0), min(last - offset, size)
            offset += size
            if low < high:
                cut = block if (low, high) == (0, size) else _cut(block, slice(low, high))
                self.rows += high - low
                self.row_count += cut.row_count
                yield cut
            if offset >= last and self.row_slice != ALL_ROWS:
                break
        if self.rows != last - first:
            raise ReadError(
                f"{self.partition.name}: {self.rows:,} rows, where there were {last - first:,}: it "
                "has changed. Begin anew."
            )


def _cut(block: Block, rows: slice) -> Block:
    weights = None if block.weights is None else block.weights[rows]
    return block._replace(X=block.X[rows], y=block.y[rows], weights=weights)


class PreparedPartition(RemoteValue):
    """What a task has made of a partition, and the state that a relay passes on from there."""

    def __init__(self, number: int, row_count: int, data: Any, state: Any = None):
        self.number, self.row_count, self.data, self.state = number, row_count, data, state


# --------------------------------------------------------------------------- on workers
def total_of(task: Callable, partition: Partition, arguments: tuple, row_slice: Slice) -> Total:
    """Result of a task for a partition."""
    blocks = CountedBlocks(partition, row_slice)
    with single_threaded_blas():
        value = task(blocks, *arguments)
    return Total(value, (partition.number,), blocks.row_count)


def merge_totals(merge: Callable, left: Total, right: Total) -> Total:
    """Merge two branches of the tree."""
    with single_threaded_blas():
        value = merge(left.value, right.value)
    return Total(value, left.partitions + right.partitions, left.rows + right.rows)


def call(task: Callable, shared: tuple, arguments: tuple) -> Any:
    """Run a task that needs no partition."""
    with single_threaded_blas():
        return task(*shared, *arguments)


def prepare(task: Callable, partition: Partition, shared: tuple) -> PreparedPartition:
    """Run a task whose result stays with its partition."""
    blocks = CountedBlocks(partition)
    with single_threaded_blas():
        data = task(blocks, *shared)
    return PreparedPartition(partition.number, blocks.row_count, data)


def relay(
    task: Callable, prepared: PreparedPartition, state: Any, arguments: tuple
) -> PreparedPartition:
    """The partition's next data and the state after it."""
    with single_threaded_blas():
        data, state = task(prepared.data, state, *arguments)
    return PreparedPartition(prepared.number, prepared.row_count, data, state)


def state_of(prepared: PreparedPartition) -> Any:
    """The state that goes on to the next partition."""
    return prepared.state


def prepared_total(task: Callable, prepared: PreparedPartition, arguments: tuple) -> Total:
    """Result of a task for a prepared partition."""
    with single_threaded_blas():
        value = task(prepared.data, *arguments)
    return Total(value, (prepared.number,), prepared.row_count)


# --------------------------------------------------------------------------- on the client
class Sums:
    """Sums over all partitions (the `PartitionSums` of a method); each is computed again where a
    worker is lost.
    """

    def __init__(self, placement: Placement):
        assert placement.schema is not None
        self.placement, self.executor = placement, placement.executor
        self.schema, self.memory = placement.schema, PARTITION_MEMORY

    @property
    def n_rows(self) -> int:
        """Number of rows of all partitions."""
        return self.schema.survey.rows

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.schema.survey.features

    def total(
        self, task: Callable, *arguments: Any, merge: Callable = add, row_slice: Slice = ALL_ROWS
    ) -> Any:
        """Results of ``task(blocks, *arguments)`` for all partitions, merged in the tree."""
        return self.counted(task, *arguments, merge=merge, row_slice=row_slice).value

    def counted(
        self, task: Callable, *arguments: Any, merge: Callable = add, row_slice: Slice = ALL_ROWS
    ) -> Total:
        """The same, with its account."""

        def attempt() -> Total:
            root = self.merged(self._submit(task, arguments, row_slice), merge)
            return self.executor.gather([root])[0]

        total = with_replays(attempt, self.placement.forget)
        self.account(total, row_slice)
        return total

    def merged(self, nodes: list[tuple[str, Any]], merge: Callable) -> Any:
        """Handle of the root of the tree over nodes (worker, handle)."""
        return merge_tree(self.executor, nodes, merge_totals, merge)[1]

    def each(self, task: Callable, *arguments: Any) -> list:
        """Results for the partitions with rows, in their order."""

        def attempt() -> list[Total]:
            nodes = self._submit(task, arguments, ALL_ROWS)
            return self.executor.gather([node for _, node in nodes])

        totals = with_replays(attempt, self.placement.forget)
        partitions = tuple(k for one in totals for k in one.partitions)
        self.account(Total(None, partitions, sum(one.rows for one in totals)))
        return [one.value for one in totals]

    def first(self, task: Callable, *arguments: Any) -> Any:
        """Result for the first partition with rows, of which the task need not read all."""

        def attempt() -> Total:
            ((_, node),) = self._submit(task, arguments, ALL_ROWS, limit=1)
            return self.executor.gather([node])[0]

        return with_replays(attempt, self.placement.forget).value

    def map(self, task: Callable, shared: tuple, arguments: list[tuple]) -> list:
        """Results of ``task(*shared, *arguments)`` for each of several arguments, on all
        workers.
        """

        def attempt() -> list:
            workers = self.executor.workers()
            common = self.executor.put(shared, workers[0])
            handles = []
            for k, one in enumerate(arguments):
                worker = workers[k % len(workers)]
                handles.append(self.executor.submit(call, task, common, one, worker=worker))
            return self.executor.gather(handles)

        return with_replays(attempt, self.placement.forget)

    def with_prepared(self, task: Callable, shared: tuple, run: Callable) -> Any:
        """Result of ``run(prepared)``, where ``task(blocks, *shared)`` prepares each partition. It
        is called again from the start where a worker is lost: what was prepared there has changed
        since.
        """
        return with_replays(lambda: run(Prepared(self, task, shared)), self.placement.forget)

    def _submit(
        self, task: Callable, arguments: tuple, row_slice: Slice, limit: int | None = None
    ) -> list[tuple[str, Any]]:
        """Worker and handle of the results for the partitions with rows, or the first `limit`."""
        opened = self.placement.open()
        nonempty = [opened[k] for k in self.schema.nonempty[:limit]]
        common = self.executor.put(arguments, nonempty[0][0])
        return [
            (
                worker,
                self.executor.submit(total_of, task, partition, common, row_slice, worker=worker),
            )
            for worker, partition in nonempty
        ]

    def account(self, total: Total, row_slice: Slice = ALL_ROWS) -> None:
        """Refuse a sum that lacks a partition or has one twice; or, of all rows, has lost some."""
        expected, partitions = sum(self.schema.row_counts), sorted(total.partitions)
        is_short = row_slice == ALL_ROWS and total.rows != expected
        if partitions != self.schema.nonempty or is_short:
            raise AccountError(
                f"a sum holds {total.rows:,} rows of partitions {partitions}, where {expected:,} "
                f"rows of {self.schema.nonempty} were due. It is thrown away."
            )


class Prepared:
    """Partitions after a task that prepared them (the `PreparedPartitions` of a method)."""

    def __init__(self, sums: Sums, task: Callable, shared: tuple):
        self.sums, self.executor = sums, sums.executor
        opened = sums.placement.open()
        nonempty = [opened[k] for k in sums.schema.nonempty]
        self.workers = [worker for worker, _ in nonempty]
        common = self.executor.put(shared, self.workers[0])
        self.handles = [
            self.executor.submit(prepare, task, partition, common, worker=worker)
            for worker, partition in nonempty
        ]

    def __len__(self) -> int:
        return len(self.handles)

    def relay(self, task: Callable, state: Any, order: list[int], arguments: list[tuple]) -> Any:
        """Take a state through all partitions in an order: ``task(data, state, *arguments)``
        returns the partition's next data and the next state.
        """
        handle = self.executor.put(state, self.workers[0])
        for k, one in zip(order, arguments, strict=True):
            worker = self.workers[k]
            args = (relay, task, self.handles[k], handle, one)
            self.handles[k] = self.executor.submit(*args, worker=worker)
            handle = self.executor.submit(state_of, self.handles[k], worker=worker)
        return self.executor.gather([handle])[0]

    def total(self, task: Callable, *arguments: Any) -> Any:
        """Results of ``task(data, *arguments)``, added in the tree."""
        common = self.executor.put(arguments, self.workers[0])
        nodes = [
            (worker, self.executor.submit(prepared_total, task, handle, common, worker=worker))
            for worker, handle in zip(self.workers, self.handles, strict=True)
        ]
        (total,) = self.executor.gather([self.sums.merged(nodes, add)])
        self.sums.account(total)
        return total.value
