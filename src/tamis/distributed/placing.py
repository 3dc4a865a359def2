"""Where partitions lie: neighbours together, fewer of them at a worker that is slow, and elsewhere
once one is gone.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any, TypeVar

from tamis.distributed.agreement import Agreed
from tamis.distributed.executors import Executor, Lost
from tamis.distributed.parts import FILE, Part, is_lazy
from tamis.distributed.visits import (
    bytes_in,
    convert,
    look_at_block,
    look_at_file,
    open_block,
    open_file,
)

REPLAYS = 5  # losses of workers in a row, without anything done between them, that are borne
SLOW = 2.0  # times the pace of the others: such a worker is given less
WASTED = 0.5  # seconds of a segment that it must cost before partitions are moved
NAMED = 3  # partitions in a message
Found = TypeVar("Found")


def place(partitions: int, homes: list[str], shares: dict[str, float] | None = None) -> list[str]:
    """Homes of the partitions, neighbours together; a slow home has a share below 1."""
    if not shares:
        return [homes[k * len(homes) // partitions] for k in range(partitions)]
    ends = list(accumulate(shares.get(home, 1.0) for home in homes))
    middles = [ends[-1] * (k + 0.5) / partitions for k in range(partitions)]
    return [homes[next(h for h, end in enumerate(ends) if at < end)] for at in middles]


def replayed(attempt: Callable[[], Found], forget: Callable[[], None]) -> Found:
    """What comes of an attempt, made again where a worker was lost on the way."""
    for left in reversed(range(REPLAYS)):
        try:
            return attempt()
        except Lost as lost:
            if lost.what != "worker":
                raise ConnectionError(
                    f"the scheduler is gone ({lost}). Connect anew and call fit again; with "
                    "checkpoint= it goes on from its last round."
                ) from lost
            forget()
            if not left:
                named = ", ".join(lost.names[:NAMED])
                raise RuntimeError(
                    f"workers were lost {REPLAYS} times in a row"
                    f"{f', the last one at {named}' if named else ''}. Most likely a partition, "
                    "or the models that meet there, do not fit into a worker's memory: cut the "
                    "data into smaller files or blocks, or look at the workers' logs."
                ) from lost
    raise AssertionError("unreachable")


class Places:
    """Partitions where they lie; those whose home is gone are opened at another one."""

    def __init__(self, executor: Executor, parts: list[Part], target: str | None = None):
        self.executor, self.parts, self.target = executor, parts, target
        self.agreed: Agreed | None = None
        self.order: list[str] = []  # homes: who comes late takes the place of one that is gone
        self.shares: dict[str, float] = {}  # of slow homes
        self.held: dict[int, tuple[str, Any]] = {}
        self.blocks: dict[int, tuple[str, Any]] = {}  # not opened yet; converted once

    def homes(self) -> list[str]:
        """Homes that live, in an order that moves few partitions when one comes or goes."""
        alive = self.executor.homes()
        new = [home for home in alive if home not in self.order]
        stay = [h if h in alive else new.pop(0) if new else "" for h in self.order]
        self.order = [home for home in stay if home] + new
        return self.order

    def look(self, reading: dict, schema: dict | None, mark: bool) -> list[Any]:
        """What the workers see of the partitions."""

        def task(k: int, part: Part, home: str) -> tuple:
            if part.kind == FILE:
                return look_at_file, part.what, reading, schema
            return look_at_block, self._block(k, home), mark

        return self.asked(task)

    def asked(self, task: Callable[[int, Part, str], tuple]) -> list[Any]:
        """What comes of a task for every partition, done where it lies."""

        def attempt() -> list[Any]:
            homes, found = place(len(self.parts), self.homes()), []
            for k, (part, home) in enumerate(zip(self.parts, homes, strict=True)):
                found.append(self.executor.submit(*task(k, part, home), home=home))
            return self.gathered(found, found)

        return replayed(attempt, self.forget)

    def gathered(self, handles: list, opened: list) -> list:
        """Results; where a worker is lost, with the partitions that it had not done: `opened` are
        handles of all of them.
        """
        try:
            return self.executor.gather(handles)
        except Lost as lost:
            of = zip(self.parts, opened, strict=True)
            lost.names = [part.name for part, one in of if any(one is u for u in lost.under)]
            raise

    def _block(self, k: int, home: str) -> Any:
        """A block at its home, computed and converted."""
        if k not in self.blocks or self.blocks[k][0] != home:
            kind, what, name = self.parts[k]
            if not is_lazy(what):
                self._refuse_large(k, bytes_in(what), home)
            raw = self.executor.put(what, home)
            block = self.executor.submit(convert, kind, raw, name, self.target, home=home)
            self.blocks[k] = home, block
        return self.blocks[k][1]

    def _refuse_large(self, k: int, size: int, home: str) -> None:
        """Refuse a block that a worker cannot hold, before it kills it."""
        if size > (most := self.executor.memory(home)):
            raise MemoryError(
                f"{self.parts[k].name} takes {size / 2**20:,.0f} MiB, but the worker {home} has "
                f"{most / 2**20:,.0f} MiB. Cut the data into smaller blocks, pass files, which are "
                "read chunk by chunk, or give workers more memory."
            )

    def forget(self) -> None:
        """Partitions may be gone with their worker."""
        self.executor.cancel([h for _, h in (*self.held.values(), *self.blocks.values())])
        self.held, self.blocks = {}, {}

    def open(self) -> list[tuple[str, Any]]:
        """Home and handle of every partition, by the workers that live now."""
        assert self.agreed is not None
        homes = self.homes()
        wanted = place(len(self.parts), homes, self.shares)
        load: Counter[str] = Counter()
        for k, home in enumerate(wanted):
            load[home] += self.agreed.bytes_of(k)
        keeps = {home: load[home] <= self.executor.room(home) for home in homes}
        for k, (part, home) in enumerate(zip(self.parts, wanted, strict=True)):
            if k not in self.held or self.held[k][0] != home:
                self.held[k] = home, self._opened(k, part, home, keeps[home])
        self.blocks = {}  # they go as soon as they are opened
        return [self.held[k] for k in range(len(self.parts))]

    def _opened(self, k: int, part: Part, home: str, keep: bool) -> Any:
        assert self.agreed is not None
        own = self.agreed.own(k)
        if part.kind == FILE:
            given: tuple = (open_file, k, part.what, own, keep)
        else:
            self._refuse_large(k, self.agreed.bytes_of(k), home)
            given = (open_block, k, self._block(k, home), part.name, own)
        return self.executor.submit(*given, home=home)

    def weigh(self, visits: Iterable[tuple[str, int, float]]) -> None:
        """Give less to homes that are slow: (home, partition, seconds) of every visit of a segment.

        A home's share falls where it would take twice as long as the others and has cost more than
        `WASTED` seconds. It stays low, lest partitions go to and fro.
        """
        assert self.agreed is not None
        work: Counter[str] = Counter()
        seconds: dict[str, float] = {}
        for home, k, taken in visits:
            work[home] += 1 + self.agreed.bytes_of(k)
            seconds[home] = seconds.get(home, 0.0) + taken
        paces = {home: seconds[home] / work[home] for home in seconds}
        for home, pace in paces.items():
            others = [paces[other] for other in paces if other != home]
            if not others:
                return
            usual = statistics.median(others)
            wasted = seconds[home] - usual * work[home]
            if self.shares.get(home, 1.0) * pace > SLOW * usual and wasted > WASTED:
                self.shares[home] = usual / pace
