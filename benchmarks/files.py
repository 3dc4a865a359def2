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

from benchmarks import textfiles
from benchmarks.clock import ROOT
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.text_speed import race_packed, race_text
from tamis.training.two_pass import DEFAULT_MEMORY_MB

MEGA, GIGA = 10**6, 10**9
PROMISED = 300 * MEGA  # bytes beside the model
METHODS = ("ftrl", "truncated", "sieve")
FIRST = ("ftrl", "truncated")  # those that go through the file once
BOUND = 1.2  # times the larger of reading and learning
READ = "import sys, tamis\nfor chunk in tamis.open_rows(sys.argv[1], zero_based=False): pass"
VW = (
    "import sys, vowpalwabbit\nvowpalwabbit.Workspace(arg_list=sys.argv[2:] + ['-d', "
    "sys.argv[1]]).finish()"
)
VW_OPTIONS = ["--loss_function", "logistic", "--l1", "1e-6", "--holdout_off", "--quiet", "-b", "18"]
FIT = """
import sys
from tamis.training.two_pass import DEFAULT_MEMORY_MB
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


PARTS = """
import json, sys, time, tamis
from tamis.cli.methods import build
method, path, small, rounds = sys.argv[1:]

def read():
    for chunk in tamis.open_rows(path, zero_based=False):
        pass

def learn():
    model = build(method, 'classify', grow=True)
    for turn in range(10):
        for X, y in chunks:
            model.partial_fit(X, y)

def whole(file=path):
    model = build(method, 'classify', grow=True)
    rows = tamis.open_rows(file, zero_based=False)
    tamis.train(model, rows, validate='progressive', progress=False)

whole(small)
chunks = [(c.X, c.targets.astype(int)) for c in tamis.open_rows(small, zero_based=False)]
found = {}
for turn in range(int(rounds)):
    for action in (read, learn, whole):
        wall, cpu = time.perf_counter(), time.process_time()
        action()
        taken = time.perf_counter() - wall, time.process_time() - cpu
        found[action.__name__] = min(found.get(action.__name__, taken), taken)
print(json.dumps(found))
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


# --------------------------------------------------------------------------- end to end
def race_whole(folder: Path, size: int, rounds: int) -> tuple[list[Table], list[Goal]]:
    """`tamis fit` over a large file against its parts and against Vowpal Wabbit; and its memory at
    several sizes.
    """
    path, small, text = folder / "whole.svm", folder / "tenth.svm", folder / "whole.vw"
    rows = textfiles.write(path, size)
    textfiles.write(small, size // 10)
    textfiles.write(text, size, bar=True)
    vw = run_child("-c", VW, str(text), *VW_OPTIONS)
    text.unlink()
    read = run_child("-c", READ, str(path))
    lines = [["reading alone", f"{read.wall:.1f}", f"{read.cpu:.1f}"]]
    memory, goals = [], []
    for method in METHODS:
        whole = fit(method, [path])
        lines.append([f"tamis fit --method {method}", f"{whole.wall:.1f}", f"{whole.cpu:.1f}"])
        learn = float(run_child("-c", LEARN, method, str(small), "10").text)
        bound, most = max(read.wall, learn), 1.2 if method in FIRST else 1.5
        lines.append([f"learning alone, {method}", f"{learn:.1f}", ""])
        what = f"tamis fit --method {method}, imports and saving included"
        goals.append(_bound_goal(what, whole.wall / bound, most))
        if method in FIRST:
            goals.append(
                Goal(
                    f"tamis fit --method {method}: less time than Vowpal Wabbit --l1 from its "
                    "text, wall and CPU",
                    f"{whole.wall:.1f} s against {vw.wall:.1f} s, {whole.cpu:.1f} s against "
                    f"{vw.cpu:.1f} s of CPU",
                    verdict(whole.wall < vw.wall and whole.cpu < vw.cpu),
                )
            )
        found = {size / 10: fit(method, [small]), size: whole} | (
            {5 * size: fit(method, [path] * 5)} if method == METHODS[0] else {}
        )
        memory += [_memory(method, bytes_, one) for bytes_, one in found.items()]
    parts, more = race_parts(path, small, rounds)
    goals += more
    lines.append(["Vowpal Wabbit, --l1, from its text", f"{vw.wall:.1f}", f"{vw.cpu:.1f}"])
    note = f"""{rows:,} distinct rows of 74 nonzeros over 47,000 columns, {size / GIGA:g} GB of
        text. Each line but learning alone is a process of its own, its start included; learning
        alone is `partial_fit` over chunks in memory, ten times a tenth of the rows, then
        `refine`."""
    tables = [
        Table(
            "One pass from file to model",
            ["what", "wall, s", "CPU, s"],
            lines,
            note,
        ),
        parts,
    ]
    tables.append(
        Table(
            "Peak memory of the whole command",
            ["method", "file, GB", "peak, MB", "model, MB", "beside the model, MB"],
            [m[0] for m in memory],
            """The model in memory: 8 bytes a column for truncated gradient, 16 for FTRL; for the
            sieve 288 bytes a column and its sample of 20,000 rows. The largest file is the same one
            five times over.""",
        )
    )
    for method in METHODS:
        worst = max(m[1] for m in memory if m[0][0] == method)
        given = DEFAULT_MEMORY_MB * MEGA if method == "sieve" else 0
        beside = "model and its --memory of 1,000 MB" if given else "model"
        goals.append(
            Goal(
                f"tamis fit --method {method}: peak memory below 300 MB beside the {beside}, "
                "whatever the file's size",
                f"{(worst - given) / MEGA:.0f} MB",
                verdict(worst < PROMISED + given),
            )
        )
    return tables, goals


def race_parts(path: Path, small: Path, rounds: int) -> tuple[Table, list[Goal]]:
    """Reading, learning and both at once, in one process that has started."""
    lines, goals = [], []
    for method in FIRST:
        found = json.loads(run_child("-c", PARTS, method, str(path), str(small), str(rounds)).text)
        ratio = found["whole"][0] / max(found["read"][0], found["learn"][0])
        cells = (f"{found[part][k]:.2f}" for part in ("read", "learn", "whole") for k in (0, 1))
        lines.append([method, *cells, f"{ratio:.2f}"])
        goals.append(_bound_goal(f"train, {method}", ratio, BOUND))
    head = ["method", "reading, s", "CPU", "learning, s", "CPU", "both, s", "CPU", "of the larger"]
    note = """In one process, its start and the first calls left out: `open_rows` alone,
        `partial_fit` alone over chunks in memory (ten times a tenth of the rows), and `train`, as
        the command does it. The quietest of several rounds, in turn."""
    return Table("Two cores at once", head, lines, note), goals


def _bound_goal(what: str, ratio: float, bound: float) -> Goal:
    return Goal(
        f"{what}: wall time at most {bound} times the larger of reading and learning alone",
        f"{ratio:.2f} times",
        verdict(ratio <= bound),
    )


def fit(method: str, paths) -> Ran:
    """The whole command."""
    return run_child(
        "-c", FIT, "fit", *map(str, paths), "--method", method, "--task", "classify", "--json"
    )


def _memory(method: str, size: float, one: Ran) -> tuple[list[str], float]:
    columns = json.loads(one.text)["features"]
    each = {"truncated": 8, "ftrl": 16}
    model = columns * each[method] if method in each else columns * 288 + 20_000 * 74 * 12
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
        size, rounds = (4 * MEGA, 1) if quick else (60 * MEGA, 5)
        table, goals = race_text(Path(folder), size, rounds)
        packed, also = race_packed(Path(folder), rounds)
        size, rounds = (20 * MEGA, 1) if quick else (GIGA, 3)
        tables, more = race_whole(Path(folder), size, rounds)
    page.tables, page.goals = [table, packed, *tables], goals + also + more
    return page
