"""Read mutated files in a process of its own, and return what happened to each, also if it kills
the process or never ends.

The process writes a line after each file. If it dies or is silent for too long, the current file is
to blame, and another process continues after it.
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
SECONDS = 60.0  # of silence; a file takes milliseconds, but the machine may be busy
EXTRA_BYTES = 1 << 31  # limit on memory beyond that of a process that has read all whole files


# --------------------------------------------------------------------------- in the process
def content_of(seed: int, number: int) -> tuple[str, bytes]:
    """Return name and content of one mutated file, which depends only on its numbers."""
    name = list(whole())[number % len(whole())]
    return name, mutated(name, np.random.default_rng([seed, number]))


def outcome(path: Path, option_index: int) -> str:
    """Return what reading a file yields: rows of finite numbers, a ReadError, or something else."""
    from tamis.data.rows import ReadError

    try:
        (_read_bag if path.name.startswith(("bag", "docword")) else _read_rows)(path, option_index)
    except ReadError as error:
        message = str(error)
        return (
            REFUSED
            if path.name in message and len(message) < 1000
            else f"{OTHER}: the refusal has no file, or is long: {message[:300]}"
        )
    except BaseException as error:
        return f"{OTHER}: {' '.join(repr(error).split())[:300]}"
    return READ


def _read_rows(path: Path, option_index: int) -> None:
    """Read a file in one of several ways, and check all rows."""
    from tamis import open_rows

    options = {
        "on_bad": ("error", "skip")[option_index % 2],
        "missing": ("error", "zero", "indicator")[option_index % 3],
        "hash_bits": (None, 6)[option_index // 2 % 2],
        "units": ("none", "spread")[option_index // 3 % 2],
    }
    if path.suffix in (".arrow", ".feather", ".parquet"):
        options["weight"] = "h"
    elif ".csv" in path.suffixes or path.suffix == ".tsv":
        options["weight"] = (None, "size")[option_index // 4 % 2]
    rows = open_rows(
        path,
        chunk_rows=(7, 16384)[option_index // 8 % 2],
        target=False if option_index % 5 == 4 else None,
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
                chunk.targets.dtype.kind != "f"
                or np.isfinite(chunk.targets).all()
                or option_index % 5 == 4
            ), "a target is not finite"
    if option_index % 6 == 0:
        rows.survey(columns=True)
        rows.names_of(range(min(rows.n_features, 5)))


def _read_bag(path: Path, option_index: int) -> None:
    from tamis.data.bag import read_bag

    if path.name.startswith("docword"):
        path.with_name(path.name.replace("docword", "vocab")).write_text("cat\ndog\nmat\n")
    X, words = read_bag(path)
    X.check_format(full_check=True)
    assert np.isfinite(X.data).all(), "not finite"
    assert len(words) == X.shape[1], "words"


def work(seed: int, first: int, stop: int) -> None:
    """Read files and print the outcome of each."""
    with tempfile.TemporaryDirectory() as folder:
        # Compile first, so that compilation is no silence later.
        for index, (name, content) in enumerate([*whole().items(), ("a.svm", b"1 4000000000:1\n")]):
            (Path(folder) / name).write_bytes(content)
            for option_index in (index, index + 1):
                outcome(Path(folder) / name, option_index)
        used_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used_bytes + EXTRA_BYTES, used_bytes + EXTRA_BYTES))
        print("ready", flush=True)
        for number in range(first, stop):
            name, content = content_of(seed, number)
            path = Path(folder) / name
            path.write_bytes(content)
            print(number, outcome(path, number // len(whole())), flush=True)


# --------------------------------------------------------------------------- in the parent process
def run(
    seed: int,
    count: int,
    tell=lambda number: None,
    seconds: float = np.inf,
    module: str = "data.trial",
) -> dict[int, str]:
    """Return the outcomes of `count` files by number, or of those that were read in time.

    Processes that die or hang are replaced. They run `work` of a test module.
    """
    outcomes: dict[int, str] = {}
    deadline = time.monotonic() + seconds
    while len(outcomes) < count and time.monotonic() < deadline:
        ending = _one_process(module, seed, len(outcomes), count, outcomes, tell, deadline)
        if len(outcomes) < count and ending != "no time":
            if ending == "never ready":
                raise RuntimeError(f"the process of {module} ended before it was ready.")
            outcomes[len(outcomes)] = ending
    return outcomes


def _one_process(
    module: str, seed: int, first: int, count: int, outcomes: dict, tell, deadline: float
) -> str:
    """Store the outcomes that one process prints; return how it ended."""
    tests_folder = str(Path(__file__).resolve().parent.parent)
    code = (
        f"import sys; sys.path.insert(0, {tests_folder!r}); from {module} import work; "
        f"work({seed}, {first}, {count})"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ,
    )
    is_ready, incomplete_line = False, b""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            silence_deadline = time.monotonic() + 10 * SECONDS
            while selector.select(max(silence_deadline - time.monotonic(), 0)):
                data = os.read(child.stdout.fileno(), 1 << 16)
                if not data:
                    return f"{DEATH}: exit code {child.wait()}" if is_ready else "never ready"
                *lines, incomplete_line = (incomplete_line + data).split(b"\n")
                for line in lines:
                    if not is_ready:
                        is_ready = line == b"ready"
                        continue
                    number, result = line.decode("utf-8", "replace").split(" ", 1)
                    outcomes[int(number)] = result
                    tell(int(number))
                if time.monotonic() > deadline:
                    return "no time"
                silence_deadline = time.monotonic() + SECONDS
        return HANG
    finally:
        child.kill()
        child.wait()
