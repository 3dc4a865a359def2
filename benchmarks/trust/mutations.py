"""A hundred thousand mutated files of every format that is read: rows of finite numbers or a
ReadError, and no third.

``python -m benchmarks mutations``; ``python -m benchmarks.trust.mutations NUMBER FILE`` writes one
of them to a file, to look at it.
"""

import os
import sys
import time
from pathlib import Path

from benchmarks.clock import ROOT
from benchmarks.pages import Goal, Page, Table, verdict

COUNT, QUICK, SEED = 100_000, 1_000, 1
# What has not been read by then is not counted.
SECONDS = float(os.environ.get("TAMIS_MUTATIONS_SECONDS", 7200))
HEAD = ["file", "files", "read", "refused", "deaths", "hangs", "other errors"]


def _trial():
    sys.path.insert(0, str(ROOT / "tests"))
    from data import trial

    return trial


def run(quick: bool) -> Page:
    """Mutate, read, count."""
    trial, wanted, begin = _trial(), QUICK if quick else COUNT, time.monotonic()
    found = trial.run(
        SEED,
        wanted,
        lambda number: (
            None if number % 5000 else print(f"{number:,} of {wanted:,} files", flush=True)
        ),
        SECONDS,
    )
    count = len(found)
    names = list(trial.is_integer())
    kinds = (trial.READ, trial.REFUSED, trial.DEATH, trial.HANG, trial.OTHER)
    counts = {name: dict.fromkeys(kinds, 0) for name in names}
    for number, said in found.items():
        kind = said.split(":")[0]
        counts[names[number % len(names)]][kind] += 1
        if kind not in kinds[:2]:
            print(f"{number} {names[number % len(names)]}: {said}", flush=True)
    total = {kind: sum(one[kind] for one in counts.values()) for kind in kinds}
    lines = [
        [name, f"{sum(one.values()):,}", *(f"{one[kind]:,}" for kind in kinds)]
        for name, one in [*counts.items(), ("all", total)]
    ]
    note = f"""
        {count:,} files in {time.monotonic() - begin:.0f} s, made from small whole files, whose
        names are in the first column: bits turned, words put in and bytes taken out anywhere;
        offsets, lengths and metadata of Arrow and Parquet overwritten in place; arrays of npz that
        say other shapes and kinds than they have; text that is wrong inside its packing; and small
        files that stand for a line or a row of 80 MiB."""
    opening = f"""
        Damaged files, and files made to do harm. Each is read to its end, in one of several ways
        (bad lines refused or skipped, missing entries refused or not, words listed or hashed, with
        weights, with and without targets), by a process that may take 2 GiB of memory and
        {trial.SECONDS:.0f} s a file. It must give rows whose features, targets and weights are
        finite numbers, or a `ReadError` that names the file."""
    wrong = total[trial.DEATH] + total[trial.HANG] + total[trial.OTHER]
    goals = [
        Goal(
            f"{count:,} mutated files: rows or a ReadError; no death, no hang, no other error",
            f"{wrong:,} others",
            verdict(not wrong),
        )
    ]
    return Page(
        "mutations", "Mutated files", opening, [Table("By format", HEAD, lines, note)], goals
    )


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(_trial().content_of(SEED, int(sys.argv[1]))[1])
