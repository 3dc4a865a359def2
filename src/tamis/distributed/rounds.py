"""The schedule: partitions at their places, rounds in a Latin square, segments to be replayed,
and an account of what every model has learnt.

What is computed depends on the partitions and their order, never on workers or on time.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from tamis.base.machine.progress import Progress
from tamis.distributed.agreement import Agreed, Seen
from tamis.distributed.checkpoint import Rounds
from tamis.distributed.executors import Executor, Lost
from tamis.distributed.merging import finish, join, learn_apart
from tamis.distributed.parts import FILE, Part
from tamis.distributed.visits import (
    Path,
    look_at_block,
    look_at_file,
    open_block,
    open_file,
    visit,
)

REPLAYS = 5  # losses of workers in a row, without anything done between them, that are borne
Found = TypeVar("Found")


class AccountError(RuntimeError):
    """A model has not learnt what it should have."""


def place(partitions: int, homes: list[str]) -> list[str]:
    """Homes of the partitions, neighbours together."""
    return [homes[k * len(homes) // partitions] for k in range(partitions)]


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
                raise RuntimeError(
                    f"workers were lost {REPLAYS} times in a row. Most likely a partition, or the "
                    "models that meet there, do not fit into a worker's memory: cut the data into "
                    "smaller files or blocks, or look at the workers' logs."
                ) from lost
    raise AssertionError("unreachable")


class Places:
    """Partitions where they lie; those whose home is gone are opened at another one."""

    def __init__(self, executor: Executor, parts: list[Part]):
        self.executor, self.parts = executor, parts
        self.agreed: Agreed | None = None
        self.held: dict[int, tuple[str, Any]] = {}
        self.raw: dict[int, tuple[str, Any]] = {}  # blocks as they came, computed once

    def look(self, reading: dict, schema: dict | None, target: str | None, mark: bool):
        """What the workers see of the partitions."""

        def attempt() -> list[Seen]:
            homes, found = place(len(self.parts), self.executor.homes()), []
            for k, (part, home) in enumerate(zip(self.parts, homes, strict=True)):
                if part.kind == FILE:
                    given: tuple = (look_at_file, part.what, reading, schema)
                else:
                    given = (look_at_block, part.kind, self._put(k, home), part.name, target, mark)
                found.append(self.executor.submit(*given, home=home))
            return self.executor.gather(found)

        return replayed(attempt, self.forget)

    def _put(self, k: int, home: str) -> Any:
        """A block as it came, at its home."""
        if k not in self.raw or self.raw[k][0] != home:
            self.raw[k] = home, self.executor.put(self.parts[k].what, home)
        return self.raw[k][1]

    def forget(self) -> None:
        """Partitions may be gone with their worker."""
        self.executor.cancel([h for _, h in (*self.held.values(), *self.raw.values())])
        self.held, self.raw = {}, {}

    def open(self) -> list[tuple[str, Any]]:
        """Home and handle of every partition, by the workers that live now."""
        assert self.agreed is not None
        homes = self.executor.homes()
        wanted = place(len(self.parts), homes)
        load: Counter[str] = Counter()
        for k, home in enumerate(wanted):
            load[home] += self.agreed.bytes_of(k)
        keeps = {home: load[home] <= self.executor.room(home) for home in homes}
        for k, (part, home) in enumerate(zip(self.parts, wanted, strict=True)):
            if k not in self.held or self.held[k][0] != home:
                self.held[k] = home, self._opened(k, part, home, keeps[home])
        self.raw = {}  # they go as soon as they are opened
        return [self.held[k] for k in range(len(self.parts))]

    def _opened(self, k: int, part: Part, home: str, keep: bool) -> Any:
        assert self.agreed is not None
        own = self.agreed.own(k)
        if part.kind == FILE:
            given: tuple = (open_file, k, part.what, own, keep)
        else:
            given = (open_block, k, part.kind, self._put(k, home), part.name, own)
        return self.executor.submit(*given, home=home)


class Schedule:
    """All rounds of a run; `segment` of them are replayed together where a worker is lost."""

    def __init__(self, places: Places, sweeps: int, segment: int, merge: str | None):
        assert places.agreed is not None
        self.places, self.executor, self.agreed = places, places.executor, places.agreed
        self.sweeps, self.merge = sweeps, merge  # merge is for mix
        self.count = len(places.parts)
        self.segment = 1 if merge else segment
        self.rounds = sweeps * (1 if merge else self.count)

    def run(self, paths: list[Path], folder: Rounds | None, task: dict, shown: bool | str) -> Any:
        """Walk to the end, from the last checkpoint on."""
        done, handles = 0, None
        if folder is not None and (found := folder.found(task)) is not None:
            done, paths = found
        step = self._mix if self.merge else self._walk
        with Progress("fit", self.rounds, shown) as bar:
            bar.advance(done)
            while done < self.rounds:
                stop = min(done + self.segment, self.rounds)
                paths, handles = self._segment(step, paths, handles, done, stop)
                self.account(paths, stop)
                bar.advance(stop - done, self._words(paths, stop))
                done = stop
                if folder is not None:
                    folder.put(done, paths)
        self.account(paths, self.rounds)
        return paths

    def _segment(self, step: Callable, paths: list[Path], handles: Any, done: int, stop: int):
        """Some rounds: their results, here and where they lie."""
        held = [handles]

        def forget() -> None:
            self.places.forget()
            self.executor.cancel(held[0] or [])
            held[0] = None

        def attempt() -> tuple[list[Path], list]:
            spots = self.places.open()
            if held[0] is None:
                held[0] = [
                    self.executor.put(path, spots[m % self.count][0])
                    for m, path in enumerate(paths)
                ]
            ended = step(held[0], spots, done, stop)
            return self.executor.gather(ended), ended

        return replayed(attempt, forget)

    def _walk(self, handles: list, spots: list, done: int, stop: int) -> list:
        """In round r path m visits partition m + r; rounds are chained by what they pass on."""
        full = set(self.agreed.full)
        handles = list(handles)
        for r in range(done, stop):
            for m, handle in enumerate(handles):
                k = (m + r) % self.count
                if k in full:
                    home, partition = spots[k]
                    handles[m] = self.executor.submit(visit, handle, partition, home=home)
        return handles

    def _mix(self, handles: list, spots: list, done: int, stop: int) -> list:
        """All partitions from one start, then a tree of fan 2 over their numbers."""
        (start,) = handles
        nodes = []
        for k in self.agreed.full:
            home, partition = spots[k]
            given = (learn_apart, start, partition, self.merge)
            nodes.append((home, self.executor.submit(*given, home=home)))
        while len(nodes) > 1:
            paired = []
            for left, right in zip(nodes[::2], nodes[1::2], strict=False):
                home = left[0]
                paired.append((home, self.executor.submit(join, left[1], right[1], home=home)))
            nodes = paired + (nodes[-1:] if len(nodes) % 2 else [])
        home, top = nodes[0]
        return [self.executor.submit(finish, start, top, home=home)]

    # ------------------------------------------------------------------ accounts
    def account(self, paths: list[Path], done: int) -> None:
        """Refuse a model that has not learnt every row as often as it should have by now."""
        learnt = self.agreed.learnt
        for m, path in enumerate(paths):
            want = Counter(self._due(m, done))
            rows = sum(learnt[k] * times for k, times in want.items())
            if Counter(path.visited) != want or path.rows != rows:
                raise AccountError(
                    f"path {m} has learnt {path.rows:,} rows of partitions "
                    f"{sorted(Counter(path.visited).items())} where {rows:,} were due: nobody "
                    "knows what it has learnt, and it is thrown away."
                )
            if self._counts_steps(path.model) and path.steps != rows:
                raise AccountError(
                    f"path {m}: its model counts {path.steps:,} rows learnt, where {rows:,} were "
                    "due. It is thrown away."
                )

    def _due(self, m: int, done: int) -> list[int]:
        """Partitions that a path is to have visited after so many rounds."""
        full = set(self.agreed.full)
        if self.merge:
            return sorted(full) * done
        return [k for r in range(done) if (k := (m + r) % self.count) in full]

    @staticmethod
    def _counts_steps(model: Any) -> bool:
        """Whether a model counts its rows as we do: not where a class weighs nothing."""
        from tamis.base.estimators.stream import Stream

        weights = getattr(model, "class_weight", None)
        some = not isinstance(weights, dict) or all(weights.values())
        return isinstance(model, Stream) and some

    def _words(self, paths: list[Path], done: int) -> str:
        """What the progress bar says."""
        workers = len({home for home, _ in self.places.held.values()})
        return f"round {done:,} of {self.rounds:,}, {workers} workers, {len(paths)} paths"
