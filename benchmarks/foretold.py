"""What `tamis check` says that `tamis fit` will hold, and what it holds, in fresh processes."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import textfiles
from benchmarks.clock import ROOT
from benchmarks.pages import Goal, Table, verdict

MEGA = 10**6
NEAR = 0.15
METHODS = ("truncated", "ftrl", "arow", "group", "stabilized", "sieve")
COMMAND = """
import sys
from tamis.base.machine.memory import peak_memory
from tamis.cli.main import main
code = main(sys.argv[1:])
print('peak', peak_memory(), file=sys.stderr)
sys.exit(code)
"""


def command(*arguments: str) -> tuple[dict, int]:
    """What a command of tamis says, and the most that it held."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments, "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"tamis {arguments[0]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout), int(done.stderr.split()[-1])


def wide(path: Path, rows: int, columns: int, classes: int) -> None:
    """Rows of 40 words over many columns, the first of which decide the class."""
    random, tell = np.random.default_rng(0), np.random.default_rng(1).normal(size=(300, classes))
    with path.open("w") as file:
        for _ in range(rows):
            words = np.unique((columns * random.random(40) ** 3).astype(int))
            scores = tell[words[words < 300]].sum(axis=0) + 0.3 * random.normal(size=classes)
            pairs = " ".join(f"{word + 1}:1" for word in words)
            file.write(f"{int(np.argmax(scores))} {pairs}\n")


def by_method(quick: bool) -> tuple[Table, Goal]:
    """Several methods and files, what was said and what was found."""
    lines, worst = [], (0.0, "")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TAMIS_SCRATCH")) as folder:
        for name, path, methods in _files(Path(folder), quick):
            said, _ = command("check", str(path))
            few = path.with_suffix(".few.svm")
            with path.open() as file:
                few.write_text("".join(itertools.islice(file, 2_000)))
            for method in methods:
                words = ["--method", method, "--out", str(path) + ".tamis"]
                command("fit", str(few), *words)  # compiles what is not compiled yet
                _, held = command("fit", str(path), *words)
                foretold = said["memory"][method]
                off = abs(foretold / held - 1.0)
                worst = max(worst, (off, f"{foretold / held:.2f} of it ({method}, {name})"))
                figures = [f"{foretold / MEGA:.0f}", f"{held / MEGA:.0f}", f"{foretold / held:.2f}"]
                lines.append([name, method, *figures, verdict(off <= NEAR)])
    head = ["file", "method", "said, MB", "found, MB", "said / found", "verdict"]
    note = """Said: what `tamis check` held itself to read the file, the code that a method loads,
        its state (twice where it grows), `coef_`, and of a sieve both readings, its table, paths
        and held-out scores. A sieve's figure is for the setting with most paths."""
    table = Table("What tamis check says of tamis fit", head, lines, note)
    promise = "tamis check says the peak memory of tamis fit within 15 %"
    return table, Goal(promise, f"at worst {worst[1]}", verdict(worst[0] <= NEAR))


def _files(folder: Path, quick: bool) -> list[tuple[str, Path, tuple[str, ...]]]:
    """Files by size and shape, and which methods learn from them."""
    sizes = [5] if quick else [5, 60, 1000]
    made = []
    for size in sizes:
        path = folder / f"{size}.svm"
        textfiles.write(path, size * MEGA)
        made.append((f"{size} MB, 47,000 columns", path, METHODS if size < 1000 else METHODS[:3]))
    shapes = [] if quick else [(60_000, 1_000_000, 2), (50_000, 100_000, 20)]
    for rows, columns, classes in shapes:
        path = folder / f"{columns}-{classes}.svm"
        wide(path, rows, columns, classes)
        made.append((f"{rows:,} x {columns:,}, {classes} classes", path, METHODS))
    return [(*one[:2], ("ftrl", "arow")) for one in made] if quick else made
