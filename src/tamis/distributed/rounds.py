"""The schedule: rounds in a Latin square, segments to be replayed, and an account of what every
model has learnt.

What is computed depends on the partitions and their order, never on workers or on time.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tamis.distributed.checkpoint import Rounds
from tamis.distributed.executors import merge_tree
from tamis.distributed.merging import finish, join, learn_apart
from tamis.distributed.placing import Places, place, replayed
from tamis.distributed.visits import Path, bytes_in, visit, warm
from tamis.system.progress import Progress


class AccountError(RuntimeError):
    """A model has not learnt what it should have."""


class Schedule:
    """All rounds of a run; `segment` of them are replayed together where a worker is lost."""

    def __init__(self, places: Places, sweeps: int, segment: int, merge: str | None):
        assert places.agreed is not None
        self.places, self.executor, self.agreed = places, places.executor, places.agreed
        self.sweeps, self.merge = sweeps, merge  # merge is for mix
        self.count = len(places.parts)
        self.segment = 1 if merge else segment
        self.rounds = sweeps * (1 if merge else self.count)
        self.paths = 1
        self.trails: list[list[str]] = []  # homes of the visits of a segment, a path each
        self.stay = False  # whether models stay, and partitions travel
        self.ready: set[str] = set()  # homes whose loops are compiled

    def run(self, paths: list[Path], folder: Rounds | None, task: dict, shown: bool | str) -> Any:
        """Walk to the end, from the last checkpoint on."""
        done, handles, self.paths = 0, None, len(paths)
        if folder is not None and (found := folder.found(task)) is not None:
            done, paths = found
        step = self._mix if self.merge else self._walk
        begun, known = time.monotonic(), sum(path.rows for path in paths)
        with Progress("fit", self.rounds, shown) as bar:
            bar.advance(done)
            while done < self.rounds:
                stop = min(done + self.segment, self.rounds)
                paths, handles = self._segment(step, paths, handles, done, stop)
                self.account(paths, stop)
                self._weigh(paths)
                rows = sum(path.rows for path in paths) - known
                pace = rows / max(time.monotonic() - begun, 1e-9)
                bar.advance(stop - done, self._words(len(paths), stop, pace))
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
                begin = [spots[self._at(m, done)][0] for m in range(len(paths))]
                held[0] = [self.executor.put(p, h) for p, h in zip(paths, begin, strict=True)]
            self._warm(held[0][0], spots)
            self.stay = self._outweighs(paths[0])
            ended = step(held[0], spots, done, stop)
            return self.places.gathered(ended, [handle for _, handle in spots]), ended

        return replayed(attempt, forget)

    def _warm(self, handle: Any, spots: list) -> None:
        """Compile on one worker of every machine; the others then find the loops on its disk."""
        first = {spots[k][0]: spots[k][1] for k in reversed(self.agreed.full)}
        if len(first) < 2:
            return
        hosts = {self.executor.host(home): home for home in first}
        for homes in (set(hosts.values()), set(first)):
            asked = sorted(homes - self.ready)
            tasks = [self.executor.submit(warm, handle, first[h], home=h) for h in asked]
            if tasks:
                self.places.gathered(tasks, [one for _, one in spots])
            self.ready |= homes

    def _walk(self, handles: list, spots: list, done: int, stop: int) -> list:
        """Every path visits a partition a round; rounds are chained by what they pass on."""
        full = set(self.agreed.full)
        handles = list(handles)
        self.trails = [[] for _ in handles]
        seats = place(len(handles), self.places.order, self.places.shares) if self.stay else []
        for r in range(done, stop):
            for m, handle in enumerate(handles):
                k = self._at(m, r)
                if k in full:
                    home, partition = spots[k]
                    home = seats[m] if seats else home
                    handles[m] = self.executor.submit(visit, handle, partition, home=home)
                    self.trails[m].append(home)
        return handles

    def _at(self, m: int, r: int) -> int:
        """The partition of a path in a round: paths begin far apart, or those that lie together on
        one worker would leave the others idle.
        """
        return (m * self.count // self.paths + r) % self.count

    def _outweighs(self, path: Path) -> bool:
        """Whether a model is larger than a partition: then models stay, and partitions travel."""
        sizes = [self.agreed.bytes_of(k) for k in self.agreed.full]
        return bytes_in(path.model) * len(sizes) > sum(sizes)

    def _weigh(self, paths: list[Path]) -> None:
        """Look at what every visit of a segment took, and where."""
        found: list[tuple[str, int, float]] = []
        for homes, path in zip(self.trails, paths, strict=True):
            n = len(homes)
            found += zip(homes, path.visited[-n:], path.taken[-n:], strict=True) if n else []
        self.places.weigh(found)

    def _mix(self, handles: list, spots: list, done: int, stop: int) -> list:
        """All partitions from one start, then a tree of fan 2 over their numbers."""
        (start,) = handles
        nodes = []
        self.trails = [[spots[k][0] for k in self.agreed.full]]
        for k in self.agreed.full:
            home, partition = spots[k]
            given = (learn_apart, start, partition, self.merge)
            nodes.append((home, self.executor.submit(*given, home=home)))
        home, top = merge_tree(self.executor, nodes, join)
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
        return [k for r in range(done) if (k := self._at(m, r)) in full]

    @staticmethod
    def _counts_steps(model: Any) -> bool:
        """Whether a model counts its rows as we do: not where a class weighs nothing."""
        from tamis.base.estimators.stream import Stream

        weights = getattr(model, "class_weight", None)
        some = not isinstance(weights, dict) or all(weights.values())
        return isinstance(model, Stream) and some

    def _words(self, paths: int, done: int, pace: float) -> str:
        """What the progress bar says; rows of all paths a second."""
        workers = len({home for home, _ in self.places.held.values()})
        return (
            f"round {done:,} of {self.rounds:,}, {pace:,.0f} rows a second, {workers} workers, "
            f"{paths} paths"
        )
