"""kill -9 at two hundred random moments during ``tamis fit`` with checkpoints: every model that gets finished is the same file.

``python -m benchmarks.kills [COUNT]``. A life is a forked process that runs the whole command and is killed at a random moment; the next
one runs the same command. When a life ends by itself its model file is compared with that of an uninterrupted run, and a new model
is begun.
"""

import hashlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import textfiles

COMMAND = "fit rows.svm --passes 2 --chunk-rows 500 --every 1000 --checkpoint ck --out model --json"
METHODS = {"sieve": ["--set", "n_paths=2", "--set", "n_folds=2", "--set", "n_sample=800", "--threads", "1"], "ftrl": ["--method", "ftrl"]}


def live(folder: Path, more: list[str]) -> int:
    """Fork a process that runs the command; its number."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.chdir(folder)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        from tamis.cli.main import main

        code = main([*COMMAND.split(), *more])
    finally:
        os._exit(code)


def ended(child: int, seconds: float) -> int | None:
    """The exit code of a process that ends within some seconds; None if it had to be killed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    return None if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL else 0


def run_method(method: str, count: int, folder: Path, random) -> tuple[int, int, int]:
    """Kills, models that were finished, and those among them that differ."""
    more, model = METHODS[method], folder / "model"
    assert ended(live(folder, more), 600) == 0
    begin = time.monotonic()
    assert ended(live(folder, more), 600) == 0
    whole, wanted = time.monotonic() - begin, hashlib.sha256(model.read_bytes()).hexdigest()
    kills = finished = wrong = 0
    while kills < count or (folder / "ck").exists():
        model.unlink(missing_ok=True) if not (folder / "ck").exists() else None
        code = ended(live(folder, more), random.uniform(0.0, 0.6) * whole if kills < count else 600)
        if code is None:
            kills += 1
            continue
        assert code == 0, f"the command ended with {code}"
        finished += 1
        wrong += hashlib.sha256(model.read_bytes()).hexdigest() != wanted
    return kills, finished, wrong


def main() -> None:
    """Kill, and count."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    # Loaded once: the lives are forks, so that kills fall into the work and not into imports.
    import tamis.cli.fit
    import tamis.models.leader
    import tamis.models.sieve
    import tamis.read.svmlight  # noqa: F401

    failed = 0
    for method in METHODS:
        with tempfile.TemporaryDirectory() as folder:
            textfiles.write(Path(folder) / "rows.svm", 4_000_000)
            begin = time.monotonic()
            kills, finished, wrong = run_method(method, count // len(METHODS), Path(folder), np.random.default_rng(0))
            print(f"{method}: {kills} kills, {finished} models finished, {wrong} differ; {time.monotonic() - begin:.0f} s", flush=True)
            failed += wrong
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
