"""Copies of the tree, in which modules are changed and tested, and what Numba compiled for them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.clock import ROOT

SLOW = 4.0  # seconds of CPU; slower tests are left out
COMPILING = 60.0  # the same, while what they call is compiled
COPIED = ("src", "tests", "benchmarks", "pyproject.toml", "README.md", "docs", "examples")


def copy_tree(source: Path, folder: Path) -> None:
    """A copy, with the machine code that lies beside the sources: the files keep their times."""
    for name in COPIED:
        if not (folder / name).exists():
            made = shutil.copytree if (source / name).is_dir() else shutil.copy2
            made(source / name, folder / name)


def runs_as_python(module: str) -> bool:
    """Whether a module holds code that is compiled: it is tested without that."""
    source = (ROOT / f"src/tamis/{module}.py").read_text()
    return "tamis.numerics.numba" in source or "@term\n" in source


class Copy:
    """A copy of the tree, in which one module at a time is changed, and a process that tests it."""

    def __init__(self, folder: Path, module: str):
        self.folder, self.file, self.cpu = folder, f"src/tamis/{module}.py", 0.0
        paths = [str(folder / "src"), str(folder), os.environ.get("PYTHONPATH", "")]
        surroundings = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "NUMBA_DISABLE_JIT": str(int(runs_as_python(module))),
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

    def ask(self, tests: list[str], seconds: float, **more) -> dict:
        """Run tests on the copy as it is: `watch` says what each of them runs, `compile` runs all,
        however slow they are.
        """
        watched, compiled = more.get("watch", False), more.get("compile", False)
        asked = {
            "tests": tests,
            "file": self.file if watched else None,
            "all": watched or compiled,
            "limit": COMPILING if compiled else SLOW if watched else 3.0 * SLOW,
            "seconds": seconds,
        }
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        found = json.loads(self.process.stdout.readline() or '{"died": true}')
        self.cpu += found.pop("cpu", 0.0)
        return found

    def write(self, source: str) -> None:
        """Change the module; Python must not find the old one compiled."""
        path = self.folder / self.file
        path.write_text(source)
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()
