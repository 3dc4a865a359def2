"""kill -9 at random moments of the real command: ``tamis fit`` with checkpoints, as a process of
its own, started again until it is done.

A life ends by SIGKILL at a moment drawn over its work, or by itself; then its model must be, byte
for byte, that of a run that nobody disturbed. Beside the checkpoints lie files of others, with
names like those of tamis: they must never change. `python -m benchmarks kills`.
"""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks import textfiles
from benchmarks.clock import ROOT
from benchmarks.pages import Goal, Page, Table, verdict

KILLS, QUICK = 200, 8
BYTES = 4_000_000
# shares of the kills drawn from the start of the process on, and from its claim of the folder on;
# the others fall into training
ANY, LOADING = 0.1, 0.1
REACH = 0.5  # of the time from the first checkpoint to the end, over which those are drawn
CHAINS = 2  # a method
COMMAND = (
    "fit rows.svm --passes 2 --chunk-rows 250 --every 500 --checkpoint ck --out model.tamis --json"
)
METHODS = {
    "sieve": [
        "--stream",
        "--set",
        "n_paths=2",
        "--set",
        "n_folds=2",
        "--set",
        "n_sample=800",
        "--threads",
        "1",
    ],
    "ftrl": ["--method", "ftrl"],
}
OTHERS = ("model-0-500.tamis", "notes.txt", ".tamis-mine.tmp", "ck.json")
MOMENTS = {
    "start": "before the work: Python and its imports",
    "survey": "before the first checkpoint: loading, survey, first rows",
    "training": "in training, between two checkpoints",
    "writing": "while a file was being written, or between a model and its record",
    "end": "after training: the last refinement, or the model's own file",
    "clearing": "while the folder was being cleared",
}


FIGURES = {
    "kills": "kills",
    "finished": "models finished, those of lives killed after that included",
    "differing": "of these, with other bytes",
    "touched": "lives after which a file of others had changed",
    "left": "files left where the command had ended by itself",
}
SPANS = {
    "start": "undisturbed: seconds from the start to the claim of the folder",
    "loading": "from there to the first checkpoint",
    "training": "from there to the end",
}


class Chain:
    """Lives of one command, one after the other, in a folder of its own."""

    def __init__(self, method: str, folder: Path, seed: int):
        self.more, self.folder, self.random = METHODS[method], folder, np.random.default_rng(seed)
        self.ck, self.model = folder / "ck", folder / "model.tamis"
        textfiles.write(folder / "rows.svm", BYTES)
        self.others = {folder / name: self.random.bytes(1000) for name in OTHERS}
        for path, content in self.others.items():
            path.write_bytes(content)
        self.moments: Counter = Counter()
        self.lives = self.finished = self.differing = self.touched = self.left = 0

    # ------------------------------------------------------------------ a life
    def start(self) -> subprocess.Popen:
        """The command, as a user would start it."""
        surroundings = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-m", "tamis", *COMMAND.split(), *self.more]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=surroundings,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def undisturbed(self) -> None:
        """Two whole runs: the second, with all compiled, says how long its parts take, and what the
        model's bytes are.
        """
        for _ in range(2):
            begin, child = time.monotonic(), self.start()
            claimed = self._wait(child, self._has_claimed)
            written = self._wait(child, self._record)
            said = child.communicate()[1]
            if child.returncode:
                raise RuntimeError(
                    f"the command ended with {child.returncode}: {said.decode()[-500:]}"
                )
            self.spans = {
                "start": claimed - begin,
                "loading": written - claimed,
                "training": time.monotonic() - written,
            }
        self.wanted = hashlib.sha256(self.model.read_bytes()).hexdigest()
        self.model.unlink()

    def _wait(self, child: subprocess.Popen, happened) -> float:
        """Wait until something has happened, or the command has ended; when that was."""
        before = happened(child)
        while child.poll() is None and happened(child) == before:
            time.sleep(0.001)
        return time.monotonic()

    def _has_claimed(self, child: subprocess.Popen) -> bool:
        """Whether a life has its folder. Asks the system: to try the lock would be to take it."""
        with contextlib.suppress(OSError):
            return any(
                os.readlink(entry).endswith("/ck/checkpoint.lock")
                for entry in Path(f"/proc/{child.pid}/fd").iterdir()
            )
        return False

    def _record(self, child: subprocess.Popen) -> int:
        """What changes with each checkpoint."""
        with contextlib.suppress(OSError):
            return (self.ck / "checkpoint.json").stat().st_mtime_ns
        return 0

    def live(self, mortal: bool = True) -> None:
        """One life: killed at a moment drawn over its work, or ended by itself."""
        child, self.lives = self.start(), self.lives + 1
        chance = self.random.random()
        if not mortal:
            lasting = 600.0
        elif chance < ANY:
            lasting = self.random.uniform(0.0, sum(self.spans.values()))
        elif chance < ANY + LOADING:
            self._wait(child, self._has_claimed)
            lasting = self.random.uniform(0.0, self.spans["loading"])
        else:
            self._wait(child, self._record)
            lasting = self.random.uniform(0.0, REACH * self.spans["training"])
        try:
            said = child.communicate(timeout=lasting)[1]
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            said = child.communicate()[1]
        if child.returncode == -signal.SIGKILL:
            self.moments[self._moment()] += 1
            if self.model.exists():
                self._judge()
        elif child.returncode:
            raise RuntimeError(f"the command ended with {child.returncode}: {said.decode()[-500:]}")
        else:
            self._judge()
            self._look_around()
        self.touched += any(
            not path.exists() or path.read_bytes() != content
            for path, content in self.others.items()
        )

    def _moment(self) -> str:
        """When a process died, by what it left."""
        names = os.listdir(self.ck) if self.ck.exists() else []
        models, record = (
            [name for name in names if name.startswith("model-")],
            "checkpoint.json" in names,
        )
        if self.model.exists():
            return "clearing" if names and not record else "end"
        if (
            any(
                name.endswith(".tmp")
                for name in [*names, *(set(os.listdir(self.folder)) - {*OTHERS})]
            )
            or len(models) > 1
            or (models and not record)
        ):
            return "writing"
        if not names:
            return "start"
        if not record:
            return "survey"
        return "training" if '"turn": 2' not in (self.ck / "checkpoint.json").read_text() else "end"

    def _judge(self) -> None:
        """A model is finished: compare its bytes, and begin a new one."""
        self.finished += 1
        self.differing += hashlib.sha256(self.model.read_bytes()).hexdigest() != self.wanted
        self.model.unlink()

    def _look_around(self) -> None:
        """The command has ended by itself: nothing of it may be left but an empty folder, whose
        maker died before it wrote that it had made it.
        """
        if self.ck.exists() and not os.listdir(self.ck):
            self.ck.rmdir()
        self.left += len(set(os.listdir(self.folder)) - {"rows.svm", *OTHERS})

    @property
    def kills(self) -> int:
        """How many lives were killed."""
        return sum(self.moments.values())


def run_chain(method: str, count: int, folder: Path, seed: int) -> Chain:
    """Kill until there are `count` kills, then let the last model be finished."""
    chain = Chain(method, folder, seed)
    chain.undisturbed()
    while chain.kills < count:
        chain.live()
    while chain.ck.exists() or not chain.finished:
        chain.live(mortal=False)
    return chain


def run(quick: bool) -> Page:
    """All chains side by side, an equal share of the kills each."""
    count, begin = (QUICK if quick else KILLS) // (len(METHODS) * CHAINS), time.monotonic()
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(len(METHODS) * CHAINS) as pool:
        done = {method: [] for method in METHODS}
        for seed, method in enumerate(list(METHODS) * CHAINS):
            folder = Path(place, f"{method}-{seed}")
            folder.mkdir()
            done[method].append(pool.submit(run_chain, method, count, folder, seed))
        return _page(
            {method: [one.result() for one in chains] for method, chains in done.items()},
            time.monotonic() - begin,
        )


def _page(chains: dict[str, list[Chain]], seconds: float) -> Page:
    """What was found."""
    found = {
        name: {method: sum(getattr(one, name) for one in each) for method, each in chains.items()}
        for name in (*FIGURES, "lives")
    }
    moments = [
        [words, *(str(sum(one.moments[name] for one in each)) for each in chains.values())]
        for name, words in MOMENTS.items()
    ]
    lines = [[words, *map(str, found[name].values())] for name, words in FIGURES.items()]
    for part, words in SPANS.items():
        lines.append(
            [words, *(f"{max(one.spans[part] for one in each):.1f}" for each in chains.values())]
        )
    kills, finished, differing, touched, left, lives = (
        sum(found[name].values()) for name in (*FIGURES, "lives")
    )
    inside = kills - sum(
        one.moments["start"] + one.moments["survey"] for each in chains.values() for one in each
    )
    opening = f"""`tamis fit` with `--checkpoint`, as a process of its own, killed by SIGKILL at
        {kills} random moments and started again by the same command until its model is there. Eight
        in ten moments are drawn from a life's first checkpoint on, one in ten from its claim of the
        folder on, one in ten from its start on. Beside the checkpoints lie files of others, with
        names like those of tamis.

        It took {seconds / 60:.0f} minutes, {CHAINS * len(chains)} chains of lives at the same
        time."""
    note = (
        "A kill is counted by what it left: a temporary file, a model without its record, a "
        "record in mid-pass, and so on."
    )
    goals = [
        Goal(
            "every model that gets finished has the bytes of an undisturbed run",
            f"{finished - differing} of {finished}, after {kills} kills",
            verdict(not differing),
        ),
        Goal(
            "no file of others is touched",
            f"after {touched} of {lives} lives",
            verdict(not touched),
        ),
        Goal(
            "no temporary file is left beside a finished model", f"{left} files", verdict(not left)
        ),
        Goal(
            "most kills fall into training or later, not into imports and loading",
            f"{inside} of {kills}",
            verdict(2 * inside > kills),
            check=True,
        ),
    ]
    tables = [
        Table("What was found", ["", *chains], lines),
        Table("When the kills fell", ["moment", *chains], moments, note),
    ]
    return Page("kills", "Kills", opening, tables, goals)
