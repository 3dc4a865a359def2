"""Text to CSR: svmlight, CSV, Vowpal Wabbit's text and gzip, on one core, against peers and one
another.
"""

import time
from pathlib import Path

import numpy as np

from benchmarks import textfiles
from benchmarks.clock import interleaved
from benchmarks.pages import Goal, Table, verdict

MEGA = 10**6


def race_text(folder: Path, size: int, rounds: int) -> tuple[Table, list[Goal]]:
    """Text to CSR on one core, by CPU time over all threads."""
    import pandas
    from sklearn.datasets import load_svmlight_file

    import tamis

    path, table = folder / "read.svm", folder / "read.csv"
    textfiles.write(path, size)
    textfiles.write(folder / "read.vw", size, bar=True)
    long = _long_numbers(path, folder / "long.svm")
    _numeric_table(table, size // 2)
    _numeric_table(folder / "six.csv", size // 2, digits=6)

    def drain(file):
        return sum(chunk.X.nnz for chunk in tamis.open_rows(file))

    files = {
        "svmlight, 6 digits": path,
        "svmlight, 17 digits": long,
        "CSV, 17 digits": table,
        "CSV, 6 digits": folder / "six.csv",
        "Vowpal Wabbit, 6 digits": folder / "read.vw",
    }
    peers = {
        "svmlight": ("scikit-learn", lambda file: load_svmlight_file(str(file))),
        "CSV": ("pandas, C reader", lambda file: pandas.read_csv(file, engine="c")),
    }
    lines, ratios, speeds, each = [], {}, {}, {}
    for name, file in files.items():
        whom, peer = peers.get(name.split(",")[0], ("", None))
        contestants = {"ours": lambda f=file: drain(f)}
        if peer is not None:
            contestants["theirs"] = lambda f=file, p=peer: p(f)
        found = interleaved(contestants, rounds, clock=time.process_time)
        bytes_, ours = file.stat().st_size, found["ours"].least
        speeds[name], each[name] = bytes_ / ours / MEGA, ours / drain(file) * 1e9
        theirs = bytes_ / found["theirs"].least / MEGA if peer is not None else np.nan
        ratios[name] = speeds[name] / theirs
        row = [name, f"{bytes_ / MEGA:.0f}", f"{speeds[name]:.0f}", f"{each[name]:.1f}", whom]
        lines.append(row + ([f"{theirs:.0f}", f"{ratios[name]:.1f}"] if peer else ["", ""]))
    note = """Of CPU time over all threads of the process, files in the system's cache. tamis makes
        CSR chunks, scikit-learn one CSR matrix, pandas a frame."""
    head = ["text", "MB", "tamis, MB/s", "ns a number", "against", "MB/s", "ratio"]
    return Table("Reading alone", head, lines, note), _text_goals(ratios, speeds, each)


def _text_goals(ratios: dict, speeds: dict, each: dict) -> list[Goal]:
    """Promises of reading text, by what was found."""
    worst = min(r for n, r in ratios.items() if n.startswith("svm"))
    slowest = min(s for n, s in speeds.items() if n.startswith("svm"))
    against = min(r for n, r in ratios.items() if n.startswith("CSV"))
    goals = [
        Goal(
            "svmlight text to CSR at least 10 times scikit-learn's speed",
            f"{worst:.1f} times",
            verdict(worst >= 10),
        ),
        Goal(
            "svmlight text to CSR at least 600 MB/s on one core",
            f"{slowest:.0f} MB/s",
            verdict(slowest >= 600),
        ),
        Goal(
            "CSV of numbers at least as fast as pandas' C reader",
            f"{against:.1f} times",
            verdict(against >= 1),
        ),
    ]
    for name, digits in (("CSV", 6), ("CSV", 17), ("Vowpal Wabbit", 6)):
        times = each[f"{name}, {digits} digits"] / each[f"svmlight, {digits} digits"]
        goals.append(
            Goal(
                f"{name}, numbers of {digits} digits: at most 1.5 times the time of svmlight a "
                "number",
                f"{times:.2f} times",
                verdict(times <= 1.5),
            )
        )
    return goals


def race_packed(folder: Path, rounds: int) -> tuple[Table, list[Goal]]:
    """gzip: text to CSR against its bytes alone, unpacked by zlib in the same pieces."""
    import gzip
    import zlib

    import tamis

    plain, packed = folder / "read.svm", folder / "packed.svm.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))

    def drain():
        for _ in tamis.open_rows(packed):
            pass

    def unpack():
        machine = zlib.decompressobj(31)
        with packed.open("rb") as file:
            while piece := file.read(1 << 16):
                machine.decompress(piece)

    found = interleaved({"ours": drain, "zlib": unpack}, rounds)
    size = plain.stat().st_size / MEGA
    lines = [
        [name, f"{found[key].least:.2f}", f"{size / found[key].least:.0f}"]
        for key, name in (("ours", "tamis, gzip to CSR"), ("zlib", "zlib alone"))
    ]
    ratio = found["ours"].least / found["zlib"].least
    goal = Goal(
        "gzip to CSR at most 1.1 times the wall time of zlib alone",
        f"{ratio:.2f} times",
        verdict(ratio <= 1.1),
    )
    note = "Wall time, two threads: one unpacks, one reads. MB are those of the unpacked text."
    return Table("Packed text", ["what", "wall, s", "MB/s"], lines, note), [goal]


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


def _numeric_table(path: Path, size: int, digits: int | None = None) -> None:
    """A CSV of normal numbers with all their digits, or so many after the point."""
    random, width = np.random.default_rng(0), 50
    with path.open("w") as file:
        file.write(",".join([*(f"c{k}" for k in range(width)), "y"]) + "\n")
        for _ in range(max(1, size // (width * 20))):
            numbers = random.normal(size=width).tolist()
            words = map(repr, numbers) if digits is None else (f"{x:.{digits}f}" for x in numbers)
            file.write(",".join(words) + ",1\n")
