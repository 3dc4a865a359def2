"""Mutants: one token of a module is changed, and its own tests must notice.

``python -m benchmarks mutants``; ``TAMIS_MUTANTS=judge/bounds,distributed`` takes some modules or
folders only, ``TAMIS_BENCH_SECONDS=600`` ends the run, and the next one goes on where it ended.
All happens in a copy of the tree. A mutant meets the tests that ran its line first, the fastest
first, then all of its module; compiled code runs as Python (`NUMBA_DISABLE_JIT=1`).
"""

import hashlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.clock import ROOT
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.trust.mutants.modules import MODULES, its_tests
from benchmarks.trust.mutants.places import Mutant, changed, mutants_of
from benchmarks.trust.mutants.survivors import reason_for

STORE = Path(os.environ.get("TAMIS_MUTANTS_STORE", ROOT / "build" / "mutants.json"))
MUTANTS, QUICK, SEED = 8, 3, 20  # a module
SECONDS = float(os.environ.get("TAMIS_BENCH_SECONDS", 3 * 3600))
SLOW = 4.0  # seconds of CPU; slower tests are left out
ENOUGH = 10.0  # seconds; tests after the fastest that take so long together are left out
NEAREST = 30  # tests that ran the line, before all of them
ALLOWED = 0.05
COMPILED = ("base", "terms", "solvers", "methods")
COPIED = ("src", "tests", "benchmarks", "pyproject.toml", "README.md", "docs", "examples")
CAUGHT, SURVIVED, EQUIVALENT = "caught", "survived", "equivalent"
HEAD = ["module", "mutants", "caught", "of these after a test was written", "equivalent", "alive"]
OPENING = """
    {count} changes of one token each, drawn at random: a comparison, an operator, a number, `and`
    for `or`, the largest for the least. Each is made in a copy of the tree, and the module's own
    tests are run: first those that ran the changed line, then all, as far as they are fast.
    Compiled code runs as Python. A mutant is *caught* if a test fails, dies or does not end. Those
    that live are read: for some a test was written, which is then not a sample any more, and the
    table counts them; others do the same as the source, or the same within what is promised, and
    the last table says why."""


class Copy:
    """A copy of the tree, in which one module at a time is changed, and a process that tests it."""

    def __init__(self, folder: Path, module: str):
        self.folder, self.file = folder, f"src/tamis/{module}.py"
        for name in COPIED:
            if not (folder / name).exists():
                source = ROOT / name
                (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        surroundings = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)]),
            "NUMBA_DISABLE_JIT": str(int(module.startswith(COMPILED))),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.trust.mutants.nursery"],
            cwd=folder,
            env=surroundings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Copy":
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        self.process.wait()

    def ask(self, tests: list[str], seconds: float, watch: bool = False) -> dict:
        """Run tests on the copy as it is."""
        file = self.file if watch else None
        limit = SLOW if watch else 3.0 * SLOW
        asked = {"tests": tests, "file": file, "limit": limit, "seconds": seconds}
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def write(self, source: str) -> None:
        """Change the module; Python must not find the old one compiled."""
        path = self.folder / self.file
        path.write_text(source)
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()


def judge(copy: Copy, source: str, mutant: Mutant, known: dict) -> dict:
    """Whether any test notices a mutant, and how many seconds that took."""
    copy.write(changed(source, mutant))
    begin, order = time.monotonic(), sorted(known, key=lambda test: known[test][0])
    taken = itertools.accumulate(known[test][0] for test in order)
    order = [test for test, seconds in zip(order, taken, strict=True) if seconds < ENOUGH]
    near = [test for test in order if mutant.line in known[test][1]]
    try:
        for tests in (near[:NEAREST], order):
            usual = sum(known[test][0] for test in tests)
            found = copy.ask(tests, 120.0 + 20.0 * usual) if tests else {"failed": []}
            if found.get("failed") or "failed" not in found or found.get("code", 0) not in (0, 1):
                by = (found.get("failed") or [next(iter(found))])[0]
                return {"how": CAUGHT, "by": by, "seconds": time.monotonic() - begin}
    finally:
        copy.write(source)
    return {"how": SURVIVED, "ran": bool(near), "seconds": time.monotonic() - begin}


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


def known_of(copy: Copy, module: str, kept: dict) -> dict:
    """Seconds and lines of each test of a module; measured anew when tests have changed."""
    digest = digest_of_tests(module)
    if kept.get("tests") != digest:
        found = copy.ask(its_tests(module), 1200.0, watch=True)
        print(module, "left out:", found.get("failed"), flush=True)
        kept["tests"], kept["known"] = digest, found.get("passed", {})
    return kept["known"]


def digest_of(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def look_at(module: str, place: Path, store: dict, count: int, end: float) -> None:
    """Judge the mutants of a module that nobody judged, and those that lived under other tests."""
    source = (ROOT / f"src/tamis/{module}.py").read_text()
    digest = digest_of(source)
    kept = store.get(module, {})
    if kept.get("digest") != digest:
        kept = store[module] = {"digest": digest, "mutants": {}}
    tests = digest_of_tests(module)
    wanted = [
        mutant
        for mutant in drawn(module, source, count)
        if kept["mutants"].get(str(mutant), {}).get("how") != CAUGHT
        and kept["mutants"].get(str(mutant), {}).get("tests") != tests
        and not reason_for(module, source, mutant)
    ]
    if not wanted or time.monotonic() > end:
        return
    with Copy(place, module) as copy:
        known = known_of(copy, module, kept)
        STORE.write_text(json.dumps(store, indent=1))
        for mutant in wanted if known else []:
            if time.monotonic() > end:
                break
            found, before = judge(copy, source, mutant, known), kept["mutants"].get(str(mutant), {})
            first = before.get("first", before.get("how", found["how"]))
            kept["mutants"][str(mutant)] = {**found, "tests": tests, "first": first}
            print(f"{module} {mutant}: {kept['mutants'][str(mutant)]}", flush=True)
            STORE.write_text(json.dumps(store, indent=1))


def chosen() -> list[str]:
    """Modules that TAMIS_MUTANTS names, or all that are looked at."""
    asked = os.environ.get("TAMIS_MUTANTS")
    return [m for m in MODULES if not asked or m.startswith(tuple(asked.split(",")))]


def run(quick: bool) -> Page:
    """Look at modules one after the other, as long as there is time."""
    end, count = time.monotonic() + SECONDS, QUICK if quick else MUTANTS
    STORE.parent.mkdir(exist_ok=True)
    store = json.loads(STORE.read_text()) if STORE.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for module in chosen()[:1] if quick else chosen():
            look_at(module, Path(folder), store, count, end)
    return page(store, count)


def page(store: dict, count: int) -> Page:
    """What was found, of modules that are still as they were."""
    rows, lived, totals = [], [], Counter()
    for module in MODULES:
        source = (ROOT / f"src/tamis/{module}.py").read_text()
        kept = store.get(module, {})
        if kept.get("digest") != digest_of(source):
            continue
        figures: Counter = Counter()
        for mutant in drawn(module, source, count):
            found = kept["mutants"].get(str(mutant))
            if found is None:
                continue
            why = reason_for(module, source, mutant)
            how = EQUIVALENT if why else found["how"]
            figures[how] += 1
            figures["mended"] += how == CAUGHT and found.get("first") == SURVIVED
            if how != CAUGHT:
                line = source.splitlines()[mutant.line - 1].strip()
                change = f"`{mutant.old}` to `{mutant.new or ' '}`"
                lived.append([f"{module}:{mutant.line}", f"`{line}`", change, why or "no test"])
        if figures:
            rows.append([module, *_figures(figures)])
            totals += figures
    tables = [Table("By module", HEAD, [*rows, ["all", *_figures(totals)]])]
    if lived:
        tables.append(Table("Those that lived", ["where", "line", "change", "why"], lived))
    real = totals[SURVIVED] + totals[CAUGHT]
    share = totals[SURVIVED] / max(real, 1)
    whole = len(rows) == len(MODULES)
    goal = Goal(
        f"at most {ALLOWED:.0%} of the mutants that are no equivalents live",
        f"{totals[SURVIVED]} of {real}, {share:.1%}, in {len(rows)} of {len(MODULES)} modules",
        verdict(share <= ALLOWED) if whole else "not finished",
    )
    opening = OPENING.format(count=totals[SURVIVED] + totals[CAUGHT] + totals[EQUIVALENT])
    return Page("mutants", "Mutants", opening, tables, [goal])


def _figures(found: Counter) -> list[str]:
    """Cells of a row of the table."""
    every = found[CAUGHT] + found[EQUIVALENT] + found[SURVIVED]
    return [
        str(n) for n in (every, found[CAUGHT], found["mended"], found[EQUIVALENT], found[SURVIVED])
    ]
