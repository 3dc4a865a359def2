"""Files that no worker can hold, one machine against its disk, and larger clusters on paper."""

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import Goal, Page, Table, verdict
from tamis import FTRLClassifier, open_rows, train
from tamis.distributed import fit

FILES, WORKERS, LIMIT = 16, 2, 1500 * 10**6
BYTES = int(float(os.environ.get("TAMIS_BENCH_GIGABYTES", "5")) * 10**9)  # of all files together
COLUMNS = 10**6
CHUNK = 4 * 10**6  # bytes of text that files are put together from
DISK = {
    "a hard disk": 200,
    "an SSD": 550,
    "an NVMe SSD": 3000,
    "a network of 10 Gbit/s": 1250,
}  # MB/s
# The design's case on paper.
ROWS, WIDE, PER_ROW = 10**9, 10**7, 100
STATE = 16  # bytes a column of FTRL


@contextmanager
def local_cluster(workers: int, memory: Any = "4GiB") -> Iterator[Any]:
    """A client of a small cluster."""
    from distributed import Client, LocalCluster

    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "memory_limit": memory}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, **options) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        yield client


# --------------------------------------------------------------------------- files
def texts(count: int) -> list[bytes]:
    """Chunks of svmlight text."""
    found = []
    for k in range(count):
        random, lines, size = np.random.default_rng(k), [], 0
        while size < CHUNK:
            columns = np.sort((COLUMNS * random.random((100, 60)) ** 2).astype(int), axis=1) + 1
            for row in columns.tolist():
                sign = "1" if row[5] < COLUMNS // 150 else "-1"
                lines.append(" ".join([sign, *(f"{j}:1" for j in dict.fromkeys(row))]) + "\n")
                size += len(lines[-1])
        found.append("".join(lines).encode())
    return found


def write_files(place: Path, files: int, size: int) -> str:
    """Files of so many bytes together, put together from chunks in an order of their own."""
    if shutil.disk_usage(place).free < 2 * size:
        raise OSError(f"{place}: {size / 1e9:.0f} GB of files do not fit here")
    chunks = texts(16)
    for k in range(files):
        random, left = np.random.default_rng(k), size // files
        with open(place / f"part-{k:02}.svm", "wb") as file:
            while left > 0:
                left -= file.write(chunks[random.integers(len(chunks))])
    return str(place / "part-*.svm")


def large(quick: bool) -> dict:
    """Files larger than the memory of all workers, and the same schedule in one process."""
    size = 20 * 10**6 if quick else BYTES
    with tempfile.TemporaryDirectory(prefix="tamis_large_") as place:
        glob = write_files(Path(place), FILES, size)
        given = {"paths": WORKERS, "progress": False, "zero_based": False}
        with local_cluster(WORKERS, LIMIT) as client:
            idle = list(client.run(peak_bytes).values())
            begin = time.perf_counter()
            there = fit(FTRLClassifier(), glob, client, timeout=1800, **given)
            seconds = time.perf_counter() - begin
            peaks = list(client.run(peak_bytes).values())
        begin = time.perf_counter()
        files = sorted(str(one) for one in Path(place).iterdir())
        same = True
        for m, path in enumerate(there.paths_):
            here = FTRLClassifier()
            first = m * FILES // WORKERS
            for rows in open_rows(files[first:] + files[:first], schema=there.reading_):
                here.partial_fit(rows.X, rows.targets.astype(int), classes=there.classes_)
            same = same and np.array_equal(here.coef_, path.coef_)
        alone = time.perf_counter() - begin
        bytes_all = sum(map(os.path.getsize, files))
    found = {"bytes": bytes_all, "rows": there.t_, "same": bool(same), "peaks": peaks, "idle": idle}
    return {**found, "seconds": seconds, "alone": alone}


def peak_bytes() -> int:
    """The most memory that this process ever held."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def large_table(page: Page, found: dict) -> None:
    """What came of the large files."""
    most = max(found["peaks"])
    page.tables.append(
        Table(
            f"{found['bytes'] / 1e9:.1f} GB of svmlight text in {FILES} files, {found['rows']:,} "
            f"rows, on {WORKERS} workers of {LIMIT / 1e9:.1f} GB each",
            ["what", "found"],
            [
                [
                    "peak memory of the workers, MB",
                    ", ".join(f"{p / 1e6:.0f}" for p in found["peaks"]),
                ],
                ["of this before any row, MB", ", ".join(f"{p / 1e6:.0f}" for p in found["idle"])],
                ["seconds on the cluster", f"{found['seconds']:.0f}"],
                ["seconds of one process that streams the paths", f"{found['alone']:.0f}"],
                ["same weights, all paths", str(found["same"])],
            ],
            f"Survey and one sweep of {WORKERS} paths: every file is read three times, by one "
            "process twice. Partitions that do not fit into half of a worker's memory are read at "
            "every visit.",
        )
    )
    said = f"at most {most / 1e6:.0f} MB each, weights {'the same' if found['same'] else 'differ'}"
    page.goals.append(
        Goal(
            f"{found['bytes'] / 1e9:.0f} GB on {WORKERS} workers with 1.5 GB each: below that, and "
            "the weights of one process",
            said,
            verdict(most < LIMIT and found["same"] and found["bytes"] >= 4.9e9),
        )
    )


# --------------------------------------------------------------------------- one machine
def machine(quick: bool) -> dict:
    """What one process does a second with text: reading it from the disk, to rows, to a model."""
    with tempfile.TemporaryDirectory(prefix="tamis_machine_") as place:
        glob = write_files(Path(place), 1, 8 * 10**6 if quick else 120 * 10**6)
        path = glob.replace("*", "00")
        size = os.path.getsize(path)
        train(FTRLClassifier(), open_rows(path, n_features=COLUMNS))  # compiled
        rows = nonzeros = 0
        begin = time.perf_counter()
        for chunk in open_rows(path, zero_based=False, n_features=COLUMNS):
            rows, nonzeros = rows + chunk.X.shape[0], nonzeros + chunk.X.nnz
        reading = time.perf_counter() - begin
        begin = time.perf_counter()
        train(FTRLClassifier(), open_rows(path, zero_based=False, n_features=COLUMNS), passes=1)
        learning = time.perf_counter() - begin
        disk = _from_disk(path)
        X = next(iter(open_rows(path, zero_based=False, n_features=COLUMNS)))
        taken = []
        for _ in range(5):
            model = FTRLClassifier().partial_fit(X.X[:1], X.targets[:1], classes=[-1, 1])
            begin = time.perf_counter()
            model.partial_fit(X.X, X.targets)
            taken.append(time.perf_counter() - begin)
    found = {"bytes": size, "rows": rows, "nonzeros": nonzeros, "reading": reading}
    return {**found, "learning": learning, "disk": disk, "entries": X.X.nnz / min(taken)}


def _from_disk(path: str) -> float:
    """Seconds of reading a file that the system has been told to forget."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begin = time.perf_counter()
        while file.read(1 << 22):
            pass
        return time.perf_counter() - begin


def machine_table(page: Page, found: dict, place: Path) -> None:
    """Rows a second of one machine against those of disks."""
    a_row = found["bytes"] / found["rows"]
    speeds = {
        "one process: text to rows": found["bytes"] / found["reading"] / 1e6,
        "one process: text to model": found["bytes"] / found["learning"] / 1e6,
        "the disk of this machine": found["bytes"] / found["disk"] / 1e6,
        **DISK,
    }
    lines = [
        [name, f"{speed:,.0f}", f"{1e6 * speed / a_row:,.0f}", f"{1e6 / speed / 3600:.1f}"]
        for name, speed in speeds.items()
    ]
    page.tables.append(
        Table(
            "When one machine is enough: svmlight text, FTRL, one core",
            ["what", "MB/s", "rows/s", "hours for a terabyte"],
            lines,
            f"Rows of {a_row:,.0f} bytes and {found['nonzeros'] / found['rows']:.0f} entries. "
            "Disks and network by their usual figures, all else measured in one run. Held in "
            f"memory, rows are learnt at {found['entries'] / 1e6:,.0f} million entries a second.",
        )
    )
    page.figures.append(("clusters.png", _draw(speeds, place / "clusters.png")))


def _draw(speeds: dict[str, float], path: Path) -> str:
    """A bar a speed; the picture in words."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.6), facecolor="white")
    names = list(speeds)[::-1]
    colours = ["#0b6e4f" if "process" in name else "#8b949e" for name in names]
    ax.barh(names, [speeds[name] for name in names], color=colours)
    for at, name in enumerate(names):
        ax.annotate(f"{speeds[name]:,.0f}", (speeds[name], at), (5, 0), va="center",
                    textcoords="offset points")  # fmt: skip
    ax.set(xscale="log", xlabel="MB of text a second (logarithmic)", xlim=(50, 9000))
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
    return "MB of text a second. " + ", ".join(f"{n}: {s:,.0f}" for n, s in speeds.items()) + "."


# --------------------------------------------------------------------------- on paper
def growth_table(page: Page, machine: dict, idle: list[dict], transfer: dict) -> None:
    """Rounds of clusters that are not here, by what was measured here."""
    rate, task = machine["entries"], min(one["seconds"] / one["visits"] for one in idle)
    speed = transfer["bytes"] / transfer["seconds"]
    model = STATE * WIDE
    move = model / speed
    lines = []
    for workers in (1, 10, 100, 1000):
        part, visit = 12 * ROWS * PER_ROW / workers, ROWS * PER_ROW / workers / rate
        crossing = move if workers > 1 else 0.0
        # A round is as long as a visit and a move, or as the scheduler needs for all its tasks.
        walk = max(visit + crossing, workers * task)
        levels = (workers - 1).bit_length()
        mix = max(visit + levels * 2 * move, 2 * workers * task)
        lines.append(
            [
                f"{workers:,}",
                f"{part / 1e9:,.1f}",
                f"{visit:,.1f}",
                f"{walk:,.1f}",
                f"{(workers if workers > 1 else 0) * model / 1e9:,.0f}",
                f"{workers * walk / 60:,.0f}",
                f"{mix:,.1f}",
                f"{2 * (workers - 1) * model / 1e9:,.0f}",
            ]
        )
    page.tables.append(
        Table(
            f"On paper: {ROWS:,} rows of {PER_ROW} entries, {WIDE:,} columns, a partition a worker",
            [
                "workers",
                "partition, GB",
                "visit, s",
                "walk: round, s",
                "moved, GB",
                "sweep of as many paths, min",
                "mix: sweep, s",
                "moved, GB",
            ],
            lines,
            f"FTRL, a model of {model / 1e6:.0f} MB. Measured here and put in: "
            f"{rate / 1e6:,.0f} million entries a second and worker, {speed / 1e6:,.0f} MB/s "
            f"between workers, {1000 * task:.1f} ms of the scheduler a task. Mixes bring models "
            "together and send the mean out again by a tree. Nothing of this table was run.",
        )
    )
