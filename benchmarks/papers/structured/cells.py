"""Figures as they are found: one cell a run, written to a file, so that a run that was ended goes
on where it stood.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

EVERY = 3.0  # seconds between two writings of the file


class Enough(Exception):
    """The granted time is over."""


class Cells:
    """What was found so far, by names like ``school/batch/aMTFS/3``; one file for each first word,
    so that parts can run side by side.

    `seconds` is the time granted to this run.
    """

    def __init__(self, folder: Path, seconds: float = float("inf")):
        self.folder, self.end = folder, time.perf_counter() + seconds
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
        if time.perf_counter() > self.end:
            raise Enough
        begin = time.process_time()
        cell = make(*given)
        self.found[name] = {**cell, "cost": time.process_time() - begin}
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


def under(found: dict, *parts) -> list[dict]:
    """All cells of one name but for its last part, the number of the run, in order of runs."""
    start = "/".join(map(str, parts)) + "/"
    mine = [
        (int(name[len(start) :]), cell)
        for name, cell in found.items()
        if name.startswith(start) and name[len(start) :].isdigit()
    ]
    return [cell for _, cell in sorted(mine, key=lambda pair: pair[0])]
