"""Mutants: one token of a module is changed, and its own tests must notice.

``python -m benchmarks mutants``; ``TAMIS_MUTANTS=selection/error_bounds,distributed`` takes some
modules or folders only, ``TAMIS_MUTANTS_JOBS=2`` so many at a time (a core each, if nothing is
said), and ``TAMIS_BENCH_SECONDS=600`` ends the run; the next one goes on where it ended. Results
lie in ``TAMIS_MUTANTS_STORE`` (``build/mutants.json``), in which
``TAMIS_MUTANTS_MERGE=a.json,b.json`` puts results of other runs.
``TAMIS_MUTANTS_TESTS=tests/a.py,tests/b.py`` lets those that lived meet some of their module's
tests alone, as new ones, and keeps what these catch.

All happens in copies of the tree. A mutant meets the tests that ran its line first, the fastest
first, then all of its module; a module of compiled code runs as Python (`NUMBA_DISABLE_JIT=1`).
The test that caught it must pass on the source right after.
"""

import hashlib
import itertools
import json
import os
import queue
import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.clock import ROOT
from benchmarks.pages import Page, machine
from benchmarks.trust.mutants.copies import Copy, copy_tree, runs_as_python
from benchmarks.trust.mutants.modules import MODULES, its_tests
from benchmarks.trust.mutants.places import Mutant, changed, mutants_of
from benchmarks.trust.mutants.survivors import reason_for
from benchmarks.trust.mutants.telling import CAUGHT, SURVIVED, page

STORE = Path(os.environ.get("TAMIS_MUTANTS_STORE", ROOT / "build" / "mutants.json"))
ONLY = [test for test in os.environ.get("TAMIS_MUTANTS_TESTS", "").split(",") if test]
MUTANTS, QUICK, SEED = 8, 3, 20  # a module
SECONDS = float(os.environ.get("TAMIS_BENCH_SECONDS", 3 * 3600))
# Seconds: tests after the fastest that take so long together are left out; twice as long of those
# that ran the line.
ENOUGH = 10.0


def judge(copy: Copy, source: str, mutant: Mutant, known: dict, end: float) -> dict | None:
    """Whether any test notices a mutant, and how many seconds that took; None if time is up."""
    begin, trusted = time.monotonic(), dict(known)
    while True:
        copy.write(changed(source, mutant))
        try:
            found = met(copy, mutant, trusted, end)
        finally:
            copy.write(source)
        by = found and found.get("by")
        # A test that fails on the source too, as on a busy machine, says nothing.
        if by not in trusted or copy.ask([by], _until(end, 120.0)).get("code") == 0:
            return found and {**found, "seconds": round(time.monotonic() - begin, 1)}
        if time.monotonic() > end:
            return None
        del trusted[by]


def met(copy: Copy, mutant: Mutant, known: dict, end: float) -> dict | None:
    """What the tests say to a copy that holds a mutant."""
    near = _first({test: at for test, at in known.items() if mutant.line in at[1]}, 2.0 * ENOUGH)
    order = _first(known, ENOUGH)
    for tests in (near, order):
        usual = sum(known[test][0] for test in tests)
        found = copy.ask(tests, _until(end, 120.0 + 20.0 * usual)) if tests else {"failed": []}
        if "late" in found and time.monotonic() > end - 1.0:
            return None
        if found.get("failed") or "failed" not in found or found.get("code", 0) not in (0, 1):
            return {"how": CAUGHT, "by": (found.get("failed") or [next(iter(found))])[0]}
    return {"how": SURVIVED, "ran": bool(near)}


def _first(known: dict, seconds: float) -> list[str]:
    """The fastest tests, as many as take so long together."""
    order = sorted(known, key=lambda test: known[test][0])
    taken = itertools.accumulate(known[test][0] for test in order)
    return [test for test, so_far in zip(order, taken, strict=True) if so_far < seconds]


def _until(end: float, seconds: float) -> float:
    """So many seconds, or those that are left."""
    return max(min(seconds, end - time.monotonic()), 1.0)


class Store:
    """What was found, by module, in a file that is whole at any moment."""

    def __init__(self, path: Path):
        self.path, self.lock = path, threading.RLock()
        self.path.parent.mkdir(exist_ok=True, parents=True)
        self.found = json.loads(path.read_text()) if path.exists() else {}

    def merge(self, path: Path) -> None:
        """Take in the modules of another store, as far as they are as they were."""
        for module, theirs in json.loads(path.read_text()).items():
            kept = self.of(module)
            if theirs["digest"] == kept["digest"]:
                mutants = {**theirs["mutants"], **kept["mutants"]}
                cpu = theirs.get("cpu", 0.0) + kept.get("cpu", 0.0)
                self.found[module] = {**theirs, **kept, "mutants": mutants, "cpu": cpu}
        self.keep()

    def of(self, module: str) -> dict:
        """What was found of a module as it is; nothing of an older one."""
        digest = digest_of(source_of(module))
        if self.found.get(module, {}).get("digest") != digest:
            self.found[module] = {"digest": digest, "mutants": {}}
        return self.found[module]

    def keep(self) -> None:
        """Write the file."""
        with self.lock:
            draft = self.path.with_suffix(".new")
            draft.write_text(json.dumps(self.found, indent=1))
            draft.replace(self.path)


def source_of(module: str) -> str:
    """The text of a module."""
    return (ROOT / f"src/tamis/{module}.py").read_text()


def drawn(module: str, source: str, count: int) -> list[Mutant]:
    """Mutants of a module, the same in every run; with more of them, those and others."""
    every = mutants_of(source)
    random.Random(f"{SEED} {module}").shuffle(every)
    return every[:count]


def digest_of_tests(module: str) -> str:
    """A short name of a module's tests as they are."""
    files = [
        file
        for name in its_tests(module)
        for file in ([ROOT / name] if name.endswith(".py") else sorted((ROOT / name).rglob("*.py")))
    ]
    return digest_of("".join(file.read_text() for file in files))


def known_of(copy: Copy, module: str, store: Store, end: float) -> dict:
    """Seconds and lines of each test of a module; measured anew when tests have changed."""
    kept, digest = store.of(module), digest_of_tests(module)
    if kept.get("tests") != digest:
        found = copy.ask(its_tests(module), _until(end, 1200.0), watch=True)
        print(module, "left out:", found.get("failed"), flush=True)
        if not found.get("passed"):
            return {}
        with store.lock:
            kept["tests"], kept["known"] = digest, found["passed"]
    return kept["known"]


def digest_of(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def wanted(module: str, store: Store, count: int) -> list[Mutant]:
    """The mutants of a module that nobody judged, and those that lived under other tests."""
    source, tests, known = source_of(module), digest_of_tests(module), store.of(module)["mutants"]
    return [
        mutant
        for mutant in drawn(module, source, count)
        if known.get(str(mutant), {}).get("how") != CAUGHT
        and known.get(str(mutant), {}).get("tests") != tests
        and not reason_for(module, source, mutant)
    ]


def look_again(module: str, place: Path, store: Store, count: int, end: float) -> None:
    """Let mutants that lived meet the tests that TAMIS_MUTANTS_TESTS names."""
    source, kept = source_of(module), store.of(module)
    tests = [test for test in ONLY if test.startswith(tuple(its_tests(module)))]
    lived = [m for m in wanted(module, store, count) if str(m) in kept["mutants"]]
    if not tests or not lived:
        return
    with Copy(place, module) as copy:
        for mutant in lived:
            copy.write(changed(source, mutant))
            try:
                failed = copy.ask(tests, _until(end, 300.0)).get("failed")
            finally:
                copy.write(source)
            if failed and copy.ask(failed[:1], _until(end, 120.0)).get("code") == 0:
                with store.lock:
                    found = {"how": CAUGHT, "by": failed[0], "tests": digest_of_tests(module)}
                    kept["mutants"][str(mutant)] = {**found, "first": SURVIVED}
                    store.keep()
            print(f"{module} {mutant}: {failed or 'lives'}", flush=True)
    with store.lock:
        kept["cpu"] = kept.get("cpu", 0.0) + copy.cpu
        store.keep()


def look_at(module: str, place: Path, store: Store, count: int, end: float) -> None:
    """Judge the mutants of a module that are wanted, in a copy of the tree."""
    source, kept, tests = source_of(module), store.of(module), digest_of_tests(module)
    with Copy(place, module) as copy:
        known = known_of(copy, module, store, end)
        for mutant in wanted(module, store, count) if known else []:
            found = judge(copy, source, mutant, known, end) if time.monotonic() < end else None
            if found is None:
                break
            before = kept["mutants"].get(str(mutant), {})
            first = before.get("first", before.get("how", found["how"]))
            found = {**found, "tests": tests, "first": first}
            print(f"{module} {mutant}: {found}", flush=True)
            with store.lock:
                kept["mutants"][str(mutant)] = found
                store.keep()
    with store.lock:
        kept["cpu"], kept["where"] = kept.get("cpu", 0.0) + copy.cpu, machine()
        store.keep()


def compiled_ahead(modules: list[str], tree: Path, jobs: int, end: float) -> dict[str, float]:
    """Run the tests of modules that are not run as Python, so that the copies of this copy find
    machine code; seconds of CPU of each file or folder of tests.
    """
    users = {test: m for m in modules if not runs_as_python(m) for test in its_tests(m)}

    def taken(test: str) -> float:
        with Copy(tree, users[test]) as copy:
            copy.ask([test], _until(end, 1200.0), compile=True)
            return copy.cpu

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(users, pool.map(taken, users), strict=True))


def look_at_all(modules: list[str], store: Store, count: int, end: float) -> None:
    """Judge modules side by side, the longest first; each job has a copy of its own."""
    modules = [module for module in modules if wanted(module, store, count)]
    jobs = min(int(os.environ.get("TAMIS_MUTANTS_JOBS", os.cpu_count() or 1)), len(modules))
    if not jobs:
        return
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        places: queue.SimpleQueue = queue.SimpleQueue()
        (tree := Path(folder) / "tree").mkdir()
        copy_tree(ROOT, tree)
        seconds = {} if ONLY else compiled_ahead(modules, tree, jobs, end)
        print("seconds of tests:", {t: round(s) for t, s in seconds.items()}, flush=True)
        for job in range(jobs):
            (place := Path(folder) / str(job)).mkdir()
            copy_tree(tree, place)
            places.put(place)

        def one(module: str) -> None:
            place = places.get()
            if time.monotonic() < end:
                (look_again if ONLY else look_at)(module, place, store, count, end)
            places.put(place)

        def long(module: str) -> float:
            return -sum(seconds.get(test, 60.0) for test in its_tests(module))

        list(pool.map(one, sorted(modules, key=long)))


def chosen() -> list[str]:
    """Modules that TAMIS_MUTANTS names, or all that are looked at."""
    asked = os.environ.get("TAMIS_MUTANTS")
    return [m for m in MODULES if not asked or m.startswith(tuple(asked.split(",")))]


def run(quick: bool) -> Page:
    """Look at modules as long as there is time."""
    end, count = time.monotonic() + SECONDS, QUICK if quick else MUTANTS
    store = Store(STORE)
    for path in filter(None, os.environ.get("TAMIS_MUTANTS_MERGE", "").split(",")):
        store.merge(Path(path))
    look_at_all(chosen()[:1] if quick else chosen(), store, count, end)
    kept = {module: store.found[module] for module in MODULES if module in store.found}
    sources = {module: source_of(module) for module in kept}
    wholly = {module: drawn(module, sources[module], count) for module in kept}
    return page(
        {m: k for m, k in kept.items() if k["digest"] == digest_of(sources[m])}, wholly, sources
    )
