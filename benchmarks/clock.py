"""Time, measured fairly on a noisy machine: contestants in turn, several rounds, and fresh
processes.
"""

import contextlib
import gc
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Times(NamedTuple):
    """Seconds of one contestant: of its quietest round, which ratios are made of, and of its usual
    one.
    """

    least: float
    median: float

    def over(self, count: float) -> "Times":
        """The times divided by a count, as of passes or nonzeros."""
        return Times(self.least / count, self.median / count)


class Taken:
    """Wall and CPU seconds of one piece of work; of all threads, where it has several."""

    def __init__(self, name: str):
        self.name, self.wall, self.cpu = name, 0.0, 0.0

    def begin(self) -> "Taken":
        """Look at both clocks."""
        self._since = time.perf_counter(), time.process_time()
        return self

    def end(self) -> "Taken":
        """Look at both clocks again."""
        self.wall, self.cpu = (
            time.perf_counter() - self._since[0],
            time.process_time() - self._since[1],
        )
        return self


# Both times of all that was measured since the last page: every page ends with them.
TAKEN: list[Taken] = []


@contextlib.contextmanager
def timed(name: str) -> Iterator[Taken]:
    """Time a block by both clocks, and keep it for the page."""
    taken = Taken(name).begin()
    yield taken
    TAKEN.append(taken.end())


def one_thread() -> None:
    """Keep the threads of BLAS and OpenMP at one, here and in child processes."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(
            name, "1" if name != "NUMBA_NUM_THREADS" else str(os.cpu_count() or 1)
        )


def interleaved(
    contestants: dict,
    rounds: int,
    warm: int = 1,
    clock: Callable = time.perf_counter,
    what: str = "",
) -> dict:
    """Times of each contestant over rounds A B C A B C, after `warm` rounds that do not count.

    `clock` is wall time, or `time.thread_time`: that of the thread on its core, which other work
    does not stretch. A contestant that returns a number has timed itself. The page gets wall and
    CPU time of the quietest round, of the whole contestant; `what` says there what was raced.
    """
    seconds: dict = {name: [] for name in contestants}
    both: dict = {name: [] for name in contestants}
    gc.collect()
    gc.disable()
    try:
        for turn in range(warm + rounds):
            for name, action in contestants.items():
                watch, begin = Taken(_words(what, name)).begin(), clock()
                own = action()
                taken = clock() - begin
                watch.end()
                if turn >= warm:
                    both[name].append(watch)
                    seconds[name].append(own if isinstance(own, float) else taken)
    finally:
        gc.enable()
    TAKEN.extend(min(watches, key=lambda watch: watch.cpu) for watches in both.values())
    return {name: Times(min(values), statistics.median(values)) for name, values in seconds.items()}


def _words(what: str, name) -> str:
    """What was raced, and a contestant's name, which may be a tuple."""
    said = ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)
    return f"{what}: {said}" if what else said


def between(few: Times, many: Times) -> Times:
    """What `many` takes more than `few`: starting costs cancel."""
    return Times(many.least - few.least, many.median - few.median)


class Child(NamedTuple):
    """A finished process: wall seconds, CPU seconds, and what it printed."""

    wall: float
    cpu: float
    text: str


def fresh(code: str, environment: dict[str, str] | None = None, name: str = "") -> Child:
    """Run `code` in a new Python process; with a name, both its times are kept for the page."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    surroundings = {**os.environ, **(environment or {})}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)  # users' modules are compiled once
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=surroundings,
        cwd=ROOT,
        check=False,
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"a child process ended with {done.returncode}:\n{done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if name:
        taken = Taken(name)
        taken.wall, taken.cpu = wall, cpu
        TAKEN.append(taken)
    return Child(wall, cpu, done.stdout)
