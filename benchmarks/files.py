"""From a file to a model: reading alone, learning alone, the whole command, against peers; and its
memory.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import textfiles
from benchmarks.clock import ROOT, interleaved
from benchmarks.pages import Goal, Page, Table, verdict

MEGA, GIGA = 10**6, 10**9
PROMISED = 300 * MEGA  # bytes beside the model
METHODS = ("truncated", "sieve")
READ = "import sys, tamis\nfor chunk in tamis.open_rows(sys.argv[1], zero_based=False): pass"
VW = (
    "import sys, vowpalwabbit\nvowpalwabbit.Workspace(arg_list=sys.argv[2:] + ['-d', "
    "sys.argv[1]]).finish()"
)
FIT = """
import sys
from tamis.cli.main import main
code = main(sys.argv[1:])
held = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))
print('peak', held, file=sys.stderr)
sys.exit(code)
"""
LEARN = """
import sys, time, tamis
from tamis.cli.methods import build
method, path, times = sys.argv[1:]
rows = tamis.open_rows(path, n_features=47_000, zero_based=False)
chunks = [(c.X, c.targets.astype(int)) for c in rows]
model = build(method, 'classify')
begin = time.perf_counter()
for turn in range(int(times)):
    for X, y in chunks:
        model.partial_fit(X, y, classes=[-1, 1])
if hasattr(model, 'refine'):
    model.refine()
print(time.perf_counter() - begin)
"""


class Ran(NamedTuple):
    """A finished process: wall and CPU seconds, what it printed, and its remarks."""

    wall: float
    cpu: float
    text: str
    remarks: str

    @property
    def peak(self) -> int:
        """Most memory that it held, as it says itself: what the system says of a child counts its
        parent's too.
        """
        return 1024 * int(self.remarks.split()[-1])


def run_child(*arguments: str) -> Ran:
    """Run Python with the arguments, and wait for it alone."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        begin = time.perf_counter()
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, *arguments],
            {**os.environ, "PYTHONPATH": str(ROOT / "src")},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, out.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, err.fileno(), 2),
            ],
        )
        _, status, used = os.wait4(pid, 0)
        wall = time.perf_counter() - begin
        out.seek(0)
        err.seek(0)
        if status:
            raise RuntimeError(
                "a child process ended with "
                f"{os.waitstatus_to_exitcode(status)}:\n{err.read()[-2000:]}"
            )
        return Ran(wall, used.ru_utime + used.ru_stime, out.read(), err.read())


# --------------------------------------------------------------------------- reading alone
def race_text(folder: Path, size: int, rounds: int) -> tuple[Table, list[Goal]]:
    """Text to CSR on one core, by CPU time over all threads."""
    import pandas
    from sklearn.datasets import load_svmlight_file

    import tamis

    path, table = folder / "read.svm", folder / "read.csv"
    textfiles.write(path, size)
    long = _long_numbers(path, folder / "long.svm")
    _numeric_table(table, size // 2)

    def drain(file):
        for _ in tamis.open_rows(file):
            pass

    files = {"svmlight, 6 digits": path, "svmlight, 17 digits": long, "CSV, numbers alone": table}
    peers = {
        "svmlight": lambda file: load_svmlight_file(str(file)),
        "CSV": lambda file: pandas.read_csv(file, engine="c"),
    }
    lines, ratios, speeds = [], {}, {}
    for name, file in files.items():
        peer = peers[name.split(",")[0]]
        found = interleaved(
            {"ours": lambda f=file: drain(f), "theirs": lambda f=file, p=peer: p(f)},
            rounds,
            clock=time.process_time,
        )
        bytes_ = file.stat().st_size
        ours, theirs = bytes_ / found["ours"].least / MEGA, bytes_ / found["theirs"].least / MEGA
        ratios[name], speeds[name] = ours / theirs, ours
        whom = "pandas, C reader" if name.startswith("CSV") else "scikit-learn"
        lines.append(
            [
                name,
                f"{bytes_ / MEGA:.0f}",
                f"{ours:.0f}",
                whom,
                f"{theirs:.0f}",
                f"{ours / theirs:.1f}",
            ]
        )
    worst = min(r for n, r in ratios.items() if n.startswith("svm"))
    slowest = min(s for n, s in speeds.items() if n.startswith("svm"))
    note = """Megabytes a second of CPU time over all threads of the process, files in the system's
        cache. tamis makes CSR chunks, scikit-learn one CSR matrix, pandas a frame."""
    goals = [
        Goal(
            "svmlight text to CSR at least 10 times scikit-learn's speed",
            f"{worst:.1f} times",
            verdict(worst >= 10),
        ),
        Goal(
            "svmlight text to CSR at least 300 MB/s on one core",
            f"{slowest:.0f} MB/s",
            verdict(slowest >= 300),
        ),
        Goal(
            "CSV of numbers at least as fast as pandas' C reader",
            f"{ratios['CSV, numbers alone']:.1f} times",
            verdict(ratios["CSV, numbers alone"] >= 1),
        ),
    ]
    return Table(
        "Reading alone", ["text", "MB", "tamis, MB/s", "against", "MB/s", "ratio"], lines, note
    ), goals


def _long_numbers(path: Path, target: Path) -> Path:
    """Some of the same rows, numbers with all their digits."""
    random = np.random.default_rng(0)
    with path.open() as source, target.open("w") as file:
        for _, line in zip(range(16_000), source, strict=False):
            label, *pairs = line.split()
            values = random.random(len(pairs)).tolist()
            file.write(
                " ".join(
                    [
                        label,
                        *(
                            f"{pair.split(':')[0]}:{value!r}"
                            for pair, value in zip(pairs, values, strict=True)
                        ),
                    ]
                )
                + "\n"
            )
    return target


def _numeric_table(path: Path, size: int) -> None:
    """A CSV of normal numbers with all their digits."""
    random, width = np.random.default_rng(0), 50
    with path.open("w") as file:
        file.write(",".join([*(f"c{k}" for k in range(width)), "y"]) + "\n")
        for _ in range(max(1, size // (width * 20))):
            file.write(",".join(map(repr, random.normal(size=width).tolist())) + ",1\n")


# --------------------------------------------------------------------------- end to end
def race_whole(folder: Path, size: int) -> tuple[list[Table], list[Goal]]:
    """`tamis fit` over a large file against its parts and against Vowpal Wabbit; and its memory at
    several sizes.
    """
    path, small, text = folder / "whole.svm", folder / "tenth.svm", folder / "whole.vw"
    rows = textfiles.write(path, size)
    textfiles.write(small, size // 10)
    textfiles.write(text, size, bar=True)
    read = run_child("-c", READ, str(path))
    vw = run_child(
        "-c",
        VW,
        str(text),
        "--loss_function",
        "logistic",
        "--l1",
        "1e-6",
        "--holdout_off",
        "--quiet",
        "-b",
        "18",
    )
    text.unlink()
    lines, goals, memory = [["reading alone", f"{read.wall:.1f}", f"{read.cpu:.1f}", ""]], [], []
    for method in METHODS:
        learn = float(run_child("-c", LEARN, method, str(small), "10").text)
        whole = fit(method, [path])
        bound = max(read.wall, learn)
        lines.append([f"learning alone, {method}", f"{learn:.1f}", "", ""])
        lines.append(
            [
                f"tamis fit --method {method}",
                f"{whole.wall:.1f}",
                f"{whole.cpu:.1f}",
                f"{whole.wall / bound:.2f}",
            ]
        )
        goals.append(
            Goal(
                f"tamis fit --method {method}: wall time at most 1.5 times the larger of reading "
                "and learning alone",
                f"{whole.wall / bound:.2f} times",
                verdict(whole.wall <= 1.5 * bound),
            )
        )
        goals.append(
            Goal(
                f"tamis fit --method {method}: less time than Vowpal Wabbit --l1 from its text",
                f"{whole.wall:.1f} s against {vw.wall:.1f} s",
                verdict(whole.wall < vw.wall),
            )
        )
        found = {size / 10: fit(method, [small]), size: whole} | (
            {5 * size: fit(method, [path] * 5)} if method == METHODS[0] else {}
        )
        memory += [_memory(method, bytes_, one) for bytes_, one in found.items()]
    lines.append(["Vowpal Wabbit, --l1, from its text", f"{vw.wall:.1f}", f"{vw.cpu:.1f}", ""])
    note = f"""{rows:,} distinct rows of 74 nonzeros over 47,000 columns, {size / GIGA:g} GB of
        text. Each line but learning alone is a process of its own, its start included; learning
        alone is `partial_fit` over chunks in memory, ten times a tenth of the rows, then
        `refine`."""
    tables = [
        Table(
            "One pass from file to model",
            ["what", "wall, s", "CPU, s", "of the larger part"],
            lines,
            note,
        )
    ]
    tables.append(
        Table(
            "Peak memory of the whole command",
            ["method", "file, GB", "peak, MB", "model, MB", "beside the model, MB"],
            [m[0] for m in memory],
            """The model in memory: 8 bytes a column for truncated gradient; for the sieve 288
            bytes a column and its sample of 20,000 rows. The largest file is the same one five
            times over.""",
        )
    )
    for method in METHODS:
        worst = max(m[1] for m in memory if m[0][0] == method)
        goals.append(
            Goal(
                f"tamis fit --method {method}: peak memory below 300 MB beside the model, whatever "
                "the file's size",
                f"{worst / MEGA:.0f} MB",
                verdict(worst < PROMISED),
            )
        )
    return tables, goals


def fit(method: str, paths) -> Ran:
    """The whole command."""
    return run_child(
        "-c", FIT, "fit", *map(str, paths), "--method", method, "--task", "classify", "--json"
    )


def _memory(method: str, size: float, one: Ran) -> tuple[list[str], float]:
    columns = json.loads(one.text)["features"]
    model = columns * 8 if method == "truncated" else columns * 288 + 20_000 * 74 * 12
    return [
        method,
        f"{size / GIGA:g}",
        f"{one.peak / MEGA:.0f}",
        f"{model / MEGA:.0f}",
        f"{(one.peak - model) / MEGA:.0f}",
    ], one.peak - model


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        How fast `tamis.open_rows` reads, how long `tamis fit` takes from a file to a model in one
        pass, and how much memory that needs. Figures of the first table are CPU time, so that other
        work on the machine does not stretch them; the others are wall time."""
    page = Page("files", "Files", opening)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TAMIS_SCRATCH")) as folder:
        table, goals = race_text(Path(folder), 4 * MEGA if quick else 60 * MEGA, 1 if quick else 5)
        tables, more = race_whole(Path(folder), 20 * MEGA if quick else GIGA)
    page.tables, page.goals = [table, *tables], goals + more
    return page
