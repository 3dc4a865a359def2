"""A task at every partition, and what comes of it added by a tree of fan 2 over their numbers: the
same tree whoever does the work, hence the same bits.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tamis.data.rows import ReadError
from tamis.distributed.executors import merge_tree
from tamis.distributed.placing import Places, replayed
from tamis.distributed.rounds import AccountError
from tamis.distributed.visits import Block, Partition
from tamis.system.threads import one_thread

Share = tuple[int, int]  # which part of how many
WHOLE: Share = (0, 1)


class Total(NamedTuple):
    """What some partitions have found, and what of them it stands for."""

    value: Any
    visited: tuple[int, ...]
    rows: int  # of weight above 0


class Counted:
    """The blocks of a partition, or those of a share of its rows, counted as they go by."""

    def __init__(self, partition: Partition, share: Share = WHOLE):
        self.partition, self.agreed, self.name = partition, partition.agreed, partition.name
        self.share, self.rows, self.learnt = share, 0, 0

    def __iter__(self) -> Iterator[Block]:
        self.rows = self.learnt = 0
        (survey,), (part, parts) = [one.survey for one in self.agreed.seen], self.share
        first, last, at = survey.rows * part // parts, survey.rows * (part + 1) // parts, 0
        for block in self.partition:
            size = block.X.shape[0]
            low, high = max(first - at, 0), min(last - at, size)
            at += size
            if low < high:
                cut = block if (low, high) == (0, size) else _cut(block, slice(low, high))
                self.rows += high - low
                weights = cut.weights
                self.learnt += high - low if weights is None else int(np.count_nonzero(weights))
                yield cut
            if at >= last and self.share != WHOLE:
                break
        if self.rows != last - first:
            raise ReadError(
                f"{self.name}: {self.rows:,} rows, where there were {last - first:,}: it has "
                "changed. Begin anew."
            )


def _cut(block: Block, rows: slice) -> Block:
    weights = None if block.weights is None else block.weights[rows]
    return block._replace(X=block.X[rows], y=block.y[rows], weights=weights)


# --------------------------------------------------------------------------- what workers do
def mapped(task: Callable, partition: Partition, common: tuple, share: Share) -> Total:
    """What a task finds in a partition."""
    blocks = Counted(partition, share)
    with one_thread():
        value = task(blocks, *common)
    return Total(value, (partition.number,), blocks.learnt)


def joined(merge: Callable, left: Total, right: Total) -> Total:
    """Two branches as one."""
    with one_thread():
        value = merge(left.value, right.value)
    return Total(value, left.visited + right.visited, left.rows + right.rows)


def added(left: tuple, right: tuple) -> tuple:
    """Sums, one by one."""
    return tuple(one + other for one, other in zip(left, right, strict=True))


def called(task: Callable, given: tuple, own: tuple) -> Any:
    """A task that needs no partition."""
    with one_thread():
        return task(*given, *own)


# --------------------------------------------------------------------------- what is asked of them
class Sums:
    """Sums over the partitions at their places; each is made again where a worker is lost."""

    def __init__(self, places: Places):
        assert places.agreed is not None
        self.places, self.agreed, self.executor = places, places.agreed, places.executor

    def total(
        self, task: Callable, *common: Any, merge: Callable = added, share: Share = WHOLE
    ) -> Any:
        """What ``task(blocks, *common)`` finds in all partitions, merged by the tree."""
        return self.counted(task, *common, merge=merge, share=share).value

    def counted(
        self, task: Callable, *common: Any, merge: Callable = added, share: Share = WHOLE
    ) -> Total:
        """The same with its account."""

        def attempt() -> Total:
            top = self.joined(self._mapped(task, common, share), merge)
            return self.executor.gather([top])[0]

        found = replayed(attempt, self.places.forget)
        self.account(found, share)
        return found

    def joined(self, nodes: list[tuple[str, Any]], merge: Callable) -> Any:
        """The handle of the top of the tree over nodes, of which homes and handles are given."""
        return merge_tree(self.executor, nodes, joined, merge)[1]

    def each(self, task: Callable, *common: Any) -> list:
        """What a task finds in each partition, in their order; those without rows are left out."""

        def attempt() -> list[Total]:
            return self.executor.gather([node for _, node in self._mapped(task, common, WHOLE)])

        found = replayed(attempt, self.places.forget)
        visited = tuple(k for one in found for k in one.visited)
        self.account(Total(None, visited, sum(one.rows for one in found)))
        return [one.value for one in found]

    def first(self, task: Callable, *common: Any) -> Any:
        """What a task finds in the first partition with rows, of which it need not read all."""

        def attempt() -> Total:
            _, node = self._mapped(task, common, WHOLE, few=1)[0]
            return self.executor.gather([node])[0]

        return replayed(attempt, self.places.forget).value

    def spread(self, task: Callable, common: tuple, own: list[tuple]) -> list:
        """``task(*common, *own)`` for each of several, dealt out to the workers."""

        def attempt() -> list:
            homes = self.executor.homes()
            held = self.executor.put(common, homes[0])
            return self.executor.gather(
                [
                    self.executor.submit(called, task, held, one, home=homes[k % len(homes)])
                    for k, one in enumerate(own)
                ]
            )

        return replayed(attempt, self.places.forget)

    def _mapped(
        self, task: Callable, common: tuple, share: Share, few: int | None = None
    ) -> list[tuple[str, Any]]:
        """Handles of what the partitions with rows (the first `few`) find, and where they lie."""
        spots = self.places.open()
        full = [spots[k] for k in self.agreed.full[:few]]
        held = self.executor.put(common, full[0][0])
        return [
            (home, self.executor.submit(mapped, task, partition, held, share, home=home))
            for home, partition in full
        ]

    def account(self, found: Total, share: Share = WHOLE) -> None:
        """Refuse a sum that lacks a partition, or has one twice; of whole ones, other rows too."""
        due, visited = sum(self.agreed.learnt), sorted(found.visited)
        if visited != self.agreed.full or (share == WHOLE and found.rows != due):
            raise AccountError(
                f"a sum holds {found.rows:,} rows of partitions {visited}, where {due:,} rows of "
                f"{self.agreed.full} were due. It is thrown away."
            )
