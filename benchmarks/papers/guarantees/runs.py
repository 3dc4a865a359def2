"""The runs: every method on every design, on permuted targets, and on real sets; results are kept
as they come, so that a run that was stopped goes on.

`TAMIS_BENCH_SECONDS` ends a run early, `TAMIS_BENCH_JOBS` shares it among so many processes.
"""

import os
import platform
import subprocess
import sys
import time
import warnings
import zlib
from pathlib import Path

import numpy as np

from benchmarks.clock import ROOT
from benchmarks.pages import machine
from benchmarks.papers.guarantees import designs, differences, effects, null, rivals
from benchmarks.papers.guarantees.designs import CLASSES, Design
from benchmarks.papers.guarantees.measures import judged, kappa
from benchmarks.papers.guarantees.methods import OF_CLASSES, OURS, PLAIN, code
from benchmarks.papers.sieve.store import Store

DESIGN, PERMUTED, REAL = "design", "permuted", "real"
MINE = {**OURS, **OF_CLASSES, **differences.METHODS}
SLOW_SEEDS = 5  # of a rival; its seconds are not those of a selection of ours


def data_folder() -> Path | None:
    """Where the real sets are."""
    named = os.environ.get("TAMIS_DATA")
    return Path(named) if named else None


def all_designs() -> dict[str, Design]:
    """Every design where the truth is known."""
    found = {**designs.SMALL, **designs.LARGE, designs.ZIPF.name: designs.ZIPF}
    found |= {**designs.FACTOR, **designs.OTHERS, **designs.OWN}
    return found | {designs.REPEATED.name: designs.REPEATED} | designs.texts(data_folder())


class Runs:
    """What is run, and where it is kept; one `share` of so many of it."""

    def __init__(self, store: Store, quick: bool = False, share: tuple[int, int] = (0, 1)):
        self.store, self.quick, self.share = store, quick, share
        self.code = code()
        self.machine = f"{machine()}, Python {platform.python_version()}, numpy {np.__version__}"
        # A run may be cut short: the same command goes on.
        self.until = time.monotonic() + float(os.environ.get("TAMIS_BENCH_SECONDS", "inf"))
        self.warmed: set = set()
        self.sets: dict = {}

    def missing(self, key: tuple, ours: bool) -> bool:
        """Whether a result of this share is not there, or was made by other code of ours; no longer
        when time is up.
        """
        number, shares = self.share
        if time.monotonic() > self.until or zlib.crc32(repr(key).encode()) % shares != number:
            return False
        found = self.store.get(*key)
        return found is None or (ours and found["code"] != self.code)

    def keep(self, key: tuple, **figures) -> None:
        """Add a result."""
        self.store.keep(*key, code=self.code, machine=self.machine, **figures)

    def design(self, one: Design, methods: dict, seeds, pairs: bool) -> None:
        """Methods on seeds of a design; with `pairs`, agreement of two samples too."""
        for name, select in methods.items():
            for seed in seeds:
                key = (DESIGN, one.name, name, seed)
                if seed < one.seeds and self.missing(key, name in MINE):
                    self._one(one, name, select, seed, pairs, key)

    def _one(self, one: Design, name: str, select, seed: int, pairs: bool, key: tuple) -> None:
        data, classes = one.sample(seed), one.kind == CLASSES
        chosen, seconds, told = self.timed(name, select, data.X, data.y, classes, seed)
        if name in OF_CLASSES:
            data = designs.paired(data, one.outputs)
        found = judged(chosen, data) | {"seconds": seconds, "repeats_told": told}
        if pairs:
            other = one.sample(seed, which=1)
            again = self.timed(name, select, other.X, other.y, classes, seed)[0]
            found["kappa"] = kappa(chosen, again, data.near.shape[1])
        self.keep(key, **found)

    def timed(self, name, select, X, y, classes: bool, seed: int):
        """A selection, its CPU seconds, and whether it warned of repeated rows."""
        kind = (name, classes, isinstance(X, np.ndarray))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            if kind not in self.warmed and name in MINE:  # compile before the clock runs
                select(X, y, classes, seed)
                self.warmed.add(kind)
            begin = time.process_time()
            chosen = select(X, y, classes, seed)
            seconds = time.process_time() - begin
        return chosen, seconds, any("of the rows repeat" in str(one.message) for one in heard)

    def permuted(self, one: Design, methods: dict, seeds) -> None:
        """Methods on a design whose targets are in another order."""
        for name, select in methods.items():
            for seed in seeds:
                key = (PERMUTED, one.name, name, seed)
                if self.missing(key, name in MINE):
                    data = one.sample(seed)
                    y = np.random.default_rng([seed, 23]).permutation(data.y)
                    chosen = self.timed(name, select, data.X, y, one.kind == CLASSES, seed)[0]
                    self.keep(key, size=len(chosen))

    def effects(self, one: Design, seeds) -> None:
        """Intervals of effects."""
        for name in OURS:
            for seed in seeds:
                key = (effects.EFFECTS, one.name, name, seed)
                if self.missing(key, True):
                    self.keep(key, **effects.held(one, name, seed))

    def real(self, folder: Path, name: str, run: int) -> None:
        """Our methods on a real set whose targets are in another order."""
        for method, select in OURS.items():
            key = (REAL, name, method, run)
            if self.missing(key, True):
                if name not in self.sets:
                    self.sets[name] = null.read(folder, name)
                task = self.sets[name]
                y = null.permuted(task, run)
                chosen, seconds, _ = self.timed(method, select, task.X, y, task.classes, run)
                self.keep(key, size=len(chosen), seconds=seconds, words=null.words(task))

    def all(self) -> None:
        """Everything, the acceptance designs first; then seed by seed, so that a run that is cut
        short has something of all.
        """
        seeds = range(2 if self.quick else 20)
        small = dict(list(designs.SMALL.items())[:2]) if self.quick else designs.SMALL
        for one in (small if self.quick else all_designs()).values():
            self.design(one, OURS, seeds, pairs=one.name in designs.SMALL)
            if one.outputs > 1 and one.kind == CLASSES:
                self.design(one, OF_CLASSES, seeds, pairs=False)
        for one in small.values():
            self.permuted(one, OURS, seeds)
        for name, one in differences.asked():
            if not self.quick or one.name in small:
                self.design(one, {name: differences.METHODS[name]}, seeds, pairs=False)
        for one in small.values() if self.quick else effects.asked():
            self.effects(one, seeds)
        folder = data_folder()
        names = [n for n in null.names(folder) if not self.quick or n in ("pima", "dexter")]
        for run in range(len(seeds) if self.quick else null.PERMUTATIONS):
            for name in names:
                self.real(folder, name, run)
            if run < (1 if self.quick else SLOW_SEEDS):
                self.others(small, run)
            print(f"permutation and seed {run}", flush=True)

    def others(self, small: dict, seed: int) -> None:
        """What is slow, on one seed: stability selection, marginal tests and other packages, these
        on designs of numbers, and where they can, on one of classes.
        """
        for one in small.values():
            self.design(one, PLAIN, [seed], pairs=True)
            self.permuted(one, PLAIN, [seed])
            classes = one.kind == CLASSES
            for name, select in rivals.there().items():
                if classes and (name in rivals.NUMBERS_ALONE or "independent" not in one.name):
                    continue
                self.design(one, {name: select}, [seed], pairs=False)
                if not classes and seed == 0:
                    self.permuted(one, {name: select}, [seed])


def fill(store: Store, quick: bool) -> None:
    """Run what is missing: here, or shared among processes that add to the same file."""
    jobs = int(os.environ.get("TAMIS_BENCH_JOBS", "1"))
    if jobs > 1:
        call = "from benchmarks.papers.guarantees.runs import part; part"
        started = [
            subprocess.Popen(
                [sys.executable, "-c", f"{call}({str(store.path)!r}, {quick}, {k}, {jobs})"],
                cwd=ROOT,
            )
            for k in range(jobs)
        ]
        failed = [one.args for one in started if one.wait()]
        store.read()
        if failed:
            raise RuntimeError(f"{len(failed)} of {jobs} processes failed; what they did is kept.")
    Runs(store, quick).all()


def part(path: str, quick: bool, number: int, shares: int) -> None:
    """One share of all runs, in a process of its own."""
    Runs(Store(Path(path)), quick, (number, shares)).all()
