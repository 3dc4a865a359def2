"""Mutated files, read in a process of its own: what becomes of each, if it kills the process or
never ends too.

The process writes a line when it has read a file; where it dies or is silent for too long, the file
it was at has done it, and another process goes on behind it.
"""

import os
import resource
import selectors
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from data.forged import mutated, whole

READ, REFUSED, DEATH, HANG, OTHER = "read", "refused", "death", "hang", "other error"
SECONDS = 60.0  # of silence; a file takes milliseconds, and the machine may be busy
ROOM = 1 << 31  # bytes beside what the process has taken once it has read a whole file of each kind


# --------------------------------------------------------------------------- in the process
def content_of(seed: int, number: int) -> tuple[str, bytes]:
    """Name and content of one mutated file; it hangs on its numbers alone."""
    name = list(whole())[number % len(whole())]
    return name, mutated(name, np.random.default_rng([seed, number]))


def outcome(path: Path, turn: int) -> str:
    """What reading a file gives: rows of finite numbers, a ReadError, or something else."""
    from tamis.data.rows import ReadError

    try:
        (_read_bag if path.name.startswith(("bag", "docword")) else _read_rows)(path, turn)
    except ReadError as error:
        said = str(error)
        return (
            REFUSED
            if path.name in said and len(said) < 1000
            else f"{OTHER}: the refusal has no file, or is long: {said[:300]}"
        )
    except BaseException as error:
        return f"{OTHER}: {' '.join(repr(error).split())[:300]}"
    return READ


def _read_rows(path: Path, turn: int) -> None:
    """Read a file in one of several ways, and look at all that comes out."""
    from tamis import open_rows

    options = {
        "on_bad": ("error", "skip")[turn % 2],
        "missing": ("error", "zero", "indicator")[turn % 3],
        "hash_bits": (None, 6)[turn // 2 % 2],
        "units": ("none", "spread")[turn // 3 % 2],
    }
    if path.suffix in (".arrow", ".feather", ".parquet"):
        options["weight"] = "h"
    elif ".csv" in path.suffixes or path.suffix == ".tsv":
        options["weight"] = (None, "size")[turn // 4 % 2]
    rows = open_rows(
        path,
        chunk_rows=(7, 16384)[turn // 8 % 2],
        target=False if turn % 5 == 4 else None,
        **options,
    )
    for chunk in rows:
        chunk.X.check_format(full_check=True)
        assert np.isfinite(chunk.X.data).all(), "not finite"
        assert chunk.weights is None or (np.isfinite(chunk.weights) & (chunk.weights >= 0)).all(), (
            "a weight"
        )
        if chunk.targets is not None and not hasattr(chunk.targets, "tocsr"):
            assert len(chunk.targets.tolist()) == chunk.X.shape[0], "targets"
            assert (
                chunk.targets.dtype.kind != "f" or np.isfinite(chunk.targets).all() or turn % 5 == 4
            ), "a target is not finite"
    if turn % 6 == 0:
        rows.survey(columns=True)
        rows.names_of(range(min(rows.n_features, 5)))


def _read_bag(path: Path, turn: int) -> None:
    from tamis.data.bag import read_bag

    if path.name.startswith("docword"):
        path.with_name(path.name.replace("docword", "vocab")).write_text("cat\ndog\nmat\n")
    X, words = read_bag(path)
    X.check_format(full_check=True)
    assert np.isfinite(X.data).all(), "not finite"
    assert len(words) == X.shape[1], "words"


def work(seed: int, first: int, stop: int) -> None:
    """Read files and say what became of each."""
    with tempfile.TemporaryDirectory() as folder:
        # What is compiled now is no hang later.
        for turn, (name, content) in enumerate([*whole().items(), ("a.svm", b"1 4000000000:1\n")]):
            (Path(folder) / name).write_bytes(content)
            for way in (turn, turn + 1):
                outcome(Path(folder) / name, way)
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, taken + ROOM))
        print("ready", flush=True)
        for number in range(first, stop):
            name, content = content_of(seed, number)
            path = Path(folder) / name
            path.write_bytes(content)
            print(number, outcome(path, number // len(whole())), flush=True)


# --------------------------------------------------------------------------- beside it
def run(
    seed: int,
    count: int,
    tell=lambda number: None,
    seconds: float = np.inf,
    module: str = "data.trial",
) -> dict[int, str]:
    """What became of each of `count` files, by number, or of those that were read in time;
    processes that died or hung are followed by others. They run `work` of a module of the tests.
    """
    found: dict[int, str] = {}
    last = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < last:
        end = _one_process(module, seed, len(found), count, found, tell, last)
        if len(found) < count and end != "no time":
            if end == "never ready":
                raise RuntimeError(f"the process of {module} ended before it was ready.")
            found[len(found)] = end
    return found


def _one_process(
    module: str, seed: int, first: int, count: int, found: dict, tell, last: float
) -> str:
    """Take in what one process says; how it ended."""
    here = str(Path(__file__).resolve().parent.parent)
    code = (
        f"import sys; sys.path.insert(0, {here!r}); from {module} import work; "
        f"work({seed}, {first}, {count})"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ,
    )
    ready, rest = False, b""
    try:
        with selectors.DefaultSelector() as waiting:
            waiting.register(child.stdout, selectors.EVENT_READ)
            until = time.monotonic() + 10 * SECONDS
            while waiting.select(max(until - time.monotonic(), 0)):
                piece = os.read(child.stdout.fileno(), 1 << 16)
                if not piece:
                    return f"{DEATH}: exit code {child.wait()}" if ready else "never ready"
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if not ready:
                        ready = line == b"ready"
                        continue
                    number, said = line.decode("utf-8", "replace").split(" ", 1)
                    found[int(number)] = said
                    tell(int(number))
                if time.monotonic() > last:
                    return "no time"
                until = time.monotonic() + SECONDS
        return HANG
    finally:
        child.kill()
        child.wait()
