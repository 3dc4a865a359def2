"""Cells of a page's tables, each for itself, in one process or in several, until the time is over;
and the machines that they were made on.
"""

import json
import multiprocessing
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from unittest.mock import patch

from benchmarks import clock
from benchmarks.pages import machine, versions

GRACE = 45.0  # seconds that cells have to end once the time is over
STORES = clock.ROOT / "build" / "papers"


def each(
    work: Callable,
    jobs: Iterable,
    processes: int = 1,
    seconds: float = float("inf"),
    begin: Callable | None = None,
) -> Iterator[tuple]:
    """Pairs of a job and `work(job)` as they are done; no job begins after so many seconds.

    With several processes, what has not ended shortly after is left, and is not told. `begin` is
    called first in each process.
    """
    end = time.time() + seconds
    if processes == 1:
        if begin is not None:
            begin()
        for job in jobs:
            if time.time() > end:
                return
            yield job, work(job)
        return
    with patch.dict(os.environ, NUMBA_NUM_THREADS="1"):  # read by the children as they begin
        pool = multiprocessing.get_context("spawn").Pool(processes, begin)
    with pool:
        done = pool.imap_unordered(_Work(work, end), jobs)
        while True:
            try:
                left = max(0.1, min(end + GRACE - time.time(), 1e6))
                job, began, result = done.next(left)
            except (StopIteration, multiprocessing.TimeoutError):
                return
            if began:
                yield job, result


class _Work:
    """What a process does with a job: nothing once the time is over."""

    def __init__(self, work: Callable, end: float):
        self.work, self.end = work, end

    def __call__(self, job) -> tuple:  # jobs and work must be found by name: none of a __main__
        if time.time() > self.end:
            return job, False, None
        try:
            return job, True, self.work(job)
        except Exception:  # one cell that fails stops no other
            traceback.print_exc()
            return job, False, None


def called(job: tuple) -> tuple:
    """What the last part of a job returns, a function of nothing, and its CPU seconds."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return job[-1](), time.process_time() - begin


def made_here(page: str, processes: int) -> None:
    """Remember that cells of this page were made on this machine."""
    side = f", {processes} processes side by side" if processes > 1 else ""
    line = f"{machine()}{side}; {versions()}"
    known = _machines(page)
    if line not in known:
        STORES.mkdir(parents=True, exist_ok=True)
        (STORES / f"machines_{page}.json").write_text(json.dumps([*known, line], indent=1))


def made_on(page: str) -> str:
    """The machines and versions that made the cells of this page; this one, if none is known."""
    lines = _machines(page) or [f"{machine()}; {versions()}"]
    return "\n\n".join(f"{'and ' if k else ''}{line}." for k, line in enumerate(lines))


def _machines(page: str) -> list[str]:
    stored = STORES / f"machines_{page}.json"
    return json.loads(stored.read_text()) if stored.exists() else []


def option(parser) -> None:
    """Add ``--processes`` to a command line."""
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help="cells run side by side (times are then those of a busy machine)",
    )
