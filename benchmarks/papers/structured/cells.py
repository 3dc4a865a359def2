"""Figures as they are found: one cell a run, written to a file, so that a run that was ended goes
on where it stood.
"""

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from benchmarks.papers.processes import each

EVERY = 3.0  # seconds between two writings of the file


class Enough(Exception):
    """The granted time is over."""


class Cells:
    """What was found so far, by names like ``school/batch/aMTFS/3``; one file for each first word,
    so that parts can run side by side.

    `seconds` is the time granted to this run. With several `processes`, cells that are needed are
    written down, and `work` makes them.
    """

    def __init__(self, folder: Path, seconds: float = float("inf"), processes: int = 1):
        self.folder, self.end, self.processes = folder, time.perf_counter() + seconds, processes
        self.waiting: list[tuple] = []
        self.found = {
            name: cell
            for place in sorted(folder.glob("*.json"))
            for name, cell in json.loads(place.read_text()).items()
        }
        self.written, self.changed = time.perf_counter(), set()

    def need(self, name: str, make: Callable, *given) -> None:
        """Make a cell that is not there yet; its own CPU seconds are kept with it."""
        if name in self.found:
            return
        if self.processes > 1:
            self.waiting.append((name, make, given))
            return
        if time.perf_counter() > self.end:
            raise Enough
        self._keep(name, _made((name, make, given)))

    def work(self) -> None:
        """Make the cells that were written down, in several processes."""
        left, self.waiting = self.waiting, []
        for job, cell in each(_made, left, self.processes, self.end - time.perf_counter()):
            self._keep(job[0], cell)
        self.write()
        if any(name not in self.found for name, _, _ in left):
            raise Enough

    def _keep(self, name: str, cell: dict) -> None:
        self.found[name] = cell
        self.changed.add(name.split("/")[0])
        if time.perf_counter() - self.written > EVERY:
            self.write()

    def forget(self, word: str) -> None:
        """Leave out the cells whose names begin with a word."""
        self.found = {name: cell for name, cell in self.found.items() if name.split("/")[0] != word}
        self.changed.add(word)

    def write(self) -> None:
        """Write the files that have changed."""
        for word in self.changed:
            mine = {name: cell for name, cell in self.found.items() if name.split("/")[0] == word}
            (self.folder / f"{word}.json").write_text(json.dumps(mine))
            print(f"  {word}: {len(mine)} cells", flush=True)
        self.written, self.changed = time.perf_counter(), set()


def _made(job: tuple) -> dict:
    """A cell with its CPU seconds."""
    _, make, given = job
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = make(*given)
    return {**cell, "cost": time.process_time() - begin}


def under(found: dict, *parts) -> list[dict]:
    """All cells of one name but for its last part, the number of the run, in order of runs."""
    start = "/".join(map(str, parts)) + "/"
    mine = [
        (int(name[len(start) :]), cell)
        for name, cell in found.items()
        if name.startswith(start) and name[len(start) :].isdigit()
    ]
    return [cell for _, cell in sorted(mine, key=lambda pair: pair[0])]
