"""The rounds of a walk or a mix: a Latin square of paths and partitions, segments of rounds that
are replayed together, and an account of what every model has learnt.

The result depends on the partitions and their order, never on workers or on time.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tamis.base.estimators.stream import PassesModel
from tamis.distributed.checkpoint import PathCheckpoints
from tamis.distributed.executors import merge_tree
from tamis.distributed.merging import finish_mix, learn_apart, merge_learnt
from tamis.distributed.placement import Placement, place_partitions, with_replays
from tamis.distributed.worker_tasks import (
    PathState,
    array_bytes,
    compile_loops,
    learn_partition,
)
from tamis.system.progress import Progress


class AccountError(RuntimeError):
    """A model has not learnt the rows that it should have learnt."""


class Schedule:
    """All rounds of a run; `segment` of them are replayed together where a worker is lost.

    `merge` is the kind of mean of a mix, and None for a walk.
    """

    def __init__(self, placement: Placement, sweeps: int, segment: int, merge: str | None):
        assert placement.schema is not None
        self.placement, self.executor = placement, placement.executor
        self.schema, self.sweeps, self.merge = placement.schema, sweeps, merge
        self.n_partitions = len(placement.sources)
        self.segment = 1 if merge else segment
        self.rounds = sweeps * (1 if merge else self.n_partitions)
        self.n_paths = 1
        self.path_workers: list[list[str]] = []  # of each path: a worker for each task of a segment
        self.models_stay = False  # and partitions are sent to them
        self.compiled_on: set[str] = set()  # workers that have the compiled loops

    def run(
        self,
        paths: list[PathState],
        checkpoints: PathCheckpoints | None,
        task: dict,
        progress: bool | str,
    ) -> list[PathState]:
        """Run all rounds, or those after the last checkpoint."""
        done, handles, self.n_paths = 0, None, len(paths)
        if checkpoints is not None and (loaded := checkpoints.load(task)) is not None:
            done, paths = loaded
        submit_rounds = self._mix if self.merge else self._walk
        start, known_rows = time.monotonic(), sum(path.rows for path in paths)
        with Progress("fit", self.rounds, progress) as bar:
            bar.advance(done)
            while done < self.rounds:
                stop = min(done + self.segment, self.rounds)
                paths, handles = self._segment(submit_rounds, paths, handles, done, stop)
                self.account(paths, stop)
                self._slow_down(paths)
                rows = sum(path.rows for path in paths) - known_rows
                pace = rows / max(time.monotonic() - start, 1e-9)
                bar.advance(stop - done, self._progress_text(len(paths), stop, pace))
                done = stop
                if checkpoints is not None:
                    checkpoints.put(done, paths)
        self.account(paths, self.rounds)
        return paths

    def _segment(
        self, submit_rounds: Callable, paths: list[PathState], handles: Any, done: int, stop: int
    ) -> tuple[list[PathState], list]:
        """Run some rounds; return the paths after them, and their handles.

        `paths`, of before the segment, stay here unchanged: a replay sends them to workers again.
        """
        start = [handles]

        def forget() -> None:
            self.placement.forget()
            self.executor.cancel(start[0] or [])
            start[0] = None

        def attempt() -> tuple[list[PathState], list]:
            opened = self.placement.open()
            if start[0] is None:
                workers = [opened[self._partition_of(m, done)][0] for m in range(len(paths))]
                start[0] = [
                    self.executor.put(path, worker)
                    for path, worker in zip(paths, workers, strict=True)
                ]
            self._compile_loops(start[0][0], opened)
            self.models_stay = self._outweighs(paths[0])
            ended = submit_rounds(start[0], opened, done, stop)
            return self.placement.gather(ended, [handle for _, handle in opened]), ended

        return with_replays(attempt, forget)

    def _compile_loops(self, path: Any, opened: list) -> None:
        """Compile on one worker of every machine; the others then find the loops on its disk."""
        first = {opened[k][0]: opened[k][1] for k in reversed(self.schema.nonempty)}
        if len(first) < 2:
            return
        hosts = {self.executor.host(worker): worker for worker in first}
        for workers in (set(hosts.values()), set(first)):
            missing = sorted(workers - self.compiled_on)
            tasks = [self.executor.submit(compile_loops, path, first[w], worker=w) for w in missing]
            if tasks:
                self.placement.gather(tasks, [handle for _, handle in opened])
            self.compiled_on |= workers

    def _walk(self, handles: list, opened: list, done: int, stop: int) -> list:
        """Let every path learn a partition a round; a task starts from the result of the path's
        previous one.
        """
        nonempty = set(self.schema.nonempty)
        handles = list(handles)
        self.path_workers = [[] for _ in handles]
        fixed_workers = []
        if self.models_stay:
            order, fractions = self.placement.worker_order, self.placement.fractions
            fixed_workers = place_partitions(len(handles), order, fractions)
        for r in range(done, stop):
            for m, handle in enumerate(handles):
                k = self._partition_of(m, r)
                if k in nonempty:
                    worker, partition = opened[k]
                    worker = fixed_workers[m] if fixed_workers else worker
                    handles[m] = self.executor.submit(
                        learn_partition, handle, partition, worker=worker
                    )
                    self.path_workers[m].append(worker)
        return handles

    def _partition_of(self, m: int, r: int) -> int:
        """The partition of path m in round r. Paths start far apart: neighbours lie on one worker,
        and the others would be idle.
        """
        return (m * self.n_partitions // self.n_paths + r) % self.n_partitions

    def _outweighs(self, path: PathState) -> bool:
        """Whether a model is larger than the mean partition: then partitions are sent to models."""
        sizes = [self.schema.csr_bytes(k) for k in self.schema.nonempty]
        return array_bytes(path.model) * len(sizes) > sum(sizes)

    def _slow_down(self, paths: list[PathState]) -> None:
        """Find slow workers by the seconds of every task of a segment."""
        passes: list[tuple[str, int, float]] = []
        for workers, path in zip(self.path_workers, paths, strict=True):
            n = len(workers)
            passes += zip(workers, path.visited[-n:], path.seconds[-n:], strict=True) if n else []
        self.placement.slow_down(passes)

    def _mix(self, handles: list, opened: list, done: int, stop: int) -> list:
        """Let all partitions be learnt from one start, and merge the models in a tree."""
        (start,) = handles
        self.path_workers = [[opened[k][0] for k in self.schema.nonempty]]
        nodes = []
        for k in self.schema.nonempty:
            worker, partition = opened[k]
            args = (learn_apart, start, partition, self.merge)
            nodes.append((worker, self.executor.submit(*args, worker=worker)))
        worker, root = merge_tree(self.executor, nodes, merge_learnt)
        return [self.executor.submit(finish_mix, start, root, worker=worker)]

    # ------------------------------------------------------------------ accounts
    def account(self, paths: list[PathState], done: int) -> None:
        """Refuse a model that has not learnt every row as often as the rounds so far ask for."""
        row_counts = self.schema.row_counts
        for m, path in enumerate(paths):
            expected = Counter(self._expected_partitions(m, done))
            rows = sum(row_counts[k] * times for k, times in expected.items())
            if Counter(path.visited) != expected or path.rows != rows:
                raise AccountError(
                    f"path {m} has learnt {path.rows:,} rows of partitions "
                    f"{sorted(Counter(path.visited).items())} where {rows:,} were due: nobody "
                    "knows what it has learnt, and it is thrown away."
                )
            if self._counts_rows(path.model) and path.steps != rows:
                raise AccountError(
                    f"path {m}: its model counts {path.steps:,} rows learnt, where {rows:,} were "
                    "due. It is thrown away."
                )

    def _expected_partitions(self, m: int, done: int) -> list[int]:
        """Partitions that a path has to have learnt after so many rounds."""
        nonempty = set(self.schema.nonempty)
        if self.merge:
            return sorted(nonempty) * done
        return [k for r in range(done) if (k := self._partition_of(m, r)) in nonempty]

    @staticmethod
    def _counts_rows(model: Any) -> bool:
        """Whether a model counts its rows as the account does: not where a class has weight 0."""
        weights = getattr(model, "class_weight", None)
        all_count = not isinstance(weights, dict) or all(weights.values())
        return isinstance(model, PassesModel) and all_count

    def _progress_text(self, n_paths: int, done: int, pace: float) -> str:
        """Text of the progress bar; the pace is in rows of all paths a second."""
        workers = len({worker for worker, _ in self.placement.opened.values()})
        return (
            f"round {done:,} of {self.rounds:,}, {pace:,.0f} rows a second, {workers} workers, "
            f"{n_paths} paths"
        )
