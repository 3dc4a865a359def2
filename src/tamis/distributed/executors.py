"""What a fit needs of an engine (the protocol `Executor`), and the engine of this process."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

PARTITION_MEMORY = 1 << 30  # bytes of partitions that a process holds where no limit is known


class ConnectionLost(Exception):
    """A worker or the scheduler is gone: `what` is "worker" or "scheduler", `pending` the handles
    of that worker's unfinished tasks, `partitions` the names of the partitions that these open.
    """

    def __init__(self, what: str, message: str = "", pending: Sequence[Any] = ()):
        super().__init__(message or f"a {what} was lost")
        self.what, self.pending = what, pending
        self.partitions: list[str] = []


class RemoteValue:
    """Base of values that lie on workers; the engine takes the bytes of their arrays as size."""


class Executor(Protocol):
    """An engine. A handle stands for a result on a worker, and may be an argument of `submit`."""

    def workers(self) -> list[str]:
        """Names of the live workers, sorted."""

    def capacity(self, worker: str) -> int:
        """Bytes that partitions may take on a worker."""

    def memory(self, worker: str) -> int:
        """Bytes that a worker has for everything."""

    def host(self, worker: str) -> str:
        """The machine of a worker; workers of one machine share compiled loops."""

    def submit(self, task: Callable, *args: Any, worker: str) -> Any:
        """Run a task on this worker and no other; return the handle of its result."""

    def put(self, value: Any, worker: str) -> Any:
        """Send a value (or compute a dask collection) to a worker; return its handle."""

    def gather(self, handles: Sequence[Any]) -> list:
        """Return the results, whose arrays may be read-only; raise the first error of a task, or
        `ConnectionLost`.
        """

    def cancel(self, handles: Sequence[Any]) -> None:
        """Drop tasks and results."""


class LocalExecutor:
    """Runs every task at once in this process: a handle is the result itself."""

    def workers(self) -> list[str]:
        """This process."""
        return ["local"]

    def capacity(self, worker: str) -> int:
        """A gigabyte; more is read again each time."""
        return PARTITION_MEMORY

    def memory(self, worker: str) -> int:
        """No limit: blocks of this process are in memory already."""
        return sys.maxsize

    def host(self, worker: str) -> str:
        """This machine."""
        return "local"

    def submit(self, task: Callable, *args: Any, worker: str) -> Any:
        """Call the task."""
        return task(*args)

    def put(self, value: Any, worker: str) -> Any:
        """The value, computed where it is a dask collection."""
        if isinstance(value, tuple) and any(hasattr(one, "__dask_graph__") for one in value):
            return tuple(self.put(one, worker) for one in value)
        return value.compute() if hasattr(value, "__dask_graph__") else value

    def gather(self, handles: Sequence[Any]) -> list:
        """The results."""
        return list(handles)

    def cancel(self, handles: Sequence[Any]) -> None:
        """No task is pending."""


def merge_tree(
    executor: Executor, nodes: Sequence[tuple[str, Any]], task: Callable, *args: Any
) -> tuple[str, Any]:
    """Merge nodes (worker, handle) by ``task(*args, left, right)`` in a binary tree, neighbours
    first; return worker and handle of the root.

    The tree depends on the order of the nodes alone, so the bits do not depend on which task ends
    first.
    """
    nodes = list(nodes)
    while len(nodes) > 1:
        pairs = zip(nodes[::2], nodes[1::2], strict=False)
        merged = [
            (worker, executor.submit(task, *args, left, right, worker=worker))
            for (worker, left), (_, right) in pairs
        ]
        nodes = merged + nodes[len(nodes) // 2 * 2 :]
    return nodes[0]
