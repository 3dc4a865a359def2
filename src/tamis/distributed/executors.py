"""What the rounds ask of an engine, and the engine that does everything here and now."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

KEPT = 1 << 30  # bytes of partitions that are held here rather than read again at every visit


class Lost(Exception):
    """Work that nobody does any more: `what` is "worker" or "scheduler", `under` the handles that
    were not done at the worker, `names` the partitions that they are about.
    """

    def __init__(self, what: str, words: str = "", under: Sequence[Any] = ()):
        super().__init__(words or f"a {what} was lost")
        self.what, self.under = what, under
        self.names: list[str] = []


class Held:
    """What lies on workers and goes from one to another; its size is that of its arrays."""


class Executor(Protocol):
    """An engine. Its handles stand for results that lie somewhere, and may be given to `submit`."""

    def homes(self) -> list[str]:
        """Names of the workers that live, sorted."""

    def room(self, home: str) -> int:
        """Bytes that partitions may take at a home."""

    def memory(self, home: str) -> int:
        """Bytes that a home has for everything."""

    def host(self, home: str) -> str:
        """The machine of a home: its workers share compiled loops."""

    def submit(self, task: Callable, *given: Any, home: str) -> Any:
        """Do something there and nowhere else; a handle of what comes of it."""

    def put(self, value: Any, home: str) -> Any:
        """A handle of a value, or of what a lazy value (a dask collection) computes to there."""

    def gather(self, handles: Sequence[Any]) -> list:
        """What came of it, with the first error of a task, or `Lost`. It may be read-only."""

    def cancel(self, handles: Sequence[Any]) -> None:
        """Forget about it."""


class Inline:
    """Everything at once, in this process: a handle is the result itself."""

    def homes(self) -> list[str]:
        """This process."""
        return ["here"]

    def room(self, home: str) -> int:
        """A gigabyte: more is read again at every visit."""
        return KEPT

    def memory(self, home: str) -> int:
        """What is here is here."""
        return sys.maxsize

    def host(self, home: str) -> str:
        """This machine."""
        return "here"

    def submit(self, task: Callable, *given: Any, home: str) -> Any:
        """Call it."""
        return task(*given)

    def put(self, value: Any, home: str) -> Any:
        """The value, computed."""
        if isinstance(value, tuple) and any(hasattr(one, "__dask_graph__") for one in value):
            return tuple(self.put(one, home) for one in value)
        return value.compute() if hasattr(value, "__dask_graph__") else value

    def gather(self, handles: Sequence[Any]) -> list:
        """The results."""
        return list(handles)

    def cancel(self, handles: Sequence[Any]) -> None:
        """Nothing is under way."""


def merge_tree(
    executor: Executor, nodes: Sequence[tuple[str, Any]], task: Callable, *given: Any
) -> tuple[str, Any]:
    """Return home and handle of all nodes (home, handle) merged in a tree of fan 2, neighbours
    first, by ``task(*given, left, right)``: the same tree, hence the same bits, whoever is done
    first.
    """
    nodes = list(nodes)
    while len(nodes) > 1:
        pairs = zip(nodes[::2], nodes[1::2], strict=False)
        merged = [
            (home, executor.submit(task, *given, left, right, home=home))
            for (home, left), (_, right) in pairs
        ]
        nodes = merged + nodes[len(nodes) // 2 * 2 :]
    return nodes[0]
